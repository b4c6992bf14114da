//! Compares the rooms of an on-sale file with the rooms in force. A field that was set live since
//! the file was last applied stays, unless the file changed it, too.

use std::collections::HashMap;

use fairgate_model::onsale::merge::{Fields, merge_fields};
use fairgate_model::onsale::{OnsaleItem, OnsaleKind, OnsaleReport};
use fairgate_model::shows::coverage::EVERYDAY;
use fairgate_rules::faults::RoomInputRefusal;
use fairgate_rules::phase::RoomPhase;
use fairgate_rules::room_document::{RoomDocument, RoomDocumentInput};
use serde_json::{Value, json};

use super::OnsaleFailure;
use crate::ledger::{AppliedRoom, AppliedRoomChange, AuditRow, LedgerError, RoomRow};
use crate::onsale::file::{OnsaleFile, OnsaleRoom};
use crate::promoter::controls::{differences, first_overlap, refuse_going_back};
use crate::promoter::shown::document_json;
use crate::promoter::{PromoterControls, RoomChangeRefusal};
use crate::room::{Room, RoomView};

/// The fields of a document that are the same for every room.
const FIXED_FIELDS: [&str; 3] = ["id", "binding", "beacon"];

/// The rooms of a file after the comparison.
pub(super) struct ComparedRooms {
    pub report: OnsaleReport,
    pub rooms: Vec<AppliedRoom>,
    /// All rooms, each with the patterns of its shows, as they are after the apply.
    pub coverage: Vec<(String, Vec<String>)>,
}

impl PromoterControls {
    /// Compares the rooms of a file with the rooms in force.
    pub(super) async fn compare_rooms(
        &self,
        file: &OnsaleFile,
    ) -> Result<ComparedRooms, OnsaleFailure> {
        let applied = self.rooms.ledger().applied_rooms().await?;
        let applied: HashMap<String, Fields> = applied
            .into_iter()
            .filter_map(|(room, document)| Some((room, serde_json::from_str(&document).ok()?)))
            .collect();
        let mut compared = ComparedRooms {
            report: OnsaleReport::default(),
            rooms: Vec::new(),
            coverage: self.rooms.coverage(),
        };
        for room in &file.rooms {
            let before = applied.get(&room.id).cloned();
            self.compare_room(room, before, &mut compared).await?;
        }
        self.check_overlaps(file, &mut compared);
        Ok(compared)
    }

    async fn compare_room(
        &self,
        room: &OnsaleRoom,
        applied: Option<Fields>,
        compared: &mut ComparedRooms,
    ) -> Result<(), OnsaleFailure> {
        let item = item_of(&room.id);
        let Some(document) = self.checked_document(room, &item, &mut compared.report) else {
            return Ok(());
        };
        let file = fields_of(&document, &room.id);
        let Ok(present) = self.rooms.get(&room.id) else {
            compared.report.create.push(item);
            let detail = json!({"document": document_json(&document, &room.id)});
            let change = AppliedRoomChange::Create(self.audit_entry("room_created", detail));
            compared.add(self.rooms.fresh_row(&room.id, document), change, file);
            return Ok(());
        };
        let live = fields_of(&present.row().document, &room.id);
        let applied = match applied {
            Some(applied) => applied,
            None => put_before(&self.rooms.ledger().audit(&room.id).await?),
        };
        let applied = Some(applied).filter(|applied| !applied.is_empty());
        let report = &mut compared.report;
        let merged = merge_fields(&item, applied.as_ref(), &live, &file, report);
        let input: RoomDocumentInput = serde_json::from_value(Value::Object(merged))
            .map_err(|error| LedgerError::Corrupt(error.to_string()))?;
        let document = match RoomDocument::from_input(&room.id, input) {
            Ok(document) => document,
            Err(refusal) => {
                add_faults(&item, refusal, report);
                return Ok(());
            }
        };
        let change = self.change_of(&present, &document, report).await;
        let mut row = (*present.row()).clone();
        if matches!(change, AppliedRoomChange::Replace { .. }) {
            row.version += 1;
        }
        row.document = document;
        compared.add(row, change, file);
        Ok(())
    }

    /// Checks the document of a room of the file alone.
    fn checked_document(
        &self,
        room: &OnsaleRoom,
        item: &OnsaleItem,
        report: &mut OnsaleReport,
    ) -> Option<RoomDocument> {
        if room.id == EVERYDAY {
            let detail = "the built-in room cannot be replaced; take another id".to_owned();
            report.add_fault(item, "id", "room_built_in", detail);
            return None;
        }
        let challenge = room.input.challenge.as_deref();
        let read = RoomDocument::from_input(&room.id, room.input.clone());
        match self.check_provider(challenge, read) {
            Ok(document) => Some(document),
            Err(refusal) => {
                add_faults(item, refusal, report);
                None
            }
        }
    }

    /// Returns how a room changes. Reports why it cannot change in this way.
    async fn change_of(
        &self,
        room: &Room,
        document: &RoomDocument,
        report: &mut OnsaleReport,
    ) -> AppliedRoomChange {
        let (row, now, item) = (room.row(), self.rooms.now_ms(), item_of(room.id()));
        if row.document == *document {
            return AppliedRoomChange::None;
        }
        let phase = room.phase(now);
        match refuse_going_back(&row.document, document, phase, now) {
            Ok(()) => {}
            Err(RoomChangeRefusal::TimePassed { fields }) => {
                for field in fields {
                    let detail = "what it stands for has happened already, so it cannot move later";
                    report.add_fault(&item, field, "draw_fixed", detail.to_owned());
                }
            }
            Err(_) => {
                let detail = "the room is closed and stays so; make a new room";
                report.add_fault(&item, "closes_at", "room_closed", detail.to_owned());
            }
        }
        // A closed room has another fault: its end cannot change at all.
        if phase != RoomPhase::Closed
            && let Err(refusal) = document.check_new_end(&row.document, now)
        {
            add_faults(&item, refusal, report);
        }
        let is_frozen = room.draw_state().row.freeze.is_some();
        let mut fixed = row.document.draw_changes(document);
        if is_frozen && row.document.draw_at != document.draw_at {
            fixed.push("draw_at");
        }
        let before_joins = !fixed.is_empty();
        if before_joins && (is_frozen || RoomView::fresh(&self.rooms, room).await.joined > 0) {
            for field in fixed {
                let detail = "visitors have joined under the rules as they stand, so it can no longer change";
                report.add_fault(&item, field, "draw_fixed", detail.to_owned());
            }
        }
        let changed = differences(
            &document_json(&row.document, room.id()),
            &document_json(document, room.id()),
        );
        AppliedRoomChange::Replace {
            entry: self.audit_entry("room_replaced", changed),
            before_joins,
        }
    }

    /// Reports the rooms of the file that would name a show that another room sells.
    fn check_overlaps(&self, file: &OnsaleFile, compared: &mut ComparedRooms) {
        let now = self.rooms.now_ms();
        let is_closed = |id: &str| {
            let room = self.rooms.get(id);
            room.is_ok_and(|room| room.phase(now) == RoomPhase::Closed)
        };
        for room in &file.rooms {
            if let Some(overlap) = first_overlap(&room.id, &compared.coverage, &is_closed) {
                let detail = format!(
                    "the room \"{}\" covers \"{}\", so the room \"{}\" cannot cover \"{}\", too; every show has one room, so remove the show from one of the two rooms",
                    overlap.room, overlap.other_pattern, room.id, overlap.pattern
                );
                let item = item_of(&room.id);
                compared
                    .report
                    .add_fault(&item, "shows", "show_covered", detail);
            }
        }
    }
}

impl ComparedRooms {
    /// Returns the rooms that the apply creates or changes.
    pub(super) fn changed_rooms(&self) -> Vec<String> {
        let changed = self
            .rooms
            .iter()
            .filter(|room| !matches!(room.change, AppliedRoomChange::None));
        changed.map(|room| room.row.room.clone()).collect()
    }

    /// Adds a room of the file, and notes which shows it will name.
    fn add(&mut self, row: RoomRow, change: AppliedRoomChange, file: Fields) {
        let shows = row.document.shows.clone();
        let known = self.coverage.iter_mut().find(|(room, _)| *room == row.room);
        match known {
            Some((_, patterns)) => *patterns = shows,
            // A new room is open, so it comes before the closed rooms.
            None => self.coverage.insert(0, (row.room.clone(), shows)),
        }
        let applied = Value::Object(file).to_string();
        self.rooms.push(AppliedRoom {
            row,
            change,
            applied,
        });
    }
}

fn item_of(room: &str) -> OnsaleItem {
    OnsaleItem {
        kind: OnsaleKind::Room,
        id: room.to_owned(),
    }
}

fn add_faults(item: &OnsaleItem, refusal: RoomInputRefusal, report: &mut OnsaleReport) {
    for (field, detail) in refusal.bad {
        report.add_fault(item, &field, "invalid_field", detail);
    }
    for (field, detail) in refusal.unbuilt {
        report.add_fault(item, &field, "not_available", detail);
    }
}

/// Returns the fields that a file can change.
fn fields_of(document: &RoomDocument, room: &str) -> Fields {
    let document = document_json(document, room);
    let mut fields = document.as_object().cloned().unwrap_or_default();
    fields.retain(|field, value| !FIXED_FIELDS.contains(&field.as_str()) && !value.is_null());
    fields
}

/// Returns the document that was last put for a room, without the live settings that came later.
/// This stands in for the file if the room was never applied in one step. Empty if the audit does
/// not tell.
fn put_before(audit: &[AuditRow]) -> Fields {
    let mut fields = Fields::new();
    for row in audit {
        let detail = &row.detail;
        match row.action.as_str() {
            "room_created" => {
                let document = detail["document"].as_object();
                fields = document.cloned().unwrap_or_default();
            }
            "room_replaced" => {
                for (field, change) in detail.as_object().into_iter().flatten() {
                    fields.insert(field.clone(), change[1].clone());
                }
            }
            _ => {}
        }
    }
    fields.retain(|field, value| !FIXED_FIELDS.contains(&field.as_str()) && !value.is_null());
    fields
}
