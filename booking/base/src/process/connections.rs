//! Limits how many connections a process has at once, so that it can always open files for its
//! ledger and its stores. If clients connect directly, no single network can use all connections.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Resource, getrlimit};

/// The number of files that is assumed if the system sets no limit.
const FILES_WITHOUT_LIMIT: usize = 1 << 20;

/// Returns how many files this process may open, or `None` if there is no limit.
#[must_use]
pub fn open_files_max() -> Option<usize> {
    let files = getrlimit(Resource::Nofile).current?;
    usize::try_from(files).ok()
}

/// How many connections the operators' own port takes.
const OPERATORS_MAX: usize = 64;

/// How many connections are allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// All connections.
    max: usize,
    /// Whether the connections of each network are limited, too.
    by_network: bool,
}

/// The refusal of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionRefusal {
    /// This process has as many connections as it can take.
    Full,
    /// The client's network has as many connections as it can have now.
    Network,
}

impl ConnectionLimits {
    /// Makes the limits of a process that may open `files` files. An eighth of the files is kept
    /// for the ledger, the stores and other servers: at least 64 files (or half of all files, if
    /// that is fewer), and at most 1,024.
    #[must_use]
    pub fn of_files(files: usize, by_network: bool) -> Self {
        let reserved = (files / 8).clamp(64.min(files / 2), 1_024);
        Self {
            max: files - reserved,
            by_network,
        }
    }

    /// Makes the limits of this process. `by_network` is for processes that clients connect to
    /// directly. Behind a proxy, all connections come from the proxy.
    #[must_use]
    pub fn of_process(by_network: bool) -> Self {
        Self::of_files(open_files_max().unwrap_or(FILES_WITHOUT_LIMIT), by_network)
    }

    /// Returns the limits of the operators' own port.
    #[must_use]
    pub fn of_operators() -> Self {
        Self {
            max: OPERATORS_MAX,
            by_network: false,
        }
    }

    /// Divides these limits between the public port and a second port. Each connection of the
    /// second port needs two files, because it is forwarded to another server.
    #[must_use]
    pub fn of_two_ports(self) -> (Self, Self) {
        let with_max = |max| Self { max, ..self };
        (with_max(self.max / 2), with_max(self.max / 4))
    }

    /// Returns the limits for the other ports of a process that has a port for operators. In a
    /// process with very few files, at least half of the connections remain.
    #[must_use]
    pub fn without_operators(self) -> Self {
        Self {
            max: self.max.saturating_sub(OPERATORS_MAX).max(self.max / 2),
            ..self
        }
    }

    /// Decides whether one more connection is accepted while `open` connections are open,
    /// `of_network` of them from the same network. A network may have half of all connections,
    /// because thousands of people of a phone carrier share one address. When three quarters are in
    /// use, only networks with few connections get more.
    fn check(&self, open: usize, of_network: Option<usize>) -> Result<(), ConnectionRefusal> {
        if open >= self.max {
            return Err(ConnectionRefusal::Full);
        }
        let share = if open < self.max / 4 * 3 {
            self.max / 2
        } else {
            (self.max / 32).max(8)
        };
        match of_network {
            Some(open) if self.by_network && open >= share => Err(ConnectionRefusal::Network),
            _ => Ok(()),
        }
    }
}

/// Counts the connections of a process. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ConnectionBudget {
    inner: Arc<BudgetState>,
}

#[derive(Debug)]
struct BudgetState {
    limits: ConnectionLimits,
    open: Mutex<OpenConnections>,
    /// Whether the refusals of the present shortage are in the log already.
    is_logged: AtomicBool,
}

#[derive(Debug, Default)]
struct OpenConnections {
    all: usize,
    by_network: HashMap<u128, usize>,
}

/// The right to have one connection. Dropping it gives the right back.
#[derive(Debug)]
pub struct ConnectionPermit {
    budget: Arc<BudgetState>,
    network: Option<u128>,
}

impl ConnectionBudget {
    /// Makes a budget without connections.
    #[must_use]
    pub fn new(limits: ConnectionLimits) -> Self {
        Self {
            inner: Arc::new(BudgetState {
                limits,
                open: Mutex::default(),
                is_logged: AtomicBool::new(false),
            }),
        }
    }

    /// Takes the right to one connection from this address.
    ///
    /// # Errors
    /// If there are as many connections as are allowed, in total or from the address's network.
    pub fn admit(&self, peer: IpAddr) -> Result<ConnectionPermit, ConnectionRefusal> {
        let network = limited_network(peer);
        let mut open = self.inner.open.lock();
        let of_network = network.map(|network| open.by_network.get(&network).copied().unwrap_or(0));
        if let Err(refusal) = self.inner.limits.check(open.all, of_network) {
            drop(open);
            self.log_first_refusal(refusal);
            return Err(refusal);
        }
        open.all += 1;
        if let Some(network) = network {
            *open.by_network.entry(network).or_default() += 1;
        }
        if open.all < self.inner.limits.max / 2 {
            self.inner.is_logged.store(false, Ordering::Relaxed);
        }
        Ok(ConnectionPermit {
            budget: Arc::clone(&self.inner),
            network,
        })
    }

    /// Counts a refusal. Logs the first refusal of a shortage.
    fn log_first_refusal(&self, refusal: ConnectionRefusal) {
        metrics::counter!("fairgate_shed_total", "what" => "connections").increment(1);
        if !self.inner.is_logged.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                max = self.inner.limits.max,
                ?refusal,
                "connections are refused; if real visitors need them, let this process open more files (ulimit -n)"
            );
        }
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut open = self.budget.open.lock();
        open.all -= 1;
        let Some(network) = self.network else { return };
        if let Some(count) = open.by_network.get_mut(&network) {
            *count -= 1;
            if *count == 0 {
                open.by_network.remove(&network);
            }
        }
    }
}

/// Returns the network by which an address is counted: an IPv4 address, or an IPv6 /64. Returns
/// `None` for this machine itself, where a proxy may run.
fn limited_network(peer: IpAddr) -> Option<u128> {
    let peer = peer.to_canonical();
    if peer.is_loopback() {
        return None;
    }
    Some(match peer {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
        IpAddr::V6(v6) => Ipv6Addr::to_bits(v6) >> 64 << 64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    fn take(budget: &ConnectionBudget, from: &str, wanted: usize) -> Vec<ConnectionPermit> {
        let taken = (0..wanted).map_while(|_| budget.admit(address(from)).ok());
        taken.collect()
    }

    #[test]
    fn files_are_kept_for_the_ledger_and_the_stores() {
        for (files, max) in [(1_024, 896), (20_000, 18_976), (256, 192), (64, 32)] {
            assert_eq!(ConnectionLimits::of_files(files, false).max, max);
        }
    }

    #[test]
    fn the_operators_port_takes_its_connections_from_the_others_and_never_all() {
        for (files, max) in [(1_024, 832), (256, 128), (128, 32), (64, 16)] {
            let limits = ConnectionLimits::of_files(files, true).without_operators();
            let expected = ConnectionLimits {
                max,
                by_network: true,
            };
            assert_eq!(limits, expected, "{files} files");
        }
    }

    #[test]
    fn two_ports_use_all_files_if_each_connection_of_the_second_needs_two() {
        let whole = ConnectionLimits::of_files(1_024, true);
        for limits in [whole, whole.without_operators()] {
            let (public, forwarded) = limits.of_two_ports();
            assert_eq!(public.max + 2 * forwarded.max, limits.max);
            assert_eq!(public.max, 2 * forwarded.max);
            assert!(public.by_network && forwarded.by_network);
        }
    }

    #[test]
    fn no_network_takes_more_than_half_and_small_ones_get_the_rest() {
        let budget = ConnectionBudget::new(ConnectionLimits::of_files(1_024, true));
        let mut open = take(&budget, "203.0.113.7", 2_000);
        assert_eq!(open.len(), 448);
        assert_eq!(
            budget.admit(address("203.0.113.7")).expect_err("half"),
            ConnectionRefusal::Network
        );
        // An IPv6 client may use every address of its /64.
        open.extend(take(&budget, "2001:db8::1", 200));
        open.extend(take(&budget, "2001:db8::ffff:2", 2_000));
        assert_eq!(open.len(), 672, "three quarters");
        for network in 0..8 {
            let few = take(&budget, &format!("198.51.100.{network}"), 2_000);
            assert_eq!(few.len(), 28);
            open.extend(few);
        }
        assert_eq!(
            budget.admit(address("192.0.2.1")).expect_err("full"),
            ConnectionRefusal::Full
        );
        open.clear();
        assert_eq!(take(&budget, "203.0.113.7", 2_000).len(), 448);
    }

    #[test]
    fn this_machine_and_clients_of_a_proxy_are_limited_only_in_all() {
        let direct = ConnectionBudget::new(ConnectionLimits::of_files(256, true));
        assert_eq!(take(&direct, "127.0.0.1", 2_000).len(), 192);
        assert_eq!(take(&direct, "::1", 2_000).len(), 192);
        let proxied = ConnectionBudget::new(ConnectionLimits::of_files(256, false));
        assert_eq!(take(&proxied, "203.0.113.7", 2_000).len(), 192);
    }
}
