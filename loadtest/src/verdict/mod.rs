//! Judges a run by its history, the ledger's dump, the published draw and, if the run has them, the
//! provider's books. The judge shares no code with the gateway or booking, so it does not repeat
//! their mistakes.

mod admitted;
pub mod ahead;
mod books;
mod cards;
mod carried;
mod chains;
mod draw;
mod dump;
mod ending;
mod entries;
mod exchanges;
mod feed;
mod history;
mod json_lines;
mod lapse;
mod limits;
mod money;
pub mod oracle;
mod orders;
mod own;
mod prices;
mod refunds;
mod releases;
mod report;
mod returned;
mod rules;
mod scans;
mod seats;
mod selftest;
mod timeline;
mod waitlist;

use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, ensure};
use serde_json::Value;

use books::ProviderBooks;
use dump::DumpedLedger;
use history::RunHistory;
use report::{Findings, VerdictReport};
use timeline::RunTimeline;

use crate::output::print_line;

/// The options of `loadtest verdict`.
#[derive(clap::Args)]
pub struct VerdictOptions {
    /// The history that the swarm wrote.
    #[arg(required_unless_present = "self_test")]
    history: Option<PathBuf>,
    /// The ledger's dump, from `booking dump`.
    #[arg(long, required_unless_present = "self_test")]
    ledger: Option<PathBuf>,
    /// The books of the payment provider, with one intent on each line. Only a rig with its own
    /// imitation of Stripe writes them.
    #[arg(long)]
    provider: Option<PathBuf>,
    /// The answer of GET /v1/rooms/{room}/draw, used instead of the draw's record in the history.
    #[arg(long)]
    draw: Option<PathBuf>,
    /// Prints the findings as JSON.
    #[arg(long)]
    json: bool,
    /// Tests the judge on a clean run and on copies of it with one planted change each. It must
    /// find every planted violation, and nothing else.
    #[arg(long, conflicts_with_all = ["history", "ledger", "provider", "draw"])]
    self_test: bool,
}

impl VerdictOptions {
    /// Judges the run or tests the judge, prints the report, and returns the exit code: 0 if every
    /// invariant held or the test passed, 99 if not, 2 if an error ended the command.
    pub fn run(&self) -> ExitCode {
        let judged = match (&self.history, &self.ledger) {
            (Some(history), Some(ledger)) if !self.self_test => self.judge(history, ledger),
            _ => selftest::run(self.json),
        };
        match judged {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::from(99),
            Err(error) => {
                eprintln!("Nothing was judged: {error:#}");
                ExitCode::from(2)
            }
        }
    }

    fn judge(&self, history: &Path, ledger: &Path) -> anyhow::Result<bool> {
        let (provider, draw) = (self.provider.as_deref(), self.draw.as_deref());
        let report = files(history, ledger, provider, draw)?;
        if self.json {
            print_line(format_args!("{:#}", report.json()))?;
        } else {
            print_line(report.text().trim_end())?;
        }
        Ok(report.held())
    }
}

/// The verdict on a run, as text and as JSON.
pub struct RunVerdict {
    /// Whether every invariant held.
    pub held: bool,
    /// The report as text.
    pub told: String,
    /// The report as JSON.
    pub document: Value,
}

/// Judges the files of a run on a separate thread, because a large run takes seconds.
///
/// # Errors
/// If a file cannot be read.
pub async fn judge_run(
    history: &Path,
    dump: &Path,
    provider: Option<PathBuf>,
) -> anyhow::Result<RunVerdict> {
    let (history, dump) = (history.to_owned(), dump.to_owned());
    let judging = tokio::task::spawn_blocking(move || -> anyhow::Result<RunVerdict> {
        let report = files(&history, &dump, provider.as_deref(), None)?;
        Ok(RunVerdict {
            held: report.held(),
            told: report.text(),
            document: report.json(),
        })
    });
    judging.await?
}

/// Judges the files of a run. Skips the ledger's shows that the run did not sell, because the
/// history does not know their buyers.
///
/// # Errors
/// If a file cannot be read. The message names the file and, if there is one, the line.
pub fn files(
    history: &Path,
    ledger: &Path,
    provider: Option<&Path>,
    draw: Option<&Path>,
) -> anyhow::Result<VerdictReport> {
    let record = draw.map(|path| -> anyhow::Result<Value> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("{} cannot be read", path.display()))?;
        serde_json::from_str(&text).with_context(|| format!("{} is no draw record", path.display()))
    });
    let record = record.transpose()?;
    let books = provider.map(|path| {
        let text = json_lines::open(path)?;
        ProviderBooks::read(&path.display().to_string(), text)
    });
    let books = books.transpose()?;
    texts(
        (&history.display().to_string(), json_lines::open(history)?),
        (&ledger.display().to_string(), json_lines::open(ledger)?),
        books.as_ref(),
        record.as_ref(),
    )
}

/// Judges the texts of a run. Errors name a text by the name that is passed with it.
fn texts(
    (history_name, history): (&str, impl BufRead),
    (dump_name, dump): (&str, impl BufRead),
    books: Option<&ProviderBooks>,
    record: Option<&Value>,
) -> anyhow::Result<VerdictReport> {
    let history = history::read(history_name, history)?;
    let mut dump = dump::read(dump_name, dump)?;
    if let Some(run) = history.run.as_ref().filter(|run| !run.shows.is_empty()) {
        dump.keep_shows(&run.shows);
    }
    ensure!(
        history.records == 0 || !dump.shows.is_empty(),
        "{dump_name}: there is no show in it"
    );
    Ok(judge(&history, &dump, books, record))
}

/// Returns the published draw: `record`, if there is one. Otherwise, it is the history's last draw
/// of the run's room or, if there is none, its last draw of any room. The leaves always come from
/// the history.
fn published_draw<'a>(
    history: &'a RunHistory,
    record: Option<&'a Value>,
) -> Option<draw::ObservedDraw<'a>> {
    let room = history.run.as_ref().map_or("", |run| run.room.as_str());
    let mut draws = history.draws.iter().rev();
    let drawn = draws
        .find(|drawn| drawn.record["room"] == room)
        .or(history.draws.last());
    let record = record.or(drawn.map(|drawn| &drawn.record))?;
    Some(draw::ObservedDraw {
        record,
        leaves: drawn.and_then(|drawn| drawn.leaves.as_deref()),
    })
}

fn judge(
    history: &RunHistory,
    dump: &DumpedLedger,
    books: Option<&ProviderBooks>,
    record: Option<&Value>,
) -> VerdictReport {
    let mut findings = Findings::default();
    let timeline = RunTimeline::new(history, dump);
    let published = published_draw(history, record);
    seats::judge(&timeline, &mut findings);
    orders::judge(&timeline, &mut findings);
    admitted::judge(&timeline, &mut findings);
    money::judge(&timeline, &mut findings);
    if let Some(books) = books {
        books.judge(dump, &mut findings);
    }
    let prices = prices::judge(&timeline, &mut findings);
    refunds::judge(&timeline, &mut findings);
    let returned = returned::judge(&timeline, &mut findings);
    let chains = chains::judge(&timeline, &mut findings);
    let scans = scans::judge(&timeline, &mut findings);
    let cards = cards::judge(&timeline, &mut findings);
    let (foreign, keys) = own::judge(&timeline, &mut findings);
    let offers = waitlist::judge(&timeline, &mut findings);
    exchanges::judge(&timeline, &mut findings);
    draw::judge(&timeline, published.as_ref(), &mut findings);
    let ahead = ahead::judge(&timeline, &mut findings);
    let passes = releases::judge(&timeline, &mut findings);
    let entries = entries::judge(&timeline, &mut findings);
    limits::judge(&timeline, &mut findings);
    let pictures = feed::judge(&timeline, &mut findings);
    let lapses = lapse::judge(&timeline, &pictures, &mut findings);
    ending::judge(&timeline, &mut findings);
    let mut figures = vec![
        ("records", history.records as u64),
        ("visitors", history.ends.len() as u64),
        ("holds", timeline.holds.len() as u64),
        ("orders", dump.orders.len() as u64),
        ("tickets", dump.tickets.len() as u64),
        ("prices worked out", prices),
        // These figures show how much was checked. If nothing was checked, an invariant holds but
        // proves nothing.
        ("numbers of people ahead", ahead),
        ("passes compared with the counter", passes),
        ("entries compared with max_inside", entries.passes),
        ("lapses watched", lapses),
        ("pictures of seats", pictures.len() as u64),
    ];
    if let Some(books) = books {
        figures.push(("intents in the provider's books", books.count()));
    }
    // Only some runs have these.
    let of_some_runs = [
        ("calls of called visitors refused", entries.refused),
        ("refunds", dump.refunds.len() as u64),
        ("refunds and disputes at the provider", returned),
        ("exchanges", chains),
        ("scans that admitted", scans),
        ("cards checked against a limit", cards),
        ("tries to order others' holds", foreign),
        ("keys with two different requests", keys),
        ("offers of waitlists", offers),
    ];
    figures.extend(of_some_runs.into_iter().filter(|(_, count)| *count > 0));
    VerdictReport { findings, figures }
}
