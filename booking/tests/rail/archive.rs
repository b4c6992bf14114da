//! Tests feeds in ZIP archives. Feeds are published in this form.

use std::fs::File;
use std::io::Write;

use booking::rail::import::read_gtfs;
use fairgate_model::timetables::settings::RailFile;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::faults::{GTFS, replaced};
use super::*;

/// Packs the files of a folder into `feed.zip` in a new folder.
pub(super) fn packed(from: &Path) -> TempDir {
    packed_below("", from)
}

/// Packs the files of a folder into `feed.zip` in a new folder. `below` begins the path of each
/// file in the archive.
fn packed_below(below: &str, from: &Path) -> TempDir {
    let to = folder(&[]);
    let archive = File::create(to.path().join("feed.zip")).expect("a file");
    let mut writer = ZipWriter::new(archive);
    for file in std::fs::read_dir(from).expect("a folder") {
        let file = file.expect("a file");
        let name = file.file_name().into_string().expect("a name");
        writer
            .start_file(format!("{below}{name}"), SimpleFileOptions::default())
            .expect("a file");
        let bytes = std::fs::read(file.path()).expect("readable");
        writer.write_all(&bytes).expect("written");
    }
    writer.finish().expect("an archive");
    to
}

#[test]
fn an_archive_gives_the_same_timetable_as_its_folder() {
    let rail = RailFile::default();
    let small = folder(&GTFS);
    let feeds = [
        real("gtfs-caltrain-2023"),
        real("gtfs-sample"),
        Some(small.path().to_owned()),
    ];
    for feed in feeds.into_iter().flatten() {
        let archive = packed(&feed);
        let read = sound(read_gtfs(&archive.path().join("feed.zip"), &rail));
        assert_eq!(
            read.parts,
            sound(read_gtfs(&feed, &rail)).parts,
            "{}",
            feed.display()
        );
    }
}

#[test]
fn faults_within_an_archive_have_file_and_line() {
    let feed = folder(&GTFS);
    replaced(feed.path(), "stop_times.txt", "hub-1,5", "gone,5");
    let archive = packed(feed.path());
    let path = archive.path().join("feed.zip");
    let read = read_gtfs(&path, &RailFile::default());
    assert_eq!(
        in_short(&read.expect_err("broken")),
        ["stop_times.txt:2 dangling_stop"]
    );
    std::fs::write(&path, "no archive").expect("written");
    let read = read_gtfs(&path, &RailFile::default());
    assert_eq!(in_short(&read.expect_err("broken")), [":0 not_zip"]);
}

#[test]
fn an_archive_may_separate_folders_by_backslashes() {
    let rail = RailFile::default();
    let feed = folder(&GTFS);
    let expected = sound(read_gtfs(feed.path(), &rail)).parts;
    for below in ["feed\\", "public\\rail\\", "public/rail\\", ".\\"] {
        let archive = packed_below(below, feed.path());
        let read = sound(read_gtfs(&archive.path().join("feed.zip"), &rail));
        assert_eq!(read.parts, expected, "{below}");
    }
}
