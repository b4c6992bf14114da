//! The registry of ids. Each kind of id is a type of its own. The ids of shows and venues are
//! slugs. All other ids are opaque to clients, and contain their show, so that any node finds the
//! show's slot in a Redis Cluster from the id alone.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use fairgate_pass::Holder;
use hmac::{Hmac, KeyInit, Mac};
use rand::RngExt;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};

/// The greatest length of a slug (of a room, show or venue), in characters.
const SLUG_MAX: usize = 64;

/// Why a text is not an id or a slug.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// The text is not a slug. A slug has 1 to 64 characters from `a–z`, `0–9` and `-`, and
    /// begins with a letter or a digit.
    #[error(
        "a name is 1 to {SLUG_MAX} characters from a-z, 0-9 and \"-\", and begins with a letter or a digit"
    )]
    Slug,
    /// The text is not an id of the expected kind.
    #[error("this is not a {0} id")]
    Kind(&'static str),
}

/// Returns whether `text` may name a room, a show or a venue.
#[must_use]
pub fn is_slug(text: &str) -> bool {
    (1..=SLUG_MAX).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        && !text.starts_with('-')
}

macro_rules! text_id {
    ($name:ident, $doc:literal, $error:expr, $accepts:expr) => {
        #[doc = $doc]
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(String);

        impl $name {
            /// Returns the id as it is written.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                let accepts: fn(&str) -> bool = $accepts;
                if accepts(text) {
                    Ok(Self(text.to_owned()))
                } else {
                    Err($error)
                }
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?
                    .parse()
                    .map_err(serde::de::Error::custom)
            }
        }
    };
}

macro_rules! show_id {
    ($name:ident, $prefix:literal, $doc:literal) => {
        text_id!($name, $doc, IdError::Kind($prefix), |text| split(
            $prefix, text
        )
        .is_some());

        impl $name {
            /// Returns the show that this id contains.
            #[must_use]
            pub fn show(&self) -> ShowId {
                let show = split($prefix, &self.0).map_or("", |(show, _)| show);
                ShowId(show.to_owned())
            }

            fn derived(show: &ShowId, parts: &[&[u8]]) -> Self {
                Self(format!("{}_{}_{}", $prefix, show, digest($prefix, parts)))
            }
        }
    };
}

text_id!(
    ShowId,
    "A show's promoter-chosen slug.",
    IdError::Slug,
    is_slug
);
text_id!(
    VenueId,
    "A venue's promoter-chosen slug.",
    IdError::Slug,
    is_slug
);
show_id!(HoldId, "hold", "A hold: `hold_{show}_{32 hex}`.");
show_id!(OrderId, "order", "An order: `order_{show}_{32 hex}`.");
show_id!(
    PaymentId,
    "payment",
    "A payment: `payment_{show}_{32 hex}`."
);
show_id!(TicketId, "ticket", "A ticket: `ticket_{show}_{32 hex}`.");
show_id!(
    WaiterId,
    "waiter",
    "A party on a show's waitlist: `waiter_{show}_{32 hex}`."
);
show_id!(RefundId, "refund", "A refund: `refund_{show}_{32 hex}`.");

/// Derives the id of a hold from the call that makes the hold, with a secret of the installation. A
/// retry therefore finds the hold of the first try on any node, and nobody can guess the id.
#[derive(Clone)]
pub struct HoldIdDeriver {
    secret: [u8; 32],
}

impl HoldIdDeriver {
    /// Makes a deriver with the installation's secret.
    #[must_use]
    pub fn new(secret: [u8; 32]) -> Self {
        Self { secret }
    }

    /// Returns the id of the hold that a visitor's call makes with an idempotency key.
    #[must_use]
    pub fn hold_of_key(&self, show: &ShowId, visitor: Holder, key: &str) -> HoldId {
        self.derive_hold_id(show, &[b"key", &visitor.0, key.as_bytes()])
    }

    /// Returns the id of the hold for a visitor's journey over some legs of a train. The same
    /// journey and `round` always give the same id. `round` is how many of the visitor's earlier
    /// holds for this journey have become orders.
    #[must_use]
    pub fn hold_of_journey(
        &self,
        show: &ShowId,
        visitor: Holder,
        legs: &Range<u16>,
        round: u32,
    ) -> HoldId {
        let (from, to) = (legs.start.to_be_bytes(), legs.end.to_be_bytes());
        let parts: [&[u8]; 5] = [b"journey", &visitor.0, &from, &to, &round.to_be_bytes()];
        self.derive_hold_id(show, &parts)
    }

    /// Returns the id of the hold for the new seats that an exchange call with this idempotency key
    /// takes for an order.
    #[must_use]
    pub fn hold_of_exchange(&self, show: &ShowId, order: &OrderId, key: &str) -> HoldId {
        let parts: [&[u8]; 3] = [b"exchange", order.0.as_bytes(), key.as_bytes()];
        self.derive_hold_id(show, &parts)
    }

    /// Takes 128 bits of HMAC-SHA-256 over length-prefixed parts, so that no two lists of parts
    /// give the same input.
    fn derive_hold_id(&self, show: &ShowId, parts: &[&[u8]]) -> HoldId {
        let mut mac =
            <Hmac<Sha256>>::new_from_slice(&self.secret).expect("HMAC takes a key of any length");
        mac.update(b"fairgate/id/v2/hold");
        for part in [show.0.as_bytes()].iter().chain(parts) {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part);
        }
        let digest: [u8; 32] = mac.finalize().into_bytes().into();
        HoldId(format!("hold_{show}_{}", hex::encode(&digest[..16])))
    }
}

/// These functions make ids without a secret. The first three derive ids as earlier versions did,
/// and serve to find the holds that those versions made.
impl HoldId {
    /// Returns the id that earlier versions gave to the hold of a visitor's call with this
    /// idempotency key.
    #[must_use]
    pub fn of_key(show: &ShowId, visitor: Holder, key: &str) -> Self {
        Self::derived(show, &[&visitor.0, key.as_bytes()])
    }

    /// Returns the id that earlier versions gave to the hold for a visitor's journey over some legs
    /// of a train.
    #[must_use]
    pub fn of_journey(show: &ShowId, visitor: Holder, legs: &Range<u16>, round: u32) -> Self {
        let (from, to) = (legs.start.to_be_bytes(), legs.end.to_be_bytes());
        let parts: [&[u8]; 5] = [b"journey", &visitor.0, &from, &to, &round.to_be_bytes()];
        Self::derived(show, &parts)
    }

    /// Returns the id that earlier versions gave to the hold for the new seats of an order, for an
    /// exchange call with this idempotency key.
    #[must_use]
    pub fn of_exchange(show: &ShowId, order: &OrderId, key: &str) -> Self {
        let parts: [&[u8]; 3] = [b"exchange", order.0.as_bytes(), key.as_bytes()];
        Self::derived(show, &parts)
    }

    /// Returns the id of the hold that locks seats for an order whose money came late.
    /// `which_seats` is `same` for the order's own seats and `other` for seats like them. A worker
    /// that was interrupted derives the same id again, and so finds its own locks.
    #[must_use]
    pub fn of_late_money(order: &OrderId, which_seats: &str) -> Self {
        let parts: [&[u8]; 3] = [b"late-money", order.0.as_bytes(), which_seats.as_bytes()];
        Self::derived(&order.show(), &parts)
    }

    /// Returns the ids of the two holds that may lock seats for an order whose money came late: the
    /// hold of the order's own seats, and the hold of seats like them.
    #[must_use]
    pub fn both_of_late_money(order: &OrderId) -> [Self; 2] {
        ["same", "other"].map(|which_seats| Self::of_late_money(order, which_seats))
    }

    /// Returns the id of the hold for a waiter's nth offer. Every node gets the same id, so the
    /// offer is made once.
    #[must_use]
    pub fn of_offer(waiter: &WaiterId, nth: u32) -> Self {
        let parts: [&[u8]; 3] = [b"offer", waiter.0.as_bytes(), &nth.to_be_bytes()];
        Self::derived(&waiter.show(), &parts)
    }

    /// Makes a random id, for a call without an idempotency key.
    #[must_use]
    pub fn random(show: &ShowId, rng: &mut impl rand::Rng) -> Self {
        Self::derived(show, &[&rng.random::<[u8; 32]>()])
    }
}

impl WaiterId {
    /// Makes a random id, for a party that has just joined the waitlist.
    #[must_use]
    pub fn random(show: &ShowId, rng: &mut impl rand::Rng) -> Self {
        Self::derived(show, &[&rng.random::<[u8; 32]>()])
    }
}

impl OrderId {
    /// Returns the id of the order that a hold becomes. A hold becomes at most one order.
    #[must_use]
    pub fn of_hold(hold: &HoldId) -> Self {
        Self::derived(&hold.show(), &[hold.0.as_bytes()])
    }
}

impl PaymentId {
    /// Returns the id of an order's only payment.
    #[must_use]
    pub fn of_order(order: &OrderId) -> Self {
        Self::derived(&order.show(), &[order.0.as_bytes()])
    }
}

impl RefundId {
    /// Returns the id of the nth refund of an order, counted from 1. The provider knows the refund
    /// by this id.
    #[must_use]
    pub fn of_order(order: &OrderId, nth: u32) -> Self {
        Self::derived(&order.show(), &[order.0.as_bytes(), &nth.to_be_bytes()])
    }
}

impl TicketId {
    /// Returns the id of the ticket for one seat of an order.
    #[must_use]
    pub fn of_seat(order: &OrderId, seat: u32) -> Self {
        Self::derived(&order.show(), &[order.0.as_bytes(), &seat.to_be_bytes()])
    }
}

/// Splits `prefix_show_suffix`. The parts are unambiguous, because the show's slug has no
/// underscore.
fn split<'a>(prefix: &str, text: &'a str) -> Option<(&'a str, &'a str)> {
    let rest = text.strip_prefix(prefix)?.strip_prefix('_')?;
    let (show, suffix) = rest.split_once('_')?;
    let hex = suffix.len() == 32
        && suffix
            .bytes()
            .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    (is_slug(show) && hex).then_some((show, suffix))
}

/// Takes 128 bits of SHA-256 over length-prefixed parts, so that no two lists of parts give the
/// same input.
fn digest(domain: &str, parts: &[&[u8]]) -> String {
    let mut hasher = Sha256::new();
    hasher.update(b"fairgate/id/v1/");
    hasher.update(domain.as_bytes());
    for part in parts {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    hex::encode(&hasher.finalize()[..16])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_contains_its_show_and_is_not_read_as_another_kind() {
        let show: ShowId = "night-1".parse().expect("a slug");
        let hold = HoldId::of_key(&show, Holder([7; 32]), "k");
        assert_eq!(hold.show(), show);
        assert_eq!(hold.as_str().parse::<HoldId>(), Ok(hold.clone()));
        assert!(hold.as_str().parse::<OrderId>().is_err());
        assert_eq!(OrderId::of_hold(&hold).show(), show);
    }

    #[test]
    fn the_same_call_gives_the_same_hold_id_and_another_visitor_or_key_gives_another() {
        let show: ShowId = "s".parse().expect("a slug");
        let ana = Holder([1; 32]);
        assert_eq!(
            HoldId::of_key(&show, ana, "k"),
            HoldId::of_key(&show, ana, "k")
        );
        assert_ne!(
            HoldId::of_key(&show, ana, "k"),
            HoldId::of_key(&show, Holder([2; 32]), "k")
        );
        assert_ne!(
            HoldId::of_key(&show, ana, "k"),
            HoldId::of_key(&show, ana, "l")
        );
    }

    #[test]
    fn the_id_of_a_call_cannot_be_derived_without_the_installations_secret() {
        let show: ShowId = "s".parse().expect("a slug");
        let (ours, theirs) = (HoldIdDeriver::new([1; 32]), HoldIdDeriver::new([2; 32]));
        let ana = Holder([1; 32]);
        let hold = ours.hold_of_key(&show, ana, "k");
        assert_eq!(ours.hold_of_key(&show, ana, "k"), hold);
        assert_eq!(hold.show(), show);
        for other in [
            theirs.hold_of_key(&show, ana, "k"),
            HoldId::of_key(&show, ana, "k"),
            ours.hold_of_key(&show, ana, "l"),
            ours.hold_of_key(&show, Holder([2; 32]), "k"),
        ] {
            assert_ne!(other, hold);
        }
        let order = OrderId::of_hold(&hold);
        let exchange = ours.hold_of_exchange(&show, &order, "k");
        assert_ne!(exchange, HoldId::of_exchange(&show, &order, "k"));
    }

    #[test]
    fn malformed_texts_are_no_ids() {
        for text in [
            "",
            "hold_",
            "hold_a",
            "hold_A_00",
            "hold_a_0",
            "hold__00000000000000000000000000000000",
            "hold_a_0000000000000000000000000000000G",
        ] {
            assert!(text.parse::<HoldId>().is_err(), "{text}");
        }
        for text in ["", "-a", "A", "a b", "ä", "a_b"] {
            assert!(text.parse::<ShowId>().is_err(), "{text}");
        }
    }
}
