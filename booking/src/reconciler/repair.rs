//! One idempotent repair for each kind of drift. None of them decides anything anew: each brings
//! back what a decision that stands has asked for.

use super::Reconciler;
use crate::ledger::LedgerError;
use fairgate_model::findings::{About, Finding};

/// Orders expired in one repair.
const EXPIRE_MAX: u32 = 200;

/// What became of a repair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repaired {
    /// It was done.
    Done,
    /// Somebody else had done it meanwhile.
    NotNeeded,
    /// It has to wait; the next pass finds the same again.
    Later,
}

impl Repaired {
    /// The word in metrics and in what is printed.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Done => "repaired",
            Self::NotNeeded => "not_needed",
            Self::Later => "later",
        }
    }

    fn of(changed: bool) -> Self {
        if changed { Self::Done } else { Self::NotNeeded }
    }
}

impl Reconciler {
    /// Mends one thing.
    ///
    /// # Errors
    /// Where the ledger did not take it; the next pass finds it again.
    pub(super) async fn repair(&self, finding: &Finding) -> Result<Repaired, LedgerError> {
        let now_ms = self.clock.now_ms();
        use fairgate_model::findings::Kind as K;
        match (&finding.about, finding.kind) {
            (About::Order(_), K::OrderOverdue) => {
                let expired = self.ledger.expire_due(now_ms, EXPIRE_MAX).await?;
                self.bells.ring();
                Ok(Repaired::of(!expired.is_empty()))
            }
            // The worker of effects tries again; whether that can help, somebody has to find out.
            (About::Order(_), K::RefundFailed) => Ok(Repaired::Later),
            (About::Order(order), _) => {
                let changed = self.ledger.mend(order, now_ms).await?;
                self.bells.ring();
                Ok(Repaired::of(changed))
            }
            (About::Payment(payment, read), _) => match &self.inbox {
                Some(inbox) => Ok(Repaired::of(inbox.take_read_back(payment, read).await?)),
                None => Ok(Repaired::Later),
            },
            (About::Hold(secured), _) => Ok(Repaired::of(self.give_back(secured).await?)),
            (About::Show(id), _) => {
                let (Some(show), Some(seats)) = (self.catalogue.show(id), &self.seats) else {
                    return Ok(Repaired::NotNeeded);
                };
                // Baskets that the ledger does not know stand in the way, and lapse.
                match seats.reopen(&show).await? {
                    Ok(()) => Ok(Repaired::Done),
                    Err(_) => Ok(Repaired::Later),
                }
            }
        }
    }
}
