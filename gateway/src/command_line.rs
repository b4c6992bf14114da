//! The command line of the gateway: config → build → run → drain.
//!
//! It is part of the library, because the library's parallel compilation then includes all futures
//! that the program runs. Otherwise the compiler would compile them after the library.

mod backups;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, anyhow, bail};
use clap::{Args, Parser, Subcommand};
use fairgate_base::clock::Clock;
use fairgate_base::config::{BadConfig, SecretSetting, SettingSources};
use fairgate_base::process;
use rand::RngExt;

use crate::app::{GatewayApp, keys};
use crate::config::GatewayConfig;
use crate::onsale::client::{OnsaleTarget, OnsaleUpload};
use crate::onsale::reopen;
use crate::upstream::{self, PaymentSettings};
use crate::{demo, verify_draw};

/// The gateway that an on-sale file is applied to if no other is named.
const DEFAULT_TARGET: &str = "http://127.0.0.1:8080";

/// An open, self-hosted waiting room and seat-booking core. Without a command it runs a demo
/// on-sale.
#[derive(Parser)]
#[command(name = "gateway", version, args_conflicts_with_subcommands = true)]
struct GatewayCli {
    #[command(subcommand)]
    command: Option<GatewayCommand>,
    #[command(flatten)]
    knobs: GatewayArguments,
}

#[derive(Subcommand)]
enum GatewayCommand {
    /// Serves, without the demo.
    Serve(GatewayArguments),
    /// Applies venues, shows and rooms from one on-sale file. The key is read from
    /// FAIRGATE_PROMOTER_KEY.
    Apply {
        /// The on-sale file.
        file: PathBuf,
        /// The gateway to apply it to. The default is http://127.0.0.1:8080.
        #[arg(long, env = "FAIRGATE_TARGET")]
        target: Option<String>,
        /// Only says what the file would change.
        #[arg(long)]
        preview: bool,
    },
    /// Manages the keys that sign places, passes and tickets.
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Copies the ledger file into a new file, while the gateway serves. The copy is checked, and
    /// its head is signed with the installation's secret.
    Backup {
        /// The file to write. It must not exist.
        file: PathBuf,
        #[command(flatten)]
        folder: DataArguments,
        /// Prints what the backup has as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Restores a backup into an empty folder. All shows are closed then.
    Restore {
        /// The backup.
        file: PathBuf,
        #[command(flatten)]
        folder: DataArguments,
        /// Prints what the backup has as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Sells a show again that is closed because the ledger went back to an older state. First
    /// compares payments, orders and seats. The key is read from FAIRGATE_PROMOTER_KEY.
    Reopen {
        /// The show, or a glob such as 'g1-*' or '*'.
        show: String,
        /// The gateway to ask. The default is http://127.0.0.1:8080.
        #[arg(long, env = "FAIRGATE_TARGET")]
        target: Option<String>,
    },
    /// Checks a published draw offline; exits with 1 where it fails.
    VerifyDraw {
        /// The answer of GET /v1/rooms/{room}/draw.
        record: PathBuf,
        /// The answer of GET /v1/rooms/{room}/draw/leaves.
        #[arg(long)]
        leaves: Option<PathBuf>,
        /// The answer of GET /.well-known/jwks.json.
        #[arg(long)]
        jwks: Option<PathBuf>,
        /// Prints the findings as JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Subcommand)]
enum KeysCommand {
    /// Makes a new signing key, while gateways and bookings serve. They publish it within two
    /// seconds, and sign with it later. What the old key signed stays valid. The ledger and its
    /// secret are those of the settings.
    Rotate {
        /// A TOML file of settings.
        #[arg(long)]
        config: Option<PathBuf>,
        /// The folder of the ledger file, if no database is set.
        #[arg(long)]
        data: Option<PathBuf>,
        /// After how many seconds the new key signs. Other services may use published keys for 300
        /// seconds; fewer only if no other service verifies passes or tickets.
        #[arg(long, value_name = "SECONDS", default_value_t = keys::SIGNS_AFTER_S,
            value_parser = clap::value_parser!(u32).range(i64::from(keys::SIGNS_AFTER_S_MIN)..=86_400))]
        after: u32,
        /// Prints the keys as JSON. Times are unix seconds.
        #[arg(long)]
        json: bool,
    },
}

/// Every setting can also be given as an environment variable FAIRGATE_…, or in the file.
#[derive(Args)]
struct GatewayArguments {
    /// A TOML file of settings.
    #[arg(long)]
    config: Option<PathBuf>,
    /// Address and port to listen on.
    #[arg(long)]
    listen: Option<String>,
    /// The folder with all stored data.
    #[arg(long)]
    data: Option<PathBuf>,
}

/// The folder of an installation whose ledger is in a file.
#[derive(Args)]
struct DataArguments {
    /// A TOML file of settings.
    #[arg(long)]
    config: Option<PathBuf>,
    /// The folder with all stored data.
    #[arg(long)]
    data: Option<PathBuf>,
}

impl DataArguments {
    fn resolve(self) -> anyhow::Result<GatewayConfig> {
        let knobs = GatewayArguments {
            config: self.config,
            listen: None,
            data: self.data,
        };
        Ok(GatewayConfig::resolve(&sources(&knobs)?)?)
    }
}

/// Runs the command that the arguments name, and returns once it has ended. Returns
/// [`ExitCode::FAILURE`] if the command failed. Ends the process itself after `--help`, `--version`
/// and wrong arguments.
pub fn run() -> ExitCode {
    let cli = GatewayCli::parse();
    if let Some(GatewayCommand::VerifyDraw {
        record,
        leaves,
        jwks,
        json,
    }) = &cli.command
    {
        return verify_draw::run(record, leaves.as_deref(), jwks.as_deref(), *json);
    }
    process::keep_files_private();
    let started = process::start_logging().map_err(anyhow::Error::from);
    match started.and_then(|()| start(cli)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("gateway: {}", process::error_text(error.as_ref()));
            ExitCode::FAILURE
        }
    }
}

fn start(cli: GatewayCli) -> anyhow::Result<()> {
    let runtime = process::make_runtime().context("the runtime cannot be started")?;
    runtime.block_on(async {
        match cli.command {
            None => run_demo(&cli.knobs).await,
            Some(GatewayCommand::Serve(knobs)) => serve(&knobs).await,
            Some(GatewayCommand::Apply {
                file,
                target,
                preview,
            }) => apply_onsale(&file, target.unwrap_or_default(), preview).await,
            Some(GatewayCommand::Keys(KeysCommand::Rotate {
                config,
                data,
                after,
                json,
            })) => rotate_keys(config, data, after, json).await,
            Some(GatewayCommand::Backup { file, folder, json }) => {
                print_done(&backups::back_up(&folder.resolve()?, &file, json)?);
                Ok(())
            }
            Some(GatewayCommand::Restore { file, folder, json }) => {
                if folder.data.is_none() {
                    bail!("--data: name the empty folder to restore into; nothing was restored");
                }
                print_done(&backups::restore(&folder.resolve()?, &file, json).await?);
                Ok(())
            }
            Some(GatewayCommand::Reopen { show, target }) => {
                reopen_shows(&show, target.unwrap_or_default()).await
            }
            Some(GatewayCommand::VerifyDraw { .. }) => {
                bail!("a draw is verified without a runtime")
            }
        }
    })
}

async fn serve(knobs: &GatewayArguments) -> anyhow::Result<()> {
    let mut shutdown = process::shutdown()?;
    let config = GatewayConfig::resolve(&sources(knobs)?)?;
    let starting = Box::pin(GatewayApp::build(&config, upstream::open));
    let Some(app) = process::started(starting, &mut shutdown).await else {
        return Ok(());
    };
    let app = app?;
    tracing::info!(address = %app.address()?, data = %config.data.display(), "serving");
    app.run(shutdown).await?;
    Ok(())
}

async fn run_demo(knobs: &GatewayArguments) -> anyhow::Result<()> {
    let mut shutdown = process::shutdown()?;
    let mut sources = sources(knobs)?;
    let is_set =
        |sources: &SettingSources, knob| sources.is_overridden(knob) || sources.file.is_some();
    if !is_set(&sources, "data") {
        let folder =
            std::env::temp_dir().join(format!("fairgate-demo-{:08x}", rand::rng().random::<u32>()));
        sources.flags.insert("data", folder.display().to_string());
    }
    if !is_set(&sources, "payments") {
        sources.flags.insert("payments", "sandbox".to_owned());
    }
    let mut config = GatewayConfig::resolve(&sources)?;
    let key = config
        .keys
        .promoter
        .get_or_insert_with(|| SecretSetting(format!("demo-{:032x}", rand::rng().random::<u128>())))
        .clone();
    let starting = Box::pin(GatewayApp::build(&config, upstream::open));
    let Some(app) = process::started(starting, &mut shutdown).await else {
        return Ok(());
    };
    let app = app?;
    // If the data folder is that of an earlier demo, it already has an on-sale. That on-sale
    // continues, and its line is not drawn again.
    let is_resumed = app.has_room(demo::ROOM);
    if !is_resumed {
        let upload = demo::upload(Clock::system().now_ms());
        let target = OnsaleTarget::InProcess(app.router());
        upload.apply(&target, &key.0, "the demo", false).await?;
    }
    announce(&app, &config, &key, is_resumed)?;
    app.run(shutdown).await?;
    Ok(())
}

#[expect(
    clippy::print_stdout,
    reason = "the demo says on the terminal where it is"
)]
fn announce(
    app: &GatewayApp,
    config: &GatewayConfig,
    key: &SecretSetting,
    is_resumed: bool,
) -> anyhow::Result<()> {
    let base = config.public_url.clone().map_or_else(
        || app.address().map(|address| format!("http://{address}")),
        Ok,
    )?;
    if is_resumed {
        println!("Fairgate demo: the on-sale in this data folder goes on.");
    } else {
        println!("Fairgate demo: the line is drawn in 25 s, then 50 people a second are let in.");
    }
    println!("  lobby    {base}/r/demo");
    println!(
        "  report   {base}/v1/promoter/rooms/demo/report  (Authorization: Bearer {})",
        key.0
    );
    println!("  data     {}", config.data.display());
    if config.payments == PaymentSettings::Sandbox {
        println!("  TEST     payments are the sandbox's: no money moves");
    }
    Ok(())
}

#[expect(
    clippy::print_stdout,
    reason = "a command tells its caller what it did"
)]
async fn apply_onsale(file: &Path, target: String, preview: bool) -> anyhow::Result<()> {
    let (target, key) = gateway_to_call(target, "nothing was applied")?;
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("{} cannot be read; nothing was applied", file.display()))?;
    let folder = file.parent().unwrap_or(Path::new("."));
    let upload = OnsaleUpload::read(text, folder);
    let name = file.display().to_string();
    let target = OnsaleTarget::Address(target);
    let outcome = upload.apply(&target, &key, &name, preview).await?;
    for line in outcome.lines(preview) {
        println!("{line}");
    }
    Ok(())
}

#[expect(
    clippy::print_stdout,
    reason = "a command tells its caller what it did"
)]
async fn rotate_keys(
    config: Option<PathBuf>,
    data: Option<PathBuf>,
    after_s: u32,
    json: bool,
) -> anyhow::Result<()> {
    let knobs = GatewayArguments {
        config,
        listen: None,
        data,
    };
    let config = GatewayConfig::resolve(&sources(&knobs)?)?;
    let rotation = keys::rotate(&config, after_s).await?;
    if json {
        println!("{}", serde_json::to_string(&rotation)?);
        return Ok(());
    }
    for line in keys::lines(&rotation) {
        println!("{line}");
    }
    Ok(())
}

#[expect(
    clippy::print_stdout,
    reason = "a command tells its caller what it did"
)]
fn print_done(told: &str) {
    println!("{told}");
}

async fn reopen_shows(show: &str, target: String) -> anyhow::Result<()> {
    let (target, key) = gateway_to_call(target, "nothing was reopened")?;
    print_done(&reopen::reopen(show, &target, &key).await?);
    Ok(())
}

/// Returns the address of the gateway that a command calls, and the promoter's key. `undone` says
/// what was not done if one of them cannot be used.
fn gateway_to_call(target: String, undone: &str) -> anyhow::Result<(String, String)> {
    // An empty variable counts as one that is not set, as with every other setting.
    let target = if target.is_empty() {
        DEFAULT_TARGET.to_owned()
    } else {
        target
    };
    if !target.starts_with("http://") && !target.starts_with("https://") {
        bail!(
            "FAIRGATE_TARGET (--target): {target} is not an address such as {DEFAULT_TARGET}; {undone}"
        );
    }
    let key = std::env::var("FAIRGATE_PROMOTER_KEY")
        .map_err(|_| anyhow!("FAIRGATE_PROMOTER_KEY is not set; {undone}"))?;
    Ok((target, key))
}

fn sources(knobs: &GatewayArguments) -> Result<SettingSources, BadConfig> {
    let mut flags = BTreeMap::new();
    if let Some(listen) = &knobs.listen {
        flags.insert("listen", listen.clone());
    }
    if let Some(data) = &knobs.data {
        flags.insert("data", data.display().to_string());
    }
    SettingSources::gather(flags, knobs.config.as_deref())
}
