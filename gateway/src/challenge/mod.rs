//! Challenges that a visitor solves before joining or claiming. A challenge is a proof of work by
//! the ALTCHA protocol, or the check of an outside provider. Browsers without scripts wait instead.
//! Work and waits only cost a visitor time. They do not prove that the visitor is a person.

mod pow;
mod provider;
mod wait;

pub use pow::{ChallengeFault, ChallengeRefusal, SolvedWork, WorkChallenge, WorkChallenger};
pub use provider::{
    ChallengeProviders, ProviderChallenge, ProviderRefusal, ProviderSettings, ProvidersSettings,
};
pub use wait::{GOOD_FOR_MIN, WaitTickets};
