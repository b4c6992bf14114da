//! What is asked of Redis: a script with its keys and arguments, or a plain command.

use redis::Cmd;

/// One argument: bytes or a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arg {
    /// Bytes as they are.
    Bytes(Vec<u8>),
    /// A number, in decimal.
    Int(i64),
}

impl From<&str> for Arg {
    fn from(text: &str) -> Self {
        Self::Bytes(text.as_bytes().to_vec())
    }
}

impl From<String> for Arg {
    fn from(text: String) -> Self {
        Self::Bytes(text.into_bytes())
    }
}

impl From<&[u8]> for Arg {
    fn from(bytes: &[u8]) -> Self {
        Self::Bytes(bytes.to_vec())
    }
}

impl From<Vec<u8>> for Arg {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(bytes)
    }
}

impl From<i64> for Arg {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<u32> for Arg {
    fn from(number: u32) -> Self {
        Self::Int(number.into())
    }
}

impl From<u64> for Arg {
    fn from(number: u64) -> Self {
        // Beyond the range of i64 a number is still the same digits.
        i64::try_from(number).map_or_else(|_| Self::from(number.to_string()), Self::Int)
    }
}

/// A Lua script and its hash, by which servers that have it run it.
#[derive(Debug, Clone)]
pub struct Script {
    name: &'static str,
    source: String,
    sha: String,
}

impl Script {
    /// A script of some parts, one after the other: what several scripts share stands first.
    #[must_use]
    pub fn new(name: &'static str, parts: &[&str]) -> Self {
        let source = parts.join("\n");
        let sha = redis::Script::new(&source).get_hash().to_owned();
        Self { name, source, sha }
    }

    /// The name, for logs and metrics.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The hash that `EVALSHA` takes, 40 hex digits.
    #[must_use]
    pub fn sha(&self) -> &str {
        &self.sha
    }

    /// A call of it. All keys must carry the same hash tag.
    #[must_use]
    pub fn call(&self) -> Call<'_> {
        Call {
            script: self,
            keys: Vec::new(),
            args: Vec::new(),
        }
    }
}

/// One call of a script. It can be sent twice: scripts are idempotent, each by an id of its own.
#[derive(Debug, Clone)]
pub struct Call<'a> {
    script: &'a Script,
    keys: Vec<String>,
    args: Vec<Arg>,
}

impl Call<'_> {
    /// With another key.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.keys.push(key.into());
        self
    }

    /// With another argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<Arg>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// With more arguments.
    #[must_use]
    pub fn args<A: Into<Arg>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// By its hash: what is sent but for the first time a server sees the script.
    pub(crate) fn by_hash(&self) -> Cmd {
        self.command("EVALSHA", &self.script.sha)
    }

    /// With its source, which the server keeps from then on.
    pub(crate) fn by_source(&self) -> Cmd {
        self.command("EVAL", &self.script.source)
    }

    fn command(&self, name: &str, script: &str) -> Cmd {
        let mut command = redis::cmd(name);
        command.arg(script).arg(self.keys.len());
        for key in &self.keys {
            command.arg(key);
        }
        add(&mut command, &self.args);
        command
    }
}

/// A plain command, for reads that need no script. Its first argument is its key.
#[derive(Debug, Clone)]
pub struct Command {
    name: &'static str,
    args: Vec<Arg>,
}

impl Command {
    /// A command without arguments yet.
    #[must_use]
    pub fn new(name: &'static str) -> Self {
        Self {
            name,
            args: Vec::new(),
        }
    }

    /// With another argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<Arg>) -> Self {
        self.args.push(arg.into());
        self
    }

    pub(crate) fn build(&self) -> Cmd {
        let mut command = redis::cmd(self.name);
        add(&mut command, &self.args);
        command
    }
}

fn add(command: &mut Cmd, args: &[Arg]) {
    for arg in args {
        match arg {
            Arg::Bytes(bytes) => command.arg(&bytes[..]),
            Arg::Int(number) => command.arg(*number),
        };
    }
}
