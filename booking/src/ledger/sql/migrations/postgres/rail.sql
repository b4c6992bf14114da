-- Timetables: each a version for ever, with the plans of its trains as [[venue, version], …] by the order of its stocks.
CREATE TABLE timetables (
    version BIGINT PRIMARY KEY,
    timetable TEXT NOT NULL,
    plans TEXT NOT NULL,
    digest BYTEA NOT NULL,
    created_at BIGINT NOT NULL
);
