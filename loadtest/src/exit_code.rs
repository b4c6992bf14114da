//! The exit codes of all commands that judge something.

/// How a command ended, as an exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadtestExitCode {
    /// Every threshold and invariant held.
    Held,
    /// A threshold or an invariant did not hold.
    Failed,
    /// The command line or the scenario is wrong; nothing was started.
    Usage,
    /// The swarm missed its own schedule, so the run proves nothing about the system.
    Invalid,
}

impl From<LoadtestExitCode> for std::process::ExitCode {
    fn from(code: LoadtestExitCode) -> Self {
        Self::from(match code {
            LoadtestExitCode::Held => 0,
            LoadtestExitCode::Failed => 99,
            LoadtestExitCode::Usage => 2,
            LoadtestExitCode::Invalid => 3,
        })
    }
}
