//! Describes fares by distance, for the person who imports a feed without fares.

use fairgate_model::timetables::TimetableParts;

/// Describes the price by distance in each class.
pub fn distance_tariff(parts: &TimetableParts) -> String {
    let money = |amount: i64| parts.currency.with_amount(amount);
    let classes = parts.classes.iter().map(|class| {
        let rate = class.rate;
        // A rate counts hundredths of a minor unit for one kilometre. So the same number is the
        // price in whole minor units for a hundred kilometres.
        let hundred_km = money(rate.per_km);
        let base = match rate.base {
            0 => String::new(),
            base => format!("{} and ", money(base)),
        };
        let least = money(rate.least);
        format!(
            "{}: {base}{hundred_km} for 100 km, at least {least}",
            class.label
        )
    });
    classes.collect::<Vec<_>>().join("; ")
}
