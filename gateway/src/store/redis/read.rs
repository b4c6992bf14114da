//! What the scripts answer, read into the store's types.

use fairgate_pass::{Digest, Holder};
use fairgate_redis::{Error, RedisReply};

use crate::ledger::{JoinRow, LineRow, ReleaseRow};
use crate::store::{Counts, Figures, Left, Numbers, Place, StoreFailure};
use fairgate_rules::cohort::Call;

impl From<Error> for StoreFailure {
    fn from(error: Error) -> Self {
        match error {
            Error::Refused(code, why) if code == "LIFE" => {
                Self::NotReady(format!("its life {why}"))
            }
            Error::Unreachable(why) => Self::Unreachable(why),
            Error::Refused(..) | Error::Wrong(_) => Self::Unreachable(error.to_string()),
        }
    }
}

/// What kind of answer it is: the first of its parts.
pub fn kind(reply: &RedisReply) -> Result<&str, Error> {
    reply.at(0)?.text()
}

/// 32 bytes.
fn hash(reply: &RedisReply) -> Result<[u8; 32], Error> {
    let bytes = reply.bytes()?;
    bytes.try_into().map_err(|_| {
        Error::Wrong(format!(
            "Redis answered {} bytes instead of 32",
            bytes.len()
        ))
    })
}

/// 32 bytes, or nothing.
fn code(reply: &RedisReply) -> Result<Option<Digest>, Error> {
    if reply.bytes()?.is_empty() {
        return Ok(None);
    }
    hash(reply).map(|code| Some(Digest(code)))
}

/// As the function `place` of the scripts gives it.
pub fn place(reply: &RedisReply) -> Result<Place, Error> {
    let at: Result<[u8; 8], _> = reply.at(3)?.bytes()?.try_into();
    let pass = reply.at(4)?;
    Ok(Place {
        number: reply.at(1)?.count()?,
        holder: Holder(hash(reply.at(2)?)?),
        at: at.map_or(0, i64::from_be_bytes),
        pass_exp: (!pass.bytes()?.is_empty())
            .then(|| pass.int())
            .transpose()?,
        done: reply.at(5)?.int()? == 1,
        code: code(reply.at(6)?)?,
        fresh: kind(reply)? == "new",
    })
}

/// As `leaving.lua` gives it: who stands at the number, and whether the leaf becomes nobody's.
pub fn leaving(reply: &RedisReply, number: u64) -> Result<Option<(JoinRow, bool)>, Error> {
    if reply.list()?.is_empty() {
        return Ok(None);
    }
    let at: Result<[u8; 8], _> = reply.at(1)?.bytes()?.try_into();
    let join = JoinRow {
        number,
        holder: Holder(hash(reply.at(0)?)?),
        code: code(reply.at(2)?)?,
        at: at.map_or(0, i64::from_be_bytes),
    };
    Ok(Some((join, reply.at(3)?.int()? == 1)))
}

/// As the function `counts` of the scripts gives it.
pub fn counts(reply: &RedisReply) -> Result<Counts, Error> {
    Ok(Counts {
        next: reply.at(0)?.count()?,
        joined: reply.at(1)?.count()?,
        left: reply.at(2)?.count()?,
        inside: reply.at(3)?.count()?,
        ended: reply.at(4)?.count()?,
        claimed: reply.at(5)?.count()?,
        done: reply.at(6)?.count()?,
        finished: reply.at(7)?.count()?,
    })
}

/// As `figures.lua` gives it; `node` is this one.
pub fn figures(reply: &RedisReply, node: &str) -> Result<Figures, Error> {
    let beyond = reply.at(1)?.list()?.iter().map(RedisReply::count);
    let show_up = reply.at(4)?.text()?;
    let calls = reply.at(6)?.list()?.chunks_exact(3).map(|call| {
        Ok(Call {
            from: call[0].count()?,
            to: call[1].count()?,
            at: call[2].int()?,
        })
    });
    let (ticked_by, row) = (reply.at(8)?.text()?, reply.at(9)?);
    let by_other = !ticked_by.is_empty() && ticked_by != node;
    let left = Left {
        row: ReleaseRow {
            released: row.at(0)?.count()?,
            remainder_u: row.at(1)?.count()?,
            ticked_at: row.at(2)?.int()?,
            memory: row.at(3)?.text()?.to_owned(),
        },
        memory: row.at(4)?.text()?.to_owned(),
    };
    let vitals = reply.at(10)?.list()?.iter();
    Ok(Figures {
        counts: counts(reply.at(0)?)?,
        beyond: beyond.collect::<Result<_, _>>()?,
        expected: reply.at(2)?.count()?,
        entering: reply.at(3)?.count()?,
        show_up: show_up
            .parse()
            .map_err(|_| Error::Wrong(format!("Redis answered {show_up} instead of a part")))?,
        owed_u: reply.at(5)?.count()?,
        calls: calls.collect::<Result<_, Error>>()?,
        counted_until: reply.at(7)?.int()?,
        by_other,
        left_by_other: by_other.then_some(left),
        vitals: vitals
            .map(|text| Ok(text.text()?.to_owned()))
            .collect::<Result<_, Error>>()?,
    })
}

/// Redis counts bits from the highest of the first byte, [`Numbers`] from the lowest of the first
/// word.
pub fn numbers(bits: &[u8]) -> Numbers {
    let words = bits.chunks(8).map(|bytes| {
        let mut word = [0; 8];
        for (to, from) in word.iter_mut().zip(bytes) {
            *to = from.reverse_bits();
        }
        u64::from_le_bytes(word)
    });
    Numbers(std::sync::Arc::new(words.collect()))
}

/// An entry of the feed and its id.
pub fn entry(reply: &RedisReply) -> Result<(String, LineRow), Error> {
    let (id, fields) = (reply.at(0)?.text()?, reply.at(1)?);
    let number = fields.at(3)?.count()?;
    let row = if fields.at(1)?.text()? == "j" {
        LineRow::Join(JoinRow {
            number,
            holder: Holder(hash(fields.at(5)?)?),
            at: fields.at(7)?.int()?,
            code: code(fields.at(9)?)?,
        })
    } else {
        LineRow::Leave {
            number,
            at: fields.at(5)?.int()?,
            void: fields.at(7)?.int()? == 1,
        }
    };
    Ok((id.to_owned(), row))
}

/// The first id behind an entry's.
pub fn behind(id: &str) -> String {
    let (ms, seq) = id.split_once('-').unwrap_or((id, "0"));
    let seq: u64 = seq.parse().unwrap_or(0);
    format!("{ms}-{}", seq + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bits_of_redis_are_the_numbers_they_stand_for() {
        let read = numbers(&[0b1000_0001, 0, 0b0100_0000, 0, 0, 0, 0, 0, 0b0000_0010]);
        assert_eq!(read.iter().collect::<Vec<_>>(), [0, 7, 17, 70]);
        assert!(numbers(&[]).iter().next().is_none());
    }

    #[test]
    fn the_id_behind_an_entry_is_the_next_of_its_millisecond() {
        assert_eq!(behind("1526919030474-55"), "1526919030474-56");
    }
}
