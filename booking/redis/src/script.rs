//! A Lua script with everything that stands in front of it, and one call of it.

use std::marker::PhantomData;

use redis::Cmd;

use crate::RedisArgument;
use crate::argument::add_arguments;

/// Values that stand one behind the other among a script's arguments.
pub trait ScriptRecord {
    /// What they are called in Lua, in order.
    const NAMES: &'static [&'static str];

    /// Adds them in that order.
    fn push_to(self, arguments: &mut Vec<RedisArgument>);
}

/// A list may consist of single values; the script names them as it walks over them.
impl<T: Into<RedisArgument>> ScriptRecord for T {
    const NAMES: &'static [&'static str] = &["value"];

    fn push_to(self, arguments: &mut Vec<RedisArgument>) {
        arguments.push(self.into());
    }
}

/// Scripts that begin alike: with the same key, the same first arguments, the same libraries.
pub trait ScriptFamily: ScriptRecord {
    /// What the key is called in Lua. All that a script touches lies on the slot of this key.
    const KEY: &'static str;
    /// What the names of its scripts begin with.
    const PREFIX: &'static str;

    /// The libraries that each script of the family begins with.
    fn libraries() -> &'static [&'static str];

    /// Values of the program that the scripts need: a line of Lua for each.
    fn constants() -> String;
}

/// A Lua script and its hash, by which servers that have it run it.
#[derive(Debug, Clone)]
pub struct RedisScript {
    name: String,
    source: String,
    sha: String,
}

/// What a script's own arguments are called.
#[derive(Debug, Clone, Copy)]
pub struct ScriptArgumentNames {
    /// One local each, in the order of the arguments.
    pub single: &'static [&'static str],
    /// More of them, that several scripts share.
    pub shared: &'static [&'static str],
    /// The list that takes all further arguments, and how many values one item of it has.
    pub list: Option<(&'static str, usize)>,
}

impl RedisScript {
    /// Puts a script of the family `F` together: constants, arguments by their names, libraries,
    /// and the script itself. Constants, first arguments and libraries may go unused; the script's
    /// own arguments may not.
    #[must_use]
    pub fn assemble<F: ScriptFamily>(
        file: &str,
        names: ScriptArgumentNames,
        libraries: &[&str],
        body: &str,
    ) -> Self {
        let mut at = 0;
        let mut argument = |name: &&str| {
            at += 1;
            format!("local {name} = ARGV[{at}]\n")
        };
        let first: String = F::NAMES.iter().map(&mut argument).collect();
        let own = names.single.iter().chain(names.shared);
        let own: String = own.map(&mut argument).collect();
        let list = names.list;
        let list = list.map_or_else(String::new, |(list, width)| list_iterator(list, at, width));
        let source = [
            "-- luacheck: push ignore 211\n",
            &F::constants(),
            &format!("local {} = KEYS[1]\n", F::KEY),
            &first,
            "-- luacheck: pop\n",
            &own,
            &list,
            "-- luacheck: push ignore 211 221 231 431\n",
            &F::libraries().join("\n"),
            &libraries.join("\n"),
            "-- luacheck: pop\n",
            body,
        ]
        .concat();
        let sha = redis::Script::new(&source).get_hash().to_owned();
        Self {
            name: format!("{}{file}", F::PREFIX),
            source,
            sha,
        }
    }

    /// The name, for whoever looks for it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The Lua text as Redis gets it.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }
}

/// The Lua function `each_LIST`: it walks over the arguments behind the first `before`, one item
/// of `width` values at a time.
fn list_iterator(list: &str, before: usize, width: usize) -> String {
    format!(
        "local function each_{list}()
  local at, last = {before} + 1 - {width}, #ARGV
  return function()
    at = at + {width}
    if at <= last then return unpack(ARGV, at, at + {width} - 1) end
  end
end
"
    )
}

/// A script of the family `F` with its own arguments. It can be sent twice: scripts are
/// idempotent, each by an id of its caller's.
#[derive(Debug, Clone)]
pub struct ScriptInvocation<F> {
    script: &'static RedisScript,
    arguments: Vec<RedisArgument>,
    family: PhantomData<fn(F)>,
}

impl<F: ScriptFamily> ScriptInvocation<F> {
    pub(crate) fn new(script: &'static RedisScript, arguments: Vec<RedisArgument>) -> Self {
        Self {
            script,
            arguments,
            family: PhantomData,
        }
    }

    /// Calls it by its hash: what is sent but for the first time a server sees the script.
    pub(crate) fn by_hash(&self, key: &str, leading: &[RedisArgument]) -> Cmd {
        self.command("EVALSHA", &self.script.sha, key, leading)
    }

    /// Calls it with its source, which the server keeps from then on.
    pub(crate) fn by_source(&self, key: &str, leading: &[RedisArgument]) -> Cmd {
        self.command("EVAL", &self.script.source, key, leading)
    }

    fn command(&self, name: &str, script: &str, key: &str, leading: &[RedisArgument]) -> Cmd {
        let mut command = redis::cmd(name);
        command.arg(script).arg(1).arg(key);
        add_arguments(&mut command, leading);
        add_arguments(&mut command, &self.arguments);
        command
    }
}
