//! Backs up a server while people buy, and restores the backup: into an empty folder, and with
//! PostgreSQL's own programs. Nothing is sold before somebody reopens the shows.

use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};

use fairgate_servers::{PostgresServer, RedisServers, must_skip};
use serde_json::{Value, json};

use crate::harness::{
    DOOR_KEY, PROMOTER_KEY, Promoter, Server, TestAnswer, TestShop, Visitor, gateway, get,
    in_seconds, text, until,
};
use crate::set_back::{kill_in_the_middle, kill_rounds};

/// Puts a show on sale in a room without a line.
async fn on_sale(server: &Server) {
    let promoter = Promoter::of(server);
    let room = json!({"title": "Night one", "method": "open", "draw_at": in_seconds(-30)});
    let show = json!({"seats_per_visitor": 100});
    promoter.on_sale("20x40", show, room).await;
    promoter.selling("sale").await;
}

/// Buys a seat, and returns the order with its ticket.
async fn buy(server: &Server, visitor: &Visitor<'_>, seat: &str) -> Value {
    let asked = json!({ "seats": [seat] });
    let held = server.try_hold(visitor, "night", &asked).await.is(201);
    let ordered = server.checkout(visitor, &held).await;
    server.pay(&ordered, "approve").await.is(200);
    let ticketed = server.order_in(&ordered, "ticketed").await;
    let mut bought = ordered;
    bought["ticket"] = ticketed["tickets"][0]["ticket"].clone();
    bought
}

async fn stop(server: &Server) {
    server.terminate();
    server.ended().await;
}

fn said(output: &Output) -> String {
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

fn run(command: &mut Command) -> Output {
    command.output().expect("the command starts")
}

fn done(command: &mut Command) -> String {
    let output = run(command);
    assert!(output.status.success(), "{}", said(&output));
    said(&output)
}

fn refused(command: &mut Command) -> String {
    let output = run(command);
    assert!(!output.status.success(), "{}", said(&output));
    said(&output)
}

fn backup(data: &Path, file: &Path) -> Command {
    let mut command = gateway();
    command.arg("backup").arg(file).arg("--data").arg(data);
    command
}

fn restore(file: &Path, data: &Path) -> Command {
    let mut command = gateway();
    command.arg("restore").arg(file).arg("--data").arg(data);
    command
}

fn reopen(server: &Server, show: &str) -> Command {
    let mut command = gateway();
    command
        .args(["reopen", show, "--target", &server.url])
        .env("FAIRGATE_PROMOTER_KEY", PROMOTER_KEY);
    command
}

/// Copies the secret of a server into another folder, with the rights of the file.
fn give_secret(server: &Server, folder: &Path) {
    let secret = server.data().join("secret");
    std::fs::copy(secret, folder.join("secret")).expect("copied");
}

async fn scan(server: &Server, bought: &Value) -> TestAnswer {
    let path = format!("/v1/tickets/{}/scan", text(bought, "ticket"));
    let call = server.http.post(server.at(&path)).bearer_auth(DOOR_KEY);
    TestAnswer::of(call).await.expect("an answer")
}

async fn order_status(server: &Server, bought: &Value) -> u16 {
    let path = format!("/v1/orders/{}", text(bought, "order"));
    let call = get(&path).by(&text(bought, "order_key"));
    server.ask(call).await.status
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_made_under_sales_is_whole_and_its_shows_are_closed_until_reopened() {
    let server = Server::start().await;
    on_sale(&server).await;
    let ana = Visitor::admitted(&server, "sale").await;
    let before = buy(&server, &ana, "A-1").await;
    let file = server.folder().join("monday.fairgate");

    // People buy while the backup is made.
    let is_made = AtomicBool::new(false);
    let buying = async {
        let mut bought = Vec::new();
        while !is_made.load(Ordering::Relaxed) && bought.len() < 39 {
            bought.push(buy(&server, &ana, &format!("B-{}", bought.len() + 1)).await);
        }
        bought
    };
    let backing_up = async {
        let (data, file) = (server.data(), file.clone());
        let made = tokio::task::spawn_blocking(move || done(backup(&data, &file).arg("--json")));
        let made = made.await.expect("it ends");
        is_made.store(true, Ordering::Relaxed);
        made
    };
    let (meanwhile, made) = tokio::join!(buying, backing_up);
    let head: Value = serde_json::from_str(made.trim()).expect("a head");
    let (orders, tickets) = (&head["orders"], &head["tickets"]);
    assert!(orders.as_u64() >= Some(1) && tickets.as_u64() <= orders.as_u64());
    let after = buy(&server, &ana, "C-1").await;
    let last = Visitor::joined(&server, "sale").await.number;
    let told = refused(&mut backup(&server.data(), &file));
    assert!(told.contains("exists already"), "{told}");
    stop(&server).await;

    // The folder of the new server has the secret alone. What the older one counted is kept.
    let restored = Server::prepared(&[], async |data| {
        give_secret(&server, data);
        // A restore was interrupted before.
        std::fs::write(data.join("ledger.db.restored"), b"half").expect("written");
        let told = refused(gateway().args(["serve", "--data"]).arg(data));
        assert!(told.contains("a restore that did not end"), "{told}");
        let told = done(&mut restore(&file, data));
        assert!(told.contains("All shows are closed"), "{told}");
        let again = refused(&mut restore(&file, data));
        assert!(again.contains("is not empty"), "{again}");
        std::fs::copy(server.data().join("counter"), data.join("counter")).expect("copied");
    })
    .await;
    let warnings = restored.ready_as_operator().await.is(200)["warnings"].to_string();
    assert!(warnings.contains("restored from a backup"), "{warnings}");
    // All orders are of the sandbox, and have one ticket. One may have been in the middle of its
    // purchase when the backup was made: it is there without a ticket, and counts as well.
    let lost = meanwhile.len() as u64 + 2 - tickets.as_u64().expect("a number");
    let told = format!("At least {lost} order");
    assert!(warnings.contains(&told), "{lost}: {warnings}");
    let asked = json!({"seats": ["D-1"]});
    let held = restored.try_hold(&ana, "night", &asked).await;
    held.problem(503, "sale_closed_after_restore");

    let kept = orders.as_u64().expect("a number");
    assert_eq!(order_status(&restored, &before).await, 200);
    assert_eq!(order_status(&restored, &after).await, 404);
    scan(&restored, &before).await.is(200);
    assert_eq!(scan(&restored, &after).await.status, 404);
    let mut found = 1;
    for bought in &meanwhile {
        found += u64::from(order_status(&restored, bought).await == 200);
    }
    assert_eq!(found, kept, "the backup is of one moment");
    let next = Visitor::joined(&restored, "sale").await.number;
    assert!(
        next > last,
        "{next} may have been given before, up to {last}"
    );

    let told = done(&mut reopen(&restored, "night"));
    assert!(told.contains("sells again"), "{told}");
    let taken = restored
        .try_hold(&ana, "night", &json!({"seats": ["A-1"]}))
        .await;
    assert_eq!(taken.status, 409, "what the backup has is sold");
    restored.try_hold(&ana, "night", &asked).await.is(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_that_was_changed_cut_or_is_of_another_secret_restores_nothing() {
    let server = Server::start().await;
    on_sale(&server).await;
    let file = server.folder().join("good");
    let leftover = server.folder().join("good.0123456789abcdef.copy");
    std::fs::write(&leftover, "half").expect("written");
    done(&mut backup(&server.data(), &file));
    assert!(!leftover.exists(), "a killed backup left it");
    let whole = std::fs::read(&file).expect("a backup");
    let secret_text = secret_of(&server);
    assert!(
        !whole
            .windows(secret_text.len())
            .any(|at| at == secret_text.as_bytes())
    );

    let changed = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        bytes
    };
    let bad = [
        ("changed at its end", changed(whole.len() - 1)),
        ("changed in the middle", changed(whole.len() / 2)),
        ("changed in its head", changed(30)),
        ("cut", whole[..whole.len() - 1].to_vec()),
        ("longer", [whole.as_slice(), b"x"].concat()),
        ("empty", Vec::new()),
    ];
    for (what, bytes) in bad {
        let folder = tempfile::tempdir().expect("a folder");
        give_secret(&server, folder.path());
        let spoilt = server.folder().join("spoilt");
        std::fs::write(&spoilt, bytes).expect("written");
        let told = refused(&mut restore(&spoilt, folder.path()));
        assert!(told.contains("nothing was restored"), "{what}: {told}");
        assert!(!folder.path().join("ledger.db").exists(), "{what}");
        // The folder can be used for another try.
        done(&mut restore(&file, folder.path()));
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut other = restore(&file, folder.path());
    other.env(
        "FAIRGATE_SECRET",
        "another-secret-of-at-least-32-characters",
    );
    let told = refused(&mut other);
    assert!(told.contains("another secret"), "{told}");
    // Nobody could restore such a backup.
    let useless = server.folder().join("useless");
    let mut other = backup(&server.data(), &useless);
    other.env(
        "FAIRGATE_SECRET",
        "another-secret-of-at-least-32-characters",
    );
    let told = refused(&mut other);
    assert!(told.contains("is not the secret"), "{told}");
    assert!(!useless.exists());
    let none = refused(&mut restore(&file, folder.path()));
    assert!(none.contains("secret is missing"), "{none}");
    let told = refused(&mut backup(folder.path(), &server.folder().join("no")));
    assert!(
        told.contains("nothing was written") || told.contains("is missing"),
        "{told}"
    );
}

/// Checks that a command is refused, and that it says all of these words.
fn told(command: &mut Command, words: &[&str]) {
    let said = refused(command);
    for word in words {
        assert!(said.contains(word), "{word} is not in: {said}");
    }
    assert_eq!(said.trim().lines().count(), 1, "it is one line: {said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn paths_that_cannot_be_used_are_named_with_what_was_not_changed_and_what_to_do() {
    let server = Server::start().await;
    let (data, folder) = (server.data(), server.folder());
    let good = folder.join("good");
    done(&mut backup(&data, &good));
    let (missing, no_folder) = (folder.join("missing"), folder.join("file"));
    std::fs::write(&no_folder, "no folder").expect("written");

    let fresh = folder.join("fresh");
    for place in [&missing, &no_folder] {
        let words = ["there is no ledger", "nothing was written", "--data"];
        told(&mut backup(place, &fresh), &words);
        let words = [
            "cannot be written",
            "nothing was left behind",
            "Name a file",
        ];
        told(&mut backup(&data, &place.join("fresh")), &words);
        let words = ["cannot be read", "nothing was restored", "Name a file"];
        told(&mut restore(&place.join("good"), &fresh), &words);
    }
    let words = [
        "cannot be written",
        "nothing was left behind",
        "Name a file",
    ];
    told(&mut backup(&data, Path::new("/proc/fresh")), &words);
    let words = ["--data", "nothing was restored", "name a folder"];
    told(&mut restore(&good, &no_folder), &words);
    let mut at_proc = restore(&good, Path::new("/proc/fresh"));
    at_proc.env("FAIRGATE_SECRET", secret_of(&server));
    told(&mut at_proc, &words);
    assert!(!fresh.exists() && !missing.exists(), "nothing was made");
}

/// Returns the text of a server's secret.
fn secret_of(server: &Server) -> String {
    let secret = std::fs::read_to_string(server.data().join("secret"));
    secret.expect("a secret").trim().to_owned()
}

/// Returns the ledger's counter as Redis remembers it.
async fn counter_in_redis(redis: &RedisServers) -> u64 {
    let score = redis.command(0, &["ZSCORE", "fairgate:counter", "ledger"]);
    let score = score.await.expect("it answers");
    score.text().parse().expect("a number")
}

/// Waits until Redis knows of all purchases so far. The second raise of the counter from here on
/// has begun after them.
async fn purchases_are_counted(redis: &RedisServers) {
    let before = counter_in_redis(redis).await;
    until("Redis knows of the purchases", async || {
        (counter_in_redis(redis).await >= before + 2).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_pg_restore_put_back_sells_nothing_until_its_shows_are_reopened() {
    if must_skip("a database that was put back") {
        return;
    }
    let redis = RedisServers::single().await.expect("Redis starts");
    let postgres = PostgresServer::options().without_fsync().start().await;
    let postgres = postgres.expect("PostgreSQL starts");
    let (redis_url, database_url) = (redis.url(), postgres.url());
    let server = Server::with(&[
        ("FAIRGATE_REDIS_URL", &*redis_url),
        ("FAIRGATE_DATABASE_URL", &*database_url),
        ("FAIRGATE_SECRET", "a-secret-of-this-test-with-32-letters"),
    ])
    .await;
    on_sale(&server).await;
    let ana = Visitor::admitted(&server, "sale").await;
    let before = buy(&server, &ana, "A-1").await;
    purchases_are_counted(&redis).await;
    let dump = server.folder().join("fairgate.dump");
    let mut pg_dump = Command::new("pg_dump");
    pg_dump.args(["--format=custom", "--file"]).arg(&dump);
    done(pg_dump.arg(&database_url));
    let after = buy(&server, &ana, "A-2").await;
    purchases_are_counted(&redis).await;
    stop(&server).await;
    let mut pg_restore = Command::new("pg_restore");
    pg_restore.args(["--clean", "--if-exists", "--single-transaction", "--dbname"]);
    done(pg_restore.arg(&database_url).arg(&dump));
    server.restart().await;

    let closed = until("operators are told", async || {
        let told = server.ready_as_operator().await.is(200)["warnings"].to_string();
        told.contains("went back to an older state").then_some(told)
    })
    .await;
    assert!(closed.contains("behind the counter outside it"), "{closed}");
    assert!(closed.contains("At least 1 order that no"), "{closed}");
    for seat in ["A-2", "A-3"] {
        let asked = json!({ "seats": [seat] });
        let held = server.try_hold(&ana, "night", &asked).await;
        held.problem(503, "sale_closed_after_restore");
    }
    assert_eq!(order_status(&server, &before).await, 200);
    assert_eq!(order_status(&server, &after).await, 404);

    let told = refused(&mut reopen(&server, "night"));
    assert!(told.contains("Redis knows sales"), "{told}");
    stop(&server).await;
    redis.flush_all().await.expect("emptied");
    server.restart().await;
    let held = server
        .try_hold(&ana, "night", &json!({"seats": ["A-3"]}))
        .await;
    held.problem(503, "sale_closed_after_restore");
    let told = done(&mut reopen(&server, "night"));
    assert!(told.contains("sells again"), "{told}");
    until("the seats are read again", async || {
        let asked = json!({"seats": ["A-3"]});
        let held = server.try_hold(&ana, "night", &asked).await;
        (held.status == 201).then_some(())
    })
    .await;
    let taken = server
        .try_hold(&ana, "night", &json!({"seats": ["A-1"]}))
        .await;
    assert_eq!(taken.status, 409, "{}", taken.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_goes_back_under_two_running_nodes_is_noticed_by_both() {
    if must_skip("a database that goes back under running nodes") {
        return;
    }
    let redis = RedisServers::single().await.expect("Redis starts");
    let postgres = PostgresServer::options().without_fsync().start().await;
    let postgres = postgres.expect("PostgreSQL starts");
    let (redis_url, database_url) = (redis.url(), postgres.url());
    let settings = [
        ("FAIRGATE_REDIS_URL", &*redis_url),
        ("FAIRGATE_DATABASE_URL", &*database_url),
        ("FAIRGATE_SECRET", "a-secret-of-this-test-with-32-letters"),
    ];
    let (one, other) = (Server::with(&settings).await, Server::with(&settings).await);
    on_sale(&one).await;
    let ana = Visitor::admitted(&one, "sale").await;
    buy(&one, &ana, "A-1").await;
    let asked = json!({"seats": ["A-2"]});
    let held = one.try_hold(&ana, "night", &asked).await.is(201);
    // Redis now remembers commits that the database does not have.
    let raised = redis.command(0, &["ZINCRBY", "fairgate:counter", "1000", "ledger"]);
    raised.await.expect("raised");
    for server in [&one, &other] {
        until("the node closes the show", async || {
            let asked = json!({"seats": ["A-3"]});
            let refused = server.try_hold(&ana, "night", &asked).await;
            let free = json!({});
            if refused.status == 201 {
                // It was held a moment before, and is given back.
                let path = format!("/v1/holds/{}", text(&refused.json(), "hold"));
                ana.send(reqwest::Method::DELETE, &path, &free).await;
                return None;
            }
            refused.problem(503, "sale_closed_after_restore");
            Some(())
        })
        .await;
        let ordered = server.try_checkout(&ana, &held).await;
        ordered.problem(503, "sale_closed_after_restore");
    }
    let extend = format!("/v1/holds/{}", text(&held, "hold"));
    let add = json!({"add": ["A-4"], "remove": []});
    let changed = ana.send(reqwest::Method::PATCH, &extend, &add).await;
    changed.problem(503, "sale_closed_after_restore");
    done(&mut reopen(&other, "n*"));
    until("both nodes sell again", async || {
        let at_one = one.try_checkout(&ana, &held).await;
        (at_one.status == 201).then_some(())
    })
    .await;
    let asked = json!({"seats": ["A-5"]});
    other.try_hold(&ana, "night", &asked).await.is(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_nodes_of_a_database_never_look_like_one_that_was_put_back() {
    if must_skip("nodes that are killed") {
        return;
    }
    let redis = RedisServers::single().await.expect("Redis starts");
    let postgres = PostgresServer::options().without_fsync().start().await;
    let postgres = postgres.expect("PostgreSQL starts");
    let (redis_url, database_url) = (redis.url(), postgres.url());
    let settings = [
        ("FAIRGATE_REDIS_URL", &*redis_url),
        ("FAIRGATE_DATABASE_URL", &*database_url),
        ("FAIRGATE_SECRET", "a-secret-of-this-test-with-32-letters"),
    ];
    let (one, other) = (Server::with(&settings).await, Server::with(&settings).await);
    on_sale(&one).await;
    let rounds = kill_rounds();
    for round in 1..=rounds {
        let killed = if round % 2 == 0 { &one } else { &other };
        kill_in_the_middle(killed).await;
        killed.restart().await;
        for server in [&one, &other] {
            let told = server.ready_as_operator().await.is(200)["warnings"].to_string();
            assert!(!told.contains("went back"), "round {round}: {told}");
        }
    }
    postgres.restart().await.expect("it starts again");
    until("the nodes use it again", async || {
        let told = one.ready_as_operator().await;
        (told.status == 200).then_some(())
    })
    .await;
    assert!(!one.read_log().contains("went back"));
    assert!(!other.read_log().contains("went back"));
    eprintln!("FIGURE {rounds} kills of two nodes over a database: no sale was closed");
}
