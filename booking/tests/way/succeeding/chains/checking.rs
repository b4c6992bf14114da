//! Checks each ticket of a chain against the trains that run.

use std::collections::{BTreeMap, BTreeSet};

use super::running_trains::RunningTrain;
use super::selling::SoldTicket;
use super::*;

/// The stretches that are sold of each seat, by the minutes at which they begin and end.
type SoldStretches = BTreeMap<(ShowId, String), Vec<(u32, u32)>>;

impl Chain {
    /// Checks each ticket against the trains that run.
    pub(super) async fn check(&mut self) {
        let timetable = in_force(&self.nodes[0]).await;
        let mut sold_as: BTreeMap<u32, BTreeSet<ShowId>> = BTreeMap::new();
        let mut stretches = SoldStretches::new();
        let mut tickets = std::mem::take(&mut self.tickets);
        for ticket in &mut tickets {
            for node in &*self.nodes {
                let record = node.read(&ticket.order).await;
                let paid = record["seats"][0]["price"]["amount"].as_i64();
                assert_eq!(paid, Some(ticket.price), "{ticket:?}");
            }
            let record = self.nodes[0].read(&ticket.order).await;
            let state = text(&record, "state");
            if state != "ticketed" {
                assert!(ticket.is_decided, "{state} without a decision: {ticket:?}");
                continue;
            }
            let Some((trip, _)) = timetable.trip_of_show(&ticket.show) else {
                assert!(ticket.is_decided, "a ticket without a train: {ticket:?}");
                continue;
            };
            let running = &self.trains.all[trip as usize];
            let minutes = self.check_ride(ticket, running).await;
            let seat = (ticket.show.clone(), ticket.seat.clone());
            let of_seat = stretches.entry(seat).or_default();
            let is_free = |(from, to): &(u32, u32)| minutes.1 <= *from || *to <= minutes.0;
            assert!(of_seat.iter().all(is_free), "sold twice: {ticket:?}");
            of_seat.push(minutes);
            if let Some(key) = ticket.key {
                self.check_train((ticket, key), minutes.0, running);
            }
            (ticket.key, ticket.boards) = (Some(running.key), minutes.0);
            let shows = sold_as.entry(running.key).or_default();
            shows.insert(ticket.show.clone());
        }
        self.tickets = tickets;
        for (key, shows) in sold_as {
            assert_eq!(shows.len(), 1, "train {key} is sold as {shows:?}");
        }
    }

    /// Checks that every node shows the train's times and the stations of the ticket. Returns the
    /// minutes at which the ride begins and ends.
    async fn check_ride(&self, ticket: &SoldTicket, running: &RunningTrain) -> (u32, u32) {
        let (from, to) = ticket.ends;
        let Some((boards, alights)) = running.at(from).zip(running.at(to)) else {
            panic!(
                "chain {}: {ticket:?} cannot be used on {running:?}",
                self.seed
            );
        };
        let expected = [(from, boards), (to, alights)].map(|(station, minute)| {
            let at = moment(self.day, minute);
            (json!(station), json!(at))
        });
        for node in &*self.nodes {
            let record = node.read(&ticket.order).await;
            let journey = &record["journey"];
            let shown = ["from", "to"].map(|end| {
                let end = &journey[end];
                (end["station"].clone(), end["at"].clone())
            });
            assert_eq!(shown, expected, "chain {}: {ticket:?}", self.seed);
        }
        (boards, alights)
    }

    /// Checks that a ticket of a train is still for that train, as far as anybody can tell trains
    /// apart. `boards` is the minute at which the ride begins now.
    fn check_train(&self, (ticket, key): (&SoldTicket, u32), boards: u32, running: &RunningTrain) {
        // Of trains that nobody could tell apart, a ticket may go with any, and with the one that
        // kept its time.
        let kept_time = boards == ticket.boards;
        let as_before = |key: u32| {
            let was = self.before.iter().find(|before| before.key == key)?;
            Some((&was.train.number, was.train.leaves, &was.train.stations))
        };
        let were_alike = as_before(running.key) == as_before(key);
        // Nobody can tell a train that is new, or that has another number and moved far, from one
        // that was renumbered and moved a little, if no other train may be it.
        let was_known = self.before.iter().any(|before| {
            let was = &before.train;
            let number = &running.train.number;
            let is_renamed = number.is_empty() || was.number != *number;
            before.key == running.key && !(is_renamed && running.is_far_from(before))
        });
        let still_runs = self.trains.all.iter().any(|train| train.key == key);
        // Nor one of the number, if the train got another number, another id and other times.
        let own_number = |train: &&RunningTrain| train.key == key;
        let was = self.before.iter().find(own_number).map(|was| &was.train);
        let now = self
            .trains
            .all
            .iter()
            .find(own_number)
            .map(|now| &now.train);
        let has_own_number = was.is_some_and(|was| was.number == running.train.number);
        let was_renamed = was.zip(now).is_some_and(|(was, now)| {
            was.number != now.number && was.trip != now.trip && was.leaves != now.leaves
        });
        let has_number = has_own_number && was_renamed && !was_known;
        let is_only_one = !was_known && !still_runs && boards.abs_diff(ticket.boards) <= 60;
        assert!(
            running.key == key || kept_time || were_alike || has_number || is_only_one,
            "chain {}: the ticket of train {key} at {} as {} is for {running:?} of {:?}, before {:?}",
            self.seed,
            moment(self.day, ticket.boards),
            ticket.show,
            self.trains.all,
            self.before
        );
    }
}
