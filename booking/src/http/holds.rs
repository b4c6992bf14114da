//! Holds over HTTP.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use fairgate_base::clock::{Clock, rfc3339};
use fairgate_base::http::{JsonBody, JsonBytes, NoFields, PathParams, Problem, parse_json};
use fairgate_model::holds::{Hold, HoldPurpose, HoldStage};
use fairgate_model::ids::{HoldId, ShowId};
use fairgate_model::money::{Currency, Money};
use fairgate_model::orders::OrderItem;
use fairgate_model::orders::exchange::total_price;
use fairgate_model::shows::Show;
use fairgate_model::shows::terms::SaleTerms;
use rand::RngExt;
use serde::Serialize;

use crate::holds::ask::{HoldChange, HoldRequest};
use crate::holds::refusal::HoldRefusal;
use crate::holds::take::{CallHoldIds, HoldDesk};
use crate::http::answers::{IdempotencyAnswers, JsonAnswer, key_of};
use crate::http::visitor::CallerVerifier;
use crate::rail::journey::JourneySummary;
use crate::store::CallId;
use crate::waitlist::serve::Waitlist;

/// What the handlers of holds need.
#[derive(Clone)]
pub struct HoldRoutes {
    /// Makes and changes holds.
    pub desk: HoldDesk,
    /// The waitlists of all shows, whose offers become baskets.
    pub waitlist: Waitlist,
    /// Checks who may call.
    pub door: CallerVerifier,
    /// Answers stored for repeated calls.
    pub answers: IdempotencyAnswers,
    /// The clock.
    pub clock: Clock,
}

/// A hold as its visitor sees it.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct HoldView {
    /// `hold_…`
    #[schema(value_type = String)]
    hold: HoldId,
    /// The show's slug.
    #[schema(value_type = String)]
    show: ShowId,
    /// `basket`, or `ordered` once it has become an order.
    state: &'static str,
    /// What the hold is for: `basket`, `offer`, `exchange` or `late_money`. An `offer` is an offer
    /// of the waitlist that is not accepted yet.
    purpose: &'static str,
    /// Rail: the stretch of the train. Null for other shows.
    journey: Option<JourneySummary>,
    /// Its seats.
    seats: Vec<SeatView>,
    /// Whether they lie side by side.
    next_to_each_other: bool,
    /// What they cost together.
    total: MoneyView,
    /// The deadline, RFC 3339.
    expires_at: String,
    /// The server's time, so that a countdown is right even if the device's clock is wrong.
    server_time: String,
    /// How many more times the hold may be extended. 0 if it is not a basket.
    extensions_left: u32,
}

/// One seat with its price.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct SeatView {
    label: String,
    category: String,
    price: MoneyView,
}

impl SeatView {
    /// Returns the views of priced seats.
    pub(super) fn of_items(items: &[OrderItem], currency: Currency) -> Vec<Self> {
        let seat = |item: &OrderItem| Self {
            label: item.label.clone(),
            category: item.category.clone(),
            price: MoneyView(currency.with_amount(item.amount)),
        };
        items.iter().map(seat).collect()
    }
}

/// Money as answers write it: `{amount, currency}` in minor units.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(value_type = Object)]
pub struct MoneyView(pub Money);

impl HoldView {
    pub(super) fn new(
        show: &Show,
        hold: Hold,
        (terms, items): (&SaleTerms, &[OrderItem]),
        now_ms: i64,
    ) -> Self {
        let currency = terms.currency;
        let total = MoneyView(currency.with_amount(total_price(items)));
        let legs = hold.items.first().map(|item| &item.legs);
        let journey = show.run.as_ref().zip(legs);
        Self {
            journey: journey.and_then(|(run, legs)| JourneySummary::from_leg_range(run, legs)),
            show: show.id.clone(),
            state: if hold.stage == HoldStage::Basket {
                "basket"
            } else {
                "ordered"
            },
            purpose: hold.purpose.as_str(),
            seats: SeatView::of_items(items, currency),
            next_to_each_other: hold.next_to_each_other,
            total,
            expires_at: rfc3339(hold.expires_at_ms),
            server_time: rfc3339(now_ms),
            // Only baskets can be extended. An offer can be extended after it was accepted.
            extensions_left: match hold.purpose {
                HoldPurpose::Basket => hold.extensions_left,
                _ => 0,
            },
            hold: hold.id,
        }
    }
}

/// Holds seats.
#[utoipa::path(post, path = "/v1/shows/{show}/holds", tag = "booking", params(("show" = String, Path)),
    request_body = HoldRequest, responses((status = 201, body = HoldView, description = "The gateway adds away_s: after how many seconds the basket lapses if its visitor is known to be gone, and has not begun to fill in the checkout"), (status = 409), (status = 422), (status = 429)))]
pub async fn take(
    State(routes): State<HoldRoutes>,
    PathParams(show): PathParams<String>,
    headers: HeaderMap,
    JsonBytes(body): JsonBytes,
) -> Result<Response, Problem> {
    let found = routes.desk.catalogue.show_for_hold(&show).await?;
    let show = found.ok_or_else(|| Problem::not_found("show", &show))?;
    let pass = routes
        .door
        .require_sale(&headers, &show, routes.clock.now_ms() / 1_000)
        .await?;
    let key = key_of(&headers)?;
    let ids = match &key {
        Some(key) => CallHoldIds {
            id: routes.desk.ids.hold_of_key(&show.id, pass.sub, key),
            before: Some(HoldId::of_key(&show.id, pass.sub, key)),
        },
        None => CallHoldIds {
            id: HoldId::random(&show.id, &mut rand::rng()),
            before: None,
        },
    };
    let call = format!("POST /v1/shows/{}/holds", show.id);
    let act = async {
        let ask: HoldRequest = parse_json(&body)?;
        let now_ms = routes.clock.now_ms();
        let hold = routes.desk.take(&show, &pass, &ask, ids, now_ms).await?;
        metrics::counter!("fairgate_holds_taken_total").increment(1);
        routes.hold_answer(201, &show, hold, now_ms).await
    };
    Ok(routes
        .answers
        .answer_once(&pass.sub.0, &call, key, &body, act)
        .await)
}

/// Reads a hold of the caller.
#[utoipa::path(get, path = "/v1/holds/{hold}", tag = "booking", params(("hold" = String, Path)),
    responses((status = 200, body = HoldView), (status = 410)))]
pub async fn read(
    State(routes): State<HoldRoutes>,
    PathParams(hold): PathParams<String>,
    headers: HeaderMap,
) -> Result<JsonAnswer, Problem> {
    let (show, id) = routes.show_of_hold(&hold).await?;
    let pass = routes
        .door
        .require_pass(&headers, &show.id, routes.clock.now_ms() / 1_000)?;
    let found = routes.desk.seats.store.hold(&id, pass.holder()).await;
    match found {
        Ok(hold) if show.is_cancelled() && hold.stage == HoldStage::Basket => {
            Err(HoldRefusal::ShowCancelled.into())
        }
        Ok(hold) => {
            routes
                .hold_answer(200, &show, hold, routes.clock.now_ms())
                .await
        }
        Err(refused) => Err(routes.desk.explain(&show, refused, &[]).await.into()),
    }
}

/// Changes a hold of the caller. The whole change is made, or nothing is changed.
#[utoipa::path(patch, path = "/v1/holds/{hold}", tag = "booking", params(("hold" = String, Path)),
    request_body = HoldChange, responses((status = 200, body = HoldView), (status = 409), (status = 410)))]
pub async fn change(
    State(routes): State<HoldRoutes>,
    PathParams(hold): PathParams<String>,
    headers: HeaderMap,
    JsonBody(change): JsonBody<HoldChange>,
) -> Result<JsonAnswer, Problem> {
    let (show, id) = routes.show_of_hold(&hold).await?;
    let now_ms = routes.clock.now_ms();
    // A visitor with an expired pass may give seats back, but may not take new seats.
    let visitor = if change.add.is_empty() {
        routes
            .door
            .require_pass(&headers, &show.id, now_ms / 1_000)?
            .holder()
    } else {
        routes
            .door
            .require_sale(&headers, &show, now_ms / 1_000)
            .await?
            .sub
    };
    let hold = routes
        .desk
        .change(&show, visitor, &id, &change, now_ms)
        .await?;
    routes.hold_answer(200, &show, hold, now_ms).await
}

/// Gives back a hold of the caller.
#[utoipa::path(delete, path = "/v1/holds/{hold}", tag = "booking", params(("hold" = String, Path)),
    responses((status = 204), (status = 410)))]
pub async fn release(
    State(routes): State<HoldRoutes>,
    PathParams(hold): PathParams<String>,
    headers: HeaderMap,
) -> Result<StatusCode, Problem> {
    let (show, id) = routes.show_of_hold(&hold).await?;
    let pass = routes
        .door
        .require_pass(&headers, &show.id, routes.clock.now_ms() / 1_000)?;
    let own = &[HoldPurpose::Basket, HoldPurpose::Offer];
    match routes
        .desk
        .seats
        .store
        .release(&id, pass.holder(), own)
        .await
    {
        Ok(()) => Ok(StatusCode::NO_CONTENT),
        Err(refused) => Err(routes.desk.explain(&show, refused, &[]).await.into()),
    }
}

/// Extends a hold of the caller. The show limits how often.
#[utoipa::path(post, path = "/v1/holds/{hold}/extend", tag = "booking", params(("hold" = String, Path)),
    responses((status = 200, body = HoldView), (status = 409), (status = 410)))]
pub async fn extend(
    State(routes): State<HoldRoutes>,
    PathParams(hold): PathParams<String>,
    headers: HeaderMap,
    JsonBytes(body): JsonBytes,
) -> Result<Response, Problem> {
    let (show, id) = routes.show_of_hold(&hold).await?;
    let pass = routes
        .door
        .require_pass(&headers, &show.id, routes.clock.now_ms() / 1_000)?;
    let key = key_of(&headers)?;
    let call = format!("POST /v1/holds/{id}/extend");
    // A repeated call with the same key is the same extension. The hold is therefore extended only
    // once, even if the first answer was lost.
    let extension = match &key {
        Some(key) => CallId::of_key(pass.holder(), key),
        None => CallId(rand::rng().random()),
    };
    let act = async {
        let NoFields {} = parse_json(&body)?;
        let now_ms = routes.clock.now_ms();
        let hold = routes
            .desk
            .extend(&show, pass.holder(), &id, extension, now_ms)
            .await?;
        routes.hold_answer(200, &show, hold, now_ms).await
    };
    Ok(routes
        .answers
        .answer_once(&pass.holder().0, &call, key, &body, act)
        .await)
}

impl HoldRoutes {
    pub(super) async fn hold_answer(
        &self,
        status: u16,
        show: &Show,
        hold: Hold,
        now_ms: i64,
    ) -> Result<JsonAnswer, Problem> {
        let (terms, items) = self.desk.price(show, &hold).await?;
        JsonAnswer::json(status, &HoldView::new(show, hold, (&terms, &items), now_ms))
    }

    pub(super) async fn find_show_for_hold(&self, show: &str) -> Result<Arc<Show>, Problem> {
        let found = self.desk.catalogue.newest_show(show).await?;
        found.ok_or_else(|| Problem::not_found("show", show))
    }

    /// Opens the show of a hold in the store, and returns the show and the hold's id. If the ledger
    /// does not know the show, or nobody has ever held its seats, the hold is reported as expired.
    /// If only the hold is unknown, as after a restart, the store reports it as expired in the next
    /// call.
    pub(super) async fn show_of_hold(&self, hold: &str) -> Result<(Arc<Show>, HoldId), Problem> {
        let id: HoldId = hold.parse().map_err(|_| Problem::not_found("hold", hold))?;
        let show = self.desk.catalogue.begun_show(&id.show()).await?;
        let show = show.ok_or(HoldRefusal::Expired)?;
        self.desk.seats.ensure_open(&show).await?;
        Ok((show, id))
    }
}
