//! Writes a calendar with one event, in the format of RFC 5545.

/// The most bytes in a line of a calendar. A longer line continues on the next line.
const LINE_BYTES: usize = 75;

/// One event of a calendar. Times are stamps like `20270110T190000Z`.
pub struct CalendarEvent<'a> {
    pub uid: &'a str,
    pub summary: &'a str,
    pub location: &'a str,
    pub description: &'a str,
    pub issued_at: &'a str,
    pub starts_at: &'a str,
    pub ends_at: &'a str,
}

impl CalendarEvent<'_> {
    /// Returns the text of a calendar with this event only.
    pub fn to_calendar(&self) -> String {
        let text = |name: &str, value: &str| folded_line(&format!("{name}:{}", escaped(value)));
        let lines = [
            "BEGIN:VCALENDAR".to_owned(),
            "VERSION:2.0".to_owned(),
            "PRODID:ICALENDAR-RS".to_owned(),
            "CALSCALE:GREGORIAN".to_owned(),
            "BEGIN:VEVENT".to_owned(),
            text("DESCRIPTION", self.description),
            format!("DTEND:{}", self.ends_at),
            format!("DTSTAMP:{}", self.issued_at),
            format!("DTSTART:{}", self.starts_at),
            text("LOCATION", self.location),
            text("SUMMARY", self.summary),
            text("UID", self.uid),
            "END:VEVENT".to_owned(),
            "END:VCALENDAR".to_owned(),
        ];
        lines.map(|line| line + "\r\n").concat()
    }
}

/// Escapes the characters that separate values and lines, and the backslash.
fn escaped(value: &str) -> String {
    let value = value.replace('\\', r"\\").replace(',', r"\,");
    value.replace(';', r"\;").replace('\n', r"\n")
}

/// Folds a line between characters, so that no part is longer than [`LINE_BYTES`].
///
/// Every part but the first begins with a space, which a reader removes. If the part's own text
/// would begin with a space, the line is folded one byte earlier. The check counts characters, but
/// the fold counts bytes. So a line with letters of several bytes may be folded earlier than
/// necessary, or a part's own text may begin with a space.
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

    const EVENT: CalendarEvent<'_> = CalendarEvent {
        uid: "tk_1",
        summary: "Tosca; a night, \\ or two\nof it",
        location: "Opera",
        description: "Seat A-1",
        issued_at: "20270101T090000Z",
        starts_at: "20270110T190000Z",
        ends_at: "20270110T220000Z",
    };

    #[test]
    fn an_event_is_written_line_by_line_with_its_texts_escaped() {
        let expected = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:ICALENDAR-RS\r\nCALSCALE:GREGORIAN\r\n\
            BEGIN:VEVENT\r\nDESCRIPTION:Seat A-1\r\nDTEND:20270110T220000Z\r\n\
            DTSTAMP:20270101T090000Z\r\nDTSTART:20270110T190000Z\r\nLOCATION:Opera\r\n\
            SUMMARY:Tosca\\; a night\\, \\\\ or two\\nof it\r\nUID:tk_1\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";
        assert_eq!(EVENT.to_calendar(), expected);
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
