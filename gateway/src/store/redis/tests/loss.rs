//! Tests of a Redis that loses its data. Places that were left stay left, the counts stay right,
//! and operators get one warning.

use fairgate_rules::network_limits::{NetworkBounds, NetworkPlaces};

use super::*;
use crate::store::{RoomCounts, StoreLeaveRequest};

fn leaving(number: u64) -> StoreLeaveRequest {
    StoreLeaveRequest {
        number,
        rank: None,
        now: 2000,
    }
}

impl House {
    /// Reads the counts once the store answers again.
    async fn counts(&self) -> RoomCounts {
        let until = Instant::now() + PATIENCE;
        loop {
            match self.nodes[0].counts("r", 1).await {
                Ok(counts) => return counts,
                Err(why) => assert!(Instant::now() < until, "no figures yet: {why}"),
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits until the room lives in this incarnation or a later one.
    async fn lives_in(&self, incarnation: u64) {
        let until = Instant::now() + PATIENCE;
        loop {
            let life = self.ledger.bare_line("r").await.expect("it reads").life;
            if life.is_some_and(|life| life.incarnation >= incarnation)
                && matches!(self.nodes[0].note_seen("r", &[], 1).await, Ok(life) if life >= incarnation)
                && self.nodes[0].counts("r", 1).await.is_ok()
            {
                return;
            }
            assert!(Instant::now() < until, "no new life: {life:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

#[tokio::test]
async fn a_place_left_just_before_a_loss_stays_left() {
    if servers::must_skip("a place that was left before a loss") {
        return;
    }
    let house = House::of(1).await;
    let node = &house.nodes[0];
    for of in 0..4 {
        let left = house.join(0, of).await.number;
        node.leave("r", leaving(left))
            .await
            .expect("the leaving is written");
        // Redis is emptied at once, so the copier may not have run yet.
        house.redis.flush_all().await.expect("it is emptied");
        let standing = node.check_presented_place("r", shown(left, of)).await;
        assert_eq!(
            standing.expect("it answers"),
            PresentedPlaceStatus::Left,
            "before the room is filled in again"
        );
        house.lives_in(of + 2).await;
        let standing = node.check_presented_place("r", shown(left, of)).await;
        assert_eq!(
            standing.expect("it answers"),
            PresentedPlaceStatus::Left,
            "after the room is filled in again"
        );
        let brought = node.bring_back("r", &[shown(left, of)]).await;
        brought.expect("it answers");
        let place = node.place_of("r", holder(of)).await;
        assert_eq!(place.expect("it answers"), None);
    }
    let left = house.join(0, 9).await.number;
    node.leave("r", leaving(left))
        .await
        .expect("the leaving is written");
    house.redis.kill(0);
    let standing = node.check_presented_place("r", shown(left, 9)).await;
    assert_eq!(
        standing.expect("it answers"),
        PresentedPlaceStatus::Left,
        "without Redis"
    );
}

#[tokio::test]
async fn after_a_loss_figures_count_people_and_not_numbers() {
    if servers::must_skip("figures after a loss") {
        return;
    }
    let house = House::of(1).await;
    let people = |counts: &RoomCounts| (counts.joined, counts.left);
    for of in 0..5 {
        house.join(0, of).await;
    }
    let left = house.nodes[0].leave("r", leaving(3)).await;
    left.expect("the leaving is written");
    house.nodes[0]
        .flush_to_ledger("r")
        .await
        .expect("it is copied");
    assert_eq!(people(&house.counts().await), (5, 1));

    house.redis.flush_all().await.expect("it is emptied");
    house.lives_in(2).await;
    let counts = house.counts().await;
    assert_eq!(people(&counts), (5, 1));
    assert!(counts.next >= 1000, "numbers begin above the block");
    // One visitor shows a place that the ledger does not have, and another one joins and leaves.
    let back = house.nodes[0].check_presented_place("r", shown(7, 7)).await;
    assert_eq!(number(&back.expect("it answers")), Some(7));
    let new = house.join(0, 8).await;
    let left = house.nodes[0].leave("r", leaving(new.number)).await;
    left.expect("the leaving is written");
    assert_eq!(people(&house.counts().await), (7, 2));
    house.nodes[0]
        .flush_to_ledger("r")
        .await
        .expect("it is copied");
    house.redis.flush_all().await.expect("it is emptied");
    house.lives_in(3).await;
    assert_eq!(
        people(&house.counts().await),
        (7, 2),
        "after the second loss"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_loss_gives_one_warning_for_all_rooms_and_a_new_room_gives_none() {
    if servers::must_skip("the warnings about a loss") {
        return;
    }
    let house = House::of(2).await;
    let rooms: Vec<String> = (0..20).map(|at| format!("new-{at}")).collect();
    for room in &rooms {
        let row = RoomRow {
            room: room.clone(),
            document: RoomDocument::everyday(),
            facts: RoomFacts::default(),
            version: 1,
            secret: DrawSecret([1; 32]),
            created_at: 0,
        };
        let entry = RoomAuditEntry {
            at: 0,
            role: "promoter",
            action: "room_created",
            detail: serde_json::Value::Null,
        };
        let made = house.ledger.create_room(row, entry).await;
        assert!(made.expect("it is made"));
        let (one, two) = tokio::join!(house.nodes[0].open(room), house.nodes[1].open(room));
        assert!(one.is_ok() && two.is_ok());
    }
    let lost = async || {
        let lives = house.ledger.lives().await.expect("it reads");
        let lost = lives.iter().filter(|(_, life)| life.incarnation > 1);
        lost.count()
    };
    // Every node maintains every room.
    for node in &house.nodes {
        for room in &rooms {
            node.parts
                .keeper
                .maintain_room(room)
                .await
                .expect("the round runs");
        }
        assert!(node.warnings().is_empty(), "{:?}", node.warnings());
    }
    assert_eq!(lost().await, 0, "no new room was taken for a lost one");

    house.redis.flush_all().await.expect("it is emptied");
    let until = Instant::now() + PATIENCE;
    while lost().await <= rooms.len() {
        assert!(Instant::now() < until, "not all rooms live again");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    for node in &house.nodes {
        node.parts.lives.read().await.expect("it reads");
        let told = node.warnings();
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(
            told[0].contains("lost its data") && told[0].contains("21 rooms"),
            "{told:?}"
        );
    }
}

#[tokio::test]
async fn the_places_of_networks_are_counted_over_all_nodes_and_survive_a_loss() {
    if servers::must_skip("the places of networks after a loss") {
        return;
    }
    let house = House::of(2).await;
    house.lives_in(1).await;
    let keys: NetworkKeys = (1..=5).map(|at| [at; 8]).collect();
    let now = Clock::system().now_ms();
    let visitor = |of| StoreJoinRequest {
        toll: NetworkToll {
            keys,
            bounds: NetworkBounds {
                own: 4,
                ..NetworkBounds::NONE
            },
            solved: None,
        },
        now,
        ..entrant(of)
    };
    for of in 0..4 {
        let node = &house.nodes[usize::from(of % 2 == 1)];
        node.join("r", visitor(of)).await.expect("a place");
    }
    let full = house.nodes[0].join("r", visitor(4)).await;
    assert!(
        matches!(full, Err(StoreJoinRefusal::Toll(_))),
        "the places at the other node count"
    );
    house.nodes[0]
        .flush_to_ledger("r")
        .await
        .expect("it is copied");

    house.redis.flush_all().await.expect("it is emptied");
    house.lives_in(2).await;
    // The other node may learn of the new life a moment later.
    let until = Instant::now() + PATIENCE;
    let places = loop {
        match house.nodes[1].network_places("r", keys, now).await {
            Ok(places) => break places,
            Err(why) => assert!(Instant::now() < until, "no answer yet: {why}"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    let counted = NetworkPlaces {
        own: 4,
        wider: 4,
        slash_40: 4,
        slash_32: 4,
    };
    assert_eq!(places, counted);
}
