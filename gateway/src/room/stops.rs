//! The passes and places that ended early in one room, as this node last read them from the ledger.

use parking_lot::RwLock;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fairgate_pass::{Holder, LEEWAY_S, PassClaims, VisitEndCause};

use crate::ledger::{EndedPass, NewPassStops, PassStopCause, StoppedPass};

/// What a node knows of the passes and places that ended early.
#[derive(Default)]
pub struct RoomStops {
    known: RwLock<KnownStops>,
    /// How many places the promoter has ended.
    revoked: AtomicU64,
}

#[derive(Default)]
struct KnownStops {
    /// The ledger's stops up to this cursor were read. They were passed on to booking, the store
    /// and the visitors.
    cursor: u64,
    /// Stopped passes by join number.
    passes: HashMap<u64, StoppedPass>,
    /// The last visit of each join number that ended early.
    ended: HashMap<u64, EndedPass>,
    /// The visits that this node is ending now: the end of the pass (unix seconds), and why.
    ending: HashMap<u64, (i64, VisitEndCause)>,
    /// The holders whose places the promoter ended, with the promoter's note to each.
    revoked: HashMap<Holder, Arc<str>>,
}

impl RoomStops {
    /// Returns the cursor up to which all stops were passed on.
    pub fn cursor(&self) -> u64 {
        self.known.read().cursor
    }

    /// Returns how many places the promoter has ended.
    pub fn revoked_count(&self) -> u64 {
        self.revoked.load(Ordering::Relaxed)
    }

    pub(crate) fn set_revoked_count(&self, count: u64) {
        self.revoked.store(count, Ordering::Relaxed);
    }

    /// Adds the stopped passes and the ended visits that were read from the ledger. Forgets the
    /// passes that nobody can use any more at `now_s`, unless the promoter revoked them.
    pub(crate) fn note(&self, read: &NewPassStops, now_s: i64) {
        let mut known = self.known.write();
        for visit in &read.ended {
            known.ending.remove(&visit.number);
            known.ended.insert(visit.number, visit.clone());
        }
        known.ended.retain(|_, visit| visit.exp + LEEWAY_S > now_s);
        known.ending.retain(|_, (exp, _)| *exp + LEEWAY_S > now_s);
        for pass in &read.stopped {
            if pass.cause == PassStopCause::Revoked {
                known
                    .revoked
                    .insert(pass.holder, Arc::from(pass.note.as_str()));
            }
            known.passes.insert(pass.number, pass.clone());
        }
        known
            .passes
            .retain(|_, pass| pass.cause == PassStopCause::Revoked || pass.exp + LEEWAY_S > now_s);
    }

    /// Notes that all stops up to this cursor were passed on.
    pub(crate) fn note_passed_on(&self, cursor: u64) {
        let mut known = self.known.write();
        known.cursor = known.cursor.max(cursor);
    }

    /// Returns why the pass of a number was stopped, if it was.
    pub fn cause(&self, number: u64) -> Option<PassStopCause> {
        self.known.read().passes.get(&number).map(|pass| pass.cause)
    }

    /// Notes that this node ends the visit of a number whose pass runs out at `pass_exp`, before
    /// the end is in the ledger.
    pub(crate) fn note_ending(&self, number: u64, pass_exp: i64, cause: VisitEndCause) {
        let mut known = self.known.write();
        known.ending.insert(number, (pass_exp, cause));
    }

    /// Takes [`Self::note_ending`] back, because the end did not reach the ledger.
    pub(crate) fn forget_ending(&self, number: u64) {
        self.known.write().ending.remove(&number);
    }

    /// Returns why the visit with this pass ended early, if it did.
    pub fn visit_end(&self, pass: &PassClaims) -> Option<VisitEndCause> {
        let known = self.known.read();
        let ending = known.ending.get(&pass.number);
        let ending = ending.filter(|(pass_exp, _)| pass.exp <= *pass_exp);
        let ended = known.ended.get(&pass.number);
        let ended = ended.filter(|visit| pass.iat <= visit.issued_s);
        ending
            .map(|(_, cause)| *cause)
            .or(ended.map(|visit| visit.cause))
    }

    /// Returns whether a visit of this number ended early whose pass would not have run out yet.
    pub fn has_ended_visit(&self, number: u64) -> bool {
        self.known.read().ended.contains_key(&number)
    }

    /// Returns why the last visit of a number ended early, if its pass ended at `pass_exp` (unix
    /// seconds) for that reason.
    pub fn last_visit_end(&self, number: u64, pass_exp: i64) -> Option<VisitEndCause> {
        let known = self.known.read();
        let visit = known.ended.get(&number)?;
        (visit.ended_s == pass_exp).then_some(visit.cause)
    }

    /// Returns the promoter's note to a visitor whose place the promoter ended, or `None` if the
    /// promoter did not end it.
    pub fn revocation(&self, holder: Holder) -> Option<Arc<str>> {
        self.known.read().revoked.get(&holder).cloned()
    }
}
