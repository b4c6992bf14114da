//! Checks a live room's draw from outside: with an independent oracle, with the product's own
//! offline command, and with every visitor's proof. The oracle and the command must notice every
//! change of the record.

use std::path::{Path, PathBuf};
use std::process::Command;

use fairgate_pass::Verifier;
use serde_json::{Value, json};

use crate::harness::{Promoter, Server, Visitor, draw_folder, gateway, merkle};

/// The number of joiners before the freeze.
const JOINERS: usize = 300;
/// The number of joiners who leave before the freeze.
const LEAVERS: usize = 25;

/// The published draw of a live server.
struct Published {
    server: Server,
    record: Value,
    leaves: Vec<u8>,
}

impl Published {
    async fn live() -> Self {
        let server = Server::start().await;
        let promoter = Promoter::of(&server);
        promoter.on_sale("20x30", json!({}), json!({})).await;
        let mut crowd = Vec::new();
        for _ in 0..JOINERS {
            crowd.push(Visitor::joined(&server, "sale").await);
        }
        for at in 0..LEAVERS {
            crowd[at * 7].leave().await.is(204);
        }
        server
            .get("/v1/rooms/sale/draw/leaves")
            .await
            .problem(409, "not_frozen");
        server
            .get("/v1/rooms/sale/draw/proof/0")
            .await
            .problem(409, "not_frozen");
        promoter.draw("sale").await;
        // After the freeze no leaf can be removed, so this visitor's leaf stays.
        crowd[JOINERS - 1].leave().await.is(204);

        let mut record = server.get("/v1/rooms/sale/draw").await.is(200);
        let mut places = Vec::new();
        for (at, visitor) in crowd.iter().enumerate() {
            if at != JOINERS - 1 && (at % 7 != 0 || at >= LEAVERS * 7) {
                places.push(json!({"number": visitor.number, "rank": visitor.rank().await}));
            }
        }
        assert_eq!(places.len(), JOINERS - LEAVERS - 1);
        record["places"] = Value::Array(places);
        let leaves = server.get("/v1/rooms/sale/draw/leaves").await;
        assert_eq!(leaves.header("content-type"), "application/octet-stream");
        for visitor in &crowd {
            let at = usize::try_from(visitor.number).expect("a small number") * 32;
            let leaf = hex::encode(&leaves.body[at..at + 32]);
            let left = visitor.number % 7 == 0 && visitor.number < (LEAVERS * 7) as u64;
            assert_eq!(
                leaf,
                if left {
                    "0".repeat(64)
                } else {
                    visitor.holder()
                }
            );
        }
        Self {
            server,
            record,
            leaves: leaves.body.to_vec(),
        }
    }

    fn files(&self, record: &Value, leaves: &[u8]) -> (PathBuf, PathBuf) {
        let paths = (
            self.server.folder().join("record.json"),
            self.server.folder().join("leaves.bin"),
        );
        std::fs::write(&paths.0, record.to_string()).expect("a written record");
        std::fs::write(&paths.1, leaves).expect("written leaves");
        paths
    }

    /// Returns whether `gateway verify-draw` accepts the draw, and its output.
    fn own_verdict(&self, record: &Value, leaves: &[u8]) -> (bool, String) {
        let (record, leaves) = self.files(record, leaves);
        verdict(
            gateway()
                .arg("verify-draw")
                .arg(record)
                .arg("--leaves")
                .arg(leaves),
        )
    }

    /// Returns whether the oracle accepts the draw, and its output.
    fn oracle(&self, folder: &Path, record: &Value, leaves: &[u8]) -> (bool, String) {
        let (record, leaves) = self.files(record, leaves);
        verdict(
            Command::new("python3")
                .arg(folder.join("reference.py"))
                .arg("check")
                .arg(record)
                .arg(leaves),
        )
    }
}

fn verdict(command: &mut Command) -> (bool, String) {
    let output = command.output().expect("the checker starts");
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    (output.status.success(), said)
}

/// Returns copies of the record and the leaves with one thing changed in each, and a name for the
/// change.
fn tampered(record: &Value, leaves: &[u8]) -> Vec<(&'static str, Value, Vec<u8>)> {
    let mut all = Vec::new();
    for field in ["commitment", "root", "secret", "seed"] {
        let mut changed = record.clone();
        let mut digits = changed[field]
            .as_str()
            .expect("hex")
            .to_owned()
            .into_bytes();
        digits[17] = if digits[17] == b'0' { b'1' } else { b'0' };
        changed[field] = String::from_utf8(digits).expect("hex").into();
        all.push((field, changed, leaves.to_vec()));
    }
    for field in ["n", "voids"] {
        let mut changed = record.clone();
        changed[field] = (changed[field].as_u64().expect("a count") ^ 1).into();
        all.push((field, changed, leaves.to_vec()));
    }
    let mut beacon = record.clone();
    beacon["beacon"] = "5a".into();
    all.push(("beacon", beacon, leaves.to_vec()));
    let mut rank = record.clone();
    rank["places"][40]["rank"] = (rank["places"][40]["rank"].as_u64().expect("a rank") ^ 1).into();
    all.push(("a rank", rank, leaves.to_vec()));
    let mut leaf = leaves.to_vec();
    leaf[32 * 41 + 5] ^= 1;
    all.push(("a leaf", record.clone(), leaf));
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn both_checkers_accept_a_live_draw_and_refuse_every_changed_copy() {
    let published = Published::live().await;
    let (record, leaves) = (&published.record, &published.leaves);
    assert_eq!(
        (&record["n"], &record["voids"]),
        (&json!(JOINERS), &json!(LEAVERS))
    );

    let (holds, said) = published.own_verdict(record, leaves);
    assert!(holds, "verify-draw refused the live record: {said}");
    for (what, record, leaves) in tampered(record, leaves) {
        let (holds, said) = published.own_verdict(&record, &leaves);
        assert!(
            !holds,
            "verify-draw accepted a record with {what} changed: {said}"
        );
    }
    let Some(folder) = draw_folder() else { return };
    let (holds, said) = published.oracle(&folder, record, leaves);
    assert!(holds, "the oracle refused the live record: {said}");
    let cases = tampered(record, leaves);
    for (what, record, leaves) in &cases {
        let (holds, said) = published.oracle(&folder, record, leaves);
        assert!(
            !holds,
            "the oracle accepted a record with {what} changed: {said}"
        );
    }
    eprintln!(
        "FIGURE {JOINERS} joined, {LEAVERS} voids: both checkers accept; each of {} changed bytes refused by both",
        cases.len()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn every_proof_leads_to_the_signed_root_and_a_place_carries_the_commitment() {
    let published = Published::live().await;
    let (server, record) = (&published.server, &published.record);
    let jwks = server.get("/.well-known/jwks.json").await.is(200);
    let verifier = Verifier::new(&serde_json::from_value(jwks).expect("a JWKS")).expect("keys");
    let freeze = verifier
        .verify_freeze(record["signature"].as_str().expect("a signature"))
        .expect("it verifies");
    assert_eq!(
        json!({"room": freeze.room, "n": freeze.n, "voids": freeze.voids, "root": freeze.root, "frozen_at": freeze.frozen_at}),
        json!({"room": "sale", "n": record["n"], "voids": record["voids"], "root": record["root"], "frozen_at": record["frozen_at"]}),
    );

    let root = hex::decode(record["root"].as_str().expect("a root")).expect("hex");
    let n = record["n"].as_u64().expect("n");
    let mut ranks = Vec::new();
    for number in 0..n {
        let proof = server
            .get(&format!("/v1/rooms/sale/draw/proof/{number}"))
            .await
            .is(200);
        let path: Vec<Vec<u8>> = proof["path"]
            .as_array()
            .expect("a path")
            .iter()
            .map(|one| hex::decode(one.as_str().expect("hex")).expect("hex"))
            .collect();
        let holder = hex::decode(proof["holder"].as_str().expect("a holder")).expect("hex");
        let leads_to =
            merkle::root_of(number, n, &holder, &path).expect("a path of the right length");
        assert_eq!(leads_to.as_slice(), root, "the proof of {number}");
        ranks.push(proof["rank"].as_u64().expect("a rank"));
    }
    for place in record["places"].as_array().expect("places") {
        let number = place["number"].as_u64().expect("a number");
        assert_eq!(
            ranks[usize::try_from(number).expect("small")],
            place["rank"].as_u64().expect("a rank")
        );
    }
    ranks.sort_unstable();
    assert_eq!(
        ranks,
        (0..n).collect::<Vec<_>>(),
        "every rank is given once"
    );
    server
        .get(&format!("/v1/rooms/sale/draw/proof/{n}"))
        .await
        .problem(404, "not_found");

    let late = Visitor::joined(server, "sale").await;
    let claims = verifier
        .verify_place(&late.place, "sale", jiff::Timestamp::now().as_second())
        .expect("a place");
    assert_eq!(
        Some(claims.commitment.to_string().as_str()),
        record["commitment"].as_str()
    );
    eprintln!("FIGURE {n} of {n} inclusion proofs lead to the signed root");
}
