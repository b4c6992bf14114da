//! The forms from the seats to the tickets, for browsers without scripts. They make the same calls
//! as the scripts do, through the door in front of booking, and redirect to the next page.

use std::time::Duration;

use axum::Form;
use axum::extract::rejection::FormRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::Response;
use fairgate_base::http::{Problem, ProblemCode};
use rand::RngExt;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::asking::{DocumentRefusal, VisitorCall};
use super::render::{WayOn, render_refused_with};
use super::{PageRoutes, address, see_other};
use crate::cookies::{self, CookieKind, PLACE_STORED_S};
use fairgate_model::ids::HoldId;
use fairgate_model::orders::OrderState;

type FormResult = Result<Form<Vec<(String, String)>>, FormRejection>;

/// The parameter that a form without scripts adds to the checkout's address. With it, the page
/// shows the basket without scripts.
pub(super) const PLAIN: &str = "plain";

/// The `outcome` of a form that approves a payment in the sandbox.
const APPROVE: &str = "approve";

/// How many times the server looks again while the outcome of a form is not known yet.
const OUTCOME_LOOKS: u32 = 40;
/// The pause between two of these looks.
const OUTCOME_LOOK_EVERY: Duration = Duration::from_millis(100);

/// The most seats, areas or travellers that a form may name one by one.
const NUMBERED_FIELDS_MAX: usize = 100;

/// The fields of a form that the link back to the seats repeats. Each pair has the field's name in
/// the form and in the link.
const KEPT_FIELDS: [(&str, &str); 7] = [
    ("from", "from"),
    ("to", "to"),
    ("departs", "departs"),
    ("class", "class"),
    ("quantity", "seats"),
    ("free", "free"),
    ("page", "page"),
];

/// The text fields of a form. Several fields may have the same name.
struct FormFields(Vec<(String, String)>);

impl FormFields {
    fn read(form: FormResult) -> Self {
        Self(form.map(|Form(fields)| fields).unwrap_or_default())
    }

    /// Returns the texts of all fields with this name, as they were sent.
    fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let values = self.0.iter().filter(move |(field, _)| field == name);
        values.map(|(_, text)| text.as_str())
    }

    /// Returns what was typed into a field. A field that is empty counts as missing.
    fn text(&self, name: &str) -> Option<&str> {
        self.all(name).map(str::trim).find(|text| !text.is_empty())
    }

    /// Returns the texts of the fields `NAME-0`, `NAME-1` and so on, up to the first that is
    /// missing.
    fn numbered(&self, name: &str) -> impl Iterator<Item = &str> {
        (0..NUMBERED_FIELDS_MAX).map_while(move |nth| self.all(&format!("{name}-{nth}")).next())
    }

    fn number(&self, name: &str) -> Option<u32> {
        self.text(name)?.parse().ok()
    }

    /// Returns the idempotency key of a call with this body. If a button is pressed twice, both
    /// calls have the same key. If the browser kept the form and the visitor changed it, the call
    /// has another key.
    fn key_of(&self, body: &Value) -> Option<String> {
        let digest = Sha256::new()
            .chain_update(self.text("key")?)
            .chain_update(body.to_string());
        Some(hex::encode(&digest.finalize()[..16]))
    }
}

/// Returns a random key for a form. With it, the form counts once, even if its button is pressed
/// several times.
pub(super) fn form_key() -> String {
    format!("{:032x}", rand::rng().random::<u128>())
}

/// Holds seats: those that the visitor names, or the best ones.
pub(crate) async fn hold(
    State(pages): State<PageRoutes>,
    Path(show): Path<String>,
    headers: HeaderMap,
    form: FormResult,
) -> Response {
    let fields = FormFields::read(form);
    let path = address::path(&["v1", "shows", &show, "holds"]);
    let body = hold_body(&fields);
    let key = fields.key_of(&body);
    let held = if body == json!({}) {
        Err(nothing_chosen().into())
    } else {
        let call = VisitorCall {
            key: key.as_deref(),
            body: Some(body),
            ..VisitorCall::new(Method::POST, &path, &headers)
        };
        post(&pages, call).await
    };
    match held {
        Ok(held) => {
            let hold = held["hold"].as_str().unwrap_or_default();
            see_other(&checkout_path(hold), None)
        }
        Err(refused) => {
            let way_on = way_after_refusal(&refused.document, &show, &fields);
            render_refused_with(&pages, &refused, &way_on)
        }
    }
}

fn nothing_chosen() -> Problem {
    Problem::invalid_field(
        "seats",
        "You chose nothing, so nothing was held. Go back, and tick at least one seat or say how many places you would like.",
    )
}

/// Returns where a visitor who got no seats can continue. A visitor without a pass continues in the
/// lobby. A visitor who already has a hold or an order continues there. All others go back to the
/// page with the seats.
fn way_after_refusal(refusal: &Value, show: &str, fields: &FormFields) -> WayOn {
    let member = |name: &str| refusal[name].as_str();
    if let Some(room) = member("room") {
        return WayOn::to_lobby(room);
    }
    if let Some(hold) = member("hold") {
        return WayOn::to_checkout(checkout_path(hold));
    }
    if let Some(order) = member("order") {
        return WayOn::to_order(order);
    }
    let kept_fields = KEPT_FIELDS.map(|(field, name)| (name, fields.all(field).next()));
    let kept_fields: Vec<(&str, &str)> = kept_fields
        .into_iter()
        .filter_map(|(name, text)| Some((name, text?)))
        .collect();
    WayOn::to_seats(show, &kept_fields)
}

/// Builds the body of the call that holds seats.
fn hold_body(fields: &FormFields) -> Value {
    let mut body = json!({});
    for name in ["from", "to", "departs"] {
        if let Some(text) = fields.text(name) {
            body[name] = text.into();
        }
    }
    let listed_seats = fields.text("seats").into_iter();
    let listed_seats = listed_seats.flat_map(|labels| labels.split(',').map(str::trim));
    let seats: Vec<&str> = listed_seats
        .chain(fields.all("seat"))
        .filter(|label| !label.is_empty())
        .collect();
    let places = fields.numbered("places").map(|text| match text.trim() {
        "" => Some(0),
        typed => typed.parse().ok(),
    });
    let areas = fields.numbered("area").zip(places);
    let areas: Vec<Value> = areas
        .filter(|(_, places)| *places != Some(0))
        .map(|(area, places)| json!({"label": area, "quantity": places.unwrap_or(0_u32)}))
        .collect();
    if !areas.is_empty() {
        body["areas"] = areas.into();
    }
    if !seats.is_empty() {
        body["seats"] = json!(seats);
    }
    // A form with a list of seats has no quantity. If nothing was ticked, nothing was chosen.
    let is_named = body.get("seats").or(body.get("areas")).is_some();
    if is_named || fields.all("quantity").next().is_none() {
        return body;
    }
    let mut best = json!({"quantity": fields.number("quantity").unwrap_or(0)});
    if let Some(class) = fields.text("class") {
        best["class"] = class.into();
    }
    if let Some(category) = fields.text("category") {
        best["categories"] = json!([category]);
    }
    if let Some(accessible) = fields.number("accessible").filter(|some| *some > 0) {
        best["accessible"] = accessible.into();
    }
    body["best"] = best;
    body
}

/// Returns the path of the checkout of a hold.
fn checkout_path(hold: &str) -> String {
    address::with_query(&address::path(&["checkout", hold]), &[(PLAIN, "1")])
}

/// Orders a hold. The order's key goes into a cookie.
pub(crate) async fn order(
    State(pages): State<PageRoutes>,
    Path(hold): Path<String>,
    headers: HeaderMap,
    form: FormResult,
) -> Response {
    let fields = FormFields::read(form);
    let path = address::path(&["v1", "holds", &hold, "order"]);
    let travellers: Vec<Value> = fields
        .numbered("traveller")
        .map(|name| json!({"name": name.trim()}))
        .collect();
    let text = |name| fields.text(name).unwrap_or_default();
    let mut body = json!({"buyer": {"name": text("name"), "email": text("email")}});
    if !travellers.is_empty() {
        body["travellers"] = travellers.into();
    }
    let key = fields.key_of(&body);
    let call = VisitorCall {
        key: key.as_deref(),
        body: Some(body),
        ..VisitorCall::new(Method::POST, &path, &headers)
    };
    let ordered = match post(&pages, call).await {
        Ok(ordered) => ordered,
        Err(refused) => {
            return render_refused_with(&pages, &refused, &WayOn::back_to(checkout_path(&hold)));
        }
    };
    let text = |name: &str| ordered[name].as_str().unwrap_or_default();
    let (order, key) = (text("order"), text("order_key"));
    let web = &pages.waiting_line.web;
    match web.set_cookie(CookieKind::Order, order, key, PLACE_STORED_S) {
        Ok(cookie) => see_other(&address::path(&["o", order]), Some(cookie)),
        Err(error) => super::render_problem(&pages, &error.into()),
    }
}

/// Gives held seats back, and redirects to the page where the visitor can choose others.
pub(crate) async fn release(
    State(pages): State<PageRoutes>,
    Path(hold): Path<HoldId>,
    headers: HeaderMap,
) -> Response {
    let seats = address::path(&["s", hold.show().as_str()]);
    let path = address::path(&["v1", "holds", &hold.to_string()]);
    let call = VisitorCall::new(Method::DELETE, &path, &headers);
    show_outcome(&pages, post(&pages, call).await, seats)
}

/// Approves or declines an order's payment in the sandbox.
pub(crate) async fn pay(
    State(pages): State<PageRoutes>,
    Path(order): Path<String>,
    headers: HeaderMap,
    form: FormResult,
) -> Response {
    let fields = FormFields::read(form);
    let page = address::path(&["o", &order]);
    let paid = async {
        let document = read_order(&pages, &order, &headers).await?;
        let payment = document["payment"]["payment"].as_str().unwrap_or_default();
        let path = address::path(&["v1", "sandbox", "payments", payment]);
        let call = VisitorCall {
            body: Some(json!({"outcome": fields.text("outcome")})),
            ..VisitorCall::new(Method::POST, &path, &headers)
        };
        post(&pages, call).await?;
        if fields.text("outcome") == Some(APPROVE) {
            await_tickets(&pages, &order, &headers).await?;
        }
        Ok(())
    };
    show_outcome(&pages, paid.await, page)
}

/// Answers the offer of other seats for an order that was paid too late. The visitor takes the
/// seats, or asks for the money back.
pub(crate) async fn consent(
    State(pages): State<PageRoutes>,
    Path(order): Path<String>,
    headers: HeaderMap,
    form: FormResult,
) -> Response {
    let fields = FormFields::read(form);
    let page = address::path(&["o", &order]);
    let path = address::path(&["v1", "orders", &order, "consent"]);
    let answered = async {
        // A form that cannot be read must not send the money back.
        let accept = match fields.text("accept") {
            Some("yes") => true,
            Some("no") => false,
            _ => return Err(nothing_answered().into()),
        };
        let call = VisitorCall {
            bearer: Some(order_key(&order, &headers)?),
            body: Some(json!({"accept": accept})),
            ..VisitorCall::new(Method::POST, &path, &headers)
        };
        post(&pages, call).await
    };
    show_outcome(&pages, answered.await, page)
}

fn nothing_answered() -> Problem {
    Problem::invalid_field(
        "accept",
        "Your answer did not arrive, so nothing was decided. Go back, and choose the seats or your money again.",
    )
}

/// Redirects to `page` if the form's call succeeded. Otherwise shows the refusal, with a link back
/// to `page`.
fn show_outcome<T>(
    pages: &PageRoutes,
    outcome: Result<T, DocumentRefusal>,
    page: String,
) -> Response {
    match outcome {
        Ok(_) => see_other(&page, None),
        Err(refused) => render_refused_with(pages, &refused, &WayOn::back_to(page)),
    }
}

/// Waits a few seconds for the tickets of an approved order, because a page without scripts does
/// not look again by itself.
async fn await_tickets(
    pages: &PageRoutes,
    order: &str,
    headers: &HeaderMap,
) -> Result<(), DocumentRefusal> {
    for _ in 0..OUTCOME_LOOKS {
        let document = read_order(pages, order, headers).await?;
        let states_before_tickets = [OrderState::Pending, OrderState::Confirmed];
        if states_before_tickets
            .iter()
            .all(|state| document["state"] != state.as_str())
        {
            break;
        }
        tokio::time::sleep(OUTCOME_LOOK_EVERY).await;
    }
    Ok(())
}

/// Makes a call that changes something, unless a foreign page sent the form. If the button was
/// pressed twice, the browser shows only the second answer. The second call therefore waits for the
/// outcome of the first.
async fn post(pages: &PageRoutes, call: VisitorCall<'_>) -> Result<Value, DocumentRefusal> {
    pages.waiting_line.web.check_origin(call.headers)?;
    for _ in 0..OUTCOME_LOOKS {
        let answer = pages.call_as_visitor(call.clone()).await;
        let in_flight = ProblemCode::IdempotencyInFlight.as_str();
        match answer {
            Err(refused) if refused.document["code"] == in_flight => {
                tokio::time::sleep(OUTCOME_LOOK_EVERY).await;
            }
            answer => return answer,
        }
    }
    pages.call_as_visitor(call).await
}

/// Returns the key of an order from the browser's cookie.
fn order_key<'h>(order: &str, headers: &'h HeaderMap) -> Result<&'h str, Problem> {
    let key = cookies::value(headers, CookieKind::Order, order);
    key.ok_or_else(|| Problem::not_found("order", order))
}

/// Reads an order with the key in the browser's cookie.
async fn read_order(
    pages: &PageRoutes,
    order: &str,
    headers: &HeaderMap,
) -> Result<Value, DocumentRefusal> {
    let path = address::path(&["v1", "orders", order]);
    let call = VisitorCall {
        bearer: Some(order_key(order, headers)?),
        ..VisitorCall::new(Method::GET, &path, headers)
    };
    pages.call_as_visitor(call).await
}

/// Reads a basket for the checkout's page.
pub(super) async fn basket(
    pages: &PageRoutes,
    hold: &HoldId,
    headers: &HeaderMap,
) -> Result<Value, DocumentRefusal> {
    let path = address::path(&["v1", "holds", &hold.to_string()]);
    let call = VisitorCall::new(Method::GET, &path, headers);
    pages.call_as_visitor(call).await
}

/// Reads an order with the key in the browser's cookie, and adds the codes of its tickets as `svg`.
/// Returns `None` if the browser has no such cookie, because its scripts then read the order. Also
/// returns `None` if the key no longer opens the order, because scripts may have another key.
///
/// # Errors
/// Returns booking's other refusals.
pub(super) async fn order_with_tickets(
    pages: &PageRoutes,
    order: &str,
    headers: &HeaderMap,
) -> Result<Option<Value>, DocumentRefusal> {
    let Some(key) = cookies::value(headers, CookieKind::Order, order) else {
        return Ok(None);
    };
    let mut document = match read_order(pages, order, headers).await {
        Ok(document) => document,
        Err(refused) if refused.status == StatusCode::FORBIDDEN => return Ok(None),
        Err(refused) => return Err(refused),
    };
    let codes = document["tickets"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|ticket| {
            let id = ticket["ticket"].as_str().unwrap_or_default();
            let path = address::path(&["v1", "tickets", &format!("{id}.svg")]);
            async move {
                let call = VisitorCall {
                    bearer: Some(key),
                    ..VisitorCall::new(Method::GET, &path, headers)
                };
                pages.text_as_visitor(call).await.ok()
            }
        });
    let codes = futures_util::future::join_all(codes).await;
    let tickets = document["tickets"].as_array_mut().into_iter().flatten();
    for (ticket, code) in tickets.zip(codes) {
        ticket["svg"] = code.into();
    }
    Ok(Some(document))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(fields: &[(&str, &str)]) -> FormFields {
        let fields = fields
            .iter()
            .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        FormFields(fields.collect())
    }

    fn body(fields: &[(&str, &str)]) -> Value {
        hold_body(&form(fields))
    }

    #[test]
    fn a_form_has_one_key_for_one_body_and_another_for_another() {
        let key = |fields: &[(&str, &str)]| form(fields).key_of(&body(fields));
        let pressed = key(&[("key", "one"), ("seat", "A-1")]);
        assert!(pressed.is_some());
        assert_eq!(pressed, key(&[("key", "one"), ("seat", "A-1")]));
        assert_ne!(pressed, key(&[("key", "one"), ("seat", "A-2")]));
        assert_ne!(pressed, key(&[("key", "two"), ("seat", "A-1")]));
        assert_eq!(key(&[("seat", "A-1")]), None, "booking refuses it");
    }

    #[test]
    fn a_refusal_leads_to_where_the_visitor_was_or_to_what_it_has_already() {
        let way = |refusal: Value, fields: &[(&str, &str)]| {
            way_after_refusal(&refusal, "night", &form(fields))
        };
        let list = [("free", "3"), ("page", "2"), ("seat", "A-1")];
        let train = [("from", "A"), ("departs", "2027-01-10T08:00:00Z")];
        for (way, href) in [
            (way(json!({}), &list), "/s/night?free=3&page=2"),
            (
                way(json!({}), &train),
                "/s/night?from=A&departs=2027-01-10T08%3A00%3A00Z",
            ),
            (way(json!({"room": "sale"}), &list), "/r/sale"),
            (way(json!({"hold": "h1"}), &list), "/checkout/h1?plain=1"),
            (way(json!({"order": "o1"}), &list), "/o/o1"),
        ] {
            assert_eq!(way.href, href);
        }
    }

    #[test]
    fn a_form_asks_for_the_best_seats_or_for_those_that_it_names() {
        let hall = body(&[("quantity", "2"), ("category", "cat1"), ("accessible", "1")]);
        assert_eq!(
            hall,
            json!({"best": {"quantity": 2, "categories": ["cat1"], "accessible": 1}})
        );
        let train = body(&[
            ("quantity", "3"),
            ("class", "second"),
            ("from", "A"),
            ("to", "B"),
        ]);
        assert_eq!(
            train,
            json!({"best": {"quantity": 3, "class": "second"}, "from": "A", "to": "B"})
        );
        let named = body(&[("quantity", "2"), ("seats", " A-1, B-2 ,")]);
        assert_eq!(named, json!({"seats": ["A-1", "B-2"]}));
        let ticked = body(&[("seat", "A-1"), ("seat", "A-3")]);
        assert_eq!(ticked, json!({"seats": ["A-1", "A-3"]}));
        let standing = body(&[
            ("area-0", "Floor"),
            ("places-0", "2"),
            ("area-1", "Balcony"),
            ("places-1", "0"),
        ]);
        assert_eq!(
            standing,
            json!({"areas": [{"label": "Floor", "quantity": 2}]})
        );
        for none in ["0", ""] {
            assert_eq!(body(&[("area-0", "Floor"), ("places-0", none)]), json!({}));
        }
        // Booking refuses a number that cannot be read, in its own words.
        assert_eq!(
            body(&[("quantity", "two")]),
            json!({"best": {"quantity": 0}})
        );
    }
}
