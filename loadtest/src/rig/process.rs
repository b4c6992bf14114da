//! The gateway as a process: found or built, started with settings of its own, killed, slowed and stopped. rustix is
//! named only here.

use std::fs::{File, OpenOptions};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use rand::RngExt;
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};

use crate::swarm::is_ready;

/// Stops a process where it is.
pub const STOP: Signal = Signal::STOP;
/// Lets it go on.
pub const CONTINUE: Signal = Signal::CONT;

const READY_WITHIN: Duration = Duration::from_secs(30);
const ENDS_WITHIN: Duration = Duration::from_secs(30);
/// Lines of the log that are shown where something went wrong.
const LOG_SHOWN: usize = 40;

/// One gateway.
pub struct Process {
    binary: PathBuf,
    folder: PathBuf,
    port: u16,
    url: String,
    key: String,
    child: tokio::sync::Mutex<Option<Child>>,
    pid: Arc<Mutex<Option<u32>>>,
}

/// A program of the system under test: named by a variable, beside this one, or built now.
///
/// # Errors
/// Where it cannot be built.
pub fn find_or_build(name: &str, variable: &str) -> anyhow::Result<PathBuf> {
    if let Some(named) = std::env::var_os(variable) {
        let named = PathBuf::from(named);
        ensure!(
            named.is_file(),
            "{variable} names {}, where no program is",
            named.display()
        );
        return Ok(named);
    }
    let own = std::env::current_exe().context("this program does not know where it is")?;
    let beside = own.with_file_name(name);
    if beside.is_file() {
        return Ok(beside);
    }
    eprintln!("there is no {name} beside this program: building it");
    let built = std::process::Command::new("cargo")
        .args(["build", "--release", "--locked", "-p", name])
        .stdout(Stdio::null())
        .status()
        .context("cargo could not be started")?;
    ensure!(
        built.success() && beside.is_file(),
        "{name} could not be built to {}; build it, or name it in {variable}",
        beside.display()
    );
    Ok(beside)
}

/// A port below those that the system hands out to clients, so that nobody takes it while the gateway is down.
fn free_port() -> anyhow::Result<u16> {
    for _ in 0..100 {
        let port = rand::rng().random_range(20_000..30_000);
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return Ok(port);
        }
    }
    bail!("no free port was found between 20000 and 30000")
}

impl Process {
    /// A gateway that keeps everything in `folder`; not started yet.
    ///
    /// # Errors
    /// Where there is no free port.
    pub fn new(binary: PathBuf, folder: &Path) -> anyhow::Result<Self> {
        let port = free_port()?;
        Ok(Self {
            binary,
            folder: folder.to_owned(),
            port,
            url: format!("http://127.0.0.1:{port}"),
            key: format!("rig-{:032x}", rand::rng().random::<u128>()),
            child: tokio::sync::Mutex::new(None),
            pid: Arc::default(),
        })
    }

    /// Where it listens.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The promoter's key.
    pub fn promoter_key(&self) -> &str {
        &self.key
    }

    /// Its data.
    pub fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// The process's id while it runs.
    pub fn pid_cell(&self) -> Arc<Mutex<Option<u32>>> {
        Arc::clone(&self.pid)
    }

    /// Starts it and waits until it is ready.
    ///
    /// # Errors
    /// Where it ends by itself or does not become ready; the log is shown.
    pub async fn start(&self) -> anyhow::Result<()> {
        let mut slot = self.child.lock().await;
        let log = self.log()?;
        let mut command = Command::new(&self.binary);
        for (name, _) in std::env::vars_os() {
            // Nothing of this program's own settings reaches the system under test, but for its log's level.
            if name.to_string_lossy().starts_with("FAIRGATE_") && name != "FAIRGATE_LOG" {
                command.env_remove(name);
            }
        }
        let child = command
            .arg("serve")
            .args(["--listen", &format!("127.0.0.1:{}", self.port)])
            .arg("--data")
            .arg(self.data())
            .env("FAIRGATE_PAYMENTS", "sandbox")
            .env("FAIRGATE_PROMOTER_KEY", &self.key)
            .env("FAIRGATE_JOINS_PER_S", "100000")
            .env("FAIRGATE_JOINS_BURST", "100000")
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("{} could not be started", self.binary.display()))?;
        self.set_pid(child.id());
        let child = slot.insert(child);
        let started = std::time::Instant::now();
        while !is_ready(&self.url).await {
            if let Some(status) = child.try_wait()? {
                self.tell_log();
                bail!("the gateway ended by itself: {status}");
            }
            if started.elapsed() > READY_WITHIN {
                self.tell_log();
                bail!(
                    "the gateway is not ready after {} s",
                    READY_WITHIN.as_secs()
                );
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// Ends it at once, as a power cut would.
    ///
    /// # Errors
    /// Where it was not running.
    pub async fn kill(&self) -> anyhow::Result<()> {
        let mut child = self
            .child
            .lock()
            .await
            .take()
            .context("the gateway is not running")?;
        self.set_pid(None);
        child
            .kill()
            .await
            .context("the gateway could not be killed")
    }

    /// Sends a signal, where it runs.
    pub fn signal(&self, signal: Signal) {
        let pid = *self.pid.lock().unwrap_or_else(PoisonError::into_inner);
        let pid = pid
            .and_then(|pid| i32::try_from(pid).ok())
            .and_then(Pid::from_raw);
        if let Some(pid) = pid {
            // A process that ended meanwhile needs no signal.
            let _ = kill_process(pid, signal);
        }
    }

    /// Asks it to end, as a supervisor would, and waits.
    ///
    /// # Errors
    /// Where it does not end, or not well.
    pub async fn stop(&self) -> anyhow::Result<()> {
        let Some(mut child) = self.child.lock().await.take() else {
            return Ok(());
        };
        self.signal(Signal::TERM);
        let ended = tokio::time::timeout(ENDS_WITHIN, child.wait()).await;
        self.set_pid(None);
        match ended {
            Ok(Ok(status)) if status.success() => Ok(()),
            Ok(status) => {
                self.tell_log();
                bail!("the gateway ended badly: {}", status?)
            }
            Err(_) => {
                self.tell_log();
                bail!(
                    "the gateway did not end within {} s of SIGTERM",
                    ENDS_WITHIN.as_secs()
                )
            }
        }
    }

    /// Shows the end of its log.
    pub fn tell_log(&self) {
        let log = std::fs::read_to_string(self.folder.join("gateway.log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        eprintln!("--- the gateway's log, its last lines ---");
        for line in &lines[lines.len().saturating_sub(LOG_SHOWN)..] {
            eprintln!("{line}");
        }
    }

    fn log(&self) -> anyhow::Result<File> {
        let path = self.folder.join("gateway.log");
        let opened = OpenOptions::new().create(true).append(true).open(&path);
        opened.with_context(|| format!("the log {} cannot be written", path.display()))
    }

    fn set_pid(&self, pid: Option<u32>) {
        *self.pid.lock().unwrap_or_else(PoisonError::into_inner) = pid;
    }
}
