//! Checks whether travellers can pay the fares of a timetable.

use std::collections::HashSet;

use fairgate_model::money::Currency;
use fairgate_model::payments::limits::{PaymentLimits, PaymentSumError};
use fairgate_model::timetables::{Tariff, TimetableParts};

use super::RailFeedFault;

/// The fare of a seat from one station to another.
struct StationFare {
    from: u32,
    to: u32,
    amount: i64,
}

/// Checks that no fare of a timetable is larger than the largest sum of a payment, and that every
/// fare is a multiple of the provider's step. A fare below the smallest sum is allowed, because the
/// fares of several seats together may reach that sum. The same holds for the fee of an exchange.
/// A timetable without a currency sells nothing, so nobody pays anything of it.
///
/// # Errors
/// Returns one fault for each class of a tariff that has fares outside these limits. The fault
/// names the dearest such fare. Returns another fault for the fee.
pub fn check_fares_payable(
    parts: &TimetableParts,
    limits: PaymentLimits,
) -> Result<(), Vec<RailFeedFault>> {
    if limits == PaymentLimits::NONE || parts.currency == Currency::NONE {
        return Ok(());
    }
    let mut faults = Vec::new();
    faults.extend(exchange_fee_fault(parts, limits));
    for (tariff, _) in parts.tariffs.iter().enumerate() {
        for (class, fare_class) in parts.classes.iter().enumerate() {
            let mut count = 0_u64;
            let mut dearest: Option<(StationFare, PaymentSumError)> = None;
            for fare in fares(parts, tariff, class) {
                let Err(why) = limits.check_price(fare.amount) else {
                    continue;
                };
                count += 1;
                let dearer = dearest
                    .as_ref()
                    .is_none_or(|(known, _)| fare.amount > known.amount);
                if dearer {
                    dearest = Some((fare, why));
                }
            }
            let Some((dearest, why)) = dearest else {
                continue;
            };
            let price = parts.currency.with_amount(dearest.amount);
            let name = |station: u32| &parts.stations[station as usize].name;
            faults.push(RailFeedFault {
                file: String::new(),
                line: 0,
                code: "unpayable",
                message: format!(
                    "tariff {tariff}, class {:?}: nobody could pay {count} of its fares, such as that from {} to {}: {}",
                    fare_class.key,
                    name(dearest.from),
                    name(dearest.to),
                    limits.why_not(price, why)
                ),
            });
        }
    }
    if faults.is_empty() {
        Ok(())
    } else {
        Err(faults)
    }
}

/// Returns the fault of a timetable whose fee for an exchange is outside the limits.
fn exchange_fee_fault(parts: &TimetableParts, limits: PaymentLimits) -> Option<RailFeedFault> {
    let fee = parts.terms.exchange?.fee;
    let why = limits.check_price(fee).err()?;
    let fee = parts.currency.with_amount(fee);
    Some(RailFeedFault {
        file: String::new(),
        line: 0,
        code: "unpayable",
        message: format!("terms.exchange.fee: {}", limits.why_not(fee, why)),
    })
}

/// Returns all fares of a class under a tariff.
fn fares(
    parts: &TimetableParts,
    tariff: usize,
    class: usize,
) -> Box<dyn Iterator<Item = StationFare> + '_> {
    match &parts.tariffs[tariff] {
        Tariff::Table(rows) => {
            let of_class = rows.iter().filter(move |row| usize::from(row.0) == class);
            Box::new(of_class.map(|&(_, from, to, amount)| StationFare { from, to, amount }))
        }
        Tariff::Distance => {
            let priced = parts
                .trips
                .iter()
                .filter(move |trip| trip.tariff as usize == tariff);
            let patterns: HashSet<u32> = priced.map(|trip| trip.pattern).collect();
            let rate = &parts.classes[class].rate;
            let stretches = patterns.into_iter().flat_map(|pattern| {
                let stops = &parts.patterns[pattern as usize];
                let starts = stops.iter().enumerate();
                starts.flat_map(|(at, from)| stops[at + 1..].iter().map(move |to| (from, to)))
            });
            Box::new(stretches.map(|(from, to)| StationFare {
                from: from.station,
                to: to.station,
                amount: rate.fare_for_distance(u64::from(to.at_m.saturating_sub(from.at_m))),
            }))
        }
    }
}
