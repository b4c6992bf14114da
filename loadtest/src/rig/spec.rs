//! Reads the value of `--rig`. Refuses a rig that cannot work before any process starts.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// The most processes of a kind. A larger number is probably a typing error.
const PROCESSES_MOST: usize = 16;
/// The most processors. Whether this machine has that many is known only when the rig starts.
const CPUS_MOST: usize = 1_024;

/// The processes of a rig. The default is one gateway with booking inside, on SQLite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RigSpecification {
    /// The number of gateways.
    pub gateways: usize,
    /// The number of booking processes. If it is 0, booking is inside every gateway.
    pub bookings: usize,
    /// The form of the fast stores, which contain the lines and the seats.
    pub redis: RedisForm,
    /// The ledger's database.
    pub ledger: RigLedgerKind,
    /// The payment provider.
    pub payments: RigPaymentProvider,
    /// How many of this machine's processors only the rig uses. The crowd then uses the others.
    /// `None` if both share all of them.
    pub cpus: Option<usize>,
}

/// The form of the fast stores, which contain the lines and the seats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedisForm {
    /// The stores are in the gateway's own memory.
    None,
    /// One Redis server.
    Single,
    /// A primary and its replica, with one address that leads to the primary.
    Replica,
    /// A primary, its replica and three sentinels.
    Sentinel,
    /// A cluster of three primaries.
    Cluster,
}

/// The ledger's database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RigLedgerKind {
    /// A SQLite file, which belongs to the only gateway.
    Sqlite,
    /// A PostgreSQL server for all processes.
    Postgres,
}

/// The payment provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RigPaymentProvider {
    /// The product's own sandbox, in which a button pays.
    Sandbox,
    /// The rig's own server, which imitates Stripe.
    Stripe,
}

impl Default for RigSpecification {
    fn default() -> Self {
        Self {
            gateways: 1,
            bookings: 0,
            redis: RedisForm::None,
            ledger: RigLedgerKind::Sqlite,
            payments: RigPaymentProvider::Sandbox,
            cpus: None,
        }
    }
}

impl RedisForm {
    const NAMES: [(&'static str, Self); 5] = [
        ("none", Self::None),
        ("single", Self::Single),
        ("replica", Self::Replica),
        ("sentinel", Self::Sentinel),
        ("cluster", Self::Cluster),
    ];
}

impl RigLedgerKind {
    const NAMES: [(&'static str, Self); 2] =
        [("sqlite", Self::Sqlite), ("postgres", Self::Postgres)];
}

impl RigPaymentProvider {
    const NAMES: [(&'static str, Self); 2] = [("sandbox", Self::Sandbox), ("stripe", Self::Stripe)];
}

impl fmt::Display for RigSpecification {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let redis = name_of(&RedisForm::NAMES, self.redis);
        let ledger = name_of(&RigLedgerKind::NAMES, self.ledger);
        let (gateways, bookings) = (self.gateways, self.bookings);
        write!(
            out,
            "gateways={gateways},bookings={bookings},redis={redis},ledger={ledger}"
        )?;
        // Nearly every rig uses the sandbox, so the text names the provider only if it is another.
        if self.payments != RigPaymentProvider::Sandbox {
            write!(
                out,
                ",payments={}",
                name_of(&RigPaymentProvider::NAMES, self.payments)
            )?;
        }
        if let Some(cpus) = self.cpus {
            write!(out, ",cpus={cpus}")?;
        }
        Ok(())
    }
}

impl FromStr for RigSpecification {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut spec = Self::default();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let (name, value) = part
                .split_once('=')
                .ok_or_else(|| format!("\"{part}\" is not NAME=VALUE"))?;
            match name {
                "gateways" => spec.gateways = count(name, value, 1..=PROCESSES_MOST)?,
                "bookings" => spec.bookings = count(name, value, 0..=PROCESSES_MOST)?,
                "redis" => spec.redis = parse_name(&RedisForm::NAMES, name, value)?,
                "ledger" => spec.ledger = parse_name(&RigLedgerKind::NAMES, name, value)?,
                "payments" => spec.payments = parse_name(&RigPaymentProvider::NAMES, name, value)?,
                "cpus" => spec.cpus = Some(count(name, value, 1..=CPUS_MOST)?),
                _ => {
                    return Err(format!(
                        "\"{name}\" is not one of gateways, bookings, redis, ledger, payments, cpus"
                    ));
                }
            }
        }
        match spec.why_it_cannot_start() {
            None => Ok(spec),
            Some(why_it_cannot_start) => Err(format!("{spec} cannot work: {why_it_cannot_start}")),
        }
    }
}

impl RigSpecification {
    fn why_it_cannot_start(&self) -> Option<&'static str> {
        let many = self.gateways > 1 || self.bookings > 0;
        if many && self.redis == RedisForm::None {
            return Some(
                "with redis=none the line and the seats live in one gateway's memory, so it must be gateways=1,bookings=0; give more nodes a redis=single|replica|sentinel|cluster and ledger=postgres",
            );
        }
        if many && self.ledger == RigLedgerKind::Sqlite {
            return Some(
                "a SQLite file belongs to one process; several nodes need ledger=postgres",
            );
        }
        if self.redis != RedisForm::None && self.ledger == RigLedgerKind::Sqlite {
            return Some("a ledger that several could share goes with Redis: say ledger=postgres");
        }
        None
    }

    /// Returns how many Redis processes store data.
    pub fn data_nodes(&self) -> usize {
        match self.redis {
            RedisForm::None => 0,
            RedisForm::Single => 1,
            RedisForm::Replica | RedisForm::Sentinel => 2,
            RedisForm::Cluster => 3,
        }
    }

    /// Returns how many Redis processes there are. The processes that store data come first, and
    /// the sentinels come after them.
    pub fn redis_nodes(&self) -> usize {
        let sentinels = if self.redis == RedisForm::Sentinel {
            3
        } else {
            0
        };
        self.data_nodes() + sentinels
    }
}

fn count(name: &str, value: &str, range: RangeInclusive<usize>) -> Result<usize, String> {
    let counted = value.parse().ok();
    counted
        .filter(|counted| range.contains(counted))
        .ok_or_else(|| {
            let (least, most) = (range.start(), range.end());
            format!("{name}={value}: a number from {least} to {most} is wanted")
        })
}

fn parse_name<T: Copy>(names: &[(&str, T)], name: &str, value: &str) -> Result<T, String> {
    let found = names.iter().find(|(known, _)| *known == value);
    found.map(|(_, form)| *form).ok_or_else(|| {
        let known: Vec<&str> = names.iter().map(|(known, _)| *known).collect();
        format!("{name}={value}: {name} is one of {}", known.join(", "))
    })
}

pub(super) fn name_of<T: Copy + PartialEq>(names: &[(&'static str, T)], form: T) -> &'static str {
    let found = names.iter().find(|(_, known)| *known == form);
    found.map_or("?", |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rig_that_cannot_work_is_refused_with_a_hint() {
        for (text, hint) in [
            ("gateways=3", "redis=single"),
            ("gateways=3,redis=single", "ledger=postgres"),
            ("bookings=1,ledger=postgres", "redis=single"),
            ("redis=cluster", "ledger=postgres"),
            ("gateways=0", "from 1 to 16"),
            ("gateways=three", "from 1 to 16"),
            ("bookings=17", "from 0 to 16"),
            ("cpus=0", "from 1 to 1024"),
            ("ledger=mysql", "sqlite, postgres"),
            ("redis=two", "sentinel"),
            ("payments=cash", "sandbox, stripe"),
            ("gateway=1", "gateways"),
            ("gateways", "NAME=VALUE"),
        ] {
            let told = text.parse::<RigSpecification>().expect_err(text);
            assert!(told.contains(hint), "{text}: {told}");
        }
    }

    #[test]
    fn a_rig_that_works_is_written_as_it_was_read() {
        assert_eq!("".parse(), Ok(RigSpecification::default()));
        for text in [
            "gateways=1,bookings=0,redis=none,ledger=sqlite",
            "gateways=1,bookings=0,redis=none,ledger=postgres",
            "gateways=3,bookings=0,redis=single,ledger=postgres",
            "gateways=3,bookings=2,redis=replica,ledger=postgres",
            "gateways=1,bookings=1,redis=sentinel,ledger=postgres",
            "gateways=3,bookings=2,redis=cluster,ledger=postgres",
            "gateways=2,bookings=2,redis=single,ledger=postgres,payments=stripe",
            "gateways=1,bookings=0,redis=none,ledger=sqlite,cpus=1",
            "gateways=1,bookings=0,redis=none,ledger=sqlite,cpus=48",
        ] {
            let spec: RigSpecification = text.parse().expect(text);
            assert_eq!(spec.to_string(), text);
        }
    }
}
