//! Runs one party. It joins the waitlist, reads its state again and again, and orders, declines or
//! ignores its offers. Some parties are away for a while, and some leave.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, bail};
use hyper::Method;
use jiff::Timestamp;
use rand::{RngExt, SeedableRng, rngs::StdRng};
use serde_json::{Value, json};

use super::judge::{WaitlistBenchFate, WaitlistBenchOffer, WaitlistBenchParty, WaitlistBenchSpan};
use crate::bench::people::text;
use crate::http::{LoadHttpAnswer, LoadHttpCall, LoadHttpClient};

/// How long an offer lasts, in milliseconds.
const OFFER_MS: i64 = 60_000;
/// The time between two reads of the party's state, in milliseconds.
const LOOK_MS: std::ops::Range<u64> = 1_500..3_000;
/// How long a party is away, in milliseconds. Before it comes back, it no longer counts as present.
const AWAY_MS: std::ops::Range<u64> = 18_000..30_000;
/// The time before a party answers an offer, and before it cancels its order, in milliseconds.
const THINKS_MS: std::ops::Range<u64> = 0..1_500;
/// The wait before the next try of a call that got 429, 5xx or no answer.
const AGAIN: Duration = Duration::from_millis(200);

/// What a party does besides waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitlistPartyPlan {
    /// Orders the seats, and cancels the order.
    Takes,
    /// Orders the seats, and neither pays nor cancels: the order lapses.
    Lapses,
    /// Declines its first offer, and orders the next.
    Declines,
    /// Lets its first offer run out, and orders the next.
    Sleeps,
    /// Is away for a while after its first looks, and otherwise does the same as [`Self::Takes`].
    Goes,
    /// Leaves the waitlist at its fourth look or later, unless it is offered seats before.
    Leaves,
}

impl WaitlistPartyPlan {
    /// Chooses the plan of a party by its number. Any hundred parties in a row include all plans.
    /// In runs with fewer than 500 parties, no party lets an offer or an order run out, because
    /// that takes a minute.
    pub fn for_party(number: usize, parties: usize) -> Self {
        match number * 37 % 100 {
            0..3 => Self::Leaves,
            3..8 => Self::Declines,
            8..9 if parties >= 500 => Self::Sleeps,
            9..11 if parties >= 500 => Self::Lapses,
            11..40 => Self::Goes,
            _ => Self::Takes,
        }
    }
}

/// The settings and connections of a party.
pub struct WaitlistPartyClient {
    pub http: LoadHttpClient,
    pub number: usize,
    pub pass: String,
    pub show: &'static str,
    pub way: WaitlistPartyPlan,
    /// The number of orders that all parties together have made.
    pub served: Arc<AtomicUsize>,
}

/// The result of a call for an order.
enum PartyOrderResult {
    /// The order was made, with this id.
    Made(String),
    /// The hold is gone.
    Gone,
}

impl WaitlistPartyClient {
    fn list(&self) -> String {
        format!("/v1/shows/{}/waitlist", self.show)
    }

    /// Joins the waitlist.
    ///
    /// # Errors
    /// Where the join is refused.
    pub async fn join(&self, size: u32) -> anyhow::Result<WaitlistBenchParty> {
        let call = LoadHttpCall::post(self.list(), json!({ "quantity": size }));
        let key = format!("join-{}", self.number);
        self.ask(call.key(&key), &[200, 201]).await?;
        Ok(WaitlistBenchParty {
            size,
            joined: now_ms(),
            looks: Vec::new(),
            offers: Vec::new(),
            left: None,
            end: None,
        })
    }

    /// Reads the party's state until its waiting is over, and answers its offers.
    ///
    /// # Errors
    /// Where the server gives an unexpected answer.
    pub async fn wait(&self, party: &mut WaitlistBenchParty) -> anyhow::Result<()> {
        let mut dice = StdRng::seed_from_u64(self.number as u64);
        let mut looks_until_away =
            (self.way == WaitlistPartyPlan::Goes).then(|| dice.random_range(1..4));
        loop {
            let from = now_ms();
            let state_document = self
                .ask(LoadHttpCall::get(self.list()), &[200])
                .await?
                .json();
            let look = WaitlistBenchSpan { from, to: now_ms() };
            party.looks.push(look);
            set_last_fate(party, &state_document);
            match state_document["state"].as_str() {
                Some("ended") => {
                    party.end = Some(text(&state_document, "reason")?);
                    return Ok(());
                }
                Some("offered") => {
                    let last_made = party.offers.last().map(|offer| offer.made);
                    let offer = offer(&state_document["offer"], look.to)?;
                    // A party that ignores its offer reads the same offer again and again.
                    if last_made.is_none_or(|last_made| last_made < offer.made) {
                        let hold = text(&state_document["offer"], "hold")?;
                        self.answer(party, offer, &hold, &mut dice).await?;
                    }
                }
                _ if self.way == WaitlistPartyPlan::Leaves && party.looks.len() > 3 => {
                    party.left = Some(now_ms());
                    let leave = LoadHttpCall::new(Method::DELETE, self.list());
                    self.ask(leave, &[204]).await?;
                }
                _ => {}
            }
            match &mut looks_until_away {
                Some(0) => {
                    looks_until_away = None;
                    pause(&mut dice, AWAY_MS).await;
                }
                Some(left) => *left -= 1,
                None => {}
            }
            pause(&mut dice, LOOK_MS).await;
        }
    }

    async fn answer(
        &self,
        party: &mut WaitlistBenchParty,
        mut offer: WaitlistBenchOffer,
        hold: &str,
        dice: &mut StdRng,
    ) -> anyhow::Result<()> {
        let is_first = party.offers.is_empty();
        match self.way {
            WaitlistPartyPlan::Sleeps if is_first => {}
            WaitlistPartyPlan::Declines if is_first => {
                pause(dice, THINKS_MS).await;
                offer.until = now_ms();
                let decline = LoadHttpCall::new(Method::DELETE, format!("/v1/holds/{hold}"));
                self.ask(decline, &[204, 404, 410]).await?;
            }
            way => {
                pause(dice, THINKS_MS).await;
                let asked_ms = now_ms();
                match self.order(hold).await? {
                    PartyOrderResult::Gone => offer.until = asked_ms,
                    PartyOrderResult::Made(order) => {
                        self.served.fetch_add(1, Ordering::SeqCst);
                        offer.fate = WaitlistBenchFate::Ordered;
                        if way != WaitlistPartyPlan::Lapses {
                            pause(dice, THINKS_MS).await;
                            offer.until = now_ms();
                            let cancel =
                                LoadHttpCall::post(format!("/v1/orders/{order}/cancel"), json!({}));
                            self.ask(cancel, &[200, 409]).await?;
                        }
                    }
                }
            }
        }
        party.offers.push(offer);
        Ok(())
    }

    async fn order(&self, hold: &str) -> anyhow::Result<PartyOrderResult> {
        let buyer = json!({"buyer": {"name": "A Party", "email": "party@example.org"}});
        let call = LoadHttpCall::post(format!("/v1/holds/{hold}/order"), buyer).key(hold);
        let answer = self.ask(call, &[200, 201, 404, 410]).await?;
        if answer.is_ok() {
            return Ok(PartyOrderResult::Made(text(&answer.json(), "order")?));
        }
        Ok(PartyOrderResult::Gone)
    }

    /// Sends a call until the status of the answer is one of `expected`. Tries again after 429, 5xx
    /// or no answer. Also tries again while the server says that the same call is still running. It
    /// says so if a killed process did not finish the call. Fails on any other status.
    async fn ask(&self, call: LoadHttpCall, expected: &[u16]) -> anyhow::Result<LoadHttpAnswer> {
        let call = call.bearer(&self.pass);
        loop {
            if let Ok(answer) = self.http.send(&call, self.number).await {
                if expected.contains(&answer.status) {
                    return Ok(answer);
                }
                let still_running = answer.code().as_deref() == Some("idempotency_in_flight");
                if !matches!(answer.status, 429 | 500..) && !still_running {
                    bail!("{} ({}): {}", call.path, answer.status, answer.json());
                }
            }
            tokio::time::sleep(AGAIN).await;
        }
    }
}

/// Sets the fate of the last offer from the server's answer. If a party declined or ignored the
/// offer just before a kill, only the server knows whether it stored that. If the server did not
/// store it, the party still comes before those who joined later.
fn set_last_fate(party: &mut WaitlistBenchParty, state_document: &Value) {
    let Some((last, earlier)) = party.offers.split_last_mut() else {
        return;
    };
    let earlier = earlier
        .iter()
        .filter(|offer| offer.fate == WaitlistBenchFate::Passed);
    if last.fate != WaitlistBenchFate::Ordered {
        let passed = state_document["missed"].as_u64() > Some(earlier.count() as u64);
        last.fate = if passed {
            WaitlistBenchFate::Passed
        } else {
            WaitlistBenchFate::Lost
        };
    }
}

/// Reads an offer from the server's answer. Until more is known, the offer ends when it runs out,
/// and its fate is `Lost`.
fn offer(document: &Value, seen: i64) -> anyhow::Result<WaitlistBenchOffer> {
    let seats = document["seats"].as_array().context("an offer has seats")?;
    let seats = seats.iter().filter_map(|seat| seat.as_str());
    let expires: Timestamp = text(document, "expires_at")?.parse()?;
    let expires = expires.as_millisecond();
    Ok(WaitlistBenchOffer {
        seats: seats.map(str::to_owned).collect(),
        made: expires - OFFER_MS,
        seen,
        until: expires,
        fate: WaitlistBenchFate::Lost,
    })
}

async fn pause(dice: &mut StdRng, ms: std::ops::Range<u64>) {
    let ms = dice.random_range(ms);
    tokio::time::sleep(Duration::from_millis(ms)).await;
}

/// Returns the machine's time in milliseconds. The other processes use the same clock.
pub fn now_ms() -> i64 {
    Timestamp::now().as_millisecond()
}
