//! Stores calls under an `Idempotency-Key`. A call is registered before a node carries it out, and
//! its answer is stored afterwards. If two calls with one key are registered at the same time, the
//! second waits at the key's row until the first is registered.

use fairgate_databases::SqlTransaction;

use super::lent_work::CLOCKS_DIFFER_MS;
use super::rows::{Result, bytes32, call_outcome, small, text};
use crate::ledger::{BeginCallOutcome, CALL_LEASE_MS, KeptAnswer, KeyedCall};

/// Registers a call. Until it is answered, a registered call may begin again: at its own node at
/// any time, and at another node once the call's lease has run out. If the call may not begin, the
/// outcome says what is stored under the key.
pub(super) async fn begin_call(
    tx: &SqlTransaction,
    call: &KeyedCall,
    now_ms: i64,
) -> Result<BeginCallOutcome> {
    let sql = "INSERT INTO kept_answers \
         (scope, key, asked, status, body, kept_at, lent_to, lent_until) \
         VALUES ($1, $2, $3, 0, '', $4, $5, $6) ON CONFLICT (scope, key) DO UPDATE \
         SET kept_at = excluded.kept_at, lent_to = excluded.lent_to, \
         lent_until = excluded.lent_until WHERE kept_answers.asked = excluded.asked \
         AND (kept_answers.lent_until <= excluded.kept_at \
         OR kept_answers.lent_until > $7 OR kept_answers.lent_to = excluded.lent_to)";
    let lent_until_ms = now_ms + CALL_LEASE_MS;
    // No lease lasts longer than this, unless a clock was ahead when the call was lent.
    let latest_ms = lent_until_ms + CLOCKS_DIFFER_MS;
    let written = tx
        .execute(
            sql,
            &[
                &call.scope,
                &call.key,
                &call.asked,
                &now_ms,
                &call.node,
                &lent_until_ms,
                &latest_ms,
            ],
        )
        .await?;
    if written == 1 {
        return Ok(BeginCallOutcome::Act);
    }
    let sql = "SELECT asked, status, body, lent_until IS NOT NULL FROM kept_answers \
         WHERE scope = $1 AND key = $2";
    let Some(row) = tx.first(sql, &[&call.scope, &call.key]).await? else {
        return Ok(call_outcome(call.asked, None));
    };
    let kept = KeptAnswer {
        asked: bytes32(row.get(0)?)?,
        status: small(&row, 1)?,
        body: text(&row, 2)?.to_owned(),
    };
    Ok(call_outcome(call.asked, Some((kept, row.get(3)?))))
}

/// Sets until when a call belongs to its node.
pub(super) async fn set_call_lease(
    tx: &SqlTransaction,
    call: &KeyedCall,
    until_ms: i64,
) -> Result<()> {
    let sql =
        "UPDATE kept_answers SET lent_until = $4 WHERE scope = $1 AND key = $2 AND lent_to = $3";
    tx.execute(sql, &[&call.scope, &call.key, &call.node, &until_ms])
        .await?;
    Ok(())
}

/// Stores a call's answer, unless an answer is stored already.
pub(super) async fn keep_answer(
    tx: &SqlTransaction,
    scope: [u8; 32],
    key: &str,
    answer: &KeptAnswer,
    now_ms: i64,
) -> Result<()> {
    let sql = "INSERT INTO kept_answers (scope, key, asked, status, body, kept_at) \
         VALUES ($1, $2, $3, $4, $5, $6) \
         ON CONFLICT (scope, key) DO UPDATE SET status = excluded.status, body = excluded.body, \
         kept_at = excluded.kept_at, lent_to = NULL, lent_until = NULL \
         WHERE kept_answers.asked = excluded.asked AND kept_answers.lent_until IS NOT NULL";
    tx.execute(
        sql,
        &[
            &scope,
            &key,
            &answer.asked,
            &answer.status,
            &answer.body,
            &now_ms,
        ],
    )
    .await?;
    Ok(())
}
