//! The writing thread. It commits all waiting transactions together. So the number of `fsync`s
//! depends on the disk's speed and not on the number of purchases.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use tokio::sync::oneshot;

use super::condition::SqliteFileHealth;
use super::connection::SqliteConnection;
use super::place::FilePlace;
use crate::LedgerError;
use crate::counter_file::{CountedOutside, CounterFile};
use crate::own_tables::RAISE_COUNTER;

/// The most transactions in one commit. With more, the first caller would wait too long for the
/// last transaction.
const GROUP_MAX: usize = 512;

/// How long closing waits until the counter outside the ledger is on its disk.
const COUNTER_FLUSH_MAX: Duration = Duration::from_secs(2);

/// How long the file must be unchanged before the thread folds the write-ahead log into it.
const CHECKPOINT_AFTER_IDLE: Duration = Duration::from_secs(2);

/// A queued transaction, which runs inside a group. It gets `None` if its group could not be begun.
/// It returns a callback, which is called after the group's commit.
pub(crate) type SqliteWriteJob =
    Box<dyn FnOnce(Option<&Arc<SqliteConnection>>) -> CommitCallback + Send>;

/// A command to the writing thread.
pub(crate) enum WriterCommand {
    /// Run this transaction.
    Write(SqliteWriteJob),
    /// Look whether the file is in its place, and as this thread left it.
    Check,
    /// Write the file anew without its free pages, empty its log, and report the outcome.
    Rewrite(oneshot::Sender<Result<(), LedgerError>>),
    /// Fold the log into the file, close it, report the outcome, and end the thread.
    Close(oneshot::Sender<Result<(), LedgerError>>),
}

/// A callback that gets `None` if the group's commit succeeded, and the reason if it failed.
type CommitCallback = Box<dyn FnOnce(Option<&str>) + Send>;

/// Makes a job from a transaction. The job sends the answer only after the commit of its group.
pub(crate) fn write_job<T, E, F>(
    transaction: F,
    answer: oneshot::Sender<Result<T, E>>,
) -> SqliteWriteJob
where
    T: Send + 'static,
    E: From<LedgerError> + Send + 'static,
    F: FnOnce(&Arc<SqliteConnection>) -> Result<T, E> + Send + 'static,
{
    Box::new(move |group| {
        let result = match group {
            Some(connection) => within_savepoint(connection, transaction),
            None => {
                Err(LedgerError::Unavailable("no transaction could be begun".to_owned()).into())
            }
        };
        Box::new(move |failure| {
            let settled = match (result, failure) {
                (Ok(_), Some(reason)) => Err(LedgerError::Unavailable(reason.to_owned()).into()),
                (result, _) => result,
            };
            // The caller may have gone away. That does not undo the write.
            let _ = answer.send(settled);
        })
    })
}

/// Runs a transaction in a savepoint. If it fails or panics, it is undone, and the others of its
/// group are not. After some failures, such as a full disk, SQLite itself undoes the whole group.
/// The connection then has no transaction any more.
fn within_savepoint<T, E, F>(connection: &Arc<SqliteConnection>, transaction: F) -> Result<T, E>
where
    E: From<LedgerError>,
    F: FnOnce(&Arc<SqliteConnection>) -> Result<T, E>,
{
    connection.execute("SAVEPOINT one_of_the_group", &[])?;
    let orders_before = connection.orders_without_provider();
    let result = catch_unwind(AssertUnwindSafe(|| transaction(connection)))
        .unwrap_or_else(|_| Err(LedgerError::Sql("the transaction panicked".to_owned()).into()));
    if !connection.has_transaction() {
        let undone = || LedgerError::Unavailable("the whole group was undone".to_owned());
        return result.and_then(|_| Err(undone().into()));
    }
    if result.is_err() {
        connection.set_orders_without_provider(orders_before);
    }
    let ended = end_savepoint(connection, result.is_err());
    if let Err(error) = ended {
        // What the transaction wrote must not be committed with the others.
        connection.batch("ROLLBACK")?;
        return result.and_then(|_| Err(error.into()));
    }
    result
}

/// Keeps the changes since the savepoint, or undoes them.
fn end_savepoint(connection: &SqliteConnection, is_undone: bool) -> Result<(), LedgerError> {
    if is_undone {
        connection.execute("ROLLBACK TO one_of_the_group", &[])?;
    }
    connection.execute("RELEASE one_of_the_group", &[])?;
    Ok(())
}

/// Decides when the log is folded into the file: some time after the last change. Transactions that
/// change no row do not postpone this. Workers begin such a transaction every second, to look for
/// due work.
#[derive(Default)]
struct CheckpointTimer {
    changed_rows: u64,
    due: Option<Instant>,
}

impl CheckpointTimer {
    /// Notes the number of rows that the connection has changed since it was opened.
    fn note_group(&mut self, changed_rows: u64, now: Instant) {
        if changed_rows != self.changed_rows {
            self.changed_rows = changed_rows;
            self.due = Some(now + CHECKPOINT_AFTER_IDLE);
        }
    }

    /// Returns whether the log must be folded in now. After each change, returns true only once.
    fn take_due(&mut self, now: Instant) -> bool {
        self.due.take_if(|due| *due <= now).is_some()
    }

    /// Waits for the next command. Returns a timeout when the log must be folded in.
    fn next_command(
        &self,
        inbox: &Receiver<WriterCommand>,
    ) -> Result<WriterCommand, RecvTimeoutError> {
        match self.due {
            Some(due) => inbox.recv_timeout(due.saturating_duration_since(Instant::now())),
            None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
        }
    }
}

/// What the writing thread shares with the handles.
pub(super) struct WriterSurroundings {
    /// The last failed commit.
    pub health: Arc<SqliteFileHealth>,
    /// The file outside the ledger that remembers how far it got, if there is one.
    pub counter_file: Arc<OnceLock<CounterFile>>,
    /// Where the file must be.
    pub place: Arc<FilePlace>,
    /// Whether another process has the file open for itself. That one folds the log into the file.
    pub is_guest: bool,
}

impl WriterSurroundings {
    /// Notes how the file was left, if only this thread writes to it.
    fn note_own_writes(&self) {
        if !self.is_guest && !self.place.is_lost() {
            self.place.note_own_writes();
        }
    }

    /// Looks whether the file is in its place, and as this thread left it. If another program wrote
    /// to it, this process writes nothing to it any more, also when it closes it. The counter
    /// outside goes on, so that the next start takes the file for a ledger that went back, whatever
    /// the other program wrote.
    ///
    /// # Errors
    /// Returns [`LedgerError::Unavailable`] if the file is not as it should be.
    fn require_place(&self, connection: &SqliteConnection) -> Result<(), LedgerError> {
        let was_overwritten = self.place.is_overwritten();
        let required = self.place.require_unchanged();
        if !was_overwritten && self.place.is_overwritten() {
            self.give_up_file(connection);
        }
        required
    }

    fn give_up_file(&self, connection: &SqliteConnection) {
        connection.with_connection(keep_log_at_close);
        if let Some(file) = self.counter_file.get() {
            let newest = file.newest();
            file.note(CountedOutside {
                counter: newest.counter + 1,
                ..newest
            });
        }
    }

    /// Closes the file, and sees to it that nothing is lost or mixed.
    fn close(&self, connection: Arc<SqliteConnection>) -> Result<(), LedgerError> {
        let is_overwritten =
            self.require_place(&connection).is_err() && self.place.is_overwritten();
        let outcome = match self.is_guest || is_overwritten {
            true => close_with_log(connection),
            false => checkpoint_and_close(connection),
        };
        if is_overwritten && let Err(error) = self.place.set_log_aside() {
            tracing::error!(%error, "the log of the overwritten ledger stays beside it; remove the files that end with -wal and -shm before the next start");
        }
        if let Some(file) = self.counter_file.get() {
            file.flush(COUNTER_FLUSH_MAX);
        }
        outcome
    }

    /// Notes that a commit failed, and logs it. A file that lost its place is not logged for each
    /// commit, because the process ends and says why.
    fn note_commit_failure(&self, reason: &str, writes: usize) {
        let is_first = self.health.note_commit_failure(reason);
        if is_first && !self.place.is_lost() {
            tracing::error!(
                reason,
                writes,
                "a ledger commit failed; its writes were refused"
            );
        } else {
            tracing::debug!(reason, writes, "another ledger commit failed");
        }
    }
}

/// Runs the queued commands. Returns after the command to close, or when every handle is dropped.
pub(crate) fn run(
    connection: Arc<SqliteConnection>,
    inbox: &Receiver<WriterCommand>,
    surroundings: &WriterSurroundings,
) {
    let mut timer = CheckpointTimer::default();
    surroundings.note_own_writes();
    loop {
        let mut command = match timer.next_command(inbox) {
            Ok(command) => Some(command),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        if let Some(WriterCommand::Write(first)) = command {
            command = commit_group(&connection, first, inbox, surroundings);
            let changed_rows = connection.with_connection(rusqlite::Connection::total_changes);
            timer.note_group(changed_rows, Instant::now());
        }
        // The caller of these commands may have stopped waiting. They are carried out all the same.
        match command {
            Some(WriterCommand::Close(closed)) => {
                let _ = closed.send(surroundings.close(connection));
                return;
            }
            Some(WriterCommand::Rewrite(rewritten)) => {
                let required = surroundings.require_place(&connection);
                let _ = rewritten.send(required.and_then(|()| rewrite(&connection)));
                surroundings.note_own_writes();
            }
            Some(WriterCommand::Check) => {
                // Whoever waits for the loss of the file sees it at the place itself.
                let _ = surroundings.require_place(&connection);
            }
            Some(WriterCommand::Write(_)) | None => {}
        }
        if timer.take_due(Instant::now()) && !surroundings.is_guest {
            fold_log_in(&connection, surroundings);
        }
    }
}

/// Folds the log into the file, as far as no reader needs it.
fn fold_log_in(connection: &SqliteConnection, surroundings: &WriterSurroundings) {
    let required = surroundings.require_place(connection);
    let folded = required.and_then(|()| connection.batch("PRAGMA wal_checkpoint(PASSIVE)"));
    surroundings.note_own_writes();
    if let Err(error) = folded {
        tracing::warn!(%error, "the ledger's log could not be folded in; trying again after the next change");
    }
}

/// Writes the file anew, so that it has no free pages, and empties the log. Nothing that was
/// deleted or replaced before is then left in either.
fn rewrite(connection: &SqliteConnection) -> Result<(), LedgerError> {
    connection.batch("VACUUM")?;
    empty_log(connection)
}

fn empty_log(connection: &SqliteConnection) -> Result<(), LedgerError> {
    let busy: bool = connection.with_connection(|connection| {
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
    })?;
    if busy {
        return Err(LedgerError::Unavailable(
            "another process is reading the ledger's file, so its log was not folded in".to_owned(),
        ));
    }
    Ok(())
}

/// Leaves the log as it is when the connection is closed.
fn keep_log_at_close(connection: &rusqlite::Connection) {
    // Where SQLite does not know the setting, it is of no version that we build.
    let _ = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
}

/// Closes the file without folding the log into it.
fn close_with_log(connection: Arc<SqliteConnection>) -> Result<(), LedgerError> {
    let connection = connection
        .into_connection()
        .ok_or_else(|| LedgerError::Unavailable("the file is still being used".to_owned()))?;
    keep_log_at_close(&connection);
    Ok(connection.close().map_err(|(_, error)| error)?)
}

/// Folds the log into the file and closes the file. It can then be copied without a log.
pub(crate) fn checkpoint_and_close(connection: Arc<SqliteConnection>) -> Result<(), LedgerError> {
    let emptied = empty_log(&connection);
    let connection = connection
        .into_connection()
        .ok_or_else(|| LedgerError::Unavailable("the file is still being used".to_owned()))?;
    connection.close().map_err(|(_, error)| error)?;
    emptied
}

/// Raises the ledger's counter by the number of transactions of the group, in their own commit, and
/// commits. Also counts the orders of the group of which no payment provider knows. Returns what is
/// counted then. If the group changed no row, there is nothing to count.
fn commit_counted(
    connection: &SqliteConnection,
    changed_before: u64,
    transactions: u64,
    place: &FilePlace,
) -> Result<Option<CountedOutside>, LedgerError> {
    let changed_rows = connection.with_connection(rusqlite::Connection::total_changes);
    if changed_rows == changed_before || !connection.has_transaction() {
        return commit(connection).map(|()| None);
    }
    let mut counted = None;
    let orders = connection.orders_without_provider();
    let raised = connection.query_each(RAISE_COUNTER, &[&transactions, &orders], |row| {
        counted = row.get(0).ok().zip(row.get(1).ok());
        true
    });
    let counter = counted.map_or(0, |(counter, _)| counter);
    if let Err(error) = raised.and_then(|()| place.check_counter(counter, transactions)) {
        connection.batch("ROLLBACK")?;
        return Err(error);
    }
    commit(connection)?;
    place.note_counter(counter);
    Ok(counted.map(|(counter, orders)| CountedOutside {
        counter,
        orders_without_provider: Some(orders),
    }))
}

/// Commits the open transaction. If the commit fails, rolls it back.
fn commit(connection: &SqliteConnection) -> Result<(), LedgerError> {
    let committed = connection.batch("COMMIT");
    if committed.is_err() && connection.has_transaction() {
        connection.batch("ROLLBACK")?;
    }
    committed
}

/// Runs the first write and all queued writes, and commits them together. Stops at any other
/// command and returns it, so that nothing is written after this command.
fn commit_group(
    connection: &Arc<SqliteConnection>,
    first: SqliteWriteJob,
    inbox: &Receiver<WriterCommand>,
    surroundings: &WriterSurroundings,
) -> Option<WriterCommand> {
    let mut callbacks = Vec::new();
    let mut other_command = None;
    let changed_before = connection.with_connection(rusqlite::Connection::total_changes);
    connection.set_orders_without_provider(0);
    let begun = surroundings.require_place(connection);
    let outcome = match begun.and_then(|()| connection.batch("BEGIN IMMEDIATE")) {
        Ok(()) => {
            callbacks.push(first(Some(connection)));
            // Without a transaction, each further statement would be committed by itself.
            while callbacks.len() < GROUP_MAX && connection.has_transaction() {
                match inbox.try_recv() {
                    Ok(WriterCommand::Write(next)) => callbacks.push(next(Some(connection))),
                    Ok(other) => {
                        other_command = Some(other);
                        break;
                    }
                    Err(_) => break,
                }
            }
            let transactions = callbacks.len() as u64;
            commit_counted(
                connection,
                changed_before,
                transactions,
                &surroundings.place,
            )
        }
        Err(error) => {
            callbacks.push(first(None));
            Err(error)
        }
    };
    // A commit folds a long log in.
    surroundings.note_own_writes();
    if let (Ok(Some(counted)), Some(file)) = (&outcome, surroundings.counter_file.get()) {
        file.note(*counted);
    }
    let failure = outcome.err().map(|error| error.to_string());
    if let Some(reason) = &failure {
        surroundings.note_commit_failure(reason, callbacks.len());
    }
    for settle in callbacks {
        settle(failure.as_deref());
    }
    other_command
}
