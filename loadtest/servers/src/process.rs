//! Runs one server as a process: starts, kills, pauses and ends it. The server also ends when the
//! process that started it ends. In this crate, only this module names rustix.

use parking_lot::Mutex;
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{OnceLock, mpsc};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rustix::process::{Pid, kill_process};

pub use rustix::process::Signal;

use crate::needs;

/// The largest number of log lines that an error contains if a start failed.
const LOG_SHOWN: usize = 25;
/// The longest wait for a server, or for the children of a killed server, to end.
const ENDS_WITHIN: Duration = Duration::from_secs(20);

/// How a server is started.
#[derive(Debug, Clone)]
pub struct ServerProgram {
    /// The program.
    pub binary: PathBuf,
    /// The program's arguments.
    pub args: Vec<OsString>,
    /// The variables that are added to the program's environment.
    pub env: Vec<(String, OsString)>,
    /// The user and group with which the program runs, or `None` for our own.
    pub run_as: Option<(u32, u32)>,
    /// The signal that the program gets when our process ends, as `setpriv` names it.
    pub at_our_end: &'static str,
    /// The file to which the program's output is appended.
    pub log: PathBuf,
}

/// A server that can be started many times. Dropping this value kills the server.
#[derive(Debug)]
pub struct ServerProcess {
    program: ServerProgram,
    child: Mutex<Option<Child>>,
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

impl ServerProcess {
    /// Makes a process that is not started yet.
    pub fn new(program: ServerProgram) -> Self {
        Self {
            program,
            child: Mutex::new(None),
        }
    }

    /// Starts the process if it does not run. The caller has to check whether it answers.
    ///
    /// # Errors
    /// Where the program cannot be started.
    pub fn spawn(&self) -> anyhow::Result<()> {
        let mut slot = self.child.lock();
        if let Some(child) = slot.as_mut()
            && child.try_wait()?.is_none()
        {
            return Ok(());
        }
        *slot = Some(spawn(self.program.clone())?);
        Ok(())
    }

    /// Returns the process id while the process runs.
    pub fn pid(&self) -> Option<u32> {
        let mut slot = self.child.lock();
        let child = slot.as_mut()?;
        matches!(child.try_wait(), Ok(None)).then(|| child.id())
    }

    /// Returns the ids of the process and of its children. The list is empty while the process does
    /// not run.
    pub fn pids(&self) -> Vec<u32> {
        let Some(pid) = self.pid() else {
            return Vec::new();
        };
        let mut pids = children(pid);
        pids.insert(0, pid);
        pids
    }

    /// Kills the process and its children without warning. Does nothing if the process does not
    /// run.
    pub fn kill(&self) {
        let Some(mut child) = self.child.lock().take() else {
            return;
        };
        if matches!(child.try_wait(), Ok(Some(_))) {
            // Another process may have its number by now.
            return;
        }
        // The process is paused first, so that it makes no more children. The pause begins a moment
        // after the signal. So the children are looked up and killed again and again, until the
        // process is paused and all children have ended. A child that has not ended yet would still
        // use PostgreSQL's shared memory, and a new server with the same data would not start.
        send(child.id(), Signal::STOP);
        let paused_at = Instant::now();
        loop {
            let is_paused = has_state(child.id(), "TtZX");
            let running = children(child.id()).into_iter();
            let running: Vec<u32> = running.filter(|pid| !has_state(*pid, "ZX")).collect();
            if is_paused && running.is_empty() || paused_at.elapsed() > ENDS_WITHIN {
                break;
            }
            for child in running {
                send(child, Signal::KILL);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        // The process may have ended by itself.
        let _ = child.kill();
        let _ = child.wait();
    }

    /// Sends a signal that asks the process to end, and waits until the process has ended. Kills
    /// the process if that takes too long.
    pub fn end_by_signal(&self, signal: Signal) {
        let Some(pid) = self.pid() else { return };
        self.resume();
        send(pid, signal);
        let signalled_at = Instant::now();
        while self.pid().is_some() && signalled_at.elapsed() < ENDS_WITHIN {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.kill();
    }

    /// Pauses the process and its children.
    pub fn pause(&self) {
        let Some(pid) = self.pid() else { return };
        send(pid, Signal::STOP);
        for child in children(pid) {
            send(child, Signal::STOP);
        }
    }

    /// Lets the process and its children run again.
    pub fn resume(&self) {
        let Some(pid) = self.pid() else { return };
        for child in children(pid) {
            send(child, Signal::CONT);
        }
        send(pid, Signal::CONT);
    }

    /// Returns the last lines of the process's log.
    pub fn log_end(&self) -> String {
        let log = std::fs::read(&self.program.log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(LOG_SHOWN)..].join("\n")
    }
}

/// Waits until `ready` returns true.
///
/// # Errors
/// Where the process ends first, or takes longer than `within`. The error contains the end of the
/// log.
pub async fn until_ready<F: Future<Output = bool>>(
    name: &str,
    process: &ServerProcess,
    within: Duration,
    ready: impl Fn() -> F,
) -> anyhow::Result<()> {
    let started = Instant::now();
    loop {
        if process.pid().is_none() {
            bail!(
                "{name} ended by itself; its log ends:\n{}",
                process.log_end()
            );
        }
        if ready().await {
            return Ok(());
        }
        if started.elapsed() > within {
            bail!(
                "{name} does not answer after {} s; its log ends:\n{}",
                within.as_secs(),
                process.log_end()
            );
        }
        tokio::time::sleep(Duration::from_millis(15)).await;
    }
}

/// Returns the command that runs a program, as another user if `run_as` names one. When the thread
/// that started the program ends, the kernel sends the program the signal `at_our_end`.
pub fn command(program: &ServerProgram) -> anyhow::Result<Command> {
    let setpriv = needs::on_path("setpriv").context("there is no setpriv")?;
    let mut command = Command::new(setpriv);
    if let Some((user, group)) = program.run_as {
        command.args([format!("--reuid={user}"), format!("--regid={group}")]);
        command.arg("--clear-groups");
    }
    command.arg("--pdeathsig").arg(program.at_our_end);
    // The variables can name libraries to load. setpriv must not load these libraries, so the
    // program `env` sets the variables after setpriv.
    command.arg("env");
    for (name, value) in &program.env {
        let mut pair = OsString::from(format!("{name}="));
        pair.push(value);
        command.arg(pair);
    }
    command.arg(&program.binary).args(&program.args);
    let log = OpenOptions::new()
        .create(true)
        .append(true)
        .open(&program.log);
    let log = log.with_context(|| format!("{} cannot be written", program.log.display()))?;
    command
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log);
    Ok(command)
}

type SpawnRequest = (ServerProgram, mpsc::SyncSender<anyhow::Result<Child>>);

/// Starts a program from a thread that lives as long as this process. The kernel sends the signal
/// `at_our_end` when the thread that started the program ends. Threads of tests and runtimes would
/// end too early.
fn spawn(program: ServerProgram) -> anyhow::Result<Child> {
    static KEEPER: OnceLock<Mutex<mpsc::Sender<SpawnRequest>>> = OnceLock::new();
    let keeper = KEEPER.get_or_init(|| {
        let (sender, requests) = mpsc::channel::<SpawnRequest>();
        std::thread::spawn(move || {
            for (program, answer) in requests {
                let started = command(&program).and_then(|mut command| {
                    let started = command.spawn();
                    started
                        .with_context(|| format!("{} cannot be started", program.binary.display()))
                });
                // If the caller is gone, its server runs until this process ends.
                let _ = answer.send(started);
            }
        });
        Mutex::new(sender)
    });
    let (answer, started) = mpsc::sync_channel(1);
    let sent = keeper.lock().send((program, answer));
    sent.ok()
        .context("the thread that starts servers is gone")?;
    started
        .recv()
        .context("the thread that starts servers is gone")?
}

fn send(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    if let Some(pid) = pid {
        // A process that ended meanwhile needs no signal.
        let _ = kill_process(pid, signal);
    }
}

/// Returns the ids of the child processes of a process.
fn children(pid: u32) -> Vec<u32> {
    let path = format!("/proc/{pid}/task/{pid}/children");
    let listed = std::fs::read_to_string(Path::new(&path)).unwrap_or_default();
    listed
        .split_whitespace()
        .filter_map(|pid| pid.parse().ok())
        .collect()
}

/// Returns whether a process is in one of the states that `ps` names by these letters. Returns true
/// for a process that no longer exists.
fn has_state(pid: u32, letters: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The program's name stands in parentheses before the state, and may contain any text.
    let state = stat
        .rsplit_once(") ")
        .and_then(|(_, rest)| rest.chars().next());
    state.is_none_or(|state| letters.contains(state))
}

/// Returns whether we run as root.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
