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

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn only_one_is_singular() {
        let told = [0_usize, 1, 2].map(|number| counted(number, "fault", "faults"));
        assert_eq!(told, ["0 faults", "1 fault", "2 faults"]);
    }
}
