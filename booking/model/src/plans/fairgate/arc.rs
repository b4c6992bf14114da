//! Places seats evenly along a straight line or an arc.

/// A point of the plan, exact enough to compute with.
pub type ExactPoint = (f64, f64);

/// The line on which the seats of a row stand.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RowLine {
    /// The first seat.
    pub from: ExactPoint,
    /// The last seat.
    pub to: ExactPoint,
    /// The distance of the row's middle from the straight line between its ends. It is positive if
    /// the middle lies to the right of somebody who walks from the first seat to the last.
    pub bend: f64,
}

impl RowLine {
    /// Returns the distance between the first seat and the last.
    pub fn length(&self) -> f64 {
        (self.to.0 - self.from.0).hypot(self.to.1 - self.from.1)
    }

    /// Returns the positions of `count` seats. The distance between neighbours is the same
    /// everywhere. A single seat stands at the line's beginning.
    ///
    /// A bend of at most half the length is an arc of at most half a circle. Let `h` be half the
    /// length, `b` the bend, and `a` half the arc's angle. Then `tan(a / 2)` is `b / h`, and the
    /// radius is `h / sin(a)`.
    pub fn seats(&self, count: u32) -> Vec<ExactPoint> {
        let half = self.length() / 2.0;
        let along = |share: f64| {
            (
                self.from.0 + (self.to.0 - self.from.0) * share,
                self.from.1 + (self.to.1 - self.from.1) * share,
            )
        };
        let shares = (0..count).map(|seat| f64::from(seat) / f64::from(count.max(2) - 1));
        let angle = 2.0 * (self.bend / half).atan();
        // An arc as flat as this is less than a millionth of its length away from the straight
        // line.
        if half == 0.0 || angle.abs() < 1e-6 {
            return shares.map(along).collect();
        }
        let radius = half / angle.sin();
        let (right, down) = (
            (self.to.0 - self.from.0) / (2.0 * half),
            (self.to.1 - self.from.1) / (2.0 * half),
        );
        let middle = along(0.5);
        shares
            .map(|share| {
                let turned = angle * (2.0 * share - 1.0);
                let forward = radius * turned.sin();
                let aside = radius * (turned.cos() - angle.cos());
                (
                    middle.0 + right * forward - down * aside,
                    middle.1 + down * forward + right * aside,
                )
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{ExactPoint, RowLine};

    fn distance(a: ExactPoint, b: ExactPoint) -> f64 {
        (a.0 - b.0).hypot(a.1 - b.1)
    }

    #[test]
    fn a_straight_row_is_even_from_end_to_end() {
        let line = RowLine {
            from: (10.0, 5.0),
            to: (70.0, 5.0),
            bend: 0.0,
        };
        let seats = line.seats(4);
        assert_eq!(seats, [(10.0, 5.0), (30.0, 5.0), (50.0, 5.0), (70.0, 5.0)]);
        assert_eq!(line.seats(1), [(10.0, 5.0)]);
        assert_eq!(line.seats(0), []);
    }

    #[test]
    fn a_bent_row_is_an_arc_whose_middle_is_the_bend_away() {
        for bend in [50.0, 8.0, -8.0, 1e-9] {
            let line = RowLine {
                from: (0.0, 0.0),
                to: (100.0, 0.0),
                bend,
            };
            let seats = line.seats(11);
            assert!(distance(seats[0], line.from) < 1e-9 && distance(seats[10], line.to) < 1e-9);
            assert!(
                distance(seats[5], (50.0, bend)) < 1e-6,
                "{bend}: {:?}",
                seats[5]
            );
            let gaps: Vec<f64> = seats
                .windows(2)
                .map(|two| distance(two[0], two[1]))
                .collect();
            assert!(
                gaps.iter().all(|gap| (gap - gaps[0]).abs() < 1e-6),
                "{gaps:?}"
            );
        }
    }

    #[test]
    fn the_middle_is_to_the_right_of_somebody_who_walks_along_the_row() {
        // On the plan, y grows downwards. Somebody who walks down therefore has the left edge of
        // the plan on the right-hand side.
        let line = RowLine {
            from: (0.0, 0.0),
            to: (0.0, 100.0),
            bend: 20.0,
        };
        assert!(distance(line.seats(3)[1], (-20.0, 50.0)) < 1e-9);
    }
}
