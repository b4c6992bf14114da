//! Writes a room's document in a form that can be sent again.

use fairgate_base::clock::rfc3339;
use fairgate_rules::room_document::RoomDocument;
use serde_json::{Value, json};

/// Returns the document with the fields of an on-sale file.
#[must_use]
pub fn document_json(document: &RoomDocument, room: &str) -> Value {
    json!({
        "id": room, "title": document.title, "shows": document.shows, "opens_at": rfc3339(document.opens_at),
        "draw_at": rfc3339(document.draw_at), "closes_at": document.closes_at.map(rfc3339), "method": document.method,
        "mode": document.mode, "per_s": document.per_s, "max_inside": document.max_inside, "p99_ms": document.p99_ms,
        "pass_s": document.pass_s, "claim_s": document.claim_s, "away_s": document.away_s,
        "pass_idle_s": document.pass_idle_s, "lapses_max": document.lapses_max, "binding": "cookie",
        "challenge": document.challenge, "per_network": document.per_network,
        "codes": document.codes, "beacon": "none", "message": document.message,
    })
}
