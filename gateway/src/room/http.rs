//! The public calls of a room: the room itself, and its draw.

use std::num::NonZeroUsize;
use std::sync::Arc;

use axum::Json;
use axum::extract::{FromRef, Path, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use fairgate_base::http::shared_answers::SharedAnswer;
use fairgate_base::http::tagged::TaggedAnswer;
use fairgate_base::http::{Problem, ProblemCode, QueryParams};
use fairgate_pass::Digest;
use fairgate_rules::room_document::LineMethod;
use serde::{Deserialize, Serialize};

use super::calendar;
use super::search::{ListPage, OnSaleIndex, OnSaleSearch, OnSales, UnreadableSearch};
use super::{FrozenLeaves, Room, RoomRegistry, RoomView, UnknownRoom};

impl FromRef<OnSales> for RoomRegistry {
    fn from_ref(on_sales: &OnSales) -> Self {
        on_sales.rooms.clone()
    }
}

impl From<UnknownRoom> for Problem {
    fn from(UnknownRoom(room): UnknownRoom) -> Self {
        Self::not_found("room", &room)
    }
}

const SHORTLY: &str = "public, max-age=1";
const FOREVER: &str = "public, max-age=31536000, immutable";

/// A page of the public rooms.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct RoomList {
    /// The rooms of this page, at most 40, in the order of their first show.
    rooms: Vec<RoomView>,
    /// How many rooms match.
    total: usize,
    /// The page, counted from 1.
    page: usize,
    /// How many pages there are.
    pages: usize,
}

/// A search for rooms.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RoomsQuery {
    /// Words of a title, a venue or an address. A word with a typing error matches, too.
    q: String,
    /// A city.
    city: String,
    /// The first day of a show, such as 2027-06-01.
    from: String,
    /// The last day of a show.
    to: String,
    /// The page, counted from 1.
    #[param(value_type = Option<u64>, minimum = 1)]
    page: Option<NonZeroUsize>,
}

impl From<UnreadableSearch> for Problem {
    fn from(refusal: UnreadableSearch) -> Self {
        Self::invalid_field(
            refusal.field(),
            format!("{refusal}. Nothing was searched. Correct it, or leave it out."),
        )
    }
}

/// The public rooms
#[utoipa::path(get, path = "/v1/rooms", tag = "rooms", params(RoomsQuery),
    responses((status = 200, body = RoomList), (status = 304), (status = 400, description = "invalid_query"), (status = 422, description = "invalid_field")))]
pub(crate) async fn list(
    State(on_sales): State<OnSales>,
    QueryParams(query): QueryParams<RoomsQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let RoomsQuery {
        q,
        city,
        from,
        to,
        page,
    } = query;
    let search = OnSaleSearch::parse(&q, &city, &from, &to)?;
    let page = page.map_or(1, NonZeroUsize::get);
    let index = on_sales.index().await;
    let key = on_sales.answer_key(&index, &format!("rooms {page} {search:?}"));
    let make = room_list(&on_sales, index, search, page);
    let answer = on_sales.answers.find_or_make(key, make).await?;
    Ok(answer.respond(&headers))
}

async fn room_list(
    on_sales: &OnSales,
    index: Arc<OnSaleIndex>,
    search: OnSaleSearch,
    page: usize,
) -> Result<SharedAnswer, Problem> {
    let searched = Arc::clone(&index);
    let found = on_sales.threads.run(move || searched.find(&search)).await;
    let page_of_rooms = ListPage::of(found.rooms.iter().copied(), page);
    let mut rooms = Vec::with_capacity(page_of_rooms.items.len());
    for at in page_of_rooms.items {
        rooms.push(on_sales.view(&index.room(at).room).await);
    }
    let list = RoomList {
        rooms,
        total: page_of_rooms.total,
        page,
        pages: page_of_rooms.pages,
    };
    SharedAnswer::json(&list, SHORTLY)
}

/// One room. With `.ics` after the id, the answer is a calendar with the room's opening and its
/// draw.
#[utoipa::path(get, operation_id = "one", path = "/v1/rooms/{room}", tag = "rooms", params(("room" = String, Path,)),
    responses((status = 200, body = RoomView), (status = 404)))]
pub(crate) async fn get_public_room(
    State(on_sales): State<OnSales>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let rooms = &on_sales.rooms;
    if let Some(id) = id.strip_suffix(".ics") {
        return calendar_of(&on_sales, id).await;
    }
    let room = rooms.get(&id)?;
    let view = RoomView::fresh(rooms, &room).await;
    Ok(([(header::CACHE_CONTROL, SHORTLY)], Json(view)).into_response())
}

async fn calendar_of(on_sales: &OnSales, id: &str) -> Result<Response, Problem> {
    let rooms = &on_sales.rooms;
    let room = rooms.get(id)?;
    if room.is_everyday() {
        return Err(Problem::not_found("calendar of the room", id));
    }
    let shows = on_sales.shows_of(&room).await;
    let zone = shows.zone.as_deref();
    let text = calendar::of_room(&room.row(), zone, rooms.now_ms());
    let headers = [
        (
            header::CONTENT_TYPE,
            HeaderValue::from_static("text/calendar; charset=utf-8"),
        ),
        (header::CACHE_CONTROL, HeaderValue::from_static(SHORTLY)),
        (
            header::CONTENT_DISPOSITION,
            HeaderValue::from_static("attachment; filename=\"on-sale.ics\""),
        ),
    ];
    Ok((headers, text).into_response())
}

/// The draw's record, with the steps that are published so far
#[utoipa::path(get, path = "/v1/rooms/{room}/draw", tag = "draw", params(("room" = String, Path,)),
    responses((status = 200, description = "The record; null for what is not known yet"), (status = 404)))]
pub(crate) async fn draw(
    State(rooms): State<RoomRegistry>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let room = with_draw(&rooms, &id)?;
    let record = room.draw_state().record;
    Ok(([(header::CACHE_CONTROL, SHORTLY)], Json(&*record)).into_response())
}

/// A leaf and its path to the root.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = Proof)]
pub(crate) struct InclusionProof {
    number: u64,
    /// 64 hex digits; zeros where nobody holds the number.
    holder: String,
    /// RFC 6962 inclusion path, leaf upward, hex.
    #[schema(value_type = Vec<String>)]
    path: Vec<Digest>,
    /// Null before the draw.
    rank: Option<u64>,
}

/// Proves that a number is under the published root
#[utoipa::path(get, path = "/v1/rooms/{room}/draw/proof/{number}", tag = "draw",
    params(("room" = String, Path,), ("number" = u64, Path,)),
    responses((status = 200, body = InclusionProof), (status = 404), (status = 409, description = "not_frozen")))]
pub(crate) async fn proof(
    State(rooms): State<RoomRegistry>,
    Path((id, number)): Path<(String, String)>,
) -> Result<Json<InclusionProof>, Problem> {
    let room = with_draw(&rooms, &id)?;
    let frozen = frozen(&room)?;
    let missing = || Problem::not_found("number in the frozen line", &number);
    let number: u64 = number.parse().map_err(|_| missing())?;
    let at = usize::try_from(number).map_err(|_| missing())?;
    let chunk = frozen.tree.chunk_of(at).ok_or_else(missing)?;
    let path = frozen
        .tree
        .proof(at, &frozen.leaves[chunk])
        .ok_or_else(missing)?;
    Ok(Json(InclusionProof {
        number,
        holder: hex::encode(frozen.leaves[at]),
        path,
        rank: room.rank(number),
    }))
}

/// All n holders, 32 bytes each
#[utoipa::path(get, path = "/v1/rooms/{room}/draw/leaves", tag = "draw", params(("room" = String, Path,)),
    responses((status = 200, content_type = "application/octet-stream"), (status = 304), (status = 404), (status = 409, description = "not_frozen")))]
pub(crate) async fn leaves(
    State(rooms): State<RoomRegistry>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let frozen = frozen(&with_draw(&rooms, &id)?)?;
    let answer = TaggedAnswer {
        media_type: "application/octet-stream",
        etag: format!("\"{}\"", hex::encode(frozen.tree.root())),
        cache_control: FOREVER,
        // All answers share the leaves, because a copy for each would fill the memory.
        body: Bytes::from_owner(SharedLeaves(frozen)),
    };
    Ok(answer.respond(&headers))
}

/// The frozen leaves as the bytes of an answer.
struct SharedLeaves(Arc<FrozenLeaves>);

impl AsRef<[u8]> for SharedLeaves {
    fn as_ref(&self) -> &[u8] {
        self.0.leaves.as_flattened()
    }
}

fn with_draw(rooms: &RoomRegistry, id: &str) -> Result<Room, Problem> {
    let room = rooms.get(id)?;
    if room.row().document.method == LineMethod::Draw {
        return Ok(room);
    }
    Err(Problem::new(
        ProblemCode::NoDraw,
        "In this room the line stands in order of arrival, so there is nothing to draw and nothing to check. Your place's number is its rank.",
    ))
}

fn frozen(room: &Room) -> Result<Arc<FrozenLeaves>, Problem> {
    room.draw_state().frozen.ok_or_else(|| {
        let row = room.row();
        let draw_at = row.facts.draw_called_at.unwrap_or(row.document.draw_at);
        Problem::new(
            ProblemCode::NotFrozen,
            "Leaves and proofs exist from the freeze on. Nothing is wrong with your place. Look again after the time of the draw.",
        )
        .with_member("draw_at", fairgate_base::clock::rfc3339(draw_at))
        .retry_after(5)
    })
}
