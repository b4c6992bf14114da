//! What single values of a feed mean; each tells the fault of its line.

use jiff::civil::Date;

use super::table::FeedTableLine;

/// Times of a trip end before this: 30 days, in seconds.
const TIME_MAX: u32 = 30 * 86_400;

/// `H:MM:SS` or `HH:MM`, hours beyond 24 allowed, as seconds.
pub fn seconds(text: &str) -> Option<u32> {
    let mut parts = text.split(':');
    let (hours, minutes) = (
        parse_digits(parts.next()?, 3)?,
        parse_digits(parts.next()?, 2)?,
    );
    let seconds = parts.next().map_or(Some(0), |part| parse_digits(part, 2))?;
    if parts.next().is_some() || minutes > 59 || seconds > 59 {
        return None;
    }
    let all = hours * 3_600 + minutes * 60 + seconds;
    (all < TIME_MAX).then_some(all)
}

fn parse_digits(text: &str, most: usize) -> Option<u32> {
    let sound = (1..=most).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    sound.then(|| text.parse().ok()).flatten()
}

/// A time in a column, none where it is empty; a fault where it is no time.
pub fn time_column(line: &FeedTableLine<'_>, column: &str) -> Result<Option<u32>, ()> {
    let text = line.get(column);
    if text.is_empty() {
        return Ok(None);
    }
    seconds(text).map(Some).ok_or_else(|| {
        line.fault(
            "bad_time",
            format!("{column} is {text:?}; a time is HH:MM or HH:MM:SS"),
        );
    })
}

/// A whole number that must be there.
pub fn integer_column(line: &FeedTableLine<'_>, column: &str) -> Option<u32> {
    let text = line.needed(column)?;
    let number = text.parse().ok();
    if number.is_none() {
        let message = format!("{column} is {text:?}; it must be a whole number from 0");
        line.fault("bad_number", message);
    }
    number
}

/// Degrees that must be there, at most so many either way.
pub fn degrees(line: &FeedTableLine<'_>, column: &str, most: f64) -> Option<f64> {
    let text = line.needed(column)?;
    let number = text.parse().ok().filter(|of: &f64| of.abs() <= most);
    if number.is_none() {
        let message = format!("{column} is {text:?}; it must be between -{most} and {most}");
        line.fault("bad_number", message);
    }
    number
}

/// A date as GTFS writes it, `20260131`, that must be there.
pub fn plain_date(line: &FeedTableLine<'_>, column: &str) -> Option<Date> {
    let text = line.needed(column)?;
    let date = (text.len() == 8 && text.bytes().all(|b| b.is_ascii_digit()))
        .then(|| format!("{}-{}-{}", &text[..4], &text[4..6], &text[6..]));
    let date = date.and_then(|text| text.parse().ok());
    if date.is_none() {
        line.fault(
            "bad_date",
            format!("{column} is {text:?}; a date is YYYYMMDD"),
        );
    }
    date
}

/// A date `2016-01-31`, or the number of a day as spreadsheets keep it, that must be there.
pub fn date_column(line: &FeedTableLine<'_>, column: &str) -> Option<Date> {
    /// The day before a spreadsheet's day 1, as days are counted since March 1900.
    const DAY_0: Date = jiff::civil::date(1899, 12, 30);
    let text = line.needed(column)?;
    let date = match text.parse::<i64>() {
        Ok(day) if (1..=99_999).contains(&day) => {
            DAY_0.checked_add(jiff::Span::new().days(day)).ok()
        }
        Ok(_) => None,
        Err(_) => (text.len() == 10).then(|| text.parse().ok()).flatten(),
    };
    if date.is_none() {
        line.fault(
            "bad_date",
            format!("{column} is {text:?}; a date is YYYY-MM-DD"),
        );
    }
    date
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_may_pass_midnight_and_nothing_else_is_a_time() {
        for (text, expected) in [
            ("05:47", Some(20_820)),
            ("6:00:00", Some(21_600)),
            ("25:49:07", Some(92_947)),
            ("00:00", Some(0)),
            ("100:00:00", Some(360_000)),
            ("800:00:00", None),
            ("5:60", None),
            ("05:47:61", None),
            ("", None),
            ("noon", None),
            ("-1:00", None),
            ("+1:00", None),
            ("1:2:3:4", None),
            ("12", None),
        ] {
            assert_eq!(seconds(text), expected, "{text}");
        }
    }
}
