//! Names, kills, starts and pauses single processes of a rig.

use std::fmt;

use anyhow::Context;

use super::Rig;
use super::memory;
use super::process::{self, RigProcess};

/// One process of a rig, by kind and index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RigComponent {
    /// A gateway.
    Gateway(usize),
    /// A booking process.
    Booking(usize),
    /// A Redis server or a sentinel.
    Redis(usize),
    /// PostgreSQL.
    Ledger,
}

impl RigComponent {
    /// Returns whether it is a process of the product.
    pub fn is_ours(self) -> bool {
        matches!(self, Self::Gateway(_) | Self::Booking(_))
    }
}

impl fmt::Display for RigComponent {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gateway(index) => write!(out, "gateway-{index}"),
            Self::Booking(index) => write!(out, "booking-{index}"),
            Self::Redis(index) => write!(out, "redis-{index}"),
            Self::Ledger => out.write_str("ledger"),
        }
    }
}

impl Rig {
    /// Returns all processes of the rig.
    pub fn parts(&self) -> Vec<RigComponent> {
        let gateways = (0..self.gateways.len()).map(RigComponent::Gateway);
        let bookings = (0..self.bookings.len()).map(RigComponent::Booking);
        let redis = self
            .redis
            .as_ref()
            .map_or(0, fairgate_servers::RedisServers::count);
        let ledger = self.postgres.as_ref().map(|_| RigComponent::Ledger);
        let servers = (0..redis).map(RigComponent::Redis).chain(ledger);
        gateways.chain(bookings).chain(servers).collect()
    }

    /// Kills a process without warning.
    ///
    /// # Errors
    /// Where the rig has no such process, or the process is not running.
    pub async fn kill(&self, part: RigComponent) -> anyhow::Result<()> {
        match part {
            RigComponent::Gateway(_) | RigComponent::Booking(_) => {
                self.process(part)?.kill().await?
            }
            RigComponent::Redis(index) => self.redis()?.kill(index),
            RigComponent::Ledger => self.postgres.as_ref().context("no PostgreSQL")?.kill(),
        }
        Ok(())
    }

    /// Starts a gateway or booking process that was killed, without waiting until it is ready.
    ///
    /// # Errors
    /// Where the process cannot be started.
    pub async fn launch(&self, part: RigComponent) -> anyhow::Result<()> {
        self.process(part)?.launch().await
    }

    /// Starts a process that was killed, and waits until it answers.
    ///
    /// # Errors
    /// Where the process does not answer in time.
    pub async fn revive(&self, part: RigComponent) -> anyhow::Result<()> {
        match part {
            RigComponent::Gateway(_) | RigComponent::Booking(_) => {
                self.process(part)?.revive().await?;
            }
            RigComponent::Redis(index) => self.redis()?.start(index).await?,
            RigComponent::Ledger => {
                let postgres = self.postgres.as_ref().context("no PostgreSQL")?;
                postgres.ensure_running().await?;
            }
        }
        self.keep_processors_apart();
        Ok(())
    }

    /// Pauses a process.
    pub fn pause(&self, part: RigComponent) {
        match (part, &self.redis, &self.postgres) {
            (RigComponent::Redis(index), Some(redis), _) => redis.pause(index),
            (RigComponent::Ledger, _, Some(postgres)) => postgres.pause(),
            _ => self.signal(part, process::STOP),
        }
    }

    /// Lets a paused process run again.
    pub fn resume(&self, part: RigComponent) {
        match (part, &self.redis, &self.postgres) {
            (RigComponent::Redis(index), Some(redis), _) => redis.resume(index),
            (RigComponent::Ledger, _, Some(postgres)) => postgres.resume(),
            _ => self.signal(part, process::CONTINUE),
        }
    }

    /// Ends PostgreSQL as a supervisor would, and starts it again.
    ///
    /// # Errors
    /// Where PostgreSQL does not answer again.
    pub async fn restart_ledger(&self) -> anyhow::Result<()> {
        let postgres = self.postgres.as_ref().context("no PostgreSQL")?;
        postgres.restart().await
    }

    /// Returns the process ids of a part of the rig. There are none while the part does not run.
    pub fn pids(&self, part: RigComponent) -> Vec<u32> {
        match (part, &self.redis, &self.postgres) {
            (RigComponent::Redis(index), Some(redis), _) => redis.pids(index),
            (RigComponent::Ledger, _, Some(postgres)) => postgres.pids(),
            _ => {
                let cell = self.process(part).ok().map(RigProcess::pid_cell);
                let pid = cell.and_then(|cell| *cell.lock());
                pid.into_iter().collect()
            }
        }
    }

    /// Returns the resident memory of a part in megabytes (10^6 bytes), or `None` while it does not
    /// run.
    pub fn resident_mb(&self, part: RigComponent) -> Option<f64> {
        let readings = self.pids(part).into_iter().map(memory::resident_mb);
        readings.reduce(|sum, one| Some(sum? + one?)).flatten()
    }

    /// Returns the processor time that a part has used so far in milliseconds, or `None` while it
    /// does not run.
    pub fn cpu_ms(&self, part: RigComponent) -> Option<f64> {
        let readings = self.pids(part).into_iter().map(memory::processor_s);
        let total_s = readings.reduce(|sum, one| Some(sum? + one?)).flatten();
        total_s.map(|seconds| seconds * 1e3)
    }

    /// Returns how many round trips to Redis and to PostgreSQL there were so far. The rig must
    /// count statements ([`RigFeatures::counted`](super::RigFeatures::counted)).
    ///
    /// # Errors
    /// Where one of the servers does not answer.
    pub async fn round_trips(&self) -> anyhow::Result<(u64, u64)> {
        let mut reads = 0;
        if let Some(redis) = &self.redis {
            for index in 0..redis.data_count() {
                reads += redis.reads(index).await?;
            }
        }
        let statements = match &self.postgres {
            Some(postgres) => postgres.statements().await?,
            None => 0,
        };
        Ok((reads, statements))
    }

    /// Returns the value of a metric of a gateway or booking process, summed over all labels.
    ///
    /// # Errors
    /// Where the process does not answer.
    pub async fn counted(&self, part: RigComponent, name: &str) -> anyhow::Result<f64> {
        let figures = process::metrics_text(self.process(part)?.url()).await;
        let figures = figures.with_context(|| format!("{part} does not tell its figures"))?;
        Ok(sum_of(&figures, name))
    }

    fn signal(&self, part: RigComponent, signal: process::Signal) {
        if let Ok(process) = self.process(part) {
            process.signal(signal);
        }
    }

    pub(super) fn process(&self, part: RigComponent) -> anyhow::Result<&RigProcess> {
        let found = match part {
            RigComponent::Gateway(index) => self.gateways.get(index),
            RigComponent::Booking(index) => self.bookings.get(index),
            RigComponent::Redis(_) | RigComponent::Ledger => None,
        };
        found.with_context(|| format!("the rig has no {part}"))
    }
}

/// Returns the sum of all samples of the metric `name` in the text format of Prometheus.
fn sum_of(figures: &str, name: &str) -> f64 {
    let of_name = figures.lines().filter_map(|line| {
        let rest = line.strip_prefix(name)?;
        let is_it = rest.starts_with([' ', '{']);
        rest.rsplit(' ')
            .next()
            .filter(|_| is_it)?
            .parse::<f64>()
            .ok()
    });
    of_name.sum()
}

#[cfg(test)]
mod tests {
    use super::sum_of;

    #[test]
    fn a_metric_is_summed_over_its_labels_and_over_no_other_metric() {
        let figures = "# TYPE offers_total counter\noffers_total{end=\"taken, or so\"} 3\noffers_total 4\n\
            offers_total_over 100\nother 7\n";
        for (name, sum) in [("offers_total", 7.0), ("other", 7.0), ("none", 0.0)] {
            assert!((sum_of(figures, name) - sum).abs() < f64::EPSILON, "{name}");
        }
    }
}
