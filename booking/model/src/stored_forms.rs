//! Converts the seats of orders to the JSON that the ledger stores, and back. The JSON is the same
//! in every database.

use serde::{Deserialize, Serialize};
use serde_json::Result;

use crate::holds::HeldSeat;
use crate::orders::OrderItem;
use crate::orders::exchange::carried::CarriedMoney;

/// One seat of an order, as it is stored in `orders.items`.
#[derive(Serialize, Deserialize)]
struct StoredOrderItem {
    seat: u32,
    from: u16,
    to: u16,
    amount: i64,
    label: String,
    category: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    category_key: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    traveller: Option<String>,
    #[serde(default, skip_serializing_if = "CarriedMoney::is_none")]
    carried: CarriedMoney,
}

/// Writes the seats of an order in their stored form.
///
/// # Errors
/// If they cannot be written as JSON.
pub fn items_text(items: &[OrderItem]) -> Result<String> {
    let rows: Vec<StoredOrderItem> = items
        .iter()
        .map(|item| StoredOrderItem {
            seat: item.held.seat,
            from: item.held.legs.start,
            to: item.held.legs.end,
            amount: item.amount,
            label: item.label.clone(),
            category: item.category.clone(),
            category_key: item.category_key.clone(),
            traveller: item.traveller.clone(),
            carried: item.carried,
        })
        .collect();
    serde_json::to_string(&rows)
}

/// Reads the seats of an order from their stored form.
///
/// # Errors
/// If they cannot be read.
pub fn items_of(text: &str) -> Result<Vec<OrderItem>> {
    let rows: Vec<StoredOrderItem> = serde_json::from_str(text)?;
    let item = |row: StoredOrderItem| OrderItem {
        held: HeldSeat {
            seat: row.seat,
            legs: row.from..row.to,
        },
        amount: row.amount,
        label: row.label,
        category: row.category,
        category_key: row.category_key,
        traveller: row.traveller,
        carried: row.carried,
    };
    Ok(rows.into_iter().map(item).collect())
}
