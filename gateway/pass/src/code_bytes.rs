//! Writes and reads the parts of a ticket's code. Numbers, texts, slugs and legs become bytes. The
//! bytes become base45 (RFC 9285), because a QR code packs its 45 characters closely.

use crate::fields::{push_number, take, take_number};

const CHARACTERS: &[u8; 45] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:";
/// The characters of a slug. They are numbered from 1; 0 means no character.
const SLUG_CHARACTERS: &[u8; 37] = b"-0123456789abcdefghijklmnopqrstuvwxyz";
/// The radix in which three characters of a slug make a number of two bytes.
const SLUG_RADIX: u16 = 40;

/// Encodes bytes as base45.
pub(crate) fn to_base45(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(2) * 3);
    for pair in bytes.chunks(2) {
        let mut number = pair
            .iter()
            .fold(0, |number, byte| number * 256 + usize::from(*byte));
        for _ in 0..=pair.len() {
            text.push(char::from(CHARACTERS[number % 45]));
            number /= 45;
        }
    }
    text
}

/// Decodes base45.
pub(crate) fn from_base45(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 3 * 2 + 1);
    for group in text.as_bytes().chunks(3) {
        let mut number = 0;
        for character in group.iter().rev() {
            let digit = CHARACTERS.iter().position(|known| known == character)?;
            number = number * 45 + digit;
        }
        match group.len() {
            3 => bytes.extend(u16::try_from(number).ok()?.to_be_bytes()),
            2 => bytes.push(u8::try_from(number).ok()?),
            _ => return None,
        }
    }
    Some(bytes)
}

/// Writes the fields of a code, one after the other.
#[derive(Default)]
pub(crate) struct CodeWriter {
    pub(crate) bytes: Vec<u8>,
}

impl CodeWriter {
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    /// Writes a number in LEB128.
    pub(crate) fn number(&mut self, number: u64) {
        push_number(&mut self.bytes, number);
    }

    /// Writes a text after its length in bytes.
    pub(crate) fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.raw(text.as_bytes());
    }

    /// Writes legs as runs of consecutive numbers, each as its first number and its length.
    pub(crate) fn legs(&mut self, legs: &[u16]) {
        let runs: Vec<&[u16]> = legs
            .chunk_by(|leg, next| leg.checked_add(1) == Some(*next))
            .collect();
        self.number(runs.len() as u64);
        for run in runs {
            self.number(u64::from(run[0]));
            self.number(run.len() as u64);
        }
    }

    /// Writes the number of byte pairs, and then the slug. Each pair holds three characters.
    /// Returns `None` if the text has a character that no slug has.
    pub(crate) fn slug(&mut self, slug: &str) -> Option<()> {
        let groups = slug.as_bytes().chunks(3);
        self.number(groups.len() as u64);
        for group in groups {
            let mut number = 0;
            for at in 0..3 {
                number *= SLUG_RADIX;
                if let Some(character) = group.get(at) {
                    let digit = SLUG_CHARACTERS.iter().position(|one| one == character)?;
                    number += u16::try_from(digit).ok()? + 1;
                }
            }
            self.raw(&number.to_be_bytes());
        }
        Some(())
    }
}

/// Reads the fields of a code. The signature of the code was checked before, so the fields are what
/// a [`CodeWriter`] wrote.
pub(crate) struct CodeReader<'a>(pub(crate) &'a [u8]);

impl CodeReader<'_> {
    pub(crate) fn raw<const N: usize>(&mut self) -> Option<[u8; N]> {
        take(&mut self.0).ok().copied()
    }

    pub(crate) fn number(&mut self) -> Option<u64> {
        take_number(&mut self.0).ok()
    }

    pub(crate) fn text(&mut self) -> Option<String> {
        let length = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        String::from_utf8(text.to_vec()).ok()
    }

    pub(crate) fn legs(&mut self) -> Option<Vec<u16>> {
        let mut legs = Vec::new();
        for _ in 0..self.number()? {
            let (first, count) = (self.number()?, self.number()?);
            for leg in first..first.checked_add(count)? {
                legs.push(u16::try_from(leg).ok()?);
            }
        }
        Some(legs)
    }

    pub(crate) fn slug(&mut self) -> Option<String> {
        let mut slug = String::new();
        for _ in 0..self.number()? {
            let number = u16::from_be_bytes(self.raw()?);
            for power in [SLUG_RADIX * SLUG_RADIX, SLUG_RADIX, 1] {
                if let Some(at) = usize::from(number / power % SLUG_RADIX).checked_sub(1) {
                    slug.push(char::from(*SLUG_CHARACTERS.get(at)?));
                }
            }
        }
        Some(slug)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base45_is_that_of_rfc_9285() {
        for (bytes, text) in [
            (&b"AB"[..], "BB8"),
            (b"Hello!!", "%69 VD92EX0"),
            (b"base-45", "UJCLQE7W581"),
            (b"ietf!", "QED8WEX0"),
            (b"", ""),
        ] {
            assert_eq!(to_base45(bytes), text);
            assert_eq!(from_base45(text).as_deref(), Some(bytes));
        }
        for text in ["GGW0", ":::", "::", "a", "ab0"] {
            assert_eq!(from_base45(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_legs_and_slugs_read_back() {
        for number in [0, 127, 128, 1_800_000_000, u64::MAX] {
            let mut writer = CodeWriter::default();
            writer.number(number);
            assert_eq!(CodeReader(&writer.bytes).number(), Some(number));
        }
        for last in [0x02, 0x7f, 0x81] {
            let too_large = [&[0xff; 9][..], &[last, 0]].concat();
            assert_eq!(CodeReader(&too_large).number(), None, "{last}");
        }
        for legs in [
            vec![],
            vec![0],
            vec![3, 4, 5, 6],
            vec![9, 2, 3, u16::MAX, 0],
        ] {
            let mut writer = CodeWriter::default();
            writer.legs(&legs);
            assert_eq!(CodeReader(&writer.bytes).legs(), Some(legs));
        }
        for slug in ["a", "g1-2027-06-01", "0-z", &"z9-".repeat(21)] {
            let mut writer = CodeWriter::default();
            assert_eq!(writer.slug(slug), Some(()), "{slug}");
            assert_eq!(CodeReader(&writer.bytes).slug().as_deref(), Some(slug));
        }
        for other in ["A", "a_b", "ä", "a\0b"] {
            assert_eq!(CodeWriter::default().slug(other), None, "{other}");
        }
    }
}
