//! Turnstile and hCaptcha: outside services that tell people from bots. A page shows the provider's
//! check, and this server asks the provider whether the answer is good.
//!
//! While a provider does not answer, visitors solve a proof of work in place of its check. So the
//! outage shuts nobody out, and nobody gets a place without work. If only one visitor's call fails,
//! only that visitor gets a proof of work.

mod health;
mod settings;
mod siteverify;
mod stand_ins;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use fairgate_pass::Holder;
use fairgate_rules::room_document::ChallengeProvider;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

pub use settings::{ProviderSettings, ProvidersSettings};
use siteverify::{ANSWER_WITHIN, ProviderClient, SiteverifyAnswer, SiteverifyFault};

use crate::store::SingleUseId;

/// How long (ms) the store remembers that a provider's answer was used. The providers themselves
/// accept an answer only once, and only for a few minutes.
const USED_FOR_MS: i64 = 600_000;

/// What a page needs to show a provider's check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderChallenge {
    /// Whose check it is.
    pub provider: ChallengeProvider,
    /// The installation's public key at the provider.
    pub site_key: String,
    /// What the check is bound to. Turnstile returns it with the answer. hCaptcha has no such
    /// field.
    pub cdata: String,
    /// The address of the provider's script.
    pub script: String,
    /// When the page should ask for a new challenge, milliseconds since the epoch.
    pub expires_at: i64,
}

/// Why a provider's answer does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ProviderRefusal {
    /// The provider does not accept the answer: it is wrong, used or too old.
    #[error("the provider refused the answer")]
    Refused,
    /// The check was made for another room or another holder.
    #[error("the check was made for another room or another visitor")]
    ForAnother,
    /// The provider did not answer, or is not set up on this server.
    #[error("the provider did not answer")]
    Away,
}

/// The providers of this installation; a cheap handle.
#[derive(Clone)]
pub struct ChallengeProviders {
    clients: Arc<BTreeMap<ChallengeProvider, Arc<ProviderClient>>>,
    secret: [u8; 32],
}

impl ChallengeProviders {
    /// Makes the handle. `secret` is the installation's secret, which all nodes share.
    ///
    /// # Errors
    /// Fails if the system provides no TLS.
    pub fn new(settings: &ProvidersSettings, secret: [u8; 32]) -> Result<Self, reqwest::Error> {
        let mut clients = BTreeMap::new();
        for (provider, account) in [
            (ChallengeProvider::Turnstile, &settings.turnstile),
            (ChallengeProvider::Hcaptcha, &settings.hcaptcha),
        ] {
            if let Some(account) = account {
                let client = ProviderClient::new(provider, account)?;
                clients.insert(provider, Arc::new(client));
            }
        }
        Ok(Self {
            clients: Arc::new(clients),
            secret,
        })
    }

    /// Returns whether the provider is set up on this server.
    #[must_use]
    pub fn is_set_up(&self, provider: ChallengeProvider) -> bool {
        self.clients.contains_key(&provider)
    }

    /// Returns the origins that a page with the provider's check loads from, as a content security
    /// policy lists them.
    #[must_use]
    pub fn page_origins(&self, provider: ChallengeProvider) -> &str {
        let client = self.clients.get(&provider);
        client.map_or("", |client| client.page_origins())
    }

    /// Returns one sentence for each provider in `used_providers` that is not set up here or does
    /// not answer. `used_providers` are the providers that rooms ask for.
    #[must_use]
    pub fn warnings(&self, used_providers: impl Iterator<Item = ChallengeProvider>) -> Vec<String> {
        let used_providers: BTreeSet<_> = used_providers.collect();
        let warning = |provider: ChallengeProvider| {
            let name = provider.name();
            let Some(client) = self.clients.get(&provider) else {
                let variable = name.to_uppercase();
                return Some(format!(
                    "a room asks for {name}, which is not set up here, so its visitors solve a proof of work instead: set FAIRGATE_{variable}_SITE_KEY and FAIRGATE_{variable}_SECRET"
                ));
            };
            client.outage().map(|fault| {
                format!(
                    "{name} cannot be asked, so visitors solve a proof of work instead: {fault}"
                )
            })
        };
        used_providers.into_iter().filter_map(warning).collect()
    }

    /// Returns the check that a visitor of a room must pass. Returns `None` if the provider is not
    /// set up here, does not answer, or recently could not be asked about this visitor.
    #[must_use]
    pub fn challenge(
        &self,
        provider: ChallengeProvider,
        room: &str,
        holder: Holder,
        now: i64,
    ) -> Option<ProviderChallenge> {
        let client = self.clients.get(&provider)?;
        if client.outage().is_some() || client.stand_ins.lock().has(holder, Instant::now()) {
            return None;
        }
        Some(ProviderChallenge {
            provider,
            site_key: client.site_key().to_owned(),
            cdata: self.binding(room, holder),
            script: client.script().to_owned(),
            expires_at: now.saturating_add(answer_lifetime_ms(provider)),
        })
    }

    /// Asks the provider about an answer that a holder of a room sent. If the provider cannot be
    /// asked, the holder gets a proof of work in place of the check for a while.
    ///
    /// # Errors
    /// [`ProviderRefusal`].
    pub async fn verify(
        &self,
        provider: ChallengeProvider,
        room: &str,
        holder: Holder,
        answer: &str,
        now: i64,
    ) -> Result<SingleUseId, ProviderRefusal> {
        if !siteverify::is_answer(answer) {
            return Err(ProviderRefusal::Refused);
        }
        let client = self.clients.get(&provider).ok_or(ProviderRefusal::Away)?;
        let Some(verdict) = ask_twice(client, answer).await else {
            client.stand_ins.lock().add(holder, Instant::now());
            return Err(ProviderRefusal::Away);
        };
        if !verdict.success {
            return Err(ProviderRefusal::Refused);
        }
        let is_bound = provider == ChallengeProvider::Turnstile;
        if is_bound && verdict.cdata.as_deref() != Some(&*self.binding(room, holder)) {
            return Err(ProviderRefusal::ForAnother);
        }
        let hash = Sha256::digest(answer);
        Ok(SingleUseId {
            id: std::array::from_fn(|at| hash[at]),
            expires_at: now.saturating_add(USED_FOR_MS),
        })
    }

    /// Returns what the check of a holder is bound to. The provider learns nothing from it.
    fn binding(&self, room: &str, holder: Holder) -> String {
        let mut mac =
            <Hmac<Sha256>>::new_from_slice(&self.secret).expect("HMAC takes a key of any length");
        mac.update(b"fairgate/check/v1\0");
        mac.update(room.as_bytes());
        mac.update(b"\0");
        mac.update(&holder.0);
        hex::encode(&mac.finalize().into_bytes()[..16])
    }
}

/// Asks the provider about an answer. If the provider is silent and there is time left, asks once
/// more. Returns `None` if neither call showed whether the answer is good.
async fn ask_twice(client: &Arc<ProviderClient>, answer: &str) -> Option<SiteverifyAnswer> {
    let begun = Instant::now();
    let fault = match client.ask(answer, ANSWER_WITHIN).await {
        Ok(verdict) => return Some(verdict),
        Err(fault) => fault,
    };
    let is_silent = matches!(fault, SiteverifyFault::Silent(_));
    note_fault(client, &fault);
    let remaining = ANSWER_WITHIN.checked_sub(begun.elapsed());
    match client.ask(answer, remaining.filter(|_| is_silent)?).await {
        // The first call may have used up the answer, so a refusal by the second proves nothing.
        Ok(verdict) => verdict.success.then_some(verdict),
        Err(fault) => {
            note_fault(client, &fault);
            None
        }
    }
}

/// Notes that a call failed. If an outage begins with this call, starts to ask the provider at
/// intervals until it answers.
fn note_fault(client: &Arc<ProviderClient>, fault: &SiteverifyFault) {
    if client.note_failure(fault) {
        tokio::spawn(siteverify::ask_until_answered(Arc::downgrade(client)));
    }
}

/// Returns how long (ms) the provider accepts an answer after the visitor passed the check.
fn answer_lifetime_ms(provider: ChallengeProvider) -> i64 {
    match provider {
        ChallengeProvider::Turnstile => 300_000,
        ChallengeProvider::Hcaptcha => 120_000,
    }
}
