//! Tests the program without a command: an arena is on sale within half a minute.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::harness::{free_port, gateway, until_within};

/// The running demo. It ends with the test.
struct Demo(Child);

impl Drop for Demo {
    fn drop(&mut self) {
        // The demo may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_bare_command_prints_a_lobby_whose_line_is_drawn_within_30_s() {
    let started = Instant::now();
    let address = format!("127.0.0.1:{}", free_port().expect("a free port"));
    let child = gateway()
        .env("FAIRGATE_LISTEN", &address)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn();
    let mut demo = Demo(child.expect("the demo starts"));
    let printed = BufReader::new(demo.0.stdout.take().expect("its output"));
    let (found, mut lobby) = tokio::sync::mpsc::unbounded_channel();
    // The output is read to the end, so that the demo never writes into a closed pipe.
    std::thread::spawn(move || {
        for line in printed.lines().map_while(Result::ok) {
            let addresses = line
                .split_whitespace()
                .filter(|word| word.contains("/r/demo"));
            addresses.for_each(|word| drop(found.send(word.to_owned())));
        }
    });
    let lobby = tokio::time::timeout(Duration::from_secs(20), lobby.recv())
        .await
        .expect("an address in time");
    let lobby = lobby.expect("a lobby address is printed");
    assert_eq!(lobby, format!("http://{address}/r/demo"));

    let client = reqwest::Client::builder()
        .no_proxy()
        .build()
        .expect("a client");
    let page = client.get(&lobby).send().await.expect("the lobby answers");
    assert_eq!(page.status(), 200);
    let read = async |path: &str| -> Value {
        let answer = client
            .get(format!("http://{address}{path}"))
            .send()
            .await
            .expect("an answer");
        answer.json().await.expect("JSON")
    };
    let room = read("/v1/rooms/demo").await;
    let shows = read("/v1/shows").await;
    let seats: u64 = shows["shows"]
        .as_array()
        .expect("shows")
        .iter()
        .filter_map(|show| show["seats"].as_u64())
        .sum();
    assert!(seats >= 20_000, "{seats} seats");
    assert!(
        matches!(
            room["phase"].as_str(),
            Some("prequeue" | "drawing" | "selling")
        ),
        "{room}"
    );
    let left = Duration::from_secs(30).saturating_sub(started.elapsed());
    until_within("the demo's draw", left, async || {
        read("/v1/rooms/demo/draw").await["drawn_at"]
            .is_string()
            .then_some(())
    })
    .await;
    eprintln!(
        "FIGURE {seats} seats; drawn {:.1} s after the start",
        started.elapsed().as_secs_f64()
    );
}
