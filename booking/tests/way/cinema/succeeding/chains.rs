//! Random chains of programmes. Showings are added, moved, left out, brought back, and get other
//! ids, while seats are held, sold and waited for between the imports. Whatever happens, no seat is
//! sold twice, and each ticket has a showing on the programme, or somebody decided about it.
//! `FAIRGATE_PROGRAMME_CHAINS` sets how many chains are played; there are few by default.

use std::collections::{BTreeMap, BTreeSet};

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

use super::*;

const CHAINS: u64 = 4;
const IMPORTS: usize = 5;
const SALES: usize = 6;
/// How many seats a hall has.
const SEATS: [&str; 4] = ["A-1", "A-2", "A-3", "A-4"];
const FILMS: [&str; 2] = ["orchard", "tram"];
const HALLS: [&str; 2] = ["one", "two"];

/// A showing that really takes place, whatever a programme calls it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Screening {
    key: u32,
    listed: Listed,
}

/// A ticket, and the screening for which it was sold.
#[derive(Debug)]
struct SoldTicket {
    order: Value,
    show: String,
    seat: &'static str,
    key: u32,
}

struct Chain {
    app: App,
    dice: StdRng,
    screenings: Vec<Screening>,
    /// Screenings that an earlier programme had and this one has not.
    left_out: Vec<Screening>,
    tickets: Vec<SoldTicket>,
    /// Shows that somebody decided to keep or to cancel.
    decided: BTreeSet<String>,
    next_key: u32,
    visitors: u16,
}

impl Chain {
    async fn begin(seed: u64) -> Self {
        let mut chain = Self {
            app: App::new().await,
            dice: StdRng::seed_from_u64(seed),
            screenings: Vec::new(),
            left_out: Vec::new(),
            tickets: Vec::new(),
            decided: BTreeSet::new(),
            next_key: 0,
            visitors: 0,
        };
        for _ in 0..6 {
            chain.add();
        }
        let showings = chain.listed();
        replace(&chain.app, &showings, "").await.is(200);
        chain
    }

    fn listed(&self) -> Vec<Listed> {
        let listed = self.screenings.iter();
        listed.map(|screening| screening.listed.clone()).collect()
    }

    /// Returns whether a hall is free at a minute. A film takes an hour.
    fn is_free(&self, hall: &str, minute: u32, but: Option<u32>) -> bool {
        let mut others = self.screenings.iter();
        !others.any(|other| {
            Some(other.key) != but
                && other.listed.hall == hall
                && other.listed.minute.abs_diff(minute) < 60
        })
    }

    fn add(&mut self) {
        let hall = *HALLS.choose(&mut self.dice).expect("a hall");
        let film = *FILMS.choose(&mut self.dice).expect("a film");
        let minute = self.dice.random_range(54..138) * 10;
        if self.is_free(hall, minute, None) {
            let listed = Listed {
                id: String::new(),
                film,
                hall,
                minute,
            };
            self.insert(listed);
        }
    }

    fn insert(&mut self, listed: Listed) {
        let key = self.next_key;
        self.next_key += 1;
        self.screenings.push(Screening { key, listed });
    }

    /// Changes one thing about the screenings.
    fn change(&mut self) {
        let kind = self.dice.random_range(0..8);
        if kind == 0 || self.screenings.is_empty() {
            self.add();
            return;
        }
        let at = self.dice.random_range(0..self.screenings.len());
        let Screening { key, listed } = self.screenings[at].clone();
        match kind {
            1 => {
                let left = self.screenings.remove(at);
                self.left_out.push(left);
            }
            2 => {
                let back = self.left_out.pop();
                let back =
                    back.filter(|back| self.is_free(back.listed.hall, back.listed.minute, None));
                self.screenings.extend(back);
            }
            3 => {
                let minute = listed.minute + 90;
                if minute <= 1_380 && self.is_free(listed.hall, minute, None) {
                    self.insert(Listed {
                        id: String::new(),
                        minute,
                        ..listed
                    });
                }
            }
            4 | 5 => {
                let minute = listed.minute + self.dice.random_range(0..=24) * 10;
                let minute = minute.saturating_sub(120).clamp(540, 1_380);
                if self.is_free(listed.hall, minute, Some(key)) {
                    self.screenings[at].listed.minute = minute;
                }
            }
            6 => self.screenings[at].listed.id = format!("s-{}", self.dice.random_range(0..3)),
            _ => {
                // Each edition of some feeds gives all ids anew, to other showings.
                let mut ids: Vec<String> = self.listed().into_iter().map(|one| one.id).collect();
                ids.rotate_left(1);
                for (screening, id) in self.screenings.iter_mut().zip(ids) {
                    screening.listed.id = id;
                }
            }
        }
        self.keep_ids_apart();
    }

    /// Takes the ids from screenings whose ids others have.
    fn keep_ids_apart(&mut self) {
        let mut seen = BTreeSet::new();
        for screening in &mut self.screenings {
            let id = &mut screening.listed.id;
            if !id.is_empty() && !seen.insert(id.clone()) {
                id.clear();
            }
        }
    }

    /// Returns the shows on the programme, each with its hall, its film and its beginning.
    async fn on_programme(&self) -> BTreeMap<String, (String, String, String)> {
        self.app.clock.advance_ms(1_000);
        let found = search(&self.app, "?per_page=30").await;
        let showings = found["showings"].as_array().expect("a list");
        let of = |showing: &Value| {
            let hall = text(&showing["hall"], "hall");
            let place = (hall, text(showing, "film"), text(showing, "start"));
            (text(showing, "show"), place)
        };
        let shows: BTreeMap<_, _> = showings.iter().map(of).collect();
        assert_eq!(shows.len(), showings.len(), "each show once: {found:#}");
        shows
    }

    /// Returns the show of a screening.
    async fn show_of(&self, screening: &Screening) -> Option<String> {
        let Listed {
            film, hall, minute, ..
        } = &screening.listed;
        let shows = self.on_programme().await;
        let place = ((*hall).to_owned(), (*film).to_owned(), moment(*minute));
        let mut shows = shows.into_iter().filter(|(_, found)| *found == place);
        shows.next().map(|(show, _)| show)
    }

    /// Holds seats, buys some of them, and waits where there are none.
    async fn sell(&mut self) {
        for _ in 0..SALES {
            let Some(screening) = self.screenings.choose(&mut self.dice).cloned() else {
                return;
            };
            let Some(show) = self.show_of(&screening).await else {
                continue;
            };
            self.visitors += 1;
            let visitor = self.visitors;
            let kind = self.dice.random_range(0..6);
            if kind == 0 {
                // Somebody takes the whole hall, and somebody else waits for it.
                let whole = held(&self.app, visitor, &show, &SEATS).await;
                if whole.status == 201 {
                    self.visitors += 1;
                    waits(&self.app, self.visitors, &show).await;
                }
                continue;
            }
            let seat = *SEATS.choose(&mut self.dice).expect("a seat");
            let held = held(&self.app, visitor, &show, &[seat]).await;
            if held.status != 201 || kind == 1 {
                continue;
            }
            let order = ordered(&self.app, visitor, &held.is(201)).await;
            self.tickets.push(SoldTicket {
                order,
                show,
                seat,
                key: screening.key,
            });
        }
    }

    /// Puts the programme as it is now. Decides about each showing that is named.
    async fn import(&mut self) {
        let mut decisions: BTreeMap<String, String> = BTreeMap::new();
        for _ in 0..40 {
            let query: Vec<String> = decisions.values().cloned().collect();
            let before = self.on_programme().await;
            let query = format!("?{}", query.join("&"));
            let answer = replace(&self.app, &self.listed(), &query).await;
            if answer.status == 200 {
                for (show, decision) in decisions {
                    let is_match = decision.starts_with("match");
                    let _ = !is_match && self.decided.insert(show);
                }
                return;
            }
            assert_eq!(self.on_programme().await, before, "nothing was imported");
            self.decide(&answer, &mut decisions).await;
        }
        panic!("nobody could decide: {decisions:?}");
    }

    /// Decides as somebody does who knows the screenings.
    async fn decide(&mut self, refused: &TestAnswer, decisions: &mut BTreeMap<String, String>) {
        let refused = refused.json();
        let named: Vec<String> = match text(&refused, "code").as_str() {
            "showings_undecided" => {
                let showings = refused["showings"].as_array().expect("a list");
                showings
                    .iter()
                    .map(|showing| text(showing, "show"))
                    .collect()
            }
            "postpone_instead" => {
                let shows = refused["shows"].as_array().expect("a list");
                shows
                    .iter()
                    .map(|show| show.as_str().expect("an id").to_owned())
                    .collect()
            }
            other => panic!("{other}: {refused:#}"),
        };
        for show in named {
            let sold = self.tickets.iter().find(|ticket| ticket.show == show);
            let screening = sold.and_then(|sold| {
                let mut screenings = self.screenings.iter();
                screenings
                    .find(|screening| screening.key == sold.key)
                    .cloned()
            });
            let is_tried = decisions.contains_key(&show);
            let decision = match screening {
                Some(screening) if !is_tried && self.dice.random_range(0..2) == 0 => {
                    let listed = screening.listed;
                    let time = moment(listed.minute);
                    let id = match listed.id.is_empty() {
                        true => format!(
                            "{}-20270111t{}{}",
                            listed.hall,
                            &time[11..13],
                            &time[14..16]
                        ),
                        false => listed.id,
                    };
                    format!("match={show}={id}")
                }
                Some(screening) if !is_tried && screening.listed.minute % 20 == 0 => {
                    postponed(&self.app, &show, screening.listed.minute).await;
                    continue;
                }
                _ if self.dice.random_range(0..2) == 0 => format!("keep={show}"),
                _ => format!("cancel={show}"),
            };
            decisions.insert(show, decision);
        }
    }

    /// Checks each ticket and each showing.
    async fn check(&self) {
        let shows = self.on_programme().await;
        for (show, (hall, _, start)) in &shows {
            let shown = self
                .app
                .ask(get(&format!("/v1/shows/{show}")))
                .await
                .is(200);
            assert_eq!(
                (&shown["starts_at"], &shown["venue"]),
                (&json!(start), &json!(hall))
            );
        }
        let mut seats = BTreeSet::new();
        for ticket in &self.tickets {
            let record = self.app.read(&ticket.order).await;
            let is_decided = self.decided.contains(&ticket.show);
            let state = text(&record, "state");
            if state != "ticketed" {
                assert!(is_decided, "{state} without a decision: {ticket:?}");
                continue;
            }
            let is_new = seats.insert((&ticket.show, ticket.seat));
            assert!(is_new, "sold twice: {ticket:?}");
            let Some((_, _, start)) = shows.get(&ticket.show) else {
                assert!(is_decided, "a ticket without a showing: {ticket:?}");
                continue;
            };
            let shown = &record["starts_at"];
            assert_eq!(shown, &json!(start), "{ticket:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn in_random_chains_of_programmes_each_ticket_stays_with_its_showing() {
    let chains = std::env::var("FAIRGATE_PROGRAMME_CHAINS");
    let chains = chains.map_or(CHAINS, |count| count.parse().expect("a number"));
    let mut tickets = 0;
    for seed in 0..chains {
        eprintln!("chain {seed}");
        let mut chain = Chain::begin(seed).await;
        for _ in 0..IMPORTS {
            chain.sell().await;
            for _ in 0..chain.dice.random_range(1..=3) {
                chain.change();
            }
            chain.import().await;
            chain.check().await;
        }
        tickets += chain.tickets.len();
    }
    assert!(tickets > 0, "something was sold");
    eprintln!(
        "FIGURE {chains} chains of {IMPORTS} programmes, {tickets} tickets with their showings"
    );
}
