//! Tests programmes with faults: every fault is reported with its path and line, and nothing of the
//! programme is stored.

use super::*;

/// Returns the path and the code of each fault.
fn told(problem: &Value) -> Vec<(String, String)> {
    let faults = problem["faults"].as_array().expect("a list");
    let both = |fault: &Value| (text(fault, "at"), text(fault, "code"));
    faults.iter().map(both).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_fault_is_reported_with_its_path_and_nothing_is_stored() {
    let app = App::new().await;
    let mut bad = programme();
    bad["currency"] = json!("euro");
    bad["cities"][0]["time_zone"] = json!("Mars/Base");
    bad["cities"][0]["cinemas"][0]["lat"] = json!(91);
    bad["cities"][0]["cinemas"][1]["halls"][0]["id"] = json!("mitte-1");
    bad["cities"][1]["cinemas"][0]["halls"][0]["plan"] = json!("grid:0x4");
    bad["cities"][1]["cinemas"][0]["phone"] = json!("1");
    bad["films"][0]["duration_s"] = json!("long");
    bad["films"][0]["release_date"] = json!("2026-02-30");
    bad["films"][1]
        .as_object_mut()
        .expect("an object")
        .remove("title");
    bad["showings"][0]["film"] = json!("nothing");
    bad["showings"][2]["starts_at"] = json!("2027-01-11T18:00:00");
    bad["showings"][3]["prices"] = json!({"cat1": -1});
    bad["showings"][4]["prices"] = json!({"balcony": 100});
    let refused = put_programme(&app, &bad)
        .await
        .problem(422, "programme_invalid");
    let mut faults = told(&refused);
    faults.sort();
    let expected = [
        ("cities[0].cinemas[0].lat", "bad_number"),
        ("cities[0].cinemas[1].halls[0].id", "duplicate_id"),
        ("cities[0].time_zone", "bad_time_zone"),
        ("cities[1].cinemas[0].halls[0].plan", "bad_plan"),
        ("cities[1].cinemas[0].phone", "unknown_field"),
        ("currency", "bad_currency"),
        ("films[0].duration_s", "bad_number"),
        ("films[0].release_date", "bad_date"),
        ("films[1].title", "missing"),
        ("showings[0].film", "unknown_film"),
        ("showings[1].hall", "unknown_hall"),
        ("showings[2].starts_at", "bad_time"),
        ("showings[3].prices.cat1", "bad_price"),
    ];
    assert_eq!(
        faults,
        expected.map(|(at, code)| (at.to_owned(), code.to_owned()))
    );
    let shows = app.ask(get("/v1/shows")).await.is(200);
    assert_eq!(shows["total"], 0);
    assert_eq!(search(&app, "?from=2020-01-01").await["total"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_that_contradict_each_other_are_reported_at_the_field_to_correct() {
    let app = App::new().await;
    app.put_venue("foyer", "grid:4x10").await;
    let foreign = document(json!({"venue": "foyer"}));
    let call = put("/v1/promoter/shows/gala", &foreign);
    app.ask(call.by(&PROMOTER)).await.is(200);
    let mut bad = programme();
    bad["showings"][0]["prices"] = json!({"balcony": 100});
    bad["showings"][1]["id"] = json!("gala");
    bad["showings"][2]["hall"] = json!("mitte-1");
    bad["showings"][2]["starts_at"] = json!("2027-01-11T18:31:00+01:00");
    bad["showings"][3]["id"] = json!("long-ago");
    bad["cities"][1]["cinemas"][0]["halls"][0]
        .as_object_mut()
        .expect("an object")
        .remove("plan");
    let refused = put_programme(&app, &bad)
        .await
        .problem(422, "programme_invalid");
    let mut faults = told(&refused);
    faults.sort();
    let expected = [
        ("cities[1].cinemas[0].halls[0].plan", "bad_plan"),
        ("showings[0].prices", "bad_price"),
        ("showings[0].prices.balcony", "bad_price"),
        ("showings[0].starts_at", "hall_busy"),
        ("showings[1].id", "id_taken"),
        ("showings[4]", "duplicate_id"),
    ];
    assert_eq!(
        faults,
        expected.map(|(at, code)| (at.to_owned(), code.to_owned()))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_carry_their_line_and_broken_json_is_a_fault_too() {
    let app = App::new().await;
    let put = async |text: &str| {
        let call = put("/v1/promoter/cinema", &Value::Null).raw(text);
        app.ask(call.by(&PROMOTER))
            .await
            .problem(422, "programme_invalid")
    };
    let refused = put("{\n\"cities\": [],\n\"films\": [\n  {\"id\": \"a\",\n   \"title\": 7}\n],\n\"showings\": 1}").await;
    let lines = refused["faults"].as_array().expect("a list").iter();
    let lines: Vec<_> = lines
        .map(|fault| (text(fault, "at"), fault["line"].clone()))
        .collect();
    let expected = [
        ("films[0].duration_s", 4),
        ("films[0].title", 5),
        ("showings", 7),
    ];
    assert_eq!(
        lines,
        expected.map(|(at, line)| (at.to_owned(), json!(line)))
    );
    assert_eq!(put("{\n\"cities\":\n").await["faults"][0]["line"], 3);
    assert_eq!(put("[]").await["faults"][0]["code"], "bad_object");
    let call = put_call().by(&VIEWER);
    app.ask(call).await.problem(403, "key_role");
}

fn put_call() -> TestCall {
    put("/v1/promoter/cinema", &programme())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_without_a_held_seat_is_refused_until_the_hold_ends() {
    let app = App::new().await;
    put_programme(&app, &programme()).await.is(200);
    let ana = app.visitor_of("everyday", 1);
    let show = "picture-1-20270111t1800";
    let call = post(
        &format!("/v1/shows/{show}/holds"),
        &json!({"seats": ["D-10"]}),
    );
    app.ask(call.by(&ana)).await.is(201);
    let with_plan = |plan: &str| {
        let mut changed = programme();
        changed["cities"][1]["cinemas"][0]["halls"][0]["plan"] = json!(plan);
        changed
    };
    let refused = put_programme(&app, &with_plan("grid:3x10"))
        .await
        .problem(409, "plan_in_use");
    assert_eq!(refused["shows"], json!({show: ["D-10"]}));
    assert_eq!(
        app.seats(show).await["free"],
        39,
        "the old plan stays on sale"
    );
    put_programme(&app, &with_plan("grid:5x10")).await.is(200);
    assert_eq!(app.seats(show).await["held"], 1, "the seat is still held");
    app.clock.advance_ms(306_000);
    until("the basket's end", async || {
        (app.seats(show).await["held"] == 0).then_some(())
    })
    .await;
    let put = put_programme(&app, &with_plan("grid:3x10")).await.is(200);
    assert_eq!(
        (&put["new_plans"], &put["changed_showings"]),
        (&json!(1), &json!(2))
    );
    until("the new plan", async || {
        (app.seats(show).await["free"] == 30).then_some(())
    })
    .await;
}
