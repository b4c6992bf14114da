//! Changing rooms: whole documents, live settings, phases by hand. Every change writes its audit row in the same
//! transaction.

use fairgate_base::http::Problem;
use fairgate_pass::Digest;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::Promoter;
use super::refused::refused;
use super::shown::shown;
use crate::ledger::{Changed, Entry, Failure, RoomRow};
use crate::line::claim::room_closed;
use crate::room::{
    Document, DocumentInput, EVERYDAY, Facts, Faults, Mode, Phase, Room, RoomView, check_per_s,
    overlap, text, whole,
};

/// More codes than this are several rooms.
const CODES_MAX: usize = 1_000_000;
const CODE_BYTES_MAX: usize = 128;
/// How often a change is decided anew because somebody else changed the room in between.
const TRIES_MAX: u32 = 10;
/// What [`PatchInput`] takes, for whoever sends none of it.
const LIVE: [&str; 5] = ["paused", "per_s", "max_inside", "mode", "message"];

/// The live settings of a room.
#[derive(Debug, Default, PartialEq, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PatchInput {
    /// Nobody is released while this holds; a draw still happens.
    pub paused: Option<bool>,
    /// Visitors released a second.
    pub per_s: Option<f64>,
    /// The most that may be inside at once.
    pub max_inside: Option<i64>,
    /// `auto` or `fixed`.
    pub mode: Option<String>,
    /// A line to everybody.
    pub message: Option<String>,
}

/// A phase brought about by hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hand {
    /// The lobby opens.
    Open,
    /// The freeze comes forward.
    Draw,
    /// The room ends.
    Close,
}

impl Promoter {
    /// Makes or replaces a room. Gives its row, and whether it is new.
    ///
    /// # Errors
    /// 422 for the document, 409 `show_covered`, `draw_fixed`, `room_built_in`.
    pub async fn put_room(
        &self,
        id: &str,
        input: DocumentInput,
    ) -> Result<(RoomRow, bool), Problem> {
        let document = Document::check(id, input).map_err(refused)?;
        if id == EVERYDAY {
            return Err(built_in());
        }
        let changing = self.follower.changing().await.map_err(unanswered)?;
        let outcome = self.put_alone(id, document).await;
        changing.end().await;
        outcome
    }

    /// The whole of it, while nobody else changes a room's document.
    async fn put_alone(&self, id: &str, document: Document) -> Result<(RoomRow, bool), Problem> {
        self.check_coverage(id, &document)?;
        let outcome = match self.rooms.get(id) {
            Ok(room) => (self.replace(&room, document).await?, false),
            Err(_) => (self.create(id, document).await?, true),
        };
        self.follower.cover().await?;
        Ok(outcome)
    }

    async fn create(&self, id: &str, document: Document) -> Result<RoomRow, Problem> {
        let row = self.rooms.fresh_row(id, document);
        let entry = self.entry(
            "room_created",
            json!({"document": shown(&row.document, id)}),
        );
        let made = self
            .rooms
            .ledger()
            .create_room(row.clone(), entry)
            .await
            .map_err(unanswered)?;
        if !made {
            return Err(conflict());
        }
        self.rooms.take_up(row.clone()).await.map_err(unanswered)?;
        Ok(row)
    }

    async fn replace(&self, room: &Room, document: Document) -> Result<RoomRow, Problem> {
        for _ in 0..TRIES_MAX {
            if let Some(row) = self.replace_once(room, &document).await? {
                return Ok(row);
            }
        }
        Err(conflict())
    }

    async fn replace_once(
        &self,
        room: &Room,
        document: &Document,
    ) -> Result<Option<RoomRow>, Problem> {
        let row = room.row();
        let mut fixed = row.document.draw_changes(document);
        if room.draw().row.freeze.is_some() && row.document.draw_at != document.draw_at {
            fixed.push("draw_at");
        }
        let detail = differences(
            &shown(&row.document, room.id()),
            &shown(document, room.id()),
        );
        if detail.as_object().is_some_and(Map::is_empty) {
            return Ok(Some((*row).clone()));
        }
        let now = self.rooms.now();
        refuse_going_back(&row.document, document, room.phase(now), now)?;
        let entry = self.entry("room_replaced", detail);
        let facts = row.facts.clone();
        self.change(room, &row, (document.clone(), facts), &fixed, entry)
            .await
    }

    /// Changes live settings.
    ///
    /// # Errors
    /// 422 for a value or for no setting at all, 404 for the room.
    pub async fn patch_room(&self, id: &str, patch: PatchInput) -> Result<RoomRow, Problem> {
        let room = self.rooms.get(id)?;
        if patch == PatchInput::default() {
            return Err(nothing_to_change());
        }
        for _ in 0..TRIES_MAX {
            if let Some(row) = self.patch_once(&room, &patch).await? {
                return Ok(row);
            }
        }
        Err(conflict())
    }

    async fn patch_once(
        &self,
        room: &Room,
        patch: &PatchInput,
    ) -> Result<Option<RoomRow>, Problem> {
        let (id, row) = (room.id(), room.row());
        let (mut document, mut facts) = (row.document.clone(), row.facts.clone());
        let mut faults = Faults::default();
        if let Some(mode) = &patch.mode {
            document.mode = Mode::check(mode, &mut faults).unwrap_or(document.mode);
        }
        if let Some(per_s) = patch.per_s {
            document.per_s = check_per_s(per_s, &mut faults);
        }
        document.max_inside = whole(
            "max_inside",
            patch.max_inside,
            document.max_inside,
            1,
            10_000_000,
            &mut faults,
        );
        if patch.message.is_some() {
            document.message = text("message", patch.message.clone(), false, 1000, &mut faults);
        }
        facts.paused = patch.paused.unwrap_or(facts.paused);
        faults.settle().map_err(refused)?;
        let mut detail = differences(&shown(&row.document, id), &shown(&document, id));
        if facts.paused != row.facts.paused {
            detail["paused"] = json!([row.facts.paused, facts.paused]);
        }
        let entry = self.entry("room_patched", detail);
        self.change(room, &row, (document, facts), &[], entry).await
    }

    /// Brings a phase about by hand.
    ///
    /// # Errors
    /// 410 `room_closed` for anything but closing, 404 for the room.
    pub async fn by_hand(&self, id: &str, hand: Hand) -> Result<RoomView, Problem> {
        let room = self.rooms.get(id)?;
        if room.is_everyday() {
            return Err(built_in());
        }
        for _ in 0..TRIES_MAX {
            if self.by_hand_once(&room, hand).await? {
                return Ok(RoomView::fresh(&self.rooms, &room).await);
            }
        }
        Err(conflict())
    }

    /// Whether it is done, now or before.
    async fn by_hand_once(&self, room: &Room, hand: Hand) -> Result<bool, Problem> {
        let (row, now) = (room.row(), self.rooms.now());
        let mut facts = row.facts.clone();
        let (fact, action) = match hand {
            Hand::Open => (&mut facts.opened_at, "opened_by_hand"),
            Hand::Draw => (&mut facts.draw_called_at, "draw_by_hand"),
            Hand::Close => (&mut facts.closed_at, "closed_by_hand"),
        };
        if hand != Hand::Close && room.phase(now) == Phase::Closed {
            return Err(room_closed());
        }
        // Done twice is done once: the first time stands.
        if fact.is_some() {
            return Ok(true);
        }
        *fact = Some(now);
        let entry = self.entry(action, json!({"phase_before": room.phase(now)}));
        let written = (row.document.clone(), facts);
        let changed = self.change(room, &row, written, &[], entry).await?;
        Ok(changed.is_some())
    }

    /// Replaces a room's codes; gives how many there are.
    ///
    /// # Errors
    /// 422 for the list, 409 `draw_fixed` once somebody has joined.
    pub async fn put_codes(&self, id: &str, list: &str) -> Result<usize, Problem> {
        let room = self.rooms.get(id)?;
        let codes = read_codes(list)?;
        let changing = self.follower.changing().await.map_err(unanswered)?;
        let outcome = self.put_codes_alone(&room, codes).await;
        changing.end().await;
        outcome
    }

    /// The whole of it, while nobody else changes codes.
    async fn put_codes_alone(&self, room: &Room, codes: Vec<Digest>) -> Result<usize, Problem> {
        let id = room.id();
        let entry = self.entry("codes_replaced", json!({"codes": codes.len()}));
        let count = codes.len();
        let outcome = self.rooms.store().put_codes(id, codes, entry).await;
        match outcome.map_err(|error| error.problem())? {
            Changed::To(_) => Ok(count),
            Changed::Joined => Err(draw_fixed(&["codes"])),
            Changed::Conflict => Err(conflict()),
        }
    }

    /// Writes what was decided from `row`; `None` where the room was changed since, and is then known anew: decide
    /// again.
    async fn change(
        &self,
        room: &Room,
        row: &RoomRow,
        (document, facts): (Document, Facts),
        fixed: &[&'static str],
        entry: Entry,
    ) -> Result<Option<RoomRow>, Problem> {
        let before_joins = !fixed.is_empty();
        if before_joins {
            // A store that many nodes share knows of joins that the ledger will only hear of.
            let joined = RoomView::fresh(&self.rooms, room).await.joined;
            if joined > 0 || room.draw().row.freeze.is_some() {
                return Err(draw_fixed(fixed));
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
            .await
            .map_err(unanswered)?;
        let version = match outcome {
            Changed::To(version) => version,
            Changed::Conflict => {
                self.follower.refresh(room).await.map_err(unanswered)?;
                return Ok(None);
            }
            Changed::Joined => return Err(draw_fixed(fixed)),
        };
        let new = RoomRow {
            document,
            facts,
            version,
            ..row.clone()
        };
        room.set_row(new.clone());
        let hub = self.hubs.of_room(room.id());
        hub.room(room, self.rooms.now());
        room.nudge();
        Ok(Some(new))
    }

    fn check_coverage(&self, id: &str, document: &Document) -> Result<(), Problem> {
        for (other, patterns) in self
            .rooms
            .coverage()
            .iter()
            .filter(|(other, _)| other != id)
        {
            for pattern in &document.shows {
                if let Some(theirs) = patterns.iter().find(|theirs| overlap(theirs, pattern)) {
                    return Err(Problem::new(
                        409,
                        "show_covered",
                        "Another room covers this show",
                        format!("Room \"{other}\" covers \"{theirs}\", which \"{pattern}\" would cover too. Every show has exactly one room. Nothing was changed. Take it out of one of them."),
                    )
                    .with("field", "shows")
                    .with("room", other)
                    .with("pattern", theirs));
                }
            }
        }
        Ok(())
    }

    fn entry(&self, action: &'static str, detail: Value) -> Entry {
        Entry {
            at: self.rooms.now(),
            role: "promoter",
            action,
            detail,
        }
    }
}

/// A room goes through its phases once: a time that has done its work does not move ahead again. Where the new time
/// has passed as well, nothing goes back: a file whose times are reckoned from now can be applied again.
fn refuse_going_back(
    before: &Document,
    after: &Document,
    phase: Phase,
    now: i64,
) -> Result<(), Problem> {
    if phase == Phase::Closed && before.closes_at != after.closes_at {
        return Err(Problem::new(
            409,
            "room_closed",
            "The room is closed and stays so",
            "Everybody was told that this on-sale is over, so closes_at cannot change any more. Nothing was changed. Make a new room for what is still to be sold.",
        )
        .with("fields", ["closes_at"]));
    }
    let mut fixed = Vec::new();
    if phase != Phase::Scheduled && after.opens_at > before.opens_at.max(now) {
        fixed.push("opens_at");
    }
    let begun = !matches!(phase, Phase::Scheduled | Phase::Prequeue);
    if begun && after.draw_at > before.draw_at.max(now) {
        fixed.push("draw_at");
    }
    if fixed.is_empty() {
        return Ok(());
    }
    Err(Problem::new(
        409,
        "draw_fixed",
        "That time has passed and cannot move later",
        format!("What {} stands for has happened already: opens_at can move later until the lobby opens, draw_at until the draw or the sale begins. Nothing was changed. To let nobody in for a while, PATCH paused.", fixed.join(", ")),
    )
    .with("fields", fixed))
}

/// What changed, as `{field: [before, after]}`.
fn differences(before: &Value, after: &Value) -> Value {
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

fn read_codes(list: &str) -> Result<Vec<Digest>, Problem> {
    let mut codes = Vec::new();
    for (at, line) in list.lines().enumerate() {
        let code = line.trim();
        if code.is_empty() {
            continue;
        }
        if code.len() > CODE_BYTES_MAX || code.chars().any(char::is_control) {
            return Err(Problem::field(
                "codes",
                format!("Line {} is no code: at most {CODE_BYTES_MAX} bytes, no control characters. Nothing was changed.", at + 1),
            )
            .with("line", at + 1));
        }
        codes.push(Digest::of(code.as_bytes()));
    }
    codes.sort_unstable();
    codes.dedup();
    if codes.is_empty() || codes.len() > CODES_MAX {
        return Err(Problem::field(
            "codes",
            format!("Send between 1 and {CODES_MAX} codes, one a line. Nothing was changed."),
        ));
    }
    Ok(codes)
}

fn draw_fixed(fields: &[&'static str]) -> Problem {
    Problem::new(
        409,
        "draw_fixed",
        "This bears on the draw and can no longer change",
        format!("Visitors have joined under the rules as they stand, so {} cannot change any more. Nothing was changed. A later draw_at is possible until the freeze; it is public and logged.", fields.join(", ")),
    )
    .with("fields", fields)
}

fn nothing_to_change() -> Problem {
    Problem::new(
        422,
        "invalid_field",
        "There is no setting in this",
        format!(
            "The body names nothing to change. Nothing was changed. Send one or more of {}.",
            LIVE.join(", ")
        ),
    )
    .with("fields", LIVE)
}

fn built_in() -> Problem {
    Problem::new(
        409,
        "room_built_in",
        "The built-in room cannot be replaced",
        "\"everyday\" covers whatever no other room names. Nothing was changed. Make a room of your own, or PATCH its live settings.",
    )
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "it stands where errors are mapped"
)]
fn unanswered(error: Failure) -> Problem {
    Problem::from(&error)
}

fn conflict() -> Problem {
    Problem::new(
        409,
        "changed_meanwhile",
        "Somebody else changed the room",
        "The room was changed while this call was on its way. Nothing of this call was done. Read the room again, and send it again.",
    )
}
