//! One bot or one person: waits in line, claims a pass when called, and then does what its kind
//! does inside.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use hyper::Method;
use parking_lot::Mutex;
use rand::{RngExt, SeedableRng, rngs::StdRng};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::record::{ClaimerRecord, ClaimerVisit, ClaimersLog};
use crate::bench::fans::buyers::buy_with_pass;
use crate::bench::fans::{ROOM, SHOW};
use crate::bench::people::{answer_text, text};
use crate::http::{LoadHttpAnswer, LoadHttpCall, LoadHttpClient};

/// How often somebody looks at its place whom the line will call soon.
const LOOK_NEAR: Duration = Duration::from_millis(500);
/// How often everybody else looks at its place.
const LOOK_FAR: Duration = Duration::from_secs(2);
/// How often a bot with a pass looks whether the pass has ended.
const LOOK_INSIDE: Duration = Duration::from_secs(1);
/// How often a bot asks for the next basket after the last one's deadline.
const HOLD_AGAIN: Duration = Duration::from_millis(500);
/// How long a person looks at the seats before it takes one, in milliseconds. It does so twice.
const CHOOSING_MS: std::ops::Range<u64> = 500..2_000;
/// How often a call that got no answer is repeated.
const UNANSWERED_MAX: u32 = 3;

/// The log that all visitors of a part share.
#[derive(Clone)]
pub struct ClaimersBoard {
    begun: Instant,
    log: Arc<Mutex<ClaimersLog>>,
    /// The first error of a bot. A bot that stops makes the run invalid.
    broken: Arc<Mutex<Option<anyhow::Error>>>,
}

impl ClaimersBoard {
    /// Begins the log of visitors of whom the first `bots` are bots.
    pub fn begin(bots: usize, visitors: usize) -> Self {
        let record = |number: usize| ClaimerRecord {
            is_bot: number < bots,
            ..ClaimerRecord::default()
        };
        let visitors = (0..visitors).map(record).collect();
        Self {
            begun: Instant::now(),
            log: Arc::new(Mutex::new(ClaimersLog { visitors })),
            broken: Arc::default(),
        }
    }

    /// Returns the milliseconds since the sale began.
    pub fn now_ms(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Reads the log.
    pub fn read<T>(&self, read: impl FnOnce(&ClaimersLog) -> T) -> T {
        read(&self.log.lock())
    }

    /// Returns an error if a bot has stopped.
    ///
    /// # Errors
    /// The first error of a bot.
    pub fn require_bots(&self) -> anyhow::Result<()> {
        let broken = self.broken.lock().take();
        broken.map_or(Ok(()), |error| Err(error.context("a bot stopped")))
    }

    fn change(&self, number: usize, change: impl FnOnce(&mut ClaimerRecord)) {
        change(&mut self.log.lock().visitors[number]);
    }
}

/// A bot or a person.
pub struct ClaimerClient {
    pub http: LoadHttpClient,
    pub number: usize,
    /// The signed place.
    pub place: String,
    /// Whoever has at most this many people ahead looks more often.
    pub near: u64,
    pub board: ClaimersBoard,
}

/// What a bot takes, again and again, while it has a pass.
#[derive(Debug, Clone, Copy)]
pub struct BotBaskets {
    pub seats: u32,
    /// How long a basket is shown to its visitor, in seconds.
    pub hold_s: u64,
}

impl ClaimerClient {
    /// Lives as a bot that does nothing with its passes, or that takes a basket after the other,
    /// until the task is dropped.
    pub async fn live_as_bot(self, baskets: Option<BotBaskets>) {
        let lived = match baskets {
            None => self.idle().await,
            Some(baskets) => self.take_baskets(baskets).await,
        };
        if let Err(error) = lived {
            self.board.broken.lock().get_or_insert(error);
        }
    }

    /// Lives as a person, who buys one seat.
    pub async fn live_as_person(self) {
        let bought = self.buy().await.map_err(|error| format!("{error:#}"));
        self.board
            .change(self.number, |person| person.bought = Some(bought));
    }

    async fn idle(&self) -> anyhow::Result<()> {
        loop {
            self.enter().await?;
            while self.look().await?["state"] == "admitted" {
                sleep(LOOK_INSIDE).await;
            }
            self.note_end();
        }
    }

    async fn take_baskets(&self, baskets: BotBaskets) -> anyhow::Result<()> {
        let wish = json!({"best": {"quantity": baskets.seats}});
        loop {
            let pass = self.enter().await?;
            let hold = LoadHttpCall::post(format!("/v1/shows/{SHOW}/holds"), wish.clone());
            let hold = hold.bearer(&pass);
            loop {
                let answer = self.answer(&hold).await?;
                match answer.status {
                    201 => {
                        self.board.change(self.number, |bot| {
                            if let Some(visit) = bot.visits.last_mut() {
                                visit.baskets += 1;
                            }
                        });
                        sleep(Duration::from_secs(baskets.hold_s)).await;
                    }
                    401 => break,
                    // The last basket still lives, or no seat is free.
                    409 | 422 => sleep(HOLD_AGAIN).await,
                    _ => bail!("a basket was refused {}", answer_text(&answer)),
                }
            }
            self.note_end();
        }
    }

    async fn buy(&self) -> anyhow::Result<()> {
        let pass = self.enter().await?;
        let mut dice = StdRng::seed_from_u64(self.number as u64);
        let seats = LoadHttpCall::get(format!("/v1/shows/{SHOW}/seats")).bearer(&pass);
        for _ in 0..2 {
            let choosing_ms = dice.random_range(CHOOSING_MS);
            self.answer(&seats).await?;
            sleep(Duration::from_millis(choosing_ms)).await;
        }
        let wish = json!({"best": {"quantity": 1}});
        buy_with_pass(&self.http, self.number, &pass, wish).await?;
        self.note_end();
        Ok(())
    }

    fn note_end(&self) {
        let ended = self.board.now_ms();
        self.board.change(self.number, |visitor| {
            if let Some(visit) = visitor.visits.last_mut() {
                visit.ended = Some(ended);
            }
        });
    }

    /// Waits in line, and claims a pass as soon as the visitor is called.
    async fn enter(&self) -> anyhow::Result<String> {
        loop {
            let sent = self.board.now_ms();
            let place = self.look().await?;
            let ahead = place["ahead"].as_u64();
            let is_new = self.board.read(|log| {
                let visits = &log.visitors[self.number].visits;
                visits.is_empty()
            });
            match place["state"].as_str() {
                Some("called") => return self.claim().await,
                // The end of the last visit is on its way to this node.
                Some("admitted") => {}
                Some("waiting") => self.board.change(self.number, |visitor| {
                    visitor.rank = place["rank"].as_u64();
                    if is_new {
                        visitor.uncalled = Some(sent);
                    }
                }),
                _ => bail!("a visitor in the line was told {place}"),
            }
            let is_near = is_new && ahead.is_some_and(|ahead| ahead <= self.near);
            sleep(if is_near { LOOK_NEAR } else { LOOK_FAR }).await;
        }
    }

    /// Claims the pass of a visitor who was called. While there is no room inside, asks again after
    /// the time that it is told.
    async fn claim(&self) -> anyhow::Result<String> {
        let claim = LoadHttpCall::new(Method::POST, format!("/v1/rooms/{ROOM}/pass"));
        let claim = claim.bearer(&self.place);
        loop {
            let answer = self.answer(&claim).await?;
            match answer.status {
                201 => {
                    let entered = self.board.now_ms();
                    let visit = ClaimerVisit {
                        entered,
                        ended: None,
                        baskets: 0,
                    };
                    self.board
                        .change(self.number, |visitor| visitor.visits.push(visit));
                    return text(&answer.json(), "pass");
                }
                409 => {
                    let wait_s = answer.retry_after_s;
                    let wait_s = wait_s.context("a claim was put off without a time")?;
                    sleep(Duration::from_secs_f64(wait_s)).await;
                }
                _ => bail!("a claim was refused {}", answer_text(&answer)),
            }
        }
    }

    async fn look(&self) -> anyhow::Result<Value> {
        let look = LoadHttpCall::get(format!("/v1/rooms/{ROOM}/place")).bearer(&self.place);
        let answer = self.answer(&look).await?;
        ensure!(
            answer.is_ok(),
            "a look at a place was refused {}",
            answer_text(&answer)
        );
        Ok(answer.json())
    }

    /// Sends a call until the answer says more than that the server is busy.
    async fn answer(&self, call: &LoadHttpCall) -> anyhow::Result<LoadHttpAnswer> {
        let mut unanswered = 0;
        loop {
            match self.http.send(call, self.number).await {
                Ok(answer) if matches!(answer.status, 429 | 503) => {
                    let wait_s = answer.retry_after_s.unwrap_or(1.0);
                    sleep(Duration::from_secs_f64(wait_s)).await;
                }
                Ok(answer) => return Ok(answer),
                Err(_) if unanswered < UNANSWERED_MAX => unanswered += 1,
                Err(error) => bail!("{} got no answer: {error}", call.path),
            }
        }
    }
}
