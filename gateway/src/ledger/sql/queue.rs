//! Queues the joins and departures of the in-process store and the freezes of all stores, and
//! writes them in the order in which they came. Writes that wait when a transaction begins share
//! its commit. The number of commits therefore depends on the speed of the database and not on the
//! number of joins.

use std::collections::HashSet;
use std::sync::Arc;

use fairgate_databases::{Installation, SqlFuture, SqlTransaction, SqliteDatabase};
use futures_util::FutureExt;
use tokio::sync::{mpsc, oneshot};

use super::columns::Result;
use super::{RoomLedger, joins, lives};
use crate::ledger::{
    DurableWrite, JoinRow, LedgerError, LedgerFreezeOutcome, LedgerJoinOutcome, LineFreeze,
};

/// At most this many changes share one commit on PostgreSQL. With more changes, the first would
/// wait too long for the last.
const GROUP_MAX: usize = 512;
/// A group is written at most this many times, if the outcome of each attempt is unknown. A
/// repeated write gives the same answer.
const TRIES_MAX: u32 = 3;

/// One change of a room's line. Writing a change again has no further effect.
#[derive(Debug, Clone)]
pub(super) enum LineChange {
    Join(JoinRow),
    Leave { number: u64, at: i64, void: bool },
    Freeze(LineFreeze, Option<u64>),
    Nothing,
}

/// The outcome of a change.
#[derive(Debug, Clone)]
pub(super) enum LineChangeOutcome {
    Join(LedgerJoinOutcome),
    Freeze(LedgerFreezeOutcome),
    Nothing,
}

/// The slug of a room, and a change of its line.
type RoomLineChange = (String, LineChange);
type LineChangeResult = Result<LineChangeOutcome>;

/// A change in the queue of a PostgreSQL ledger, with the channel for its answer.
pub(super) struct QueuedLineChange {
    change: RoomLineChange,
    answer: oneshot::Sender<LineChangeResult>,
}

/// The sending end of the queue.
#[derive(Clone)]
pub(super) enum LineWriteQueue {
    /// The one writer of a SQLite file has a queue of its own, and commits the waiting changes
    /// together.
    OfFile(SqliteDatabase),
    /// On PostgreSQL a task writes the waiting changes in one transaction. The task ends when the
    /// last handle is dropped.
    OfServer(mpsc::UnboundedSender<QueuedLineChange>),
}

impl LineWriteQueue {
    pub(super) fn start(installation: &Installation) -> Self {
        match installation {
            Installation::File(writer) => Self::OfFile(writer.clone()),
            Installation::Server(_) => {
                let (queued, inbox) = mpsc::unbounded_channel();
                tokio::spawn(write_groups(installation.clone(), inbox));
                Self::OfServer(queued)
            }
        }
    }

    /// Queues a change, and returns a future for its answer. The change is written even if the
    /// future is dropped.
    pub(super) fn push(&self, room: &str, change: LineChange) -> DurableWrite<LineChangeOutcome> {
        let change = (room.to_owned(), change);
        match self {
            Self::OfFile(writer) => writer.enqueue_sql(change, write_alone).boxed(),
            Self::OfServer(queued) => {
                let (answer, answered) = oneshot::channel();
                let sent = queued.send(QueuedLineChange { change, answer }).is_ok();
                async move {
                    let stopped =
                        || LedgerError::Unavailable("the ledger's queue has stopped".into());
                    if !sent {
                        return Err(stopped());
                    }
                    answered.await.unwrap_or_else(|_| Err(stopped()))
                }
                .boxed()
            }
        }
    }
}

/// Writes one change in a transaction of its own. If the transaction fails, no part of the change
/// is stored.
fn write_alone<'a>(
    tx: &'a SqlTransaction,
    change: &'a RoomLineChange,
) -> SqlFuture<'a, LineChangeOutcome, LedgerError> {
    async move {
        let outcomes = write_changes(tx, std::slice::from_ref(change)).await?;
        let outcome = outcomes.into_iter().next();
        outcome.unwrap_or_else(|| Err(LedgerError::Corrupt("a change has no outcome".into())))
    }
    .boxed()
}

async fn write_groups(
    installation: Installation,
    mut inbox: mpsc::UnboundedReceiver<QueuedLineChange>,
) {
    let mut waiting = Vec::with_capacity(GROUP_MAX);
    while inbox.recv_many(&mut waiting, GROUP_MAX).await > 0 {
        let (mut changes, mut answers) = (Vec::new(), Vec::new());
        for QueuedLineChange { change, answer } in waiting.drain(..) {
            changes.push(change);
            answers.push(answer);
        }
        let outcomes = settle_group(&installation, changes).await;
        for (answer, outcome) in answers.into_iter().zip(outcomes) {
            // This fails if the caller has gone away. The write is recorded all the same.
            let _ = answer.send(outcome);
        }
    }
}

async fn settle_group(
    installation: &Installation,
    changes: Vec<RoomLineChange>,
) -> Vec<LineChangeResult> {
    let changes = Arc::new(changes);
    match commit_group(installation, &changes).await {
        Ok(outcomes) => outcomes,
        // If the database refuses one change, the others must not fail with it. So each change is
        // now written alone.
        Err(failure) if changes.len() > 1 && !matches!(failure, LedgerError::Unknown(_)) => {
            let mut outcomes = Vec::with_capacity(changes.len());
            for change in changes.iter() {
                let single_change = Arc::new(vec![change.clone()]);
                match commit_group(installation, &single_change).await {
                    Ok(outcome) => outcomes.extend(outcome),
                    Err(failure) => outcomes.push(Err(failure)),
                }
            }
            outcomes
        }
        Err(failure) => vec![Err(failure); changes.len()],
    }
}

/// Commits a group. After any failure except [`LedgerError::Unknown`], nothing of the group
/// is in the ledger.
async fn commit_group(
    installation: &Installation,
    changes: &Arc<Vec<RoomLineChange>>,
) -> Result<Vec<LineChangeResult>> {
    let changes_nothing = |(_, change): &RoomLineChange| matches!(change, LineChange::Nothing);
    if changes.iter().all(changes_nothing) {
        // A group that consists only of barriers must not write anything. It only checks that the
        // ledger answers.
        let probe = installation.read((), |tx, ()| {
            async move { tx.query_one("SELECT 1", &[]).await }.boxed()
        });
        probe.await?;
        return Ok(vec![Ok(LineChangeOutcome::Nothing); changes.len()]);
    }
    let mut tries = 1;
    loop {
        let written = installation.write(Arc::clone(changes), |tx, changes| {
            write_changes(tx, changes).boxed()
        });
        match written.await {
            Err(LedgerError::Unknown(_)) if tries < TRIES_MAX => tries += 1,
            settled => return settled,
        }
    }
}

async fn write_changes(
    tx: &SqlTransaction,
    changes: &[RoomLineChange],
) -> Result<Vec<LineChangeResult>> {
    let mut outcomes = Vec::with_capacity(changes.len());
    while let Some((room, change)) = changes.get(outcomes.len()) {
        match change {
            LineChange::Join(_) => {
                let leading = leading_joins(&changes[outcomes.len()..]);
                let recorded = joins::record_joins(tx, room, &leading).await?;
                outcomes.extend(
                    recorded
                        .into_iter()
                        .map(|join| join.map(LineChangeOutcome::Join)),
                );
            }
            LineChange::Leave { number, at, void } => {
                joins::record_leave(tx, room, *number, *at, *void).await?;
                outcomes.push(Ok(LineChangeOutcome::Nothing));
            }
            LineChange::Freeze(freeze, life) => {
                let frozen = lives::freeze_line(tx, room, *freeze, *life).await?;
                outcomes.push(Ok(LineChangeOutcome::Freeze(frozen)));
            }
            LineChange::Nothing => outcomes.push(Ok(LineChangeOutcome::Nothing)),
        }
    }
    Ok(outcomes)
}

/// Returns the joins at the beginning of `changes` that one statement can take. They are all of one
/// room, and no number, holder or code comes twice.
fn leading_joins(changes: &[RoomLineChange]) -> Vec<JoinRow> {
    let (mut leading, mut numbers, mut holders, mut codes) =
        (Vec::new(), HashSet::new(), HashSet::new(), HashSet::new());
    let first = changes.first().map(|(room, _)| room);
    for (room, change) in changes {
        let LineChange::Join(join) = change else {
            break;
        };
        let is_independent = Some(room) == first
            && numbers.insert(join.number)
            && holders.insert(join.holder)
            && join.code.is_none_or(|code| codes.insert(code));
        if !is_independent {
            break;
        }
        leading.push(*join);
    }
    leading
}

impl RoomLedger {
    /// Queues one join. The caller chooses the number, and queues a room's numbers in rising order.
    pub fn record_join(&self, room: &str, join: JoinRow) -> DurableWrite<LedgerJoinOutcome> {
        let written = self.queue.push(room, LineChange::Join(join));
        async move {
            match written.await? {
                LineChangeOutcome::Join(recorded) => Ok(recorded),
                other => Err(unexpected(&other)),
            }
        }
        .boxed()
    }

    /// Queues one departure. It also stops the pass of the place. With `void` it also makes the
    /// leaf void. This is allowed only if the visitor left before the freeze.
    pub fn record_leave(&self, room: &str, number: u64, at: i64, void: bool) -> DurableWrite<()> {
        let written = self
            .queue
            .push(room, LineChange::Leave { number, at, void });
        async move { written.await.map(drop) }.boxed()
    }

    /// Queues the freeze of numbers below `n`. A second freeze changes nothing and returns the
    /// first. For a room in Redis, the caller passes the room's `life`. The freeze is then written
    /// only if that life is the current one. If it is not the room's first life, it must also have
    /// begun at least [`FREEZE_AFTER_MS`] before the freeze.
    pub fn record_freeze(
        &self,
        room: &str,
        freeze: LineFreeze,
        life: Option<u64>,
    ) -> DurableWrite<LedgerFreezeOutcome> {
        let written = self.queue.push(room, LineChange::Freeze(freeze, life));
        async move {
            match written.await? {
                LineChangeOutcome::Freeze(recorded) => Ok(recorded),
                other => Err(unexpected(&other)),
            }
        }
        .boxed()
    }

    /// Waits until every write that was queued before this call is durable or has failed.
    pub fn barrier(&self) -> DurableWrite<()> {
        let written = self.queue.push("", LineChange::Nothing);
        async move { written.await.map(drop) }.boxed()
    }
}

fn unexpected(changed: &LineChangeOutcome) -> LedgerError {
    LedgerError::Corrupt(format!(
        "a queued change has the wrong outcome: {changed:?}"
    ))
}
