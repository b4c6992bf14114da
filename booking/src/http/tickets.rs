//! Tickets over HTTP: a ticket as JSON, as a QR code (`.svg`) and as a calendar entry (`.ics`), and
//! the scan at the door.

use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use fairgate_base::clock::{Clock, rfc3339};
use fairgate_base::http::keys::{DoorCaller, KeyedRoutes, RoleKeys, bearer};
use fairgate_base::http::{JsonBody, PathParams, Problem, ProblemCode};
use fairgate_model::ids::{OrderId, ShowId, TicketId};
use fairgate_model::orders::Ticket;
use serde::{Deserialize, Serialize};

use crate::http::answers::{JsonAnswer, key_of};
use crate::http::holds::MoneyView;
use crate::http::venue_views::VenueLocationView;
use crate::http::visitor::CallerVerifier;
use crate::ledger::TicketScanOutcome;
use crate::rail::journey::JourneySummary;
use crate::tickets::{PrintedTicket, TicketDesk, render, scan_of};

/// What the handlers of tickets need.
#[derive(Clone)]
pub struct TicketRoutes {
    /// Reads and scans tickets.
    pub desk: TicketDesk,
    /// Checks who may read a ticket.
    pub door: CallerVerifier,
    /// The keys of the callers who may scan tickets.
    pub keys: RoleKeys,
    /// The clock.
    pub clock: Clock,
}

impl KeyedRoutes for TicketRoutes {
    fn role_keys(&self) -> &RoleKeys {
        &self.keys
    }
}

/// A ticket as its owner sees it.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct TicketView {
    #[schema(value_type = String)]
    ticket: TicketId,
    #[schema(value_type = String)]
    order: OrderId,
    #[schema(value_type = String)]
    show: ShowId,
    title: String,
    starts_at: String,
    venue: String,
    #[serde(flatten)]
    place: VenueLocationView,
    seat: String,
    legs: Vec<u16>,
    /// Rail: the stretch for which the ticket is valid. Null for other shows.
    journey: Option<JourneySummary>,
    /// The journey as it was sold, if the train has another number, other times or other names of
    /// stations there now. Null otherwise.
    journey_as_sold: Option<JourneySummary>,
    /// Rail: the name of the traveller. Null for other shows.
    name: Option<String>,
    /// The name of the buyer.
    buyer: String,
    /// The label of the seat's category.
    category: Option<String>,
    /// What the seat cost.
    price: Option<MoneyView>,
    issued_at: String,
    scanned_at: Option<String>,
    /// Whether no real money was paid for the ticket. It is then not valid at any door.
    test: bool,
    /// The ticket as a compact JWS; verify it with `/.well-known/jwks.json`.
    signed: String,
    /// The ticket as its QR code holds it: the claims of `signed`, in the short form that
    /// gateway/pass/README.md describes. The same keys verify it.
    code: String,
}

/// `POST /v1/tickets/{ticket}/scan`. The body may be left out.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ScanAsk)]
pub struct TicketScanRequest {
    /// The show at whose door the ticket is scanned. If it is left out, a ticket of any show is
    /// accepted.
    #[schema(value_type = Option<String>)]
    show: Option<ShowId>,
}

/// The answer to a scan at the door.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = Scanned)]
pub struct TicketScanView {
    #[schema(value_type = String)]
    ticket: TicketId,
    #[schema(value_type = String)]
    show: ShowId,
    seat: String,
    legs: Vec<u16>,
    /// The name of the traveller, if the show asks for names.
    name: Option<String>,
    scanned_at: String,
    test: bool,
}

/// Reads a ticket. If the id is followed by `.svg`, the answer is the ticket's QR code. If it is
/// followed by `.ics`, the answer is the ticket's calendar entry.
#[utoipa::path(get, path = "/v1/tickets/{ticket}", tag = "tickets", params(("ticket" = String, Path)),
    responses((status = 200, body = TicketView), (status = 403), (status = 404)))]
pub async fn read(
    State(routes): State<TicketRoutes>,
    PathParams(name): PathParams<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let (id, form) = name.split_once('.').unwrap_or((&name, ""));
    let ticket = routes.desk.find_ticket(id).await?;
    let caller =
        routes
            .door
            .order_caller(&headers, &ticket.order, routes.clock.now_ms() / 1_000)?;
    caller.may_open(ticket.visitor)?;
    if let Some(at_ms) = ticket.voided_at_ms {
        return Err(void_ticket_problem(&ticket, at_ms));
    }
    if let Some(at_ms) = ticket
        .blocked_at_ms
        .filter(|_| ticket.scanned_at_ms.is_none())
    {
        return Err(blocked_ticket_problem(&ticket, at_ms));
    }
    let test = routes.desk.is_test(&ticket).await?;
    let printed = routes.desk.print_ticket(ticket, test).await?;
    match form {
        "" => Ok(JsonAnswer::json(200, &ticket_view(printed))?.into_response()),
        "svg" => {
            let svg = render::qr_svg(&printed.code).map_err(|error| {
                tracing::error!(%error, "a QR code could not be drawn");
                Problem::new(
                    ProblemCode::Internal,
                    "Nothing was changed. Show the order at the door.",
                )
                .with_title("The code could not be drawn")
            })?;
            Ok((
                [
                    (header::CONTENT_TYPE, "image/svg+xml"),
                    (header::CACHE_CONTROL, "private, no-store"),
                ],
                svg,
            )
                .into_response())
        }
        "ics" => {
            let headers = [
                (header::CONTENT_TYPE, "text/calendar; charset=utf-8"),
                (header::CACHE_CONTROL, "private, no-store"),
                (
                    header::CONTENT_DISPOSITION,
                    "attachment; filename=\"ticket.ics\"",
                ),
            ];
            let changed_at_ms = routes.desk.changed_at_ms(&printed).await?;
            Ok((headers, render::calendar(&printed, changed_at_ms)).into_response())
        }
        _ => Err(Problem::not_found("form of a ticket", form)),
    }
}

/// Scans a ticket at the door. If the scan names a show, a ticket of another show is `wrong_show`,
/// and stays unscanned. For a minute, a repeated scan by the same scanner with the same
/// `Idempotency-Key` gets the first answer again. Every other scan of the ticket is
/// `already_scanned`.
#[utoipa::path(post, path = "/v1/tickets/{ticket}/scan", tag = "tickets", params(("ticket" = String, Path)),
    request_body = TicketScanRequest, responses((status = 200, body = TicketScanView), (status = 409), (status = 401), (status = 422)))]
pub async fn scan(
    State(routes): State<TicketRoutes>,
    PathParams(id): PathParams<String>,
    _: DoorCaller,
    headers: HeaderMap,
    JsonBody(ask): JsonBody<TicketScanRequest>,
) -> Result<JsonAnswer, Problem> {
    let key = key_of(&headers)?;
    let by = bearer(&headers).zip(key.as_deref());
    let by = by.map(|(scanner, key)| scan_of(scanner, key));
    let ticket = routes.desk.find_ticket(&id).await?;
    if ask.show.is_some_and(|show| show != ticket.show) {
        return Err(wrong_show(&ticket));
    }
    let test = routes.desk.is_test(&ticket).await?;
    let now_ms = routes.clock.now_ms();
    let scanned = routes.desk.scan_ticket(&ticket, by, now_ms).await?;
    let at_ms = match scanned.ok_or_else(|| Problem::not_found("ticket", &id))? {
        TicketScanOutcome::First(at_ms) => at_ms,
        TicketScanOutcome::Again(at_ms) => {
            let detail = format!(
                "This ticket was scanned at {}. Let nobody else in on it.",
                rfc3339(at_ms)
            );
            return Err(Problem::new(ProblemCode::AlreadyScanned, detail)
                .with_member("scanned_at", rfc3339(at_ms))
                .with_member("seat", ticket.label));
        }
        TicketScanOutcome::Void(at_ms) => return Err(void_ticket_problem(&ticket, at_ms)),
        TicketScanOutcome::Blocked(at_ms) => return Err(blocked_ticket_problem(&ticket, at_ms)),
    };
    JsonAnswer::json(
        200,
        &TicketScanView {
            ticket: ticket.id,
            show: ticket.show,
            seat: ticket.label,
            legs: ticket.legs,
            name: ticket.name,
            scanned_at: rfc3339(at_ms),
            test,
        },
    )
}

fn wrong_show(ticket: &Ticket) -> Problem {
    let detail = format!(
        "This ticket is for the show {}, seat {}. It was not scanned and opens this door for nobody. Send its owner to the door of that show.",
        ticket.show, ticket.label
    );
    Problem::new(ProblemCode::WrongShow, detail)
        .with_member("show", &ticket.show)
        .with_member("seat", &ticket.label)
}

fn void_ticket_problem(ticket: &Ticket, at_ms: i64) -> Problem {
    let detail = format!(
        "This ticket for {} has not been valid since {}. It opens no door. Read the order to see why.",
        ticket.label,
        rfc3339(at_ms)
    );
    Problem::new(ProblemCode::TicketVoid, detail)
        .with_member("voided_at", rfc3339(at_ms))
        .with_member("seat", &ticket.label)
}

fn blocked_ticket_problem(ticket: &Ticket, at_ms: i64) -> Problem {
    let detail = format!(
        "The payment of this ticket for {} was disputed at the buyer's bank on {}, and that is not settled yet. It opens no door until then. It was not scanned. Ask the buyer to settle it with the bank or the organiser.",
        ticket.label,
        rfc3339(at_ms)
    );
    Problem::new(ProblemCode::TicketBlocked, detail)
        .with_member("blocked_at", rfc3339(at_ms))
        .with_member("seat", &ticket.label)
}

fn ticket_view(printed: PrintedTicket) -> TicketView {
    let PrintedTicket {
        ticket,
        title,
        starts_at,
        venue,
        place,
        journey,
        journey_as_sold,
        terms: _,
        test,
        signed,
        code,
    } = printed;
    TicketView {
        ticket: ticket.id,
        order: ticket.order,
        show: ticket.show,
        title,
        starts_at: starts_at.to_string(),
        venue,
        place: place.into(),
        seat: ticket.label,
        legs: ticket.legs,
        journey,
        journey_as_sold,
        name: ticket.name,
        buyer: ticket.buyer,
        category: ticket.category,
        price: ticket.price.map(MoneyView),
        issued_at: rfc3339(ticket.issued_at_ms),
        scanned_at: ticket.scanned_at_ms.map(rfc3339),
        test,
        signed,
        code,
    }
}
