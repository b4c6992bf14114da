//! From the SQL that statements are written in, PostgreSQL's, to SQLite's.
//!
//! Only what the ledgers' statements use is translated. All else is SQL that both read alike, or belongs
//! in a branch by [`super::SqlDialect`]; a statement that SQLite cannot read fails when it is prepared.

/// Words that mean the same, by which SQLite calls them.
const FUNCTIONS: &[(&str, &str)] = &[("GREATEST(", "MAX("), ("LEAST(", "MIN(")];

/// Row locks, the longest first: SQLite has one writer, whose rows are nobody else's.
const ROW_LOCKS: &[&str] = &[
    " FOR NO KEY UPDATE",
    " FOR UPDATE SKIP LOCKED",
    " FOR UPDATE OF o",
    " FOR UPDATE",
    " FOR KEY SHARE",
    " FOR SHARE",
];

/// Types of columns, as a table of SQLite's names them.
const TYPES: &[(&str, &str)] = &[
    (" BIGINT", " INTEGER"),
    (" BYTEA", " BLOB"),
    (" BOOLEAN", " INTEGER"),
    (" JSONB", " TEXT"),
];

/// One statement for SQLite: `$1` becomes `?1`, casts and row locks go, `= ANY ($1::bytea[])` becomes
/// a look into the JSON list that the value is sent as, and columns of a new table get SQLite's types.
pub(crate) fn for_sqlite(sql: &str) -> String {
    let mut out = without_row_locks(sql);
    for (postgres, sqlite) in FUNCTIONS {
        out = out.replace(postgres, sqlite);
    }
    if is_about_tables(sql) {
        for (postgres, sqlite) in TYPES {
            out = out.replace(postgres, sqlite);
        }
    }
    let out = with_lists(&out);
    without_casts(&out.replace('$', "?"))
}

fn is_about_tables(sql: &str) -> bool {
    ["CREATE TABLE", "ALTER TABLE"]
        .iter()
        .any(|word| sql.contains(word))
}

fn without_row_locks(sql: &str) -> String {
    let mut out = sql.to_owned();
    for lock in ROW_LOCKS {
        out = out.replace(lock, "");
    }
    out
}

/// `= ANY ($n)` and `<> ALL ($n)` as looks into a JSON list.
fn with_lists(sql: &str) -> String {
    let mut out = String::with_capacity(sql.len() + 32);
    let mut rest = sql;
    while let Some(at) = rest.find("= ANY") {
        let (before, from) = rest.split_at(at);
        let list = from
            .find('(')
            .and_then(|open| Some((open, open + from.get(open..)?.find(')')?)));
        let Some((open, close)) = list else {
            break;
        };
        let value = &from[open + 1..close];
        let member = if value.ends_with("::bytea[]") {
            "unhex(value)"
        } else {
            "value"
        };
        out.push_str(before);
        out.push_str(&format!("IN (SELECT {member} FROM json_each({value}))"));
        rest = &from[close + 1..];
    }
    out.push_str(rest);
    out
}

/// Drops `::type` and `::type[]`.
fn without_casts(sql: &str) -> String {
    let mut parts = sql.split("::");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let word = part
            .find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
            .unwrap_or(part.len());
        let rest = &part[word..];
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
    fn numbered_values_are_marked_as_sqlite_marks_them() {
        check(
            "SELECT a FROM t WHERE b = $1 AND c > $12",
            "SELECT a FROM t WHERE b = ?1 AND c > ?12",
        );
    }

    #[test]
    fn casts_and_row_locks_go() {
        check(
            "SELECT SUM(a)::bigint, d::text FROM t WHERE b = $1::text FOR UPDATE SKIP LOCKED",
            "SELECT SUM(a), d FROM t WHERE b = ?1",
        );
        check("SELECT 1 FROM t FOR NO KEY UPDATE", "SELECT 1 FROM t");
        check("SELECT 1 FROM t FOR KEY SHARE", "SELECT 1 FROM t");
    }

    #[test]
    fn lists_are_looked_into() {
        check(
            "DELETE FROM t WHERE a = ANY ($2) AND b = ANY($3::bytea[])",
            "DELETE FROM t WHERE a IN (SELECT value FROM json_each(?2)) \
             AND b IN (SELECT unhex(value) FROM json_each(?3))",
        );
    }

    #[test]
    fn the_larger_of_two_has_another_name() {
        check(
            "UPDATE t SET a = GREATEST(a, $1), b = LEAST(b, $2)",
            "UPDATE t SET a = MAX(a, ?1), b = MIN(b, ?2)",
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
