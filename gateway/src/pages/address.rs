//! Builds addresses from words that visitors typed. Percent-encodes every byte except ASCII
//! letters, digits and `-._~`. A typed word therefore cannot add a part to a path or a field to a
//! query.

use std::fmt::Write;

/// Builds a path from its parts.
pub(super) fn path(parts: &[&str]) -> String {
    let mut path = String::new();
    for part in parts {
        path.push('/');
        write_escaped(&mut path, part);
    }
    path
}

/// Adds a query to a path. Leaves out fields with empty values.
pub fn with_query(path: &str, query: &[(&str, &str)]) -> String {
    let mut address = path.to_owned();
    let non_empty = query.iter().filter(|(_, value)| !value.is_empty());
    for (at, (name, value)) in non_empty.enumerate() {
        address.push(if at == 0 { '?' } else { '&' });
        write_escaped(&mut address, name);
        address.push('=');
        write_escaped(&mut address, value);
    }
    address
}

fn write_escaped(address: &mut String, text: &str) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            address.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(address, "%{byte:02X}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_words_are_encoded_as_one_value() {
        let typed = "a b&to=/\"<é>";
        assert_eq!(
            with_query(
                "/cinema",
                &[("keyword", typed), ("city", ""), ("page", "2")]
            ),
            "/cinema?keyword=a%20b%26to%3D%2F%22%3C%C3%A9%3E&page=2"
        );
        assert_eq!(with_query("/cinema", &[("city", "")]), "/cinema");
        assert_eq!(path(&["s", "../x?y#z"]), "/s/..%2Fx%3Fy%23z");
    }
}
