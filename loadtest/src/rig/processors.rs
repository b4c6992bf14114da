//! Divides this machine's processors between the processes of a rig and this program. The crowd
//! then takes no processor time from the system under test.

use std::sync::OnceLock;

use anyhow::{Context, ensure};
use rustix::thread::{CpuSet, Pid, sched_getaffinity, sched_setaffinity};

use super::Rig;

/// The processors of the rig, and those of this program.
#[derive(Debug, Clone)]
pub struct ProcessorShares {
    rig: CpuSet,
    own: CpuSet,
}

/// The processors that this program might use before the first rig took some of them. With several
/// seeds, each rig divides these again.
static ALL: OnceLock<CpuSet> = OnceLock::new();

impl ProcessorShares {
    /// Gives the rig the first `cpus` of the processors that this program might use at its start.
    ///
    /// # Errors
    /// Where no processor would be left for this program.
    pub fn split(cpus: usize) -> anyhow::Result<Self> {
        let now = sched_getaffinity(None).context("this machine does not tell its processors")?;
        let all = ALL.get_or_init(|| now);
        let numbers: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|at| all.is_set(*at)).collect();
        ensure!(
            cpus < numbers.len(),
            "cpus={cpus} leaves no processor for the crowd: this machine has {}",
            numbers.len()
        );
        let (rig, own) = numbers.split_at(cpus);
        Ok(Self {
            rig: set_of(rig),
            own: set_of(own),
        })
    }
}

impl Rig {
    /// Moves the rig's processes to the rig's processors, and this program to the others. Does
    /// nothing if both share all processors.
    pub fn keep_processors_apart(&self) {
        let Some(shares) = &self.shares else { return };
        let parts = self.parts().into_iter();
        parts
            .flat_map(|part| self.pids(part))
            .for_each(|pid| move_process(pid, &shares.rig));
        move_process(std::process::id(), &shares.own);
    }
}

fn set_of(numbers: &[usize]) -> CpuSet {
    let mut set = CpuSet::new();
    numbers.iter().for_each(|number| set.set(*number));
    set
}

/// Moves all threads of a process. A new thread runs on the processors of the thread that makes it.
fn move_process(pid: u32, to: &CpuSet) {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task"));
    let names = threads.into_iter().flatten().flatten();
    let ids = names.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    for id in ids.filter_map(Pid::from_raw) {
        // If a thread has ended meanwhile, it needs no processor.
        let _ = sched_setaffinity(Some(id), to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_rig_gets_as_many_processors_as_the_first() {
        let Ok(first) = ProcessorShares::split(1) else {
            return; // This machine has only one processor.
        };
        // Only this thread moves. The processors are those that it has after the first rig.
        sched_setaffinity(None, &first.own).expect("these processors are there");
        let second = ProcessorShares::split(1).expect("the processors are the same");
        let numbers = |set: &CpuSet| -> Vec<usize> {
            (0..CpuSet::MAX_CPU).filter(|at| set.is_set(*at)).collect()
        };
        assert_eq!(numbers(&second.rig), numbers(&first.rig));
        assert_eq!(numbers(&second.own), numbers(&first.own));
    }
}
