//! The file of a backup: a line that names the format, the head as one line of JSON, the head's
//! signature in hex as a line, and then the ledger as it is. `head -2 FILE` shows what a backup
//! has.

use std::io::{BufRead, Read, Write};

use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

/// The first line of every backup.
const FORMAT: &str = "fairgate-backup 1";

/// The longest line before the ledger, in bytes.
const LINE_MAX: u64 = 64 * 1024;

/// What a backup has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupHead {
    /// When it was made, RFC 3339.
    pub made_at: String,
    /// The ledger's id, in hex.
    pub ledger: String,
    /// How far the ledger had got.
    pub counter: u64,
    /// How many orders it has.
    pub orders: u64,
    /// How many tickets it has, also void ones.
    pub tickets: u64,
    /// The length of the ledger, in bytes.
    pub bytes: u64,
    /// SHA-256 of the ledger, in hex.
    pub sha256: String,
}

/// What is wrong with the lines before the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeadFault {
    /// They cannot be read as a backup's.
    Unreadable(&'static str),
    /// The signature is of another key, or the head was changed.
    Signature,
}

/// Writes the lines before the ledger.
pub(super) fn write_head(
    file: &mut impl Write,
    head: &BackupHead,
    key: &[u8; 32],
) -> std::io::Result<()> {
    let head = serde_json::to_string(head)?;
    let signature = hex::encode(signer(&head, key).finalize().into_bytes());
    write!(file, "{FORMAT}\n{head}\n{signature}\n")
}

/// Reads the lines before the ledger, and checks their signature. The reader then stands at the
/// ledger's first byte.
pub(super) fn read_head(file: &mut impl BufRead, key: &[u8; 32]) -> Result<BackupHead, HeadFault> {
    let unreadable = HeadFault::Unreadable;
    if read_line(file).as_deref() != Some(FORMAT) {
        return Err(unreadable("its first line does not name the format"));
    }
    let head = read_line(file).ok_or(unreadable("it has no head"))?;
    let signature = read_line(file).and_then(|line| hex::decode(line).ok());
    let signature = signature.ok_or(unreadable("its head has no signature"))?;
    // The comparison takes the same time wherever the signatures differ.
    let verified = signer(&head, key).verify_slice(&signature);
    verified.map_err(|_| HeadFault::Signature)?;
    serde_json::from_str(&head).map_err(|_| unreadable("its head is of another version"))
}

/// Reads a line of text without its end. Returns `None` if there is no such line.
fn read_line(file: &mut impl BufRead) -> Option<String> {
    let mut line = Vec::new();
    file.take(LINE_MAX).read_until(b'\n', &mut line).ok()?;
    String::from_utf8(line)
        .ok()?
        .strip_suffix('\n')
        .map(str::to_owned)
}

fn signer(head: &str, key: &[u8; 32]) -> Hmac<Sha256> {
    let mut signer = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    signer.update(head.as_bytes());
    signer
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: [u8; 32] = [7; 32];

    fn written() -> (BackupHead, Vec<u8>) {
        let head = BackupHead {
            made_at: "2026-11-29T10:00:00Z".to_owned(),
            ledger: "ab".repeat(32),
            counter: 12,
            orders: 3,
            tickets: 5,
            bytes: 6,
            sha256: "cd".repeat(32),
        };
        let mut file = Vec::new();
        write_head(&mut file, &head, &KEY).expect("written");
        file.extend(b"ledger");
        (head, file)
    }

    #[test]
    fn a_head_is_read_as_it_was_written_and_the_ledger_follows() {
        let (head, file) = written();
        let mut file = file.as_slice();
        assert_eq!(read_head(&mut file, &KEY), Ok(head));
        assert_eq!(file, b"ledger");
    }

    #[test]
    fn another_key_and_every_changed_byte_of_the_head_are_noticed() {
        let (_, file) = written();
        let other = read_head(&mut file.as_slice(), &[8; 32]);
        assert_eq!(other, Err(HeadFault::Signature));
        let ledger_at = file.len() - b"ledger".len();
        for at in 0..ledger_at {
            let mut changed = file.clone();
            changed[at] ^= 1;
            assert!(
                read_head(&mut changed.as_slice(), &KEY).is_err(),
                "byte {at}"
            );
            let cut = read_head(&mut &file[..at], &KEY);
            assert!(cut.is_err(), "cut at {at}");
        }
    }
}
