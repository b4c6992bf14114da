-- Tries to make an order of a hold that were given up: those that began at or before this moment come too late.
CREATE TABLE given_up (
    hold TEXT PRIMARY KEY,
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX given_up_by_age ON given_up (at);
CREATE INDEX late_money_holds ON late_money (hold) WHERE hold IS NOT NULL;
