//! The settings for a shop that is not Fairgate's and that a room guards.

use std::fmt;
use std::net::SocketAddr;

use fairgate_base::config::SettingReader;
use fairgate_rules::naming::is_slug;

use crate::upstream::foreign_origin::OriginUrl;

/// The default address at which this process listens for visitors of the shop.
const LISTEN: ([u8; 4], u16) = ([127, 0, 0, 1], 8081);

/// The knobs that concern only the reverse proxy.
const PROXY_KNOBS: [&str; 2] = ["guard_listen", "guard_fail"];

/// The shop that a room guards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardSettings {
    /// `FAIRGATE_GUARD_ROOM`: the room whose pass opens the shop.
    pub room: String,
    /// `FAIRGATE_GUARD_URL`: where the public reaches the shop. Default `FAIRGATE_PUBLIC_URL`.
    pub url: OriginUrl,
    /// How this process guards the shop itself. `None` if a proxy in front asks `/v1/verify`.
    pub proxy: Option<ReverseProxySettings>,
}

/// How this process guards the shop as a reverse proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReverseProxySettings {
    /// `FAIRGATE_GUARD_ORIGIN`: where this process reaches the shop.
    pub origin: OriginUrl,
    /// `FAIRGATE_GUARD_LISTEN`: address and port for the shop's visitors. Default `127.0.0.1:8081`.
    pub listen: SocketAddr,
    /// `FAIRGATE_GUARD_FAIL`: `open` or `closed`. Default `closed`.
    pub when_unverifiable: WhenUnverifiable,
}

/// What happens to requests without a pass while the line cannot give passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenUnverifiable {
    /// They reach the shop, which may then get a crowd.
    Open,
    /// They do not reach the shop, which may then get no visitors.
    Closed,
}

impl fmt::Display for WhenUnverifiable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Open => "FAIRGATE_GUARD_FAIL=open: visitors without a pass are let through",
            Self::Closed => {
                "FAIRGATE_GUARD_FAIL=closed: visitors without a pass are not let through"
            }
        })
    }
}

impl GuardSettings {
    /// Reads the settings, and reports the faults in them. Returns `None` if no shop is guarded.
    pub fn read(
        reader: &mut SettingReader,
        public_url: Option<&str>,
        listen: SocketAddr,
    ) -> Option<Self> {
        let room = reader.parsed_or_default("guard_room", None, "the id of a room", |text| {
            is_slug(text).then(|| Some(text.to_owned()))
        });
        let address = "an address such as https://shop.example, without a path";
        let url = reader.parsed_or_default("guard_url", None, address, |text| {
            OriginUrl::parse(text).map(Some)
        });
        let proxy = ReverseProxySettings::read(reader);
        let [room_is_set, url_is_set, origin_is_set] = ["guard_room", "guard_url", "guard_origin"]
            .map(|knob| reader.setting_source(knob).is_some());
        if !room_is_set && (url_is_set || origin_is_set) {
            reader.fault(
                "FAIRGATE_GUARD_ROOM is not set: name the room whose pass opens the guarded shop, or remove the other FAIRGATE_GUARD_ settings",
            );
        }
        let room = room?;
        let Some(url) = url.or_else(|| public_url.and_then(OriginUrl::parse)) else {
            if !url_is_set {
                reader.fault(
                    "FAIRGATE_GUARD_ROOM: the lobby links to the guarded shop, but the shop's address is unknown; set FAIRGATE_GUARD_URL to the address where the public reaches the shop",
                );
            }
            return None;
        };
        let settings = Self { room, url, proxy };
        settings.check_together(reader, public_url, listen);
        Some(settings)
    }

    /// Reports values that cannot work together.
    fn check_together(
        &self,
        reader: &mut SettingReader,
        public_url: Option<&str>,
        listen: SocketAddr,
    ) {
        let Some(proxy) = &self.proxy else { return };
        if proxy.listen == listen && listen.port() != 0 {
            reader.fault(format!(
                "FAIRGATE_GUARD_LISTEN: {listen} is FAIRGATE_LISTEN, too; give the guarded shop a port of its own"
            ));
        }
        let Some(lobby_url) = public_url.and_then(OriginUrl::parse) else {
            reader.fault(
                "FAIRGATE_GUARD_ORIGIN: visitors without a pass are sent to the lobby, but the lobby's address is unknown; set FAIRGATE_PUBLIC_URL to the address where the public reaches the lobby",
            );
            return;
        };
        // A browser sends the cookie with the pass only to the host that set the cookie. The port
        // does not matter.
        if (lobby_url.host(), lobby_url.scheme()) != (self.url.host(), self.url.scheme()) {
            reader.fault(format!(
                "FAIRGATE_GUARD_URL: browsers send the pass of {lobby_url} only to the same host and scheme, so the pass would never reach {}; let the public reach lobby and shop at one host, on two ports or by paths",
                self.url
            ));
        }
    }
}

impl ReverseProxySettings {
    fn read(reader: &mut SettingReader) -> Option<Self> {
        let origin = reader.parsed_or_default(
            "guard_origin",
            None,
            "an address such as http://10.0.0.9:8000, without a path",
            |text| OriginUrl::parse(text).map(Some),
        );
        let listen = reader.parsed_or_default(
            "guard_listen",
            SocketAddr::from(LISTEN),
            "an address and port such as 0.0.0.0:8081",
            |text| text.parse().ok(),
        );
        let when_unverifiable = reader.parsed_or_default(
            "guard_fail",
            WhenUnverifiable::Closed,
            "one of open, closed",
            |text| match text {
                "open" => Some(WhenUnverifiable::Open),
                "closed" => Some(WhenUnverifiable::Closed),
                _ => None,
            },
        );
        if reader.setting_source("guard_origin").is_none() {
            for knob in PROXY_KNOBS {
                if reader.setting_source(knob).is_some() {
                    reader.fault(format!(
                        "FAIRGATE_{} has no effect without FAIRGATE_GUARD_ORIGIN; set FAIRGATE_GUARD_ORIGIN, or remove this setting",
                        knob.to_uppercase()
                    ));
                }
            }
        }
        origin.map(|origin| Self {
            origin,
            listen,
            when_unverifiable,
        })
    }
}

#[cfg(test)]
mod tests {
    use fairgate_base::config::SettingSources;

    use super::*;

    const KNOBS: [&str; 5] = [
        "guard_room",
        "guard_url",
        "guard_origin",
        "guard_listen",
        "guard_fail",
    ];

    fn read(
        public_url: Option<&str>,
        set: &[(&'static str, &str)],
    ) -> Result<Option<GuardSettings>, String> {
        let flags = set.iter().map(|(knob, value)| (*knob, (*value).to_owned()));
        let sources = SettingSources {
            flags: flags.collect(),
            ..SettingSources::default()
        };
        let mut reader = sources.read(&KNOBS);
        let listen = SocketAddr::from(([127, 0, 0, 1], 8080));
        let guard = GuardSettings::read(&mut reader, public_url, listen);
        reader.finish(guard).map_err(|faults| faults.to_string())
    }

    const ROOM: (&str, &str) = ("guard_room", "night-one");
    const ORIGIN: (&str, &str) = ("guard_origin", "http://10.0.0.9:8000");
    const PUBLIC: Option<&str> = Some("https://shop.example");

    #[test]
    fn a_room_and_an_origin_are_enough_behind_a_public_address() {
        assert_eq!(read(PUBLIC, &[]), Ok(None));
        let guard = read(PUBLIC, &[ROOM, ORIGIN]).expect("good").expect("set");
        let proxy = guard.proxy.expect("set");
        assert_eq!(guard.url.to_string(), "https://shop.example");
        assert_eq!(proxy.listen.to_string(), "127.0.0.1:8081");
        assert_eq!(proxy.when_unverifiable, WhenUnverifiable::Closed);
        let linked = read(None, &[ROOM, ("guard_url", "https://shop.example")]);
        assert_eq!(linked.expect("good").expect("set").proxy, None);
    }

    #[test]
    fn a_shop_on_another_port_of_the_host_works_and_on_another_host_it_does_not() {
        let local = Some("http://127.0.0.1:8080");
        let shop = ("guard_url", "http://127.0.0.1:8081");
        assert!(read(local, &[ROOM, ORIGIN, shop]).is_ok());
        for elsewhere in ["https://other.example", "http://shop.example"] {
            let told = read(PUBLIC, &[ROOM, ORIGIN, ("guard_url", elsewhere)]);
            assert!(told.expect_err("refused").contains("only to the same host"));
        }
    }

    #[test]
    fn what_cannot_work_is_refused_with_advice() {
        for (public, set, advice) in [
            (PUBLIC, vec![ORIGIN], "FAIRGATE_GUARD_ROOM is not set"),
            (None, vec![ROOM], "set FAIRGATE_GUARD_URL"),
            (
                None,
                vec![ROOM, ORIGIN, ("guard_url", "https://shop.example")],
                "set FAIRGATE_PUBLIC_URL",
            ),
            (
                PUBLIC,
                vec![ROOM, ("guard_fail", "open")],
                "set FAIRGATE_GUARD_ORIGIN",
            ),
            (
                PUBLIC,
                vec![ROOM, ORIGIN, ("guard_listen", "127.0.0.1:8080")],
                "a port of its own",
            ),
            (
                PUBLIC,
                vec![("guard_room", "Night One"), ORIGIN],
                "the id of a room",
            ),
            (
                PUBLIC,
                vec![ROOM, ("guard_origin", "http://x/shop")],
                "without a path",
            ),
            (
                PUBLIC,
                vec![ROOM, ORIGIN, ("guard_fail", "ajar")],
                "one of open, closed",
            ),
        ] {
            let told = read(public, &set).expect_err("refused");
            assert!(told.contains(advice), "{advice} in {told}");
        }
    }
}
