//! The codes of tickets verify offline and stay short, and forged codes are refused.

use aws_lc_rs::signature::Ed25519KeyPair;
use fairgate_pass::*;

const NOW: i64 = 1_800_000_000;
const ID: &str = "00ffa1b2c3d4e5f60718293a4b5c6d7e";

fn keyring() -> (StoredKey, Keyring) {
    let key = StoredKey::generate(NOW).unwrap();
    (key.clone(), Keyring::new(vec![key]).unwrap())
}

fn ticket(show: &str) -> TicketClaims {
    TicketClaims {
        ticket: format!("ticket_{show}_{ID}"),
        order: format!("order_{show}_{}", ID.replace('a', "0")),
        show: show.into(),
        seat: "Block C-12-7".into(),
        legs: vec![0],
        title: "Night one".into(),
        starts_at: "2027-06-01T18:00:00Z".into(),
        name: None,
        iat: NOW,
        test: false,
    }
}

#[test]
fn a_code_reads_back_with_the_public_keys_alone_and_is_the_same_each_time() {
    let (_, keyring) = keyring();
    let rail = TicketClaims {
        legs: (4..19).collect(),
        name: Some("Ana Fan".into()),
        test: true,
        ..ticket("g1-2027-06-01")
    };
    for claims in [ticket("night-1"), rail] {
        let code = keyring.sign_ticket_code(&claims).unwrap();
        let door = Verifier::new(&keyring.jwks()).unwrap();
        assert_eq!(door.verify_ticket(&code), Ok(claims.clone()));
        assert_eq!(keyring.sign_ticket_code(&claims), Ok(code));
    }
}

#[test]
fn a_code_signed_by_an_earlier_release_still_verifies() {
    let jwks = include_str!("earlier-code.jwks.json");
    let door = Verifier::new(&serde_json::from_str(jwks).unwrap()).unwrap();
    let read = door.verify_ticket(include_str!("earlier-code.txt").trim_end_matches('\n'));
    let claims = TicketClaims {
        name: Some("Ana Fan".into()),
        ..ticket("night-1")
    };
    assert_eq!(read, Ok(claims));
}

#[test]
fn long_titles_and_names_are_cut_so_that_the_code_fits() {
    let (_, keyring) = keyring();
    let claims = TicketClaims {
        seat: "座".repeat(18),
        title: "夜".repeat(80),
        name: Some("é".repeat(80)),
        ..ticket(&"long-".repeat(12))
    };
    let code = keyring.sign_ticket_code(&claims).unwrap();
    assert!(code.len() <= CODE_CHARS_MAX, "{}", code.len());
    let read = keyring.verify_ticket(&code).unwrap();
    assert_eq!((&read.ticket, &read.seat), (&claims.ticket, &claims.seat));
    let usual = TicketClaims {
        title: "夜".repeat(80),
        name: Some("é".repeat(80)),
        ..ticket("night-1")
    };
    let code = keyring.sign_ticket_code(&usual).unwrap();
    assert!((CODE_CHARS_MAX - 8..=CODE_CHARS_MAX).contains(&code.len()));
    let read = keyring.verify_ticket(&code).unwrap();
    assert_eq!(read.name, Some("é".repeat(24)));
    assert!(read.title.len() > 20 && usual.title.starts_with(&read.title));
}

#[test]
fn a_changed_or_foreign_code_is_refused() {
    let (_, keyring) = keyring();
    let code = keyring.sign_ticket_code(&ticket("night-1")).unwrap();
    // A change of any character after the prefix and the key's name breaks the signature.
    for at in 10..code.len() {
        let mut changed = code.clone().into_bytes();
        changed[at] = if changed[at] == b'0' { b'1' } else { b'0' };
        let changed = String::from_utf8(changed).unwrap();
        let refused = keyring.verify_ticket(&changed).unwrap_err();
        let known = [TokenError::BadSignature, TokenError::Malformed];
        assert!(known.contains(&refused), "{at}: {refused}");
    }
    let (_, other) = self::keyring();
    assert_eq!(other.verify_ticket(&code), Err(TokenError::UnknownKey));
    for text in ["FG1:", "FG1:0", "FG1:000000", "FG1:é", &code[..60]] {
        let refused = keyring.verify_ticket(text).unwrap_err();
        let known = [
            TokenError::UnknownKey,
            TokenError::Malformed,
            TokenError::BadSignature,
        ];
        assert!(known.contains(&refused), "{text}: {refused}");
    }
    let long = format!("FG1:{}", "0".repeat(TOKEN_BYTES_MAX));
    assert_eq!(keyring.verify_ticket(&long), Err(TokenError::TooLong));
}

#[test]
fn a_signature_that_the_key_made_for_something_else_makes_no_code() {
    let (key, keyring) = keyring();
    let code = keyring.sign_ticket_code(&ticket("night-1")).unwrap();
    let pair = Ed25519KeyPair::from_pkcs8(&key.pkcs8).unwrap();
    let bytes = base45(&code["FG1:".len()..]);
    let fields = &bytes[..bytes.len() - 64];
    let signature = pair.sign(fields);
    let forged = [fields, signature.as_ref()].concat();
    let forged = format!("FG1:{}", to_base45(&forged));
    assert_eq!(
        keyring.verify_ticket(&forged),
        Err(TokenError::BadSignature)
    );
}

#[test]
fn the_code_of_a_retired_key_verifies_until_the_key_is_removed() {
    let (mut old, keyring) = keyring();
    let code = keyring.sign_ticket_code(&ticket("night-1")).unwrap();
    old.retired_at = Some(NOW + 1);
    let new = StoredKey::generate(NOW + 1).unwrap();
    let both = Keyring::new(vec![old, new.clone()]).unwrap();
    assert_eq!(both.verify_ticket(&code), Ok(ticket("night-1")));
    let rotated = Keyring::new(vec![new]).unwrap();
    assert_eq!(rotated.verify_ticket(&code), Err(TokenError::UnknownKey));
}

#[test]
fn a_ticket_with_other_ids_or_times_has_no_code() {
    let (_, keyring) = keyring();
    let good = ticket("night-1");
    for bad in [
        TicketClaims {
            ticket: "ticket_1".into(),
            ..good.clone()
        },
        TicketClaims {
            order: good.ticket.clone(),
            ..good.clone()
        },
        TicketClaims {
            ticket: good.ticket.to_uppercase(),
            ..good.clone()
        },
        TicketClaims {
            show: "other".into(),
            ..good.clone()
        },
        TicketClaims {
            starts_at: "soon".into(),
            ..good.clone()
        },
        TicketClaims { iat: -1, ..good },
    ] {
        assert_eq!(keyring.sign_ticket_code(&bad), Err(TicketWithoutCode));
    }
}

const CHARACTERS: &str = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:";

fn base45(text: &str) -> Vec<u8> {
    let digit = |character: &u8| CHARACTERS.find(char::from(*character)).unwrap();
    let value = |group: &[u8]| group.iter().rev().fold(0, |sum, one| sum * 45 + digit(one));
    text.as_bytes()
        .chunks(3)
        .flat_map(|group| value(group).to_be_bytes()[9 - group.len()..].to_vec())
        .collect()
}

fn to_base45(bytes: &[u8]) -> String {
    let digits = |group: &[u8]| {
        let value = group
            .iter()
            .fold(0, |sum, byte| sum * 256 + usize::from(*byte));
        let digit = |nth: u32| value / 45_usize.pow(nth) % 45;
        (0..=group.len() as u32)
            .map(|nth| CHARACTERS.as_bytes()[digit(nth)] as char)
            .collect()
    };
    bytes
        .chunks(2)
        .map(digits)
        .collect::<Vec<String>>()
        .concat()
}
