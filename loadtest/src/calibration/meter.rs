//! Measures how much processor time and how many bytes on the network a piece of work takes.

use std::time::{Duration, Instant};

use super::figures::WorkCost;
use crate::rig::{Rig, RigComponent};

/// What all processes have used so far.
#[derive(Debug, Clone, Copy)]
pub struct RigUse {
    at: Instant,
    gateway_ms: f64,
    booking_ms: f64,
    redis_ms: f64,
    ledger_ms: f64,
    bytes: f64,
}

/// What the processes use in a second while nobody calls them.
#[derive(Debug, Clone, Copy, Default)]
pub struct IdleUse(WorkCost);

impl RigUse {
    /// Reads what the processes of a rig have used so far.
    pub fn of(rig: &Rig) -> Self {
        let mut total = Self {
            at: Instant::now(),
            gateway_ms: 0.0,
            booking_ms: 0.0,
            redis_ms: 0.0,
            ledger_ms: 0.0,
            bytes: loopback_bytes(),
        };
        for part in rig.parts() {
            let spent = rig.cpu_ms(part).unwrap_or(0.0);
            match part {
                RigComponent::Gateway(_) => total.gateway_ms += spent,
                RigComponent::Booking(_) => total.booking_ms += spent,
                RigComponent::Redis(_) => total.redis_ms += spent,
                RigComponent::Ledger => total.ledger_ms += spent,
            }
        }
        total
    }

    /// Returns what one unit of work cost, if `units` units were done from this reading until
    /// `end`. What idle processes use in that time is subtracted.
    pub fn cost_until(&self, end: &Self, units: f64, idle: IdleUse) -> WorkCost {
        let passed_s = (end.at - self.at).as_secs_f64();
        let per_unit = |then: f64, now: f64, idle_per_s: f64| {
            ((now - then - idle_per_s * passed_s) / units.max(1.0)).max(0.0)
        };
        let IdleUse(idle) = idle;
        WorkCost {
            per_s: units / passed_s,
            gateway_ms: per_unit(self.gateway_ms, end.gateway_ms, idle.gateway_ms),
            booking_ms: per_unit(self.booking_ms, end.booking_ms, idle.booking_ms),
            redis_ms: per_unit(self.redis_ms, end.redis_ms, idle.redis_ms),
            ledger_ms: per_unit(self.ledger_ms, end.ledger_ms, idle.ledger_ms),
            bytes: per_unit(self.bytes, end.bytes, idle.bytes),
        }
    }
}

impl IdleUse {
    /// Measures what an idle rig uses in a second.
    pub async fn measure(rig: &Rig, time: Duration) -> Self {
        let before = RigUse::of(rig);
        tokio::time::sleep(time).await;
        let passed_s = time.as_secs_f64();
        Self(before.cost_until(&RigUse::of(rig), passed_s, Self::default()))
    }
}

/// Returns how many bytes have passed over loopback so far.
fn loopback_bytes() -> f64 {
    let text = std::fs::read_to_string("/sys/class/net/lo/statistics/rx_bytes");
    text.ok()
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or(0.0)
}
