//! The settings of the address where operators look at a process.

use std::net::SocketAddr;

use super::SettingReader;

/// The settings of the operators' own address.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OpsSettings {
    /// `FAIRGATE_OPS_LISTEN`: a separate address and port for operators. It answers `/metrics` and
    /// the whole `/readyz` without a key. The public port then has no `/metrics`. Default: none.
    pub listen: Option<SocketAddr>,
}

impl OpsSettings {
    /// The knobs of these settings.
    pub const KNOBS: [&'static str; 1] = ["ops_listen"];

    /// Reads these settings. `public` is the address that visitors reach.
    pub fn read(reader: &mut SettingReader, public: SocketAddr) -> Self {
        let expected = "an address and port such as 127.0.0.1:9090";
        let listen: Option<SocketAddr> =
            reader.parsed_or_default("ops_listen", None, expected, |text| {
                text.parse().ok().map(Some)
            });
        if listen.is_some_and(|address| address == public && address.port() != 0) {
            reader.fault(format!(
                "FAIRGATE_OPS_LISTEN and FAIRGATE_LISTEN are both {public}: give operators a port of their own, or remove FAIRGATE_OPS_LISTEN"
            ));
        }
        Self { listen }
    }
}
