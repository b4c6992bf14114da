//! What pages need beside plain values: strings with values in them, numbers and times people can read.
//!
//! The scripts have the same three in `script/core.js`; there the browser's own language and time zone are known.

use minijinja::{
    Error, Value,
    value::{Kwargs, ValueKind},
};

/// `t.lobby.ahead|fill(n=3)`: puts values where the string says `{n}`. A string that counts
/// (`{"one": …, "other": …}`) is chosen by `n`.
pub(crate) fn fill(text: &Value, values: &Kwargs) -> Result<String, Error> {
    let text = if text.kind() == ValueKind::Map {
        let one = values
            .peek::<Value>("n")
            .ok()
            .and_then(|n| i64::try_from(n).ok())
            == Some(1);
        text.get_attr(if one { "one" } else { "other" })?
    } else {
        text.clone()
    };
    let mut out = text.to_string();
    for name in values.args() {
        let value: Value = values.get(name)?;
        let shown = if value.is_integer() {
            count(&value)
        } else {
            value.to_string()
        };
        out = out.replace(&format!("{{{name}}}"), &shown);
    }
    Ok(out)
}

/// `12345` as `12,345`; anything that is no whole number as it stands.
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

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// An RFC 3339 time as people write it, in the zone it was given in: `1 June 2027, 20:00 (UTC+02:00)`. A string that
/// is no such time is shown as it stands, and nothing is shown as a dash.
pub(crate) fn when(time: &Value) -> String {
    let Some(text) = time.as_str() else {
        return "–".to_owned();
    };
    readable(text).unwrap_or_else(|| text.to_owned())
}

fn readable(text: &str) -> Option<String> {
    let (date, rest) = text.split_once(['T', ' '])?;
    let mut parts = date.split('-');
    let year: u16 = parts.next()?.parse().ok()?;
    let month: usize = parts.next()?.parse().ok()?;
    let day: u8 = parts.next()?.parse().ok()?;
    let clock = rest.get(..5).filter(|clock| clock.as_bytes()[2] == b':')?;
    let zone = match rest[5..]
        .find(['Z', 'z', '+', '-'])
        .map(|at| &rest[5 + at..])?
    {
        "Z" | "z" | "+00:00" | "-00:00" => "UTC".to_owned(),
        offset => format!("UTC{offset}"),
    };
    Some(format!(
        "{day} {} {year}, {clock} ({zone})",
        MONTHS.get(month.checked_sub(1)?)?
    ))
}

/// Seconds as a span people can take in: `40 s`, `12 min`, `2 h 5 min`. Short forms, the same in most languages.
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
    fn a_time_is_shown_in_the_zone_it_was_given_in() {
        assert_eq!(
            when(&"2027-06-01T20:00:00+02:00".into()),
            "1 June 2027, 20:00 (UTC+02:00)"
        );
        assert_eq!(
            when(&"2027-01-10T08:00:00.250Z".into()),
            "10 January 2027, 08:00 (UTC)"
        );
        assert_eq!(when(&"soon".into()), "soon");
        assert_eq!(when(&"2027-13-10Té8:00:00Z".into()), "2027-13-10Té8:00:00Z");
        assert_eq!(when(&Value::from(())), "–");
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
    fn a_span_never_promises_less_than_it_is() {
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
