//! Parses the address of Redis. There is one form of URL for a single server, one for Sentinels and
//! one for a cluster.

use redis::{ConnectionInfo, IntoConnectionInfo};

use crate::RedisCallError;

/// A parsed address.
#[derive(Clone)]
pub(crate) enum RedisAddress {
    /// One server.
    Single(Box<ConnectionInfo>),
    /// A primary whose address the Sentinels know. User and password are for the Redis servers. The
    /// Sentinels are asked without them.
    Sentinel {
        sentinels: Vec<ConnectionInfo>,
        primary: String,
    },
    /// A cluster, given by some of its nodes.
    Cluster(Vec<ConnectionInfo>),
}

impl RedisAddress {
    /// Reads `redis://`, `rediss://`, `redis+sentinel://` and `redis+cluster://`.
    pub(crate) fn parse(url: &str) -> Result<Self, RedisCallError> {
        if let Some(rest) = url.strip_prefix("redis+sentinel://") {
            let (hosts, primary) = rest
                .rsplit_once('/')
                .filter(|(_, primary)| !primary.is_empty())
                .ok_or_else(|| {
                    wrong_address("it must end in the name of the primary, as in /mymaster")
                })?;
            Ok(Self::Sentinel {
                sentinels: parse_nodes(hosts)?,
                primary: primary.to_owned(),
            })
        } else if let Some(rest) = url.strip_prefix("redis+cluster://") {
            Ok(Self::Cluster(parse_nodes(rest.trim_end_matches('/'))?))
        } else if url.starts_with("redis://") || url.starts_with("rediss://") {
            Ok(Self::Single(Box::new(parse_node(url)?)))
        } else {
            Err(wrong_address(
                "it must begin with redis://, rediss://, redis+sentinel:// or redis+cluster://",
            ))
        }
    }
}

impl RedisAddress {
    /// Returns the hosts and ports, without user and password.
    pub(crate) fn without_credentials(&self) -> String {
        let nodes = |nodes: &[ConnectionInfo]| {
            let nodes: Vec<String> = nodes.iter().map(|node| node.addr().to_string()).collect();
            nodes.join(",")
        };
        match self {
            Self::Single(node) => node.addr().to_string(),
            Self::Cluster(all) => nodes(all),
            Self::Sentinel { sentinels, primary } => format!("{}/{primary}", nodes(sentinels)),
        }
    }
}

/// Parses `[user:pass@]h1:p1,h2:p2`. Every host gets the same credentials.
fn parse_nodes(text: &str) -> Result<Vec<ConnectionInfo>, RedisCallError> {
    let (credentials, hosts) = match text.rsplit_once('@') {
        Some((credentials, hosts)) => (format!("{credentials}@"), hosts),
        None => (String::new(), text),
    };
    hosts
        .split(',')
        .map(|host| {
            if host.is_empty() {
                Err(wrong_address("a host is missing between the commas"))
            } else {
                parse_node(&format!("redis://{credentials}{host}"))
            }
        })
        .collect()
}

fn parse_node(url: &str) -> Result<ConnectionInfo, RedisCallError> {
    // The message of the `redis` package about a bad URL may contain the password. So the error
    // names only the kind of fault.
    url.into_connection_info().map_err(|_| {
        wrong_address("a host, port, user, password or database number cannot be read")
    })
}

fn wrong_address(why: &str) -> RedisCallError {
    RedisCallError::Wrong(format!("the address of Redis is not valid: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str, accepted: bool) {
        assert_eq!(RedisAddress::parse(url).is_ok(), accepted, "{url}");
    }

    #[test]
    fn valid_addresses_are_parsed_and_others_are_refused() {
        for url in [
            "redis://127.0.0.1:6379",
            "redis://user:p%40ss@localhost:6379/3",
            "rediss://cache.example:6380",
            "redis+sentinel://10.0.0.1:26379,10.0.0.2:26379/mymaster",
            "redis+sentinel://user:pass@10.0.0.1:26379/mymaster",
            "redis+cluster://user:pass@10.0.0.1:7000,[::1]:7001",
        ] {
            check(url, true);
        }
        for url in [
            "",
            "127.0.0.1:6379",
            "http://127.0.0.1",
            "redis://host:port",
            "redis+sentinel://10.0.0.1:26379",
            "redis+sentinel://10.0.0.1:26379/",
            "redis+cluster://10.0.0.1:7000,,10.0.0.2:7000",
        ] {
            check(url, false);
        }
    }

    #[test]
    fn every_node_gets_the_decoded_credentials() {
        let Ok(RedisAddress::Cluster(nodes)) =
            RedisAddress::parse("redis+cluster://ana:p%40ss@a:1,b:2")
        else {
            panic!("a cluster");
        };
        for node in &nodes {
            assert_eq!(node.redis_settings().username(), Some("ana"));
            assert_eq!(node.redis_settings().password(), Some("p@ss"));
        }
        assert_eq!(nodes.len(), 2);
    }

    #[test]
    fn the_error_for_a_bad_address_does_not_contain_the_password() {
        let Err(error) = RedisAddress::parse("redis://ana:geheim@host:port") else {
            panic!("the port is not a number");
        };
        assert!(!error.to_string().contains("geheim"));
    }
}
