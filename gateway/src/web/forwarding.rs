//! Reads the address of a client from the one header in which the trusted proxies name it. What
//! outsiders wrote into the header does not count, because each trusted proxy appends to the header
//! or overwrites it.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_REAL_IP: HeaderName = HeaderName::from_static("x-real-ip");

/// Headers of proxies that do not contain an address. They are easily confused with headers that
/// contain one.
const WITHOUT_ADDRESS: [&str; 5] = [
    "host",
    "via",
    "x-forwarded-host",
    "x-forwarded-port",
    "x-forwarded-proto",
];

/// The header in which the trusted proxies name the address of their client.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ForwardingHeader {
    /// `X-Forwarded-For`: a list, to which each proxy appends the address of its client.
    #[default]
    XForwardedFor,
    /// `Forwarded` (RFC 7239): a list, to which each proxy appends an element with `for=`.
    Forwarded,
    /// A header with one address, which a proxy overwrites, such as `X-Real-IP` or
    /// `CF-Connecting-IP`.
    OneAddress(HeaderName),
}

impl fmt::Display for ForwardingHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::XForwardedFor => f.write_str("X-Forwarded-For"),
            Self::Forwarded => f.write_str("Forwarded"),
            Self::OneAddress(name) => f.write_str(name.as_str()),
        }
    }
}

impl ForwardingHeader {
    /// Reads the name of a header. Returns `None` if the text is not a header name, or names a
    /// header that has no address.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let name: HeaderName = text.parse().ok()?;
        if WITHOUT_ADDRESS.contains(&name.as_str()) {
            return None;
        }
        Some(match name.as_str() {
            "x-forwarded-for" => Self::XForwardedFor,
            "forwarded" => Self::Forwarded,
            _ => Self::OneAddress(name),
        })
    }

    /// Returns the client's address that the farthest of `hops` trusted proxies named. In a list
    /// this is entry number `hops` from the right. A header with one address gives the same address
    /// for any number of proxies. Returns `None` without proxies, or if the address is missing or
    /// not readable.
    #[must_use]
    pub fn client_address(&self, headers: &HeaderMap, hops: usize) -> Option<IpAddr> {
        let skip = hops.checked_sub(1)?;
        match self {
            Self::XForwardedFor => {
                let lines = headers.get_all(X_FORWARDED_FOR).iter().rev();
                let addresses = lines.flat_map(|line| line.as_bytes().rsplit(|byte| *byte == b','));
                parse_address(std::str::from_utf8(addresses.into_iter().nth(skip)?).ok()?)
            }
            Self::Forwarded => forwarded_for(headers, skip),
            Self::OneAddress(name) => {
                let mut lines = headers.get_all(name).iter();
                let only_line = lines.next()?;
                // A proxy overwrites the header, so one of two lines is an outsider's.
                let is_alone = lines.next().is_none();
                is_alone.then(|| parse_address(only_line.to_str().ok()?))?
            }
        }
    }
}

/// Returns whether a request names an address in one of the usual headers.
#[must_use]
pub fn names_client_address(headers: &HeaderMap) -> bool {
    [X_FORWARDED_FOR, header::FORWARDED, X_REAL_IP]
        .iter()
        .any(|name| headers.contains_key(name))
}

/// Removes the usual headers with addresses of clients, and the header that this gateway reads.
pub fn remove_addresses(headers: &mut HeaderMap, header_read: &ForwardingHeader) {
    for name in [X_FORWARDED_FOR, header::FORWARDED, X_REAL_IP] {
        headers.remove(name);
    }
    if let ForwardingHeader::OneAddress(name) = header_read {
        headers.remove(name);
    }
}

/// Reads an address as proxies write it: alone, or with a port.
fn parse_address(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let with_port = || text.parse::<SocketAddr>().ok().map(|address| address.ip());
    let in_brackets = || text.strip_prefix('[')?.strip_suffix(']')?.parse().ok();
    text.parse().ok().or_else(with_port).or_else(in_brackets)
}

/// Returns the address in the element of `Forwarded` that is `skip` elements left of the last one.
fn forwarded_for(headers: &HeaderMap, mut skip: usize) -> Option<IpAddr> {
    for line in headers.get_all(header::FORWARDED).iter().rev() {
        let elements = forwarded_elements(line)?;
        match elements.len().checked_sub(skip + 1) {
            Some(at) => return parse_address(elements[at].as_deref()?),
            None => skip -= elements.len(),
        }
    }
    None
}

/// Returns the parameter `for` of each element of a line. Returns `None` if the line breaks the
/// grammar, because an outsider could open a quotation that hides what the proxies appended.
fn forwarded_elements(line: &HeaderValue) -> Option<Vec<Option<String>>> {
    let line = String::from_utf8_lossy(line.as_bytes());
    let (mut elements, mut node) = (Vec::new(), None);
    let mut rest = line.trim();
    loop {
        let (name, after) = rest.split_once('=')?;
        if name.is_empty() || !name.chars().all(is_token) {
            return None;
        }
        let (value, after) = parameter_value(after)?;
        if name.eq_ignore_ascii_case("for") && node.replace(value).is_some() {
            return None;
        }
        let after = after.trim_start();
        if after.is_empty() {
            elements.push(node);
            return Some(elements);
        }
        rest = if let Some(next) = after.strip_prefix(',') {
            elements.push(node.take());
            next
        } else {
            after.strip_prefix(';')?
        }
        .trim_start();
    }
}

/// Splits a parameter's value, which may be quoted, from the text after it.
fn parameter_value(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        // Some proxies write ports and IPv6 addresses without quotes.
        let is_part = |one: char| is_token(one) || matches!(one, ':' | '[' | ']');
        let end = text.find(|one| !is_part(one)).unwrap_or(text.len());
        return (end > 0).then(|| (text[..end].to_owned(), &text[end..]));
    };
    let mut value = String::new();
    let mut letters = quoted.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some((value, &quoted[at + 1..])),
            '\\' => value.push(letters.next()?.1),
            other => value.push(other),
        }
    }
    None
}

fn is_token(one: char) -> bool {
    one.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(one)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(header: &str, lines: &[&str], hops: usize) -> Option<String> {
        let which = ForwardingHeader::parse(header).expect("a header");
        let name: HeaderName = header.parse().expect("a name");
        let mut headers = HeaderMap::new();
        for line in lines {
            let line = HeaderValue::from_bytes(line.as_bytes()).expect("a value");
            headers.append(name.clone(), line);
        }
        let address = which.client_address(&headers, hops);
        address.map(|address| address.to_string())
    }

    fn check(header: &str, lines: &[&str], hops: usize, expected: Option<&str>) {
        let found = read(header, lines, hops);
        assert_eq!(found.as_deref(), expected, "{header} {lines:?} {hops}");
    }

    #[test]
    fn a_list_is_counted_from_the_right_over_all_its_lines() {
        let lines = ["9.9.9.9, 192.0.2.1", "192.0.2.2,192.0.2.3:443"];
        for (hops, expected) in [
            (0, None),
            (1, Some("192.0.2.3")),
            (2, Some("192.0.2.2")),
            (3, Some("192.0.2.1")),
            (5, None),
        ] {
            check("X-Forwarded-For", &lines, hops, expected);
        }
        for (address, expected) in [
            ("2001:db8::1", "2001:db8::1"),
            ("[2001:db8::1]", "2001:db8::1"),
            ("[2001:db8::1]:443", "2001:db8::1"),
        ] {
            check("X-Forwarded-For", &[address], 1, Some(expected));
        }
        check("X-Forwarded-For", &["unknown"], 1, None);
    }

    #[test]
    fn what_an_outsider_wrote_first_does_not_hide_what_a_proxy_appended() {
        let forged = ["\u{fc}\u{fc}, ,;=\", 192.0.2.1"];
        check("X-Forwarded-For", &forged, 1, Some("192.0.2.1"));
        let forged = ["for=\"9.9.9.9", "for=192.0.2.1"];
        check("Forwarded", &forged, 1, Some("192.0.2.1"));
        check("Forwarded", &forged, 2, None);
    }

    #[test]
    fn forwarded_is_read_as_its_standard_says() {
        for (line, expected) in [
            ("for=192.0.2.1", Some("192.0.2.1")),
            ("For=192.0.2.1:80;proto=https", Some("192.0.2.1")),
            (
                "by=10.0.0.1; for=\"[2001:db8::1]:443\"",
                Some("2001:db8::1"),
            ),
            (
                "for=9.9.9.9, for=192.0.2.1;host=\"a,b;c\"",
                Some("192.0.2.1"),
            ),
            (
                "for=192.0.2.1;host=\"a\\\",for=9.9.9.9;b=\\\"\"",
                Some("192.0.2.1"),
            ),
            ("for=9.9.9.9, proto=https", None),
            ("for=unknown", None),
            ("for=_hidden", None),
            ("for=192.0.2.1;for=9.9.9.9", None),
            ("for=\"9.9.9.9, for=192.0.2.1", None),
            ("for=\"\\", None),
            ("for=192.0.2.1;", None),
            ("192.0.2.1", None),
            ("", None),
        ] {
            check("Forwarded", &[line], 1, expected);
        }
        let lines = ["for=192.0.2.1, for=192.0.2.2", "for=192.0.2.3"];
        check("Forwarded", &lines, 2, Some("192.0.2.2"));
        check("Forwarded", &lines, 3, Some("192.0.2.1"));
        check("Forwarded", &lines, 4, None);
    }

    #[test]
    fn a_header_with_one_address_counts_only_alone() {
        for name in ["X-Real-IP", "CF-Connecting-IP", "true-client-ip"] {
            for hops in [1, 3] {
                check(name, &["192.0.2.1"], hops, Some("192.0.2.1"));
            }
            check(name, &["192.0.2.1"], 0, None);
            check(name, &["9.9.9.9, 192.0.2.1"], 1, None);
            check(name, &["9.9.9.9", "192.0.2.1"], 1, None);
            check(name, &[], 1, None);
        }
    }

    #[test]
    fn a_name_that_cannot_have_an_address_is_refused() {
        for text in ["", "X Real IP", "X-Real-IP:", "X-Forwarded-Host", "via"] {
            assert_eq!(ForwardingHeader::parse(text), None, "{text}");
        }
        let shown = |text| ForwardingHeader::parse(text).map(|header| header.to_string());
        assert_eq!(shown("x-forwarded-for").as_deref(), Some("X-Forwarded-For"));
        assert_eq!(shown("FORWARDED").as_deref(), Some("Forwarded"));
        assert_eq!(shown("X-Real-IP").as_deref(), Some("x-real-ip"));
    }
}
