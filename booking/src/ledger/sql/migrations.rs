//! The steps that build booking's tables. A released step is never edited. A new step is added at
//! the end, and is written once for both databases ([`Migration::of_both`]).

use fairgate_databases::Migration;

/// A released step: one text for each database.
macro_rules! released {
    ($name:literal) => {
        Migration::of_each(
            include_str!(concat!("migrations/sqlite/", $name)),
            include_str!(concat!("migrations/postgres/", $name)),
        )
    };
}

/// All steps, in order.
pub(in crate::ledger) const MIGRATIONS: &[Migration] = &[
    released!("schema.sql"),
    Migration::of_sqlite(include_str!("migrations/sqlite/rows_by_show.sql")),
    released!("money.sql"),
    released!("given_up.sql"),
    released!("work.sql"),
    released!("refunds.sql"),
    released!("lives.sql"),
    released!("departures.sql"),
    released!("waitlist.sql"),
    released!("rail.sql"),
    released!("refunding.sql"),
    released!("cinema.sql"),
    released!("exchanging.sql"),
    released!("terms.sql"),
    released!("keyed_calls.sql"),
    released!("retention.sql"),
    released!("cards.sql"),
    Migration::of_both(
        "
CREATE TABLE stopped_passes (
    room TEXT NOT NULL, number BIGINT NOT NULL, expires_s BIGINT NOT NULL, seq BIGINT NOT NULL,
    PRIMARY KEY (room, number)
);
CREATE INDEX stopped_passes_by_seq ON stopped_passes (seq);
CREATE INDEX stopped_passes_by_expiry ON stopped_passes (expires_s);
ALTER TABLE catalogue_version ADD COLUMN stops BIGINT NOT NULL DEFAULT 0;
",
    ),
    Migration::of_both(
        "
CREATE TABLE venue_locations (
    venue TEXT PRIMARY KEY, name TEXT, city TEXT, address TEXT, time_zone TEXT
);
",
    ),
    Migration::of_both(
        "
CREATE INDEX payments_with_money ON payments (read_due) WHERE state IN ('captured', 'refunded');
DROP INDEX payments_taken;
",
    ),
    Migration::of_both("ALTER TABLE show_fates ADD COLUMN reason TEXT;"),
    // Shows had no `walk_in`, and `everyday` sold every show that no room named. The showings of
    // the programme are walk-ins. So are the shows that `everyday` has sold and that no room names,
    // because their sale is running.
    Migration::of_each(
        r"
UPDATE shows SET document = json_set(document, '$.walk_in', json('true')) WHERE departure IS NULL AND (
    show IN (SELECT json_extract(showing.value, '$.show') FROM programme, json_each(programme.document, '$.showings') AS showing)
    OR EXISTS (SELECT 1 FROM orders WHERE orders.show = shows.show AND orders.room = 'everyday')
        AND NOT EXISTS (SELECT 1 FROM coverage
            WHERE shows.show LIKE replace(replace(pattern, '_', '\_'), '*', '%') ESCAPE '\')
);
UPDATE catalogue_version SET version = version + 1;
",
        r#"
UPDATE shows SET document = document || '{"walk_in": true}'::jsonb WHERE departure IS NULL AND (
    show IN (SELECT showing ->> 'show' FROM programme,
        jsonb_array_elements(programme.document::jsonb -> 'showings') AS showing)
    OR EXISTS (SELECT 1 FROM orders WHERE orders.show = shows.show AND orders.room = 'everyday')
        AND NOT EXISTS (SELECT 1 FROM coverage
            WHERE shows.show LIKE replace(replace(pattern, '_', '\_'), '*', '%') ESCAPE '\')
);
UPDATE catalogue_version SET version = version + 1;
"#,
    ),
    Migration::of_both(
        "
CREATE TABLE applied_entries (
    kind TEXT NOT NULL, id TEXT NOT NULL, document TEXT NOT NULL, PRIMARY KEY (kind, id)
);
",
    ),
    Migration::of_both(
        "
CREATE TABLE room_ends (
    room TEXT PRIMARY KEY, version BIGINT NOT NULL, over_from BIGINT, seq BIGINT NOT NULL
);
CREATE INDEX room_ends_by_seq ON room_ends (seq);
",
    ),
    // When a due time was written. If that lies in the future, a clock was ahead.
    Migration::of_both(
        "
ALTER TABLE effects ADD COLUMN due_set_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE refunds ADD COLUMN due_set_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE provider_events ADD COLUMN due_set_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE late_money ADD COLUMN due_set_at BIGINT NOT NULL DEFAULT 0;
CREATE INDEX effects_set ON effects (due_set_at) WHERE done_at IS NULL;
CREATE INDEX refunds_set ON refunds (due_set_at) WHERE done_at IS NULL;
CREATE INDEX provider_events_set ON provider_events (due_set_at) WHERE settled_at IS NULL;
CREATE INDEX late_money_set ON late_money (due_set_at) WHERE outcome IS NULL;
",
    ),
    // Shows that nobody sells until an on-sale file is written whole.
    Migration::of_both("CREATE TABLE withheld_shows (show TEXT PRIMARY KEY);"),
    // The ids that departures keep from earlier timetables.
    Migration::of_both("ALTER TABLE timetables ADD COLUMN kept TEXT NOT NULL DEFAULT '[]';"),
    // Versions of terms had no run. No departure had changed its run since it was first sold.
    Migration::of_each(
        "
UPDATE terms SET terms = json_set(terms, '$.run', json((SELECT run FROM shows WHERE shows.show = terms.show)))
WHERE json_extract(terms, '$.run') IS NULL AND show IN (SELECT show FROM shows WHERE run IS NOT NULL);
",
        "
UPDATE terms t SET terms = (t.terms::jsonb || jsonb_build_object('run', s.run::jsonb))::text
FROM shows s WHERE s.show = t.show AND s.run IS NOT NULL AND t.terms::jsonb -> 'run' IS NULL;
",
    ),
    // Money that went back at the provider without a call of ours, disputes, payments that were
    // cancelled at the provider, and money that the ledger does not know.
    Migration::of_both(
        "
ALTER TABLE payments ADD COLUMN attempt BIGINT NOT NULL DEFAULT 0;
ALTER TABLE payments ADD COLUMN dispute TEXT;
CREATE INDEX payments_by_reference ON payments (reference) WHERE reference IS NOT NULL;
ALTER TABLE refunds ADD COLUMN covered BIGINT NOT NULL DEFAULT 0;
ALTER TABLE tickets ADD COLUMN blocked_at BIGINT;
CREATE TABLE provider_returns (
    payment TEXT NOT NULL, sum TEXT NOT NULL, refund TEXT NOT NULL, seen_at BIGINT NOT NULL,
    came_back_at BIGINT, PRIMARY KEY (payment, sum)
);
CREATE INDEX provider_returns_of_refund ON provider_returns (refund);
CREATE TABLE ended_attempts (
    payment TEXT NOT NULL, reference TEXT NOT NULL, ended_at BIGINT NOT NULL,
    PRIMARY KEY (payment, reference)
);
CREATE TABLE money_findings (
    finding TEXT PRIMARY KEY, kind TEXT NOT NULL, provider TEXT NOT NULL, payment TEXT NOT NULL,
    order_id TEXT, amount BIGINT NOT NULL, currency TEXT NOT NULL, first_seen BIGINT NOT NULL,
    settled_at BIGINT, settled_as TEXT, note TEXT
);
CREATE INDEX money_findings_open ON money_findings (first_seen) WHERE settled_at IS NULL;
CREATE INDEX money_findings_of_order ON money_findings (order_id) WHERE settled_at IS NULL;
CREATE TABLE provider_cursors (provider TEXT PRIMARY KEY, event TEXT NOT NULL);
",
    ),
    // The shows that were reopened after the ledger had gone back.
    Migration::of_both(
        "
CREATE TABLE reopened_shows (
    pattern TEXT PRIMARY KEY, set_back BIGINT NOT NULL, at BIGINT NOT NULL
);
",
    ),
    // The disputes that are open are counted whenever an operator asks.
    Migration::of_both(
        "CREATE INDEX payments_disputed ON payments (payment) WHERE dispute = 'open';",
    ),
    // Up to which time that the ledger went back the payment provider was asked what it knows.
    Migration::of_both(
        "
CREATE TABLE provider_asked (set_back BIGINT NOT NULL);
INSERT INTO provider_asked (set_back) VALUES (0);
",
    ),
    // The deadline to pay before a declined payment shortened it. NULL while none was declined.
    Migration::of_both("ALTER TABLE orders ADD COLUMN full_pay_until BIGINT;"),
    // A visit that ended before its pass ran out: when the pass was issued, and why the visit
    // ended. NULL if the visitor gets no other pass.
    Migration::of_both(
        "
ALTER TABLE stopped_passes ADD COLUMN issued_s BIGINT;
ALTER TABLE stopped_passes ADD COLUMN visit_end TEXT;
",
    ),
    // The end of the claim before a declined payment shortened it. NULL while none was declined.
    Migration::of_both("ALTER TABLE orders ADD COLUMN full_claim_until BIGINT;"),
];
