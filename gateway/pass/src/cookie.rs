//! Writes and reads places and passes as cookies. A cookie has the same contents as the JWT in a
//! quarter of the bytes. Cookies must be short, because proxies limit the length of a request's
//! headers. After visits to twenty rooms, a browser sends the cookies of all twenty.
//!
//! A value is the base64url of its fields and of a MAC of 16 bytes. The MAC covers the fields, the
//! kind of the value and its room. Only the gateways of an installation can make and check a value,
//! because the key of the MAC is derived from the signing key. Other services verify the JWT.

use aws_lc_rs::{constant_time::verify_slices_are_equal, hmac};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

use crate::fields::{push_number, take, take_number};
use crate::keyring::SigningKey;
use crate::verify::{has_ended, judge_pass};
use crate::{
    Digest, Holder, Keyring, PassClaims, PassError, PlaceClaims, TokenError, VerifiedPass,
};

/// The length of a MAC, in bytes.
const MAC_BYTES: usize = 16;
/// The longest value that is read, in characters. Every value that is written is shorter.
const VALUE_CHARS_MAX: usize = 160;
/// The prefix of every pass's id. 32 lower-case hex digits follow.
const PASS_ID_PREFIX: &str = "pass_";

/// The contents of a place's cookie. The rest of the place's claims follow from its room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaceCookie {
    /// The join number, from 0.
    pub number: u64,
    /// The visitor who holds the place.
    pub holder: Holder,
    /// SHA-256 of the code that was used to join, if the room requires codes.
    pub code: Option<Digest>,
    /// When the number was issued, unix seconds.
    pub iat: i64,
}

#[derive(Clone, Copy)]
pub(crate) enum CookieKind {
    Place,
    Pass,
    Move,
}

impl CookieKind {
    fn context(self) -> &'static [u8] {
        match self {
            Self::Place => b"place",
            Self::Pass => b"pass",
            Self::Move => b"move",
        }
    }
}

fn mac(key: &hmac::Key, kind: CookieKind, room: &str, fields: &[u8]) -> [u8; MAC_BYTES] {
    let mut context = hmac::Context::with_key(key);
    // Neither a kind nor a room's slug contains a zero byte. So different parts never give the same
    // bytes.
    for part in [kind.context(), &[0], room.as_bytes(), &[0], fields] {
        context.update(part);
    }
    let tag = context.sign();
    let mut truncated = [0; MAC_BYTES];
    truncated.copy_from_slice(&tag.as_ref()[..MAC_BYTES]);
    truncated
}

impl Keyring {
    /// Writes a place as the value of a cookie. Returns `None` if `iat` is before 1970 or after
    /// 2106. The same claims give the same text.
    pub fn place_cookie(&self, claims: &PlaceClaims) -> Option<String> {
        let fields = place_fields(claims)?;
        Some(self.write_cookie(CookieKind::Place, &claims.room, fields, claims.iat))
    }

    /// Reads a place of `room` from the value of its cookie. The caller must check whether the
    /// place has expired.
    ///
    /// # Errors
    /// Fails if the value is not a place of this room that this installation wrote.
    pub fn read_place_cookie(&self, value: &str, room: &str) -> Result<PlaceCookie, TokenError> {
        let fields = self.read_cookie(CookieKind::Place, value, room, |_| true)?;
        take_place(&fields)
    }

    /// Writes a pass as the value of a cookie. Returns `None` if its id or its times do not have
    /// the form that gateways give them, because the value has no space for other forms. The same
    /// claims give the same text.
    pub fn pass_cookie(&self, claims: &PassClaims) -> Option<String> {
        let id = claims.jti.strip_prefix(PASS_ID_PREFIX)?;
        let id = u128::from_str_radix(id, 16)
            .ok()
            .filter(|number| id == format!("{number:032x}"))?;
        let life_s = claims.exp.checked_sub(claims.iat)?;
        let mut fields = Vec::with_capacity(96);
        fields.extend(claims.sub.0);
        fields.extend(u32::try_from(claims.iat).ok()?.to_be_bytes());
        push_number(&mut fields, u64::try_from(life_s).ok()?);
        push_number(&mut fields, claims.rank);
        push_number(&mut fields, claims.number);
        fields.extend(id.to_be_bytes());
        (claims.nbf == claims.iat)
            .then(|| self.write_cookie(CookieKind::Pass, &claims.room, fields, claims.iat))
    }

    /// Reads a pass of `room` from the value of its cookie, and checks it at `now` (unix seconds).
    ///
    /// # Errors
    /// Fails if the value is not a pass of this room that this installation wrote, or is not valid
    /// yet. Also fails if its key was retired so long ago that the last pass has ended.
    pub fn verify_pass_cookie(
        &self,
        value: &str,
        room: &str,
        now: i64,
    ) -> Result<VerifiedPass, PassError> {
        let accepts = |key: &SigningKey| !has_ended(key.passes_until, now);
        let fields = self.read_cookie(CookieKind::Pass, value, room, accepts)?;
        judge_pass(take_pass(&fields, room)?, now)
    }

    /// Writes a value with the key of the date `at`, unix seconds.
    pub(crate) fn write_cookie(
        &self,
        kind: CookieKind,
        room: &str,
        mut fields: Vec<u8>,
        at: i64,
    ) -> String {
        let mac = mac(&self.keys().at(at).cookie, kind, room, &fields);
        fields.extend(mac);
        URL_SAFE_NO_PAD.encode(fields)
    }

    /// Checks the MAC of a value, and returns its fields. A MAC that was made with a retired key is
    /// valid too. Only the keys that `accepts` names are tried.
    pub(crate) fn read_cookie(
        &self,
        kind: CookieKind,
        value: &str,
        room: &str,
        accepts: impl Fn(&SigningKey) -> bool,
    ) -> Result<Vec<u8>, TokenError> {
        if value.len() > VALUE_CHARS_MAX {
            return Err(TokenError::TooLong);
        }
        let mut bytes = URL_SAFE_NO_PAD
            .decode(value)
            .map_err(|_| TokenError::Malformed)?;
        let end = bytes
            .len()
            .checked_sub(MAC_BYTES)
            .ok_or(TokenError::Malformed)?;
        let given_mac = bytes.split_off(end);
        let is_ours = |key: &SigningKey| {
            let expected = mac(&key.cookie, kind, room, &bytes);
            verify_slices_are_equal(&expected, &given_mac).is_ok()
        };
        let keys = self.keys();
        let mut accepted = keys.all().filter(|key| accepts(key));
        match accepted.any(is_ours) {
            true => Ok(bytes),
            false => Err(TokenError::BadSignature),
        }
    }
}

/// Writes the fields of a place. Returns `None` if `iat` is before 1970 or after 2106.
pub(crate) fn place_fields(claims: &PlaceClaims) -> Option<Vec<u8>> {
    let mut fields = Vec::with_capacity(128);
    fields.extend(claims.sub.0);
    fields.extend(u32::try_from(claims.iat).ok()?.to_be_bytes());
    push_number(&mut fields, claims.number);
    fields.extend(claims.code.iter().flat_map(|code| code.0));
    Some(fields)
}

/// Reads the fields of a place. Fails if more bytes follow.
pub(crate) fn take_place(fields: &[u8]) -> Result<PlaceCookie, TokenError> {
    let mut rest = fields;
    let place = PlaceCookie {
        holder: Holder(*take(&mut rest)?),
        iat: u32::from_be_bytes(*take(&mut rest)?).into(),
        number: take_number(&mut rest)?,
        code: match rest.is_empty() {
            true => None,
            false => Some(Digest(*take(&mut rest)?)),
        },
    };
    require_end(rest)?;
    Ok(place)
}

/// Reads the fields of a pass of `room`. Fails if more bytes follow.
fn take_pass(fields: &[u8], room: &str) -> Result<PassClaims, TokenError> {
    let mut rest = fields;
    let sub = Holder(*take(&mut rest)?);
    let iat = i64::from(u32::from_be_bytes(*take(&mut rest)?));
    let life_s = i64::try_from(take_number(&mut rest)?).map_err(|_| TokenError::Malformed)?;
    let claims = PassClaims {
        sub,
        room: room.to_owned(),
        rank: take_number(&mut rest)?,
        number: take_number(&mut rest)?,
        iat,
        nbf: iat,
        exp: iat.saturating_add(life_s),
        jti: format!(
            "{PASS_ID_PREFIX}{:032x}",
            u128::from_be_bytes(*take(&mut rest)?)
        ),
    };
    require_end(rest)?;
    Ok(claims)
}

fn require_end(rest: &[u8]) -> Result<(), TokenError> {
    match rest {
        [] => Ok(()),
        _ => Err(TokenError::Malformed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StoredKey;

    /// The most characters of a value. A whole cookie may have 150 bytes: a name of 10 characters,
    /// a slug of 20, `=`, and the value.
    const ENOUGH: usize = 150 - 10 - 20 - 1;

    fn keyring() -> Keyring {
        Keyring::new(vec![StoredKey::generate(7).expect("a key")]).expect("a keyring")
    }

    fn place(number: u64, code: Option<Digest>) -> PlaceClaims {
        PlaceClaims {
            room: "demo".into(),
            incarnation: 1,
            number,
            sub: Holder::of_secret(&[7; 32]),
            code,
            commitment: Digest([9; 32]),
            iat: 1_800_000_000,
            exp: None,
        }
    }

    fn pass() -> PassClaims {
        PassClaims {
            sub: Holder::of_secret(&[7; 32]),
            room: "demo".into(),
            rank: 9_999_999,
            number: 10_000_000,
            iat: 1_800_000_000,
            nbf: 1_800_000_000,
            exp: 1_800_000_600,
            jti: format!("pass_{:032x}", 5),
        }
    }

    #[test]
    fn a_place_is_read_back_from_at_most_119_characters() {
        let keyring = keyring();
        for number in [0, 127, 128, 10_000_000, (1 << 35) - 1] {
            for code in [None, Some(Digest([3; 32]))] {
                let claims = place(number, code);
                let value = keyring.place_cookie(&claims).expect("a cookie");
                assert!(value.len() <= ENOUGH, "{} characters", value.len());
                let read = keyring.read_place_cookie(&value, "demo").expect("a place");
                let expected = PlaceCookie {
                    number,
                    holder: claims.sub,
                    code,
                    iat: claims.iat,
                };
                assert_eq!(read, expected);
            }
        }
        let largest = place(u64::MAX, None);
        let value = keyring.place_cookie(&largest).expect("a cookie");
        let read = keyring.read_place_cookie(&value, "demo").expect("a place");
        assert_eq!(read.number, u64::MAX);
    }

    #[test]
    fn a_pass_is_read_back_and_gives_the_same_jwt() {
        let keyring = keyring();
        let value = keyring.pass_cookie(&pass()).expect("a cookie");
        assert!(value.len() < ENOUGH, "{} characters", value.len());
        let at = |now| keyring.verify_pass_cookie(&value, "demo", now);
        let live = at(1_800_000_001).expect("a pass");
        assert!(live.require_live().is_ok());
        assert_eq!(keyring.sign_pass(live.claims()), keyring.sign_pass(&pass()));
        let late = at(1_800_000_605).expect("a pass");
        assert!(late.require_live().is_err());
        assert_eq!(at(1_799_999_000), Err(PassError::NotYet));
    }

    #[test]
    fn a_pass_that_is_not_as_gateways_make_them_has_no_cookie() {
        for broken in [
            PassClaims {
                jti: "p-1".into(),
                ..pass()
            },
            PassClaims {
                jti: "pass_5".into(),
                ..pass()
            },
            PassClaims { nbf: 5, ..pass() },
            PassClaims { exp: 5, ..pass() },
            PassClaims {
                iat: -1,
                nbf: -1,
                ..pass()
            },
        ] {
            assert_eq!(keyring().pass_cookie(&broken), None, "{broken:?}");
        }
    }

    #[test]
    fn any_changed_character_another_room_another_kind_and_another_key_are_refused() {
        let keyring = keyring();
        let claims = place(41, Some(Digest([3; 32])));
        let value = keyring.place_cookie(&claims).expect("a cookie");
        let read = |value: &str| keyring.read_place_cookie(value, "demo");
        for at in 0..value.len() {
            let mut changed = value.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).expect("ASCII");
            assert!(read(&changed).is_err(), "{at}");
        }
        let foreign = keyring.read_place_cookie(&value, "other");
        assert_eq!(foreign, Err(TokenError::BadSignature));
        let as_pass = keyring.verify_pass_cookie(&value, "demo", claims.iat);
        assert_eq!(as_pass, Err(TokenError::BadSignature.into()));
        let pass = keyring.pass_cookie(&pass()).expect("a cookie");
        assert_eq!(read(&pass), Err(TokenError::BadSignature));
        let others = super::tests::keyring().read_place_cookie(&value, "demo");
        assert_eq!(others, Err(TokenError::BadSignature));
        assert_eq!(read(""), Err(TokenError::Malformed));
        assert_eq!(read("é"), Err(TokenError::Malformed));
        assert_eq!(read(&"A".repeat(64)), Err(TokenError::BadSignature));
        assert_eq!(
            read(&"A".repeat(VALUE_CHARS_MAX + 1)),
            Err(TokenError::TooLong)
        );
    }

    #[test]
    fn a_cookie_outlives_the_rotation_of_its_key() {
        let mut old = StoredKey::generate(7).expect("a key");
        let first = Keyring::new(vec![old.clone()]).expect("a keyring");
        let value = first.place_cookie(&place(3, None)).expect("a cookie");
        old.retired_at = Some(9);
        let new = StoredKey::generate(9).expect("a key");
        let rotated = Keyring::new(vec![new, old]).expect("a keyring");
        assert!(rotated.read_place_cookie(&value, "demo").is_ok());
        assert_ne!(rotated.place_cookie(&place(3, None)), Some(value));
    }
}
