//! Runs one bash in a bare clone. The bash runs commands one after the other, and keeps their
//! variables and jobs. A reader's terminal does the same.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use tempfile::TempDir;

use crate::clone::BareClone;

/// The longest time for one command.
const ENDS_WITHIN: Duration = Duration::from_secs(200);

/// The functions and settings of the bash. `answers URL` waits until a server answers there.
/// `set -m` gives each job its own process group, as in an interactive terminal.
const PRELUDE: &str = r#"set -m
until_it() { local end=$((SECONDS + 60)); until "$@"; do [ $SECONDS -lt $end ] || return 1; done; }
answers() { until_it curl -o /dev/null -H 'Accept: text/html' "$1" 2>/dev/null; }
is_drawn() { curl "$1" | grep -q '"seed":"'; }
end_jobs() { local job; for job in $(jobs -p); do kill -KILL -- "-$job"; done; wait; }
"#;

/// How a command ended.
pub struct Ended {
    /// The exit status.
    pub status: i32,
    /// What the command printed on standard output and standard error.
    pub said: String,
}

/// A running bash. Dropping this value ends its jobs and itself.
pub struct Terminal {
    bash: Child,
    typed: ChildStdin,
    told: Receiver<String>,
    outputs: TempDir,
    substitutes: Vec<(String, String)>,
    count: usize,
}

impl Terminal {
    /// Opens a terminal at the clone's root, without the `FAIRGATE_` variables of this
    /// test's environment. In each command, the second text of each substitute replaces the first.
    pub fn open(clone: &BareClone, path: &[PathBuf], substitutes: Vec<(String, String)>) -> Self {
        let own = std::env::var_os("PATH").unwrap_or_default();
        let folders = [clone.tools.clone()].into_iter().chain(path.to_vec());
        let folders = folders.chain(std::env::split_paths(&own));
        let mut command = Command::new("bash");
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("FAIRGATE_")) {
            command.env_remove(name);
        }
        let mut bash = command
            .args(["--noprofile", "--norc"])
            .current_dir(&clone.root)
            .env("PATH", std::env::join_paths(folders).expect("a path"))
            .env("CURL_HOME", &clone.tools)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("bash starts");
        let (tell, told) = channel();
        let printed = BufReader::new(bash.stdout.take().expect("its output"));
        std::thread::spawn(move || {
            for line in printed.lines().map_while(Result::ok) {
                // When the terminal is closed, nobody needs the line.
                let _ = tell.send(line);
            }
        });
        let typed = bash.stdin.take().expect("its input");
        let outputs = tempfile::tempdir().expect("a temporary folder");
        let mut terminal = Self {
            bash,
            typed,
            told,
            outputs,
            substitutes,
            count: 0,
        };
        terminal.type_line(PRELUDE);
        terminal
    }

    /// Runs a command to its end.
    pub fn run(&mut self, command: &str) -> Ended {
        let output = self.begin(command);
        self.type_line(&format!("}} </dev/null >'{output}' 2>&1; echo $?"));
        let status = self.number(command, &output);
        let said = fs::read(&output).expect("its output");
        let said = String::from_utf8_lossy(&said).into_owned();
        Ended { status, said }
    }

    /// Starts a command that runs until somebody ends it. Returns its job, and the file with what
    /// it prints.
    pub fn start(&mut self, command: &str) -> (i32, String) {
        let output = self.begin(command);
        self.type_line(&format!("}} </dev/null >'{output}' 2>&1 & echo $!"));
        (self.number(command, &output), output)
    }

    /// Ends a job as Ctrl-C does.
    pub fn interrupt(&mut self, job: i32) -> Ended {
        self.run(&format!("kill -INT -- -{job}; wait {job}"))
    }

    /// Types the opening brace of a group, and then the command after its texts are substituted.
    /// Returns the file for the output.
    fn begin(&mut self, command: &str) -> String {
        let replace = |text: String, (old, new): &(String, String)| text.replace(old, new);
        let command = self.substitutes.iter().fold(command.to_owned(), replace);
        self.count += 1;
        let output = self.outputs.path().join(self.count.to_string());
        self.type_line(&format!("{{ {command}"));
        output.display().to_string()
    }

    fn type_line(&mut self, line: &str) {
        writeln!(self.typed, "{line}").expect("bash reads on");
    }

    fn number(&mut self, command: &str, output: &str) -> i32 {
        let told = self.told.recv_timeout(ENDS_WITHIN);
        let so_far = || fs::read_to_string(output).unwrap_or_default();
        let told = told.unwrap_or_else(|_| panic!("does not end: {command}\n{}", so_far()));
        told.parse().unwrap_or_else(|_| panic!("{command}: {told}"))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Writing fails only if bash has already ended.
        let _ = writeln!(self.typed, "end_jobs >/dev/null 2>&1; exit 0");
        let _ = self.told.recv_timeout(ENDS_WITHIN);
        let _ = self.bash.kill();
        let _ = self.bash.wait();
    }
}
