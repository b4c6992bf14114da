//! Tests feeds without fares for which nobody gave a currency: they are imported, and nothing of
//! them is sold.

use fairgate_model::money::Currency;

use super::fares::{check_refused, prices, read_with};
use super::*;

const NO_CURRENCY: &str = "the feed has no fares, and nobody gave a currency: nothing of this \
    timetable is sold; to price all trains by distance, write currency = \"EUR\", or another code \
    of ISO 4217, under [terms] in a file, and name the file with --rail";

#[test]
fn a_feed_without_fares_and_without_a_currency_is_imported_and_not_sold() {
    let feed = sound(read_with(&[], ""));
    for train in ["C1", "C2", "H1"] {
        assert_eq!(prices(&feed, train), [None; 3], "{train}");
    }
    assert_eq!(feed.parts.currency, Currency::NONE);
    assert_eq!(feed.notes, [NO_CURRENCY]);
}

#[test]
fn empty_files_of_fares_count_as_missing_so_they_give_no_currency() {
    let empty = [("fare_attributes.txt", ""), ("fare_rules.txt", "")];
    let feed = sound(read_with(&empty, ""));
    assert_eq!(prices(&feed, "C1"), [None; 3]);
    assert_eq!(
        feed.notes,
        [
            "fare_attributes.txt: it is empty, so it counts as missing",
            "fare_rules.txt: it is empty, so it counts as missing",
            NO_CURRENCY,
        ]
    );
    let feed = sound(read_with(&empty, "terms = { currency = \"CHF\" }\n"));
    assert!(prices(&feed, "C1").iter().all(Option::is_some));
    assert_eq!(feed.parts.currency.as_str(), "CHF");
}

/// A currency alone would not help here, so the note does not ask for one.
#[test]
fn files_of_fares_without_a_price_are_imported_without_a_currency() {
    let titles = ("fare_attributes.txt", "fare_id,price,currency_type\n");
    let feed = sound(read_with(&[titles], ""));
    assert_eq!(prices(&feed, "C1"), [None; 3]);
    assert_eq!(feed.parts.currency, Currency::NONE);
    assert_eq!(
        feed.notes,
        ["no trip has a fare: no departure is sold that was not sold before"]
    );
}

#[test]
fn fares_of_the_rail_file_need_their_currency() {
    let fare = "fare = [{ class = \"only\", from = \"port\", to = \"mill\", amount = 250 }]\n";
    check_refused(&[], fare, ":0 missing_currency", "currency = \"EUR\"");
    let with_currency = format!("{fare}terms = {{ currency = \"EUR\" }}\n");
    let feed = sound(read_with(&[], &with_currency));
    assert_eq!(prices(&feed, "C1"), [Some(250), None, None]);
}
