//! Holding seats: choose on the live picture, let the store arbitrate, choose again where somebody was quicker.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use fairgate_pass::{Holder, LivePass};
use serde_json::json;

use super::ask::{Asked, HoldAsk, HoldChange, Wanted, limit_exceeded, not_for_sale};
use super::natural::{Found, as_asked};
use super::stretch::{HOLD_UNCHANGED, on_sale};
use super::{Held, Hold, Purpose, Stage, shortage};
use crate::catalogue::Catalogue;
use crate::catalogue::seatmap::SeatMap;
use crate::catalogue::show::{Orphans, Show};
use crate::catalogue::terms::UNNUMBERED;
use crate::ids::{CallIds, HoldId};
use crate::inventory::choose::rail::Train;
use crate::inventory::choose::{self, Choice};
use crate::inventory::seats::Seats;
use crate::ledger::Ledger;
use crate::rail::journey::Journey;
use crate::store::{Refused, View};
use fairgate_base::http::Problem;

/// Among how many of the best blocks each try chooses: strictly the best one first, wider after each time that
/// somebody else was quicker.
pub(super) const SPREADS: [usize; 6] = [0, 8, 32, 128, 512, 2_048];

/// The desk where holds are taken, changed and given back.
#[derive(Clone)]
pub struct HoldDesk {
    /// Shows.
    pub catalogue: Catalogue,
    /// Their seats.
    pub seats: Seats,
    /// The final arbiter.
    pub ledger: Arc<dyn Ledger>,
    /// Names holds by the calls that make them.
    pub ids: CallIds,
}

/// What a call's hold is called.
#[derive(Debug, Clone)]
pub struct HoldName {
    /// Its id.
    pub id: HoldId,
    /// What the same call was called by earlier versions, where it has a key.
    pub before: Option<HoldId>,
}

/// What a choice became: seat indices over some legs, and whether they lie side by side.
pub(super) struct Chosen {
    pub(super) seats: Vec<u32>,
    pub(super) legs: Range<u16>,
    pub(super) side_by_side: bool,
}

impl HoldDesk {
    /// Takes what was asked for, or nothing.
    ///
    /// # Errors
    /// 409 `seats_taken`, `best_available_not_found`, `departed`, `sales_ended`, `journey_held`, `journey_ordered`; 422
    /// `limit_exceeded`, `would_orphan`, `unknown_seat` and the like.
    pub async fn take(
        &self,
        show: &Arc<Show>,
        pass: &LivePass,
        ask: &HoldAsk,
        HoldName { id, before }: HoldName,
        now_ms: i64,
    ) -> Result<Hold, Problem> {
        let asked = match ask.resolve(show, now_ms) {
            Ok(asked) => asked,
            Err(over) => return self.taken_in_time(show, pass.sub, &id, over).await,
        };
        if show.is_cancelled() {
            return Err(cancelled());
        }
        let show = &self.catalogue.touched(show, now_ms).await?;
        self.seats.ensure_open(show).await?;
        let id = match self.own(show, pass.sub, &asked, ask.again, id).await? {
            Found::Living(hold) => return Ok(hold),
            Found::None(id) => id,
        };
        for known in std::iter::once(&id).chain(&before) {
            match self.seats.store.hold(known, pass.sub).await {
                Ok(present) => return as_asked(show, present, &asked),
                Err(Refused::Gone) => {}
                Err(refused) => return Err(self.explain(show, refused, &[]).await),
            }
        }
        let mut lost = (Refused::NotReady, Vec::new());
        for spread in SPREADS {
            let chosen = Self::choose(show, &asked, &self.view(show).await?, spread)?;
            let hold = fresh(show, pass, id.clone(), &chosen, now_ms)?;
            match self
                .seats
                .store
                .take(hold, show.document.seats_per_visitor)
                .await
            {
                Ok(hold) => return as_asked(show, hold, &asked),
                // Only what was chosen here can be chosen anew; what the visitor named cannot.
                Err(Refused::Taken(cells)) if may_choose_again(&asked.wanted, show, &cells) => {
                    lost = (Refused::Taken(cells), chosen.seats);
                }
                Err(refused) => {
                    let seats = &chosen.seats;
                    return Err(self.explain_over(show, refused, seats, &asked.legs).await);
                }
            }
        }
        Err(self.explain_over(show, lost.0, &lost.1, &asked.legs).await)
    }

    /// The hold that an earlier try of the same call took before the sale ended; else the refusal.
    async fn taken_in_time(
        &self,
        show: &Show,
        visitor: Holder,
        id: &HoldId,
        refusal: Problem,
    ) -> Result<Hold, Problem> {
        if !matches!(refusal.code, "departed" | "sales_ended") || show.untouched {
            return Err(refusal);
        }
        let present = self.seats.store.hold(id, visitor).await;
        present.map_err(|_| refusal)
    }

    /// Changes a hold whole or not at all.
    ///
    /// # Errors
    /// As `take`, and 410 `hold_expired`, 403 `not_yours`, 409 `hold_ordered`.
    pub async fn change(
        &self,
        show: &Arc<Show>,
        visitor: Holder,
        id: &HoldId,
        change: &HoldChange,
        now_ms: i64,
    ) -> Result<Hold, Problem> {
        let (add, remove) = change.resolve(show)?;
        if !add.is_empty() && show.is_cancelled() {
            return Err(cancelled());
        }
        let present = self.seats.store.hold(id, visitor).await;
        let present = match present {
            Ok(present) => present,
            Err(refused) => return Err(self.explain(show, refused, &add).await),
        };
        let mut left: Vec<u32> = present
            .items
            .iter()
            .map(|item| item.seat)
            .filter(|seat| !remove.contains(seat))
            .collect();
        left.extend(&add);
        if left.is_empty() {
            return Err(Problem::field(
                "remove",
                "remove: nothing would be left; give the whole hold back with DELETE. The hold is as it was.",
            ));
        }
        // All seats of a hold go the same way.
        let legs = present.items.first().map(|item| item.legs.clone());
        let legs = legs.unwrap_or_else(|| show.legs());
        if !add.is_empty() && ![show.terms, UNNUMBERED].contains(&present.terms) {
            return Err(Problem::new(
                409,
                "terms_changed",
                "The show's terms have changed",
                "Prices or rules of this show changed after you took these seats. Your hold is as it was, at the prices you saw: order it, or give it back and choose anew.",
            ));
        }
        if !add.is_empty() {
            on_sale(show, &legs, now_ms, HOLD_UNCHANGED)?;
            let view = self.view(show).await?;
            refuse_orphans(show, &view, &add)?;
        }
        let side_by_side = side_by_side(&show.plan.map, &left);
        let add = for_sale(show, &add, &legs)?;
        let changed = self
            .seats
            .store
            .change(
                id,
                visitor,
                add.clone(),
                remove,
                side_by_side,
                show.document.seats_per_visitor,
            )
            .await;
        match changed {
            Ok(hold) => Ok(hold),
            Err(refused) => {
                let wanted: Vec<u32> = add.iter().map(|item| item.seat).collect();
                Err(self.explain_over(show, refused, &wanted, &legs).await)
            }
        }
    }

    async fn view(&self, show: &Show) -> Result<View, Problem> {
        self.seats.store.view(&show.id).await.ok_or_else(not_ready)
    }

    pub(super) fn choose(
        show: &Show,
        asked: &Asked,
        view: &View,
        spread: usize,
    ) -> Result<Chosen, Problem> {
        let map = &show.plan.map;
        let train = train(show, view);
        let free = |seat: u32| train.is_free(seat, &asked.legs);
        let short = |why| shortage::not_found(why, &train, asked);
        let mut rng = rand::rng();
        let chosen = |seats: Vec<u32>, side_by_side| Chosen {
            seats,
            legs: asked.legs.clone(),
            side_by_side,
        };
        match &asked.wanted {
            Wanted::Best(wish) => {
                let choice = choose::choose(map, &free, wish, spread, &mut rng);
                let choice = choice.map_err(short)?;
                Ok(chosen(choice.cells, choice.next_to_each_other))
            }
            Wanted::Class(party) => {
                let choice = choose::rail::choose(&train, &asked.legs, *party, spread, &mut rng);
                let choice = choice.map_err(short)?;
                Ok(chosen(choice.cells, choice.next_to_each_other))
            }
            Wanted::Named { seats, areas } => {
                refuse_orphans(show, view, seats)?;
                let mut named = seats.clone();
                for (index, quantity) in areas {
                    let Some(area) = map.areas.get(*index) else {
                        continue;
                    };
                    named.extend(
                        choose::pick_area(map, &free, area, *quantity, &mut rng).map_err(short)?,
                    );
                }
                let side_by_side = side_by_side(map, &named);
                Ok(chosen(named, side_by_side))
            }
        }
    }

    /// The problem that a refusal is for its visitor; `asked` are the seats it wanted, from end to end.
    pub async fn explain(&self, show: &Show, refused: Refused, asked: &[u32]) -> Problem {
        self.explain_over(show, refused, asked, &show.legs()).await
    }

    /// As [`HoldDesk::explain`], for seats over some legs.
    pub async fn explain_over(
        &self,
        show: &Show,
        refused: Refused,
        asked: &[u32],
        legs: &Range<u16>,
    ) -> Problem {
        match refused {
            Refused::Taken(cells) => {
                let grid = show.grid();
                let mut labels: Vec<&str> = cells
                    .iter()
                    .map(|cell| show.label(grid.seat_of(*cell)))
                    .collect();
                // A seat may have refused on several legs.
                let mut seen = std::collections::HashSet::new();
                labels.retain(|label| seen.insert(*label));
                let detail = format!(
                    "Somebody else has {}. Nothing was held. Choose other seats{}.",
                    labels.join(", "),
                    if asked.is_empty() {
                        ""
                    } else {
                        ", or take the suggestion"
                    }
                );
                let problem = Problem::new(409, "seats_taken", "Seats are taken", detail)
                    .with("seats", labels);
                match self.seats.store.view(&show.id).await {
                    Some(view) => with_suggestion(problem, show, &view, (asked, legs), false),
                    None => problem,
                }
            }
            Refused::Limit { have, limit } => limit_exceeded(have, asked.len() as u64, limit),
            Refused::Gone => hold_expired(),
            Refused::Foreign => not_yours("hold"),
            Refused::OtherPurpose(purpose) => Problem::new(
                409,
                "hold_purpose",
                "The hold is for something else",
                match purpose {
                    Purpose::Exchange => "These seats are kept for an exchange, and only that may use them. Nothing was changed. Pay or cancel the exchange's order, or choose other seats.",
                    Purpose::Offer => "These seats are an offer from the waitlist: order them or give them back as they are. Nothing was changed.",
                    Purpose::LateMoney => "These seats are kept for an order whose payment came late. Nothing was changed. Read that order to see what is asked of you.",
                    Purpose::Basket => "This is a basket of seats, and what you asked for needs another kind of hold. Nothing was changed. Order the seats, or give them back.",
                },
            )
            .with("purpose", purpose.word()),
            Refused::Ordered => Problem::new(
                409,
                "hold_ordered",
                "The hold has become an order",
                "These seats belong to an order by now; nothing was changed. Pay or cancel the order instead.",
            ),
            Refused::NotHeld(seats) => {
                let labels: Vec<&str> = seats.iter().map(|seat| show.label(*seat)).collect();
                let detail = format!(
                    "{} is not in the hold. The hold is as it was.",
                    labels.join(", ")
                );
                Problem::new(422, "unknown_seat", "A seat is not in the hold", detail)
                    .with("seats", labels)
                    .with("field", "remove")
            }
            Refused::NoExtensions => Problem::new(
                409,
                "no_extensions_left",
                "The hold cannot be extended",
                "The hold was extended as often as this show allows. Its deadline is as it was; order the seats before it.",
            ),
            Refused::PlanChanged => Problem::new(
                409,
                "plan_changed",
                "The seating plan has changed",
                "The plan changed while you were choosing. Nothing was held or charged. Load the seat map again and choose anew.",
            ),
            Refused::NotReady => not_ready(),
            Refused::Unreachable => unreachable(),
        }
    }
}

/// 409: nothing more is sold of a show that does not take place.
pub fn cancelled() -> Problem {
    Problem::new(
        409,
        "show_cancelled",
        "The show is cancelled",
        "This show does not take place, so no seats of it are sold any more. Nothing was held or charged, and what was paid for it goes back by itself.",
    )
}

fn fresh(
    show: &Show,
    pass: &LivePass,
    id: HoldId,
    chosen: &Chosen,
    now_ms: i64,
) -> Result<Hold, Problem> {
    let document = &show.document;
    let expires_at_ms = now_ms + i64::from(document.hold_s) * 1_000;
    Ok(Hold {
        id,
        visitor: pass.sub,
        room: pass.room.clone(),
        purpose: Purpose::Basket,
        items: for_sale(show, &chosen.seats, &chosen.legs)?,
        terms: show.terms,
        plan_version: show.plan.version,
        next_to_each_other: chosen.side_by_side,
        expires_at_ms,
        lock_until_ms: expires_at_ms + i64::from(document.grace_s) * 1_000,
        extensions_left: document.extensions,
        stage: Stage::Basket,
    })
}

/// Seats over some legs, all of them for sale now.
///
/// # Errors
/// 422 `not_for_sale` where a seat has no price (any more).
pub fn for_sale(show: &Show, seats: &[u32], legs: &Range<u16>) -> Result<Vec<Held>, Problem> {
    let held = |seat: &u32| match show.fare(*seat, legs) {
        Some(_) => Ok(Held {
            seat: *seat,
            legs: legs.clone(),
        }),
        None => Err(not_for_sale(&[show.label(*seat)])),
    };
    seats.iter().map(held).collect()
}

pub(super) fn may_choose_again(wanted: &Wanted, show: &Show, refused: &[u32]) -> bool {
    match wanted {
        Wanted::Best(_) | Wanted::Class(_) => true,
        Wanted::Named { .. } => {
            let grid = show.grid();
            refused
                .iter()
                .all(|cell| show.plan.map.area_of(grid.seat_of(*cell)).is_some())
        }
    }
}

fn train<'a>(show: &'a Show, view: &'a View) -> Train<'a> {
    Train {
        map: &show.plan.map,
        grid: show.grid(),
        states: &view.states,
    }
}

/// A single seat that is left on a train is somebody's on another stretch: only shows that stay where they are have orphans.
fn refuse_orphans(show: &Show, view: &View, seats: &[u32]) -> Result<(), Problem> {
    let (train, legs) = (train(show, view), show.legs());
    let free = |seat: u32| train.is_free(seat, &legs);
    if show.document.orphans == Orphans::Allow
        || show.run.is_some()
        || seats.iter().any(|seat| !free(*seat))
    {
        return Ok(());
    }
    let Some(orphans) = choose::would_orphan(&show.plan.map, &free, seats) else {
        return Ok(());
    };
    let labels: Vec<&str> = orphans.iter().map(|seat| show.label(*seat)).collect();
    let detail = format!(
        "Your choice would leave {} as a single empty seat. Nothing was held. Move one seat over, or take the suggestion.",
        labels.join(", ")
    );
    let problem = Problem::new(422, "would_orphan", "A single seat would be left", detail)
        .with("seats", labels);
    Err(with_suggestion(problem, show, view, (seats, &legs), true))
}

/// A suggestion has the form of a new request: seats by label, standing places by area and quantity; on a train with its
/// ends.
fn with_suggestion(
    problem: Problem,
    show: &Show,
    view: &View,
    (asked, legs): (&[u32], &Range<u16>),
    clean: bool,
) -> Problem {
    let map = &show.plan.map;
    let train = train(show, view);
    let free = |seat: u32| train.is_free(seat, legs) && show.fare(seat, legs).is_some();
    let Some(Choice { cells, .. }) = choose::suggest(map, &free, asked, clean, &mut rand::rng())
    else {
        return problem;
    };
    let seats: Vec<&str> = cells
        .iter()
        .filter(|cell| map.area_of(**cell).is_none())
        .map(|cell| show.label(*cell))
        .collect();
    let mut areas: BTreeMap<&str, u32> = BTreeMap::new();
    for area in cells.iter().filter_map(|cell| map.area_of(*cell)) {
        *areas.entry(area.label.as_str()).or_default() += 1;
    }
    let areas: Vec<_> = areas
        .iter()
        .map(|(label, quantity)| json!({ "label": label, "quantity": quantity }))
        .collect();
    let mut suggestion = serde_json::Map::new();
    if !seats.is_empty() {
        suggestion.insert("seats".into(), json!(seats));
    }
    if !areas.is_empty() {
        suggestion.insert("areas".into(), json!(areas));
    }
    if suggestion.is_empty() {
        return problem;
    }
    let run = show.run.as_ref();
    if let Some(journey) = run.and_then(|run| Journey::of(run, legs)) {
        suggestion.insert("from".into(), json!(journey.from.station));
        suggestion.insert("to".into(), json!(journey.to.station));
    }
    problem.with("suggestion", suggestion)
}

fn side_by_side(map: &SeatMap, seats: &[u32]) -> bool {
    let mut spots = Vec::with_capacity(seats.len());
    for seat in seats {
        let Some((bench, at)) = map.bench_of(*seat) else {
            // Standing places of one area are together by nature.
            let area = map.area_of(*seat).map(|area| area.first);
            return area.is_some()
                && seats
                    .iter()
                    .all(|other| map.area_of(*other).map(|area| area.first) == area);
        };
        spots.push((bench.row, bench.cells.start, at));
    }
    spots.sort_unstable();
    spots
        .windows(2)
        .all(|pair| (pair[0].0, pair[0].1) == (pair[1].0, pair[1].1) && pair[0].2 + 1 == pair[1].2)
}

/// 410 `hold_expired`: what ran out, or what a restart forgot.
#[must_use]
pub fn hold_expired() -> Problem {
    Problem::new(
        410,
        "hold_expired",
        "The hold has run out",
        "Your seats are free again; nothing was charged. Choose seats anew.",
    )
}

/// 403 `not_yours`.
#[must_use]
pub fn not_yours(what: &str) -> Problem {
    let detail = format!(
        "This {what} belongs to somebody else; nothing was changed. Use the browser it was made in, or its key."
    );
    Problem::new(403, "not_yours", "This belongs to somebody else", detail)
}

fn unreachable() -> Problem {
    Problem::new(
        503,
        "seats_unreachable",
        "The seats cannot be reached",
        "The seats cannot be held or changed at the moment. Nothing was charged, and what you hold or bought stays yours. Try the same again in a few seconds: if this try went through, you will find its seats.",
    )
    .retry_after(2)
}

pub(super) fn not_ready() -> Problem {
    Problem::new(
        503,
        "seats_not_ready",
        "The seats are being read",
        "The seats of this show are not ready yet. Nothing was changed. Try again in a second.",
    )
    .retry_after(1)
}
