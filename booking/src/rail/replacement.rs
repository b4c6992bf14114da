//! Puts a timetable in the place of the one in force. The decisions about touched departures are
//! made inside the transaction that stores it.

use std::sync::Arc;

use fairgate_model::timetables::Timetable;

use super::succession::Succession;
use crate::choices::ShowChoices;
use crate::ledger::{
    DecideDepartures, Ledger, LedgerError, NewTimetable, SwitchedTimetable, TimetableRefused,
    TimetableSwitch, TouchedDeparture,
};

/// How often the decisions are made again because somebody else replaced the timetable.
const ATTEMPTS_MAX: u32 = 5;

/// A timetable that takes the place of the one in force.
pub struct TimetableReplacement {
    /// The timetable as the ledger stores it.
    pub stored: NewTimetable,
    /// The same timetable.
    pub timetable: Arc<Timetable>,
    /// What a person decided about single departures.
    pub choices: Arc<ShowChoices>,
    /// Whether nothing is to be stored.
    pub is_preview: bool,
}

impl TimetableReplacement {
    /// Stores the timetable, or finds out what storing it would change.
    ///
    /// # Errors
    /// [`TimetableRefused`]; nothing was changed then.
    pub async fn switch(
        &self,
        ledger: &Ledger,
        now_ms: i64,
    ) -> Result<SwitchedTimetable, TimetableRefused> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            let switch = self.prepare(ledger, now_ms).await?;
            let put = ledger.put_timetable(self.stored.clone(), switch, now_ms);
            match put.await {
                Err(TimetableRefused::Replaced) if attempts < ATTEMPTS_MAX => {}
                Err(TimetableRefused::Preview(switched)) => return Ok(*switched),
                switched => return switched,
            }
        }
    }

    /// Reads the timetable in force, whose departures are to be found in the new one.
    async fn prepare(&self, ledger: &Ledger, now_ms: i64) -> Result<TimetableSwitch, LedgerError> {
        let version = ledger.newest_timetable().await?;
        let stored = match version {
            Some(version) => ledger.timetable(version).await?,
            None => None,
        };
        let earlier = match stored {
            Some(stored) => {
                let read = Timetable::read(&stored.text).and_then(|read| {
                    let read = read.with_kept_ids(stored.kept);
                    read.map_err(|error| error.to_string())
                });
                Arc::new(read.map_err(LedgerError::Corrupt)?)
            }
            // Without an earlier timetable, nobody bought a departure.
            None => Arc::clone(&self.timetable),
        };
        Ok(TimetableSwitch {
            earlier: version,
            decide: self.decider(earlier, now_ms),
            has_choices: self.choices.shows().next().is_some(),
            is_preview: self.is_preview,
        })
    }

    fn decider(&self, earlier: Arc<Timetable>, now_ms: i64) -> DecideDepartures {
        let (new, choices) = (Arc::clone(&self.timetable), Arc::clone(&self.choices));
        Box::new(move |touched: &[TouchedDeparture]| {
            let succession = Succession {
                earlier: &earlier,
                new: &new,
                choices: &choices,
            };
            succession.decide(touched, now_ms)
        })
    }
}
