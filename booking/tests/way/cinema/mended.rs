//! Tests small flaws of a programme: they are mended, and noted in the answer. Also tests that a
//! fault quotes the text that is wrong.

use super::*;

/// Puts a programme as text.
async fn put_text(app: &App, text: &str) -> TestAnswer {
    let call = put("/v1/promoter/cinema", &Value::Null).raw(text);
    app.ask(call.by(&PROMOTER)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn control_characters_and_empty_optional_texts_are_mended_and_noted() {
    let app = App::new().await;
    let mut flawed = programme();
    flawed["cities"][0]["cinemas"][0]["name"] = json!("Kino\u{7} mitte");
    flawed["cities"][0]["country"] = json!("");
    flawed["films"][0]["title"] = json!("The\tOrchard Keeper\u{0}");
    flawed["films"][1]["description"] = json!("");
    flawed["films"][1]["genre"] = json!(" \u{8}");
    flawed["films"][1]["release_date"] = json!("");
    flawed["showings"][0]["version"] = json!("");
    let put = put_programme(&app, &flawed).await.is(200);
    let notes = put["notes"].as_array().expect("a list");
    let mut at: Vec<String> = notes.iter().map(|note| text(note, "at")).collect();
    at.sort();
    assert_eq!(
        at,
        [
            "cities[0].cinemas[0].name",
            "cities[0].country",
            "films[0].title",
            "films[1].description",
            "films[1].genre",
            "films[1].release_date",
            "showings[0].version",
        ]
    );
    let of_name = notes
        .iter()
        .find(|note| note["at"] == "cities[0].cinemas[0].name");
    let told = text(of_name.expect("a note"), "message");
    assert!(told.contains(r#""Kino\u{7} mitte""#), "{told}");
    let found = search(&app, "?keyword=orchard+keeper&cinema=mitte").await;
    let showing = &found["showings"][0];
    assert_eq!(text(showing, "title"), "The Orchard Keeper");
    assert_eq!(text(&showing["cinema"], "name"), "Kino mitte");
    assert_eq!(showing["version"], Value::Null);
    let films = app.ask(get("/v1/cinema/cities/york/films")).await.is(200);
    assert_eq!(films["films"][0]["genre"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn control_characters_that_json_forbids_are_mended_too() {
    let app = App::new().await;
    let text_of = programme().to_string();
    let flawed = text_of.replace("Kino mitte", "Kino\u{1}\nmitte");
    let flawed = format!("\u{feff}{}", flawed.replace("\"films\"", "\n\"films\""));
    let put = put_text(&app, &flawed).await.is(200);
    assert_eq!(put["notes"][0]["at"], "cities[0].cinemas[0].name");
    assert_eq!(put["notes"].as_array().map(Vec::len), Some(1));
    // The line break within the text and the line break before the films both count.
    let broken = flawed.replace("\"duration_s\":6000", "\"duration_s\":0");
    assert_ne!(broken, flawed);
    let refused = put_text(&app, &broken)
        .await
        .problem(422, "programme_invalid");
    assert_eq!(refused["faults"][0]["at"], "films[0].duration_s");
    let line = broken[..broken.find("\"duration_s\":0").expect("there")]
        .lines()
        .count();
    assert_eq!(refused["faults"][0]["line"], line);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_needed_text_that_is_empty_without_its_control_characters_is_a_fault() {
    let app = App::new().await;
    let mut flawed = programme();
    flawed["films"][0]["title"] = json!("\u{7}");
    let refused = put_programme(&app, &flawed)
        .await
        .problem(422, "programme_invalid");
    assert_eq!(refused["faults"][0]["at"], "films[0].title");
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_quote_the_bad_spot() {
    let app = App::new().await;
    let long = format!("{}Zebra{}", "a".repeat(200), "b".repeat(100));
    for (path, value, quoted) in [
        (
            "/films/0/title",
            json!(long),
            r#""aaaaaaaaaaaaaaaaaaaaZebrabbbbbbbbbbbbbbb"…"#,
        ),
        ("/films/0/id", json!("orchard_1"), "without '_'"),
        (
            "/films/0/release_date",
            json!("24.12.2026"),
            r#""24.12.2026""#,
        ),
        ("/showings/0/prices/cat1", json!(12.5), "12.5"),
        ("/cities/0/time_zone", json!("Berlin"), r#""Berlin""#),
    ] {
        let mut flawed = programme();
        *flawed.pointer_mut(path).expect("a field") = value;
        let refused = put_programme(&app, &flawed)
            .await
            .problem(422, "programme_invalid");
        let faults = refused["faults"].as_array().expect("a list").iter();
        let told: Vec<String> = faults.map(|fault| text(fault, "message")).collect();
        assert!(
            told.iter().any(|told| told.contains(quoted)),
            "{quoted}: {told:?}"
        );
    }
    let broken = "{\"cities\": [],\n \"films\": [{\"id\" \"a\"}]}";
    let refused = put_text(&app, broken)
        .await
        .problem(422, "programme_invalid");
    let fault = &refused["faults"][0];
    assert_eq!(fault["line"], 2);
    let told = text(fault, "message");
    assert!(told.contains(r#"[{\"id\" \"a\"}]"#), "{told}");
}
