//! A show's document: what a promoter writes, checked whole, all faults at once.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::catalogue::fate::Fate;
use crate::catalogue::seatmap::SeatMap;
use crate::catalogue::terms::{CategoryNames, SaleTerms};
use crate::ids::{ShowId, VenueId};
use crate::inventory::grid::Claimed;
use crate::inventory::{CellState, Grid};
use crate::money::{AMOUNT_MAX, Currency};
use crate::payments::limits::Limits;
use crate::rail::run::Run;

/// The document of `PUT /v1/promoter/shows/{show}` and of `[[show]]` in an on-sale file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ShowDocument {
    /// The venue whose newest plan the show pins.
    #[schema(value_type = String)]
    pub venue: VenueId,
    /// The title, 1 to 200 characters.
    pub title: String,
    /// RFC 3339 with an offset.
    #[schema(value_type = String)]
    pub starts_at: Timestamp,
    /// Until when seats may be held, RFC 3339 with an offset; until the show begins where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub sells_until: Option<Timestamp>,
    /// ISO 4217.
    #[serde(default = "defaults::currency")]
    #[schema(value_type = String)]
    pub currency: Currency,
    /// Minor units by category key or label; a category without a price is not for sale.
    pub prices: BTreeMap<String, i64>,
    /// Seconds a hold lasts, as shown to the buyer.
    #[serde(default = "defaults::hold_s")]
    pub hold_s: u32,
    /// Seconds the lock outlives what is shown.
    #[serde(default = "defaults::grace_s")]
    pub grace_s: u32,
    /// Seconds the order's claim outlives the time to pay.
    #[serde(default = "defaults::claim_grace_s")]
    pub claim_grace_s: u32,
    /// Seconds an order has to pay, at least.
    #[serde(default = "defaults::pay_s")]
    pub pay_s: u32,
    /// How often a hold may be extended by `hold_s`.
    #[serde(default)]
    pub extensions: u32,
    /// Seats one visitor may hold and buy of this show.
    #[serde(default = "defaults::seats_per_visitor")]
    pub seats_per_visitor: u32,
    /// Seats one verified account may buy; accounts are not built yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seats_per_account: Option<u32>,
    /// Seats one payment card may buy; needs a provider that names cards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seats_per_card: Option<u32>,
    /// Whether a plain hold may leave a single empty seat.
    #[serde(default)]
    pub orphans: Orphans,
    /// By which rules tickets may be given back; none by default.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refunds: Vec<RefundRule>,
    /// By which rule seats may be exchanged for others; none by default, and then they may not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchange: Option<ExchangeRule>,
}

/// Rules of one show, and hours before it that a rule may end: ten years.
const RULES_MAX: usize = 20;
const UNTIL_H_MAX: u32 = 87_600;

/// What a plain hold that leaves a single empty seat meets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Orphans {
    /// 422 `would_orphan`, with a suggestion.
    #[default]
    Refuse,
    /// Nothing.
    Allow,
}

/// Money back until `until_h` hours before the show, less `fee_pct` per cent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RefundRule {
    /// Hours before the show.
    pub until_h: u32,
    /// Per cent kept.
    pub fee_pct: u32,
}

/// A paid order's seats may be given for others until `until_h` hours before the show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExchangeRule {
    /// Hours before the show.
    #[serde(default)]
    pub until_h: u32,
    /// What an exchange costs beside the difference, in minor units; once, however many seats it is
    /// for.
    #[serde(default)]
    pub fee: i64,
    /// What becomes of the difference where the new seats are cheaper.
    #[serde(default)]
    pub cheaper: Cheaper,
}

/// What becomes of the difference where the new seats of an exchange are cheaper.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cheaper {
    /// As much of it goes back as the refund rule in force would give back; without one, nothing.
    #[default]
    RefundRule,
    /// It is kept.
    Keep,
    /// It goes back whole.
    Refund,
}

mod defaults {
    pub(super) const fn currency() -> super::Currency {
        super::Currency::EUR
    }
    pub(super) const fn hold_s() -> u32 {
        300
    }
    pub(super) const fn grace_s() -> u32 {
        5
    }
    pub(super) const fn claim_grace_s() -> u32 {
        30
    }
    pub(super) const fn pay_s() -> u32 {
        120
    }
    pub(super) const fn seats_per_visitor() -> u32 {
        4
    }
}

/// One thing wrong with a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct FieldFault {
    /// The field's path.
    pub field: String,
    /// `invalid_field` or `not_available`.
    pub code: &'static str,
    /// What is wrong and what would be right.
    pub detail: String,
}

/// What the payment provider of this installation can do, as far as documents ask for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProviderRules {
    /// Whether it tells one card from another.
    pub names_cards: bool,
    /// The sums that it takes.
    pub limits: Limits,
}

impl ProviderRules {
    /// For what was stored under whichever provider there was.
    pub const STORED: Self = Self {
        names_cards: true,
        limits: Limits::NONE,
    };
}

/// Prices by category index; `None` is not for sale.
pub type Prices = Vec<Option<i64>>;

/// Checks a document against the plan it would pin, and against what the payment provider can do.
///
/// # Errors
/// Every fault of the document.
pub fn check(
    document: &ShowDocument,
    map: &SeatMap,
    provider: ProviderRules,
) -> Result<Prices, Vec<FieldFault>> {
    let mut faults = Vec::new();
    let mut wrong = |field: &str, code, detail: String| {
        faults.push(FieldFault {
            field: field.to_owned(),
            code,
            detail,
        });
    };
    let title_chars = document.title.chars().count();
    if !(1..=200).contains(&title_chars) || document.title.chars().any(char::is_control) {
        wrong(
            "title",
            "invalid_field",
            "a title has 1 to 200 printable characters".into(),
        );
    }
    for (field, value, least, most) in [
        ("hold_s", document.hold_s, 1, 86_400),
        ("grace_s", document.grace_s, 0, 600),
        ("claim_grace_s", document.claim_grace_s, 0, 3_600),
        ("pay_s", document.pay_s, 1, 86_400),
        ("extensions", document.extensions, 0, 100),
        ("seats_per_visitor", document.seats_per_visitor, 1, 1_000),
        (
            "seats_per_card",
            document.seats_per_card.unwrap_or(1),
            1,
            1_000,
        ),
    ] {
        if !(least..=most).contains(&value) {
            wrong(
                field,
                "invalid_field",
                format!("{value} is not between {least} and {most}"),
            );
        }
    }
    let unbuilt = "this version cannot honour it yet; leave it out";
    let cardless = "the payment provider of this installation does not tell one card from another; leave it out";
    for (field, set, why) in [
        (
            "seats_per_account",
            document.seats_per_account.is_some(),
            unbuilt,
        ),
        (
            "seats_per_card",
            document.seats_per_card.is_some() && !provider.names_cards,
            cardless,
        ),
    ] {
        if set {
            wrong(field, "not_available", why.into());
        }
    }
    for (field, detail) in rule_faults(&document.refunds, document.exchange.as_ref()) {
        wrong(&field, "invalid_field", detail);
    }
    let mut prices: Prices = vec![None; map.categories.len()];
    for (name, amount) in &document.prices {
        let field = format!("prices.{name}");
        match map.category_index(name) {
            None => wrong(
                &field,
                "invalid_field",
                format!("the plan has no category \"{name}\"; it has {}", named(map)),
            ),
            Some(_) if !(0..=AMOUNT_MAX).contains(amount) => {
                wrong(
                    &field,
                    "invalid_field",
                    format!("{amount} is not between 0 and {AMOUNT_MAX} minor units"),
                );
            }
            Some(_) if let Err(refused) = provider.limits.check_price(*amount) => {
                wrong(
                    &field,
                    "invalid_field",
                    provider
                        .limits
                        .why_not(document.currency.of(*amount), refused),
                );
            }
            Some(index) => match prices.get_mut(usize::from(index)) {
                Some(slot @ None) => *slot = Some(*amount),
                _ => wrong(
                    &field,
                    "invalid_field",
                    "the category is priced twice, by key and by label".into(),
                ),
            },
        }
    }
    if prices.iter().all(Option::is_none) {
        wrong(
            "prices",
            "invalid_field",
            format!(
                "nothing would be for sale: give at least one price, by {}",
                named(map)
            ),
        );
    }
    if faults.is_empty() {
        Ok(prices)
    } else {
        Err(faults)
    }
}

/// What is wrong with the rules by which tickets are given back and exchanged: fields, and why.
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
            let hours = rule.until_h;
            faults.push((
                format!("refunds.{index}.until_h"),
                format!("another rule ends {hours} hours before the show, too"),
            ));
        }
    }
    faults
}

fn named(map: &SeatMap) -> String {
    let names: Vec<_> = map
        .categories
        .iter()
        .map(|c| format!("\"{}\" ({})", c.key, c.label))
        .collect();
    names.join(", ")
}

/// A plan version, read once and shared by every show that pins it.
#[derive(Debug)]
pub struct Plan {
    /// Its version.
    pub version: u32,
    /// The seats.
    pub map: SeatMap,
    /// The seat map as it is served.
    pub geometry: Geometry,
}

/// The seat map as it is served, made once a plan version.
#[derive(Debug, Clone)]
pub struct Geometry {
    /// The JSON document.
    pub json: bytes::Bytes,
    /// The compact form.
    pub packed: bytes::Bytes,
    /// A digest of the content, for tags.
    pub digest: String,
}

/// What the classes of a plan cost over a whole run: what the fares say, or the dearest stretch
/// that they name. A class without any fare is not for sale.
#[must_use]
pub fn prices_of_run(run: &Run, map: &SeatMap) -> Prices {
    let legs = run.legs();
    let dearest = |class: &str| {
        let stretches = (0..legs).flat_map(|from| (from + 1..=legs).map(move |to| from..to));
        stretches
            .filter_map(|stretch| run.fare(class, &stretch))
            .max()
    };
    let price = |class: &str| run.fare(class, &(0..legs)).or_else(|| dearest(class));
    map.categories
        .iter()
        .map(|category| price(&category.key))
        .collect()
}

/// A show as it is sold now: its document, the plan it pins, and its prices.
#[derive(Debug, Clone)]
pub struct Show {
    /// The slug.
    pub id: ShowId,
    /// What the promoter wrote; of a departure, what follows from the timetable.
    pub document: ShowDocument,
    /// The pinned plan.
    pub plan: Arc<Plan>,
    /// By category index; of a run, see [`prices_of_run`].
    pub prices: Prices,
    /// A train's run on one date: its legs, and what they cost. None for whatever stays where it
    /// is.
    pub run: Option<Arc<Run>>,
    /// A departure that nobody has held anything of: it has no row in the ledger and no keys in the
    /// store.
    pub untouched: bool,
    /// What became of it, where it does not simply take place.
    pub fate: Option<Fate>,
    /// The number of the terms that its document states; [`super::terms::UNNUMBERED`] while it has
    /// no row in the ledger.
    pub terms: u32,
}

impl Show {
    /// The shape: one leg for anything that is not rail.
    #[must_use]
    pub fn grid(&self) -> Grid {
        Grid {
            seats: self.plan.map.cell_count(),
            legs: self.run.as_ref().map_or(1, |run| run.legs().max(1)),
        }
    }

    /// All its legs.
    #[must_use]
    pub fn legs(&self) -> Range<u16> {
        0..self.grid().legs
    }

    /// What of the catalogue the picture of its seats is made of: other plan, other prices, other
    /// edition. A run's stops never change once something of it was held.
    #[must_use]
    pub fn edition(&self) -> u64 {
        let mut hasher = Sha256::new();
        hasher.update(self.plan.version.to_be_bytes());
        for price in &self.prices {
            hasher.update(price.unwrap_or(i64::MIN).to_be_bytes());
        }
        let digest: [u8; 32] = hasher.finalize().into();
        let [a, b, c, d, e, f, g, h, ..] = digest;
        // One bit less, so that it is a number wherever it is kept.
        u64::from_be_bytes([a, b, c, d, e, f, g, h]) >> 1
    }

    /// What the seat costs from end to end, if it is for sale at all.
    #[must_use]
    pub fn price(&self, seat: u32) -> Option<i64> {
        let category = self.plan.map.seats.get(seat as usize)?.category;
        self.prices.get(usize::from(category)).copied().flatten()
    }

    /// What the seat costs over some legs, if it is for sale there.
    #[must_use]
    pub fn fare(&self, seat: u32, legs: &Range<u16>) -> Option<i64> {
        let Some(run) = &self.run else {
            return self.price(seat);
        };
        let map = &self.plan.map;
        let category = map.seats.get(seat as usize)?.category;
        let category = map.categories.get(usize::from(category))?;
        run.fare(&category.key, legs)
    }

    /// What the seat costs over some legs under some terms of the show, if it was for sale there.
    #[must_use]
    pub fn price_under(&self, terms: &SaleTerms, seat: u32, legs: &Range<u16>) -> Option<i64> {
        terms.price(self.category_names(seat)?, legs, self.run.as_deref())
    }

    /// Both names of a seat's category.
    #[must_use]
    pub fn category_names(&self, seat: u32) -> Option<CategoryNames<'_>> {
        let map = &self.plan.map;
        let category = map.seats.get(seat as usize)?.category;
        let category = map.categories.get(usize::from(category))?;
        Some(CategoryNames {
            key: &category.key,
            label: &category.label,
        })
    }

    /// The cells that are not for sale: their category has no price.
    #[must_use]
    pub fn blocked(&self) -> Vec<u32> {
        let grid = self.grid();
        let seats = (0..grid.seats).filter(|seat| self.price(*seat).is_none());
        let mut cells: Vec<u32> = seats
            .flat_map(|seat| grid.cells_of(seat, self.legs()))
            .collect();
        cells.sort_unstable();
        cells
    }

    /// Its cells while nobody has anything of it.
    #[must_use]
    pub fn unsold(&self) -> Vec<CellState> {
        let mut states = vec![CellState::Free; self.grid().cells() as usize];
        for cell in self.blocked() {
            if let Some(state) = states.get_mut(cell as usize) {
                *state = CellState::Blocked;
            }
        }
        states
    }

    /// Its cells where only what the ledger has claimed is taken: baskets are in the store alone.
    #[must_use]
    pub fn claimed_only(&self, claimed: &[Claimed]) -> Vec<CellState> {
        let mut states = self.unsold();
        let seats = self.grid().seats;
        for (seat, leg, sold) in claimed {
            let cell = u32::from(*leg) * seats + seat;
            if let Some(state) = states.get_mut(cell as usize) {
                *state = if *sold {
                    CellState::Sold
                } else {
                    CellState::Held
                };
            }
        }
        states
    }

    /// A seat's label; seats beyond the plan have none.
    #[must_use]
    pub fn label(&self, seat: u32) -> &str {
        self.plan
            .map
            .seats
            .get(seat as usize)
            .map_or("", |seat| seat.label.as_str())
    }

    /// The label of a seat's category.
    #[must_use]
    pub fn category(&self, seat: u32) -> &str {
        self.category_names(seat).map_or("", |names| names.label)
    }
}
