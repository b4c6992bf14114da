//! Takes a visitor from the pass to the tickets. Chooses seats in rounds until the visitor has a
//! basket, and then buys, changes or abandons the basket.

use rand::RngExt;
use serde_json::{Value, json};

use super::basket::{OUT_OF_SEATS, VisitorBasket, VisitorHoldResult};
use super::pay::BasketOutcome;
use super::{Visitor, VisitorOutcome, VisitorResult};

/// The largest number of calls for seats in one round of choosing.
const REFUSALS_MAX: u32 = 4;
/// The largest number of baskets that a visitor fills before it gives up. A visitor may need a new
/// basket because a restart of the system lost its basket.
const BASKETS_MAX: u32 = 4;

impl Visitor {
    /// Buys seats. Some visitors who find none wait for seats that become free.
    pub(super) async fn buy(&mut self) -> VisitorResult<VisitorOutcome> {
        let behaviour = self.stage.scenario.behaviour.clone();
        let wished = self.wish.as_ref().map(|wish| (wish.show, wish.quantity));
        let (show, party) = match wished {
            Some(wished) => wished,
            None => (
                self.plan.rng.random_range(0..self.stage.shows.len()),
                behaviour.party(&mut self.plan.rng),
            ),
        };
        match self.buy_now(show, party).await {
            Err(VisitorOutcome::NoSeats) if self.rolls(behaviour.waitlist) => {
                self.wait_for_seats(show, party).await
            }
            end => end,
        }
    }

    /// Buys seats that are free now.
    async fn buy_now(&mut self, show: usize, party: usize) -> VisitorResult<VisitorOutcome> {
        let behaviour = self.stage.scenario.behaviour.clone();
        let mut wished = self.hold_wish().await?;
        if wished.is_none() && self.rolls(behaviour.browse) {
            self.browse(show).await?;
        }
        let gives_up = self.rolls(behaviour.give_up);
        for _ in 0..BASKETS_MAX {
            let basket = match wished.take() {
                Some(basket) => basket,
                None => self.fill_basket(show, party).await?,
            };
            let Some(basket) = self.think_again(basket, party).await? else {
                continue;
            };
            if gives_up {
                self.leave_basket(&basket);
                return Ok(VisitorOutcome::GaveUp);
            }
            match self.order_and_pay(&basket).await? {
                BasketOutcome::Done(end) => return Ok(end),
                BasketOutcome::BasketGone => {}
            }
        }
        Err(OUT_OF_SEATS)
    }

    /// Chooses seats until the visitor has a basket.
    async fn fill_basket(&mut self, show: usize, party: usize) -> VisitorResult<VisitorBasket> {
        let behaviour = self.stage.scenario.behaviour.clone();
        let is_train = self.stage.shows[show].train.is_some();
        let by_seat = !behaviour.wanted.is_empty() || self.rolls(behaviour.by_seat) && !is_train;
        for round in 0..=behaviour.tries {
            let mut think_s = if round == 0 && behaviour.together_s > 0.0 {
                self.until_after_draw_s(behaviour.together_s)
            } else if round == 0 {
                behaviour.choose_s.draw(&mut self.plan.rng)
            } else {
                behaviour.retry_s.draw(&mut self.plan.rng)
            };
            let mut body = if by_seat {
                self.by_label(show, party, &mut think_s).await?
            } else {
                self.best(show, party)
            };
            for _ in 0..REFUSALS_MAX {
                let Some(request) = body.take() else {
                    break;
                };
                match self.hold(show, request, think_s).await? {
                    VisitorHoldResult::Held(basket) => return Ok(basket),
                    // A visitor who wants certain seats takes no others.
                    VisitorHoldResult::Refused { suggestion } => {
                        body = suggestion.filter(|_| behaviour.wanted.is_empty());
                    }
                    VisitorHoldResult::PassOver => {
                        self.claim().await?;
                        body = self.best(show, party);
                    }
                }
                think_s = 0.2;
            }
        }
        Err(OUT_OF_SEATS)
    }

    async fn by_label(
        &mut self,
        show: usize,
        party: usize,
        think_s: &mut f64,
    ) -> VisitorResult<Option<Value>> {
        if !self.stage.scenario.behaviour.wanted.is_empty() {
            return Ok(Some(json!({"seats": self.stage.scenario.behaviour.wanted})));
        }
        // The visitor first reads the seats, and then takes time to choose.
        let picture = self.seats(show, 0.0).await?;
        let seats = self.pick(show, &picture, party);
        *think_s = think_s.max(0.1);
        Ok((!seats.is_empty()).then(|| json!({ "seats": seats })))
    }

    #[expect(
        clippy::unnecessary_wraps,
        reason = "the caller's next request may also be none"
    )]
    fn best(&mut self, show: usize, party: usize) -> Option<Value> {
        Some(self.stage.shows[show].best(party, &mut self.plan.rng))
    }

    /// Some visitors change their basket here, or give it back and choose again. Returns `None` if
    /// the basket has run out.
    async fn think_again(
        &mut self,
        basket: VisitorBasket,
        party: usize,
    ) -> VisitorResult<Option<VisitorBasket>> {
        if !self.rolls(self.stage.scenario.behaviour.change) {
            return Ok(Some(basket));
        }
        if self.rolls(0.5) && self.stage.shows[basket.show].train.is_none() {
            return self.change(basket).await;
        }
        self.put_back(&basket).await?;
        self.fill_basket(basket.show, party).await.map(Some)
    }
}
