//! One idempotent repair for each kind of drift. A repair makes no new decision. It only completes
//! an earlier one.

use fairgate_model::findings::{DriftFinding, DriftSubject};

use super::Reconciler;
use crate::ledger::LedgerError;

/// The maximum number of orders that one repair expires.
const EXPIRE_MAX: u32 = 200;

/// The result of a repair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepairOutcome {
    /// The repair was done.
    Done,
    /// The repair was not needed, because another worker had done it in the meantime.
    NotNeeded,
    /// The repair has to wait. The next pass finds the same difference again.
    Later,
}

impl RepairOutcome {
    /// Returns the result's name in metrics and in the printed output.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "repaired",
            Self::NotNeeded => "not_needed",
            Self::Later => "later",
        }
    }

    fn from_changed(changed: bool) -> Self {
        if changed { Self::Done } else { Self::NotNeeded }
    }
}

impl Reconciler {
    /// Repairs one finding.
    ///
    /// # Errors
    /// Returns an error if the ledger did not take the repair. The next pass finds the same
    /// difference again.
    pub(super) async fn repair(
        &self,
        finding: &DriftFinding,
    ) -> Result<RepairOutcome, LedgerError> {
        let now_ms = self.clock.now_ms();
        use fairgate_model::findings::DriftKind as K;
        match (&finding.about, finding.kind) {
            (DriftSubject::Order(_), K::OrderOverdue) => {
                let expired = self.ledger.expire_due(now_ms, EXPIRE_MAX).await?;
                self.notifiers.notify_all();
                Ok(RepairOutcome::from_changed(!expired.is_empty()))
            }
            // The effects worker tries again by itself. An operator has to find out whether that
            // can help.
            (DriftSubject::Order(_), K::RefundFailed) => Ok(RepairOutcome::Later),
            (DriftSubject::Order(order), _) => {
                let changed = self.ledger.mend(order, now_ms).await?;
                self.notifiers.notify_all();
                Ok(RepairOutcome::from_changed(changed))
            }
            (DriftSubject::Payment(payment, read), _) => match &self.inbox {
                Some(inbox) => Ok(RepairOutcome::from_changed(
                    inbox
                        .take_read_back(payment, finding.since_ms, read)
                        .await?,
                )),
                None => Ok(RepairOutcome::Later),
            },
            // Only a person knows what the money was for.
            (DriftSubject::Money(_), _) => Ok(RepairOutcome::Later),
            (DriftSubject::Hold(secured), _) => Ok(RepairOutcome::from_changed(
                self.restore_deadline(secured).await?,
            )),
            (DriftSubject::Show(id), _) => {
                let (Some(show), Some(seats)) = (self.catalogue.show(id), &self.seats) else {
                    return Ok(RepairOutcome::NotNeeded);
                };
                // The ledger does not know baskets. They prevent the reopening until they run out.
                match seats.reopen(&show).await? {
                    Ok(()) => Ok(RepairOutcome::Done),
                    Err(_) => Ok(RepairOutcome::Later),
                }
            }
        }
    }
}
