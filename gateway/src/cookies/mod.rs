//! The cookies of places, passes and orders: their names, and how they are read and set. `older`
//! replaces older forms of the cookies.

pub mod older;

use axum::http::{HeaderMap, HeaderValue, header};
use fairgate_pass::{Keyring, PassClaims, PlaceClaims};

use crate::web::WebRequestPolicy;

/// Browsers accept a cookie with this prefix only if its own host sets it, over TLS and for all
/// paths. So no neighbouring host can set such a cookie.
const HOST_PREFIX: &str = "__Host-";
/// How long (seconds) a browser stores a place: longer than any on-sale lasts.
pub const PLACE_STORED_S: i64 = 180 * 86_400;
/// How long (seconds) a browser stores a pass. A visitor with an expired pass can still finish an
/// order that was begun with it, so the cookie lasts longer than the pass.
pub const PASS_STORED_S: i64 = 2 * 86_400;

/// The name of the cookie that shows that a browser keeps cookies. It has the same value for
/// everybody.
const KEPT_NAME: &str = "fgc_ok";
/// How long (seconds) a browser keeps that cookie.
const KEPT_STORED_S: i64 = 3_600;

/// A value cannot be written as a cookie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a cookie could not be written")]
pub struct CookieNotWritten;

/// What a cookie carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CookieKind {
    /// A visitor's place in a room.
    Place,
    /// A visitor's pass for the shows of a room.
    Pass,
    /// The key of an order, in a browser that runs no scripts. The cookie's name has the
    /// order's id instead of the room's slug.
    Order,
}

impl CookieKind {
    /// Returns what the cookie's name begins with. The room's slug or the order's id follows. The
    /// names are short, because a browser sends the cookies of all rooms with each request.
    fn name_prefix(self) -> &'static str {
        match self {
            Self::Place => "fg_",
            Self::Pass => "fgp_",
            Self::Order => "fgo_",
        }
    }
}

/// Returns the value of the cookie of a room or an order, as the browser sent it.
#[must_use]
pub fn value<'h>(headers: &'h HeaderMap, kind: CookieKind, room: &str) -> Option<&'h str> {
    let plain = format!("{}{room}", kind.name_prefix());
    pair(headers, &format!("{HOST_PREFIX}{plain}")).or_else(|| pair(headers, &plain))
}

/// Returns whether a cookie of this name is one of this installation's. An origin behind this
/// gateway must not see such cookies.
#[must_use]
pub fn is_own(name: &str) -> bool {
    let plain = name.strip_prefix(HOST_PREFIX).unwrap_or(name);
    ["fg_", "fgp_", "fgo_", "fgc_", "fairgate_"]
        .iter()
        .any(|prefix| plain.starts_with(prefix))
}

/// Returns whether the browser sent any cookie of this installation, and so keeps cookies.
#[must_use]
pub fn are_kept(headers: &HeaderMap) -> bool {
    pairs(headers).any(|(name, _)| is_own(name))
}

/// Writes a place as a cookie's value.
///
/// # Errors
/// Fails if the place cannot be written as a cookie. Every place of a room can be written.
pub fn of_place(keyring: &Keyring, claims: &PlaceClaims) -> Result<String, CookieNotWritten> {
    keyring.place_cookie(claims).ok_or(CookieNotWritten)
}

/// Writes a pass as a cookie's value.
///
/// # Errors
/// Fails if the pass cannot be written as a cookie. Every pass of a room can be written.
pub fn of_pass(keyring: &Keyring, claims: &PassClaims) -> Result<String, CookieNotWritten> {
    keyring.pass_cookie(claims).ok_or(CookieNotWritten)
}

impl WebRequestPolicy {
    /// Builds the `Set-Cookie` of a place, a pass or an order. The browser stores the cookie for
    /// `stored_s` seconds. For an order, `room` is the order's id.
    ///
    /// # Errors
    /// Fails if the value is not valid in a header. The values of [`of_place`] and [`of_pass`]
    /// always are.
    pub fn set_cookie(
        &self,
        kind: CookieKind,
        room: &str,
        value: &str,
        stored_s: i64,
    ) -> Result<HeaderValue, CookieNotWritten> {
        self.build_cookie(&self.cookie_name(kind, room), value, stored_s)
    }

    /// Builds the `Set-Cookie` that removes a room's place or pass.
    ///
    /// # Errors
    /// Fails if the room's name is not valid in a header. Slugs always are.
    pub fn remove_cookie(
        &self,
        kind: CookieKind,
        room: &str,
    ) -> Result<HeaderValue, CookieNotWritten> {
        self.build_cookie(&self.cookie_name(kind, room), "", 0)
    }

    /// Builds the `Set-Cookie` that shows whether a browser keeps cookies.
    ///
    /// # Errors
    /// Never in practice, because the value is fixed.
    pub fn test_cookie(&self) -> Result<HeaderValue, CookieNotWritten> {
        let name = format!("{}{KEPT_NAME}", self.cookie_host());
        self.build_cookie(&name, "1", KEPT_STORED_S)
    }

    fn cookie_host(&self) -> &'static str {
        if self.is_tls() { HOST_PREFIX } else { "" }
    }

    fn cookie_name(&self, kind: CookieKind, room: &str) -> String {
        format!("{}{}{room}", self.cookie_host(), kind.name_prefix())
    }

    fn build_cookie(
        &self,
        name: &str,
        value: &str,
        max_age_s: i64,
    ) -> Result<HeaderValue, CookieNotWritten> {
        let secure = if self.is_tls() { "; Secure" } else { "" };
        HeaderValue::from_str(&format!(
            "{name}={value}; HttpOnly; SameSite=Lax; Path=/; Max-Age={max_age_s}{secure}"
        ))
        .map_err(|_| CookieNotWritten)
    }
}

/// Returns the cookies of a request, as names and values.
fn pairs(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    let lines = headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|line| line.to_str().ok());
    lines
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
}

fn pair<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    pairs(headers)
        .find(|(key, _)| *key == name)
        .map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::WebSettings;

    fn sent(cookies: &str) -> HeaderMap {
        let value = HeaderValue::from_str(cookies).expect("a header");
        [(header::COOKIE, value)].into_iter().collect()
    }

    #[test]
    fn a_cookie_is_found_among_others_and_the_hosts_own_comes_first() {
        let read = |cookies, kind, room| value(&sent(cookies), kind, room).map(str::to_owned);
        let two = "a=1; fg_demo=plain; b=2; __Host-fg_demo=own; fgp_demo=pass";
        assert_eq!(read(two, CookieKind::Place, "demo").as_deref(), Some("own"));
        assert_eq!(read(two, CookieKind::Pass, "demo").as_deref(), Some("pass"));
        assert_eq!(read(two, CookieKind::Place, "dem"), None);
    }

    #[test]
    fn only_over_tls_a_cookie_is_the_hosts_own() {
        let set = |url: &str| {
            let web = WebRequestPolicy::new(WebSettings {
                public_url: Some(url.to_owned()),
                ..WebSettings::default()
            });
            let header = web.set_cookie(CookieKind::Place, "demo", "x", PLACE_STORED_S);
            header.expect("a header").to_str().expect("text").to_owned()
        };
        assert_eq!(
            set("https://sale.example"),
            "__Host-fg_demo=x; HttpOnly; SameSite=Lax; Path=/; Max-Age=15552000; Secure"
        );
        assert_eq!(
            set("http://sale.example"),
            "fg_demo=x; HttpOnly; SameSite=Lax; Path=/; Max-Age=15552000"
        );
    }

    #[test]
    fn own_cookies_are_known_by_their_names() {
        for name in [
            "fg_a",
            "fgp_a",
            "fgo_a",
            "fgc_ok",
            "__Host-fg_a",
            "fairgate_place_a",
        ] {
            assert!(is_own(name), "{name}");
        }
        for name in ["session", "__Host-session", "f", "fgx"] {
            assert!(!is_own(name), "{name}");
        }
    }
}
