//! Serves styles, scripts and icons as bytes. Their addresses change when the files change.
//!
//! One version, a hash over all files, is part of every address (`?v=…`). Scripts import each
//! other, and a page with scripts of two builds would break. So the relative imports inside scripts
//! get the same version when the scripts are loaded here. The file at a versioned address never
//! changes, so a server can mark it as immutable.

use std::{borrow::Cow, collections::BTreeMap, sync::LazyLock};

use rust_embed::RustEmbed;
use sha2::{Digest, Sha256};

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
}

struct AssetBundle {
    version: String,
    files: BTreeMap<String, (Vec<u8>, String)>,
}

static BUNDLE: LazyLock<AssetBundle> = LazyLock::new(load_bundle);

fn load_bundle() -> AssetBundle {
    let raw: BTreeMap<String, Cow<'static, [u8]>> = StyleFiles::iter()
        .map(|path| (StyleFiles::get(&path), path))
        .chain(ScriptFiles::iter().map(|path| (ScriptFiles::get(&path), path)))
        .chain(IconFiles::iter().map(|path| (IconFiles::get(&path), path)))
        .filter_map(|(file, path)| Some((path.into_owned(), file?.data)))
        .collect();
    let mut whole = Sha256::new();
    for (path, bytes) in &raw {
        whole.update(path.as_bytes());
        whole.update([0]);
        whole.update(Sha256::digest(bytes));
    }
    let version = short_hex(&whole.finalize());
    let files = raw
        .into_iter()
        .map(|(path, bytes)| {
            let bytes = if path.ends_with(".js") {
                version_imports(&bytes, &version)
            } else {
                bytes.into_owned()
            };
            let etag = format!("\"{}\"", short_hex(&Sha256::digest(&bytes)));
            (path, (bytes, etag))
        })
        .collect();
    AssetBundle { version, files }
}

fn short_hex(digest: &[u8]) -> String {
    hex::encode(&digest[..8])
}

/// Turns `from "./core.js"` into `from "./core.js?v=…"`. Scripts import in this one form only,
/// which a test checks.
fn version_imports(script: &[u8], version: &str) -> Vec<u8> {
    String::from_utf8_lossy(script)
        .lines()
        .map(|line| {
            let imports = line.contains("from \"./") && line.ends_with(".js\";");
            if imports {
                line.replace(".js\";", &format!(".js?v={version}\";\n"))
            } else {
                format!("{line}\n")
            }
        })
        .collect::<String>()
        .into_bytes()
}

/// Returns the asset at `path` (such as `style/base.css`, without `/assets/` and without a query),
/// or `None` if no such file is embedded.
#[must_use]
pub fn asset(path: &str) -> Option<PageAsset> {
    let (bytes, etag) = BUNDLE.files.get(path)?;
    Some(PageAsset {
        bytes: Cow::Borrowed(bytes),
        content_type: content_type(path),
        etag: etag.clone(),
    })
}

/// Returns the version that is part of every asset's address as `?v=`: 16 hex digits. A server can
/// mark its answer to a request with this version as immutable. Browsers should revalidate any
/// other answer with the `ETag`.
#[must_use]
pub fn version() -> &'static str {
    &BUNDLE.version
}

/// Returns the address of an asset as pages name it. Does not check that the file is embedded,
/// which a test does.
pub(crate) fn asset_address(path: &str) -> String {
    format!("/assets/{path}?v={}", version())
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
