//! The layers around all routes. They count searches, read rooms that other nodes have created,
//! turn bare errors into problems, and set the headers of every answer.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{ConnectInfo, RawPathParams, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, Version, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use fairgate_base::http::keys::bearer;
use fairgate_base::http::{CODE, Problem, ProblemCode};

use crate::follow::RoomFollower;
use crate::guard::{API_KEY, AttemptKind, GuardRefusal, SearchQuotas, call_units};
use crate::line::WaitingLine;
use crate::pages::assets::PartOfPage;
use crate::pages::policy::{ForeignPart, PagePolicy};
use crate::pages::{ProblemOfPage, problem_page};
use crate::web::peer_of;

/// Returns whether the request is an API call, which is answered with JSON and not with a page.
pub(super) fn is_call(uri: &Uri) -> bool {
    ["/v1/", "/.well-known/"]
        .iter()
        .any(|prefix| uri.path().starts_with(prefix))
}

/// Builds the answer for a problem: JSON for an API call, otherwise a page.
#[must_use]
pub fn problem_response(test: bool, uri: &Uri, problem: Problem) -> Response {
    if is_call(uri) {
        problem.into_response()
    } else {
        problem_page(test, &problem)
    }
}

/// Reads an unknown room from the ledger before the request is handled. A visitor who follows the
/// link to a new room may reach a node that does not know the room yet.
pub async fn rooms_of_other_nodes_are_found(
    State(follower): State<RoomFollower>,
    path_parameters: RawPathParams,
    request: Request,
    next: Next,
) -> Response {
    if let Some((_, room)) = path_parameters.iter().find(|(name, _)| *name == "room") {
        follower.look_for(room).await;
    }
    next.run(request).await
}

/// Refuses lists and searches beyond the quota of their network or key, and slows networks that
/// send wrong keys.
pub async fn searches_have_quotas(
    State((searches, waiting_line, test)): State<(SearchQuotas, Arc<WaitingLine>, bool)>,
    request: Request,
    next: Next,
) -> Response {
    let (method, uri) = (request.method(), request.uri());
    if let Some(units) = call_units(method, uri.path(), uri.query()) {
        let peer = peer_of(request.extensions().get::<ConnectInfo<SocketAddr>>());
        let headers = request.headers();
        let network = waiting_line.web.network(headers, peer);
        let may_try = if headers.contains_key(API_KEY) {
            waiting_line
                .attempts
                .of(AttemptKind::PartnerKey)
                .admit(network)
        } else {
            Ok(())
        };
        if let Err(refused) = may_try.and_then(|()| searches.admit(headers, network, units)) {
            if refused == GuardRefusal::ApiKeyUnknown {
                waiting_line.note_wrong_attempt(network, AttemptKind::PartnerKey);
            }
            return problem_response(test, request.uri(), refused.into());
        }
    }
    next.run(request).await
}

/// Returns whether a request shows the key of a role.
fn shows_role_key(request: &Request) -> bool {
    let path = request.uri().path();
    let is_scan = path.starts_with("/v1/tickets/") && path.ends_with("/scan");
    let needs_role = path.starts_with("/v1/promoter/") || is_scan || path == "/readyz";
    // A caller without a key may get an answer, too. That answer must not count as a right attempt.
    // So this asks the same function as the routes whether there is a key.
    needs_role && request.method() != Method::OPTIONS && bearer(request.headers()).is_some()
}

/// Slows networks that send wrong keys of roles. While a network pauses, its keys are refused
/// unread, unless it showed a right key in the last hours.
pub async fn wrong_keys_are_slowed(
    State((waiting_line, test)): State<(Arc<WaitingLine>, bool)>,
    request: Request,
    next: Next,
) -> Response {
    if !shows_role_key(&request) {
        return next.run(request).await;
    }
    let peer = peer_of(request.extensions().get::<ConnectInfo<SocketAddr>>());
    let network = waiting_line.web.network(request.headers(), peer);
    let attempts = waiting_line.attempts.of(AttemptKind::RoleKey);
    if let Err(refused) = attempts.admit(network) {
        return problem_response(test, request.uri(), refused.into());
    }
    let response = next.run(request).await;
    let code = response.headers().get(CODE).map(HeaderValue::as_bytes);
    if code == Some(ProblemCode::KeyInvalid.as_str().as_bytes()) {
        waiting_line.note_wrong_attempt(network, AttemptKind::RoleKey);
    } else if response.status().is_success() {
        attempts.note_right(network);
    }
    response
}

/// Turns an error answer that is neither JSON nor HTML into a problem. Such answers are made before
/// any handler runs.
pub async fn bare_errors_explain_themselves(
    State(test): State<bool>,
    request: Request,
    next: Next,
) -> Response {
    let uri = request.uri().clone();
    let response = next.run(request).await;
    let status = response.status();
    let is_explained = response
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| {
            [
                &b"application/problem+json"[..],
                b"text/html",
                b"application/json",
            ]
            .iter()
            .any(|known| kind.as_bytes().starts_with(known))
        });
    if is_explained || !(status.is_client_error() || status.is_server_error()) {
        return response;
    }
    let code = if status.is_server_error() {
        ProblemCode::Internal
    } else {
        ProblemCode::BadRequest
    };
    let title = status
        .canonical_reason()
        .unwrap_or(ProblemCode::BadRequest.title());
    let problem = Problem::new(
        code,
        "The request could not be read as it was sent. Nothing was changed. Compare it with /openapi.json.",
    )
    .with_status(status)
    .with_title(title);
    let mut problem_answer = problem_response(test, &uri, problem);
    if let Some(allow) = response.headers().get(header::ALLOW) {
        problem_answer
            .headers_mut()
            .insert(header::ALLOW, allow.clone());
    }
    problem_answer
}

/// Sends a problem as JSON to a program and as a page to a browser. A browser says in `Accept` that
/// it takes HTML. A program that does not say so gets JSON.
pub async fn errors_follow_accept(request: Request, next: Next) -> Response {
    let wants_page = accepts_html(request.headers());
    let mut response = next.run(request).await;
    let Some(ProblemOfPage(problem)) = response.extensions_mut().remove() else {
        return response;
    };
    let headers = response.headers_mut();
    headers.append(header::VARY, HeaderValue::from_static("accept"));
    if wants_page {
        return response;
    }
    headers.remove(header::CONTENT_LENGTH);
    let kind = HeaderValue::from_static("application/problem+json");
    headers.insert(header::CONTENT_TYPE, kind);
    if let Some(seconds) = problem["retry_after_s"].as_u64() {
        headers.insert(header::RETRY_AFTER, seconds.into());
    }
    let code = problem["code"].as_str().map(HeaderValue::from_str);
    if let Some(Ok(code)) = code {
        headers.insert(fairgate_base::http::CODE, code);
    }
    *response.body_mut() = problem.to_string().into();
    response
}

/// Returns whether a request says that it takes HTML.
pub fn accepts_html(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT).iter();
    let mut kinds = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    kinds.any(|kind| {
        let (name, quality) = kind.split_once(';').unwrap_or((kind, ""));
        let is_html = ["text/html", "application/xhtml+xml"].contains(&name.trim());
        let refused = quality.trim().trim_end_matches(['0', '.']) == "q=";
        is_html && !refused
    })
}

/// Refuses a request that names no host or several hosts, because the proxies of a chain may choose
/// different hosts. Only HTTP/1.1 requires the `Host` header. Health checks by HTTP/1.0 come
/// without it. Calls from this process are not checked.
pub async fn one_host(State(test): State<bool>, request: Request, next: Next) -> Response {
    let hosts = request.headers().get_all(header::HOST).iter().count();
    let over_a_connection = request
        .extensions()
        .get::<ConnectInfo<SocketAddr>>()
        .is_some();
    let hosts_min = usize::from(request.version() == Version::HTTP_11);
    if over_a_connection && !(hosts_min..=1).contains(&hosts) {
        let problem = Problem::new(
            ProblemCode::BadRequest,
            "A request must name exactly one host. Nothing was changed. Send one Host header.",
        );
        return problem_response(test, request.uri(), problem);
    }
    next.run(request).await
}

/// Adds the security headers to every answer except the upgrade to a socket.
pub async fn security_headers(
    State(policy): State<PagePolicy>,
    request: Request,
    next: Next,
) -> Response {
    let host = request.headers().get(header::HOST).cloned();
    let mut response = next.run(request).await;
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        if response.extensions().get::<PartOfPage>().is_some() {
            response.headers_mut().insert(
                header::X_CONTENT_TYPE_OPTIONS,
                HeaderValue::from_static("nosniff"),
            );
            return response;
        }
        let part = response.extensions().get::<ForeignPart>().copied();
        let host = host.as_ref().and_then(|host| host.to_str().ok());
        policy.secure(response.headers_mut(), host, part);
        secure(response.headers_mut());
    }
    response
}

fn secure(headers: &mut HeaderMap) {
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    headers.insert(
        header::REFERRER_POLICY,
        HeaderValue::from_static("same-origin"),
    );
    headers.insert(
        HeaderName::from_static("x-frame-options"),
        HeaderValue::from_static("DENY"),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_takes_html_gets_a_page() {
        for (accept, page) in [
            (
                "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
                true,
            ),
            ("application/json, text/html;q=0.5", true),
            ("application/json", false),
            ("*/*", false),
            ("text/html;q=0", false),
            ("text/html; q=0.0, */*", false),
        ] {
            let value = HeaderValue::from_static(accept);
            let headers = [(header::ACCEPT, value)].into_iter().collect();
            assert_eq!(accepts_html(&headers), page, "{accept}");
        }
        assert!(!accepts_html(&HeaderMap::new()));
    }
}
