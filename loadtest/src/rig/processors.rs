//! Gives the processes of a rig some of this machine's processors, and this program the others. The
//! crowd then takes no processor time from the system under test.

use anyhow::{Context, ensure};
use rustix::thread::{CpuSet, Pid, sched_getaffinity, sched_setaffinity};

use super::Rig;

/// The processors of the rig, and those of this program.
#[derive(Debug, Clone)]
pub struct ProcessorShares {
    rig: CpuSet,
    own: CpuSet,
}

impl ProcessorShares {
    /// Takes the first `cpus` processors of this program for the rig.
    ///
    /// # Errors
    /// Where no processor would be left for this program.
    pub fn split(cpus: usize) -> anyhow::Result<Self> {
        let all = sched_getaffinity(None).context("this machine does not tell its processors")?;
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
    /// Moves the processes of the rig to its own processors, and this program to the others. Does
    /// nothing if they share all processors.
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

/// Moves all threads of a process. New threads run on the processors of the thread that makes them.
fn move_process(pid: u32, to: &CpuSet) {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task"));
    let names = threads.into_iter().flatten().flatten();
    let ids = names.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    for id in ids.filter_map(Pid::from_raw) {
        // A thread that has ended meanwhile needs no processor.
        let _ = sched_setaffinity(Some(id), to);
    }
}
