//! Carries out a schedule of faults. Begins each fault at its time and heals it at its end. Records
//! both times in the history for the judge.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use fairgate_servers::StripeFaultSettings;
use futures_util::future::join_all;
use serde_json::json;

use super::schedule::{FaultAction, ProviderFaultMode, ScheduledFault};
use crate::rig::{RedisForm, Rig, RigComponent};
use crate::swarm::stage::{SwarmContext, round};

/// How long it may take to rebuild the stores after a loss, in milliseconds.
const REBUILT_WITHIN_MS: f64 = 3_000.0;
/// How long sentinels may take to notice that the primary is lost, and to promote a replica. They
/// need at least a second to notice the loss.
const PROMOTED_WITHIN: Duration = Duration::from_secs(15);

/// Inflicts all faults, and waits until each is healed and everything is ready again. Returns the
/// time at which everything was ready.
///
/// # Errors
/// Which fault could not be inflicted or healed, or which process did not become ready.
pub async fn inflict(
    stage: Arc<SwarmContext>,
    rig: Arc<Rig>,
    strikes: Vec<ScheduledFault>,
) -> anyhow::Result<f64> {
    let inflicted = strikes
        .iter()
        .map(|strike| inflict_fault(&stage, &rig, strike));
    for result in join_all(inflicted).await {
        result?;
    }
    rig.until_ready().await?;
    Ok(stage.clock.now_ms())
}

async fn inflict_fault(
    stage: &SwarmContext,
    rig: &Rig,
    strike: &ScheduledFault,
) -> anyhow::Result<()> {
    let at_ms = stage.clock.start_ms() + strike.at_s * 1e3;
    tokio::time::sleep_until(stage.clock.instant(at_ms).into()).await;
    let at_ms = stage.clock.now_ms();
    let fault = stage.tally.fault_begins(at_ms);
    let lasts = Duration::from_secs_f64(strike.for_s);
    let healed = carry_out(rig, strike.what, lasts).await;
    let healed_ms = stage.clock.now_ms();
    let forgets = strike.what.forgets(rig.spec());
    let until_ms = healed_ms + if forgets { REBUILT_WITHIN_MS } else { 0.0 };
    stage.history.write(
        "fault",
        json!({
            "at_ms": round(at_ms), "what": strike.what.to_string(), "until_ms": round(until_ms),
            "ready_ms": null, "forgets": forgets, "halts": true,
        }),
    );
    stage.tally.fault_ends(fault, until_ms);
    healed.with_context(|| strike.to_string())
}

async fn carry_out(rig: &Rig, what: FaultAction, lasts: Duration) -> anyhow::Result<()> {
    match what {
        FaultAction::Kill(part) => {
            rig.kill(part).await?;
            tokio::time::sleep(lasts).await;
            rig.revive(part).await
        }
        FaultAction::Pause(part) => {
            rig.pause(part);
            tokio::time::sleep(lasts).await;
            rig.resume(part);
            Ok(())
        }
        FaultAction::RestartLedger => rig.restart_ledger().await,
        FaultAction::Flush => rig.redis()?.flush_all().await,
        FaultAction::PromoteStale => promote_stale(rig, lasts).await,
        FaultAction::Clock(seconds) => {
            rig.redis()?.set_clock_ahead(seconds)?;
            tokio::time::sleep(lasts).await;
            rig.redis()?.set_clock_ahead(0)
        }
        FaultAction::NodeClock(part, seconds) => {
            rig.clock(part)?.set_ahead(seconds)?;
            tokio::time::sleep(lasts).await;
            rig.clock(part)?.set_ahead(0)
        }
        FaultAction::CutCommits => {
            rig.cut()?.cut_commits(true);
            tokio::time::sleep(lasts).await;
            rig.cut()?.cut_commits(false);
            Ok(())
        }
        FaultAction::FullDisk => {
            rig.disk()?.fill()?;
            tokio::time::sleep(lasts).await;
            rig.disk()?.free()
        }
        FaultAction::Provider(mood) => {
            let stripe = rig.stripe().context("the rig has the sandbox's payments")?;
            stripe.misbehave(chaos(mood));
            tokio::time::sleep(lasts).await;
            stripe.misbehave(StripeFaultSettings::default());
            Ok(())
        }
    }
}

/// Returns the settings of a provider with this fault. The shares are so large that the fault
/// affects most orders while it lasts.
fn chaos(mood: ProviderFaultMode) -> StripeFaultSettings {
    match mood {
        ProviderFaultMode::Away => StripeFaultSettings {
            away: true,
            ..StripeFaultSettings::default()
        },
        ProviderFaultMode::RefusesSums => StripeFaultSettings {
            sums_pct: 50,
            ..StripeFaultSettings::default()
        },
        ProviderFaultMode::Misbehaves => StripeFaultSettings {
            away: false,
            sums_pct: 0,
            too_many_pct: 10,
            locked_pct: 5,
            broken_pct: 25,
            hang_pct: 10,
            drop_pct: 30,
            twice_pct: 40,
            delay_ms_max: 1_500,
        },
    }
}

/// Cuts the replica off from its primary for `lasts`, and then promotes it.
async fn promote_stale(rig: &Rig, lasts: Duration) -> anyhow::Result<()> {
    let redis = rig.redis()?;
    if rig.spec().redis == RedisForm::Replica {
        redis.part_replica().await?;
        tokio::time::sleep(lasts).await;
        return redis.promote_replica().await;
    }
    let primary = rig.primary().await?;
    let replica = 1 - primary.min(1);
    rig.pause(RigComponent::Redis(replica));
    tokio::time::sleep(lasts).await;
    // The primary is killed before the replica resumes, so that the replica cannot catch up.
    rig.kill(RigComponent::Redis(primary)).await?;
    rig.resume(RigComponent::Redis(replica));
    let killed = Instant::now();
    while redis.primaries().await != [replica] {
        if killed.elapsed() > PROMOTED_WITHIN {
            bail!("the sentinels did not promote the replica");
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    rig.revive(RigComponent::Redis(primary)).await
}
