//! Writes the opening of a room and its draw as a calendar.

use fairgate_base::calendar::{CalendarEvent, write_calendar};
use fairgate_rules::room_document::LineMethod;
use jiff::Timestamp;

use crate::ledger::RoomRow;

/// How long each entry of the calendar lasts, in milliseconds.
const ENTRY_MS: i64 = 15 * 60_000;

/// Returns the calendar of a room as of `now` (ms). The draw is at the time to which it was brought
/// forward, if it was. Times are in the time zone `zone`, or in UTC if it is not known. A room
/// whose sale begins with its opening has one entry. The row's version counts the changes of the
/// room.
#[must_use]
pub(super) fn of_room(row: &RoomRow, zone: Option<&str>, now: i64) -> String {
    let (room, document) = (&row.room, &row.document);
    let draw_called_at = row.facts.draw_called_at;
    let draw_at = draw_called_at.map_or(document.draw_at, |called| called.min(document.draw_at));
    let sale = match document.method {
        LineMethod::Draw => "draw and start of the sale",
        LineMethod::Fifo | LineMethod::Open => "start of the sale",
    };
    let mut entries = vec![("draw", draw_at, sale)];
    if document.opens_at < draw_at {
        entries.insert(0, ("opening", document.opens_at, "the lobby opens"));
    }
    let texts = entries.iter().map(|(name, _, entry_title)| {
        (
            format!("{room}-{name}@fairgate"),
            format!("{}: {entry_title}", document.title),
        )
    });
    let texts: Vec<_> = texts.collect();
    let timestamp = |at_ms| Timestamp::from_millisecond(at_ms).unwrap_or_default();
    let events = entries.iter().zip(&texts);
    let events = events.map(|((_, at_ms, _), (uid, summary))| CalendarEvent {
        uid,
        summary,
        location: "",
        description: "",
        issued_at: timestamp(now),
        sequence: row.version.saturating_sub(1),
        starts_at: timestamp(*at_ms),
        ends_at: timestamp(at_ms.saturating_add(ENTRY_MS)),
        time_zone: zone,
        end_time_zone: zone,
    });
    write_calendar(&events.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use fairgate_rules::phase::RoomFacts;
    use fairgate_rules::room_document::RoomDocument;

    use super::*;
    use crate::ledger::DrawSecret;

    fn row(opens_at: i64, draw_at: i64) -> RoomRow {
        RoomRow {
            room: "demo".to_owned(),
            document: RoomDocument {
                title: "Night one".to_owned(),
                method: LineMethod::Draw,
                opens_at,
                draw_at,
                ..RoomDocument::everyday()
            },
            facts: RoomFacts::default(),
            version: 1,
            secret: DrawSecret([0; 32]),
            created_at: 0,
        }
    }

    #[test]
    fn a_calendar_has_the_opening_and_the_draw_by_the_venues_clocks() {
        let mut row = row(1_800_000_000_000, 1_800_003_600_000);
        let text = of_room(&row, Some("Europe/Berlin"), 0);
        for line in [
            "SUMMARY:Night one: the lobby opens",
            "SUMMARY:Night one: draw and start of the sale",
            "DTSTART;TZID=Europe/Berlin:20270115T090000",
            "DTSTART;TZID=Europe/Berlin:20270115T100000",
            "UID:demo-draw@fairgate",
        ] {
            assert!(text.contains(&format!("\r\n{line}\r\n")), "{line}: {text}");
        }
        row.facts.draw_called_at = Some(1_800_001_800_000);
        let forward = of_room(&row, None, 0);
        assert!(forward.contains("DTSTART:20270115T083000Z"), "{forward}");
    }

    #[test]
    fn a_room_whose_draw_moved_has_a_larger_sequence_and_a_new_stamp() {
        let mut row = row(1_800_000_000_000, 1_800_003_600_000);
        let first = of_room(&row, None, 1_799_000_000_000);
        assert_eq!(first.matches("\r\nSEQUENCE:0\r\n").count(), 2, "{first}");
        row.document.draw_at += 3_600_000;
        row.version += 1;
        let moved = of_room(&row, None, 1_799_000_060_000);
        assert_eq!(moved.matches("\r\nSEQUENCE:1\r\n").count(), 2, "{moved}");
        let stamp = |text: &str| {
            let from = text.split("DTSTAMP:").nth(1).expect("a stamp");
            from.split('\r').next().expect("its end").to_owned()
        };
        assert!(stamp(&moved) > stamp(&first), "{moved}");
    }

    #[test]
    fn a_room_that_sells_from_its_opening_has_one_entry() {
        let text = of_room(&row(1_800_000_000_000, 1_800_000_000_000), None, 0);
        assert_eq!(text.matches("BEGIN:VEVENT").count(), 1);
    }
}
