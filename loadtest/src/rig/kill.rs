//! Reads the values of `--kill`.

use std::fmt;
use std::str::FromStr;

use fairgate_simulation::crowd::SECONDS_MAX;

use super::spec::{RedisForm, RigLedgerKind, RigSpecification, name_of};

/// A kill that the command line asks for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlannedKill {
    /// The kind of process to kill.
    pub what: KillTarget,
    /// The time of the kill.
    pub when: KillTime,
}

/// The time of a kill.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum KillTime {
    /// A share of the planned duration.
    Share(f64),
    /// A number of seconds after the draw.
    AfterDraw(f64),
}

impl KillTime {
    /// Returns the time in seconds after the start.
    pub fn at_s(self, planned_s: f64, draw_s: f64) -> f64 {
        match self {
            Self::Share(share) => share * planned_s,
            Self::AfterDraw(after_s) => draw_s + after_s,
        }
    }
}

impl fmt::Display for KillTime {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Share(share) => write!(out, "{:.0}%", share * 100.0),
            Self::AfterDraw(after_s) => write!(out, "draw+{after_s}s"),
        }
    }
}

impl FromStr for KillTime {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str, most: f64| {
            let number = text.parse::<f64>().ok();
            number.filter(|number| (0.0..=most).contains(number))
        };
        let share = text
            .strip_suffix('%')
            .and_then(|share| number(share, 100.0));
        let after = text.strip_prefix("draw+");
        let after = after.and_then(|after| after.strip_suffix('s'));
        let after = after.and_then(|after| number(after, SECONDS_MAX));
        let share = share.map(|share| Self::Share(share / 100.0));
        share
            .or_else(|| after.map(Self::AfterDraw))
            .ok_or_else(|| format!("\"{text}\" is not a time such as 30% or draw+60s"))
    }
}

/// A kind of process to kill. If there are several gateways or booking processes, each kill takes
/// the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KillTarget {
    /// A gateway.
    Gateway,
    /// A booking process.
    Booking,
    /// The Redis that takes writes.
    Redis,
    /// PostgreSQL.
    Ledger,
}

impl KillTarget {
    const NAMES: [(&'static str, Self); 4] = [
        ("gateway", Self::Gateway),
        ("booking", Self::Booking),
        ("redis", Self::Redis),
        ("ledger", Self::Ledger),
    ];

    /// Returns why a rig has no process of this kind to kill, or `None` if it has one.
    pub fn why_missing(self, rig: &RigSpecification) -> Option<&'static str> {
        match self {
            Self::Booking if rig.bookings == 0 => {
                Some("the rig has no booking with a process of its own: say bookings=1 or more")
            }
            Self::Redis if rig.redis == RedisForm::None => {
                Some("the rig has no Redis: say redis=single or another form")
            }
            Self::Ledger if rig.ledger == RigLedgerKind::Sqlite => {
                Some("SQLite is no process: say ledger=postgres")
            }
            _ => None,
        }
    }
}

impl fmt::Display for KillTarget {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(name_of(&Self::NAMES, *self))
    }
}

impl FromStr for PlannedKill {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (what, when) = text
            .split_once('@')
            .ok_or_else(|| format!("\"{text}\" is not such as gateway@30% or gateway@draw+60s"))?;
        let what = KillTarget::NAMES.iter().find(|(name, _)| *name == what);
        let Some((_, what)) = what else {
            return Err(format!(
                "\"{text}\": what can be killed is gateway, booking, redis or ledger"
            ));
        };
        Ok(Self {
            what: *what,
            when: when.parse()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kill_needs_a_time_and_a_target_that_the_rig_has() {
        let kill: PlannedKill = "gateway@30%".parse().expect("good");
        assert_eq!(kill.when, KillTime::Share(0.3));
        assert!((kill.when.at_s(200.0, 20.0) - 60.0).abs() < 1e-9);
        let kill: PlannedKill = "gateway@draw+60s".parse().expect("good");
        assert_eq!(kill.when.to_string(), "draw+60s");
        assert!((kill.when.at_s(200.0, 20.0) - 80.0).abs() < 1e-9);
        for bad in [
            "gateway",
            "line@30%",
            "gateway@130%",
            "gateway@30",
            "gateway@draw+60",
            "gateway@draw+-1s",
        ] {
            assert!(bad.parse::<PlannedKill>().is_err(), "{bad}");
        }
        let small = RigSpecification::default();
        let large: RigSpecification = "gateways=2,bookings=2,redis=single,ledger=postgres"
            .parse()
            .expect("good");
        for (what, spared) in [
            (KillTarget::Gateway, false),
            (KillTarget::Booking, true),
            (KillTarget::Redis, true),
            (KillTarget::Ledger, true),
        ] {
            assert_eq!(what.why_missing(&small).is_some(), spared, "{what}");
            assert_eq!(what.why_missing(&large), None, "{what}");
        }
    }
}
