//! Formats values for pages: strings with values in them, and numbers and times that people can
//! read.
//!
//! The scripts have the same functions in `script/core.js`, where the browser's own language and
//! time zone are known.

use std::collections::BTreeMap;

use fairgate_model::money::Currency;
use jiff::civil::Date;
use jiff::fmt::temporal::Pieces;
use jiff::{Timestamp, tz::Offset};
use minijinja::{
    Error, Value,
    value::{Kwargs, ValueKind},
};

use crate::texts;

/// Replaces placeholders such as `{n}` by values, as in `t.lobby.ahead|fill(n=3)`. If a text has
/// two forms (`{"one": …, "other": …}`), `n` chooses the form.
pub(crate) fn fill(text: &Value, values: &Kwargs) -> Result<String, Error> {
    let text = if text.kind() == ValueKind::Map {
        let is_one = values
            .peek::<Value>("n")
            .ok()
            .and_then(|n| i64::try_from(n).ok())
            == Some(1);
        text.get_attr(if is_one { "one" } else { "other" })?
    } else {
        text.clone()
    };
    let mut out = text.to_string();
    for name in values.args() {
        let value: Value = values.get(name)?;
        let text_of_value = if value.is_integer() {
            count(&value)
        } else {
            value.to_string()
        };
        out = out.replace(&format!("{{{name}}}"), &text_of_value);
    }
    Ok(out)
}

/// Returns those texts of a group that a page has from the beginning.
pub(crate) fn first_texts(texts: &Value, group: &str) -> Result<Value, Error> {
    let mut first = BTreeMap::new();
    for key in texts.try_iter()? {
        let name = key.to_string();
        if !texts::is_first(group, &name) {
            continue;
        }
        let text = texts.get_item(&key)?;
        let text = match (group, name.as_str()) {
            ("lobby", "state") => first_states(&text)?,
            _ => text,
        };
        first.insert(name, text);
    }
    Ok(first.into())
}

/// Returns the words of the states that the lobby has from the beginning.
fn first_states(states: &Value) -> Result<Value, Error> {
    let mut first = BTreeMap::new();
    for state in states.try_iter()? {
        if texts::is_first_state(&state.to_string()) {
            first.insert(state.to_string(), states.get_item(&state)?);
        }
    }
    Ok(first.into())
}

/// Formats `12345` as `12,345`. Anything that is not a whole number stays as it is, and a missing
/// value becomes a dash.
pub(crate) fn count(number: &Value) -> String {
    let Ok(whole) = i64::try_from(number.clone()) else {
        return if number.is_none() || number.is_undefined() {
            "–".to_owned()
        } else {
            number.to_string()
        };
    };
    let digits = whole.unsigned_abs().to_string();
    let mut out = String::from(if whole < 0 { "−" } else { "" });
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Formats an RFC 3339 time as people write it: by the clocks of an IANA time zone, `1 June 2027,
/// 20:00 (Berlin time)`, or in the time's own offset, `1 June 2027, 20:00 (UTC+02:00)`. A string
/// that is not such a time stays as it is, and a missing value becomes a dash.
pub(crate) fn when(time: &Value, zone: Option<&str>) -> String {
    let Some(text) = time.as_str() else {
        return "–".to_owned();
    };
    let local_time = zone.and_then(|zone| by_clocks_of(text, zone));
    local_time
        .or_else(|| in_own_offset(text))
        .unwrap_or_else(|| text.to_owned())
}

fn by_clocks_of(text: &str, zone: &str) -> Option<String> {
    let moment: Timestamp = text.parse().ok()?;
    let local_time = moment.in_tz(zone).ok()?;
    let written = local_time.strftime("%-d %B %Y, %H:%M");
    Some(format!("{written} ({})", self::zone(zone)))
}

/// Names an IANA time zone for people: `Berlin time` for `Europe/Berlin`.
pub(crate) fn zone(zone: &str) -> String {
    if zone == "UTC" {
        return zone.to_owned();
    }
    let place = zone.rsplit('/').next().unwrap_or(zone);
    format!("{} time", place.replace('_', " "))
}

/// Formats a time in its own offset.
fn in_own_offset(text: &str) -> Option<String> {
    let parts = Pieces::parse(text).ok()?;
    let offset = parts.to_numeric_offset()?;
    let local_time = parts.date().to_datetime(parts.time()?);
    let local_time = offset.to_timestamp(local_time).ok()?;
    let local_time = local_time.to_zoned(offset.to_time_zone());
    let zone = if offset == Offset::UTC { "" } else { "%:z" };
    Some(format!(
        "{}",
        local_time.strftime(&format!("%-d %B %Y, %H:%M (UTC{zone})"))
    ))
}

/// Formats the day of an RFC 3339 time, or a day alone, as people write it: `Mon 11 January 2027`.
/// Anything else stays as it is.
pub(crate) fn day(time: &Value) -> String {
    let Some(text) = time.as_str() else {
        return "–".to_owned();
    };
    let day: Option<Date> = text.get(..10).and_then(|day| day.parse().ok());
    day.map_or_else(
        || text.to_owned(),
        |day| day.strftime("%a %-d %B %Y").to_string(),
    )
}

/// Formats the hours and minutes of an RFC 3339 time, in its own zone: `20:00`. Anything else
/// becomes a dash.
pub(crate) fn clock(time: &Value) -> String {
    let text = time.as_str().unwrap_or_default();
    let clock = text.get(11..16).filter(|clock| clock.as_bytes()[2] == b':');
    clock.map_or_else(|| "–".to_owned(), ToOwned::to_owned)
}

const SIGNS: [(&str, &str); 5] = [
    ("EUR", "€"),
    ("GBP", "£"),
    ("USD", "$"),
    ("JPY", "¥"),
    ("CNY", "CN¥"),
];

/// Formats `{amount: 1200, currency: "EUR"}` as `€12.00`. A currency without a sign is named by
/// its code.
pub(crate) fn money(value: &Value) -> String {
    let amount = value
        .get_attr("amount")
        .ok()
        .and_then(|amount| i64::try_from(amount).ok());
    let currency = value.get_attr("currency").ok();
    let currency = currency.as_ref().and_then(Value::as_str);
    let (Some(amount), Some(currency)) = (amount, currency.and_then(Currency::parse)) else {
        return String::new();
    };
    let code = currency.as_str();
    let sign = SIGNS.iter().find(|(signed, _)| *signed == code);
    let sign = sign.map_or_else(|| format!("{code} "), |(_, sign)| (*sign).to_owned());
    let minus = if amount < 0 { "−" } else { "" };
    let (major, minor) = currency.split_units(amount.unsigned_abs());
    let point = if minor.is_empty() { "" } else { "." };
    format!("{minus}{sign}{}{point}{minor}", count(&Value::from(major)))
}

/// Formats a number of seconds for people: `40 s`, `12 min`, `2 h 5 min`. A minute or more is
/// rounded up to whole minutes. These units have the same short forms in most languages.
pub(crate) fn span(seconds: &Value) -> String {
    let Ok(seconds) = f64::try_from(seconds.clone()) else {
        return "–".to_owned();
    };
    let seconds = seconds.max(0.0).round();
    if seconds < 60.0 {
        return format!("{seconds:.0} s");
    }
    let minutes = (seconds / 60.0).ceil();
    let (hours, minutes) = ((minutes / 60.0).floor(), minutes % 60.0);
    match (hours > 0.0, minutes > 0.0) {
        (false, _) => format!("{minutes:.0} min"),
        (true, false) => format!("{hours:.0} h"),
        (true, true) => format!("{hours:.0} h {minutes:.0} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_shown_in_its_own_zone_and_other_strings_stay_unchanged() {
        assert_eq!(
            when(&"2027-06-01T20:00:00+02:00".into(), None),
            "1 June 2027, 20:00 (UTC+02:00)"
        );
        assert_eq!(
            when(&"2027-01-10T08:00:00.250Z".into(), None),
            "10 January 2027, 08:00 (UTC)"
        );
        assert_eq!(when(&"soon".into(), None), "soon");
        assert_eq!(
            when(&"2027-13-10Té8:00:00Z".into(), None),
            "2027-13-10Té8:00:00Z"
        );
        assert_eq!(when(&Value::from(()), Some("Europe/Berlin")), "–");
    }

    #[test]
    fn a_time_is_shown_by_the_clocks_of_a_zone_whose_place_is_named() {
        for (zone, shown) in [
            ("Europe/Berlin", "1 June 2027, 20:00 (Berlin time)"),
            ("America/New_York", "1 June 2027, 14:00 (New York time)"),
            ("UTC", "1 June 2027, 18:00 (UTC)"),
            ("Mars/Base", "1 June 2027, 18:00 (UTC)"),
        ] {
            assert_eq!(when(&"2027-06-01T18:00:00Z".into(), Some(zone)), shown);
        }
    }

    #[test]
    fn a_day_is_shown_with_its_weekday_and_a_time_as_hours_and_minutes() {
        for (text, shown) in [
            ("2027-01-11T20:00:00+01:00", "Mon 11 January 2027"),
            ("2026-11-22", "Sun 22 November 2026"),
            ("2028-02-29", "Tue 29 February 2028"),
            ("2000-03-01", "Wed 1 March 2000"),
            ("tomorrow", "tomorrow"),
            ("2027-00-01", "2027-00-01"),
        ] {
            assert_eq!(day(&text.into()), shown);
        }
        assert_eq!(clock(&"2027-01-11T20:05:00+01:00".into()), "20:05");
        assert_eq!(clock(&"2027-01-11Té0:05".into()), "–");
        assert_eq!(clock(&Value::from(())), "–");
    }

    #[test]
    fn money_is_shown_in_major_units_with_the_sign_of_its_currency() {
        let of = |amount: i64, currency: &str| {
            let told = serde_json::json!({"amount": amount, "currency": currency});
            money(&Value::from(minijinja::value::Serde(told)))
        };
        assert_eq!(of(1_234_500, "EUR"), "€12,345.00");
        assert_eq!(of(5, "CHF"), "CHF 0.05");
        assert_eq!(of(1_200, "JPY"), "¥1,200");
        assert_eq!(of(-1_250, "GBP"), "−£12.50");
        assert_eq!(of(1_234, "KWD"), "KWD 1.234");
        assert_eq!(of(1_200, "XOF"), "XOF 1,200");
        assert_eq!(of(500_000, "HUF"), "HUF 5,000.00");
        assert_eq!(money(&Value::from(())), "");
    }

    #[test]
    fn scripts_know_the_same_decimals_of_every_currency() {
        let script = include_str!("../script/money.js");
        let listed = |name: &str| {
            let (_, list) = script
                .split_once(&format!("const {name} = \""))
                .expect("a list");
            list.split_once('"').expect("its end").0
        };
        let (none, three) = (listed("NO_DECIMALS"), listed("THREE_DECIMALS"));
        let four = listed("FOUR_DECIMALS");
        let letters = || (b'A'..=b'Z').map(char::from);
        let codes = letters().flat_map(|a| {
            letters().flat_map(move |b| letters().map(move |c| String::from_iter([a, b, c])))
        });
        for code in codes {
            let has = |list: &str| list.split(' ').any(|listed| listed == code);
            let expected = if has(none) {
                0
            } else if has(three) {
                3
            } else if has(four) {
                4
            } else {
                2
            };
            let currency = Currency::parse(&code).expect("three capitals");
            // No sum is in a currency that is not listed.
            if !currency.is_listed() {
                continue;
            }
            assert_eq!(currency.decimals(), expected, "{code}");
        }
    }

    #[test]
    fn a_count_is_grouped_by_thousands() {
        for (number, shown) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (-12_345_678, "−12,345,678"),
        ] {
            assert_eq!(count(&number.into()), shown);
        }
        assert_eq!(count(&Value::from(())), "–");
    }

    #[test]
    fn a_span_from_a_minute_on_is_rounded_up_to_whole_minutes() {
        for (seconds, shown) in [
            (0.0, "0 s"),
            (59.0, "59 s"),
            (61.0, "2 min"),
            (3600.0, "1 h"),
            (7500.0, "2 h 5 min"),
        ] {
            assert_eq!(span(&seconds.into()), shown);
        }
    }
}
