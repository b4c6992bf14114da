//! Reads the origin and the network of a browser's request.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::extract::ConnectInfo;
use axum::http::{HeaderMap, HeaderValue, header};
use fairgate_base::http::{Problem, ProblemCode};

/// The headers in which a proxy names the address of its client.
const FORWARDING: [&str; 3] = ["x-forwarded-for", "forwarded", "x-real-ip"];

/// What an operator reads if requests come past a proxy that is not trusted.
const UNREAD_ADDRESS: &str = "requests name their client's address in a header that is not read, because FAIRGATE_TRUSTED_HOPS is 0: if a proxy is in front, all its visitors count as one network, which gets few places. Set FAIRGATE_TRUSTED_HOPS to the number of proxies in front";

/// What an operator reads if a trusted proxy does not tell the address of its client.
const UNREADABLE_ADDRESS: &str = "requests come without a readable address in X-Forwarded-For, although FAIRGATE_TRUSTED_HOPS is set: they all count as the network of their proxy, which gets few places. Let every proxy add the address of its client, and set FAIRGATE_TRUSTED_HOPS to their number";

fn names_another_address(headers: &HeaderMap) -> bool {
    FORWARDING.iter().any(|name| headers.contains_key(*name))
}

/// Reads an address as proxies write it: alone, or with a port.
fn parse_address(text: &str) -> Option<IpAddr> {
    let with_port = || text.parse::<SocketAddr>().ok().map(|address| address.ip());
    let in_brackets = || text.strip_prefix('[')?.strip_suffix(']')?.parse().ok();
    text.parse().ok().or_else(with_port).or_else(in_brackets)
}

/// Judges browsers' requests by the installation's settings; a cheap handle.
#[derive(Clone)]
pub struct WebRequestPolicy {
    inner: Arc<WebSettings>,
    /// Whether the address of a client was not read: a request named one although no proxy is
    /// trusted, or it named none although one is.
    unread_address: Arc<AtomicBool>,
}

/// The settings of [`WebRequestPolicy`].
#[derive(Debug, Clone, Default)]
pub struct WebSettings {
    /// The address by which the public reaches this installation, without a trailing slash.
    pub public_url: Option<String>,
    /// Further origins whose pages may send requests with a visitor's cookies.
    pub origins: Vec<String>,
    /// How many trusted proxies are in front of this process. The client's address is this entry of
    /// `X-Forwarded-For`, counted from the right.
    pub trusted_hops: usize,
}

/// A network that limits are counted by: one IPv4 address, or an IPv6 /64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClientNetwork {
    /// The network's bits. An IPv4 address is mapped into IPv6.
    bits: u128,
    /// Whether the request came straight from this machine, past no proxy.
    is_direct_loopback: bool,
}

impl WebRequestPolicy {
    /// Makes a policy of these settings.
    #[must_use]
    pub fn new(settings: WebSettings) -> Self {
        Self {
            inner: Arc::new(settings),
            unread_address: Arc::default(),
        }
    }

    /// Returns the address by which the public reaches this installation, if it is set.
    #[must_use]
    pub fn public_url(&self) -> Option<&str> {
        self.inner.public_url.as_deref()
    }

    /// Returns one sentence for each thing in the requests so far that an operator should put
    /// right.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let seen = self.unread_address.load(Ordering::Relaxed);
        let warning = if self.inner.trusted_hops == 0 {
            UNREAD_ADDRESS
        } else {
            UNREADABLE_ADDRESS
        };
        seen.then(|| warning.to_owned()).into_iter().collect()
    }

    /// Warns once if a request came past a proxy that is not trusted.
    fn note_unread_address(&self, headers: &HeaderMap) {
        if names_another_address(headers) && !self.unread_address.swap(true, Ordering::Relaxed) {
            tracing::warn!("{UNREAD_ADDRESS}");
        }
    }

    /// Refuses a call that a browser makes for a foreign page. A call with neither `Origin` nor
    /// `Sec-Fetch-Site` does not come from a browser and is allowed.
    ///
    /// # Errors
    /// 403 `origin_refused`.
    pub fn check_origin(&self, headers: &HeaderMap) -> Result<(), Problem> {
        let text = |name| {
            headers
                .get(name)
                .map(|value: &HeaderValue| value.to_str().unwrap_or("?"))
        };
        if let Some(origin) = text(header::ORIGIN) {
            return if self.allows(origin, headers) {
                Ok(())
            } else {
                Err(origin_problem(origin))
            };
        }
        match text(header::HeaderName::from_static("sec-fetch-site")) {
            None | Some("same-origin" | "none") => Ok(()),
            Some(other) => Err(origin_problem(other)),
        }
    }

    fn allows(&self, origin: &str, headers: &HeaderMap) -> bool {
        let settings = &self.inner;
        let listed = settings.origins.iter().chain(&settings.public_url);
        if listed.into_iter().any(|allowed| allowed == origin) {
            return true;
        }
        // Without a configured address, only the request's own host is allowed.
        settings.public_url.is_none()
            && headers
                .get(header::HOST)
                .and_then(|host| host.to_str().ok())
                .is_some_and(|host| {
                    origin
                        .strip_prefix("http://")
                        .or_else(|| origin.strip_prefix("https://"))
                        == Some(host)
                })
    }

    /// Returns the network that a request comes from.
    #[must_use]
    pub fn network(&self, headers: &HeaderMap, peer: SocketAddr) -> ClientNetwork {
        let hops = self.inner.trusted_hops;
        if hops == 0 {
            self.note_unread_address(headers);
        }
        let forwarded = hops.checked_sub(1).and_then(|skip| {
            let all = headers.get_all("x-forwarded-for").iter();
            let listed: Vec<&str> = all
                .filter_map(|value| value.to_str().ok())
                .flat_map(|value| value.split(','))
                .collect();
            listed
                .iter()
                .rev()
                .nth(skip)
                .and_then(|address| parse_address(address.trim()))
        });
        match forwarded {
            Some(address) => ClientNetwork::from_address(address),
            None => {
                if hops > 0 && !self.unread_address.swap(true, Ordering::Relaxed) {
                    tracing::warn!("{UNREADABLE_ADDRESS}");
                }
                let is_direct = hops == 0 && !names_another_address(headers);
                ClientNetwork {
                    is_direct_loopback: is_direct && peer.ip().to_canonical().is_loopback(),
                    ..ClientNetwork::from_address(peer.ip())
                }
            }
        }
    }

    /// Returns whether the public reaches this installation over TLS.
    #[must_use]
    pub fn is_tls(&self) -> bool {
        let url = self.public_url();
        url.is_some_and(|url| url.starts_with("https://"))
    }
}

impl ClientNetwork {
    fn from_address(address: IpAddr) -> Self {
        let bits = match address.to_canonical() {
            IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
            IpAddr::V6(v6) => Ipv6Addr::to_bits(v6) >> 64 << 64,
        };
        Self {
            bits,
            is_direct_loopback: false,
        }
    }

    /// Returns whether the request came straight from this machine. An address that a trusted proxy
    /// reported never counts as that.
    #[must_use]
    pub fn is_direct_loopback(self) -> bool {
        self.is_direct_loopback
    }

    /// Returns the network and the wider networks around it, as their bits and the length of their
    /// prefix in IPv6: an IPv4 address and its /24, or an IPv6 /64, its /56 and its /48.
    #[must_use]
    pub fn with_wider(self) -> Vec<(u128, u8)> {
        let is_v4 = Ipv6Addr::from_bits(self.bits).to_ipv4_mapped().is_some();
        let prefixes: &[u8] = if is_v4 { &[128, 120] } else { &[64, 56, 48] };
        let bits_of = |prefix: u8| self.bits & (u128::MAX << (128 - u32::from(prefix)));
        prefixes
            .iter()
            .map(|prefix| (bits_of(*prefix), *prefix))
            .collect()
    }
}

/// Returns the peer's address, or a local address for a call made in this process, which has none.
#[must_use]
pub fn peer_of(peer: Option<&ConnectInfo<SocketAddr>>) -> SocketAddr {
    peer.map_or_else(|| SocketAddr::from(([127, 0, 0, 1], 0)), |peer| peer.0)
}

fn origin_problem(origin: &str) -> Problem {
    tracing::info!(origin, "a call from a foreign page was refused");
    Problem::new(
        ProblemCode::OriginRefused,
        "A page of another site tried to act for you here, so nothing was done. Open the address of this on-sale itself. Operators: add the site to FAIRGATE_ORIGINS.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| {
                (
                    header::HeaderName::from_static(name),
                    HeaderValue::from_str(value).expect("a header"),
                )
            })
            .collect()
    }

    #[test]
    fn only_own_and_listed_origins_are_allowed() {
        let open = WebRequestPolicy::new(WebSettings::default());
        let fixed = WebRequestPolicy::new(WebSettings {
            public_url: Some("https://sale.example".into()),
            origins: vec!["https://app.example".into()],
            trusted_hops: 0,
        });
        let check = |web: &WebRequestPolicy, pairs: &[_], expected: bool| {
            assert_eq!(
                web.check_origin(&headers(pairs)).is_ok(),
                expected,
                "{pairs:?}"
            )
        };
        check(&open, &[], true);
        check(&open, &[("host", "a:1"), ("origin", "http://a:1")], true);
        check(&open, &[("host", "a:1"), ("origin", "http://a:2")], false);
        check(&open, &[("host", "a:1"), ("origin", "null")], false);
        check(&open, &[("sec-fetch-site", "same-origin")], true);
        check(&open, &[("sec-fetch-site", "cross-site")], false);
        check(&open, &[("sec-fetch-site", "same-site")], false);
        check(
            &fixed,
            &[("host", "sale.example"), ("origin", "https://sale.example")],
            true,
        );
        check(&fixed, &[("origin", "https://app.example")], true);
        check(
            &fixed,
            &[("host", "evil.example"), ("origin", "https://evil.example")],
            false,
        );
    }

    #[test]
    fn an_ipv6_network_is_a_slash_64_and_untrusted_forwarded_addresses_are_ignored() {
        let peer = "[2001:db8:1:2:3::4]:5".parse().expect("an address");
        let other = "[2001:db8:1:2:ffff::9]:5".parse().expect("an address");
        let none = WebRequestPolicy::new(WebSettings::default());
        assert_eq!(
            none.network(&HeaderMap::new(), peer),
            none.network(&HeaderMap::new(), other)
        );
        let forged = headers(&[("x-forwarded-for", "9.9.9.9, 10.0.0.1")]);
        assert_eq!(
            none.network(&forged, peer),
            none.network(&HeaderMap::new(), peer)
        );
        let one = WebRequestPolicy::new(WebSettings {
            trusted_hops: 1,
            ..WebSettings::default()
        });
        assert_eq!(
            one.network(&forged, peer),
            ClientNetwork::from_address("10.0.0.1".parse().expect("an address"))
        );
    }

    #[test]
    fn a_proxy_that_is_not_trusted_gives_a_warning() {
        let peer = "10.0.0.1:5".parse().expect("an address");
        for (hops, header, warned) in [
            (0, "x-forwarded-for", true),
            (0, "forwarded", true),
            (0, "x-real-ip", true),
            (0, "accept", false),
            (1, "x-forwarded-for", false),
        ] {
            let web = WebRequestPolicy::new(WebSettings {
                trusted_hops: hops,
                ..WebSettings::default()
            });
            let _ = web.network(&headers(&[(header, "192.0.2.1")]), peer);
            assert_eq!(!web.warnings().is_empty(), warned, "{hops} {header}");
        }
    }

    #[test]
    fn a_forwarded_address_may_have_a_port_and_one_that_cannot_be_read_gives_a_warning() {
        let peer = "10.0.0.1:5".parse().expect("an address");
        let web = WebRequestPolicy::new(WebSettings {
            trusted_hops: 1,
            ..WebSettings::default()
        });
        let network = |told| web.network(&headers(&[("x-forwarded-for", told)]), peer);
        let plain = network("192.0.2.1");
        assert_eq!(plain, network("192.0.2.1:443"));
        assert_eq!(network("2001:db8::1"), network("[2001:db8::1]:443"));
        assert_eq!(network("2001:db8::1"), network("[2001:db8::1]"));
        assert!(web.warnings().is_empty());
        assert_ne!(plain, network("unknown"));
        assert_eq!(web.warnings(), [UNREADABLE_ADDRESS]);
    }

    #[test]
    fn a_proxy_on_this_machine_is_not_exempt() {
        let peer = "127.0.0.1:5".parse().expect("an address");
        let web = WebRequestPolicy::new(WebSettings::default());
        assert!(web.network(&HeaderMap::new(), peer).is_direct_loopback());
        let proxied = headers(&[("x-forwarded-for", "192.0.2.1")]);
        assert!(!web.network(&proxied, peer).is_direct_loopback());
    }
}
