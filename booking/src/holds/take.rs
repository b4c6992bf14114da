//! Takes holds. A call chooses seats that are free, and then takes them in the store. If another
//! visitor was quicker, the call chooses again.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use fairgate_model::choosing::rail::TrainSeatStates;
use fairgate_model::choosing::{self, SeatChoice};
use fairgate_model::holds::{HeldSeat, Hold, HoldPurpose, HoldStage};
use fairgate_model::ids::{HoldId, HoldIdDeriver};
use fairgate_model::plans::seatmap::SeatMap;
use fairgate_model::shows::Show;
use fairgate_model::shows::document::OrphanSeatRule;
use fairgate_pass::{Holder, LivePass};

use super::ask::{HoldRequest, ResolvedSeatRequest, SeatSelection};
use super::natural::{ExistingHold, require_same_seats};
use super::refusal::{HoldRefusal, SeatSuggestion};
use super::shortage;
use crate::catalogue::Catalogue;
use crate::inventory::seats::SeatInventory;
use crate::ledger::Ledger;
use crate::rail::journey::JourneySummary;
use crate::stopped_passes::StoppedPasses;
use crate::store::{BasketDeadlines, InventoryRefusal, VersionedCells};

/// For each try, how many of the best blocks it chooses from at random. The first try takes the
/// best block. Each later try chooses from more blocks, so that visitors do not collide again.
pub(super) const SPREADS: [usize; 6] = [0, 8, 32, 128, 512, 2_048];

/// Takes, prices, changes and extends holds.
#[derive(Clone)]
pub struct HoldDesk {
    /// The catalogue of shows.
    pub catalogue: Catalogue,
    /// The seats of the shows.
    pub seats: SeatInventory,
    /// The ledger, which makes the final decision on who gets a seat.
    pub ledger: Ledger,
    /// Derives the ids of holds from the calls that make them.
    pub ids: HoldIdDeriver,
    /// Knows which rooms are over.
    pub stopped: StoppedPasses,
}

/// The ids under which the store may have the hold of a call.
#[derive(Debug, Clone)]
pub struct CallHoldIds {
    /// The hold's id.
    pub id: HoldId,
    /// The id that earlier versions of this program gave to the same call, if the call has a key.
    pub before: Option<HoldId>,
}

/// The chosen seats by index, their legs, and whether they are side by side.
pub(super) struct ChosenSeats {
    pub(super) seats: Vec<u32>,
    pub(super) legs: Range<u16>,
    pub(super) side_by_side: bool,
}

impl HoldDesk {
    /// Takes all seats that were asked for, or none.
    ///
    /// # Errors
    /// [`HoldRefusal`], which says why nothing was held.
    pub async fn take(
        &self,
        show: &Arc<Show>,
        pass: &LivePass,
        ask: &HoldRequest,
        CallHoldIds { id, before }: CallHoldIds,
        now_ms: i64,
    ) -> Result<Hold, HoldRefusal> {
        let request = match ask.resolve(show, now_ms) {
            Ok(request) => request,
            Err(refusal) => {
                return self
                    .hold_taken_before_sale_end(show, pass.sub, &id, refusal)
                    .await;
            }
        };
        if show.is_cancelled() {
            return Err(HoldRefusal::ShowCancelled);
        }
        let show = &self.catalogue.touched(show, now_ms).await?;
        self.seats.ensure_open(show).await?;
        let id = match self
            .existing_hold(show, pass.sub, &request, ask.again, id)
            .await?
        {
            ExistingHold::Basket(hold) => return Ok(hold),
            ExistingHold::None(id) => id,
        };
        for known in std::iter::once(&id).chain(&before) {
            match self.seats.store.hold(known, pass.sub).await {
                Ok(present) => return require_same_seats(show, present, &request),
                Err(InventoryRefusal::Gone) => {}
                Err(refused) => return Err(self.explain(show, refused, &[]).await),
            }
        }
        let mut last_refusal = (InventoryRefusal::NotReady, Vec::new());
        for spread in SPREADS {
            let chosen = Self::choose_seats(show, &request, &self.view(show).await?, spread)?;
            let hold = new_basket(show, pass, id.clone(), &chosen, now_ms)?;
            match self.take_while_open(show, pass, hold).await? {
                Ok(hold) => return require_same_seats(show, hold, &request),
                // Seats that this function chose can be replaced by others. Seats that the visitor
                // named cannot.
                Err(InventoryRefusal::Taken(cells))
                    if may_choose_again(&request.wanted, show, &cells) =>
                {
                    last_refusal = (InventoryRefusal::Taken(cells), chosen.seats);
                }
                Err(refused) => {
                    let seats = &chosen.seats;
                    return Err(self.explain_over(show, refused, seats, &request.legs).await);
                }
            }
        }
        Err(self
            .explain_over(show, last_refusal.0, &last_refusal.1, &request.legs)
            .await)
    }

    /// Takes a hold in the store, unless the pass's room is over. The outer error says that it is.
    async fn take_while_open(
        &self,
        show: &Show,
        pass: &LivePass,
        hold: Hold,
    ) -> Result<Result<Hold, InventoryRefusal>, HoldRefusal> {
        self.check_room(pass)?;
        let limit = show.document.seats_per_visitor;
        let taken = self.seats.store.take(hold, limit).await;
        if let Ok(hold) = &taken {
            self.give_back_if_over(pass, hold).await?;
        }
        Ok(taken)
    }

    /// Refuses a hold if the pass's room is over by now. A hold can wait for its show to be opened.
    fn check_room(&self, pass: &LivePass) -> Result<(), HoldRefusal> {
        if self.stopped.is_over(&pass.room) {
            return Err(HoldRefusal::RoomOver(pass.room.clone()));
        }
        Ok(())
    }

    /// Gives a new hold back if its room ended while its seats were being taken.
    async fn give_back_if_over(&self, pass: &LivePass, hold: &Hold) -> Result<(), HoldRefusal> {
        let over = self.check_room(pass);
        if over.is_err() {
            let store = &self.seats.store;
            let released = store.release(&hold.id, pass.sub, &[HoldPurpose::Basket]);
            if let Err(refused) = released.await {
                tracing::debug!(hold = %hold.id, %refused, "a hold of a closed room runs out by itself");
            }
        }
        over
    }

    /// Returns the hold that an earlier try of the same call took before the sale ended. If there
    /// is none, returns the refusal. Baskets on trains have other ids, so this function does not
    /// find them.
    async fn hold_taken_before_sale_end(
        &self,
        show: &Show,
        visitor: Holder,
        id: &HoldId,
        refusal: HoldRefusal,
    ) -> Result<Hold, HoldRefusal> {
        let HoldRefusal::Stretch(why, _) = &refusal else {
            return Err(refusal);
        };
        if !why.is_too_late() || show.untouched {
            return Err(refusal);
        }
        let present = self.seats.store.hold(id, visitor).await;
        present.map_err(|_| refusal)
    }

    pub(super) async fn view(&self, show: &Show) -> Result<VersionedCells, HoldRefusal> {
        self.seats
            .store
            .view(&show.id)
            .await
            .ok_or(HoldRefusal::NotReady)
    }

    pub(super) fn choose_seats(
        show: &Show,
        request: &ResolvedSeatRequest,
        view: &VersionedCells,
        spread: usize,
    ) -> Result<ChosenSeats, HoldRefusal> {
        let map = &show.plan.map;
        let train = train(show, view);
        let is_free = |seat: u32| train.is_free(seat, &request.legs);
        let refusal = |why| shortage::refusal_without_seats(why, &train, request);
        let mut rng = rand::rng();
        let chosen = |seats: Vec<u32>, side_by_side| ChosenSeats {
            seats,
            legs: request.legs.clone(),
            side_by_side,
        };
        match &request.wanted {
            SeatSelection::Best(wish) => {
                let choice = choosing::choose(map, &is_free, wish, spread, &mut rng);
                let choice = choice.map_err(refusal)?;
                Ok(chosen(choice.cells, choice.next_to_each_other))
            }
            SeatSelection::Class(party) => {
                let choice =
                    choosing::rail::choose(&train, &request.legs, *party, spread, &mut rng);
                let choice = choice.map_err(refusal)?;
                Ok(chosen(choice.cells, choice.next_to_each_other))
            }
            SeatSelection::Named { seats, areas } => {
                refuse_orphans(show, view, seats)?;
                let mut named = seats.clone();
                for (index, quantity) in areas {
                    let Some(area) = map.areas.get(*index) else {
                        continue;
                    };
                    named.extend(
                        choosing::pick_area(map, &is_free, area, *quantity, &mut rng)
                            .map_err(refusal)?,
                    );
                }
                let side_by_side = side_by_side(map, &named);
                Ok(chosen(named, side_by_side))
            }
        }
    }

    /// Turns a refusal of the store into a refusal for the visitor. `requested_seats` has the
    /// seats that the visitor wanted, over all legs of the show.
    pub async fn explain(
        &self,
        show: &Show,
        refused: InventoryRefusal,
        requested_seats: &[u32],
    ) -> HoldRefusal {
        self.explain_over(show, refused, requested_seats, &show.legs())
            .await
    }

    /// Explains a refusal as [`HoldDesk::explain`] does, for seats on `legs`.
    pub async fn explain_over(
        &self,
        show: &Show,
        refused: InventoryRefusal,
        requested_seats: &[u32],
        legs: &Range<u16>,
    ) -> HoldRefusal {
        match refused {
            InventoryRefusal::Taken(cells) => {
                self.seats_taken(show, &cells, requested_seats, legs).await
            }
            InventoryRefusal::Limit { have, limit } => HoldRefusal::TooManySeats {
                have,
                asked: requested_seats.len() as u64,
                limit,
            },
            InventoryRefusal::Gone => HoldRefusal::Expired,
            InventoryRefusal::Foreign => HoldRefusal::NotYours,
            InventoryRefusal::OtherPurpose(purpose) => HoldRefusal::OtherPurpose(purpose),
            InventoryRefusal::Ordered => HoldRefusal::Ordered,
            InventoryRefusal::NotHeld(seats) => {
                let labels = seats.iter().map(|seat| show.seat_label(*seat).to_owned());
                HoldRefusal::NotInHold(labels.collect())
            }
            InventoryRefusal::NoExtensions => HoldRefusal::NoExtensionsLeft,
            InventoryRefusal::PlanChanged => HoldRefusal::PlanChanged,
            InventoryRefusal::NotReady => HoldRefusal::NotReady,
            InventoryRefusal::Unreachable => HoldRefusal::Unreachable,
        }
    }

    async fn seats_taken(
        &self,
        show: &Show,
        cells: &[u32],
        requested_seats: &[u32],
        legs: &Range<u16>,
    ) -> HoldRefusal {
        let grid = show.grid();
        let mut labels: Vec<String> = cells
            .iter()
            .map(|cell| show.seat_label(grid.seat_of(*cell)).to_owned())
            .collect();
        // The store may refuse several cells of one seat, one for each leg. The seat is named once.
        let mut seen = std::collections::HashSet::new();
        labels.retain(|label| seen.insert(label.clone()));
        let view = self.seats.store.view(&show.id).await;
        HoldRefusal::SeatsTaken {
            labels,
            suggestion: view
                .and_then(|view| suggestion(show, &view, (requested_seats, legs), false)),
        }
    }
}

fn new_basket(
    show: &Show,
    pass: &LivePass,
    id: HoldId,
    chosen: &ChosenSeats,
    now_ms: i64,
) -> Result<Hold, HoldRefusal> {
    let BasketDeadlines {
        expires_at_ms,
        lock_until_ms,
    } = basket_deadlines(show, now_ms);
    Ok(Hold {
        id,
        visitor: pass.sub,
        room: pass.room.clone(),
        purpose: HoldPurpose::Basket,
        items: for_sale(show, &chosen.seats, &chosen.legs)?,
        terms: show.terms,
        plan_version: show.plan.version,
        next_to_each_other: chosen.side_by_side,
        expires_at_ms,
        lock_until_ms,
        extensions_left: show.document.extensions,
        stage: HoldStage::Basket,
    })
}

/// Returns the deadlines of a basket that begins now.
pub(super) fn basket_deadlines(show: &Show, now_ms: i64) -> BasketDeadlines {
    let document = &show.document;
    let expires_at_ms = now_ms + i64::from(document.hold_s) * 1_000;
    BasketDeadlines {
        expires_at_ms,
        lock_until_ms: expires_at_ms + i64::from(document.grace_s) * 1_000,
    }
}

/// Returns the seats on `legs` as items of a hold, if every seat has a price there.
///
/// # Errors
/// [`HoldRefusal::NotForSale`] if a seat has no price.
pub fn for_sale(
    show: &Show,
    seats: &[u32],
    legs: &Range<u16>,
) -> Result<Vec<HeldSeat>, HoldRefusal> {
    let held = |seat: &u32| match show.fare(*seat, legs) {
        Some(_) => Ok(HeldSeat {
            seat: *seat,
            legs: legs.clone(),
        }),
        None => Err(HoldRefusal::NotForSale(vec![
            show.seat_label(*seat).to_owned(),
        ])),
    };
    seats.iter().map(held).collect()
}

pub(super) fn may_choose_again(wanted: &SeatSelection, show: &Show, refused: &[u32]) -> bool {
    match wanted {
        SeatSelection::Best(_) | SeatSelection::Class(_) => true,
        SeatSelection::Named { .. } => {
            let grid = show.grid();
            refused
                .iter()
                .all(|cell| show.plan.map.area_of(grid.seat_of(*cell)).is_some())
        }
    }
}

fn train<'a>(show: &'a Show, view: &'a VersionedCells) -> TrainSeatStates<'a> {
    TrainSeatStates {
        map: &show.plan.map,
        grid: show.grid(),
        states: &view.states,
    }
}

/// Refuses a choice that would leave a single empty seat, unless the show allows single seats.
/// Trains have no such rule, because a single seat may suit another stretch. If one of the seats is
/// already taken, the check passes, because the store will refuse the seats anyway.
pub(super) fn refuse_orphans(
    show: &Show,
    view: &VersionedCells,
    seats: &[u32],
) -> Result<(), HoldRefusal> {
    let (train, legs) = (train(show, view), show.legs());
    let is_free = |seat: u32| train.is_free(seat, &legs);
    if show.document.orphans == OrphanSeatRule::Allow
        || show.run.is_some()
        || seats.iter().any(|seat| !is_free(*seat))
    {
        return Ok(());
    }
    let Some(orphans) = choosing::would_orphan(&show.plan.map, &is_free, seats) else {
        return Ok(());
    };
    let labels = orphans.iter().map(|seat| show.seat_label(*seat).to_owned());
    Err(HoldRefusal::WouldOrphan {
        labels: labels.collect(),
        suggestion: suggestion(show, view, (seats, &legs), true),
    })
}

/// Returns seats that may be held instead, in the form of a new request: seats by label, standing
/// places by area and quantity, and on a train the two stations.
fn suggestion(
    show: &Show,
    view: &VersionedCells,
    (requested_seats, legs): (&[u32], &Range<u16>),
    leaves_no_single_seat: bool,
) -> Option<Box<SeatSuggestion>> {
    let map = &show.plan.map;
    let train = train(show, view);
    let is_free = |seat: u32| train.is_free(seat, legs) && show.fare(seat, legs).is_some();
    let SeatChoice { cells, .. } = choosing::suggest(
        map,
        &is_free,
        requested_seats,
        leaves_no_single_seat,
        &mut rand::rng(),
    )?;
    let seats: Vec<String> = cells
        .iter()
        .filter(|cell| map.area_of(**cell).is_none())
        .map(|cell| show.seat_label(*cell).to_owned())
        .collect();
    let mut areas: BTreeMap<&str, u32> = BTreeMap::new();
    for area in cells.iter().filter_map(|cell| map.area_of(*cell)) {
        *areas.entry(area.label.as_str()).or_default() += 1;
    }
    if seats.is_empty() && areas.is_empty() {
        return None;
    }
    let journey = show
        .run
        .as_ref()
        .and_then(|run| JourneySummary::from_leg_range(run, legs));
    let area = |(label, quantity): (&str, u32)| (label.to_owned(), quantity);
    Some(Box::new(SeatSuggestion {
        seats,
        areas: areas.into_iter().map(area).collect(),
        departs: ride_time(show, journey.as_ref(), legs),
        stretch: journey.map(|journey| (journey.from.station, journey.to.station)),
    }))
}

/// Returns when a train leaves on these legs. Returns `None` if the train goes between the two
/// stations of the legs only once.
fn ride_time(
    show: &Show,
    journey: Option<&JourneySummary>,
    legs: &Range<u16>,
) -> Option<jiff::Timestamp> {
    let (run, journey) = show.run.as_ref().zip(journey)?;
    let rides = run.rides(&journey.from.station, &journey.to.station);
    run.departs_at(legs).filter(|_| rides.len() > 1)
}

/// Returns whether seats form one block, or are standing places of one area.
pub(super) fn side_by_side(map: &SeatMap, seats: &[u32]) -> bool {
    let mut positions = Vec::with_capacity(seats.len());
    for seat in seats {
        let Some((bench, at)) = map.bench_of(*seat) else {
            // Standing places of one area always count as side by side.
            let area = map.area_of(*seat).map(|area| area.first);
            return area.is_some()
                && seats
                    .iter()
                    .all(|other| map.area_of(*other).map(|area| area.first) == area);
        };
        positions.push((bench.row, bench.cells.start, at));
    }
    positions.sort_unstable();
    positions
        .windows(2)
        .all(|pair| (pair[0].0, pair[0].1) == (pair[1].0, pair[1].1) && pair[0].2 + 1 == pair[1].2)
}
