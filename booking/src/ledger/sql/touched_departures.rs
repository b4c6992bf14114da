//! Takes the departures that somebody touched over into a new timetable, inside the transaction
//! that replaces it.

use std::collections::{BTreeMap, BTreeSet};

use fairgate_databases::SqlTransaction;
use fairgate_model::ids::ShowId;
use fairgate_model::runs::recut::Recut;
use fairgate_model::timetables::KeptDeparture;
use jiff::Timestamp;
use jiff::civil::Date;

use super::departures::{departures_since, rewrite_departure};
use super::rows::{Result, items, parsed, stored_run, text};
use super::sold_shows::SoldShows;
use super::{fates, lock, moved_tickets, recut};
use crate::ledger::{
    ChangedRun, DecideDepartures, DecidedDeparture, DepartureDecision, NewFate, SoldFigures,
    StoredShow, TimetableRefused, TouchedDeparture, UndecidedTimetable,
};

/// How long (ms) before now a departure may have begun and still be on its way. Departures that
/// began earlier are left alone.
const ON_ITS_WAY_MS: i64 = 4 * 24 * 3_600_000;

/// Decides what becomes of each touched departure, and writes it. Returns the service date of each
/// departure with the decision. The caller has locked the catalogue and the timetable.
///
/// If a person must decide about some departures, the error has the decisions about the others.
/// They are written all the same, because the tickets of trains that were moved are counted from
/// what is written. The error rolls the transaction back.
pub(super) async fn take_over(
    tx: &SqlTransaction,
    decide: &DecideDepartures,
    now_ms: i64,
) -> std::result::Result<Vec<(Date, DecidedDeparture)>, TimetableRefused> {
    let shows = departures_since(tx, now_ms - ON_ITS_WAY_MS).await?;
    // Until this transaction ends, nobody orders seats of these departures. So what is sold of them
    // is still the same when the decisions are written.
    let ids: Vec<String> = shows.iter().map(|show| show.id.to_string()).collect();
    tx.lock_each(lock::PLAN, &ids).await?;
    let touched = read_touched(tx, &shows).await?;
    let decisions = decide(&touched);
    let mut decided = Vec::new();
    for (departure, decision) in touched.into_iter().zip(decisions.decided) {
        let Some(decision) = decision else { continue };
        write_decision(tx, &departure.show, &decision, now_ms).await?;
        let Some(run) = &departure.show.run else {
            continue;
        };
        let decision = DecidedDeparture {
            show: departure.show.id.clone(),
            sold: departure.sold,
            currency: departure.show.document.currency,
            moved: match &decision {
                DepartureDecision::Changed(_, changed) if changed.has_other_times => {
                    moved_tickets::of_run(tx, &departure.show.id, &changed.run).await?
                }
                _ => SoldFigures::default(),
            },
            decision,
        };
        decided.push((run.date, decision));
    }
    if !decisions.undecided.is_empty() {
        let undecided = UndecidedTimetable {
            undecided: decisions.undecided,
            decided: decided.into_iter().map(|(_, decided)| decided).collect(),
        };
        return Err(TimetableRefused::Undecided(Box::new(undecided)));
    }
    Ok(decided)
}

/// Returns the ids that departures keep in the new timetable.
pub(super) fn kept(decided: &[(Date, DecidedDeparture)]) -> Vec<KeptDeparture> {
    let kept = |(date, departure): &(Date, DecidedDeparture)| {
        let show = departure.show.clone();
        match &departure.decision {
            DepartureDecision::Same(trip) | DepartureDecision::Changed(trip, _) => KeptDeparture {
                show,
                date: trip.date,
                trip: Some(trip.trip.clone()),
                line: String::new(),
                unsold: Vec::new(),
            },
            DepartureDecision::Kept(run)
            | DepartureDecision::Cancelled(_, run)
            | DepartureDecision::Left(run) => KeptDeparture {
                show,
                date: *date,
                trip: None,
                line: run.line.clone(),
                unsold: run.unsold.clone(),
            },
        }
    };
    decided.iter().map(kept).collect()
}

async fn write_decision(
    tx: &SqlTransaction,
    show: &StoredShow,
    decision: &DepartureDecision,
    now_ms: i64,
) -> Result<()> {
    match decision {
        DepartureDecision::Same(_) | DepartureDecision::Left(_) => Ok(()),
        DepartureDecision::Changed(_, changed) => change(tx, show, changed, now_ms).await,
        DepartureDecision::Kept(_) => end_sale(tx, show, now_ms).await,
        DepartureDecision::Cancelled(reason, _) => {
            let fate = NewFate {
                reason: Some(reason.clone()),
                ..NewFate::CANCELLED
            };
            fates::put(tx, &show.id, &fate, now_ms).await.map(drop)
        }
    }
}

/// Reads what is sold of each departure.
async fn read_touched(tx: &SqlTransaction, shows: &[StoredShow]) -> Result<Vec<TouchedDeparture>> {
    let ids: Vec<&str> = shows.iter().map(|show| show.id.as_str()).collect();
    let mut stretches = claimed_stretches(tx, &ids).await?;
    let sold = SoldShows::read(tx, &ids).await?;
    let touched = shows.iter().map(|show| {
        let stretches = stretches.remove(&show.id).unwrap_or_default();
        TouchedDeparture {
            stretches,
            sold: sold.figures(&show.id),
            in_use: sold.is_in_use(&show.id),
            show: show.clone(),
        }
    });
    Ok(touched.collect())
}

/// Returns the stretches over which seats are claimed, or offered to a buyer whose money came late.
async fn claimed_stretches(
    tx: &SqlTransaction,
    ids: &[&str],
) -> Result<BTreeMap<ShowId, BTreeSet<(u16, u16)>>> {
    let sql = "SELECT DISTINCT show, first, last + 1 FROM (SELECT show, MIN(leg) AS first, \
         MAX(leg) AS last FROM claims WHERE show = ANY ($1) GROUP BY show, order_id, seat) c";
    let mut stretches: BTreeMap<ShowId, BTreeSet<(u16, u16)>> = BTreeMap::new();
    for row in tx.query(sql, &[&ids]).await? {
        let call = |at: usize| -> Result<u16> {
            Ok(u16::try_from(row.get::<i64>(at)?).unwrap_or(u16::MAX))
        };
        let of_show = stretches.entry(parsed(text(&row, 0)?)?).or_default();
        of_show.insert((call(1)?, call(2)?));
    }
    let sql = "SELECT o.show, l.items FROM late_money l JOIN orders o ON o.order_id = l.order_id \
         WHERE o.show = ANY ($1) AND o.state = 'awaiting_consent' AND l.items IS NOT NULL";
    for row in tx.query(sql, &[&ids]).await? {
        let offered = items(text(&row, 1)?)?.into_iter();
        let offered = offered.map(|item| (item.held.legs.start, item.held.legs.end));
        let of_show = stretches.entry(parsed(text(&row, 0)?)?).or_default();
        of_show.extend(offered);
    }
    Ok(stretches)
}

/// Gives a departure its new stops, times and terms. Whoever holds seats under the earlier
/// beginning is told so when they order.
async fn change(
    tx: &SqlTransaction,
    show: &StoredShow,
    changed: &ChangedRun,
    now_ms: i64,
) -> Result<()> {
    let mut document = show.document.clone();
    document.title.clone_from(&changed.title);
    document.refunds.clone_from(&changed.refunds);
    document.exchange = changed.exchange;
    document.sells_until = None;
    if let Some(starts_at) = changed.run.calls.first().and_then(|call| call.departs) {
        document.starts_at = starts_at;
    }
    if let Some(earlier) = show.run.as_deref().filter(|_| changed.has_other_stops) {
        let later = &changed.run;
        recut::recut(tx, show, Recut { earlier, later }, now_ms).await?;
    }
    let sql = "UPDATE shows SET run = $2 WHERE show = $1";
    tx.execute(sql, &[&show.id.as_str(), &stored_run(&changed.run)?])
        .await?;
    rewrite_departure(tx, &show.id, &document, now_ms).await
}

/// Sells nothing more of a departure.
async fn end_sale(tx: &SqlTransaction, show: &StoredShow, now_ms: i64) -> Result<()> {
    let mut document = show.document.clone();
    document.sells_until = Timestamp::from_millisecond(now_ms).ok();
    rewrite_departure(tx, &show.id, &document, now_ms).await
}
