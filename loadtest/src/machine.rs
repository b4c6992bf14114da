//! Describes this machine.

use rustix::process::{Resource, getrlimit};
use serde::{Deserialize, Serialize};

/// A machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// The name of the processor.
    pub processor: String,
    /// The number of processors that the measured processes could use.
    pub cpus: usize,
    /// The memory, in megabytes (10^6 bytes).
    pub memory_mb: f64,
    /// The operating system.
    pub system: String,
    /// How many sockets one process may have open.
    pub sockets_max: u64,
}

/// Returns a description of this machine. `cpus` is how many processors the measured processes
/// could use; `None` stands for all of them.
pub fn this_machine(cpus: Option<usize>) -> Machine {
    let read = |file: &str| std::fs::read_to_string(file).unwrap_or_default();
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let available = std::thread::available_parallelism().map_or(1, usize::from);
    let processor = field(&read("/proc/cpuinfo"), "model name");
    let system = read("/proc/sys/kernel/osrelease");
    Machine {
        processor: processor.unwrap_or_else(|| "an unknown processor".to_owned()),
        cpus: cpus.unwrap_or(available),
        memory_mb: kernel_kib("MemTotal") * 1.024e-3,
        system: format!("{} {}", std::env::consts::OS, system.trim()),
        sockets_max: getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX),
    }
}

/// Returns the bytes of the kernel's own caches, in which sockets are kept.
pub fn kernel_cache_bytes() -> f64 {
    kernel_kib("Slab") * 1_024.0
}

/// Returns a line of `/proc/meminfo`, in kibibytes.
fn kernel_kib(name: &str) -> f64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse().ok())
        .unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_memory_and_processors() {
        let machine = this_machine(None);
        assert!(machine.memory_mb > 100.0 && machine.cpus > 0);
        assert_eq!(this_machine(Some(1)).cpus, 1);
        assert!(kernel_cache_bytes() > 0.0);
    }
}
