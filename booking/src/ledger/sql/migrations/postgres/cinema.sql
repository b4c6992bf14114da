-- The cinema programme as it was imported last: what is searched. Its halls are venues, its showings are shows.
CREATE TABLE programme (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    version BIGINT NOT NULL,
    document TEXT NOT NULL,
    put_at BIGINT NOT NULL
);
