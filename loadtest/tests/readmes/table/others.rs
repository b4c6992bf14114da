//! Lists the commands that the sentences and tables of README.md and of the other READMEs name.

use super::{CommandRow, How, apart, excused, filled, row, short};

const SWARM: &str = "cargo run --release -p loadtest -- swarm loadtest/scenarios/arena.toml --rig";

pub const ROWS: &[CommandRow] = &[
    // The figures and the sentences of README.md
    apart("cargo build --profile dist -p gateway -p booking", &[]),
    row(
        "cargo nextest run -p gateway -E 'test(/^browser::/)'",
        How::Tests("gateway", "browser::"),
    ),
    row(
        "cargo nextest run -p gateway -E 'test(/^crash::/)'",
        How::Tests("gateway", "crash::"),
    ),
    row(
        "cargo nextest run -p gateway -E 'test(/8897/)'",
        How::Tests("gateway", "8897"),
    ),
    row(
        "FAIRGATE_STORM=50,25000,500 cargo test --release -p booking --test way -- storm::",
        How::Tests("booking", "storm::"),
    ),
    short(
        "cargo run --release -p loadtest -- bench one-seat",
        "cargo run --release -p loadtest -- bench one-seat --visitors 20 --rounds 1",
        &["1 of 1 times"],
    ),
    short(
        "cargo run --release -p loadtest -- bench seats",
        "cargo run --release -p loadtest -- bench seats --shows 1 --rows 10 --columns 10",
        &["rebuild of all"],
    ),
    short(
        "cargo run --release -p loadtest -- bench holds",
        "cargo run --release -p loadtest -- bench holds --n 1000 --at-once 16 --no-http",
        &["ratio"],
    ),
    apart(
        "cargo run --release -p booking --example legs -- fit",
        &["\"held\":true"],
    ),
    short(
        "cargo run --release -p loadtest -- bench waitlist",
        "cargo run --release -p loadtest -- bench waitlist --parties 20",
        &["20 of 20"],
    ),
    short(
        "cargo run --release -p loadtest -- bench waitlist --rig gateways=2,bookings=2,redis=single,ledger=postgres",
        "cargo run --release -p loadtest -- bench waitlist --parties 20 --rig gateways=2,bookings=2,redis=single,ledger=postgres",
        &["20 of 20"],
    ),
    apart(
        "cargo run --release -p loadtest -- verdict --self-test",
        &["292 of 292 trials came out right"],
    ),
    short(
        "cargo run --release -p booking --example pruning -- 1000000 3",
        "cargo run --release -p booking --example pruning -- 500 0.1",
        &[
            "start with a first purchase",
            "purchases beside the deleting",
        ],
    ),
    // booking/README.md
    short(
        "cargo run --release -p booking --example legs -- rush",
        "cargo run --release -p booking --example legs -- rush 200",
        &["\"store\":\"memory\"", "\"store\":\"redis cluster\""],
    ),
    row(
        "cargo run --release -p booking --example pruning -- 1000000 6 [DATABASE_URL]",
        How::By("cargo run --release -p booking --example pruning -- 1000000 3"),
    ),
    excused("cargo nextest run -p booking", "`./test` runs these tests"),
    filled(
        "booking dump --out FILE",
        "booking import cinema loadtest/data/programme.json --data dumped && booking dump --out dump.jsonl --data dumped && grep -c . dump.jsonl",
        &["18 showings"],
    ),
    filled(
        "booking serve [--config FILE] [--listen ADDR] [--data DIR]",
        "booking serve --listen 127.0.0.1:0 --data alone & answers http://127.0.0.1:0/readyz",
        &["serving"],
    ),
    row(
        "booking import cinema FILE [--data DIR | --database URL]",
        How::By("booking import cinema loadtest/data/programme.json --data fairgate-data"),
    ),
    row(
        "booking import gtfs DIR",
        How::By("booking import gtfs loadtest/data/feed --data fairgate-data"),
    ),
    row(
        "booking import timetable DIR",
        How::By(
            "booking import timetable loadtest/data/timetable --rail loadtest/data/timetable/rail.toml --timezone Europe/Berlin --data fairgate-data",
        ),
    ),
    filled(
        "booking reconcile --once [--json]",
        "booking reconcile --once --json --data reconciled",
        &["findings"],
    ),
    // gateway/README.md
    row(
        "gateway apply ONSALE.toml [--target URL] [--preview]",
        How::By("target/release/gateway apply onsale.sample.toml"),
    ),
    row(
        "gateway keys rotate [--config FILE] [--data DIR] [--after SECONDS] [--json]",
        How::By("target/release/gateway keys rotate --data ./data"),
    ),
    row(
        "gateway verify-draw RECORD.json [--leaves FILE] [--jwks FILE] [--json]",
        How::By(
            "target/release/gateway verify-draw record.json --leaves leaves.bin --jwks jwks.json",
        ),
    ),
    row(
        "gateway backup FILE [--data DIR] [--json]",
        How::By("gateway backup monday.fairgate --data ./data"),
    ),
    row(
        "gateway restore FILE --data DIR [--json]",
        How::By("gateway restore monday.fairgate --data restored"),
    ),
    row(
        "gateway reopen SHOW [--target URL]",
        How::By("gateway reopen night-1"),
    ),
    // loadtest/README.md
    row(
        "loadtest verdict HISTORY --ledger DUMP [--provider BOOKS] [--draw RECORD.json] [--json]",
        How::By(SWARM),
    ),
    row(
        "loadtest verdict --self-test [--json]",
        How::By("cargo run --release -p loadtest -- verdict --self-test"),
    ),
    row(
        "loadtest bench draw [--n 10000000] [--json]",
        How::By("cargo run --release -p loadtest -- bench draw"),
    ),
    short(
        "loadtest bench wishes [--seeds 1000] [--seed 0] [--read-after S] [--sale SEED] [--json]",
        "loadtest bench wishes --seeds 100",
        &["one hall, four categories", "told 100 %"],
    ),
    row(
        "loadtest bench holds [--n 20000] [--at-once 256] [--no-http] [--json]",
        How::By("cargo run --release -p loadtest -- bench holds"),
    ),
    row(
        "loadtest bench rail [--timetable DIR] [--per-s 1000] [--for-s 10] [--json]",
        How::By(
            "cargo run --release -p loadtest -- bench rail --timetable loadtest/data/timetable",
        ),
    ),
    row(
        "loadtest bench bot [--people 1000] [--seconds 60] [--rig …] [--json]",
        How::By("cargo run --release -p loadtest -- bench bot"),
    ),
    short(
        "loadtest bench botnet [--people 1000] [--networks 100] [--seconds 60] [--rig …] [--json]",
        "loadtest bench botnet --people 3 --networks 2 --seconds 1",
        &["default limits", "Turnstile by all"],
    ),
    short(
        "loadtest bench carrier [--people 10000] [--seconds 300] [--challenge turnstile|pow] [--rig …] [--json]",
        "loadtest bench carrier --people 10 --seconds 3",
        &["people with a place", " of 10; "],
    ),
    short(
        "loadtest bench foreign [--networks 100000] [--rig …] [--json]",
        "loadtest bench foreign --networks 200",
        &["fresh visitors placed", " of 200 at once"],
    ),
    row(
        "cargo run --release -p loadtest -- bench botnet",
        How::By(
            "loadtest bench botnet [--people 1000] [--networks 100] [--seconds 60] [--rig …] [--json]",
        ),
    ),
    row(
        "cargo run --release -p loadtest -- bench carrier",
        How::By(
            "loadtest bench carrier [--people 10000] [--seconds 300] [--challenge turnstile|pow] [--rig …] [--json]",
        ),
    ),
    row(
        "cargo run --release -p loadtest -- bench foreign",
        How::By("loadtest bench foreign [--networks 100000] [--rig …] [--json]"),
    ),
    row(
        "loadtest bench idle [--sockets 15000] [--seconds 30] [--unjudged] [--json]",
        How::By("cargo run --release -p loadtest -- bench idle"),
    ),
    short(
        "loadtest bench rooms [--rooms 1000] [--seconds 30] [--unjudged] [--json]",
        "loadtest bench rooms --rooms 5 --seconds 1 --unjudged",
        &["5 rooms that wait"],
    ),
    short(
        "loadtest bench claimers [--only idle|lapsing] [--bots N] [--people N] [--max-inside 20] [--pass-idle-s 20] [--hold-s 60] [--seats 440] [--basket 1] [--settle-s 180] [--times 1.2] [--at-most-s 600] [--store memory|redis] [--before FOLDER] [--json]",
        "loadtest bench claimers --only lapsing --bots 3 --people 2 --max-inside 3 --pass-idle-s 10 --hold-s 2 --settle-s 2 --times 3",
        &["3 bots that let baskets lapse", "2 of 2; a visit"],
    ),
    short(
        "loadtest bench last-seats [--visitors 5000] [--seats 2000] [--hold-s 100] [--away-s 20] [--before FOLDER] [--seed 1] [--rig …] [--json]",
        "loadtest bench last-seats --visitors 80 --seats 50 --hold-s 20 --away-s 10",
        &["80 visitors for 50 seats", "99 % sold after"],
    ),
    row(
        "loadtest bench delta [--watchers 15000] [--buyers 600] [--seconds 10] [--unjudged] [--json]",
        How::By("cargo run --release -p loadtest -- bench delta"),
    ),
    short(
        "loadtest bench purchases [--buyers 200] [--seconds 10] [--before FOLDER] [--turns 3] [--rig …] [--json]",
        "loadtest bench purchases --buyers 5 --seconds 3 --turns 1",
        &["5 people buy at the same time"],
    ),
    row(
        "loadtest bench lists [--showings 15000] [--clients 20] [--seconds 5] [--only TEXT] [--unjudged] [--rig …] [--json]",
        How::By("cargo run --release -p loadtest -- bench lists"),
    ),
    row(
        "loadtest bench edge [--uploads 40] [--leaves 10000] [--readers 400] [--sockets 3000] [--map-requests 3000] [--json]",
        How::By("cargo run --release -p loadtest -- bench edge"),
    ),
    row(
        "loadtest bench one-seat [--visitors 500] [--rounds 20] [--rig …] [--json]",
        How::By("cargo run --release -p loadtest -- bench one-seat"),
    ),
    row(
        "loadtest bench seats [--shows 20] [--rows 250] [--columns 200] [--json]",
        How::By("cargo run --release -p loadtest -- bench seats"),
    ),
    row(
        "loadtest bench waitlist [--parties 1000] [--rig …] [--json]",
        How::By("cargo run --release -p loadtest -- bench waitlist"),
    ),
    row(
        "loadtest plan FILE [--seeds 20] [--sweep per_s=50..500] [--csv ARRIVALS] [--calls-per-s N] [--kill gateway@draw+60s] [--gateways 2] [--calibration FILE] [--prices FILE] [--settings FILE] [--html FILE] [--json]",
        How::By(
            "cargo run --release -p loadtest -- plan loadtest/data/stadium.toml --calibration loadtest/data/two-processors.toml",
        ),
    ),
    row(
        "loadtest plan FILE",
        How::By(
            "cargo run --release -p loadtest -- plan loadtest/data/stadium.toml --calibration loadtest/data/two-processors.toml",
        ),
    ),
    row(
        "loadtest calibrate --out FILE [--rig …] [--visitors 4000] [--seconds 10]",
        How::Tests(
            "loadtest",
            "a_calibration_says_what_a_sale_takes_and_a_false_one_is_refused",
        ),
    ),
    row(
        "loadtest calibrate --out figures.toml",
        How::Tests(
            "loadtest",
            "a_calibration_says_what_a_sale_takes_and_a_false_one_is_refused",
        ),
    ),
    row(
        "loadtest plan FILE --calibration figures.toml",
        How::Tests(
            "loadtest",
            "a_calibration_says_what_a_sale_takes_and_a_false_one_is_refused",
        ),
    ),
    filled(
        "loadtest compare A.json B.json… [--figures NAMES] [--within 10] [--json]",
        "loadtest plan loadtest/data/stadium.toml --seeds 1 --json > one.json && loadtest compare one.json one.json --json",
        &["sold_out_s", "\"agrees\": true"],
    ),
    row("loadtest swarm SCENARIO.toml --rig", How::By(SWARM)),
    row(
        "loadtest faults [--seeds N] [--seed S] [--rig …] [--html FILE] [--json]",
        How::By("cargo run --release -p loadtest -- faults --seeds 4"),
    ),
    short(
        "loadtest swarm SCENARIO.toml --target URL,URL",
        "FAIRGATE_PAYMENTS=sandbox FAIRGATE_PROMOTER_KEY=change-me-change-me gateway serve --listen 127.0.0.1:0 --data target-data & answers http://127.0.0.1:0/readyz && FAIRGATE_PROMOTER_KEY=change-me-change-me loadtest swarm loadtest/scenarios/short.toml --workers 2 --target http://127.0.0.1:0",
        &["approved_ticketed", "the verdict holds"],
    ),
    short(
        "loadtest rig gateways=2,bookings=2,redis=single,ledger=postgres",
        "timeout --preserve-status --signal=INT 10 loadtest rig",
        &["FAIRGATE_TARGET=http://", "runs until Ctrl-C"],
    ),
    row(
        "loadtest swarm SCENARIO.toml --rig [gateways=1,bookings=0,redis=none,ledger=sqlite] [--kill gateway@30%,gateway@60%] [--workers N] [--from CIDR] [--history FILE] [--dump FILE] [--html FILE] [--baseline FILE] [--json] [--seed N] [--no-verdict]",
        How::By(SWARM),
    ),
    // loadtest/house/README.md
    apart("cargo run -p fairgate-house", &["held"]),
];
