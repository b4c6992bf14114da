//! Shows, seat maps and seat states over HTTP. Reads need no pass.

use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use fairgate_base::clock::Clock;
use fairgate_base::day::parse_day;
use fairgate_base::http::shared_bodies::SharedBodies;
use fairgate_base::http::tagged::TaggedAnswer;
use fairgate_base::http::{PathParams, Problem, QueryParams};
use fairgate_model::ids::{ShowId, VenueId};
use fairgate_model::money::Money;
use fairgate_model::plans::seatmap::PACKED_MEDIA_TYPE;
use fairgate_model::runs::TrainRun;
use fairgate_model::search_text::SearchText;
use fairgate_model::shows::Show;
use fairgate_model::shows::document::ShowState;
use fairgate_model::shows::rules::RefundRule;
use jiff::Timestamp;
use jiff::civil::Time;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use crate::catalogue::Catalogue;
use crate::catalogue::listing::ShowSearch;
use crate::http::answers::JsonAnswer;
use crate::http::lists::{ListDesk, QUERY_CHARS_MAX, json_list};
use crate::http::venue_views::VenueLocationView;
use crate::inventory::seats::SeatInventory;

/// The number of shows on a page of `GET /v1/shows`.
const PAGE: usize = 50;

/// What the handlers of the catalogue need.
#[derive(Clone)]
pub struct CatalogueRoutes {
    /// The shows.
    pub catalogue: Catalogue,
    /// The seats of the shows.
    pub seats: SeatInventory,
    /// The states of seats as JSON. Each is encoded once.
    pub encoded_states: SharedBodies,
    /// The lists of shows.
    pub lists: ListDesk,
    /// The clock.
    pub clock: Clock,
}

/// `GET /v1/shows?…`
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields, default)]
pub struct ShowQuery {
    /// Words of the show's title, its id or its venue's slug, or their beginnings. Case, accents,
    /// umlauts and small typing errors do not matter.
    q: String,
    /// A venue's slug.
    venue: Option<String>,
    /// Shows that begin at or after this moment or day.
    from: Option<String>,
    /// Shows that begin at or before this moment, or on or before this day.
    to: Option<String>,
    /// A category's key or label. Only shows in which this category has a price are found.
    category: Option<String>,
    /// The slug of the room that covers the show.
    room: Option<String>,
    /// From 1.
    page: Option<usize>,
}

/// A show as visitors see it.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct ShowView {
    #[schema(value_type = String)]
    show: ShowId,
    /// `seated` or `rail`.
    kind: &'static str,
    title: String,
    #[schema(value_type = String)]
    starts_at: Timestamp,
    /// The time until which seats may be held. Null for a train, because its seats are sold at each
    /// stop until it leaves the stop.
    #[schema(value_type = Option<String>)]
    sells_until: Option<Timestamp>,
    /// Whether the sale has ended. The sale of a train ends when the train leaves its last stop but
    /// one.
    sales_ended: bool,
    #[schema(value_type = String)]
    venue: VenueId,
    #[serde(flatten)]
    place: VenueLocationView,
    /// Whether the show is in a hall of the cinema programme.
    has_screen: bool,
    /// `on_sale` if the show is sold by its room, `announced` if nobody sells it.
    state: ShowState,
    /// The room that sells the show, or will sell it. Null if there is none.
    room: Option<String>,
    seats: u32,
    legs: u16,
    /// Rail: the train's code. Null for other shows.
    train: Option<String>,
    /// Rail: the stops, in order. Leg `k` lies between stops `k` and `k + 1`. Empty for other
    /// shows.
    stops: Vec<StopView>,
    /// Whether an order must name the travellers, one for each seat.
    travellers: bool,
    categories: Vec<CategoryView>,
    limits: BuyerLimitsView,
    refunds: Vec<RefundRule>,
    /// `cancelled` or `postponed`. Null if the show takes place as planned.
    fate: Option<&'static str>,
    extensions: u32,
    hold_s: u32,
    pay_s: u32,
    orphans: fairgate_model::shows::document::OrphanSeatRule,
}

/// A stop of a train.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct StopView {
    /// The station's code, as holds name it.
    station: String,
    name: String,
    /// The IANA name of the zone in which the station's clocks run. Null if it is not known.
    time_zone: Option<String>,
    /// Null at the first stop.
    #[schema(value_type = Option<String>)]
    arrives: Option<Timestamp>,
    /// Null at the last stop.
    #[schema(value_type = Option<String>)]
    departs: Option<Timestamp>,
}

impl StopView {
    fn of_run(run: &TrainRun) -> Vec<Self> {
        let stops = run.calls.iter().map(|call| Self {
            station: call.station.clone(),
            name: call.name.clone(),
            time_zone: run.zone_at(call).map(ToOwned::to_owned),
            arrives: call.arrives,
            departs: call.departs,
        });
        stops.collect()
    }
}

/// A category with its price.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct CategoryView {
    key: String,
    label: String,
    color: String,
    /// `{amount, currency}`. For a train, the price from end to end or, if there is no such price,
    /// the highest price of a stretch. Null if the category is not for sale.
    #[schema(value_type = Option<Object>)]
    price: Option<Money>,
}

/// How much one buyer may have.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = Limits)]
pub struct BuyerLimitsView {
    seats_per_visitor: u32,
}

/// A page of shows.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct ShowList {
    shows: Vec<ShowView>,
    total: usize,
    page: usize,
    per_page: usize,
}

impl ShowView {
    fn new(show: &Show, room: Option<String>, catalogue: &Catalogue, now_ms: i64) -> Self {
        let document = &show.document;
        let categories =
            show.plan
                .map
                .categories
                .iter()
                .zip(&show.prices)
                .map(|(category, price)| CategoryView {
                    key: category.key.clone(),
                    label: category.label.clone(),
                    color: category.color.clone(),
                    price: price.map(|amount| document.currency.with_amount(amount)),
                });
        let run = show.run.as_deref();
        Self {
            show: show.id.clone(),
            kind: if run.is_some() { "rail" } else { "seated" },
            train: run.map(|run| run.train.clone()),
            stops: run.map_or_else(Vec::new, StopView::of_run),
            travellers: run.is_some(),
            title: document.title.clone(),
            starts_at: document.starts_at,
            sells_until: run.is_none().then(|| show.sells_until(&show.legs())),
            sales_ended: show.first_leg_on_sale(now_ms).is_none(),
            venue: document.venue.clone(),
            place: catalogue.place_of(show).into(),
            has_screen: catalogue.has_screen(show),
            state: match catalogue.seller_of(show) {
                Ok(_) => ShowState::OnSale,
                Err(_) => ShowState::Announced,
            },
            room,
            seats: show.plan.map.cell_count(),
            legs: show.grid().legs,
            categories: categories.collect(),
            limits: BuyerLimitsView {
                seats_per_visitor: document.seats_per_visitor,
            },
            refunds: document.refunds.clone(),
            fate: show.fate.map(fairgate_model::shows::fate::ShowFate::as_str),
            extensions: document.extensions,
            hold_s: document.hold_s,
            pay_s: document.pay_s,
            orphans: document.orphans,
        }
    }
}

/// Finds shows. Clients may use an answer again if its tag is still the same.
#[utoipa::path(get, path = "/v1/shows", tag = "booking", params(ShowQuery), responses((status = 200, body = ShowList), (status = 304), (status = 422)))]
pub async fn list(
    State(routes): State<CatalogueRoutes>,
    QueryParams(query): QueryParams<ShowQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let search = show_search(&query)?;
    let page = query.page.unwrap_or(1);
    if page == 0 {
        return Err(Problem::invalid_field(
            "page",
            "page: pages are counted from 1.",
        ));
    }
    let listing = routes.catalogue.listing().await;
    let now_ms = routes.clock.now_ms();
    // A sale may end without any change of the catalogue, so each second has its own answers.
    let (edition, second) = (listing.edition(), now_ms.div_euclid(1_000));
    let key = format!("{edition} {second} {page} {query:?}");
    let catalogue = routes.catalogue.clone();
    let find = routes.lists.threads.run(move || {
        let found = listing.find(&search, page - 1, PAGE);
        let shows = found.shows.into_iter();
        let list = ShowList {
            shows: shows
                .map(|listed| ShowView::new(&listed.show, listed.room.clone(), &catalogue, now_ms))
                .collect(),
            total: found.total,
            page,
            per_page: PAGE,
        };
        json_list(&list)
    });
    let answer = routes.lists.answers.find_or_make(key, find).await?;
    Ok(answer.respond(&headers))
}

/// Reads the filters of a search.
fn show_search(query: &ShowQuery) -> Result<ShowSearch, Problem> {
    if query.q.chars().count() > QUERY_CHARS_MAX {
        let detail = format!("q: a search has at most {QUERY_CHARS_MAX} characters.");
        return Err(Problem::invalid_field("q", detail));
    }
    Ok(ShowSearch {
        words: SearchText::new(&query.q),
        venue: query.venue.clone(),
        from: parse_moment("from", query.from.as_deref(), false)?,
        to: parse_moment("to", query.to.as_deref(), true)?,
        category: query.category.clone(),
        room: query.room.clone(),
    })
}

/// Reads a show.
#[utoipa::path(get, path = "/v1/shows/{show}", tag = "booking", params(("show" = String, Path)),
    responses((status = 200, body = ShowView), (status = 404)))]
pub async fn read(
    State(routes): State<CatalogueRoutes>,
    PathParams(show): PathParams<String>,
) -> Result<JsonAnswer, Problem> {
    let show = routes.find_show(&show).await?;
    let now_ms = routes.clock.now_ms();
    let room = routes.catalogue.shown_room_of(&show);
    JsonAnswer::json(200, &ShowView::new(&show, room, &routes.catalogue, now_ms))
}

/// Returns the geometry of a show. Two answers with the same tag have the same geometry.
#[utoipa::path(get, path = "/v1/shows/{show}/seatmap", tag = "booking", params(("show" = String, Path)),
    responses((status = 200), (status = 304), (status = 404)))]
pub async fn seatmap(
    State(routes): State<CatalogueRoutes>,
    PathParams(show): PathParams<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let show = routes.find_show(&show).await?;
    let geometry = &show.plan.geometry;
    let packed = accepts(&headers, PACKED_MEDIA_TYPE);
    let (media_type, mark, body) = if packed {
        (PACKED_MEDIA_TYPE, "-p", &geometry.packed)
    } else {
        ("application/json", "", &geometry.json)
    };
    let answer = TaggedAnswer {
        media_type,
        etag: format!("\"{}{mark}\"", geometry.digest),
        // The address does not name the plan's version, so clients may reuse the answer only for a
        // short time. After that they compare the tag.
        cache_control: "public, max-age=60, immutable",
        body: body.clone(),
    };
    let vary = [(header::VARY, "accept")];
    Ok((vary, answer.respond(&headers)).into_response())
}

impl CatalogueRoutes {
    /// Returns a show, also if another node has only just put it.
    pub(super) async fn find_show(&self, show: &str) -> Result<std::sync::Arc<Show>, Problem> {
        let found = self.catalogue.newest_show(show).await?;
        found.ok_or_else(|| Problem::not_found("show", show))
    }
}

pub(super) fn accepts(headers: &HeaderMap, media: &str) -> bool {
    let accept = headers
        .get(header::ACCEPT)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    accept.split(',').any(|one| {
        one.split(';')
            .next()
            .is_some_and(|one| one.trim().eq_ignore_ascii_case(media))
    })
}

/// Reads a moment, or a day in UTC. A day means its first moment or, if `end` is set, its last.
fn parse_moment(
    field: &'static str,
    text: Option<&str>,
    end: bool,
) -> Result<Option<Timestamp>, Problem> {
    let Some(text) = text.filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Ok(Some(moment));
    }
    let time = if end { Time::MAX } else { Time::MIN };
    let moment =
        parse_day(text).and_then(|day| TimeZone::UTC.to_timestamp(day.to_datetime(time)).ok());
    moment.map(Some).ok_or_else(|| {
        let shown: String = text.chars().take(40).collect();
        Problem::invalid_field(field, format!("{field}: \"{shown}\" is neither a day (2027-06-01) nor a moment (2027-06-01T20:00:00Z)."))
    })
}
