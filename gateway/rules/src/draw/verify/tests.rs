//! Tests that an honest draw has no faults, and that the check notices a changed record or leaf
//! file.

use fairgate_pass::{Keyring, StoredKey};
use serde_json::{Value, json};

use super::*;
use crate::draw::{record::AssignedRank, tests::vectors};

struct Published {
    record: DrawRecord,
    leaves: Vec<u8>,
    keyring: Keyring,
}

/// Returns a correct draw: 40 numbers, two of them void, and three collected ranks.
fn published(beacon: &[u8]) -> Published {
    let keyring = Keyring::new(vec![StoredKey::generate(1).unwrap()]).unwrap();
    let mut leaves: Vec<[u8; 32]> = (0..40u8).map(|i| Digest::of_bytes(&[i]).0).collect();
    (leaves[4], leaves[17]) = (VOID.0, VOID.0);
    let freeze = FreezeClaims {
        room: "demo".into(),
        n: 40,
        voids: 2,
        root: merkle::root(&leaves),
        frozen_at: "2027-01-10T09:00:00Z".into(),
    };
    let signature = keyring.sign_freeze(&freeze);
    let round = (!beacon.is_empty()).then_some(7);
    let mut record = DrawRecord::announced("demo", commitment(&[9; 32]))
        .frozen(freeze, signature, round)
        .drawn([9; 32], beacon, "2027-01-10T09:02:00Z".into())
        .unwrap();
    let ranks = shuffle::ranks(&record.seed.unwrap(), 40);
    let given = |number: u64| AssignedRank {
        number,
        rank: ranks[number as usize].into(),
    };
    record.places = vec![
        given(0),
        given(39),
        AssignedRank {
            number: 40,
            rank: 40,
        },
    ];
    Published {
        record,
        leaves: leaves.concat(),
        keyring,
    }
}

#[test]
fn an_honest_draw_has_no_faults_with_and_without_leaves_keys_and_beacon() {
    for beacon in [&b""[..], &[5; 32]] {
        let p = published(beacon);
        let jwks = p.keyring.jwks();
        for (leaves, jwks) in [
            (None, None),
            (Some(&p.leaves[..]), None),
            (Some(&p.leaves[..]), Some(&jwks)),
        ] {
            let report = check_record(&p.record, leaves, jwks);
            assert!(report.has_no_faults(), "{:?}", report.faults);
        }
        let report = check_record(&p.record, Some(&p.leaves), Some(&jwks));
        let beacons = |text: &String| text.starts_with("the beacon: ");
        assert!(report.unchecked.iter().all(beacons));
        assert_eq!(report.unchecked.is_empty(), beacon.is_empty());
    }
    let mut null_beacon = published(b"").record;
    null_beacon.beacon = None;
    assert!(check_record(&null_beacon, None, None).has_no_faults());
}

/// Returns a changed value: a number plus one, a text with another last hex digit, or `00` for an
/// empty text.
fn changed(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_u64().unwrap() + 1),
        Value::String(text) if text.is_empty() => json!("00"),
        Value::String(text) => {
            let digit = if text.ends_with('0') { "1" } else { "0" };
            json!(format!("{}{digit}", &text[..text.len() - 1]))
        }
        other => panic!("this test cannot change such a value: {other}"),
    }
}

#[test]
fn a_record_with_one_changed_field_fails_even_without_leaves_and_keys() {
    for beacon in [&b""[..], &[5; 32]] {
        let p = published(beacon);
        let good = serde_json::to_value(&p.record).unwrap();
        for at in [
            "/version",
            "/commitment",
            "/n",
            "/voids",
            "/root",
            "/beacon",
            "/secret",
            "/seed",
            "/places/0/rank",
            "/places/1/rank",
            "/places/2/rank",
            "/places/0/number",
        ] {
            let mut record = good.clone();
            *record.pointer_mut(at).unwrap() = changed(&good.pointer(at).unwrap().clone());
            let record = serde_json::from_value(record).unwrap();
            assert!(
                !check_record(&record, None, None).has_no_faults(),
                "a changed {at} was not noticed"
            );
        }
        for (at, to) in [
            ("room", json!("other")),
            ("frozen_at", json!("2027-01-10T09:00:01Z")),
            ("drawn_at", json!("2027-01-10T08:00:00Z")),
        ] {
            let mut record = good.clone();
            record[at] = to;
            assert!(
                !check_record(&serde_json::from_value(record).unwrap(), None, None).has_no_faults(),
                "{at}"
            );
        }
        for missing in [
            "n",
            "voids",
            "root",
            "frozen_at",
            "signature",
            "secret",
            "seed",
        ] {
            let mut record = good.clone();
            record[missing] = Value::Null;
            assert!(
                !check_record(&serde_json::from_value(record).unwrap(), None, None).has_no_faults(),
                "{missing}"
            );
        }
    }
}

#[test]
fn changed_missing_and_added_leaves_fail() {
    let p = published(b"");
    for at in 0..40 {
        let mut leaves = p.leaves.clone();
        leaves[at * 32 + at % 32] ^= 1;
        assert!(
            !check_record(&p.record, Some(&leaves), None).has_no_faults(),
            "leaf {at}"
        );
    }
    for leaves in [
        &p.leaves[..39 * 32],
        &p.leaves[..40 * 32 - 1],
        &[&p.leaves[..], &[0]].concat(),
        &[],
    ] {
        assert!(!check_record(&p.record, Some(leaves), None).has_no_faults());
    }
}

#[test]
fn a_holder_with_two_numbers_and_a_wrong_count_of_voids_are_reported() {
    let mut p = published(b"");
    p.leaves.copy_within(0..32, 32);
    let faults = check_record(&p.record, Some(&p.leaves), None)
        .faults
        .join("\n");
    assert!(faults.contains("a holder who had one already"), "{faults}");
    p.leaves[64..96].fill(0);
    let faults = check_record(&p.record, Some(&p.leaves), None)
        .faults
        .join("\n");
    assert!(faults.contains("3 voids"), "{faults}");
}

#[test]
fn a_foreign_signature_fails_if_keys_are_given() {
    let p = published(b"");
    let stranger = Keyring::new(vec![StoredKey::generate(1).unwrap()]).unwrap();
    assert!(check_record(&p.record, None, Some(&p.keyring.jwks())).has_no_faults());
    assert!(!check_record(&p.record, None, Some(&stranger.jwks())).has_no_faults());
    let mut forged = p.record.clone();
    forged.signature = Some(
        stranger
            .sign_freeze(&FreezeClaims::unverified(p.record.signature.as_ref().unwrap()).unwrap()),
    );
    assert!(
        check_record(&forged, None, None).has_no_faults(),
        "without keys only the signed text is compared"
    );
    assert!(!check_record(&forged, None, Some(&p.keyring.jwks())).has_no_faults());
}

#[test]
fn an_impossible_n_is_refused_before_anything_is_allocated_for_it() {
    let mut record = published(b"").record;
    record.n = Some(u64::MAX);
    assert!(!check_record(&record, None, None).has_no_faults());
}

#[test]
fn the_published_vectors_hold() {
    for case in vectors() {
        let keyring = published(b"").keyring;
        let freeze = FreezeClaims {
            room: "demo".into(),
            n: case.n,
            voids: 0,
            root: case.root,
            frozen_at: "2027-01-10T09:00:00Z".into(),
        };
        let signature = keyring.sign_freeze(&freeze);
        let record = DrawRecord::announced("demo", case.commitment)
            .frozen(freeze, signature, (!case.beacon.is_empty()).then_some(1))
            .drawn(case.secret.0, &case.beacon(), "2027-01-10T09:02:00Z".into())
            .unwrap();
        assert_eq!(record.seed, Some(case.seed));
        let report = check_record(
            &record,
            Some(&case.leaves().concat()),
            Some(&keyring.jwks()),
        );
        assert!(
            report.has_no_faults(),
            "n = {}: {:?}",
            case.n,
            report.faults
        );
    }
}
