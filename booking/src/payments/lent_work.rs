//! Does work that is stored in the ledger, several pieces at a time. The ledger lends each piece to
//! one node for a short time. A node borrows only pieces that it can begin at once, so other nodes
//! can do the waiting pieces. A piece that fails or takes long delays no other piece.

use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::ledger::{EFFECT_LENT_MS, LedgerError};

/// For how long a piece is lent.
const LENT_FOR: Duration = Duration::from_millis(EFFECT_LENT_MS.unsigned_abs());

/// The loan of one piece of work.
#[derive(Debug, Clone, Copy)]
pub(super) struct Loan {
    /// When the ledger was asked for the piece, by a clock that goes on while this process stands
    /// still.
    asked_at: Instant,
}

impl Loan {
    fn begin() -> Self {
        Self {
            asked_at: Instant::now(),
        }
    }

    /// Returns whether the loan has run out at `now`, unless it was renewed. Another node may have
    /// done the piece by then.
    pub(super) fn is_over(self, now: Instant) -> bool {
        now.duration_since(self.asked_at) >= LENT_FOR
    }
}

/// Does all the work that `lend` returns, at most `at_once` pieces at a time, and returns how many
/// pieces were done. `work` handles its own errors. A piece that `work` does not finish is lent
/// again when the piece's loan ends.
///
/// # Errors
/// Returns the error of `lend`. The pieces that had begun are finished first.
pub(super) async fn do_lent_work<T, L, W>(
    at_once: usize,
    lend: impl Fn(u32) -> L,
    work: impl Fn(T, Loan) -> W,
) -> Result<usize, LedgerError>
where
    L: Future<Output = Result<Vec<T>, LedgerError>>,
    W: Future<Output = ()> + Send + 'static,
{
    let mut running = JoinSet::new();
    let (mut done, mut result, mut may_lend) = (0, Ok(()), true);
    loop {
        // New pieces are lent only when at least half of the slots are free, so that one query
        // lends several pieces.
        if may_lend && running.len() <= at_once / 2 {
            let free_slots = at_once - running.len();
            let loan = Loan::begin();
            match lend(u32::try_from(free_slots).unwrap_or(u32::MAX)).await {
                Ok(lent) => {
                    may_lend = lent.len() >= free_slots;
                    for piece in lent {
                        running.spawn(work(piece, loan));
                    }
                }
                Err(error) => (result, may_lend) = (Err(error), false),
            }
        }
        match running.join_next().await {
            Some(Ok(())) => done += 1,
            Some(Err(error)) => {
                tracing::error!(%error, "a piece of work panicked; it is lent again")
            }
            None => return result.map(|()| done),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::SeqCst};

    use super::*;

    #[tokio::test]
    async fn work_stays_within_its_limit_and_a_panic_stops_no_other_piece() {
        let remaining = AtomicU32::new(50);
        let counts = Arc::new([const { AtomicUsize::new(0) }; 3]);
        let lend = |free_slots: u32| {
            let given = free_slots.min(remaining.load(SeqCst));
            remaining.fetch_sub(given, SeqCst);
            async move { Ok((0..given).collect()) }
        };
        let work = |piece: u32, _| {
            let counts = Arc::clone(&counts);
            async move {
                let [running, most, all] = &*counts;
                most.fetch_max(running.fetch_add(1, SeqCst) + 1, SeqCst);
                tokio::task::yield_now().await;
                running.fetch_sub(1, SeqCst);
                assert_ne!(all.fetch_add(1, SeqCst), 7, "one piece panics: {piece}");
            }
        };
        let done = do_lent_work(8, lend, work).await;
        let [_, most, all] = &*counts;
        assert_eq!((done.expect("lent"), all.load(SeqCst)), (49, 50));
        assert_eq!(most.load(SeqCst), 8);
    }

    #[test]
    fn a_loan_ends_after_the_time_for_which_the_ledger_lends() {
        let loan = Loan::begin();
        let after = |ms| loan.asked_at + Duration::from_millis(ms);
        assert!(!loan.is_over(after(4_999)));
        assert!(loan.is_over(after(5_000)));
    }

    #[tokio::test]
    async fn begun_pieces_are_finished_when_lending_fails() {
        let (asked, done) = (AtomicU32::new(0), Arc::new(AtomicU32::new(0)));
        let lend = |free_slots: u32| {
            let asked = asked.fetch_add(1, SeqCst);
            async move {
                match asked {
                    0 => Ok((0..free_slots).collect::<Vec<u32>>()),
                    _ => Err(LedgerError::Unavailable("away".to_owned())),
                }
            }
        };
        let work = |_, _| {
            let done = Arc::clone(&done);
            async move {
                done.fetch_add(1, SeqCst);
            }
        };
        assert!(do_lent_work(4, lend, work).await.is_err());
        assert_eq!(done.load(SeqCst), 4);
    }
}
