//! Reads the room document of an on-sale file. Fills in defaults, checks the whole document, and
//! reports all faults at once.

use serde::{Deserialize, Serialize};

use super::faults::{
    RoomInputFaults, RoomInputRefusal, check_per_s, checked_number, checked_text, checked_time,
    checked_word, required_time,
};
use super::lanes;
use super::naming::{checked_shows, is_slug};
use super::network_limits::NetworkLimits;

/// Who decides how many may be inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Mode)]
pub enum PaceMode {
    /// Booking's measured health, within what the promoter allows.
    Auto,
    /// The promoter alone.
    Fixed,
}

impl PaceMode {
    /// Reads the mode. Notes a fault and returns `None` if there is no such mode.
    pub fn parse_setting(mode: &str, faults: &mut RoomInputFaults) -> Option<Self> {
        match mode {
            "auto" => Some(Self::Auto),
            "fixed" => Some(Self::Fixed),
            other => {
                faults.note_bad_value("mode", format!("\"{other}\" is neither auto nor fixed"));
                None
            }
        }
    }
}

/// The default of [`RoomDocument::away_s`].
const AWAY_S: u64 = 60;

fn default_away_s() -> u64 {
    AWAY_S
}

/// The default of [`RoomDocument::pass_idle_s`].
const PASS_IDLE_S: u64 = 120;

fn default_pass_idle_s() -> u64 {
    PASS_IDLE_S
}

/// The default of [`RoomDocument::lapses_max`].
const LAPSES_MAX: u64 = 2;

fn default_lapses_max() -> u64 {
    LAPSES_MAX
}

fn fixed() -> PaceMode {
    PaceMode::Fixed
}

/// How the order of the line is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Method)]
pub enum LineMethod {
    /// Everybody who came before the draw is shuffled.
    Draw,
    /// First come, first served.
    Fifo,
    /// No line until `max_inside` is reached.
    Open,
}

/// Whether a visitor needs a code to join.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Codes)]
pub enum JoinCodePolicy {
    /// No.
    None,
    /// Yes. Each code gives one place.
    Required,
}

/// What a visitor must solve to join.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ChallengeKind)]
pub enum ChallengePolicy {
    /// Nothing, as long as the visitor's network has few places.
    #[default]
    None,
    /// Proof of work, for everybody.
    Pow,
    /// The check of Turnstile, for everybody.
    Turnstile,
    /// The check of hCaptcha, for everybody.
    Hcaptcha,
}

/// An external service that checks that a visitor is not a bot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChallengeProvider {
    /// The service of Cloudflare.
    Turnstile,
    /// The service of Intuition Machines.
    Hcaptcha,
}

impl ChallengeProvider {
    /// Returns the provider's name, as documents write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Turnstile => "turnstile",
            Self::Hcaptcha => "hcaptcha",
        }
    }
}

impl ChallengePolicy {
    /// Reads the challenge. Notes a fault and returns the default if there is no such challenge.
    pub fn parse_setting(challenge: Option<&str>, faults: &mut RoomInputFaults) -> Self {
        checked_word("challenge", challenge, CHALLENGES, faults)
    }

    /// Returns the provider whose check everybody must pass, if there is one.
    #[must_use]
    pub fn provider(self) -> Option<ChallengeProvider> {
        match self {
            Self::None | Self::Pow => None,
            Self::Turnstile => Some(ChallengeProvider::Turnstile),
            Self::Hcaptcha => Some(ChallengeProvider::Hcaptcha),
        }
    }
}

/// Why a room cannot get an end that has passed.
const PASSED_END: &str = "has passed already, so the room would be over at once and for good; name a later time, or close the room with POST /v1/promoter/rooms/{room}/close";

/// The words for the line's methods. The first method is the default.
const METHODS: [(&str, LineMethod); 3] = [
    ("draw", LineMethod::Draw),
    ("fifo", LineMethod::Fifo),
    ("open", LineMethod::Open),
];

/// The words for the code policies. The first policy is the default.
const CODES: [(&str, JoinCodePolicy); 2] = [
    ("none", JoinCodePolicy::None),
    ("required", JoinCodePolicy::Required),
];

/// The words for the challenges. The first challenge is the default.
const CHALLENGES: [(&str, ChallengePolicy); 4] = [
    ("none", ChallengePolicy::None),
    ("pow", ChallengePolicy::Pow),
    ("turnstile", ChallengePolicy::Turnstile),
    ("hcaptcha", ChallengePolicy::Hcaptcha),
];

/// A checked room document. Times are milliseconds since the epoch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoomDocument {
    /// The name that people read.
    pub title: String,
    /// The ids of shows, and globs that end in `*`.
    pub shows: Vec<String>,
    /// When the lobby opens.
    pub opens_at: i64,
    /// When the sale begins and, with method `draw`, the line is frozen.
    pub draw_at: i64,
    /// When the room ends, if it does.
    pub closes_at: Option<i64>,
    /// How the order of the line is made.
    pub method: LineMethod,
    /// Who decides how many may be inside. A stored room without this field has the mode `fixed`.
    #[serde(default = "fixed")]
    pub mode: PaceMode,
    /// How many present visitors are released a second. In mode `auto` this is the maximum.
    pub per_s: f64,
    /// The most that may be inside at once.
    pub max_inside: u64,
    /// The time within which booking should answer 99 of 100 calls, in milliseconds. Mode `auto`
    /// works towards this target.
    pub p99_ms: u64,
    /// How long a pass is valid, in seconds.
    pub pass_s: u64,
    /// How long a called visitor may take to claim, in seconds.
    pub claim_s: u64,
    /// After how long the basket of a visitor who is known to be gone lapses, in seconds. A stored
    /// room without this field has the default.
    #[serde(default = "default_away_s")]
    pub away_s: u64,
    /// After how long a pass ends whose holder does nothing, in seconds. A stored room without this
    /// field has the default.
    #[serde(default = "default_pass_idle_s")]
    pub pass_idle_s: u64,
    /// After how many lapsed baskets a visit ends. A stored room without this field has the
    /// default.
    #[serde(default = "default_lapses_max")]
    pub lapses_max: u64,
    /// What everybody must solve to join. A stored room without this field has the challenge
    /// `none`.
    #[serde(default)]
    pub challenge: ChallengePolicy,
    /// How many places one network gets. A stored room without this field has the default limits.
    #[serde(default)]
    pub per_network: NetworkLimits,
    /// Whether visitors need a code to join.
    pub codes: JoinCodePolicy,
    /// A message from the promoter to everybody.
    pub message: String,
}

/// A room document as it is sent. It also has fields for settings that are not built yet, so that
/// these can be refused by name.
#[derive(Debug, Clone, Default, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = DocumentInput)]
pub struct RoomDocumentInput {
    /// The room's slug. If it is given, it must equal the slug in the address.
    pub id: Option<String>,
    /// The name that people read.
    pub title: Option<String>,
    /// Ids of shows, and globs that end in `*`.
    pub shows: Option<Vec<String>>,
    /// When the lobby opens, in RFC 3339.
    pub opens_at: Option<String>,
    /// When the sale begins, in RFC 3339. With method `draw`, the line is frozen then.
    pub draw_at: Option<String>,
    /// When the room ends, in RFC 3339.
    pub closes_at: Option<String>,
    /// `draw`, `fifo` or `open`.
    pub method: Option<String>,
    /// `auto` or `fixed`.
    pub mode: Option<String>,
    /// Visitors released a second.
    pub per_s: Option<f64>,
    /// The most that may be inside at once.
    pub max_inside: Option<i64>,
    /// The time within which booking should answer 99 of 100 calls, in milliseconds: 1 to 60000, by
    /// default 300. Mode `auto` works towards this target.
    pub p99_ms: Option<i64>,
    /// How long a pass is valid, in seconds.
    pub pass_s: Option<i64>,
    /// How long a called visitor may take to claim, in seconds.
    pub claim_s: Option<i64>,
    /// After how long the basket of a visitor who is known to be gone lapses, in seconds: 10 to
    /// 86400, by default 60. A basket in checkout is never taken early.
    pub away_s: Option<i64>,
    /// After how long a pass ends whose holder does nothing, in seconds: 10 to 86400, by default
    /// 120. It never ends while its holder has a basket, an order, an exchange or an offer. The
    /// holder keeps the place in the line.
    pub pass_idle_s: Option<i64>,
    /// After how many lapsed baskets a visit ends: 1 to 1000, by default 2. The visitor keeps the
    /// place in the line.
    pub lapses_max: Option<i64>,
    /// `cookie`; `device` is not available yet.
    pub binding: Option<String>,
    /// `none` or `pow`. `turnstile` or `hcaptcha` only if the settings name an account for it.
    pub challenge: Option<String>,
    /// Limits for one IPv4 address or IPv6 /64. From `soft` places on, a place costs work. From
    /// `hard` places on, work alone gives no place.
    pub per_network: Option<NetworkLimits>,
    /// `none` or `required`.
    pub codes: Option<String>,
    /// `none`; `drand` is not available yet.
    pub beacon: Option<String>,
    /// A message from the promoter to everybody.
    pub message: Option<String>,
    /// Lanes are not available yet.
    #[schema(value_type = Option<Vec<Object>>)]
    pub lane: Option<Vec<serde_json::Value>>,
}

impl RoomDocument {
    /// Returns the document of the built-in room, which sells the walk-ins that no other room
    /// names.
    #[must_use]
    pub fn everyday() -> Self {
        Self {
            title: "Everyday sales".to_owned(),
            shows: Vec::new(),
            opens_at: 0,
            draw_at: 0,
            closes_at: None,
            method: LineMethod::Open,
            mode: PaceMode::Auto,
            per_s: 500.0,
            max_inside: 5000,
            p99_ms: 300,
            pass_s: 600,
            claim_s: 120,
            away_s: AWAY_S,
            // Nobody waits in line for these passes, so they last as long as they are valid.
            pass_idle_s: 600,
            lapses_max: 1_000,
            challenge: ChallengePolicy::None,
            per_network: NetworkLimits::default(),
            codes: JoinCodePolicy::None,
            message: String::new(),
        }
    }

    /// Checks a document that was sent for `room`.
    ///
    /// # Errors
    /// Lists all faults: see [`RoomInputFaults::into_result`].
    pub fn from_input(room: &str, input: RoomDocumentInput) -> Result<Self, RoomInputRefusal> {
        let mut faults = RoomInputFaults::default();
        check_id(room, input.id.as_deref(), &mut faults);
        refuse_unbuilt(&input, &mut faults);
        let document = Self {
            title: checked_text("title", input.title, true, 200, &mut faults),
            shows: checked_shows(input.shows, &mut faults),
            opens_at: required_time("opens_at", input.opens_at.as_deref(), &mut faults),
            draw_at: required_time("draw_at", input.draw_at.as_deref(), &mut faults),
            closes_at: checked_time("closes_at", input.closes_at.as_deref(), &mut faults),
            method: checked_word("method", input.method.as_deref(), METHODS, &mut faults),
            mode: match input.mode.as_deref() {
                None => PaceMode::Auto,
                Some(mode) => PaceMode::parse_setting(mode, &mut faults).unwrap_or(PaceMode::Auto),
            },
            per_s: check_per_s(input.per_s.unwrap_or(500.0), &mut faults),
            max_inside: checked_number(
                "max_inside",
                input.max_inside,
                5000,
                1,
                10_000_000,
                &mut faults,
            ),
            p99_ms: checked_number("p99_ms", input.p99_ms, 300, 1, 60_000, &mut faults),
            pass_s: checked_number("pass_s", input.pass_s, 600, 10, 86_400, &mut faults),
            claim_s: checked_number("claim_s", input.claim_s, 120, 5, 86_400, &mut faults),
            away_s: checked_number("away_s", input.away_s, AWAY_S, 10, 86_400, &mut faults),
            pass_idle_s: checked_number(
                "pass_idle_s",
                input.pass_idle_s,
                PASS_IDLE_S,
                10,
                86_400,
                &mut faults,
            ),
            lapses_max: checked_number(
                "lapses_max",
                input.lapses_max,
                LAPSES_MAX,
                1,
                1_000,
                &mut faults,
            ),
            challenge: ChallengePolicy::parse_setting(input.challenge.as_deref(), &mut faults),
            per_network: input.per_network.unwrap_or_default().checked(&mut faults),
            codes: checked_word("codes", input.codes.as_deref(), CODES, &mut faults),
            message: checked_text("message", input.message, false, 1000, &mut faults),
        };
        document.check_time_order(&mut faults);
        faults.into_result()?;
        Ok(document)
    }

    fn check_time_order(&self, faults: &mut RoomInputFaults) {
        // A time that could not be read is 0 and has already been reported.
        if self.opens_at != 0 && self.draw_at != 0 && self.draw_at < self.opens_at {
            faults.note_bad_value("draw_at", "is before opens_at");
        }
        if self.draw_at != 0 && self.closes_at.is_some_and(|closes| closes <= self.draw_at) {
            faults.note_bad_value("closes_at", "is not after draw_at");
        }
    }

    /// Checks that a document does not give its room an end that has passed, because the room would
    /// be over at once and for good. The end may have passed if it is the end of `before`, the
    /// document in force, so that a file can be applied again after its room has closed.
    ///
    /// # Errors
    /// Names `closes_at`.
    pub fn check_new_end(&self, before: &Self, now: i64) -> Result<(), RoomInputRefusal> {
        let mut faults = RoomInputFaults::default();
        let is_new = self.closes_at != before.closes_at;
        if is_new && self.closes_at.is_some_and(|closes| closes <= now) {
            faults.note_bad_value("closes_at", PASSED_END);
        }
        faults.into_result()
    }

    /// Returns the names of the fields that affect the draw and that a new document would change.
    /// These fields are fixed from the first join on. A later `draw_at` is a postponement, which is
    /// public and logged. So `draw_at` is named only if the new time is earlier.
    #[must_use]
    pub fn draw_changes(&self, new: &Self) -> Vec<&'static str> {
        let mut changed = Vec::new();
        if self.method != new.method {
            changed.push("method");
        }
        if self.codes != new.codes {
            changed.push("codes");
        }
        if self.method == LineMethod::Draw && self.shows != new.shows {
            changed.push("shows");
        }
        if self.method == LineMethod::Draw && new.draw_at < self.draw_at {
            changed.push("draw_at");
        }
        changed
    }
}

fn check_id(room: &str, id: Option<&str>, faults: &mut RoomInputFaults) {
    if !is_slug(room) {
        faults.note_bad_value(
            "id",
            "a room's id is 1 to 64 of a–z, 0–9, \"-\" and \"_\", beginning with a letter or digit",
        );
    }
    if id.is_some_and(|id| id != room) {
        faults.note_bad_value(
            "id",
            format!("differs from the address, which says \"{room}\""),
        );
    }
}

fn refuse_unbuilt(input: &RoomDocumentInput, faults: &mut RoomInputFaults) {
    let mut check_setting = |field: &str,
                             value: &Option<String>,
                             built: &str,
                             unbuilt: &[&str],
                             advice: &str| {
        let Some(value) = value.as_deref().filter(|value| *value != built) else {
            return;
        };
        if unbuilt.contains(&value) {
            faults.note_unbuilt_value(field, format!("\"{value}\" is not available yet; {advice}"));
        } else {
            faults.note_bad_value(
                field,
                format!("\"{value}\" is not one of {built}, {}", unbuilt.join(", ")),
            );
        }
    };
    check_setting(
        "binding",
        &input.binding,
        "cookie",
        &["device"],
        "leave it out or say \"cookie\"",
    );
    check_setting(
        "beacon",
        &input.beacon,
        "none",
        &["drand"],
        "leave it out or say \"none\"",
    );
    if input.lane.as_ref().is_some_and(|lanes| !lanes.is_empty()) {
        faults.note_unbuilt_value("lane", lanes::REFUSED_IN_DOCUMENT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(text: &str) -> RoomDocumentInput {
        serde_json::from_str(text).expect("the test's own document parses")
    }

    const GOOD: &str = r#"{"title":"N","shows":["n-1"],"opens_at":"2027-01-10T09:00:00+01:00","draw_at":"2027-01-10T10:00:00+01:00"}"#;

    #[test]
    fn a_document_with_only_the_required_fields_gets_every_default() {
        let document = RoomDocument::from_input("demo", input(GOOD)).expect("good");
        assert_eq!(
            document,
            RoomDocument {
                title: "N".into(),
                shows: vec!["n-1".into()],
                opens_at: 1_799_568_000_000,
                draw_at: 1_799_571_600_000,
                method: LineMethod::Draw,
                pass_idle_s: 120,
                lapses_max: 2,
                ..RoomDocument::everyday()
            }
        );
    }

    #[test]
    fn all_bad_values_are_reported_at_once() {
        let bad = input(
            r#"{"shows":["a*","a-1"],"opens_at":"soon","per_s":0,"max_inside":-1,"method":"lottery","mode":"slow"}"#,
        );
        let refused = RoomDocument::from_input("Demo!", bad).expect_err("bad");
        let fields: Vec<_> = refused.bad.into_iter().map(|(field, _)| field).collect();
        for field in [
            "id",
            "title",
            "shows[1]",
            "opens_at",
            "draw_at",
            "per_s",
            "max_inside",
            "method",
            "mode",
        ] {
            assert!(fields.iter().any(|f| f == field), "{field} in {fields:?}");
        }
    }

    #[test]
    fn a_new_end_must_be_in_the_future_and_an_old_one_may_have_passed() {
        let ending = |closes_at| RoomDocument {
            closes_at,
            ..RoomDocument::everyday()
        };
        for (before, after, is_accepted) in [
            (None, Some(101), true),
            (None, Some(100), false),
            (Some(200), Some(99), false),
            (Some(50), Some(99), false),
            (Some(99), Some(99), true),
            (Some(200), None, true),
        ] {
            let checked = ending(after).check_new_end(&ending(before), 100);
            assert_eq!(checked.is_ok(), is_accepted, "{before:?} to {after:?}");
            let named = checked.err().map(|refusal| refusal.bad[0].0.clone());
            assert!(named.is_none_or(|field| field == "closes_at"));
        }
    }

    #[test]
    fn a_setting_that_is_not_built_may_be_sent_with_its_default() {
        let text = GOOD.replacen('{', r#"{"binding":"cookie","beacon":"none","#, 1);
        assert!(RoomDocument::from_input("demo", input(&text)).is_ok());
    }

    #[test]
    fn a_setting_that_is_not_built_is_refused_by_name() {
        for (field, setting) in [
            ("binding", r#""device""#),
            ("beacon", r#""drand""#),
            ("lane", r#"[{"id":"m"}]"#),
        ] {
            let text = GOOD.replacen('{', &format!(r#"{{"{field}":{setting},"#), 1);
            let refused = RoomDocument::from_input("demo", input(&text)).expect_err("not built");
            let fields = refused.unbuilt.iter();
            let fields: Vec<_> = fields.map(|(field, _)| field.as_str()).collect();
            assert_eq!((refused.bad.len(), fields), (0, vec![field]));
        }
    }
}
