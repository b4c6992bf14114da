-- Timetables: each a version for ever, with the plans of its trains as [[venue, version], …] by the order of its stocks.
CREATE TABLE timetables (
    version INTEGER PRIMARY KEY,
    timetable TEXT NOT NULL,
    plans TEXT NOT NULL,
    digest BLOB NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
