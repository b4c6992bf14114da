//! Divides this machine's processors between the processes of a rig and this program. The crowd
//! then takes no processor time from the system under test.

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
    /// Gives the rig the first `cpus` of the processors that this program may use now.
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
