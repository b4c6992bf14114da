//! Declares every script of the store, with its arguments by name. `scripts/lib` has the code that
//! several scripts share. Each script gets only the libraries that it uses, because Redis defines
//! their functions again at every call.

use fairgate_redis::{redis_scripts, script_family, script_record};

use super::keys::HoldIdTail;

script_family! {
    /// The first arguments of every script of a show.
    pub struct ShowScriptContext = "show_" (META) [base]
    where {}
    {
        /// The life of the show that the caller knows. `None` for a call in the current life.
        life: Option<u64>,
        /// The ledger's time by the caller's clock, in milliseconds since the epoch.
        caller_ms: i64,
        /// How much the difference between Redis's clock and the ledger's clock may change after
        /// the life became live, in milliseconds.
        clock_off_ms_max: i64,
    }
}

script_record! {
    /// A visitor's hold, and the purposes that the hold may have.
    pub struct OwnHoldArguments {
        id: HoldIdTail,
        visitor: [u8; 32],
        /// The words of the purposes, separated by commas.
        purposes: String,
    }
}

script_record! {
    /// A new hold.
    pub struct NewHoldArguments {
        id: HoldIdTail,
        visitor: [u8; 32],
        /// The most seats that the visitor may have.
        limit: u32,
        plan: u32,
        items: Vec<u8>,
        room: String,
        side_by_side: bool,
        expires_ms: i64,
        lock_until_ms: i64,
        extensions: u32,
        purpose: &'static str,
        terms: u32,
    }
}

script_record! {
    /// A hold of a pending order, to be written into a life that is not live yet.
    pub struct PendingOrderHold {
        id: HoldIdTail,
        visitor: [u8; 32],
        plan: u32,
        items: Vec<u8>,
        room: String,
        side_by_side: bool,
        expires_ms: i64,
        lock_until_ms: i64,
        extensions: u32,
        stage: &'static str,
        purpose: &'static str,
        terms: u32,
    }
}

script_record! {
    /// How many seats a visitor has bought.
    pub struct BoughtSeatCount {
        visitor: [u8; 32],
        seats: u64,
    }
}

script_record! {
    /// A row of the seat outbox.
    pub struct DeliveredSeatRow {
        seq: u64,
        kind: &'static str,
        id: HoldIdTail,
        visitor: [u8; 32],
        items: Vec<u8>,
    }
}

redis_scripts! {
    family ShowScriptContext, all show_scripts;

    /// Takes all cells of a hold, or none.
    pub struct TakeHoldScript = take_hold [enter, tell, lock, hold_fields, stored_hold, admit] {
        ..hold: NewHoldArguments,
    }

    /// Takes all cells of a hold, or none. Cells that are kept for the waitlist count as free.
    pub struct OfferHoldScript = offer_hold [enter, tell, lock, kept_cells, pool, hold_fields, stored_hold, admit] {
        ..hold: NewHoldArguments,
    }

    /// Turns an offer of the waitlist into a basket.
    pub struct AcceptOfferScript = accept_offer [enter, tell, lock, hold_fields, stored_hold, free, regain, own] {
        /// The most seats that the visitor may have.
        limit: u32,
        expires_ms: i64,
        lock_until_ms: i64,
        ..own: OwnHoldArguments,
    }

    /// Reads a hold.
    pub struct ReadHoldScript = read_hold [enter, hold_fields, stored_hold, own] {
        ..own: OwnHoldArguments,
    }

    /// Reads all holds of a visitor.
    pub struct ReadOwnHoldsScript = read_own_holds [enter, hold_fields, stored_hold] {
        visitor: [u8; 32],
    }

    /// Gives some seats of a basket back and takes others.
    pub struct ChangeHoldScript = change_hold [enter, tell, lock, kept_cells, hold_fields, stored_hold, free, own] {
        limit: u32,
        /// Items to take.
        add: Vec<u8>,
        /// Seats to give back, 4 bytes each.
        remove: Vec<u8>,
        side_by_side: bool,
        /// A digest of `add` and `remove`.
        wish: Vec<u8>,
        ..own: OwnHoldArguments,
    }

    /// Frees a hold that is not locked for an order.
    pub struct ReleaseHoldScript = release_hold [enter, tell, lock, kept_cells, hold_fields, stored_hold, free, drop] {
        /// How long the hold is remembered for a repeated call, in milliseconds.
        remembered_ms: i64,
        ..own: OwnHoldArguments,
    }

    /// Moves the deadlines of a basket.
    pub struct ExtendHoldScript = extend_hold [enter, tell, lock, hold_fields, stored_hold, free, own] {
        call_id: [u8; 16],
        expires_ms: i64,
        lock_until_ms: i64,
        ..own: OwnHoldArguments,
    }

    /// Locks a hold's cells for the order that is about to claim them.
    pub struct SecureHoldScript = secure_hold [enter, tell, lock, hold_fields, stored_hold, free, regain, own] {
        lock_until_ms: i64,
        ..own: OwnHoldArguments,
    }

    /// Turns a secured hold into a basket again.
    pub struct UnsecureHoldScript = unsecure_hold [enter, tell, lock, hold_fields, stored_hold, free] {
        id: HoldIdTail,
        lock_until_ms: i64,
        /// The deadline that the undone attempt had set for the lock.
        secured_until_ms: i64,
    }

    /// Prolongs the lock of an order whose claim is still in the ledger.
    pub struct ProlongHoldScript = prolong_hold [enter, tell, lock, kept_cells, pool, hold_fields, stored_hold, free] {
        id: HoldIdTail,
        visitor: [u8; 32],
        plan: u32,
        items: Vec<u8>,
        room: String,
        side_by_side: bool,
        expires_ms: i64,
        lock_until_ms: i64,
        purpose: &'static str,
        terms: u32,
        /// The newest row of the seat outbox when the claim was read.
        cursor: u64,
        /// A lock is prolonged only if its deadline moves by this much or more, in milliseconds.
        gain_ms_min: i64,
    }

    /// Carries out rows of the seat outbox.
    pub struct DeliverRowsScript = deliver_rows [enter, tell, lock, kept_cells, hold_fields, stored_hold, free] {
        [rows]: DeliveredSeatRow,
    }

    /// Frees overdue holds, and warns the owners of baskets that end soon.
    pub struct SweepHoldsScript = sweep_holds [enter, tell, lock, kept_cells, pool, hold_fields, stored_hold, free, drop] {
        holds_max: u64,
    }

    /// Keeps freed cells for the waitlist until `until_ms`. With 0, frees the kept cells.
    pub struct KeepFreedCellsScript = keep_freed_cells [enter, tell, lock, kept_cells, pool] {
        until_ms: i64,
    }

    /// Frees cells that were kept for the waitlist.
    pub struct FreeKeptCellsScript = free_kept_cells [enter, tell, lock, kept_cells, pool] {
        /// The cells, 4 bytes each.
        packed_cells: Vec<u8>,
    }

    /// Reads the entries of the feed after a point.
    pub struct ReadShowFeedScript = read_show_feed [enter] {
        counter: u64,
        /// The sub-counter.
        sub: u64,
        entries_max: u64,
    }

    /// Reads the whole show.
    pub struct ShowSnapshotScript = show_snapshot [enter] {}

    /// Begins a life.
    pub struct BeginLifeScript = begin_life [hold_fields] {
        /// Whether the life may begin although no life is live.
        anew: bool,
        /// Whether holds on an older plan end.
        ends_older: bool,
        seats: u32,
        legs: u16,
        plan: u32,
        edition: u64,
        [known]: HoldIdTail,
    }

    /// Writes a part of a view into a life that is not live yet.
    pub struct FillViewScript = fill_view [building] {
        view: &'static str,
        /// The offset in the view, in bytes.
        offset: u64,
        bytes: Vec<u8>,
    }

    /// Writes how many seats visitors have bought.
    pub struct FillBuyersScript = fill_buyers [building] {
        [buyers]: BoughtSeatCount,
    }

    /// Writes the holds of pending orders, with their locks.
    pub struct FillHoldScript = fill_hold [building, hold_fields] {
        [holds]: PendingOrderHold,
    }

    /// Makes a filled life live.
    pub struct GoLiveScript = go_live [building] {
        /// The newest row of the seat outbox that the life contains.
        cursor: u64,
        /// How many milliseconds are added to the time that Redis's clock shows: 0, except in
        /// tests.
        ahead_ms: i64,
    }

    /// Closes a show, because the ledger has deleted rows of the seat outbox that the show never
    /// got. Does nothing if the show's cursor is no longer `cursor`.
    pub struct AbandonShowScript = abandon_show [enter] {
        cursor: u64,
    }

    /// Closes a show for which Redis went back to older data.
    pub struct CloseRegressedScript = close_regressed [] {
        counter: u64,
        /// The sub-counter.
        sub: u64,
    }

    /// Deletes holds of a life that has ended, and the locks of these holds.
    pub struct DeleteOldLifeScript = delete_old_life [hold_fields] {
        holds_max: u32,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn luacheck_finds_nothing_in_the_scripts_of_shows() {
        let scripts = super::show_scripts();
        let texts = scripts
            .iter()
            .map(|script| (script.name(), script.source()));
        fairgate_servers::check_lua("the Lua scripts of shows", texts);
    }
    #[test]
    fn the_account_of_the_readme_may_call_every_command_of_the_scripts_of_shows() {
        let scripts = super::show_scripts();
        fairgate_servers::check_script_rights(scripts.iter().map(|script| script.source()));
    }
}
