//! What the payment provider keeps of a refund, as the refund's metadata. If the ledger is restored
//! from a backup that was made before the refund, the refund is written again from this copy: its
//! tickets are void, and its seats are free. The module is pure.

use std::collections::BTreeMap;

use super::metadata_list::{KEYS_MAX, from_values, in_values};
use crate::holds::HeldSeat;

/// How many keys of a refund's metadata are left for the names of the refund and its payment.
const OTHER_KEYS: usize = 2;

/// The provider's copy of a refund of tickets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefundCopy {
    /// The seats that were given back.
    pub seats: Vec<HeldSeat>,
    /// The fee that was kept, in minor units.
    pub fee: i64,
    /// Why they were given back, as the ledger's code.
    pub reason: String,
}

impl RefundCopy {
    /// Returns the copy as keys and values of a refund's metadata. A copy that does not fit is
    /// empty.
    #[must_use]
    pub fn to_metadata(&self) -> Vec<(String, String)> {
        let lists = in_values("seats", &self.seats, ' ', |held| {
            format!("{}.{}.{}", held.seat, held.legs.start, held.legs.end)
        });
        let mut metadata = vec![
            ("fee".to_owned(), self.fee.to_string()),
            ("reason".to_owned(), self.reason.clone()),
        ];
        metadata.extend(lists);
        match metadata.len() + OTHER_KEYS <= KEYS_MAX {
            true => metadata,
            false => Vec::new(),
        }
    }

    /// Reads a copy from a refund's metadata. Returns `None` if it is not a whole copy.
    #[must_use]
    pub fn read(metadata: &BTreeMap<String, String>) -> Option<Self> {
        let seats: Vec<HeldSeat> = from_values(metadata, "seats", ' ')
            .into_iter()
            .map(read_seat)
            .collect::<Option<_>>()?;
        let fee = metadata.get("fee")?.parse().ok()?;
        let reason = metadata.get("reason")?.clone();
        (!seats.is_empty()).then_some(Self { seats, fee, reason })
    }
}

fn read_seat(text: &str) -> Option<HeldSeat> {
    let numbers: Vec<&str> = text.split('.').collect();
    let [seat, from, to] = numbers[..] else {
        return None;
    };
    Some(HeldSeat {
        seat: seat.parse().ok()?,
        legs: from.parse().ok()?..to.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy(seats: std::ops::Range<u32>) -> RefundCopy {
        let held = |seat| HeldSeat { seat, legs: 2..5 };
        RefundCopy {
            seats: seats.map(held).collect(),
            fee: 250,
            reason: "refund_by_buyer".to_owned(),
        }
    }

    fn read(copy: &RefundCopy) -> Option<RefundCopy> {
        RefundCopy::read(&copy.to_metadata().into_iter().collect())
    }

    #[test]
    fn a_copy_is_read_as_it_was_written() {
        for count in [1, 8, 300] {
            let written = copy(0..count);
            assert_eq!(read(&written), Some(written));
        }
    }

    #[test]
    fn a_copy_that_does_not_fit_is_no_copy() {
        assert_eq!(copy(0..30_000).to_metadata(), []);
        let mut metadata: BTreeMap<String, String> = copy(0..2).to_metadata().into_iter().collect();
        metadata.insert("seats".to_owned(), "7.2".to_owned());
        assert_eq!(RefundCopy::read(&metadata), None);
        metadata.remove("seats");
        assert_eq!(RefundCopy::read(&metadata), None);
    }
}
