//! Checks the hash chain of a room's audit.

use crate::ledger::AuditRow;

/// Returns whether each row has the right number, the right hash, and the hash of the row before
/// it.
#[must_use]
pub fn is_intact(rows: &[AuditRow]) -> bool {
    let (mut prev, mut seq) = (AuditRow::GENESIS.to_owned(), 0);
    rows.iter().all(|row| {
        seq += 1;
        let follows = row.prev == prev && row.seq == seq && row.hash == row.expected_hash();
        prev.clone_from(&row.hash);
        follows
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::RoomAuditEntry;
    use serde_json::json;

    #[test]
    fn a_changed_row_or_a_missing_one_breaks_the_chain() {
        let entry = |at| RoomAuditEntry {
            at,
            role: "promoter",
            action: "room_patched",
            detail: json!({"at": at}),
        };
        let first = AuditRow::chain(1, AuditRow::GENESIS, &entry(1));
        let second = AuditRow::chain(2, &first.hash, &entry(2));
        let rows = vec![first.clone(), second.clone()];
        assert!(is_intact(&[]) && is_intact(&rows));
        assert!(!is_intact(std::slice::from_ref(&second)));
        let forged = AuditRow {
            detail: json!({"at": 9}),
            ..first
        };
        assert!(!is_intact(&[forged, second]));
    }
}
