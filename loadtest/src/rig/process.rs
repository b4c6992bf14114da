//! Runs a gateway or a booking process: finds or builds its program, starts it with its own
//! settings, and kills, pauses and stops it.

use parking_lot::Mutex;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use fairgate_servers::{MovableClock, free_port};
pub use rustix::process::Signal;
use rustix::process::{Pid, kill_process};
use tokio::process::{Child, Command};

use crate::http::{LoadHttpAnswer, LoadHttpCall, LoadHttpClient};

/// The signal that pauses a process.
pub const STOP: Signal = Signal::STOP;
/// The signal that lets a paused process run again.
pub const CONTINUE: Signal = Signal::CONT;

const READY_WITHIN: Duration = Duration::from_secs(30);
/// How long a supervisor waits before it restarts a process that did not become ready.
const SUPERVISED_EVERY: Duration = Duration::from_millis(500);
const ENDS_WITHIN: Duration = Duration::from_secs(30);
/// The number of log lines that are printed after a failure.
const LOG_SHOWN: usize = 40;

/// A setting of a process: an environment variable and its value.
pub type ProcessSetting = (&'static str, String);

/// A process with a port, a data folder and a log of its own.
pub struct RigProcess {
    name: String,
    binary: PathBuf,
    folder: PathBuf,
    port: u16,
    url: String,
    settings: Vec<ProcessSetting>,
    /// The process's clock, if it can be moved.
    clock: Option<MovableClock>,
    child: tokio::sync::Mutex<Option<Child>>,
    pid: Arc<Mutex<Option<u32>>>,
}

/// Returns a program of the system under test. This is the file that the environment variable
/// `variable` names. If the variable is not set, it is the program next to this one. That program
/// is built if it does not exist.
///
/// # Errors
/// Where the variable names no file, or the program cannot be built.
pub fn find_or_build(name: &str, variable: &str) -> anyhow::Result<PathBuf> {
    if let Some(path) = std::env::var_os(variable) {
        let path = PathBuf::from(path);
        ensure!(
            path.is_file(),
            "{variable} names {}, where no program is",
            path.display()
        );
        return Ok(path);
    }
    let own = std::env::current_exe().context("this program does not know where it is")?;
    let beside = own.with_file_name(name);
    if beside.is_file() {
        return Ok(beside);
    }
    eprintln!("there is no {name} beside this program: building it");
    let folder = own.parent().unwrap_or(Path::new(""));
    let built = std::process::Command::new("cargo")
        .args(["build", "--locked", "-p", name])
        .args(cargo_places_into(folder))
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

/// Returns the arguments with which Cargo builds programs into `folder`. Cargo names such a folder
/// after the profile, except the folder `debug` of the profile `dev`.
fn cargo_places_into(folder: &Path) -> Vec<OsString> {
    let target = folder.parent().unwrap_or(folder);
    let profile = match folder.file_name() {
        Some(name) if name == "debug" => "dev".into(),
        Some(name) => name.to_owned(),
        None => "release".into(),
    };
    vec![
        "--profile".into(),
        profile,
        "--target-dir".into(),
        target.into(),
    ]
}

impl RigProcess {
    /// Prepares a process, and makes a folder with its name in `folder`. Does not start it yet.
    ///
    /// # Errors
    /// Where there is no free port, or no folder can be made.
    pub fn new(name: String, binary: &Path, folder: &Path) -> anyhow::Result<Self> {
        let port = free_port()?;
        let folder = folder.join(&name);
        std::fs::create_dir(&folder)
            .with_context(|| format!("{} could not be made", folder.display()))?;
        Ok(Self {
            name,
            binary: binary.to_owned(),
            folder,
            port,
            url: format!("http://127.0.0.1:{port}"),
            settings: Vec::new(),
            clock: None,
            child: tokio::sync::Mutex::new(None),
            pid: Arc::default(),
        })
    }

    /// Returns the address on which the process listens.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Adds settings to the process's environment.
    pub fn set(&mut self, settings: &[ProcessSetting]) {
        self.settings.extend_from_slice(settings);
    }

    /// Gives the process a clock that can be moved.
    ///
    /// # Errors
    /// Where the clock's file cannot be written.
    pub fn give_clock(&mut self) -> anyhow::Result<()> {
        let clock = MovableClock::at(self.folder.join("clock"));
        clock.set_ahead(0)?;
        self.clock = Some(clock);
        Ok(())
    }

    /// Returns the process's clock.
    ///
    /// # Errors
    /// Where the process was not given a clock that can be moved.
    pub fn clock(&self) -> anyhow::Result<&MovableClock> {
        let clock = self.clock.as_ref();
        clock.with_context(|| format!("the clock of {} cannot be moved", self.name))
    }

    /// Returns the folder of the process's data.
    pub fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// Returns the cell that contains the process's id while the process runs.
    pub fn pid_cell(&self) -> Arc<Mutex<Option<u32>>> {
        Arc::clone(&self.pid)
    }

    /// Starts the process and waits until it is ready.
    ///
    /// # Errors
    /// Where the process ends by itself or does not become ready in time. The end of its log is
    /// printed.
    pub async fn start(&self) -> anyhow::Result<()> {
        self.launch().await?;
        self.until_ready().await
    }

    /// Starts the process without waiting until it is ready.
    ///
    /// # Errors
    /// Where the log cannot be written, or the program cannot be started.
    pub async fn launch(&self) -> anyhow::Result<()> {
        let log = self.log()?;
        let mut command = Command::new(&self.binary);
        for (name, _) in std::env::vars_os() {
            // The system under test inherits none of this program's settings except the level of
            // the log.
            if name.to_string_lossy().starts_with("FAIRGATE_") && name != "FAIRGATE_LOG" {
                command.env_remove(name);
            }
        }
        if let Some(clock) = &self.clock {
            command.envs(clock.environment()?);
        }
        let child = command
            .arg("serve")
            .args(["--listen", &format!("127.0.0.1:{}", self.port)])
            .arg("--data")
            .arg(self.data())
            .envs(self.settings.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("{} could not be started", self.binary.display()))?;
        self.set_pid(child.id());
        *self.child.lock().await = Some(child);
        Ok(())
    }

    /// Starts the process as a supervisor would. If the process does not become ready, starts it
    /// again. The reason may be that a server that it needs is not ready yet.
    ///
    /// # Errors
    /// Where the process does not become ready in time. The end of its log is printed.
    pub async fn revive(&self) -> anyhow::Result<()> {
        let begun = std::time::Instant::now();
        loop {
            self.launch().await?;
            match self.until_ready().await {
                Err(_) if begun.elapsed() < READY_WITHIN => {
                    tokio::time::sleep(SUPERVISED_EVERY).await;
                }
                ended => return ended,
            }
        }
    }

    /// Waits until the process is ready.
    ///
    /// # Errors
    /// Where the process ends by itself or does not become ready in time. The end of its log is
    /// printed.
    pub async fn until_ready(&self) -> anyhow::Result<()> {
        let started = std::time::Instant::now();
        while !is_ready(&self.url).await {
            if let Some(child) = self.child.lock().await.as_mut()
                && let Some(status) = child.try_wait()?
            {
                self.tell_log();
                bail!("{} ended by itself: {status}", self.name);
            }
            if started.elapsed() > READY_WITHIN {
                self.tell_log();
                bail!(
                    "{} is not ready after {} s",
                    self.name,
                    READY_WITHIN.as_secs()
                );
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// Kills the process without warning.
    ///
    /// # Errors
    /// Where the process is not running, or cannot be killed.
    pub async fn kill(&self) -> anyhow::Result<()> {
        let mut child = self
            .child
            .lock()
            .await
            .take()
            .with_context(|| format!("{} is not running", self.name))?;
        self.set_pid(None);
        child
            .kill()
            .await
            .with_context(|| format!("{} could not be killed", self.name))
    }

    /// Sends a signal to the process, if it runs.
    pub fn signal(&self, signal: Signal) {
        let pid = *self.pid.lock();
        let pid = pid
            .and_then(|pid| i32::try_from(pid).ok())
            .and_then(Pid::from_raw);
        if let Some(pid) = pid {
            // If the process has ended meanwhile, it needs no signal.
            let _ = kill_process(pid, signal);
        }
    }

    /// Asks the process to end, as a supervisor would, and waits until it has ended. Does nothing
    /// if the process does not run.
    ///
    /// # Errors
    /// Where the process does not end in time, or ends with an error.
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
                bail!("{} ended badly: {}", self.name, status?)
            }
            Err(_) => {
                self.tell_log();
                bail!(
                    "{} did not end within {} s of SIGTERM",
                    self.name,
                    ENDS_WITHIN.as_secs()
                )
            }
        }
    }

    /// Prints the end of the process's log.
    pub fn tell_log(&self) {
        let log = std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        eprintln!("--- the log of {}, its last lines ---", self.name);
        for line in &lines[lines.len().saturating_sub(LOG_SHOWN)..] {
            eprintln!("{line}");
        }
    }

    fn log(&self) -> anyhow::Result<File> {
        let path = self.folder.join("log");
        let opened = OpenOptions::new().create(true).append(true).open(&path);
        opened.with_context(|| format!("the log {} cannot be written", path.display()))
    }

    fn set_pid(&self, pid: Option<u32>) {
        *self.pid.lock() = pid;
    }
}

/// Returns whether the gateway or booking process at `url` is ready.
async fn is_ready(url: &str) -> bool {
    let client = LoadHttpClient::new(&[url.to_owned()]);
    let ready = client.send(&LoadHttpCall::get("/readyz"), 0).await;
    ready.is_ok_and(|answer| answer.is_ok())
}

/// Returns the metrics of a gateway or booking process in the text format of Prometheus, or `None`
/// if the process does not answer.
pub async fn metrics_text(url: &str) -> Option<String> {
    let client = LoadHttpClient::new(&[url.to_owned()]);
    let answer = client.send(&LoadHttpCall::get("/metrics"), 0).await;
    let answer = answer.ok().filter(LoadHttpAnswer::is_ok)?;
    String::from_utf8(answer.body.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_built_into_the_folder_of_this_one() {
        for (folder, profile, target) in [
            ("/src/target/release", "release", "/src/target"),
            ("/src/target/debug", "dev", "/src/target"),
            ("/tmp/target/dist", "dist", "/tmp/target"),
        ] {
            assert_eq!(
                cargo_places_into(Path::new(folder)),
                ["--profile", profile, "--target-dir", target],
                "{folder}"
            );
        }
    }
}
