//! Statements are written in PostgreSQL's SQL. This module translates them for SQLite.
//!
//! Only the constructs that the ledgers' statements use are translated. Everything else must have
//! the same meaning in both databases. Otherwise the code must branch by [`super::SqlDialect`]. A
//! statement that SQLite cannot read fails when it is prepared.

/// Functions of PostgreSQL, with SQLite's names for them.
const FUNCTIONS: &[(&str, &str)] = &[
    ("GREATEST(", "MAX("),
    ("LEAST(", "MIN("),
    ("json_agg(", "json_group_array("),
    ("json_build_array(", "json_array("),
    ("json_build_object(", "json_object("),
];

/// SQLite's expression for the system's clock, in milliseconds. It replaces PostgreSQL's clock.
const SYSTEM_CLOCK: &str = "CAST(unixepoch('subsec') * 1000 AS INTEGER)";

/// The clause that makes PostgreSQL compare text byte by byte, as SQLite always does.
const ORDER_OF_BYTES: &str = " COLLATE \"C\"";

/// Row locks. SQLite needs none, because it has one writer.
const ROW_LOCKS: &[&str] = &[
    " FOR NO KEY UPDATE",
    " FOR UPDATE",
    " FOR KEY SHARE",
    " FOR SHARE",
];

/// PostgreSQL's column types, with SQLite's names for them.
const TYPES: &[(&str, &str)] = &[
    (" BIGINT", " INTEGER"),
    (" BYTEA", " BLOB"),
    (" BOOLEAN", " INTEGER"),
    (" JSONB", " TEXT"),
];

/// Translates one statement for SQLite. `$1` becomes `?1`. Casts and row locks are dropped. A value
/// that is a list is sent as JSON, so `= ANY ($1)` becomes a lookup in this JSON list. Columns of a
/// new or changed table get SQLite's types.
pub(crate) fn for_sqlite(sql: &str) -> String {
    let mut out = without_row_locks(sql)
        .replace(ORDER_OF_BYTES, "")
        .replace(now_ms!(), SYSTEM_CLOCK);
    for (postgres, sqlite) in FUNCTIONS {
        out = out.replace(postgres, sqlite);
    }
    if is_about_tables(sql) {
        for (postgres, sqlite) in TYPES {
            out = out.replace(postgres, sqlite);
        }
    }
    without_casts(&with_sqlite_marks(&with_lists(&out)))
}

fn is_about_tables(sql: &str) -> bool {
    ["CREATE TABLE", "ALTER TABLE"]
        .iter()
        .any(|word| sql.contains(word))
}

/// Drops row locks, together with the `OF table` and `SKIP LOCKED` that may follow them.
fn without_row_locks(sql: &str) -> String {
    let mut out = sql.to_owned();
    for lock in ROW_LOCKS {
        let mut parts = out.split(lock);
        let mut unlocked = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let of_table = part.strip_prefix(" OF ").map(|from| {
                let end = from.find(|letter: char| !letter.is_ascii_alphanumeric());
                &from[end.unwrap_or(from.len())..]
            });
            let rest = of_table.unwrap_or(part);
            unlocked.push_str(rest.strip_prefix(" SKIP LOCKED").unwrap_or(rest));
        }
        out = unlocked;
    }
    out
}

/// Turns `= ANY ($n)` into a lookup in a JSON list, and `= ANY (ARRAY (SELECT …))` into
/// `IN (SELECT …)`.
fn with_lists(sql: &str) -> String {
    let mut out = String::with_capacity(sql.len() + 32);
    let mut rest = sql;
    while let Some((before, from)) = rest.split_once("= ANY") {
        let Some((list, after)) = parenthesised(from) else {
            break;
        };
        out.push_str(before);
        if let Some((query, _)) = list.strip_prefix("ARRAY").and_then(parenthesised) {
            out.push_str(&format!("IN ({})", with_lists(query)));
        } else {
            let is_of_bytes = list.ends_with("::bytea[]");
            let member = if is_of_bytes { "unhex(value)" } else { "value" };
            out.push_str(&format!("IN (SELECT {member} FROM json_each({list}))"));
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Returns the text inside the parentheses with which `sql` begins, and the text after them.
fn parenthesised(sql: &str) -> Option<(&str, &str)> {
    let inner = sql.trim_start().strip_prefix('(')?;
    let mut depth = 1_u32;
    for (at, letter) in inner.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some((&inner[..at], &inner[at + 1..]));
        }
    }
    None
}

/// Writes `$1` as `?1`. Any other `$` belongs to the path of a JSON function and stays.
fn with_sqlite_marks(sql: &str) -> String {
    let mut parts = sql.split('$');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_value = part.starts_with(|letter: char| letter.is_ascii_digit());
        out.push(if is_value { '?' } else { '$' });
        out.push_str(part);
    }
    out
}

/// Drops `::type` and `::type[]`.
fn without_casts(sql: &str) -> String {
    let mut parts = sql.split("::");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let type_end = part
            .find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
            .unwrap_or(part.len());
        let rest = &part[type_end..];
        out.push_str(rest.strip_prefix("[]").unwrap_or(rest));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(postgres: &str, sqlite: &str) {
        assert_eq!(for_sqlite(postgres), sqlite);
    }

    #[test]
    fn numbered_values_get_the_marks_of_sqlite() {
        check(
            "SELECT a FROM t WHERE b = $1 AND c > $12",
            "SELECT a FROM t WHERE b = ?1 AND c > ?12",
        );
        check(
            "UPDATE t SET d = json_set(d, '$.at', $1)",
            "UPDATE t SET d = json_set(d, '$.at', ?1)",
        );
    }

    #[test]
    fn casts_and_row_locks_are_dropped() {
        check(
            "SELECT SUM(a)::bigint, d::text FROM t WHERE b = $1::text FOR UPDATE SKIP LOCKED",
            "SELECT SUM(a), d FROM t WHERE b = ?1",
        );
        check(
            "SELECT 1 FROM t FOR UPDATE OF t SKIP LOCKED",
            "SELECT 1 FROM t",
        );
        check("SELECT 1 FROM t FOR NO KEY UPDATE", "SELECT 1 FROM t");
        check("SELECT 1 FROM t FOR KEY SHARE", "SELECT 1 FROM t");
    }

    #[test]
    fn any_becomes_a_lookup_in_a_json_list() {
        check(
            "DELETE FROM t WHERE a = ANY ($2) AND b = ANY($3::bytea[])",
            "DELETE FROM t WHERE a IN (SELECT value FROM json_each(?2)) \
             AND b IN (SELECT unhex(value) FROM json_each(?3))",
        );
    }

    #[test]
    fn any_of_an_array_from_a_query_becomes_in_with_the_query() {
        check(
            "UPDATE t SET a = $2 WHERE b = ANY (ARRAY (SELECT b FROM t WHERE (c <= $1) \
             ORDER BY c LIMIT $3 FOR UPDATE SKIP LOCKED)) RETURNING b",
            "UPDATE t SET a = ?2 WHERE b IN (SELECT b FROM t WHERE (c <= ?1) \
             ORDER BY c LIMIT ?3) RETURNING b",
        );
    }

    #[test]
    fn greatest_and_least_become_max_and_min() {
        check(
            "UPDATE t SET a = GREATEST(a, $1), b = LEAST(b, $2)",
            "UPDATE t SET a = MAX(a, ?1), b = MIN(b, ?2)",
        );
    }

    #[test]
    fn the_database_clock_becomes_the_system_clock() {
        check(
            concat!("SELECT ", now_ms!(), " + $1"),
            "SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER) + ?1",
        );
    }

    #[test]
    fn the_clause_for_the_order_of_bytes_is_dropped() {
        check(
            "SELECT a FROM t ORDER BY a COLLATE \"C\", b",
            "SELECT a FROM t ORDER BY a, b",
        );
    }

    #[test]
    fn a_new_table_gets_the_types_of_sqlite() {
        check(
            "CREATE TABLE t (a BIGINT NOT NULL, b BYTEA, c BOOLEAN NOT NULL DEFAULT FALSE)",
            "CREATE TABLE t (a INTEGER NOT NULL, b BLOB, c INTEGER NOT NULL DEFAULT FALSE)",
        );
    }
}
