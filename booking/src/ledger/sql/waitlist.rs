//! Stores the waitlist. A transaction that takes a number locks the show's row in `waiter_marks`
//! until the transaction ends. So a reader that sees a number also sees all smaller numbers.

use fairgate_databases::{SqlRow, SqlTransaction};
use fairgate_model::ids::{HoldId, ShowId, WaiterId};
use fairgate_model::waiters::{WaitEndReason, Waiter, WaitlistOffer, WaitlistOfferEnd};
use fairgate_pass::Holder;

use super::Ledger;
use super::rows::{
    Result, as_i64, corrupt, count, from_json, holder_from_bytes, parsed, small, text, to_json,
};

/// A party's columns, in the order in which [`read_waiter`] reads them.
pub(super) const WAITER_COLUMNS: &str = "waiter, visitor, room, party, number, since, until, \
     seen_at, offers, missed, hold, hold_until, hold_life, ended_at, reason";

/// The waitlist: the parties that wait, their order, and their offers.
impl Ledger {
    /// Puts a party at the end of its show's line and returns the party with its number. Each show
    /// has numbers of its own, from 1, in the order of the commits. A visitor waits for a show
    /// once: if a party of the visitor waits already, that party is returned unchanged.
    pub async fn join_waitlist(&self, waiter: Waiter) -> Result<Waiter> {
        self.installation
            .write(waiter, |tx, waiter| Box::pin(join_waitlist(tx, waiter)))
            .await
    }

    /// Returns a visitor's party and the number of waiting parties ahead of it. If no party of the
    /// visitor waits, returns the party that stopped waiting last.
    pub async fn waiter(&self, show: &ShowId, visitor: Holder) -> Result<Option<(Waiter, u64)>> {
        self.installation
            .read(show.clone(), move |tx, show| {
                Box::pin(party_of(tx, show, visitor))
            })
            .await
    }

    /// Returns the parties that wait for a show, in the order of the line.
    pub async fn waiters(&self, show: &ShowId) -> Result<Vec<Waiter>> {
        self.installation
            .read(show.clone(), |tx, show| {
                Box::pin(async move {
                    let sql = format!(
                        "SELECT {WAITER_COLUMNS} FROM waiters \
                         WHERE show = $1 AND ended_at IS NULL ORDER BY number"
                    );
                    let rows = tx.query(&sql, &[&show.as_str()]).await?;
                    rows.iter().map(read_waiter).collect()
                })
            })
            .await
    }

    /// Returns the shows that somebody waits for, each with its number of waiting parties.
    pub async fn waited_shows(&self) -> Result<Vec<(ShowId, u64)>> {
        self.installation
            .read((), |tx, ()| {
                Box::pin(async move {
                    let sql =
                        "SELECT show, COUNT(*) FROM waiters WHERE ended_at IS NULL GROUP BY show";
                    let rows = tx.query(sql, &[]).await?;
                    let read = |row| Ok((parsed(text(row, 0)?)?, count(row, 1)?));
                    rows.iter().map(read).collect()
                })
            })
            .await
    }

    /// Returns the visitors of up to `most` waiting parties, those who have waited longest first. A
    /// visitor who waits for several shows is returned once for each show.
    pub async fn waiting_visitors(&self, most: u32) -> Result<Vec<Holder>> {
        self.installation
            .read((), move |tx, ()| {
                Box::pin(async move {
                    let sql = "SELECT visitor FROM waiters WHERE ended_at IS NULL \
                         ORDER BY since LIMIT $1";
                    let rows = tx.query(sql, &[&most]).await?;
                    rows.iter()
                        .map(|row| holder_from_bytes(row.get(0)?))
                        .collect()
                })
            })
            .await
    }

    /// Records for each waiting party of these visitors that its visitor was here at `now_ms`.
    pub async fn waiters_seen(&self, visitors: Vec<Holder>, now_ms: i64) -> Result<()> {
        let visitors: Vec<[u8; 32]> = visitors.iter().map(|visitor| visitor.0).collect();
        self.installation
            .write(visitors, move |tx, visitors| {
                Box::pin(async move {
                    // All transactions lock parties in the same order, so two nodes that saw the
                    // same visitors cannot deadlock.
                    let sql = "UPDATE waiters AS w SET seen_at = $2 FROM (SELECT waiter FROM waiters \
                         WHERE visitor = ANY ($1::bytea[]) AND ended_at IS NULL AND seen_at < $2 \
                         ORDER BY waiter FOR UPDATE) AS here WHERE w.waiter = here.waiter";
                    tx.execute(sql, &[visitors, &now_ms]).await?;
                    Ok(())
                })
            })
            .await
    }

    /// Records an offer to a waiting party. Returns false if the party does not wait or has an
    /// offer already.
    pub async fn record_offer(&self, waiter: &WaiterId, offer: WaitlistOffer) -> Result<bool> {
        self.installation
            .write((waiter.clone(), offer), |tx, (waiter, offer)| {
                Box::pin(async move {
                    let sql = "UPDATE waiters SET hold = $2, hold_until = $3, hold_life = $4, \
                         offers = offers + 1 \
                         WHERE waiter = $1 AND ended_at IS NULL AND hold IS NULL";
                    let (id, hold) = (waiter.as_str(), offer.hold.as_str());
                    let life = as_i64(offer.life);
                    let written = tx
                        .execute(sql, &[&id, &hold, &offer.until_ms, &life])
                        .await?;
                    Ok(written == 1)
                })
            })
            .await
    }

    /// Ends a party's offer. Returns false if the party no longer has this offer.
    pub async fn end_offer(
        &self,
        waiter: &WaiterId,
        hold: &HoldId,
        end: WaitlistOfferEnd,
        now_ms: i64,
    ) -> Result<bool> {
        self.installation
            .write((waiter.clone(), hold.clone()), move |tx, (waiter, hold)| {
                Box::pin(end_offer(tx, waiter, hold, end, now_ms))
            })
            .await
    }

    /// Ends a party's waiting. Returns false if the party did not wait.
    pub async fn end_waiter(
        &self,
        waiter: &WaiterId,
        end: WaitEndReason,
        now_ms: i64,
    ) -> Result<bool> {
        self.installation
            .write(waiter.clone(), move |tx, waiter| {
                Box::pin(async move {
                    let sql = "UPDATE waiters SET ended_at = $2, reason = $3 \
                         WHERE waiter = $1 AND ended_at IS NULL";
                    let written = tx
                        .execute(sql, &[&waiter.as_str(), &now_ms, &end.as_str()])
                        .await?;
                    Ok(written == 1)
                })
            })
            .await
    }
}

/// Reads a row of [`WAITER_COLUMNS`].
pub(super) fn read_waiter(row: &SqlRow) -> Result<Waiter> {
    let hold: Option<&str> = row.get(10)?;
    let offer = match hold {
        Some(hold) => Some(WaitlistOffer {
            hold: parsed(hold)?,
            until_ms: row.get(11)?,
            life: count(row, 12)?,
        }),
        None => None,
    };
    let ended: Option<i64> = row.get(13)?;
    let ended = match ended {
        Some(at) => {
            let end = WaitEndReason::parse(text(row, 14)?);
            Some((
                at,
                end.ok_or_else(|| corrupt("the reason why a party no longer waits"))?,
            ))
        }
        None => None,
    };
    Ok(Waiter {
        id: parsed(text(row, 0)?)?,
        visitor: holder_from_bytes(row.get(1)?)?,
        room: text(row, 2)?.to_owned(),
        party: from_json(text(row, 3)?)?,
        number: count(row, 4)?,
        since_ms: row.get(5)?,
        until_ms: row.get(6)?,
        seen_ms: row.get(7)?,
        offers: small(row, 8)?,
        missed: small(row, 9)?,
        offer,
        ended,
    })
}

/// Reads a visitor's party and the number of waiting parties ahead of it. If no party of the
/// visitor waits, reads the party that stopped waiting last.
async fn party_of(
    tx: &SqlTransaction,
    show: &ShowId,
    visitor: Holder,
) -> Result<Option<(Waiter, u64)>> {
    let sql = format!(
        "SELECT {WAITER_COLUMNS}, (SELECT COUNT(*) FROM waiters b \
         WHERE b.show = w.show AND b.number < w.number AND b.ended_at IS NULL) \
         FROM waiters w WHERE visitor = $1 AND show = $2 \
         ORDER BY (ended_at IS NULL) DESC, ended_at DESC, number DESC LIMIT 1"
    );
    let row = tx.first(&sql, &[&visitor.0, &show.as_str()]).await?;
    row.map(|row| Ok((read_waiter(&row)?, count(&row, 15)?)))
        .transpose()
}

/// Takes the show's next number, and locks the show's row: no other transaction takes a number of
/// the show until this transaction ends.
async fn take_next_number(tx: &SqlTransaction, show: &ShowId) -> Result<i64> {
    let sql = "INSERT INTO waiter_marks AS m (show, last) VALUES ($1, 1) \
         ON CONFLICT (show) DO UPDATE SET last = m.last + 1 RETURNING last";
    tx.query_one(sql, &[&show.as_str()]).await?.get(0)
}

async fn join_waitlist(tx: &SqlTransaction, waiter: &Waiter) -> Result<Waiter> {
    let show = waiter.id.show();
    // A second call of this visitor waits here for the show's row. The query below then finds the
    // party of the first call, and the number that the second call took is not used.
    let number = take_next_number(tx, &show).await?;
    let sql = format!(
        "SELECT {WAITER_COLUMNS} FROM waiters \
         WHERE visitor = $1 AND show = $2 AND ended_at IS NULL"
    );
    let visitor = waiter.visitor.0;
    if let Some(present) = tx.first(&sql, &[&visitor, &show.as_str()]).await? {
        return read_waiter(&present);
    }
    let sql = "INSERT INTO waiters \
         (waiter, show, number, visitor, room, party, since, until, seen_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    tx.execute(
        sql,
        &[
            &waiter.id.as_str(),
            &show.as_str(),
            &number,
            &visitor,
            &waiter.room,
            &to_json(&waiter.party)?,
            &waiter.since_ms,
            &waiter.until_ms,
            &waiter.seen_ms,
        ],
    )
    .await?;
    Ok(Waiter {
        number: number.unsigned_abs(),
        ..waiter.clone()
    })
}

async fn end_offer(
    tx: &SqlTransaction,
    waiter: &WaiterId,
    hold: &HoldId,
    end: WaitlistOfferEnd,
    now_ms: i64,
) -> Result<bool> {
    let (id, hold) = (waiter.as_str(), hold.as_str());
    let written = match end {
        WaitlistOfferEnd::Taken => {
            let sql = "UPDATE waiters SET ended_at = $3, reason = $4 \
                 WHERE waiter = $1 AND hold = $2 AND ended_at IS NULL";
            let word = WaitEndReason::Taken.as_str();
            tx.execute(sql, &[&id, &hold, &now_ms, &word]).await?
        }
        WaitlistOfferEnd::Missed => {
            let number = take_next_number(tx, &waiter.show()).await?;
            let sql = "UPDATE waiters SET hold = NULL, missed = missed + 1, number = $3 \
                 WHERE waiter = $1 AND hold = $2 AND ended_at IS NULL";
            tx.execute(sql, &[&id, &hold, &number]).await?
        }
        WaitlistOfferEnd::Lost => {
            let sql = "UPDATE waiters SET hold = NULL \
                 WHERE waiter = $1 AND hold = $2 AND ended_at IS NULL";
            tx.execute(sql, &[&id, &hold]).await?
        }
    };
    Ok(written == 1)
}
