//! Tests where the best seats of a hall are: at two thirds of its depth, or where the programme
//! says.

use super::*;

/// Returns the programme with another plan for the hall in York.
fn with_hall(plan: &str, focal_depth: Option<f64>) -> Value {
    let mut programme = programme();
    let hall = &mut programme["cities"][1]["cinemas"][0]["halls"][0];
    hall["plan"] = json!(plan);
    if let Some(depth) = focal_depth {
        hall["focal_depth"] = json!(depth);
    }
    programme
}

/// Holds the best two seats once for each visitor, and returns the numbers of their rows, counted
/// from the screen.
async fn rows_of_best_pairs(app: &App, visitors: u16) -> Vec<u32> {
    let mut rows = Vec::new();
    for visitor in 1..=visitors {
        let who = app.visitor_of("everyday", visitor);
        let best = json!({"quantity": 2});
        let held = hold(app, &who, "picture-1-20270111t1800", best).await;
        for seat in held.is(201)["seats"].as_array().expect("a list") {
            let letter = text(seat, "label").bytes().next().expect("a letter");
            rows.push(u32::from(letter - b'A') + 1);
        }
    }
    rows
}

#[tokio::test(flavor = "multi_thread")]
async fn the_best_seats_of_a_hall_with_twenty_rows_are_in_rows_11_to_16() {
    let app = App::new().await;
    put_programme(&app, &with_hall("grid:20x16", None))
        .await
        .is(200);
    let rows = rows_of_best_pairs(&app, 8).await;
    assert_eq!(rows[..2], [14, 14], "{rows:?}");
    assert!(rows.iter().all(|row| (11..=16).contains(row)), "{rows:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_programme_says_at_which_depth_the_best_seats_are() {
    for (depth, row) in [(0.0, 1), (0.5, 10), (1.0, 20)] {
        let app = App::new().await;
        let put = put_programme(&app, &with_hall("grid:20x16", Some(depth))).await;
        put.is(200);
        let rows = rows_of_best_pairs(&app, 1).await;
        assert!(
            rows.iter().all(|of| of.abs_diff(row) <= 1),
            "{depth}: {rows:?}"
        );
    }
    let app = App::new().await;
    let refused = put_programme(&app, &with_hall("grid:20x16", Some(1.1))).await;
    let refused = refused.problem(422, "programme_invalid");
    assert_eq!(
        text(&refused["faults"][0], "at"),
        "cities[1].cinemas[0].halls[0].focal_depth"
    );
    let mut without_plan = with_hall("grid:20x16", Some(0.5));
    without_plan["cities"][1]["cinemas"][0]["halls"][0]["plan"] = Value::Null;
    let refused = put_programme(&app, &without_plan)
        .await
        .problem(422, "programme_invalid");
    let codes = refused["faults"].as_array().expect("a list").iter();
    let mut codes: Vec<String> = codes.map(|fault| text(fault, "code")).collect();
    codes.sort();
    assert_eq!(codes, ["bad_plan", "no_plan"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_focal_point_is_a_new_plan_that_keeps_held_seats() {
    let app = App::new().await;
    put_programme(&app, &with_hall("grid:20x16", None))
        .await
        .is(200);
    rows_of_best_pairs(&app, 1).await;
    let put = put_programme(&app, &with_hall("grid:20x16", Some(0.5)))
        .await
        .is(200);
    assert_eq!(put["new_plans"], 1);
    assert_eq!(app.seats("picture-1-20270111t1800").await["held"], 2);
}
