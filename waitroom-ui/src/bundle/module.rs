//! Reads one script as a module: what it imports, what it exports, and the rest of its code. The
//! scripts use few forms: `import { a, b as c } from "./x.js";`, `import("./x.js")` for a part that
//! is loaded later, `new URL("./x.js", import.meta.url)` for a worker, and `export` in front of a
//! declaration that is never assigned again.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use super::tokens::{Gap, Token, TokenKind, tokens, write};

pub(super) struct Module<'a> {
    pub imports: Vec<Import<'a>>,
    pub exports: Vec<String>,
    code: Vec<Part<'a>>,
    /// Where the declaration of each export begins in the code.
    starts: Vec<usize>,
}

/// `import { names } from "./from.js";`. Each name is a pair: the exported name, and the name in
/// this module.
pub(super) struct Import<'a> {
    pub names: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    pub from: String,
}

enum Part<'a> {
    Code(Token<'a>),
    /// `import("./NAME.js")`
    Later(String),
    /// The `"./NAME.js"` in `new URL("./NAME.js", import.meta.url)`.
    Worker(String),
}

impl Part<'_> {
    /// Returns by how much this part changes the depth of brackets in the code.
    fn depth(&self) -> i32 {
        match self {
            Part::Code(token) => depth_of(token),
            _ => 0,
        }
    }

    /// Returns whether this part may use a name.
    fn mentions(&self, name: &str) -> bool {
        match self {
            Part::Code(token) if token.kind == TokenKind::Literal => {
                token.text.starts_with('`') && token.text.contains(name)
            }
            Part::Code(token) => token.text == name,
            _ => false,
        }
    }
}

fn depth_of(token: &Token<'_>) -> i32 {
    let is_any = |signs: [&str; 3]| signs.iter().any(|sign| token.is(sign));
    i32::from(is_any(["(", "[", "{"])) - i32::from(is_any([")", "]", "}"]))
}

impl<'a> Module<'a> {
    /// Reads a script.
    ///
    /// # Errors
    /// Says what is wrong if the script uses another form, which could not be joined.
    pub fn read(source: &'a str) -> Result<Self, String> {
        let tokens = tokens(source)?;
        let mut module = Self {
            imports: Vec::new(),
            exports: Vec::new(),
            code: Vec::new(),
            starts: Vec::new(),
        };
        let (mut at, mut depth) = (0, 0);
        while let Some(token) = tokens.get(at) {
            depth += depth_of(token);
            let next = tokens.get(at + 1);
            at += if token.is("import") && next.is_some_and(|next| next.is("(")) {
                module.later(&tokens[at..])?
            } else if depth == 0 && token.is("import") {
                module.import(&tokens[at..])?
            } else if depth == 0 && token.is("export") {
                module.export(&tokens[at..])?
            } else {
                module.code(&tokens, at);
                1
            };
        }
        Ok(module)
    }

    fn import(&mut self, rest: &[Token<'a>]) -> Result<usize, String> {
        let form = "has an import that is not of the form import { … } from \"./x.js\";";
        let end = rest.iter().position(|token| token.is("}")).ok_or(form)?;
        let [from, address, semicolon] = rest.get(end + 1..end + 4).ok_or(form)? else {
            return Err(form.to_owned());
        };
        if !rest[1].is("{") || !from.is("from") || !semicolon.is(";") {
            return Err(form.to_owned());
        }
        let names = rest[2..end].split(|token| token.is(","));
        let names = names
            .filter(|name| !name.is_empty())
            .map(|name| match name {
                [name] => Ok((name.text.clone(), name.text.clone())),
                [name, _, local_name] => Ok((name.text.clone(), local_name.text.clone())),
                _ => Err(form.to_owned()),
            });
        self.imports.push(Import {
            names: names.collect::<Result<_, _>>()?,
            from: name_in(address).ok_or(form)?,
        });
        Ok(end + 4)
    }

    fn later(&mut self, rest: &[Token<'a>]) -> Result<usize, String> {
        let name = rest.get(2).and_then(name_in);
        let (Some(name), Some(true)) = (name, rest.get(3).map(|close| close.is(")"))) else {
            return Err("loads a part in a form other than import(\"./x.js\")".to_owned());
        };
        self.code.push(Part::Later(name));
        Ok(4)
    }

    fn export(&mut self, rest: &[Token<'a>]) -> Result<usize, String> {
        let keywords = ["const", "function", "async", "class", "*"];
        let length = rest[1..]
            .iter()
            .take_while(|token| keywords.iter().any(|keyword| token.is(keyword)));
        let length = length.count();
        let name = rest.get(1 + length);
        let Some(name) = name.filter(|name| length > 0 && name.kind == TokenKind::Word) else {
            return Err("exports something other than a const, a function or a class".to_owned());
        };
        self.exports.push(name.text.to_string());
        self.starts.push(self.code.len());
        // Without `export`, the declaration begins where the export began.
        let mut declaration_start = rest[1].clone();
        declaration_start.gap = rest[0].gap;
        self.code.push(Part::Code(declaration_start));
        Ok(2)
    }

    fn code(&mut self, tokens: &[Token<'a>], at: usize) {
        let in_url = at > 1 && tokens[at - 1].is("(") && tokens[at - 2].is("URL");
        let worker = name_in(&tokens[at]).filter(|_| in_url);
        self.code.push(match worker {
            Some(name) => Part::Worker(name),
            None => Part::Code(tokens[at].clone()),
        });
    }

    /// Returns the modules that are loaded later.
    pub fn later_names(&self) -> impl Iterator<Item = &str> {
        self.code.iter().filter_map(|part| match part {
            Part::Later(name) => Some(&**name),
            _ => None,
        })
    }

    /// Returns the exports that can be left out if no other module uses them: functions and classes
    /// that this module does not use itself.
    pub fn removable(&self) -> impl Iterator<Item = &str> {
        let exports = self.exports.iter().enumerate();
        exports.filter_map(|(at, name)| {
            let own_range = self.declaration(at)?;
            let mut parts = self.code.iter().enumerate();
            let is_used = parts.any(|(at, part)| !own_range.contains(&at) && part.mentions(name));
            (!is_used).then_some(&**name)
        })
    }

    /// Returns where the declaration of an export is in the code, or `None` if it does more than
    /// declare a function or a class.
    fn declaration(&self, export: usize) -> Option<Range<usize>> {
        let start = self.starts[export];
        let is_const = self.is_sign(start, "const");
        if is_const && !self.is_function_value(start + 3) {
            return None;
        }
        let mut depth = 0;
        for (at, part) in self.code.iter().enumerate().skip(start) {
            depth += part.depth();
            if depth == 0 && self.is_sign(at, if is_const { ";" } else { "}" }) {
                return Some(start..at + 1);
            }
        }
        None
    }

    /// Returns whether `(…) =>` or `async (…) =>` begins here.
    fn is_function_value(&self, start: usize) -> bool {
        let start = start + usize::from(self.is_sign(start, "async"));
        let mut depth = 0;
        for (at, part) in self.code.iter().enumerate().skip(start) {
            depth += part.depth();
            if depth == 0 {
                return self.is_sign(at, ")")
                    && self.is_sign(at + 1, "=")
                    && self.is_sign(at + 2, ">");
            }
        }
        false
    }

    fn is_sign(&self, at: usize, text: &str) -> bool {
        matches!(self.code.get(at), Some(Part::Code(token)) if token.is(text))
    }

    /// Writes the code without imports, without the word `export`, and without the exports in
    /// `unused`. `later` writes the loading of a part, and `worker` the address of a worker.
    pub fn write(
        &self,
        unused: &BTreeSet<&str>,
        later: impl Fn(&str) -> String,
        worker: impl Fn(&str) -> String,
    ) -> String {
        let left_out: Vec<_> = (0..self.exports.len())
            .filter(|at| unused.contains(&*self.exports[*at]))
            .filter_map(|at| self.declaration(at))
            .collect();
        let literal = |text: String| Token {
            text: Cow::Owned(text),
            kind: TokenKind::Literal,
            gap: Gap::Space,
        };
        let tokens: Vec<_> = self
            .code
            .iter()
            .enumerate()
            .filter(|(at, _)| !left_out.iter().any(|range| range.contains(at)))
            .map(|(_, part)| match part {
                Part::Code(token) => token.clone(),
                Part::Later(name) => literal(later(name)),
                Part::Worker(name) => literal(format!("\"{}\"", worker(name))),
            })
            .collect();
        write(&tokens)
    }
}

/// Returns `x` for the string `"./x.js"`.
fn name_in(token: &Token<'_>) -> Option<String> {
    let name = token.text.strip_prefix("\"./")?.strip_suffix(".js\"")?;
    Some(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_is_read_in_the_forms_that_the_scripts_use() {
        let source = "import {\n  a,\n  b as c,\n} from \"./x.js\";\nexport const d = 1;\nexport async function e() {}\nexport function* f() {}\nexport class G {}\nconst h = () => import(\"./y.js\"), i = new URL(\"./z.js\", import.meta.url);";
        let module = Module::read(source).expect("it is read");
        assert_eq!(module.imports[0].from, "x");
        assert_eq!(module.imports[0].names[1], ("b".into(), "c".into()));
        assert_eq!(module.exports, ["d", "e", "f", "G"]);
        assert_eq!(module.later_names().collect::<Vec<_>>(), ["y"]);
        let (later, worker) = (
            |name: &str| format!("later({name})"),
            |name: &str| format!("../{name}"),
        );
        let written = module.write(&BTreeSet::new(), later, worker);
        assert_eq!(
            written,
            "const d=1;async function e(){}\nfunction*f(){}\nclass G{}\nconst h=()=>later(y),i=new URL(\"../z\",import.meta.url);"
        );
    }

    #[test]
    fn functions_and_classes_that_nobody_uses_can_be_left_out() {
        let source = "export function a({ b } = {}) { return c(); }\nexport const c = (d = [1]) => `${e()}`;\nexport async function e() {}\nexport class F { g() {} }\nexport const h = make(), i = (1);\nexport const j = async (k) => {\n  l(k);\n};\nexport const m = (n) + o;\nrun(p);";
        let module = Module::read(source).expect("it is read");
        let removable: BTreeSet<_> = module.removable().collect();
        assert_eq!(removable, ["F", "a", "j"].into());
        let nothing = |_: &str| String::new();
        assert_eq!(
            module.write(&removable, nothing, nothing),
            "const c=(d=[1])=>`${e()}`;async function e(){}\nconst h=make(),i=(1);const m=(n)+o;run(p);"
        );
    }

    #[test]
    fn other_forms_are_refused() {
        for bad in [
            "import a from \"./x.js\";",
            "import { a } from \"elsewhere\";",
            "import { a } from \"./x.js\"",
            "import \"./x.js\";",
            "export default 1;",
            "export { a };",
            "export let a = 1;",
            "import(a);",
        ] {
            assert!(Module::read(bad).is_err(), "{bad}");
        }
    }
}
