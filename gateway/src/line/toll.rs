//! The toll is the challenge that a visitor must solve for a place or a pass. It depends on how
//! many places the visitor's network has. This module also checks whether the visitor solved it.

use fairgate_pass::Holder;
use fairgate_rules::network_limits::{
    JoinProof, NetworkBounds, NetworkPlaces, NetworkPrice, TollDemand, WorkLevel, price,
};
use fairgate_rules::network_lists::NetworkStanding;
use fairgate_rules::room_document::ChallengePolicy;
use rand::Rng;

use super::WaitingLine;
use crate::challenge::{
    ChallengeFault, ChallengeRefusal, ProviderChallenge, ProviderRefusal, WaitTickets,
    WorkChallenge, WorkChallenger,
};
use crate::guard::GuardRefusal;
use crate::ledger::NetworkKeys;
use crate::room::Room;
use crate::store::{
    NetworkToll, SingleUseId, StoreFailure, TollRefusal, WaitRequest, WaitReservation,
};
use crate::web::ClientNetwork;

/// A visitor who must show that the network's price was paid.
#[derive(Debug, Clone, Copy)]
pub struct TollPayer<'a> {
    /// The holder of the place.
    pub holder: Holder,
    /// The solution that the visitor sent.
    pub solution: Option<&'a str>,
    /// The visitor's network.
    pub network: ClientNetwork,
}

/// Why a visitor's network stopped a join or a claim.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NetworkRefusal {
    /// A challenge must be solved first.
    #[error("a challenge must be solved first")]
    ChallengeMissing,
    /// The solution that was sent does not count.
    #[error(transparent)]
    Challenge(#[from] ChallengeRefusal),
    /// The solution was used before.
    #[error("the solution was used before")]
    SolutionUsed,
    /// The network has all its places. A proof of work gives it no further place.
    #[error("the network has all its places in this room")]
    Full,
    /// The network has all the places that it gets without the check of the room's provider.
    #[error("the network has all the places in this room that it gets without a check")]
    FullUnchecked,
    /// The answer of the room's provider does not count.
    #[error(transparent)]
    Provider(#[from] ProviderRefusal),
    /// The network sends answers of the provider too often. The provider must check each of them.
    #[error(transparent)]
    Guard(#[from] GuardRefusal),
    /// The promoter lets nobody of this network join or claim.
    #[error("the promoter has closed the room to the network")]
    Denied,
}

/// The longest wait (ms) in place of a challenge, including the waits of all visitors who wait
/// before this one. A visitor who would wait longer is refused.
const WAIT_MS_MAX: i64 = 300_000;

/// What a visitor must solve.
#[derive(Debug)]
pub enum GivenChallenge {
    /// A proof of work.
    Work(WorkChallenge),
    /// The check of a provider.
    Check(ProviderChallenge),
}

/// A wait in place of a challenge.
#[derive(Debug)]
pub struct BegunWait {
    /// The ticket. It counts as a solution after the wait.
    pub ticket: String,
    /// When the wait ends, milliseconds since the epoch.
    pub ready_at: i64,
}

/// Why no wait was begun.
#[derive(Debug, thiserror::Error)]
pub enum NoWait {
    /// The network began too many waits, or its queue is full.
    #[error(transparent)]
    Guard(#[from] GuardRefusal),
    /// The store did not answer.
    #[error(transparent)]
    Store(#[from] StoreFailure),
}

/// Why no challenge was given.
#[derive(Debug, thiserror::Error)]
pub enum NoChallenge {
    /// The network has all its places.
    #[error(transparent)]
    Network(#[from] NetworkRefusal),
    /// The store could not count the network's places.
    #[error(transparent)]
    Store(#[from] StoreFailure),
    /// The challenge could not be made.
    #[error(transparent)]
    Challenge(#[from] ChallengeFault),
}

/// What the visitor wants to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TollFor {
    /// Get a place.
    Join,
    /// Claim the pass of a place.
    Claim,
}

impl TollFor {
    fn demand(self, room: &Room) -> TollDemand {
        let is_claim = self == Self::Claim;
        TollDemand {
            challenge: !is_claim && room.row().document.challenge != ChallengePolicy::None,
            beyond_hard: is_claim || room.needs_code(),
        }
    }
}

impl WaitingLine {
    /// Checks the solution that a visitor sent, and returns the toll that the visitor has paid. The
    /// store compares the toll with the number of places of the visitor's networks.
    ///
    /// # Errors
    /// Fails if the promoter has closed the room to the network. Fails if the solution does not
    /// count or cannot be checked now, or if the room asks everybody for a solution and none was
    /// sent.
    pub async fn toll(
        &self,
        room: &Room,
        purpose: TollFor,
        payer: TollPayer<'_>,
        now: i64,
    ) -> Result<NetworkToll, NetworkRefusal> {
        let (row, demand) = (room.row(), purpose.demand(room));
        match row.facts.networks.standing(payer.network.prefix()) {
            NetworkStanding::Denied => return Err(NetworkRefusal::Denied),
            NetworkStanding::Exempt => return Ok(NetworkToll::NONE),
            NetworkStanding::Ordinary => {}
        }
        let keys = self.network_keys(room, payer.network, now);
        let paid = match payer.solution {
            None if demand.challenge => return Err(NetworkRefusal::ChallengeMissing),
            None => None,
            Some(solution) => Some(self.check_solution(room, payer, solution, now).await?),
        };
        let proof = paid.map_or(JoinProof::None, |(proof, _)| proof);
        Ok(NetworkToll {
            keys,
            bounds: NetworkBounds::of_proof(row.document.per_network, proof, demand),
            solved: paid.map(|(_, solved)| solved),
        })
    }

    /// Checks a solution: a ticket of a wait, a proof of work, or an answer of the room's provider.
    /// Returns what the solution proves. A provider's answer costs a call to another server, so it
    /// counts against a quota of the network. The other solutions do not.
    async fn check_solution(
        &self,
        room: &Room,
        payer: TollPayer<'_>,
        solution: &str,
        now: i64,
    ) -> Result<(JoinProof, SingleUseId), NetworkRefusal> {
        if WaitTickets::is_ticket(solution) {
            let own = self.hasher.ticket_key(room.id(), payer.network);
            let solved = self.waits.verify(room.id(), own, solution, now)?;
            return Ok((JoinProof::Work(WorkLevel::LAST), solved));
        }
        let provider = room.row().document.challenge.provider();
        if let Some(provider) = provider.filter(|_| !WorkChallenger::has_solution_form(solution)) {
            self.challenge_guard.admit(payer.network)?;
            let (id, holder) = (room.id(), payer.holder);
            let checked = self.providers.verify(provider, id, holder, solution, now);
            return Ok((JoinProof::Person, checked.await?));
        }
        let work = self
            .challenger
            .verify(room.id(), payer.holder, solution, now)?;
        if provider.is_some() && !work.stands_in {
            return Err(NetworkRefusal::ChallengeMissing);
        }
        Ok((JoinProof::Work(work.level), work.challenge_id))
    }

    /// Begins a wait in place of a challenge.
    ///
    /// # Errors
    /// Fails if the network has begun too many waits, if the queue of the wider network is full, or
    /// if the store did not answer.
    pub async fn begin_wait(
        &self,
        room: &Room,
        network: ClientNetwork,
        now: i64,
        rng: &mut (impl Rng + Send),
    ) -> Result<BegunWait, NoWait> {
        self.wait_guard.admit(network)?;
        let keys = self.network_keys(room, network, now);
        // All who wait in one /24 or /48 share one queue. Otherwise a bot with many small networks
        // would wait in all of them at once. A /40 or a /32 has too many people for one queue.
        let queue = keys.lasting().last().copied().unwrap_or_default();
        let network_key = self.hasher.ticket_key(room.id(), network);
        let wait = WaitRequest {
            network: queue,
            takes_ms: i64::try_from(WorkLevel::LAST.phone_s() * 1000).unwrap_or(i64::MAX),
            longest_ms: WAIT_MS_MAX,
            now,
        };
        match self.rooms.store().reserve_wait(room.id(), wait).await? {
            WaitReservation::Until(ready_at) => Ok(BegunWait {
                ticket: self.waits.issue(room.id(), network_key, ready_at, rng),
                ready_at,
            }),
            WaitReservation::FullUntil(free_at) => {
                let wait_s = u64::try_from(free_at - now).unwrap_or(0).div_ceil(1000);
                Err(GuardRefusal::TooManyWaits { wait_s }.into())
            }
        }
    }

    fn network_keys(&self, room: &Room, network: ClientNetwork, now: i64) -> NetworkKeys {
        let row = room.row();
        self.hasher.keys(room.id(), &row.document, network, now)
    }

    /// Returns the challenge that `holder` must solve now to join or to claim. Returns `None` if
    /// there is nothing to solve.
    ///
    /// # Errors
    /// Fails if the promoter has closed the room to the network, if the network has all its places,
    /// if the store could not count them, or if the challenge could not be made.
    pub async fn challenge(
        &self,
        room: &Room,
        holder: Holder,
        network: ClientNetwork,
        now: i64,
        rng: &mut (impl Rng + Send),
    ) -> Result<Option<GivenChallenge>, NoChallenge> {
        let row = room.row();
        let document = &row.document;
        match row.facts.networks.standing(network.prefix()) {
            NetworkStanding::Denied => return Err(NetworkRefusal::Denied.into()),
            NetworkStanding::Exempt => return Ok(None),
            NetworkStanding::Ordinary => {}
        }
        let purpose = if self.has_place(room, holder, now).await? {
            TollFor::Claim
        } else {
            TollFor::Join
        };
        let keys = self.network_keys(room, network, now);
        let places = if keys.as_slice().is_empty() {
            NetworkPlaces::default()
        } else {
            let store = self.rooms.store();
            store.network_places(room.id(), keys, now).await?
        };
        let price = price(document.per_network, places, purpose.demand(room));
        let provider = document.challenge.provider();
        if price != NetworkPrice::Free
            && let Some(provider) = provider
            && let Some(check) = self.providers.challenge(provider, room.id(), holder, now)
        {
            return Ok(Some(GivenChallenge::Check(check)));
        }
        match price {
            NetworkPrice::Free => Ok(None),
            NetworkPrice::Full => Err(network_full_refusal(room).into()),
            NetworkPrice::Work(level) => {
                let stands_in = provider.is_some();
                let challenger = &self.challenger;
                let challenge =
                    challenger.challenge(room.id(), holder, level, stands_in, now, rng)?;
                Ok(Some(GivenChallenge::Work(challenge)))
            }
        }
    }
}

/// Returns the refusal for a network that gets no further place by proofs of work.
fn network_full_refusal(room: &Room) -> NetworkRefusal {
    match room.row().document.challenge.provider() {
        Some(_) => NetworkRefusal::FullUnchecked,
        None => NetworkRefusal::Full,
    }
}

/// Turns the store's refusal into the refusal that the visitor gets.
pub fn refusal_of_toll(room: &Room, purpose: TollFor, refusal: TollRefusal) -> NetworkRefusal {
    match refusal {
        TollRefusal::SolutionUsed => NetworkRefusal::SolutionUsed,
        TollRefusal::TooManyPlaces(places) => {
            match price(
                room.row().document.per_network,
                places,
                purpose.demand(room),
            ) {
                NetworkPrice::Full => network_full_refusal(room),
                // The limits may have been raised since the store refused.
                NetworkPrice::Work(_) | NetworkPrice::Free => NetworkRefusal::ChallengeMissing,
            }
        }
    }
}
