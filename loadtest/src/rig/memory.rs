//! Reads the resident memory and the processor's time of a process from the kernel.

/// The length of a tick of the kernel's clocks for programs, in milliseconds.
const TICK_MS: f64 = 10.0;

/// Returns the processor's time of a process so far in milliseconds, or `None` if the process is
/// gone or the system has no `/proc`.
pub fn cpu_ms(pid: u32) -> Option<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    parse_cpu(&stat)
}

fn parse_cpu(stat: &str) -> Option<f64> {
    // The name, in parentheses, may contain spaces.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(11);
    let user: f64 = fields.next()?.parse().ok()?;
    let system: f64 = fields.next()?.parse().ok()?;
    Some((user + system) * TICK_MS)
}

/// Returns the resident memory in megabytes (10^6 bytes), or `None` if the process is gone or the
/// system has no `/proc`.
pub fn resident_mb(pid: u32) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    parse(&status)
}

fn parse(status: &str) -> Option<f64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1.024e-3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processors_time_is_the_sum_of_two_fields() {
        let stat = "7 (a (b) c) S 1 7 7 0 -1 4194304 5 0 0 0 12 30 0 0 20 0 1 0 99 1 2";
        assert_eq!(parse_cpu(stat), Some(420.0));
        assert_eq!(parse_cpu(""), None);
    }

    #[test]
    fn the_resident_memory_is_read_from_the_status_of_the_kernel() {
        let mb = parse("Name:\tgateway\nVmRSS:\t  100000 kB\n").expect("there");
        assert!((mb - 102.4).abs() < 1e-9);
        assert_eq!(parse("Name:\tgateway\n"), None);
    }
}
