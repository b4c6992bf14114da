//! Reads single values of a feed. A value that cannot be read adds a fault with its line.

use std::ops::RangeInclusive;

use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::table::FeedTableLine;

/// A time in a feed must be less than this: 30 days, in seconds.
const TIME_MAX: u32 = 30 * 86_400;

/// Parses `H:MM:SS` or `HH:MM` as seconds. Hours beyond 24 are allowed.
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
    let total = hours * 3_600 + minutes * 60 + seconds;
    (total < TIME_MAX).then_some(total)
}

fn parse_digits(text: &str, most: usize) -> Option<u32> {
    let sound = (1..=most).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    sound.then(|| text.parse().ok()).flatten()
}

/// Returns the name of a time zone as IANA writes it. Adds a fault if there is no such zone.
pub fn zone_name(line: &FeedTableLine<'_>, text: &str) -> Option<String> {
    let Ok(zone) = TimeZone::get(text) else {
        line.fault("bad_timezone", format!("there is no time zone {text:?}"));
        return None;
    };
    Some(zone.iana_name().unwrap_or(text).to_owned())
}

/// Reads a time, or `None` if the column is empty. Adds a fault if the text is not a time.
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

/// Reads a whole number. Adds a fault if the text is not a whole number.
pub fn integer_column(line: &FeedTableLine<'_>, column: &str) -> Option<u32> {
    let text = line.needed(column)?;
    let number = text.parse().ok();
    if number.is_none() {
        let message = format!("{column} is {text:?}; it must be a whole number from 0");
        line.fault("bad_number", message);
    }
    number
}

/// Reads a flag: a digit that says which of the allowed cases holds. Adds a fault if the text is
/// anything else, because a guess could sell what nobody may use.
pub fn flag_column(
    line: &FeedTableLine<'_>,
    column: &str,
    allowed: RangeInclusive<u8>,
) -> Option<u8> {
    let text = line.get(column);
    let flag = match text.as_bytes() {
        [digit @ b'0'..=b'9'] => Some(digit - b'0').filter(|flag| allowed.contains(flag)),
        _ => None,
    };
    if flag.is_none() {
        let cases: Vec<String> = allowed.map(|flag| flag.to_string()).collect();
        let message = format!("{column} is {text:?}; it is {}", cases.join(" or "));
        line.fault("bad_number", message);
    }
    flag
}

/// Reads a flag that counts as 0 where its column is empty or missing. Adds a fault if the text is
/// not an allowed flag.
pub fn optional_flag_column(
    line: &FeedTableLine<'_>,
    column: &str,
    allowed: RangeInclusive<u8>,
) -> Option<u8> {
    if line.get(column).is_empty() {
        return Some(0);
    }
    flag_column(line, column, allowed)
}

/// Reads degrees between `-most` and `most`. Adds a fault if the text is not such a number.
pub fn degrees(line: &FeedTableLine<'_>, column: &str, most: f64) -> Option<f64> {
    let text = line.needed(column)?;
    let number = text
        .parse()
        .ok()
        .filter(|number: &f64| number.abs() <= most);
    if number.is_none() {
        let message = format!("{column} is {text:?}; it must be between -{most} and {most}");
        line.fault("bad_number", message);
    }
    number
}

/// Reads a date in GTFS's form, such as `20260131`. Adds a fault if the text is not such a date.
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

/// Reads a date such as `2016-01-31`, or a day number as spreadsheets store it. Adds a fault if the
/// text is neither.
pub fn date_column(line: &FeedTableLine<'_>, column: &str) -> Option<Date> {
    /// Day 0 of spreadsheets. Spreadsheets also count 29 February 1900, which did not exist. Only
    /// dates after that day are right.
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
    fn times_after_24_00_are_read_and_other_texts_are_refused() {
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
