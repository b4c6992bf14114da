//! Changes rooms: whole documents, live settings, codes, and phases by hand. Every change writes
//! its audit row in the same transaction.

use fairgate_base::log_failed_try;
use fairgate_model::shows::coverage::EVERYDAY;
use fairgate_pass::Digest;
use fairgate_rules::code_strength::{CodeShapes, CodeStrength};
use fairgate_rules::faults::{
    RoomInputFaults, RoomInputRefusal, check_per_s, checked_number, checked_text,
};
use fairgate_rules::join_codes::normal_form;
use fairgate_rules::naming::overlap;
use fairgate_rules::network_limits::NetworkLimits;
use fairgate_rules::phase::{RoomFacts, RoomPhase};
use fairgate_rules::room_document::{ChallengePolicy, PaceMode, RoomDocument, RoomDocumentInput};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::PromoterControls;
use super::revoke::RevokeFault;
use super::shown::document_json;
use crate::follow::CoverageFailure;
use crate::ledger::{LedgerError, RoomAuditEntry, RoomChangeOutcome, RoomRow};
use crate::room::{Room, RoomView, UnknownRoom};
use crate::store::StoreFailure;
use crate::upstream::BookingFailure;

/// The most codes that one room may have.
pub(super) const CODES_MAX: usize = 1_000_000;
pub(super) const CODE_BYTES_MAX: usize = 128;
/// How many times a change is tried if other changes of the room come in between.
pub(super) const TRIES_MAX: u32 = 10;
/// The fields of [`RoomPatchInput`]. The refusal of a patch without any field lists them.
pub(super) const PATCH_FIELDS: [&str; 7] = [
    "paused",
    "per_s",
    "max_inside",
    "mode",
    "message",
    "challenge",
    "per_network",
];

/// The live settings of a room.
#[derive(Debug, Default, PartialEq, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PatchInput)]
pub struct RoomPatchInput {
    /// While this is true, nobody is released. A draw still happens.
    pub paused: Option<bool>,
    /// Visitors released a second.
    pub per_s: Option<f64>,
    /// How many visitors may be inside at once.
    pub max_inside: Option<i64>,
    /// `auto` or `fixed`.
    pub mode: Option<String>,
    /// A message to everybody.
    pub message: Option<String>,
    /// `none`, `pow`, `turnstile` or `hcaptcha`.
    pub challenge: Option<String>,
    /// How many places one network gets.
    pub per_network: Option<NetworkLimits>,
}

/// A phase change that the promoter makes by hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ManualPhase {
    /// The lobby opens.
    Open,
    /// The freeze and the draw begin now.
    Draw,
    /// The room closes.
    Close,
}

/// Why a room was not changed.
#[derive(Debug, thiserror::Error)]
pub enum RoomChangeRefusal {
    /// Values of the document or the patch are not valid.
    #[error("the document is not valid")]
    Document(RoomInputRefusal),
    /// The built-in room cannot be replaced, and its phase cannot be changed by hand.
    #[error("the built-in room cannot be replaced")]
    BuiltIn,
    /// There is no such room.
    #[error(transparent)]
    Unknown(#[from] UnknownRoom),
    /// Another room covers a show of the document.
    #[error("room \"{room}\" covers \"{other_pattern}\", so no other room can cover \"{pattern}\"")]
    ShowCovered {
        /// The slug of the other room.
        room: String,
        /// The other room's pattern.
        other_pattern: String,
        /// The document's pattern.
        pattern: String,
    },
    /// The room is closed, so its closing time can no longer change.
    #[error("the room is closed and stays so")]
    ClosedForGood,
    /// The room is closed, so its phase can no longer change.
    #[error("the room is closed")]
    RoomClosed,
    /// These times have passed and their phases have begun, so they cannot be set to a later time.
    #[error("{fields:?} have passed and cannot be set to a later time")]
    TimePassed {
        /// The names of the document's fields.
        fields: Vec<&'static str>,
    },
    /// These fields affect the draw. They can no longer change, because somebody has joined or the
    /// line is frozen.
    #[error("{fields:?} affect the draw and can no longer change")]
    DrawFixed {
        /// The names of the document's fields.
        fields: Vec<&'static str>,
    },
    /// The patch names no setting.
    #[error("the patch names nothing to change")]
    NothingToChange,
    /// A line of the list is not a code.
    #[error("line {line} is not a code")]
    CodeMalformed {
        /// The number of the line, from 1.
        line: usize,
    },
    /// A field of a revocation is not valid.
    #[error(transparent)]
    Revocation(RevokeFault),
    /// No current place matches the revocation.
    #[error("there is no such place")]
    NoSuchPlace,
    /// The codes of the list are so short that all possible ones can be tried.
    #[error("the codes withstand only {} bits", .0.withstands_bits())]
    CodesGuessable(CodeStrength),
    /// The list has no codes, or too many.
    #[error("the list has no codes, or too many")]
    CodeCount,
    /// Somebody else created or changed the room at the same time.
    #[error("somebody else changed the room")]
    ChangedMeanwhile,
    /// The ledger failed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The room store failed.
    #[error(transparent)]
    Store(#[from] StoreFailure),
    /// The list of rooms and the shows that they cover could not be sent to booking.
    #[error(transparent)]
    Coverage(#[from] CoverageFailure),
    /// The room is closed, but booking could not be told.
    #[error("the room is closed, but booking does not know it yet: {0}")]
    PassesStillOpen(BookingFailure),
}

impl From<RoomInputRefusal> for RoomChangeRefusal {
    fn from(why: RoomInputRefusal) -> Self {
        Self::Document(why)
    }
}

impl RoomChangeRefusal {
    fn draw_fixed(fields: &[&'static str]) -> Self {
        Self::DrawFixed {
            fields: fields.to_vec(),
        }
    }
}

impl PromoterControls {
    /// Creates or replaces a room. Returns its row, and whether it is new.
    ///
    /// # Errors
    /// Fails if the document is not valid, another room covers one of its shows, or the room can no
    /// longer change in this way.
    pub async fn put_room(
        &self,
        id: &str,
        input: RoomDocumentInput,
    ) -> Result<(RoomRow, bool), RoomChangeRefusal> {
        let challenge = input.challenge.clone();
        let document = RoomDocument::from_input(id, input);
        let document = self.check_provider(challenge.as_deref(), document)?;
        if id == EVERYDAY {
            return Err(RoomChangeRefusal::BuiltIn);
        }
        let lease = self.follower.lease_changes().await?;
        let outcome = self.put_alone(id, document).await;
        lease.release_lease().await;
        outcome
    }

    /// Does what [`Self::put_room`] does, while no other node changes a room's document.
    async fn put_alone(
        &self,
        id: &str,
        document: RoomDocument,
    ) -> Result<(RoomRow, bool), RoomChangeRefusal> {
        self.check_coverage(id, &document)?;
        let outcome = match self.rooms.get(id) {
            Ok(room) => (self.replace(&room, document).await?, false),
            Err(_) => (self.create_room(id, document).await?, true),
        };
        self.follower.publish_coverage().await?;
        self.publish_end(id).await?;
        Ok(outcome)
    }

    /// Tells booking from when on the room is over. If the room is over already, its passes open
    /// nothing new when this returns. If it will be over later, booking may also be told later.
    async fn publish_end(&self, id: &str) -> Result<(), RoomChangeRefusal> {
        let Err(failure) = self.follower.publish_ends().await else {
            return Ok(());
        };
        let room = self.rooms.get(id)?;
        if room.phase(self.rooms.now_ms()) == RoomPhase::Closed {
            return Err(RoomChangeRefusal::PassesStillOpen(failure));
        }
        log_failed_try!(
            failure,
            room = id,
            "booking is to be told again when the room closes"
        );
        Ok(())
    }

    async fn create_room(
        &self,
        id: &str,
        document: RoomDocument,
    ) -> Result<RoomRow, RoomChangeRefusal> {
        let row = self.rooms.fresh_row(id, document);
        let entry = self.audit_entry(
            "room_created",
            json!({"document": document_json(&row.document, id)}),
        );
        let is_created = self.rooms.ledger().create_room(row.clone(), entry).await?;
        if !is_created {
            return Err(RoomChangeRefusal::ChangedMeanwhile);
        }
        self.rooms.take_up(row.clone()).await?;
        Ok(row)
    }

    async fn replace(
        &self,
        room: &Room,
        document: RoomDocument,
    ) -> Result<RoomRow, RoomChangeRefusal> {
        for _ in 0..TRIES_MAX {
            if let Some(row) = self.replace_once(room, &document).await? {
                return Ok(row);
            }
        }
        Err(RoomChangeRefusal::ChangedMeanwhile)
    }

    async fn replace_once(
        &self,
        room: &Room,
        document: &RoomDocument,
    ) -> Result<Option<RoomRow>, RoomChangeRefusal> {
        let row = room.row();
        let mut fixed = row.document.draw_changes(document);
        if room.draw_state().row.freeze.is_some() && row.document.draw_at != document.draw_at {
            fixed.push("draw_at");
        }
        let detail = differences(
            &document_json(&row.document, room.id()),
            &document_json(document, room.id()),
        );
        if detail.as_object().is_some_and(Map::is_empty) {
            return Ok(Some((*row).clone()));
        }
        let now = self.rooms.now_ms();
        refuse_going_back(&row.document, document, room.phase(now), now)?;
        document.check_new_end(&row.document, now)?;
        let entry = self.audit_entry("room_replaced", detail);
        let facts = row.facts.clone();
        self.write_change(room, &row, (document.clone(), facts), &fixed, entry)
            .await
    }

    /// Changes live settings.
    ///
    /// # Errors
    /// Fails if a value is not valid, the patch names no setting, or there is no such room.
    pub async fn patch_room(
        &self,
        id: &str,
        patch: RoomPatchInput,
    ) -> Result<RoomRow, RoomChangeRefusal> {
        let room = self.rooms.get(id)?;
        if patch == RoomPatchInput::default() {
            return Err(RoomChangeRefusal::NothingToChange);
        }
        for _ in 0..TRIES_MAX {
            if let Some(row) = self.patch_once(&room, &patch).await? {
                return Ok(row);
            }
        }
        Err(RoomChangeRefusal::ChangedMeanwhile)
    }

    async fn patch_once(
        &self,
        room: &Room,
        patch: &RoomPatchInput,
    ) -> Result<Option<RoomRow>, RoomChangeRefusal> {
        let (id, row) = (room.id(), room.row());
        let (mut document, mut facts) = (row.document.clone(), row.facts.clone());
        let mut faults = RoomInputFaults::default();
        if let Some(mode) = &patch.mode {
            document.mode = PaceMode::parse_setting(mode, &mut faults).unwrap_or(document.mode);
        }
        if let Some(per_s) = patch.per_s {
            document.per_s = check_per_s(per_s, &mut faults);
        }
        document.max_inside = checked_number(
            "max_inside",
            patch.max_inside,
            document.max_inside,
            1,
            10_000_000,
            &mut faults,
        );
        if patch.message.is_some() {
            document.message =
                checked_text("message", patch.message.clone(), false, 1000, &mut faults);
        }
        if patch.challenge.is_some() {
            document.challenge =
                ChallengePolicy::parse_setting(patch.challenge.as_deref(), &mut faults);
        }
        if let Some(limits) = patch.per_network {
            document.per_network = limits.checked(&mut faults);
        }
        facts.paused = patch.paused.unwrap_or(facts.paused);
        self.check_provider(patch.challenge.as_deref(), faults.into_result())?;
        let mut detail = differences(
            &document_json(&row.document, id),
            &document_json(&document, id),
        );
        if facts.paused != row.facts.paused {
            detail["paused"] = json!([row.facts.paused, facts.paused]);
        }
        let entry = self.audit_entry("room_patched", detail);
        self.write_change(room, &row, (document, facts), &[], entry)
            .await
    }

    /// Changes the phase by hand.
    ///
    /// # Errors
    /// Fails if there is no such room, or if it is the built-in one. Also fails if a closed room
    /// should open or draw, or if booking could not be told that the room is closed.
    pub async fn by_hand(
        &self,
        id: &str,
        change: ManualPhase,
    ) -> Result<RoomView, RoomChangeRefusal> {
        let room = self.rooms.get(id)?;
        if room.is_everyday() {
            return Err(RoomChangeRefusal::BuiltIn);
        }
        for _ in 0..TRIES_MAX {
            if self.by_hand_once(&room, change).await? {
                if change == ManualPhase::Close {
                    self.publish_end(id).await?;
                }
                return Ok(RoomView::fresh(&self.rooms, &room).await);
            }
        }
        Err(RoomChangeRefusal::ChangedMeanwhile)
    }

    /// Tries the change once. Returns whether the change has been made, by this call or an earlier
    /// one.
    async fn by_hand_once(
        &self,
        room: &Room,
        change: ManualPhase,
    ) -> Result<bool, RoomChangeRefusal> {
        let (row, now) = (room.row(), self.rooms.now_ms());
        let mut facts = row.facts.clone();
        let (fact, action) = match change {
            ManualPhase::Open => (&mut facts.opened_at, "opened_by_hand"),
            ManualPhase::Draw => (&mut facts.draw_called_at, "draw_by_hand"),
            ManualPhase::Close => (&mut facts.closed_at, "closed_by_hand"),
        };
        if change != ManualPhase::Close && room.phase(now) == RoomPhase::Closed {
            return Err(RoomChangeRefusal::RoomClosed);
        }
        // A second call changes nothing. The time of the first call stays.
        if fact.is_some() {
            return Ok(true);
        }
        *fact = Some(now);
        let entry = self.audit_entry(action, json!({"phase_before": room.phase(now)}));
        let new_state = (row.document.clone(), facts);
        let changed = self.write_change(room, &row, new_state, &[], entry).await?;
        Ok(changed.is_some())
    }

    /// Replaces a room's codes. Returns how many codes the room has now, and how well they
    /// withstand guessing.
    ///
    /// # Errors
    /// Fails if the list is not valid or far too easy to guess, or somebody has joined.
    pub async fn put_codes(
        &self,
        id: &str,
        list: &str,
    ) -> Result<(usize, CodeStrength), RoomChangeRefusal> {
        let room = self.rooms.get(id)?;
        let (codes, strength) = read_codes(list)?;
        if strength.is_refused() {
            return Err(RoomChangeRefusal::CodesGuessable(strength));
        }
        // The change runs in a task of its own. If the promoter hangs up in the middle, the task
        // still ends the pause of the joins, and no other change begins before it has ended.
        let controls = self.clone();
        let change = tokio::spawn(async move {
            let lease = controls.follower.lease_changes().await?;
            let outcome = controls.put_codes_alone(&room, codes).await;
            lease.release_lease().await;
            outcome
        });
        let changed = change
            .await
            .unwrap_or_else(|error| Err(StoreFailure::NotReady(error.to_string()).into()));
        Ok((changed?, strength))
    }

    /// Does what [`Self::put_codes`] does, while no other node changes rooms.
    async fn put_codes_alone(
        &self,
        room: &Room,
        codes: Vec<Digest>,
    ) -> Result<usize, RoomChangeRefusal> {
        let id = room.id();
        let entry = self.audit_entry("codes_replaced", json!({"codes": codes.len()}));
        let count = codes.len();
        let outcome = self.rooms.store().put_codes(id, codes, entry).await;
        match outcome? {
            RoomChangeOutcome::To(_) => Ok(count),
            RoomChangeOutcome::Joined => Err(RoomChangeRefusal::draw_fixed(&["codes"])),
            RoomChangeOutcome::Conflict => Err(RoomChangeRefusal::ChangedMeanwhile),
        }
    }

    /// Writes a change that is based on `row`. If the room was changed since, reads the new row and
    /// returns `None`. The caller then decides again. `fixed` names the changed fields that can no
    /// longer change once somebody has joined or the line is frozen.
    pub(super) async fn write_change(
        &self,
        room: &Room,
        row: &RoomRow,
        (document, facts): (RoomDocument, RoomFacts),
        fixed: &[&'static str],
        entry: RoomAuditEntry,
    ) -> Result<Option<RoomRow>, RoomChangeRefusal> {
        let before_joins = !fixed.is_empty();
        if before_joins {
            // This also asks the store. A store that many nodes share may have joins that are not
            // in the ledger yet.
            let joined = RoomView::fresh(&self.rooms, room).await.joined;
            if joined > 0 || room.draw_state().row.freeze.is_some() {
                return Err(RoomChangeRefusal::draw_fixed(fixed));
            }
        }
        let outcome = self
            .rooms
            .ledger()
            .change_room(
                room.id(),
                row.version,
                document.clone(),
                facts.clone(),
                before_joins,
                Some(entry),
            )
            .await?;
        let version = match outcome {
            RoomChangeOutcome::To(version) => version,
            RoomChangeOutcome::Conflict => {
                self.follower.refresh(room).await?;
                return Ok(None);
            }
            RoomChangeOutcome::Joined => return Err(RoomChangeRefusal::draw_fixed(fixed)),
        };
        let new_row = RoomRow {
            document,
            facts,
            version,
            ..row.clone()
        };
        self.follower.take_row(room, new_row.clone());
        let hub = self.hubs.of_room(room.id());
        hub.announce_room(room, self.rooms.now_ms());
        room.nudge();
        Ok(Some(new_row))
    }

    /// Adds a fault to a checked input if the input asks for a provider that is not set up here.
    pub(super) fn check_provider<T>(
        &self,
        challenge: Option<&str>,
        checked: Result<T, RoomInputRefusal>,
    ) -> Result<T, RoomInputRefusal> {
        let policy = ChallengePolicy::parse_setting(challenge, &mut RoomInputFaults::default());
        let missing = policy
            .provider()
            .filter(|provider| !self.providers.is_set_up(*provider));
        let Some(provider) = missing else {
            return checked;
        };
        let (name, variable) = (provider.name(), provider.name().to_uppercase());
        let fault = format!(
            "\"{name}\" is not set up here: set FAIRGATE_{variable}_SITE_KEY and FAIRGATE_{variable}_SECRET, or say \"pow\" or \"none\""
        );
        let mut refusal = checked.err().unwrap_or_else(|| RoomInputRefusal {
            bad: Vec::new(),
            unbuilt: Vec::new(),
        });
        refusal.unbuilt.push(("challenge".to_owned(), fault));
        Err(refusal)
    }

    fn check_coverage(&self, id: &str, document: &RoomDocument) -> Result<(), RoomChangeRefusal> {
        let mut coverage = self.rooms.coverage();
        coverage.retain(|(room, _)| room != id);
        coverage.push((id.to_owned(), document.shows.clone()));
        let now = self.rooms.now_ms();
        let is_closed = |room: &str| {
            let room = self.rooms.get(room);
            room.is_ok_and(|room| room.phase(now) == RoomPhase::Closed)
        };
        match first_overlap(id, &coverage, &is_closed) {
            Some(overlap) => Err(RoomChangeRefusal::ShowCovered {
                room: overlap.room,
                other_pattern: overlap.other_pattern,
                pattern: overlap.pattern,
            }),
            None => Ok(()),
        }
    }

    pub(super) fn audit_entry(&self, action: &'static str, detail: Value) -> RoomAuditEntry {
        RoomAuditEntry {
            at: self.rooms.now_ms(),
            role: "promoter",
            action,
            detail,
        }
    }
}

/// Two patterns that may name the same show.
pub(super) struct PatternOverlap {
    /// The slug of the other room.
    pub room: String,
    /// The other room's pattern.
    pub other_pattern: String,
    /// The room's own pattern.
    pub pattern: String,
}

/// Returns the first pattern of a room that may name a show of another room. Closed rooms sell
/// nothing any more, so their shows may be named by a new room.
pub(super) fn first_overlap(
    id: &str,
    coverage: &[(String, Vec<String>)],
    is_closed: &dyn Fn(&str) -> bool,
) -> Option<PatternOverlap> {
    let own = coverage.iter().find(|(room, _)| room == id);
    let (_, own) = own.filter(|_| !is_closed(id))?;
    let others = coverage.iter().filter(|(room, _)| room != id);
    others
        .filter(|(room, _)| !is_closed(room))
        .find_map(|(room, patterns)| {
            own.iter().find_map(|pattern| {
                let other = patterns.iter().find(|other| overlap(other, pattern))?;
                Some(PatternOverlap {
                    room: room.clone(),
                    other_pattern: other.clone(),
                    pattern: pattern.clone(),
                })
            })
        })
}

/// Refuses times that would move a room back to an earlier phase, because a room goes through each
/// phase only once. A time that has passed may be replaced by another time that has passed, so that
/// a file with times relative to now can be applied again.
pub(super) fn refuse_going_back(
    before: &RoomDocument,
    after: &RoomDocument,
    phase: RoomPhase,
    now: i64,
) -> Result<(), RoomChangeRefusal> {
    if phase == RoomPhase::Closed && before.closes_at != after.closes_at {
        return Err(RoomChangeRefusal::ClosedForGood);
    }
    let mut fixed = Vec::new();
    if phase != RoomPhase::Scheduled && after.opens_at > before.opens_at.max(now) {
        fixed.push("opens_at");
    }
    let begun = !matches!(phase, RoomPhase::Scheduled | RoomPhase::Prequeue);
    if begun && after.draw_at > before.draw_at.max(now) {
        fixed.push("draw_at");
    }
    if fixed.is_empty() {
        return Ok(());
    }
    Err(RoomChangeRefusal::TimePassed { fields: fixed })
}

/// Returns what changed, as `{field: [before, after]}`.
pub(super) fn differences(before: &Value, after: &Value) -> Value {
    let empty = Map::new();
    let (before, after) = (
        before.as_object().unwrap_or(&empty),
        after.as_object().unwrap_or(&empty),
    );
    let changed = after
        .iter()
        .filter(|(field, value)| before.get(*field) != Some(value));
    changed
        .map(|(field, value)| (field.clone(), json!([before.get(field), value])))
        .collect::<Map<_, _>>()
        .into()
}

fn read_codes(list: &str) -> Result<(Vec<Digest>, CodeStrength), RoomChangeRefusal> {
    let (mut codes, mut shapes) = (Vec::new(), CodeShapes::default());
    for (at, line) in list.lines().enumerate() {
        // A spreadsheet writes a byte order mark at the beginning of the file.
        let line = line.trim_start_matches('\u{feff}').trim();
        if line.is_empty() {
            continue;
        }
        let code = normal_form(line);
        let is_code = (1..=CODE_BYTES_MAX).contains(&code.len());
        if !is_code || line.chars().any(char::is_control) {
            return Err(RoomChangeRefusal::CodeMalformed { line: at + 1 });
        }
        shapes.note(&code);
        codes.push(Digest::of_bytes(code.as_bytes()));
    }
    codes.sort_unstable();
    codes.dedup();
    if codes.is_empty() || codes.len() > CODES_MAX {
        return Err(RoomChangeRefusal::CodeCount);
    }
    let strength = shapes.strength(codes.len());
    Ok((codes, strength))
}
