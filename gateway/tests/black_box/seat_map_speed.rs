//! Measures the seat map of 50,000 and 100,000 seats in a browser whose processor is six times
//! slower, as on a simple phone. Run by hand, on a machine that does nothing else:
//! `cargo nextest run -p gateway --run-ignored only -E 'test(/^seat_map_speed/)' --no-capture`.
//! Prints a figure on each line, as `name: value`.

use serde_json::{Value, json};

use crate::harness::{Browser, Promoter, Server, TestAnswer, in_seconds};

/// How much slower the page's processor is.
const SLOWER: f64 = 6.0;

/// Opens a grid of `rows` × `seats` seats on a slow phone with a live socket, and returns its
/// figures.
async fn figures(rows: u32, seats: u32) -> Option<Value> {
    let browser = Browser::open().await?;
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    let room = json!({"method": "open", "draw_at": in_seconds(-30)});
    promoter
        .on_sale(&format!("{rows}x{seats}"), json!({}), room)
        .await;
    promoter.selling("sale").await;
    answer_once(&server).await;
    browser.go(&server.at("/r/sale")).await;
    browser.click("#join").await;
    browser
        .until::<bool>("!document.querySelector('#turn-form').hidden")
        .await;
    browser.click("#turn").await;
    browser
        .until::<bool>("!document.querySelector('#go-seats').hidden")
        .await;
    browser.become_phone().await;
    browser.run_first(include_str!("seat_map_socket.js")).await;
    browser.slow_down(SLOWER).await;
    browser.go(&server.at("/s/night")).await;
    let first: f64 = browser
        .until("performance.getEntriesByName('fairgate.map-drawn')[0].startTime")
        .await;
    browser
        .until::<bool>("document.querySelector('#freshness').dataset.phase === 'selling'")
        .await;
    browser
        .run(&format!("window.seatsForSpeed = {}", rows * seats))
        .await;
    let bytes: f64 = browser
        .until("performance.getEntriesByType('resource').find(({ name }) => name.endsWith('/seatmap')).encodedBodySize")
        .await;
    let script = include_str!("seat_map_speed.js").trim_end();
    browser
        .run(&format!(
            "{script}.then((told) => {{ window.figuresForSpeed = told; }}); undefined"
        ))
        .await;
    let measured: String = browser.until("window.figuresForSpeed").await;
    let mut figures: Value = serde_json::from_str(&measured).expect("figures");
    figures["first_picture_ms"] = json!(first);
    figures["geometry_bytes"] = json!(bytes);
    for (name, figure) in figures.as_object().expect("figures") {
        let figure = figure.as_f64().expect("a number");
        eprintln!("{name}_{}_seats: {figure:.1}", rows * seats);
    }
    browser.close("the fan").await;
    Some(figures)
}

/// Reads the plan once, so that the server compresses it before the page is measured. In a build
/// without optimisation, the compression takes a tenth of a second.
async fn answer_once(server: &Server) {
    let plan = server.http.get(server.at("/v1/shows/night/seatmap"));
    let plan = plan
        .header("accept", "application/vnd.fairgate.seatmap")
        .header("accept-encoding", "gzip");
    let answer = TestAnswer::of(plan).await.expect("an answer");
    assert_eq!(answer.header("content-encoding"), "gzip");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "measures, and needs a machine that does nothing else"]
async fn a_map_of_50_000_seats_is_smooth_on_a_slow_phone() {
    // Other programs may slow the processor down for a while, so the median of three rounds counts.
    let mut rounds = Vec::new();
    for _ in 0..3 {
        let Some(figures) = figures(200, 250).await else {
            return;
        };
        rounds.push(figures);
    }
    for (name, most) in [
        ("geometry_bytes", 60_000.0),
        ("first_picture_ms", 1_500.0),
        ("frame_interval_p50_ms", 17.0),
        ("frame_interval_p95_ms", 34.0),
        ("frame_work_p95_ms", 16.0),
        ("change_of_500_seats_p50_ms", 3.0),
    ] {
        let of_round = |figures: &Value| figures[name].as_f64().expect("a figure");
        let mut found: Vec<f64> = rounds.iter().map(of_round).collect();
        found.sort_by(f64::total_cmp);
        let figure = found[1];
        assert!(
            figure <= most,
            "{name} is {figure:.1}, and should be at most {most}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "measures, and needs a machine that does nothing else"]
async fn a_map_of_100_000_seats_is_drawn_on_a_slow_phone() {
    let Some(figures) = figures(316, 317).await else {
        return;
    };
    assert!(figures["frames"].as_f64() >= Some(300.0), "{figures}");
}
