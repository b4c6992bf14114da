//! The oval around the arena's floor. Four arcs form it. All rows of the bowl are arcs around the
//! same four centres, which makes them parallel to the oval.
//!
//! The middle of the arena is the origin. A chair is 20 units wide. x grows to the right. y grows
//! downwards, to the end that faces the stage. Each point of the oval has an angle: the direction
//! that points outwards there. 0° is to the right, and 90° is downwards.

/// A point of the plan.
pub type ArenaPoint = (f64, f64);

/// The distance from the middle to the centre of each narrow end's arc.
const END_CENTER: f64 = 650.0;
/// The radius of the narrow ends' arcs.
const END_RADIUS: f64 = 650.0;
/// Half the width of the oval.
const HALF_WIDTH: f64 = 950.0;
/// The distance from the middle to the centre of each long side's arc. The arc on the right has its
/// centre on the left. An end and a side meet without a corner, because their centres and the point
/// where they meet are on one straight line.
const SIDE_CENTER: f64 = (END_CENTER * END_CENTER
    - (HALF_WIDTH - END_RADIUS) * (HALF_WIDTH - END_RADIUS))
    / (2.0 * (HALF_WIDTH - END_RADIUS));
/// The radius of the long sides' arcs.
const SIDE_RADIUS: f64 = HALF_WIDTH + SIDE_CENTER;

/// One of the four arcs.
#[derive(Debug, Clone, Copy)]
pub struct OvalArc {
    center: ArenaPoint,
    radius: f64,
}

/// Returns the angle at which the long side on the right becomes the lower end, in degrees.
pub fn junction() -> f64 {
    END_CENTER.atan2(SIDE_CENTER).to_degrees()
}

/// Returns the arc at an angle in degrees, from -180 to 360.
pub fn arc_at(angle: f64) -> OvalArc {
    let side = |center| OvalArc {
        center: (center, 0.0),
        radius: SIDE_RADIUS,
    };
    let end = |center| OvalArc {
        center: (0.0, center),
        radius: END_RADIUS,
    };
    let junction = junction();
    if angle.abs() <= junction {
        side(-SIDE_CENTER)
    } else if (angle - 180.0).abs() <= junction {
        side(SIDE_CENTER)
    } else if (0.0..180.0).contains(&angle) {
        end(END_CENTER)
    } else {
        end(-END_CENTER)
    }
}

/// Returns half the inner width of the oval at the height `y`, which must be on the long sides.
pub fn half_width(y: f64) -> f64 {
    (SIDE_RADIUS * SIDE_RADIUS - y * y).sqrt() - SIDE_CENTER
}

impl OvalArc {
    /// Returns the radius at this distance outwards from the oval.
    pub fn radius_at(&self, outwards: f64) -> f64 {
        self.radius + outwards
    }

    /// Returns the point at an angle (radians) and a distance outwards from the oval.
    pub fn point(&self, angle: f64, outwards: f64) -> ArenaPoint {
        let (sin, cos) = angle.sin_cos();
        let radius = self.radius_at(outwards);
        (self.center.0 + radius * cos, self.center.1 + radius * sin)
    }
}

#[cfg(test)]
mod tests {
    use super::{ArenaPoint, arc_at, half_width, junction};

    fn distance(a: ArenaPoint, b: ArenaPoint) -> f64 {
        (a.0 - b.0).hypot(a.1 - b.1)
    }

    #[test]
    fn the_four_arcs_meet_without_a_gap_at_any_distance() {
        for angle in [
            junction(),
            180.0 - junction(),
            180.0 + junction(),
            -junction(),
        ] {
            for outwards in [0.0, 500.0, 1_200.0] {
                let [before, after] = [angle - 1e-9, angle + 1e-9]
                    .map(|angle| arc_at(angle).point(angle.to_radians(), outwards));
                assert!(distance(before, after) < 1e-3, "{angle} {outwards}");
            }
        }
    }

    #[test]
    fn the_oval_is_as_wide_and_long_as_planned() {
        let at = |angle: f64| arc_at(angle).point(angle.to_radians(), 0.0);
        assert!(distance(at(0.0), (950.0, 0.0)) < 1e-9);
        assert!(distance(at(180.0), (-950.0, 0.0)) < 1e-9);
        assert!(distance(at(90.0), (0.0, 1_300.0)) < 1e-9);
        let (x, y) = at(30.0);
        assert!((half_width(y) - x).abs() < 1e-9);
    }
}
