//! Booking behind its addresses: the same trait as in process, asked over HTTP. Which bookings are
//! well is watched beside the calls; which room covers which show comes along with that.

pub mod forward;
pub mod pool;
mod router;
mod watch;

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use anyhow::Context;
use async_trait::async_trait;
use booking::internal::wire::{self, ChangesAsk, CoverAsk, PulseAsk, ShowsAsk, WaitingAsk};
use fairgate_model::ids::ShowId;
use fairgate_model::shows::coverage::Coverage;
use fairgate_pass::Holder;
use reqwest::{Method, StatusCode, Url};
use tokio::sync::broadcast;
use tokio::task::JoinSet;
use utoipa_axum::router::OpenApiRouter;

use super::{BookingFailure, Changes, Condition, Core, HoldSignal, Pulse, ShowInShort, Snapshot};
use crate::config::Key;
use pool::{BookingStanding, Pool, read};

/// Signals kept for a slow reader.
const SIGNALS_MAX: usize = 4_096;
/// The line asks again every second: what takes longer is asked of the next booking.
const ASK_MAX: Duration = Duration::from_secs(2);
/// A whole picture.
const SNAPSHOT_MAX: Duration = Duration::from_secs(5);
/// How long booking may wait for something to tell of a quiet show.
const CHANGES_WAIT: Duration = Duration::from_secs(2);

/// Booking, elsewhere. What watches it ends with it.
pub struct Remote {
    shared: RemoteState,
    _watching: JoinSet<()>,
}

/// What the calls and the watching share; a cheap handle.
#[derive(Clone)]
struct RemoteState {
    pool: Pool,
    coverage: Arc<RwLock<Arc<Coverage>>>,
    /// What booking was to be told and was not yet.
    owed: Arc<RwLock<Option<CoverAsk>>>,
    signals: broadcast::Sender<HoldSignal>,
    /// The ledger that this gateway has, in hex.
    ledger: Arc<str>,
}

impl Remote {
    /// Begins to watch the bookings at these base addresses. None of them needs to be there yet.
    ///
    /// # Errors
    /// Where the client cannot be made.
    pub fn new(bases: &[Url], key: Option<&Key>, ledger: &str) -> anyhow::Result<Self> {
        let pool = Pool::new(bases, key).context("booking cannot be called")?;
        let shared = RemoteState {
            pool,
            coverage: Arc::default(),
            owed: Arc::default(),
            signals: broadcast::channel(SIGNALS_MAX).0,
            ledger: ledger.into(),
        };
        let mut watching = JoinSet::new();
        for node in shared.pool.nodes() {
            watching.spawn(watch::standing(shared.clone(), Arc::clone(node)));
            watching.spawn(watch::signals(shared.clone(), Arc::clone(node)));
        }
        Ok(Self {
            shared,
            _watching: watching,
        })
    }

    fn pool(&self) -> &Pool {
        &self.shared.pool
    }
}

impl RemoteState {
    fn covered(&self) -> Arc<Coverage> {
        let known = self.coverage.read();
        Arc::clone(&known.unwrap_or_else(PoisonError::into_inner))
    }

    /// Booking has told which room covers which shows.
    fn told(&self, coverage: Vec<(String, Vec<String>)>) {
        let known = self.coverage.write();
        *known.unwrap_or_else(PoisonError::into_inner) = Arc::new(Coverage::new(coverage));
    }

    fn owe(&self, ask: Option<CoverAsk>) {
        *self.owed.write().unwrap_or_else(PoisonError::into_inner) = ask;
    }

    fn owed(&self) -> Option<CoverAsk> {
        let owed = self.owed.read();
        owed.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Tells booking what it is owed, where anything is.
    async fn pay(&self) -> Result<(), BookingFailure> {
        let Some(ask) = self.owed() else {
            return Ok(());
        };
        let put = |request: reqwest::RequestBuilder| request.timeout(ASK_MAX).json(&ask);
        self.pool.ask(None, Method::PUT, "/coverage", put).await?;
        self.told(ask.coverage.clone());
        // Somebody may have owed something newer in the meantime.
        if self.owed().as_ref() == Some(&ask) {
            self.owe(None);
        }
        Ok(())
    }
}

#[async_trait]
impl Core for Remote {
    fn router(&self) -> OpenApiRouter {
        router::all_sent_on(self.pool())
    }

    fn room_of(&self, show: &str) -> Option<String> {
        let show = show.parse::<ShowId>().ok()?;
        Some(self.shared.covered().room_of(&show))
    }

    async fn shows(&self, patterns: &[String]) -> Result<Vec<ShowInShort>, BookingFailure> {
        let ask = ShowsAsk {
            patterns: patterns.to_vec(),
        };
        let with = |request: reqwest::RequestBuilder| request.timeout(ASK_MAX).json(&ask);
        let answer = self.pool().ask(None, Method::POST, "/shows", with).await?;
        read(answer).await
    }

    async fn cover(&self, coverage: Vec<(String, Vec<String>)>) -> Result<(), BookingFailure> {
        self.shared.owe(Some(CoverAsk { coverage }));
        if let Err(error) = self.shared.pay().await {
            // While no booking answers nothing is sold; the first one that does is told before it
            // is asked anything else.
            tracing::warn!(
                %error,
                "booking will be told of the rooms when it answers"
            );
        }
        Ok(())
    }

    async fn pulse(
        &self,
        room: &str,
        shows: &[String],
        finished_after: u64,
    ) -> Result<Pulse, BookingFailure> {
        let ask = PulseAsk {
            room: room.to_owned(),
            shows: shows.to_vec(),
            finished_after,
        };
        let with = |request: reqwest::RequestBuilder| request.timeout(ASK_MAX).json(&ask);
        let answer = self.pool().ask(None, Method::POST, "/pulse", with).await?;
        read(answer).await
    }

    async fn snapshot(&self, show: &str) -> Result<Option<Snapshot>, BookingFailure> {
        let path = format!("/shows/{show}/snapshot");
        let with = |request: reqwest::RequestBuilder| request.timeout(SNAPSHOT_MAX);
        let mark = Some(show.as_bytes());
        let answer = self.pool().ask(mark, Method::GET, &path, with).await?;
        if answer.status() == StatusCode::NO_CONTENT {
            return Ok(None);
        }
        let bytes = answer.bytes().await.map_err(|error| {
            tracing::warn!(%error, show, "a picture of seats broke off");
            BookingFailure::Unreachable
        })?;
        let (version, cells, packed) =
            wire::read_snapshot(&bytes).ok_or(BookingFailure::Unreachable)?;
        Ok(Some(Snapshot {
            version,
            cells,
            packed,
        }))
    }

    async fn changes(&self, show: &str, since: u64) -> Result<Changes, BookingFailure> {
        let ask = ChangesAsk {
            since,
            wait_ms: u64::try_from(CHANGES_WAIT.as_millis()).unwrap_or(u64::MAX),
        };
        let path = format!("/shows/{show}/changes");
        let with =
            |request: reqwest::RequestBuilder| request.timeout(CHANGES_WAIT + ASK_MAX).query(&ask);
        // One show's changes come from one booking: another one may have read a little less of the
        // feed.
        let mark = Some(show.as_bytes());
        let answer = self.pool().ask(mark, Method::GET, &path, with).await?;
        read(answer).await
    }

    async fn waiting(&self, here: Vec<Holder>) -> Result<Vec<Holder>, BookingFailure> {
        let ask = WaitingAsk { here };
        let with = |request: reqwest::RequestBuilder| request.timeout(ASK_MAX).json(&ask);
        let answer = self
            .pool()
            .ask(None, Method::POST, "/waiting", with)
            .await?;
        read(answer).await
    }

    fn hold_signals(&self) -> broadcast::Receiver<HoldSignal> {
        self.shared.signals.subscribe()
    }

    async fn condition(&self) -> Condition {
        let mut condition = Condition::default();
        for node in self.pool().nodes() {
            let (standing, lasting) = node.standing();
            let (base, lasting_s) = (node.base(), lasting.as_secs());
            let told = match standing {
                BookingStanding::Well => continue,
                BookingStanding::Unready(reasons) => {
                    format!("booking at {base} is not ready: {}", reasons.join("; "))
                }
                BookingStanding::Silent(why) => {
                    format!("booking at {base} has not answered for {lasting_s} s: {why}")
                }
                BookingStanding::Foreign => format!(
                    "booking at {base} has another ledger than this gateway and is not asked: give both the same FAIRGATE_DATABASE_URL"
                ),
            };
            condition.warnings.push(told);
        }
        if self.pool().candidates(None).is_empty() {
            condition.warnings.push(
                "no booking answers: seats and orders are refused with 503 until one does; the lobby, places and the draw go on".to_owned(),
            );
        }
        condition
    }
}
