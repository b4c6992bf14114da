//! Withholds shows while an on-sale file is applied. The file's rooms are stored before its shows,
//! in another ledger. If the apply ended between the two, the new rooms would sell the old shows:
//! at the old price, or to everybody as walk-ins.

use fairgate_model::ids::ShowId;
use fairgate_model::onsale::OnsaleRequest;
use fairgate_model::shows::coverage::RoomCoverage;

use super::Comparison;
use crate::catalogue::Catalogue;
use crate::ledger::OnsaleRefused;

impl Catalogue {
    /// Returns each show that the file changes and that the file's rooms would sell as it is now,
    /// unless the same room sells it already.
    pub(super) fn shows_to_withhold(
        &self,
        request: &OnsaleRequest,
        compared: &Comparison,
    ) -> Vec<ShowId> {
        let then = RoomCoverage::new(request.coverage.clone());
        let changed = compared.show_writes.iter().map(|write| &write.show.id);
        let shows = changed.filter_map(|id| self.show(id)).filter(|show| {
            let seller = then.seller_of(show);
            seller.is_ok() && seller != self.seller_of(show)
        });
        shows.map(|show| show.id.clone()).collect()
    }

    /// Withholds shows. Nobody sells them until they are written. Returns these shows.
    pub(super) async fn withhold_shows(
        &self,
        compared_with: u64,
        shows: Vec<ShowId>,
    ) -> Result<Vec<ShowId>, OnsaleRefused> {
        if shows.is_empty() {
            return Ok(shows);
        }
        let mut version = self.shared.version.lock().await;
        self.ledger
            .withhold_shows(compared_with, shows.clone())
            .await?;
        self.reload(&mut version).await?;
        Ok(shows)
    }

    /// Returns the shows of the file that are withheld.
    pub(super) fn withheld_of(&self, compared: &Comparison) -> Vec<ShowId> {
        let withheld = self.shared.withheld.read();
        let shows = compared.shows.iter().map(|(id, _)| id);
        shows.filter(|id| withheld.contains(id)).cloned().collect()
    }
}
