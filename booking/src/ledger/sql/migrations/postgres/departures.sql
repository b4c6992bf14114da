-- A train's departure that somebody has held seats of is a show with a run. Its number tells in which order they came.
ALTER TABLE shows ADD COLUMN run TEXT, ADD COLUMN departure BIGINT;
CREATE UNIQUE INDEX shows_departures ON shows (departure) WHERE departure IS NOT NULL;

-- The last number given. Whoever gives one locks this row until it is committed, so that no smaller number comes later.
CREATE TABLE departure_numbers (
    one BOOLEAN PRIMARY KEY DEFAULT TRUE CHECK (one),
    last BIGINT NOT NULL DEFAULT 0
);
INSERT INTO departure_numbers DEFAULT VALUES;
