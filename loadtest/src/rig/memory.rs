//! Reads the resident memory of a process, and its time on processors, from the kernel.

/// How many ticks the kernel reports for a second: `USER_HZ`. It is 100 on every machine.
const TICKS_PER_S: f64 = 100.0;

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

/// Returns the seconds that a process has spent on processors, or `None` if the process is gone or
/// the system has no `/proc`.
pub fn processor_s(pid: u32) -> Option<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let ticks = parse_ticks(&stat)?;
    Some(ticks as f64 / TICKS_PER_S)
}

/// Reads the ticks in user and in system mode, and adds them up. They follow the process's name,
/// which is in brackets and may contain spaces.
fn parse_ticks(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace().skip(11);
    let mut next = || fields.next()?.parse::<u64>().ok();
    Some(next()? + next()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_on_processors_is_the_sum_of_both_modes() {
        let stat = "7 (a (b) c) S 1 2 3 4 5 6 7 8 9 10 250 50 0 0";
        assert_eq!(parse_ticks(stat), Some(300));
        assert_eq!(parse_ticks("7 (a) S 1"), None);
    }

    #[test]
    fn the_resident_memory_is_read_from_the_status_of_the_kernel() {
        let mb = parse("Name:\tgateway\nVmRSS:\t  100000 kB\n").expect("there");
        assert!((mb - 102.4).abs() < 1e-9);
        assert_eq!(parse("Name:\tgateway\n"), None);
    }
}
