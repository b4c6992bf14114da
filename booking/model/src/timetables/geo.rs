//! Distances on the earth.

/// The earth's mean radius in metres (IUGG).
const RADIUS_M: f64 = 6_371_008.8;

/// Returns the great-circle distance between two points (longitude, latitude in degrees), in whole
/// metres, by the haversine formula.
#[must_use]
pub fn metres((lon_a, lat_a): (f64, f64), (lon_b, lat_b): (f64, f64)) -> u32 {
    let (lat_a, lat_b) = (lat_a.to_radians(), lat_b.to_radians());
    let sin_half_lat = ((lat_b - lat_a) / 2.0).sin();
    let sin_half_lon = ((lon_b - lon_a).to_radians() / 2.0).sin();
    let haversine =
        sin_half_lat * sin_half_lat + lat_a.cos() * lat_b.cos() * sin_half_lon * sin_half_lon;
    let distance_m = 2.0 * RADIUS_M * haversine.sqrt().min(1.0).asin();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at most half of the earth's circumference, and never negative"
    )]
    let whole = distance_m.round() as u32;
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_degree_along_a_great_circle_is_111_km() {
        for to in [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0)] {
            assert_eq!(metres((0.0, 0.0), to), 111_195, "{to:?}");
        }
        assert_eq!(metres((116.38, 39.86), (116.38, 39.86)), 0);
        assert_eq!(
            metres((179.5, 0.0), (-179.5, 0.0)),
            111_195,
            "the short way"
        );
        assert_eq!(metres((0.0, 90.0), (0.0, -90.0)), 20_015_114);
    }
}
