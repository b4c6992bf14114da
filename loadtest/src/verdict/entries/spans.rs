//! Spans of time, and what lies between them.

/// Returns the gaps between spans, from the first moment to the last. The spans may be in any order
/// and may overlap.
pub fn gaps(mut spans: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    spans.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut gaps = Vec::new();
    let mut covered_until_ms = f64::NEG_INFINITY;
    for (from_ms, to_ms) in spans {
        if from_ms > covered_until_ms {
            gaps.push((covered_until_ms, from_ms));
        }
        covered_until_ms = f64::max(covered_until_ms, to_ms);
    }
    gaps.push((covered_until_ms, f64::INFINITY));
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_lie_between_spans_that_overlap_or_lie_within_each_other() {
        let (first, last) = (f64::NEG_INFINITY, f64::INFINITY);
        assert_eq!(gaps(Vec::new()), [(first, last)]);
        let spans = vec![(7.0, 9.0), (1.0, 5.0), (2.0, 3.0), (4.0, 6.0)];
        assert_eq!(gaps(spans), [(first, 1.0), (6.0, 7.0), (9.0, last)]);
    }
}
