//! Writes a number with its noun, for messages.

use std::fmt::Display;

/// Returns the number with `one` if it is 1, and with `many` otherwise: `1 seat`, `4 seats`.
#[must_use]
pub fn counted<N: Copy + Display + PartialEq + From<u8>>(
    number: N,
    one: &str,
    many: &str,
) -> String {
    let noun = if number == N::from(1) { one } else { many };
    format!("{number} {noun}")
}

/// Lists the first names, and counts the others: `a, b, c and 2 more`.
#[must_use]
pub fn first_names(names: &[String], named_max: usize) -> String {
    let named = names.get(..named_max).unwrap_or(names).join(", ");
    match names.len().saturating_sub(named_max) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_is_singular() {
        let told = [0_usize, 1, 2].map(|number| counted(number, "fault", "faults"));
        assert_eq!(told, ["0 faults", "1 fault", "2 faults"]);
    }

    #[test]
    fn the_first_names_are_listed_and_the_others_counted() {
        let names = ["a", "b", "c"].map(str::to_owned);
        let told = [2, 3, 4].map(|named_max| first_names(&names, named_max));
        assert_eq!(told, ["a, b and 1 more", "a, b, c", "a, b, c"]);
    }
}
