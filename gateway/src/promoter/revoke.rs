//! Ends places for the promoter: the place of one visitor or one code, the places of one network,
//! or all places of a room.

use std::net::IpAddr;

use fairgate_pass::Holder;
use fairgate_rules::join_codes::JoinCode;
use serde::Deserialize;
use serde_json::json;

use super::controls::TRIES_MAX;
use super::{PromoterControls, RoomChangeRefusal};
use crate::ledger::{PassStopCause, PlaceSelection};
use crate::room::Room;

/// The longest reason, in characters.
const REASON_MAX: usize = 500;

/// Whose places the promoter ends. Exactly one of `visitor`, `network`, `code` and `all` must be
/// given.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RevokeInput {
    /// The visitor's holder hash in hex, as in `X-Fairgate-Visitor` and in the draw's leaves.
    pub visitor: Option<String>,
    /// An address, or one of the networks that places are counted by: IPv4 /32 or /24, IPv6 /64,
    /// /56, /48, /40 or /32.
    pub network: Option<String>,
    /// A code of the room.
    pub code: Option<String>,
    /// Must be true. Ends the places of everybody who has one now.
    pub all: Option<bool>,
    /// Why the places end. The reason is logged, and the visitors see it.
    pub reason: String,
}

/// Why a field of a revocation is not valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {why}")]
pub struct RevokeFault {
    /// The field.
    pub field: &'static str,
    /// What is wrong with the field, and what a valid value looks like.
    pub why: &'static str,
}

/// The places that end, as the input names them.
#[derive(Debug, Clone, PartialEq, Eq)]
enum RevokeTarget {
    Visitor(Holder),
    /// The network as the bits of an IPv6 address, and the length of its prefix.
    Network(u128, u8),
    Code(JoinCode),
    All,
}

impl RevokeInput {
    /// Reads the target and the reason.
    fn checked(&self) -> Result<(RevokeTarget, String), RevokeFault> {
        let reason = self.reason.trim();
        if reason.is_empty()
            || reason.chars().count() > REASON_MAX
            || reason.chars().any(char::is_control)
        {
            return Err(RevokeFault {
                field: "reason",
                why: "give a reason of 1 to 500 characters, without control characters; the visitors see it",
            });
        }
        let named_targets = [
            self.visitor.is_some(),
            self.network.is_some(),
            self.code.is_some(),
            self.all.is_some(),
        ];
        if named_targets.iter().filter(|is_named| **is_named).count() != 1 {
            return Err(RevokeFault {
                field: "visitor",
                why: "name exactly one of visitor, network, code, all",
            });
        }
        Ok((self.target()?, reason.to_owned()))
    }

    fn target(&self) -> Result<RevokeTarget, RevokeFault> {
        if let Some(visitor) = &self.visitor {
            return visitor
                .parse()
                .map(RevokeTarget::Visitor)
                .map_err(|_| RevokeFault {
                    field: "visitor",
                    why: "visitor is the holder hash, 64 hex digits, as X-Fairgate-Visitor has it",
                });
        }
        if let Some(network) = &self.network {
            let (bits, prefix) = parse_network(network).ok_or(RevokeFault {
                field: "network",
                why: "network is an address, or one of the networks that places are counted by: IPv4 /32 or /24, IPv6 /64, /56, /48, /40 or /32",
            })?;
            return Ok(RevokeTarget::Network(bits, prefix));
        }
        if let Some(code) = &self.code {
            return Ok(RevokeTarget::Code(JoinCode::of_typed(code)));
        }
        if self.all == Some(true) {
            return Ok(RevokeTarget::All);
        }
        Err(RevokeFault {
            field: "all",
            why: "all can only be true; leave it out otherwise",
        })
    }

    /// Returns the target as the audit shows it. A code is shown as its hash, because it is a
    /// credential.
    fn audited(&self, target: &RevokeTarget) -> serde_json::Value {
        match target {
            RevokeTarget::Visitor(holder) => json!({"visitor": holder.to_string()}),
            RevokeTarget::Network(..) => json!({"network": self.network}),
            RevokeTarget::Code(code) => json!({"code_sha256": code.normal.to_string()}),
            RevokeTarget::All => json!({"all": true}),
        }
    }
}

/// Reads an address or a network as the bits of an IPv6 address and the length of its prefix.
/// Returns `None` if the text is neither, or if places are not counted by prefixes of this length.
fn parse_network(text: &str) -> Option<(u128, u8)> {
    let (address, length) = match text.trim().split_once('/') {
        Some((address, length)) => (address, Some(length.parse::<u8>().ok()?)),
        None => (text.trim(), None),
    };
    let (bits, prefix) = match address.parse::<IpAddr>().ok()?.to_canonical() {
        IpAddr::V4(v4) => {
            let length = length.unwrap_or(32);
            let is_counted = matches!(length, 32 | 24);
            (
                v4.to_ipv6_mapped().to_bits(),
                is_counted.then_some(length + 96)?,
            )
        }
        IpAddr::V6(v6) => {
            let length = length.unwrap_or(64);
            let is_counted = matches!(length, 64 | 56 | 48 | 40 | 32);
            (v6.to_bits(), is_counted.then_some(length)?)
        }
    };
    Some((bits & (u128::MAX << (128 - u32::from(prefix))), prefix))
}

impl PromoterControls {
    /// Ends places of a room. Returns how many of them had a visitor. After at most two seconds,
    /// their passes open nothing new on any node. The draw keeps the leaves of these places.
    ///
    /// # Errors
    /// Fails if the input is not valid, there is no such room or no such place, or the ledger or
    /// the store does not answer.
    pub async fn revoke(&self, id: &str, input: &RevokeInput) -> Result<u64, RoomChangeRefusal> {
        let room = self.rooms.get(id)?;
        let (target, reason) = input.checked().map_err(RoomChangeRefusal::Revocation)?;
        // The ledger must have every place that was given before this call.
        self.rooms.store().flush_to_ledger(id).await?;
        let ended = match target {
            RevokeTarget::All => self.end_all_places(&room, &reason).await?,
            _ => self.revoke_selected(&room, input, &target, &reason).await?,
        };
        // The change takes effect here at once. Other nodes read it within a second.
        self.follower.catch_up().await?;
        Ok(ended)
    }

    async fn revoke_selected(
        &self,
        room: &Room,
        input: &RevokeInput,
        target: &RevokeTarget,
        reason: &str,
    ) -> Result<u64, RoomChangeRefusal> {
        let (ledger, now) = (self.rooms.ledger(), self.rooms.now_ms());
        let selections = match target {
            RevokeTarget::Visitor(holder) => vec![PlaceSelection::Holder(*holder)],
            // The code may have been stored before codes had a normal form.
            RevokeTarget::Code(code) => code.digests().map(PlaceSelection::Code).collect(),
            RevokeTarget::Network(bits, prefix) => {
                let document = &room.row().document;
                let network = (*bits, *prefix);
                let keys = self
                    .hasher
                    .keys_of_network(room.id(), document, network, now);
                vec![PlaceSelection::Networks(keys)]
            }
            RevokeTarget::All => return Ok(0),
        };
        let mut numbers = Vec::new();
        for selection in selections {
            numbers.extend(ledger.selected_places(room.id(), selection).await?);
        }
        if numbers.is_empty() {
            return Err(RoomChangeRefusal::NoSuchPlace);
        }
        let mut detail = input.audited(target);
        detail["reason"] = json!(reason);
        detail["places"] = json!(numbers.len());
        let entry = self.audit_entry("revoked", detail);
        let cause = (PassStopCause::Revoked, reason.to_owned());
        let revoked = ledger.revoke_places(room.id(), numbers, cause, now, Some(entry));
        Ok(revoked.await?)
    }

    /// Ends all places that the room has now. Sets a limit in the room's row: every place with a
    /// number below the limit has ended. The room's loop then ends the places themselves in the
    /// store.
    async fn end_all_places(&self, room: &Room, reason: &str) -> Result<u64, RoomChangeRefusal> {
        for _ in 0..TRIES_MAX {
            let row = room.row();
            let below = self.rooms.ledger().next_number(room.id()).await?;
            let now_s = self.rooms.now_ms().div_euclid(1000);
            let counts = self.rooms.store().counts(room.id(), now_s).await?;
            let living = counts.joined.saturating_sub(counts.left);
            let mut facts = row.facts.clone();
            facts.cleared_below = facts.cleared_below.max(below);
            reason.clone_into(&mut facts.cleared_note);
            let detail = json!({"all": true, "reason": reason, "places": living});
            let entry = self.audit_entry("revoked", detail);
            let new_state = (row.document.clone(), facts);
            if self
                .write_change(room, &row, new_state, &[], entry)
                .await?
                .is_some()
            {
                // Booking does not know the limit, so each pass that is still valid is stopped.
                let cause = (PassStopCause::Cleared, reason.to_owned());
                let (ledger, now) = (self.rooms.ledger(), self.rooms.now_ms());
                ledger
                    .stop_open_passes(room.id(), below, cause, now)
                    .await?;
                return Ok(living);
            }
        }
        Err(RoomChangeRefusal::ChangedMeanwhile)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_an_address_or_a_prefix_that_places_are_counted_by() {
        let v4 = |text: &str| parse_network(text).map(|(bits, prefix)| (bits as u32, prefix));
        assert_eq!(v4("192.0.2.7"), Some((0xC000_0207, 128)));
        assert_eq!(v4(" 192.0.2.7/24 "), Some((0xC000_0200, 120)));
        assert_eq!(v4("::ffff:192.0.2.7"), Some((0xC000_0207, 128)));
        let lengths = |text: &str| parse_network(text).map(|(_, prefix)| prefix);
        assert_eq!(lengths("2001:db8::1"), Some(64));
        assert_eq!(
            parse_network("2001:db8::1"),
            parse_network("2001:db8::2/64")
        );
        for length in [48, 40, 32] {
            let network = format!("2001:db8::/{length}");
            assert_eq!(lengths(&network), Some(length));
        }
        for bad in [
            "",
            "192.0.2.7/16",
            "2001:db8::/128",
            "192.0.2",
            "a/24",
            "192.0.2.7/-1",
        ] {
            assert_eq!(parse_network(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_revocation_names_one_target_and_a_reason() {
        let base = RevokeInput {
            all: Some(true),
            reason: "a fault at the door".into(),
            ..RevokeInput::default()
        };
        assert_eq!(base.checked().expect("good").0, RevokeTarget::All);
        let bad = |input: RevokeInput| input.checked().expect_err("bad").field;
        assert_eq!(
            bad(RevokeInput {
                reason: " ".into(),
                ..base.clone()
            }),
            "reason"
        );
        assert_eq!(
            bad(RevokeInput {
                reason: "a\nb".into(),
                ..base.clone()
            }),
            "reason"
        );
        assert_eq!(
            bad(RevokeInput {
                all: Some(false),
                ..base.clone()
            }),
            "all"
        );
        assert_eq!(
            bad(RevokeInput {
                all: None,
                ..base.clone()
            }),
            "visitor"
        );
        let two = RevokeInput {
            code: Some("A".into()),
            ..base.clone()
        };
        assert_eq!(bad(two), "visitor");
        let visitor = |text: &str| RevokeInput {
            visitor: Some(text.into()),
            all: None,
            ..base.clone()
        };
        assert_eq!(bad(visitor("abc")), "visitor");
        let holder = Holder([7; 32]);
        let target = visitor(&holder.to_string()).checked().expect("good").0;
        assert_eq!(target, RevokeTarget::Visitor(holder));
    }
}
