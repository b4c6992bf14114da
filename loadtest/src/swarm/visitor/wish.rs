//! The visitor says in the lobby which seats it would like. When its turn has come, it holds them
//! with one tap. The tap claims the pass, and right after that asks for the seats.

use hyper::Method;
use rand::RngExt;
use rand::seq::IndexedRandom;
use serde_json::{Value, json};

use super::basket::{VisitorBasket, VisitorHoldResult};
use super::{Visitor, VisitorOutcome, VisitorResult, fields};
use crate::http::LoadHttpCall;

/// The seats that a visitor has said it would like.
pub(super) struct SwarmWish {
    /// The index of the show among the room's shows.
    pub(super) show: usize,
    /// How many seats.
    pub(super) quantity: usize,
    /// The requests for best seats, in the order of preference.
    choices: Vec<Value>,
    /// When the visitor tapped, in milliseconds since the epoch.
    pub(super) tapped_ms: f64,
}

impl Visitor {
    /// Says one or two wishes. The last wish is for the best seats of any category. If the show has
    /// categories, the wish before it is for the best seats of a random category.
    pub(super) async fn say_wish(&mut self) -> VisitorResult<()> {
        let show = self.plan.rng.random_range(0..self.stage.shows.len());
        let quantity = self.stage.scenario.behaviour.party(&mut self.plan.rng);
        let sold = &self.stage.shows[show];
        let mut choices = vec![json!({"quantity": quantity})];
        if let Some(category) = sold.categories.choose(&mut self.plan.rng) {
            choices.insert(0, json!({"quantity": quantity, "categories": [category]}));
        }
        let of_show = |choice: &Value| {
            let mut wish = choice.clone();
            wish["show"] = json!(sold.id);
            wish
        };
        let wishes: Value = choices.iter().map(of_show).collect();
        let call = LoadHttpCall {
            body: Some(wishes),
            ..LoadHttpCall::new(Method::PUT, self.stage.room_path("place/wishes"))
        }
        .bearer(&self.place);
        let answer = self.call("wish", &call, 0.3, |_| fields(json!({}))).await?;
        match (answer.status, answer.code().as_deref()) {
            (200, _) => {}
            // The room's shows are not on sale yet at this node.
            (422, Some("not_available")) => return Ok(()),
            (410, _) => return Err(VisitorOutcome::Closed),
            _ => return Err(Self::unforeseen("wish", &answer)),
        }
        self.wish = Some(SwarmWish {
            show,
            quantity,
            choices,
            tapped_ms: 0.0,
        });
        Ok(())
    }

    /// Holds the seats of the first wish that can be met. Returns `None` if no wish can be met, if
    /// the visitor has said no wish, or if it has already asked for its wishes.
    pub(super) async fn hold_wish(&mut self) -> VisitorResult<Option<VisitorBasket>> {
        let Some(wish) = self.wish.take() else {
            return Ok(None);
        };
        for choice in wish.choices {
            let body = json!({"best": choice});
            if let VisitorHoldResult::Held(basket) = self.hold(wish.show, body, 0.0).await? {
                let (tapped_ms, held_ms) = (wish.tapped_ms, self.at_ms);
                let tally = &self.stage.tally;
                tally.called("wish_hold", tapped_ms, tapped_ms, held_ms, Some(201), None);
                return Ok(Some(basket));
            }
        }
        Ok(None)
    }
}
