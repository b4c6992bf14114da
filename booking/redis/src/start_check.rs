//! Checks at the start of a process whether Redis can be used. The message for a fault has the
//! address without user and password, and says what is wrong and what to do.

use crate::address::RedisAddress;
use crate::health::{info_field, is_old};
use crate::{Redis, RedisCallError, RedisCommand, ServerFinding};

/// Why Redis cannot be used when the process starts. Nothing was written to it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Redis at {address} cannot be used: {fault}")]
pub struct RedisStartError {
    /// The hosts and ports, without user and password.
    address: String,
    /// What is wrong, and what to do.
    fault: String,
}

impl Redis {
    /// Checks that all servers answer, accept the password, are of the kind that the address says,
    /// and are new enough.
    ///
    /// # Errors
    /// [`RedisStartError`].
    pub async fn check_at_start(&self) -> Result<(), RedisStartError> {
        let address = &self.inner.address;
        let info = self.ask_all(&RedisCommand::new("INFO").arg("server")).await;
        let fault = match info {
            Ok(servers) => servers.iter().find_map(|info| {
                let info = info.as_text().unwrap_or_default();
                server_fault(address, info)
            }),
            Err(error) => call_fault(&error),
        };
        fault.map_or(Ok(()), |fault| {
            Err(RedisStartError {
                address: address.without_credentials(),
                fault,
            })
        })
    }
}

/// Describes what is wrong with a server that answers.
fn server_fault(address: &RedisAddress, info: &str) -> Option<String> {
    let version = info_field(info, "redis_version").unwrap_or_default();
    if is_old(version) {
        return Some(ServerFinding::Old(version.to_owned()).to_string());
    }
    let is_single = matches!(address, RedisAddress::Single(_));
    match info_field(info, "redis_mode") {
        Some("cluster") if is_single => Some(
            "it is a node of a cluster; write the address as redis+cluster://host1,host2,host3"
                .to_owned(),
        ),
        Some("sentinel") if is_single => Some(
            "it is a Sentinel; write the address as redis+sentinel://host1,host2,host3/name"
                .to_owned(),
        ),
        _ => None,
    }
}

/// Describes what is wrong if the servers did not give the answer. Returns `None` if they can be
/// used nevertheless.
fn call_fault(error: &RedisCallError) -> Option<String> {
    let (code, detail) = match error {
        RedisCallError::Unreachable(why) => {
            return Some(format!(
                "it does not answer ({why}); start it, or correct host and port"
            ));
        }
        RedisCallError::Wrong(why) => {
            return Some(format!(
                "it does not answer as Redis does ({why}); correct the address"
            ));
        }
        RedisCallError::Refused(code, detail) => (code.as_str(), detail.as_str()),
    };
    match code {
        // An account that may not read the version can still be used.
        "NOPERM" => None,
        "NOAUTH" | "WRONGPASS" => Some(format!(
            "it refuses user and password ({code}); correct them in the address"
        )),
        _ if detail.contains("cluster support disabled") => {
            Some("it is no cluster; write the address as redis://host:port".to_owned())
        }
        _ => Some(format!("it refuses ({code} {detail}); see its log")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(url: &str, version: &str, mode: &str) -> Option<String> {
        let address = RedisAddress::parse(url).expect("an address");
        let info = format!("# Server\r\nredis_version:{version}\r\nredis_mode:{mode}\r\n");
        server_fault(&address, &info)
    }

    #[test]
    fn old_servers_and_servers_of_another_kind_are_refused() {
        let single = "redis://ana:geheim@cache:6379";
        assert_eq!(fault(single, "7.0.15", "standalone"), None);
        assert_eq!(fault("redis+cluster://a:1,b:2", "7.0.15", "cluster"), None);
        for (version, mode, remedy) in [
            ("6.0.16", "standalone", "Upgrade it"),
            ("7.0.15", "cluster", "redis+cluster://"),
            ("7.0.15", "sentinel", "redis+sentinel://"),
        ] {
            let told = fault(single, version, mode).expect("a fault");
            assert!(told.contains(remedy), "{told}");
        }
    }

    #[test]
    fn an_address_is_shown_without_user_and_password() {
        for (url, shown) in [
            ("redis://ana:geheim@cache:6380/3", "cache:6380"),
            ("redis+cluster://ana:geheim@a:1,b:2", "a:1,b:2"),
            ("redis+sentinel://ana:geheim@a:1,b:2/main", "a:1,b:2/main"),
        ] {
            let address = RedisAddress::parse(url).expect("an address");
            assert_eq!(address.without_credentials(), shown, "{url}");
        }
    }
}
