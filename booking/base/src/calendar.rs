//! Writes calendars, in the format of RFC 5545.

use jiff::{Timestamp, Zoned};

/// The maximum number of bytes in a line of a calendar. A longer text continues on the next line.
const LINE_BYTES: usize = 75;

/// One event of a calendar.
pub struct CalendarEvent<'a> {
    /// The event's id. A calendar program replaces an older event that has the same id.
    pub uid: &'a str,
    /// The title.
    pub summary: &'a str,
    /// Where it takes place. May be empty.
    pub location: &'a str,
    /// A longer description. May be empty.
    pub description: &'a str,
    /// When the event was written, or changed for the last time.
    pub issued_at: Timestamp,
    /// How often the event was changed. A calendar program replaces an event by one with a larger
    /// number.
    pub sequence: u64,
    /// When it begins.
    pub starts_at: Timestamp,
    /// When it ends.
    pub ends_at: Timestamp,
    /// The IANA name of a time zone. The event's beginning is written in this zone's time, or in
    /// UTC if the name is missing or unknown.
    pub time_zone: Option<&'a str>,
    /// The IANA name of the time zone where the event ends, if it is known. The end is written in
    /// this zone's time if it is another zone than that of the beginning, and otherwise in UTC,
    /// because the zone's clocks may change between beginning and end.
    pub end_time_zone: Option<&'a str>,
}

/// Returns the text of a calendar with these events.
#[must_use]
pub fn write_calendar(events: &[CalendarEvent<'_>]) -> String {
    let mut lines = vec![
        "BEGIN:VCALENDAR".to_owned(),
        "VERSION:2.0".to_owned(),
        "PRODID:-//Fairgate//Fairgate//EN".to_owned(),
        "CALSCALE:GREGORIAN".to_owned(),
    ];
    let mut described = Vec::new();
    for event in events {
        for (zone, local_time) in event.local_start().into_iter().chain(event.local_end()) {
            if !described.contains(&zone) {
                lines.extend(time_zone(zone, &local_time));
                described.push(zone);
            }
        }
    }
    lines.extend(events.iter().flat_map(CalendarEvent::lines));
    lines.push("END:VCALENDAR".to_owned());
    lines.into_iter().map(|line| line + "\r\n").collect()
}

impl CalendarEvent<'_> {
    /// Returns the zone and the event's beginning in the zone's time, if the zone is known.
    fn local_start(&self) -> Option<(&str, Zoned)> {
        let zone = self.time_zone?;
        let local_start = self.starts_at.in_tz(zone).ok()?;
        Some((zone, local_start))
    }

    /// Returns the zone and the event's end in the zone's time, if the zone is known and is another
    /// one than that of the beginning.
    fn local_end(&self) -> Option<(&str, Zoned)> {
        let zone = self
            .end_time_zone
            .filter(|zone| self.time_zone != Some(*zone))?;
        let local_end = self.ends_at.in_tz(zone).ok()?;
        Some((zone, local_end))
    }

    fn lines(&self) -> Vec<String> {
        let text = |name: &str, value: &str| folded_line(&format!("{name}:{}", escaped(value)));
        let moment = |name: &str, at: Timestamp, local: Option<(&str, Zoned)>| match local {
            Some((zone, local)) => {
                format!("{name};TZID={zone}:{}", local.strftime("%Y%m%dT%H%M%S"))
            }
            None => format!("{name}:{}", utc_stamp(at)),
        };
        let unless_empty = |name, value: &str| (!value.is_empty()).then(|| text(name, value));
        [
            Some("BEGIN:VEVENT".to_owned()),
            unless_empty("DESCRIPTION", self.description),
            Some(moment("DTEND", self.ends_at, self.local_end())),
            Some(format!("DTSTAMP:{}", utc_stamp(self.issued_at))),
            Some(moment("DTSTART", self.starts_at, self.local_start())),
            unless_empty("LOCATION", self.location),
            Some(format!("SEQUENCE:{}", self.sequence)),
            Some(text("SUMMARY", self.summary)),
            Some(text("UID", self.uid)),
            Some("END:VEVENT".to_owned()),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

fn utc_stamp(at: Timestamp) -> String {
    at.strftime("%Y%m%dT%H%M%SZ").to_string()
}

/// Describes a time zone as it is at `local_time`. A calendar must describe each zone that it
/// names. The description leaves out the rules before and after the event, because most calendar
/// programs know the zone by its name.
fn time_zone(zone: &str, local_time: &Zoned) -> [String; 8] {
    let offset = local_time.strftime("%z");
    [
        "BEGIN:VTIMEZONE".to_owned(),
        format!("TZID:{zone}"),
        "BEGIN:STANDARD".to_owned(),
        "DTSTART:19700101T000000".to_owned(),
        format!("TZOFFSETFROM:{offset}"),
        format!("TZOFFSETTO:{offset}"),
        "END:STANDARD".to_owned(),
        "END:VTIMEZONE".to_owned(),
    ]
}

/// Escapes the characters that separate values and lines, and the backslash. Removes all other
/// control characters.
fn escaped(value: &str) -> String {
    let value = value.replace('\\', r"\\").replace(',', r"\,");
    let value = value.replace(';', r"\;").replace("\r\n", "\n");
    let value = value.replace(['\n', '\r'], r"\n");
    value.replace(char::is_control, "")
}

/// Folds a line between characters, so that no part is longer than [`LINE_BYTES`].
///
/// Every part except the first begins with a space, which a calendar program removes. If the part's
/// own text would begin with a space, the line is folded one byte earlier. This check counts
/// characters, but the fold counts bytes. With letters of several bytes, a line may therefore be
/// folded earlier than necessary, or the text of a part may begin with a space all the same.
fn folded_line(line: &str) -> String {
    let begins_with_space = |at: usize| line.chars().nth(at).is_some_and(char::is_whitespace);
    let mut folded = String::with_capacity(line.len() + line.len() / LINE_BYTES * 3);
    let (mut start, mut end) = (0, LINE_BYTES);
    while line.len() - start > LINE_BYTES {
        if begins_with_space(end) {
            end -= 1;
        }
        while !line.is_char_boundary(end) {
            end -= 1;
            if begins_with_space(end) {
                end -= 1;
            }
        }
        folded.push_str(&line[start..end]);
        folded.push_str("\r\n ");
        start = end;
        end += LINE_BYTES - 1;
    }
    folded.push_str(&line[start..]);
    folded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(time_zone: Option<&str>) -> CalendarEvent<'_> {
        let at = |text: &str| text.parse().expect("a moment");
        CalendarEvent {
            uid: "tk_1",
            summary: "Tosca; a night, \\ or two\nof it",
            location: "Opera",
            description: "Seat A-1",
            issued_at: at("2027-01-01T09:00:00Z"),
            sequence: 2,
            starts_at: at("2027-01-10T19:00:00Z"),
            ends_at: at("2027-01-10T22:00:00Z"),
            time_zone,
            end_time_zone: time_zone,
        }
    }

    #[test]
    fn an_event_is_written_line_by_line_with_its_texts_escaped() {
        let expected = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Fairgate//Fairgate//EN\r\nCALSCALE:GREGORIAN\r\n\
            BEGIN:VEVENT\r\nDESCRIPTION:Seat A-1\r\nDTEND:20270110T220000Z\r\n\
            DTSTAMP:20270101T090000Z\r\nDTSTART:20270110T190000Z\r\nLOCATION:Opera\r\nSEQUENCE:2\r\n\
            SUMMARY:Tosca\\; a night\\, \\\\ or two\\nof it\r\nUID:tk_1\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";
        assert_eq!(write_calendar(&[event(None)]), expected);
        assert_eq!(write_calendar(&[event(Some("Mars/Base"))]), expected);
    }

    #[test]
    fn an_event_is_written_by_the_clocks_of_its_zone_which_is_described() {
        let calendar = write_calendar(&[event(Some("Asia/Kolkata"))]);
        for line in [
            "TZID:Asia/Kolkata",
            "TZOFFSETTO:+0530",
            "DTSTART;TZID=Asia/Kolkata:20270111T003000",
            "DTEND:20270110T220000Z",
            "DTSTAMP:20270101T090000Z",
        ] {
            assert!(calendar.contains(&format!("\r\n{line}\r\n")), "{calendar}");
        }
    }

    #[test]
    fn an_event_that_ends_in_another_zone_ends_by_the_clocks_there() {
        let calendar = write_calendar(&[CalendarEvent {
            end_time_zone: Some("Europe/Paris"),
            ..event(Some("Europe/London"))
        }]);
        for line in [
            "TZID:Europe/London",
            "TZOFFSETTO:+0000",
            "TZID:Europe/Paris",
            "TZOFFSETTO:+0100",
            "DTSTART;TZID=Europe/London:20270110T190000",
            "DTEND;TZID=Europe/Paris:20270110T230000",
        ] {
            assert!(calendar.contains(&format!("\r\n{line}\r\n")), "{calendar}");
        }
    }

    #[test]
    fn a_calendar_of_two_events_describes_their_zone_once() {
        let calendar =
            write_calendar(&[event(Some("Europe/Berlin")), event(Some("Europe/Berlin"))]);
        assert_eq!(calendar.matches("BEGIN:VTIMEZONE").count(), 1);
        assert_eq!(calendar.matches("BEGIN:VEVENT").count(), 2);
        assert_eq!(calendar.matches("BEGIN:VCALENDAR").count(), 1);
    }

    #[test]
    fn a_long_line_is_folded_between_characters_and_unfolds_to_the_same_text() {
        for line in ["x".repeat(400), "漢字".repeat(60), "ab cd é ".repeat(40)] {
            let folded = folded_line(&line);
            assert!(folded.split("\r\n").all(|part| part.len() <= LINE_BYTES));
            assert_eq!(folded.replace("\r\n ", ""), line);
        }
    }

    #[test]
    fn an_ascii_line_is_not_folded_right_before_a_space() {
        let line = format!("{} {}", "x".repeat(LINE_BYTES), "y".repeat(LINE_BYTES));
        let folded = folded_line(&line);
        assert_eq!(
            folded.split("\r\n").next().map(str::len),
            Some(LINE_BYTES - 1)
        );
        assert!(!folded.contains("\r\n  "));
    }
}
