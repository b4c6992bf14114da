//! The pool of booking processes: which of them take calls, which one gets the next call, and what
//! a call returns if none answers.

use parking_lot::Mutex;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use booking::internal::PREFIX;
use fairgate_base::config::SecretSetting;
use fairgate_base::log_failed_try;
use futures_util::future::join_all;
use reqwest::header::HeaderValue;
use reqwest::{Method, RequestBuilder, StatusCode, Url, redirect};
use serde::de::DeserializeOwned;

use super::edition::SentShowsEdition;
use crate::upstream::BookingFailure;

/// How long to wait for a connection. A booking process on a nearby machine accepts a connection at
/// once, or it is down.
const CONNECT_MAX: Duration = Duration::from_secs(1);
/// How long an idle connection is kept. This is less than the ten seconds after which booking
/// closes it, so that no call uses a connection that booking is closing.
const IDLE_MAX: Duration = Duration::from_secs(5);
/// The state of one booking process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BookingNodeStatus {
    /// The process takes calls.
    Well,
    /// The process answers that it is not ready, for these reasons. It gets a call only after all
    /// well processes have failed to answer the call.
    Unready(Vec<String>),
    /// The process does not answer, for this reason. No call goes to it. The background tasks in
    /// `watch.rs` go on asking for its state.
    Silent(String),
    /// The process refuses this gateway's key. It is only asked for its state.
    KeyRefused,
    /// The process has another ledger, and therefore other sales. It is only asked for its state.
    Foreign,
}

/// One booking process and its state.
pub struct BookingNode {
    base: Url,
    status_since: Mutex<(BookingNodeStatus, Instant)>,
    shows_edition: SentShowsEdition,
}

/// All booking processes; a cheap handle.
#[derive(Clone)]
pub struct BookingNodePool {
    inner: Arc<BookingPoolState>,
}

struct BookingPoolState {
    client: reqwest::Client,
    key: Option<HeaderValue>,
    nodes: Vec<Arc<BookingNode>>,
    turn: AtomicUsize,
}

impl BookingNode {
    /// Returns the address of the process.
    #[must_use]
    pub fn base_url(&self) -> &Url {
        &self.base
    }

    /// Returns the last number that the process has sent for its shows.
    #[must_use]
    pub fn shows_edition(&self) -> &SentShowsEdition {
        &self.shows_edition
    }

    /// Returns the state of the process, and for how long the process has been in this state.
    #[must_use]
    pub fn status_and_age(&self) -> (BookingNodeStatus, Duration) {
        let known = self.status_since.lock();
        (known.0.clone(), known.1.elapsed())
    }

    /// Sets the state. A change is logged only as debug, because the operators' warnings say what
    /// is wrong with the process.
    pub fn set_status(&self, status: BookingNodeStatus) {
        let mut known = self.status_since.lock();
        if known.0 == status {
            return;
        }
        match &status {
            BookingNodeStatus::Well => tracing::debug!(booking = %self.base, "booking answers"),
            BookingNodeStatus::Unready(reasons) => {
                tracing::debug!(booking = %self.base, ?reasons, "booking is not ready")
            }
            BookingNodeStatus::Silent(why) => {
                tracing::debug!(booking = %self.base, why, "booking does not answer and is left out until it does")
            }
            BookingNodeStatus::KeyRefused => {
                tracing::debug!(booking = %self.base, "booking refuses this gateway's key and is left out")
            }
            BookingNodeStatus::Foreign => {
                tracing::debug!(booking = %self.base, "booking has another ledger and is left out")
            }
        }
        // If only the reason of the silence changes, the time when the silence began is kept.
        let goes_on = matches!(
            (&known.0, &status),
            (BookingNodeStatus::Silent(_), BookingNodeStatus::Silent(_))
        );
        let since = if goes_on { known.1 } else { Instant::now() };
        *known = (status, since);
    }
}

/// What decides which process of a group gets a call first.
#[derive(Clone, Copy)]
enum CallOrder<'m> {
    /// The processes take turns. This is the number of the call.
    Turn(usize),
    /// The calls with the same mark go to the same process.
    Mark(&'m [u8]),
}

impl CallOrder<'_> {
    /// Sorts a group of processes, given as indices in order. Each process is first for an equal
    /// share of the calls. If a process leaves the group, only its own marks get another first
    /// process, and the others share them.
    fn sort(self, group: &mut [usize]) {
        match self {
            Self::Turn(turn) => group.rotate_left(turn % group.len().max(1)),
            Self::Mark(mark) => group.sort_by_cached_key(|at| {
                let mut hasher = DefaultHasher::new();
                (mark, *at).hash(&mut hasher);
                hasher.finish()
            }),
        }
    }
}

/// Returns the indices of the processes that may get a call, in order: those that are well, then
/// those that are not ready. Silent and foreign ones are left out.
fn call_sequence(statuses: &[BookingNodeStatus], order: CallOrder<'_>) -> Vec<usize> {
    let group = |is_in: fn(&BookingNodeStatus) -> bool| {
        let all = 0..statuses.len();
        let mut group: Vec<usize> = all.filter(|at| is_in(&statuses[*at])).collect();
        order.sort(&mut group);
        group
    };
    let well = group(|status| *status == BookingNodeStatus::Well);
    let unready = group(|status| matches!(status, BookingNodeStatus::Unready(_)));
    [well, unready].concat()
}

/// Returns whether processes with these states refuse a gateway, and none takes its calls.
fn shuts_out(statuses: &[BookingNodeStatus]) -> bool {
    use BookingNodeStatus::{Foreign, KeyRefused, Unready, Well};
    let mut statuses = statuses.iter();
    let takes_calls = statuses
        .clone()
        .any(|status| matches!(status, Well | Unready(_)));
    !takes_calls && statuses.any(|status| matches!(status, KeyRefused | Foreign))
}

impl BookingNodePool {
    /// Makes a pool for these base addresses. Each process is treated as silent until it has
    /// answered.
    ///
    /// # Errors
    /// Fails if the client cannot be made, or the key is not valid in a header.
    pub fn new(bases: &[Url], key: Option<&SecretSetting>) -> anyhow::Result<Self> {
        let client = reqwest::Client::builder()
            .no_proxy()
            .redirect(redirect::Policy::none())
            .connect_timeout(CONNECT_MAX)
            .pool_idle_timeout(IDLE_MAX)
            .tcp_nodelay(true)
            .build()?;
        let key = key.map(|key| HeaderValue::from_str(&format!("Bearer {}", key.0)));
        let node = |base: &Url| {
            let unheard = BookingNodeStatus::Silent("it was not asked yet".to_owned());
            Arc::new(BookingNode {
                base: base.clone(),
                status_since: Mutex::new((unheard, Instant::now())),
                shows_edition: SentShowsEdition::default(),
            })
        };
        Ok(Self {
            inner: Arc::new(BookingPoolState {
                client,
                key: key.transpose()?,
                nodes: bases.iter().map(node).collect(),
                turn: AtomicUsize::new(0),
            }),
        })
    }

    /// Returns all booking processes.
    #[must_use]
    pub fn nodes(&self) -> &[Arc<BookingNode>] {
        &self.inner.nodes
    }

    /// Returns the HTTP client that calls the booking processes.
    #[must_use]
    pub fn client(&self) -> &reqwest::Client {
        &self.inner.client
    }

    /// Returns the booking processes that may get a call, in order. Calls with the same `mark` (an
    /// `Idempotency-Key` or a show's id) get the same first process as long as no process changes
    /// its state. Without a mark, the processes take turns.
    #[must_use]
    pub fn candidates(&self, mark: Option<&[u8]>) -> Vec<Arc<BookingNode>> {
        let nodes = &self.inner.nodes;
        let order = mark.map_or_else(
            || CallOrder::Turn(self.inner.turn.fetch_add(1, Ordering::Relaxed)),
            CallOrder::Mark,
        );
        let statuses: Vec<BookingNodeStatus> =
            nodes.iter().map(|node| node.status_and_age().0).collect();
        call_sequence(&statuses, order)
            .into_iter()
            .map(|at| Arc::clone(&nodes[at]))
            .collect()
    }

    /// Returns whether this gateway's own settings keep it from booking: no process takes its
    /// calls, and one of them refuses its key or has another ledger. Other gateways may be well
    /// then.
    #[must_use]
    pub fn is_shut_out(&self) -> bool {
        let statuses = self.nodes().iter().map(|node| node.status_and_age().0);
        shuts_out(&statuses.collect::<Vec<_>>())
    }

    /// Builds the request for an internal call to one booking process.
    pub fn internal(&self, node: &BookingNode, method: Method, path: &str) -> RequestBuilder {
        let mut url = node.base.clone();
        url.set_path(&format!("{PREFIX}{path}"));
        let request = self.inner.client.request(method, url);
        match &self.inner.key {
            Some(key) => request.header(reqwest::header::AUTHORIZATION, key.clone()),
            None => request,
        }
    }

    /// Sends a call to the booking processes in order, until one answers with success or a refusal.
    /// If one fails or does not answer, the next one gets the same call. A call may therefore be
    /// carried out twice, which is harmless for internal calls.
    ///
    /// # Errors
    /// Fails if no process answers with success, or one refuses the call.
    pub async fn request_any(
        &self,
        mark: Option<&[u8]>,
        method: Method,
        path: &str,
        with: impl Fn(RequestBuilder) -> RequestBuilder + Send + Sync,
    ) -> Result<reqwest::Response, BookingFailure> {
        let mut failing = None;
        for node in self.candidates(mark) {
            let request = with(self.internal(&node, method.clone(), path));
            match request.send().await {
                Ok(answer) if answer.status().is_success() => return Ok(answer),
                // This process failed, and another one may succeed.
                Ok(answer) if answer.status().is_server_error() => {
                    failing.get_or_insert(answer.status());
                }
                Ok(answer) => return Err(log_refusal(answer.status())),
                Err(error) => node.note_failure(&error),
            }
        }
        Err(failing.map_or(BookingFailure::Unreachable, log_refusal))
    }
}

impl BookingNodePool {
    /// Sends a call to all booking processes that take calls, at the same time, and waits until
    /// each has answered or failed.
    ///
    /// # Errors
    /// Fails if no process answers with success.
    pub async fn request_all(
        &self,
        method: Method,
        path: &str,
        with: impl Fn(RequestBuilder) -> RequestBuilder + Send + Sync,
    ) -> Result<(), BookingFailure> {
        let calls = self.candidates(None).into_iter().map(|node| {
            let request = with(self.internal(&node, method.clone(), path));
            async move {
                match request.send().await {
                    Ok(answer) if answer.status().is_success() => Ok(()),
                    Ok(answer) => Err(log_refusal(answer.status())),
                    Err(error) => {
                        node.note_failure(&error);
                        Err(BookingFailure::Unreachable)
                    }
                }
            }
        });
        let mut outcome = Err(BookingFailure::Unreachable);
        for answered in join_all(calls).await {
            if answered.is_ok() || outcome.is_err() {
                outcome = answered;
            }
        }
        outcome
    }
}

impl BookingNode {
    /// Notes that a call got no answer. If no connection could be made, the process is treated as
    /// silent at once. After any other failure, its state stays until the background task next
    /// reads it.
    pub fn note_failure(&self, error: &reqwest::Error) {
        tracing::debug!(booking = %self.base, %error, "a call to booking got no answer");
        if error.is_connect() {
            self.set_status(BookingNodeStatus::Silent(failure_reason(error)));
        }
    }
}

/// Returns why a call got no answer. The address is left out, because the caller adds it.
#[must_use]
pub fn failure_reason(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "it did not answer in time".to_owned();
    }
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

/// Reads an answer's JSON.
///
/// # Errors
/// Fails if the body cannot be read as a `T`.
pub async fn read_json<T: DeserializeOwned>(
    answer: reqwest::Response,
) -> Result<T, BookingFailure> {
    answer.json().await.map_err(|error| {
        tracing::warn!(%error, "an answer of booking could not be read");
        BookingFailure::Unreachable
    })
}

fn log_refusal(status: StatusCode) -> BookingFailure {
    let failure = BookingFailure::Refused { status };
    log_failed_try!(failure, "a call of this gateway failed");
    failure
}

#[cfg(test)]
mod tests {
    use super::*;

    fn silent() -> BookingNodeStatus {
        BookingNodeStatus::Silent("refused".to_owned())
    }

    #[test]
    fn candidates_are_well_processes_in_turn_then_unready_ones_and_no_others() {
        let unready = || BookingNodeStatus::Unready(vec!["draining".to_owned()]);
        let all = [
            BookingNodeStatus::Well,
            silent(),
            BookingNodeStatus::Well,
            unready(),
            BookingNodeStatus::Foreign,
        ];
        let in_turn = |all: &[_], turn| call_sequence(all, CallOrder::Turn(turn));
        for (turn, expected) in [(0, [0, 2, 3]), (1, [2, 0, 3]), (2, [0, 2, 3])] {
            assert_eq!(in_turn(&all, turn), expected, "the call {turn}");
        }
        let none = [silent(), BookingNodeStatus::Foreign];
        assert_eq!(in_turn(&none, 0), [0; 0]);
        assert_eq!(in_turn(&[], 0), [0; 0]);
    }

    #[test]
    fn a_gateway_is_shut_out_if_a_process_refuses_it_and_none_takes_its_calls() {
        let unready = || BookingNodeStatus::Unready(vec!["draining".to_owned()]);
        let refused = || BookingNodeStatus::KeyRefused;
        for (statuses, expected) in [
            (vec![], false),
            (vec![silent(), silent()], false),
            (vec![refused()], true),
            (vec![BookingNodeStatus::Foreign, silent()], true),
            (vec![refused(), BookingNodeStatus::Well], false),
            (vec![refused(), unready()], false),
        ] {
            assert_eq!(shuts_out(&statuses), expected, "{statuses:?}");
        }
    }

    #[test]
    fn a_silent_process_leaves_its_calls_to_all_others_alike() {
        let well = || BookingNodeStatus::Well;
        let all = [well(), well(), well()];
        let some = [well(), silent(), well()];
        let first_turns = |turn| call_sequence(&some, CallOrder::Turn(turn))[0];
        assert_eq!((0..300).filter(|turn| first_turns(*turn) == 0).count(), 150);
        let first = |all: &[_], mark: u32| {
            let mark = mark.to_be_bytes();
            call_sequence(all, CallOrder::Mark(&mark))[0]
        };
        let firsts = (0..3_000).map(|mark| (first(&all, mark), first(&some, mark)));
        let count = |of: (usize, usize)| firsts.clone().filter(|firsts| *firsts == of).count();
        assert_eq!(count((0, 2)) + count((2, 0)), 0, "their own calls stay");
        assert!((400..600).contains(&count((1, 0))), "{}", count((1, 0)));
        assert!((400..600).contains(&count((1, 2))), "{}", count((1, 2)));
    }

    #[test]
    fn calls_with_one_mark_go_to_one_process_while_it_is_well() {
        let bases: Vec<Url> = (1..=4)
            .map(|n| {
                format!("http://127.0.0.1:{n}/")
                    .parse()
                    .expect("an address")
            })
            .collect();
        let pool = BookingNodePool::new(&bases, None).expect("a pool");
        assert!(
            pool.candidates(None).is_empty(),
            "no process has answered yet"
        );
        for node in pool.nodes() {
            node.set_status(BookingNodeStatus::Well);
        }
        let first = |mark: &[u8]| pool.candidates(Some(mark))[0].base_url().clone();
        let chosen = first(b"ana");
        assert!((0..10).all(|_| first(b"ana") == chosen));
        let others = (0_u8..50)
            .map(|n| first(&[n]))
            .filter(|base| *base != chosen);
        assert!(others.count() > 10, "marks spread over the processes");
        let node = pool.nodes().iter().find(|node| *node.base_url() == chosen);
        node.expect("the process is in the pool")
            .set_status(BookingNodeStatus::Silent("gone".to_owned()));
        assert!(first(b"ana") != chosen);
        let turns: std::collections::BTreeSet<_> = (0..6)
            .map(|_| pool.candidates(None)[0].base_url().clone())
            .collect();
        assert_eq!(turns.len(), 3, "without a mark the processes take turns");
    }
}
