//! Runs nginx in front of a gateway, with nginx's own default limits.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use tempfile::TempDir;

use crate::needs;
use crate::port::{free_port, start_on_free_port};
use crate::process::{ServerProcess, ServerProgram, until_ready};

/// The longest time until a started nginx answers.
const READY_WITHIN: Duration = Duration::from_secs(20);

/// A running nginx. Dropping this value ends it.
#[derive(Debug)]
pub struct NginxServer {
    port: u16,
    _process: ServerProcess,
    _folder: TempDir,
}

impl NginxServer {
    /// Starts an nginx that forwards everything to `upstream`, such as `127.0.0.1:8080`. All limits
    /// are nginx's own defaults.
    ///
    /// # Errors
    /// Where nginx does not start. The error contains the end of its log.
    pub async fn before(upstream: &str) -> anyhow::Result<Self> {
        start_on_free_port(async || Self::start(upstream).await).await
    }

    /// Returns the address `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    async fn start(upstream: &str) -> anyhow::Result<Self> {
        let (folder, port) = (tempfile::tempdir()?, free_port()?);
        let file = folder.path().join("nginx.conf");
        std::fs::write(&file, configuration(folder.path(), port, upstream))?;
        let process = ServerProcess::new(ServerProgram {
            binary: needs::on_path("nginx").context("there is no nginx")?,
            args: ["-p".into(), folder.path().into(), "-c".into(), file.into()].into(),
            env: Vec::new(),
            run_as: None,
            at_our_end: "TERM",
            log: folder.path().join("log"),
        });
        process.spawn()?;
        let answers = || async move {
            let connected = tokio::net::TcpStream::connect(("127.0.0.1", port)).await;
            connected.is_ok()
        };
        until_ready("nginx", &process, READY_WITHIN, answers).await?;
        Ok(Self {
            port,
            _process: process,
            _folder: folder,
        })
    }
}

/// Returns whether a test that needs nginx must be skipped. If so, prints a message.
///
/// # Panics
/// As [`crate::must_skip`].
#[must_use]
pub fn must_skip_nginx(what: &str) -> bool {
    let absent = needs::on_path("nginx").is_none();
    needs::skip(
        what,
        absent.then(|| "nginx (Debian package nginx-light)".to_owned()),
    )
}

/// Returns the configuration. It makes nginx write its files into `folder`, because an ordinary
/// user may not write to their default paths. All limits are the defaults.
fn configuration(folder: &Path, port: u16, upstream: &str) -> String {
    let folder = folder.display();
    format!(
        "daemon off;
pid {folder}/pid;
error_log stderr;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://{upstream};
        }}
    }}
}}
"
    )
}
