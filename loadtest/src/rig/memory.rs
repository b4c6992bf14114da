//! Reads the resident memory of a process from the kernel.

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
    fn the_resident_memory_is_read_from_the_status_of_the_kernel() {
        let mb = parse("Name:\tgateway\nVmRSS:\t  100000 kB\n").expect("there");
        assert!((mb - 102.4).abs() < 1e-9);
        assert_eq!(parse("Name:\tgateway\n"), None);
    }
}
