//! Says which figures were measured, and which are extrapolated from measured figures.

use serde::Serialize;

use super::demand::SaleDemand;
use crate::calibration::Calibration;

/// Whether a figure was measured, or is extrapolated from measured figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FigureOrigin {
    /// The calibrated processes did at least as much work.
    Measured,
    /// The calibrated processes did less work. The figure is a multiple of what was measured.
    Extrapolated,
}

/// Where the figures come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct FigureOrigins {
    /// The processors of all processes, and therefore the machines.
    pub processors: FigureOrigin,
    /// Sockets, and how fast they are reopened.
    pub sockets: FigureOrigin,
    /// Memory.
    pub memory: FigureOrigin,
    /// Traffic.
    pub traffic: FigureOrigin,
    /// Commits.
    pub commits: FigureOrigin,
    /// TLS. Only the cryptography of a proxy is measured, and not the proxy itself.
    pub tls: FigureOrigin,
}

impl FigureOrigin {
    fn of(reached: bool) -> Self {
        if reached {
            Self::Measured
        } else {
            Self::Extrapolated
        }
    }

    /// Returns the origin as a word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Extrapolated => "extrapolated",
        }
    }
}

impl FigureOrigins {
    /// Compares the work of a sale with the work that the calibrated processes did.
    pub fn of(demand: &SaleDemand, calibration: &Calibration) -> Self {
        let work = &calibration.work;
        let reached = demand.all_seconds(|second| second.was_reached(calibration));
        // The measurement took a little longer than planned, so the measured number of sockets is
        // slightly too low.
        let waited = work.socket_wait.per_s * 1.01;
        let sockets = demand.peak(|second| second.sockets) <= waited;
        let purchases = demand.peak(|second| second.purchases) <= work.purchase.per_s;
        // The calibration made as many places as it opened sockets.
        let places = demand.places <= waited;
        Self {
            processors: FigureOrigin::of(reached),
            sockets: FigureOrigin::of(sockets),
            memory: FigureOrigin::of(sockets && places),
            traffic: FigureOrigin::of(reached),
            commits: FigureOrigin::of(purchases),
            tls: FigureOrigin::Extrapolated,
        }
    }
}
