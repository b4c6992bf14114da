//! A value that is made from changing data and that all callers share, such as an index for
//! searches. When the data has changed, one task makes the value anew, and all callers wait for
//! that task. A caller who would wait too long gets the old value. However often the data changes,
//! the processor is free for other work most of the time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout_at};

/// How long a caller waits for a new value if there is an old one.
const WAIT_MAX: Duration = Duration::from_millis(250);
/// After a value was made, the next one is not begun for this multiple of the time that it took.
const REST_FACTOR: u32 = 9;
/// The longest such rest.
const REST_MAX: Duration = Duration::from_secs(1);

/// A shared value. Cheap to clone.
pub struct Prepared<T> {
    state: Arc<PreparedState<T>>,
}

struct PreparedState<T> {
    latest: watch::Sender<LatestValue<T>>,
    is_making: AtomicBool,
    /// Held by the thread that makes a value for [`Prepared::get_blocking`].
    blocking: Mutex<()>,
}

struct LatestValue<T> {
    value: Option<Arc<T>>,
    /// How often no value could be made.
    failures: u64,
    rests_until: Option<Instant>,
}

impl<T> Default for Prepared<T> {
    fn default() -> Self {
        let latest = LatestValue {
            value: None,
            failures: 0,
            rests_until: None,
        };
        Self {
            state: Arc::new(PreparedState {
                latest: watch::Sender::new(latest),
                is_making: AtomicBool::new(false),
                blocking: Mutex::new(()),
            }),
        }
    }
}

impl<T> Clone for Prepared<T> {
    fn clone(&self) -> Self {
        Self {
            state: Arc::clone(&self.state),
        }
    }
}

impl<T: Send + Sync + 'static> Prepared<T> {
    /// Returns a value for which `is_current` is true. If there is none, `make` makes one, in a
    /// task that runs to its end. Returns the old value if the new one takes longer than a quarter
    /// of a second, or cannot be made. Returns `None` only if no value could ever be made.
    pub async fn get<M>(
        &self,
        is_current: impl Fn(&T) -> bool,
        make: impl Fn() -> M,
    ) -> Option<Arc<T>>
    where
        M: Future<Output = Option<T>> + Send + 'static,
    {
        let mut seen = self.state.latest.subscribe();
        let (failures, deadline) = (seen.borrow().failures, Instant::now() + WAIT_MAX);
        loop {
            let (known, failed) = {
                let latest = seen.borrow_and_update();
                (latest.value.clone(), latest.failures > failures)
            };
            if failed || known.as_deref().is_some_and(&is_current) {
                return known;
            }
            self.begin_unless_begun(&make);
            let is_told = match known {
                Some(_) => timeout_at(deadline, seen.changed()).await.is_ok(),
                None => seen.changed().await.is_ok(),
            };
            if !is_told {
                return known;
            }
        }
    }

    /// Returns a value for which `is_current` is true. If there is none, makes one in this thread,
    /// which may take long. Calls of the same moment share that value.
    pub fn get_blocking(
        &self,
        is_current: impl Fn(&T) -> bool,
        make: impl FnOnce() -> T,
    ) -> Arc<T> {
        if let Some(known) = self.ready(&is_current) {
            return known;
        }
        let _one_at_a_time = self.state.blocking.lock();
        // Another thread may have made the value while this one waited.
        if let Some(known) = self.ready(&is_current) {
            return known;
        }
        let value = Arc::new(make());
        let latest = &self.state.latest;
        latest.send_modify(|latest| latest.value = Some(Arc::clone(&value)));
        value
    }

    /// Returns the last value if `is_current` is true for it, without waiting for a new one.
    #[must_use]
    pub fn ready(&self, is_current: impl Fn(&T) -> bool) -> Option<Arc<T>> {
        let known = self.state.latest.borrow().value.clone();
        known.filter(|value| is_current(value))
    }

    fn begin_unless_begun<M>(&self, make: impl Fn() -> M)
    where
        M: Future<Output = Option<T>> + Send + 'static,
    {
        if self.state.is_making.swap(true, Ordering::AcqRel) {
            return;
        }
        let rests_until = self.state.latest.borrow().rests_until;
        let (making, state) = (make(), Arc::clone(&self.state));
        let now = Instant::now();
        let task = MakingTask {
            state,
            value: None,
            begun: now,
        };
        tokio::spawn(async move {
            // The whole task moves in here, and is dropped when the value is made.
            let mut task = task;
            if let Some(until) = rests_until.filter(|until| *until > now) {
                sleep_until(until).await;
                task.begun = Instant::now();
            }
            task.value = making.await;
        });
    }
}

/// Stores the value when it is dropped, which also happens if the task panics or never runs.
struct MakingTask<T> {
    state: Arc<PreparedState<T>>,
    value: Option<T>,
    begun: Instant,
}

impl<T> Drop for MakingTask<T> {
    fn drop(&mut self) {
        let rest = rest_after(self.begun.elapsed());
        let value = self.value.take().map(Arc::new);
        // Callers who are told of the value may begin the next one.
        self.state.is_making.store(false, Ordering::Release);
        self.state.latest.send_modify(|latest| {
            latest.rests_until = Some(Instant::now() + rest);
            match value {
                Some(value) => latest.value = Some(value),
                None => latest.failures += 1,
            }
        });
    }
}

/// Returns for how long no value is made after one that took this long. Making values thus takes at
/// most a tenth of a processor's time, or one value a second.
fn rest_after(took: Duration) -> Duration {
    (took * REST_FACTOR).min(REST_MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::AtomicU64;
    use std::thread;

    use futures_util::future::join_all;

    use super::*;

    /// Data that changes, and a value that is made from it.
    #[derive(Default)]
    struct Source {
        version: AtomicU64,
        made: AtomicU64,
    }

    impl Source {
        async fn read(self: &Arc<Self>, prepared: &Prepared<u64>) -> Option<u64> {
            let version = self.version.load(Ordering::SeqCst);
            let make = || {
                let source = Arc::clone(self);
                async move {
                    source.made.fetch_add(1, Ordering::SeqCst);
                    let version = source.version.load(Ordering::SeqCst);
                    tokio::task::yield_now().await;
                    Some(version)
                }
            };
            let value = prepared.get(|known| *known == version, make).await;
            value.map(|value| *value)
        }
    }

    #[tokio::test]
    async fn all_callers_of_one_moment_share_one_value_and_see_the_newest_data() {
        let (source, prepared) = (Arc::new(Source::default()), Prepared::default());
        let all = join_all((0..20).map(|_| source.read(&prepared))).await;
        assert_eq!(all, [Some(0); 20]);
        assert_eq!(source.made.load(Ordering::SeqCst), 1);
        source.read(&prepared).await;
        assert_eq!(source.made.load(Ordering::SeqCst), 1, "nothing has changed");
        source.version.store(7, Ordering::SeqCst);
        let all = join_all((0..20).map(|_| source.read(&prepared))).await;
        assert_eq!(all, [Some(7); 20]);
        assert_eq!(source.made.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn a_caller_gets_the_old_value_if_the_new_one_takes_too_long() {
        let prepared = Prepared::<u64>::default();
        let is = |wanted: u64| move |known: &u64| *known == wanted;
        prepared.get(is(1), async || Some(1)).await;
        let (finish, finished) = watch::channel(false);
        let slow = || {
            let mut finished = finished.clone();
            async move {
                finished.changed().await.ok()?;
                Some(2)
            }
        };
        assert_eq!(prepared.get(is(2), slow).await.as_deref(), Some(&1));
        finish.send_replace(true);
        let unneeded = async || -> Option<u64> { panic!("it is being made already") };
        assert_eq!(prepared.get(is(2), unneeded).await.as_deref(), Some(&2));
    }

    #[tokio::test]
    async fn a_value_that_cannot_be_made_leaves_the_old_one_and_a_panic_is_no_end() {
        let prepared = Prepared::<u64>::default();
        let never = |_: &u64| false;
        assert_eq!(prepared.get(never, async || None).await, None);
        let made = prepared.get(|known| *known == 5, async || Some(5)).await;
        assert_eq!(made.as_deref(), Some(&5));
        let panics = async || -> Option<u64> { panic!("on purpose") };
        assert_eq!(prepared.get(never, panics).await.as_deref(), Some(&5));
        // Printing the panic takes time, so no value is made for up to a second.
        for _ in 0..20 {
            let new = prepared.get(|known| *known == 6, async || Some(6)).await;
            if new.as_deref() == Some(&6) {
                return;
            }
        }
        panic!("no value was made after the panic");
    }

    #[test]
    fn threads_of_one_moment_share_one_value_and_the_tasks_see_it() {
        let (made, prepared) = (AtomicU64::new(0), Prepared::default());
        let both = Barrier::new(2);
        let ask = || {
            both.wait();
            let make = || made.fetch_add(1, Ordering::SeqCst) + 1;
            *prepared.get_blocking(|known| *known == 1, make)
        };
        let asked = thread::scope(|threads| {
            let other = threads.spawn(ask);
            [ask(), other.join().expect("the other thread panicked")]
        });
        assert_eq!(asked, [1, 1]);
        assert_eq!(made.load(Ordering::SeqCst), 1);
        assert_eq!(prepared.ready(|_| true).as_deref(), Some(&1));
    }

    #[test]
    fn a_value_that_takes_long_is_made_once_a_second_and_a_quick_one_at_once() {
        let ms = Duration::from_millis;
        assert_eq!(rest_after(ms(1)), ms(9));
        assert_eq!(rest_after(ms(40)), ms(360));
        assert_eq!(rest_after(ms(800)), ms(1_000));
    }
}
