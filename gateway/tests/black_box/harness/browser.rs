//! Drives chromium over its own protocol. Each person has a fresh profile, and every complaint of
//! the console is recorded.

use parking_lot::Mutex;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use chromiumoxide::browser::{Browser as Chromium, BrowserConfig};
use chromiumoxide::cdp::browser_protocol::emulation::{
    MediaFeature, SetCpuThrottlingRateParams, SetDeviceMetricsOverrideParams,
    SetDocumentCookieDisabledParams, SetEmulatedMediaParams, SetScriptExecutionDisabledParams,
    SetTimezoneOverrideParams, SetTouchEmulationEnabledParams,
};
use chromiumoxide::cdp::browser_protocol::input::{
    DispatchKeyEventParams, DispatchKeyEventType, DispatchTouchEventParams,
    DispatchTouchEventReturns, DispatchTouchEventType, TouchPoint,
};
use chromiumoxide::cdp::browser_protocol::log::{EventEntryAdded, LogEntryLevel};
use chromiumoxide::cdp::browser_protocol::page::{CaptureScreenshotFormat, PrintToPdfParams};
use chromiumoxide::cdp::browser_protocol::target::SetAutoAttachParams;
use chromiumoxide::cdp::js_protocol::runtime::{
    ConsoleApiCalledType, EventConsoleApiCalled, EventExceptionThrown,
};
use chromiumoxide::page::ScreenshotParams;
use chromiumoxide::{Element, Page};
use futures_util::StreamExt;
use serde::de::DeserializeOwned;
use tempfile::TempDir;

use super::{PATIENCE, until, within};

/// The size of a desktop's window.
pub const DESKTOP: (i64, i64) = (1280, 900);
/// The size of a phone's window.
pub const PHONE: (i64, i64) = (390, 844);
/// The size of the narrowest window that pages are made for.
pub const NARROW: (i64, i64) = (320, 640);

/// The script that brings an element into view. It returns whether the element stands still and a
/// click on its middle will hit the element itself.
const STANDS_STILL: &str = "async function() {
    if (!this.isConnected || this.disabled) return false;
    this.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' });
    const box = () => { const { x, y, width, height } = this.getBoundingClientRect(); return [x, y, width, height]; };
    const before = box().join();
    for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame);
    const [x, y, width, height] = box();
    const hit = document.elementFromPoint(x + width / 2, y + height / 2);
    return before === box().join() && hit !== null && this.contains(hit);
}";

/// The bit of a key event that says that Shift is down.
const SHIFT: i64 = 8;

/// The code of the Tab key.
const TAB: i64 = 9;

/// The beginning of the description of each page of a PDF. The description of all pages together
/// begins with the same bytes, and then has an `s`.
const PDF_PAGE: &[u8] = b"/Type /Page";

/// One person's browser. It has one tab until [`Self::open_tab`] opens another one.
pub struct Browser {
    /// The tab that all calls use.
    pub(super) page: Page,
    /// The tab behind it, if there are two.
    pub(super) behind: Option<Page>,
    complaints: Arc<Mutex<Vec<String>>>,
    pub(super) chromium: Chromium,
    /// Whether pages run their scripts in this browser.
    pub(super) has_scripts: bool,
    _profile: TempDir,
}

impl Browser {
    /// Opens a browser with a fresh profile. Returns `None`, with a message, if there is no
    /// Chromium and tests may be skipped.
    pub async fn open() -> Option<Self> {
        Self::start(true).await
    }

    /// Opens a browser in this time zone.
    pub async fn in_zone(zone: &str) -> Option<Self> {
        let browser = Self::open().await?;
        let clocks = SetTimezoneOverrideParams::new(zone);
        browser.page.execute(clocks).await.expect("a known zone");
        Some(browser)
    }

    /// Opens a browser with scripts turned off.
    pub async fn without_scripts() -> Option<Self> {
        Self::start(false).await
    }

    async fn start(scripts: bool) -> Option<Self> {
        let program = fairgate_servers::chromium_for("what a browser shows")?;
        let profile = tempfile::tempdir().expect("a folder for the profile");
        let config = BrowserConfig::builder()
            .chrome_executable(program)
            .user_data_dir(profile.path())
            .new_headless_mode()
            .no_sandbox()
            .viewport(None)
            .window_size(DESKTOP.0 as u32, DESKTOP.1 as u32)
            .launch_timeout(PATIENCE)
            .args([
                "disable-gpu",
                "disable-quic",
                "disable-component-update",
                "disable-extensions",
            ])
            .build()
            .expect("a configuration");
        let (chromium, mut events) = Chromium::launch(config).await.expect("chromium starts");
        // Events that this library does not know do not matter. The loop ends with the browser.
        tokio::spawn(async move { while events.next().await.is_some() {} });
        let page = chromium.new_page("about:blank").await.expect("a tab");
        let browser = Self {
            page,
            behind: None,
            complaints: Arc::default(),
            chromium,
            has_scripts: scripts,
            _profile: profile,
        };
        browser.prepare_tab().await;
        if !scripts {
            browser
                .page
                .execute(SetScriptExecutionDisabledParams::new(true))
                .await
                .expect("scripts can be turned off");
        }
        Some(browser)
    }

    /// Makes the tab ready for calls.
    pub(super) async fn prepare_tab(&self) {
        self.listen().await;
        self.let_workers_start().await;
        self.resize(DESKTOP, false).await;
    }

    /// Lets service workers start at once. The library makes each of them wait for a debugger, and
    /// does not let all of them go on.
    async fn let_workers_start(&self) {
        let attach = SetAutoAttachParams::builder()
            .flatten(true)
            .auto_attach(true)
            .wait_for_debugger_on_start(false);
        let attach = attach.build().expect("a complete call");
        self.page.execute(attach).await.expect("workers may start");
    }

    /// Records what the console reports as wrong: exceptions, errors, warnings, and broken
    /// policies.
    async fn listen(&self) {
        self.page.enable_log().await.expect("a log");
        self.page.enable_runtime().await.expect("a runtime");
        let mut entries = self
            .page
            .event_listener::<EventEntryAdded>()
            .await
            .expect("log entries");
        let mut thrown = self
            .page
            .event_listener::<EventExceptionThrown>()
            .await
            .expect("exceptions");
        let mut called = self
            .page
            .event_listener::<EventConsoleApiCalled>()
            .await
            .expect("console calls");
        let kept = Arc::clone(&self.complaints);
        tokio::spawn(async move {
            loop {
                let complaint = tokio::select! {
                    Some(entry) = entries.next() => {
                        let entry = &entry.entry;
                        let url = entry.url.as_deref().unwrap_or_default();
                        // The page handles a refused call, so the refusal is no fault of the page.
                        let is_answer = (url.contains("/v1/") && entry.text.contains("status of 4"))
                            || entry.text.contains("HTTP Authentication failed");
                        (entry.level == LogEntryLevel::Error && !is_answer).then(|| format!("{} ({url})", entry.text))
                    }
                    Some(thrown) = thrown.next() => Some(format!("{:?}", thrown.exception_details.exception)),
                    Some(called) = called.next() => {
                        let bad = matches!(called.r#type, ConsoleApiCalledType::Error | ConsoleApiCalledType::Warning);
                        bad.then(|| format!("{:?}", called.args))
                    }
                    else => break,
                };
                kept.lock().extend(complaint);
            }
        });
    }

    /// Goes to an address.
    pub async fn go(&self, address: &str) {
        self.page.goto(address).await.expect("the page loads");
    }

    /// Goes to an address that may not answer, and returns whether it did.
    pub async fn reaches(&self, address: &str) -> bool {
        self.page.goto(address).await.is_ok()
    }

    /// Turns cookies off for scripts. `navigator.cookieEnabled` is false from then on.
    pub async fn block_cookies(&self) {
        let blocked = SetDocumentCookieDisabledParams::new(true);
        let set = self.page.execute(blocked).await;
        set.expect("cookies may be off");
    }

    /// Shows the page as it is printed for a reader who prefers dark pages.
    pub async fn like_a_dark_print(&self) {
        let dark = MediaFeature::new("prefers-color-scheme", "dark");
        let media = SetEmulatedMediaParams::builder()
            .media("print")
            .feature(dark);
        let set = self.page.execute(media.build()).await;
        set.expect("a known medium");
    }

    /// Shows pages as they look for a reader who prefers dark pages, or light ones.
    pub async fn prefer_dark(&self, dark: bool) {
        let scheme = if dark { "dark" } else { "light" };
        let media = SetEmulatedMediaParams::builder()
            .feature(MediaFeature::new("prefers-color-scheme", scheme));
        let set = self.page.execute(media.build()).await;
        set.expect("a known scheme");
    }

    /// Shows pages in the few colours that the reader's system forces, and without motion.
    pub async fn force_colours(&self) {
        let media = SetEmulatedMediaParams::builder()
            .feature(MediaFeature::new("forced-colors", "active"))
            .feature(MediaFeature::new("prefers-reduced-motion", "reduce"));
        let set = self.page.execute(media.build()).await;
        set.expect("known features");
    }

    /// Doubles the size of the page's text in a phone's window. The page must not scroll sideways
    /// there.
    ///
    /// # Panics
    /// If the page stays wider than the window.
    pub async fn fits_with_large_text(&self, what: &str) {
        self.resize(PHONE, true).await;
        self.run("document.documentElement.style.fontSize = '200%'; undefined")
            .await;
        // Lists the elements that are too wide, or that have a word that is too wide. No picture is
        // kept, so the message has to name them.
        let wide = format!(
            "document.documentElement.scrollWidth <= {0} ? 'nothing' : [...document.querySelectorAll('body *')].filter((one) => one.getBoundingClientRect().right + Math.max(0, one.scrollWidth - one.clientWidth) > {0} + 1).map((one) => one.outerHTML.slice(0, 120)).join('\\n')",
            PHONE.0
        );
        let found = within(Duration::from_secs(10), async || {
            let found = self.worth::<String>(&wide).await?;
            (found == "nothing").then_some(())
        })
        .await;
        if found.is_none() {
            let found: String = self.until(&wide).await;
            panic!("{what} does not fit with large text:\n{found}");
        }
        self.run("document.documentElement.style.fontSize = ''; undefined")
            .await;
    }

    /// Prints the page on sheets of this width and height in inches. Returns how many there are.
    pub async fn sheets(&self, (width, height): (f64, f64)) -> usize {
        let paper = PrintToPdfParams::builder()
            .paper_width(width)
            .paper_height(height)
            .print_background(true);
        let pdf = self.page.pdf(paper.build()).await.expect("a print");
        let pages = pdf.windows(PDF_PAGE.len() + 1);
        pages
            .filter(|bytes| bytes.starts_with(PDF_PAGE) && !bytes.ends_with(b"s"))
            .count()
    }

    /// Evaluates an expression in the page until its value counts as true in JavaScript. Returns
    /// that value.
    ///
    /// # Panics
    /// If the deadline passes. The message shows the page's text.
    pub async fn until<T: DeserializeOwned>(&self, expression: &str) -> T {
        match within(PATIENCE, async || self.worth(expression).await).await {
            Some(worth) => worth,
            None => {
                let said: Option<String> = self
                    .worth("location.href + '\\n' + document.body.innerText")
                    .await;
                panic!(
                    "not within {PATIENCE:?} in the page: {expression}\ncomplaints: {:?}\nthe page: {}",
                    self.complaints(),
                    said.as_deref().unwrap_or("does not answer")
                );
            }
        }
    }

    pub(super) async fn worth<T: DeserializeOwned>(&self, expression: &str) -> Option<T> {
        let asked = format!(
            "(() => {{ try {{ return ({expression}) || null }} catch {{ return null }} }})()"
        );
        // While a page is being replaced, no page answers.
        let answer =
            tokio::time::timeout(Duration::from_secs(5), self.page.evaluate(asked.as_str())).await;
        answer.ok()?.ok()?.into_value::<Option<T>>().ok()?
    }

    /// Opens a page in another tab of this browser, evaluates an expression there until its value
    /// counts as true, and closes the tab.
    pub async fn in_other_tab(&self, address: &str, expression: &str) {
        let tab = self.chromium.new_page(address).await.expect("a tab");
        until(&format!("{expression} in another tab"), async || {
            let answer = tab.evaluate(expression).await.ok()?;
            answer.into_value::<bool>().ok()?.then_some(())
        })
        .await;
        tab.close().await.expect("the tab closes");
    }

    /// Runs a script in the page once.
    pub async fn run(&self, script: &str) {
        self.page.evaluate(script).await.expect("the script runs");
    }

    /// Runs a script in each page that is opened from now on, before the page's own scripts.
    pub async fn run_first(&self, script: &str) {
        self.page
            .evaluate_on_new_document(script)
            .await
            .expect("a script for later pages");
    }

    /// Clicks an element with the mouse as soon as a person could: it is enabled, stands still, and
    /// nothing lies over it.
    pub async fn click(&self, selector: &str) {
        until(&format!("{selector} can be clicked"), async || {
            let element = self.page.find_element(selector).await.ok()?;
            let ready = element.call_js_fn(STANDS_STILL, true).await.ok()?;
            if ready.result.value != Some(true.into()) {
                return None;
            }
            let middle = element.clickable_point().await.ok()?;
            self.page.click(middle).await.ok().map(drop)
        })
        .await;
    }

    /// Presses a key, such as `Tab`, on whatever has the focus.
    pub async fn press_key(&self, key: &str) {
        self.typing(async |page| page.press_key(key).await.map(drop))
            .await;
    }

    /// Presses Tab while Shift is down, which moves the focus back.
    pub async fn press_shift_tab(&self) {
        for kind in [
            DispatchKeyEventType::RawKeyDown,
            DispatchKeyEventType::KeyUp,
        ] {
            let mut event = DispatchKeyEventParams::new(kind);
            event.modifiers = Some(SHIFT);
            event.key = Some("Tab".to_owned());
            event.code = Some("Tab".to_owned());
            event.windows_virtual_key_code = Some(TAB);
            self.page.execute(event).await.expect("a key");
        }
    }

    /// Types into whatever has the focus.
    pub async fn type_text(&self, text: &str) {
        self.typing(async |page| page.type_str(text).await.map(drop))
            .await;
    }

    /// Sends keys through the page's body, as soon as the page is there.
    async fn typing(&self, send: impl AsyncFnOnce(&Element) -> chromiumoxide::error::Result<()>) {
        let body = until("the page is there", async || {
            self.page.find_element("body").await.ok()
        });
        send(&body.await).await.expect("a key");
    }

    /// Clicks a point of the window.
    pub async fn click_at(&self, (x, y): (f64, f64)) {
        self.page
            .click(chromiumoxide::layout::Point { x, y })
            .await
            .expect("a click");
    }

    /// Gives the window a phone's size and a touch screen.
    pub async fn become_phone(&self) {
        self.resize(PHONE, true).await;
        self.page
            .execute(SetTouchEmulationEnabledParams::new(true))
            .await
            .expect("a touch screen");
    }

    /// Makes the page's processor slower by this factor.
    pub async fn slow_down(&self, factor: f64) {
        self.page
            .execute(SetCpuThrottlingRateParams::new(factor))
            .await
            .expect("a slower processor");
    }

    /// Touches a point of the window with a finger, moves it along `moves`, and lifts it there.
    pub async fn touch(&self, at: (f64, f64), moves: &[(f64, f64)]) {
        let send = async |kind: DispatchTouchEventType, points: Vec<(f64, f64)>| {
            let points = points.into_iter().map(|(x, y)| TouchPoint::new(x, y));
            self.page
                .execute(DispatchTouchEventParams::new(
                    kind,
                    points.collect::<Vec<_>>(),
                ))
                .await
                .expect("a touch");
        };
        send(DispatchTouchEventType::TouchStart, vec![at]).await;
        for to in moves {
            send(DispatchTouchEventType::TouchMove, vec![*to]).await;
        }
        self.page
            .execute(TouchEnd::NEW)
            .await
            .expect("a lifted finger");
    }

    /// Types into a field.
    pub async fn fill(&self, selector: &str, text: &str) {
        let field = self.page.find_element(selector).await.expect("a field");
        field
            .click()
            .await
            .expect("a click")
            .type_str(text)
            .await
            .expect("typing");
    }

    /// Returns the console's complaints so far.
    pub fn complaints(&self) -> Vec<String> {
        self.complaints.lock().clone()
    }

    /// Waits until the page fits the narrowest phone. It must not scroll sideways there.
    ///
    /// # Panics
    /// If the page stays wider than the window.
    pub async fn fits(&self, what: &str) {
        self.resize(NARROW, true).await;
        until(&format!("{what} fits {} pixels", NARROW.0), async || {
            let metrics = self.page.layout_metrics().await.ok()?;
            (metrics.css_content_size.width <= NARROW.0 as f64).then_some(())
        })
        .await;
    }

    /// Checks that everybody can read the page (see `readable.rs`). Where `FAIRGATE_PICTURES` names
    /// a folder, takes pictures of the whole page in the narrowest window, in a phone's window and
    /// in a desktop's window. Afterwards the window is a desktop's.
    ///
    /// # Panics
    /// If the page is wider than the narrowest window, or cannot be read.
    pub async fn picture(&self, name: &str) {
        self.fits(name).await;
        self.is_readable(name).await;
        if let Some(folder) = pictures() {
            for (window, device) in [(NARROW, "narrow"), (PHONE, "phone")] {
                self.resize(window, true).await;
                self.shoot(&folder.join(format!("{name}-{device}.png")))
                    .await;
            }
        }
        self.picture_of_window(&format!("{name}-desktop")).await;
    }

    /// Gives the page a desktop's window, and takes a picture where pictures are wanted. Nothing is
    /// checked, so this suits a page as it is printed.
    pub async fn picture_of_window(&self, name: &str) {
        self.resize(DESKTOP, false).await;
        if let Some(folder) = pictures() {
            self.shoot(&folder.join(format!("{name}.png"))).await;
        }
    }

    async fn shoot(&self, path: &Path) {
        let wanted = ScreenshotParams::builder()
            .format(CaptureScreenshotFormat::Png)
            .full_page(true)
            .build();
        let picture = self.page.screenshot(wanted).await.expect("a picture");
        std::fs::write(path, picture).expect("a written picture");
    }

    pub(super) async fn resize(&self, (width, height): (i64, i64), mobile: bool) {
        let window = SetDeviceMetricsOverrideParams::new(width, height, 1.0, mobile);
        self.page
            .execute(window)
            .await
            .expect("a window of that size");
    }

    /// Ends the browser, and returns its console's complaints.
    pub async fn end(mut self) -> Vec<String> {
        let complaints = self.complaints();
        self.chromium.close().await.expect("the browser closes");
        self.chromium.wait().await.expect("the browser ends");
        complaints
    }

    /// Ends the browser.
    ///
    /// # Panics
    /// If its console complained of anything.
    pub async fn close(self, whose: &str) {
        let complaints = self.end().await;
        assert!(complaints.is_empty(), "{whose}'s console: {complaints:#?}");
    }
}

/// Returns the folder for pictures, which `FAIRGATE_PICTURES` names. `None` if nobody wants
/// pictures, which take long to make.
fn pictures() -> Option<PathBuf> {
    let folder = std::env::var_os("FAIRGATE_PICTURES").map(PathBuf::from)?;
    std::fs::create_dir_all(&folder).expect("a folder for pictures");
    Some(folder)
}

/// The call that lifts the finger. Chromium requires the list of points, but the crate leaves out
/// an empty list.
#[derive(Debug, serde::Serialize)]
struct TouchEnd {
    r#type: &'static str,
    #[serde(rename = "touchPoints")]
    points: [(); 0],
}

impl TouchEnd {
    const NEW: Self = Self {
        r#type: "touchEnd",
        points: [],
    };
}

impl chromiumoxide::Method for TouchEnd {
    fn identifier(&self) -> chromiumoxide::types::MethodId {
        DispatchTouchEventParams::IDENTIFIER.into()
    }
}

impl chromiumoxide::Command for TouchEnd {
    type Response = DispatchTouchEventReturns;
}
