//! Tests the rotation of signing keys: what the old key signed, what the new one signs, and until
//! when the old one counts.

use fairgate_pass::{
    Digest, FreezeClaims, Holder, Keyring, PassClaims, PassError, PlaceClaims, RETIRED_PASSES_S,
    RotationUnderWay, StoredKey, TicketClaims, TokenError, Verifier, rotate,
};

const NOW: i64 = 1_800_000_000;
/// When the new key begins to sign.
const SIGNS_FROM: i64 = NOW + 360;

fn pass(iat: i64) -> PassClaims {
    PassClaims {
        sub: Holder([7; 32]),
        room: "demo".into(),
        rank: 1,
        number: 2,
        iat,
        nbf: iat,
        exp: iat + 86_400,
        jti: format!("pass_{:032x}", iat),
    }
}

fn place(iat: i64) -> PlaceClaims {
    PlaceClaims {
        room: "demo".into(),
        incarnation: 1,
        number: 3,
        sub: Holder([7; 32]),
        code: None,
        commitment: Digest([1; 32]),
        iat,
        exp: None,
    }
}

fn ticket(iat: i64) -> TicketClaims {
    TicketClaims {
        ticket: format!("ticket_night-1_{:032x}", 1),
        order: format!("order_night-1_{:032x}", 2),
        show: "night-1".into(),
        seat: "A-1".into(),
        legs: vec![0],
        title: "Night one".into(),
        starts_at: "2027-06-01T20:00:00+02:00".into(),
        name: None,
        iat,
        test: true,
    }
}

fn freeze() -> FreezeClaims {
    FreezeClaims {
        room: "demo".into(),
        n: 1,
        voids: 0,
        root: Digest([2; 32]),
        frozen_at: "2027-01-15T08:00:00Z".into(),
    }
}

/// All texts that a keyring makes of values that are dated `iat`.
fn signed(keyring: &Keyring, iat: i64) -> Vec<String> {
    vec![
        keyring.sign_pass(&pass(iat)),
        keyring.pass_cookie(&pass(iat)).expect("a cookie"),
        keyring.sign_place(&place(iat)),
        keyring.place_cookie(&place(iat)).expect("a cookie"),
        keyring.sign_ticket(&ticket(iat)).expect("a ticket"),
        keyring.sign_ticket_code(&ticket(iat)).expect("a code"),
    ]
}

fn accepts(keyring: &Keyring, texts: &[String], now: i64) -> [bool; 6] {
    [
        keyring.verify_pass(&texts[0], now).is_ok(),
        keyring.verify_pass_cookie(&texts[1], "demo", now).is_ok(),
        keyring.verify_place(&texts[2], "demo", now).is_ok(),
        keyring.read_place_cookie(&texts[3], "demo").is_ok(),
        keyring.verify_ticket(&texts[4]).is_ok(),
        keyring.verify_ticket(&texts[5]).is_ok(),
    ]
}

/// Two nodes that have the same first key, and the keys after a rotation.
fn nodes() -> (Keyring, Keyring, Vec<StoredKey>) {
    let mut keys = vec![StoredKey::generate(NOW - 1_000).expect("a key")];
    let nodes = [(); 2].map(|()| Keyring::new(keys.clone()).expect("a keyring"));
    let fresh = StoredKey::generate(NOW).expect("a key");
    rotate(&mut keys, fresh, NOW, SIGNS_FROM).expect("it rotates");
    let [one, other] = nodes;
    (one, other, keys)
}

#[test]
fn each_node_signs_a_value_alike_whenever_it_learned_of_the_new_key() {
    let (one, other, keys) = nodes();
    let old = one.kid_at(NOW);
    let before = signed(&one, NOW);
    one.replace_keys(keys.clone()).expect("good keys");
    // The other node has not read the keys yet, and no value is dated after the new key begins.
    for at in [NOW, SIGNS_FROM - 1] {
        assert_eq!(signed(&one, at), signed(&other, at));
        assert_eq!(one.kid_at(at), old);
    }
    other.replace_keys(keys).expect("good keys");
    assert_ne!(one.kid_at(SIGNS_FROM), old);
    assert_eq!(signed(&one, SIGNS_FROM), signed(&other, SIGNS_FROM));
    assert_eq!(signed(&one, NOW), before, "a retry gets the same text");
}

#[test]
fn both_keys_are_published_and_accepted_before_and_after_the_new_one_signs() {
    let (one, other, keys) = nodes();
    let (verifier, clone) = (other.verifier(), other.clone());
    one.replace_keys(keys.clone()).expect("good keys");
    other.replace_keys(keys).expect("good keys");
    let (old, new) = (signed(&one, NOW), signed(&one, SIGNS_FROM));
    let published = Verifier::new(&one.jwks()).expect("good keys");
    assert_eq!(one.jwks().keys.len(), 2);
    for now in [NOW, SIGNS_FROM, SIGNS_FROM + 86_400] {
        for texts in [&old, &new] {
            assert_eq!(accepts(&clone, texts, SIGNS_FROM.max(now)), [true; 6]);
            assert!(verifier.verify_pass(&texts[0], SIGNS_FROM.max(now)).is_ok());
            assert!(published.verify_ticket(&texts[5]).is_ok());
        }
    }
}

#[test]
fn no_pass_of_the_old_key_is_accepted_once_the_last_one_has_ended() {
    let (one, _, keys) = nodes();
    one.replace_keys(keys).expect("good keys");
    let ended = SIGNS_FROM + RETIRED_PASSES_S;
    // Whoever has stolen the old key chooses any end.
    let forged = PassClaims {
        exp: ended + 1_000_000,
        ..pass(NOW)
    };
    let forged = one.sign_pass(&forged);
    assert!(one.verify_pass(&forged, ended - 1).is_ok());
    let unknown = Err(PassError::Token(TokenError::UnknownKey));
    assert_eq!(one.verify_pass(&forged, ended), unknown);
    let old = signed(&one, NOW);
    let still = [false, false, true, true, true, true];
    assert_eq!(accepts(&one, &old, ended), still);
    assert_eq!(accepts(&one, &signed(&one, SIGNS_FROM), ended), [true; 6]);
    let frozen = one.sign_freeze(&freeze());
    assert!(one.verify_freeze(&frozen).is_ok());
}

#[test]
fn a_freeze_is_signed_with_the_key_of_its_date() {
    let (one, _, keys) = nodes();
    let frozen = one.sign_freeze(&freeze());
    one.replace_keys(keys).expect("good keys");
    assert_eq!(one.sign_freeze(&freeze()), frozen);
    assert!(one.verify_freeze(&frozen).is_ok());
}

#[test]
fn a_second_rotation_waits_until_the_new_key_signs() {
    let (_, _, mut keys) = nodes();
    let before = keys.clone();
    let fresh = StoredKey::generate(NOW).expect("a key");
    let waiting = RotationUnderWay {
        kid: keys[1].kid.clone(),
        signs_from: SIGNS_FROM,
    };
    let refused = rotate(&mut keys, fresh.clone(), SIGNS_FROM - 1, SIGNS_FROM + 360);
    assert_eq!(refused, Err(waiting));
    assert_eq!(keys, before);
    rotate(&mut keys, fresh, SIGNS_FROM, SIGNS_FROM + 360).expect("it rotates");
    let ends: Vec<_> = keys.iter().map(|key| key.retired_at).collect();
    assert_eq!(ends, [Some(SIGNS_FROM), Some(SIGNS_FROM + 360), None]);
}
