//! Writes a report as one HTML file that needs no network and no other file. A script draws each
//! chart from the table below it, so both always have the same numbers. Without scripts, the tables
//! remain.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::Value;

/// The plotting library, version 1.6.32. Its licence is in `vendor/LICENSE`.
const PLOT_SCRIPT: &str = include_str!("vendor/uplot-1.6.32.min.js");
const PLOT_STYLE: &str = include_str!("vendor/uplot-1.6.32.min.css");
const SCRIPT: &str = include_str!("report.js");
const STYLE: &str = include_str!("report.css");

/// The most points of a chart. More points cannot be told apart, and would make the table long.
pub const POINTS_MAX: usize = 120;

/// A report.
#[derive(Debug, Clone, PartialEq)]
pub struct HtmlReport {
    /// What the report is about.
    pub title: String,
    /// The answer, in a sentence.
    pub answer: String,
    /// The most important figures, each with its name.
    pub figures: Vec<(String, String)>,
    /// The charts.
    pub charts: Vec<ReportChart>,
    /// The tables without a chart.
    pub tables: Vec<ReportTable>,
    /// The settings that gave the figures, each with its name.
    pub settings: Vec<(String, String)>,
    /// How the figures came about, in sentences.
    pub origin: Vec<String>,
}

/// A chart, and its table.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportChart {
    /// What the chart shows.
    pub title: String,
    /// What one should see in the chart, in a sentence.
    pub caption: String,
    /// The name and unit of the horizontal axis.
    pub across: String,
    /// The names and units of the lines.
    pub lines: Vec<String>,
    /// The points: a position on the horizontal axis, and a value of each line, if it has one
    /// there.
    pub points: Vec<(f64, Vec<Option<f64>>)>,
    /// Whether the points are drawn as dots without lines between them.
    pub dots: bool,
}

/// A table without a chart.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportTable {
    /// What the table shows.
    pub title: String,
    /// The names of its columns.
    pub head: Vec<String>,
    /// Its rows, each with as many cells as there are columns.
    pub rows: Vec<Vec<String>>,
}

/// Reads the name of a page's file. The name must not end with .json or .csv, because the files of
/// figures beside the page do.
pub fn page_file(name: &str) -> Result<PathBuf, String> {
    let file = PathBuf::from(name);
    let ending = file.extension().and_then(|ending| ending.to_str());
    if matches!(ending, Some("json" | "csv")) {
        return Err("the page is HTML. Its figures are written beside it as .json and .csv, so its name must end with .html".to_owned());
    }
    Ok(file)
}

impl HtmlReport {
    /// Writes the document into `file` and, beside it, the figures as JSON and the points of all
    /// charts as CSV.
    ///
    /// # Errors
    /// Where a file cannot be written. The message names the file.
    pub fn write(&self, file: &Path, figures: &Value) -> anyhow::Result<()> {
        let files = [
            (file.to_owned(), self.document()),
            (file.with_extension("json"), format!("{figures:#}\n")),
            (file.with_extension("csv"), self.csv()?),
        ];
        for (path, text) in files {
            std::fs::write(&path, text)
                .with_context(|| format!("{} could not be written", path.display()))?;
        }
        Ok(())
    }

    /// Returns the points of all charts as CSV, one value a line.
    fn csv(&self) -> anyhow::Result<String> {
        let mut lines = csv::Writer::from_writer(Vec::new());
        lines.write_record(["chart", "across", "at", "line", "value"])?;
        for chart in &self.charts {
            for (at, values) in &chart.points {
                for (line, value) in chart.lines.iter().zip(values) {
                    let Some(value) = value else { continue };
                    lines.write_record([
                        &chart.title,
                        &chart.across,
                        &number(*at),
                        line,
                        &number(*value),
                    ])?;
                }
            }
        }
        let lines = lines.into_inner().context("the CSV could not be made")?;
        Ok(String::from_utf8(lines)?)
    }

    /// Returns the whole document.
    pub fn document(&self) -> String {
        let mut page = String::new();
        let title = escaped(&self.title);
        // Writing to a string cannot fail.
        let _ = write!(
            page,
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{title}</title>\n<style>{PLOT_STYLE}{STYLE}</style>\n</head>\n<body>\n<main>\n\
             <h1>{title}</h1>\n<p class=\"answer\">{}</p>\n",
            escaped(&self.answer)
        );
        page.push_str(&definitions(&self.figures));
        for (nth, chart) in self.charts.iter().enumerate() {
            page.push_str(&chart.section(nth));
        }
        for table in &self.tables {
            page.push_str(&table.section());
        }
        page.push_str("<h2>Settings</h2>\n");
        page.push_str(&definitions(&self.settings));
        page.push_str("<h2>How these figures were made</h2>\n");
        for sentence in &self.origin {
            let _ = writeln!(page, "<p>{}</p>", escaped(sentence));
        }
        let _ = write!(
            page,
            "</main>\n<script>{PLOT_SCRIPT}</script>\n<script>{SCRIPT}</script>\n</body>\n</html>\n"
        );
        page
    }
}

impl ReportChart {
    /// Returns the chart's part of the document. `nth` makes its ids unique.
    fn section(&self, nth: usize) -> String {
        let mut section = String::new();
        let (title, caption) = (escaped(&self.title), escaped(&self.caption));
        let class = if self.dots { "chart dots" } else { "chart" };
        let _ = write!(
            section,
            "<section class=\"{class}\" aria-labelledby=\"chart-{nth}\">\n<h2 id=\"chart-{nth}\">{title}</h2>\n\
             <p>{caption}</p>\n<div class=\"plot\" role=\"img\" aria-label=\"{title}; the figures are \
             in the table below\"></div>\n<details>\n<summary>The figures as a table</summary>\n\
             <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table: {title}\">\n\
             <table>\n<thead><tr><th scope=\"col\">{}</th>",
            escaped(&self.across)
        );
        for line in &self.lines {
            let _ = write!(section, "<th scope=\"col\">{}</th>", escaped(line));
        }
        section.push_str("</tr></thead>\n<tbody>\n");
        for (across, values) in &self.points {
            let _ = write!(section, "<tr><th scope=\"row\">{}</th>", number(*across));
            for value in values {
                let _ = write!(
                    section,
                    "<td>{}</td>",
                    value.map(number).unwrap_or_default()
                );
            }
            section.push_str("</tr>\n");
        }
        section.push_str("</tbody>\n</table>\n</div>\n</details>\n</section>\n");
        section
    }
}

impl ReportTable {
    fn section(&self) -> String {
        let title = escaped(&self.title);
        let mut section = format!(
            "<section>\n<h2>{title}</h2>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" \
             aria-label=\"Table: {title}\">\n<table class=\"words\">\n<thead><tr>"
        );
        // Writing to a string cannot fail.
        for name in &self.head {
            let _ = write!(section, "<th scope=\"col\">{}</th>", escaped(name));
        }
        section.push_str("</tr></thead>\n<tbody>\n");
        for row in &self.rows {
            section.push_str("<tr>");
            for cell in row {
                let _ = write!(section, "<td>{}</td>", escaped(cell));
            }
            section.push_str("</tr>\n");
        }
        section.push_str("</tbody>\n</table>\n</div>\n</section>\n");
        section
    }
}

/// Returns at most [`POINTS_MAX`] of the items, at equal distances. They include the first and the
/// last item.
pub fn thinned<T: Clone>(items: &[T]) -> Vec<T> {
    let Some(last) = items.len().checked_sub(1) else {
        return Vec::new();
    };
    let points = items.len().min(POINTS_MAX);
    let item = |point: usize| {
        items[(point * last + points.saturating_sub(1) / 2) / points.saturating_sub(1).max(1)]
            .clone()
    };
    (0..points).map(item).collect()
}

fn definitions(list: &[(String, String)]) -> String {
    let mut text = "<dl>\n".to_owned();
    for (name, value) in list {
        let (name, value) = (escaped(name), escaped(value));
        let _ = writeln!(text, "<div><dt>{name}</dt><dd>{value}</dd></div>");
    }
    text.push_str("</dl>\n");
    text
}

/// Writes a number with as many digits as one can read in a chart.
fn number(value: f64) -> String {
    let text = if value.abs() < 100.0 {
        format!("{value:.2}")
    } else {
        format!("{value:.0}")
    };
    match text.split_once('.') {
        Some((whole, fraction)) if fraction.bytes().all(|digit| digit == b'0') => whole.to_owned(),
        _ => text,
    }
}

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> HtmlReport {
        HtmlReport {
            title: "A <sale> & \"more\"".to_owned(),
            answer: "Sold out.".to_owned(),
            figures: vec![("told \"no\"".to_owned(), "3".to_owned())],
            charts: vec![ReportChart {
                title: "Seats".to_owned(),
                caption: "They are sold.".to_owned(),
                across: "minutes".to_owned(),
                lines: vec!["free".to_owned(), "sold".to_owned()],
                points: vec![
                    (0.0, vec![Some(5.0), None]),
                    (1.5, vec![Some(1_234.5), Some(0.25)]),
                ],
                dots: false,
            }],
            tables: vec![ReportTable {
                title: "Thresholds".to_owned(),
                head: vec!["threshold".to_owned(), "held".to_owned()],
                rows: vec![vec!["a < b".to_owned(), "yes".to_owned()]],
            }],
            settings: Vec::new(),
            origin: vec!["Simulated.".to_owned()],
        }
    }

    #[test]
    fn what_people_wrote_is_escaped_and_every_number_stands_in_the_table() {
        let page = report().document();
        assert!(page.contains("<title>A &lt;sale&gt; &amp; &quot;more&quot;</title>"));
        assert!(page.contains("<dt>told &quot;no&quot;</dt>"));
        assert!(page.contains("<tr><th scope=\"row\">0</th><td>5</td><td></td></tr>"));
        assert!(page.contains("<tr><th scope=\"row\">1.50</th><td>1234</td><td>0.25</td></tr>"));
    }

    #[test]
    fn the_figures_stand_beside_the_page_as_json_and_csv() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("report.html");
        let figures = serde_json::json!({"sold": 7});
        report().write(&file, &figures).expect("written");
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("a file");
        assert!(read("report.html").contains("<td>a &lt; b</td><td>yes</td>"));
        assert!(read("report.json").contains("\"sold\": 7"));
        let lines = read("report.csv");
        let lines: Vec<&str> = lines.lines().collect();
        assert_eq!(lines[1], "Seats,minutes,0,free,5");
        assert_eq!(lines.len(), 4, "a value that is missing has no line");
        let nowhere = report().write(&folder.path().join("no/report.html"), &figures);
        let told = nowhere.expect_err("there is no such folder").to_string();
        assert!(told.contains("no/report.html"), "{told}");
    }

    #[test]
    fn the_document_names_no_outside_resource() {
        let page = report().document();
        for word in ["src=", "href=", "@import", "url("] {
            assert!(!page.contains(word), "{word}");
        }
    }

    #[test]
    fn long_series_keep_their_ends() {
        let long: Vec<usize> = (0..5_000).collect();
        let thin = thinned(&long);
        assert_eq!(
            (thin.len(), thin[0], thin[POINTS_MAX - 1]),
            (POINTS_MAX, 0, 4_999)
        );
        assert!(thin.is_sorted());
        assert_eq!(thinned(&[1, 2, 3]), [1, 2, 3]);
        assert_eq!(thinned(&[1]), [1]);
        assert!(thinned::<u8>(&[]).is_empty());
    }
}
