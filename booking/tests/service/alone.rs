//! Tests `booking serve` as an operator uses it. It starts with a ledger file, reports its state,
//! refuses settings that cannot work, and drains when it is asked to end.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(20);
const PROMOTER: &str = "promoter-key-of-the-tests";

/// A running `booking serve`. It is killed when the test drops it.
struct Process {
    child: Child,
    log: BufReader<ChildStderr>,
    url: String,
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns a command that starts booking on a free port, unless the settings name an address.
pub fn booking(data: &Path, settings: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_booking"));
    for (name, _) in std::env::vars() {
        if name.starts_with("FAIRGATE_") {
            command.env_remove(name);
        }
    }
    command
        .args(["serve", "--data"])
        .arg(data)
        .env("FAIRGATE_LISTEN", "127.0.0.1:0")
        .env("FAIRGATE_SECRET", fairgate_servers::TEST_SECRET)
        .envs(settings.iter().copied())
        .stdin(Stdio::null())
        .stderr(Stdio::piped());
    command
}

impl Process {
    fn start(data: &Path, settings: &[(&str, &str)]) -> Self {
        let mut child = booking(data, settings).spawn().expect("the process starts");
        let mut log = BufReader::new(child.stderr.take().expect("its log"));
        let mut told = String::new();
        let url = loop {
            let mut line = String::new();
            let read = log.read_line(&mut line).expect("a line");
            assert!(read > 0, "it ended: {told}");
            // Colour codes of the log may follow the address.
            if let Some(at) = line.find("127.0.0.1:") {
                let address = line[at..].trim_end().trim_end_matches("\u{1b}[0m");
                break format!("http://{address}");
            }
            told.push_str(&line);
        };
        Self { child, log, url }
    }

    async fn get(&self, path: &str) -> (u16, String) {
        self.get_with(path, "").await
    }

    /// Makes a GET. Sends the key, unless it is empty.
    async fn get_with(&self, path: &str, key: &str) -> (u16, String) {
        let mut request = reqwest::Client::new().get(format!("{}{path}", self.url));
        if !key.is_empty() {
            request = request.bearer_auth(key);
        }
        let answer = request.send().await.expect("an answer");
        (
            answer.status().as_u16(),
            answer.text().await.expect("a body"),
        )
    }

    /// Sends SIGTERM and waits as [`Self::ended`] does.
    fn end(self) -> String {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args(["-TERM", &id]).status();
        assert!(sent.expect("the command kill runs").success());
        self.ended(true)
    }

    /// Waits until the process has ended, with success or not, and returns the rest of the log.
    fn ended(mut self, well: bool) -> String {
        let since = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a status") {
                break status;
            }
            assert!(since.elapsed() < PATIENCE, "it does not end");
            std::thread::yield_now();
        };
        let mut rest = String::new();
        self.log.read_to_string(&mut rest).expect("a log");
        assert_eq!(status.success(), well, "{status}: {rest}");
        rest
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn booking_alone_serves_its_routes_and_warns_about_missing_settings() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = [
        ("FAIRGATE_PROMOTER_KEY", PROMOTER),
        ("FAIRGATE_PAYMENTS", "sandbox"),
    ];
    let process = Process::start(folder.path(), &settings);
    assert_eq!(process.get("/healthz").await, (200, "alive\n".to_owned()));
    let (status, public) = process.get("/readyz").await;
    assert_eq!((status, &*public), (200, r#"{"ready":true}"#));
    let (status, ready) = process.get_with("/readyz", PROMOTER).await;
    let ready: Value = serde_json::from_str(&ready).expect("JSON");
    assert_eq!((status, &ready["ready"]), (200, &json!(true)));
    let warned = ready["warnings"].to_string();
    assert!(warned.contains("FAIRGATE_DATABASE_URL"), "{warned}");
    assert!(warned.contains("sandbox"), "{warned}");
    assert_eq!(process.get("/metrics").await.0, 200);
    let (_, document) = process.get("/openapi.json").await;
    assert!(document.contains("/v1/shows/{show}/holds"), "{document}");

    let put = reqwest::Client::new()
        .put(format!("{}/v1/promoter/venues/hall", process.url))
        .bearer_auth(PROMOTER)
        .json(&json!({"plan": "grid:4x10"}))
        .send();
    assert_eq!(put.await.expect("an answer").status().as_u16(), 200);
    let (status, nowhere) = process.get("/nowhere").await;
    assert!(
        status == 404 && nowhere.contains("\"code\":\"not_found\"") && nowhere.contains("req_"),
        "{nowhere}"
    );
    let wrong = reqwest::Client::new()
        .delete(format!("{}/v1/shows", process.url))
        .send();
    let wrong = wrong.await.expect("an answer");
    assert_eq!(wrong.status().as_u16(), 405);
    assert_eq!(wrong.headers()["content-type"], "application/problem+json");
    let log = process.end();
    assert!(log.contains("draining"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn booking_ends_when_its_ledger_is_moved_and_starts_again_when_it_is_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let (ledger, aside) = (
        folder.path().join("ledger.db"),
        folder.path().join("aside.db"),
    );
    let process = Process::start(folder.path(), &[]);
    std::fs::rename(&ledger, &aside).expect("moved");
    let log = process.ended(false);
    assert!(
        log.contains("was moved, replaced, removed or overwritten"),
        "{log}"
    );
    assert!(log.contains("Put the ledger's own file back"), "{log}");
    std::fs::rename(&aside, &ledger).expect("moved back");
    let again = Process::start(folder.path(), &[]);
    assert_eq!(again.get("/readyz").await.0, 200);
}

#[test]
fn a_second_process_on_the_same_folder_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let _first = Process::start(folder.path(), &[]);
    let second = booking(folder.path(), &[])
        .output()
        .expect("the process ends");
    let told = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(!second.status.success());
    assert!(told.contains("another process is using"), "{told}");
}

#[test]
fn all_bad_settings_are_reported_at_once_and_nothing_starts() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = [
        ("FAIRGATE_PAYMENTS", "cash"),
        ("FAIRGATE_DATABASE_URL", "mysql://root:hunter2@db"),
        ("FAIRGATE_INTERNAL_KEY", "with space"),
    ];
    let ended = booking(folder.path(), &settings)
        .output()
        .expect("the process ends");
    let told = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(!ended.status.success());
    for name in ["PAYMENTS", "DATABASE_URL", "INTERNAL_KEY"] {
        assert!(told.contains(name), "{name} in {told}");
    }
    assert!(
        !told.contains("hunter2") && !told.contains("with space"),
        "{told}"
    );
}
