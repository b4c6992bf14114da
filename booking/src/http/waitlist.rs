//! The waitlist over HTTP.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use fairgate_base::clock::rfc3339;
use fairgate_base::http::{JsonBytes, PathParams, Problem, ProblemCode, parse_json};
use fairgate_model::counted::counted;
use fairgate_model::holds::HoldPurpose;
use fairgate_model::ids::{HoldId, ShowId, WaiterId};
use fairgate_model::orders::OrderItem;
use fairgate_model::orders::exchange::total_price;
use fairgate_model::shows::Show;
use fairgate_model::waiters::wish::ShowLayout;
use fairgate_model::waiters::{WAIT_MS_MAX, WaitEndReason, Waiter, WaitlistParty};
use serde::Serialize;

use crate::holds::price::priced;
use crate::holds::searches::SeatSearches;
use crate::http::answers::{IdempotencyAnswers, JsonAnswer, key_of};
use crate::http::holds::{MoneyView, SeatView};
use crate::http::visitor::CallerVerifier;
use crate::rail::journey::JourneySummary;
use crate::store::InventoryRefusal;
use crate::waitlist::ask::WaitlistJoinRequest;
use crate::waitlist::serve::Waitlist;

/// After how many seconds a party without a socket should ask again.
const REFRESH_S: u32 = 5;

/// What the handlers of the waitlist need.
#[derive(Clone)]
pub struct WaitlistRoutes {
    /// The waitlists of all shows.
    pub waitlist: Waitlist,
    /// Checks who may call.
    pub door: CallerVerifier,
    /// Answers stored for repeated calls.
    pub answers: IdempotencyAnswers,
    /// Searches for seats.
    pub searches: SeatSearches,
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
    /// Why the party stopped waiting: `taken`, `left`, `time_over`, `too_few`, `missed`, `limit`,
    /// `cancelled`, `departed`, `sales_ended`.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    /// How many seats it waits for.
    quantity: u32,
    /// Rail: the key of the class.
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<String>,
    /// Rail: the stretch of the train.
    #[serde(skip_serializing_if = "Option::is_none")]
    journey: Option<JourneySummary>,
    /// How many parties are before it.
    ahead: u64,
    /// When the party joined, RFC 3339.
    since: String,
    /// When it stops waiting, RFC 3339.
    until: String,
    /// How many offers in a row the party did not take.
    missed: u32,
    /// Seats that are held for it now.
    #[serde(skip_serializing_if = "Option::is_none")]
    offer: Option<WaitlistOfferView>,
    /// After how many seconds a visitor without a socket should ask again.
    refresh_s: u32,
    /// The server's time, so that a countdown is right even if the device's clock is wrong.
    server_time: String,
}

/// An offer: seats that are held for the visitor. The visitor can accept or order them.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = WaitlistOfferView)]
pub struct WaitlistOfferView {
    /// The show's slug.
    #[schema(value_type = String)]
    show: ShowId,
    /// `hold_…`
    #[schema(value_type = String)]
    hold: HoldId,
    /// The labels of the seats. On a train, a label also names the carriage.
    seats: Vec<String>,
    /// The seats with their categories and prices, in the same order.
    items: Vec<SeatView>,
    /// What they cost together.
    total: MoneyView,
    /// Rail: the stretch of the train.
    #[serde(skip_serializing_if = "Option::is_none")]
    journey: Option<JourneySummary>,
    /// The time until which the seats are held, RFC 3339.
    expires_at: String,
}

/// Joins the waitlist of a show. A visitor can be on it only once. A repeated call with the same
/// wish returns the present state of the party. A call with another wish is refused.
#[utoipa::path(post, path = "/v1/shows/{show}/waitlist", tag = "booking", params(("show" = String, Path)),
    request_body = WaitlistJoinRequest, responses((status = 201, body = WaiterView), (status = 409), (status = 422), (status = 429)))]
pub async fn join(
    State(routes): State<WaitlistRoutes>,
    PathParams(show): PathParams<String>,
    headers: HeaderMap,
    JsonBytes(body): JsonBytes,
) -> Result<Response, Problem> {
    let show = routes.find_show_for_waiter(&show).await?;
    let now_ms = routes.waitlist.clock.now_ms();
    let pass = routes
        .door
        .require_sale(&headers, &show, now_ms / 1_000)
        .await?;
    let key = key_of(&headers)?;
    let call = format!("POST /v1/shows/{}/waitlist", show.id);
    let act = async {
        let ask: WaitlistJoinRequest = parse_json(&body)?;
        let party = ask.party(&show, now_ms)?;
        routes.check_may_wait(&show, &party).await?;
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
            return Err(already_waiting(&joined));
        }
        routes.waitlist.seen_visitors.record_seen([pass.sub]);
        routes.waitlist.notifier.notify_worker();
        let (waiter, ahead) = routes.find_waiter(&show, &pass.sub).await?;
        let status = if waiter.since_ms == now_ms { 201 } else { 200 };
        JsonAnswer::json(
            status,
            &routes.waiter_view(&show, waiter, ahead, now_ms).await,
        )
    };
    Ok(routes
        .answers
        .answer_once(&pass.sub.0, &call, key, &body, act)
        .await)
}

/// Returns the present state of the visitor's party. The call also shows that the visitor is still
/// here.
#[utoipa::path(get, path = "/v1/shows/{show}/waitlist", tag = "booking", params(("show" = String, Path)),
    responses((status = 200, body = WaiterView), (status = 404)))]
pub async fn read(
    State(routes): State<WaitlistRoutes>,
    PathParams(show): PathParams<String>,
    headers: HeaderMap,
) -> Result<JsonAnswer, Problem> {
    let show = routes.find_show_for_waiter(&show).await?;
    let now_ms = routes.waitlist.clock.now_ms();
    let pass = routes
        .door
        .require_pass(&headers, &show.id, now_ms / 1_000)?;
    let (waiter, ahead) = routes.find_waiter(&show, &pass.holder()).await?;
    if waiter.ended.is_none() && !routes.door.is_stopped(&pass) {
        routes.waitlist.seen_visitors.record_seen([pass.holder()]);
    }
    JsonAnswer::json(200, &routes.waiter_view(&show, waiter, ahead, now_ms).await)
}

/// Leaves the waitlist. Seats that are offered go to the next party.
#[utoipa::path(delete, path = "/v1/shows/{show}/waitlist", tag = "booking", params(("show" = String, Path)),
    responses((status = 204), (status = 404)))]
pub async fn leave(
    State(routes): State<WaitlistRoutes>,
    PathParams(show): PathParams<String>,
    headers: HeaderMap,
) -> Result<StatusCode, Problem> {
    let show = routes.find_show_for_waiter(&show).await?;
    let now_ms = routes.waitlist.clock.now_ms();
    let pass = routes
        .door
        .require_pass(&headers, &show.id, now_ms / 1_000)?;
    let (waiter, _) = routes.find_waiter(&show, &pass.holder()).await?;
    routes
        .waitlist
        .end_waiting(&waiter, WaitEndReason::Left, now_ms)
        .await?;
    // The party is read again, so that seats that were offered in the meantime are also released.
    let (reread, _) = routes.find_waiter(&show, &pass.holder()).await?;
    let newest = if reread.id == waiter.id {
        reread
    } else {
        waiter
    };
    if let Some(offer) = &newest.offer {
        routes.waitlist.seats.ensure_open(&show).await?;
        match routes
            .waitlist
            .seats
            .store
            .release(&offer.hold, newest.visitor, &[HoldPurpose::Offer])
            .await
        {
            // The seats of an offer that became an order belong to the order. The seats of an
            // accepted offer are in the visitor's basket.
            Ok(())
            | Err(
                InventoryRefusal::Gone
                | InventoryRefusal::Ordered
                | InventoryRefusal::OtherPurpose(HoldPurpose::Basket),
            ) => {}
            Err(refused) => {
                tracing::debug!(hold = %offer.hold, %refused, "the offer of a party that left could not be released; it runs out by itself");
            }
        }
    }
    routes.waitlist.notifier.notify_worker();
    Ok(StatusCode::NO_CONTENT)
}

impl WaitlistRoutes {
    /// Returns the show. If this node knows a departure only from the timetable, it reads the
    /// catalogue again, because another node may have held seats of the departure.
    async fn find_show_for_waiter(&self, show: &str) -> Result<Arc<Show>, Problem> {
        let catalogue = &self.waitlist.catalogue;
        let found = catalogue.newest_show(show).await?;
        let found = found.ok_or_else(|| Problem::not_found("show", show))?;
        if !found.untouched {
            return Ok(found);
        }
        let begun = catalogue.begun_show(&found.id).await?;
        Ok(begun.unwrap_or(found))
    }

    /// Refuses a party that has nothing to wait for: the show is cancelled, too few seats can
    /// become free, or all seats are free because nobody has ever held seats of the departure.
    async fn check_may_wait(&self, show: &Arc<Show>, party: &WaitlistParty) -> Result<(), Problem> {
        if show.is_cancelled() {
            let detail = "It does not take place, and no more seats of it are sold. You are not on the waitlist. Look for another show.";
            return Err(nothing_to_wait_for(
                WaitEndReason::Cancelled.as_str(),
                "The show was cancelled",
                detail,
            ));
        }
        let turn = self.searches.turn().await?;
        let view = self.waitlist.seats.current_view(show).await?;
        let may_be_served = match view {
            Some(view) => {
                let (show, party) = (Arc::clone(show), party.clone());
                turn.run(move || {
                    let layout = ShowLayout::for_show(&show);
                    party.may_be_served(layout, &view.states, &mut rand::rng())
                })
                .await
            }
            None => true,
        };
        if !may_be_served {
            let detail = "Fewer seats than you ask for are in baskets or orders that may still lapse; all others are sold. You are not on the waitlist. Ask for fewer seats or another category or class, or look for another show.";
            return Err(nothing_to_wait_for(
                WaitEndReason::TooFew.as_str(),
                "Too few seats can come free",
                detail,
            ));
        }
        if show.untouched {
            let detail = "Nobody has held anything of this train, so all its seats are free. You are not on the waitlist. Hold seats now.";
            return Err(nothing_to_wait_for("seats_free", "Seats are free", detail));
        }
        Ok(())
    }

    async fn find_waiter(
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
            Problem::new(ProblemCode::NotWaiting, detail)
        })
    }

    async fn waiter_view(
        &self,
        show: &Show,
        waiter: Waiter,
        ahead: u64,
        now_ms: i64,
    ) -> WaiterView {
        let (run, sale) = (show.run.as_deref(), waiter.party.sale_end(show));
        let ended = match waiter.ended {
            Some((_, end)) => Some(end),
            None if waiter.offer.is_none() => waiter.time_over(sale, now_ms),
            None => None,
        };
        let offer = match &waiter.offer {
            Some(offer) if ended.is_none() => self.offer_view(show, &waiter, &offer.hold).await,
            _ => None,
        };
        let stretch = waiter.party.stretch.as_ref();
        let legs = run
            .zip(stretch)
            .and_then(|(run, stretch)| run.between(&stretch.from, &stretch.to));
        WaiterView {
            class: stretch.map(|stretch| stretch.class.clone()),
            journey: run
                .zip(legs)
                .and_then(|(run, legs)| JourneySummary::from_leg_range(run, &legs)),
            state: match (&ended, &offer) {
                (Some(_), _) => "ended",
                (None, Some(_)) => "offered",
                (None, None) => "waiting",
            },
            reason: ended.map(WaitEndReason::as_str),
            quantity: waiter.party.quantity,
            ahead,
            since: rfc3339(waiter.since_ms),
            until: rfc3339(waiter.waits_until_ms(sale)),
            missed: waiter.missed,
            offer,
            refresh_s: REFRESH_S,
            server_time: rfc3339(now_ms),
            waiter: waiter.id,
            show: show.id.clone(),
        }
    }

    /// Returns the offer from the store, with its prices. Returns `None` if the offer ran out, or
    /// if the store or the ledger does not answer.
    async fn offer_view(
        &self,
        show: &Show,
        waiter: &Waiter,
        hold: &HoldId,
    ) -> Option<WaitlistOfferView> {
        self.waitlist.seats.ensure_open(show).await.ok()?;
        let hold = self.waitlist.seats.store.hold(hold, waiter.visitor).await;
        let hold = hold.ok()?;
        let terms = self.waitlist.catalogue.terms(show, hold.terms).await.ok()?;
        let items = priced(show, &terms, &hold.items).ok()?;
        let label = |item: &OrderItem| item.label.clone();
        let journey = show.run.as_ref().zip(hold.items.first());
        Some(WaitlistOfferView {
            show: show.id.clone(),
            seats: items.iter().map(label).collect(),
            total: MoneyView(terms.currency.with_amount(total_price(&items))),
            items: SeatView::of_items(&items, terms.currency),
            journey: journey
                .and_then(|(run, item)| JourneySummary::from_leg_range(run, &item.legs)),
            expires_at: rfc3339(hold.expires_at_ms),
            hold: hold.id,
        })
    }
}

fn nothing_to_wait_for(reason: &'static str, title: &'static str, detail: &str) -> Problem {
    Problem::new(ProblemCode::NothingToWaitFor, detail)
        .with_title(title)
        .with_member("reason", reason)
}

fn already_waiting(present: &Waiter) -> Problem {
    let detail = format!(
        "You wait for {} of this show already; that was not changed. To wait for something else, leave the waitlist first, and join it again at its end.",
        counted(present.party.quantity, "seat", "seats")
    );
    Problem::new(ProblemCode::AlreadyWaiting, detail).with_member("waiter", present.id.as_str())
}
