//! The sale after the ledger was found to be an older copy of itself. Every show is closed until
//! somebody reopens it, because the copy may lack orders, and would sell their seats again.

use jiff::Timestamp;

use crate::counted::counted;
use crate::ids::ShowId;

use super::patterns::ShowPatterns;

/// Which shows are closed because the ledger went back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SaleClosure {
    /// When it was noticed, in milliseconds since the epoch.
    pub noticed_at_ms: i64,
    /// By how many commits the ledger was behind.
    pub lacking: u64,
    /// When the last commit that the ledger still has was made, in milliseconds since the epoch. 0
    /// if that is not known.
    pub last_commit_at_ms: i64,
    /// Whether the ledger was restored from a backup. How much it lacks is then not known.
    pub is_restored: bool,
    /// The shows that were reopened since: ids, and globs such as `g1-*`.
    pub reopened: Vec<String>,
}

impl SaleClosure {
    /// Returns whether a show is closed.
    #[must_use]
    pub fn is_closed(&self, show: &ShowId) -> bool {
        let reopened: ShowPatterns<'_> = self.reopened.iter().map(String::as_str).collect();
        !reopened.name(show.as_str())
    }

    /// Returns the sentence that operators read while shows are closed.
    #[must_use]
    pub fn warning(&self) -> String {
        let reopened = match self.reopened.as_slice() {
            [] => String::new(),
            shows => format!(" Reopened so far: {}.", shows.join(", ")),
        };
        format!(
            "the ledger went back to an older state: at {} it {}. Nothing is sold and nobody is let in. Put the newer ledger back if there is one; otherwise run `gateway reopen SHOW` for each show, or `gateway reopen '*'`.{reopened}",
            at(self.noticed_at_ms),
            self.cause()
        )
    }

    /// Returns what happened to the ledger, for the middle of a sentence.
    fn cause(&self) -> String {
        let last_commit = match self.last_commit_at_ms {
            0 => String::new(),
            at_ms => format!(", and its last commit is of {}", at(at_ms)),
        };
        if self.is_restored {
            return format!("was restored from a backup{last_commit}");
        }
        let behind = counted(self.lacking, "commit", "commits");
        format!("was {behind} behind the counter outside it{last_commit}")
    }

    /// Returns what a buyer reads who asks for seats of a closed show.
    #[must_use]
    pub fn refusal(&self) -> String {
        format!(
            "The records of this sale went back to an older state at {}",
            at(self.noticed_at_ms)
        )
    }

    /// Returns whether no show is closed any more.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.reopened.iter().any(|pattern| pattern == "*")
    }
}

/// Returns a time in RFC 3339 form, in whole seconds.
fn at(at_ms: i64) -> String {
    let at = Timestamp::from_second(at_ms.div_euclid(1_000));
    at.map_or_else(|_| format!("{at_ms} ms"), |at| at.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_warning_says_since_when_by_how_much_and_what_to_do() {
        let mut closure = SaleClosure {
            noticed_at_ms: 1_800_000_000_500,
            lacking: 1,
            ..SaleClosure::default()
        };
        assert_eq!(
            closure.warning(),
            "the ledger went back to an older state: at 2027-01-15T08:00:00Z it was 1 commit behind the counter outside it. Nothing is sold and nobody is let in. Put the newer ledger back if there is one; otherwise run `gateway reopen SHOW` for each show, or `gateway reopen '*'`."
        );
        closure.last_commit_at_ms = 1_799_996_400_000;
        closure.reopened = vec!["night-1".to_owned()];
        let told = closure.warning();
        assert!(
            told.contains("its last commit is of 2027-01-15T07:00:00Z"),
            "{told}"
        );
        assert!(told.ends_with("Reopened so far: night-1."), "{told}");
        closure.is_restored = true;
        let told = closure.warning();
        assert!(
            told.contains("it was restored from a backup, and its last commit is of 2027"),
            "{told}"
        );
    }

    #[test]
    fn a_show_is_closed_until_a_pattern_reopens_it() {
        let mut closure = SaleClosure::default();
        let show: ShowId = "night-1".parse().expect("a slug");
        assert!(closure.is_closed(&show) && !closure.is_over());
        closure.reopened = vec!["night-2".to_owned(), "g1-*".to_owned()];
        assert!(closure.is_closed(&show));
        closure.reopened.push("night-*".to_owned());
        assert!(!closure.is_closed(&show) && !closure.is_over());
        closure.reopened = vec!["*".to_owned()];
        assert!(!closure.is_closed(&show) && closure.is_over());
    }
}
