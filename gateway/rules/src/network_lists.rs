//! Holds the promoter's two lists of networks: the networks that may not join a room, and the
//! networks that pay no price for its places.

use std::collections::BTreeSet;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use serde::{Deserialize, Serialize};

use super::faults::{RoomInputFaults, RoomInputRefusal};

/// The most networks in both lists together.
const NETWORKS_MAX: usize = 1_000;

/// The longest prefix of an IPv6 network. Visitors in the same /64 cannot be told apart.
const V6_PREFIX_MAX: u8 = 64;

/// The number of bits before the IPv4 address, if the address is written as IPv6.
const MAPPED_PREFIX: u8 = 96;

/// The lists as they are sent. A list that is left out is empty.
#[derive(Debug, Clone, Default, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NetworkListsInput {
    /// Networks that may neither join nor claim, such as `192.0.2.0/24` or `2001:db8::/32`.
    #[serde(default)]
    pub deny: Vec<String>,
    /// Networks that pay no price and are not counted.
    #[serde(default)]
    pub exempt: Vec<String>,
}

/// The checked lists of a room. No entry is in both.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NetworkLists {
    /// Networks that may neither join nor claim.
    #[schema(value_type = Vec<String>)]
    pub deny: Vec<IpNet>,
    /// Networks that pay no price and are not counted.
    #[schema(value_type = Vec<String>)]
    pub exempt: Vec<IpNet>,
}

/// What the lists say about a visitor's network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NetworkStanding {
    /// It is in no list.
    Ordinary,
    /// It pays no price and is not counted.
    Exempt,
    /// It may neither join nor claim.
    Denied,
}

impl NetworkLists {
    /// Checks lists that were sent.
    ///
    /// # Errors
    /// Lists all faults, each with its entry.
    pub fn from_input(input: &NetworkListsInput) -> Result<Self, RoomInputRefusal> {
        let mut faults = RoomInputFaults::default();
        let count = input.deny.len() + input.exempt.len();
        if count > NETWORKS_MAX {
            let detail = format!(
                "deny and exempt have {count} networks together; at most {NETWORKS_MAX} are allowed. Use wider networks"
            );
            faults.note_bad_value("deny", detail);
        }
        let deny = checked_list("deny", &input.deny, &mut faults);
        let exempt = checked_list("exempt", &input.exempt, &mut faults);
        for network in deny.intersection(&exempt) {
            faults.note_bad_value("exempt", format!("{network} is also in deny"));
        }
        faults.into_result()?;
        Ok(Self {
            deny: deny.into_iter().collect(),
            exempt: exempt.into_iter().collect(),
        })
    }

    /// Returns whether both lists are empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.deny.is_empty() && self.exempt.is_empty()
    }

    /// Returns what the lists say about a visitor's network. If both lists have a network that
    /// contains it, the narrower one counts.
    #[must_use]
    pub fn standing(&self, network: IpNet) -> NetworkStanding {
        match (
            narrowest(&self.deny, network),
            narrowest(&self.exempt, network),
        ) {
            (None, None) => NetworkStanding::Ordinary,
            (denied, exempt) if denied < exempt => NetworkStanding::Exempt,
            _ => NetworkStanding::Denied,
        }
    }
}

/// Returns the length of the longest prefix in the list that covers the network.
fn narrowest(list: &[IpNet], network: IpNet) -> Option<u8> {
    let containing = list.iter().filter(|listed| listed.contains(&network));
    containing.map(IpNet::prefix_len).max()
}

fn checked_list(field: &str, list: &[String], faults: &mut RoomInputFaults) -> BTreeSet<IpNet> {
    let mut networks = BTreeSet::new();
    for (at, text) in list.iter().enumerate() {
        match parse_network(text.trim()) {
            Ok(network) => {
                networks.insert(network);
            }
            Err(detail) => faults.note_bad_value(&format!("{field}[{at}]"), detail),
        }
    }
    networks
}

/// Reads a network. A single address is read as its own network. An IPv4 network that is written as
/// IPv6 becomes an IPv4 network.
fn parse_network(text: &str) -> Result<IpNet, String> {
    let excerpt: String = text.chars().take(64).collect();
    let unreadable = || {
        format!("\"{excerpt}\" is not a network such as 192.0.2.0/24, 2001:db8::/32 or 192.0.2.7")
    };
    let network = if text.contains('/') {
        text.parse().map_err(|_| unreadable())?
    } else {
        parse_address(text).ok_or_else(unreadable)?
    };
    let network = without_mapping(network);
    if network.trunc() != network {
        return Err(format!(
            "\"{excerpt}\" has bits beyond its prefix: write {} if you mean the whole network",
            network.trunc()
        ));
    }
    if matches!(network, IpNet::V6(v6) if v6.prefix_len() > V6_PREFIX_MAX) {
        return Err(format!(
            "\"{excerpt}\" is narrower than a /{V6_PREFIX_MAX}, and visitors of one /{V6_PREFIX_MAX} cannot be told apart: name the /{V6_PREFIX_MAX}"
        ));
    }
    Ok(network)
}

/// Reads an address as its own network: an IPv4 /32 or an IPv6 /64. An IPv4 address that is written
/// as IPv6 becomes an IPv6 /128.
fn parse_address(text: &str) -> Option<IpNet> {
    if let Ok(v4) = format!("{text}/32").parse::<Ipv4Net>() {
        return Some(v4.into());
    }
    let v6: Ipv6Net = format!("{text}/128").parse().ok()?;
    if v6.addr().to_ipv4_mapped().is_some() {
        return Some(v6.into());
    }
    let subnet = Ipv6Net::new(v6.addr(), V6_PREFIX_MAX).ok()?;
    Some(subnet.trunc().into())
}

fn without_mapping(network: IpNet) -> IpNet {
    let unmapped = match network {
        IpNet::V6(v6) => {
            let prefix = v6.prefix_len().checked_sub(MAPPED_PREFIX);
            let address = v6.addr().to_ipv4_mapped();
            prefix
                .zip(address)
                .and_then(|(prefix, address)| Ipv4Net::new(address, prefix).ok())
        }
        IpNet::V4(_) => None,
    };
    unmapped.map_or(network, IpNet::V4)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lists(deny: &[&str], exempt: &[&str]) -> Result<NetworkLists, RoomInputRefusal> {
        let owned = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
        NetworkLists::from_input(&NetworkListsInput {
            deny: owned(deny),
            exempt: owned(exempt),
        })
    }

    fn standing(lists: &NetworkLists, network: &str) -> NetworkStanding {
        lists.standing(network.parse().expect("a network"))
    }

    #[test]
    fn a_network_in_no_list_is_ordinary() {
        let lists = lists(&["192.0.2.0/24"], &["198.51.100.0/24"]).expect("good");
        assert_eq!(standing(&lists, "192.0.2.9/32"), NetworkStanding::Denied);
        assert_eq!(standing(&lists, "198.51.100.9/32"), NetworkStanding::Exempt);
        assert_eq!(standing(&lists, "192.0.3.9/32"), NetworkStanding::Ordinary);
        assert_eq!(standing(&lists, "2001:db8::/64"), NetworkStanding::Ordinary);
    }

    #[test]
    fn of_two_entries_the_narrower_one_counts() {
        let lists = lists(
            &["10.0.0.0/8", "10.1.2.3"],
            &["10.1.0.0/16", "2001:db8:1:2::/64"],
        )
        .expect("good");
        assert_eq!(standing(&lists, "10.9.9.9/32"), NetworkStanding::Denied);
        assert_eq!(standing(&lists, "10.1.9.9/32"), NetworkStanding::Exempt);
        assert_eq!(standing(&lists, "10.1.2.3/32"), NetworkStanding::Denied);
    }

    #[test]
    fn addresses_and_mapped_networks_take_one_form() {
        let lists = lists(
            &["::ffff:192.0.2.0/120", "::ffff:198.51.100.7", "2001:db8::9"],
            &["0.0.0.0/0", "0.0.0.0/0"],
        )
        .expect("good");
        let text = |list: &[IpNet]| list.iter().map(IpNet::to_string).collect::<Vec<_>>();
        assert_eq!(
            text(&lists.deny),
            ["192.0.2.0/24", "198.51.100.7/32", "2001:db8::/64"]
        );
        assert_eq!(text(&lists.exempt), ["0.0.0.0/0"]);
        // All of IPv6 does not include IPv4.
        let v6 = self::lists(&["::/0"], &[]).expect("good");
        assert_eq!(standing(&v6, "192.0.2.1/32"), NetworkStanding::Ordinary);
        assert_eq!(standing(&v6, "2001:db8::/64"), NetworkStanding::Denied);
    }

    #[test]
    fn every_bad_entry_is_named() {
        let bad = [
            "192.0.2.300",
            "192.0.2.0/33",
            "192.0.2.7/24",
            "2001:db8::1/128",
            "",
            "everybody",
            "10.0.0.0/8",
        ];
        let refused = lists(&bad, &["10.0.0.0/8", "x"]).expect_err("bad");
        let fields: Vec<_> = refused.bad.iter().map(|(field, _)| &**field).collect();
        assert_eq!(
            fields,
            [
                "deny[0]",
                "deny[1]",
                "deny[2]",
                "deny[3]",
                "deny[4]",
                "deny[5]",
                "exempt[1]",
                "exempt"
            ]
        );
        assert!(refused.bad[2].1.contains("192.0.2.0/24"), "{refused:?}");
    }

    #[test]
    fn a_list_has_an_upper_bound() {
        let many: Vec<String> = (0..=NETWORKS_MAX)
            .map(|at| format!("10.0.{}.{}", at / 256, at % 256))
            .collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(lists(&many[1..], &[]).is_ok());
        assert!(lists(&many[1..], &many[..1]).is_err());
    }

    #[test]
    fn the_stored_form_is_text() {
        let lists = lists(&["192.0.2.0/24"], &["2001:db8::/32"]).expect("good");
        let text = serde_json::to_string(&lists).expect("JSON");
        assert_eq!(
            text,
            r#"{"deny":["192.0.2.0/24"],"exempt":["2001:db8::/32"]}"#
        );
        assert_eq!(
            serde_json::from_str::<NetworkLists>(&text).expect("read"),
            lists
        );
    }
}
