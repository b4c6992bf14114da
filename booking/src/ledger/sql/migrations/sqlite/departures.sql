-- A train's departure that somebody has held seats of is a show with a run. Its number tells in which order they came.
ALTER TABLE shows ADD COLUMN run TEXT;
ALTER TABLE shows ADD COLUMN departure INTEGER;
CREATE UNIQUE INDEX shows_departures ON shows (departure) WHERE departure IS NOT NULL;
