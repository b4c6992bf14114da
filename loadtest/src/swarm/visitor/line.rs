//! Joins the room, waits for the turn on a socket or by polling, and claims the pass.

use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{Visitor, VisitorOutcome, VisitorResult, fields};
use crate::http::{LoadHttpAnswer, LoadHttpCall};
use crate::swarm::clock::rfc3339_ms;
use crate::swarm::figures::DrawWaitEstimate;
use crate::swarm::plan::{PlannedRevocation, secret};
use crate::swarm::scenario::{SecondsRange, VisitorBehaviour};
use crate::swarm::socket::{SwarmSocketCommand, SwarmSocketEvent};

/// After a visitor on a socket learns its rank, it reads its place at a random time within this
/// many seconds.
const LOOK_WITHIN_S: f64 = 1.5;
/// The largest number of visitors who read their place in one second because they learned their
/// rank. A large crowd spreads these reads over more than [`LOOK_WITHIN_S`].
const LOOKS_PER_S: f64 = 2_000.0;
/// The time until a visitor on a socket reads its place again, in seconds. Each visitor draws its
/// own time, so that visitors do not all read at once.
const LOOK_AGAIN_S: SecondsRange = SecondsRange(45.0, 120.0);

/// The result of reading the place.
enum PlaceLookResult {
    Waiting { refresh_s: f64 },
    Called,
    Closed,
}

/// When a visitor will do something while it waits, in milliseconds since the epoch.
struct WaitingSchedule {
    look_ms: Option<f64>,
    leave_ms: Option<f64>,
    drop_ms: Option<f64>,
}

impl WaitingSchedule {
    fn next(&self) -> f64 {
        [self.look_ms, self.leave_ms, self.drop_ms]
            .into_iter()
            .flatten()
            .fold(f64::MAX, f64::min)
    }
}

impl Visitor {
    pub(super) async fn join(&mut self) -> VisitorResult<()> {
        let secret = secret(&mut self.plan.rng);
        let holder = hex::decode(&secret).map(|bytes| hex::encode(Sha256::digest(bytes)));
        let holder = holder.unwrap_or_default();
        self.holder.clone_from(&holder);
        let call = LoadHttpCall::post(self.stage.room_path("places"), json!({ "secret": secret }));
        let mut think_s = 0.0;
        loop {
            let answer = self
                .call("join", &call, think_s, |answer| {
                    let number = answer.map(|answer| answer.json()["number"].clone());
                    fields(json!({"number": number, "holder": holder}))
                })
                .await?;
            let document = answer.json();
            match (answer.status, document["code"].as_str()) {
                (200 | 201, _) => {
                    self.place = document["place"].as_str().unwrap_or_default().to_owned();
                    self.number = document["number"].as_u64();
                    let (at_ms, number) = (self.at_ms, self.number);
                    self.note(|person| {
                        person.joined_ms = Some(at_ms);
                        person.number = number;
                    });
                    return Ok(());
                }
                (409, Some("not_open")) => think_s = 0.5,
                (410, _) => return Err(VisitorOutcome::Closed),
                (403, _) if self.plan.bot => return Err(VisitorOutcome::Refused),
                _ => return Err(Self::unforeseen("join", &answer)),
            }
        }
    }

    /// Returns whether a no-show disappears right after the join. Without `no_show_head`, every
    /// no-show does. With `no_show_head`, a no-show does so only in a room with the method `fifo`,
    /// and only if its number is below `no_show_head`.
    pub(super) fn is_gone_by_number(&self) -> bool {
        let head = self.stage.scenario.behaviour.no_show_head;
        head == 0
            || self.stage.scenario.onsale.is_fifo()
                && self.number.is_some_and(|number| number < head)
    }

    fn is_gone_by_rank(&self) -> bool {
        let head = self.stage.scenario.behaviour.no_show_head;
        self.plan.no_show && self.rank.is_some_and(|rank| rank < head)
    }

    pub(super) async fn await_turn(&mut self) -> VisitorResult<()> {
        let draw_s = self
            .stage
            .scenario
            .onsale
            .at_s("draw_at")
            .unwrap_or_default();
        let from_ms = self.at_ms.max(self.stage.clock.start_ms() + draw_s * 1e3);
        let behaviour = &self.stage.scenario.behaviour;
        let rng = &mut self.plan.rng;
        let is_ended = self.plan.revoked == Some(PlannedRevocation::BeforeTheClaim);
        let leaves_after_s = behaviour.leaves_after_s(self.plan.leaves || is_ended, rng);
        let drops = self.plan.drops && self.plan.socket;
        let mishap = SecondsRange(0.0, VisitorBehaviour::MISHAP_WITHIN_S);
        let schedule = WaitingSchedule {
            look_ms: None,
            leave_ms: leaves_after_s.map(|after_s| from_ms + after_s * 1e3),
            drop_ms: drops.then(|| from_ms + mishap.draw(rng) * 1e3),
        };
        if self.plan.socket {
            self.listen(schedule).await
        } else {
            self.poll(schedule).await
        }
    }

    async fn listen(&mut self, mut schedule: WaitingSchedule) -> VisitorResult<()> {
        schedule.look_ms = Some(self.at_ms + LOOK_AGAIN_S.draw(&mut self.plan.rng) * 1e3);
        let mut knows_rank = false;
        loop {
            let next_ms = schedule.next();
            let Some(socket) = self.socket.as_mut() else {
                return Err(VisitorOutcome::Failed("the socket is gone".to_owned()));
            };
            let event = tokio::select! {
                event = socket.events.recv() => event,
                waited = self.stage.until(next_ms) => { waited?; None }
            };
            self.at_ms = self.stage.clock.now_ms();
            match event {
                Some(SwarmSocketEvent::Turn) => {
                    self.called();
                    return Ok(());
                }
                Some(SwarmSocketEvent::Closed(reason)) => return Err(self.told_end(&reason, true)),
                Some(SwarmSocketEvent::Place(_, Some(rank))) => {
                    self.ranked(rank);
                    if self.is_gone_by_rank() {
                        return Err(VisitorOutcome::NoShow);
                    }
                    if !knows_rank {
                        let span = SecondsRange(0.0, self.look_within_s());
                        schedule.look_ms = Some(self.at_ms + span.draw(&mut self.plan.rng) * 1e3);
                    }
                }
                Some(SwarmSocketEvent::Place(_, None) | SwarmSocketEvent::Seats(_)) => {}
                None => {
                    if schedule.leave_ms.is_some_and(|at| at <= self.at_ms) {
                        return self.stop_waiting().await;
                    }
                    if schedule.drop_ms.is_some_and(|at| at <= self.at_ms) {
                        schedule.drop_ms = None;
                        self.drop_socket();
                    }
                    if schedule.look_ms.is_some_and(|at| at <= self.at_ms) {
                        match self.read_place().await? {
                            PlaceLookResult::Called => return Ok(()),
                            PlaceLookResult::Closed => return Err(VisitorOutcome::Closed),
                            PlaceLookResult::Waiting { .. } => {}
                        }
                        knows_rank = self.rank.is_some();
                        schedule.look_ms =
                            Some(self.at_ms + LOOK_AGAIN_S.draw(&mut self.plan.rng) * 1e3);
                    }
                }
            }
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "thousands of visitors")]
    fn look_within_s(&self) -> f64 {
        LOOK_WITHIN_S.max(self.stage.scenario.crowd.visitors as f64 / LOOKS_PER_S)
    }

    fn drop_socket(&mut self) {
        let away_s = self
            .stage
            .scenario
            .behaviour
            .drop_s
            .draw(&mut self.plan.rng);
        if let Some(socket) = &self.socket {
            socket.send_command(SwarmSocketCommand::Drop(Duration::from_secs_f64(away_s)));
        }
    }

    async fn poll(&mut self, mut mind: WaitingSchedule) -> VisitorResult<()> {
        loop {
            let refresh_s = match self.read_place().await? {
                PlaceLookResult::Called => return Ok(()),
                PlaceLookResult::Closed => return Err(VisitorOutcome::Closed),
                PlaceLookResult::Waiting { refresh_s } => refresh_s,
            };
            if self.is_gone_by_rank() {
                return Err(VisitorOutcome::NoShow);
            }
            if self.is_sold_out().await? {
                return Err(self.told_end("sold_out", false));
            }
            mind.look_ms = Some(self.at_ms + refresh_s * 1e3);
            self.stage.until(mind.next()).await?;
            self.at_ms = mind.next();
            if mind.leave_ms.is_some_and(|at| at <= self.at_ms) {
                return self.stop_waiting().await;
            }
        }
    }

    /// Reads the room and returns whether it is sold out. A visitor who polls needs this, because
    /// its place does not show that everything is sold. While the visitor has no rank, returns
    /// false and reads nothing.
    async fn is_sold_out(&mut self) -> VisitorResult<bool> {
        if self.rank.is_none() {
            return Ok(false);
        }
        let path = format!("/v1/rooms/{}", self.stage.scenario.onsale.room());
        let room = self
            .call("room", &LoadHttpCall::get(path), 0.0, |_| fields(json!({})))
            .await?;
        Ok(room.json()["phase"] == "sold_out")
    }

    /// Reads the visitor's own place. Notes the first wait and odds after the draw, because the
    /// figures need them.
    async fn read_place(&mut self) -> VisitorResult<PlaceLookResult> {
        let call = LoadHttpCall::get(self.stage.room_path("place")).bearer(&self.place);
        let asked_ms = self.at_ms;
        let answer = self.call("place", &call, 0.0, place_fields).await?;
        let document = answer.json();
        match (answer.status, document["state"].as_str()) {
            (200, _) => {}
            (410, _) => return Err(VisitorOutcome::Closed),
            _ => return Err(Self::unforeseen("place", &answer)),
        }
        let (number, rank) = (document["number"].as_u64(), document["rank"].as_u64());
        let (ahead, at_ms) = (document["ahead"].as_u64(), self.at_ms);
        self.note(|person| {
            person.reread(number, rank);
            person.read_ahead(ahead, asked_ms, at_ms);
        });
        if let Some(rank) = rank {
            self.ranked(rank);
            self.note_wait_estimate(&document);
        }
        Ok(match document["state"].as_str() {
            Some("waiting") => PlaceLookResult::Waiting {
                refresh_s: document["refresh_s"].as_f64().unwrap_or(5.0),
            },
            Some("closed") => PlaceLookResult::Closed,
            _ => {
                self.called();
                PlaceLookResult::Called
            }
        })
    }

    fn note_wait_estimate(&self, document: &Value) {
        if document["state"] != "waiting" {
            return;
        }
        let is_known = document["wait"]["known"] == true;
        let seconds = |field: &str| document["wait"][field].as_f64().filter(|_| is_known);
        let estimate = DrawWaitEstimate {
            at_ms: self.at_ms,
            p50_s: seconds("p50_s"),
            p90_s: seconds("p90_s"),
            odds: document["odds"].as_f64(),
        };
        self.note(|person| {
            person.told.get_or_insert(estimate);
        });
    }

    fn ranked(&mut self, rank: u64) {
        self.rank = Some(rank);
        self.note(|person| {
            person.rank.get_or_insert(rank);
        });
    }

    fn called(&self) {
        let at_ms = self.at_ms;
        self.note(|person| {
            person.called_ms.get_or_insert(at_ms);
        });
    }

    fn told_end(&self, reason: &str, on_socket: bool) -> VisitorOutcome {
        if reason != "sold_out" {
            return VisitorOutcome::Closed;
        }
        let at_ms = self.at_ms;
        self.note(|person| person.sold_out_ms = Some((at_ms, on_socket)));
        VisitorOutcome::SoldOut
    }

    /// Returns the time from the last step to `after_s` seconds after the draw, in seconds. It is
    /// below 0 if the last step was later than that.
    pub(super) fn until_after_draw_s(&self, after_s: f64) -> f64 {
        let draw_s = self
            .stage
            .scenario
            .onsale
            .at_s("draw_at")
            .unwrap_or_default();
        (self.stage.clock.start_ms() - self.at_ms) / 1e3 + draw_s + after_s
    }

    /// Claims the pass. If the claim is too early, repeats it after the wait that the answer names.
    pub(super) async fn claim(&mut self) -> VisitorResult<()> {
        let behaviour = self.stage.scenario.behaviour.clone();
        let mut think_s = behaviour.claim_s.draw(&mut self.plan.rng);
        let late_s = self.until_after_draw_s(behaviour.late_at_s);
        if self.plan.late && late_s > 0.0 {
            think_s = late_s;
        }
        let call =
            LoadHttpCall::new(Method::POST, self.stage.room_path("pass")).bearer(&self.place);
        loop {
            let (rank, tapped_ms) = (self.rank, self.at_ms + think_s * 1e3);
            let answer = self
                .call("claim", &call, think_s, |answer| {
                    let document = answer.map(LoadHttpAnswer::json).unwrap_or_default();
                    let exp_ms = document["expires_at"].as_str().and_then(rfc3339_ms);
                    fields(json!({"exp_ms": exp_ms, "rank": rank}))
                })
                .await?;
            match answer.status {
                201 => {
                    let document = answer.json();
                    self.pass = document["pass"].as_str().unwrap_or_default().to_owned();
                    if let Some(wish) = &mut self.wish {
                        wish.tapped_ms = tapped_ms;
                    }
                    let at_ms = self.at_ms;
                    self.note(|person| {
                        person.entered_ms.get_or_insert(at_ms);
                    });
                    return Ok(());
                }
                409 => {
                    let wait_s = answer.retry_after_s.unwrap_or(1.0);
                    think_s = wait_s + SecondsRange(0.0, 0.5).draw(&mut self.plan.rng);
                }
                410 => return Err(VisitorOutcome::Closed),
                // A claim from a crowded network costs work, like a join. Bots do not do this work.
                403 if self.plan.bot => return Err(VisitorOutcome::Refused),
                _ => return Err(Self::unforeseen("claim", &answer)),
            }
        }
    }

    /// Returns true with the probability `share`.
    pub(super) fn rolls(&mut self, share: f64) -> bool {
        VisitorBehaviour::roll(share, &mut self.plan.rng)
    }
}

/// Returns the fields with which the history records a read of the place.
fn place_fields(answer: Option<&LoadHttpAnswer>) -> serde_json::Map<String, Value> {
    let document = answer
        .filter(|answer| answer.is_ok())
        .map(LoadHttpAnswer::json)
        .unwrap_or_default();
    let names = ["number", "rank", "ahead", "state", "wait", "odds"];
    names
        .iter()
        .map(|name| ((*name).to_owned(), document[*name].clone()))
        .collect()
}
