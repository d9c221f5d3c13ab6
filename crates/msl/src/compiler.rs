//! The clang that does the work, as a value, and the test it must pass.

use crate::flags;
use crate::limits::{self, Limits};
use crate::sandbox::{self, Access};
use crate::turn::Turn;
use std::path::PathBuf;
use std::process::Stdio;

/// A clang to run: a program and the arguments that come first.
///
/// Whoever knows the machine finds it (`assay doctor` shows how); this crate only
/// checks with [`Compiler::probe`] that it can do what is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiler {
    /// The program.
    pub program: PathBuf,
    /// Arguments before all others: `["-m", "ziglang", "clang"]` for Python.
    pub arguments: Vec<String>,
    /// What distinguishes this build of the compiler from another at the same path; part
    /// of the key of precompiled headers. Its version text, for instance.
    pub identity: String,
    /// What a run may use, for sources of strangers; whatever it likes when nothing is said.
    pub limits: Option<Limits>,
    /// Run it in the sandbox of the system, where there is one. Off for a compiler that does not run there, a script for
    /// instance that starts others.
    pub confined: bool,
    /// Folders of its own beside the program's `lib`: packages of an interpreter, for instance.
    pub toolchain: Vec<PathBuf>,
}

/// What running the compiler gave.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) success: bool,
    /// How it ended, in words: `exit status: 1`, `signal: 9 (SIGKILL)`.
    pub(crate) ended: String,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

/// Why a compiler cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It does not start.
    CannotRun(String),
    /// It does not compile the probe; the first error it printed.
    CannotCompile(String),
    /// It compiles the probe to something that will not do.
    WrongCode(&'static str),
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Refusal::CannotRun(why) => write!(f, "does not run: {why}"),
            Refusal::CannotCompile(error) => write!(f, "fails the probe: {error}"),
            Refusal::WrongCode(what) => write!(f, "fails the probe: {what}"),
        }
    }
}

impl std::error::Error for Refusal {}

/// What the compiler must handle: arithmetic in half and bfloat, properties, symbols
/// with dots, annotations that depend on template parameters.
const PROBE: &str = r#"
template <typename T> struct box {
  typedef T pair __attribute__((ext_vector_type(2)));
  pair v;
  T get() const { return v[0]; }
  void put(T x) { reinterpret_cast<T *>(&v)[0] = x; }
  __declspec(property(get = get, put = put)) T x;
};
extern "C" unsigned position(unsigned) __asm("air.probe") __attribute__((const));
template <typename T> __attribute__((annotate("probe", (unsigned)sizeof(T)))) void twice(T *p) {
  static __attribute__((used, section("probe"))) T shared[4];
  unsigned i = position(0);
  box<T> b;
  b.x = p[i];
  shared[i] = b.x;
  p[i] = b.x * __builtin_bit_cast(T, (unsigned short)(i + shared[i + 1]));
}
template __attribute__((annotate("name"))) decltype(twice<__bf16>) twice<__bf16>;
template void twice<_Float16>(_Float16 *);
"#;

/// What the probe's code must contain, and what it means when it does not.
const EXPECTED: [(&str, &str); 5] = [
    ("fmul bfloat", "it does not compute in bfloat"),
    ("fmul half", "it does not compute in half"),
    ("@air.probe", "it changes the names of symbols"),
    ("@llvm.global.annotations", "it drops annotations"),
    ("section \"probe\"", "it drops sections"),
];

impl Compiler {
    /// A compiler without leading arguments and identity.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Compiler {
            program: program.into(),
            arguments: Vec::new(),
            identity: String::new(),
            limits: None,
            confined: true,
            toolchain: Vec::new(),
        }
    }

    /// The command line, for people.
    pub fn command_line(&self) -> String {
        let mut line = self.program.display().to_string();
        for argument in &self.arguments {
            line.push(' ');
            line.push_str(argument);
        }
        line
    }

    /// The first line of `--version`.
    pub fn version(&self) -> Result<String, Refusal> {
        let run = self
            .run(["--version"], b"", Access::Only(Vec::new()))
            .map_err(|error| Refusal::CannotRun(error.to_string()))?;
        let text = String::from_utf8_lossy(&run.stdout).into_owned();
        let first = text.lines().next().unwrap_or("").trim().to_owned();
        if run.success {
            Ok(first)
        } else {
            Err(Refusal::CannotRun(first_line(&run.stderr)))
        }
    }

    /// The compiler with its version if it passes the probe: in the sandbox, or if it does not run there, without.
    pub fn settled(mut self) -> Result<(Compiler, String), Refusal> {
        let try_it = |compiler: &Compiler| {
            let version = compiler.version()?;
            compiler.probe().map(|()| version)
        };
        let confined = try_it(&self);
        if confined.is_ok() || !sandbox::confines(&self) {
            return confined.map(|version| (self, version));
        }
        self.confined = false;
        try_it(&self).map(|version| (self, version))
    }

    /// Compiles a small program and looks at the result. The version text decides
    /// nothing: vendors number their compilers as they like.
    pub fn probe(&self) -> Result<(), Refusal> {
        let options = flags::of(flags::COMMON)
            .chain(flags::of(flags::COMPILE))
            .chain(flags::PRECISE_MATH.iter().copied())
            .chain(["-x", "c++", "-S", "-emit-llvm", "-o", "-", "-"]);
        let run = self
            .run(options, PROBE.as_bytes(), Access::Only(Vec::new()))
            .map_err(|error| Refusal::CannotRun(error.to_string()))?;
        if !run.success {
            return Err(Refusal::CannotCompile(first_line(&run.stderr)));
        }
        let code = String::from_utf8_lossy(&run.stdout);
        match EXPECTED.iter().find(|(text, _)| !code.contains(text)) {
            Some((_, what)) => Err(Refusal::WrongCode(what)),
            None => Ok(()),
        }
    }

    /// Runs the compiler with `input` on its standard input.
    pub(crate) fn run<I, S>(
        &self,
        arguments: I,
        input: &[u8],
        access: Access,
    ) -> std::io::Result<Run>
    where
        I: IntoIterator<Item = S>,
        S: AsRef<std::ffi::OsStr>,
    {
        // In a page there is no process to start.
        #[cfg(target_arch = "wasm32")]
        if let Some(call) = crate::memory::call() {
            let words = arguments.into_iter();
            let words = words.map(|word| word.as_ref().to_string_lossy().into_owned());
            return crate::memory::run(call, &words.collect::<Vec<String>>(), input);
        }
        let mut command = limits::command(&self.program, self.limits.as_ref());
        command
            .args(&self.arguments)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let _turn = Turn::wait();
        let child = sandbox::spawn(command, self, &access)?;
        limits::watch(child, input, self.limits)
    }
}

/// The first line that says something is wrong, without the place.
fn first_line(stderr: &str) -> String {
    let line = stderr
        .lines()
        .find(|line| line.contains("error:"))
        .or_else(|| stderr.lines().next())
        .unwrap_or("no message");
    match line.split_once("error: ") {
        Some((_, message)) => message.to_owned(),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_there_or_is_no_compiler_is_refused() {
        let refusal = Compiler::new("/nonexistent/clang").probe();
        assert!(matches!(refusal, Err(Refusal::CannotRun(_))), "{refusal:?}");
        let refusal = Compiler::new("true").probe();
        assert_eq!(
            refusal,
            Err(Refusal::WrongCode("it does not compute in bfloat"))
        );
        let refusal = Compiler::new("false").probe();
        assert!(
            matches!(refusal, Err(Refusal::CannotCompile(_))),
            "{refusal:?}"
        );
    }
}
