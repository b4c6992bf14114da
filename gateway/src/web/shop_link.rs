//! The link from a lobby to the shop that its room guards. The shop is not Fairgate's.

/// The longest path (bytes) that a link may lead to.
const PATH_BYTES_MAX: usize = 1024;

/// The shop that a room guards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShopLink {
    /// The room whose pass opens the shop.
    pub room: String,
    /// Where the public reaches the shop: an origin, without a trailing slash.
    pub url: String,
}

impl ShopLink {
    /// Returns the address of a page of the shop. `to` is the path that a visitor first asked for.
    /// If `to` is not a path, returns the shop's first page. A lobby therefore never links to
    /// another site.
    #[must_use]
    pub fn address(&self, to: Option<&str>) -> String {
        let path = to.filter(|to| is_path(to)).unwrap_or("/");
        format!("{}{path}", self.url)
    }
}

/// Returns whether a text is a path, perhaps with a query.
#[must_use]
pub fn is_path(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && byte != b'\\';
    text.len() <= PATH_BYTES_MAX && text.starts_with('/') && text.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_never_leads_to_another_site() {
        let shop = ShopLink {
            room: "demo".into(),
            url: "https://shop.example".into(),
        };
        for (to, path) in [
            ("/basket?item=1#top", "/basket?item=1#top"),
            ("//evil.example/x", "//evil.example/x"),
            ("", "/"),
            (".evil.example/", "/"),
            ("@evil.example/", "/"),
            ("https://evil.example/", "/"),
            ("/\\evil.example", "/"),
            ("/a b", "/"),
            ("/a\nb", "/"),
        ] {
            let address = format!("https://shop.example{path}");
            assert_eq!(shop.address(Some(to)), address, "{to:?}");
        }
        assert_eq!(shop.address(None), "https://shop.example/");
        let long = format!("/{}", "a".repeat(PATH_BYTES_MAX));
        assert_eq!(shop.address(Some(&long)), "https://shop.example/");
    }
}
