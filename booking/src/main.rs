//! The command line of booking: reads the arguments, runs one command, and prints what it did.

#[path = "main/decisions.rs"]
mod decisions;
#[path = "main/output.rs"]
mod output;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use booking::choices::ImportDecisions;
use booking::cinema::ProgrammePutRefusal;
use booking::commands::dump::{self, DumpError};
use booking::commands::import_programme::{ProgrammeImportError, import_programme};
use booking::commands::import_timetable::{
    self, RailFeedKind, TimetableImport, TimetableImportError, UndecidedImport,
};
use booking::commands::{changed_lines, reconcile};
use booking::config::BookingConfig;
use booking::ledger::UndecidedShow;
use booking::reconciler::ReconcilerLine;
use booking::service::{BookingService, BookingStartError};
use clap::{Args, Parser, Subcommand};
use decisions::DecisionArguments;
use fairgate_base::clock::Clock;
use fairgate_base::config::{SecretSetting, SettingSources, StoreSettings};
use fairgate_base::process;
use fairgate_model::counted::counted;
use fairgate_model::payments::kind::ProviderKind;

/// Fairgate's booking core.
#[derive(Parser)]
#[command(name = "booking", version)]
struct BookingCli {
    #[command(subcommand)]
    command: BookingCommand,
}

#[derive(Subcommand)]
enum BookingCommand {
    /// Serves the core alone, for gateways that name it in FAIRGATE_BOOKING_URL. Every setting can
    /// also be given as an environment variable FAIRGATE_…, or in the file.
    Serve {
        /// A TOML file of settings.
        #[arg(long)]
        config: Option<PathBuf>,
        /// Address and port to listen on.
        #[arg(long)]
        listen: Option<String>,
        /// The folder of the ledger file, if no database is set.
        #[arg(long)]
        data: Option<PathBuf>,
    },
    /// Compares provider, ledger and store, mends what differs, and prints the findings. If the
    /// ledger is a database, other processes may be serving at the same time. A ledger file can be
    /// used by one process only.
    Reconcile {
        /// Makes one pass. Serving processes make a pass every ten seconds by themselves.
        #[arg(long, required = true)]
        once: bool,
        /// A TOML file of settings.
        #[arg(long)]
        config: Option<PathBuf>,
        /// The folder of the ledger file, if no database is set.
        #[arg(long)]
        data: Option<PathBuf>,
        /// Prints the findings as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Imports a timetable or a programme: whole, or not at all.
    #[command(subcommand)]
    Import(ImportCommand),
    /// Writes ledger and payments as `loadtest verdict` reads them, one JSON record a line. A
    /// gateway may be running.
    Dump {
        #[command(flatten)]
        ledger: LedgerArguments,
        /// The file to write: whole, or not at all.
        #[arg(long)]
        out: PathBuf,
    },
}

#[derive(Subcommand)]
enum ImportCommand {
    /// A cinema programme: cities, cinemas, halls, films and showings, in one JSON file.
    Cinema {
        /// The programme. The charts that it names are in the same folder.
        file: PathBuf,
        #[command(flatten)]
        ledger: LedgerArguments,
        #[command(flatten)]
        payments: PaymentArguments,
        #[command(flatten)]
        decisions: DecisionArguments,
        /// Prints what was imported as JSON.
        #[arg(long)]
        json: bool,
    },
    /// A GTFS feed: a folder with its files, or a ZIP archive.
    Gtfs {
        #[command(flatten)]
        feed: RailFeedArguments,
    },
    /// A timetable of three CSV files: stations.csv, trains.csv, stop_times.csv.
    Timetable {
        #[command(flatten)]
        feed: RailFeedArguments,
        /// The time zone of the times, as IANA names it.
        #[arg(long, default_value = "Asia/Shanghai")]
        timezone: String,
    },
}

/// The ledger that a command works on.
#[derive(Args)]
struct LedgerArguments {
    /// The folder with all stored data, if the ledger is a file.
    #[arg(long, env = "FAIRGATE_DATA", default_value = "fairgate-data")]
    data: PathBuf,
    /// The address of the PostgreSQL database that holds the ledger. If it is given, the folder is
    /// not used.
    #[arg(
        long,
        value_name = "URL",
        env = "FAIRGATE_DATABASE_URL",
        hide_env_values = true
    )]
    database: Option<String>,
}

impl LedgerArguments {
    /// Returns the database's address. An empty variable counts as none.
    fn database_url(&self) -> Option<String> {
        self.database.clone().filter(|url| !url.is_empty())
    }
}

/// The payment provider that will take the money for what is imported.
#[derive(Args)]
struct PaymentArguments {
    /// The payment provider: none, sandbox or stripe. Prices that it never takes are refused.
    #[arg(long, value_name = "PROVIDER", env = "FAIRGATE_PAYMENTS")]
    payments: Option<String>,
}

impl PaymentArguments {
    /// Returns the provider. An empty variable counts as none.
    fn provider(&self) -> Result<ProviderKind, String> {
        let Some(name) = self.payments.as_deref().filter(|name| !name.is_empty()) else {
            eprintln!(
                "note: no payment provider was named (--payments), so the prices were not checked against a provider"
            );
            return Ok(ProviderKind::None);
        };
        name.parse()
            .map_err(|error| format!("--payments {name}: {error}. Nothing was imported."))
    }
}

/// The arguments of every import of a railway feed.
#[derive(Args)]
struct RailFeedArguments {
    /// The folder with the feed's files; for GTFS, also a ZIP archive.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// A TOML file of carriages, classes, fares and terms of sale; all of it has defaults, but for
    /// the currency of a GTFS feed without fares.
    #[arg(long, value_name = "FILE")]
    rail: Option<PathBuf>,
    #[command(flatten)]
    ledger: LedgerArguments,
    #[command(flatten)]
    payments: PaymentArguments,
    #[command(flatten)]
    decisions: DecisionArguments,
    /// Prints what was imported as JSON.
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    process::keep_files_private();
    let result = match BookingCli::parse().command {
        BookingCommand::Serve {
            config,
            listen,
            data,
        } => {
            let started = process::start_logging().map_err(BookingStartError::from);
            started
                .and_then(|()| serve(config.as_deref(), listen, data))
                .map_err(|error| format!("booking: {}", process::error_text(&error)))
        }
        BookingCommand::Reconcile {
            once: _,
            config,
            data,
            json,
        } => reconcile(config.as_deref(), data, json)
            .map_err(|error| error.to_string())
            .and_then(|lines| output::print(&lines))
            .map_err(|error| format!("booking reconcile: {error}")),
        BookingCommand::Import(command) => {
            run_import(command).map_err(|error| import_failure(&error))
        }
        BookingCommand::Dump { ledger, out } => write_dump(&ledger, &out)
            .map(|records| {
                eprintln!(
                    "{} in {}",
                    counted(records, "record", "records"),
                    out.display()
                )
            })
            .map_err(|error| format!("booking dump: {error}")),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn serve(
    file: Option<&Path>,
    listen: Option<String>,
    data: Option<PathBuf>,
) -> Result<(), BookingStartError> {
    let data = data.map(|data| data.display().to_string());
    let flags: BTreeMap<_, _> = [("listen", listen), ("data", data)]
        .into_iter()
        .filter_map(|(knob, value)| Some((knob, value?)))
        .collect();
    let config = BookingConfig::resolve(&SettingSources::gather(flags, file)?)?;
    let runtime = process::make_runtime().map_err(BookingStartError::Runtime)?;
    runtime.block_on(async {
        let mut shutdown = process::shutdown().map_err(BookingStartError::Runtime)?;
        let starting = Box::pin(BookingService::build(config));
        let Some(service) = process::started(starting, &mut shutdown).await else {
            return Ok(());
        };
        let service = service?;
        if let Ok(address) = service.listen_address() {
            tracing::info!(%address, "serving");
        }
        service.run(shutdown).await?;
        Ok(())
    })
}

fn reconcile(
    file: Option<&Path>,
    data: Option<PathBuf>,
    json: bool,
) -> Result<Vec<String>, BookingStartError> {
    let data = data.map(|data| ("data", data.display().to_string()));
    let config =
        BookingConfig::resolve(&SettingSources::gather(data.into_iter().collect(), file)?)?;
    let runtime = process::make_runtime().map_err(BookingStartError::Runtime)?;
    let found = runtime.block_on(reconcile::reconcile_once(&config))?;
    if json {
        return Ok(vec![format!(
            "{:#}",
            serde_json::json!({ "findings": found })
        )]);
    }
    let line = |finding: &ReconcilerLine| {
        let kind = finding.kind.as_str();
        let (about, since) = (&finding.about, &finding.since);
        format!(
            "{kind} {about} since {since}: {} ({})",
            finding.told, finding.repair
        )
    };
    let mut lines: Vec<String> = found.iter().map(line).collect();
    lines.push(counted(found.len(), "finding", "findings"));
    Ok(lines)
}

fn run_import(command: ImportCommand) -> Result<(), String> {
    let (source, feed) = match command {
        ImportCommand::Gtfs { feed } => (RailFeedKind::Gtfs, feed),
        ImportCommand::Timetable { feed, timezone } => (RailFeedKind::Timetable { timezone }, feed),
        ImportCommand::Cinema {
            file,
            ledger,
            payments,
            decisions,
            json,
        } => {
            let decisions = decisions.decisions()?;
            let imported = (&ledger, payments.provider()?, &decisions);
            return import_cinema(&file, imported, json);
        }
    };
    let wanted = TimetableImport {
        source,
        folder: feed.folder,
        rail: feed.rail,
        database: feed.ledger.database_url(),
        data: feed.ledger.data,
        payments: feed.payments.provider()?,
        decisions: feed.decisions.decisions()?,
    };
    let now_ms = Clock::system().now_ms();
    let runtime = process::make_runtime().map_err(|error| error.to_string())?;
    let imported = runtime.block_on(import_timetable::import_timetable(wanted, now_ms));
    if let Err(TimetableImportError::Undecided(undecided)) = &imported {
        print_undecided_import(undecided, feed.json)?;
    }
    let imported = imported.map_err(|error| error.to_string())?;
    if feed.json {
        return output::print(&[serde_json::json!(imported).to_string()]);
    }
    for note in &imported.notes {
        eprintln!("note: {note}");
    }
    let preview = if imported.preview {
        "only a preview, nothing was imported; "
    } else {
        ""
    };
    let mut lines = vec![format!(
        "{preview}timetable {}: {}, {}, {}; {} gaps in stop_sequence",
        imported.version,
        counted(imported.stations, "station", "stations"),
        counted(imported.trips, "trip", "trips"),
        counted(imported.calls, "call", "calls"),
        counted(imported.trips_with_gaps, "trip has", "trips have")
    )];
    let of = "of the departures that were held or sold";
    lines.extend(changed_lines(of, imported.departures.kinds()));
    output::print(&lines)
}

/// Puts the command's name before the text of an error. Faults keep a line of their own each, so
/// the name comes before the last line if that one says that nothing was imported.
fn import_failure(error: &str) -> String {
    match error.rsplit_once('\n') {
        Some((faults, last)) if last.starts_with("nothing was imported") => {
            format!("{faults}\nbooking import: {last}")
        }
        _ => format!("booking import: {error}"),
    }
}

/// Prints what an import that waits for decisions would change. What is to be decided is part of
/// the error, and is only printed here for programs.
fn print_undecided_import(undecided: &UndecidedImport, json: bool) -> Result<(), String> {
    if json {
        return output::print(&[serde_json::json!(undecided).to_string()]);
    }
    for note in &undecided.notes {
        eprintln!("note: {note}");
    }
    output::print(&undecided.lines())
}

/// Prints the shows about which a person must decide, for programs that read what is printed.
fn print_undecided(shows: &[UndecidedShow]) -> Result<(), String> {
    output::print(&[serde_json::json!({ "undecided": shows }).to_string()])
}

fn write_dump(ledger: &LedgerArguments, out: &Path) -> Result<u64, DumpError> {
    let now_ms = Clock::system().now_ms();
    match ledger.database_url() {
        Some(url) => process::make_runtime()
            .map_err(|error| DumpError::File(out.to_owned(), error))
            .and_then(|runtime| runtime.block_on(dump::write_database(&url, out, now_ms))),
        None => dump::write(&ledger.data, out, now_ms),
    }
}

fn import_cinema(
    file: &Path,
    (ledger, payments, decisions): (&LedgerArguments, ProviderKind, &ImportDecisions),
    json: bool,
) -> Result<(), String> {
    let stores = StoreSettings {
        database_url: ledger.database_url().map(SecretSetting),
        redis_url: None,
        counter_file: None,
    };
    let runtime = process::make_runtime().map_err(|error| error.to_string())?;
    let data = &ledger.data;
    let imported = import_programme(file, &stores, data, payments, decisions);
    let imported = runtime.block_on(imported);
    if let (true, Err(ProgrammeImportError::Refused(ProgrammePutRefusal::Undecided(shows)))) =
        (json, &imported)
    {
        print_undecided(shows)?;
    }
    let changed = imported.map_err(|refused| import_error_text(file, &refused))?;
    if json {
        return output::print(&[format!("{:#}", serde_json::json!(changed))]);
    }
    let preview = if changed.preview {
        "only a preview, nothing was imported; "
    } else {
        ""
    };
    let mut lines = vec![format!(
        "{preview}{}, {}, {}, {}, {}: {} new, {} changed; {}",
        counted(changed.cities, "city", "cities"),
        counted(changed.cinemas, "cinema", "cinemas"),
        counted(changed.halls, "hall", "halls"),
        counted(changed.films, "film", "films"),
        counted(changed.showings, "showing", "showings"),
        changed.new_showings,
        changed.changed_showings,
        counted(changed.new_plans, "new plan", "new plans")
    )];
    for note in &changed.notes {
        let (file, line) = (file.display(), note.line);
        eprintln!("note: {file}:{line}: {}: {}", note.at, note.message);
    }
    let of = "of the earlier showings that are still to come";
    lines.extend(changed_lines(of, changed.earlier.kinds()));
    let left_out = changed.left_out.iter();
    lines.extend(
        left_out
            .map(|show| format!("the new programme leaves {show} out: it is not sold any more")),
    );
    output::print(&lines)
}

/// Returns the text of an error. Each fault gets its own line, in the form in which compilers print
/// errors.
fn import_error_text(file: &Path, refused: &ProgrammeImportError) -> String {
    match refused {
        ProgrammeImportError::Refused(ProgrammePutRefusal::Faulty(faults)) => {
            let file = file.display();
            let count = counted(faults.len(), "fault", "faults");
            let mut lines = vec![format!("nothing was imported: {count}")];
            lines.extend(faults.iter().map(|fault| {
                format!(
                    "{file}:{}: {}: {} ({})",
                    fault.line, fault.at, fault.message, fault.code
                )
            }));
            lines.join("\n")
        }
        ProgrammeImportError::Refused(ProgrammePutRefusal::PlanInUse(shows)) => {
            let mut lines = vec![
                "nothing was imported: new plans would move seats that are held or sold".to_owned(),
            ];
            lines.extend(
                shows
                    .iter()
                    .map(|(show, seats)| format!("{show}: {}", seats.join(", "))),
            );
            lines.join("\n")
        }
        other => other.to_string(),
    }
}
