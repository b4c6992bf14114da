//! The sale after the ledger was found to be an older copy of itself. Every show is closed until
//! somebody reopens it, because the copy may lack orders, and would sell their seats again.

use jiff::Timestamp;

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
    /// How many orders are lost at least of which no payment provider knows. `None` if nothing
    /// outside the ledger told it.
    pub orders_lost: Option<u64>,
    /// Whether the payment provider has told since then what it knows, and all of it is settled.
    pub is_provider_asked: bool,
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
        let closed = match self.reopened.as_slice() {
            [] => "Nothing is sold and nobody is let in.".to_owned(),
            shows => format!(
                "Only shows that were reopened are sold: {}.",
                shows.join(", ")
            ),
        };
        format!(
            "{}. {} {closed} Put the newer ledger back if there is one. Then, or without one, run `gateway reopen SHOW` for each show, or `gateway reopen '*'`.",
            self.cause(),
            lost_orders(self.orders_lost)
        )
    }

    /// Returns whether only the counter outside the ledger is missing, so that nobody can tell
    /// whether the ledger went back.
    fn is_uncertain(&self) -> bool {
        self.lacking == 0 && !self.is_restored
    }

    /// Returns what happened to the ledger.
    fn cause(&self) -> String {
        let noticed = at(self.noticed_at_ms);
        if self.is_uncertain() {
            return format!(
                "the ledger may have gone back to an older state: at {noticed} the counter outside it was missing (the file \"counter\" in the data folder, or FAIRGATE_COUNTER_FILE), so nobody can tell"
            );
        }
        let last_commit = match self.last_commit_at_ms {
            0 => String::new(),
            at_ms => format!(", and its last commit is of {}", at(at_ms)),
        };
        let how = match self.is_restored {
            true => "was restored from a backup".to_owned(),
            false => format!("was {} behind the counter outside it", self.lacking),
        };
        format!("the ledger went back to an older state: at {noticed} it {how}{last_commit}")
    }

    /// Returns what a buyer reads who asks for seats of a closed show.
    #[must_use]
    pub fn refusal(&self) -> String {
        let noticed = at(self.noticed_at_ms);
        match self.is_uncertain() {
            true => format!(
                "Since {noticed} it is not certain that the records of this sale are the newest"
            ),
            false => {
                format!("The records of this sale went back to an older state at {noticed}")
            }
        }
    }

    /// Returns whether no show is closed any more.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.reopened.iter().any(|pattern| pattern == "*")
    }
}

/// Returns the sentence that says how many orders are lost of which no payment provider knows.
#[must_use]
pub fn lost_orders(at_least: Option<u64>) -> String {
    match at_least {
        None => {
            "It is not known whether free, cash or sandbox orders are lost, which no payment provider knows.".to_owned()
        }
        Some(0) => {
            "As far as is known, no order is lost that no payment provider knows (free, cash or sandbox).".to_owned()
        }
        Some(1) => {
            "At least 1 order that no payment provider knows (free, cash or sandbox) is lost: its tickets are void at the door.".to_owned()
        }
        Some(orders) => format!(
            "At least {orders} orders that no payment provider knows (free, cash or sandbox) are lost: their tickets are void at the door."
        ),
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
            orders_lost: Some(0),
            ..SaleClosure::default()
        };
        assert_eq!(
            closure.warning(),
            "the ledger went back to an older state: at 2027-01-15T08:00:00Z it was 1 behind the counter outside it. As far as is known, no order is lost that no payment provider knows (free, cash or sandbox). Nothing is sold and nobody is let in. Put the newer ledger back if there is one. Then, or without one, run `gateway reopen SHOW` for each show, or `gateway reopen '*'`."
        );
        closure.last_commit_at_ms = 1_799_996_400_000;
        closure.reopened = vec!["night-1".to_owned()];
        let told = closure.warning();
        assert!(
            told.contains("its last commit is of 2027-01-15T07:00:00Z"),
            "{told}"
        );
        assert!(
            told.contains("Only shows that were reopened are sold: night-1."),
            "{told}"
        );
        closure.is_restored = true;
        let told = closure.warning();
        assert!(
            told.contains("it was restored from a backup, and its last commit is of 2027"),
            "{told}"
        );
    }

    #[test]
    fn without_the_counter_the_warning_says_that_nobody_can_tell() {
        let told = SaleClosure::default().warning();
        assert!(told.starts_with("the ledger may have gone back"), "{told}");
        assert!(
            told.contains("so nobody can tell. It is not known whether"),
            "{told}"
        );
    }

    #[test]
    fn the_warning_says_how_many_orders_are_lost_that_no_provider_knows() {
        let told = |orders_lost| {
            let closure = SaleClosure {
                lacking: 1,
                orders_lost,
                ..SaleClosure::default()
            };
            closure.warning()
        };
        assert!(told(Some(1)).contains(" At least 1 order that no payment provider knows"));
        assert!(told(Some(5)).contains(" At least 5 orders that no payment provider knows"));
        assert!(told(None).contains(" It is not known whether"));
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
