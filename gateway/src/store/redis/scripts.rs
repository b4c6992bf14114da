//! Every script of the line, with its arguments by their names. Libraries lie in `scripts/lib`.

use fairgate_redis::{redis_scripts, script_family, script_record};
use fairgate_rules::cohort::{PAST_KEPT, SHOW_UP_MIN, SHOW_UP_WEIGHT};
use fairgate_rules::pace::VISITOR_U;

script_family! {
    /// What every script is told that needs the room to live.
    pub struct LiveRoomFamily = "room_" (LIFE) [base, live]
    where {
        SHOW_UP_WEIGHT = SHOW_UP_WEIGHT,
        SHOW_UP_MIN = SHOW_UP_MIN,
        PAST_KEPT = PAST_KEPT,
        VISITOR_U = VISITOR_U,
    }
    {
        /// The life that the caller knows from the ledger.
        incarnation: u64,
    }
}

script_family! {
    /// What every script is told that fills a room in.
    pub struct RoomBuildFamily = "room_" (LIFE) [base, building]
    where {}
    {
        /// The node that fills it in.
        builder: String,
        /// The ledger's time.
        now_ms: i64,
    }
}

script_family! {
    /// Scripts for a room that may live or not are told nothing first.
    pub struct AnyRoomFamily = "room_" (LIFE) [base]
    where {}
    {}
}

script_record! {
    /// A place as its visitor shows it.
    pub struct PresentedPlaceRecord {
        number: u64,
        holder: [u8; 32],
        /// When it was given, as 8 bytes,
        written: [u8; 8],
        code: Option<[u8; 32]>,
        /// and the same in milliseconds.
        at_ms: i64,
    }
}

script_record! {
    /// Ranks that were called.
    pub struct CalledRanksRecord {
        from: u64,
        to: u64,
        at_ms: i64,
        people: u64,
        /// A bit for each rank that was away, from the byte of `from` on.
        away: Vec<u8>,
    }
}

script_record! {
    /// A place of the ledger.
    pub struct FilledPlace {
        number: u64,
        holder: [u8; 32],
        /// When it was given, as 8 bytes.
        written: [u8; 8],
        living: bool,
        done: bool,
        code: Option<[u8; 32]>,
    }
}

script_record! {
    /// A code and the number that used it.
    pub struct FilledCode {
        code: [u8; 32],
        number: Option<u64>,
    }
}

script_record! {
    /// A pass and the holder who left with it.
    pub struct FilledPass {
        number: u64,
        expires_s: i64,
        left_by: Option<[u8; 32]>,
    }
}

redis_scripts! {
    family LiveRoomFamily, all living_scripts;

    /// Reads the numbers at which nobody stands, where they changed.
    pub struct ReadAbsentScript = absent [] {
        known_version: u64,
    }

    /// Reads who was not seen for a while.
    pub struct ReadAwayScript = away [] {
        now_s: i64,
        away_after_s: i64,
        [slots]: i64,
    }

    /// Takes places back.
    pub struct BringBackScript = bring_back [leaves, place, absence, give_up, shown] {
        [places]: PresentedPlaceRecord,
    }

    /// Says how the life stands.
    pub struct CheckLifeScript = check [] {}

    /// Notes that a claim was written.
    pub struct NotePassClaimScript = claimed [leaves, absence] {
        number: u64,
        reserved_rank: Option<u64>,
        expires_s: i64,
    }

    /// Trims the feed.
    pub struct TrimLineFeedScript = copied [leaves, absence, give_up] {
        /// The first entry that is not in the ledger yet.
        first_left: String,
        [nobodys]: u64,
    }

    /// Reads the figures.
    pub struct RoomCountsScript = counts [counts] {
        now_s: i64,
    }

    /// Notes orders that were ticketed.
    pub struct MarkTicketedScript = done [] {
        cursor: u64,
        [holders]: [u8; 32],
    }

    /// Decides whether somebody may claim.
    pub struct AdmitClaimantScript = enter [counts, cohorts, show_up, entering] {
        number: u64,
        rank: u64,
        released: u64,
        max_inside: u64,
        has_line: bool,
        now_ms: i64,
        lapses_ms: i64,
    }

    /// Reads what a tick starts from.
    pub struct TickFiguresScript = figures [counts, show_up, entering] {
        now_ms: i64,
        claim_ms: i64,
        node: String,
        measured: String,
        [ends_s]: i64,
    }

    /// Fixes the numbers so far.
    pub struct FreezeLineScript = freeze [] {}

    /// Lets joins wait for new codes.
    pub struct PauseJoinsScript = hold_codes [] {
        now_ms: i64,
    }

    /// Gives the next number.
    pub struct JoinLineScript = join [leaves, place] {
        holder: [u8; 32],
        /// `now_ms` as 8 bytes.
        written: [u8; 8],
        code: Option<[u8; 32]>,
        needs_code: bool,
        slot: i64,
        now_ms: i64,
        slot_lives_ms: u64,
    }

    /// Gives a place up.
    pub struct LeaveLineScript = leave [leaves, absence, give_up, cohorts] {
        number: u64,
        rank: Option<u64>,
    }

    /// Reads who is about to leave.
    pub struct FindLeaverScript = leaving [leaves] {
        number: u64,
    }

    /// Finds the place of a holder.
    pub struct FindPlaceScript = place_of [leaves, place] {
        holder: [u8; 32],
    }

    /// Puts codes in place.
    pub struct PutCodesScript = put_codes [] {
        is_first: bool,
        is_last: bool,
        [codes]: [u8; 32],
    }

    /// Lets numbers be given up to a ceiling.
    pub struct RaiseCeilingScript = raise [] {
        ceiling: u64,
    }

    /// Notes who was here.
    pub struct NoteSeenScript = seen [] {
        slot: i64,
        slot_lives_ms: u64,
        [numbers]: u64,
    }

    /// Finds out whose a number is.
    pub struct CheckPlaceScript = standing [leaves, place, absence, give_up, shown] {
        ..shown: PresentedPlaceRecord,
    }

    /// Reads the feed for the node that copies it.
    pub struct ReadLineFeedScript = take [] {
        node: String,
        alone_ms: u64,
        entries_max: u32,
        /// Whether it is read whoever else copies.
        must: bool,
    }

    /// Ends a tick.
    pub struct EndTickScript = ticked [cohorts] {
        /// Milliseconds, both.
        counted_since: i64,
        counted_until: i64,
        owed_u: u64,
        credit_u: u64,
        per_s_u: u64,
        node: String,
        row_released: u64,
        row_remainder_u: u64,
        row_ticked_at_ms: i64,
        row_memory: String,
        memory: String,
        [called]: CalledRanksRecord,
    }

    /// Notes that a claim could not be written.
    pub struct UndoAdmissionScript = turned_back [cohorts] {
        rank: u64,
        is_first: bool,
    }
}

redis_scripts! {
    family RoomBuildFamily, all building_scripts;

    /// Fills in places.
    pub struct FillPlacesScript = fill [leaves] {
        [places]: FilledPlace,
    }

    /// Fills in codes.
    pub struct FillCodesScript = fill_codes [] {
        [codes]: FilledCode,
    }

    /// Fills in passes.
    pub struct FillPassesScript = fill_passes [absence] {
        [passes]: FilledPass,
    }

    /// Lets the room live.
    pub struct FinishRoomScript = finish [] {
        incarnation: u64,
        first: u64,
        ceiling: u64,
        frozen: Option<u64>,
        finished: u64,
        released: u64,
        /// A bit for each number at which nobody stands.
        absent: Vec<u8>,
        /// How many of those the ledger knows nobody at.
        void: u64,
    }

    /// Says that the builder is at it.
    pub struct BuilderAliveScript = still [] {}
}

redis_scripts! {
    family AnyRoomFamily, all other_scripts;

    /// Goes on with a life whose history of data only got another name.
    pub struct AdoptLifeScript = adopt [] {
        incarnation: u64,
    }

    /// Empties a room for a builder.
    pub struct BeginRoomScript = begin [leaves] {
        incarnation: u64,
        builder: String,
        now_ms: i64,
        silent_ms: i64,
    }

    /// Asks whether somebody else fills the room in.
    pub struct FindBuilderScript = builds [] {
        incarnation: u64,
        builder: String,
        now_ms: i64,
        silent_ms: i64,
    }

    /// Reads what the life before left in the feed.
    pub struct SalvageFeedScript = salvage [] {
        from: String,
        entries_max: u32,
    }
}

#[cfg(test)]
mod tests {
    use super::{building_scripts, living_scripts, other_scripts};

    #[test]
    fn luacheck_finds_nothing_in_the_scripts_of_rooms() {
        let scripts = [living_scripts(), building_scripts(), other_scripts()].concat();
        let texts = scripts
            .iter()
            .map(|script| (script.name(), script.source()));
        fairgate_servers::check_lua("the Lua scripts of rooms", texts);
    }
}
