//! Runs one visitor from join to ticket. The visitor's own seeded generator decides how long it
//! thinks and whether it changes its mind. The shared context records every call in the history.

mod basket;
mod buy;
mod door;
mod exchange;
mod foul;
mod gone;
mod line;
mod pay;
mod regret;
mod waitlist;
mod wish;

use std::sync::Arc;

use serde_json::{Map, Value, json};

use self::wish::SwarmWish;
use super::plan::VisitorPlan;
use super::scenario::VisitorBehaviour;
use super::socket::{SwarmSocket, SwarmSocketOwner, open_mute};
use super::stage::{RunFinished, SwarmContext, UnansweredCall, round};
use crate::http::{LoadHttpAnswer, LoadHttpCall};

/// The number of shared cards. Several visitors pay with each of them.
const CARDS_SHARED: usize = 9;

/// How a visitor ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VisitorOutcome {
    /// The visitor has tickets.
    Ticketed,
    /// The payment was declined or refused, or had already ended in another way.
    Declined,
    /// The visitor paid, but a fault delayed the payment until the order had run out. The money is
    /// released or refunded.
    TooLate,
    /// The show was cancelled before the visitor had tickets. A payment that was already made is
    /// refunded.
    ShowCancelled,
    /// The visitor found no seats, or lost every basket.
    NoSeats,
    /// The visitor abandoned a basket, or cancelled its order.
    GaveUp,
    /// The visitor left the line.
    Left,
    /// The visitor learned that everything is sold.
    SoldOut,
    /// The visitor learned that the room is closed.
    Closed,
    /// The run ended before the visitor was done.
    Waiting,
    /// The visitor joined and disappeared.
    NoShow,
    /// The promoter ended the visitor's place.
    Revoked,
    /// The bot got no place or no pass, because its network already had too many places.
    Refused,
    /// Something happened that must not happen, or a call got no answer in time.
    Failed(String),
}

/// The result of a step. An error is the outcome of the visitor, and ends its run.
type VisitorResult<T> = Result<T, VisitorOutcome>;

/// A visitor during the run.
pub struct Visitor {
    stage: Arc<SwarmContext>,
    plan: VisitorPlan,
    /// The hash of the visitor's secret, which names the visitor to the promoter.
    holder: String,
    place: String,
    pass: String,
    number: Option<u64>,
    rank: Option<u64>,
    socket: Option<SwarmSocket>,
    /// When the last step was done, in milliseconds since the epoch. The time of the next step
    /// counts from it.
    at_ms: f64,
    /// The number of idempotency keys that the visitor has used.
    keys: u32,
    /// The seats that the visitor said it would like. `None` once the visitor has asked for them.
    wish: Option<SwarmWish>,
    /// The number of the shared card that the visitor pays with, if it shares one.
    shared_card: Option<usize>,
}

impl VisitorOutcome {
    /// Returns the name of the outcome in the history.
    pub fn history_name(&self) -> &'static str {
        match self {
            Self::Ticketed => "ticketed",
            Self::Declined => "declined",
            Self::TooLate => "too_late",
            Self::ShowCancelled => "show_cancelled",
            Self::NoSeats => "no_seats",
            Self::GaveUp => "gave_up",
            Self::Left => "left",
            Self::SoldOut => "sold_out",
            Self::Closed => "closed",
            Self::Waiting => "waiting",
            Self::NoShow => "no_show",
            Self::Revoked => "revoked",
            Self::Refused => "refused",
            Self::Failed(_) => "failed",
        }
    }
}

impl From<UnansweredCall> for VisitorOutcome {
    fn from(why: UnansweredCall) -> Self {
        match why {
            UnansweredCall::Over => Self::Waiting,
            UnansweredCall::Lost(why) => Self::Failed(why),
        }
    }
}

impl From<RunFinished> for VisitorOutcome {
    fn from(_: RunFinished) -> Self {
        Self::Waiting
    }
}

/// Runs a visitor from its arrival to its end.
pub async fn run_visitor(stage: Arc<SwarmContext>, mut plan: VisitorPlan) {
    let shares_card = VisitorBehaviour::roll(stage.scenario.behaviour.one_card, &mut plan.rng);
    let mut visitor = Visitor {
        at_ms: stage.clock.start_ms() + plan.arrives_s * 1e3,
        holder: String::new(),
        place: String::new(),
        pass: String::new(),
        number: None,
        rank: None,
        socket: None,
        keys: 0,
        wish: None,
        shared_card: shares_card.then_some(plan.visitor % CARDS_SHARED),
        plan,
        stage,
    };
    let end = match visitor.walk().await {
        Ok(end) | Err(end) => end,
    };
    visitor.end(&end);
}

impl Visitor {
    async fn walk(&mut self) -> VisitorResult<VisitorOutcome> {
        self.join().await?;
        if self.plan.mute {
            return self.be_mute().await;
        }
        if self.plan.no_show && self.is_gone_by_number() {
            return Ok(VisitorOutcome::NoShow);
        }
        if self.plan.socket {
            let owner = self.owner();
            self.socket = Some(SwarmSocket::open(
                Arc::clone(&self.stage),
                owner,
                self.plan.rng.clone(),
            ));
        }
        if self.rolls(self.stage.scenario.behaviour.wish) {
            self.say_wish().await?;
        }
        // A room without a line calls whoever claims.
        if !self.stage.scenario.onsale.is_open() {
            self.await_turn().await?;
        }
        self.go_when_called().await?;
        self.claim().await?;
        self.go_when_inside().await?;
        self.buy().await
    }

    fn owner(&self) -> SwarmSocketOwner {
        SwarmSocketOwner {
            number: self.plan.visitor,
            observer: false,
            place: self.place.clone(),
            address: self.plan.address,
        }
    }

    async fn be_mute(&mut self) -> VisitorResult<VisitorOutcome> {
        let owner = self.owner();
        match open_mute(&self.stage, &owner).await {
            Ok(()) => Ok(VisitorOutcome::Waiting),
            Err(why) => Err(VisitorOutcome::Failed(format!(
                "the socket did not open: {why}"
            ))),
        }
    }

    fn end(&mut self, end: &VisitorOutcome) {
        self.socket = None;
        let at_ms = self.stage.clock.now_ms();
        let why = match end {
            VisitorOutcome::Failed(why) => Some(why),
            _ => None,
        };
        self.stage.tally.person(self.plan.visitor, |person| {
            person.gone_ms = Some(at_ms);
            person.outcome = Some(end.history_name().to_owned());
        });
        self.stage.history.write(
            "end",
            json!({"visitor": self.plan.visitor, "at_ms": round(at_ms), "outcome": end.history_name(), "why": why}),
        );
    }

    /// Makes a call `think_s` seconds after the last step. This step is done when the final answer
    /// arrives.
    async fn call(
        &mut self,
        op: &'static str,
        call: &LoadHttpCall,
        think_s: f64,
        record_fields: impl Fn(Option<&LoadHttpAnswer>) -> Map<String, Value>,
    ) -> VisitorResult<LoadHttpAnswer> {
        let intended_ms = self.at_ms + think_s * 1e3;
        let mut call = call.clone();
        call.forwarded = self.plan.address.map(|address| address.to_string());
        let answer = self
            .stage
            .call(
                self.plan.visitor,
                op,
                &call,
                intended_ms,
                &mut self.plan.rng,
                record_fields,
            )
            .await?;
        self.at_ms = self.stage.clock.now_ms();
        Ok(answer)
    }

    /// Returns a new idempotency key for a call that must not be carried out twice.
    fn key(&mut self, what: &str) -> String {
        self.keys += 1;
        let run = self.stage.clock.start_ms();
        format!("{what}-{run:.0}-{}-{}", self.plan.visitor, self.keys)
    }

    /// Returns the failure for an unexpected answer.
    fn unforeseen(op: &str, answer: &LoadHttpAnswer) -> VisitorOutcome {
        let code = answer.code().unwrap_or_default();
        VisitorOutcome::Failed(format!("{op} was answered {} {code}", answer.status))
    }

    fn note(&self, note: impl FnOnce(&mut super::figures::VisitorFigures)) {
        self.stage.tally.person(self.plan.visitor, note);
    }
}

/// Returns the fields of a JSON object for a record, or no fields for any other JSON.
fn fields(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}
