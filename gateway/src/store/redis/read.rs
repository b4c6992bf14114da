//! Converts the scripts' replies into the store's types.

use fairgate_pass::{Digest, Holder};
use fairgate_redis::{RedisCallError, RedisReply};

use crate::ledger::{JoinRow, LineFeedEntry, NetworkKey, NetworkKeys, ReleaseRow};
use crate::store::{
    CodesPaused, NumberSet, Place, RoomCounts, StoreFailure, TickCarryover, TickFigures,
    TollRefusal,
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

/// Returns the kind of an answer.
pub fn kind(reply: &RedisReply) -> Result<&str, RedisCallError> {
    reply.field("kind")?.as_text()
}

/// Reads in how many milliseconds the pace lets a claimant in, if it is known.
pub fn entry_in_ms(reply: &RedisReply) -> Result<Option<u64>, RedisCallError> {
    let entry_in_ms = reply.field("entry_in_ms")?.present();
    entry_in_ms.map(RedisReply::as_count).transpose()
}

/// Reads 32 bytes.
pub fn read_hash(reply: &RedisReply) -> Result<[u8; 32], RedisCallError> {
    let bytes = reply.as_bytes()?;
    bytes.try_into().map_err(|_| {
        RedisCallError::Wrong(format!(
            "Redis answered {} bytes instead of 32",
            bytes.len()
        ))
    })
}

/// Reads the code of a place, if it has one.
fn read_code(reply: &RedisReply) -> Result<Option<Digest>, RedisCallError> {
    let code = reply.field("code")?.present();
    code.map(|code| read_hash(code).map(Digest)).transpose()
}

/// Reads when a place was given, as its leaf has it. A leaf that was never written has 0.
fn read_written(reply: &RedisReply) -> Result<i64, RedisCallError> {
    let bytes: Result<[u8; 8], _> = reply.field("written")?.as_bytes()?.try_into();
    Ok(bytes.map_or(0, i64::from_be_bytes))
}

/// Reads a place as the scripts' function `place` answers with it.
pub fn place(reply: &RedisReply) -> Result<Place, RedisCallError> {
    let pass = reply.field("pass_expires_s")?.present();
    let called_behind = reply.field("called_behind")?.present();
    Ok(Place {
        number: reply.field("number")?.as_count()?,
        holder: Holder(read_hash(reply.field("holder")?)?),
        at: read_written(reply)?,
        pass_exp: pass.map(RedisReply::as_integer).transpose()?,
        called_behind: called_behind.map(RedisReply::as_count).transpose()?,
        done: reply.field("done")?.as_integer()? == 1,
        code: read_code(reply)?,
        fresh: kind(reply)? == "new",
    })
}

/// Reads the reply of `find_leaver.lua`: the join of the number, and whether its leaf becomes void.
/// Returns `None` if the number has no visitor.
pub fn leaving(reply: &RedisReply, number: u64) -> Result<Option<(JoinRow, bool)>, RedisCallError> {
    let Some(leaver) = reply.present() else {
        return Ok(None);
    };
    let join = JoinRow {
        number,
        holder: Holder(read_hash(leaver.field("holder")?)?),
        code: read_code(leaver)?,
        at: read_written(leaver)?,
        // Redis does not know the networks of a single place. If a visitor leaves before the place
        // was copied to the ledger, the ledger counts the place for no network.
        networks: NetworkKeys::NONE,
    };
    Ok(Some((join, leaver.field("void")?.as_integer()? == 1)))
}

/// Reads counts as the scripts' function `counts` returns them.
pub fn counts(reply: &RedisReply) -> Result<RoomCounts, RedisCallError> {
    let count = |name: &str| reply.field(name)?.as_count();
    Ok(RoomCounts {
        next: count("next")?,
        joined: count("joined")?,
        left: count("left")?,
        inside: count("inside")?,
        ended: count("ended")?,
        claimed: count("claimed")?,
        done: count("done")?,
        finished: count("finished")?,
    })
}

/// Reads the reply of `tick_figures.lua`. `ends_s` are the times that were asked for. `node` is the
/// name of this node.
pub fn figures(
    reply: &RedisReply,
    ends_s: &[i64],
    node: &str,
) -> Result<TickFigures, RedisCallError> {
    let count = |name: &str| reply.field(name)?.as_count();
    let inside_after = reply.field("inside_after")?;
    let beyond = ends_s
        .iter()
        .map(|ends_s| inside_after.field(ends_s.to_string())?.as_count());
    let ticked_by = reply.field("ticked_by")?.present();
    let ticked_by = ticked_by.map(RedisReply::as_text).transpose()?;
    let by_other = ticked_by.is_some_and(|ticked_by| ticked_by != node);
    let carryover = carryover(reply)?;
    Ok(TickFigures {
        counts: counts(reply.field("counts")?)?,
        beyond: beyond.collect::<Result<_, _>>()?,
        expected: count("expected")?,
        entering: count("entering")?,
        asking: count("asking")?,
        show_up: read_share(reply.field("show_up")?)?,
        owed_u: count("owed_u")?,
        calls: reply.field("calls")?.read_list(rank_call)?,
        counted_until: reply.field("ticked_at_ms")?.as_integer()?,
        by_other,
        left_by_other: by_other.then_some(carryover),
        vitals: reply
            .field("vitals")?
            .read_list(|text| Ok(text.as_text()?.to_owned()))?,
    })
}

/// Reads what the last tick handed over.
fn carryover(figures: &RedisReply) -> Result<TickCarryover, RedisCallError> {
    let row = figures.field("row")?;
    Ok(TickCarryover {
        row: ReleaseRow {
            released: row.field("released")?.as_count()?,
            remainder_u: row.field("remainder_u")?.as_count()?,
            ticked_at: row.field("ticked_at_ms")?.as_integer()?,
            memory: row.field("memory")?.as_text()?.to_owned(),
        },
        memory: figures.field("memory")?.as_text()?.to_owned(),
    })
}

fn rank_call(reply: &RedisReply) -> Result<RankCall, RedisCallError> {
    Ok(RankCall {
        from: reply.field("from")?.as_count()?,
        to: reply.field("to")?.as_count()?,
        at: reply.field("at_ms")?.as_integer()?,
    })
}

fn read_share(reply: &RedisReply) -> Result<f64, RedisCallError> {
    let text = reply.as_text()?;
    text.parse()
        .map_err(|_| RedisCallError::Wrong(format!("Redis answered {text} instead of a number")))
}

/// Converts bits of Redis into a [`NumberSet`]. In Redis, number 0 is the highest bit of the first
/// byte. In the set, number 0 is the lowest bit of the first word.
pub fn numbers_from_bits(bits: &[u8]) -> NumberSet {
    let words = bits.chunks(size_of::<u64>()).map(|bytes| {
        let mut word = [0; 8];
        for (to, from) in word.iter_mut().zip(bytes) {
            *to = from.reverse_bits();
        }
        u64::from_le_bytes(word)
    });
    NumberSet(std::sync::Arc::new(words.collect()))
}

/// Reads the places of a visitor's networks. The reply has the places of each network by its key.
pub fn network_places(
    reply: &RedisReply,
    networks: NetworkKeys,
) -> Result<NetworkPlaces, RedisCallError> {
    let places_of = |key: &NetworkKey| reply.field(key)?.as_count();
    let mut places = NetworkPlaces::default();
    if let Some((own, wider)) = networks.lasting().split_first() {
        places.own = places_of(own)?;
        for key in wider {
            places.wider = places.wider.max(places_of(key)?);
        }
    }
    let recent = [&mut places.slash_40, &mut places.slash_32];
    for (key, counted) in networks.recent().iter().zip(recent) {
        *counted = places_of(key)?;
    }
    Ok(places)
}

/// Reads the refusal of the scripts' function `toll_refusal`, if the reply is one. `networks` are
/// the visitor's networks.
pub fn toll_refusal(
    reply: &RedisReply,
    networks: NetworkKeys,
) -> Result<Option<TollRefusal>, RedisCallError> {
    Ok(match kind(reply)? {
        "too_cheap" => Some(TollRefusal::TooManyPlaces(network_places(
            reply.field("places")?,
            networks,
        )?)),
        "solution_used" => Some(TollRefusal::SolutionUsed),
        _ => None,
    })
}

/// Reads how many wrong codes were looked at in the last minute.
pub fn recent_wrong_codes(reply: &RedisReply) -> Result<u64, RedisCallError> {
    reply.field("recent")?.as_count()
}

/// Reads for how long no code is looked at.
pub fn codes_paused(reply: &RedisReply) -> Result<CodesPaused, RedisCallError> {
    Ok(CodesPaused {
        wait_ms: reply.field("wait_ms")?.as_integer()?,
        recent: recent_wrong_codes(reply)?,
    })
}

/// Reads an entry of the feed from its fields. `lib/line_feed.lua` writes the joins. Only earlier
/// versions wrote that somebody left.
pub fn feed_entry(fields: &RedisReply) -> Result<LineFeedEntry, RedisCallError> {
    let number = fields.field("n")?.as_count()?;
    let at = fields.field("a")?.as_integer()?;
    if fields.field("k")?.as_text()? != "j" {
        let void = fields.field("v")?.as_integer()? == 1;
        return Ok(LineFeedEntry::Leave { number, at, void });
    }
    let code = fields.field("c")?;
    let has_code = !code.as_bytes()?.is_empty();
    Ok(LineFeedEntry::Join(JoinRow {
        number,
        holder: Holder(read_hash(fields.field("h")?)?),
        at,
        code: has_code.then(|| read_hash(code).map(Digest)).transpose()?,
        networks: read_networks(fields)?,
    }))
}

/// Reads the networks of a join in the feed. Joins of earlier versions have none.
fn read_networks(join: &RedisReply) -> Result<NetworkKeys, RedisCallError> {
    let Ok(networks) = join.field("w") else {
        return Ok(NetworkKeys::NONE);
    };
    NetworkKeys::from_bytes(networks.as_bytes()?)
        .ok_or_else(|| RedisCallError::Wrong("Redis answered networks that cannot be read".into()))
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
