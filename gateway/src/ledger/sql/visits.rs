//! Ends visits before their passes run out. The pass of such a visit gets an earlier end, so that
//! its visitor can claim another one. All nodes read the ended visits with the stopped passes.

use fairgate_databases::SqlTransaction;
use fairgate_pass::{Holder, LEEWAY_S, VisitEndCause};
use futures_util::FutureExt;

use super::RoomLedger;
use super::columns::Result;
use crate::ledger::{EndedPass, LedgerError};

impl RoomLedger {
    /// Ends the visits with these passes at `now_s`. Each pass is given as its join number and its
    /// end (unix seconds). A visit that has ended already, and a number that has another pass by
    /// now, stay as they are. Visits whose passes nobody takes any more are forgotten.
    pub async fn end_visits(
        &self,
        room: &str,
        passes: Vec<(u64, i64)>,
        cause: VisitEndCause,
        now_s: i64,
    ) -> Result<()> {
        self.installation
            .write((room.to_owned(), passes), move |tx, (room, passes)| {
                end_visits(tx, room, passes, cause, now_s).boxed()
            })
            .await
    }
}

async fn end_visits(
    tx: &SqlTransaction,
    room: &str,
    passes: &[(u64, i64)],
    cause: VisitEndCause,
    now_s: i64,
) -> Result<()> {
    // This locks the room's row. So a second node that ends the same visits finds them ended.
    let sql = "UPDATE gw_rooms SET stop_seq = stop_seq + 1 WHERE room = $1 RETURNING stop_seq";
    let seq: u64 = tx.query_one(sql, &[&room]).await?.get(0)?;
    let note = "INSERT INTO gw_ended_visits
             (room, number, issued_s, holder, exp, ended_s, cause, stop_seq)
         SELECT room, number, iat, holder, exp, $4, $5, $6 FROM gw_passes
         WHERE room = $1 AND number = $2 AND exp = $3 AND exp > $4 AND stopped_at IS NULL
         ON CONFLICT (room, number, issued_s) DO NOTHING";
    let shorten = "UPDATE gw_passes SET exp = $4
         WHERE room = $1 AND number = $2 AND exp = $3 AND exp > $4 AND stopped_at IS NULL";
    for (number, exp_s) in passes {
        tx.execute(note, &[&room, number, exp_s, &now_s, &cause.as_str(), &seq])
            .await?;
        tx.execute(shorten, &[&room, number, exp_s, &now_s]).await?;
    }
    let sql = "DELETE FROM gw_ended_visits WHERE room = $1 AND exp <= $2";
    tx.execute(sql, &[&room, &(now_s - LEEWAY_S)]).await?;
    Ok(())
}

/// Reads the visits that ended after the cursor `after` and whose passes have not expired at
/// `now_s`, each with its cursor.
pub(super) async fn ended_visits(
    tx: &SqlTransaction,
    room: &str,
    after: u64,
    now_s: i64,
) -> Result<Vec<(u64, EndedPass)>> {
    let sql = "SELECT stop_seq, number, holder, issued_s, exp, ended_s, cause FROM gw_ended_visits
         WHERE room = $1 AND stop_seq > $2 AND exp > $3 ORDER BY stop_seq";
    let mut ended = Vec::new();
    for row in tx.query(sql, &[&room, &after, &now_s]).await? {
        let cause: String = row.get(6)?;
        let cause = VisitEndCause::parse(&cause);
        let pass = EndedPass {
            number: row.get(1)?,
            holder: Holder(row.get(2)?),
            issued_s: row.get(3)?,
            exp: row.get(4)?,
            ended_s: row.get(5)?,
            cause: cause.ok_or_else(|| LedgerError::Corrupt("an unknown end of a visit".into()))?,
        };
        ended.push((row.get(0)?, pass));
    }
    Ok(ended)
}
