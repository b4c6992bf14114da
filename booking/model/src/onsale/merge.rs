//! Decides, field by field, what an on-sale file changes. It compares three documents: the file
//! when it was last applied, what is in force now, and the file as it is now.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{OnsaleChange, OnsaleConflict, OnsaleItem, OnsaleReport};

/// A document, by field. A field that is missing is the same as one that is null.
pub type Fields = Map<String, Value>;

/// Returns the document that will be in force, and reports each field in which the file and the
/// document in force differ. A field that the file did not change since it was last applied keeps
/// the value in force. `applied` is the file when it was last applied; if it never was, the file's
/// value replaces every field in force.
pub fn merge_fields(
    item: &OnsaleItem,
    applied: Option<&Fields>,
    live: &Fields,
    file: &Fields,
    report: &mut OnsaleReport,
) -> Fields {
    let mut merged = live.clone();
    let names: BTreeSet<&String> = live.keys().chain(file.keys()).collect();
    for field in names {
        let value = |document: &Fields| document.get(field).cloned().unwrap_or(Value::Null);
        let (from, to) = (value(live), value(file));
        if from == to {
            continue;
        }
        let before = applied.map_or_else(|| from.clone(), value);
        let is_set_live = before == to;
        if !is_set_live && before != from {
            report.conflicts.push(OnsaleConflict {
                item: item.clone(),
                field: field.clone(),
                applied: before,
                file: to,
                live: from,
            });
            continue;
        }
        if !is_set_live {
            merged.insert(field.clone(), to.clone());
        }
        report.change.push(OnsaleChange {
            item: item.clone(),
            field: field.clone(),
            from,
            to,
            live: is_set_live,
        });
    }
    merged.retain(|_, value| !value.is_null());
    merged
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::OnsaleKind;
    use super::*;

    fn fields(value: &Value) -> Fields {
        value.as_object().cloned().unwrap_or_default()
    }

    /// Merges `{"per_s": …}` of the three documents. Returns what is in force then, and whether the
    /// report names a change, a live setting or a conflict.
    fn check(
        applied: Option<Option<i64>>,
        live: Option<i64>,
        file: Option<i64>,
        expected: (Option<i64>, &str),
    ) {
        let item = OnsaleItem {
            kind: OnsaleKind::Room,
            id: "demo".to_owned(),
        };
        let mut report = OnsaleReport::default();
        let applied = applied.map(|value| fields(&json!({"per_s": value})));
        let (live, file) = (json!({"per_s": live}), json!({"per_s": file}));
        let (live, file) = (fields(&live), fields(&file));
        let merged = merge_fields(&item, applied.as_ref(), &live, &file, &mut report);
        let named = match (report.change.as_slice(), report.conflicts.as_slice()) {
            ([], []) => "nothing",
            ([change], []) if change.live => "live",
            ([_], []) => "change",
            ([], [_]) => "conflict",
            _ => "several",
        };
        let value = merged.get("per_s").and_then(Value::as_i64);
        assert_eq!((value, named), expected);
        assert_eq!(report.is_applicable(), named != "conflict");
    }

    #[test]
    fn a_field_changes_only_where_the_file_changed_it_and_nobody_else_did() {
        let some = |n: i64| Some(Some(n));
        check(some(1), Some(1), Some(1), (Some(1), "nothing"));
        check(some(1), Some(1), Some(2), (Some(2), "change"));
        check(some(1), Some(5), Some(1), (Some(5), "live"));
        check(some(1), Some(5), Some(2), (Some(5), "conflict"));
        check(some(1), Some(2), Some(2), (Some(2), "nothing"));
        // A file that was never applied replaces what is in force.
        check(None, Some(5), Some(2), (Some(2), "change"));
        // A field that the file no longer has, and one that was removed live.
        check(some(1), Some(1), None, (None, "change"));
        check(some(1), None, Some(1), (None, "live"));
        check(Some(None), Some(5), None, (Some(5), "live"));
    }
}
