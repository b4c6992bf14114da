//! Checks that pages, texts, scripts and assets fit together: every key that is used exists, every
//! page renders in every phase and state, and no page needs anything that the content policy
//! forbids.

use std::collections::BTreeSet;
use std::{fs, path::Path};

use serde_json::{Value, json};
use waitroom_ui::{asset, language_texts, render_page, version};

fn files(folder: &str, ending: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut found: Vec<_> = fs::read_dir(folder)
        .expect("the folder is part of this crate")
        .map(|entry| entry.expect("a readable entry").path())
        .filter(|path| path.to_string_lossy().ends_with(ending))
        .map(|path| {
            (
                path.file_name()
                    .expect("a file")
                    .to_string_lossy()
                    .into_owned(),
                fs::read_to_string(&path).expect("UTF-8"),
            )
        })
        .collect();
    found.sort();
    found
}

fn has(key: &str) -> bool {
    !language_texts("en")
        .pointer(&format!("/{}", key.replace('.', "/")))
        .unwrap_or(&Value::Null)
        .is_null()
}

/// Returns the text keys, such as `lobby.title`, that follow `start` in `source`. Skips a `start`
/// that is the end of a longer name.
fn keys_after(source: &str, start: &str) -> BTreeSet<String> {
    source
        .match_indices(start)
        .filter(|(at, _)| {
            !source[..*at]
                .ends_with(|before: char| before.is_alphanumeric() || "_.$".contains(before))
        })
        .map(|(at, _)| {
            source[at + start.len()..]
                .chars()
                .take_while(|c| c.is_ascii_alphanumeric() || *c == '_' || *c == '.')
                .collect::<String>()
        })
        .filter(|key| !key.is_empty())
        .collect()
}

#[test]
fn every_key_used_in_a_page_exists_in_the_texts() {
    for (name, source) in files("pages", ".html") {
        for key in keys_after(&source, "t.") {
            assert!(
                has(&key),
                "{name} uses t.{key}, which text/en.json does not have"
            );
        }
    }
}

/// Returns whether a key of text/en.json begins with `prefix`. Some scripts write only the
/// beginning of a key and add the rest at run time.
fn begins(prefix: &str) -> bool {
    let (group, rest) = prefix.rsplit_once('.').unwrap_or(("", prefix));
    language_texts("en")
        .pointer(&format!("/{}", group.replace('.', "/")))
        .and_then(Value::as_object)
        .is_some_and(|group| group.keys().any(|key| key.starts_with(rest)))
}

#[test]
fn every_key_used_in_a_script_exists_in_the_texts() {
    let mut used = 0;
    for (name, source) in files("script", ".js") {
        for key in keys_after(&source, "t(\"") {
            assert!(
                has(&key),
                "{name} uses {key}, which text/en.json does not have"
            );
            used += 1;
        }
        for (start, calls) in [("t(`", "t"), ("raw(`", "raw")] {
            for key in keys_after(&source, start) {
                assert!(
                    begins(&key),
                    "{name} calls {calls} with {key}…, but no key of text/en.json begins with {key}"
                );
                used += 1;
            }
        }
    }
    assert!(
        used > 100,
        "only {used} keys were found: the scan is broken"
    );
}

#[test]
fn a_language_without_a_file_gets_the_english_texts() {
    assert_eq!(language_texts("en-GB"), language_texts("en"));
    assert_eq!(language_texts("xx"), language_texts("en"));
    assert!(language_texts("").is_object());
}

#[test]
fn every_problem_says_what_happened_what_was_not_changed_and_what_to_do() {
    let problems = language_texts("en")["problems"]
        .as_object()
        .expect("problems are an object");
    for (code, words) in problems {
        for part in ["title", "what", "unchanged", "next"] {
            assert!(
                words[part].as_str().is_some_and(|text| !text.is_empty()),
                "{code} lacks {part}"
            );
        }
    }
    for code in [
        "not_open",
        "room_closed",
        "too_many_joins",
        "code_invalid",
        "code_used",
        "challenge_failed",
        "place_invalid",
        "not_called",
        "seats_taken",
        "not_on_sale",
        "sales_ended",
        "best_available_not_found",
        "limit_exceeded",
        "would_orphan",
        "unknown_seat",
        "waiting_room",
        "pass_ended",
        "pass_expired",
        "pass_invalid",
        "hold_expired",
        "payments_not_configured",
        "idempotency_mismatch",
        "idempotency_in_flight",
        "not_available",
    ] {
        assert!(
            problems.contains_key(code),
            "text/en.json has no texts for the problem {code}"
        );
    }
}

/// The time at which the lobby is rendered, as in lobby-cases.json.
const NOW: &str = "2027-01-10T09:05:00Z";

fn room(phase: &str, paused: bool) -> Value {
    json!({
        "room": "demo", "title": "Night <one>", "phase": phase, "paused": paused, "opens_at": "2027-01-10T08:00:00Z",
        "draw_at": "2027-01-10T09:00:00Z", "closes_at": null, "joined": 41210, "waiting": 40010, "released": 1200, "per_s": 50.0,
        "commitment": "ab".repeat(32), "message": "", "trust": {}, "seats": {"free": 19800, "held": 700, "sold": 1100},
    })
}

fn place(state: &str, rank: Option<u64>) -> Value {
    json!({
        "number": 17, "rank": rank, "ahead": rank.map(|rank| rank.saturating_sub(1200)), "state": state,
        "wait": {"known": rank.is_some(), "p50_s": 300, "p90_s": 420}, "odds": rank.map(|_| 0.62),
        "claim_before": if state == "called" { json!("2027-01-10T09:08:30Z") } else { Value::Null }, "refresh_s": 5,
    })
}

fn lobby(room: &Value, place: &Value) -> String {
    let shows = json!([{"show": "night-1", "title": "Night one", "starts_at": "2027-06-01T20:00:00+02:00"}]);
    render_page(
        "lobby",
        &json!({"test": true, "now": NOW, "room": room, "place": place, "shows": shows, "problem": null}),
    )
    .expect("the lobby renders")
}

fn between<'a>(page: &'a str, from: &str, to: &str) -> &'a str {
    page.split_once(from)
        .and_then(|(_, rest)| rest.split_once(to))
        .map_or("", |(found, _)| found)
}

#[test]
fn the_lobby_page_shows_the_same_state_as_its_script() {
    let table: Value =
        serde_json::from_str(include_str!("lobby-cases.json")).expect("the table is JSON");
    let cases = table["cases"].as_array().expect("cases are a list");
    for case in cases {
        let mut given = room("selling", false);
        for (name, value) in case["room"].as_object().expect("a room") {
            given[name] = value.clone();
        }
        let held = case["place"].as_object().map_or(Value::Null, |some| {
            let mut held = place(some["state"].as_str().expect("a state"), Some(20_311));
            if let Some(claim_before) = some.get("claim_before") {
                held["claim_before"] = claim_before.clone();
            }
            held["pass_ended"] = some.get("pass_ended").cloned().unwrap_or_default();
            held
        });
        let shown = lobby(&given, &held);
        let state = case["state"].as_str().expect("a state");
        assert_eq!(
            between(&shown, "id=\"place\" class=\"panel\" data-state=\"", "\""),
            state,
            "{case}"
        );
        let title = language_texts("en")["lobby"]["state"][state]["title"]
            .as_str()
            .unwrap_or_else(|| panic!("no words for {state}"));
        assert_eq!(
            between(&shown, "id=\"state-title\" tabindex=\"-1\">", "<"),
            title,
            "{case}"
        );
    }
    assert!(cases.len() > 20);
    assert_eq!(table["now"], NOW);
}

#[test]
fn a_visitor_who_may_go_in_reads_that_no_seats_are_left_and_the_seats_page_that_the_room_closed() {
    let words = language_texts("en")["lobby"]["none_left"]
        .as_str()
        .expect("words")
        .to_owned();
    for (state, phase, is_told) in [
        ("called", "sold_out", true),
        ("admitted", "sold_out", true),
        ("waiting", "sold_out", false),
        ("called", "selling", false),
    ] {
        let shown = lobby(&room(phase, false), &place(state, Some(3)));
        assert_eq!(shown.contains(&words), is_told, "{state} {phase}");
    }
    for (phase, is_hidden) in [("closed", false), ("selling", true)] {
        let show = json!({"show": "night-1", "title": "Night one", "starts_at": "2027-06-01T20:00:00+02:00", "categories": [], "limits": {}, "hold_s": 600});
        let context = json!({"test": false, "show": show, "room": room(phase, false)});
        let shown = render_page("seats", &context).expect("it renders");
        let closed = between(&shown, "<p id=\"room-closed\"", ">");
        assert_eq!(closed.contains("hidden"), is_hidden, "{phase}");
        assert_eq!(shown.contains("id=\"plain-form\""), is_hidden, "{phase}");
    }
}

#[test]
fn a_closed_room_offers_no_seats_and_a_room_that_was_always_open_has_no_dates() {
    let seats = |page: &str| between(page, "<dd id=\"seats-left\">", "<").to_owned();
    let mut room = room("selling", false);
    assert!(seats(&lobby(&room, &Value::Null)).contains("free"));
    room["phase"] = "closed".into();
    assert_eq!(seats(&lobby(&room, &Value::Null)), "–");
    for moment in ["opens_at", "draw_at"] {
        room[moment] = "1970-01-01T00:00:00Z".into();
    }
    let always = lobby(&room, &Value::Null);
    assert!(!always.contains("1970<") && !always.contains("id=\"opens-at\""));
}

#[test]
fn the_lobby_page_shows_odds_in_the_same_words_as_its_script() {
    let table: Value =
        serde_json::from_str(include_str!("lobby-cases.json")).expect("the table is JSON");
    for case in table["odds"].as_array().expect("cases are a list") {
        let mut place = place("waiting", Some(7));
        place["odds"] = case["odds"].clone();
        let words =
            &language_texts("en")["lobby"]["odds_words"][case["key"].as_str().expect("a key")];
        let expected = words
            .as_str()
            .expect("words")
            .replace("{pct}", &case["pct"].to_string());
        let shown = lobby(&room("selling", false), &place);
        assert_eq!(between(&shown, "<dd id=\"odds\">", "<"), expected, "{case}");
    }
}

#[test]
fn the_lobby_page_shows_the_forms_of_each_state_without_scripts() {
    let hidden =
        |page: &str, id: &str| between(page, &format!("id=\"{id}\""), ">").contains("hidden");
    let fresh = lobby(&room("prequeue", false), &Value::Null);
    assert!(
        !hidden(&fresh, "join-form")
            && hidden(&fresh, "turn-form")
            && hidden(&fresh, "go-seats")
            && hidden(&fresh, "leave-box")
    );
    let called = lobby(&room("selling", false), &place("called", Some(3)));
    assert!(
        hidden(&called, "join-form")
            && !hidden(&called, "turn-form")
            && !hidden(&called, "leave-box")
    );
    let admitted = lobby(&room("selling", false), &place("admitted", Some(3)));
    assert!(
        !hidden(&admitted, "go-seats")
            && hidden(&admitted, "turn-form")
            && admitted.contains("href=\"/s/night-1\"")
    );
    let done = lobby(&room("selling", false), &place("done", Some(3)));
    assert!(!hidden(&done, "move-box") && hidden(&done, "leave-box"));
    let ended = lobby(&room("closed", false), &place("closed", Some(3)));
    assert!(hidden(&ended, "move-box") && hidden(&ended, "leave-box"));
    let closed = lobby(&room("closed", false), &Value::Null);
    assert!(hidden(&closed, "join-form") && !hidden(&closed, "to-home"));
    for (id, action) in [
        ("join-form", "join"),
        ("turn-form", "pass"),
        ("leave-form", "leave"),
    ] {
        assert!(
            between(&called, &format!("id=\"{id}\""), ">")
                .contains(&format!("action=\"/r/demo/{action}\"")),
            "{id}"
        );
    }
}

#[test]
fn a_visitor_whose_pass_ended_reads_why_until_they_are_in_again() {
    let told = |state: &str, cause: Value| {
        let mut place = place(state, Some(3));
        place["pass_ended"] = cause;
        let page = lobby(&room("selling", false), &place);
        between(&page, "<p id=\"pass-ended\">", "</p>").to_owned()
    };
    let texts = &language_texts("en")["lobby"];
    let in_line = texts["ended_in_line"].as_str().expect("words");
    for (cause, words) in texts["ended"].as_object().expect("causes") {
        let words = words.as_str().expect("words");
        let in_line = format!("{words} {in_line}");
        assert_eq!(told("waiting", json!(cause)), in_line, "{cause}");
        assert_eq!(told("called", json!(cause)), words, "{cause}");
        assert_eq!(told("admitted", json!(cause)), "", "{cause}");
    }
    assert_eq!(told("waiting", Value::Null), "");
}

#[test]
fn a_claim_that_is_refused_without_scripts_says_when_to_try_again() {
    let texts = language_texts("en");
    let refused = &texts["problems"]["not_called"];
    let problem = json!({
        "code": "not_called", "title": "Not called yet", "detail": "It is not your turn yet.", "refresh_s": 2,
        "wait": {"known": true, "p50_s": 40.0, "p90_s": 90.0, "unknown": null},
    });
    let told = |state: &str, problem: &Value| {
        let (room, place) = (room("selling", false), place(state, Some(3)));
        let context = json!({"test": false, "now": NOW, "room": room, "place": place, "shows": [], "problem": problem});
        let page = render_page("lobby", &context).expect("the lobby renders");
        between(&page, "<section id=\"problem\"", "</section>").to_owned()
    };
    let full = told("called", &problem);
    assert!(
        full.contains(refused["what"].as_str().expect("words")),
        "{full}"
    );
    assert!(!full.contains("not your turn"), "{full}");
    assert!(full.contains("2 s") && full.contains("40 s"), "{full}");
    let early = told("waiting", &problem);
    assert!(early.contains("It is not your turn yet."), "{early}");
    assert!(early.contains("Try again in 2 s."), "{early}");
    let other = told(
        "called",
        &json!({"code": "line_unavailable", "title": "a", "detail": "b"}),
    );
    assert!(!other.contains("look-again"), "{other}");
}

#[test]
fn an_order_says_without_scripts_how_it_opens_elsewhere() {
    let told = |sold_by: &str| {
        let plain = json!({"state": "ticketed", "reason": "payment_captured", "room": sold_by, "seats": [], "tickets": [], "refunds": [], "total": {"amount": 0, "currency": "EUR"}});
        let context = json!({"test": false, "order": "order_1", "plain": plain});
        let page = render_page("order", &context).expect("it renders");
        between(&page, "<p id=\"plain-opens-where\"", "</p>").to_owned()
    };
    let moved = &language_texts("en")["lobby"]["move"]["title"];
    let choice = moved.as_str().expect("words");
    let sale = told("sale");
    assert!(
        sale.contains(choice) && sale.contains("href=\"/r/sale\""),
        "{sale}"
    );
    let walk_in = told("everyday");
    assert!(
        !walk_in.contains(choice) && !walk_in.contains("href"),
        "{walk_in}"
    );
    assert!(walk_in.contains("print"), "{walk_in}");
}

#[test]
fn a_draw_that_waits_shows_until_when_it_waits() {
    let mut given = room("prequeue", false);
    let told = |page: &str| between(page, "id=\"draw-held\"", "</p>").to_owned();
    assert!(told(&lobby(&given, &Value::Null)).starts_with(" hidden"));
    given["draw_waits_until"] = json!("2027-01-10T09:01:00Z");
    let told = told(&lobby(&given, &Value::Null));
    assert!(
        !told.starts_with(" hidden") && told.contains("2027-01-10T09:01:00Z"),
        "{told}"
    );
}

#[test]
fn a_code_is_asked_for_only_if_the_room_requires_codes() {
    let mut given = room("prequeue", false);
    assert!(!lobby(&given, &Value::Null).contains("id=\"code\""));
    given["codes"] = json!("required");
    assert!(lobby(&given, &Value::Null).contains("id=\"code\""));
}

fn every_page() -> Vec<(&'static str, String)> {
    let show = json!({
        "show": "night-1", "kind": "seated", "title": "Night <one>", "starts_at": "2027-06-01T20:00:00+02:00", "venue": "arena", "room": "demo",
        "seats": 20000, "legs": 1, "categories": [{"key": "cat1", "label": "Stalls", "price": {"amount": 9900, "currency": "EUR"}}],
        "limits": {"seats_per_visitor": 4}, "refunds": [],
    });
    let mut pages = vec![
        (
            "home",
            render_page(
                "home",
                &json!({"test": true, "q": "ni\"ght", "rooms": [room("selling", false)], "shows": [show]}),
            ),
        ),
        (
            "home",
            render_page("home", &json!({"test": false, "rooms": [], "shows": []})),
        ),
        (
            "seats",
            render_page(
                "seats",
                &json!({"test": true, "show": show, "room": room("selling", false)}),
            ),
        ),
        ("rail", render_page("rail", &rail())),
        (
            "rail",
            render_page(
                "rail",
                &json!({"asked": {"from": "<one>"}, "party": 1, "choices": [
            {"field": "from", "typed": "<one>", "stations": [{"station": "<one>", "name": "River <one>", "href": "/rail?from=x"}]},
            {"field": "to", "typed": "<one>", "stations": []}]}),
            ),
        ),
        (
            "rail",
            render_page(
                "rail",
                &json!({"asked": {}, "problem": {"code": "not_available", "title": "Not available here", "detail": "rail: <one>"}}),
            ),
        ),
        ("train", render_page("train", &train(&Value::Null, true))),
        ("train", render_page("train", &train(&Value::Null, false))),
        (
            "train",
            render_page("train", &train(&json!("cancelled"), true)),
        ),
        ("cinema", render_page("cinema", &cinema())),
        ("cinema", render_page("cinema", &cinema_by_film())),
        (
            "cinema",
            render_page(
                "cinema",
                &json!({"asked": {"keyword": "<one>"}, "party": 2, "total": 0, "cities": [], "showings": []}),
            ),
        ),
        (
            "cinema",
            render_page(
                "cinema",
                &json!({"asked": {}, "problem": {"code": "invalid_field", "title": "A field is not valid", "detail": "from: \"<one>\" is no day."}}),
            ),
        ),
        (
            "checkout",
            render_page(
                "checkout",
                &json!({"test": true, "hold": "hold_1", "show": show}),
            ),
        ),
        (
            "order",
            render_page("order", &json!({"test": true, "order": "order_1"})),
        ),
        (
            "ticket",
            render_page("ticket", &json!({"test": true, "ticket": "ticket_1"})),
        ),
        (
            "problem",
            render_page(
                "problem",
                &json!({"status": 404, "code": "not_found", "title": "Not <found>", "detail": "No such show.", "action_href": "/", "action": "all"}),
            ),
        ),
        ("problem", render_page("problem", &json!({}))),
    ];
    for phase in [
        "scheduled",
        "prequeue",
        "drawing",
        "selling",
        "sold_out",
        "closed",
        "a_phase_of_later",
    ] {
        for paused in [false, true] {
            for held in [
                Value::Null,
                place("waiting", None),
                place("waiting", Some(20_311)),
                place("called", Some(3)),
                place("admitted", Some(3)),
                place("done", Some(3)),
                place("closed", Some(3)),
            ] {
                pages.push(("lobby", Ok(lobby(&room(phase, paused), &held))));
            }
        }
    }
    let refused = json!({"room": room("selling", false), "place": null, "shows": [], "problem": {"code": "code_used", "title": "That code has been used", "detail": "…"}});
    pages.push(("lobby", render_page("lobby", &refused)));
    pages
        .into_iter()
        .map(|(name, rendered)| {
            (
                name,
                rendered.unwrap_or_else(|fault| panic!("{name}: {fault}")),
            )
        })
        .collect()
}

fn cinema() -> Value {
    let category = |key: &str, status: &str| json!({"key": key, "label": "Stalls <one>", "price": {"amount": 1250, "currency": "EUR"}, "status": status});
    let showing = |show: &str, fate: Value| {
        json!({
            "show": show, "href": format!("/s/{show}?seats=3"), "title": "The <one> Keeper", "description": "A year among <one> trees.",
            "genre": "Drama <one>", "language": null, "duration_s": 6000, "country": "Ireland", "fate": fate, "full": false,
            "start": "2027-01-11T20:00:00+01:00", "end": "2027-01-11T21:40:00+01:00", "hall": {"name": "Saal <one>"},
            "cinema": {"name": "Kino <one>", "city_name": "Berlin <one>"},
            "categories": [category("a", "available"), category("b", "almost_full"), category("c", "full")],
        })
    };
    json!({
        "test": true, "party": 3, "party_max": 10, "searched": true, "total": 43, "page": 2, "pages": 3, "near_only": true,
        "asked": {"keyword": "\"><one>", "city": "berlin", "film": "orchard", "from": "2027-01-11", "to": "", "sort": "price", "cinema": "mitte"},
        "cities": [{"city": "berlin", "name": "Berlin <one>"}, {"city": "york", "name": "York"}],
        "films": [{"film": "orchard", "title": "The <one> Keeper"}],
        "previous": "/cinema?page=1", "next": "/cinema?page=3",
        "showings": [showing("mitte-1", Value::Null), showing("mitte-2", json!("cancelled")), showing("mitte-3", json!("postponed"))],
    })
}

/// Returns the results of a search, grouped by film.
fn cinema_by_film() -> Value {
    let mut found = cinema();
    let mut showings = found["showings"].take();
    for showing in showings.as_array_mut().expect("showings") {
        showing["best"] = json!("available");
        showing["from"] = json!({"amount": 1250, "currency": "EUR"});
        showing["version"] = json!("OV <one>");
    }
    showings[2]["best"] = json!("full");
    let (first, cinema) = (showings[0].clone(), showings[0]["cinema"].clone());
    let day = json!({"cinema": cinema, "start": first["start"], "showings": showings});
    found["by_film"] = json!([{"first": first, "days": [day]}]);
    found
}

fn trip() -> Value {
    let class = |key: &str, free: u32| {
        json!({"class": key, "label": format!("{key} <one>"), "price": {"amount": 55_300, "currency": "CNY"}, "free": free, "enough": free >= 2,
        "status": if free == 0 { "full" } else if free < 2 { "almost_full" } else { "available" }, "href": format!("/s/g1-2027-01-11?from=A&to=C&class={key}&seats=2")})
    };
    json!({
        "show": "g1-2027-01-11", "train": "G<one>1", "from": "A", "to": "C", "departs": "2027-01-11T22:00:00+08:00", "arrives": "2027-01-12T02:30:00+08:00",
        "days": 1, "date": "2027-01-11", "duration_s": 16_200, "stops": 2, "time_zone": "Asia/Shanghai", "degraded": true, "as_of": "2027-01-11T09:05:00+08:00",
        "classes": [class("first", 0), class("second", 1), class("third", 40)],
    })
}

fn rail() -> Value {
    json!({
        "test": true, "party": "2", "party_max": 10, "asked": {"from": "\"><one> (A)", "to": "C", "date": "2027-01-11"},
        "from": {"station": "A", "name": "River <one>"}, "to": {"station": "C", "name": "Hill <one>"}, "trips": [trip()],
        "others": [{"station": "B", "name": "Other <one>", "href": "/rail?from=B"}], "changes": "/rail?changes=1",
        "swap": "/rail?from=C&to=A", "before": "/rail?date=2027-01-10", "after": "/rail?date=2027-01-12",
        "journeys": [{"departs": "2027-01-11T22:00:00+08:00", "arrives": "2027-01-12T02:30:00+08:00", "duration_s": 16_200,
            "change": {"station": "B", "name": "Mid <one>", "wait_s": 1_800}, "trips": [trip(), trip()]}],
    })
}

fn train(fate: &Value, sold: bool) -> Value {
    let stop = |code: &str| json!({"station": code, "name": format!("Stop <one> {code}"), "arrives": "2027-01-11T22:00:00+08:00", "departs": "2027-01-11T22:02:00+08:00"});
    let show = json!({"show": "g1-2027-01-11", "kind": "rail", "title": "G<one>1", "train": "G<one>1", "room": "everyday", "fate": fate,
        "stops": [stop("A"), stop("B"), stop("C")], "limits": {"seats_per_visitor": 5}});
    json!({"test": true, "show": show, "room": room("selling", false), "trip": if sold { trip() } else { Value::Null }, "class": "third", "quantity": 2,
        "from": "A", "to": "C", "from_name": "Stop <one> A", "to_name": "Stop <one> C", "first": 0, "last": 2, "date": "2027-01-11"})
}

#[test]
fn the_train_pages_show_times_classes_and_the_age_of_the_figures() {
    let shown = render_page("rail", &rail())
        .expect("it renders")
        .replace("&#x2f;", "/");
    for words in [
        "22:00",
        "02:30",
        "1 day later",
        "1 stop",
        "Full",
        "Only 1 free",
        "40 free",
        "CN¥553.00",
        "as of 09:05",
        "1 journey with one change",
    ] {
        assert!(shown.contains(words), "{words}");
    }
    assert!(
        shown.contains("class=third&amp;seats=2") && !shown.contains("class=second&amp;seats=2"),
        "a class with too few seats has no link"
    );
    let shown = render_page("train", &train(&Value::Null, true)).expect("it renders");
    assert!(
        shown.contains("value=\"third\" checked") && shown.contains("value=\"first\"  disabled"),
        "{shown}"
    );
    assert!(
        !shown.contains("id=\"change\""),
        "the page of a train has no button to change the held seats"
    );
    let shown = render_page("train", &train(&Value::Null, false)).expect("it renders");
    assert!(
        !shown.contains("id=\"train-form\"")
            && shown.contains("<p class=\"hint\">Times are in UTC.")
    );
    let mut known = train(&Value::Null, false);
    known["zone"] = json!("Asia/Shanghai");
    let shown = render_page("train", &known).expect("it renders");
    assert!(!shown.contains("<p class=\"hint\">Times are in UTC."));
    assert!(
        !render_page("train", &train(&json!("cancelled"), true))
            .expect("it renders")
            .contains("id=\"train-form\"")
    );
}

#[test]
fn a_showing_has_its_status_in_words_and_a_cancelled_one_has_no_link() {
    let shown = render_page("cinema", &cinema()).expect("it renders");
    // The template escapes slashes. Undo this, so that addresses can be compared.
    let shown = shown.replace("&#x2f;", "/");
    for words in [
        "Available",
        "Almost full",
        "Full",
        "Cancelled",
        "Postponed",
        "€12.50",
        "Mon 11 January 2027",
        "43 showings",
        "Page 2 of 3",
    ] {
        assert!(shown.contains(words), "{words}");
    }
    assert!(
        shown.contains("href=\"/s/mitte-1?seats=3\"")
            && shown.contains("href=\"/s/mitte-3?seats=3\"")
    );
    assert!(
        !shown.contains("href=\"/s/mitte-2"),
        "a cancelled showing has no link"
    );
    assert!(
        shown.contains("<option value=\"berlin\" selected>")
            && shown.contains("<option value=\"price\" selected>")
    );
    assert!(!shown.contains("<script"), "the search needs no scripts");
}

#[test]
fn the_seats_page_shows_when_the_sale_ends_or_that_it_has_ended() {
    let seats = |changes: Value| {
        let mut show = json!({"show": "night", "title": "Night", "starts_at": "2027-06-01T20:00:00+02:00", "sells_until": Value::Null,
            "sales_ended": false, "fate": Value::Null, "categories": [], "limits": {"seats_per_visitor": 4}});
        if let (Some(show), Value::Object(changes)) = (show.as_object_mut(), changes) {
            show.extend(changes);
        }
        render_page(
            "seats",
            &json!({"test": false, "show": show, "room": room("selling", false)}),
        )
        .expect("it renders")
    };
    let plain = seats(json!({}));
    assert!(!plain.contains("id=\"sells-until\"") && !plain.contains("id=\"fate\""));
    let until = json!({"sells_until": "2027-06-01T18:00:00+02:00"});
    let early = seats(until);
    assert!(early.contains("On sale until") && early.contains("18:00"));
    let ended = seats(json!({"sells_until": "2027-06-01T18:00:00+02:00", "sales_ended": true}));
    assert!(ended.contains("data-fate=\"sales_ended\"") && ended.contains("18:00"));
    assert!(!ended.contains("id=\"sells-until\""));
    let cancelled = seats(json!({"fate": "cancelled", "sales_ended": true}));
    assert!(
        cancelled.contains("data-fate=\"cancelled\"")
            && !cancelled.contains("data-fate=\"sales_ended\"")
    );
    let announced = seats(json!({"state": "announced"}));
    assert!(announced.contains("data-fate=\"announced\"") && !announced.contains("plain-hold"));
    assert!(seats(json!({"state": "on_sale"})).contains("plain-hold"));
}

#[test]
fn the_rail_search_marks_a_cancelled_train() {
    let mut trains = rail();
    trains["trips"][0]["fate"] = json!("cancelled");
    let shown = render_page("rail", &trains).expect("it renders");
    assert_eq!(shown.matches("data-status=\"cancelled\"").count(), 1);
}

#[test]
fn the_cinema_search_says_that_a_sale_is_over() {
    let mut showings = cinema();
    showings["showings"][0]["sales_ended"] = json!(true);
    let shown = render_page("cinema", &showings).expect("it renders");
    assert!(shown.contains("Sales ended") && !shown.contains("data-status=\"sales_ended\""));
}

#[test]
fn a_film_has_its_times_as_links_unless_they_are_not_for_sale() {
    let shown = render_page("cinema", &cinema_by_film()).expect("it renders");
    assert_eq!(shown.matches("<h3>").count(), 1, "one film");
    assert_eq!(shown.matches("<a class=\"time\"").count(), 2);
    assert_eq!(
        shown.matches("<span class=\"time\"").count(),
        1,
        "cancelled"
    );
    for words in ["from €12.50", "Full", "Postponed", "Cancelled", "OV"] {
        assert!(shown.contains(words), "{words}");
    }
}

#[test]
fn every_page_renders_in_every_phase_and_state_and_escapes_its_values() {
    for (name, shown) in every_page() {
        assert!(
            shown.starts_with("<!doctype html>") && shown.trim_end().ends_with("</html>"),
            "{name}"
        );
        assert!(
            !shown.contains("<one>") && !shown.contains("<found>"),
            "{name} does not escape markup"
        );
        assert_eq!(shown.matches("id=\"problem\"").count(), 1, "{name}");
        let ids: Vec<_> = shown
            .split(" id=\"")
            .skip(1)
            .map(|rest| rest.split('"').next().unwrap_or_default())
            .collect();
        assert_eq!(
            ids.len(),
            ids.iter().collect::<BTreeSet<_>>().len(),
            "{name} has an id twice: {ids:?}"
        );
        assert!(!shown.contains("{{") && !shown.contains("{%"), "{name}");
    }
}

#[test]
fn no_page_needs_what_the_content_policy_forbids() {
    for (name, shown) in every_page() {
        assert!(
            !shown.contains(" style=")
                && !shown.contains("<style")
                && !shown.contains("javascript:"),
            "{name}"
        );
        assert!(
            !shown.contains(" onclick") && !shown.contains("http-equiv"),
            "{name}"
        );
        for script in shown.split("<script ").skip(1) {
            assert!(
                script.starts_with("type=\"module\" src=\"/assets/")
                    || script.starts_with("type=\"application/json\""),
                "{name}: {script:.60}"
            );
        }
    }
}

#[test]
fn every_asset_that_a_page_names_exists_and_has_the_current_version() {
    for (name, shown) in every_page() {
        let named: Vec<_> = shown
            .split("\"/assets/")
            .skip(1)
            .filter_map(|rest| rest.split('"').next())
            .collect();
        assert!(!named.is_empty(), "{name}");
        for address in named {
            let (path, query) = address.split_once('?').expect("a version");
            assert_eq!(query, format!("v={}", version()));
            let found =
                asset(path).unwrap_or_else(|| panic!("{name} names {path}, which is not embedded"));
            assert!(
                !found.bytes.is_empty()
                    && found.etag.len() == 18
                    && found.content_type != "application/octet-stream"
            );
        }
    }
    assert!(
        asset("style/none.css").is_none()
            && asset("../Cargo.toml").is_none()
            && asset("").is_none()
    );
}

/// Returns the served text of every joined script, by its path.
fn joined_scripts() -> Vec<(String, String)> {
    let scripts = files("script", ".js");
    let pages = scripts.iter().map(|(page, _)| format!("page/{page}"));
    let parts = scripts.iter().flat_map(|(page, _)| {
        let page = page.trim_end_matches(".js");
        let parts = scripts.iter();
        parts.map(move |(part, _)| format!("page/{page}/{part}"))
    });
    pages
        .chain(parts)
        .filter_map(|path| {
            let text = String::from_utf8(asset(&path)?.bytes.into_owned()).expect("UTF-8");
            Some((path, text))
        })
        .collect()
}

#[test]
fn joined_scripts_load_only_files_that_exist_in_the_same_version() {
    let mut loads = 0;
    for (path, text) in joined_scripts() {
        let folder = path.rsplit_once('/').expect("a folder").0;
        for (at, _) in text.match_indices(".js?v=") {
            let start = text[..at].rfind('"').expect("an address in quotes") + 1;
            let target = match &text[start..at] {
                up if up.starts_with("../") => format!("page/{}.js", &up[3..]),
                beside => format!("{folder}/{}.js", &beside[2..]),
            };
            assert!(asset(&target).is_some(), "{path} loads {target}");
            assert!(text[at..].starts_with(&format!(".js?v={}\"", version())));
            loads += 1;
        }
        for (at, _) in text.match_indices(".js\"+new URL(import.meta.url).search") {
            let start = text[..at].rfind('"').expect("an address in quotes") + 1;
            let part = text[start..at].trim_start_matches("./");
            let target = match part.strip_prefix("../") {
                Some(up) => format!("page/{up}.js"),
                None => format!("{folder}/{part}.js"),
            };
            assert!(asset(&target).is_some(), "{path} loads {target}");
            loads += 1;
        }
        assert!(!text.contains("\n//") && !text.contains("/**"), "{path}");
    }
    assert!(loads > 5, "only {loads} addresses were found");
}

#[test]
fn the_lobby_has_the_texts_of_its_first_load_and_names_the_file_with_the_others() {
    let page = lobby(&room("selling", false), &Value::Null);
    let first = between(&page, "type=\"application/json\" id=\"texts\"", "</script>");
    let (address, first) = first.split_once('>').expect("a block");
    let mut texts: Value = serde_json::from_str(first).expect("JSON");
    let script = asset("page/lobby.js").expect("a script").bytes;
    let script = String::from_utf8_lossy(&script).into_owned();
    let used = keys_after(&script, "t(\"");
    assert!(used.len() > 20, "{used:?}");
    // What a visitor without a place may see before the other texts have come.
    for key in [
        "lobby.joining",
        "lobby.solving",
        "lobby.checking",
        "lobby.rejoin",
        "lobby.title_phase",
        "lobby.seats_of",
        "lobby.pace_value",
        "lobby.baskets.all_in_baskets",
        "lobby.countdown.draw",
        "lobby.countdown.say_draw",
        "lobby.phase.sold_out",
        "lobby.state.join_prequeue",
        "lobby.state.waiting_prequeue",
        "common.try_again",
    ] {
        let text = texts.pointer(&format!("/{}", key.replace('.', "/")));
        assert!(text.is_some(), "{key} is not among the first texts");
    }
    assert!(texts["problems"]["offline"].is_object());

    let path = between(address, "/assets/", "?");
    let later = asset(path).unwrap_or_else(|| panic!("no file at {path}"));
    let later: Value = serde_json::from_slice(&later.bytes).expect("JSON");
    for (group, more) in later.as_object().expect("groups") {
        for (key, text) in more.as_object().expect("texts") {
            // The states that the page has are replaced by all of them.
            let is_replaced = group == "lobby" && key == "state";
            assert!(
                is_replaced || texts[group][key].is_null(),
                "{group}.{key} is sent twice"
            );
            texts[group][key] = text.clone();
        }
    }
    for group in ["common", "lobby", "problems"] {
        assert_eq!(texts[group], language_texts("en")[group], "{group}");
    }
}

#[test]
fn every_style_is_part_of_a_page() {
    let joined: String = [
        "base", "draw", "lobby", "order", "search", "seats", "still", "train", "wish",
    ]
    .iter()
    .filter_map(|name| asset(&format!("page/{name}.css")))
    .map(|style| String::from_utf8_lossy(&style.bytes).into_owned())
    .collect();
    for (name, source) in files("style", ".css") {
        let rules = source.split("*/").last().expect("a rule");
        // A rule for some windows only is found by its first selector.
        let rules = match rules.trim_start().strip_prefix("@media") {
            Some(media) => media.split_once('{').expect("a rule").1,
            None => rules,
        };
        let selector = rules.split(['{', ',']).next().expect("a selector").trim();
        assert!(joined.contains(selector), "{name}: {selector}");
    }
    assert!(!joined.contains("/*"));
}

#[test]
fn golden_messages_are_json_with_a_type() {
    for (name, source) in files("wire", ".json") {
        let message: Value =
            serde_json::from_str(&source).unwrap_or_else(|fault| panic!("{name}: {fault}"));
        if !["frames.json", "restart-reason.json", "seatmap.json"].contains(&name.as_str()) {
            assert!(message["type"].is_string(), "{name}");
        }
    }
}
