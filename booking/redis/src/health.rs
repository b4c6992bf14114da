//! Checks the servers. They must evict nothing, their version must have the commands that the
//! scripts use, and their clocks must be right.

use std::fmt;

use crate::{Redis, RedisCallError, RedisCommand};

/// The oldest version that has all commands of the scripts.
const OLDEST: (u32, u32) = (6, 2);
/// The largest tolerated difference between a server's clock and the ledger's clock, in
/// milliseconds.
pub const CLOCK_OFF_MS_MAX: i64 = 5_000;

/// A problem with a server that an operator should fix. It prints as a sentence for `/readyz`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerFinding {
    /// The server evicts keys when its memory is full, so it could lose locks.
    Evicts(String),
    /// The server's version is too old.
    Old(String),
    /// The server's clock is off by this many milliseconds. The number is positive if the clock is
    /// ahead.
    Clock(i64),
}

impl fmt::Display for ServerFinding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Evicts(policy) => write!(
                formatter,
                "Redis has maxmemory-policy {policy}: when its memory is full it would forget locks. Set noeviction."
            ),
            Self::Old(version) => write!(
                formatter,
                "Redis {version} is older than {}.{}, which the scripts need. Upgrade it.",
                OLDEST.0, OLDEST.1
            ),
            Self::Clock(off_ms) => write!(
                formatter,
                "The clock of Redis is {} ms {} the ledger's. Set the clock of that machine.",
                off_ms.abs(),
                if *off_ms > 0 { "ahead of" } else { "behind" }
            ),
        }
    }
}

impl Redis {
    /// Checks every primary and returns what is wrong. `now_ms` is the ledger's time now.
    ///
    /// # Errors
    /// Returns an error where a server does not answer, or `INFO` and `TIME` are not allowed.
    pub async fn check_servers(&self, now_ms: i64) -> Result<Vec<ServerFinding>, RedisCallError> {
        let mut findings = Vec::new();
        for info in self
            .ask_all(&RedisCommand::new("INFO").arg("server"))
            .await?
        {
            let version = info_field(info.as_text()?, "redis_version").unwrap_or_default();
            if is_old(version) {
                findings.push(ServerFinding::Old(version.to_owned()));
            }
        }
        // INFO contains the eviction policy. CONFIG would need more rights than the account should
        // have.
        for info in self
            .ask_all(&RedisCommand::new("INFO").arg("memory"))
            .await?
        {
            let policy = info_field(info.as_text()?, "maxmemory_policy").unwrap_or("unknown");
            if policy != "noeviction" {
                findings.push(ServerFinding::Evicts(policy.to_owned()));
            }
        }
        for time in self.ask_all(&RedisCommand::new("TIME")).await? {
            let off_ms = time.as_server_ms()? - now_ms;
            if off_ms.abs() > CLOCK_OFF_MS_MAX {
                findings.push(ServerFinding::Clock(off_ms));
            }
        }
        findings.dedup();
        Ok(findings)
    }
}

pub(crate) fn info_field<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    info.lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
        .map(str::trim)
}

pub(crate) fn is_old(version: &str) -> bool {
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) < OLDEST
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        for (version, old) in [
            ("6.0.16", true),
            ("6.2.0", false),
            ("7.0.15", false),
            ("10.1", false),
            ("", true),
        ] {
            assert_eq!(is_old(version), old, "{version}");
        }
    }

    #[test]
    fn a_field_of_info_is_found_by_its_whole_name() {
        let info = "# Memory\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n";
        assert_eq!(info_field(info, "maxmemory_policy"), Some("noeviction"));
        assert_eq!(info_field(info, "maxmemory"), Some("0"));
        assert_eq!(info_field(info, "policy"), None);
    }
}
