//! The rules by which tickets of a show may be given back and exchanged.

use serde::{Deserialize, Serialize};

use crate::counted::counted;
use crate::money::AMOUNT_MAX;

/// How many refund rules one show has, at most.
const RULES_MAX: usize = 20;
/// How many hours before the show a rule may end, at most: ten years.
const UNTIL_H_MAX: u32 = 87_600;

/// Tickets may be given back until `until_h` hours before the show. A fee of `fee_pct` per cent is
/// kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RefundRule {
    /// How many hours before the show this rule ends.
    pub until_h: u32,
    /// The fee, in per cent of each ticket's price.
    pub fee_pct: u32,
}

/// The seats of a paid order may be exchanged for others until `until_h` hours before the show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExchangeRule {
    /// How many hours before the show this rule ends.
    #[serde(default)]
    pub until_h: u32,
    /// What an exchange costs in addition to the difference, in minor units. The fee is the same
    /// for any number of seats.
    #[serde(default)]
    pub fee: i64,
    /// What becomes of the difference if the new seats are cheaper.
    #[serde(default)]
    pub cheaper: CheaperSeatsRule,
}

/// What becomes of the difference if the new seats of an exchange are cheaper.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Cheaper)]
pub enum CheaperSeatsRule {
    /// As much of the difference goes back as the refund rule in force would give back. If no rule
    /// is in force, nothing goes back.
    #[default]
    RefundRule,
    /// Nothing of the difference goes back.
    Keep,
    /// The whole difference goes back.
    Refund,
}

/// Returns what is wrong with the rules for refunds and exchanges: pairs of a field and a reason.
#[must_use]
pub fn rule_faults(
    refunds: &[RefundRule],
    exchange: Option<&ExchangeRule>,
) -> Vec<(String, String)> {
    let mut faults = Vec::new();
    let mut within = |field: String, value: i64, most: i64| {
        if !(0..=most).contains(&value) {
            faults.push((field, format!("{value} is not between 0 and {most}")));
        }
    };
    for (index, rule) in refunds.iter().enumerate() {
        let field = |member| format!("refunds.{index}.{member}");
        within(field("until_h"), rule.until_h.into(), UNTIL_H_MAX.into());
        within(field("fee_pct"), rule.fee_pct.into(), 100);
    }
    if let Some(rule) = exchange {
        let until_h = "exchange.until_h".to_owned();
        within(until_h, rule.until_h.into(), UNTIL_H_MAX.into());
        within("exchange.fee".to_owned(), rule.fee, AMOUNT_MAX);
    }
    if refunds.len() > RULES_MAX {
        let detail = format!("a show has at most {RULES_MAX} rules");
        faults.push(("refunds".to_owned(), detail));
    }
    for (index, rule) in refunds.iter().enumerate() {
        let before = refunds.iter().take(index);
        if before.clone().any(|other| other.until_h == rule.until_h) {
            let hours = counted(rule.until_h, "hour", "hours");
            faults.push((
                format!("refunds.{index}.until_h"),
                format!("another rule ends {hours} before the show, too"),
            ));
        }
    }
    faults
}
