//! Warns of shows that nobody will sell, of shows that lose their room, and of patterns that match
//! nothing.

use std::collections::{BTreeMap, HashMap, HashSet};

use fairgate_databases::LedgerError;
use fairgate_model::counted::counted;
use fairgate_model::ids::ShowId;
use fairgate_model::onsale::OnsaleRequest;
use fairgate_model::shows::coverage::{
    EVERYDAY, NotSoldReason, RoomCoverage, lost_room_warning, matches, unnamed_show_warning,
};
use fairgate_model::shows::document::ShowDocument;

use super::Comparison;
use crate::catalogue::Catalogue;

/// The most shows that lose their room and are named one by one.
const LOST_ROOMS_NAMED_MAX: usize = 50;

impl Catalogue {
    /// Adds a warning for each show of the file that nobody will sell, for each show that loses its
    /// room, and for each pattern of the file's rooms that matches nothing.
    pub(super) async fn add_warnings(
        &self,
        request: &OnsaleRequest,
        compared: &mut Comparison,
        now_ms: i64,
    ) -> Result<(), LedgerError> {
        let coverage = RoomCoverage::new(request.coverage.clone());
        let lost = self.shows_losing_room(&coverage, compared, now_ms);
        let mut warnings = lost_room_warnings(&lost);
        for (id, document) in &compared.shows {
            let seller = coverage.seller(id, document.state, document.walk_in);
            if seller == Err(NotSoldReason::NoRoom) && !lost.contains_key(id) {
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

    /// Returns the shows on sale that a room names now and no room names after the apply, each with
    /// whether it is a walk-in then. Departures of the timetable are left out.
    fn shows_losing_room(
        &self,
        after: &RoomCoverage,
        compared: &Comparison,
        now_ms: i64,
    ) -> BTreeMap<ShowId, bool> {
        let before = self.coverage();
        let kept: HashSet<&String> = patterns_of(after).collect();
        let dropped: Vec<&String> = patterns_of(&before)
            .filter(|pattern| !kept.contains(pattern))
            .collect();
        if dropped.is_empty() {
            return BTreeMap::new();
        }
        let of_file: HashMap<&ShowId, &ShowDocument> = compared
            .shows
            .iter()
            .map(|(id, document)| (id, document))
            .collect();
        let mut lost = BTreeMap::new();
        for (id, show) in self.shared.shows.read().iter() {
            let is_dropped = dropped.iter().any(|pattern| matches(pattern, id.as_str()));
            if !is_dropped || before.seller_of(show).is_err() || show.is_over(now_ms) {
                continue;
            }
            let document = of_file.get(id).copied().unwrap_or(&show.document);
            let is_walk_in = match after.seller(id, document.state, document.walk_in) {
                Ok(room) if room == EVERYDAY => true,
                Err(NotSoldReason::NoRoom) => false,
                Ok(_) | Err(NotSoldReason::Announced | NotSoldReason::Withheld) => continue,
            };
            lost.insert(id.clone(), is_walk_in);
        }
        lost
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

fn patterns_of(coverage: &RoomCoverage) -> impl Iterator<Item = &String> {
    coverage.rooms().iter().flat_map(|(_, patterns)| patterns)
}

fn lost_room_warnings(lost: &BTreeMap<ShowId, bool>) -> Vec<String> {
    let named = lost.iter().take(LOST_ROOMS_NAMED_MAX);
    let mut warnings: Vec<_> = named
        .map(|(id, is_walk_in)| lost_room_warning(id, *is_walk_in))
        .collect();
    if let Some(more @ 1..) = lost.len().checked_sub(LOST_ROOMS_NAMED_MAX) {
        let shows = counted(more, "more show is", "more shows are");
        warnings.push(format!(
            "{shows} named by no room any more: a walk-in is sold through the room everyday from now on, and any other show is not sold any more."
        ));
    }
    warnings
}
