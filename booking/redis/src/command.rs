//! A plain Redis command, for calls that need no script.

use redis::Cmd;

use crate::RedisArgument;
use crate::argument::add_arguments;

/// A plain command. If the command has a key, the key is the first argument.
#[derive(Debug, Clone)]
pub struct RedisCommand {
    name: &'static str,
    arguments: Vec<RedisArgument>,
}

impl RedisCommand {
    /// Makes a command that has no arguments yet.
    #[must_use]
    pub fn new(name: &'static str) -> Self {
        Self {
            name,
            arguments: Vec::new(),
        }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, argument: impl Into<RedisArgument>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    pub(crate) fn build(&self) -> Cmd {
        let mut command = redis::cmd(self.name);
        add_arguments(&mut command, &self.arguments);
        command
    }
}
