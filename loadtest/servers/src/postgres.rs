//! Runs PostgreSQL on a free port. Its data is removed at the end.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, ensure};
use tempfile::TempDir;
use tokio::process::Command;

use crate::process::{self, ServerProcess, ServerProgram, Signal, until_ready};
use crate::{CommitCutProxy, needs, port};

/// The longest time until the server answers. After a kill, the server first recovers from its
/// write-ahead log.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// The settings of a server.
#[derive(Debug, Clone, Copy, Default)]
pub struct PostgresOptions {
    careless: bool,
    counting: bool,
}

impl PostgresOptions {
    /// Switches `fsync` off. The server is faster, but its data does not survive a power cut. The
    /// data survives a `kill`, because the operating system keeps all that the process wrote.
    #[must_use]
    pub fn without_fsync(mut self) -> Self {
        self.careless = true;
        self
    }

    /// Counts the statements that the server runs. [`PostgresServer::statements`] tells the count.
    #[must_use]
    pub fn counting_statements(mut self) -> Self {
        self.counting = true;
        self
    }

    /// Starts the server.
    ///
    /// # Errors
    /// Where the server does not start. The error contains the end of its log.
    pub async fn start(self) -> anyhow::Result<PostgresServer> {
        port::start_on_free_port(async || PostgresServer::start_with(self).await).await
    }
}

/// A running server with one database, `fairgate`. Dropping this value ends the server and removes
/// its data.
#[derive(Debug)]
pub struct PostgresServer {
    process: ServerProcess,
    port: u16,
    databases: AtomicUsize,
    /// The folder of the data. It is removed after the server has ended.
    folder: TempDir,
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        // SIGQUIT ends the server at once, but lets it clean up. A killed server would leave a
        // segment of shared memory.
        self.process.end_by_signal(Signal::QUIT);
    }
}

impl PostgresServer {
    /// Starts a server with the default settings.
    ///
    /// # Errors
    /// Where the server does not start. The error contains the end of its log.
    pub async fn start() -> anyhow::Result<Self> {
        Self::options().start().await
    }

    /// Returns the settings for a server before its start.
    #[must_use]
    pub fn options() -> PostgresOptions {
        PostgresOptions::default()
    }

    async fn start_with(options: PostgresOptions) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("fairgate-postgres-")
            .tempdir()
            .context("no temporary folder could be made")?;
        let owner = owner();
        if let Some((user, group)) = owner {
            std::os::unix::fs::chown(folder.path(), Some(user), Some(group))?;
        }
        let data = folder.path().join("data");
        make_data(&data, folder.path(), owner).await?;
        let port = port::free_port()?;
        let mut settings = vec![
            format!("port={port}"),
            "listen_addresses=127.0.0.1".to_owned(),
            "unix_socket_directories=".to_owned(),
            "max_connections=200".to_owned(),
            "shared_buffers=32MB".to_owned(),
            "max_wal_size=256MB".to_owned(),
            "jit=off".to_owned(),
            "autovacuum_naptime=10s".to_owned(),
        ];
        if options.careless {
            settings.push("fsync=off".to_owned());
        }
        if options.counting {
            settings.push("shared_preload_libraries=pg_stat_statements".to_owned());
        }
        let mut args: Vec<OsString> = vec!["-D".into(), data.into()];
        for setting in settings {
            args.extend(["-c".into(), setting.into()]);
        }
        let program = ServerProgram {
            binary: program("postgres")?,
            args,
            env: vec![("LC_ALL".to_owned(), "C".into())],
            run_as: owner,
            at_our_end: "QUIT",
            log: folder.path().join("log"),
        };
        let server = Self {
            process: ServerProcess::new(program),
            port,
            databases: 0.into(),
            folder,
        };
        server.ensure_running().await?;
        server.create("fairgate", "template1").await?;
        if options.counting {
            server.query("CREATE EXTENSION pg_stat_statements").await?;
        }
        Ok(server)
    }

    /// Returns `postgres://fairgate@127.0.0.1:PORT/fairgate`. The server asks for no password.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_of("fairgate")
    }

    /// Opens a proxy to the database `fairgate` that can cut connections at their COMMIT. Returns
    /// the proxy and the URL of the database through the proxy.
    ///
    /// # Errors
    /// Where no port is free.
    pub async fn cuttable(&self) -> anyhow::Result<(CommitCutProxy, String)> {
        let cut = CommitCutProxy::for_port(self.port).await?;
        let url = format!("postgres://fairgate@127.0.0.1:{}/fairgate", cut.port());
        Ok((cut, url))
    }

    /// Makes another database in the same server, and returns its URL.
    ///
    /// # Errors
    /// Where the database cannot be made.
    pub async fn database(&self) -> anyhow::Result<String> {
        self.create_next("template1").await
    }

    /// Makes another database in the same server with all that the database `fairgate` holds, and
    /// returns its URL. A copy takes a fraction of the time in which tables are made.
    ///
    /// # Errors
    /// Where somebody stays connected to `fairgate` for seconds.
    pub async fn copied_database(&self) -> anyhow::Result<String> {
        self.create_next("fairgate").await
    }

    /// Runs a statement in the database `fairgate`, and returns its answer: one row on each line,
    /// values separated by `|`.
    ///
    /// # Errors
    /// Where the statement fails. The error contains the message of the server.
    pub async fn query(&self, sql: &str) -> anyhow::Result<String> {
        self.psql(&self.url(), sql).await
    }

    /// Returns how many statements the server has run so far, with those that begin and end
    /// transactions. Each is one round trip.
    ///
    /// # Errors
    /// Where the server was not started to count them ([`PostgresOptions::counting_statements`]).
    pub async fn statements(&self) -> anyhow::Result<u64> {
        let sql = "SELECT SUM(calls)::bigint FROM pg_stat_statements";
        self.query(sql).await?.parse().context("no count")
    }

    /// Returns the ids of the server's processes. The list is empty while the server does not run.
    #[must_use]
    pub fn pids(&self) -> Vec<u32> {
        self.process.pids()
    }

    /// Kills the server without warning.
    pub fn kill(&self) {
        self.process.kill();
    }

    /// Starts the server if it does not run, and waits until it answers.
    ///
    /// # Errors
    /// Where the server does not answer. The error contains the end of its log.
    pub async fn ensure_running(&self) -> anyhow::Result<()> {
        self.process.spawn()?;
        let ready = async || {
            self.psql(&self.url_of("postgres"), "SELECT 1")
                .await
                .is_ok()
        };
        until_ready("PostgreSQL", &self.process, READY_WITHIN, ready).await
    }

    /// Ends the server as a supervisor would, and starts it again. This cuts every connection.
    ///
    /// # Errors
    /// As [`Self::ensure_running`].
    pub async fn restart(&self) -> anyhow::Result<()> {
        self.process.end_by_signal(Signal::INT);
        self.ensure_running().await
    }

    /// Pauses the server: its connections stay open, but it does not answer.
    pub fn pause(&self) {
        self.process.pause();
    }

    /// Lets the paused server run again.
    pub fn resume(&self) {
        self.process.resume();
    }

    /// Returns the server's whole log.
    #[must_use]
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    fn url_of(&self, database: &str) -> String {
        format!("postgres://fairgate@127.0.0.1:{}/{database}", self.port)
    }

    async fn create_next(&self, template: &str) -> anyhow::Result<String> {
        let name = format!("fresh_{}", self.databases.fetch_add(1, Ordering::SeqCst));
        self.create(&name, template).await?;
        Ok(self.url_of(&name))
    }

    async fn create(&self, database: &str, template: &str) -> anyhow::Result<()> {
        let sql = format!("CREATE DATABASE {database} TEMPLATE {template}");
        self.psql(&self.url_of("postgres"), &sql).await?;
        Ok(())
    }

    async fn psql(&self, url: &str, sql: &str) -> anyhow::Result<String> {
        let output = Command::new(program("psql")?)
            .args([
                "-X",
                "-q",
                "-A",
                "-t",
                "-v",
                "ON_ERROR_STOP=1",
                "-d",
                url,
                "-c",
                sql,
            ])
            .env("PGCONNECT_TIMEOUT", "5")
            .kill_on_drop(true)
            .output()
            .await
            .context("psql could not be started")?;
        let message = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{sql}: {}", message.trim());
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }
}

fn program(name: &str) -> anyhow::Result<PathBuf> {
    needs::postgres_program(name).with_context(|| format!("there is no PostgreSQL here: no {name}"))
}

/// Returns the user and group with which PostgreSQL runs, or `None` for our own. PostgreSQL refuses
/// to run as root. If we are root, PostgreSQL runs as the user `postgres` that its package made.
fn owner() -> Option<(u32, u32)> {
    if !process::is_root() {
        return None;
    }
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    let line = users.lines().find(|line| line.starts_with("postgres:"))?;
    let mut fields = line.split(':').skip(2);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

async fn make_data(data: &Path, folder: &Path, owner: Option<(u32, u32)>) -> anyhow::Result<()> {
    let words = [
        "--username=fairgate",
        "--auth=trust",
        "--encoding=UTF8",
        "--no-locale",
        "--no-sync",
        "--wal-segsize=4",
    ];
    let mut args: Vec<OsString> = words.iter().map(OsString::from).collect();
    args.extend(["-D".into(), data.into()]);
    let log = folder.join("initdb.log");
    let making = process::command(&ServerProgram {
        binary: program("initdb")?,
        args,
        env: vec![("LC_ALL".to_owned(), "C".into())],
        run_as: owner,
        at_our_end: "KILL",
        log: log.clone(),
    })?;
    let status = Command::from(making).kill_on_drop(true).status().await?;
    ensure!(
        status.success(),
        "the database could not be made: {}",
        std::fs::read_to_string(log).unwrap_or_default()
    );
    Ok(())
}
