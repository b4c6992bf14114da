//! Serves styles, scripts, icons and texts as bytes. If any of them changes, all addresses change.
//!
//! Every address contains the same version (`?v=…`), which is a hash over everything that is
//! served. Scripts import each other, and a page with scripts of two builds would break. So the
//! joined scripts import by addresses with this version. The file at a versioned address never
//! changes, so a server can mark it as immutable.

use std::{borrow::Cow, collections::BTreeMap, sync::LazyLock};

use rust_embed::RustEmbed;
use sha2::{Digest, Sha256};

use crate::bundle::{self, VERSION_MARK};
use crate::texts;

#[derive(RustEmbed)]
#[folder = "style"]
#[prefix = "style/"]
struct StyleFiles;

#[derive(RustEmbed)]
#[folder = "script"]
#[prefix = "script/"]
struct ScriptFiles;

#[derive(RustEmbed)]
#[folder = "icon"]
#[prefix = "icon/"]
struct IconFiles;

/// One file that a browser fetches.
#[derive(Clone, Debug)]
pub struct PageAsset {
    /// The body.
    pub bytes: Cow<'static, [u8]>,
    /// The value of the `Content-Type` header.
    pub content_type: &'static str,
    /// The value of the `ETag` header, quotes included. It changes with the bytes.
    pub etag: String,
    /// Whether the file fits only pages of this build. If so, a request with another version, or
    /// with none, must not get this file.
    pub needs_version: bool,
}

struct AssetBundle {
    version: String,
    files: BTreeMap<String, (Vec<u8>, String)>,
}

static BUNDLE: LazyLock<AssetBundle> = LazyLock::new(load_bundle);

fn load_bundle() -> AssetBundle {
    let mut raw: BTreeMap<String, Vec<u8>> = StyleFiles::iter()
        .map(|path| (StyleFiles::get(&path), path))
        .chain(ScriptFiles::iter().map(|path| (ScriptFiles::get(&path), path)))
        .chain(IconFiles::iter().map(|path| (IconFiles::get(&path), path)))
        .filter_map(|(file, path)| Some((path.into_owned(), file?.data.into_owned())))
        .collect();
    let joined = bundle::joined_files(
        &sources(&raw, "script/", ".js"),
        &sources(&raw, "style/", ".css"),
    )
    .expect("the scripts can be joined, which the tests of this crate check");
    let written = joined.into_iter().chain(texts::later_files());
    raw.extend(written.map(|(path, text)| (path, text.into_bytes())));
    let mut all_files_hash = Sha256::new();
    for (path, bytes) in &raw {
        all_files_hash.update(path.as_bytes());
        all_files_hash.update([0]);
        all_files_hash.update(Sha256::digest(bytes));
    }
    let version = short_hex(&all_files_hash.finalize());
    let files = raw
        .into_iter()
        .map(|(path, bytes)| {
            let bytes = if path.starts_with("page/") {
                let text = String::from_utf8_lossy(&bytes);
                text.replace(VERSION_MARK, &version).into_bytes()
            } else {
                bytes
            };
            let etag = format!("\"{}\"", short_hex(&Sha256::digest(&bytes)));
            (path, (bytes, etag))
        })
        .collect();
    AssetBundle { version, files }
}

/// Returns the texts of the files of a folder, by their names without the ending.
fn sources(
    raw: &BTreeMap<String, Vec<u8>>,
    folder: &str,
    ending: &str,
) -> BTreeMap<String, String> {
    raw.iter()
        .filter_map(|(path, bytes)| {
            let name = path.strip_prefix(folder)?.strip_suffix(ending)?;
            Some((name.to_owned(), String::from_utf8_lossy(bytes).into_owned()))
        })
        .collect()
}

fn short_hex(digest: &[u8]) -> String {
    hex::encode(&digest[..8])
}

/// Returns the asset at `path` (such as `page/lobby.css`, without `/assets/` and without a query),
/// or `None` if there is no such file.
#[must_use]
pub fn asset(path: &str) -> Option<PageAsset> {
    let (bytes, etag) = BUNDLE.files.get(path)?;
    Some(PageAsset {
        bytes: Cow::Borrowed(bytes),
        content_type: content_type(path),
        etag: etag.clone(),
        needs_version: is_later_module(path),
    })
}

/// Returns the version that is part of every asset's address as `?v=`: 16 hex digits. A server can
/// mark its answer to a request with this version as immutable. Browsers should revalidate any
/// other answer with the `ETag`.
#[must_use]
pub fn version() -> &'static str {
    &BUNDLE.version
}

/// Returns the address of an asset as pages name it. Does not check that the file exists. A test
/// checks this.
pub(crate) fn asset_address(path: &str) -> String {
    format!("/assets/{path}?v={}", version())
}

/// Returns a small SVG picture as an address that contains the picture. A page that names it so
/// needs no request for it. The address is valid in an attribute with double quotes.
pub(crate) fn inline_address(path: &str) -> String {
    let picture = asset(path).map_or(Cow::Borrowed(&[][..]), |picture| picture.bytes);
    let picture = String::from_utf8_lossy(&picture);
    let written: String = picture
        .trim()
        .chars()
        .map(|character| match character {
            '"' => "'".to_owned(),
            '#' | '%' | '<' | '>' => format!("%{:02X}", u32::from(character)),
            other => other.to_string(),
        })
        .collect();
    format!("data:image/svg+xml,{written}")
}

/// Returns whether this file is a script that a page loads later. Such a file imports the page's
/// script of its own build. In a page of another build, it would start that script a second time.
fn is_later_module(path: &str) -> bool {
    path.strip_prefix("page/")
        .is_some_and(|path| path.contains('/'))
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, ending)| ending) {
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("json") => "application/json",
        _ => "application/octet-stream",
    }
}
