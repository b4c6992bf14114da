//! A file outside the ledger that remembers how far the ledger got. A ledger that has a smaller
//! counter than the file is an older copy of itself.
//!
//! The file is written after a commit, so it may be behind the ledger, but is never ahead of it. A
//! thread of its own writes it, so that no commit waits for the disk of this file. If somebody
//! removes the file meanwhile, the thread writes it again.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::file_id::FileId;

/// The length of each line of the file, in bytes. A line is within one sector of a disk, so it is
/// written whole or not at all.
const LINE_BYTES: usize = 128;
/// The first line, for people who find the file.
const HEAD: &str = "Fairgate writes here how far the ledger got. A ledger that is behind this is an older copy, and sells nothing.";
/// The lines after the head are written in turn, so that one of them is always whole.
const LINES: u64 = 2;
/// How often the file is forced to the disk if it has changed, and written again if somebody has
/// removed it. Only a loss of power can lose what was written since.
const CHECK_EVERY: Duration = Duration::from_secs(1);

/// How far a ledger got, as a place outside it remembers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountedOutside {
    /// The ledger's counter after one of its last commits.
    pub counter: u64,
    /// How many orders had got tickets of which no payment provider knows. `None` if the place was
    /// written by a version that did not count them.
    pub orders_without_provider: Option<u64>,
}

impl CountedOutside {
    /// Returns what two places know together. Both numbers only grow, so the larger ones are the
    /// newer ones.
    #[must_use]
    pub fn furthest(self, other: Self) -> Self {
        Self {
            counter: self.counter.max(other.counter),
            orders_without_provider: self
                .orders_without_provider
                .max(other.orders_without_provider),
        }
    }
}

/// What the file remembers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CounterRecord {
    /// The id of the ledger that was counted.
    pub ledger: [u8; 32],
    /// How far it got.
    pub counted: CountedOutside,
}

/// Why the file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CounterFileError {
    /// The system does not let this process read or write it.
    #[error("{0}")]
    System(#[from] io::Error),
    /// It is a folder, a device or a pipe. Reading it might never end.
    #[error("it is not a regular file")]
    NotRegular,
    /// It was written for another ledger while this one was counted.
    #[error("it is the counter of another ledger")]
    OtherLedger,
    /// It is another file, or a damaged one.
    #[error("it is not a counter that Fairgate wrote")]
    Unreadable,
}

/// A handle on the thread that writes the file. A clone is cheap. The thread ends with the last
/// handle, after it has written the newest counter.
#[derive(Debug, Clone)]
pub struct CounterFile {
    shared: Arc<SharedCounter>,
    _end: Arc<EndOfHandles>,
}

#[derive(Debug)]
struct SharedCounter {
    path: PathBuf,
    state: Mutex<CounterState>,
    changed: Condvar,
}

#[derive(Debug)]
struct CounterState {
    /// What was noted last.
    newest: CountedOutside,
    /// What the file is known to have, on the disk.
    synced: CountedOutside,
    /// Why the file could not be written the last time.
    trouble: Option<String>,
    /// Whether somebody waits until the newest counter is on the disk.
    is_awaited: bool,
    has_ended: bool,
}

/// Ends the thread when the last handle is dropped.
#[derive(Debug)]
struct EndOfHandles(Arc<SharedCounter>);

impl Drop for EndOfHandles {
    fn drop(&mut self) {
        self.0.state.lock().has_ended = true;
        self.0.changed.notify_all();
    }
}

impl CounterRecord {
    /// Reads the file. Returns `None` if there is none.
    ///
    /// # Errors
    /// [`CounterFileError`].
    pub fn read(path: &Path) -> Result<Option<Self>, CounterFileError> {
        match std::fs::metadata(path) {
            Ok(metadata) if !metadata.is_file() => return Err(CounterFileError::NotRegular),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        // Another file may be very long.
        let length = (LINES + 1) * LINE_BYTES as u64;
        let mut text = Vec::new();
        File::open(path)?.take(length).read_to_end(&mut text)?;
        let lines = text.chunks(LINE_BYTES).skip(1);
        let newest = lines
            .filter_map(Self::parse)
            .max_by_key(|record| record.counted.counter);
        newest.map(Some).ok_or(CounterFileError::Unreadable)
    }

    /// Reads one line: the ledger's id in hex, the counter twice, and the number of orders without
    /// a provider twice. An older version wrote no such number.
    fn parse(line: &[u8]) -> Option<Self> {
        let line = std::str::from_utf8(line).ok()?.strip_suffix('\n')?;
        let mut words = line.split_ascii_whitespace();
        let mut ledger = [0; 32];
        hex::decode_to_slice(words.next()?, &mut ledger).ok()?;
        let counted = CountedOutside {
            counter: number_twice(words.next()?, words.next())?,
            orders_without_provider: match words.next() {
                Some(orders) => Some(number_twice(orders, words.next())?),
                None => None,
            },
        };
        words.next().is_none().then_some(Self { ledger, counted })
    }

    fn line(&self) -> String {
        let CountedOutside {
            counter,
            orders_without_provider,
        } = self.counted;
        let text = format!("{} {counter} {counter}", hex::encode(self.ledger));
        let orders = orders_without_provider.map(|orders| format!(" {orders} {orders}"));
        // The second number is left out before it would make the line too long.
        let orders = orders.filter(|orders| text.len() + orders.len() < LINE_BYTES);
        padded(&(text + &orders.unwrap_or_default()))
    }
}

/// Reads a number that must be written twice, so that a part of it is no number.
fn number_twice(first: &str, second: Option<&str>) -> Option<u64> {
    first.parse().ok().filter(|_| second == Some(first))
}

/// Returns a line of the file with this text.
fn padded(text: &str) -> String {
    format!("{text:<width$}\n", width = LINE_BYTES - 1)
}

impl CounterFile {
    /// Writes the counter to the file, and starts the thread that keeps it up to date. The file and
    /// its folder are made where they are missing.
    ///
    /// # Errors
    /// [`CounterFileError`], also if the thread cannot be started. A file that is not the counter
    /// of this ledger is not changed.
    pub fn start(path: &Path, record: CounterRecord) -> Result<Self, CounterFileError> {
        if let Some(folder) = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
        {
            std::fs::create_dir_all(folder)?;
        }
        let open = OpenCounter::open(path, record)?;
        let shared = Arc::new(SharedCounter {
            path: path.to_owned(),
            state: Mutex::new(CounterState {
                newest: record.counted,
                synced: record.counted,
                trouble: None,
                is_awaited: false,
                has_ended: false,
            }),
            changed: Condvar::new(),
        });
        let of_thread = Arc::clone(&shared);
        std::thread::Builder::new()
            .name("ledger-counter".to_owned())
            .spawn(move || of_thread.write_until_ended(open))?;
        Ok(Self {
            _end: Arc::new(EndOfHandles(Arc::clone(&shared))),
            shared,
        })
    }

    /// Returns the file's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// Notes that a commit with this counter is durable. Does not wait for the file.
    pub fn note(&self, counted: CountedOutside) {
        let mut state = self.shared.state.lock();
        if counted.counter > state.newest.counter {
            state.newest = counted;
            self.shared.changed.notify_all();
        }
    }

    /// Returns what was noted with the largest counter.
    #[must_use]
    pub fn newest(&self) -> CountedOutside {
        self.shared.state.lock().newest
    }

    /// Returns why the file could not be written the last time, if it could not.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        self.shared.state.lock().trouble.clone()
    }

    /// Waits until the newest counter is on the disk, at most for `wait_max`. Returns whether it
    /// is.
    pub fn flush(&self, wait_max: Duration) -> bool {
        let until = Instant::now() + wait_max;
        let mut state = self.shared.state.lock();
        while state.synced != state.newest {
            state.is_awaited = true;
            self.shared.changed.notify_all();
            if self
                .shared
                .changed
                .wait_until(&mut state, until)
                .timed_out()
            {
                break;
            }
        }
        state.synced == state.newest
    }
}

impl SharedCounter {
    /// Writes each new counter at once. Once a second, forces the file to the disk, writes it again
    /// if somebody removed it, and tries again what failed.
    fn write_until_ended(&self, mut open: OpenCounter) {
        let mut check_due = Instant::now() + CHECK_EVERY;
        loop {
            let mut state = self.state.lock();
            while !state.is_awaited && !state.has_ended {
                let is_news = state.newest != open.written.counted && state.trouble.is_none();
                if is_news || self.changed.wait_until(&mut state, check_due).timed_out() {
                    break;
                }
            }
            let (newest, is_last) = (state.newest, state.has_ended);
            let is_due = check_due <= Instant::now();
            let must_sync = is_due || is_last || state.is_awaited;
            state.is_awaited = false;
            drop(state);
            if is_due {
                check_due = Instant::now() + CHECK_EVERY;
            }
            let written = open.write(&self.path, newest, must_sync);
            self.note_outcome(written, open.synced);
            if is_last {
                return;
            }
        }
    }

    fn note_outcome(&self, written: Result<(), CounterFileError>, synced: CountedOutside) {
        let mut state = self.state.lock();
        if let Err(error) = &written
            && state.trouble.is_none()
        {
            tracing::error!(file = %self.path.display(), %error, "the counter outside the ledger was not written");
        }
        state.trouble = written.err().map(|error| error.to_string());
        state.synced = synced;
        self.changed.notify_all();
    }
}

/// The file as the thread has it open.
struct OpenCounter {
    file: File,
    /// What its newest line has.
    written: CounterRecord,
    /// Which line that is.
    turn: u64,
    /// What the file is known to have, on the disk.
    synced: CountedOutside,
}

impl OpenCounter {
    /// Opens the file and writes all its lines. A new file is made under another name first, so
    /// that a file with this name always has a counter.
    ///
    /// # Errors
    /// [`CounterFileError`]. A file that is not the counter of this ledger is not changed.
    fn open(path: &Path, record: CounterRecord) -> Result<Self, CounterFileError> {
        match CounterRecord::read(path)? {
            None => make_whole(path, record)?,
            Some(other) if other.ledger != record.ledger => {
                return Err(CounterFileError::OtherLedger);
            }
            Some(_) => {}
        }
        let file = File::options().write(true).open(path)?;
        // A line that was read last time is written over only after another one is whole.
        for turn in 0..LINES {
            write_line(&file, turn, record)?;
            file.sync_data()?;
        }
        Ok(Self {
            file,
            written: record,
            turn: 0,
            synced: record.counted,
        })
    }

    /// Writes the newest counter, if the file does not have it. If `must_sync` is true, also makes
    /// sure that the file is in its place and on the disk.
    fn write(
        &mut self,
        path: &Path,
        newest: CountedOutside,
        must_sync: bool,
    ) -> Result<(), CounterFileError> {
        let record = CounterRecord {
            counted: newest,
            ..self.written
        };
        if must_sync && !FileId::of(&self.file.metadata()?).is_at(path)? {
            *self = Self::open(path, record)?;
            return Ok(());
        }
        if record != self.written {
            let turn = (self.turn + 1) % LINES;
            write_line(&self.file, turn, record)?;
            (self.written, self.turn) = (record, turn);
        }
        if must_sync && self.synced != newest {
            self.file.sync_data()?;
            self.synced = newest;
        }
        Ok(())
    }
}

fn make_whole(path: &Path, record: CounterRecord) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let fresh = PathBuf::from(name);
    let mut file = File::create(&fresh)?;
    let text = [padded(HEAD), record.line()].concat();
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&fresh, path)?;
    match path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

fn write_line(file: &File, turn: u64, record: CounterRecord) -> io::Result<()> {
    let at = (turn + 1) * LINE_BYTES as u64;
    file.write_all_at(record.line().as_bytes(), at)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tenth of the commits made orders without a provider.
    fn counted(counter: u64) -> CountedOutside {
        CountedOutside {
            counter,
            orders_without_provider: Some(counter / 10),
        }
    }

    fn record(counter: u64) -> CounterRecord {
        CounterRecord {
            ledger: [7; 32],
            counted: counted(counter),
        }
    }

    fn read(path: &Path) -> CountedOutside {
        let read = CounterRecord::read(path).expect("readable");
        read.expect("a record").counted
    }

    #[test]
    fn the_newest_counter_is_in_the_file_once_it_is_flushed_and_a_smaller_one_changes_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("deeper").join("counter");
        assert_eq!(CounterRecord::read(&path).expect("no file"), None);
        let file = CounterFile::start(&path, record(3)).expect("it starts");
        assert_eq!(read(&path), counted(3));
        for counter in [9, 4, 11, 10] {
            file.note(counted(counter));
        }
        assert!(file.flush(Duration::from_secs(10)), "{:?}", file.trouble());
        assert_eq!((read(&path), file.newest()), (counted(11), counted(11)));
        drop(file);
        let again = CounterFile::start(&path, record(12)).expect("it starts");
        assert_eq!((read(&path), again.newest()), (counted(12), counted(12)));
    }

    #[test]
    fn a_line_of_an_older_version_is_read_and_lacks_only_the_second_number() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("counter");
        let id = hex::encode([7; 32]);
        let file = |line: &str| [padded(HEAD), padded(line)].concat();
        std::fs::write(&path, file(&format!("{id} 41 41"))).expect("written");
        let older = CountedOutside {
            counter: 41,
            orders_without_provider: None,
        };
        assert_eq!(read(&path), older);
        for bad in ["41", "41 40", "41 41 5", "41 41 5 6", "41 41 5 5 5"] {
            std::fs::write(&path, file(&format!("{id} {bad}"))).expect("written");
            let read = CounterRecord::read(&path);
            assert!(matches!(read, Err(CounterFileError::Unreadable)), "{bad}");
        }
        assert!(CounterFile::start(&path, record(42)).is_err());
        std::fs::remove_file(&path).expect("removed");
        std::fs::write(&path, file(&format!("{id} 41 41"))).expect("written");
        drop(CounterFile::start(&path, record(42)).expect("it starts"));
        assert_eq!(read(&path), counted(42));
    }

    #[test]
    fn a_line_never_gets_longer_than_its_place() {
        for (counter, orders) in [(7, u64::MAX), (u64::MAX, 7), (u64::MAX, u64::MAX)] {
            let counted = CountedOutside {
                counter,
                orders_without_provider: Some(orders),
            };
            let ledger = [7; 32];
            let line = CounterRecord { ledger, counted }.line();
            assert_eq!(line.len(), LINE_BYTES);
            let read = CounterRecord::parse(line.as_bytes()).expect("a line");
            assert_eq!(read.counted.counter, counter);
        }
    }

    #[test]
    fn a_line_that_was_written_in_part_leaves_the_line_before() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("counter");
        drop(CounterFile::start(&path, record(41)).expect("it starts"));
        let file = File::options().write(true).open(&path).expect("opens");
        for cut in 1..LINE_BYTES {
            let torn = &record(100).line().into_bytes()[..cut];
            write_line(&file, 0, record(41)).expect("written");
            file.write_all_at(torn, 2 * LINE_BYTES as u64)
                .expect("written");
            // A cut behind the last digit has written the line whole.
            let found = read(&path);
            assert!(
                found == counted(41) || found == counted(100),
                "{found:?} at {cut}"
            );
        }
    }

    #[test]
    fn a_file_that_is_removed_meanwhile_is_written_again_with_the_newest_counter() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("counter");
        let file = CounterFile::start(&path, record(3)).expect("it starts");
        std::fs::remove_file(&path).expect("removed");
        file.note(counted(9));
        assert!(file.flush(Duration::from_secs(10)), "{:?}", file.trouble());
        assert_eq!(read(&path), counted(9));
        // Also if nothing is written for a while.
        std::fs::remove_file(&path).expect("removed");
        let since = Instant::now();
        while !path.exists() {
            assert!(since.elapsed() < Duration::from_secs(10), "it is missing");
            std::thread::yield_now();
        }
        assert_eq!(read(&path), counted(9));
    }

    #[test]
    fn a_file_that_takes_the_counters_place_is_not_written_over() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("counter");
        let file = CounterFile::start(&path, record(3)).expect("it starts");
        let other = CounterRecord {
            ledger: [8; 32],
            counted: counted(5),
        };
        let of_other = [padded(HEAD), other.line()].concat();
        for text in ["a shopping list\n", &of_other] {
            std::fs::remove_file(&path).expect("removed");
            std::fs::write(&path, text).expect("written");
            file.note(counted(file.newest().counter + 1));
            assert!(!file.flush(Duration::from_millis(20)));
            assert!(file.trouble().is_some());
            let kept = std::fs::read_to_string(&path).expect("readable");
            assert_eq!(kept, text);
        }
        std::fs::remove_file(&path).expect("removed");
        assert!(file.flush(Duration::from_secs(10)), "{:?}", file.trouble());
        assert_eq!((read(&path), file.trouble()), (counted(5), None));
    }

    #[test]
    fn what_is_no_regular_file_is_refused_without_being_read() {
        let folder = tempfile::tempdir().expect("a folder");
        for path in [Path::new("/dev/full"), folder.path()] {
            let read = CounterRecord::read(path);
            assert!(matches!(read, Err(CounterFileError::NotRegular)));
        }
    }

    #[test]
    fn another_file_is_no_counter() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("counter");
        for text in ["", "a shopping list\n", &padded(HEAD)] {
            std::fs::write(&path, text).expect("written");
            let read = CounterRecord::read(&path);
            assert!(matches!(read, Err(CounterFileError::Unreadable)), "{text}");
        }
    }
}
