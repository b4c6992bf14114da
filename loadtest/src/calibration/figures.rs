//! The file of a calibration: what was measured, where and when.

use std::path::Path;

use anyhow::Context;
use serde::{Deserialize, Serialize};

use crate::machine::Machine;

/// The figures of one machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// The time of the measurement, in RFC 3339.
    pub made_at: String,
    /// The processes that were measured, as `--rig` names them.
    pub rig: String,
    /// Whether the programs were built with optimisation.
    pub optimised: bool,
    /// The machine.
    pub machine: Machine,
    /// What one unit of each kind of work costs.
    pub work: WorkCosts,
    /// The memory that one visitor takes.
    pub memory: MemoryCosts,
    /// What the ledger's disk can do.
    pub ledger: LedgerCosts,
    /// What TLS costs a proxy. Missing if `openssl` could not measure it.
    pub tls: Option<TlsCosts>,
}

/// The cost of each kind of work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkCosts {
    /// A visitor joins the line.
    pub join: WorkCost,
    /// A visitor without a socket asks for its place.
    pub poll: WorkCost,
    /// A visitor opens a live socket.
    pub socket_open: WorkCost,
    /// A live socket waits for one second.
    pub socket_wait: WorkCost,
    /// A called visitor claims its pass.
    pub enter: WorkCost,
    /// A visitor takes seats, and puts them back.
    pub hold: WorkCost,
    /// A visitor buys one seat, from the join to the ticket.
    pub purchase: WorkCost,
    /// A visitor who watches the seats gets one picture of them.
    pub picture: WorkCost,
}

/// What one unit of a kind of work costs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkCost {
    /// How many units were done in a second. The crowd ran on the same machine, so the processes
    /// may be able to do more.
    pub per_s: f64,
    /// The processor time of the gateways, in milliseconds.
    pub gateway_ms: f64,
    /// The processor time of the booking processes, in milliseconds.
    pub booking_ms: f64,
    /// The processor time of Redis, in milliseconds.
    pub redis_ms: f64,
    /// The processor time of PostgreSQL, in milliseconds.
    pub ledger_ms: f64,
    /// The bytes on the network in both directions, including those between the processes.
    pub bytes: f64,
}

/// The memory that one visitor takes, in bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryCosts {
    /// A place in the line.
    pub place_bytes: f64,
    /// A live socket in the gateway.
    pub socket_bytes: f64,
    /// A live socket in the kernel. This is how much the kernel's caches grew for each end of a
    /// socket.
    pub kernel_socket_bytes: f64,
}

/// What the ledger's disk can do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LedgerCosts {
    /// How many pages a second one writer can write if it waits until each is on the disk.
    pub syncs_per_s: f64,
    /// The commits of one purchase. Missing for SQLite, which does not count commits.
    pub commits_per_purchase: Option<f64>,
}

/// What TLS costs a proxy, from the speed of this machine's `openssl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsCosts {
    /// The processor time of one new connection, in milliseconds: a signature and a key exchange.
    pub handshake_ms: f64,
    /// The processor time to encrypt a megabyte, in milliseconds.
    pub megabyte_ms: f64,
}

impl WorkCost {
    /// Returns the processor time of all processes, in milliseconds.
    pub fn all_ms(&self) -> f64 {
        self.gateway_ms + self.booking_ms + self.redis_ms + self.ledger_ms
    }

    /// Returns this cost minus the cost of a part of the same work. No figure falls below 0.
    pub fn without(&self, part: &Self) -> Self {
        self.with(part, |all, part| (all - part).max(0.0))
    }

    /// Returns the sum of both costs.
    pub fn plus(&self, other: &Self) -> Self {
        self.with(other, |one, other| one + other)
    }

    /// Returns the cost of a part of this work, such as one of several calls.
    pub fn divided(&self, parts: f64) -> Self {
        self.with(&Self::default(), |all, _| all / parts)
    }

    fn with(&self, other: &Self, combine: impl Fn(f64, f64) -> f64) -> Self {
        Self {
            per_s: self.per_s,
            gateway_ms: combine(self.gateway_ms, other.gateway_ms),
            booking_ms: combine(self.booking_ms, other.booking_ms),
            redis_ms: combine(self.redis_ms, other.redis_ms),
            ledger_ms: combine(self.ledger_ms, other.ledger_ms),
            bytes: combine(self.bytes, other.bytes),
        }
    }
}

impl Calibration {
    /// Reads the file of a calibration.
    ///
    /// # Errors
    /// Where the file cannot be read, or is no calibration. The error says why.
    pub fn read(path: &Path) -> Result<Self, String> {
        let message = |fault: String| format!("{} is no calibration: {fault}", path.display());
        let text = std::fs::read_to_string(path).map_err(|error| message(error.to_string()))?;
        let calibration: Self =
            toml::from_str(&text).map_err(|error| message(error.to_string()))?;
        if let Some(fault) = calibration.fault() {
            return Err(message(fault));
        }
        Ok(calibration)
    }

    /// Writes the file.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn write(&self, path: &Path) -> anyhow::Result<()> {
        let text = format!(
            "# Measured by `loadtest calibrate`. Every figure holds for this machine and these processes.\n\n{}",
            toml::to_string(self)?
        );
        std::fs::write(path, text).with_context(|| format!("{} cannot be written", path.display()))
    }

    /// Returns why a figure is impossible, or `None` if none of the checked figures is.
    fn fault(&self) -> Option<String> {
        let (memory, tls) = (&self.memory, self.tls.as_ref());
        let amounts = [
            ("memory.place_bytes", memory.place_bytes),
            ("memory.socket_bytes", memory.socket_bytes),
            ("memory.kernel_socket_bytes", memory.kernel_socket_bytes),
            ("ledger.syncs_per_s", self.ledger.syncs_per_s),
            ("machine.memory_mb", self.machine.memory_mb),
            (
                "ledger.commits_per_purchase",
                self.ledger.commits_per_purchase.unwrap_or_default(),
            ),
            ("tls.handshake_ms", tls.map_or(0.0, |tls| tls.handshake_ms)),
            ("tls.megabyte_ms", tls.map_or(0.0, |tls| tls.megabyte_ms)),
        ];
        let works = self.works();
        let costs = works.iter().flat_map(|(name, work)| {
            [
                ("per_s", work.per_s),
                ("gateway_ms", work.gateway_ms),
                ("booking_ms", work.booking_ms),
                ("redis_ms", work.redis_ms),
                ("ledger_ms", work.ledger_ms),
                ("bytes", work.bytes),
            ]
            .map(|(figure, value)| (format!("work.{name}.{figure}"), value))
        });
        let amounts = amounts.map(|(name, value)| (name.to_owned(), value));
        let bad = amounts
            .into_iter()
            .chain(costs)
            .find(|(_, value)| !(0.0..=1e15).contains(value));
        if let Some((name, value)) = bad {
            return Some(format!("{name} is {value}, but must be between 0 and 1e15"));
        }
        if self.machine.memory_mb < 1.0 {
            return Some(format!(
                "machine.memory_mb is {}, but must be at least 1",
                self.machine.memory_mb
            ));
        }
        (self.machine.cpus == 0).then(|| "machine.cpus is 0, but must be at least 1".to_owned())
    }

    /// Returns each kind of work with its name.
    pub fn works(&self) -> [(&'static str, &WorkCost); 8] {
        let work = &self.work;
        [
            ("join", &work.join),
            ("poll", &work.poll),
            ("socket_open", &work.socket_open),
            ("socket_wait", &work.socket_wait),
            ("enter", &work.enter),
            ("hold", &work.hold),
            ("purchase", &work.purchase),
            ("picture", &work.picture),
        ]
    }

    /// Returns the figures as lines of text.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![
            format!(
                "{} on {} of {} ({})",
                self.rig,
                match self.machine.cpus {
                    1 => "1 processor".to_owned(),
                    cpus => format!("{cpus} processors"),
                },
                self.machine.processor,
                self.machine.system,
            ),
            "  work           a second   gateway   booking     Redis    ledger      bytes"
                .to_owned(),
            "                               ms        ms        ms        ms".to_owned(),
        ];
        lines.extend(self.works().map(|(name, work)| {
            format!(
                "  {name:<12} {:>10.0} {:>9.4} {:>9.4} {:>9.4} {:>9.4} {:>10.0}",
                work.per_s,
                work.gateway_ms,
                work.booking_ms,
                work.redis_ms,
                work.ledger_ms,
                work.bytes
            )
        }));
        let memory = &self.memory;
        lines.push(format!(
            "  memory       {:.0} bytes a place, {:.0} a socket, {:.0} more in the kernel",
            memory.place_bytes, memory.socket_bytes, memory.kernel_socket_bytes
        ));
        let commits = match self.ledger.commits_per_purchase {
            Some(commits) => format!("; {commits:.1} commits a purchase"),
            None => String::new(),
        };
        lines.push(format!(
            "  disk         {:.0} page writes a second, each waited for{commits}",
            self.ledger.syncs_per_s
        ));
        lines.push(match &self.tls {
            Some(tls) => format!(
                "  TLS          {:.2} ms a connection, {:.2} ms a megabyte, at the proxy",
                tls.handshake_ms, tls.megabyte_ms
            ),
            None => {
                "  TLS          not measured: openssl is missing, or its output was not understood"
                    .to_owned()
            }
        });
        if !self.optimised {
            lines.push(
                "  built without optimisation: these figures are of no use for plans".to_owned(),
            );
        }
        lines
    }

    /// A calibration with round figures.
    #[cfg(test)]
    pub fn example() -> Self {
        let cost = |gateway_ms: f64, bytes: f64| WorkCost {
            per_s: 1_000.0,
            gateway_ms,
            bytes,
            ..WorkCost::default()
        };
        Self {
            made_at: "2031-01-01T00:00:00Z".to_owned(),
            rig: "gateways=1,bookings=0,redis=none,ledger=sqlite".to_owned(),
            optimised: true,
            machine: Machine {
                processor: "a processor".to_owned(),
                cpus: 2,
                memory_mb: 4_000.0,
                system: "Linux".to_owned(),
                sockets_max: 20_000,
            },
            work: WorkCosts {
                join: cost(0.2, 1_000.0),
                poll: cost(0.1, 500.0),
                socket_open: cost(0.2, 1_000.0),
                socket_wait: cost(0.002, 20.0),
                enter: cost(0.2, 1_000.0),
                hold: cost(0.5, 1_000.0),
                purchase: cost(3.4, 9_000.0),
                picture: cost(0.01, 100.0),
            },
            memory: MemoryCosts {
                place_bytes: 400.0,
                socket_bytes: 2_500.0,
                kernel_socket_bytes: 2_000.0,
            },
            ledger: LedgerCosts {
                syncs_per_s: 1_000.0,
                commits_per_purchase: None,
            },
            tls: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_as_it_was_written_and_what_cannot_be_true_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("figures.toml");
        let example = Calibration::example();
        example.write(&file).expect("written");
        assert_eq!(Calibration::read(&file), Ok(example));
        let text = std::fs::read_to_string(&file).expect("text");
        for (right, wrong, told) in [
            (
                "place_bytes = 400.0",
                "place_bytes = -1.0",
                "memory.place_bytes",
            ),
            (
                "gateway_ms = 3.4",
                "gateway_ms = nan",
                "work.purchase.gateway_ms",
            ),
            ("cpus = 2", "cpus = 0", "machine.cpus"),
            ("memory_mb = 4000.0", "memory_mb = 0.0", "machine.memory_mb"),
            (
                "syncs_per_s = 1000.0",
                "syncs_per_s = 1000.0\ncommits_per_purchase = nan",
                "ledger.commits_per_purchase",
            ),
            ("cpus = 2", "cores = 2", "cores"),
            ("rig = ", "rug = ", "rug"),
        ] {
            assert!(text.contains(right), "{right}");
            std::fs::write(&file, text.replace(right, wrong)).expect("written");
            let fault = Calibration::read(&file).expect_err(wrong);
            assert!(fault.contains(told), "{wrong}: {fault}");
        }
    }
}
