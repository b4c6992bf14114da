//! The calls with which a promoter stores venues and shows. Each call sends a whole document. If
//! the document can be read but has faults, the refusal lists every fault.

use axum::extract::State;
use fairgate_base::clock::Clock;
use fairgate_base::http::keys::{KeyedRoutes, PromoterCaller, RoleKeys};
use fairgate_base::http::{
    JsonBody, JsonText, NoFields, PathParams, Problem, ProblemCode, QueryParams, parse_json,
};
use fairgate_model::counted::counted;
use fairgate_model::ids::{ShowId, VenueId};
use fairgate_model::plans::seatmap::SeatMap;
use fairgate_model::plans::{self, PlanFault, PlanFormat};
use fairgate_model::shows::Show;
use fairgate_model::shows::coverage::{NotSoldReason, unnamed_show_warning};
use fairgate_model::shows::document::{FieldFault, ShowDocument};
use fairgate_model::venues::VenueLocation;
use serde::{Deserialize, Serialize};

use crate::catalogue::Catalogue;
use crate::catalogue::put::{PutShow, ShowPutRefusal};
use crate::http::answers::JsonAnswer;
use crate::http::venue_views::VenueLocationView;
use crate::inventory::seats::SeatInventory;

/// What the promoter's handlers need.
#[derive(Clone)]
pub struct PromoterRoutes {
    /// The catalogue.
    pub catalogue: Catalogue,
    /// The seats of the shows.
    pub seats: SeatInventory,
    /// The keys that callers of these routes need.
    pub keys: RoleKeys,
    /// The clock.
    pub clock: Clock,
}

impl KeyedRoutes for PromoterRoutes {
    fn role_keys(&self) -> &RoleKeys {
        &self.keys
    }
}

/// `PUT /v1/promoter/venues/{venue}?format=`
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields, default)]
pub struct VenueQuery {
    /// The format of the body: `fairgate` for a plan of Fairgate, `seatsio` for a seats.io chart.
    /// If it is left out, the body is `{"plan": "grid:ROWSxSEATS", …}`.
    format: Option<String>,
    /// `true` is refused, because this version cannot repair plans.
    repair: Option<bool>,
    /// Only with a format: the venue's name for people.
    name: Option<String>,
    /// Only with a format: the city.
    city: Option<String>,
    /// Only with a format: the street and the number.
    address: Option<String>,
    /// Only with a format: the IANA name of the venue's time zone.
    time_zone: Option<String>,
}

impl VenueQuery {
    fn location(&self) -> VenueLocation {
        VenueLocation {
            name: self.name.clone(),
            city: self.city.clone(),
            address: self.address.clone(),
            time_zone: self.time_zone.clone(),
        }
    }
}

/// The body of a call for a venue without a format.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct VenueDocument {
    /// `grid:ROWSxSEATS`.
    plan: String,
    /// The venue's name for people.
    name: Option<String>,
    /// The city.
    city: Option<String>,
    /// The street and the number.
    address: Option<String>,
    /// The IANA name of the venue's time zone.
    time_zone: Option<String>,
}

/// A stored plan.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = VenuePut)]
pub struct StoredVenueView {
    #[schema(value_type = String)]
    venue: VenueId,
    version: u32,
    name: String,
    cells: u32,
    seats: usize,
    standing: u32,
    categories: Vec<String>,
    /// Where the venue is. Fields that the call left out are unknown from now on.
    location: VenueLocationView,
}

/// A stored show.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = ShowPut)]
pub struct StoredShowView {
    #[schema(value_type = String)]
    show: ShowId,
    /// The version of the venue's plan that the show pins.
    plan_version: u32,
    /// The newest version of the venue's plan. To pin it, name it as `plan`.
    newest_plan_version: u32,
    /// The room that sells the show, or will sell it. Null if there is none.
    room: Option<String>,
    cells: u32,
    /// The categories without a price. They are not for sale.
    not_for_sale: Vec<String>,
    /// What the promoter should know: a show that nobody sells.
    warnings: Vec<String>,
    document: ShowDocument,
}

/// Imports a seating plan as the venue's next version.
#[utoipa::path(put, path = "/v1/promoter/venues/{venue}", tag = "promoter", params(("venue" = String, Path), VenueQuery),
    request_body = VenueDocument, responses((status = 200, body = StoredVenueView), (status = 422)))]
pub async fn put_venue(
    State(routes): State<PromoterRoutes>,
    PathParams(venue): PathParams<String>,
    QueryParams(query): QueryParams<VenueQuery>,
    _: PromoterCaller,
    JsonText(body): JsonText,
) -> Result<JsonAnswer, Problem> {
    let venue: VenueId = venue.parse().map_err(|error| {
        Problem::invalid_field("venue", format!("venue: {error}. Nothing was stored."))
    })?;
    if query.repair == Some(true) {
        return Err(Problem::not_available(
            "repair",
            "repair: this version names every fault but mends none. Nothing was stored; mend the plan and send it again.",
        ));
    }
    let parsed = tokio::task::spawn_blocking(move || read_venue(&query, &body)).await;
    let (map, location) = parsed.map_err(|error| {
        tracing::error!(%error, "reading a plan failed");
        Problem::new(
            ProblemCode::Internal,
            "The plan could not be read. Nothing was stored.",
        )
        .with_title("Something broke here")
    })??;
    let version = routes
        .catalogue
        .put_venue(&venue, &map, &location, routes.clock.now_ms())
        .await?;
    let standing: u32 = map.areas.iter().map(|area| area.capacity).sum();
    JsonAnswer::json(
        200,
        &StoredVenueView {
            venue,
            version,
            name: map.name.clone(),
            cells: map.cell_count(),
            seats: map.seats.len() - standing as usize,
            standing,
            location: location.into(),
            categories: map
                .categories
                .iter()
                .map(|category| category.key.clone())
                .collect(),
        },
    )
}

/// Stores a show. It keeps its plan until its document names another one.
#[utoipa::path(put, path = "/v1/promoter/shows/{show}", tag = "promoter", params(("show" = String, Path)),
    request_body = ShowDocument, responses((status = 200, body = StoredShowView), (status = 409), (status = 422)))]
pub async fn put_show(
    State(routes): State<PromoterRoutes>,
    PathParams(show): PathParams<String>,
    _: QueryParams<NoFields>,
    _: PromoterCaller,
    JsonBody(document): JsonBody<ShowDocument>,
) -> Result<JsonAnswer, Problem> {
    let id: ShowId = show.parse().map_err(|error| {
        Problem::invalid_field("show", format!("show: {error}. Nothing was stored."))
    })?;
    // Another node may have changed the show a moment ago.
    routes.catalogue.refresh_catalogue().await?;
    let before = routes.catalogue.show(&id);
    let held = routes.seats.held_seats(&routes.catalogue, &id).await;
    let now_ms = routes.clock.now_ms();
    let PutShow { show, newest_plan } = routes
        .catalogue
        .put_show(&id, document, &held, now_ms)
        .await
        .map_err(put_problem)?;
    let changed = before.is_some_and(|before| before.edition() != show.edition());
    if changed && matches!(routes.seats.store.edition(&id).await, Ok(Some(_))) {
        // A basket is valid only with the picture on which it was made. The old picture therefore
        // stays until all baskets have lapsed or become orders.
        if let Err(busy) = routes.seats.reopen(&show).await? {
            tracing::info!(show = %id, %busy, "the show's picture is replaced once its baskets are gone");
        }
    }
    let map = &show.plan.map;
    let unpriced = map
        .categories
        .iter()
        .zip(&show.prices)
        .filter(|(_, price)| price.is_none());
    JsonAnswer::json(
        200,
        &StoredShowView {
            plan_version: show.plan.version,
            newest_plan_version: newest_plan,
            room: routes.catalogue.shown_room_of(&show),
            warnings: not_sold_warning(&routes.catalogue, &show)
                .into_iter()
                .collect(),
            cells: map.cell_count(),
            not_for_sale: unpriced.map(|(category, _)| category.key.clone()).collect(),
            document: show.document.clone(),
            show: id,
        },
    )
}

/// Returns a warning if no room names the show and it is no walk-in.
fn not_sold_warning(catalogue: &Catalogue, show: &Show) -> Option<String> {
    let is_unnamed = catalogue.seller_of(show) == Err(NotSoldReason::NoRoom);
    is_unnamed.then(|| unnamed_show_warning(&show.id))
}

fn read_venue(query: &VenueQuery, body: &str) -> Result<(SeatMap, VenueLocation), Problem> {
    let (map, location) = read_plan(query, body)?;
    let location = location.checked().map_err(|faults| invalid(&faults))?;
    Ok((map, location))
}

fn read_plan(query: &VenueQuery, body: &str) -> Result<(SeatMap, VenueLocation), Problem> {
    let plan = |format, text: &str| plans::parse(format, text).map_err(|faults| faulty(&faults));
    match query.format.as_deref() {
        Some("fairgate") => Ok((plan(PlanFormat::Fairgate, body)?, query.location())),
        Some("seatsio") => Ok((plan(PlanFormat::Seatsio, body)?, query.location())),
        Some(format @ ("pretix" | "csv")) => Err(Problem::not_available(
            "format",
            format!(
                "format: this version reads its own plans (format=fairgate), seats.io charts (format=seatsio) and grids (no format, {{\"plan\":\"grid:20x30\"}}), not {format}. Nothing was stored."
            ),
        )),
        Some(_) => Err(Problem::invalid_field(
            "format",
            "format: one of fairgate, seatsio. Nothing was stored.",
        )),
        None if query.location() != VenueLocation::default() => Err(Problem::invalid_field(
            "(the whole body)",
            "Without a format, name, city, address and time_zone stand in the body beside the plan, and not in the query. Nothing was stored.",
        )),
        None => {
            let document: VenueDocument = parse_json(body.as_bytes())?;
            let grid = document.plan.strip_prefix("grid:").ok_or_else(|| {
                Problem::invalid_field("plan", "plan: without a format the plan is \"grid:ROWSxSEATS\"; send a plan of another kind as the body with ?format=fairgate or ?format=seatsio. Nothing was stored.")
            })?;
            let map = plan(PlanFormat::Grid, grid)?;
            let location = VenueLocation {
                name: document.name,
                city: document.city,
                address: document.address,
                time_zone: document.time_zone,
            };
            Ok((map, location))
        }
    }
}

fn faulty(faults: &[PlanFault]) -> Problem {
    let first = faults
        .first()
        .map(|fault| format!("{}: {}", fault.at, fault.message))
        .unwrap_or_default();
    let detail = format!(
        "The plan has {}: {first}. Nothing was stored. Mend every fault and send it again.",
        counted(faults.len(), "fault", "faults; the first")
    );
    Problem::new(ProblemCode::PlanInvalid, detail).with_member("faults", faults)
}

fn put_problem(why: ShowPutRefusal) -> Problem {
    match why {
        ShowPutRefusal::NoVenue(venue) => Problem::invalid_field(
            "venue",
            format!("venue: there is no venue \"{venue}\" yet; put it first. Nothing was stored."),
        ),
        ShowPutRefusal::Invalid(faults) => invalid(&faults),
        ShowPutRefusal::PlanInUse(seats) => {
            let shown: Vec<_> = seats.iter().take(10).cloned().collect();
            let detail = format!(
                "The plan moves, drops or renames seats that are held or sold: {}. Nothing was changed. Keep these seats as they are.",
                shown.join(", ")
            );
            Problem::new(ProblemCode::PlanInUse, detail).with_member("seats", seats)
        }
        ShowPutRefusal::CurrencyInUse(currency) => Problem::new(
            ProblemCode::CurrencyInUse,
            format!(
                "currency: seats of this show are held or sold in {}. Nothing was changed. Keep that currency, or sell in another one as a new show.",
                currency.as_str()
            ),
        )
        .with_member("field", "currency"),
        ShowPutRefusal::PostponeInstead(fields) => {
            let detail = format!(
                "{}: people have orders for this show and rely on its date and hall. Nothing was changed. To change the date, tell them with POST /v1/promoter/shows/{{show}}/postpone; to change the hall, cancel the show and sell it as a new one.",
                fields.join(", ")
            );
            Problem::new(ProblemCode::PostponeInstead, detail).with_member("fields", fields)
        }
        ShowPutRefusal::Ledger(error) => error.into(),
    }
}

/// Builds the problem for a document with faults. The code is `not_available` if all faults are of
/// that kind, and otherwise `invalid_field`.
fn invalid(faults: &[FieldFault]) -> Problem {
    let worst = faults
        .iter()
        .find(|fault| fault.code != ProblemCode::NotAvailable.as_str())
        .or(faults.first());
    let field = worst.map_or("(the whole body)", |fault| fault.field.as_str());
    let code = match worst {
        Some(fault) if fault.code == ProblemCode::NotAvailable.as_str() => {
            ProblemCode::NotAvailable
        }
        _ => ProblemCode::InvalidField,
    };
    let texts: Vec<String> = faults
        .iter()
        .map(|fault| format!("{}: {}", fault.field, fault.detail))
        .collect();
    Problem::new(code, format!("{}. Nothing was stored.", texts.join("; ")))
        .with_title("The document is not valid")
        .with_member("field", field)
        .with_member("problems", faults)
}
