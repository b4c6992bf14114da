//! Browsers without scripts wait instead of doing a proof of work. The people of one wider network
//! wait one after the other, so a network gets few places by waiting. Each person's turn takes as
//! long as a phone needs for the hardest proof of work.
//!
//! A wait is a signed ticket. The store keeps only the time at which the network's last wait ends.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use rand::Rng;
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use super::ChallengeRefusal;
use crate::ledger::NetworkKey;
use crate::store::SingleUseId;

/// What every ticket begins with. It distinguishes a ticket from the solution of a challenge.
const PREFIX: &str = "wait.";
/// How long (minutes) a ticket is good after its wait. With a longer time, a bot could collect
/// tickets in advance.
pub const GOOD_FOR_MIN: i64 = 30;
/// [`GOOD_FOR_MIN`] in milliseconds.
const GOOD_FOR_MS: i64 = GOOD_FOR_MIN * 60_000;
/// How long (bytes) a ticket may be. A longer one is refused.
const TICKET_BYTES_MAX: usize = 1_024;

/// Writes and checks tickets.
#[derive(Clone)]
pub struct WaitTickets {
    secret: [u8; 32],
}

/// What a ticket says.
#[derive(Debug, Serialize, Deserialize)]
struct WaitTicket {
    room: String,
    network: NetworkKey,
    ready_at: i64,
    id: [u8; 16],
}

impl WaitTickets {
    /// Makes the handle. `secret` is the installation's secret, which all nodes share.
    #[must_use]
    pub fn new(secret: [u8; 32]) -> Self {
        Self { secret }
    }

    /// Returns whether a text begins like a ticket. The ticket may be forged.
    #[must_use]
    pub fn is_ticket(text: &str) -> bool {
        text.starts_with(PREFIX)
    }

    /// Writes a ticket for a visitor of `network` whose wait ends at `ready_at` (ms).
    #[must_use]
    pub fn issue(
        &self,
        room: &str,
        network: NetworkKey,
        ready_at: i64,
        rng: &mut impl Rng,
    ) -> String {
        let mut id = [0; 16];
        rng.fill_bytes(&mut id);
        let ticket = WaitTicket {
            room: room.to_owned(),
            network,
            ready_at,
            id,
        };
        let json = serde_json::to_vec(&ticket).expect("numbers and text are JSON");
        let body = BASE64_URL_SAFE_NO_PAD.encode(json);
        let signature = hex::encode(self.mac(&body).finalize().into_bytes());
        format!("{PREFIX}{body}.{signature}")
    }

    /// Checks a ticket at `now` (ms).
    ///
    /// # Errors
    /// [`ChallengeRefusal::NotYet`] while the wait lasts; otherwise a refusal if the ticket does
    /// not count.
    pub fn verify(
        &self,
        room: &str,
        network: NetworkKey,
        text: &str,
        now: i64,
    ) -> Result<SingleUseId, ChallengeRefusal> {
        let ticket = self.read(text).ok_or(ChallengeRefusal::Malformed)?;
        if ticket.room != room || ticket.network != network {
            return Err(ChallengeRefusal::ForAnother);
        }
        let ready_at = ticket.ready_at;
        let expires_at = ready_at.saturating_add(GOOD_FOR_MS);
        if now < ready_at {
            return Err(ChallengeRefusal::NotYet { ready_at });
        }
        if now >= expires_at {
            return Err(ChallengeRefusal::Expired);
        }
        Ok(SingleUseId {
            id: ticket.id,
            expires_at,
        })
    }

    fn read(&self, text: &str) -> Option<WaitTicket> {
        if text.len() > TICKET_BYTES_MAX {
            return None;
        }
        let (body, signature) = text.strip_prefix(PREFIX)?.split_once('.')?;
        let signature = hex::decode(signature).ok()?;
        self.mac(body).verify_slice(&signature).ok()?;
        let json = BASE64_URL_SAFE_NO_PAD.decode(body).ok()?;
        serde_json::from_slice(&json).ok()
    }

    fn mac(&self, body: &str) -> Hmac<Sha256> {
        let mut mac =
            <Hmac<Sha256>>::new_from_slice(&self.secret).expect("HMAC takes a key of any length");
        mac.update(b"fairgate/wait/v1\0");
        mac.update(body.as_bytes());
        mac
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use super::*;

    #[test]
    fn a_ticket_counts_after_its_wait_for_its_room_and_network() {
        let tickets = WaitTickets::new([5; 32]);
        let ticket = tickets.issue("r", [1; 8], 15_000, &mut StdRng::seed_from_u64(1));
        assert!(WaitTickets::is_ticket(&ticket));
        let verify = |room, network, now| tickets.verify(room, [network; 8], &ticket, now);
        assert_eq!(
            verify("r", 1, 14_999),
            Err(ChallengeRefusal::NotYet { ready_at: 15_000 })
        );
        assert!(verify("r", 1, 15_000).is_ok());
        assert_eq!(verify("q", 1, 15_000), Err(ChallengeRefusal::ForAnother));
        assert_eq!(verify("r", 2, 15_000), Err(ChallengeRefusal::ForAnother));
        assert_eq!(
            verify("r", 1, 15_000 + GOOD_FOR_MS),
            Err(ChallengeRefusal::Expired)
        );
    }

    #[test]
    fn a_forged_ticket_does_not_count() {
        let forger = WaitTickets::new([6; 32]);
        let forged = forger.issue("r", [1; 8], 0, &mut StdRng::seed_from_u64(1));
        let tickets = WaitTickets::new([5; 32]);
        let long = format!("{PREFIX}{}", "A".repeat(TICKET_BYTES_MAX));
        for text in [&*forged, "wait.", "wait.e30.00", "wait.e30", &*long] {
            assert_eq!(
                tickets.verify("r", [1; 8], text, 1),
                Err(ChallengeRefusal::Malformed),
                "{text}"
            );
        }
    }
}
