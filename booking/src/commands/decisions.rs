//! The arguments with which a person decides about single shows when something is imported again.

use clap::Args;
use fairgate_model::ids::ShowId;

use crate::choices::{ShowChoices, parse_match, parse_show};

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
    pub preview: bool,
}

impl DecisionArguments {
    /// Returns the decisions.
    ///
    /// # Errors
    /// If two decisions are about one show.
    pub fn choices(&self) -> Result<ShowChoices, String> {
        let (matches, keep) = (self.matches.clone(), self.keep.clone());
        let choices = ShowChoices::from_lists(matches, keep, self.cancel.clone());
        choices.map_err(|twice| {
            format!("{twice} is named twice by --match, --keep or --cancel. Nothing was imported.")
        })
    }
}
