//! Forged values are refused. Values that were signed with a retired key still verify until the key
//! is removed.

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

/// Returns the payload of a token as JSON, for use in forged tokens.
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

/// Signs any payload with a real key. Outside tests, only a faulty gateway could do this.
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
fn every_kind_of_signed_value_verifies_and_reads_back() {
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
fn passes_and_places_name_their_audience_and_a_freeze_has_only_its_members() {
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
fn tokens_with_another_algorithm_or_none_are_refused() {
    let a = actors();
    let good = payload(&a.keyring.sign_pass(&a.pass));
    let jwks = a.keyring.jwks();
    let public = URL_SAFE_NO_PAD.decode(&jwks.keys[0].x).unwrap();
    // A known attack: the public key is used as the secret of an HMAC.
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
fn a_signed_value_of_one_kind_is_refused_as_any_other_kind() {
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
fn a_correctly_signed_pass_with_another_audience_or_issuer_is_refused() {
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
        "the helper signs correctly, so only the changed claim is refused"
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
fn a_jwks_with_a_swapped_key_is_refused_and_keys_of_other_kinds_are_ignored() {
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
fn a_pass_with_any_byte_changed_is_refused() {
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
fn a_header_with_critical_members_is_refused() {
    let a = actors();
    let mut header = header("fairgate-pass+jwt", &a.key.kid, Algorithm::EdDSA);
    header.crit = Some(vec!["exp".into()]);
    let token = sign_with(&a.key, &header, &payload(&a.keyring.sign_pass(&a.pass)));
    assert_eq!(refused(&a.keyring, &token), TokenError::Malformed);
}

#[test]
fn a_pass_is_live_until_its_leeway_ends_and_an_expired_pass_still_names_its_holder() {
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
fn a_place_is_valid_only_in_its_room_and_expires_only_if_it_has_an_exp() {
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
        Err(PlaceError::Expired)
    );
}

#[test]
fn tokens_of_a_retired_key_verify_until_the_key_is_removed() {
    let a = actors();
    let old = a.keyring.sign_pass(&a.pass);
    let retired = StoredKey {
        retired_at: Some(NOW + 10),
        ..a.key.clone()
    };
    let next = StoredKey::generate(NOW + 10).unwrap();
    let rotated = Keyring::new(vec![retired.clone(), next.clone()]).unwrap();
    assert_eq!(rotated.kid_at(NOW + 10), next.kid);
    assert_eq!(rotated.kid_at(NOW + 9), a.key.kid);
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
fn signed_values_over_four_kib_are_not_read_and_longer_tickets_are_not_issued() {
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
