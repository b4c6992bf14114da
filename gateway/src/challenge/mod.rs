//! Challenges that a visitor solves before joining or claiming: proof of work by the ALTCHA
//! protocol, or a wait for browsers without scripts. A challenge costs a visitor time, and proves
//! nothing else.

mod pow;
mod wait;

pub use pow::{ChallengeFault, ChallengeRefusal, SolvedWork, WorkChallenge, WorkChallenger};
pub use wait::{GOOD_FOR_MIN, WaitTickets};
