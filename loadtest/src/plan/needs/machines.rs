//! Works out how many machines a sale needs, and what they cost.

use serde::Serialize;

use super::BUSY_MAX;
use super::demand::{SaleDemand, SecondOfWork, UseOfSecond};
use super::origins::FigureOrigins;
use super::prices::{PricedMachine, Prices};
use crate::calibration::Calibration;
use crate::plan::grouped::grouped;
use crate::rig::{RedisForm, RigSpecification};

/// The part of a machine that the sale may use in its worst second. The rest is spare, because no
/// plan foresees everything.
const USED: f64 = 0.7;
/// A gigabyte, in bytes.
const GB: f64 = 1e9;

/// What a sale needs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NeededMachines {
    /// Which processes were measured, on which processors, and when.
    pub measured_on: String,
    /// Machines for gateways. One of them is spare if the plan loses a gateway. Booking is inside
    /// the gateways if it was inside when they were measured.
    pub gateways: MachineGroup,
    /// Machines for booking processes; `None` if booking is inside the gateways.
    pub bookings: Option<MachineGroup>,
    /// The Redis servers; `None` if there is no Redis.
    pub redis: Option<ServerLoad>,
    /// PostgreSQL; `None` if the ledger is a SQLite file.
    pub ledger: Option<ServerLoad>,
    /// The most commits in a second; `None` if the calibration did not count commits.
    pub commits_per_s: Option<f64>,
    /// The most traffic in a second, in megabits.
    pub mbit_per_s: f64,
    /// The traffic of the whole sale, in gigabytes.
    pub traffic_gb: f64,
    /// The processors that the proxies need for TLS. Every join and every opened socket is a new
    /// connection. `None` if TLS was not measured.
    pub tls_cpus: Option<f64>,
    /// How long it takes until all sockets are open again if all break at once, in seconds.
    pub reconnect_s: f64,
    /// How many hours the machines run.
    pub hours: f64,
    /// What all of this costs; `None` if no prices are known.
    pub cost: Option<NeededMoney>,
    /// Where these figures come from.
    pub origins: FigureOrigins,
    /// What else an operator should know.
    pub notes: Vec<String>,
}

/// Machines of one kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MachineGroup {
    /// How many machines.
    pub count: u64,
    /// The number of processors of each machine.
    pub cpus_each: usize,
    /// The processors in use in the worst second.
    pub cpus_used: f64,
    /// The memory in use, in megabytes (10^6 bytes).
    pub memory_mb: f64,
    /// The most sockets at once.
    pub sockets: f64,
}

/// How much of a server's machine is in use.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ServerLoad {
    /// The processors in use in the worst second.
    pub cpus_used: f64,
}

/// An amount of money.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NeededMoney {
    /// The amount, in `currency`.
    pub amount: f64,
    /// The currency that the file of prices names.
    pub currency: String,
}

/// Returns the most memory that places and sockets take, in megabytes (10^6 bytes). Places stay in
/// memory until the end.
pub fn memory_mb(demand: &SaleDemand, calibration: &Calibration) -> f64 {
    let memory = &calibration.memory;
    let sockets = demand.peak(|second| second.sockets);
    let each = memory.socket_bytes + memory.kernel_socket_bytes;
    (demand.places * memory.place_bytes + sockets * each) / 1e6
}

/// Rounds a number of machines up to a whole number, at least one.
fn whole(machines: f64) -> u64 {
    machines.ceil().max(1.0) as u64
}

/// Works out how many machines the gateways need. The resource that runs out first decides:
/// processors, memory, or open files. Every socket is an open file.
fn gateways(
    demand: &SaleDemand,
    calibration: &Calibration,
    machine: PricedMachine,
) -> MachineGroup {
    let cpus_used = demand.peak(|second| second.cost(calibration).gateway_ms) / 1e3;
    let sockets = demand.peak(|second| second.sockets);
    let memory_mb = memory_mb(demand, calibration);
    let by_cpus = cpus_used / (machine.cpus as f64 * USED);
    let by_memory = memory_mb / (machine.memory_mb * USED);
    let by_sockets = sockets / (calibration.machine.sockets_max.max(1) as f64 * USED);
    MachineGroup {
        count: whole(by_cpus.max(by_memory).max(by_sockets)) + demand.spare_gateways,
        cpus_each: machine.cpus,
        cpus_used,
        memory_mb,
        sockets,
    }
}

/// Returns the processors that proxies need for TLS, or `None` if TLS was not measured.
fn tls_cpus(demand: &SaleDemand, calibration: &Calibration) -> Option<f64> {
    let tls = calibration.tls.as_ref()?;
    let second_ms = |second: &SecondOfWork| {
        let megabytes = second.cost(calibration).bytes / 1e6;
        (second.joins + second.sockets_opened) * tls.handshake_ms + megabytes * tls.megabyte_ms
    };
    Some(demand.peak(second_ms) / 1e3)
}

impl NeededMachines {
    /// Works out what a sale needs. Without prices, every machine is like the calibrated one.
    pub fn of(demand: &SaleDemand, calibration: &Calibration, prices: Option<&Prices>) -> Self {
        let rig: RigSpecification = calibration.rig.parse().unwrap_or_default();
        let machine = prices.map_or(
            PricedMachine {
                cpus: calibration.machine.cpus,
                memory_mb: calibration.machine.memory_mb,
                per_hour: 0.0,
            },
            |prices| prices.machine,
        );
        let cpus = |part: fn(&UseOfSecond) -> f64| {
            demand.peak(|second| part(&second.cost(calibration))) / 1e3
        };
        let gateways = gateways(demand, calibration, machine);
        let sockets = gateways.sockets;
        let booking_cpus = cpus(|cost| cost.booking_ms);
        let bookings = (rig.bookings > 0).then(|| MachineGroup {
            count: whole(booking_cpus / (machine.cpus as f64 * USED)),
            cpus_each: machine.cpus,
            cpus_used: booking_cpus,
            memory_mb: 0.0,
            sockets: 0.0,
        });
        let redis = (rig.redis != RedisForm::None).then(|| ServerLoad {
            cpus_used: cpus(|cost| cost.redis_ms),
        });
        let ledger_cpus = cpus(|cost| cost.ledger_ms);
        let ledger = (ledger_cpus > 0.0).then_some(ServerLoad {
            cpus_used: ledger_cpus,
        });
        let each = calibration.ledger.commits_per_purchase;
        let commits_per_s = each.map(|each| demand.peak(|second| second.purchases) * each);
        let bytes = demand.sum(|second| second.cost(calibration).bytes);
        let peak_bytes = demand.peak(|second| second.cost(calibration).bytes);
        let open_ms = calibration.work.socket_open.all_ms();
        // A lost gateway opens no sockets.
        let opening = gateways.count - demand.spare_gateways;
        let all_cpus = (opening as usize * machine.cpus) as f64 * BUSY_MAX;
        let mut needed = Self {
            measured_on: format!(
                "{} on {} processor(s) of {}, {}",
                calibration.rig,
                calibration.machine.cpus,
                calibration.machine.processor,
                calibration.made_at
            ),
            notes: Vec::new(),
            reconnect_s: sockets * open_ms / 1e3 / all_cpus,
            gateways,
            bookings,
            redis,
            ledger,
            commits_per_s,
            mbit_per_s: peak_bytes * 8.0 / 1e6,
            traffic_gb: bytes / GB,
            tls_cpus: tls_cpus(demand, calibration),
            hours: (demand.length_s() / 3_600.0).ceil(),
            cost: None,
            origins: FigureOrigins::of(demand, calibration),
        };
        needed.notes = needed.notes_for(&rig, calibration, demand.spare_gateways);
        needed.cost = prices.map(|prices| needed.money(prices));
        needed
    }

    fn money(&self, prices: &Prices) -> NeededMoney {
        let machines = self.gateways.count + self.bookings.as_ref().map_or(0, |group| group.count);
        let service = |load: &Option<ServerLoad>, price: Option<super::prices::PricedService>| {
            let price = price.filter(|_| load.is_some());
            price.map_or(0.0, |price| price.per_hour)
        };
        let per_hour = machines as f64 * prices.machine.per_hour
            + service(&self.redis, prices.redis)
            + service(&self.ledger, prices.ledger);
        NeededMoney {
            amount: per_hour * self.hours + self.traffic_gb * prices.traffic_per_gb,
            currency: prices.currency.clone(),
        }
    }

    fn notes_for(
        &self,
        rig: &RigSpecification,
        calibration: &Calibration,
        spare_gateways: u64,
    ) -> Vec<String> {
        let mut notes = Vec::new();
        let several = self.gateways.count > 1;
        if several && rig.redis == RedisForm::None {
            notes.push("one process with a ledger file cannot be divided: calibrate with --rig gateways=2,redis=single,ledger=postgres".to_owned());
        } else if several && spare_gateways == 0 {
            notes.push(
                "one gateway more lets the sale go on as planned when a gateway is lost".to_owned(),
            );
        }
        let is_tight =
            |load: &Option<ServerLoad>| load.as_ref().is_some_and(|load| load.cpus_used > BUSY_MAX);
        if is_tight(&self.redis) {
            notes.push("a room and a show each live in one slot of Redis, which is one processor: this sale needs more; divide it into several rooms or lower the pace".to_owned());
        }
        let sockets_max = calibration.machine.sockets_max;
        if several && self.gateways.sockets > sockets_max as f64 {
            notes.push(format!(
                "a process of the calibrated machine may open {sockets_max} files: where more are allowed, fewer gateways do"
            ));
        }
        if self.commits_per_s.unwrap_or(0.0) > calibration.ledger.syncs_per_s {
            notes.push(format!(
                "the ledger's disk waited for at most {:.0} pages a second when it was measured",
                calibration.ledger.syncs_per_s
            ));
        }
        if !calibration.optimised {
            notes.push("the calibration was made with programs without optimisation: these figures are of no use".to_owned());
        }
        notes
    }

    /// Returns the answer as lines of text.
    pub fn lines(&self) -> Vec<String> {
        let origins = &self.origins;
        let group = |what: &str, group: &MachineGroup| {
            format!(
                "{} {what} of {} processor(s), {:.1} in use at the worst",
                group.count, group.cpus_each, group.cpus_used
            )
        };
        let mut takes = vec![group("gateway(s)", &self.gateways)];
        takes.extend(self.bookings.as_ref().map(|own| group("booking(s)", own)));
        let server = |what: &str, load: &ServerLoad| {
            format!("{what} with {:.2} processors in use", load.cpus_used)
        };
        takes.extend(self.redis.as_ref().map(|load| server("Redis", load)));
        takes.extend(self.ledger.as_ref().map(|load| server("PostgreSQL", load)));
        let mut lines = vec![
            format!(
                "  it takes         {} ({})",
                takes.join("; "),
                origins.processors.word()
            ),
            format!(
                "  memory           {} MB for places and sockets ({})",
                grouped(self.gateways.memory_mb),
                origins.memory.word()
            ),
            format!(
                "  sockets          {} at once; if all break, all are open again after {:.1} s ({})",
                grouped(self.gateways.sockets),
                self.reconnect_s,
                origins.sockets.word()
            ),
            format!(
                "  traffic          {:.0} Mbit a second at the worst, {:.1} GB in all ({})",
                self.mbit_per_s,
                self.traffic_gb,
                origins.traffic.word()
            ),
            match self.tls_cpus {
                Some(cpus) => format!(
                    "  TLS              {cpus:.2} processors at the proxy ({} from the speed of openssl)",
                    origins.tls.word()
                ),
                None => "  TLS              was not measured".to_owned(),
            },
        ];
        if let Some(commits) = self.commits_per_s {
            lines.push(format!(
                "  commits          {commits:.0} a second at the worst ({})",
                origins.commits.word()
            ));
        }
        if let Some(cost) = &self.cost {
            lines.push(format!(
                "  it costs         {:.2} {} for {:.0} h",
                cost.amount, cost.currency, self.hours
            ));
        }
        lines.push(format!("  measured on      {}", self.measured_on));
        let notes = self.notes.iter();
        lines.extend(notes.map(|note| format!("  note             {note}")));
        lines
    }
}
