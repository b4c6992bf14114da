//! Builds the headers that a guarded shop gets. Removes headers that are only for this gateway, and
//! sets headers that only this gateway may set.

use std::net::IpAddr;

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use fairgate_pass::LivePass;

use crate::cookies;
use crate::upstream::hops::without_hops;
use crate::web::{ForwardingHeader, remove_addresses};

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const ROOM: HeaderName = HeaderName::from_static("x-fairgate-room");
const RANK: HeaderName = HeaderName::from_static("x-fairgate-rank");
const VISITOR: HeaderName = HeaderName::from_static("x-fairgate-visitor");

/// Nobody outside may set a header whose name begins with one of these texts. Many shops read an
/// underscore in a name as a hyphen, so names with underscores are reserved, too.
const RESERVED: [&str; 2] = ["x-fairgate-", "x-forwarded-"];

/// What this gateway knows about a request.
pub(super) struct ShopRequest<'a> {
    /// The address of the visitor.
    pub client: IpAddr,
    /// The scheme by which the visitor reached the shop.
    pub scheme: &'a str,
    /// The header that the visitor's address was read from.
    pub forwarding_header: &'a ForwardingHeader,
    /// The visitor's pass. `None` if the visitor is let through without one.
    pub pass: Option<&'a LivePass>,
    /// Whether the Bearer token is a pass of this installation.
    pub is_bearer_ours: bool,
}

/// Builds the headers that the shop gets. `Host` stays as the visitor sent it, so that the shop's
/// redirects and cookies lead back through this gateway.
pub(super) fn shop_headers(request_headers: &HeaderMap, request: &ShopRequest<'_>) -> HeaderMap {
    let mut headers = without_hops(request_headers);
    let reserved: Vec<HeaderName> = headers
        .keys()
        .filter(|name| is_reserved(name))
        .cloned()
        .collect();
    for name in reserved {
        headers.remove(name);
    }
    remove_addresses(&mut headers, request.forwarding_header);
    headers.remove(header::EXPECT);
    if request_headers.contains_key(header::TRANSFER_ENCODING) {
        headers.remove(header::CONTENT_LENGTH);
    }
    if request.is_bearer_ours {
        headers.remove(header::AUTHORIZATION);
    }
    keep_foreign_cookies(&mut headers);
    let mut set_header = |name: HeaderName, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    };
    set_header(FORWARDED_FOR, &request.client.to_string());
    set_header(FORWARDED_PROTO, request.scheme);
    if let Some(pass) = request.pass {
        set_header(ROOM, &pass.room);
        set_header(RANK, &pass.rank.to_string());
        set_header(VISITOR, &pass.sub.to_string());
    }
    if let Some(host) = request_headers.get(header::HOST) {
        headers.insert(FORWARDED_HOST, host.clone());
    }
    headers
}

fn is_reserved(name: &HeaderName) -> bool {
    let name = name.as_str().replace('_', "-");
    RESERVED.iter().any(|start| name.starts_with(start))
}

/// Removes this installation's cookies, and keeps all others as they are.
fn keep_foreign_cookies(headers: &mut HeaderMap) {
    let lines: Vec<HeaderValue> = headers.get_all(header::COOKIE).iter().cloned().collect();
    headers.remove(header::COOKIE);
    for line in lines {
        let pairs = line.as_bytes().split(|byte| *byte == b';');
        let kept: Vec<&[u8]> = pairs
            .map(<[u8]>::trim_ascii)
            .filter(|pair| !pair.is_empty() && !is_own_pair(pair))
            .collect();
        match HeaderValue::from_bytes(&kept.join(&b"; "[..])) {
            Ok(kept) if !kept.is_empty() => {
                headers.append(header::COOKIE, kept);
            }
            _ => {}
        }
    }
}

fn is_own_pair(pair: &[u8]) -> bool {
    let name = pair.split(|byte| *byte == b'=').next().unwrap_or_default();
    cookies::is_own(String::from_utf8_lossy(name).trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent_on(sent: &[(&'static str, &str)], read: &str, is_bearer_ours: bool) -> Vec<String> {
        let mut headers = HeaderMap::new();
        for (name, value) in sent {
            headers.append(*name, HeaderValue::from_str(value).expect("a header"));
        }
        let request = ShopRequest {
            client: "192.0.2.7".parse().expect("an address"),
            scheme: "https",
            forwarding_header: &ForwardingHeader::parse(read).expect("a header"),
            pass: None,
            is_bearer_ours,
        };
        let mut shown: Vec<String> = shop_headers(&headers, &request)
            .iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().expect("text")))
            .collect();
        shown.sort();
        shown
    }

    const OWN: [&str; 2] = ["x-forwarded-for: 192.0.2.7", "x-forwarded-proto: https"];

    #[test]
    fn nobody_outside_sets_what_the_gateway_says_to_the_shop() {
        let forged = [
            ("x-fairgate-rank", "0"),
            ("x-fairgate-visitor", "somebody"),
            ("x-fairgate-anything", "1"),
            ("x_fairgate_rank", "0"),
            ("x-forwarded_for", "9.9.9.9"),
            ("x-forwarded-for", "9.9.9.9"),
            ("x-forwarded-proto", "gopher"),
            ("x-forwarded-prefix", "/admin"),
            ("forwarded", "for=9.9.9.9"),
            ("x-real-ip", "9.9.9.9"),
            ("connection", "close, x-mine"),
            ("x-mine", "1"),
            ("upgrade", "websocket"),
            ("transfer-encoding", "chunked"),
            ("content-length", "5"),
            ("expect", "100-continue"),
        ];
        assert_eq!(sent_on(&forged, "X-Forwarded-For", false), OWN);
        let told = [("cf-connecting-ip", "192.0.2.7")];
        assert_eq!(sent_on(&told, "CF-Connecting-IP", false), OWN);
    }

    #[test]
    fn the_shops_own_headers_and_cookies_stay() {
        let sent = [
            ("host", "shop.example"),
            ("authorization", "Bearer of-the-shop"),
            (
                "cookie",
                "session=1; fairgate_pass_demo=x.y.z;theme=\"a=b\"",
            ),
            ("cookie", "__Host-fairgate_place_demo=x"),
            ("content-length", "5"),
            ("accept-encoding", "br"),
        ];
        let kept = sent_on(&sent, "X-Forwarded-For", false);
        assert_eq!(
            kept,
            [
                "accept-encoding: br",
                "authorization: Bearer of-the-shop",
                "content-length: 5",
                "cookie: session=1; theme=\"a=b\"",
                "host: shop.example",
                OWN[0],
                "x-forwarded-host: shop.example",
                OWN[1],
            ]
        );
        let pass = [("authorization", "Bearer a.b.c")];
        assert_eq!(sent_on(&pass, "X-Forwarded-For", true), OWN);
    }
}
