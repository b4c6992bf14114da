//! Records what a browser fetches, and slows a browser down.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

use chromiumoxide::cdp::browser_protocol::network::{
    EnableParams, EventLoadingFinished, EventRequestWillBeSent,
};
use futures_util::StreamExt;

use super::{Browser, until};

/// A file that a browser fetched.
#[derive(Clone, Debug)]
pub struct Loaded {
    pub address: String,
    /// The bytes of the answer as it was sent, with its headers. `None` until it is complete.
    pub bytes: Option<u64>,
}

/// The files that a browser fetches from now on, by the request's id.
pub struct Traffic(Arc<Mutex<BTreeMap<String, Loaded>>>);

impl Traffic {
    /// Starts to record.
    pub async fn of(browser: &Browser) -> Self {
        let page = &browser.page;
        page.execute(EnableParams::default())
            .await
            .expect("a network");
        let mut sent = page
            .event_listener::<EventRequestWillBeSent>()
            .await
            .expect("requests");
        let mut finished = page
            .event_listener::<EventLoadingFinished>()
            .await
            .expect("answers");
        let all = Arc::new(Mutex::new(BTreeMap::new()));
        let kept = Arc::clone(&all);
        tokio::spawn(async move {
            // The branches are in the order in which the events of one request happen.
            loop {
                tokio::select! {
                    biased;
                    Some(sent) = sent.next() => {
                        let address = sent.request.url.clone();
                        let loaded = Loaded { address, bytes: None };
                        let id = sent.request_id.inner().clone();
                        kept.lock().insert(id, loaded);
                    }
                    Some(finished) = finished.next() => {
                        let mut all = kept.lock();
                        if let Some(loaded) = all.get_mut(finished.request_id.inner()) {
                            loaded.bytes = Some(finished.encoded_data_length as u64);
                        }
                    }
                    else => break,
                }
            }
        });
        Self(all)
    }

    /// Returns the files that were fetched so far. Calls of the API do not count, nor does data
    /// that the page itself contains.
    fn files(&self) -> Vec<Loaded> {
        let all = self.0.lock();
        let is_file = |loaded: &&Loaded| {
            loaded.address.starts_with("http") && !loaded.address.contains("/v1/")
        };
        all.values().filter(is_file).cloned().collect()
    }

    /// Waits until every requested file has come, among them one whose address contains `needed`.
    pub async fn complete(&self, needed: &str) -> Vec<Loaded> {
        until(
            &format!("{needed} and all other files have come"),
            async || {
                let files = self.files();
                let complete = files.iter().all(|file| file.bytes.is_some());
                let has = files.iter().any(|file| file.address.contains(needed));
                (complete && has).then_some(files)
            },
        )
        .await
    }
}

impl Browser {
    /// Delays every answer, and slows down the network and the scripts.
    #[expect(
        deprecated,
        reason = "the command that replaces it is not in every chromium"
    )]
    pub async fn become_slow(&self, latency_ms: f64, bits_per_s: f64, cpu_times: f64) {
        use chromiumoxide::cdp::browser_protocol::network::EmulateNetworkConditionsParams;

        let bytes_per_s = bits_per_s / 8.0;
        let network =
            EmulateNetworkConditionsParams::new(false, latency_ms, bytes_per_s, bytes_per_s);
        self.page
            .execute(EnableParams::default())
            .await
            .expect("a network");
        self.page.execute(network).await.expect("a slow network");
        self.slow_down(cpu_times).await;
    }
}
