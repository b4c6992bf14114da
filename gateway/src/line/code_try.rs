//! Joins with a code. While many wrong codes are shown in a room, codes are looked at one after
//! another, and a try waits for its turn.

use fairgate_rules::join_codes::JoinCode;

use super::WaitingLine;
use super::join::JoinRefusal;
use crate::guard::{AttemptKind, GuardRefusal};
use crate::room::Room;
use crate::store::{Place, ShownCode, StoreJoinRefusal, StoreJoinRequest};
use crate::web::ClientNetwork;

/// In how many seconds a try is made again whose turn did not come. It keeps its turn.
const TRIED_AGAIN_S: u64 = 1;

impl WaitingLine {
    /// Joins with the code that the visitor typed.
    ///
    /// # Errors
    /// Returns what the store refuses, or [`GuardRefusal::CodesPaused`] if the code was not looked
    /// at.
    pub(super) async fn join_with_code(
        &self,
        room: &Room,
        entrant: StoreJoinRequest,
        typed: &str,
        network: ClientNetwork,
    ) -> Result<Place, JoinRefusal> {
        let code = JoinCode::of_typed(typed);
        let networks = network.with_wider();
        let tried = room.code_turns().begin(networks, code.normal, entrant.now);
        loop {
            let Some(turn) = tried.turn().await else {
                metrics::counter!("fairgate_codes_unread_total", "room" => room.id().to_owned())
                    .increment(1);
                let wait_s = TRIED_AGAIN_S;
                return Err(GuardRefusal::CodesPaused { wait_s }.into());
            };
            // The try may have waited, and the budget counts by the time.
            let now = self.rooms.now_ms();
            let entrant = StoreJoinRequest { now, ..entrant };
            let joined = self.look_up(room, entrant, code, tried.kept()).await;
            match &joined {
                Err(StoreJoinRefusal::CodesPaused(paused)) => {
                    tried.note_paused(paused.wait_ms, paused.recent, now);
                    drop(turn);
                    continue;
                }
                Err(StoreJoinRefusal::CodeInvalid { recent }) => {
                    tried.note_wrong(*recent, now);
                    self.note_wrong_attempt(network, AttemptKind::Code);
                }
                _ => tried.note_not_wrong(),
            }
            return joined.map_err(JoinRefusal::Line);
        }
    }

    /// Looks a code up, and joins with it. A code that was stored before codes had a normal form is
    /// found as it was typed.
    async fn look_up(
        &self,
        room: &Room,
        entrant: StoreJoinRequest,
        code: JoinCode,
        kept: i64,
    ) -> Result<Place, StoreJoinRefusal> {
        let mut digests = code.digests().peekable();
        let mut joined = Err(StoreJoinRefusal::CodeInvalid { recent: 0 });
        while let Some(digest) = digests.next() {
            let shown = ShownCode {
                digest,
                is_counted: digests.peek().is_none(),
                kept,
            };
            let entrant = StoreJoinRequest {
                code: Some(shown),
                ..entrant
            };
            joined = self.rooms.store().join(room.id(), entrant).await;
            if !matches!(joined, Err(StoreJoinRefusal::CodeInvalid { .. })) {
                break;
            }
        }
        joined
    }
}
