//! Makes a sale for the simulation from a scenario or an on-sale file. Checks rooms, shows and
//! seating plans with the same code as the gateway and booking.

use std::collections::HashMap;

use fairgate_model::payments::kind::ProviderRules;
use fairgate_model::plans::seatmap::SeatMap;
use fairgate_model::plans::{PlanFormat, parse};
use fairgate_model::shows::coverage::matches;
use fairgate_model::shows::document::{ShowDocument, check_show_document};
use fairgate_rules::pace_settings::PaceSettings;
use fairgate_rules::room_document::{ChallengePolicy, RoomDocument, RoomDocumentInput};
use fairgate_simulation::crowd::SECONDS_MAX;
use fairgate_simulation::sale::{
    PlannedCategories, PlannedRoom, PlannedSale, PlannedServer, PlannedShow, PlannedSlowSpan,
};
use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::swarm::{CrowdSettings, Scenario, ScenarioOnsale, TrainPlan};

/// How long booking takes to answer one call while it has nothing else to do, in milliseconds. If
/// everything is on one machine, most calls take less time.
const ANSWER_MS: f64 = 5.0;

/// Makes the sale of a scenario. `calls_per_s` is how many calls booking answers in a second, if
/// that is limited.
///
/// # Errors
/// Every fault of the room, of its shows and of the seating plans. If nothing else is
/// wrong, that the plan ends before the draw.
pub fn planned_sale(
    scenario: &Scenario,
    calls_per_s: Option<f64>,
) -> Result<PlannedSale, Vec<String>> {
    let onsale = &scenario.onsale;
    let start = start(onsale);
    let (room, shows) = onsale.documents(start);
    let mut faults = Vec::new();
    let room = room_document(onsale.room(), room).unwrap_or_else(|found| {
        faults.extend(found);
        RoomDocument::everyday()
    });
    let planned = planned_shows(onsale, &room, shows, &mut faults);
    if faults.is_empty() && planned.is_empty() {
        faults.push(format!(
            "room \"{}\": shows names none of the file's shows, so there is nothing to sell",
            onsale.room()
        ));
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    let seconds = |at_ms: i64| (at_ms - start.as_millisecond()) as f64 / 1e3;
    let closes_s = room.closes_at.map(seconds);
    let until_s = closes_s
        .unwrap_or(f64::INFINITY)
        .min(scenario.deadline_s)
        .min(SECONDS_MAX);
    if seconds(room.draw_at) >= until_s {
        return Err(vec![format!(
            "room \"{}\": draw_at is {} s after the start, and the plan ends after {until_s} s; a plan covers at most {SECONDS_MAX} s",
            onsale.room(),
            seconds(room.draw_at)
        )]);
    }
    let free_places = match room.challenge {
        ChallengePolicy::None => room.per_network.soft,
        _ => 0,
    };
    let bots = scenario.crowd.placed_bots(free_places);
    Ok(PlannedSale {
        room: PlannedRoom {
            method: room.method,
            pace: PaceSettings::from(&room),
            opens_s: seconds(room.opens_at),
            draw_s: seconds(room.draw_at),
            closes_s,
            claim_s: u32::try_from(room.claim_s).unwrap_or(u32::MAX),
            away_s: u32::try_from(room.away_s).unwrap_or(u32::MAX),
        },
        shows: planned,
        crowd: CrowdSettings {
            // Bots without a place are refused when they join, so they are not among the visitors.
            visitors: scenario.crowd.visitors + bots.placed,
            ..scenario.crowd.clone()
        },
        bots,
        arrivals: None,
        behaviour: scenario.behaviour.clone(),
        wishes: None,
        server: PlannedServer {
            calls_per_s,
            answer_ms: ANSWER_MS,
            slow: scenario.slow.map(|slow| PlannedSlowSpan {
                from_s: slow.at_s,
                until_s: slow.at_s + slow.for_s,
                factor: slow.factor,
            }),
        },
        lost_gateway: None,
        so_far: None,
        until_s: until_s.ceil() as u32,
    })
}

/// Returns the shows and trains that the room lists.
fn planned_shows(
    onsale: &ScenarioOnsale,
    room: &RoomDocument,
    shows: Map<String, Value>,
    faults: &mut Vec<String>,
) -> Vec<PlannedShow> {
    let maps = seat_maps(onsale, faults);
    let is_listed = |id: &str| room.shows.iter().any(|pattern| matches(pattern, id));
    let mut planned = Vec::new();
    for (id, document) in shows.into_iter().filter(|(id, _)| is_listed(id)) {
        match planned_show(document, &maps) {
            Ok(show) => planned.push(show),
            Err(found) => {
                faults.extend(found.iter().map(|fault| format!("show \"{id}\": {fault}")));
            }
        }
    }
    // A room lists departures of a train, and not the train itself: `t1-*` or `t1-2031-01-01`.
    let sells = |train: &&TrainPlan| {
        let departures = format!("{}-", train.id);
        let mut patterns = room.shows.iter();
        patterns.any(|pattern| matches(pattern, &departures) || pattern.starts_with(&departures))
    };
    let listed = onsale.train_plans().iter().filter(sells);
    planned.extend(listed.map(planned_train));
    planned
}

/// Returns the time from which seconds are counted. If `opens_at` has a date, this is the opening
/// of the lobby. If `opens_at` counts from the start of a run, this is the start of the run.
fn start(onsale: &ScenarioOnsale) -> Timestamp {
    let opens_at = onsale.text("opens_at").and_then(|text| text.parse().ok());
    opens_at.unwrap_or(Timestamp::UNIX_EPOCH)
}

fn room_document(id: &str, document: Value) -> Result<RoomDocument, Vec<String>> {
    let with_room = |fault: String| format!("room \"{id}\": {fault}");
    let input: RoomDocumentInput =
        serde_json::from_value(document).map_err(|error| vec![with_room(error.to_string())])?;
    RoomDocument::from_input(id, input).map_err(|refusal| {
        let faults = refusal.bad.into_iter().chain(refusal.unbuilt);
        faults
            .map(|(field, fault)| with_room(format!("{field} {fault}")))
            .collect()
    })
}

fn seat_maps<'a>(
    onsale: &'a ScenarioOnsale,
    faults: &mut Vec<String>,
) -> HashMap<&'a str, SeatMap> {
    let mut maps = HashMap::new();
    for (id, format, body) in onsale.venues() {
        match seat_map(format.as_deref(), body) {
            Ok(map) => {
                maps.insert(id.as_str(), map);
            }
            Err(found) => {
                faults.extend(found.iter().map(|fault| format!("venue \"{id}\": {fault}")));
            }
        }
    }
    maps
}

/// Reads a venue's plan. If there is no format, the body is a document with a grid.
fn seat_map(format: Option<&str>, body: &str) -> Result<SeatMap, Vec<String>> {
    let sentences = |faults: Vec<fairgate_model::plans::PlanFault>| {
        faults.iter().map(ToString::to_string).collect()
    };
    let Some(format) = format else {
        let document: Value = serde_json::from_str(body).unwrap_or_default();
        let grid = document["plan"].as_str().unwrap_or_default();
        let grid = grid.strip_prefix("grid:").unwrap_or(grid);
        return parse(PlanFormat::Grid, grid).map_err(sentences);
    };
    let Some(format) = PlanFormat::parse(format) else {
        return Err(vec![format!(
            "plan: there is no format \"{format}\"; fairgate, grid and seatsio can be read"
        )]);
    };
    parse(format, body).map_err(sentences)
}

fn planned_train(train: &TrainPlan) -> PlannedShow {
    PlannedShow {
        seats: train.seats,
        legs: train.stops - 1,
        hold_s: train.hold_s,
        grace_s: train.grace_s,
        pay_s: train.pay_s,
        claim_grace_s: train.claim_grace_s,
        seats_per_visitor: train.seats_per_visitor,
        categories: PlannedCategories::ONE,
    }
}

/// Checks a show, and counts the seats that have a price.
fn planned_show(
    document: Value,
    maps: &HashMap<&str, SeatMap>,
) -> Result<PlannedShow, Vec<String>> {
    let document: ShowDocument =
        serde_json::from_value(document).map_err(|error| vec![error.to_string()])?;
    let venue = document.venue.to_string();
    let Some(map) = maps.get(venue.as_str()) else {
        return Err(vec![format!(
            "venue: there is no venue \"{venue}\" that can be read"
        )]);
    };
    let prices = check_show_document(&document, map, ProviderRules::STORED).map_err(|faults| {
        let sentences = faults.iter();
        sentences
            .map(|fault| format!("{}: {}", fault.field, fault.detail))
            .collect::<Vec<_>>()
    })?;
    let has_price = |category: u16| {
        prices
            .get(usize::from(category))
            .copied()
            .flatten()
            .is_some()
    };
    let for_sale = map.seats.iter().filter(|seat| has_price(seat.category));
    Ok(PlannedShow {
        seats: u32::try_from(for_sale.count()).unwrap_or(u32::MAX),
        legs: 1,
        hold_s: document.hold_s,
        grace_s: document.grace_s,
        pay_s: document.pay_s,
        claim_grace_s: document.claim_grace_s,
        seats_per_visitor: document.seats_per_visitor,
        categories: PlannedCategories::ONE,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::swarm::scenario_of;

    const TEXT: &str = r#"
        title = "A test"
        planned_s = 10.0
        deadline_s = 600.0
        [crowd]
        visitors = 10
        over_s = 1.0
        [[venue]]
        id = "hall"
        plan = "grid:4x5"
        [[show]]
        id = "night"
        venue = "hall"
        title = "A night"
        starts_at = "2031-06-01T20:00:00Z"
        prices = { cat1 = 9900, cat2 = 4900 }
        hold_s = 20
        [[room]]
        id = "sale"
        title = "A night"
        shows = ["night"]
        opens_at = "+5s"
        draw_at = "+20s"
        per_s = 0.5
    "#;

    fn sale(text: &str) -> Result<PlannedSale, Vec<String>> {
        planned_sale(&scenario_of("test", text).expect("a scenario"), None)
    }

    #[test]
    fn times_count_from_the_start_and_seats_with_a_price_are_for_sale() {
        let planned = sale(TEXT).expect("a sale");
        assert!((planned.room.opens_s - 5.0).abs() < 1e-9);
        assert!((planned.room.draw_s - 20.0).abs() < 1e-9);
        assert_eq!(planned.room.pace.per_s_u, 500_000);
        assert_eq!((planned.cells(), planned.shows[0].hold_s), (20, 20));
        assert_eq!((planned.until_s, planned.shows[0].pay_s), (600, 120));
        let cheap = sale(&TEXT.replace("cat1 = 9900, ", "")).expect("a sale");
        assert!(cheap.cells() < 20);
        let absolute = TEXT
            .replace("deadline_s = 600.0", "deadline_s = 7200.0")
            .replace("\"+5s\"", "\"2031-01-10T09:00:00+01:00\"")
            .replace("\"+20s\"", "\"2031-01-10T10:00:00+01:00\"");
        let absolute = sale(&absolute).expect("a sale");
        assert!(absolute.room.opens_s.abs() < 1e-9);
        assert!((absolute.room.draw_s - 3_600.0).abs() < 1e-9);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        for (right, wrong, told) in [
            ("per_s = 0.5", "per_s = 0", "room \"sale\": per_s"),
            ("per_s = 0.5", "speed = 0.5", "speed"),
            (
                "\"+20s\"",
                "\"+1s\"",
                "room \"sale\": draw_at is before opens_at",
            ),
            (
                "prices = { cat1 = 9900, cat2 = 4900 }",
                "prices = {}",
                "show \"night\": prices",
            ),
            ("cat2 = 4900", "stalls = 4900", "prices.stalls"),
            ("hold_s = 20", "hold_s = 0", "hold_s"),
            ("\"+20s\"", "\"+700s\"", "draw_at is 700 s after the start"),
            ("grid:4x5", "grid:4by5", "venue \"hall\""),
            (
                "venue = \"hall\"",
                "venue = \"arena\"",
                "no venue \"arena\"",
            ),
            (
                "shows = [\"night\"]",
                "shows = [\"day\"]",
                "nothing to sell",
            ),
        ] {
            let faults = sale(&TEXT.replace(right, wrong)).expect_err(wrong);
            assert!(faults.join("\n").contains(told), "{wrong}: {faults:?}");
        }
    }
}
