//! Replaces two kinds of older cookies. Those of earlier releases carried whole JWTs. The others
//! were set before the public address became https. The handlers of a request already see the new
//! cookies. The answer tells the browser to store the new cookies and to remove the older ones.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use fairgate_base::clock::Clock;
use fairgate_pass::{Keyring, PlaceError};

use super::{CookieKind, HOST_PREFIX, PASS_STORED_S, PLACE_STORED_S, pairs};
use crate::web::WebRequestPolicy;

/// How many older cookies one answer replaces in the browser, at most: a place and a pass of twenty
/// rooms. The browser then no longer sends these, so later answers replace the rest. The handlers
/// of a request see the new cookies of all older ones, so that no cookie hides another one.
const REPLACED_MAX: usize = 40;

/// Replaces older cookies.
#[derive(Clone)]
pub struct OlderCookies {
    /// Verifies the older cookies, and writes the new ones.
    pub keyring: Keyring,
    /// Names the new cookies.
    pub web: WebRequestPolicy,
    /// Gives the time at which the older cookies are verified.
    pub clock: Clock,
}

/// An older cookie. Its kind and its room come from its name.
struct OlderCookie<'h> {
    kind: CookieKind,
    room: &'h str,
    name: &'h str,
    value: &'h str,
    /// Whether the value is a JWT. Otherwise it has today's form, and `name` lacks [`HOST_PREFIX`].
    is_jwt: bool,
}

/// What a valid older cookie becomes.
enum Rewritten {
    /// The same place or pass, as it is written today.
    New {
        value: String,
        /// How long the browser stores it, in seconds.
        stored_s: i64,
    },
    /// A place that has expired.
    Expired,
}

/// What replaces one older cookie.
struct Replacement {
    /// The pair that is added to the request. `None` if the request has the new cookie too, or the
    /// place has expired.
    pair: Option<String>,
    /// The `Set-Cookie` of the new cookie. `None` in the same cases as `pair`.
    stored: Option<HeaderValue>,
    /// The `Set-Cookie` that removes the older cookie.
    removed: HeaderValue,
}

/// Replaces the older cookies of a request.
pub async fn replaced(
    State(older): State<Arc<OlderCookies>>,
    mut request: Request,
    next: Next,
) -> Response {
    let replacements = older.replacements(request.headers());
    for pair in replacements.iter().filter_map(|new| new.pair.as_ref()) {
        if let Ok(pair) = HeaderValue::from_str(pair) {
            request.headers_mut().append(header::COOKIE, pair);
        }
    }
    let mut response = next.run(request).await;
    if !replacements.is_empty() && !is_shared(response.headers()) {
        tell_browser(response.headers_mut(), replacements);
    }
    response
}

impl OlderCookies {
    /// Works out what replaces the older cookies of a request. A cookie that cannot be verified
    /// stays as it is, because it may be another installation's.
    fn replacements(&self, headers: &HeaderMap) -> Vec<Replacement> {
        let found = pairs(headers).filter_map(|(name, value)| {
            let is_tls = self.web.is_tls();
            older_cookie(name, value, is_tls)
        });
        found
            .filter_map(|cookie| self.replacement(&cookie, headers))
            .collect()
    }

    fn replacement(&self, cookie: &OlderCookie<'_>, headers: &HeaderMap) -> Option<Replacement> {
        let name = self.web.cookie_name(cookie.kind, cookie.room);
        let new = match self.rewrite(cookie)? {
            Rewritten::New { value, stored_s } if super::pair(headers, &name).is_none() => {
                let stored = self
                    .web
                    .set_cookie(cookie.kind, cookie.room, &value, stored_s);
                Some((format!("{name}={value}"), stored.ok()?))
            }
            Rewritten::New { .. } | Rewritten::Expired => None,
        };
        let (pair, stored) = new.unzip();
        Some(Replacement {
            pair,
            stored,
            removed: self.web.build_cookie(cookie.name, "", 0).ok()?,
        })
    }

    /// Returns what a valid cookie becomes, or `None` if it cannot be verified.
    fn rewrite(&self, cookie: &OlderCookie<'_>) -> Option<Rewritten> {
        let (keyring, room) = (&self.keyring, cookie.room);
        let now_s = self.clock.now_ms().div_euclid(1000);
        let new = |value, stored_s| Rewritten::New { value, stored_s };
        match (cookie.kind, cookie.is_jwt) {
            (CookieKind::Place, true) => match keyring.verify_place(cookie.value, room, now_s) {
                Ok(claims) => {
                    let stored_s = claims.exp.map_or(PLACE_STORED_S, |exp| exp - now_s);
                    Some(new(keyring.place_cookie(&claims)?, stored_s))
                }
                Err(PlaceError::Expired) => Some(Rewritten::Expired),
                Err(_) => None,
            },
            (CookieKind::Place, false) => {
                keyring.read_place_cookie(cookie.value, room).ok()?;
                Some(new(cookie.value.to_owned(), PLACE_STORED_S))
            }
            (CookieKind::Pass, true) => {
                let pass = keyring.verify_pass(cookie.value, now_s).ok()?;
                let value = (pass.room() == room).then(|| keyring.pass_cookie(pass.claims()))??;
                Some(new(value, PASS_STORED_S))
            }
            (CookieKind::Pass, false) => {
                keyring.verify_pass_cookie(cookie.value, room, now_s).ok()?;
                Some(new(cookie.value.to_owned(), PASS_STORED_S))
            }
            // No earlier release had cookies of orders.
            (CookieKind::Order, _) => None,
        }
    }
}

fn older_cookie<'h>(name: &'h str, value: &'h str, is_tls: bool) -> Option<OlderCookie<'h>> {
    let of = |prefix, kind, is_jwt| {
        let room = name.strip_prefix(prefix)?;
        Some(OlderCookie {
            kind,
            room,
            name,
            value,
            is_jwt,
        })
    };
    let plain = |kind: CookieKind| {
        let is_older = is_tls && !name.starts_with(HOST_PREFIX);
        is_older.then(|| of(kind.name_prefix(), kind, false))?
    };
    of("fairgate_place_", CookieKind::Place, true)
        .or_else(|| of("fairgate_pass_", CookieKind::Pass, true))
        .or_else(|| plain(CookieKind::Place))
        .or_else(|| plain(CookieKind::Pass))
}

/// Returns whether caches may give the answer to other visitors. Older cookies are not replaced in
/// such an answer.
fn is_shared(headers: &HeaderMap) -> bool {
    let control = headers.get(header::CACHE_CONTROL);
    control.is_some_and(|control| {
        let text = control.to_str().unwrap_or_default();
        !text.contains("no-store") && !text.contains("private")
    })
}

/// Adds the cookies to an answer, except those that its handler set or removed itself.
fn tell_browser(headers: &mut HeaderMap, replacements: Vec<Replacement>) {
    let cookies_of_handler: Vec<HeaderValue> = headers
        .get_all(header::SET_COOKIE)
        .iter()
        .cloned()
        .collect();
    let name = |cookie: &HeaderValue| {
        let text = cookie.to_str().unwrap_or_default();
        text.split('=').next().map(str::to_owned)
    };
    for replacement in replacements.into_iter().take(REPLACED_MAX) {
        let stored = replacement.stored;
        let stored =
            stored.filter(|new| cookies_of_handler.iter().all(|set| name(set) != name(new)));
        for cookie in stored.into_iter().chain([replacement.removed]) {
            headers.append(header::SET_COOKIE, cookie);
        }
    }
    if !headers.contains_key(header::CACHE_CONTROL) {
        let no_store = HeaderValue::from_static("no-store");
        headers.insert(header::CACHE_CONTROL, no_store);
    }
}
