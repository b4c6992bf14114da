//! `gateway apply`: sends an on-sale file, and the seating plans beside it, to a gateway, which
//! applies them in one step. The demo sends its file to the routes of its own process.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, bail};
use axum::Router;
use axum::body::Body;
use axum::http::{Method, Request, header};
use fairgate_model::counted::counted;
use fairgate_model::onsale::{OnsaleFault, OnsaleItem, OnsaleReport};
use serde::Deserialize;
use serde_json::json;
use tower::ServiceExt;

use super::file::{OnsaleFile, PlanFiles, plan_files_of};

/// Where a file is sent.
pub enum OnsaleTarget {
    /// The address of another gateway, such as `http://127.0.0.1:8080`.
    Address(String),
    /// The routes of this process.
    InProcess(Router),
}

/// An on-sale file with the contents of the files that it names.
pub struct OnsaleUpload {
    text: String,
    plans: PlanFiles,
    /// A text for each plan that cannot be read. The gateway reports these plans as faults.
    unread: Vec<String>,
}

/// What an apply, or its preview, has found.
#[derive(Debug)]
pub struct OnsaleOutcome {
    /// The venues, shows and rooms of the file.
    pub items: Vec<OnsaleItem>,
    /// What was created and changed, or would be.
    pub report: OnsaleReport,
}

/// The members of a refusal that `gateway apply` shows.
#[derive(Deserialize)]
struct Refusal {
    detail: String,
    #[serde(flatten)]
    report: Option<OnsaleReport>,
}

/// The longest answer (bytes) that is read.
const ANSWER_BYTES_MAX: usize = 64 << 20;

impl OnsaleUpload {
    /// Reads the plans that the file names. Their paths are relative to `folder`.
    #[must_use]
    pub fn read(text: String, folder: &Path) -> Self {
        let (mut plans, mut unread) = (PlanFiles::new(), Vec::new());
        for file in plan_files_of(&text) {
            let path = folder.join(&file);
            match std::fs::read_to_string(&path) {
                Ok(content) => drop(plans.insert(file, content)),
                Err(error) => unread.push(format!("plan {}: {error}", path.display())),
            }
        }
        Self {
            text,
            plans,
            unread,
        }
    }

    /// Makes an upload from texts in memory.
    #[must_use]
    pub fn new(text: String, plans: PlanFiles) -> Self {
        Self {
            text,
            plans,
            unread: Vec::new(),
        }
    }

    /// Applies the file, or only reports what it would change.
    ///
    /// # Errors
    /// Fails if the gateway refuses the file or gives no answer. The error lists every fault and
    /// every conflict, with `name` as the file's name.
    pub async fn apply(
        &self,
        target: &OnsaleTarget,
        key: &str,
        name: &str,
        preview: bool,
    ) -> anyhow::Result<OnsaleOutcome> {
        let file = OnsaleFile::from_toml(&self.text, &self.plans);
        let body = json!({"onsale": self.text, "plans": self.plans}).to_string();
        let query = if preview { "?preview=true" } else { "" };
        let path = format!("/v1/promoter/apply{query}");
        let (status, answer) = match target.post(&path, body, key).await {
            Ok(answered) => answered,
            Err(error) => {
                let faults = fault_lines(&file.faults, name);
                return Err(error.context(format!(
                    "the gateway gave no answer, so the file may or may not have been applied. Apply it again: what was applied already stays as it is.{faults}"
                )));
            }
        };
        if !(200..300).contains(&status) {
            let unread: Vec<_> = self
                .unread
                .iter()
                .map(|plan| format!("\n  {plan}"))
                .collect();
            bail!("{}{}", refusal_text(status, &answer, name), unread.concat());
        }
        let report: OnsaleReport =
            serde_json::from_str(&answer).context("the gateway's answer cannot be read")?;
        if !report.is_applicable() {
            bail!("{name} cannot be applied:{}", obstacle_lines(&report, name));
        }
        let items = file.items;
        Ok(OnsaleOutcome { items, report })
    }
}

impl OnsaleTarget {
    async fn post(&self, path: &str, body: String, key: &str) -> anyhow::Result<(u16, String)> {
        match self {
            Self::Address(address) => {
                let answer = reqwest::Client::new()
                    .post(format!("{}{path}", address.trim_end_matches('/')))
                    .bearer_auth(key)
                    .header(header::CONTENT_TYPE, "application/json")
                    .body(body)
                    .send()
                    .await?;
                Ok((answer.status().as_u16(), answer.text().await?))
            }
            Self::InProcess(router) => {
                let request = Request::builder()
                    .method(Method::POST)
                    .uri(path)
                    .header(header::CONTENT_TYPE, "application/json")
                    .header(header::AUTHORIZATION, format!("Bearer {key}"))
                    .body(Body::from(body))?;
                let answer = match router.clone().oneshot(request).await {
                    Ok(answer) => answer,
                    Err(never) => match never {},
                };
                let status = answer.status().as_u16();
                let bytes = axum::body::to_bytes(answer.into_body(), ANSWER_BYTES_MAX).await?;
                Ok((status, String::from_utf8_lossy(&bytes).into_owned()))
            }
        }
    }
}

impl OnsaleOutcome {
    /// Describes an apply, or what it would do, one line for each venue, show, room and field.
    #[must_use]
    pub fn lines(&self, preview: bool) -> Vec<String> {
        let mut lines = Vec::new();
        let verb = |preview_verb: &'static str, verb: &'static str| {
            if preview { preview_verb } else { verb }
        };
        for item in &self.report.create {
            lines.push(format!(
                "{} {}",
                verb("would create", "created"),
                told(item)
            ));
        }
        for change in &self.report.change {
            let (item, field) = (told(&change.item), &change.field);
            let (from, to) = (&change.from, &change.to);
            lines.push(if change.live {
                format!(
                    "{item}: {field} stays {from}, which was set live; the file still says {to}"
                )
            } else {
                format!(
                    "{item}: {field} {} from {from} to {to}",
                    verb("would change", "changed")
                )
            });
        }
        lines.extend(
            self.report
                .warnings
                .iter()
                .map(|text| format!("warning: {text}")),
        );
        if preview {
            lines.push("nothing was applied".to_owned());
        } else {
            let applied = self
                .items
                .iter()
                .map(|item| format!("applied {}", told(item)));
            lines.extend(applied);
        }
        lines
    }
}

fn told(item: &OnsaleItem) -> String {
    format!("{} \"{}\"", item.kind.as_str(), item.id)
}

fn refusal_text(status: u16, answer: &str, name: &str) -> String {
    let Ok(refusal) = serde_json::from_str::<Refusal>(answer) else {
        return format!("{name} was refused ({status}): {answer}");
    };
    let report = refusal.report.unwrap_or_default();
    format!(
        "{name} was refused ({status}): {}{}",
        refusal.detail,
        obstacle_lines(&report, name)
    )
}

/// Describes each fault and each conflict in a line of its own.
fn obstacle_lines(report: &OnsaleReport, name: &str) -> String {
    let mut lines = fault_lines(&report.faults, name);
    for conflict in &report.conflicts {
        let _ = write!(
            lines,
            "\n  {}: {} was set live to {}, and the file changed it from {} to {}. Write the value that should hold into the file",
            told(&conflict.item),
            conflict.field,
            conflict.live,
            conflict.applied,
            conflict.file
        );
    }
    lines
}

fn fault_lines(faults: &[OnsaleFault], name: &str) -> String {
    let mut lines = String::new();
    if !faults.is_empty() {
        let _ = write!(lines, "\n  {}:", counted(faults.len(), "fault", "faults"));
    }
    for fault in faults {
        let _ = match (fault.line, fault.column) {
            (Some(line), Some(column)) => write!(lines, "\n  {name}:{line}:{column}: "),
            _ => write!(lines, "\n  {name}: "),
        };
        if let Some(item) = &fault.item {
            let _ = write!(lines, "{}: ", told(item));
        }
        if !fault.field.is_empty() {
            let _ = write!(lines, "{}: ", fault.field);
        }
        lines.push_str(&fault.detail);
    }
    lines
}
