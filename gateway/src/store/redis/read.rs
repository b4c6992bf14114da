//! Converts the scripts' replies into the store's types.

use fairgate_pass::{Digest, Holder};
use fairgate_redis::{RedisCallError, RedisReply};

use crate::ledger::{JoinRow, LineFeedEntry, NetworkKeys, ReleaseRow};
use crate::store::{
    NumberSet, Place, RoomCounts, StoreFailure, TickCarryover, TickFigures, TollRefusal,
};
use fairgate_rules::network_limits::NetworkPlaces;
use fairgate_rules::release_cohorts::RankCall;

impl From<RedisCallError> for StoreFailure {
    fn from(error: RedisCallError) -> Self {
        match error {
            RedisCallError::Refused(code, why) if code == "LIFE" => {
                Self::NotReady(format!("its life {why}"))
            }
            RedisCallError::Unreachable(why) => Self::Unreachable(why),
            RedisCallError::Refused(..) | RedisCallError::Wrong(_) => {
                Self::Unreachable(error.to_string())
            }
        }
    }
}

/// Returns the kind of a reply. It is the first part of the reply.
pub fn kind(reply: &RedisReply) -> Result<&str, RedisCallError> {
    reply.item_at(0)?.as_text()
}

/// Reads 32 bytes.
fn read_hash(reply: &RedisReply) -> Result<[u8; 32], RedisCallError> {
    let bytes = reply.as_bytes()?;
    bytes.try_into().map_err(|_| {
        RedisCallError::Wrong(format!(
            "Redis answered {} bytes instead of 32",
            bytes.len()
        ))
    })
}

/// Reads the 32 bytes of a code. An empty reply is no code.
fn read_code(reply: &RedisReply) -> Result<Option<Digest>, RedisCallError> {
    if reply.as_bytes()?.is_empty() {
        return Ok(None);
    }
    read_hash(reply).map(|code| Some(Digest(code)))
}

/// Reads a place as the scripts' function `place` returns it.
pub fn place(reply: &RedisReply) -> Result<Place, RedisCallError> {
    let at: Result<[u8; 8], _> = reply.item_at(3)?.as_bytes()?.try_into();
    let pass = reply.item_at(4)?;
    Ok(Place {
        number: reply.item_at(1)?.as_count()?,
        holder: Holder(read_hash(reply.item_at(2)?)?),
        at: at.map_or(0, i64::from_be_bytes),
        pass_exp: (!pass.as_bytes()?.is_empty())
            .then(|| pass.as_integer())
            .transpose()?,
        done: reply.item_at(5)?.as_integer()? == 1,
        code: read_code(reply.item_at(6)?)?,
        fresh: kind(reply)? == "new",
    })
}

/// Reads the reply of `find_leaver.lua`: the join of the number, and whether its leaf becomes void.
/// Returns `None` if the number has no visitor.
pub fn leaving(reply: &RedisReply, number: u64) -> Result<Option<(JoinRow, bool)>, RedisCallError> {
    if reply.as_list()?.is_empty() {
        return Ok(None);
    }
    let at: Result<[u8; 8], _> = reply.item_at(1)?.as_bytes()?.try_into();
    let join = JoinRow {
        number,
        holder: Holder(read_hash(reply.item_at(0)?)?),
        code: read_code(reply.item_at(2)?)?,
        at: at.map_or(0, i64::from_be_bytes),
        // Redis does not know the networks of a single place. If a visitor leaves before the place
        // was copied to the ledger, the ledger counts the place for no network.
        networks: NetworkKeys::NONE,
    };
    Ok(Some((join, reply.item_at(3)?.as_integer()? == 1)))
}

/// Reads counts as the scripts' function `counts` returns them.
pub fn counts(reply: &RedisReply) -> Result<RoomCounts, RedisCallError> {
    Ok(RoomCounts {
        next: reply.item_at(0)?.as_count()?,
        joined: reply.item_at(1)?.as_count()?,
        left: reply.item_at(2)?.as_count()?,
        inside: reply.item_at(3)?.as_count()?,
        ended: reply.item_at(4)?.as_count()?,
        claimed: reply.item_at(5)?.as_count()?,
        done: reply.item_at(6)?.as_count()?,
        finished: reply.item_at(7)?.as_count()?,
    })
}

/// Reads the reply of `tick_figures.lua`. `node` is the name of this node.
pub fn figures(reply: &RedisReply, node: &str) -> Result<TickFigures, RedisCallError> {
    let beyond = reply
        .item_at(1)?
        .as_list()?
        .iter()
        .map(RedisReply::as_count);
    let show_up = reply.item_at(4)?.as_text()?;
    let calls = reply.item_at(6)?.as_list()?.chunks_exact(3).map(|call| {
        Ok(RankCall {
            from: call[0].as_count()?,
            to: call[1].as_count()?,
            at: call[2].as_integer()?,
        })
    });
    let (ticked_by, row) = (reply.item_at(8)?.as_text()?, reply.item_at(9)?);
    let by_other = !ticked_by.is_empty() && ticked_by != node;
    let carryover = TickCarryover {
        row: ReleaseRow {
            released: row.item_at(0)?.as_count()?,
            remainder_u: row.item_at(1)?.as_count()?,
            ticked_at: row.item_at(2)?.as_integer()?,
            memory: row.item_at(3)?.as_text()?.to_owned(),
        },
        memory: row.item_at(4)?.as_text()?.to_owned(),
    };
    let vitals = reply.item_at(10)?.as_list()?.iter();
    Ok(TickFigures {
        counts: counts(reply.item_at(0)?)?,
        beyond: beyond.collect::<Result<_, _>>()?,
        expected: reply.item_at(2)?.as_count()?,
        entering: reply.item_at(3)?.as_count()?,
        show_up: show_up.parse().map_err(|_| {
            RedisCallError::Wrong(format!("Redis answered {show_up} instead of a number"))
        })?,
        owed_u: reply.item_at(5)?.as_count()?,
        calls: calls.collect::<Result<_, RedisCallError>>()?,
        counted_until: reply.item_at(7)?.as_integer()?,
        by_other,
        left_by_other: by_other.then_some(carryover),
        vitals: vitals
            .map(|text| Ok(text.as_text()?.to_owned()))
            .collect::<Result<_, RedisCallError>>()?,
    })
}

/// Converts bits of Redis into a [`NumberSet`]. In Redis, number 0 is the highest bit of the first
/// byte. In the set, number 0 is the lowest bit of the first word.
pub fn numbers_from_bits(bits: &[u8]) -> NumberSet {
    let words = bits.chunks(8).map(|bytes| {
        let mut word = [0; 8];
        for (to, from) in word.iter_mut().zip(bytes) {
            *to = from.reverse_bits();
        }
        u64::from_le_bytes(word)
    });
    NumberSet(std::sync::Arc::new(words.collect()))
}

/// Reads the networks of a join in the feed. Entries of earlier versions have none.
fn read_networks(fields: &RedisReply) -> Result<NetworkKeys, RedisCallError> {
    let bytes = match fields.as_list()?.get(11) {
        None => return Ok(NetworkKeys::NONE),
        Some(networks) => networks.as_bytes()?,
    };
    NetworkKeys::from_bytes(bytes)
        .ok_or_else(|| RedisCallError::Wrong("Redis answered networks that cannot be read".into()))
}

/// Reads the places of a visitor's networks, the visitor's own network first.
pub fn network_places(reply: &RedisReply) -> Result<NetworkPlaces, RedisCallError> {
    let counts: Result<Vec<u64>, _> = reply.as_list()?.iter().map(RedisReply::as_count).collect();
    let mut counts = counts?.into_iter();
    Ok(NetworkPlaces {
        own: counts.next().unwrap_or_default(),
        wider: counts.max().unwrap_or_default(),
    })
}

/// Reads the refusal of the scripts' function `toll_refusal`, if the reply is one.
pub fn toll_refusal(reply: &RedisReply) -> Result<Option<TollRefusal>, RedisCallError> {
    Ok(match kind(reply)? {
        "too_cheap" => Some(TollRefusal::TooManyPlaces(network_places(
            reply.item_at(1)?,
        )?)),
        "solution_used" => Some(TollRefusal::SolutionUsed),
        _ => None,
    })
}

/// Reads an entry of the feed and its id.
pub fn feed_entry(reply: &RedisReply) -> Result<(String, LineFeedEntry), RedisCallError> {
    let (id, fields) = (reply.item_at(0)?.as_text()?, reply.item_at(1)?);
    let number = fields.item_at(3)?.as_count()?;
    let row = if fields.item_at(1)?.as_text()? == "j" {
        LineFeedEntry::Join(JoinRow {
            number,
            holder: Holder(read_hash(fields.item_at(5)?)?),
            at: fields.item_at(7)?.as_integer()?,
            code: read_code(fields.item_at(9)?)?,
            networks: read_networks(fields)?,
        })
    } else {
        LineFeedEntry::Leave {
            number,
            at: fields.item_at(5)?.as_integer()?,
            void: fields.item_at(7)?.as_integer()? == 1,
        }
    };
    Ok((id.to_owned(), row))
}

/// Returns the first id after `id`.
pub fn id_after(id: &str) -> String {
    let (ms, seq) = id.split_once('-').unwrap_or((id, "0"));
    let seq: u64 = seq.parse().unwrap_or(0);
    format!("{ms}-{}", seq + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bit_of_redis_is_read_as_its_number() {
        let read = numbers_from_bits(&[0b1000_0001, 0, 0b0100_0000, 0, 0, 0, 0, 0, 0b0000_0010]);
        assert_eq!(read.iter().collect::<Vec<_>>(), [0, 7, 17, 70]);
        assert!(numbers_from_bits(&[]).iter().next().is_none());
    }

    #[test]
    fn the_id_after_an_entry_is_the_next_id_of_the_same_millisecond() {
        assert_eq!(id_after("1526919030474-55"), "1526919030474-56");
    }
}
