//! Finds out whether visitors can be served, and what an operator should put right.

use std::time::Duration;

use fairgate_base::http::Readiness;
use fairgate_base::process::warning_log::ledger_away;
use fairgate_rules::room_document::ChallengePolicy;

use super::GatewayOpsRoutes;

/// How long each call to the ledger may take.
const LEDGER_MAX: Duration = Duration::from_millis(1_500);

impl GatewayOpsRoutes {
    /// Finds out whether this process can serve visitors. Without its ledger, its store or booking
    /// it still serves the lobby, the places and the pictures of the seats from memory. If they are
    /// away for all gateways at once, this is only a warning, and load balancers still send
    /// visitors here. A fault of this node alone makes it not ready: its own disk takes no write,
    /// or booking refuses it.
    pub async fn readiness(&self) -> Readiness {
        let mut readiness = self.found_troubles().await;
        if *self.leaving.borrow() {
            let draining = "this process is draining".to_owned();
            readiness.reasons.push(draining);
        }
        readiness
    }

    /// Returns everything that an operator should put right, one sentence each.
    pub async fn troubles(&self) -> Vec<String> {
        let Readiness { reasons, warnings } = self.found_troubles().await;
        reasons.into_iter().chain(warnings).collect()
    }

    /// Finds what is wrong with this process and with what it needs.
    async fn found_troubles(&self) -> Readiness {
        let mut found = Readiness::default();
        // Ledger and booking are asked at the same time, so that a proxy gets its answer in time.
        // Without an answer, it would send no visitors here.
        let (ledger, core) = tokio::join!(self.ledger_trouble(), self.rooms.core().condition());
        match ledger {
            Some(LedgerTrouble::RefusedWrite(trouble)) if self.rooms.ledger().is_own_file() => {
                found.reasons.push(trouble);
            }
            Some(LedgerTrouble::RefusedWrite(trouble) | LedgerTrouble::Slow(trouble)) => {
                found.warnings.push(trouble);
            }
            None => {}
        }
        found.reasons.extend(core.reasons);
        found.warnings.extend(core.warnings);
        found.warnings.extend(self.other_troubles());
        found
    }

    /// Returns the troubles besides those of the ledger and of booking.
    fn other_troubles(&self) -> Vec<String> {
        let mut troubles = self.warnings.clone();
        troubles.extend(self.rooms.warnings());
        troubles.extend(self.web.warnings());
        let rooms = self.rooms.all();
        let providers = rooms.iter().map(|room| room.row().document.challenge);
        let providers = providers.filter_map(ChallengePolicy::provider);
        troubles.extend(self.providers.warnings(providers));
        troubles.extend(self.shop_trouble());
        troubles
    }

    /// Returns what is wrong with the guarded shop, in one sentence.
    fn shop_trouble(&self) -> Option<String> {
        self.shop.outage().map(|(calls, failure)| {
            format!(
                "the guarded shop did not answer the last {calls} requests, so its visitors see an error and keep their passes: start it, or correct FAIRGATE_GUARD_ORIGIN ({failure})"
            )
        })
    }

    /// Returns what is wrong with the ledger, in one sentence.
    async fn ledger_trouble(&self) -> Option<LedgerTrouble> {
        match tokio::time::timeout(LEDGER_MAX, self.rooms.ledger().check()).await {
            Ok(Ok(())) => {
                let silent = self.follower.unread_for(LEDGER_MAX).await?;
                Some(LedgerTrouble::Slow(format!(
                    "the changes that other gateways made to rooms could not be read for {} s",
                    silent.as_secs()
                )))
            }
            Ok(Err(error)) => {
                let trouble = ledger_away(LEDGER_MAX, &error.to_string());
                Some(LedgerTrouble::RefusedWrite(trouble))
            }
            Err(_) => Some(LedgerTrouble::Slow(ledger_away(
                LEDGER_MAX,
                "joins, passes, orders and payments are refused until it answers; places, the lobby and the seats are shown from memory",
            ))),
        }
    }
}

/// What is wrong with the ledger, in one sentence.
enum LedgerTrouble {
    /// It did not take a write, for example because the disk is full.
    RefusedWrite(String),
    /// It does not answer in time. A busy process may be slow for a moment, so this is never a
    /// reason to send visitors elsewhere.
    Slow(String),
}
