//! Names the invariants, collects what was found against each, and prints it.

use std::fmt::Write as _;

use serde_json::{Value, json};

/// For how many findings of one invariant the evidence is stored. All findings are counted.
const KEPT_MAX: usize = 10;

macro_rules! invariants {
    ($($variant:ident $name:literal $sentence:literal,)*) => {
        /// An invariant that a run is checked against.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Invariant {
            $(#[doc = $sentence] $variant,)*
        }

        impl Invariant {
            /// All invariants, in the order of the report.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Returns the invariant's short name.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Returns what the invariant claims, as a sentence.
            pub fn sentence(self) -> &'static str {
                match self { $(Self::$variant => $sentence,)* }
            }
        }
    };
}

invariants! {
    OneOwner "one_owner" "A cell has one owner: one claim, one ticket, one living order at a time.",
    AckKept "acknowledged_kept" "What was acknowledged is in the ledger: order, visitor, seats, amount, and every state that was told.",
    OneOutcome "one_outcome" "A call without an answer settles to one outcome, and all later reads agree.",
    AllOrNone "all_or_none" "Holds, orders, claims and tickets have all of their seats, or none.",
    Money "money" "Captured less refunded is what confirmed orders cost, per order and in total.",
    Books "provider_books" "What the provider took belongs to confirmed orders or went back, and the ledger knows of all of it.",
    Prices "prices" "Every total, difference, refund and fee is what the terms of its order say, or later ones that are better for the buyer.",
    Refunds "refunds" "Tickets go back where their buyer says so or their show is cancelled, once; of a cancelled show all do.",
    Exchanges "exchanges" "Tickets are given for others as their buyer asked, for the seats that were asked for, and the new order has its tickets when the old one ends.",
    Chains "exchange_chains" "An order is given for one other at most, and counts for what its seats had cost.",
    Scans "scans" "A ticket lets in once, and none that was given back before.",
    MoneyOrder "order_of_money" "No confirmation before an approval, no capture before confirmation, no ticket before capture.",
    Draw "draw" "Ranks are those of the published draw, numbers are given once, and neither ever changes.",
    Released "released_first" "A pass is given only below the release counter and not while paused; the counter never falls.",
    Limits "limits" "Nobody has more seats than allowed, and no more are inside than allowed.",
    Cards "card_limits" "One card buys no more seats of a show than it may.",
    OneKey "one_body_a_key" "Of two bodies under one key one is carried out at most, and the other is refused.",
    OwnBasket "own_baskets" "An order is made of a basket that its visitor was given, and of no other hold.",
    Waitlist "waitlist" "Freed seats are offered to the first party that is here and that they fit.",
    Feed "feed" "Versions have no gap and never fall; snapshot and deltas end as the seats and the ledger do.",
    Lapse "lapse" "Holds stand until their deadline and are gone soon after it.",
    Settled "nothing_pending" "In the end nothing is on its way: no seat row, effect, event, overdue order or payment.",
    Accounted "accounted" "The run is whole: at least 95 % of the planned visitors are accounted for, and it finished.",
    PaidHas "paid_has_tickets" "Whoever's payment was approved in time has tickets.",
    Admitted "admitted_first" "Orders belong to visitors who were let in, and holds are taken with a pass that lives.",
}

/// The findings by invariant.
#[derive(Default)]
pub struct Findings {
    by: Vec<InvariantFindings>,
}

/// The findings against one invariant.
#[derive(Default, Clone)]
pub struct InvariantFindings {
    /// The number of findings.
    pub count: u64,
    /// The first findings, as evidence.
    pub first: Vec<String>,
}

impl Findings {
    /// Adds one finding.
    pub fn add(&mut self, invariant: Invariant, evidence: impl FnOnce() -> String) {
        self.by
            .resize(Invariant::ALL.len(), InvariantFindings::default());
        let found = &mut self.by[invariant as usize];
        found.count += 1;
        if found.first.len() < KEPT_MAX {
            found.first.push(evidence());
        }
    }

    /// Returns the findings against one invariant.
    pub fn for_invariant(&self, invariant: Invariant) -> InvariantFindings {
        self.by.get(invariant as usize).cloned().unwrap_or_default()
    }

    /// Returns the invariants that were broken.
    pub fn broken(&self) -> Vec<Invariant> {
        let all = Invariant::ALL.iter().copied();
        all.filter(|invariant| self.for_invariant(*invariant).count > 0)
            .collect()
    }
}

/// The verdict on a run.
pub struct VerdictReport {
    /// The findings against the run.
    pub findings: Findings,
    /// Names and counts of what was judged.
    pub figures: Vec<(&'static str, u64)>,
}

impl VerdictReport {
    /// Returns whether every invariant held.
    pub fn held(&self) -> bool {
        self.findings.broken().is_empty()
    }

    /// Returns the report as text for people.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for &invariant in Invariant::ALL {
            let found = self.findings.for_invariant(invariant);
            let word = if found.count == 0 { "held  " } else { "FAILED" };
            let _ = writeln!(
                text,
                "{word} {:<18} {}",
                invariant.name(),
                invariant.sentence()
            );
            for evidence in &found.first {
                let _ = writeln!(text, "         - {evidence}");
            }
            let more = found.count - found.first.len() as u64;
            if more > 0 {
                let _ = writeln!(text, "         and {more} more");
            }
        }
        let figures: Vec<_> = self
            .figures
            .iter()
            .map(|(name, count)| format!("{count} {name}"))
            .collect();
        let verdict = match self.findings.broken().len() {
            0 => "the verdict holds".to_owned(),
            broken => format!(
                "the verdict FAILS: {broken} of {} invariants",
                Invariant::ALL.len()
            ),
        };
        let _ = writeln!(text, "{verdict} ({})", figures.join(", "));
        text
    }

    /// Returns the report as JSON for programs.
    pub fn json(&self) -> Value {
        let invariants: Vec<_> = Invariant::ALL
            .iter()
            .map(|&invariant| {
                let found = self.findings.for_invariant(invariant);
                json!({
                    "invariant": invariant.name(), "sentence": invariant.sentence(), "held": found.count == 0,
                    "findings": found.count, "first": found.first,
                })
            })
            .collect();
        let figures: serde_json::Map<_, _> = self
            .figures
            .iter()
            .map(|(name, count)| ((*name).to_owned(), json!(count)))
            .collect();
        json!({ "held": self.held(), "invariants": invariants, "judged": figures })
    }
}
