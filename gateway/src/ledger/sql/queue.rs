//! Writes of a store without lives, in the order they were queued in: whatever waits when a transaction begins shares
//! it, so that the number of commits follows the database's pace and not the number of joins.

use std::collections::HashSet;
use std::sync::Arc;

use fairgate_databases::{Database, LedgerError, Tx};
use tokio::sync::{mpsc, oneshot};

use super::{draws, joins};
use crate::ledger::{Failure, Freeze, FreezeRecorded, JoinRecorded, JoinRow};

/// More than this in one commit would make the first of them wait for the last.
const GROUP_MAX: usize = 512;
/// How often a group is written whose outcome cannot be told. Each write says the same the second time.
const TRIES_MAX: u32 = 3;

/// One write. All of them may be repeated.
#[derive(Debug, Clone)]
pub(super) enum Write {
    Join(JoinRow),
    Leave { number: u64, at: i64, void: bool },
    Freeze(Freeze, Option<u64>),
    Nothing,
}

/// What it came to.
#[derive(Debug, Clone)]
pub(super) enum Wrote {
    Join(JoinRecorded),
    Freeze(FreezeRecorded),
    Nothing,
}

type Outcome = Result<Wrote, Failure>;

struct Queued {
    room: String,
    write: Write,
    answer: oneshot::Sender<Outcome>,
}

/// The end that writes are queued at.
#[derive(Clone)]
pub(super) struct Queue {
    queued: mpsc::UnboundedSender<Queued>,
}

impl Queue {
    /// Starts the task that writes; it ends with the last handle.
    pub(super) fn start(database: Database) -> Self {
        let (queued, inbox) = mpsc::unbounded_channel();
        tokio::spawn(run(database, inbox));
        Self { queued }
    }

    /// Queues a write before it returns; it is written whether or not the answer is waited for.
    pub(super) fn push(
        &self,
        room: &str,
        write: Write,
    ) -> impl Future<Output = Outcome> + Send + use<> {
        let (answer, answered) = oneshot::channel();
        let queued = Queued {
            room: room.to_owned(),
            write,
            answer,
        };
        let sent = self.queued.send(queued).is_ok();
        async move {
            let stopped = || Failure::Unavailable("the ledger's queue has stopped".into());
            if !sent {
                return Err(stopped());
            }
            answered.await.unwrap_or_else(|_| Err(stopped()))
        }
    }
}

async fn run(database: Database, mut inbox: mpsc::UnboundedReceiver<Queued>) {
    let mut waiting = Vec::with_capacity(GROUP_MAX);
    while inbox.recv_many(&mut waiting, GROUP_MAX).await > 0 {
        let (mut writes, mut answers) = (Vec::new(), Vec::new());
        for queued in waiting.drain(..) {
            writes.push((queued.room, queued.write));
            answers.push(queued.answer);
        }
        for (answer, outcome) in answers.into_iter().zip(settle(&database, writes).await) {
            // A caller that has gone away no longer wants its answer; the write stands all the same.
            let _ = answer.send(outcome);
        }
    }
}

async fn settle(database: &Database, writes: Vec<(String, Write)>) -> Vec<Outcome> {
    let writes = Arc::new(writes);
    match commit(database, &writes).await {
        Ok(outcomes) => outcomes,
        // One write that the database refuses must not take the others with it.
        Err(Lost::Refused(_)) if writes.len() > 1 => {
            let mut outcomes = Vec::with_capacity(writes.len());
            for write in writes.iter() {
                let alone = Arc::new(vec![write.clone()]);
                match commit(database, &alone).await {
                    Ok(alone) => outcomes.extend(alone),
                    Err(Lost::Refused(why) | Lost::Unknown(why)) => outcomes.push(Err(why)),
                }
            }
            outcomes
        }
        Err(Lost::Refused(why) | Lost::Unknown(why)) => {
            writes.iter().map(|_| Err(why.clone())).collect()
        }
    }
}

/// Why a group was not written.
enum Lost {
    /// Nothing of it is in the ledger.
    Refused(Failure),
    /// Nobody can tell.
    Unknown(Failure),
}

impl From<LedgerError> for Lost {
    fn from(error: LedgerError) -> Self {
        match error {
            LedgerError::Unknown(_) => Self::Unknown(error.into()),
            error => Self::Refused(error.into()),
        }
    }
}

impl From<Failure> for Lost {
    fn from(failure: Failure) -> Self {
        Self::Refused(failure)
    }
}

async fn commit(
    database: &Database,
    writes: &Arc<Vec<(String, Write)>>,
) -> Result<Vec<Outcome>, Lost> {
    let idle = writes
        .iter()
        .all(|(_, write)| matches!(write, Write::Nothing));
    if idle {
        // Who only asks whether the ledger answers leaves no trace in it.
        let asked = database.read(|tx| async move { tx.one("SELECT 1", &[]).await });
        return asked
            .await
            .map(|_| writes.iter().map(|_| Ok(Wrote::Nothing)).collect())
            .map_err(|error: LedgerError| error.into());
    }
    let mut tries = 1;
    loop {
        let writes = Arc::clone(writes);
        let written = database
            .write(move |tx| {
                let writes = Arc::clone(&writes);
                async move { carry_out(&tx, &writes).await.map_err(Lost::from) }
            })
            .await;
        match written {
            Err(Lost::Unknown(_)) if tries < TRIES_MAX => tries += 1,
            settled => return settled,
        }
    }
}

async fn carry_out(tx: &Tx, writes: &[(String, Write)]) -> Result<Vec<Outcome>, Failure> {
    let mut outcomes = Vec::with_capacity(writes.len());
    while let Some((room, write)) = writes.get(outcomes.len()) {
        match write {
            Write::Join(_) => {
                let run = run_of_joins(&writes[outcomes.len()..]);
                let recorded = joins::record(tx, room, &run).await?;
                outcomes.extend(recorded.into_iter().map(|join| join.map(Wrote::Join)));
            }
            Write::Leave { number, at, void } => {
                joins::leave(tx, room, *number, *at, *void).await?;
                outcomes.push(Ok(Wrote::Nothing));
            }
            Write::Freeze(freeze, life) => {
                let frozen = draws::freeze(tx, room, *freeze, *life).await?;
                outcomes.push(Ok(Wrote::Freeze(frozen)));
            }
            Write::Nothing => outcomes.push(Ok(Wrote::Nothing)),
        }
    }
    Ok(outcomes)
}

/// The joins at the head that one statement can take: of one room, and no number, holder or code twice.
fn run_of_joins(writes: &[(String, Write)]) -> Vec<JoinRow> {
    let (mut run, mut numbers, mut holders, mut codes) =
        (Vec::new(), HashSet::new(), HashSet::new(), HashSet::new());
    let first = writes.first().map(|(room, _)| room);
    for (room, write) in writes {
        let Write::Join(join) = write else {
            break;
        };
        let fits = Some(room) == first
            && numbers.insert(join.number)
            && holders.insert(join.holder)
            && join.code.is_none_or(|code| codes.insert(code));
        if !fits {
            break;
        }
        run.push(*join);
    }
    run
}
