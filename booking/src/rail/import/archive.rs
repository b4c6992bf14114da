//! Unpacks GTFS feeds, which are published as ZIP archives. The files of a feed are unpacked into a
//! temporary folder, which is then read like any other feed.
//!
//! **Architecture invariant:** the crate zip is used only here.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use tempfile::TempDir;
use zip::ZipArchive;

use super::RailFeedFault;
use super::optional::{NEEDED_FILES, OPTIONAL_FILES};

/// How many bytes the unpacked files of a feed may have together. A small archive can contain files
/// that would fill the disk.
const UNPACKED_BYTES_MAX: u64 = 1 << 30;
/// How many files and folders an archive may have.
const ENTRIES_MAX: usize = 10_000;

/// Unpacks the feed in an archive. Its files may be in any folder of the archive.
///
/// # Errors
/// Returns one fault if the file is not an archive, is damaged, or has too many files or unpacked
/// bytes. Also returns one fault if a folder has two files of the same name, or if two folders have
/// the same file of the feed.
pub fn unpack_feed(archive: &Path) -> Result<TempDir, Vec<RailFeedFault>> {
    unpack_within(archive, UNPACKED_BYTES_MAX).map_err(|(file, code, message)| {
        vec![RailFeedFault {
            file,
            line: 0,
            code,
            message,
        }]
    })
}

/// The file's name, the code and the message of a fault.
type ArchiveFault = (String, &'static str, String);

fn unpack_within(archive: &Path, bytes_max: u64) -> Result<TempDir, ArchiveFault> {
    let feed_fault = |code, message: String| (String::new(), code, message);
    let cannot_read =
        |error: io::Error| feed_fault("missing_file", format!("it cannot be read: {error}"));
    let packed = File::open(archive).map_err(cannot_read)?;
    let no_archive = |error| {
        feed_fault(
            "not_zip",
            format!("it is neither a folder nor a ZIP archive: {error}"),
        )
    };
    let mut packed = ZipArchive::new(packed).map_err(no_archive)?;
    if packed.len() > ENTRIES_MAX {
        let message = format!("it has more than {ENTRIES_MAX} files and folders");
        return Err(feed_fault("too_large", message));
    }
    // If two files had the same name, the archive's reader would see only the later one.
    if packed.has_duplicate_names() {
        let message = "it has two files of the same name in one folder".to_owned();
        return Err(feed_fault("duplicate_file", message));
    }
    let folder = TempDir::new().map_err(cannot_read)?;
    let mut bytes_left = bytes_max;
    for at in 0..packed.len() {
        let damaged = |error| {
            feed_fault(
                "bad_zip",
                format!("its file number {at} is damaged: {error}"),
            )
        };
        let entry = packed.by_index(at).map_err(damaged)?;
        let path = entry.name().map_err(damaged)?.into_owned();
        // Some programs for Windows separate folders by backslashes. Only the last part of the path
        // counts, and only if it is a known name, so nothing is written outside the folder.
        let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
        let mut known = NEEDED_FILES.into_iter().chain(OPTIONAL_FILES);
        let Some(name) = known.find(|known| *known == name) else {
            continue;
        };
        let file_fault = |code, message: String| (name.to_owned(), code, message);
        let cannot_unpack =
            |error: io::Error| file_fault("bad_zip", format!("it cannot be unpacked: {error}"));
        let mut unpacked =
            File::create_new(folder.path().join(name)).map_err(|error| match error.kind() {
                io::ErrorKind::AlreadyExists => {
                    file_fault("duplicate_file", "it is in the archive twice".to_owned())
                }
                _ => cannot_unpack(error),
            })?;
        // Reading one byte more than allowed shows whether there are too many bytes.
        let mut limited = entry.take(bytes_left + 1);
        let bytes = io::copy(&mut limited, &mut unpacked).map_err(cannot_unpack)?;
        bytes_left = bytes_left.checked_sub(bytes).ok_or_else(|| {
            let message =
                format!("the files of the feed have more than {bytes_max} bytes, unpacked");
            file_fault("too_large", message)
        })?;
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use zip::write::SimpleFileOptions;
    use zip::{CompressionMethod, ZipWriter};

    use super::*;

    /// Writes an archive with these files. Returns the archive's folder and path.
    fn archive(
        method: CompressionMethod,
        files: &[(&str, &[u8])],
    ) -> (TempDir, std::path::PathBuf) {
        let folder = TempDir::new().expect("a folder");
        let path = folder.path().join("feed.zip");
        let mut writer = ZipWriter::new(File::create(&path).expect("a file"));
        for (name, bytes) in files {
            let options = SimpleFileOptions::default().compression_method(method);
            writer.start_file(*name, options).expect("a file");
            writer.write_all(bytes).expect("written");
        }
        writer.finish().expect("an archive");
        (folder, path)
    }

    #[test]
    fn two_files_of_one_name_are_refused() {
        let files: [(&str, &[u8]); 2] = [("stops.txt", b"a\n"), ("stopz.txt", b"b\n")];
        let (_folder, path) = archive(CompressionMethod::Stored, &files);
        let mut bytes = std::fs::read(&path).expect("an archive");
        for at in 0..bytes.len() - 9 {
            if &bytes[at..at + 9] == b"stopz.txt" {
                bytes[at + 4] = b's';
            }
        }
        std::fs::write(&path, bytes).expect("written");
        let refused = unpack_within(&path, 1_000).expect_err("which one is meant?");
        assert_eq!(refused.1, "duplicate_file");
    }

    #[test]
    fn the_files_of_a_feed_are_unpacked_from_any_folder_and_others_stay_packed() {
        let files: [(&str, &[u8]); 4] = [
            ("feed/stops.txt", b"stop_id\n"),
            ("feed/shapes.txt", b"shape_id\n"),
            ("__MACOSX/feed/._stops.txt", b"x"),
            ("a/b/trips.txt", b"trip_id\n"),
        ];
        let (_folder, path) = archive(CompressionMethod::Deflated, &files);
        let unpacked = unpack_feed(&path).expect("a feed");
        let files = std::fs::read_dir(unpacked.path()).expect("a folder");
        let mut names: Vec<_> = files
            .map(|file| file.expect("a file").file_name())
            .collect();
        names.sort();
        assert_eq!(names, ["stops.txt", "trips.txt"]);
        let text = std::fs::read_to_string(unpacked.path().join("stops.txt"));
        assert_eq!(text.expect("readable"), "stop_id\n");
    }

    #[test]
    fn no_path_in_an_archive_leads_outside_the_folder() {
        let files: [(&str, &[u8]); 4] = [
            ("..\\..\\stops.txt", b"stop_id\n"),
            ("../../trips.txt", b"trip_id\n"),
            ("C:\\feed\\routes.txt", b"route_id\n"),
            ("/tmp\\..\\agency.txt", b"agency_id\n"),
        ];
        let (_folder, path) = archive(CompressionMethod::Stored, &files);
        let unpacked = unpack_feed(&path).expect("a feed");
        for name in ["agency.txt", "routes.txt", "stops.txt", "trips.txt"] {
            assert!(unpacked.path().join(name).is_file(), "{name}");
        }
        let files: [(&str, &[u8]); 2] = [("a/stops.txt", b""), ("a\\stops.txt", b"")];
        let (_folder, path) = archive(CompressionMethod::Stored, &files);
        let refused = unpack_within(&path, 1_000).expect_err("which one is meant?");
        assert_eq!(refused.1, "duplicate_file");
    }

    #[test]
    fn an_archive_that_would_fill_the_disk_is_refused() {
        let zeros = vec![b'0'; 1 << 20];
        let files: [(&str, &[u8]); 2] = [("stops.txt", &zeros), ("trips.txt", &zeros)];
        let (_folder, path) = archive(CompressionMethod::Deflated, &files);
        let packed = std::fs::metadata(&path).expect("a file").len();
        assert!(packed < 10_000, "{packed} bytes");
        assert!(unpack_within(&path, 2 << 20).is_ok());
        let (file, code, _) = unpack_within(&path, (2 << 20) - 1).expect_err("too large");
        assert_eq!((file.as_str(), code), ("trips.txt", "too_large"));
    }

    #[test]
    fn a_file_that_is_no_archive_is_damaged_or_has_a_file_twice_is_refused() {
        let code = |path: &Path| unpack_within(path, 1 << 20).expect_err("refused").1;
        let files: [(&str, &[u8]); 2] = [("stops.txt", b"stop_id\n"), ("a/stops.txt", b"")];
        let (folder, path) = archive(CompressionMethod::Stored, &files);
        assert_eq!(code(&path), "duplicate_file");
        let text = folder.path().join("text.zip");
        std::fs::write(&text, "stop_id\n").expect("written");
        assert_eq!(code(&text), "not_zip");
        let mut bytes = std::fs::read(&path).expect("readable");
        let at = bytes.windows(7).position(|part| part == b"stop_id");
        bytes[at.expect("the text")] ^= 0xff;
        std::fs::write(&text, bytes).expect("written");
        assert_eq!(code(&text), "bad_zip");
    }
}
