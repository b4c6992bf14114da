//! The report: figures over time, as JSON or as a table.

use std::fmt::Write;

use booking::clock::rfc3339;

use crate::ledger::Sample;

/// The samples as CSV with a header line.
#[must_use]
pub fn csv(samples: &[Sample]) -> String {
    let mut out =
        String::from("at,joined,waiting,left,released,inside,claimed,done,free,held,sold\n");
    for sample in samples {
        let Sample {
            at_ms,
            joined,
            waiting,
            left,
            released,
            inside,
            claimed,
            done,
            free,
            held,
            sold,
        } = sample;
        let at = rfc3339(*at_ms);
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "{at},{joined},{waiting},{left},{released},{inside},{claimed},{done},{free},{held},{sold}"
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_a_line_a_sample() {
        let sample = Sample {
            joined: 3,
            sold: 9,
            ..Sample::default()
        };
        assert_eq!(
            csv(&[sample]).lines().nth(1),
            Some("1970-01-01T00:00:00Z,3,0,0,0,0,0,0,0,0,9")
        );
    }
}
