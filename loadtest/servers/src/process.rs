//! One server as a process: started, killed, stopped where it stands, and gone with whoever started
//! it. rustix is named only here.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError, mpsc};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rustix::process::{Pid, kill_process};

pub use rustix::process::Signal;

use crate::needs;

/// Lines of a log that are shown where a start failed.
const LOG_SHOWN: usize = 25;
/// How long a server may take to end when it is asked to.
const ENDS_WITHIN: Duration = Duration::from_secs(20);

/// How a server is started.
#[derive(Debug, Clone)]
pub struct ServerProgram {
    /// The program.
    pub binary: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// What is added to its environment.
    pub env: Vec<(String, OsString)>,
    /// User and group that it runs as, where not our own.
    pub run_as: Option<(u32, u32)>,
    /// What it is sent when we die: a `setpriv` signal name.
    pub at_our_end: &'static str,
    /// Where its output goes.
    pub log: PathBuf,
}

/// A server that can be started many times. Dropping it kills it.
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
    /// Not started yet.
    pub fn new(program: ServerProgram) -> Self {
        Self {
            program,
            child: Mutex::new(None),
        }
    }

    /// Starts it, where it does not run; whether it answers is for the caller to see.
    ///
    /// # Errors
    /// Where the program cannot be started.
    pub fn spawn(&self) -> anyhow::Result<()> {
        let mut slot = self.slot();
        if let Some(child) = slot.as_mut()
            && child.try_wait()?.is_none()
        {
            return Ok(());
        }
        *slot = Some(spawn(self.program.clone())?);
        Ok(())
    }

    /// Its process id, while it runs.
    pub fn pid(&self) -> Option<u32> {
        let mut slot = self.slot();
        let child = slot.as_mut()?;
        matches!(child.try_wait(), Ok(None)).then(|| child.id())
    }

    /// Ends it and all its children at once, as a power cut would; nothing where it does not run.
    pub fn kill(&self) {
        let Some(mut child) = self.slot().take() else {
            return;
        };
        // Stopped first, so that it makes no child that nobody sees.
        send(child.id(), Signal::STOP);
        for child in children(child.id()) {
            send(child, Signal::KILL);
        }
        // It may have ended by itself.
        let _ = child.kill();
        let _ = child.wait();
    }

    /// Asks it to end by a signal and waits; killed where it takes too long.
    pub fn end_by_signal(&self, signal: Signal) {
        let Some(pid) = self.pid() else { return };
        self.resume();
        send(pid, signal);
        let asked = Instant::now();
        while self.pid().is_some() && asked.elapsed() < ENDS_WITHIN {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.kill();
    }

    /// Stops it and its children where they stand.
    pub fn pause(&self) {
        let Some(pid) = self.pid() else { return };
        send(pid, Signal::STOP);
        for child in children(pid) {
            send(child, Signal::STOP);
        }
    }

    /// Lets it go on.
    pub fn resume(&self) {
        let Some(pid) = self.pid() else { return };
        for child in children(pid) {
            send(child, Signal::CONT);
        }
        send(pid, Signal::CONT);
    }

    /// The end of its log.
    pub fn log_end(&self) -> String {
        let log = std::fs::read(&self.program.log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(LOG_SHOWN)..].join("\n")
    }

    fn slot(&self) -> std::sync::MutexGuard<'_, Option<Child>> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits until `ready` says so.
///
/// # Errors
/// With the end of the log, where the process ends first or the time is over.
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

/// The command that runs a program as somebody else, and that tells it when we end.
pub fn command(program: &ServerProgram) -> anyhow::Result<Command> {
    let setpriv = needs::on_path("setpriv").context("there is no setpriv")?;
    let mut command = Command::new(setpriv);
    if let Some((user, group)) = program.run_as {
        command.args([format!("--reuid={user}"), format!("--regid={group}")]);
        command.arg("--clear-groups");
    }
    command.arg("--pdeathsig").arg(program.at_our_end);
    // By env and not in our own call: what is preloaded there is none of setpriv's business.
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

/// Starts a program from a thread that lives as long as we do: the kernel takes the end of the
/// thread that started it for the end of its parent, and the threads of tests and runtimes come and
/// go.
fn spawn(program: ServerProgram) -> anyhow::Result<Child> {
    static KEEPER: OnceLock<Mutex<mpsc::Sender<SpawnRequest>>> = OnceLock::new();
    let keeper = KEEPER.get_or_init(|| {
        let (sender, wanted) = mpsc::channel::<SpawnRequest>();
        std::thread::spawn(move || {
            for (program, answer) in wanted {
                let started = command(&program).and_then(|mut command| {
                    let started = command.spawn();
                    started
                        .with_context(|| format!("{} cannot be started", program.binary.display()))
                });
                // Whoever asked may have gone; its child goes with the answer.
                let _ = answer.send(started);
            }
        });
        Mutex::new(sender)
    });
    let (answer, started) = mpsc::sync_channel(1);
    let sent = keeper
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .send((program, answer));
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

/// The processes that a process started.
fn children(pid: u32) -> Vec<u32> {
    let path = format!("/proc/{pid}/task/{pid}/children");
    let listed = std::fs::read_to_string(Path::new(&path)).unwrap_or_default();
    listed
        .split_whitespace()
        .filter_map(|pid| pid.parse().ok())
        .collect()
}

/// Whether we may do everything.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
