//! Lists in the metadata that the payment provider keeps with a payment or a refund.
//!
//! Stripe takes 50 keys of at most 40 characters with values of at most 500 characters each
//! (docs.stripe.com/metadata).

use std::collections::BTreeMap;

/// The most keys of one metadata.
pub(crate) const KEYS_MAX: usize = 50;

/// The most characters of one value.
pub(crate) const VALUE_CHARS_MAX: usize = 500;

/// Returns the name of the nth value of a list, counted from 1.
fn key(list: &str, nth: usize) -> String {
    match nth {
        1 => list.to_owned(),
        nth => format!("{list}_{nth}"),
    }
}

/// Writes a list into as many values as it needs. No entry is divided.
pub(crate) fn in_values<T>(
    list: &str,
    entries: &[T],
    separator: char,
    text: impl Fn(&T) -> String,
) -> Vec<(String, String)> {
    let mut values: Vec<String> = Vec::new();
    for entry in entries.iter().map(text) {
        match values.last_mut() {
            Some(value) if value.chars().count() + 1 + entry.chars().count() <= VALUE_CHARS_MAX => {
                value.push(separator);
                value.push_str(&entry);
            }
            _ => values.push(entry),
        }
    }
    let numbered = values.into_iter().enumerate();
    numbered
        .map(|(at, value)| (key(list, at + 1), value))
        .collect()
}

/// Returns the entries of a list that [`in_values`] wrote.
pub(crate) fn from_values<'a>(
    metadata: &'a BTreeMap<String, String>,
    list: &str,
    separator: char,
) -> Vec<&'a str> {
    let values = (1..).map_while(|nth| metadata.get(&key(list, nth)));
    values.flat_map(|value| value.split(separator)).collect()
}
