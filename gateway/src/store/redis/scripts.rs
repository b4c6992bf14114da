//! Declares every script of the line with the names of its arguments. The libraries that scripts
//! share are in `scripts/lib`.

use fairgate_pass::LEEWAY_S;
use fairgate_redis::{redis_scripts, script_family, script_record};
use fairgate_rules::entry_door::{ASKS_AGAIN_MS, ASKS_LATE_MS, LOOKS_FOR_SPACE_MS};
use fairgate_rules::entry_gate::WINDOW_S;
use fairgate_rules::pace::VISITOR_U;
use fairgate_rules::recent_places::{RECENT_SLICE_MS, RECENT_SLICES};
use fairgate_rules::release_cohorts::{PAST_KEPT, SHOW_UP_MIN, SHOW_UP_WEIGHT, TICK_MS};
use fairgate_rules::wrong_codes::{
    WRONG_AT_ONCE, WRONG_EVERY_MS, WRONG_KNOWN_MS, WRONG_SLICE_MS, WRONG_SLICES,
};

script_family! {
    /// The first arguments of every script that runs only while the room lives.
    pub struct LiveRoomFamily = "room_" (LIFE) [base, live]
    where {
        SHOW_UP_WEIGHT = SHOW_UP_WEIGHT,
        SHOW_UP_MIN = SHOW_UP_MIN,
        PAST_KEPT = PAST_KEPT,
        GATE_WINDOW_S = WINDOW_S,
        ASKS_AGAIN_MS = ASKS_AGAIN_MS,
        ASKS_LATE_MS = ASKS_LATE_MS,
        LOOKS_FOR_SPACE_MS = LOOKS_FOR_SPACE_MS,
        TICK_MS = TICK_MS,
        VISITOR_U = VISITOR_U,
        LEEWAY_S = LEEWAY_S,
        RECENT_SLICE_MS = RECENT_SLICE_MS,
        RECENT_SLICES = RECENT_SLICES,
        WRONG_AT_ONCE = WRONG_AT_ONCE,
        WRONG_EVERY_MS = WRONG_EVERY_MS,
        WRONG_KNOWN_MS = WRONG_KNOWN_MS,
        WRONG_SLICE_MS = WRONG_SLICE_MS,
        WRONG_SLICES = WRONG_SLICES,
    }
    {
        /// The life that the caller knows from the ledger.
        incarnation: u64,
    }
}

script_family! {
    /// The first arguments of every script that fills a room in.
    pub struct RoomBuildFamily = "room_" (LIFE) [base, building]
    where {
        LEEWAY_S = LEEWAY_S,
        RECENT_SLICE_MS = RECENT_SLICE_MS,
        RECENT_SLICES = RECENT_SLICES,
    }
    {
        /// The node that fills the room in.
        builder: String,
        /// The time by the ledger's clock.
        now_ms: i64,
    }
}

script_family! {
    /// The family of scripts that run whether or not the room lives. They have no common arguments.
    pub struct AnyRoomFamily = "room_" (LIFE) [base]
    where {
        RECENT_SLICE_MS = RECENT_SLICE_MS,
        RECENT_SLICES = RECENT_SLICES,
    }
    {}
}

script_record! {
    /// A signed place as its visitor shows it.
    pub struct PresentedPlaceRecord {
        number: u64,
        holder: [u8; 32],
        /// When the place was given, as 8 bytes.
        written: [u8; 8],
        code: Option<[u8; 32]>,
        /// When the place was given, in milliseconds.
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
        /// One bit for each rank, set if its visitor was away. The first byte has the bit of
        /// `from`.
        away: Vec<u8>,
    }
}

script_record! {
    /// A network and its bound. A network that has this many places gets no more. Of a `recent`
    /// network only the recent places count.
    pub struct LimitedNetworkRecord {
        key: [u8; 8],
        bound: u64,
        recent: bool,
    }
}

script_record! {
    /// A place that the promoter ended.
    pub struct EndedPlaceRecord {
        number: u64,
        rank: Option<u64>,
        /// From when on no node takes the pass of this number.
        stopped_s: i64,
    }
}

script_record! {
    /// A visitor inside, and when the visitor did something.
    pub struct ActiveVisitorRecord {
        number: u64,
        at_s: i64,
    }
}

script_record! {
    /// A visit that ended before its pass ran out.
    pub struct EndedVisitRecord {
        number: u64,
        /// When the pass would have run out.
        pass_expires_s: i64,
        ended_s: i64,
        /// From when on no node takes the pass.
        stopped_s: i64,
    }
}

script_record! {
    /// A place that the ledger has.
    pub struct FilledPlace {
        number: u64,
        holder: [u8; 32],
        /// When the place was given, as 8 bytes.
        written: [u8; 8],
        living: bool,
        done: bool,
        code: Option<[u8; 32]>,
        /// When the place was given, in milliseconds.
        at_ms: i64,
        /// The keys of the place's networks, 8 bytes each.
        networks: Vec<u8>,
        /// The keys of the networks of which only the recent places count.
        recent_networks: Vec<u8>,
    }
}

script_record! {
    /// A code, and the number that used it.
    pub struct FilledCode {
        code: [u8; 32],
        number: Option<u64>,
    }
}

script_record! {
    /// A pass. `left_by` is its holder, if the holder gave up the place after claiming the pass.
    pub struct FilledPass {
        number: u64,
        expires_s: i64,
        left_by: Option<[u8; 32]>,
        /// Below which rank all are called before this number is called again, if that is known.
        called_behind: Option<u64>,
    }
}

redis_scripts! {
    family LiveRoomFamily, all living_scripts;

    /// Reads the numbers without a visitor, if they changed.
    pub struct ReadAbsentScript = read_absent [] {
        known_version: u64,
    }

    /// Reads which visitors were not seen for a while.
    pub struct ReadAwayScript = read_away [] {
        now_s: i64,
        away_after_s: i64,
        is_ordered: bool,
        [slots]: i64,
    }

    /// Restores lost places.
    pub struct BringBackScript = bring_back [number_leaves, visits, place, mark_absent, give_up, line_feed, shown] {
        [places]: PresentedPlaceRecord,
    }

    /// Reads the next number, the ceiling and other figures of the room's life.
    pub struct CheckLifeScript = check_life [] {}

    /// Notes that a claim was written.
    pub struct NotePassClaimScript = note_pass_claim [number_leaves, mark_absent, inside] {
        number: u64,
        reserved_rank: Option<u64>,
        expires_s: i64,
        /// When the claim was written.
        at_s: i64,
    }

    /// Removes from the feed the entries that the ledger has.
    pub struct TrimLineFeedScript = trim_line_feed [number_leaves, mark_absent, give_up] {
        /// The id of the first entry that the ledger does not have yet.
        first_left: String,
        [nobodys]: u64,
    }

    /// Counts the room's visitors.
    pub struct RoomCountsScript = room_counts [visits, counts] {
        now_s: i64,
    }

    /// Notes that these holders have ticketed orders.
    pub struct MarkTicketedScript = mark_ticketed [] {
        cursor: u64,
        [holders]: [u8; 32],
    }

    /// Decides whether a visitor may claim a pass now.
    pub struct AdmitClaimantScript = admit_claimant [visits, counts, cohorts, show_up, entering, gate, door, networks, toll] {
        number: u64,
        rank: u64,
        released: u64,
        max_inside: u64,
        has_line: bool,
        idle_ms: i64,
        now_ms: i64,
        lapses_ms: i64,
        solution: Option<[u8; 16]>,
        solution_ends_ms: i64,
        [networks]: LimitedNetworkRecord,
    }

    /// Reads the figures that a tick starts from.
    pub struct TickFiguresScript = tick_figures [visits, counts, cohorts, show_up, entering, door] {
        now_ms: i64,
        claim_ms: i64,
        node: String,
        measured: String,
        [ends_s]: i64,
    }

    /// Freezes the line.
    pub struct FreezeLineScript = freeze_line [] {}

    /// Pauses joins until new codes are written.
    pub struct PauseJoinsScript = pause_joins [] {
        now_ms: i64,
    }

    /// Gives the holder the next number, or returns the place that the holder has.
    pub struct JoinLineScript = join_line [number_leaves, visits, place, networks, toll, wrong_codes, line_feed] {
        holder: [u8; 32],
        /// `now_ms` as 8 bytes.
        written: [u8; 8],
        code: Option<[u8; 32]>,
        /// Whether a wrong code uses up a try of the budget.
        is_counted: bool,
        /// How many tries of the budget are kept for others.
        kept: i64,
        needs_code: bool,
        slot: i64,
        now_ms: i64,
        slot_lives_ms: u64,
        solution: Option<[u8; 16]>,
        solution_ends_ms: i64,
        [networks]: LimitedNetworkRecord,
    }

    /// Counts the places of networks.
    pub struct NetworkPlacesScript = network_places [networks] {
        now_ms: i64,
        [networks]: LimitedNetworkRecord,
    }

    /// Forgets the networks of places. With `since`, keeps the networks of the day `since` and of
    /// later days.
    pub struct ForgetNetworksScript = forget_networks [networks] {
        since: Option<u64>,
        /// The epoch of networks that count as long as their room lasts.
        lasting: u64,
    }

    /// Reserves a wait after the network's last wait, unless the visitor would wait too long.
    pub struct ReserveWaitScript = reserve_wait [] {
        network: [u8; 8],
        takes_ms: i64,
        longest_ms: i64,
        now_ms: i64,
    }

    /// Uses up an id that counts only once.
    pub struct UseOnceScript = use_once [] {
        id: [u8; 16],
        lives_ms: i64,
    }

    /// Notes when the place of a number was brought to another device.
    pub struct NoteMovedScript = note_moved [] {
        number: u64,
        at_ms: i64,
    }

    /// Returns when the place of a number was last brought to another device.
    pub struct FindMovedScript = find_moved [] {
        number: u64,
    }

    /// Stores the wishes of a number.
    pub struct SetWishesScript = set_wishes [] {
        number: u64,
        wishes: String,
    }

    /// Returns the wishes of a number.
    pub struct FindWishesScript = find_wishes [] {
        number: u64,
    }

    /// Reads the wishes that changed after a version.
    pub struct ChangedWishesScript = changed_wishes [] {
        since: u64,
        most: u64,
    }

    /// Gives a place up.
    pub struct LeaveLineScript = leave_line [number_leaves, mark_absent, give_up, cohorts, inside] {
        number: u64,
        rank: Option<u64>,
        /// From when on no node takes the pass of this number.
        stopped_s: i64,
    }

    /// Takes numbers from their visitors.
    pub struct EndPlacesScript = end_places [number_leaves, mark_absent, give_up, cohorts, inside] {
        [places]: EndedPlaceRecord,
    }

    /// Reads what the ledger must record of a visitor who is about to leave.
    pub struct FindLeaverScript = find_leaver [number_leaves] {
        number: u64,
    }

    /// Finds the place of a holder.
    pub struct FindPlaceScript = find_place [number_leaves, visits, place] {
        holder: [u8; 32],
    }

    /// Writes a batch of new codes. The last batch ends the pause of the joins.
    pub struct PutCodesScript = put_codes [] {
        is_first: bool,
        is_last: bool,
        [codes]: [u8; 32],
    }

    /// Allows the numbers below a ceiling to be given.
    pub struct RaiseCeilingScript = raise_ceiling [] {
        ceiling: u64,
    }

    /// Notes which visitors were here.
    pub struct NoteSeenScript = note_seen [] {
        slot: i64,
        slot_lives_ms: u64,
        [numbers]: u64,
    }

    /// Returns which of these numbers were seen in the slots from `first_slot` to `last_slot`.
    pub struct FindSeenScript = find_seen [] {
        first_slot: i64,
        last_slot: i64,
        [numbers]: u64,
    }

    /// Notes a basket of a number.
    pub struct NoteBasketScript = note_basket [] {
        number: u64,
        hold: String,
        at_ms: i64,
        known_ms: i64,
    }

    /// Notes that the visitor of a number fills in the checkout of its baskets.
    pub struct NoteCheckoutScript = note_checkout [] {
        number: u64,
        at_ms: i64,
    }

    /// Returns the baskets of a number.
    pub struct FindBasketsScript = find_baskets [] {
        number: u64,
    }

    /// Notes when visitors inside did something.
    pub struct NoteActiveScript = note_active [] {
        [active]: ActiveVisitorRecord,
    }

    /// Returns the visitors inside who have done nothing since a time.
    pub struct FindIdleScript = find_idle [number_leaves] {
        until_s: i64,
        most: u32,
    }

    /// Ends visits before their passes run out.
    pub struct EndVisitsScript = end_visits [visits, inside] {
        [visits]: EndedVisitRecord,
    }

    /// Notes that the visit of a number does not count.
    pub struct ExcuseVisitScript = excuse_visit [] {
        number: u64,
    }

    /// Counts a basket that has lapsed.
    pub struct NoteLapseScript = note_lapse [] {
        holder: [u8; 32],
        hold: String,
        known_ms: i64,
    }

    /// Returns the status of a signed place, and restores the place if it was lost.
    pub struct CheckPlaceScript = check_place [number_leaves, visits, place, mark_absent, give_up, line_feed, shown] {
        ..shown: PresentedPlaceRecord,
    }

    /// Reads the feed for the node that copies it.
    pub struct ReadLineFeedScript = read_line_feed [] {
        node: String,
        alone_ms: u64,
        entries_max: u32,
        /// Whether to read the feed even while another node copies.
        must: bool,
    }

    /// Ends a tick.
    pub struct EndTickScript = end_tick [cohorts, gate] {
        /// `counted_since` and `counted_until` are milliseconds since the epoch.
        counted_since: i64,
        counted_until: i64,
        owed_u: u64,
        credit_u: u64,
        /// The pace in force; nothing in a room without a line.
        rate_u: Option<u64>,
        now_ms: i64,
        node: String,
        row_released: u64,
        row_remainder_u: u64,
        row_ticked_at_ms: i64,
        row_memory: String,
        memory: String,
        [called]: CalledRanksRecord,
    }

    /// Undoes an admission whose claim could not be written.
    pub struct UndoAdmissionScript = undo_admission [cohorts] {
        number: u64,
        rank: u64,
        is_first: bool,
    }
}

redis_scripts! {
    family RoomBuildFamily, all building_scripts;

    /// Fills in places.
    pub struct FillPlacesScript = fill_places [number_leaves, networks] {
        [places]: FilledPlace,
    }

    /// Fills in codes.
    pub struct FillCodesScript = fill_codes [] {
        [codes]: FilledCode,
    }

    /// Fills in passes.
    pub struct FillPassesScript = fill_passes [mark_absent, inside] {
        [passes]: FilledPass,
    }

    /// Completes the filling. From then on the room lives.
    pub struct FinishRoomScript = finish_room [] {
        incarnation: u64,
        first: u64,
        ceiling: u64,
        frozen: Option<u64>,
        finished: u64,
        released: u64,
        /// A bit for each number without a visitor.
        absent: Vec<u8>,
        /// How many of those numbers the ledger has not recorded.
        void: u64,
    }

    /// Reports that the builder is still working.
    pub struct BuilderAliveScript = builder_alive [] {}
}

redis_scripts! {
    family AnyRoomFamily, all other_scripts;

    /// Continues a life if only the `master_replid` of its server changed.
    pub struct AdoptLifeScript = adopt_life [] {
        incarnation: u64,
    }

    /// Empties a room for a builder.
    pub struct BeginRoomScript = begin_room [number_leaves, networks] {
        incarnation: u64,
        builder: String,
        now_ms: i64,
        silent_ms: i64,
    }

    /// Returns whether another node is filling the room in, and which numbers Redis may have given.
    pub struct FindBuilderScript = find_builder [] {
        incarnation: u64,
        builder: String,
        now_ms: i64,
        silent_ms: i64,
    }

    /// Reads the entries that the last life left in the feed.
    pub struct SalvageFeedScript = salvage_feed [] {
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
    #[test]
    fn the_account_of_the_readme_may_call_every_command_of_the_scripts_of_rooms() {
        let scripts = [living_scripts(), building_scripts(), other_scripts()].concat();
        fairgate_servers::check_script_rights(scripts.iter().map(|script| script.source()));
    }
}
