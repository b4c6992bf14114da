//! The list of the faults of one document.

use crate::counted::counted;
use crate::plans::PlanFault;

/// How many faults are listed, at most. Further faults are only counted, because a plan of half a
/// million broken seats would otherwise give an answer many times as long as the plan.
const FAULTS_LISTED_MAX: usize = 10_000;

/// The faults found while a document is read.
#[derive(Debug, Default)]
pub struct PlanFaults {
    listed: Vec<PlanFault>,
    unlisted_count: usize,
}

impl PlanFaults {
    /// Adds one fault.
    pub fn add_fault(
        &mut self,
        at: impl Into<String>,
        code: &'static str,
        message: impl Into<String>,
    ) {
        if self.listed.len() == FAULTS_LISTED_MAX {
            self.unlisted_count += 1;
            return;
        }
        self.listed.push(PlanFault {
            at: at.into(),
            code,
            message: message.into(),
        });
    }

    /// Returns whether there are no faults so far.
    pub fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }

    /// Returns the faults in the order in which they were found. If some are not listed, the last
    /// fault says how many.
    pub fn into_vec(mut self) -> Vec<PlanFault> {
        if self.unlisted_count > 0 {
            let unlisted = counted(self.unlisted_count, "more fault is", "more faults are");
            let message = format!("{unlisted} not listed. Correct these first.");
            self.listed.push(PlanFault {
                at: String::new(),
                code: "more_faults",
                message,
            });
        }
        self.listed
    }
}
