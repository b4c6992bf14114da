//! Codes that bring a place to another device. A code contains the whole place, an id, and the time
//! at which the code expires. With the id, gateways make sure that a code is used only once. Codes
//! are written and checked like cookies, so only the gateways of an installation can make and check
//! them.

use crate::cookie::{CookieKind, place_fields, take_place};
use crate::fields::take;
use crate::{Keyring, PlaceClaims, PlaceCookie, TokenError};

/// What a code contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaceMove {
    /// The place.
    pub place: PlaceCookie,
    /// The id that lets the code be used only once.
    pub id: [u8; 16],
    /// When the code expires, unix seconds.
    pub exp: i64,
}

impl Keyring {
    /// Writes a code for the place of these claims: up to 152 characters of base64url. `exp` is
    /// when the code expires, unix seconds. Returns `None` if `exp` or the place's `iat` is before
    /// 1970 or after 2106.
    pub fn move_code(&self, claims: &PlaceClaims, id: [u8; 16], exp: i64) -> Option<String> {
        let mut fields = Vec::with_capacity(128);
        fields.extend(id);
        fields.extend(u32::try_from(exp).ok()?.to_be_bytes());
        fields.extend(place_fields(claims)?);
        Some(self.write_cookie(CookieKind::Move, &claims.room, fields, claims.iat))
    }

    /// Reads a code of `room`. The caller must check `exp`, and that the code was not used before.
    ///
    /// # Errors
    /// Fails if the text is not a code of this room that this installation wrote.
    pub fn read_move_code(&self, code: &str, room: &str) -> Result<PlaceMove, TokenError> {
        let fields = self.read_cookie(CookieKind::Move, code, room, |_| true)?;
        let mut rest = fields.as_slice();
        Ok(PlaceMove {
            id: *take(&mut rest)?,
            exp: u32::from_be_bytes(*take(&mut rest)?).into(),
            place: take_place(rest)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Digest, Holder, StoredKey};

    fn keyring() -> Keyring {
        Keyring::new(vec![StoredKey::generate(7).expect("a key")]).expect("a keyring")
    }

    fn claims(code: Option<Digest>) -> PlaceClaims {
        PlaceClaims {
            room: "demo".to_owned(),
            incarnation: 1,
            number: u64::MAX,
            sub: Holder([7; 32]),
            code,
            commitment: Digest([0; 32]),
            iat: 1_800_000_000,
            exp: None,
        }
    }

    #[test]
    fn a_code_has_its_place_and_is_no_cookie() {
        let keyring = keyring();
        for code in [None, Some(Digest([9; 32]))] {
            let claims = claims(code);
            let text = keyring.move_code(&claims, [3; 16], 1_800_000_300);
            let text = text.expect("a code");
            assert!(text.len() <= 160, "{}", text.len());
            let read = keyring.read_move_code(&text, "demo").expect("a move");
            assert_eq!((read.id, read.exp), ([3; 16], 1_800_000_300));
            assert_eq!((read.place.number, read.place.code), (u64::MAX, code));
            assert_eq!(read.place.holder, claims.sub);
            assert!(keyring.read_move_code(&text, "other").is_err());
            assert!(keyring.read_place_cookie(&text, "demo").is_err());
            let cookie = keyring.place_cookie(&claims).expect("a cookie");
            assert!(keyring.read_move_code(&cookie, "demo").is_err());
        }
    }

    #[test]
    fn another_installation_and_a_changed_code_are_refused() {
        let (ours, theirs) = (keyring(), keyring());
        let text = theirs.move_code(&claims(None), [3; 16], 1_800_000_300);
        let text = text.expect("a code");
        assert!(ours.read_move_code(&text, "demo").is_err());
        let mut changed = text.into_bytes();
        changed[30] = if changed[30] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(changed).expect("ASCII");
        assert!(theirs.read_move_code(&changed, "demo").is_err());
        assert!(theirs.read_move_code("", "demo").is_err());
    }
}
