//! Opens many rooms at once, each with a show of its own and one visitor who waits. Measures the
//! gateway's memory and processor time while nothing else happens. A house that sells many shows
//! has many rooms that only wait.

use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::json;
use tokio::time::sleep;

use super::{BenchOutcome, fans, people, report};
use crate::http::{LoadHttpCall, LoadHttpClient};

/// The memory that one room may take, in megabytes (10^6 bytes). What the gateway needs without
/// rooms counts as well.
const ROOM_MB_MAX: f64 = 0.3;
/// The part of a core that one room may take, in percent. What the gateway needs without rooms
/// counts as well.
const ROOM_CORE_PERCENT_MAX: f64 = 0.02;
/// How long the gateway may come to rest before each measurement.
const SETTLE: Duration = Duration::from_secs(8);
/// The rooms that are opened at the same time. The promoter's calls for rooms run one after the
/// other anyway.
const OPENED_AT_ONCE: usize = 4;

#[derive(clap::Args)]
pub struct RoomBenchOptions {
    /// How many rooms wait.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=5_000))]
    rooms: u32,
    /// How long the rooms are measured, in seconds.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: u64,
    /// Print the figures without judging them. Use this for programs that are built without
    /// optimisation, and for few rooms.
    #[arg(long)]
    unjudged: bool,
    /// Print the figures as JSON.
    #[arg(long)]
    json: bool,
}

/// The figures of the bench.
#[derive(Debug, Serialize)]
struct RoomBenchFigures {
    bench: &'static str,
    rooms: u32,
    /// How long it took to open all rooms, in seconds.
    opened_in_s: f64,
    /// What the gateway uses without these rooms.
    without: GatewayUse,
    /// What the gateway uses while the rooms wait.
    waiting: GatewayUse,
    held: bool,
}

/// What a gateway uses.
#[derive(Debug, Clone, Copy, Serialize)]
struct GatewayUse {
    /// The resident memory, in megabytes.
    resident_mb: f64,
    /// The processor time, in percent of a core.
    core_percent: f64,
}

/// Runs the bench.
///
/// # Errors
/// Where the run is invalid. The error gives the reason.
pub fn run(options: &RoomBenchOptions) -> anyhow::Result<BenchOutcome> {
    report::measured(options.json, measure(options))
}

impl report::BenchFigures for RoomBenchFigures {
    fn held(&self) -> bool {
        self.held
    }

    fn lines(&self) -> Vec<String> {
        let rooms = f64::from(self.rooms);
        let row = |what: &str, with: f64, without: f64, unit: &str, most: f64| {
            format!(
                "  {what}   {with:.1} {unit}, {:.4} for each room (at most {most}); {without:.1} {unit} without rooms",
                with / rooms
            )
        };
        vec![
            format!(
                "{} rooms that wait, each with a show and a visitor, opened in {:.0} s",
                self.rooms, self.opened_in_s
            ),
            row(
                "memory",
                self.waiting.resident_mb,
                self.without.resident_mb,
                "MB",
                ROOM_MB_MAX,
            ),
            row(
                "processor",
                self.waiting.core_percent,
                self.without.core_percent,
                "% of a core",
                ROOM_CORE_PERCENT_MAX,
            ),
        ]
    }
}

impl GatewayUse {
    fn is_within(self, rooms: u32) -> bool {
        let rooms = f64::from(rooms);
        self.resident_mb <= rooms * ROOM_MB_MAX
            && self.core_percent <= rooms * ROOM_CORE_PERCENT_MAX
    }
}

async fn measure(options: &RoomBenchOptions) -> anyhow::Result<RoomBenchFigures> {
    let rig = fans::start_rig().await?;
    let http = LoadHttpClient::new(&rig.urls());
    let time = Duration::from_secs(options.seconds);
    let gateway_use = async || {
        sleep(SETTLE.min(time)).await;
        anyhow::Ok(GatewayUse {
            core_percent: fans::core_percent(&rig, time).await?,
            resident_mb: fans::gateway_bytes(&rig)? / 1e6,
        })
    };
    let without = gateway_use().await?;
    let begun = Instant::now();
    open_rooms(&http, rig.promoter_key(), options.rooms).await?;
    let opened_in_s = begun.elapsed().as_secs_f64();
    let waiting = gateway_use().await?;
    rig.stop().await?;
    Ok(RoomBenchFigures {
        bench: "rooms",
        rooms: options.rooms,
        opened_in_s,
        without,
        waiting,
        held: waiting.is_within(options.rooms) || options.unjudged,
    })
}

/// Opens the lobbies of this many rooms. Each sells a show of its own in the same hall of 2,000
/// seats, and has one visitor.
async fn open_rooms(http: &LoadHttpClient, key: &str, rooms: u32) -> anyhow::Result<()> {
    let hall = json!({"plan": "grid:40x50"});
    people::put(http, key, "venues/hall", hall).await?;
    let key = key.to_owned();
    let open = move |http: LoadHttpClient, number: usize| {
        let key = key.clone();
        async move {
            let show = json!({
                "venue": "hall", "title": format!("Night {number}"), "starts_at": "2099-06-01T20:00:00Z",
                "currency": "EUR", "prices": {"cat1": 1000, "cat2": 1000},
            });
            people::put(&http, &key, &format!("shows/night-{number}"), show).await?;
            let (room, shows) = (
                format!("room-{number}"),
                json!({"shows": [format!("night-{number}")]}),
            );
            people::open_doors(&http, &key, &room, shows).await?;
            let join = LoadHttpCall::post(format!("/v1/rooms/{room}/places"), json!({}));
            let join = join.forwarded(&fans::address_of(number));
            people::granted(&http, number, &join).await.map(drop)
        }
    };
    people::for_each(http, rooms as usize, OPENED_AT_ONCE, open)
        .await
        .map(drop)
}

#[cfg(test)]
mod tests {
    use super::report::BenchFigures;
    use super::*;

    #[test]
    fn a_thousand_rooms_may_take_300_mb_and_a_fifth_of_a_core() {
        for (resident_mb, core_percent, expected) in [
            (299.0, 19.0, true),
            (301.0, 19.0, false),
            (299.0, 21.0, false),
        ] {
            let used = GatewayUse {
                resident_mb,
                core_percent,
            };
            assert_eq!(used.is_within(1_000), expected, "{used:?}");
        }
    }

    #[test]
    fn the_figures_tell_the_share_of_one_room() {
        let figures = RoomBenchFigures {
            bench: "rooms",
            rooms: 1_000,
            opened_in_s: 60.0,
            without: GatewayUse {
                resident_mb: 40.0,
                core_percent: 1.5,
            },
            waiting: GatewayUse {
                resident_mb: 250.0,
                core_percent: 12.0,
            },
            held: true,
        };
        let lines = figures.lines();
        assert!(
            lines[1].contains("250.0 MB, 0.2500 for each room"),
            "{lines:?}"
        );
        assert!(
            lines[2].contains("12.0 % of a core, 0.0120 for each"),
            "{lines:?}"
        );
    }
}
