//! The arguments with which a person decides about single shows when something is imported again.

use booking::choices::{ImportDecisions, ShowChoices, parse_match, parse_show};
use clap::Args;
use fairgate_model::ids::ShowId;

/// What becomes of shows that somebody holds or bought and that the import does not surely have.
#[derive(Debug, Args)]
pub struct DecisionArguments {
    /// The sold show OLD is the show NEW of the import. OLD keeps its id.
    #[arg(long = "match", value_name = "OLD=NEW", value_parser = parse_match)]
    matches: Vec<(ShowId, ShowId)>,
    /// The show goes on as it was sold. Nothing more is sold of it, nor of shows of the import that
    /// may be the same.
    #[arg(long, value_name = "ID", value_parser = parse_show)]
    keep: Vec<ShowId>,
    /// The show is cancelled, and its buyers get their money back.
    #[arg(long, value_name = "ID", value_parser = parse_show)]
    cancel: Vec<ShowId>,
    /// Only says what the import would change.
    #[arg(long)]
    preview: bool,
}

impl DecisionArguments {
    /// Returns the decisions.
    ///
    /// # Errors
    /// If two decisions are about one show.
    pub fn decisions(self) -> Result<ImportDecisions, String> {
        let choices = ShowChoices::from_lists(self.matches, self.keep, self.cancel);
        let choices = choices.map_err(|twice| {
            format!("{twice} is named twice by --match, --keep or --cancel. Nothing was imported.")
        })?;
        Ok(ImportDecisions {
            choices,
            is_preview: self.preview,
        })
    }
}
