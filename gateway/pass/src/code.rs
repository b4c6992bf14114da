//! Writes and reads tickets in the form that a QR code holds. This form has the claims of the JWS
//! in less than half as many characters, so that the squares of the QR code stay large. The README
//! has the layout.

use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, UnparsedPublicKey};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

use crate::TicketClaims;
use crate::code_bytes::{CodeReader, CodeWriter, from_base45, to_base45};

/// The prefix of every ticket's code. If the layout changes, so does the number.
pub(crate) const CODE_PREFIX: &str = "FG1:";
/// The most characters of a code: as many as a QR code of version 9 holds at the error-correction
/// level L. A code is longer only if the seat's label has more than 56 bytes.
pub const CODE_CHARS_MAX: usize = 335;
/// How many bytes the characters after the prefix can encode. Three characters encode two bytes.
const CODE_BYTES_MAX: usize = (CODE_CHARS_MAX - CODE_PREFIX.len()) / 3 * 2;
/// The most bytes of a name in a code.
const NAME_BYTES_MAX: usize = 48;
const SIGNATURE_BYTES: usize = 64;
/// How many bytes of a key's thumbprint name the key.
const KEY_TAG_BYTES: usize = 4;
/// The signature covers this text, followed by the fields. The text contains spaces and a zero
/// byte. The bytes that a JWS signs contain neither, so the signature of a JWS is never valid for a
/// code.
const CONTEXT: &[u8] = b"fairgate ticket code 1\0";
const IS_TEST: u8 = 1;
const HAS_NAME: u8 = 2;

/// The ids or the times of a ticket are not of the form that booking writes, so the ticket has no
/// code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the ticket's ids or times are not of the form that booking writes; no code was signed for it"
)]
pub struct TicketWithoutCode;

/// Why a code was refused.
pub(crate) enum CodeFault {
    Malformed,
    UnknownKey,
    BadSignature,
}

/// Returns the first bytes of a key's thumbprint, which name the key in a code. Returns `None` if
/// `kid` is too short, or is not base64url.
pub(crate) fn key_tag(kid: &str) -> Option<[u8; KEY_TAG_BYTES]> {
    let thumbprint = URL_SAFE_NO_PAD.decode(kid).ok()?;
    thumbprint.first_chunk().copied()
}

/// Signs the code of a ticket. A title or a name that is too long is cut.
pub(crate) fn sign_code(
    claims: &TicketClaims,
    kid: &str,
    key: &Ed25519KeyPair,
) -> Result<String, TicketWithoutCode> {
    let mut bytes = fields(claims, kid).ok_or(TicketWithoutCode)?;
    let signature = key.sign(&[CONTEXT, &bytes].concat());
    bytes.extend(signature.as_ref());
    Ok(format!("{CODE_PREFIX}{}", to_base45(&bytes)))
}

fn fields(claims: &TicketClaims, kid: &str) -> Option<Vec<u8>> {
    let starts_at: jiff::Timestamp = claims.starts_at.parse().ok()?;
    let is_test = if claims.test { IS_TEST } else { 0 };
    let has_name = claims.name.as_ref().map_or(0, |_| HAS_NAME);
    let mut writer = CodeWriter::default();
    writer.raw(&key_tag(kid)?);
    writer.raw(&[is_test | has_name]);
    writer.raw(&id_bytes("ticket", &claims.show, &claims.ticket)?);
    writer.raw(&id_bytes("order", &claims.show, &claims.order)?);
    writer.number(u64::try_from(claims.iat).ok()?);
    writer.number(u64::try_from(starts_at.as_second()).ok()?);
    writer.legs(&claims.legs);
    writer.slug(&claims.show)?;
    writer.text(&claims.seat);
    // The lengths of title and name are one byte each.
    let used = writer.bytes.len() + SIGNATURE_BYTES + 2;
    let spare = CODE_BYTES_MAX.saturating_sub(used);
    let name = cut(
        claims.name.as_deref().unwrap_or_default(),
        spare.min(NAME_BYTES_MAX),
    );
    writer.text(cut(&claims.title, spare - name.len()));
    if claims.name.is_some() {
        writer.text(name);
    }
    Some(writer.bytes)
}

/// Returns as many whole characters from the beginning of a text as fit into `bytes_max` bytes.
fn cut(text: &str, bytes_max: usize) -> &str {
    let mut end = bytes_max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Returns the 16 bytes that the digits of an id `{kind}_{show}_{32 hex digits}` encode. Returns
/// `None` if the id does not have this form.
fn id_bytes(kind: &str, show: &str, id: &str) -> Option<[u8; 16]> {
    let show_and_digits = id.strip_prefix(kind)?.strip_prefix('_')?;
    let digits = show_and_digits.strip_prefix(show)?.strip_prefix('_')?;
    let number = u128::from_str_radix(digits, 16).ok()?.to_be_bytes();
    (id == id_text(kind, show, number)).then_some(number)
}

fn id_text(kind: &str, show: &str, bytes: [u8; 16]) -> String {
    format!("{kind}_{show}_{:032x}", u128::from_be_bytes(bytes))
}

/// Reads the code of a ticket. `keys` gets the bytes that name the key in the code, and returns the
/// public keys with this name.
pub(crate) fn read_code<'a, K>(
    code: &str,
    keys: impl FnOnce([u8; KEY_TAG_BYTES]) -> K,
) -> Result<TicketClaims, CodeFault>
where
    K: Iterator<Item = &'a [u8]>,
{
    let text = code.strip_prefix(CODE_PREFIX).ok_or(CodeFault::Malformed)?;
    let bytes = from_base45(text).ok_or(CodeFault::Malformed)?;
    let signed = bytes.len().checked_sub(SIGNATURE_BYTES);
    let (fields, signature) = bytes.split_at(signed.ok_or(CodeFault::Malformed)?);
    let (tag, claim_bytes) = fields.split_first_chunk().ok_or(CodeFault::Malformed)?;
    let mut keys = keys(*tag).peekable();
    if keys.peek().is_none() {
        return Err(CodeFault::UnknownKey);
    }
    let message = [CONTEXT, fields].concat();
    let verifies = |public: &[u8]| {
        let key = UnparsedPublicKey::new(&ED25519, public);
        key.verify(&message, signature).is_ok()
    };
    if !keys.any(verifies) {
        return Err(CodeFault::BadSignature);
    }
    claims(claim_bytes).ok_or(CodeFault::Malformed)
}

fn claims(fields: &[u8]) -> Option<TicketClaims> {
    let mut reader = CodeReader(fields);
    let [flags] = reader.raw::<1>()?;
    let (ticket, order) = (reader.raw()?, reader.raw()?);
    let iat = i64::try_from(reader.number()?).ok()?;
    let starts_at = i64::try_from(reader.number()?).ok()?;
    let legs = reader.legs()?;
    let show = reader.slug()?;
    let seat = reader.text()?;
    let title = reader.text()?;
    let name = match flags & HAS_NAME {
        0 => None,
        _ => Some(reader.text()?),
    };
    reader.0.is_empty().then_some(())?;
    Some(TicketClaims {
        ticket: id_text("ticket", &show, ticket),
        order: id_text("order", &show, order),
        show,
        seat,
        legs,
        title,
        starts_at: jiff::Timestamp::from_second(starts_at).ok()?.to_string(),
        name,
        iat,
        test: flags & IS_TEST != 0,
    })
}
