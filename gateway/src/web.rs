//! Reads the origin and the network of a browser's request.

mod address_tally;
mod forwarding;
mod shop_link;

use parking_lot::Mutex;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use axum::extract::ConnectInfo;
use axum::http::{HeaderMap, HeaderValue, header};
use fairgate_base::http::{Problem, ProblemCode};
use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use address_tally::{AddressFigures, AddressTally};
use forwarding::names_client_address;
pub use forwarding::{ForwardingHeader, remove_addresses};
pub use shop_link::{ShopLink, is_path};

/// Judges browsers' requests by the installation's settings; a cheap handle.
#[derive(Clone)]
pub struct WebRequestPolicy {
    inner: Arc<WebSettings>,
    /// Counts the requests whose client's address was not read. Such a request named an address
    /// although no proxy is trusted, or named none although a proxy is trusted.
    addresses: Arc<Mutex<AddressTally>>,
}

/// The settings of [`WebRequestPolicy`].
#[derive(Debug, Clone, Default)]
pub struct WebSettings {
    /// The address by which the public reaches this installation, without a trailing slash.
    pub public_url: Option<String>,
    /// Further origins whose pages may send requests with a visitor's cookies.
    pub origins: Vec<String>,
    /// How many trusted proxies are in front of this process.
    pub trusted_hops: usize,
    /// The header in which the trusted proxies name the client's address. Without a trusted proxy,
    /// no such header is read.
    pub forwarding_header: ForwardingHeader,
    /// The shop that a room guards and that is not Fairgate's.
    pub shop: Option<ShopLink>,
}

/// A network to which limits apply: one IPv4 address, or an IPv6 /64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClientNetwork {
    /// The network's bits. An IPv4 address is mapped into IPv6.
    bits: u128,
    /// Whether the request came straight from this machine, through no proxy.
    is_direct_loopback: bool,
}

impl WebRequestPolicy {
    /// Makes a policy of these settings.
    #[must_use]
    pub fn new(settings: WebSettings) -> Self {
        Self {
            inner: Arc::new(settings),
            addresses: Arc::new(Mutex::new(AddressTally::new(Instant::now()))),
        }
    }

    /// Returns the address by which the public reaches this installation, if it is set.
    #[must_use]
    pub fn public_url(&self) -> Option<&str> {
        self.inner.public_url.as_deref()
    }

    /// Returns the further origins whose pages may make calls.
    #[must_use]
    pub fn origins(&self) -> &[String] {
        &self.inner.origins
    }

    /// Returns one text for each problem that an operator should solve, judged by the requests of
    /// the last minutes.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let figures = self.addresses.lock().figures_to_warn_of(Instant::now());
        let warning = figures.map(|figures| self.address_warning(figures));
        warning.into_iter().collect()
    }

    fn address_warning(&self, AddressFigures { requests, unread }: AddressFigures) -> String {
        let header = &self.inner.forwarding_header;
        if self.inner.trusted_hops == 0 {
            format!(
                "Requests name their client's address in a header that is not read, because FAIRGATE_TRUSTED_HOPS is 0: {unread} of the last {requests} did. If a proxy is in front, all its visitors count as one network, which gets few places: set FAIRGATE_TRUSTED_HOPS to the number of proxies. If there is none, clients made up the header, and nothing is wrong"
            )
        } else {
            format!(
                "Requests come without a readable address in {header}, although FAIRGATE_TRUSTED_HOPS is set: {unread} of the last {requests} did. They all count as the network of their proxy, which gets few places. Let the proxies name their client in {header}, or set FAIRGATE_FORWARDING_HEADER to the header that they write. Then set FAIRGATE_TRUSTED_HOPS to the number of proxies"
            )
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
        let allowed_origins = settings.origins.iter().chain(&settings.public_url);
        if allowed_origins.into_iter().any(|allowed| allowed == origin) {
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

    /// Returns the header that the client's address is read from.
    #[must_use]
    pub fn forwarding_header(&self) -> &ForwardingHeader {
        &self.inner.forwarding_header
    }

    /// Returns the shop that the room guards, if it guards one.
    #[must_use]
    pub fn shop_of(&self, room: &str) -> Option<&ShopLink> {
        let shop = self.inner.shop.as_ref();
        shop.filter(|shop| shop.room == room)
    }

    /// Returns the address of the client: the one that the trusted proxies named, or else the
    /// peer's.
    #[must_use]
    pub fn client_address(&self, headers: &HeaderMap, peer: SocketAddr) -> IpAddr {
        self.address_from_proxies(headers).unwrap_or(peer.ip())
    }

    /// Returns whether a request came through a proxy: one that is trusted, or one that names a
    /// client.
    #[must_use]
    pub fn came_through_proxy(&self, headers: &HeaderMap) -> bool {
        self.inner.trusted_hops > 0 || names_client_address(headers)
    }

    /// Returns the network that a request comes from. Counts the request for [`Self::warnings`].
    #[must_use]
    pub fn network(&self, headers: &HeaderMap, peer: SocketAddr) -> ClientNetwork {
        let is_proxied = self.inner.trusted_hops > 0;
        let forwarded_address = self.address_from_proxies(headers);
        // Without trusted proxies, a request that names another address came through a proxy. If
        // that proxy runs on this machine, its clients must not count as this machine.
        let is_unread = if is_proxied {
            forwarded_address.is_none()
        } else {
            names_client_address(headers)
        };
        self.addresses.lock().count(is_unread, Instant::now());
        let is_direct = !is_proxied && !is_unread;
        ClientNetwork {
            is_direct_loopback: is_direct && peer.ip().to_canonical().is_loopback(),
            ..ClientNetwork::from_address(forwarded_address.unwrap_or(peer.ip()))
        }
    }

    /// Returns the client's address that the trusted proxies named.
    fn address_from_proxies(&self, headers: &HeaderMap) -> Option<IpAddr> {
        let settings = &self.inner;
        settings
            .forwarding_header
            .client_address(headers, settings.trusted_hops)
    }

    /// Returns whether the public reaches this installation over TLS.
    #[must_use]
    pub fn is_tls(&self) -> bool {
        let url = self.public_url();
        url.is_some_and(|url| url.starts_with("https://"))
    }
}

impl ClientNetwork {
    /// Returns the network of an address.
    pub(crate) fn from_address(address: IpAddr) -> Self {
        let bits = match address.to_canonical() {
            IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
            IpAddr::V6(v6) => Ipv6Addr::to_bits(v6) >> 64 << 64,
        };
        Self {
            bits,
            is_direct_loopback: false,
        }
    }

    /// Returns whether the request came straight from this machine. With trusted proxies in front,
    /// this is always false.
    #[must_use]
    pub fn is_direct_loopback(self) -> bool {
        self.is_direct_loopback
    }

    /// Returns the network as a prefix: an IPv4 /32 or an IPv6 /64.
    #[must_use]
    pub fn prefix(self) -> IpNet {
        let address = Ipv6Addr::from_bits(self.bits);
        match address.to_ipv4_mapped() {
            Some(v4) => Ipv4Net::from(v4).into(),
            None => Ipv6Net::new_assert(address, 64).into(),
        }
    }

    /// Returns the network and the wider networks around it, as their bits and the length of their
    /// prefix in IPv6: an IPv4 address and its /24, or an IPv6 /64, its /56, /48, /40 and /32.
    #[must_use]
    pub fn with_wider(self) -> Vec<(u128, u8)> {
        let is_v4 = Ipv6Addr::from_bits(self.bits).to_ipv4_mapped().is_some();
        let prefixes: &[u8] = if is_v4 {
            &[128, 120]
        } else {
            &[64, 56, 48, 40, 32]
        };
        let bits_of = |prefix: u8| self.bits & (u128::MAX << (128 - u32::from(prefix)));
        prefixes
            .iter()
            .map(|prefix| (bits_of(*prefix), *prefix))
            .collect()
    }
}

/// Returns the peer's address. A call made in this process has no peer, and gets a local address.
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
            ..WebSettings::default()
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

    fn behind_proxies(hops: usize, header: &str) -> WebRequestPolicy {
        WebRequestPolicy::new(WebSettings {
            trusted_hops: hops,
            forwarding_header: ForwardingHeader::parse(header).expect("a header"),
            ..WebSettings::default()
        })
    }

    #[test]
    fn an_address_that_is_not_read_gives_a_warning() {
        let peer = "10.0.0.1:5".parse().expect("an address");
        for (hops, read, sent, warning) in [
            (
                0,
                "x-forwarded-for",
                "x-forwarded-for",
                Some("TRUSTED_HOPS is 0"),
            ),
            (0, "x-forwarded-for", "forwarded", Some("TRUSTED_HOPS is 0")),
            (0, "x-forwarded-for", "x-real-ip", Some("TRUSTED_HOPS is 0")),
            (0, "x-forwarded-for", "accept", None),
            (1, "x-forwarded-for", "x-forwarded-for", None),
            (
                1,
                "x-forwarded-for",
                "x-real-ip",
                Some("address in X-Forwarded-For"),
            ),
            (1, "x-real-ip", "x-real-ip", None),
            (
                1,
                "x-real-ip",
                "x-forwarded-for",
                Some("address in x-real-ip"),
            ),
        ] {
            let web = behind_proxies(hops, read);
            let _ = web.network(&headers(&[(sent, "192.0.2.1")]), peer);
            let told = web.warnings();
            assert_eq!(told.len(), usize::from(warning.is_some()), "{told:?}");
            let told = told.into_iter().next().unwrap_or_default();
            assert!(told.contains(warning.unwrap_or_default()), "{told}");
        }
    }

    #[test]
    fn only_the_chosen_header_is_read() {
        let peer = "10.0.0.1:5".parse().expect("an address");
        let all = headers(&[
            ("x-forwarded-for", "192.0.2.1"),
            ("forwarded", "for=192.0.2.2"),
            ("x-real-ip", "192.0.2.3"),
            ("cf-connecting-ip", "192.0.2.4"),
        ]);
        for (header, address) in [
            ("X-Forwarded-For", "192.0.2.1"),
            ("Forwarded", "192.0.2.2"),
            ("X-Real-IP", "192.0.2.3"),
            ("CF-Connecting-IP", "192.0.2.4"),
        ] {
            let network = behind_proxies(1, header).network(&all, peer);
            let address = address.parse().expect("an address");
            assert_eq!(network, ClientNetwork::from_address(address), "{header}");
        }
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
