//! Drives Firefox over WebDriver BiDi, and WebKit over WebDriver. Both come from Debian's packages.
//! Tests click and type in them as a person would.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::sync::Mutex;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use super::{PATIENCE, free_port, until, within};

const FIREFOX: &str = "/usr/bin/firefox-esr";
const WEBKIT_DRIVER: &str = "/usr/bin/WebKitWebDriver";
const SCREEN: &str = "/usr/bin/Xvfb";
/// The longest wait for the answer to one command.
const ANSWERED_WITHIN: Duration = Duration::from_secs(30);

/// Brings an element into view. Returns its middle if a click there will hit the element. The page
/// may move before the click, so `window.hasHit` records whether the click has hit it.
const MIDDLE: &str = "async (selector) => {
    const element = document.querySelector(selector);
    if (!element || element.disabled) return null;
    element.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' });
    const box = () => { const { x, y, width, height } = element.getBoundingClientRect(); return [x, y, width, height]; };
    const before = box().join();
    await new Promise((done) => setTimeout(done, 50));
    const [x, y, width, height] = box();
    const hit = document.elementFromPoint(x + width / 2, y + height / 2);
    window.hasHit = false;
    element.addEventListener('click', () => { window.hasHit = true; }, { once: true, capture: true });
    return before === box().join() && hit !== null && element.contains(hit) ? [Math.round(x + width / 2), Math.round(y + height / 2)] : null;
}";

/// A browser that is not Chromium, with one tab.
pub struct OtherBrowser {
    /// The browser's name, for messages.
    pub name: &'static str,
    driver: Driver,
    _profile: TempDir,
    // The processes are killed when this value is dropped.
    _processes: Vec<Child>,
}

enum Driver {
    Bidi(Box<Mutex<BidiTab>>),
    Classic(ClassicTab),
}

/// One tab over WebDriver BiDi (<https://w3c.github.io/webdriver-bidi/>).
struct BidiTab {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    context: String,
    last_id: u64,
    complaints: Vec<String>,
}

/// One tab over WebDriver (<https://www.w3.org/TR/webdriver2/>).
struct ClassicTab {
    http: reqwest::Client,
    session: String,
}

impl OtherBrowser {
    /// Opens Firefox with a fresh profile. Returns `None`, with a message, if there is none.
    pub async fn firefox() -> Option<Self> {
        if is_missing("firefox-esr", &[FIREFOX]) {
            return None;
        }
        let profile = tempfile::tempdir().expect("a folder for the profile");
        let mut process = Command::new(FIREFOX)
            .args([
                "--headless",
                "--no-remote",
                "--remote-debugging-port",
                "0",
                "--profile",
            ])
            .arg(profile.path())
            .env("HOME", profile.path())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("firefox starts");
        let mut lines = BufReader::new(process.stderr.take().expect("it is piped")).lines();
        let address = loop {
            let line = tokio::time::timeout(PATIENCE, lines.next_line()).await;
            let line = line.expect("firefox says its address in time");
            let line = line.expect("readable").expect("firefox lives");
            if let Some((_, address)) = line.split_once("BiDi listening on ") {
                break address.trim().to_owned();
            }
        };
        // If nobody read the rest, the pipe would fill up and the browser would stop.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        let (socket, _) = connect_async(format!("{address}/session"))
            .await
            .expect("firefox takes a session");
        let mut tab = BidiTab {
            socket,
            context: String::new(),
            last_id: 0,
            complaints: Vec::new(),
        };
        tab.send("session.new", json!({"capabilities": {}})).await;
        let events = json!({"events": ["log.entryAdded"]});
        tab.send("session.subscribe", events).await;
        let tree = tab.send("browsingContext.getTree", json!({})).await;
        tab.context = text_at(&tree, "/contexts/0/context");
        Some(Self {
            name: "firefox",
            driver: Driver::Bidi(Box::new(Mutex::new(tab))),
            _profile: profile,
            _processes: vec![process],
        })
    }

    /// Opens WebKit on a screen of its own. Returns `None`, with a message, if there is none.
    pub async fn webkit() -> Option<Self> {
        if is_missing("webkit2gtk-driver and xvfb", &[WEBKIT_DRIVER, SCREEN]) {
            return None;
        }
        let profile = tempfile::tempdir().expect("a folder for the profile");
        let (screen, display) = open_screen().await;
        let port = free_port().expect("a free port");
        let driver = Command::new(WEBKIT_DRIVER)
            .arg(format!("--port={port}"))
            .env("DISPLAY", display)
            .env("HOME", profile.path())
            .env("XDG_RUNTIME_DIR", profile.path())
            .env("LIBGL_ALWAYS_SOFTWARE", "1")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("the driver starts");
        let http = reqwest::Client::new();
        let base = format!("http://127.0.0.1:{port}/session");
        let session = until("the driver gives a session", async || {
            let asked = http
                .post(&base)
                .json(&json!({"capabilities": {"alwaysMatch": {}}}));
            let answer: Value = asked.send().await.ok()?.json().await.ok()?;
            answer["value"]["sessionId"].as_str().map(str::to_owned)
        })
        .await;
        Some(Self {
            name: "webkit",
            driver: Driver::Classic(ClassicTab {
                http,
                session: format!("{base}/{session}"),
            }),
            _profile: profile,
            _processes: vec![driver, screen],
        })
    }

    /// Goes to an address.
    pub async fn go(&self, address: &str) {
        match &self.driver {
            Driver::Bidi(tab) => {
                let mut tab = tab.lock().await;
                let to = json!({"context": tab.context, "url": address, "wait": "complete"});
                tab.send("browsingContext.navigate", to).await;
            }
            Driver::Classic(tab) => {
                tab.post("url", json!({"url": address})).await;
            }
        }
    }

    /// Evaluates an expression in the page until its value counts as true in JavaScript. Returns
    /// that value.
    ///
    /// # Panics
    /// If the deadline passes. The message shows the page's text.
    pub async fn until<T: DeserializeOwned>(&self, expression: &str) -> T {
        let asked = format!("try {{ return ({expression}) || null }} catch {{ return null }}");
        let worth = async || serde_json::from_value::<Option<T>>(self.eval(&asked).await?).ok()?;
        if let Some(worth) = within(PATIENCE, worth).await {
            return worth;
        }
        let said = self
            .eval("return location.href + '\\n' + document.body.innerText")
            .await;
        panic!(
            "not within {PATIENCE:?} in {}: {expression}\nthe page: {}",
            self.name,
            said.unwrap_or_default().as_str().unwrap_or_default()
        );
    }

    /// Runs the body of an asynchronous function in the page. Returns `None` while no page answers.
    async fn eval(&self, body: &str) -> Option<Value> {
        match &self.driver {
            Driver::Bidi(tab) => {
                let mut tab = tab.lock().await;
                // The value comes as JSON, because BiDi writes objects in a form of its own.
                let call = json!({
                    "expression": format!("(async () => {{ {body} }})().then((worth) => JSON.stringify(worth ?? null))"),
                    "target": {"context": tab.context}, "awaitPromise": true,
                });
                let answer = tab.try_send("script.evaluate", call).await.ok()?;
                serde_json::from_str(answer["result"]["value"].as_str()?).ok()
            }
            Driver::Classic(tab) => {
                let script = format!(
                    "const done = arguments[0]; (async () => {{ {body} }})().then((worth) => done(JSON.stringify(worth ?? null)))"
                );
                let call = json!({"script": script, "args": []});
                let answer = tab.try_post("execute/async", call).await.ok()?;
                serde_json::from_str(answer.as_str()?).ok()
            }
        }
    }

    /// Clicks an element with the mouse as soon as a person could.
    pub async fn click(&self, selector: &str) {
        let body = format!("return ({MIDDLE})({})", json!(selector));
        let what = format!("{selector} is clicked in {}", self.name);
        until(&what, async || {
            let middle = serde_json::from_value::<Option<[i64; 2]>>(self.eval(&body).await?);
            let [x, y] = middle.ok()??;
            self.act(json!({"type": "pointer", "id": "mouse", "actions": [
                {"type": "pointerMove", "x": x, "y": y}, {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0},
            ]}))
            .await;
            // A page that the click has opened has no `hasHit`, and while a page is replaced,
            // nothing answers. Both count as a hit.
            let hit = self.eval("return window.hasHit !== false").await;
            (hit != Some(Value::Bool(false))).then_some(())
        })
        .await;
    }

    /// Types into a field.
    pub async fn fill(&self, selector: &str, text: &str) {
        self.click(selector).await;
        let key = |character: char| {
            let press = |kind: &str| json!({"type": kind, "value": character.to_string()});
            [press("keyDown"), press("keyUp")]
        };
        let actions: Vec<Value> = text.chars().flat_map(key).collect();
        self.act(json!({"type": "key", "id": "keyboard", "actions": actions}))
            .await;
    }

    /// Uses the mouse or the keyboard as the browser's user would.
    async fn act(&self, source: Value) {
        match &self.driver {
            Driver::Bidi(tab) => {
                let mut tab = tab.lock().await;
                let acts = json!({"context": tab.context, "actions": [source]});
                tab.send("input.performActions", acts).await;
            }
            Driver::Classic(tab) => {
                tab.post("actions", json!({"actions": [source]})).await;
            }
        }
    }

    /// Ends the browser.
    ///
    /// # Panics
    /// If its console complained of anything. WebKit's driver does not report its console.
    pub async fn close(self) {
        match self.driver {
            Driver::Bidi(tab) => {
                let tab = (*tab).into_inner();
                assert!(tab.complaints.is_empty(), "firefox: {:#?}", tab.complaints);
            }
            Driver::Classic(tab) => {
                let ended = tab.http.delete(&tab.session).send().await;
                ended.expect("the session ends");
            }
        }
    }
}

impl BidiTab {
    /// Sends a command and returns its result.
    async fn send(&mut self, method: &str, params: Value) -> Value {
        let answer = self.try_send(method, params).await;
        answer.unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    async fn try_send(&mut self, method: &str, params: Value) -> Result<Value, String> {
        self.last_id += 1;
        let id = self.last_id;
        let command = json!({"id": id, "method": method, "params": params}).to_string();
        self.socket
            .send(Message::text(command))
            .await
            .map_err(|error| error.to_string())?;
        let answered = async {
            loop {
                let message = self.socket.next().await.ok_or("the browser is gone")?;
                let message = message.map_err(|error| error.to_string())?;
                let Ok(said) = serde_json::from_slice::<Value>(&message.into_data()) else {
                    continue;
                };
                if said["method"] == "log.entryAdded" {
                    self.complaints.extend(complaint(&said["params"]));
                }
                if said["id"] == id {
                    return match said["type"] == "success" {
                        true => Ok(said["result"].clone()),
                        false => Err(said.to_string()),
                    };
                }
            }
        };
        let answer = tokio::time::timeout(ANSWERED_WITHIN, answered).await;
        answer.map_err(|_| "no answer in time".to_owned())?
    }
}

/// Returns what the console reported, if it is something wrong.
fn complaint(entry: &Value) -> Option<String> {
    let text = entry["text"].as_str().unwrap_or_default();
    let is_bad = entry["level"] == "error" || entry["type"] == "javascript";
    is_bad.then(|| text.to_owned())
}

impl ClassicTab {
    /// Makes a call and returns its value.
    async fn post(&self, path: &str, body: Value) -> Value {
        let answer = self.try_post(path, body).await;
        answer.unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    async fn try_post(&self, path: &str, body: Value) -> Result<Value, String> {
        let asked = self
            .http
            .post(format!("{}/{path}", self.session))
            .timeout(ANSWERED_WITHIN)
            .json(&body);
        let answer = asked.send().await.map_err(|error| error.to_string())?;
        let is_ok = answer.status().is_success();
        let said: Value = answer.json().await.map_err(|error| error.to_string())?;
        match is_ok {
            true => Ok(said["value"].clone()),
            false => Err(said.to_string()),
        }
    }
}

/// Opens a screen that nobody sees. Returns its process and its name.
async fn open_screen() -> (Child, String) {
    let mut screen = Command::new(SCREEN)
        .args([
            "-displayfd",
            "1",
            "-screen",
            "0",
            "1280x900x24",
            "-nolisten",
            "tcp",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .expect("the screen starts");
    let mut lines = BufReader::new(screen.stdout.take().expect("it is piped")).lines();
    let number = tokio::time::timeout(PATIENCE, lines.next_line()).await;
    let number = number.expect("the screen says its number in time");
    let number = number.expect("readable").expect("a number");
    (screen, format!(":{}", number.trim()))
}

/// Returns whether a program is missing, and says so.
fn is_missing(packages: &str, programs: &[&str]) -> bool {
    let missing = programs.iter().any(|path| !Path::new(path).is_file());
    if missing {
        eprintln!("SKIPPED: install {packages} to try the pages there");
    }
    missing
}

fn text_at(value: &Value, pointer: &str) -> String {
    let text = value.pointer(pointer).and_then(Value::as_str);
    text.expect("a text there").to_owned()
}
