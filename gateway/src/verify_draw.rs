//! `gateway verify-draw`: checks a published draw from files, without a server.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use fairgate_pass::Jwks;
use fairgate_rules::draw::record::DrawRecord;
use fairgate_rules::draw::verify::{DrawCheckReport, check_record};

/// Reads the files, prints the report, and returns the exit code: 0 if the draw holds, 1 if the
/// draw does not hold or a file cannot be read. `jwks` is a saved `/.well-known/jwks.json`.
#[expect(
    clippy::print_stdout,
    reason = "the report is what the command is asked for"
)]
pub fn run(record: &Path, leaves: Option<&Path>, jwks: Option<&Path>, json: bool) -> ExitCode {
    let report = match check_files(record, leaves, jwks) {
        Ok(report) => report,
        Err(unreadable) => {
            eprintln!("{unreadable}\nNothing was checked.");
            return ExitCode::FAILURE;
        }
    };
    if json {
        let text = serde_json::json!({ "holds": report.has_no_faults(), "report": report });
        println!("{text:#}");
    } else {
        let lines =
            |mark: &str, lines: &[String]| lines.iter().for_each(|line| println!("{mark} {line}"));
        lines("  ok        ", &report.checked);
        lines("  not given ", &report.unchecked);
        lines("  WRONG     ", &report.faults);
        println!(
            "{}",
            if report.has_no_faults() {
                "draw holds"
            } else {
                "draw DOES NOT hold"
            }
        );
    }
    if report.has_no_faults() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn check_files(
    record: &Path,
    leaves: Option<&Path>,
    jwks: Option<&Path>,
) -> Result<DrawCheckReport, String> {
    let read = |path: &Path| {
        fs::read(path).map_err(|error| format!("{} cannot be read: {error}", path.display()))
    };
    let unreadable_as = |path: &Path, expected: &str, error: &dyn std::fmt::Display| {
        format!("{} is not {expected}: {error}", path.display())
    };
    let document: DrawRecord = serde_json::from_slice(&read(record)?)
        .map_err(|error| unreadable_as(record, "a draw record", &error))?;
    let leaves = leaves.map(read).transpose()?;
    let keys = jwks.map(|path| {
        serde_json::from_slice::<Jwks>(&read(path)?)
            .map_err(|error| unreadable_as(path, "a key set (JWKS)", &error))
    });
    Ok(check_record(
        &document,
        leaves.as_deref(),
        keys.transpose()?.as_ref(),
    ))
}
