//! Writes the run's history as JSON Lines: the calls of visitors and observers, their answers, and
//! the frames of their sockets. The judge reads the file after the run. A separate thread writes
//! the file, so that no visitor waits for the disk.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use anyhow::Context;
use serde_json::{Map, Value, json};

/// Takes the records of the history. It is cheap to clone.
#[derive(Clone)]
pub struct HistoryWriter {
    lines: Sender<Option<String>>,
}

/// The thread that writes the history. [`HistoryWriterThread::finish`] joins it.
pub struct HistoryWriterThread {
    thread: JoinHandle<std::io::Result<u64>>,
}

impl HistoryWriter {
    /// Starts a history at `path`, and replaces any file there.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn create(path: &Path) -> anyhow::Result<(Self, HistoryWriterThread)> {
        let file = File::create(path)
            .with_context(|| format!("the history {} cannot be written", path.display()))?;
        let (lines, received) = channel::<Option<String>>();
        let thread = std::thread::spawn(move || {
            let mut out = BufWriter::with_capacity(1 << 20, file);
            let mut written = 0;
            // `None` means that no more lines will come.
            for line in received.into_iter().map_while(|line| line) {
                out.write_all(line.as_bytes())?;
                out.write_all(b"\n")?;
                written += 1;
            }
            out.flush()?;
            Ok(written)
        });
        Ok((Self { lines }, HistoryWriterThread { thread }))
    }

    /// Writes one record with this kind and these fields.
    pub fn write(&self, kind: &str, fields: Value) {
        let mut record = Map::new();
        record.insert("kind".to_owned(), json!(kind));
        if let Value::Object(fields) = fields {
            record.extend(fields);
        }
        // Sending fails only after `close` or after a failed write. `finish` reports a failed
        // write.
        let _ = self.lines.send(Some(Value::Object(record).to_string()));
    }

    /// Adds the lines of another process's history.
    ///
    /// # Errors
    /// If the other history cannot be read.
    pub fn add_file(&self, path: &Path) -> anyhow::Result<()> {
        let message = || format!("the history {} cannot be read", path.display());
        let file = File::open(path).with_context(message)?;
        for line in BufReader::new(file).lines() {
            let _ = self.lines.send(Some(line.with_context(message)?));
        }
        Ok(())
    }

    /// Tells the thread that no more records will come.
    pub fn close(&self) {
        // If the thread has already ended, `finish` reports the reason.
        let _ = self.lines.send(None);
    }
}

impl HistoryWriterThread {
    /// Waits until everything is written, and returns the number of lines. Call
    /// [`HistoryWriter::close`] first.
    ///
    /// # Errors
    /// If the file could not be written.
    pub fn finish(self) -> anyhow::Result<u64> {
        let written = self.thread.join();
        let written = written.map_err(|_| anyhow::anyhow!("the history's writer broke"))?;
        written.context("the history could not be written to its end")
    }
}
