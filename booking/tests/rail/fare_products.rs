//! Tests the fares of GTFS feeds in the form V2: products, and the rules that say where they apply.

use booking::rail::import::read_gtfs;
use fairgate_model::timetables::settings::RailFile;

use super::archive::packed;
use super::fares::{check_refused, lines_with, prices, read_with};
use super::*;

const PRODUCTS: &str = "fare_products.txt";
const RULES: &str = "fare_leg_rules.txt";

/// One product for every ride.
const SINGLE: [(&str, &str); 2] = [
    (
        PRODUCTS,
        "fare_product_id,fare_product_name,amount,currency\nsingle,Single,6.40,CHF\n",
    ),
    (
        RULES,
        "leg_group_id,network_id,from_area_id,to_area_id,fare_product_id\nany,,,,single\n",
    ),
];

/// Port and Mill are in the area `city`, Mill and Lake in `shore`. The coast line belongs to the
/// network `fast`.
const AREAS: [(&str, &str); 4] = [
    ("areas.txt", "area_id,area_name\ncity,City\nshore,Shore\n"),
    (
        "stop_areas.txt",
        "area_id,stop_id\ncity,port\ncity,mill\nshore,mill\nshore,lake\n",
    ),
    (
        "networks.txt",
        "network_id,network_name\nfast,Fast\nslow,Slow\n",
    ),
    (
        "route_networks.txt",
        "network_id,route_id\nfast,coast\nslow,hill\n",
    ),
];

/// Three products with different prices.
const THREE: (&str, &str) = (
    PRODUCTS,
    "fare_product_id,amount,currency\nshort,1.00,EUR\nlong,2.00,EUR\nother,3.00,EUR\n",
);

/// Reads a feed with the areas and networks of [`AREAS`], the products of [`THREE`] and these
/// rules.
fn read_rules(rules: &str) -> RailFeedResult {
    read_with(&[&AREAS[..], &[THREE, (RULES, rules)]].concat(), "")
}

#[test]
fn a_product_for_every_ride_is_its_price() {
    let feed = sound(read_with(&SINGLE, ""));
    assert_eq!(feed.parts.currency.as_str(), "CHF");
    for train in ["C1", "H1"] {
        assert_eq!(prices(&feed, train), [Some(640); 3]);
    }
    assert_eq!(feed.notes, Vec::<String>::new());
}

#[test]
fn an_archive_gives_the_same_products_as_its_folder() {
    let files = "network_id,from_area_id,to_area_id,fare_product_id\n\
        fast,city,shore,long\n,,,short\n";
    let folder = lines_with(&[&AREAS[..], &[THREE, (RULES, files)]].concat());
    let rail = RailFile::default();
    let archive = packed(folder.path());
    let read = sound(read_gtfs(&archive.path().join("feed.zip"), &rail));
    assert_eq!(read.parts, sound(read_gtfs(folder.path(), &rail)).parts);
}

#[test]
fn rules_name_networks_and_the_areas_of_both_ends() {
    let feed = sound(read_rules(
        "network_id,from_area_id,to_area_id,fare_product_id\n\
        fast,city,shore,long\nslow,,,other\n",
    ));
    // The ride from Port to Mill also ends in the area `shore`, because Mill is in both areas.
    assert_eq!(prices(&feed, "C1"), [Some(200); 3]);
    assert_eq!(prices(&feed, "H1"), [None; 3], "rules name both areas");
    let feed = sound(read_rules(
        "network_id,from_area_id,to_area_id,fare_product_id\n\
        fast,shore,shore,short\nslow,,,other\n",
    ));
    assert_eq!(prices(&feed, "C1"), [None, Some(100), None]);
    let from_routes = "route_id,agency_id,route_type,network_id\ncoast,N,2,fast\nhill,S,2,\n";
    let rules = "network_id,fare_product_id\nfast,long\n,other\n";
    let feed = sound(read_with(
        &[("routes.txt", from_routes), THREE, (RULES, rules)],
        "",
    ));
    assert_eq!(prices(&feed, "C1"), [Some(200); 3]);
    assert_eq!(prices(&feed, "H1"), [Some(300); 3]);
}

#[test]
fn an_empty_value_matches_what_no_rule_names_unless_rules_have_priorities() {
    let rules = "network_id,from_area_id,to_area_id,fare_product_id\nfast,,,long\n,,,short\n";
    let feed = sound(read_rules(rules));
    assert_eq!(prices(&feed, "C1"), [Some(200); 3]);
    assert_eq!(prices(&feed, "H1"), [Some(100); 3]);
    assert_eq!(feed.notes, Vec::<String>::new(), "no ride has two fares");
    let rules = "network_id,from_area_id,to_area_id,fare_product_id,rule_priority\n\
        fast,,,short,1\n,,,long,\n,,shore,other,2\n";
    let feed = sound(read_rules(rules));
    assert_eq!(prices(&feed, "C1"), [Some(300); 3]);
    let rules = rules.replace(",,shore,other,2\n", "slow,shore,,other,\n");
    let feed = sound(read_rules(&rules));
    assert_eq!(prices(&feed, "C1"), [Some(100); 3], "the highest priority");
    assert_eq!(prices(&feed, "H1"), [Some(200), Some(300), Some(200)]);
    assert_eq!(feed.notes.len(), 1, "H1 has two fares from Mill to Lake");
}

#[test]
fn the_price_for_adults_is_read_and_those_of_other_riders_are_left_out() {
    let products = "fare_product_id,rider_category_id,amount,currency\n\
        single,adult,5.00,EUR\nsingle,child,2.50,EUR\nback,,-1.00,EUR\nsenior,old,1.00,EUR\n";
    let riders = "rider_category_id,rider_category_name,is_default_fare_category\n\
        adult,Adult,1\nchild,Child,0\nold,Senior,\n";
    let rules = "fare_product_id\nsingle\nsenior\n";
    let files = [
        (PRODUCTS, products),
        ("rider_categories.txt", riders),
        (RULES, rules),
    ];
    let feed = sound(read_with(&files, ""));
    assert_eq!(prices(&feed, "C1"), [Some(500); 3]);
    assert_eq!(
        feed.notes,
        [
            "fare_products.txt: 2 prices are left out, because only the default rider category is \
             read: \"single\" and \"senior\"",
            "fare_products.txt: 1 price is left out, because a negative amount is no price of a \
             ride: \"back\"",
        ]
    );
    check_refused(
        &files,
        "fares = { sold = [\"senior\"] }\n",
        ":0 dangling_fare",
        "\"senior\" is not read",
    );
}

#[test]
fn of_two_media_the_dearer_is_sold_until_the_rail_file_names_one() {
    let products = "fare_product_id,fare_media_id,amount,currency\n\
        single,card,2.80,EUR\nsingle,cash,3.20,EUR\n";
    let files = [(PRODUCTS, products), (RULES, "fare_product_id\nsingle\n")];
    let feed = sound(read_with(&files, ""));
    assert_eq!(prices(&feed, "C1"), [Some(320); 3]);
    assert!(
        feed.notes[0]
            .contains("\"single/cash\" (3.20 EUR) is sold, and not \"single/card\" (2.80 EUR)"),
        "{:?}",
        feed.notes
    );
    for (sold, expected) in [("single/card", 280), ("single", 320)] {
        let feed = sound(read_with(
            &files,
            &format!("fares = {{ sold = [{sold:?}] }}\n"),
        ));
        assert_eq!(prices(&feed, "C1"), [Some(expected); 3]);
    }
}

#[test]
fn what_is_not_read_is_noted_and_rides_without_another_price_are_not_sold() {
    let rules = "network_id,fare_product_id,from_timeframe_group_id\n\
        fast,long,peak\nfast,short,night\n,other,\n";
    let feed = sound(read_rules(rules));
    // The coast line has rules of its own, so the one for all other networks is not for it.
    assert_eq!(prices(&feed, "C1"), [None; 3]);
    assert_eq!(prices(&feed, "H1"), [Some(300); 3]);
    assert_eq!(
        feed.notes,
        [
            "fare_leg_rules.txt: 2 rules are left out, because from_timeframe_group_id and \
             to_timeframe_group_id are not read",
            "2 trips have no fare and are not sold, on route \"coast\"",
        ]
    );
    let transfers = ("fare_transfer_rules.txt", "fare_transfer_type\n0\n");
    let feed = sound(read_with(&[&SINGLE[..], &[transfers]].concat(), ""));
    assert_eq!(
        feed.notes,
        ["fare_transfer_rules.txt is not read: only the fares of single rides are used"]
    );
    let feed = sound(read_with(&SINGLE[..1], ""));
    assert_eq!(prices(&feed, "C1"), [None; 3]);
    assert_eq!(
        feed.notes,
        [
            "fare_products.txt gives no ride a price, because fare_leg_rules.txt is missing",
            "no trip has a fare: no departure is sold that was not sold before",
        ]
    );
    let feed = sound(read_with(&[transfers], "terms = { currency = \"EUR\" }\n"));
    assert_eq!(prices(&feed, "C1"), [None; 3]);
    assert_eq!(
        feed.notes,
        [
            "fare_transfer_rules.txt is not read: no ride gets a price from it",
            "no trip has a fare: no departure is sold that was not sold before",
        ]
    );
}

#[test]
fn products_are_not_read_beside_fare_attributes() {
    let fares = (
        "fare_attributes.txt",
        "fare_id,price,currency_type\nf,1.00,EUR\n",
    );
    let feed = sound(read_with(&[&SINGLE[..], &[fares]].concat(), ""));
    assert_eq!(prices(&feed, "C1"), [Some(100); 3]);
    let why = "is not read: the fares of fare_attributes.txt are used";
    assert_eq!(
        feed.notes,
        [PRODUCTS, RULES].map(|file| format!("{file} {why}"))
    );
}

#[test]
fn each_fault_of_the_products_is_named_with_file_and_line() {
    let rules = "network_id,from_area_id,to_area_id,fare_product_id,rule_priority\n\
        fast,city,shore,long,1\nslow,,,short,\n";
    for (file, from, to, expected) in [
        (PRODUCTS, "2.00", "2.001", "fare_products.txt:3 bad_number"),
        (PRODUCTS, "2.00", "-x", "fare_products.txt:3 bad_number"),
        (
            PRODUCTS,
            "long,2.00,EUR",
            "long,2.00,USD",
            "fare_products.txt:3 bad_currency",
        ),
        (
            PRODUCTS,
            "other,",
            "long,",
            "fare_products.txt:4 duplicate_id",
        ),
        (
            RULES,
            ",short",
            ",gone",
            "fare_leg_rules.txt:3 dangling_fare",
        ),
        (RULES, "city", "town", "fare_leg_rules.txt:2 dangling_area"),
        (
            RULES,
            "slow",
            "still",
            "fare_leg_rules.txt:3 dangling_network",
        ),
        (
            RULES,
            "long,1",
            "long,one",
            "fare_leg_rules.txt:2 bad_number",
        ),
        (
            RULES,
            "slow,,,short,\n",
            "slow,,,short,\nslow,,,short,2\n",
            "fare_leg_rules.txt:4 duplicate_id",
        ),
        (
            "stop_areas.txt",
            "shore,lake",
            "sea,lake",
            "stop_areas.txt:5 dangling_area",
        ),
        (
            "route_networks.txt",
            "slow,hill",
            "slow,coast",
            "route_networks.txt:3 duplicate_id",
        ),
        (
            "route_networks.txt",
            "slow,hill",
            "slow,dale",
            "route_networks.txt:3 dangling_route",
        ),
    ] {
        let folder = lines_with(&[&AREAS[..], &[THREE, (RULES, rules)]].concat());
        super::faults::replaced(folder.path(), file, from, to);
        let faults = read_gtfs(folder.path(), &RailFile::default()).expect_err("it is broken");
        assert_eq!(in_short(&faults), [expected], "{faults:?}");
    }
    let riders = "fare_product_id,rider_category_id,amount,currency\nsingle,child,1.00,EUR\n";
    check_refused(
        &[(PRODUCTS, riders), SINGLE[1]],
        "",
        "fare_products.txt:2 dangling_category",
        "\"child\"",
    );
    check_refused(&SINGLE[1..], "", "fare_products.txt:0 missing_file", "");
}
