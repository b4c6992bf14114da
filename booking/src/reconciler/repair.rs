//! One idempotent repair for each kind of drift. None of them decides anything anew: each brings
//! back what a decision that stands has asked for.

use fairgate_model::findings::{DriftFinding, DriftSubject};

use super::Reconciler;
use crate::ledger::LedgerError;

/// Orders expired in one repair.
const EXPIRE_MAX: u32 = 200;

/// What became of a repair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepairOutcome {
    /// It was done.
    Done,
    /// Somebody else had done it meanwhile.
    NotNeeded,
    /// It has to wait; the next pass finds the same again.
    Later,
}

impl RepairOutcome {
    /// The word in metrics and in what is printed.
    #[must_use]
    pub fn word(self) -> &'static str {
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
    /// Mends one thing.
    ///
    /// # Errors
    /// Where the ledger did not take it; the next pass finds it again.
    pub(super) async fn repair(
        &self,
        finding: &DriftFinding,
    ) -> Result<RepairOutcome, LedgerError> {
        let now_ms = self.clock.now_ms();
        use fairgate_model::findings::DriftKind as K;
        match (&finding.about, finding.kind) {
            (DriftSubject::Order(_), K::OrderOverdue) => {
                let expired = self.ledger.expire_due(now_ms, EXPIRE_MAX).await?;
                self.bells.notify_all();
                Ok(RepairOutcome::from_changed(!expired.is_empty()))
            }
            // The worker of effects tries again; whether that can help, somebody has to find out.
            (DriftSubject::Order(_), K::RefundFailed) => Ok(RepairOutcome::Later),
            (DriftSubject::Order(order), _) => {
                let changed = self.ledger.mend(order, now_ms).await?;
                self.bells.notify_all();
                Ok(RepairOutcome::from_changed(changed))
            }
            (DriftSubject::Payment(payment, read), _) => match &self.inbox {
                Some(inbox) => Ok(RepairOutcome::from_changed(
                    inbox.take_read_back(payment, read).await?,
                )),
                None => Ok(RepairOutcome::Later),
            },
            (DriftSubject::Hold(secured), _) => Ok(RepairOutcome::from_changed(
                self.restore_deadline(secured).await?,
            )),
            (DriftSubject::Show(id), _) => {
                let (Some(show), Some(seats)) = (self.catalogue.show(id), &self.seats) else {
                    return Ok(RepairOutcome::NotNeeded);
                };
                // Baskets that the ledger does not know stand in the way, and lapse.
                match seats.reopen(&show).await? {
                    Ok(()) => Ok(RepairOutcome::Done),
                    Err(_) => Ok(RepairOutcome::Later),
                }
            }
        }
    }
}
