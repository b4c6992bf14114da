//! The waitlist over HTTP: extract, call, answer.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde::{Deserialize, Serialize};

use super::serve::Waitlist;
use super::{Party, WAIT_MS_MAX, WaitEnd, Waiter};
use crate::catalogue::fate::Fate;
use crate::catalogue::show::Show;
use crate::clock::rfc3339;
use crate::door::Door;
use crate::holds::ask::limit_exceeded;
use crate::http::{BodyBytes, Path, Problem, parse_json};
use crate::idempotency::{Answer, Answers, key_of};
use crate::ids::{HoldId, ShowId, WaiterId};
use crate::inventory::choose::BadWish;
use crate::store::Refused;

/// How often a party without a socket should ask.
const REFRESH_S: u32 = 5;

/// What the handlers of the waitlist need.
#[derive(Clone)]
pub struct WaitlistRoutes {
    /// The line.
    pub waitlist: Waitlist,
    /// Who may.
    pub door: Door,
    /// Answers kept for retries.
    pub answers: Answers,
}

/// `POST /v1/shows/{show}/waitlist`.
#[derive(Debug, Clone, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WaitAsk {
    /// How many seats.
    quantity: u32,
    /// Category keys or labels, any of them; all when absent.
    categories: Option<Vec<String>>,
    /// How many of the seats are for wheelchairs.
    #[serde(default)]
    accessible: u32,
}

/// A party as its visitor sees it.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct WaiterView {
    /// `waiter_…`
    #[schema(value_type = String)]
    waiter: WaiterId,
    /// The show's slug.
    #[schema(value_type = String)]
    show: ShowId,
    /// `waiting`, `offered`, `ended`.
    state: &'static str,
    /// Why it ended: `taken`, `left`, `time_over`, `too_few`, `missed`, `limit`, `cancelled`.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    /// How many seats it waits for.
    quantity: u32,
    /// Parties before it.
    ahead: u64,
    /// When it came, RFC 3339.
    since: String,
    /// When it stops waiting, RFC 3339.
    until: String,
    /// Offers in a row that it let pass.
    missed: u32,
    /// Seats that are held for it now.
    #[serde(skip_serializing_if = "Option::is_none")]
    offer: Option<OfferView>,
    /// When to ask again, where no socket tells.
    refresh_s: u32,
    /// The server's time, for a countdown on a clock that is off.
    server_time: String,
}

/// An offer: a hold of the visitor, to be ordered like any other.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct OfferView {
    /// The show's slug.
    #[schema(value_type = String)]
    show: ShowId,
    /// `hold_…`
    #[schema(value_type = String)]
    hold: HoldId,
    /// Labels.
    seats: Vec<String>,
    /// Until when it is kept, RFC 3339.
    expires_at: String,
}

/// Waits for seats. A visitor waits for a show once: again it is told how it stands.
#[utoipa::path(post, path = "/v1/shows/{show}/waitlist", tag = "booking", params(("show" = String, Path)),
    request_body = WaitAsk, responses((status = 201, body = WaiterView), (status = 409), (status = 422), (status = 429)))]
pub async fn join(
    State(routes): State<WaitlistRoutes>,
    Path(show): Path<String>,
    headers: HeaderMap,
    BodyBytes(body): BodyBytes,
) -> Result<Response, Problem> {
    let show = routes.show(&show)?;
    let now_ms = routes.waitlist.clock.now_ms();
    let pass = routes.door.live(&headers, &show.id, now_ms / 1_000)?;
    let key = key_of(&headers)?;
    let call = format!("POST /v1/shows/{}/waitlist", show.id);
    let act = async {
        let party = party(&show, parse_json(&body)?)?;
        routes.check(&show, &party).await?;
        let waiter = Waiter {
            id: WaiterId::random(&show.id, &mut rand::rng()),
            visitor: pass.sub,
            room: pass.room.clone(),
            party,
            number: 0,
            since_ms: now_ms,
            until_ms: now_ms + WAIT_MS_MAX,
            seen_ms: now_ms,
            offers: 0,
            missed: 0,
            offer: None,
            ended: None,
        };
        let wanted = waiter.party.clone();
        let joined = routes.waitlist.ledger.join_waitlist(waiter).await?;
        if joined.party != wanted {
            return Err(other_party(&joined));
        }
        routes.waitlist.here.saw([pass.sub]);
        routes.waitlist.bell.call();
        let (waiter, ahead) = routes.find(&show, &pass.sub).await?;
        let status = if waiter.since_ms == now_ms { 201 } else { 200 };
        Answer::json(status, &routes.view(&show, waiter, ahead, now_ms).await)
    };
    Ok(routes
        .answers
        .once(&pass.sub.0, &call, key, &body, act)
        .await)
}

/// How the visitor's party stands. Asking says that it is still here.
#[utoipa::path(get, path = "/v1/shows/{show}/waitlist", tag = "booking", params(("show" = String, Path)),
    responses((status = 200, body = WaiterView), (status = 404)))]
pub async fn read(
    State(routes): State<WaitlistRoutes>,
    Path(show): Path<String>,
    headers: HeaderMap,
) -> Result<Answer, Problem> {
    let show = routes.show(&show)?;
    let now_ms = routes.waitlist.clock.now_ms();
    let pass = routes.door.pass(&headers, &show.id, now_ms / 1_000)?;
    let (waiter, ahead) = routes.find(&show, &pass.holder()).await?;
    if waiter.ended.is_none() {
        routes.waitlist.here.saw([pass.holder()]);
    }
    Answer::json(200, &routes.view(&show, waiter, ahead, now_ms).await)
}

/// Leaves the waitlist; seats that are offered go to the next party.
#[utoipa::path(delete, path = "/v1/shows/{show}/waitlist", tag = "booking", params(("show" = String, Path)),
    responses((status = 204), (status = 404)))]
pub async fn leave(
    State(routes): State<WaitlistRoutes>,
    Path(show): Path<String>,
    headers: HeaderMap,
) -> Result<StatusCode, Problem> {
    let show = routes.show(&show)?;
    let now_ms = routes.waitlist.clock.now_ms();
    let pass = routes.door.pass(&headers, &show.id, now_ms / 1_000)?;
    let (waiter, _) = routes.find(&show, &pass.holder()).await?;
    routes.waitlist.end(&waiter, WaitEnd::Left, now_ms).await?;
    if let Some(offer) = &waiter.offer {
        routes.waitlist.seats.ensure_open(&show).await?;
        match routes
            .waitlist
            .seats
            .store
            .release(&offer.hold, waiter.visitor)
            .await
        {
            // What became an order is the order's.
            Ok(()) | Err(Refused::Gone | Refused::Ordered) => {}
            Err(refused) => {
                tracing::debug!(hold = %offer.hold, %refused, "an offer that was left runs out by itself");
            }
        }
    }
    routes.waitlist.bell.call();
    Ok(StatusCode::NO_CONTENT)
}

impl WaitlistRoutes {
    fn show(&self, show: &str) -> Result<Arc<Show>, Problem> {
        let found = show
            .parse::<ShowId>()
            .ok()
            .and_then(|id| self.waitlist.catalogue.show(&id));
        found.ok_or_else(|| Problem::not_found("show", show))
    }

    /// Nobody is let wait in vain.
    async fn check(&self, show: &Show, party: &Party) -> Result<(), Problem> {
        if show.fate == Some(Fate::Cancelled) {
            return Err(Problem::new(
                409,
                "nothing_to_wait_for",
                "The show was cancelled",
                "It does not take place, and no more seats of it are sold. You are not on the waitlist. Look for another show.",
            )
            .with("reason", WaitEnd::Cancelled.word()));
        }
        let view = self.waitlist.seats.seen(show).await?;
        let served = view.is_none_or(|view| party.may_be_served(&show.plan.map, &view.states));
        if served {
            return Ok(());
        }
        Err(Problem::new(
            409,
            "nothing_to_wait_for",
            "Too few seats can come free",
            "Fewer seats than you ask for are in baskets or orders that may still lapse; all others are sold. You are not on the waitlist. Ask for fewer seats or other categories, or look for another show.",
        )
        .with("reason", WaitEnd::TooFew.word()))
    }

    async fn find(
        &self,
        show: &Show,
        visitor: &fairgate_pass::Holder,
    ) -> Result<(Waiter, u64), Problem> {
        let found = self.waitlist.ledger.waiter(&show.id, *visitor).await?;
        found.ok_or_else(|| {
            let detail = format!(
                "You do not wait for seats of {}. Nothing was changed. Join with POST /v1/shows/{}/waitlist.",
                show.document.title, show.id
            );
            Problem::new(404, "not_waiting", "You are not on this waitlist", detail)
        })
    }

    async fn view(&self, show: &Show, waiter: Waiter, ahead: u64, now_ms: i64) -> WaiterView {
        let is_over = waiter.offer.is_none() && waiter.until_ms <= now_ms;
        let ended = match waiter.ended {
            Some((_, end)) => Some(end),
            None => is_over.then_some(WaitEnd::TimeOver),
        };
        let offer = match &waiter.offer {
            Some(offer) if ended.is_none() => self.offer(show, &waiter, &offer.hold).await,
            _ => None,
        };
        WaiterView {
            state: match (&ended, &offer) {
                (Some(_), _) => "ended",
                (None, Some(_)) => "offered",
                (None, None) => "waiting",
            },
            reason: ended.map(WaitEnd::word),
            quantity: waiter.party.quantity,
            ahead,
            since: rfc3339(waiter.since_ms),
            until: rfc3339(waiter.until_ms),
            missed: waiter.missed,
            offer,
            refresh_s: REFRESH_S,
            server_time: rfc3339(now_ms),
            waiter: waiter.id,
            show: show.id.clone(),
        }
    }

    /// The offer as the store has it; what ran out meanwhile is none.
    async fn offer(&self, show: &Show, waiter: &Waiter, hold: &HoldId) -> Option<OfferView> {
        self.waitlist.seats.ensure_open(show).await.ok()?;
        let hold = self.waitlist.seats.store.hold(hold, waiter.visitor).await;
        let hold = hold.ok()?;
        let label = |item: &crate::holds::Held| show.label(item.seat).to_owned();
        Some(OfferView {
            show: show.id.clone(),
            seats: hold.items.iter().map(label).collect(),
            expires_at: rfc3339(hold.expires_at_ms),
            hold: hold.id,
        })
    }
}

/// Reads what a party wants; every name must be the show's.
fn party(show: &Show, ask: WaitAsk) -> Result<Party, Problem> {
    if show.run.is_some() || show.grid().legs > 1 {
        return Err(Problem::not_available(
            "waitlist",
            "waitlist: trains have none in this version. Nothing was changed.",
        ));
    }
    let limit = show.document.seats_per_visitor;
    if ask.quantity > limit {
        return Err(limit_exceeded(0, u64::from(ask.quantity), limit));
    }
    let party = Party {
        quantity: ask.quantity,
        categories: ask.categories.clone().unwrap_or_default(),
        accessible: ask.accessible,
    };
    match party
        .ask(ask.categories)
        .resolve(&show.plan.map, &std::collections::BTreeMap::new())
    {
        Ok(_) => Ok(party),
        Err(bad) => Err(Problem::field(bad.field(), words(&bad))),
    }
}

fn words(bad: &BadWish) -> String {
    let field = bad.field();
    match bad {
        BadWish::Unknown { name, .. } => {
            format!(
                "{field} names {name:?}, which this show does not have. You are not on the waitlist. Choose one that it has."
            )
        }
        BadWish::Invalid { problem, .. } => {
            let problem = problem.replace("best.", "");
            format!("{field} {problem}. You are not on the waitlist.")
        }
    }
}

fn other_party(present: &Waiter) -> Problem {
    let detail = format!(
        "You wait for {} seats of this show already; that was not changed. Leave the waitlist first to wait for something else, at its end.",
        present.party.quantity
    );
    Problem::new(409, "already_waiting", "You wait already", detail)
        .with("waiter", present.id.as_str())
}
