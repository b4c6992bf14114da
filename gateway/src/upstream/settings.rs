//! The settings that say where booking runs: in this process, or at other addresses.

use std::net::IpAddr;

use fairgate_base::config::{InternalSettings, SettingReader};
use reqwest::Url;

/// Where booking runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UpstreamSettings {
    /// `FAIRGATE_BOOKING_URL`: base addresses of booking processes, separated by commas. Without
    /// addresses, booking is in this process.
    pub bases: Vec<Url>,
    /// The key by which booking recognises this gateway.
    pub internal: InternalSettings,
}

impl UpstreamSettings {
    /// Reads the settings, and reports the faults in them.
    pub fn read(reader: &mut SettingReader) -> Self {
        let expected =
            "a list of addresses such as http://10.0.0.5:8090, without paths, separated by commas";
        let upstream = Self {
            bases: reader.parsed_or_default("booking_url", Vec::new(), expected, |text| {
                text.split(',')
                    .map(|part| parse_base_url(part.trim()))
                    .collect()
            }),
            internal: InternalSettings::read(reader),
        };
        let remote_base = upstream.bases.iter().find(|base| !is_loopback(base));
        if let (Some(base), None) = (remote_base, &upstream.internal.key) {
            reader.fault(format!(
                "booking at {base} is on another machine and must know its gateways: set FAIRGATE_INTERNAL_KEY to the same key on both machines"
            ));
        }
        if !upstream.bases.is_empty() && reader.setting_source("database_url").is_none() {
            reader.fault(
                "FAIRGATE_BOOKING_URL: gateway and booking share one ledger, and only one process can use a SQLite file: set FAIRGATE_DATABASE_URL for both, or remove FAIRGATE_BOOKING_URL and let this gateway host booking itself",
            );
        }
        upstream
    }
}

/// Reads a base address: a scheme, a host and a port. A path is refused, because booking's own
/// paths begin at the root.
pub(super) fn parse_base_url(text: &str) -> Option<Url> {
    let url: Url = text.parse().ok()?;
    let is_base_url = matches!(url.scheme(), "http" | "https")
        && url.has_host()
        && url.path() == "/"
        && url.query().is_none()
        && url.fragment().is_none()
        && url.username().is_empty()
        && url.password().is_none();
    is_base_url.then_some(url)
}

/// Returns whether an address is on this machine.
fn is_loopback(base: &Url) -> bool {
    let host = base.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || address
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}
