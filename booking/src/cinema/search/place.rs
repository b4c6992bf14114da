//! Computes distances between points on the globe.

/// The globe's mean radius, in kilometres.
const EARTH_KM: f64 = 6_371.008_8;

/// A point on the globe, in degrees.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GeoPoint {
    /// Degrees north.
    pub lat: f64,
    /// Degrees east.
    pub lon: f64,
}

/// Returns the kilometres between two points along a great circle. It uses the haversine formula,
/// which is also precise for points that are near each other.
#[must_use]
pub fn km_between(a: GeoPoint, b: GeoPoint) -> f64 {
    let [from, to] = [a, b].map(|point| point.lat.to_radians());
    let north = ((to - from) / 2.0).sin().powi(2);
    let east = ((b.lon - a.lon).to_radians() / 2.0).sin().powi(2);
    let chord = north + from.cos() * to.cos() * east;
    2.0 * EARTH_KM * chord.sqrt().min(1.0).asin()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computed_distances_equal_known_distances() {
        let at = |lat, lon| GeoPoint { lat, lon };
        for (a, b, km) in [
            (at(0.0, 0.0), at(0.0, 90.0), 10_007.6),
            (at(90.0, 12.0), at(0.0, -77.0), 10_007.6),
            (at(0.0, 179.5), at(0.0, -179.5), 111.2),
            (at(52.52, 13.405), at(53.551, 9.994), 255.3),
            (at(1.0, 1.0), at(1.0, 1.0), 0.0),
        ] {
            assert!((km_between(a, b) - km).abs() < 0.3, "{a:?} to {b:?}");
        }
    }
}
