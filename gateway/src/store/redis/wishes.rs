//! Stores the wishes of a room's places, and reads which wishes changed.

use std::sync::Arc;

use fairgate_redis::{RedisCallError, RedisReply};

use super::caller::RoomScriptRunner;
use super::lives::RoomLifeReader;
use super::scripts::{ChangedWishesScript, FindWishesScript, SetWishesScript};
use crate::store::StoreFailure;
use crate::store::wishes::{CHANGES_MAX, WishChanges, WishCursor, WishList};

/// Runs the scripts of wishes.
pub struct WishKeeper {
    pub scripts: Arc<RoomScriptRunner>,
    pub lives: Arc<RoomLifeReader>,
}

impl WishKeeper {
    /// Stores the wishes of a number in place of the earlier ones.
    pub async fn set_wishes(
        &self,
        room: &str,
        number: u64,
        wishes: &WishList,
    ) -> Result<(), StoreFailure> {
        let script = SetWishesScript {
            number,
            wishes: text_of(wishes),
        };
        let life = self.lives.last_known_life(room)?;
        self.scripts.run(room, &life, script).await?;
        Ok(())
    }

    /// Returns the wishes of a number. Returns `None` if none are stored, or if this version cannot
    /// read them.
    pub async fn wishes_of(
        &self,
        room: &str,
        number: u64,
    ) -> Result<Option<WishList>, StoreFailure> {
        let life = self.lives.last_known_life(room)?;
        let script = FindWishesScript { number };
        let reply = self.scripts.run(room, &life, script).await?;
        let wishes = reply.present().map(read_wishes).transpose()?;
        Ok(wishes.flatten())
    }

    /// Reads the wishes that changed after a cursor.
    pub async fn wishes_changed(
        &self,
        room: &str,
        since: WishCursor,
    ) -> Result<WishChanges, StoreFailure> {
        let life = self.lives.last_known_life(room)?;
        let is_new_life = since.incarnation != life.incarnation;
        let mut cursor = WishCursor {
            incarnation: life.incarnation,
            version: if is_new_life { 0 } else { since.version },
        };
        let script = ChangedWishesScript {
            since: cursor.version,
            most: CHANGES_MAX as u64,
        };
        let reply = self.scripts.run(room, &life, script).await?;
        let changed = reply.read_list(|change| {
            cursor.version = change.field("version")?.as_count()?;
            let wishes = change.field("wishes")?.present();
            let wishes = wishes.map(read_wishes).transpose()?.flatten();
            let number = change.field("number")?.as_count()?;
            Ok((number, wishes.unwrap_or_default()))
        })?;
        Ok(WishChanges {
            cursor,
            is_new_life,
            changed,
        })
    }
}

/// Writes wishes as a text. An empty list becomes the empty text.
fn text_of(wishes: &WishList) -> String {
    if wishes.is_empty() {
        return String::new();
    }
    serde_json::to_string(wishes.as_ref())
        .expect("wishes are plain structs with string keys, which always serialise")
}

/// Reads a text that [`text_of`] wrote. Returns `None` if this version cannot read the text,
/// because a newer version wrote it.
fn read_wishes(reply: &RedisReply) -> Result<Option<WishList>, RedisCallError> {
    let text = reply.as_text()?;
    if text.is_empty() {
        return Ok(Some(WishList::default()));
    }
    Ok(serde_json::from_str::<Vec<_>>(text)
        .ok()
        .map(WishList::from))
}
