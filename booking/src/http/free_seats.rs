//! The free seats of a show as a list over HTTP, for people and programs that do not draw the map.
//! Reads need no pass.

use axum::Extension;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use fairgate_base::http::tagged::{SoonReplaced, TaggedAnswer};
use fairgate_base::http::{PathParams, Problem, QueryParams};
use fairgate_model::money::{Currency, Money};
use fairgate_model::plans::seatmap::Seat;
use fairgate_model::shows::free_list::{FreeRow, FreeSeatList};
use serde::{Deserialize, Serialize};

use crate::http::catalogue::CatalogueRoutes;
use crate::http::seat_states::{not_encoded, tag};
use crate::store::VersionedCells;

/// Rows are added to a page until the page has at least this many free seats. A row with more free
/// seats is cut into parts of this size.
const PAGE_SEATS_MIN: usize = 200;

/// `GET /v1/shows/{show}/free?…`
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields, default)]
pub struct FreeSeatQuery {
    /// The number of the section whose rows are listed. Without it no rows are listed.
    section: Option<usize>,
    /// From 1. A number after the last page means the last page.
    page: Option<usize>,
}

/// The free seats of a show. A train's seat is listed only if it is free on all legs.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct FreeSeatsView {
    /// The version of the seats' states.
    version: String,
    sections: Vec<FreeSectionView>,
    areas: Vec<FreeAreaView>,
    /// The rows of a page of the section that was asked for. Null if no section was asked for.
    rows: Option<Vec<FreeRowView>>,
    /// The number of that page, and the number of pages. Null if no section was asked for.
    page: Option<usize>,
    pages: Option<usize>,
}

/// A section with free seats.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct FreeSectionView {
    /// The section's number. Seats in no section have a number of their own.
    section: usize,
    /// Empty for seats in no section.
    label: String,
    free: u32,
    /// The lowest price of a free seat: `{amount, currency}`.
    #[schema(value_type = Object)]
    from: Money,
}

/// An area with free places.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct FreeAreaView {
    label: String,
    free: u32,
    /// `{amount, currency}`.
    #[schema(value_type = Object)]
    price: Money,
}

/// A row with free seats.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct FreeRowView {
    /// Empty for seats in no row.
    row: String,
    seats: Vec<FreeSeatView>,
}

/// A free seat.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct FreeSeatView {
    label: String,
    number: String,
    /// `{amount, currency}`. For a train, the fare from end to end or, if there is no such fare,
    /// the highest fare of a stretch.
    #[schema(value_type = Object)]
    price: Money,
    accessible: bool,
    companion: bool,
    restricted_view: bool,
}

/// Lists the free seats of a show: how many each section and area has, and the rows of one section.
#[utoipa::path(get, path = "/v1/shows/{show}/free", tag = "booking",
    params(("show" = String, Path), FreeSeatQuery),
    responses((status = 200, body = FreeSeatsView), (status = 304), (status = 400), (status = 404), (status = 422)))]
pub async fn free(
    State(routes): State<CatalogueRoutes>,
    PathParams(show): PathParams<String>,
    QueryParams(query): QueryParams<FreeSeatQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let page = query.page.unwrap_or(1);
    if page == 0 {
        let detail = "page: pages are counted from 1.";
        return Err(Problem::invalid_field("page", detail));
    }
    let show = routes.find_show(&show).await?;
    let packed = routes.seats.packed(&show).await?;
    let (version, cells, packed) =
        packed.ok_or_else(|| Problem::not_found("picture of show", show.id.as_str()))?;
    let now_ms = routes.clock.now_ms();
    // All numbers beyond the last section or page share one answer. Otherwise callers could fill
    // the cache of answers with such numbers. Each page but the last has at least `PAGE_SEATS_MIN`
    // seats. This limits the number of pages.
    let map = &show.plan.map;
    let page = page.min(map.seats.len() / PAGE_SEATS_MIN + 1);
    let section = query.section.map(|one| one.min(map.sections.len() + 1));
    // The tag contains everything that the answer depends on, so equal calls share one answer.
    let etag = format!(
        "\"{}-{:x}-{}-{}-{page}\"",
        tag(&show, version, &packed).trim_matches('"'),
        show.edition(),
        show.is_over(now_ms),
        section.map_or(String::new(), |one| one.to_string()),
    );
    let body = routes.encoded_states.find_or_make(etag.clone(), move || {
        let view = VersionedCells::from_packed(version, cells, &packed);
        let list = FreeSeatList::new(&show, &view.states, now_ms);
        let currency = &show.document.currency;
        let answer = FreeSeatsView::new(view.version, &list, currency, section, page);
        serde_json::to_vec(&answer).ok()
    });
    let answer = TaggedAnswer {
        media_type: "application/json",
        etag,
        cache_control: "no-cache",
        body: body.await.ok_or_else(not_encoded)?,
    };
    Ok((Extension(SoonReplaced), answer.respond(&headers)).into_response())
}

impl FreeSeatsView {
    fn new(
        version: u64,
        list: &FreeSeatList,
        currency: &Currency,
        section: Option<usize>,
        page: usize,
    ) -> Self {
        let mut pages = section.map(|section| pages_of(list.rows(section)));
        let count = pages.as_ref().map(Vec::len);
        let page = count.map(|count| page.min(count));
        let rows = pages.as_mut().zip(page);
        let rows = rows.map(|(pages, page)| pages.swap_remove(page - 1));
        let views = |rows: Vec<FreeRow>| rows.iter().map(|row| row_view(row, currency)).collect();
        Self {
            version: version.to_string(),
            sections: section_views(list, currency),
            areas: area_views(list, currency),
            rows: rows.map(views),
            page,
            pages: count,
        }
    }
}

fn section_views(list: &FreeSeatList, currency: &Currency) -> Vec<FreeSectionView> {
    let sections = list.sections().into_iter();
    sections
        .map(|section| FreeSectionView {
            section: section.number,
            label: section.label.to_owned(),
            free: section.free,
            from: currency.with_amount(section.from),
        })
        .collect()
}

fn area_views(list: &FreeSeatList, currency: &Currency) -> Vec<FreeAreaView> {
    let areas = list.areas().into_iter();
    areas
        .map(|free| FreeAreaView {
            label: free.area.label.clone(),
            free: free.free,
            price: currency.with_amount(free.price),
        })
        .collect()
}

fn row_view(row: &FreeRow, currency: &Currency) -> FreeRowView {
    let seat = |(seat, price): &(&Seat, i64)| FreeSeatView {
        label: seat.label.clone(),
        number: seat.number.clone(),
        price: currency.with_amount(*price),
        accessible: seat.accessible,
        companion: seat.companion,
        restricted_view: seat.restricted_view,
    };
    FreeRowView {
        row: row.label.to_owned(),
        seats: row.seats.iter().map(seat).collect(),
    }
}

/// Divides rows into pages. A section without free seats has one empty page.
fn pages_of(rows: Vec<FreeRow<'_>>) -> Vec<Vec<FreeRow<'_>>> {
    let mut pages = vec![Vec::new()];
    let mut seats = 0;
    for row in rows {
        for part in row.seats.chunks(PAGE_SEATS_MIN) {
            if seats >= PAGE_SEATS_MIN {
                pages.push(Vec::new());
                seats = 0;
            }
            seats += part.len();
            if let Some(page) = pages.last_mut() {
                page.push(FreeRow {
                    label: row.label,
                    seats: part.to_vec(),
                });
            }
        }
    }
    pages
}
