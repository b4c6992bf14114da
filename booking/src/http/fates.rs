//! The calls with which a promoter cancels or postpones a show, and with which staff read the
//! figures of its refunds.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use fairgate_base::clock::{Clock, rfc3339};
use fairgate_base::http::keys::{KeyedRoutes, PromoterCaller, Role, RoleKeys};
use fairgate_base::http::{JsonBody, PathParams, Problem, ProblemCode, QueryParams};
use fairgate_model::ids::ShowId;
use fairgate_model::money::Currency;
use fairgate_model::shows::Show;
use fairgate_model::shows::fate::ShowFate;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::catalogue::Catalogue;
use crate::http::answers::JsonAnswer;
use crate::http::holds::MoneyView;
use crate::ledger::{Ledger, NewFate, RefundFigures, RefundSum};
use crate::wake::WorkerNotifier;

/// What the handlers of cancelled and postponed shows need.
#[derive(Clone)]
pub struct ShowFateRoutes {
    /// The shows.
    pub catalogue: Catalogue,
    /// The ledger, which stores fates and refunds.
    pub ledger: Ledger,
    /// The keys that callers of these routes need.
    pub keys: RoleKeys,
    /// The clock.
    pub clock: Clock,
    /// Wakes the worker of the mass refund.
    pub mass: WorkerNotifier,
}

/// The longest reason for a cancellation or a postponement, in characters.
const REASON_CHARS_MAX: usize = 500;

/// The query of a call that cancels or postpones a show.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields, default)]
pub struct ShowFateQuery {
    /// `true` is refused, because this version cannot tell the consequences beforehand.
    preview: Option<bool>,
}

/// `POST /v1/promoter/shows/{show}/cancel`.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = CancelAsk)]
pub struct CancelRequest {
    /// Why, 1 to 500 characters.
    reason: Option<String>,
    /// What happens to the money for tickets that were scanned. `keep`: it is kept, as without this
    /// field. `refund` is not available yet.
    scanned: Option<ScannedTickets>,
}

/// What happens to the money for scanned tickets of a cancelled show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScannedTickets {
    /// It is kept.
    Keep,
    /// It goes back.
    Refund,
}

/// `POST /v1/promoter/shows/{show}/postpone`.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PostponeAsk)]
pub struct PostponeRequest {
    /// When the show begins instead, RFC 3339.
    #[schema(value_type = String)]
    starts_at: Timestamp,
    /// The time until which buyers may give tickets back without a fee. If it is left out, they may
    /// do so until the show begins.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    refunds_until: Option<Timestamp>,
    /// Why, 1 to 500 characters.
    #[serde(default)]
    reason: Option<String>,
}

/// The fate of a show, and figures about its refunds.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct RefundReport {
    #[schema(value_type = String)]
    show: ShowId,
    /// `cancelled` or `postponed`. Null if the show takes place as planned.
    fate: Option<&'static str>,
    /// Why, in the promoter's words. Null if no reason was given.
    reason: Option<String>,
    /// When it begins, RFC 3339.
    starts_at: String,
    /// The time until which buyers of a postponed show may give tickets back without a fee.
    refunds_until: Option<String>,
    /// Paid orders that have something to refund. An order counts if it has no tickets yet, or if
    /// some of its tickets were neither scanned nor refunded. For a cancelled show, these are the
    /// orders that the mass refund has not handled yet.
    orders_left: u64,
    /// Orders that were given back, whole or in part.
    orders_refunded: u64,
    /// Tickets that were scanned at the door. They are not refunded.
    tickets_scanned: u64,
    /// Refunds that are owed or on their way.
    on_its_way: RefundSumView,
    /// Refunds that were carried out.
    done: RefundSumView,
    /// Refunds that the provider could not carry out so far. They are tried again.
    failed: RefundSumView,
    /// The sum of the fees that were kept.
    fees: MoneyView,
}

/// A number of refunds, and the sum of their amounts.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = SumView)]
pub struct RefundSumView {
    refunds: u64,
    amount: MoneyView,
}

/// Cancels a show for good. No more of its seats are sold. Everything that was paid for it is
/// refunded without a fee, except what was paid for scanned tickets.
#[utoipa::path(post, path = "/v1/promoter/shows/{show}/cancel", tag = "promoter", params(("show" = String, Path), ShowFateQuery),
    request_body = CancelRequest, responses((status = 200, body = RefundReport), (status = 404), (status = 422)))]
pub async fn cancel(
    State(routes): State<ShowFateRoutes>,
    PathParams(show): PathParams<String>,
    _: PromoterCaller,
    QueryParams(query): QueryParams<ShowFateQuery>,
    JsonBody(ask): JsonBody<CancelRequest>,
) -> Result<JsonAnswer, Problem> {
    query.refuse_preview()?;
    let reason = checked_reason(ask.reason)?;
    if ask.scanned == Some(ScannedTickets::Refund) {
        return Err(Problem::not_available(
            "scanned",
            "scanned: this version keeps the money for tickets that were scanned. Nothing was changed. Leave the field out or say \"keep\".",
        ));
    }
    let now_ms = routes.clock.now_ms();
    let show = routes.find_current_show(&show).await?;
    // A departure whose seats nobody has ever held is only in the timetable. `touched` writes it
    // into the ledger, so that it can be cancelled there.
    let show = routes.catalogue.touched(&show, now_ms).await?;
    if show.fate != Some(ShowFate::Cancelled) {
        // If another node cancelled the show a moment ago, nothing is written, and the result is
        // the same.
        let fate = NewFate {
            reason,
            ..NewFate::CANCELLED
        };
        routes.ledger.put_fate(&show.id, fate, now_ms).await?;
        routes.catalogue.refresh_catalogue().await?;
    }
    routes.mass.notify_worker();
    routes.report(&show.id).await
}

impl KeyedRoutes for ShowFateRoutes {
    fn role_keys(&self) -> &RoleKeys {
        &self.keys
    }
}

/// Postpones a show. Its tickets are valid at the new time. They may be given back without a fee
/// until `refunds_until`.
#[utoipa::path(post, path = "/v1/promoter/shows/{show}/postpone", tag = "promoter", params(("show" = String, Path), ShowFateQuery),
    request_body = PostponeRequest, responses((status = 200, body = RefundReport), (status = 404), (status = 409), (status = 422)))]
pub async fn postpone(
    State(routes): State<ShowFateRoutes>,
    PathParams(show): PathParams<String>,
    _: PromoterCaller,
    QueryParams(query): QueryParams<ShowFateQuery>,
    JsonBody(ask): JsonBody<PostponeRequest>,
) -> Result<JsonAnswer, Problem> {
    query.refuse_preview()?;
    let reason = checked_reason(ask.reason)?;
    let show = routes.find_current_show(&show).await?;
    if show.run.is_some() {
        return Err(Problem::not_available(
            "show",
            "show: a train runs by its timetable; it can be cancelled, not postponed. Nothing was changed.",
        ));
    }
    let now_ms = routes.clock.now_ms();
    if ask.starts_at.as_millisecond() <= now_ms {
        return Err(Problem::invalid_field(
            "starts_at",
            "starts_at: this moment is over. Nothing was changed; name a later one.",
        ));
    }
    let refunds_until = ask.refunds_until.unwrap_or(ask.starts_at);
    if refunds_until > ask.starts_at {
        return Err(Problem::invalid_field(
            "refunds_until",
            "refunds_until: the show has begun by then. Nothing was changed; name a moment before starts_at.",
        ));
    }
    let fate = NewFate {
        fate: ShowFate::Postponed {
            since_ms: now_ms,
            refunds_until_ms: refunds_until.as_millisecond(),
        },
        starts_at: Some(ask.starts_at),
        reason,
    };
    let written = routes.ledger.put_fate(&show.id, fate, now_ms).await?;
    routes.catalogue.refresh_catalogue().await?;
    if !written {
        return Err(Problem::new(
            ProblemCode::ShowCancelled,
            "A cancelled show does not come back: its buyers were told that it does not take place. Nothing was changed. Create a new show with PUT /v1/promoter/shows/{show}.",
        ));
    }
    routes.report(&show.id).await
}

/// Returns the progress of a show's refunds.
#[utoipa::path(get, path = "/v1/promoter/shows/{show}/refunds", tag = "promoter", params(("show" = String, Path)),
    responses((status = 200, body = RefundReport), (status = 404)))]
pub async fn refunds(
    State(routes): State<ShowFateRoutes>,
    PathParams(show): PathParams<String>,
    headers: HeaderMap,
) -> Result<JsonAnswer, Problem> {
    routes.keys.require_role(&headers, Role::Viewer)?;
    let show = routes.find_current_show(&show).await?;
    routes.report(&show.id).await
}

impl ShowFateQuery {
    fn refuse_preview(&self) -> Result<(), Problem> {
        if self.preview.is_none() {
            return Ok(());
        }
        Err(Problem::not_available(
            "preview",
            "preview: this version cannot tell the consequences beforehand. Nothing was changed. GET /v1/promoter/shows/{show}/refunds tells how many orders there are.",
        ))
    }
}

/// Checks the reason that the promoter gives, and returns it without surrounding spaces.
fn checked_reason(reason: Option<String>) -> Result<Option<String>, Problem> {
    let Some(reason) = reason else {
        return Ok(None);
    };
    let reason = reason.trim();
    let chars = reason.chars().count();
    if (1..=REASON_CHARS_MAX).contains(&chars) && !reason.chars().any(char::is_control) {
        return Ok(Some(reason.to_owned()));
    }
    Err(Problem::invalid_field(
        "reason",
        "reason: 1 to 500 printable characters, or leave it out. Nothing was changed.",
    ))
}

impl ShowFateRoutes {
    /// Refreshes the catalogue from the ledger, and returns the show.
    async fn find_current_show(&self, name: &str) -> Result<Arc<Show>, Problem> {
        self.catalogue.refresh_catalogue().await?;
        let id: Option<ShowId> = name.parse().ok();
        id.and_then(|id| self.catalogue.show(&id))
            .ok_or_else(|| Problem::not_found("show", name))
    }

    async fn report(&self, id: &ShowId) -> Result<JsonAnswer, Problem> {
        let figures = self.ledger.refund_figures(id).await?;
        let show = self.catalogue.show(id);
        let show = show.ok_or_else(|| Problem::not_found("show", id.as_str()))?;
        JsonAnswer::json(200, &refund_report(&show, &figures))
    }
}

fn refund_report(show: &Show, figures: &RefundFigures) -> RefundReport {
    let currency: Currency = show.document.currency;
    let sum = |sum: RefundSum| RefundSumView {
        refunds: sum.count,
        amount: MoneyView(currency.with_amount(sum.amount)),
    };
    RefundReport {
        show: show.id.clone(),
        fate: show.fate.map(ShowFate::as_str),
        reason: figures.reason.clone(),
        starts_at: show.document.starts_at.to_string(),
        refunds_until: show.fate.and_then(ShowFate::refunds_until_ms).map(rfc3339),
        orders_left: figures.orders_left,
        orders_refunded: figures.orders_refunded,
        tickets_scanned: figures.scanned,
        on_its_way: sum(figures.on_its_way),
        done: sum(figures.done),
        failed: sum(figures.failed),
        fees: MoneyView(currency.with_amount(figures.fees)),
    }
}
