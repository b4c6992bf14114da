//! Writes the opening of a room and its draw as a calendar.

use fairgate_base::calendar::{CalendarEvent, write_calendar};
use fairgate_rules::room_document::{LineMethod, RoomDocument};
use jiff::Timestamp;

/// How long each entry of the calendar lasts, in milliseconds.
const ENTRY_MS: i64 = 15 * 60_000;

/// Returns the calendar of a room as of `now` (ms). `draw_called_at` is the time (ms) to which the
/// draw was brought forward, if it was. Times are in the time zone `zone`, or in UTC if it is not
/// known. A room whose sale begins with its opening has one entry.
#[must_use]
pub(super) fn of_room(
    room: &str,
    document: &RoomDocument,
    draw_called_at: Option<i64>,
    zone: Option<&str>,
    now: i64,
) -> String {
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
        starts_at: timestamp(*at_ms),
        ends_at: timestamp(at_ms.saturating_add(ENTRY_MS)),
        time_zone: zone,
    });
    write_calendar(&events.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(opens_at: i64, draw_at: i64) -> RoomDocument {
        RoomDocument {
            title: "Night one".to_owned(),
            method: LineMethod::Draw,
            opens_at,
            draw_at,
            ..RoomDocument::everyday()
        }
    }

    #[test]
    fn a_calendar_has_the_opening_and_the_draw_by_the_venues_clocks() {
        let document = document(1_800_000_000_000, 1_800_003_600_000);
        let text = of_room("demo", &document, None, Some("Europe/Berlin"), 0);
        for line in [
            "SUMMARY:Night one: the lobby opens",
            "SUMMARY:Night one: draw and start of the sale",
            "DTSTART;TZID=Europe/Berlin:20270115T090000",
            "DTSTART;TZID=Europe/Berlin:20270115T100000",
            "UID:demo-draw@fairgate",
        ] {
            assert!(text.contains(&format!("\r\n{line}\r\n")), "{line}: {text}");
        }
        let forward = of_room("demo", &document, Some(1_800_001_800_000), None, 0);
        assert!(forward.contains("DTSTART:20270115T083000Z"), "{forward}");
    }

    #[test]
    fn a_room_that_sells_from_its_opening_has_one_entry() {
        let document = document(1_800_000_000_000, 1_800_000_000_000);
        let text = of_room("demo", &document, None, None, 0);
        assert_eq!(text.matches("BEGIN:VEVENT").count(), 1);
    }
}
