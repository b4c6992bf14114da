//! Reads the log of `booking serve` during an outage of its database.

use std::fs::File;
use std::path::PathBuf;
use std::process::Child;

use fairgate_servers::actors::{TestClient, TestShop, put, until};
use fairgate_servers::{PostgresServer, RedisServers, free_port, must_skip};
use serde_json::json;

use crate::alone::booking;

const PROMOTER: &str = "promoter-key-of-the-tests";
const PASSWORD: &str = "planted-database-password";
/// How many requests are refused during the outage.
const REFUSED: usize = 200;
/// The words of a line about an outage of the database.
const LEDGER_AWAY: &str = "the ledger took no write";
/// The largest number of log lines during the outage. They are about the first refusal, the
/// beginning and the end of the outage, and a few shows in Redis that must be read again.
const LINES_MAX: usize = 6;

/// A booking process that writes its log to a file. It is killed when the test drops it.
struct LoggedProcess {
    child: Child,
    client: TestClient,
    log: PathBuf,
    _folder: tempfile::TempDir,
}

impl Drop for LoggedProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl TestShop for LoggedProcess {
    fn client(&self) -> &TestClient {
        &self.client
    }
}

impl LoggedProcess {
    async fn start(database: &str, redis: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let log = folder.path().join("log");
        let listen = format!("127.0.0.1:{}", free_port().expect("a free port"));
        let settings = [
            ("FAIRGATE_LISTEN", &*listen),
            ("FAIRGATE_DATABASE_URL", database),
            ("FAIRGATE_REDIS_URL", redis),
            ("FAIRGATE_PROMOTER_KEY", PROMOTER),
            ("FAIRGATE_LOG", "info"),
        ];
        let mut command = booking(folder.path(), &settings);
        let file = File::create(&log).expect("a file for the log");
        let process = Self {
            child: command.stderr(file).spawn().expect("the process starts"),
            client: TestClient::of_address(&format!("http://{listen}")),
            log,
            _folder: folder,
        };
        until("booking serves", async || {
            process.lines("serving").first().cloned()
        })
        .await;
        process
    }

    /// Returns the lines of the log that contain `words`.
    fn lines(&self, words: &str) -> Vec<String> {
        let log = std::fs::read_to_string(&self.log).expect("the log is text");
        let lines = log.lines().filter(|line| line.contains(words));
        lines.map(str::to_owned).collect()
    }

    async fn until_line(&self, words: &str) {
        until(words, async || self.lines(words).first().cloned()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outage_of_the_database_is_one_line_and_its_end_another_however_many_are_refused() {
    if must_skip("the log of booking over an outage of PostgreSQL") {
        return;
    }
    let postgres = PostgresServer::start().await.expect("it starts");
    let redis = RedisServers::single().await.expect("it starts");
    let url = postgres.url();
    let database = url.replacen("fairgate@", &format!("fairgate:{PASSWORD}@"), 1);
    let booking = LoggedProcess::start(&database, &redis.url()).await;
    let plan = json!({"plan": "grid:4x10"});
    let hall = || booking.ask(put("/v1/promoter/venues/hall", &plan).by(PROMOTER));
    hall().await.is(200);
    let before = booking.lines("").len();

    postgres.kill();
    for _ in 0..REFUSED {
        hall().await.problem(503, "ledger_unavailable");
    }
    booking.until_line(LEDGER_AWAY).await;
    postgres.ensure_running().await.expect("it starts again");
    let over = format!("no longer so: {LEDGER_AWAY}");
    booking.until_line(&over).await;
    until("booking takes writes", async || {
        (hall().await.status == 200).then_some(())
    })
    .await;

    let during = booking.lines("").split_off(before);
    let count = |words: &str| during.iter().filter(|line| line.contains(words)).count();
    assert_eq!(count(&over), 1, "{during:#?}");
    assert_eq!(count(LEDGER_AWAY), 2, "its begin and its end: {during:#?}");
    assert_eq!(count("a request was refused"), 1, "{during:#?}");
    assert!(during.len() <= LINES_MAX, "{during:#?}");
    assert_eq!(booking.lines(PASSWORD), [""; 0]);
}
