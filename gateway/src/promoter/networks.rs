//! Replaces a room's lists of networks: those that may not join, and those that pay nothing. The
//! lists are stored with the room, so every node follows a change within a second.

use fairgate_rules::network_lists::{NetworkLists, NetworkListsInput};
use serde_json::json;

use super::controls::{TRIES_MAX, differences};
use super::{PromoterControls, RoomChangeRefusal};
use crate::room::Room;

impl PromoterControls {
    /// Replaces both lists of a room, and returns them as they are stored.
    ///
    /// # Errors
    /// Fails if an entry is not valid, or if there is no such room.
    pub async fn put_networks(
        &self,
        id: &str,
        input: &NetworkListsInput,
    ) -> Result<NetworkLists, RoomChangeRefusal> {
        let lists = NetworkLists::from_input(input)?;
        let room = self.rooms.get(id)?;
        for _ in 0..TRIES_MAX {
            if self.put_networks_once(&room, &lists).await? {
                return Ok(lists);
            }
        }
        Err(RoomChangeRefusal::ChangedMeanwhile)
    }

    /// Tries the change once. Returns whether the room has the lists now.
    async fn put_networks_once(
        &self,
        room: &Room,
        lists: &NetworkLists,
    ) -> Result<bool, RoomChangeRefusal> {
        let row = room.row();
        if row.facts.networks == *lists {
            return Ok(true);
        }
        let detail = differences(&json!(row.facts.networks), &json!(lists));
        let entry = self.audit_entry("networks_replaced", detail);
        let mut facts = row.facts.clone();
        facts.networks = lists.clone();
        let new_state = (row.document.clone(), facts);
        let changed = self.write_change(room, &row, new_state, &[], entry).await?;
        Ok(changed.is_some())
    }
}
