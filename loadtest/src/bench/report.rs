//! Prints the figures of a bench as text or as JSON, and makes its HTML report.

use serde::Serialize;
use serde_json::Value;

use super::BenchOutcome;
use crate::html::{HtmlReport, ReportTable};
use crate::machine::this_machine;
use crate::output::print_line;

/// The figures that a bench measured.
pub trait BenchFigures: Serialize {
    /// Returns whether every threshold was met.
    fn held(&self) -> bool;
    /// Returns the figures as lines of text.
    fn lines(&self) -> Vec<String>;
}

/// Prints the figures. Returns them, and whether every threshold was met.
///
/// # Errors
/// Where the figures cannot be written as JSON.
pub fn print(figures: &impl BenchFigures, json: bool) -> anyhow::Result<BenchOutcome> {
    let (held, lines) = (figures.held(), figures.lines());
    if json {
        print_line(serde_json::to_string_pretty(figures)?)?;
    } else {
        print_line(lines.join("\n"))?;
        print_line(if held { "held" } else { "FAILED" })?;
    }
    Ok(BenchOutcome {
        held,
        lines,
        figures: serde_json::to_value(figures)?,
    })
}

/// Makes the HTML report of a bench: whether every threshold held, the lines of text, and every
/// figure.
pub fn page(outcome: &BenchOutcome) -> HtmlReport {
    let machine = this_machine(None);
    let name = outcome.figures["bench"].as_str().unwrap_or("bench");
    let held = if outcome.held {
        "Every threshold held"
    } else {
        "FAILED: a threshold was missed"
    };
    let headline = outcome.lines.first().map_or("", |line| line.trim());
    let text_rows = outcome.lines.iter().skip(1).map(|line| {
        let line = line.trim();
        let (name, figure) = line.split_once("  ").unwrap_or((line, ""));
        vec![name.to_owned(), figure.trim().to_owned()]
    });
    let mut rows = Vec::new();
    flatten("", &outcome.figures, &mut rows);
    let table = |title: &str, head: [&str; 2], rows: Vec<Vec<String>>| ReportTable {
        title: title.to_owned(),
        head: head.map(str::to_owned).to_vec(),
        rows,
    };
    HtmlReport {
        title: format!("Bench {name}"),
        answer: format!("{held}: {headline}."),
        figures: Vec::new(),
        charts: Vec::new(),
        tables: vec![
            table("What was measured", ["what", "figure"], text_rows.collect()),
            table("All figures", ["name", "value"], rows),
        ],
        settings: vec![
            ("processor".to_owned(), machine.processor),
            ("processors".to_owned(), machine.cpus.to_string()),
            ("memory".to_owned(), format!("{:.0} MB", machine.memory_mb)),
            ("operating system".to_owned(), machine.system),
        ],
        origin: vec![
            format!("Measured by loadtest {}.", env!("CARGO_PKG_VERSION")),
            "Compare only figures of the same run. Figures of another machine or day are not comparable.".to_owned(),
        ],
    }
}

/// Adds a row for every value of a JSON document: the path that leads to the value, and the value.
fn flatten(path: &str, value: &Value, rows: &mut Vec<Vec<String>>) {
    let inner = |name: &dyn std::fmt::Display| match path {
        "" => name.to_string(),
        _ => format!("{path}.{name}"),
    };
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                flatten(&inner(name), value, rows);
            }
        }
        Value::Array(values) => {
            for (index, value) in values.iter().enumerate() {
                flatten(&inner(&index), value, rows);
            }
        }
        Value::String(text) => rows.push(vec![path.to_owned(), text.clone()]),
        other => rows.push(vec![path.to_owned(), other.to_string()]),
    }
}

/// Runs `measure` with a thread for every core, and prints the figures.
///
/// # Errors
/// Where the run is invalid. The error gives the reason.
pub fn measured<F: BenchFigures>(
    json: bool,
    measure: impl Future<Output = anyhow::Result<F>>,
) -> anyhow::Result<BenchOutcome> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    print(&runtime.block_on(measure)?, json)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_page_says_first_whether_it_held_and_has_every_figure() {
        let outcome = BenchOutcome {
            held: false,
            lines: vec![
                "two things, on one core".to_owned(),
                "  ratio   0.9 of 1".to_owned(),
            ],
            figures: json!({"bench": "things", "runs": [{"ratio": 0.9}]}),
        };
        let page = page(&outcome);
        assert_eq!(page.title, "Bench things");
        assert!(page.answer.starts_with("FAILED"), "{}", page.answer);
        assert_eq!(page.tables[0].rows, [["ratio", "0.9 of 1"]]);
        assert_eq!(page.tables[1].rows[1], ["runs.0.ratio", "0.9"]);
    }
}
