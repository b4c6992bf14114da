//! Forecasts when a room's seats are sold out, from the samples of its report. Says how good
//! earlier forecasts were. All nodes make the same forecasts, because all read the same samples.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use fairgate_base::clock::rfc3339;
use fairgate_rules::pace_settings::PaceSettings;
use fairgate_rules::phase::RoomFacts;
use fairgate_rules::room_document::{LineMethod, RoomDocument};
use fairgate_simulation::forecast::{
    RunningFigures, RunningSale, SaleForecast, SoldOutForecast, forecast,
};
use fairgate_simulation::sale::PlannedRoom;
use parking_lot::Mutex;
use serde::Serialize;

use crate::ledger::RoomSample;
use crate::room::RoomRegistry;

/// The time between two forecasts of a short sale.
const SHORT_MS: i64 = 10_000;
/// The time between two forecasts of a longer sale.
const MINUTE_MS: i64 = 60_000;
/// How many forecasts one call of the report makes at most, the newest ones first. More than these
/// may be missing if nobody has read the report on this node for a while.
const MADE_AT_ONCE_MAX: usize = 8;
/// Samples that are older than the newest one by more than this are ignored, because a room without
/// a closing time may sell for a very long time.
const LOOK_BACK_MS: i64 = 12 * 3_600_000;
/// How long a basket keeps its seats if booking does not say so, in seconds.
const HOLD_S: u32 = 305;

/// When the seats of a room's shows are expected to be sold out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[schema(as = Forecast)]
pub struct RoomForecast {
    /// When the forecast was made: the time of the last sample that it uses, RFC 3339.
    made_at: String,
    /// `null` if seats will be left when nobody waits any more, or when the room closes.
    sold_out_at: Option<ForecastTimes>,
}

/// Three times, RFC 3339.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct ForecastTimes {
    /// The seats are sold out before this time with a probability of one in ten.
    p10: String,
    /// The seats are sold out before or after this time with equal probability.
    p50: String,
    /// The seats are sold out after this time with a probability of one in ten.
    p90: String,
}

/// A forecast that was made before.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct EarlierForecast {
    #[serde(flatten)]
    forecast: RoomForecast,
    /// `p50` minus the time at which the seats were really sold out, in seconds. Negative if `p50`
    /// was too early. `null` until the seats are sold out. Also `null` if the forecast expected
    /// seats to be left.
    off_by_s: Option<i64>,
}

/// What the report says about the end of the sale.
#[derive(Debug, Default, Serialize, utoipa::ToSchema)]
pub struct ForecastReport {
    /// The newest forecast. `null` before ten visitors have tickets, while the room is paused or
    /// has no line, and once everything is sold.
    pub forecast: Option<RoomForecast>,
    /// The forecasts before it, oldest first.
    pub earlier_forecasts: Vec<EarlierForecast>,
    /// Since when everything is sold: the time of the first such sample, RFC 3339. `null` until
    /// then.
    pub sold_out_at: Option<String>,
}

/// A forecast in milliseconds since the epoch.
#[derive(Debug, Clone, Copy, PartialEq)]
enum MadeForecast {
    SoldOut { p10: i64, p50: i64, p90: i64 },
    SeatsLeft,
}

/// The forecasts of a room by the time of their last sample. `None` if no forecast could be made.
type RoomForecasts = BTreeMap<i64, Option<MadeForecast>>;

/// The forecasts that this node has made, by room.
#[derive(Clone, Default)]
pub struct MadeForecasts {
    rooms: Arc<Mutex<HashMap<String, Arc<tokio::sync::Mutex<RoomForecasts>>>>>,
    /// Held while forecasts are made. A node makes those of one room at a time, because it also
    /// sells.
    making: Arc<tokio::sync::Mutex<()>>,
}

impl MadeForecasts {
    fn of_room(&self, room: &str) -> Arc<tokio::sync::Mutex<RoomForecasts>> {
        Arc::clone(self.rooms.lock().entry(room.to_owned()).or_default())
    }

    /// Makes the forecasts of a room that are still missing, and returns all of its forecasts.
    pub async fn report(
        &self,
        rooms: &RoomRegistry,
        room: &crate::room::Room,
        samples: &[RoomSample],
    ) -> ForecastReport {
        let row = room.row();
        let Some(sale) = SaleSamples::of(&row.document, &row.facts, samples) else {
            return ForecastReport::default();
        };
        let of_room = self.of_room(room.id());
        // While this call has the lock, no other call makes the same forecasts. Reports that need
        // no new forecast do not wait for other rooms.
        let mut made = of_room.lock().await;
        sale.forget_earlier(&mut made);
        let due = sale.due();
        let missing = due.iter().rev().filter(|at| !made.contains_key(at));
        let missing: Vec<i64> = missing.take(MADE_AT_ONCE_MAX).copied().collect();
        if !missing.is_empty() && !row.facts.paused {
            let hold_s = hold_s(rooms, room).await;
            let (sale, planned) = (sale.clone(), planned_room(&row.document, sale.began_at));
            let _making = self.making.lock().await;
            let new = tokio::task::spawn_blocking(move || {
                let forecast_at = |at: i64| (at, sale.forecast(&planned, hold_s, at));
                missing.into_iter().map(forecast_at).collect::<Vec<_>>()
            });
            // The task fails only if it panics. The next report tries again.
            made.extend(new.await.unwrap_or_default());
        }
        sale.build_report(&made, &due, row.facts.paused)
    }
}

/// Returns the longest time that baskets keep their seats, in seconds.
async fn hold_s(rooms: &RoomRegistry, room: &crate::room::Room) -> u32 {
    let shows = rooms.shows_of(room).await.unwrap_or_default();
    let longest = shows.iter().map(|show| show.hold_s).max();
    longest.filter(|hold_s| *hold_s > 0).unwrap_or(HOLD_S)
}

fn planned_room(document: &RoomDocument, began_at: i64) -> PlannedRoom {
    let seconds = |at: i64| (at - began_at) as f64 / 1e3;
    PlannedRoom {
        method: document.method,
        pace: PaceSettings::from(document),
        opens_s: 0.0,
        draw_s: 0.0,
        closes_s: document.closes_at.map(seconds),
        claim_s: u32::try_from(document.claim_s).unwrap_or(u32::MAX),
        away_s: u32::try_from(document.away_s).unwrap_or(u32::MAX),
    }
}

/// The samples of a sale since its beginning.
#[derive(Debug, Clone)]
struct SaleSamples {
    began_at: i64,
    samples: Vec<RoomSample>,
}

impl SaleSamples {
    /// Returns the samples since the draw or the first release. Returns `None` before the first
    /// release, and for a room without a line.
    fn of(document: &RoomDocument, facts: &RoomFacts, samples: &[RoomSample]) -> Option<Self> {
        if document.method == LineMethod::Open {
            return None;
        }
        let newest = samples.last()?.at_ms;
        let recent = samples.partition_point(|sample| sample.at_ms < newest - LOOK_BACK_MS);
        let recent = &samples[recent..];
        let first = recent.iter().position(|sample| sample.released > 0)?;
        let before = first.checked_sub(1).map(|before| recent[before]);
        let draw_at = facts.draw_called_at.unwrap_or(document.draw_at);
        let began_at = before.map_or(recent[first].at_ms, |before| {
            draw_at.clamp(before.at_ms, recent[first].at_ms)
        });
        let begin = before.map(|before| RoomSample {
            at_ms: began_at,
            ..before
        });
        let samples = begin.into_iter().chain(recent[first..].iter().copied());
        Some(Self {
            began_at,
            samples: samples.collect(),
        })
    }

    /// Returns since when everything is sold: the time of the first such sample. Returns `None` if
    /// seats are left.
    fn sold_out_at(&self) -> Option<i64> {
        let last = self.samples.last()?;
        let is_out = |sample: &RoomSample| sample.free + sample.held == 0 && sample.sold > 0;
        if !is_out(last) {
            return None;
        }
        let since = self
            .samples
            .iter()
            .rev()
            .take_while(|sample| is_out(sample));
        since.last().map(|sample| sample.at_ms)
    }

    /// Returns the times of the samples at which a forecast is made. A short sale gets one forecast
    /// every ten seconds, and a longer one gets one a minute.
    fn due(&self) -> Vec<i64> {
        let sold_out_at = self.sold_out_at().unwrap_or(i64::MAX);
        let first = self.samples.first().map(|sample| self.figures(sample));
        let first = first.unwrap_or_default();
        let mut due: Vec<i64> = Vec::new();
        for sample in &self.samples {
            let is_short = self.figures(sample).is_short_sale(&first);
            let every_ms = if is_short { SHORT_MS } else { MINUTE_MS };
            let last = due.last().copied().unwrap_or(self.began_at);
            if sample.at_ms > self.began_at
                && sample.at_ms - last >= every_ms
                && sample.at_ms < sold_out_at
            {
                due.push(sample.at_ms);
            }
        }
        due
    }

    /// Forgets the forecasts from before the samples. No report shows them any more.
    fn forget_earlier(&self, made: &mut RoomForecasts) {
        *made = made.split_off(&self.began_at);
    }

    /// Makes a forecast from the samples up to the time `at`.
    fn forecast(&self, room: &PlannedRoom, hold_s: u32, at: i64) -> Option<MadeForecast> {
        let known = self.samples.iter().take_while(|sample| sample.at_ms <= at);
        let sale = RunningSale {
            room: *room,
            hold_s,
            figures: known.map(|sample| self.figures(sample)).collect(),
        };
        let at = |s: f64| self.began_at + (s * 1e3) as i64;
        Some(match forecast(&sale)? {
            SaleForecast::SoldOut(SoldOutForecast {
                p10_s,
                p50_s,
                p90_s,
            }) => MadeForecast::SoldOut {
                p10: at(p10_s),
                p50: at(p50_s),
                p90: at(p90_s),
            },
            SaleForecast::SeatsLeft => MadeForecast::SeatsLeft,
        })
    }

    fn figures(&self, sample: &RoomSample) -> RunningFigures {
        RunningFigures {
            at_s: (sample.at_ms - self.began_at) as f64 / 1e3,
            joined: sample.joined,
            left: sample.left,
            waiting: sample.waiting,
            released: sample.released,
            claimed: sample.claimed,
            inside: sample.inside,
            done: sample.done,
            free: sample.free,
            held: sample.held,
            sold: sample.sold,
        }
    }

    fn build_report(&self, made: &RoomForecasts, due: &[i64], paused: bool) -> ForecastReport {
        let sold_out_at = self.sold_out_at();
        let known = due.iter().filter_map(|at| Some((*at, (*made.get(at)?)?)));
        let mut earlier: Vec<EarlierForecast> = known
            .map(|(at, made)| EarlierForecast {
                forecast: RoomForecast::new(at, made),
                off_by_s: match made {
                    MadeForecast::SoldOut { p50, .. } => {
                        sold_out_at.map(|sold_out_at| (p50 - sold_out_at) / 1_000)
                    }
                    MadeForecast::SeatsLeft => None,
                },
            })
            .collect();
        let running = sold_out_at.is_none() && !paused;
        let newest = earlier.pop_if(|_| running);
        ForecastReport {
            forecast: newest.map(|newest| newest.forecast),
            earlier_forecasts: earlier,
            sold_out_at: sold_out_at.map(rfc3339),
        }
    }
}

impl RoomForecast {
    fn new(at: i64, made: MadeForecast) -> Self {
        Self {
            made_at: rfc3339(at),
            sold_out_at: match made {
                MadeForecast::SoldOut { p10, p50, p90 } => Some(ForecastTimes {
                    p10: rfc3339(p10),
                    p50: rfc3339(p50),
                    p90: rfc3339(p90),
                }),
                MadeForecast::SeatsLeft => None,
            },
        }
    }
}

#[cfg(test)]
mod tests;
