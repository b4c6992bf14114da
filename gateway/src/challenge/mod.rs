//! Challenges that a visitor solves before joining or claiming: proof of work by the ALTCHA
//! protocol, the check of an outside provider, or a wait for browsers without scripts. Work and
//! waits only cost a visitor time; they do not prove that the visitor is a person.

mod pow;
mod provider;
mod wait;

pub use pow::{ChallengeFault, ChallengeRefusal, SolvedWork, WorkChallenge, WorkChallenger};
pub use provider::{
    ChallengeProviders, ProviderChallenge, ProviderRefusal, ProviderSettings, ProvidersSettings,
};
pub use wait::{GOOD_FOR_MIN, WaitTickets};
