//! Lists the commands of the blocks of README.md, in their order.

use super::{CommandRow, How, TEST, excused, other, plain, row, short};

const HERE: &str = "http://127.0.0.1:8080";

pub const ROWS: &[CommandRow] = &[
    // README.md, up to the draw
    CommandRow {
        shows: &["lobby", "/r/demo", "report "],
        ..row(
            "cargo run --release",
            How::Server("http://127.0.0.1:8080/r/demo"),
        )
    },
    excused("./test", TEST),
    plain("cargo build --release", &[]),
    other(
        "sleep 1",
        "answers http://127.0.0.1:8080/readyz",
        &[],
        "a busy machine may take longer",
    ),
    other(
        "target/release/gateway apply onsale.sample.toml",
        "target/release/gateway apply onsale.sample.toml --target http://127.0.0.1:8080",
        &["applied room \"night-one\""],
        "the port is not 8080",
    ),
    plain(
        r#"curl -sX POST -H "$key" $room/open"#,
        &["\"phase\":\"prequeue\""],
    ),
    plain(
        r#"for n in $(seq 200); do curl -so /dev/null -X POST -H "X-Forwarded-For: 192.0.2.$n" http://127.0.0.1:8080/v1/rooms/night-one/places; done"#,
        &[],
    ),
    plain(
        r#"curl -sX PATCH -H "$key" -H "$json" -d '{"per_s": 20, "message": "Doors at seven."}' $room"#,
        &["\"per_s\":20", "Doors at seven."],
    ),
    plain(
        r#"curl -sX POST -H "$key" -H "$json" -d '{"network": "192.0.2.7", "reason": "a bot"}' $room/revoke"#,
        &["{\"revoked\":1}"],
    ),
    plain(r#"curl -sX POST -H "$key" $room/draw"#, &["\"joined\":200"]),
    other(
        "sleep 3",
        "until_it is_drawn http://127.0.0.1:8080/v1/rooms/night-one/draw",
        &[],
        "a busy machine may take longer",
    ),
    plain(
        r#"curl -sX PATCH -H "$key" -H "$json" -d '{"paused": true}' $room"#,
        &["\"id\":\"night-one\""],
    ),
    // Fewer than 100 of the 199 people were let in before the pause. So at least 100 still wait,
    // and the number begins with 1.
    plain(
        "curl -s http://127.0.0.1:8080/v1/rooms/night-one",
        &["\"phase\":\"selling\"", "\"paused\":true", "\"waiting\":1"],
    ),
    plain(
        r#"curl -sX PATCH -H "$key" -H "$json" -d '{"paused": false}' $room"#,
        &["\"id\":\"night-one\""],
    ),
    plain(
        r#"curl -s -H "$key" "$room/report?format=csv""#,
        &["at,joined,waiting"],
    ),
    plain(
        r#"curl -s -H "$key" $room/audit"#,
        &["\"intact\":true", "a bot"],
    ),
    other(
        "curl -so record.json http://127.0.0.1:8080/v1/rooms/night-one/draw",
        "curl -so record.json http://127.0.0.1:8080/v1/rooms/night-one/draw && cat record.json",
        &["\"n\":200"],
        "the test looks at the record: the draw is one of people",
    ),
    plain(
        "curl -so leaves.bin http://127.0.0.1:8080/v1/rooms/night-one/draw/leaves",
        &[],
    ),
    plain(
        "curl -so jwks.json http://127.0.0.1:8080/.well-known/jwks.json",
        &[],
    ),
    plain(
        "target/release/gateway verify-draw record.json --leaves leaves.bin --jwks jwks.json",
        &["the root follows from the leaf file", "draw holds"],
    ),
    other(
        "target/release/gateway apply loadtest/data/theatre.toml",
        "target/release/gateway apply loadtest/data/theatre.toml --target http://127.0.0.1:8080",
        &["applied venue \"theatre\"", "applied room \"premiere\""],
        "the port is not 8080",
    ),
    // README.md, the planner
    plain(
        "cargo run --release -p loadtest -- plan loadtest/data/stadium.toml --calibration loadtest/data/two-processors.toml",
        &[
            "2,000,000 visitors, 40,000 seats in 2 shows, 20 seeds",
            "Sold out ",
            "gateway(s) of 2 processor(s)",
        ],
    ),
    short(
        "cargo run --release -p loadtest -- plan loadtest/data/stadium.toml --seeds 5 --sweep per_s=25..400",
        "cargo run --release -p loadtest -- plan loadtest/data/stadium.toml --seeds 1 --sweep per_s=25..400",
        &["per_s = 25", "per_s = 400"],
    ),
    plain("curl http://127.0.0.1:8080/metrics", &["fairgate_"]),
    plain("curl http://127.0.0.1:8080/readyz", &["\"ready\":true"]),
    plain(
        r#"curl -H "Authorization: Bearer $FAIRGATE_PROMOTER_KEY" http://127.0.0.1:8080/readyz"#,
        &["sandbox"],
    ),
    plain(
        "curl http://127.0.0.1:8080/openapi.json",
        &["\"openapi\"", "/v1/rooms/{room}/places"],
    ),
    short(
        "cargo run --release -p loadtest -- bench draw",
        "cargo run --release -p loadtest -- bench draw --n 200000",
        &["ratio"],
    ),
    short(
        "cargo run --release -p loadtest -- swarm loadtest/scenarios/arena.toml --rig",
        "cargo run --release -p loadtest -- swarm loadtest/scenarios/short.toml --rig --history history.jsonl --dump dump.jsonl && cargo run --release -p loadtest -- verdict history.jsonl --ledger dump.jsonl",
        &["kept_places", "the verdict holds"],
    ),
    excused("./test prove main", TEST),
    excused("./test prove crowd", TEST),
    excused("./test prove line", TEST),
    excused("./test prove planner", TEST),
    excused("./test prove fans", TEST),
    short(
        "cargo run --release -p loadtest -- swarm loadtest/scenarios/arena.toml --rig gateways=3,bookings=2,redis=sentinel,ledger=postgres --kill gateway@40%",
        "cargo run --release -p loadtest -- swarm loadtest/scenarios/short.toml --rig gateways=3,bookings=2,redis=sentinel,ledger=postgres --kill gateway@40%",
        &["the verdict holds"],
    ),
    short(
        "cargo run --release -p loadtest -- faults --seeds 4",
        "cargo run --release -p loadtest -- faults --seeds 1",
        &["of 1 seeds held"],
    ),
    excused("./test prove stores", TEST),
    short(
        "cargo run --release -p loadtest -- bench bot",
        "cargo run --release -p loadtest -- bench bot --people 20 --seconds 3",
        &["people with a place", "places of the bot"],
    ),
    short(
        "cargo run --release -p loadtest -- bench edge",
        "cargo run --release -p loadtest -- bench edge --uploads 2 --leaves 100 --readers 4 --sockets 20 --map-requests 0",
        &["20 slow bodies"],
    ),
    short(
        "cargo run --release -p loadtest -- bench lists",
        "cargo run --release -p loadtest -- bench lists --showings 60 --clients 2 --seconds 1 --only /v1/rooms --unjudged",
        &["60 showings, 2 clients at each list"],
    ),
    short(
        "cargo run --release -p loadtest -- bench idle",
        "cargo run --release -p loadtest -- bench idle --sockets 100 --seconds 1 --unjudged",
        &["100 sockets that wait"],
    ),
    short(
        "cargo run --release -p loadtest -- bench delta",
        "cargo run --release -p loadtest -- bench delta --watchers 50 --buyers 10 --seconds 5 --unjudged",
        &["with 50 watchers"],
    ),
    excused("./test prove doors", TEST),
    short(
        "cargo run --release -p loadtest -- bench rail --timetable loadtest/data/timetable",
        "cargo run --release -p loadtest -- bench rail --timetable loadtest/data/timetable --per-s 20 --for-s 1",
        &["trips were found", "availability at 20/s"],
    ),
    excused("./test prove rail", TEST),
    excused("./test prove money", TEST),
    excused("./test prove strangers", TEST),
    excused("./test prove house", TEST),
    // README.md, the settings
    plain(
        r#"curl -X PUT -H "$key" -H "$json" -d '{"deny":["203.0.113.0/24"],"exempt":["198.51.100.7","2001:db8::/32"]}' http://127.0.0.1:8080/v1/promoter/rooms/everyday/networks"#,
        &["203.0.113.0/24"],
    ),
    CommandRow {
        run: "FAIRGATE_PUBLIC_URL=http://127.0.0.1:8080 FAIRGATE_GUARD_URL=http://127.0.0.1:8081 FAIRGATE_GUARD_LISTEN=127.0.0.1:8081 FAIRGATE_GUARD_ROOM=demo FAIRGATE_GUARD_ORIGIN=http://127.0.0.1:9000 cargo run --release",
        shows: &["/r/demo"],
        why: "the shop's port is not 8081",
        ..row(
            "FAIRGATE_PUBLIC_URL=http://127.0.0.1:8080 FAIRGATE_GUARD_URL=http://127.0.0.1:8081 FAIRGATE_GUARD_ROOM=demo FAIRGATE_GUARD_ORIGIN=http://127.0.0.1:9000 cargo run --release",
            How::Server("http://127.0.0.1:8081/"),
        )
    },
    // README.md, the secret
    plain(
        "target/release/gateway keys rotate --data ./data",
        &["new key", "old key", "signs from"],
    ),
    // README.md, trains and cinemas
    plain(
        r#"cargo build --release -p gateway -p booking && PATH="$PWD/target/release:$PATH""#,
        &[],
    ),
    plain(
        "booking import gtfs loadtest/data/feed --data fairgate-data",
        &["5 stations"],
    ),
    plain(
        "booking import timetable loadtest/data/timetable --rail loadtest/data/timetable/rail.toml --timezone Europe/Berlin --data fairgate-data",
        &["154 trips"],
    ),
    plain(
        "booking import cinema loadtest/data/programme.json --data fairgate-data",
        &["18 showings"],
    ),
    plain(
        "curl http://127.0.0.1:8080/v1/rail/timetable",
        &["Europe/Berlin"],
    ),
    plain(
        r#"curl "http://127.0.0.1:8080/v1/rail/trips?from=VNP&to=AOH&date=$(TZ=Europe/Berlin date +%F)""#,
        &["\"train\":\"M1\"", "\"currency\":\"EUR\""],
    ),
    plain(
        r#"curl "http://127.0.0.1:8080/v1/cinema/showings?keyword=orchard&city=berlin""#,
        &["The Orchard Keeper", "\"status\":\"available\""],
    ),
    CommandRow {
        shows: &["/r/demo"],
        ..row(
            "FAIRGATE_API_KEYS=agency:$(openssl rand -hex 16):50:200 cargo run --release",
            How::Server(HERE),
        )
    },
    // README.md, refunds and exchange
    plain(
        r#"curl -X POST -H "$key" -H "$json" -d '{"starts_at":"2031-09-01T20:00:00+02:00","refunds_until":"2031-07-01T00:00:00Z"}' $shows/night-1/postpone"#,
        &["2031-09-01"],
    ),
    plain(
        r#"curl -X POST -H "$key" $shows/premiere/cancel"#,
        &["cancelled"],
    ),
    plain(r#"curl -H "$key" $shows/premiere/refunds"#, &["refund"]),
    plain(
        r#"curl -H "$key" http://127.0.0.1:8080/v1/promoter/attention"#,
        &["[]"],
    ),
    plain(
        r#"curl -X POST -H "Authorization: Bearer $ORDER_KEY" -H "$json" -d '{"show":"night-2","best":{"quantity":2}}' http://127.0.0.1:8080/v1/orders/$ORDER/exchange"#,
        &["\"order\":", "night-2"],
    ),
    // README.md, backup
    plain(
        "gateway backup monday.fairgate --data ./data",
        &["checked and signed", "The secret is not in it"],
    ),
    plain("mkdir -p restored && cp -p data/secret restored/", &[]),
    plain(
        "gateway restore monday.fairgate --data restored",
        &["All shows are closed"],
    ),
    other(
        "gateway reopen night-1",
        "gateway reopen night-1 --target http://127.0.0.1:8080",
        &["night-1 sells again"],
        "the port is not 8080",
    ),
    // README.md, many machines
    row(
        "booking serve --listen 0.0.0.0:8090",
        How::LastingServer("http://127.0.0.1:8090/healthz"),
    ),
    row(
        "FAIRGATE_BOOKING_URL=http://b1:8090,http://b2:8090 gateway serve --listen 0.0.0.0:8080",
        How::Server("http://127.0.0.1:8080/readyz"),
    ),
    plain(
        "mkdir -p tls && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=sale.example -addext subjectAltName=DNS:sale.example,DNS:shop.example -keyout tls/key.pem -out tls/cert.pem",
        &[],
    ),
    excused(
        "docker compose up --build",
        "it needs a container engine; `containers` starts the same processes without one",
    ),
];
