//! Checks that a page can be read and used by people with low sight or without a mouse. At 400 %
//! zoom a desktop's window is 320 × 256 pixels. Nothing may be cut off there, and nothing may stay
//! in front of the page. Where `AXE_SCRIPT` names axe's script, axe must find nothing in each
//! window and with large text. axe is a script of another project, which `./test prove` fetches.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use super::browser::{DESKTOP, NARROW, PHONE};
use super::{Browser, within};

/// The size of a desktop's window at 400 % zoom.
const ZOOMED: (i64, i64) = (320, 256);

/// Returns what a reader at 400 % zoom cannot see: parts that are wider than the window, parts
/// whose content is cut off, and parts that stay in front of more than a third of the window.
const HIDDEN: &str = "[
    ...(document.documentElement.scrollWidth > innerWidth ? ['the page is wider than the window'] : []),
    ...[...document.querySelectorAll('main *')].filter((one) => one.checkVisibility() && !one.closest('.map-frame, .hidden-text, svg')).flatMap((one) => {
        const { overflowX, overflowY, position } = getComputedStyle(one);
        const isCut = (overflowY === 'hidden' && one.scrollHeight > one.clientHeight + 2) || (overflowX === 'hidden' && one.scrollWidth > one.clientWidth + 2);
        const isInFront = (position === 'fixed' || position === 'sticky') && one.getBoundingClientRect().height > innerHeight / 3;
        return isCut ? ['cut off: ' + one.outerHTML.slice(0, 120)] : isInFront ? ['in front of the page: ' + one.outerHTML.slice(0, 120)] : [];
    }),
].join('\\n') || 'nothing'";

/// Runs axe on the page as it is.
const CHECK: &str = "window.axeFound = undefined;
    axe.run(document).then((found) => {
        const violated = found.violations.map((one) => one.id + ': ' + one.nodes[0].html);
        window.axeFound = JSON.stringify({ passed: found.passes.length, violated });
    });
    undefined";

/// What axe found in one page.
pub struct AxeResult {
    /// How many rules passed.
    pub passed: u64,
    /// The violated rules, each with the first element that violates it.
    pub violated: Vec<String>,
}

impl Browser {
    /// Checks that the page hides nothing at 400 % zoom, and that axe finds nothing in any window.
    /// A browser without scripts is not checked.
    ///
    /// # Panics
    /// If something is hidden, or axe finds something.
    pub(super) async fn is_readable(&self, what: &str) {
        if !self.has_scripts {
            return;
        }
        self.resize(ZOOMED, false).await;
        // Parts that are drawn by a script follow the window a moment later.
        let is_seen = format!("({HIDDEN}) === 'nothing'");
        let seen = within(Duration::from_secs(10), async || {
            self.worth::<bool>(&is_seen).await
        });
        if seen.await.is_none() {
            let hidden: String = self.until(HIDDEN).await;
            panic!("{what} at 400 % zoom: {hidden}");
        }
        let Some(script) = std::env::var_os("AXE_SCRIPT").map(PathBuf::from) else {
            return;
        };
        let script = std::fs::read_to_string(script).expect("axe's script");
        let mut violated = Vec::new();
        for (window, text) in [
            (ZOOMED, "100%"),
            (NARROW, "100%"),
            (PHONE, "100%"),
            (PHONE, "200%"),
            (DESKTOP, "100%"),
        ] {
            self.resize(window, window == PHONE || window == NARROW)
                .await;
            self.run(&format!(
                "document.documentElement.style.fontSize = '{text}'; undefined"
            ))
            .await;
            let found = self.axe(&script).await.violated.into_iter();
            violated.extend(found.map(|one| format!("{what}, {window:?}, text {text}: {one}")));
        }
        self.run("document.documentElement.style.fontSize = ''; undefined")
            .await;
        assert!(violated.is_empty(), "axe: {violated:#?}");
    }

    /// Runs axe, whose script is given, on the page as it is.
    pub async fn axe(&self, script: &str) -> AxeResult {
        self.run(script).await;
        self.run(CHECK).await;
        let found: String = self.until("window.axeFound").await;
        let found: Value = serde_json::from_str(&found).expect("what axe found");
        let violated = found["violated"].as_array().expect("a list").iter();
        AxeResult {
            passed: found["passed"].as_u64().expect("a count"),
            violated: violated.map(Value::to_string).collect(),
        }
    }
}
