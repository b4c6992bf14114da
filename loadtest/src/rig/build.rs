//! Starts a rig: first the servers that the product needs, then the booking processes, then the
//! gateways. Processes of the same kind start together, as in a deployment.

use parking_lot::Mutex;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use fairgate_servers::{
    CHALLENGE_SECRET, CHALLENGE_SITE_KEY, FakeChallengeServer, FakeStripeServer, PostgresServer,
    RedisServers, STRIPE_PUBLISHABLE_KEY, STRIPE_SECRET_KEY, STRIPE_WEBHOOK_SECRET,
};
use futures_util::future::try_join_all;
use rand::RngExt;

use super::disk::SmallDisk;
use super::judge::LedgerLocation;
use super::process::{ProcessSetting, RigProcess};
use super::processors::ProcessorShares;
use super::spec::{RedisForm, RigLedgerKind, RigPaymentProvider};
use super::{Rig, RigSpecification, judge, memory, railway};

/// The time between two samples of memory.
const SAMPLE_EVERY: Duration = Duration::from_secs(1);
/// How long booking waits for an event about a payment before it reads the payment from Stripe, in
/// seconds. This is shorter than the default, because holds in a rig last only seconds.
const READ_BACK_S: &str = "1";
/// The seed of the random faults of the fake Stripe.
const PROVIDERS_SEED: u64 = 1;

/// What a rig has in addition to its specification: which of its parts can be broken, whether it
/// sells a train, and how its gateways find the addresses of callers and check people.
#[derive(Debug, Clone, Copy, Default)]
pub struct RigFeatures {
    /// Whether the clocks of Redis can be moved.
    pub redis_clocks: bool,
    /// Whether the clock of each gateway can be moved.
    pub clocks: bool,
    /// Whether connections to PostgreSQL can be cut at their COMMIT.
    pub commits: bool,
    /// Whether the ledger file is on a small disk that can be filled.
    pub disk: bool,
    /// Whether the rig also sells a train.
    pub train: bool,
    /// Whether the gateways take the callers' addresses from `X-Forwarded-For`, as behind a proxy.
    pub proxied: bool,
    /// Whether PostgreSQL counts the statements that it runs.
    pub counted: bool,
    /// Whether a server that imitates Turnstile checks people. If so, the rate of joins of each
    /// network is limited as by default.
    pub checks: bool,
}

impl Rig {
    /// Starts a rig, and waits until everything is ready.
    ///
    /// # Errors
    /// Where a program is missing, or a process does not become ready.
    pub async fn start(spec: RigSpecification) -> anyhow::Result<Self> {
        Self::start_with(spec, RigFeatures::default()).await
    }

    /// Starts a rig as [`Self::start`] does, with the features that `breakable` names.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub async fn start_with(
        spec: RigSpecification,
        breakable: RigFeatures,
    ) -> anyhow::Result<Self> {
        let gateway = judge::gateway_binary()?;
        // The verdict needs booking's program. A run without a verdict is useless, so the program
        // is found before the run.
        let booking = judge::booking_binary()?;
        Self::start_programs(spec, breakable, (gateway, booking)).await
    }

    /// Starts a rig as [`Self::start_with`] does, of these programs: a gateway and booking.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub async fn start_programs(
        spec: RigSpecification,
        breakable: RigFeatures,
        (gateway, booking): (PathBuf, PathBuf),
    ) -> anyhow::Result<Self> {
        let needs_servers = spec.redis != RedisForm::None || spec.ledger != RigLedgerKind::Sqlite;
        if let Some(missing) = fairgate_servers::missing_programs().filter(|_| needs_servers) {
            bail!("this rig starts servers, and there is no {missing}");
        }
        let shares = spec.cpus.map(ProcessorShares::split).transpose()?;
        let folder = tempfile::tempdir().context("no temporary folder could be made")?;
        let (redis, postgres) =
            tokio::try_join!(redis(spec, &breakable), postgres(spec, &breakable))?;
        let (key, door_key) = (secret(), secret());
        let stripe = match spec.payments {
            RigPaymentProvider::Sandbox => None,
            RigPaymentProvider::Stripe => Some(FakeStripeServer::start(PROVIDERS_SEED).await?),
        };
        let mut settings = first_settings(stripe.as_ref(), redis.as_ref(), (&key, &door_key));
        let mut cut = None;
        if let Some(postgres) = &postgres {
            if breakable.train {
                let ledger = LedgerLocation::Database(postgres.url());
                railway::import(&booking, &ledger, folder.path()).await?;
            }
            let mut url = postgres.url();
            if breakable.commits {
                let (commit_cut, cut_url) = postgres.cuttable().await?;
                (cut, url) = (Some(commit_cut), cut_url);
            }
            settings.push(("FAIRGATE_DATABASE_URL", url));
        }
        if spec.bookings > 0 {
            settings.push(("FAIRGATE_INTERNAL_KEY", secret()));
        }
        let bookings = processes("booking", spec.bookings, &booking, folder.path(), &settings)?;
        start_all(&bookings).await?;
        if !bookings.is_empty() {
            let urls: Vec<&str> = bookings.iter().map(RigProcess::url).collect();
            settings.push(("FAIRGATE_BOOKING_URL", urls.join(",")));
        }
        let mut gateways = processes("gateway", spec.gateways, &gateway, folder.path(), &settings)?;
        if breakable.proxied {
            for gateway in &mut gateways {
                gateway.set(&[("FAIRGATE_TRUSTED_HOPS", "1".to_owned())]);
            }
        }
        let checks = match breakable.checks {
            true => Some(FakeChallengeServer::start().await?),
            false => None,
        };
        if let Some(checks) = &checks {
            let settings = check_settings(checks);
            gateways
                .iter_mut()
                .for_each(|gateway| gateway.set(&settings));
        }
        let in_file = breakable.train && postgres.is_none();
        let trains = in_file.then(|| (booking.as_path(), folder.path()));
        let disk = start_gateways(&mut gateways, &breakable, trains).await?;
        if let Some(stripe) = &stripe {
            // Any gateway can take any event, because all gateways store events in one ledger.
            let hook =
                |gateway: &RigProcess| format!("{}/v1/payments/stripe/webhook", gateway.url());
            stripe.send_events_to(gateways.iter().map(hook).collect());
        }
        let samples = Arc::default();
        let pids = gateways.iter().map(RigProcess::pid_cell).collect();
        let sampler = tokio::spawn(sample(pids, Arc::clone(&samples)));
        let rig = Self {
            spec,
            gateways,
            bookings,
            redis,
            postgres,
            stripe,
            checks,
            cut,
            disk,
            key,
            door_key,
            shares,
            folder: folder.keep(),
            kept: false.into(),
            turns: Default::default(),
            samples,
            sampler,
        };
        rig.keep_processors_apart();
        Ok(rig)
    }
}

/// Returns the settings of every gateway and booking process, except those that depend on the
/// ledger or on the addresses of the booking processes.
fn first_settings(
    stripe: Option<&FakeStripeServer>,
    redis: Option<&RedisServers>,
    (promoter_key, door_key): (&str, &str),
) -> Vec<ProcessSetting> {
    let mut settings = payment_settings(stripe);
    settings.extend([
        ("FAIRGATE_PROMOTER_KEY", promoter_key.to_owned()),
        ("FAIRGATE_DOOR_KEY", door_key.to_owned()),
        ("FAIRGATE_SECRET", secret()),
        ("FAIRGATE_JOINS_PER_S", "100000".to_owned()),
        ("FAIRGATE_SEARCHES_PER_S", "100000".to_owned()),
        ("FAIRGATE_SEARCHES_BURST", "100000".to_owned()),
        ("FAIRGATE_JOINS_BURST", "100000".to_owned()),
    ]);
    settings.extend(redis.map(|redis| ("FAIRGATE_REDIS_URL", redis.url())));
    settings
}

/// Returns the settings of gateways that check people.
fn check_settings(checks: &FakeChallengeServer) -> [ProcessSetting; 5] {
    [
        ("FAIRGATE_TURNSTILE_SITE_KEY", CHALLENGE_SITE_KEY.to_owned()),
        ("FAIRGATE_TURNSTILE_SECRET", CHALLENGE_SECRET.to_owned()),
        ("FAIRGATE_TURNSTILE_URL", checks.url().to_owned()),
        ("FAIRGATE_JOINS_PER_S", "100".to_owned()),
        ("FAIRGATE_JOINS_BURST", "2000".to_owned()),
    ]
}

/// Starts the gateways. Before that, prepares their clocks and the disk of the first gateway if
/// faults need them. If `trains` names booking's program and a folder, it also imports the railway
/// line with its trains.
async fn start_gateways(
    gateways: &mut [RigProcess],
    breakable: &RigFeatures,
    trains: Option<(&Path, &Path)>,
) -> anyhow::Result<Option<SmallDisk>> {
    if breakable.clocks {
        gateways.iter_mut().try_for_each(RigProcess::give_clock)?;
    }
    let disk = match breakable.disk {
        true => Some(SmallDisk::mount_at(&gateways[0].data())?),
        false => None,
    };
    if let Some((booking, folder)) = trains {
        let data = gateways[0].data();
        std::fs::create_dir_all(&data)?;
        railway::import(booking, &LedgerLocation::Folder(data), folder).await?;
    }
    start_all(gateways).await?;
    Ok(disk)
}

/// Returns the settings of the payment provider for a gateway or a booking process.
fn payment_settings(stripe: Option<&FakeStripeServer>) -> Vec<ProcessSetting> {
    let Some(stripe) = stripe else {
        return vec![("FAIRGATE_PAYMENTS", "sandbox".to_owned())];
    };
    let settings = [
        ("FAIRGATE_PAYMENTS", "stripe"),
        ("FAIRGATE_STRIPE_URL", stripe.url()),
        ("FAIRGATE_STRIPE_SECRET_KEY", STRIPE_SECRET_KEY),
        ("FAIRGATE_STRIPE_WEBHOOK_SECRET", STRIPE_WEBHOOK_SECRET),
        ("FAIRGATE_STRIPE_PUBLISHABLE_KEY", STRIPE_PUBLISHABLE_KEY),
        ("FAIRGATE_STRIPE_READ_BACK_S", READ_BACK_S),
    ];
    settings
        .map(|(name, value)| (name, value.to_owned()))
        .into()
}

async fn redis(
    spec: RigSpecification,
    breakable: &RigFeatures,
) -> anyhow::Result<Option<RedisServers>> {
    let options = match breakable.redis_clocks {
        true => RedisServers::options().movable_clock(),
        false => RedisServers::options(),
    };
    Ok(match spec.redis {
        RedisForm::None => None,
        RedisForm::Single => Some(options.single().await?),
        RedisForm::Replica => Some(options.replica_pair().await?),
        RedisForm::Sentinel => Some(options.sentinel().await?),
        RedisForm::Cluster => Some(options.cluster().await?),
    })
}

async fn postgres(
    spec: RigSpecification,
    breakable: &RigFeatures,
) -> anyhow::Result<Option<PostgresServer>> {
    Ok(match spec.ledger {
        RigLedgerKind::Sqlite => None,
        RigLedgerKind::Postgres if breakable.counted => Some(
            PostgresServer::options()
                .counting_statements()
                .start()
                .await?,
        ),
        RigLedgerKind::Postgres => Some(PostgresServer::start().await?),
    })
}

/// Makes processes of the same kind with the same settings. Each has its own name, port and folder.
fn processes(
    kind: &str,
    count: usize,
    binary: &Path,
    folder: &Path,
    settings: &[ProcessSetting],
) -> anyhow::Result<Vec<RigProcess>> {
    let made = (0..count).map(|index| {
        let mut process = RigProcess::new(format!("{kind}-{index}"), binary, folder)?;
        process.set(settings);
        Ok(process)
    });
    made.collect()
}

async fn start_all(processes: &[RigProcess]) -> anyhow::Result<()> {
    try_join_all(processes.iter().map(RigProcess::start)).await?;
    Ok(())
}

fn secret() -> String {
    format!("rig-{:032x}", rand::rng().random::<u128>())
}

/// Once a second, records the memory of the gateway that uses most.
async fn sample(pids: Vec<Arc<Mutex<Option<u32>>>>, samples: Arc<Mutex<Vec<(f64, f64)>>>) {
    let mut tick = tokio::time::interval(SAMPLE_EVERY);
    loop {
        tick.tick().await;
        let of = |pid: &Arc<Mutex<Option<u32>>>| {
            let pid = *pid.lock();
            pid.and_then(memory::resident_mb)
        };
        let Some(mb) = pids.iter().filter_map(of).max_by(f64::total_cmp) else {
            continue;
        };
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let at_ms = now.unwrap_or_default().as_secs_f64() * 1e3;
        samples.lock().push((at_ms, mb));
    }
}
