//! Tests `gateway apply`: one step, all or nothing, with the place of every fault, and without
//! undoing what was set live.

use std::process::{Child, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use fairgate_servers::{PostgresServer, RedisServers, must_skip};
use serde_json::{Value, json};

use crate::harness::{
    PROMOTER_KEY, Promoter, Server, TestShop, Visitor, gateway, in_seconds, until,
};

const NIGHTS: usize = 40;

/// The changes of a file whose room sells at once, without a line.
const OPEN: [(&str, &str); 2] = [
    ("mode = \"fixed\"", "method = \"open\""),
    ("draw_at = \"2031", "draw_at = \"2026"),
];

/// How many times the server is killed while the file is being applied.
const KILLS: usize = 6;

/// How many times one of two nodes is killed meanwhile. Its start takes longer.
const KILLS_OF_TWO: usize = 3;

/// An on-sale file: a hall, `nights` shows, and a room that draws its line in an hour. Each change
/// replaces a text, which must be there.
fn season(nights: usize, changes: &[(&str, &str)]) -> String {
    let mut text = String::from("[[venue]]\nid = \"hall\"\nplan = \"grid:4x10\"\n");
    for n in 0..nights {
        text += &format!(
            "[[show]]\nid = \"hamlet-{n}\"\nvenue = \"hall\"\ntitle = \"Hamlet {n}\"\nstarts_at = \"2031-06-01T20:00:00+02:00\"\nprices = {{ cat1 = 9900, cat2 = 4900 }}\n"
        );
    }
    text += &format!(
        "[[room]]\nid = \"sale\"\ntitle = \"Hamlet\"\nshows = [\"hamlet-*\"]\nopens_at = \"{}\"\ndraw_at = \"{}\"\nmode = \"fixed\"\nper_s = 500\n",
        "2026-01-01T00:00:00Z", "2031-01-01T00:00:00Z"
    );
    for (from, to) in changes {
        assert!(text.contains(from), "{from} is not in the file");
        text = text.replacen(from, to, 1);
    }
    text
}

fn apply_command(server: &Server, text: &str, preview: bool) -> std::process::Command {
    let path = server.folder().join("onsale.toml");
    std::fs::write(&path, text).expect("a written file");
    let mut command = gateway();
    command
        .arg("apply")
        .arg(path)
        .args(["--target", &server.url])
        .env("FAIRGATE_PROMOTER_KEY", PROMOTER_KEY);
    if preview {
        command.arg("--preview");
    }
    command
}

fn apply(server: &Server, text: &str) -> Output {
    apply_command(server, text, false)
        .output()
        .expect("the command starts")
}

fn said(output: &Output) -> String {
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

fn applied(server: &Server, text: &str) -> String {
    let output = apply(server, text);
    assert!(output.status.success(), "{}", said(&output));
    said(&output)
}

fn refused(server: &Server, text: &str) -> String {
    let output = apply(server, text);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    said(&output)
}

/// Tries to hold seats of the shows all the time, as a visitor of `everyday`, and without a pass.
struct Poller {
    tries: Arc<AtomicUsize>,
    won: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
    running: tokio::task::JoinHandle<()>,
}

impl Poller {
    async fn start(server: &Server) -> Self {
        let pass = Visitor::admitted(server, "everyday").await.pass;
        let (tries, won) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let stop = Arc::<AtomicBool>::default();
        let (http, base) = (server.http.clone(), server.url.clone());
        let shared = (Arc::clone(&tries), Arc::clone(&won), Arc::clone(&stop));
        let running = tokio::spawn(async move {
            let (tries, won, stop) = shared;
            while !stop.load(Ordering::Relaxed) {
                let n = tries.fetch_add(1, Ordering::Relaxed);
                let show = format!("{base}/v1/shows/hamlet-{}/holds", n % NIGHTS);
                let mut call = http.post(show).json(&json!({"best": {"quantity": 1}}));
                if n % 3 != 0 {
                    call = call.bearer_auth(&pass);
                }
                // While the server is down there is no answer.
                let answer = call.send().await;
                if answer.is_ok_and(|answer| answer.status().is_success()) {
                    won.fetch_add(1, Ordering::Relaxed);
                }
                tokio::task::yield_now().await;
            }
        });
        Self {
            tries,
            won,
            stop,
            running,
        }
    }

    async fn until_more(&self, more: usize) {
        let wanted = self.tries.load(Ordering::Relaxed) + more;
        until("the poller has tried more often", async || {
            (self.tries.load(Ordering::Relaxed) >= wanted).then_some(())
        })
        .await;
    }

    /// Ends the poller. Returns how many holds it got.
    async fn end(self) -> usize {
        self.stop.store(true, Ordering::Relaxed);
        self.running.await.expect("it does not panic");
        self.won.load(Ordering::Relaxed)
    }
}

/// Applies the forty nights at a server that is killed in the middle again and again. Meanwhile the
/// pollers try to buy. None of them may get a seat, and in the end the file is applied.
async fn apply_under_kills(server: &Server, kills: usize, pollers: Vec<Poller>) {
    let text = season(NIGHTS, &[]);
    for round in 0..kills {
        let mut running: Child = apply_command(server, &text, false)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the command starts");
        pollers[0].until_more(1 + round * 4).await;
        server.kill();
        running.wait().expect("the command ends");
        server.restart().await;
        for poller in &pollers {
            poller.until_more(NIGHTS).await;
        }
    }
    let done = applied(server, &text);
    assert!(done.contains("applied room \"sale\""), "{done}");
    for poller in pollers {
        poller.until_more(3 * NIGHTS).await;
        assert_eq!(poller.end().await, 0);
    }
}

async fn all_nights_are_sold_by_their_room(server: &Server) {
    for n in 0..NIGHTS {
        let shown = server.get(&format!("/v1/shows/hamlet-{n}")).await.is(200);
        assert_eq!(
            (&shown["room"], &shown["state"]),
            (&json!("sale"), &json!("on_sale"))
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_poller_gets_no_seat_while_forty_nights_are_applied_and_the_server_is_killed() {
    let server = Server::start().await;
    let poller = Poller::start(&server).await;
    apply_under_kills(&server, KILLS, vec![poller]).await;
    all_nights_are_sold_by_their_room(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pollers_at_two_nodes_get_no_seat_while_the_one_that_applies_is_killed() {
    if must_skip("a file that is applied at one of two nodes") {
        return;
    }
    let redis = RedisServers::single().await.expect("Redis");
    let postgres = PostgresServer::start().await.expect("PostgreSQL");
    let (redis_url, database_url) = (redis.url(), postgres.url());
    let settings = [
        ("FAIRGATE_REDIS_URL", &*redis_url),
        ("FAIRGATE_DATABASE_URL", &*database_url),
    ];
    let (one, other) = (Server::with(&settings).await, Server::with(&settings).await);
    let pollers = vec![Poller::start(&other).await, Poller::start(&one).await];
    apply_under_kills(&one, KILLS_OF_TWO, pollers).await;
    for server in [&one, &other] {
        all_nights_are_sold_by_their_room(server).await;
    }
}

/// Holds the writing of shows back until [`release_shows`], as a slow disk would.
fn hold_shows_back(postgres: &Arc<PostgresServer>) -> tokio::task::JoinHandle<()> {
    let postgres = Arc::clone(postgres);
    tokio::spawn(async move {
        let sql = "BEGIN; LOCK TABLE shows IN SHARE MODE; SELECT pg_sleep(120)";
        let ended = postgres.query(sql).await;
        assert!(ended.is_err(), "it waits until it is ended");
    })
}

async fn release_shows(postgres: &PostgresServer) {
    let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
               WHERE query LIKE '%pg_sleep%' AND pid <> pg_backend_pid()";
    postgres.query(sql).await.expect("ended");
}

async fn readiness(server: &Server) -> String {
    server.ready_as_operator().await.text()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_apply_that_ends_after_its_rooms_sells_no_show_as_it_was() {
    if must_skip("an apply that ends after its rooms") {
        return;
    }
    let redis = RedisServers::single().await.expect("Redis");
    let postgres = PostgresServer::options().without_fsync().start().await;
    let postgres = Arc::new(postgres.expect("PostgreSQL"));
    let (redis_url, database_url) = (redis.url(), postgres.url());
    let settings = [
        ("FAIRGATE_REDIS_URL", &*redis_url),
        ("FAIRGATE_DATABASE_URL", &*database_url),
    ];
    let (one, other) = (Server::with(&settings).await, Server::with(&settings).await);
    // The first night is a walk-in that the room sells alone. Nobody sells the second one yet, and
    // its price is wrong.
    let cheap =
        "title = \"Hamlet 1\"\nstarts_at = \"2031-06-01T20:00:00+02:00\"\nprices = { cat1 = ";
    let (dear, cheap) = (format!("{cheap}9900"), format!("{cheap}99"));
    let walk_in = "title = \"Hamlet 0\"\nwalk_in = true";
    let before = season(
        3,
        &[
            OPEN[0],
            OPEN[1],
            ("\"hamlet-*\"", "\"hamlet-0\""),
            ("title = \"Hamlet 0\"", walk_in),
            (&dear, &cheap),
        ],
    );
    let names = "\"hamlet-1\", \"hamlet-2\"";
    let after = season(3, &[OPEN[0], OPEN[1], ("\"hamlet-*\"", names)]);
    applied(&one, &before);
    let (ana, ben) = (
        Visitor::admitted(&other, "everyday").await,
        Visitor::admitted(&other, "sale").await,
    );

    let held_back = hold_shows_back(&postgres);
    let locks = "SELECT count(*) FROM pg_locks JOIN pg_class ON pg_class.oid = relation \
                 WHERE relname = 'shows' AND mode = 'ShareLock'";
    until("shows cannot be written", async || {
        let count = postgres.query(locks).await.ok()?;
        (count == "1").then_some(())
    })
    .await;
    let mut running = apply_command(&one, &after, false)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the command starts");
    // The third night did not change, so its new room sells it.
    until("the other node has the new rooms", async || {
        let shown = other.get("/v1/shows/hamlet-2").await.is(200);
        (shown["room"] == "sale").then_some(())
    })
    .await;
    one.kill();
    running.wait().expect("the command ends");
    release_shows(&postgres).await;
    held_back.await.expect("it ended");

    let best = json!({"best": {"quantity": 1}});
    for (visitor, show) in [(&ana, "hamlet-0"), (&ben, "hamlet-1")] {
        let refused = other.try_hold(visitor, show, &best).await;
        refused.problem(409, "not_on_sale");
    }
    other.try_hold(&ben, "hamlet-2", &best).await.is(201);
    let told = readiness(&other).await;
    assert!(
        told.contains("stored in part: hamlet-0, hamlet-1;"),
        "{told}"
    );

    applied(&other, &after);
    let refused = other.try_hold(&ana, "hamlet-0", &best).await;
    refused.problem(409, "not_on_sale");
    let held = other.try_hold(&ben, "hamlet-1", &best).await.is(201);
    assert_eq!(held["total"]["amount"], 9_900, "{held}");
    let told = readiness(&other).await;
    assert!(!told.contains("stored in part"), "{told}");
}

/// Files with one fault each: the change that makes the fault, and a text of its report.
const FAULTS: [([&str; 2], &str); 21] = [
    (["draw_at = \"2031", "draw_at = \"2025"], "draw_at: "),
    (["per_s = 500", "per_s = 0"], "per_s: "),
    (["per_s = 500", "per_s = nan"], "per_s: "),
    (["per_s = 500", "max_insight = 5"], "max_insight: "),
    (["mode = \"fixed\"", "mode = \"fast\""], "mode: "),
    (["mode = \"fixed\"", "method = \"lottery\""], "method: "),
    (["mode = \"fixed\"", "beacon = \"drand\""], "beacon: "),
    (["title = \"Hamlet\"\n", ""], "title: "),
    (["shows = [\"hamlet-*\"]", "shows = []"], "shows"),
    (
        ["opens_at = \"2026", "opens_at = \"soon 2026"],
        "opens_at: ",
    ),
    (["id = \"sale\"", "id = \"Sale!\""], "id: "),
    (["id = \"sale\"", "id = \"everyday\""], "built-in"),
    (["grid:4x10", "grid:4by10"], "plan: "),
    (["grid:4x10", "seatsio:none.json"], "none.json"),
    (["cat1 = 9900", "cat9 = 9900"], "prices.cat9: "),
    (["cat1 = 9900", "cat1 = -1"], "prices.cat1: "),
    (["title = \"Hamlet 1\"\n", ""], "title: "),
    (["title = \"Hamlet 1\"", "titel = \"Hamlet 1\""], "title: "),
    (
        ["id = \"hamlet-1\"", "id = \"hamlet-0\""],
        "another [[show]]",
    ),
    (["[[room]]", "[[stage]]\nid = \"s\"\n[[room]]"], "[[stage]]"),
    (["venue = \"hall\"", "venue = \"hall"], "onsale.toml:"),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_file_with_one_fault_is_refused_whole_with_the_place_of_the_fault() {
    let server = Server::start().await;
    let poller = Poller::start(&server).await;
    for ([from, to], part) in FAULTS {
        let text = season(3, &[(from, to)]);
        let told = refused(&server, &text);
        assert!(told.contains(part), "{from} → {to}: {told}");
        let place = told.split("onsale.toml:").find_map(|rest| {
            let (line, rest) = rest.split_once(':')?;
            let (column, _) = rest.split_once(':')?;
            Some((line.parse::<usize>().ok()?, column.parse::<usize>().ok()?))
        });
        let (line, column) = place.unwrap_or_else(|| panic!("no place in {told}"));
        assert!(
            line >= 1 && line <= text.lines().count() && column >= 1,
            "{told}"
        );
        server
            .get("/v1/shows/hamlet-0")
            .await
            .problem(404, "not_found");
        server.get("/v1/rooms/sale").await.problem(404, "not_found");
    }
    poller.until_more(NIGHTS).await;
    assert_eq!(poller.end().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slip_in_a_pattern_is_warned_of_and_sells_nothing() {
    let server = Server::start().await;
    let poller = Poller::start(&server).await;
    let told = applied(&server, &season(2, &[("hamlet-*", "hamlett-*")]));
    for part in [
        "\"hamlett-*\"",
        "\"hamlet-0\" is announced and not sold",
        "walk_in",
    ] {
        assert!(told.contains(part), "{part} is not in {told}");
    }
    poller.until_more(2 * NIGHTS).await;
    assert_eq!(poller.end().await, 0);
    let shown = server.get("/v1/shows/hamlet-0").await.is(200);
    assert_eq!(shown["state"], "announced");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_set_live_stays_when_the_file_is_applied_again_and_is_named() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    let postponable = season(2, &[]);
    applied(&server, &postponable);
    let set_live = json!({"per_s": 7, "max_inside": 9, "message": "Doors at seven.", "mode": "auto", "challenge": "pow"});
    promoter.patch("rooms/sale", &set_live).await.is(200);
    let moved = json!({"starts_at": "2031-07-01T20:00:00+02:00"});
    let postponed = promoter.post_json("shows/hamlet-0/postpone", &moved).await;
    postponed.is(200);
    let told = applied(&server, &postponable.replacen("Hamlet 1", "Hamlet, one", 1));
    let room = promoter.get("rooms/sale").await.is(200);
    for (field, value) in set_live.as_object().expect("fields") {
        let stays = room[field] == *value || room[field].as_f64() == value.as_f64();
        assert!(stays, "{field}: {}", room[field]);
        assert!(
            told.contains(&format!("{field} stays")),
            "{field} is not named in {told}"
        );
    }
    let date = |show: &Value| show["starts_at"].to_string();
    let shown = server.get("/v1/shows/hamlet-0").await.is(200);
    assert!(date(&shown).contains("2031-07-01"), "{shown}");
    assert!(told.contains("starts_at stays"), "{told}");
    // What the file did change is changed.
    let shown = server.get("/v1/shows/hamlet-1").await.is(200);
    assert_eq!(shown["title"], "Hamlet, one");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_field_that_both_changed_is_a_conflict_and_nothing_is_applied() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    applied(&server, &season(1, &[]));
    promoter
        .patch("rooms/sale", &json!({"per_s": 7}))
        .await
        .is(200);
    let both = season(1, &[("per_s = 500", "per_s = 600"), ("Hamlet 0", "Hamlet")]);
    let told = refused(&server, &both);
    assert!(
        told.contains("per_s") && told.contains('7') && told.contains("600"),
        "{told}"
    );
    let preview = promoter
        .post_json("apply?preview=true", &json!({"onsale": both}))
        .await
        .is(200);
    let conflict = &preview["conflicts"][0];
    assert_eq!(
        (
            &conflict["id"],
            &conflict["field"],
            conflict["live"].as_f64()
        ),
        (&json!("sale"), &json!("per_s"), Some(7.0))
    );
    let shown = server.get("/v1/shows/hamlet-0").await.is(200);
    assert_eq!(shown["title"], "Hamlet 0");
    let room = promoter.get("rooms/sale").await.is(200);
    assert_eq!(room["per_s"].as_f64(), Some(7.0));
    // The file names the value that should hold, so there is no conflict any more.
    applied(
        &server,
        &season(1, &[("per_s = 500", "per_s = 7"), ("Hamlet 0", "Hamlet")]),
    );
    let shown = server.get("/v1/shows/hamlet-0").await.is(200);
    assert_eq!(shown["title"], "Hamlet");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_changes_nothing_and_says_what_would_change() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    let preview = apply_command(&server, &season(2, &[]), true)
        .output()
        .expect("the command starts");
    assert!(preview.status.success(), "{}", said(&preview));
    let told = said(&preview);
    assert!(told.contains("would create room \"sale\"") && told.contains("nothing was applied"));
    server.get("/v1/rooms/sale").await.problem(404, "not_found");
    applied(&server, &season(2, &[]));
    let changed = json!({"onsale": season(2, &[("Hamlet 1", "Hamlet, one")])});
    let preview = promoter
        .post_json("apply?preview=true", &changed)
        .await
        .is(200);
    let change = json!({"kind": "show", "id": "hamlet-1", "field": "title", "from": "Hamlet 1", "to": "Hamlet, one", "live": false});
    assert_eq!(preview["change"], json!([change]));
    assert_eq!(
        (&preview["create"], &preview["faults"]),
        (&json!([]), &json!([]))
    );
    let shown = server.get("/v1/shows/hamlet-1").await.is(200);
    assert_eq!(shown["title"], "Hamlet 1");
    // The file may also be sent as tables, and a fault then has no line.
    let tables = json!({"show": [{"id": "x", "venue": "hall", "title": "X", "starts_at": in_seconds(9_000), "prices": {"cat9": 1}}]});
    let refused = promoter.post_json("apply", &tables).await;
    let refused = refused.problem(422, "onsale_invalid");
    let fault = &refused["faults"][0];
    assert_eq!(
        (&fault["field"], &fault["line"]),
        (&json!("prices.cat9"), &Value::Null)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_room_has_closed_a_new_room_may_sell_what_is_left() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    applied(&server, &season(1, &OPEN));
    let again = [OPEN[0], OPEN[1], ("id = \"sale\"", "id = \"rest\"")];
    let told = refused(&server, &season(1, &again));
    let covered =
        "the room \"sale\" covers \"hamlet-*\", so the room \"rest\" cannot cover \"hamlet-*\"";
    assert!(told.contains(covered), "{told}");
    promoter.post("rooms/sale/close").await.is(200);
    applied(&server, &season(1, &again));
    let ben = Visitor::admitted(&server, "rest").await;
    let best = json!({"best": {"quantity": 1}});
    server.try_hold(&ben, "hamlet-0", &best).await.is(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_changes_what_buyers_have_is_refused_before_its_rooms_are_stored() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    applied(&server, &season(1, &OPEN));
    let ana = Visitor::admitted(&server, "sale").await;
    let seats = json!({"seats": ["D-9", "D-10"]});
    let held = server.try_hold(&ana, "hamlet-0", &seats).await.is(201);
    let order = server.checkout(&ana, &held).await;
    server.pay(&order, "approve").await.is(200);
    server.order_in(&order, "ticketed").await;
    let before = server.get("/v1/shows/hamlet-0").await.is(200);
    let dollars = "title = \"Hamlet 0\"\ncurrency = \"USD\"";
    for (from, to, field, code, part) in [
        (
            "title = \"Hamlet 0\"",
            dollars,
            "currency",
            "currency_in_use",
            "sold in EUR",
        ),
        (
            "grid:4x10",
            "grid:3x10",
            "venue",
            "plan_in_use",
            "D-9, D-10",
        ),
        (
            "2031-06-01T20",
            "2031-06-02T20",
            "starts_at",
            "postpone_instead",
            "postpone",
        ),
    ] {
        let text = season(
            1,
            &[OPEN[0], OPEN[1], (from, to), ("per_s = 500", "per_s = 9")],
        );
        let preview = apply_command(&server, &text, true).output();
        let preview = preview.expect("the command starts");
        assert_eq!(preview.status.code(), Some(1), "{}", said(&preview));
        for told in [said(&preview), refused(&server, &text)] {
            let place = told.contains("onsale.toml:") && told.contains(&format!("{field}: "));
            assert!(place && told.contains(part), "{told}");
        }
        let answer = promoter.post_json("apply", &json!({"onsale": text})).await;
        let answer = answer.problem(422, "onsale_invalid");
        let fault = &answer["faults"][0];
        assert_eq!(
            (&fault["field"], &fault["code"]),
            (&json!(field), &json!(code))
        );
        assert!(
            fault["line"].is_u64() && fault["column"].is_u64(),
            "{fault}"
        );
        let room = promoter.get("rooms/sale").await.is(200);
        assert_eq!(room["per_s"].as_f64(), Some(500.0), "{field}");
        let shown = server.get("/v1/shows/hamlet-0").await.is(200);
        for kept in ["categories", "starts_at", "title"] {
            assert_eq!(shown[kept], before[kept], "{kept}");
        }
    }
    // What nobody relies on may change.
    applied(
        &server,
        &season(1, &[OPEN[0], OPEN[1], ("per_s = 500", "per_s = 9")]),
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_end_that_has_passed_is_refused_unless_the_room_has_it_already() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    applied(&server, &season(1, &OPEN));
    let ending = |at: &str| {
        let line = format!("per_s = 500\ncloses_at = \"{at}\"");
        season(1, &[OPEN[0], OPEN[1], ("per_s = 500", &line)])
    };
    let told = refused(&server, &ending("2026-01-02T00:00:00Z"));
    let place = told.contains("onsale.toml:") && told.contains("closes_at: has passed");
    assert!(place, "{told}");
    promoter.selling("sale").await;
    let soon = ending(&in_seconds(8));
    applied(&server, &soon);
    promoter.phase("sale", "closed").await;
    applied(&server, &soon);
    let told = refused(&server, &ending("2026-01-02T00:00:00Z"));
    assert!(told.contains("closed and stays so"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn shows_that_lose_their_room_are_named_even_if_they_are_not_in_the_file() {
    let server = Server::start().await;
    let walk_in = (
        "title = \"Hamlet 1\"",
        "title = \"Hamlet 1\"\nwalk_in = true",
    );
    applied(&server, &season(3, &[walk_in]));
    let narrower = ("hamlet-*", "hamlet-0");
    let without_shows = season(0, &[narrower]);
    for text in [&season(3, &[walk_in, narrower]), &without_shows] {
        let mut preview = apply_command(&server, text, true);
        let told = said(&preview.output().expect("the command starts"));
        for (part, times) in [
            (
                "\"hamlet-1\" is sold through the room everyday from now on",
                1,
            ),
            ("\"hamlet-2\" is announced and not sold any more", 1),
            ("\"hamlet-2\" is announced", 1),
            ("\"hamlet-0\" is", 0),
        ] {
            assert_eq!(told.matches(part).count(), times, "{part} in {told}");
        }
    }
    let told = applied(&server, &without_shows);
    assert!(told.contains("\"hamlet-2\" is announced and not sold any more"));
    let shown = server.get("/v1/shows/hamlet-1").await.is(200);
    assert_eq!(shown["room"], "everyday");
    let told = applied(&server, &without_shows);
    assert!(!told.contains("any more"), "{told}");
}
