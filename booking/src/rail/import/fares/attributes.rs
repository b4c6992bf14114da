//! Reads Fares V1: the fares in `fare_attributes.txt`, and where they apply by `fare_rules.txt`.

use super::super::draft::FeedNameIndex;
use super::super::table::{FeedTableLine, each_line};
use super::agencies::FeedAgencies;
use super::amount::{FareCurrency, read_amount};
use super::selection::FareSelection;
use super::zone_rules::ZoneRules;
use super::{ATTRIBUTES, FareContext, FareRules, FeedFare};

/// Reads the fares of a feed that has `fare_attributes.txt`.
pub fn read_fares(
    context: &FareContext<'_>,
    currency: &mut FareCurrency,
    selection: &mut FareSelection<'_>,
) -> (Vec<FeedFare>, FareRules) {
    let agencies = FeedAgencies::read(context);
    let mut names = FeedNameIndex::default();
    let (mut fares, mut fare_agencies) = (Vec::new(), Vec::new());
    let columns = ["fare_id", "price", "currency_type"];
    let read = each_line(
        context.folder,
        ATTRIBUTES,
        &columns,
        context.faults,
        |line| {
            let agency = agencies.of_fare(line);
            let Some(fare) = read_fare(line, currency, selection) else {
                return;
            };
            let at = u32::try_from(fares.len()).unwrap_or(u32::MAX);
            if names.register_name(line, "fare", &fare.id, at) {
                fares.push(fare);
                fare_agencies.push(agency);
            }
        },
    );
    names.incomplete = !read;
    if !read {
        currency.set_unreadable();
        selection.incomplete = true;
    }
    let mut rules = ZoneRules::read(context, &names, &fares);
    // Without fares of an agency it does not matter which agencies the routes have.
    if fare_agencies.iter().any(Option::is_some) {
        let of_routes = agencies.of_routes(context.routes, context.faults);
        rules.restrict_to_agencies(fare_agencies, of_routes);
    }
    (fares, FareRules::Zones(rules))
}

/// Reads a fare. A fare whose price cannot be read gets the price 0, so that its rules are checked
/// all the same; its fault keeps it from being imported.
fn read_fare(
    line: &FeedTableLine<'_>,
    currency: &mut FareCurrency,
    selection: &mut FareSelection<'_>,
) -> Option<FeedFare> {
    let id = line.needed("fare_id");
    let sold = id.is_some_and(|id| selection.admits([id, id]));
    let price = line.needed("price");
    let currency = currency.read(line, "currency_type", sold);
    let amount = price
        .zip(currency)
        .and_then(|(price, currency)| read_amount(line, "price", price, currency));
    Some(FeedFare {
        transfers: read_transfers(line),
        id: id?.to_owned(),
        amount: amount.unwrap_or_default(),
        sold,
    })
}

/// Reads how many changes a fare allows. Adds a fault if the text is not a number.
fn read_transfers(line: &FeedTableLine<'_>) -> u32 {
    let text = line.get("transfers");
    if text.is_empty() {
        return u32::MAX;
    }
    text.parse().unwrap_or_else(|_| {
        let message =
            format!("transfers is {text:?}; it is a whole number, or empty for any number");
        line.fault("bad_number", message);
        u32::MAX
    })
}
