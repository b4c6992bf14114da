//! A Lua script with the text that is put in front of it, and one call of the script.

use std::marker::PhantomData;

use redis::Cmd;

use crate::RedisArgument;
use crate::argument::add_arguments;

/// Lua functions that read the replies of Redis by names. They stand in front of every script.
const REPLIES: &str = include_str!("replies.lua");

/// Values that are consecutive arguments of a script.
pub trait ScriptRecord {
    /// Their names in Lua, in order.
    const NAMES: &'static [&'static str];

    /// Appends the values in the order of their names.
    fn push_to(self, arguments: &mut Vec<RedisArgument>);
}

/// The items of a list may be single values, which have no names.
impl<T: Into<RedisArgument>> ScriptRecord for T {
    const NAMES: &'static [&'static str] = &[];

    fn push_to(self, arguments: &mut Vec<RedisArgument>) {
        arguments.push(self.into());
    }
}

/// A family of scripts. They share the key, the first arguments, the constants and the libraries.
pub trait ScriptFamily: ScriptRecord {
    /// The name of the key in Lua. Everything that a script touches lies in the hash slot of this
    /// key.
    const KEY: &'static str;
    /// The prefix of the scripts' names.
    const PREFIX: &'static str;

    /// Returns the libraries that are put in front of each script of the family.
    fn libraries() -> &'static [&'static str];

    /// Returns Lua code that defines constants, one on each line. The scripts get these values from
    /// the program.
    fn constants() -> String;
}

/// A Lua script and its hash. A server that has the script runs it by the hash.
#[derive(Debug, Clone)]
pub struct RedisScript {
    name: String,
    source: String,
    sha: String,
}

/// The names of a script's own arguments.
#[derive(Debug, Clone, Copy)]
pub struct ScriptArgumentNames {
    /// The arguments of this script alone, one local variable each, in order.
    pub single: &'static [&'static str],
    /// Further arguments, which several scripts share.
    pub shared: &'static [&'static str],
    /// The list that takes all remaining arguments: its name, and the names of an item's values. An
    /// item without names is a single value.
    pub list: Option<(&'static str, &'static [&'static str])>,
}

impl RedisScript {
    /// Assembles a script of the family `F` from constants, named arguments, `replies.lua`,
    /// libraries, and the script itself. The linter luacheck allows constants, first arguments and
    /// library functions that the script does not use. It reports any other argument that the
    /// script does not use.
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
        let family_locals: String = F::NAMES.iter().map(&mut argument).collect();
        let own_names = names.single.iter().chain(names.shared);
        let own_locals: String = own_names.map(&mut argument).collect();
        let list = names.list.map_or_else(String::new, |(list, item_names)| {
            list_iterator(list, item_names, at)
        });
        let source = [
            "-- luacheck: push ignore 211\n",
            &F::constants(),
            &format!("local {} = KEYS[1]\n", F::KEY),
            &family_locals,
            REPLIES,
            "-- luacheck: pop\n",
            &own_locals,
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

    /// Returns the script's name, for logs and errors.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the Lua text that Redis gets.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }
}

/// Returns the Lua function `each_LIST`. It skips the first `before` arguments and walks over the
/// others. An item is a strict table with these names, or a single value if there are none.
fn list_iterator(list: &str, item_names: &[&str], before: usize) -> String {
    let width = item_names.len().max(1);
    let fields: Vec<String> = item_names
        .iter()
        .enumerate()
        .map(|(n, name)| format!("        {name} = ARGV[at + {n}],\n"))
        .collect();
    let item = if fields.is_empty() {
        "ARGV[at]".to_owned()
    } else {
        format!("strict({{\n{}      }})", fields.concat())
    };
    format!(
        "local function each_{list}()
  local at, last = {before} + 1 - {width}, #ARGV
  return function()
    at = at + {width}
    if at <= last then
      return {item}
    end
  end
end
"
    )
}

/// A script of the family `F` with its own arguments. It may be sent twice, because every script is
/// idempotent.
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

    /// Makes the call with the script's hash. Every call is first sent this way.
    pub(crate) fn by_hash(&self, key: &str, family_arguments: &[RedisArgument]) -> Cmd {
        self.command("EVALSHA", &self.script.sha, key, family_arguments)
    }

    /// Makes the call with the script's source. The server stores the script for later calls with
    /// the hash.
    pub(crate) fn by_source(&self, key: &str, family_arguments: &[RedisArgument]) -> Cmd {
        self.command("EVAL", &self.script.source, key, family_arguments)
    }

    fn command(
        &self,
        name: &str,
        script: &str,
        key: &str,
        family_arguments: &[RedisArgument],
    ) -> Cmd {
        let mut command = redis::cmd(name);
        command.arg(script).arg(1).arg(key);
        add_arguments(&mut command, family_arguments);
        add_arguments(&mut command, &self.arguments);
        command
    }
}
