//! Reads `[[live]]`: what the promoter changes of the room while the crowd is there.

use serde::Deserialize;
use serde_json::Value;

use super::read::ScenarioTime;

/// A live change of the room.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveChange {
    /// When the promoter makes the change, in seconds after the start of the run.
    pub at_s: f64,
    /// The fields of the call. The promoter API checks them.
    pub fields: Value,
}

/// The table as the file has it.
#[derive(Deserialize)]
pub(super) struct LiveSection {
    at: ScenarioTime,
    #[serde(flatten)]
    fields: toml::Table,
}

impl LiveSection {
    /// Returns the changes by time.
    ///
    /// # Errors
    /// A message about a time that is none, or a change without fields.
    pub(super) fn resolve_all(
        sections: Vec<Self>,
        planned_s: f64,
    ) -> Result<Vec<LiveChange>, String> {
        let resolve = |section: Self| {
            let at_s = section.at.resolve(planned_s);
            let at_s = at_s.filter(|_| !section.fields.is_empty())?;
            let fields = serde_json::to_value(section.fields).ok()?;
            Some(LiveChange { at_s, fields })
        };
        let changes: Option<Vec<LiveChange>> = sections.into_iter().map(resolve).collect();
        let mut changes = changes.ok_or_else(|| {
            "live: at must be seconds or a share such as \"40%\", and the other fields are those that the promoter changes, such as max_inside"
                .to_owned()
        })?;
        changes.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
        Ok(changes)
    }
}
