//! Lists the commands of the READMEs: how the test runs each command, and what the command must
//! show.
//!
//! If the test runs a different command from the one in the README, the row in this folder says so.
//! Three differences apply to all commands. Addresses are replaced by free ones (see
//! `SUBSTITUTES`). `cargo` runs programs that are already built (see `clone`). curl fails if the
//! status is 400 or higher.

mod blocks;
mod others;

/// How a command is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// In the terminal of its README, in its turn.
    InTurn,
    /// In a terminal of its own, because it needs none of the commands before it.
    Apart,
    /// In the terminal of its README, until it answers at this address. Then Ctrl-C ends it.
    Server(&'static str),
    /// As `Server`, but the command keeps running. In the README it has its own machine, so nothing
    /// there ends it.
    LastingServer(&'static str),
    /// By another row. That row runs the same command, with its words filled in or in another form.
    By(&'static str),
    /// By `./test`, in tests of this package whose names contain this text.
    Tests(&'static str, &'static str),
    /// Not at all.
    Excused,
}

/// A command, and how it is run.
pub struct CommandRow {
    /// The command, as the README has it.
    pub command: &'static str,
    /// How the command is run.
    pub how: How,
    /// The command that is run in its place; empty if the command itself is run.
    pub run: &'static str,
    /// The texts that must be in its output.
    pub shows: &'static [&'static str],
    /// Why the command is not run as the README has it. Empty if it is, or if `how` says enough.
    pub why: &'static str,
}

const fn row(command: &'static str, how: How) -> CommandRow {
    CommandRow {
        command,
        how,
        run: "",
        shows: &[],
        why: "",
    }
}

/// Makes the row of a command that is run in its turn, as the README has it.
const fn plain(command: &'static str, shows: &'static [&'static str]) -> CommandRow {
    CommandRow {
        shows,
        ..row(command, How::InTurn)
    }
}

/// Makes the row of a command that another command replaces. The other one is run in its turn.
const fn other(
    command: &'static str,
    run: &'static str,
    shows: &'static [&'static str],
    why: &'static str,
) -> CommandRow {
    CommandRow {
        run,
        shows,
        why,
        ..row(command, How::InTurn)
    }
}

/// Makes the row of a command that is run apart, in a short form.
const fn short(
    command: &'static str,
    run: &'static str,
    shows: &'static [&'static str],
) -> CommandRow {
    CommandRow {
        how: How::Apart,
        ..other(command, run, shows, SHORT)
    }
}

/// Makes the row of a command that is run apart, as the README has it.
const fn apart(command: &'static str, shows: &'static [&'static str]) -> CommandRow {
    CommandRow {
        shows,
        ..row(command, How::Apart)
    }
}

/// Makes the row of a command with words to fill in. It is run apart, with these words filled in.
const fn filled(
    command: &'static str,
    run: &'static str,
    shows: &'static [&'static str],
) -> CommandRow {
    CommandRow {
        how: How::Apart,
        ..other(command, run, shows, "the README has words to fill in")
    }
}

const fn excused(command: &'static str, why: &'static str) -> CommandRow {
    CommandRow {
        why,
        ..row(command, How::Excused)
    }
}

const SHORT: &str = "the whole takes minutes, and its thresholds are those of a release build";
const TEST: &str = "`./test` runs this test";

/// The texts that the test replaces in each command. Beside each is the address of this test that
/// replaces it. `@…@` stands for a value that is known only when the test runs.
pub const SUBSTITUTES: &[(&str, &str)] = &[
    ("postgres://fairgate:secret@db/fairgate", "@POSTGRES@"),
    ("redis://redis:6379", "@REDIS@"),
    ("http://b1:8090,http://b2:8090", "http://127.0.0.1:8090"),
    ("0.0.0.0:", "127.0.0.1:"),
    ("127.0.0.1:8080", "127.0.0.1:@GATEWAY@"),
    ("127.0.0.1:8081", "127.0.0.1:@GUARD@"),
    ("127.0.0.1:8090", "127.0.0.1:@BOOKING@"),
];

/// The values that the short form of `loadtest/scenarios/arena.toml` changes. The short form also
/// leaves out the thresholds that are marked `undisturbed`, because they need many visitors.
pub const SHORTER: &[(&str, &str)] = &[
    ("planned_s = 115.0", "planned_s = 16.0"),
    ("visitors = 3000", "visitors = 60"),
    ("over_s = 25.0", "over_s = 2.0"),
    ("\nlate = 0.02", "\nlate = 0.0"),
    ("hold_s = 25", "hold_s = 5"),
    ("pay_s = 25", "pay_s = 5"),
    ("draw_at = \"+30s\"", "draw_at = \"+4s\""),
];

/// Words that the longest commands contain. These commands mostly wait, and are started first.
pub const LONGEST: &[&str] = &[
    "waitlist",
    "pruning",
    "last-seats",
    "edge",
    "faults",
    "swarm",
];

/// Words that commands contain if they need the machine for themselves. They run last, one by one.
/// The swarms are judged by what their visitors got.
pub const ALONE: &[&str] = &[
    "legs -- rush",
    "bench rail",
    "bench delta",
    "bench idle",
    "swarm loadtest/scenarios/arena.toml",
];

/// The lines of blocks that only set variables of the terminal.
pub const SETTINGS: &[&str] = &[
    r#"key="Authorization: Bearer $FAIRGATE_PROMOTER_KEY" json="Content-Type: application/json""#,
    "room=http://127.0.0.1:8080/v1/promoter/rooms/night-one",
    "shows=http://127.0.0.1:8080/v1/promoter/shows",
];

/// Returns the row of every command of the READMEs that is not silent. In commands that are run
/// apart, port 0 stands for a free port.
pub fn commands() -> impl Iterator<Item = &'static CommandRow> + Clone {
    blocks::ROWS.iter().chain(others::ROWS)
}
