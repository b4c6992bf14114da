//! Warns of shows that nobody will sell, and of patterns that match nothing.

use fairgate_databases::LedgerError;
use fairgate_model::ids::ShowId;
use fairgate_model::onsale::OnsaleRequest;
use fairgate_model::shows::coverage::{NotSoldReason, RoomCoverage, matches, unnamed_show_warning};

use super::Comparison;
use crate::catalogue::Catalogue;

impl Catalogue {
    /// Adds a warning for each show of the file that nobody will sell, and for each pattern of the
    /// file's rooms that matches nothing.
    pub(super) async fn add_warnings(
        &self,
        request: &OnsaleRequest,
        compared: &mut Comparison,
        now_ms: i64,
    ) -> Result<(), LedgerError> {
        let coverage = RoomCoverage::new(request.coverage.clone());
        let mut warnings = Vec::new();
        for (id, document) in &compared.shows {
            let seller = coverage.seller(id, document.state, document.walk_in);
            if seller == Err(NotSoldReason::NoRoom) {
                warnings.push(unnamed_show_warning(id));
            }
        }
        for (room, patterns) in &request.coverage {
            if !request.rooms.contains(room) {
                continue;
            }
            for pattern in patterns {
                let names = |id: &ShowId| matches(pattern, id.as_str());
                let is_known = compared.shows.iter().any(|(id, _)| names(id))
                    || self.shared.shows.read().keys().any(names);
                if is_known || self.names_departure(pattern, now_ms).await? {
                    continue;
                }
                warnings.push(format!(
                    "The room \"{room}\" names \"{pattern}\", and there is no such show yet. It will sell one as soon as there is."
                ));
            }
        }
        compared.report.warnings.extend(warnings);
        Ok(())
    }

    /// Returns whether a pattern names a departure of the timetable.
    async fn names_departure(&self, pattern: &str, now_ms: i64) -> Result<bool, LedgerError> {
        if self.find_show(pattern).is_some() {
            return Ok(true);
        }
        let Some(timetable) = self.timetable() else {
            return Ok(false);
        };
        let patterns = vec![pattern.to_owned()];
        let search = move || {
            let mut count = 0_u32;
            timetable.on_sale(&patterns, now_ms, &mut |_| count += 1);
            count > 0
        };
        let found = tokio::task::spawn_blocking(search).await;
        found.map_err(|error| LedgerError::Unavailable(error.to_string()))
    }
}
