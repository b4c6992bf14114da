//! Joining, coming back, claiming and leaving. A place is a signed token that the visitor carries.
//! A holder hash is public, and gives access to nothing.

pub mod claim;
mod code_try;
pub mod come_back;
pub mod hold_signals;
pub mod http;
mod join;
mod leave;
mod moving;
pub mod place_view;
mod rejoin;
pub mod release;
mod tick_findings;
mod toll;
pub mod visitors_inside;
pub mod wishes;

use fairgate_pass::PlaceClaims;

pub use join::{JoinBody, JoinOutcome, JoinRefusal};
pub use moving::{IssuedMove, MoveRefusal};
pub use rejoin::{PlaceCredential, PlaceRefusal, recognise};
pub use toll::{
    BegunWait, GivenChallenge, NetworkRefusal, NoChallenge, NoWait, TollFor, TollPayer,
};

use crate::challenge::{ChallengeProviders, WaitTickets, WorkChallenger};
use crate::guard::{AttemptGuards, AttemptKind, JoinGuard, NetworkHasher, WaitGuard, WishGuard};
use crate::load::ProcessLoad;
use crate::personal::PersonalEventHub;
use crate::room::{EVERYDAY_PLACE_S, Room, RoomRegistry};
use crate::store::Place;
use crate::web::{ClientNetwork, WebRequestPolicy};

/// The incarnation in every signed place. It never changes. A store finds a place by its number and
/// holder, and it counts by itself how often a room began anew.
const INCARNATION: u64 = 1;

/// The parts that the lobby's calls need; a cheap handle.
#[derive(Clone)]
pub struct WaitingLine {
    /// The rooms of this node.
    pub rooms: RoomRegistry,
    /// Makes cookies and checks origins.
    pub web: WebRequestPolicy,
    /// Limits the joins of each network.
    pub guard: JoinGuard,
    /// Limits the challenges that each network asks for.
    pub challenge_guard: JoinGuard,
    /// Limits the waits that each network begins.
    pub wait_guard: WaitGuard,
    /// Limits how often each visitor changes its wishes.
    pub wish_guard: WishGuard,
    /// Slows networks that send wrong codes or keys.
    pub attempts: AttemptGuards,
    /// Makes challenges and checks their solutions.
    pub challenger: WorkChallenger,
    /// Asks the outside providers whether visitors passed their checks.
    pub providers: ChallengeProviders,
    /// Writes tickets for waits.
    pub waits: WaitTickets,
    /// Makes the keys under which networks are counted.
    pub hasher: NetworkHasher,
    /// Sheds joins while this process is overloaded.
    pub load: ProcessLoad,
    /// Sends an event to a visitor's sockets when the visitor leaves.
    pub personal: PersonalEventHub,
}

impl WaitingLine {
    /// Drops the guards' entries that no longer limit anybody.
    pub fn evict_guards(&self) {
        self.guard.evict();
        self.challenge_guard.evict();
        self.wait_guard.evict();
        self.wish_guard.evict();
        self.attempts.evict();
        let now = self.rooms.now_ms();
        for room in self.rooms.all() {
            room.code_turns().forget_old(now);
        }
    }

    /// Counts a wrong code or key of a network. If the network has to pause now, logs the pause
    /// with the network's hash.
    pub fn note_wrong_attempt(&self, network: ClientNetwork, kind: AttemptKind) {
        let what = kind.as_str();
        metrics::counter!("fairgate_wrong_attempts_total", "what" => what).increment(1);
        if let Some(pause) = self.attempts.of(kind).note_wrong(network) {
            let (network, pause_s) = (self.hasher.log_name(network), pause.as_secs());
            tracing::warn!(
                network,
                what,
                pause_s,
                "a network sends wrong codes or keys and has to pause"
            );
        }
    }
}

/// Builds the claims of a place. The same place always gives the same claims, and so the same JWT.
#[must_use]
pub fn place_claims(room: &Room, place: &Place) -> PlaceClaims {
    let iat = place.at.div_euclid(1000);
    PlaceClaims {
        room: room.id().to_owned(),
        incarnation: INCARNATION,
        number: place.number,
        sub: place.holder,
        code: place.code,
        commitment: room.commitment(),
        iat,
        exp: room
            .is_everyday()
            .then(|| iat.saturating_add(EVERYDAY_PLACE_S)),
    }
}

/// Signs a place as a JWT.
#[must_use]
pub fn sign_place(rooms: &RoomRegistry, room: &Room, place: &Place) -> String {
    rooms.keyring().sign_place(&place_claims(room, place))
}
