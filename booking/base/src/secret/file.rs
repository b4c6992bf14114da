//! The secret's file in the data folder, for installations without `FAIRGATE_SECRET`.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use base64::{Engine, engine::general_purpose::STANDARD};
use rand::{Rng, RngExt};

use crate::config::SECRET_CHARS_MIN;

/// The name of the secret's file in the data folder.
pub const SECRET_FILE: &str = "secret";

/// What the group and all other users may do with a file, as bits of its mode.
const OTHERS: u32 = 0o077;

/// Why the secret's file cannot be used. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum SecretFileError {
    /// The operating system does not let this process read or make the file.
    #[error("the secret's file {} cannot be used: {error}. Nothing was changed. Let this user read and write there, or set FAIRGATE_SECRET", .file.display())]
    Unusable {
        /// The file.
        file: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// Other users may read or write the file.
    #[error("other users may read or write the secret's file {} (its mode is {mode:03o}). Nothing was changed. Run: chmod 600 {}", .file.display(), .file.display())]
    Open {
        /// The file.
        file: PathBuf,
        /// The permissions.
        mode: u32,
    },
    /// The file does not contain a secret.
    #[error("the secret's file {} does not hold {SECRET_CHARS_MIN} or more visible characters in one line. Nothing was changed. Put the file back from where it was kept; a new secret cannot open what the old one sealed", .0.display())]
    NoSecret(PathBuf),
}

/// Returns the text in the secret's file of a data folder, without white space around it. Returns
/// `None` if there is no such file.
///
/// # Errors
/// Fails if the file cannot be read, others may read it, or it has no secret.
pub(super) fn read_secret(data: &Path) -> Result<Option<String>, SecretFileError> {
    let path = data.join(SECRET_FILE);
    let unusable = |error| SecretFileError::Unusable {
        file: path.clone(),
        error,
    };
    let file = match File::open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(unusable)?,
    };
    let mode = file.metadata().map_err(unusable)?.mode() & 0o777;
    if mode & OTHERS != 0 {
        return Err(SecretFileError::Open { file: path, mode });
    }
    let text = io::read_to_string(file).map_err(unusable)?;
    let text = text.trim();
    if text.len() < SECRET_CHARS_MIN || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(SecretFileError::NoSecret(path));
    }
    Ok(Some(text.to_owned()))
}

/// Makes the secret's file with a random secret, for this user only, unless there is one. The file
/// appears whole, so another process that starts at the same moment reads all of it. Returns
/// whether this call made it.
///
/// # Errors
/// Fails if the folder or the file cannot be made.
pub(super) fn make_secret(data: &Path) -> Result<bool, SecretFileError> {
    let path = data.join(SECRET_FILE);
    let unusable = |error| SecretFileError::Unusable {
        file: path.clone(),
        error,
    };
    fs::create_dir_all(data).map_err(unusable)?;
    let mut secret = [0; 32];
    rand::rng().fill_bytes(&mut secret);
    let text = STANDARD.encode(secret);
    let unfinished = data.join(format!(
        "{SECRET_FILE}.{:016x}",
        rand::rng().random::<u64>()
    ));
    let written = write_private(&unfinished, &text);
    // A link, unlike a renaming, never replaces what another process made in the meantime.
    let linked = written.and_then(|()| fs::hard_link(&unfinished, &path));
    // If the file stays, it is only a leftover.
    let _ = fs::remove_file(&unfinished);
    match linked {
        Ok(()) => {
            let folder = File::open(data).and_then(|folder| folder.sync_all());
            folder.map_err(unusable)?;
            Ok(true)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(unusable(error)),
    }
}

/// Removes the secret's file that this start made, because the ledger has another secret.
pub(super) fn remove_made_secret(data: &Path) {
    // If the file stays, the next start names it as the wrong secret.
    let _ = fs::remove_file(data.join(SECRET_FILE));
}

fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(text.as_bytes())?;
    file.write_all(b"\n")?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_file_is_made_once_for_this_user_only_and_read_back() {
        let folder = tempfile::tempdir().expect("a folder");
        let data = folder.path().join("not/yet/there");
        assert_eq!(read_secret(&data).expect("no file"), None);
        assert!(make_secret(&data).expect("made"));
        let made = read_secret(&data).expect("readable").expect("a secret");
        assert!(!make_secret(&data).expect("it is there"));
        assert_eq!(read_secret(&data).expect("readable"), Some(made.clone()));
        assert!(made.len() >= SECRET_CHARS_MIN, "{}", made.len());
        let mode = fs::metadata(data.join(SECRET_FILE)).expect("it is there");
        assert_eq!(mode.permissions().mode() & 0o777, 0o600);
        let files = fs::read_dir(&data).expect("a folder").count();
        assert_eq!(files, 1, "nothing is left beside the file");
    }

    #[test]
    fn a_file_that_others_may_read_or_that_holds_no_secret_is_refused_with_the_remedy() {
        let folder = tempfile::tempdir().expect("a folder");
        let data = folder.path();
        make_secret(data).expect("made");
        let path = data.join(SECRET_FILE);
        let put_mode =
            |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("set");
        put_mode(0o640);
        let told = read_secret(data).expect_err("open").to_string();
        assert!(told.contains("640") && told.contains("chmod 600"), "{told}");
        put_mode(0o600);
        for text in ["", "short", "thirty-two characters and a space"] {
            fs::write(&path, text).expect("written");
            let told = read_secret(data).expect_err("no secret").to_string();
            assert!(told.contains("Nothing was changed"), "{told}");
        }
    }
}
