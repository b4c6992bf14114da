//! Checks a published draw offline, and describes the faults for readers who do not know the
//! design. `gateway verify-draw` prints the result.

use fairgate_pass::{Digest, FreezeClaims, Jwks, VOID, Verifier};
use serde::Serialize;

use super::{N_MAX, VERSION, commitment, merkle, record::DrawRecord, seed, shuffle};

/// How many wrong ranks are listed one by one. If there are more, their total number is given too.
const WRONG_RANKS_SHOWN: usize = 5;

/// The result of a check.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct DrawCheckReport {
    /// All faults; empty if nothing was found wrong.
    pub faults: Vec<String>,
    /// Everything that was checked and is right.
    pub checked: Vec<String>,
    /// Everything that could not be checked with the given files.
    pub unchecked: Vec<String>,
}

impl DrawCheckReport {
    /// Returns whether nothing was found wrong.
    pub fn has_no_faults(&self) -> bool {
        self.faults.is_empty()
    }

    fn expect(&mut self, is_right: bool, success: &str, fault: impl Into<String>) {
        match is_right {
            true => self.checked.push(success.into()),
            false => self.faults.push(fault.into()),
        }
    }
}

/// Checks a record. `leaves` has the n holders, 32 bytes each. The record's fields are always
/// compared with the signed text. The signature itself is checked only if `jwks` is given.
pub fn check_record(
    record: &DrawRecord,
    leaves: Option<&[u8]>,
    jwks: Option<&Jwks>,
) -> DrawCheckReport {
    let mut report = DrawCheckReport::default();
    if record.version != VERSION {
        report.faults.push(format!(
            "the record has version {}; this program knows version {VERSION}",
            record.version
        ));
        return report;
    }
    check_times(record, &mut report);
    check_signature(record, jwks, &mut report);
    let (Some(n), Some(root)) = (record.n, record.root) else {
        report
            .faults
            .push("the line is not frozen in this record: n or root is missing".into());
        return report;
    };
    report.expect(
        n <= N_MAX && record.voids.is_some_and(|voids| voids <= n),
        "n and the count of voids are possible",
        "n or the count of voids is not possible: n is at most 4294967295, and voids at most n",
    );
    match leaves {
        Some(leaves) => check_leaves(n, record.voids, &root, leaves, &mut report),
        None => report
            .unchecked
            .push("root, voids and double holders: no leaf file was given".into()),
    }
    check_draw(record, n, &root, &mut report);
    report
}

fn check_times(record: &DrawRecord, report: &mut DrawCheckReport) {
    let mut parse_time = |name: &str, text: &Option<String>| {
        let text = text.as_deref()?;
        let parsed = text.parse::<jiff::Timestamp>();
        if parsed.is_err() {
            report
                .faults
                .push(format!("{name} is not a time in RFC 3339"));
        }
        parsed.ok()
    };
    let frozen = parse_time("frozen_at", &record.frozen_at);
    let drawn = parse_time("drawn_at", &record.drawn_at);
    if let (Some(frozen), Some(drawn)) = (frozen, drawn)
        && drawn < frozen
    {
        report
            .faults
            .push("the draw is dated before the freeze".into());
    }
}

fn check_signature(record: &DrawRecord, jwks: Option<&Jwks>, report: &mut DrawCheckReport) {
    let Some(signature) = &record.signature else {
        report
            .faults
            .push("the freeze is not signed: signature is missing".into());
        return;
    };
    match FreezeClaims::unverified(signature) {
        Err(error) => report
            .faults
            .push(format!("the freeze's signature cannot be read: {error}")),
        Ok(signed) => {
            let comparisons = [
                ("room", signed.room == record.room),
                ("n", Some(signed.n) == record.n),
                ("voids", Some(signed.voids) == record.voids),
                ("root", Some(signed.root) == record.root),
                (
                    "frozen_at",
                    Some(&signed.frozen_at) == record.frozen_at.as_ref(),
                ),
            ];
            for (name, agrees) in comparisons {
                let fault = format!("{name} is not what was signed at the freeze");
                report.expect(
                    agrees,
                    &format!("{name} is what was signed at the freeze"),
                    fault,
                );
            }
        }
    }
    match jwks.map(|jwks| Verifier::new(jwks).map(|keys| keys.verify_freeze(signature))) {
        None => report
            .unchecked
            .push("who signed the freeze: no keys were given".into()),
        Some(Err(error)) => report
            .faults
            .push(format!("the keys cannot be used: {error}")),
        Some(Ok(Err(error))) => report
            .faults
            .push(format!("the freeze's signature is not valid: {error}")),
        Some(Ok(Ok(_))) => report
            .checked
            .push("the freeze is signed by one of the given keys".into()),
    }
}

fn check_leaves(
    n: u64,
    voids: Option<u64>,
    root: &Digest,
    leaves: &[u8],
    report: &mut DrawCheckReport,
) {
    let (leaves, extra_bytes) = leaves.as_chunks::<32>();
    let count = leaves.len() as u64;
    report.expect(
        count == n && extra_bytes.is_empty(),
        "the leaf file has n holders",
        format!(
            "the leaf file must have {n} holders; it has {count} and {} extra bytes",
            extra_bytes.len()
        ),
    );
    report.expect(
        merkle::root(leaves) == *root,
        "the root follows from the leaf file",
        "the root does not follow from the leaf file",
    );
    let mut holders: Vec<&[u8; 32]> = leaves.iter().filter(|leaf| **leaf != VOID.0).collect();
    let void_count = count - holders.len() as u64;
    report.expect(
        Some(void_count) == voids,
        "the count of voids is right",
        format!("the leaf file has {void_count} voids, not as many as the record says"),
    );
    holders.sort_unstable();
    let repeats = holders.windows(2).filter(|pair| pair[0] == pair[1]).count();
    report.expect(
        repeats == 0,
        "no holder has two numbers",
        format!("{repeats} numbers went to a holder who had one already"),
    );
}

fn check_draw(record: &DrawRecord, n: u64, root: &Digest, report: &mut DrawCheckReport) {
    let (Some(secret), Some(recorded_seed)) = (&record.secret, record.seed) else {
        report
            .faults
            .push("the draw has not happened in this record: secret or seed is missing".into());
        return;
    };
    report.expect(
        commitment(secret) == record.commitment,
        "the commitment opens",
        "the commitment does not open: the secret is not the one that was promised",
    );
    let Ok(beacon) = hex::decode(record.beacon.as_deref().unwrap_or_default()) else {
        report.faults.push("the beacon is not hex".into());
        return;
    };
    let expected_len = if record.beacon_round.is_some() { 32 } else { 0 };
    report.expect(
        beacon.len() == expected_len,
        "the beacon is there exactly if one was announced",
        format!(
            "the beacon has {} bytes, {expected_len} were announced",
            beacon.len()
        ),
    );
    if let Some(round) = record.beacon_round {
        report.unchecked.push(format!(
            "the beacon: compare it with drand's round {round}, and the time of that round with frozen_at"
        ));
    }
    let computed_seed = seed(secret, n, root, &beacon);
    report.expect(
        computed_seed == recorded_seed,
        "the seed follows from secret, n, root and beacon",
        "the seed does not follow from secret, n, root and beacon",
    );
    match u32::try_from(n) {
        _ if record.places.is_empty() => report
            .unchecked
            .push("ranks: the record has no places in it".into()),
        Ok(n) if computed_seed == recorded_seed => check_ranks(record, n, &computed_seed, report),
        // A false n could take 16 GiB of memory, and ranks from a false seed prove nothing.
        _ => report
            .unchecked
            .push("ranks: n or the seed is wrong".into()),
    }
}

fn check_ranks(record: &DrawRecord, n: u32, seed: &Digest, report: &mut DrawCheckReport) {
    let ranks = shuffle::ranks(seed, n);
    // Visitors who joined after the freeze come after everybody who was drawn, in the order of
    // joining.
    let expected = |number: u64| match usize::try_from(number)
        .ok()
        .and_then(|number| ranks.get(number))
    {
        Some(rank) => u64::from(*rank),
        None => number,
    };
    let wrong: Vec<_> = record
        .places
        .iter()
        .filter(|place| place.rank != expected(place.number))
        .collect();
    for place in wrong.iter().take(WRONG_RANKS_SHOWN) {
        let (number, rank, expected) = (place.number, place.rank, expected(place.number));
        report.faults.push(format!(
            "number {number} was given rank {rank}, the draw gives {expected}"
        ));
    }
    if wrong.len() > WRONG_RANKS_SHOWN {
        report
            .faults
            .push(format!("{} ranks are wrong in all", wrong.len()));
    }
    if wrong.is_empty() {
        report.checked.push(format!(
            "all {} ranks follow from the seed",
            record.places.len()
        ));
    }
}

#[cfg(test)]
mod tests;
