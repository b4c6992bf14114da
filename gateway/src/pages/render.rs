//! Renders a template into an answer. If a page cannot be rendered, the answer is a problem page
//! with status 500.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use fairgate_base::http::{Problem, ProblemCode};
use serde::Serialize;
use serde_json::Value;

use super::asking::DocumentRefusal;
use super::contexts::ProblemPage;
use super::{PageRoutes, address};

/// The problem that a page shows. The layer `errors_follow_accept` sends the problem to programs
/// instead of the page.
#[derive(Debug, Clone)]
pub struct ProblemOfPage(pub Value);

/// Renders a page.
pub(super) fn render(pages: &PageRoutes, name: &str, context: &impl Serialize) -> Response {
    match page_text(name, context) {
        Ok(html) => page_response(html),
        Err(problem) => problem_page(pages.test, &problem),
    }
}

/// Renders a page as text.
///
/// # Errors
/// 500 if the page cannot be rendered.
pub(super) fn page_text(name: &str, context: &impl Serialize) -> Result<String, Problem> {
    waitroom_ui::render_page(name, context).map_err(|error| {
        tracing::error!(name, %error, "a page could not be rendered");
        Problem::new(
            ProblemCode::Internal,
            "Something went wrong while the page was put together. Nothing was changed; your place and your orders are kept. Load it again.",
        )
        .with_title("This page could not be shown")
    })
}

/// Answers with a page that no client keeps.
pub(super) fn page_response(html: String) -> Response {
    let no_store = [(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    (no_store, Html(html)).into_response()
}

/// Renders a problem as a page.
pub(super) fn render_problem(pages: &PageRoutes, problem: &Problem) -> Response {
    problem_page(pages.test, problem)
}

/// The link on a problem page. It leads to where the visitor can continue.
#[derive(Debug, Clone)]
pub(super) struct WayOn {
    pub href: String,
    /// The key of the link's text, below `problem.actions` in the text files.
    words: &'static str,
}

impl WayOn {
    fn to_all() -> Self {
        Self {
            href: "/".to_owned(),
            words: "all",
        }
    }

    /// Leads back to the page of a show or of a train. `query` becomes the query of its address.
    pub fn to_seats(show: &str, query: &[(&str, &str)]) -> Self {
        Self::back_to(address::with_query(&address::path(&["s", show]), query))
    }

    /// Leads to the checkout of the seats that the visitor holds.
    pub fn to_checkout(href: String) -> Self {
        Self {
            href,
            words: "checkout",
        }
    }

    /// Leads to the page of an order.
    pub fn to_order(order: &str) -> Self {
        Self {
            href: address::path(&["o", order]),
            words: "order",
        }
    }

    /// Leads to the lobby of a room.
    pub fn to_lobby(room: &str) -> Self {
        Self {
            href: address::path(&["r", room]),
            words: "lobby",
        }
    }

    /// Leads back to the page that the form was on.
    pub fn back_to(href: String) -> Self {
        Self {
            href,
            words: "back",
        }
    }
}

/// Renders booking's refusal as a page.
pub(super) fn render_refused(pages: &PageRoutes, refused: &DocumentRefusal) -> Response {
    render_refused_with(pages, refused, &WayOn::to_all())
}

/// Renders booking's refusal as a page with this link.
pub(super) fn render_refused_with(
    pages: &PageRoutes,
    refused: &DocumentRefusal,
    way_on: &WayOn,
) -> Response {
    document_page(pages.test, refused.status, &refused.document, way_on)
        .unwrap_or_else(|| refused.status.into_response())
}

/// Renders a problem as a page, or as problem+json if even that page cannot be rendered.
#[must_use]
pub fn problem_page(test: bool, problem: &Problem) -> Response {
    document_page(
        test,
        problem.status,
        &problem.json_document(),
        &WayOn::to_all(),
    )
    .unwrap_or_else(|| problem.clone().into_response())
}

/// Returns the labels of a list of seats. Each seat is a text, or an object with a `label`.
fn seat_labels(seats: &Value) -> Vec<&str> {
    let seats = seats.as_array().into_iter().flatten();
    seats
        .filter_map(|seat| seat.as_str().or_else(|| seat["label"].as_str()))
        .collect()
}

fn document_page(
    test: bool,
    status: StatusCode,
    document: &Value,
    way_on: &WayOn,
) -> Option<Response> {
    let context = ProblemPage {
        test,
        status: status.as_u16(),
        code: &document["code"],
        title: &document["title"],
        detail: &document["detail"],
        seats: seat_labels(&document["seats"]),
        action_href: &way_on.href,
        action: way_on.words,
    };
    let mut response = page_response(page_text("problem", &context).ok()?);
    *response.status_mut() = status;
    let document = ProblemOfPage(document.clone());
    response.extensions_mut().insert(document);
    Some(response)
}
