//! Checks the ids of rooms and the patterns that name a room's shows, and finds out whether two
//! patterns can match the same show.

use super::faults::RoomInputFaults;

/// Returns whether a text can be a room's id, which is part of addresses and of a cookie's name.
#[must_use]
pub fn is_slug(text: &str) -> bool {
    let bytes = text.as_bytes();
    (1..=64).contains(&bytes.len())
        && bytes
            .iter()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'-' || *b == b'_')
        && bytes[0].is_ascii_alphanumeric()
}

/// Returns whether two patterns can match the same show.
#[must_use]
pub fn overlap(a: &str, b: &str) -> bool {
    match (a.strip_suffix('*'), b.strip_suffix('*')) {
        (Some(a), Some(b)) => a.starts_with(b) || b.starts_with(a),
        (Some(a), None) => b.starts_with(a),
        (None, Some(b)) => a.starts_with(b),
        (None, None) => a == b,
    }
}

/// Checks the show patterns of a room. Each is a show's id, or the beginning of an id followed by
/// `*`.
pub(super) fn checked_shows(
    value: Option<Vec<String>>,
    faults: &mut RoomInputFaults,
) -> Vec<String> {
    let shows = value.unwrap_or_default();
    if shows.is_empty() {
        faults.note_bad_value(
            "shows",
            "is required: the ids of the shows this room guards",
        );
    }
    for (at, show) in shows.iter().enumerate() {
        let field = format!("shows[{at}]");
        let stem = show.strip_suffix('*').unwrap_or(show);
        if stem.is_empty()
            || !stem
                .bytes()
                .all(|b| b.is_ascii_graphic() && b != b'*' && b != b'/')
            || show.len() > 128
        {
            faults.note_bad_value(
                &field,
                format!(
                    "\"{show}\" is not valid: write a show's id, or the first part of an id and then \"*\"; at most 128 characters, without spaces and \"/\""
                ),
            );
        }
        if shows[..at].iter().any(|earlier| overlap(earlier, show)) {
            faults.note_bad_value(
                &field,
                format!("\"{show}\" overlaps an earlier entry: one show could match both"),
            );
        }
    }
    shows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_overlap_if_one_show_can_match_both() {
        for (a, b, expected) in [
            ("a", "a", true),
            ("a", "b", false),
            ("g1-*", "g1-2", true),
            ("g1-*", "g*", true),
            ("g1-*", "g2-*", false),
        ] {
            assert_eq!(
                (overlap(a, b), overlap(b, a)),
                (expected, expected),
                "{a} {b}"
            );
        }
    }
}
