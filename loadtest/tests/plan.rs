//! Runs `loadtest plan`, `loadtest compare` and `loadtest calibrate` as processes. Checks their
//! answers, their exit codes, their messages about faults in files, and the page that a browser
//! shows.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// A sale that is sold out within a minute.
const SALE: &str = r#"
title = "A small sale"
planned_s = 60.0
deadline_s = 400.0
[crowd]
visitors = 400
over_s = 5.0
[behaviour]
party = [1, 1]
claim_s = [0.2, 2.0]
[[venue]]
id = "hall"
plan = "grid:10x20"
[[show]]
id = "night"
venue = "hall"
title = "A night"
starts_at = "2031-06-01T20:00:00Z"
prices = { cat1 = 9900, cat2 = 4900 }
[[room]]
id = "sale"
title = "A night"
shows = ["night"]
opens_at = "+0s"
draw_at = "+10s"
mode = "fixed"
per_s = 20
"#;

struct Folder(tempfile::TempDir);

impl Folder {
    fn with_sale(sale: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(folder.path().join("sale.toml"), sale).expect("the file can be written");
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn plan(&self, more: &[&str]) -> Output {
        loadtest(&["plan"], &[&self.path("sale.toml")], more)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let file = self.path(name);
        std::fs::write(&file, text).expect("the file can be written");
        file
    }
}

fn loadtest(command: &[&str], files: &[&Path], more: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_loadtest"))
        .args(command)
        .args(files)
        .args(more)
        .output()
        .expect("the program runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_plan_answers_in_a_sentence_and_the_same_seeds_give_the_same_answer() {
    let folder = Folder::with_sale(SALE);
    let told = folder.plan(&["--seeds", "5"]);
    assert!(told.status.success(), "{}", text(&told.stderr));
    let told = text(&told.stdout);
    assert!(
        told.contains("400 visitors, 200 seats in 1 show, 5 seeds"),
        "{told}"
    );
    assert!(
        told.lines()
            .nth(1)
            .is_some_and(|line| line.starts_with("Sold out ")),
        "{told}"
    );
    let documents = [(); 2].map(|()| {
        let output = folder.plan(&["--seeds", "5", "--json"]);
        let mut document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert!(document["seed_s"].take().is_number());
        document
    });
    assert_eq!(documents[0], documents[1]);
    let [document, _] = documents;
    for field in ["p10", "p50", "p90"] {
        assert!(document["sold_out_s"][field].is_number(), "{document}");
    }
    assert!(document["wait_s"]["p50"].is_number() && document["wait_s"]["p90"].is_number());
    assert_eq!(document["odds"].as_array().map(Vec::len), Some(10));
    for field in ["told_no", "inside_max", "seats_left", "seeds"] {
        assert!(document[field].is_number(), "{field}");
    }
}

#[test]
fn arrivals_of_a_past_sale_replace_the_crowd_and_a_setting_can_be_swept() {
    let folder = Folder::with_sale(SALE);
    let past = folder.write("past.csv", "second,visitors\n0,30\n4,20\n");
    let past = past.to_string_lossy().into_owned();
    let told = text(&folder.plan(&["--csv", &past, "--seeds", "2"]).stdout);
    assert!(told.contains("50 visitors"), "{told}");
    assert!(told.contains("Not everything is sold"), "{told}");
    let swept = text(
        &folder
            .plan(&["--sweep", "per_s=2..64", "--seeds", "2"])
            .stdout,
    );
    assert_eq!(swept.matches("per_s = ").count(), 6, "{swept}");
    let refused = folder.plan(&["--csv", &past, "--sweep", "visitors=10..100"]);
    assert_eq!(refused.status.code(), Some(2));
    let told = text(&refused.stderr);
    assert!(
        told.contains("--sweep visitors changes nothing with --csv"),
        "{told}"
    );
}

#[test]
fn words_that_are_not_simulated_are_named() {
    let whole = Folder::with_sale(SALE).plan(&["--seeds", "2"]);
    assert!(!text(&whole.stdout).contains("not simulated"));
    let cancelled = SALE.replace(
        "[[venue]]",
        "scan = 0.1\n[cancel]\nshow = \"night\"\nat = 30.0\n[[venue]]",
    );
    let folder = Folder::with_sale(&cancelled);
    let told = text(&folder.plan(&["--seeds", "2"]).stdout);
    assert!(told.contains("not simulated    scan, [cancel]"), "{told}");
    let told = folder.plan(&["--seeds", "2", "--json"]).stdout;
    let told: Value = serde_json::from_slice(&told).expect("JSON");
    assert_eq!(told["left_out"], serde_json::json!(["scan", "[cancel]"]));
}

#[test]
fn a_reader_of_the_answer_may_go_away_before_its_end() {
    let folder = Folder::with_sale(SALE);
    for json in [&["--json"][..], &[]] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let ended = Command::new(env!("CARGO_BIN_EXE_loadtest"))
            .arg("plan")
            .arg(folder.path("sale.toml"))
            .args(json)
            .stdout(writer)
            .output()
            .expect("the program runs");
        assert_eq!(ended.status.code(), Some(0), "{}", text(&ended.stderr));
        assert_eq!(text(&ended.stderr), "");
    }
}

#[test]
fn a_gateway_can_be_lost_during_the_sale_and_nothing_else_can() {
    let folder = Folder::with_sale(SALE);
    let told = folder.plan(&["--kill", "gateway@draw+2s", "--gateways", "4", "--json"]);
    let told: Value = serde_json::from_slice(&told.stdout).expect("JSON");
    assert_eq!(told["gateway_lost"]["at_s"], 2.0, "{told}");
    let sockets = told["gateway_lost"]["sockets"].as_f64();
    assert!(sockets.is_some_and(|sockets| (40.0..100.0).contains(&sockets)));
    for (kill, why) in [
        ("redis@50%", "only a gateway"),
        ("gateway@draw+9999s", "the plan ends"),
        ("gateway@soon", "is not a time such as"),
    ] {
        let refused = folder.plan(&["--kill", kill]);
        assert_eq!(refused.status.code(), Some(2), "{kill}");
        assert!(
            text(&refused.stderr).contains(why),
            "{kill}: {}",
            text(&refused.stderr)
        );
    }
}

#[test]
fn a_file_with_a_fault_is_refused_with_the_place_of_the_fault() {
    for (right, wrong, told) in [
        ("visitors = 400", "visitors = 400\npeople = 3", "people"),
        ("visitors = 400", "visitors = 0", "crowd.visitors"),
        ("visitors = 400", "visitors = 10000000000", "crowd.visitors"),
        ("over_s = 5.0", "over_s = 1e12", "crowd.over_s"),
        (
            "claim_s = [0.2, 2.0]",
            "claim_s = [0.2, inf]",
            "behaviour.claim_s",
        ),
        ("party = [1, 1]", "party = [nan]", "behaviour.party"),
        ("party = [1, 1]", "party = []", "behaviour.party"),
        ("\"+10s\"", "\"+10h\"", "draw_at"),
        ("per_s = 20", "per_s = -1", "room \"sale\": per_s"),
        (
            "prices = { cat1 = 9900, cat2 = 4900 }",
            "",
            "show \"night\": missing field `prices`",
        ),
        ("grid:10x20", "grid:10", "venue \"hall\""),
        (
            "[crowd]\nvisitors = 400\nover_s = 5.0",
            "",
            "there is no [crowd]",
        ),
    ] {
        let refused = Folder::with_sale(&SALE.replacen(right, wrong, 1)).plan(&[]);
        let said = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{wrong}: {said}");
        assert!(
            said.contains("nothing was simulated") && said.contains(told),
            "{wrong}: {said}"
        );
        assert!(refused.stdout.is_empty(), "{wrong}");
    }
    let folder = Folder::with_sale(SALE);
    for more in [
        ["--sweep", "speed=1..2"],
        ["--seeds", "0"],
        ["--calls-per-s", "0"],
        ["--calls-per-s", "nan"],
        ["--csv", "/nowhere/past.csv"],
        ["--html", "/nowhere/plan.html"],
    ] {
        assert_eq!(folder.plan(&more).status.code(), Some(2), "{more:?}");
    }
}

#[test]
fn two_plans_agree_or_differ_and_a_foreign_file_is_refused() {
    let folder = Folder::with_sale(SALE);
    let one = folder.write(
        "one.json",
        &text(&folder.plan(&["--seeds", "5", "--json"]).stdout),
    );
    let slower = Folder::with_sale(&SALE.replace("per_s = 20", "per_s = 5"));
    let other = text(&slower.plan(&["--seeds", "5", "--json"]).stdout);
    let other = folder.write("other.json", &other);
    let compare = |files: &[&Path], more: &[&str]| loadtest(&["compare"], files, more);
    let same = compare(&[&one, &one], &[]);
    assert_eq!(same.status.code(), Some(0), "{}", text(&same.stdout));
    let differs = compare(&[&one, &other], &[]);
    assert_eq!(differs.status.code(), Some(99));
    assert!(
        text(&differs.stdout).contains("differs"),
        "{}",
        text(&differs.stdout)
    );
    let tolerant = compare(&[&one, &other], &["--within", "1000"]);
    assert_eq!(tolerant.status.code(), Some(0));
    let late = folder.write(
        "late.json",
        "{\"valid\": false, \"figures\": {\"sold_out_s\": 1}}",
    );
    for wrong in [&folder.path("sale.toml"), &folder.path("none.json"), &late] {
        let refused = compare(&[&one, wrong], &[]);
        assert_eq!(refused.status.code(), Some(2), "{}", wrong.display());
        assert!(text(&refused.stderr).contains("Nothing was compared"));
    }
}

#[test]
fn a_calibration_says_what_a_sale_takes_and_a_false_one_is_refused() {
    let folder = Folder::with_sale(SALE);
    let figures = folder.path("figures.toml");
    let of_this_machine = loadtest(
        &["calibrate", "--out"],
        &[&figures],
        &["--visitors", "100", "--seconds", "1"],
    );
    assert!(
        of_this_machine.status.success(),
        "{}",
        text(&of_this_machine.stderr)
    );
    let prices = folder.write(
        "prices.toml",
        "currency = \"EUR\"\n[machine]\ncpus = 4\nmemory_mb = 8000\nper_hour = 0.25\n",
    );
    let (figures, prices) = (figures.to_string_lossy(), prices.to_string_lossy());
    let more = [
        "--seeds",
        "2",
        "--json",
        "--calibration",
        &figures,
        "--prices",
        &prices,
    ];
    let planned = folder.plan(&more);
    assert!(planned.status.success(), "{}", text(&planned.stderr));
    let planned: Value = serde_json::from_slice(&planned.stdout).expect("JSON");
    let machines = &planned["machines"];
    // The number of gateways depends on what else this machine does during the test.
    let count = machines["gateways"]["count"].as_f64().expect("a count");
    assert!(count >= 1.0, "{machines}");
    assert_eq!(machines["cost"]["currency"], "EUR");
    assert_eq!(machines["cost"]["amount"], 0.25 * count);
    assert!(planned["breaks_first"]["limit"].is_string(), "{planned}");

    let short = std::fs::read_to_string(&*figures).expect("figures");
    let bad = folder.write("bad.toml", &short.replacen("per_s = ", "per_s = -", 1));
    let refused = folder.plan(&["--calibration", &bad.to_string_lossy()]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("work.join.per_s"));
    let nowhere = loadtest(&["calibrate"], &[], &["--out", "/nowhere/figures.toml"]);
    assert_eq!(nowhere.status.code(), Some(2));
}

#[test]
fn a_browser_without_a_network_draws_a_chart_from_each_table() {
    let folder = Folder::with_sale(SALE);
    let page = folder.path("plan.html");
    let file = page.to_string_lossy().into_owned();
    let told = folder.plan(&["--seeds", "5", "--html", &file]);
    assert!(told.status.success(), "{}", text(&told.stderr));
    let Some(chromium) = fairgate_servers::chromium_for("the charts of a report") else {
        return;
    };
    let profile = format!("--user-data-dir={}", folder.path("profile").display());
    let open = |ask: &[&str]| {
        Command::new(&chromium)
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", &profile])
            .args([
                "--host-resolver-rules=MAP * ~NOTFOUND",
                "--virtual-time-budget=5000",
            ])
            .args(ask)
            .arg(format!("file://{file}"))
            .output()
            .expect("chromium runs")
    };
    // The README shows a picture like this one, of a larger sale.
    let pictures = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let picture = pictures.join("plan.png");
    // If this run made no picture, the picture of an earlier run would hide that.
    let _ = std::fs::remove_file(&picture);
    open(&[
        "--window-size=1000,1100",
        &format!("--screenshot={}", picture.display()),
    ]);
    assert!(picture.exists(), "a picture of the page");
    let shown = open(&["--window-size=1000,800", "--dump-dom"]);
    let shown = text(&shown.stdout);
    let charts = shown.matches("<section class=\"chart\"").count();
    assert_eq!(charts, 10, "{}", text(&told.stdout));
    assert_eq!(
        shown.matches("<canvas").count(),
        charts,
        "each chart is drawn"
    );
    for section in shown.split("<section class=\"chart\"").skip(1) {
        let rows = section.matches("<th scope=\"row\">").count();
        let drawn = format!("data-points=\"{rows}\"");
        assert!(
            rows > 1 && section.contains(&drawn),
            "{drawn}: {section:.400}"
        );
        let drawn = format!("data-sums=\"{}\"", sums(section).join(" "));
        assert!(section.contains(&drawn), "{drawn}: {section:.400}");
    }
}

/// Returns the sum of each column of the table in a section of a report.
fn sums(section: &str) -> Vec<String> {
    // The chart's legend is also a table, and comes first.
    let body = section.rsplit("<tbody>").next().unwrap_or_default();
    let mut sums: Vec<f64> = Vec::new();
    for row in body.split("<tr>").skip(1) {
        let cells = row.split('<').filter_map(|tag| {
            let is_cell = tag.starts_with("th ") || tag.starts_with("td>");
            tag.split_once('>').filter(|_| is_cell).map(|cell| cell.1)
        });
        for (column, cell) in cells.enumerate() {
            sums.resize(sums.len().max(column + 1), 0.0);
            sums[column] += cell.parse::<f64>().unwrap_or(0.0);
        }
    }
    sums.iter().map(|sum| format!("{sum:.2}")).collect()
}
