//! Decides what becomes of the departures that somebody touched when a new timetable takes the
//! place of an earlier one. Nobody's seat may be sold again, and nobody's train may vanish: what
//! the new timetable does not surely have, a person decides.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fairgate_model::ids::ShowId;
use fairgate_model::runs::recut::Recut;
use fairgate_model::runs::{StationCall, TrainFares, TrainRun};
use fairgate_model::shows::fate::ShowFate;
use fairgate_model::timetables::{
    MatchOutcome, SoldDeparture, Timetable, match_departures, possible_trips,
};
use jiff::Timestamp;
use jiff::civil::Date;

use self::unsure::SoughtDeparture;
use crate::choices::ShowChoices;
use crate::ledger::{
    ChangedRun, DepartureDecision, DepartureDecisions, KeptRun, SoldFigures, TouchedDeparture,
    TripOnDate, UndecidedShow,
};

mod unsure;

/// Why a departure is cancelled that nobody has an order for.
pub const GONE: &str = "The train is not in the new timetable.";

/// Two timetables, of which the new one takes the place of the earlier one.
#[derive(Debug, Clone, Copy)]
pub struct Succession<'a> {
    /// The timetable in force.
    pub earlier: &'a Timetable,
    /// The timetable that takes its place. No departure keeps an id in it yet.
    pub new: &'a Timetable,
    /// What a person decided.
    pub choices: &'a ShowChoices,
}

impl Succession<'_> {
    /// Decides about each departure, or finds out that a person must decide.
    #[must_use]
    pub fn decide(&self, touched: &[TouchedDeparture], now_ms: i64) -> DepartureDecisions {
        let sold: Vec<SoldDeparture<'_>> = touched.iter().filter_map(sold_departure).collect();
        let outcomes = match_departures(self.earlier, self.new, &sold);
        let mut taken = BTreeMap::new();
        for (show, outcome) in &outcomes {
            if let MatchOutcome::Same(trip) = outcome
                && !self.choices.has(show)
                && let Some((_, date)) = self.earlier.trip_of_show(show)
                && !self.is_chosen((*trip, date))
            {
                taken.insert((*trip, date), show.clone());
            }
        }
        let mut decided = Vec::new();
        let mut undecided = self.unknown_choices(touched);
        for departure in touched {
            let outcome = outcomes.get(&departure.show.id);
            match self.decide_one(departure, outcome, &mut taken, now_ms) {
                Ok(decision) => decided.push(Some(decision)),
                Err(why) => {
                    decided.push(None);
                    undecided.push(UndecidedShow {
                        show: departure.show.id.clone(),
                        why,
                        sold: departure.sold,
                        currency: departure.show.document.currency,
                    });
                }
            }
        }
        DepartureDecisions { decided, undecided }
    }

    /// Returns the choices about departures that nobody touched.
    fn unknown_choices(&self, touched: &[TouchedDeparture]) -> Vec<UndecidedShow> {
        let known: BTreeSet<&ShowId> = touched.iter().map(|departure| &departure.show.id).collect();
        let unknown = self.choices.shows().filter(|show| !known.contains(show));
        let unknown = unknown.map(|show| UndecidedShow {
            show: show.clone(),
            why: "nobody has held or bought a seat of a departure with this id, so there is nothing to decide; leave it out".to_owned(),
            sold: SoldFigures::default(),
            currency: self.new.currency,
        });
        unknown.collect()
    }

    fn decide_one(
        &self,
        departure: &TouchedDeparture,
        outcome: Option<&MatchOutcome>,
        taken: &mut BTreeMap<(u32, Date), ShowId>,
        now_ms: i64,
    ) -> Result<DepartureDecision, String> {
        let Some(run) = &departure.show.run else {
            return Ok(DepartureDecision::Left(KeptRun::default()));
        };
        if self.choices.has(&departure.show.id) {
            self.check_cancel(departure, run, outcome)?;
            return self.chosen(departure, run, taken);
        }
        let Some(outcome) = outcome else {
            return Ok(DepartureDecision::Left(self.kept_run(departure, taken)));
        };
        let begins = run.calls.first().and_then(|call| call.departs);
        let has_left = begins.is_some_and(|begins| begins.as_millisecond() <= now_ms);
        let is_cancelled = departure.show.fate == Some(ShowFate::Cancelled);
        let settled = has_left || is_cancelled;
        let date = self.date_of(departure, run);
        let why = match outcome {
            MatchOutcome::Same(trip) if settled => {
                return Ok(DepartureDecision::Same(self.on_date(*trip, date)));
            }
            MatchOutcome::Same(trip) if self.is_chosen((*trip, date)) => {
                let id = self.new.show_id(*trip, date);
                let id = id.map_or_else(String::new, |id| id.to_string());
                format!(
                    "it would be {id}, which was chosen for another departure (--match), so decide about this one too"
                )
            }
            MatchOutcome::Same(trip) => match self.same(departure, run, (*trip, date)) {
                Ok(decision) => return Ok(decision),
                Err(why) => why,
            },
            MatchOutcome::Unsure(trips) if !settled && departure.in_use => {
                let sought = SoughtDeparture {
                    departure,
                    run,
                    date,
                };
                self.unsure_why(sought, trips, taken)
            }
            MatchOutcome::Unsure(_) => GONE.to_owned(),
        };
        if settled {
            return Ok(DepartureDecision::Left(self.kept_run(departure, taken)));
        }
        if departure.in_use {
            return Err(why);
        }
        let kept = KeptRun::default();
        Ok(DepartureDecision::Cancelled(GONE.to_owned(), kept))
    }

    /// Refuses to cancel a departure that the new timetable surely has. Its trip would be sold
    /// again at once, as another departure.
    fn check_cancel(
        &self,
        departure: &TouchedDeparture,
        run: &TrainRun,
        outcome: Option<&MatchOutcome>,
    ) -> Result<(), String> {
        let show = &departure.show.id;
        let is_cancelled = departure.show.fate == Some(ShowFate::Cancelled);
        let Some(MatchOutcome::Same(trip)) = outcome else {
            return Ok(());
        };
        let date = self.date_of(departure, run);
        if is_cancelled
            || !self.choices.cancel.contains(show)
            || self.is_chosen((*trip, date))
            || self.same(departure, run, (*trip, date)).is_err()
        {
            return Ok(());
        }
        Err(format!(
            "the new timetable has this train, so there is nothing to decide; leave it out. If the train does not run, cancel it by the call POST /v1/promoter/shows/{show}/cancel"
        ))
    }

    /// Decides about a departure as a person chose.
    fn chosen(
        &self,
        departure: &TouchedDeparture,
        run: &TrainRun,
        taken: &mut BTreeMap<(u32, Date), ShowId>,
    ) -> Result<DepartureDecision, String> {
        let show = &departure.show.id;
        if departure.show.fate == Some(ShowFate::Cancelled) {
            return Err("it was cancelled, so there is nothing to decide; leave it out".to_owned());
        }
        let Some(chosen) = self.choices.matches.get(show) else {
            if self.choices.keep.contains(show) {
                return Ok(DepartureDecision::Kept(self.kept_run(departure, taken)));
            }
            let reason = "The train does not run as it was sold.".to_owned();
            return Ok(DepartureDecision::Cancelled(reason, KeptRun::default()));
        };
        let on_date = self.chosen_trip(departure, run, chosen)?;
        if let Some(other) = taken.insert(on_date, show.clone()) {
            return Err(format!(
                "{chosen} of the new timetable is the departure {other} already"
            ));
        }
        self.same(departure, run, on_date)
    }

    /// Returns whether a person chose a trip for some departure.
    fn is_chosen(&self, trip: (u32, Date)) -> bool {
        let mut chosen = self.choices.matches.values();
        chosen.any(|chosen| self.new.trip_of_show(chosen) == Some(trip))
    }

    /// Returns the trip that a person chose for a departure.
    fn chosen_trip(
        &self,
        departure: &TouchedDeparture,
        run: &TrainRun,
        chosen: &ShowId,
    ) -> Result<(u32, Date), String> {
        let found = self.new.trip_of_show(chosen);
        let (trip, date) =
            found.ok_or_else(|| format!("the new timetable has no departure {chosen}"))?;
        let own_date = self.date_of(departure, run);
        if date != own_date {
            let advice = "cancel it, or choose a departure of its own day";
            return Err(format!(
                "{chosen} is on another day than {own_date}; {advice}"
            ));
        }
        Ok((trip, date))
    }

    /// Returns the service date of a departure.
    fn date_of(&self, departure: &TouchedDeparture, run: &TrainRun) -> Date {
        let trip = self.earlier.trip_of_show(&departure.show.id);
        trip.map_or(run.date, |(_, date)| date)
    }

    /// Takes a trip of the new timetable as a departure.
    fn same(
        &self,
        departure: &TouchedDeparture,
        run: &TrainRun,
        (trip, date): (u32, Date),
    ) -> Result<DepartureDecision, String> {
        let calls = self.new.calls_on_date(trip, date);
        let on_date = self.on_date(trip, date);
        let document = &departure.show.document;
        let begins = run.calls.first().and_then(|call| call.departs);
        // A promoter has moved this train by hand.
        let is_postponed = begins.is_some_and(|begins| begins != document.starts_at);
        let details = &self.new.trips[trip as usize];
        // A train that was sold in another currency keeps its fares.
        let has_new_terms = document.currency == self.new.currency;
        let new_fares = self.new.run_on_date(trip, date).filter(|_| has_new_terms);
        let fares = new_fares.map_or_else(|| Arc::clone(&run.fares), |run| run.fares);
        let (refunds, exchange) = if has_new_terms {
            (self.new.terms.refunds.clone(), self.new.terms.exchange)
        } else {
            (document.refunds.clone(), document.exchange)
        };
        let later = TrainRun {
            train: details.train.clone(),
            date,
            time_zone: Some(self.new.timezone.clone()),
            calls,
            fares,
        };
        let recut = Recut {
            earlier: run,
            later: &later,
        };
        check_stretches(recut, &departure.stretches, is_postponed)?;
        let changed = ChangedRun {
            has_other_names: self.new.title(details) != document.title || has_other_names(recut),
            has_other_stops: recut.has_other_stops(),
            has_other_times: !has_same_times(recut),
            has_other_terms: has_other_fares(recut)
                || (&refunds, &exchange) != (&document.refunds, &document.exchange),
            run: Arc::new(later),
            title: self.new.title(details),
            refunds,
            exchange,
        };
        // Only a decision ends the sale of a departure. Another decision opens it again.
        let is_ended = document.sells_until.is_some();
        let is_unchanged = *changed.run == *run && !changed.has_other_terms && !is_ended;
        if is_postponed || is_unchanged {
            return Ok(DepartureDecision::Same(on_date));
        }
        Ok(DepartureDecision::Changed(on_date, changed))
    }

    fn on_date(&self, trip: u32, date: Date) -> TripOnDate {
        TripOnDate {
            trip: self.new.trips[trip as usize].id.clone(),
            date,
        }
    }

    /// Returns what is known of a departure that is no trip of the new timetable.
    fn kept_run(
        &self,
        departure: &TouchedDeparture,
        taken: &BTreeMap<(u32, Date), ShowId>,
    ) -> KeptRun {
        let show = &departure.show.id;
        let earlier = self.earlier.kept_departures().iter();
        let kept = earlier.filter(|kept| kept.trip.is_none());
        let kept = kept.map(|kept| (&kept.show, kept.line.as_str()));
        let line = match self.earlier.trip_of_show(show) {
            Some((trip, _)) => self.earlier.trips[trip as usize].line.as_str(),
            None => kept
                .into_iter()
                .find(|(kept, _)| *kept == show)
                .map_or("", |(_, line)| line),
        };
        let is_cancelled = departure.show.fate == Some(ShowFate::Cancelled);
        let sold = sold_departure(departure).filter(|_| !is_cancelled);
        let trips = sold.map_or_else(Vec::new, |sold| possible_trips(self.new, line, sold));
        let date = sold.map(|sold| sold.run.date);
        let is_free = |trip: &u32| date.is_none_or(|date| !taken.contains_key(&(*trip, date)));
        let trips: Vec<u32> = trips.into_iter().filter(is_free).collect();
        let as_match = |trip: &u32| {
            let (run, date) = (departure.show.run.as_deref()?, date?);
            self.same(departure, run, (*trip, date)).ok()?;
            self.new.show_id(*trip, date)
        };
        let unsold = trips.iter().map(|trip| &self.new.trips[*trip as usize].id);
        KeptRun {
            line: line.to_owned(),
            unsold: unsold.cloned().collect(),
            matches: trips.iter().filter_map(as_match).collect(),
        }
    }
}

/// Refuses a run on which not everything that is sold can be ridden.
fn check_stretches(
    recut: Recut<'_>,
    stretches: &BTreeSet<(u16, u16)>,
    is_postponed: bool,
) -> Result<(), String> {
    const ADVICE: &str = "so it cannot be that train";
    let mut sold = stretches.iter().map(|(from, to)| *from..*to);
    if let Some(legs) = sold.find(|legs| !recut.can_be_ridden(legs)) {
        let name = |call: u16| {
            let call = recut.earlier.calls.get(usize::from(call));
            call.map_or("?", |call| call.name.as_str())
        };
        let (from, to) = (name(legs.start), name(legs.end));
        return Err(format!(
            "seats are sold from {from} to {to}, and the new train does not surely have that ride, {ADVICE}"
        ));
    }
    if !recut.has_other_stops() {
        return Ok(());
    }
    if is_postponed {
        return Err(format!(
            "it was postponed by hand, and the new train calls at other stations, {ADVICE}"
        ));
    }
    Ok(())
}

/// Returns whether the later run has the times of the earlier one at all stops that both have.
/// Times that only one of them has are not compared, because the first stop has no arrival, and the
/// last one no departure.
fn has_same_times(recut: Recut<'_>) -> bool {
    let Recut { earlier, later } = recut;
    let is_same = |one: Option<Timestamp>, other: Option<Timestamp>| {
        one.zip(other).is_none_or(|(one, other)| one == other)
    };
    let both = (0..=earlier.leg_count()).filter_map(|call| {
        let same = later.same_call(earlier, call)?;
        let earlier = earlier.calls.get(usize::from(call))?;
        Some((earlier, later.calls.get(usize::from(same))?))
    });
    let mut both = both.map(|(one, other)| {
        is_same(one.arrives, other.arrives) && is_same(one.departs, other.departs)
    });
    both.all(|is_same| is_same)
}

/// Returns whether the later run has another number, or other names for the stations of both.
fn has_other_names(recut: Recut<'_>) -> bool {
    let Recut { earlier, later } = recut;
    let is_renamed = |call: &StationCall| {
        let mut later = later.calls.iter();
        let same = later.find(|later| later.station == call.station);
        same.is_some_and(|same| same.name != call.name)
    };
    earlier.train != later.train || earlier.calls.iter().any(is_renamed)
}

/// Returns whether a ride that both runs have costs something else on the later one.
fn has_other_fares(recut: Recut<'_>) -> bool {
    let (TrainFares::Table(earlier), TrainFares::Table(later)) =
        (&*recut.earlier.fares, &*recut.later.fares)
    else {
        return recut.earlier.fares != recut.later.fares;
    };
    let calls_at = |run: &TrainRun, station: &str| {
        let mut calls = run.calls.iter();
        calls.any(|call| call.station == station)
    };
    let both = |(_, from, to): &&(String, String, String)| {
        let runs = [recut.earlier, recut.later];
        let mut has_ride = runs
            .iter()
            .map(|run| calls_at(run, from) && calls_at(run, to));
        has_ride.all(|has_ride| has_ride)
    };
    let mut rides = earlier.keys().chain(later.keys()).filter(both);
    rides.any(|ride| earlier.get(ride) != later.get(ride))
}

fn sold_departure(departure: &TouchedDeparture) -> Option<SoldDeparture<'_>> {
    Some(SoldDeparture {
        show: &departure.show.id,
        run: departure.show.run.as_deref()?,
        stretches: &departure.stretches,
    })
}
