//! Everything a stranger may try with a signed thing, and what rotation and the clock do to an
//! honest one.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use fairgate_pass::*;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};

const NOW: i64 = 1_800_000_000;

struct Actors {
    key: StoredKey,
    keyring: Keyring,
    place: PlaceClaims,
    pass: PassClaims,
}

fn actors() -> Actors {
    let key = StoredKey::generate(NOW).unwrap();
    let keyring = Keyring::new(vec![key.clone()]).unwrap();
    let sub = Holder::of_secret(&[1; 32]);
    let place = PlaceClaims {
        room: "demo".into(),
        incarnation: 3,
        number: 41,
        sub,
        code: None,
        commitment: Digest::of_bytes(b"commitment"),
        iat: NOW,
        exp: None,
    };
    let pass = PassClaims {
        sub,
        room: "demo".into(),
        rank: 7,
        number: 41,
        iat: NOW,
        nbf: NOW,
        exp: NOW + 600,
        jti: "p-1".into(),
    };
    Actors {
        key,
        keyring,
        place,
        pass,
    }
}

fn freeze() -> FreezeClaims {
    FreezeClaims {
        room: "demo".into(),
        n: 10,
        voids: 1,
        root: Digest::of_bytes(b"root"),
        frozen_at: "2027-01-10T09:00:00Z".into(),
    }
}

fn ticket() -> TicketClaims {
    TicketClaims {
        ticket: "ticket_1".into(),
        order: "order_1".into(),
        show: "night-1".into(),
        seat: "A-1".into(),
        legs: vec![0],
        title: "Night one".into(),
        starts_at: "2027-06-01T20:00:00+02:00".into(),
        name: None,
        iat: NOW,
        test: true,
    }
}

/// The claims of a good pass as JSON, for putting into forged ones.
fn payload(token: &str) -> Value {
    serde_json::from_slice(
        &URL_SAFE_NO_PAD
            .decode(token.split('.').nth(1).unwrap())
            .unwrap(),
    )
    .unwrap()
}

fn header(typ: &str, kid: &str, alg: Algorithm) -> Header {
    let mut header = Header::new(alg);
    (header.typ, header.kid) = (Some(typ.into()), Some(kid.into()));
    header
}

/// Signs anything with a real key, as only a gateway gone wrong could.
fn sign_with(key: &StoredKey, header: &Header, payload: &Value) -> String {
    encode(header, payload, &EncodingKey::from_ed_der(&key.pkcs8)).unwrap()
}

fn refused(keyring: &Keyring, token: &str) -> TokenError {
    match keyring.verify_pass(token, NOW) {
        Err(PassError::Token(error)) => error,
        other => panic!("expected a refused token, got {other:?}"),
    }
}

#[test]
fn what_was_signed_reads_back() {
    let a = actors();
    assert_eq!(
        a.keyring
            .verify_place(&a.keyring.sign_place(&a.place), "demo", NOW),
        Ok(a.place.clone())
    );
    let presented = a
        .keyring
        .verify_pass(&a.keyring.sign_pass(&a.pass), NOW)
        .unwrap();
    assert_eq!(
        (presented.claims(), presented.holder(), presented.room()),
        (&a.pass, a.pass.sub, "demo")
    );
    assert_eq!(
        a.keyring.verify_freeze(&a.keyring.sign_freeze(&freeze())),
        Ok(freeze())
    );
    assert_eq!(
        a.keyring
            .verify_ticket(&a.keyring.sign_ticket(&ticket()).unwrap()),
        Ok(ticket())
    );
}

#[test]
fn the_same_claims_give_the_same_text() {
    let a = actors();
    assert_eq!(a.keyring.sign_pass(&a.pass), a.keyring.sign_pass(&a.pass));
    assert_eq!(
        a.keyring.sign_place(&a.place),
        a.keyring.sign_place(&a.place)
    );
    let again = Keyring::new(vec![a.key.clone()]).unwrap();
    assert_eq!(
        a.keyring.sign_pass(&a.pass),
        again.sign_pass(&a.pass),
        "also after a restart"
    );
}

#[test]
fn the_wire_says_who_issued_it_and_for_whom_and_a_freeze_says_nothing_more_than_its_members() {
    let a = actors();
    let pass = payload(&a.keyring.sign_pass(&a.pass));
    assert_eq!(
        (&pass["iss"], &pass["aud"]),
        (&json!("fairgate"), &json!("fairgate/booking"))
    );
    let place = payload(&a.keyring.sign_place(&a.place));
    assert_eq!(
        (&place["aud"], place.get("exp"), place.get("code")),
        (&json!("fairgate/place"), None, None)
    );
    let signed = payload(&a.keyring.sign_freeze(&freeze()));
    let members: Vec<_> = signed
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(members, ["frozen_at", "n", "room", "root", "voids"]);
    assert_eq!(
        FreezeClaims::unverified(&a.keyring.sign_freeze(&freeze())),
        Ok(freeze())
    );
}

#[test]
fn another_algorithm_is_refused_whatever_it_signs_with() {
    let a = actors();
    let good = payload(&a.keyring.sign_pass(&a.pass));
    let jwks = a.keyring.jwks();
    let public = URL_SAFE_NO_PAD.decode(&jwks.keys[0].x).unwrap();
    // The classic confusion: the public key taken as the secret of an HMAC.
    for secret in [public.as_slice(), jwks.keys[0].x.as_bytes(), b""] {
        let header = header("fairgate-pass+jwt", &a.key.kid, Algorithm::HS256);
        let token = encode(&header, &good, &EncodingKey::from_secret(secret)).unwrap();
        assert_eq!(refused(&a.keyring, &token), TokenError::WrongAlgorithm);
    }
    for alg in ["none", "None", "NONE"] {
        let header = json!({"typ": "fairgate-pass+jwt", "alg": alg, "kid": a.key.kid});
        let encoded = [header.to_string(), good.to_string()]
            .map(|part| URL_SAFE_NO_PAD.encode(part))
            .join(".");
        for token in [
            format!("{encoded}."),
            encoded.clone(),
            format!("{encoded}.AAAA"),
        ] {
            assert_eq!(refused(&a.keyring, &token), TokenError::Malformed);
        }
    }
}

#[test]
fn no_signed_thing_passes_for_another_kind() {
    let a = actors();
    let (place, pass) = (a.keyring.sign_place(&a.place), a.keyring.sign_pass(&a.pass));
    let (freeze, ticket) = (
        a.keyring.sign_freeze(&freeze()),
        a.keyring.sign_ticket(&ticket()).unwrap(),
    );
    for other in [&place, &freeze, &ticket] {
        assert_eq!(refused(&a.keyring, other), TokenError::WrongType);
    }
    for other in [&pass, &freeze, &ticket] {
        let refused = a.keyring.verify_place(other, "demo", NOW);
        assert_eq!(refused, Err(PlaceError::Token(TokenError::WrongType)));
    }
    for other in [&place, &pass, &ticket] {
        assert_eq!(a.keyring.verify_freeze(other), Err(TokenError::WrongType));
        assert_eq!(FreezeClaims::unverified(other), Err(TokenError::WrongType));
    }
    for other in [&place, &pass, &freeze] {
        assert_eq!(a.keyring.verify_ticket(other), Err(TokenError::WrongType));
    }
}

#[test]
fn a_pass_for_another_audience_or_from_another_issuer_is_refused_though_rightly_signed() {
    let a = actors();
    let good = payload(&a.keyring.sign_pass(&a.pass));
    let header = header("fairgate-pass+jwt", &a.key.kid, Algorithm::EdDSA);
    let with = |name: &str, value: Value| {
        let mut claims = good.clone();
        match value {
            Value::Null => drop(claims.as_object_mut().unwrap().remove(name)),
            value => claims[name] = value,
        }
        sign_with(&a.key, &header, &claims)
    };
    for aud in [json!("fairgate/place"), json!([]), json!(7), Value::Null] {
        assert_eq!(
            refused(&a.keyring, &with("aud", aud)),
            TokenError::WrongAudience
        );
    }
    for iss in [json!("elsewhere"), json!(7), Value::Null] {
        assert_eq!(
            refused(&a.keyring, &with("iss", iss)),
            TokenError::WrongIssuer
        );
    }
    assert_eq!(
        refused(&a.keyring, &with("sub", json!("00"))),
        TokenError::Malformed
    );
    assert!(
        a.keyring.verify_pass(&with("extra", json!(1)), NOW).is_ok(),
        "the forger's tools do sign rightly"
    );
}

#[test]
fn a_foreign_key_is_refused_under_its_own_name_and_under_ours() {
    let a = actors();
    let foreign = StoredKey::generate(NOW).unwrap();
    let own_name = Keyring::new(vec![foreign.clone()])
        .unwrap()
        .sign_pass(&a.pass);
    assert_eq!(refused(&a.keyring, &own_name), TokenError::UnknownKey);
    let header = header("fairgate-pass+jwt", &a.key.kid, Algorithm::EdDSA);
    let our_name = sign_with(&foreign, &header, &payload(&own_name));
    assert_eq!(refused(&a.keyring, &our_name), TokenError::BadSignature);
    let renamed = StoredKey {
        kid: a.key.kid.clone(),
        ..foreign
    };
    assert!(matches!(
        Keyring::new(vec![a.key, renamed]),
        Err(TokenKeyError::Misnamed { .. })
    ));
}

#[test]
fn a_jwks_with_a_swapped_key_is_refused_and_a_stranger_in_it_passed_over() {
    let a = actors();
    let mut jwks = a.keyring.jwks();
    jwks.keys[0].x = Keyring::new(vec![StoredKey::generate(NOW).unwrap()])
        .unwrap()
        .jwks()
        .keys[0]
        .x
        .clone();
    assert!(matches!(
        Verifier::new(&jwks),
        Err(TokenKeyError::Misnamed { .. })
    ));
    let mut text = serde_json::to_value(a.keyring.jwks()).unwrap();
    text["keys"]
        .as_array_mut()
        .unwrap()
        .push(json!({"kty": "RSA", "n": "AQAB", "e": "AQAB", "kid": "r"}));
    let verifier = Verifier::new(&serde_json::from_value(text).unwrap()).unwrap();
    assert!(
        verifier
            .verify_pass(&a.keyring.sign_pass(&a.pass), NOW)
            .is_ok()
    );
}

#[test]
fn a_pass_changed_anywhere_is_refused() {
    let a = actors();
    let token = a.keyring.sign_pass(&a.pass);
    for at in 0..token.len() {
        let mut bytes = token.clone().into_bytes();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(bytes).unwrap();
        assert!(a.keyring.verify_pass(&changed, NOW).is_err(), "byte {at}");
    }
    let parts: Vec<_> = token.split('.').collect();
    let mut claims = payload(&token);
    claims["rank"] = json!(0);
    let tampered = [
        parts[0],
        &URL_SAFE_NO_PAD.encode(claims.to_string()),
        parts[2],
    ]
    .join(".");
    assert_eq!(refused(&a.keyring, &tampered), TokenError::BadSignature);
    for broken in [
        "",
        ".",
        "..",
        parts[0],
        "a.b.c",
        &format!("{token}."),
        &format!("{token} "),
    ] {
        assert!(a.keyring.verify_pass(broken, NOW).is_err(), "{broken:?}");
    }
}

#[test]
fn a_header_that_calls_something_critical_is_refused() {
    let a = actors();
    let mut header = header("fairgate-pass+jwt", &a.key.kid, Algorithm::EdDSA);
    header.crit = Some(vec!["exp".into()]);
    let token = sign_with(&a.key, &header, &payload(&a.keyring.sign_pass(&a.pass)));
    assert_eq!(refused(&a.keyring, &token), TokenError::Malformed);
}

#[test]
fn a_pass_is_live_to_the_last_second_of_its_leeway_and_afterwards_still_shows_its_holder() {
    let a = actors();
    let token = a.keyring.sign_pass(&a.pass);
    let at = |now| a.keyring.verify_pass(&token, now);
    assert_eq!(at(NOW - LEEWAY_S - 1), Err(PassError::NotYet));
    assert!(at(NOW - LEEWAY_S).unwrap().require_live().is_ok());
    assert!(
        at(a.pass.exp + LEEWAY_S - 1)
            .unwrap()
            .require_live()
            .is_ok()
    );
    let late = at(a.pass.exp + LEEWAY_S).unwrap();
    assert_eq!(
        late.require_live(),
        Err(PassExpiredError { exp: a.pass.exp })
    );
    assert_eq!((late.holder(), late.claims().rank), (a.pass.sub, 7));
    assert!(at(i64::MIN).is_err() && at(i64::MAX).unwrap().require_live().is_err());
}

#[test]
fn a_place_holds_in_its_own_room_only_whatever_the_clock_says_unless_it_was_given_an_end() {
    let mut a = actors();
    let token = a.keyring.sign_place(&a.place);
    for now in [0, NOW - 86_400, NOW + 400 * 86_400] {
        assert!(a.keyring.verify_place(&token, "demo", now).is_ok());
    }
    assert_eq!(
        a.keyring.verify_place(&token, "other", NOW),
        Err(PlaceError::OtherRoom)
    );
    a.place.exp = Some(NOW + 60);
    let token = a.keyring.sign_place(&a.place);
    assert!(
        a.keyring
            .verify_place(&token, "demo", NOW + 60 + LEEWAY_S - 1)
            .is_ok()
    );
    assert_eq!(
        a.keyring.verify_place(&token, "demo", NOW + 60 + LEEWAY_S),
        Err(PlaceError::RanOut)
    );
}

#[test]
fn what_a_retired_key_signed_still_verifies_until_the_key_is_taken_out() {
    let a = actors();
    let old = a.keyring.sign_pass(&a.pass);
    let retired = StoredKey {
        retired_at: Some(NOW + 10),
        ..a.key.clone()
    };
    let next = StoredKey::generate(NOW + 10).unwrap();
    let rotated = Keyring::new(vec![retired.clone(), next.clone()]).unwrap();
    assert_eq!(rotated.kid(), next.kid);
    assert_eq!(
        rotated
            .jwks()
            .keys
            .iter()
            .map(|jwk| &jwk.kid)
            .collect::<Vec<_>>(),
        [&next.kid, &a.key.kid]
    );
    let elsewhere = Verifier::new(&rotated.jwks()).unwrap();
    for token in [&old, &rotated.sign_pass(&a.pass)] {
        assert!(
            rotated.verify_pass(token, NOW + 20).is_ok()
                && elsewhere.verify_pass(token, NOW + 20).is_ok()
        );
    }
    let forgotten = Keyring::new(vec![next]).unwrap();
    assert_eq!(refused(&forgotten, &old), TokenError::UnknownKey);
    assert_eq!(
        Keyring::new(vec![retired]).err(),
        Some(TokenKeyError::NoneSigns)
    );
}

#[test]
fn nothing_over_four_kib_is_read_and_no_ticket_grows_beyond_it() {
    let a = actors();
    let mut pass = a.pass.clone();
    pass.jti = "x".repeat(TOKEN_BYTES_MAX);
    assert_eq!(
        refused(&a.keyring, &a.keyring.sign_pass(&pass)),
        TokenError::TooLong
    );
    assert_eq!(
        refused(&a.keyring, &"é".repeat(TOKEN_BYTES_MAX)),
        TokenError::TooLong
    );
    assert_eq!(
        refused(&a.keyring, &"A".repeat(TOKEN_BYTES_MAX)),
        TokenError::Malformed
    );
    let long = TicketClaims {
        title: "x".repeat(TOKEN_BYTES_MAX),
        ..ticket()
    };
    assert!(a.keyring.sign_ticket(&long).unwrap_err().bytes > TOKEN_BYTES_MAX);
}
