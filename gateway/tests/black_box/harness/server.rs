//! Runs the gateway as a process: starts it on a free port with its own data directory, kills it
//! without warning, and starts it again on the same directory. If the test fails, the end of the
//! log is printed.

use parking_lot::Mutex;
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use fairgate_servers::free_port;
use tempfile::TempDir;

use super::{PATIENCE, TestAnswer, TestCall, TestClient, TestShop, coming_back, until};

/// The promoter's key of every test server.
pub const PROMOTER_KEY: &str = "promoter-key-for-tests-0123456789";
/// The viewer's key of every test server.
pub const VIEWER_KEY: &str = "viewer-key-for-tests-0123456789ab";
/// The door's key of every test server.
pub const DOOR_KEY: &str = "door-key-for-tests-0123456789abcd";

/// A running gateway.
pub struct Server {
    /// `http://127.0.0.1:PORT`
    pub url: String,
    /// A client without cookies, shared by all actors.
    pub http: reqwest::Client,
    calls: TestClient,
    port: u16,
    folder: TempDir,
    settings: Vec<(String, String)>,
    child: Mutex<Option<Child>>,
    /// The result of the last readiness check.
    probed: Mutex<String>,
}

/// The longest time for one readiness check. A check that fails is repeated, as a supervisor does.
const PROBE_MAX: Duration = Duration::from_secs(3);

/// Returns a command for the gateway's binary, without any setting from this test's own
/// environment.
pub fn gateway() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gateway"));
    for (name, _) in std::env::vars() {
        if name.starts_with("FAIRGATE_") {
            command.env_remove(name);
        }
    }
    command
}

impl Server {
    /// Starts a server and waits until it is ready. It has sandbox payments, and limits of joins
    /// and searches that no test's crowd reaches.
    pub async fn start() -> Self {
        Self::with(&[]).await
    }

    /// Starts such a server with these settings in addition.
    ///
    /// # Panics
    /// When it does not become ready.
    pub async fn with(settings: &[(&str, &str)]) -> Self {
        Self::prepared(settings, async |_| ()).await
    }

    /// Starts such a server on a data directory that `prepare` fills first.
    ///
    /// # Panics
    /// When it does not become ready.
    pub async fn prepared(settings: &[(&str, &str)], prepare: impl AsyncFnOnce(&Path)) -> Self {
        let port = free_port().expect("a free port");
        let mut all = vec![
            ("FAIRGATE_PAYMENTS", "sandbox"),
            ("FAIRGATE_PROMOTER_KEY", PROMOTER_KEY),
            ("FAIRGATE_VIEWER_KEY", VIEWER_KEY),
            ("FAIRGATE_DOOR_KEY", DOOR_KEY),
            ("FAIRGATE_JOINS_PER_S", "100000"),
            ("FAIRGATE_SEARCHES_PER_S", "100000"),
            ("FAIRGATE_JOINS_BURST", "100000"),
            ("FAIRGATE_LOG", "info"),
        ];
        // A server on its own file makes a secret of its own.
        let is_shared = |(name, _): &(&str, &str)| *name == "FAIRGATE_DATABASE_URL";
        if settings.iter().any(is_shared) {
            all.push(("FAIRGATE_SECRET", fairgate_servers::TEST_SECRET));
        }
        all.extend_from_slice(settings);
        let server = Self {
            calls: TestClient::of_address(&format!("http://127.0.0.1:{port}")),
            url: format!("http://127.0.0.1:{port}"),
            http: reqwest::Client::builder()
                .no_proxy()
                .redirect(reqwest::redirect::Policy::none())
                .timeout(PATIENCE)
                .build()
                .expect("a plain client"),
            port,
            folder: tempfile::tempdir().expect("a temporary folder"),
            settings: all
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
            child: Mutex::new(None),
            probed: Mutex::default(),
        };
        std::fs::create_dir_all(server.data()).expect("a data directory");
        prepare(&server.data()).await;
        server.spawn();
        server.ready().await;
        server
    }

    /// Returns the data directory.
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Returns a folder that is deleted with the server.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Kills the process without warning.
    ///
    /// # Panics
    /// When it was not running.
    pub fn kill(&self) {
        let mut child = self.child.lock().take().expect("a running server");
        // On Unix this is SIGKILL: no handler runs, nothing is flushed.
        child.kill().expect("a process that can be killed");
        child.wait().expect("a process that ends");
    }

    /// Returns the id of the process.
    ///
    /// # Panics
    /// When it was not running.
    pub fn pid(&self) -> u32 {
        let child = self.child.lock();
        child.as_ref().expect("a running server").id()
    }

    /// Asks the process to end, as a supervisor would.
    ///
    /// # Panics
    /// When it was not running.
    pub fn terminate(&self) {
        let id = self.pid().to_string();
        let sent = Command::new("kill")
            .args(["-TERM", &id])
            .status()
            .expect("kill is there");
        assert!(sent.success());
    }

    /// Waits until a process that was asked to end has ended.
    ///
    /// # Panics
    /// When it ended badly, or not at all.
    pub async fn ended(&self) {
        let status = self.exit_status().await;
        assert!(status.success(), "ended with {status}");
    }

    /// Waits until the process has ended because it lost its ledger.
    ///
    /// # Panics
    /// When it does not run, does not end, or ends with success.
    pub async fn lost(&self) {
        let status = self.exit_status().await;
        assert_eq!(status.code(), Some(1), "ended with {status}");
    }

    async fn exit_status(&self) -> ExitStatus {
        let status = until("the server ends", async || {
            let mut child = self.child.lock();
            child
                .as_mut()
                .expect("a server")
                .try_wait()
                .expect("a status")
        })
        .await;
        *self.child.lock() = None;
        status
    }

    /// Returns the resident memory of the process in KiB, as the kernel counts it.
    ///
    /// # Panics
    /// When it does not run.
    pub fn resident_kib(&self) -> u64 {
        let id = self.pid();
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).expect("its status");
        status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .and_then(|rest| rest.split_whitespace().next()?.parse().ok())
            .expect("a figure in kB")
    }

    /// Starts the server again on the same data directory, and waits until it is ready.
    pub async fn restart(&self) {
        self.spawn();
        self.ready().await;
    }

    /// Makes a plain GET.
    ///
    /// # Panics
    /// When there is no answer.
    pub async fn get(&self, path: &str) -> TestAnswer {
        TestAnswer::of(self.http.get(self.at(path)))
            .await
            .expect("an answer")
    }

    /// Returns the answer of `/readyz` with all the details that operators see.
    ///
    /// # Panics
    /// When there is no answer.
    pub async fn ready_as_operator(&self) -> TestAnswer {
        let readyz = self.http.get(self.at("/readyz")).bearer_auth(VIEWER_KEY);
        TestAnswer::of(readyz).await.expect("an answer")
    }

    /// Returns the whole address of a path.
    pub fn at(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    /// Returns the address that sockets connect to.
    pub fn socket_at(&self, path: &str) -> String {
        format!("ws://127.0.0.1:{}{path}", self.port)
    }

    fn spawn(&self) {
        let log = self.log();
        let copy = log.try_clone().expect("a second handle");
        let child = gateway()
            .arg("serve")
            .args(["--listen", &format!("127.0.0.1:{}", self.port)])
            .arg("--data")
            .arg(self.data())
            .envs(self.settings.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(copy)
            .spawn()
            .expect("the gateway's binary starts");
        *self.child.lock() = Some(child);
    }

    async fn ready(&self) {
        until("the server becomes ready", async || {
            if let Some(child) = self.child.lock().as_mut()
                && let Ok(Some(status)) = child.try_wait()
            {
                panic!("the server ended by itself: {status}\n{}", self.read_log());
            }
            let probe = self.http.get(self.at("/readyz")).timeout(PROBE_MAX);
            let answer = TestAnswer::of(probe).await;
            *self.probed.lock() = format!("{answer:?}");
            (answer.ok()?.status == 200).then_some(())
        })
        .await;
    }

    fn log(&self) -> File {
        let path = self.folder.path().join("log");
        OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .expect("a log file")
    }

    /// Returns the log of the process so far.
    pub fn read_log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }
}

impl TestShop for Server {
    fn client(&self) -> &TestClient {
        &self.calls
    }

    /// Makes a call. If the server is busy, repeats the call at the time that the server gives.
    async fn ask(&self, call: TestCall) -> TestAnswer {
        coming_back(async || self.calls.ask(call.clone()).await).await
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.lock().take() {
            // The process may have ended by itself, which is fine.
            let _ = child.kill();
            let _ = child.wait();
        }
        if std::thread::panicking() {
            let log = self.read_log();
            let tail: Vec<_> = log.lines().rev().take(60).collect();
            let probed = self.probed.lock();
            eprintln!("--- its readiness when last asked: {probed} ---");
            eprintln!("--- the server's log, its last lines ---");
            tail.iter().rev().for_each(|line| eprintln!("{line}"));
        }
    }
}
