//! Names the invariants, collects the findings against each, and prints the report.

use std::fmt::Write as _;

use serde_json::{Value, json};

/// How many findings of one invariant are stored with their evidence. Further findings are only
/// counted.
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
    OneOwner "one_owner" "At any time a cell has at most one claim, one valid ticket and one live order, and no hold gets a cell of a live order.",
    AckKept "acknowledged_kept" "The ledger has everything that answers acknowledged: orders with visitor, seats and amount, every state that was shown, tickets, refunds, exchanges, scans and waitlist entries.",
    OneOutcome "one_outcome" "A repeated call has one outcome: one key makes at most one hold or order, and one hold at most one order. No later read shows an earlier state.",
    AllOrNone "all_or_none" "A hold has all seats that were asked for. An order has claims and tickets for all of its seats or for none. Changes, refunds and exchanges happen completely or not at all.",
    Money "money" "For each order and in total, captured minus refunded money is the amount of the sold order minus the refunds of its tickets.",
    Books "provider_books" "All money that the provider captured belongs to confirmed orders or was refunded, and the ledger has the same captures and refunds.",
    Prices "prices" "Every total, price difference, refund and fee follows the terms of its order, or the terms in force at that time if these are better for the buyer.",
    Refunds "refunds" "A ticket is refunded only if its buyer asked for it or its show was cancelled or postponed. No call makes two refunds. All unused tickets of a cancelled show are refunded.",
    Returned "returned_money" "No ticket is valid whose whole money went back at the provider or was lost in a dispute. Tickets of a disputed payment are blocked. If a part went back, the order is listed until somebody settles it.",
    Exchanges "exchanges" "Tickets are exchanged only if their buyer asked, and only for the seats that were asked for. The new order has tickets if and only if the exchange was done.",
    Chains "exchange_chains" "An order is exchanged for at most one other order, and its seats are credited at the price that they had.",
    Scans "scans" "A ticket admits once, and no ticket both admits and is refunded or exchanged.",
    MoneyOrder "order_of_money" "An order is confirmed only after its payment was approved, captured only after it was confirmed, and ticketed only after the capture.",
    Draw "draw" "The published draw is correct, and every rank follows from it. No number is given twice, and nobody's number or rank ever changes.",
    Ahead "ahead_never_rises" "Before its first pass, nobody is told that more people are ahead than it was told before.",
    Released "released_first" "Only ranks below the release counter get a pass, and nobody gets a pass while the room is paused. The counter never falls.",
    MaxInside "max_inside" "Nobody enters while as many visitors as max_inside allows have live passes and have not bought.",
    Entering "somebody_enters" "While called people ask, and the room is neither paused nor unhealthy nor full, somebody enters within 10 s and the time of two visitors at the pace in force.",
    Limits "limits" "No visitor has more seats of a show than allowed.",
    Cards "card_limits" "One card buys no more seats of a show than the show allows for each card.",
    OneKey "one_body_a_key" "Of several requests with the same key and different bodies, at most one is carried out.",
    OwnBasket "own_baskets" "A visitor's order is made only of a hold that this visitor was given or offered.",
    Waitlist "waitlist" "Freed seats are offered to the first waiting party that is present and would take them. No hold is offered to two parties.",
    Feed "feed" "Seat versions never fall, and a snapshot soon follows any gap. Every observer's last picture equals the final seats, and these match the ledger.",
    Lapse "lapse" "A hold has its seats until its deadline or, if its visitor closed the page, for away_s after that. If it is not ordered, it ends soon after its deadline.",
    Settled "nothing_pending" "At the end no work is left: no undelivered seat row, no unfinished effect, event or refund, no open order after its deadline, and no payment that is neither captured nor released.",
    Accounted "accounted" "The run finished, and at least 95 % of the planned visitors ended without a failure.",
    PaidHas "paid_has_tickets" "The ledger has tickets for every buyer whose payment was approved in time, and for every visitor who saw tickets.",
    Admitted "admitted_first" "Every order belongs to a visitor who had a pass, and every hold was taken with a pass that had not expired.",
}

/// The findings by invariant.
#[derive(Default)]
pub struct Findings {
    by_invariant: Vec<InvariantFindings>,
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
        self.by_invariant
            .resize(Invariant::ALL.len(), InvariantFindings::default());
        let found = &mut self.by_invariant[invariant as usize];
        found.count += 1;
        if found.first.len() < KEPT_MAX {
            found.first.push(evidence());
        }
    }

    /// Returns the findings against one invariant.
    pub fn for_invariant(&self, invariant: Invariant) -> InvariantFindings {
        self.by_invariant
            .get(invariant as usize)
            .cloned()
            .unwrap_or_default()
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
    /// How many records of each kind were judged, with the name of the kind.
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
