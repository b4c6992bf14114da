//! Stops the server again and again in the middle of calls. Every call that reached the server must
//! be answered, and the ledger's main file must be complete without its side files.

use parking_lot::Mutex;

use futures_util::future::join_all;
use serde_json::json;

use crate::harness::{Server, TestAnswer, until};

const STOPS: usize = 5;
/// The number of clients. Each of them joins as one new visitor after another.
const CLIENTS: usize = 24;
/// The number of joins before a stop.
const JOINS: usize = 150;

/// The answers that the clients of one round got.
#[derive(Default)]
struct Heard {
    /// The places that were given.
    places: Vec<String>,
    /// The calls that reached the server and got no place.
    lost: Vec<String>,
}

#[tokio::test(flavor = "multi_thread")]
async fn five_stops_under_load_lose_no_call_and_leave_the_ledger_complete_in_one_file() {
    let server = Server::start().await;
    for stop in 1..=STOPS {
        let heard = Mutex::new(Heard::default());
        let ask_to_end = async {
            until("enough have joined", async || {
                let heard = heard.lock();
                (heard.places.len() >= JOINS).then_some(())
            })
            .await;
            server.terminate();
            server.ended().await;
        };
        let clients = join_all((0..CLIENTS).map(|_| join_until_refused(&server, &heard)));
        tokio::join!(ask_to_end, clients);
        let heard = heard.into_inner();
        assert!(heard.lost.is_empty(), "stop {stop}: {:?}", heard.lost);

        // The ledger must also be complete for somebody who copies only its main file.
        for beside in ["ledger.db-wal", "ledger.db-shm"] {
            let _ = std::fs::remove_file(server.data().join(beside));
        }
        server.restart().await;
        for place in &heard.places {
            let path = server.at("/v1/rooms/everyday/place");
            let shown = TestAnswer::of(server.http.get(path).bearer_auth(place)).await;
            shown.expect("an answer").is(200);
        }
    }
}

/// Joins with a new secret each time, until the server accepts no connection.
async fn join_until_refused(server: &Server, heard: &Mutex<Heard>) {
    loop {
        let secret = hex::encode(rand::random::<[u8; 32]>());
        let join = server
            .http
            .post(server.at("/v1/rooms/everyday/places"))
            .json(&json!({"secret": secret}));
        let answer = TestAnswer::of(join).await;
        let mut heard = heard.lock();
        match answer {
            Ok(answer) if answer.status == 201 => {
                let place = answer.json()["place"].as_str().expect("a place").to_owned();
                heard.places.push(place);
            }
            Ok(answer) => heard
                .lost
                .push(format!("{} {}", answer.status, answer.text())),
            // The call never reached the server, so it cannot have changed anything.
            Err(error) if error.is_connect() => return,
            Err(error) => {
                heard.lost.push(format!("{error:?}"));
                return;
            }
        }
    }
}
