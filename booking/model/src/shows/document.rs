//! A show's document, which a promoter writes. It is checked whole, and all faults are reported at
//! once.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::ids::VenueId;
use crate::money::{AMOUNT_MAX, Currency};
use crate::payments::kind::ProviderRules;
use crate::plans::seatmap::SeatMap;
use crate::shows::rules::{ExchangeRule, RefundRule, rule_faults};

/// The document of `PUT /v1/promoter/shows/{show}` and of `[[show]]` in an on-sale file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ShowDocument {
    /// The venue.
    #[schema(value_type = String)]
    pub venue: VenueId,
    /// The version of the venue's plan that the show pins from now on. If left out, the show keeps
    /// its version; a show that is new in its venue gets the newest one. Stored documents do not
    /// have this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<u32>,
    /// The title, 1 to 200 characters.
    pub title: String,
    /// When the show begins, RFC 3339 with an offset.
    #[schema(value_type = String)]
    pub starts_at: Timestamp,
    /// Whether the show is announced or on sale.
    #[serde(default, skip_serializing_if = "ShowState::is_default")]
    pub state: ShowState,
    /// Whether the show is sold through the room `everyday` while no other room names it. If it is
    /// false, such a show is announced and not sold.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub walk_in: bool,
    /// Until when seats may be held, RFC 3339 with an offset. If left out, until the show begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub sells_until: Option<Timestamp>,
    /// The currency of the prices, an ISO 4217 code.
    #[serde(default = "defaults::currency")]
    #[schema(value_type = String)]
    pub currency: Currency,
    /// Prices in minor units, by category key or label. A category without a price is not for sale.
    pub prices: BTreeMap<String, i64>,
    /// How many seconds a hold lasts, as the buyer sees it.
    #[serde(default = "defaults::hold_s")]
    pub hold_s: u32,
    /// How many seconds the lock lasts beyond the hold.
    #[serde(default = "defaults::grace_s")]
    pub grace_s: u32,
    /// How many seconds the order's claim lasts beyond the time to pay.
    #[serde(default = "defaults::claim_grace_s")]
    pub claim_grace_s: u32,
    /// How many seconds a buyer has to pay for an order, at least.
    #[serde(default = "defaults::pay_s")]
    pub pay_s: u32,
    /// How often a hold may be extended by `hold_s`.
    #[serde(default)]
    pub extensions: u32,
    /// How many seats of this show one visitor may hold and buy.
    #[serde(default = "defaults::seats_per_visitor")]
    pub seats_per_visitor: u32,
    /// How many seats one verified account may buy. Accounts are not built yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seats_per_account: Option<u32>,
    /// How many seats one payment card may buy. This needs a provider that recognises cards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seats_per_card: Option<u32>,
    /// Whether a visitor who names seats, in a new hold or in a change, may leave a single empty
    /// seat.
    #[serde(default)]
    pub orphans: OrphanSeatRule,
    /// The rules by which tickets may be given back. By default there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refunds: Vec<RefundRule>,
    /// The rule by which seats may be exchanged for others. By default there is none, and seats
    /// cannot be exchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchange: Option<ExchangeRule>,
}

impl ShowDocument {
    /// Returns the names of the fields in which `next` names another time or another venue. Buyers
    /// rely on both.
    #[must_use]
    pub fn moves_to(&self, next: &Self) -> Vec<&'static str> {
        let moves = [
            ("starts_at", self.starts_at != next.starts_at),
            ("venue", self.venue != next.venue),
        ];
        let moved = moves.into_iter().filter(|(_, moved)| *moved);
        moved.map(|(field, _)| field).collect()
    }
}

/// Whether a show is sold, as its promoter says it. A show that is `on_sale` is still sold only by
/// a room that names it, or as a walk-in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ShowState {
    /// Only the promoter sees the show. This version does not support it yet.
    Draft,
    /// Everybody sees the show, and nobody can hold seats.
    Announced,
    /// The show is sold by the room that names it or, for a walk-in, by `everyday`.
    #[default]
    OnSale,
    /// The promoter ended the show. This version does not support it yet.
    Ended,
}

impl ShowState {
    // `skip_serializing_if` passes a reference.
    #[allow(clippy::trivially_copy_pass_by_ref)]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// How a call that names seats is answered if it would leave a single empty seat.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Orphans)]
pub enum OrphanSeatRule {
    /// The call is refused with 422 `would_orphan` and a suggestion.
    #[default]
    Refuse,
    /// The call succeeds.
    Allow,
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

/// Prices by category index, in minor units. A category with `None` is not for sale.
pub type CategoryPrices = Vec<Option<i64>>;

/// Checks a document against the plan that the show would pin, and against what the payment
/// provider can do.
///
/// # Errors
/// Every fault of the document.
pub fn check_show_document(
    document: &ShowDocument,
    map: &SeatMap,
    provider: ProviderRules,
) -> Result<CategoryPrices, Vec<FieldFault>> {
    let mut faults = ShowDocumentFaults::default();
    check_limits(document, &mut faults);
    check_available(document, provider, &mut faults);
    for (field, detail) in rule_faults(&document.refunds, document.exchange.as_ref()) {
        faults.add_invalid(&field, detail);
    }
    check_exchange_fee(document, provider, &mut faults);
    let prices = check_prices(document, map, provider, &mut faults);
    if faults.0.is_empty() {
        Ok(prices)
    } else {
        Err(faults.0)
    }
}

/// The faults of a document so far.
#[derive(Default)]
struct ShowDocumentFaults(Vec<FieldFault>);

impl ShowDocumentFaults {
    fn add(&mut self, field: &str, code: &'static str, detail: impl Into<String>) {
        self.0.push(FieldFault {
            field: field.to_owned(),
            code,
            detail: detail.into(),
        });
    }

    fn add_invalid(&mut self, field: &str, detail: impl Into<String>) {
        self.add(field, "invalid_field", detail);
    }
}

/// Checks the title, and that each number is within its limits.
fn check_limits(document: &ShowDocument, faults: &mut ShowDocumentFaults) {
    let title_chars = document.title.chars().count();
    if !(1..=200).contains(&title_chars) || document.title.chars().any(char::is_control) {
        faults.add_invalid("title", "a title has 1 to 200 printable characters");
    }
    let seats_per_card = document.seats_per_card.unwrap_or(1);
    for (field, value, least, most) in [
        ("hold_s", document.hold_s, 1, 86_400),
        ("grace_s", document.grace_s, 0, 600),
        ("claim_grace_s", document.claim_grace_s, 0, 3_600),
        ("pay_s", document.pay_s, 1, 86_400),
        ("extensions", document.extensions, 0, 100),
        ("seats_per_visitor", document.seats_per_visitor, 1, 1_000),
        ("seats_per_card", seats_per_card, 1, 1_000),
    ] {
        if !(least..=most).contains(&value) {
            faults.add_invalid(field, format!("{value} is not between {least} and {most}"));
        }
    }
}

/// Checks that the document asks for nothing that this installation cannot do.
fn check_available(
    document: &ShowDocument,
    provider: ProviderRules,
    faults: &mut ShowDocumentFaults,
) {
    if provider.only_listed_currencies && !document.currency.is_listed() {
        let code = document.currency.as_str();
        let detail = format!("\"{code}\" is no currency of ISO 4217 in which sums are paid");
        faults.add_invalid("currency", detail);
    }
    if matches!(document.state, ShowState::Draft | ShowState::Ended) {
        let detail = "this version supports \"announced\" and \"on_sale\"; take one of them, or leave it out";
        faults.add("state", "not_available", detail);
    }
    if document.seats_per_account.is_some() {
        let detail = "this version does not support it yet; leave it out";
        faults.add("seats_per_account", "not_available", detail);
    }
    if document.seats_per_card.is_some() && !provider.names_cards {
        let detail =
            "the payment provider of this installation does not recognise cards; leave it out";
        faults.add("seats_per_card", "not_available", detail);
    }
}

/// Checks that the provider takes the fee of an exchange.
fn check_exchange_fee(
    document: &ShowDocument,
    provider: ProviderRules,
    faults: &mut ShowDocumentFaults,
) {
    let fee = document.exchange.map_or(0, |rule| rule.fee);
    if let Err(refused) = provider.limits.check_price(fee) {
        let fee = document.currency.with_amount(fee);
        faults.add_invalid("exchange.fee", provider.limits.why_not(fee, refused));
    }
}

/// Checks the prices, and returns those without a fault, by category.
fn check_prices(
    document: &ShowDocument,
    map: &SeatMap,
    provider: ProviderRules,
    faults: &mut ShowDocumentFaults,
) -> CategoryPrices {
    let mut prices: CategoryPrices = vec![None; map.categories.len()];
    for (name, amount) in &document.prices {
        let mut wrong = |detail: String| faults.add_invalid(&format!("prices.{name}"), detail);
        match map.category_index(name) {
            None => wrong(format!(
                "the plan has no category \"{name}\"; it has {}",
                category_list(map)
            )),
            Some(_) if !(0..=AMOUNT_MAX).contains(amount) => wrong(format!(
                "{amount} is not between 0 and {AMOUNT_MAX} minor units"
            )),
            Some(_) if let Err(refused) = provider.limits.check_price(*amount) => {
                let price = document.currency.with_amount(*amount);
                wrong(provider.limits.why_not(price, refused));
            }
            Some(index) => match prices.get_mut(usize::from(index)) {
                Some(slot @ None) => *slot = Some(*amount),
                _ => wrong("the category is priced twice, by key and by label".into()),
            },
        }
    }
    if prices.iter().all(Option::is_none) {
        let list = category_list(map);
        let detail = format!("nothing would be for sale: give at least one price, by {list}");
        faults.add_invalid("prices", detail);
    }
    prices
}

fn category_list(map: &SeatMap) -> String {
    let names: Vec<_> = map
        .categories
        .iter()
        .map(|c| format!("\"{}\" ({})", c.key, c.label))
        .collect();
    names.join(", ")
}
