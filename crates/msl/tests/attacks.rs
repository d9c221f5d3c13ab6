//! What a source may make the compiler tell: the page of attacks, and its neighbours that must compile.

mod common;

use assay_msl::{Compiler, Emit, Error, Limits, Options, Source, compile};
use common::{Cache, compilers, shared_cache};
use std::path::{Path, PathBuf};

const ATTACKS: &str = include_str!("attacks/attacks.txt");
const HARMLESS: &str = include_str!("attacks/harmless.txt");

/// The sources of a table, by what the line above them says.
fn table(text: &str) -> Vec<(&str, String)> {
    let cases = text.split("\n=== ").skip(1);
    cases
        .map(|case| {
            let (title, source) = case.split_once('\n').expect("a title");
            let mut source = format!("{source}\n");
            if !source.contains("kernel void") {
                source.push_str("kernel void k(device float* o) { o[0] = 1; }\n");
            }
            (title, source)
        })
        .collect()
}

/// Folders with a file that nobody may know of.
struct World {
    base: PathBuf,
    secret: String,
    _folder: Cache,
}

impl World {
    fn new() -> World {
        let folder = Cache::new();
        let base = folder.path().canonicalize().expect("a folder");
        let inside = base.join("in");
        std::fs::create_dir_all(inside.join("deep")).expect("a folder");
        std::fs::create_dir(base.join("out")).expect("a folder");
        let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let time = time.expect("a time").as_nanos().to_string();
        // Letters only: a compiler that repeats a word shows all of it.
        let letters = time.bytes().map(|digit| char::from(digit - b'0' + b'g'));
        let world = World {
            secret: letters.collect(),
            base,
            _folder: folder,
        };
        std::fs::write(
            inside.join("x.h"),
            "#pragma once\nconstant int allowed = 1;\n",
        )
        .expect("a file");
        std::fs::write(inside.join("deep/y.h"), "#include \"../x.h\"\n").expect("a file");
        for name in ["\u{e4}.h", "a b.h"] {
            std::fs::copy(inside.join("x.h"), inside.join(name)).expect("a file");
        }
        #[cfg(unix)]
        for (to, name) in [
            (world.file(), "link.h"),
            (world.file(), "\u{e9}.h"),
            (world.file(), "<x>"),
            (world.file(), "x\\y.h"),
            (world.file(), "x\"y.h"),
            (world.base.join("out"), "away"),
            ("x.h".into(), "inner.h"),
        ] {
            std::os::unix::fs::symlink(to, inside.join(name)).expect("a link");
        }
        #[cfg(target_os = "linux")]
        {
            use std::os::unix::ffi::OsStrExt;
            let name = std::ffi::OsStr::from_bytes(b"\xff.h");
            std::os::unix::fs::symlink(world.file(), inside.join(name)).expect("a link");
        }
        world
    }

    fn inside(&self) -> PathBuf {
        self.base.join("in")
    }

    fn file(&self) -> PathBuf {
        self.base.join("out/canary.h")
    }

    /// Makes the file, or takes it away.
    fn exists(&self, there: bool) {
        let text = format!(
            "constant int {0} = 1; {0} {0}\n#error {0}\n\"{0}\"\n",
            self.secret
        );
        match there {
            true => std::fs::write(self.file(), text).expect("a file"),
            false => drop(std::fs::remove_file(self.file())),
        }
    }

    fn fill(&self, text: &str) -> String {
        let shown = |path: PathBuf| path.display().to_string();
        text.replace("{file}", &shown(self.file()))
            .replace("{folder}", &shown(self.base.join("out")))
            .replace("{inside}", &shown(self.inside()))
            .replace("{name}", "out/canary.h")
            .replace("{base}", "canary.h")
            .replace("{own}", &shown(shared_cache()))
    }

    fn compile(&self, text: &str, compiler: &Compiler, confined: bool) -> Result<String, String> {
        let options = Options {
            within: confined.then(|| vec![self.inside()]),
            emit: Emit::Text,
            ..Options::new(shared_cache())
        };
        let path = Path::new("user.metal");
        let text = text.as_bytes();
        match compile(Source { path, text }, compiler, &options) {
            Ok(compiled) => Ok(String::from_utf8_lossy(&compiled.code).into_owned()),
            Err(Error::Source(errors)) => Err(format!("{errors:#?}")),
            Err(other) => panic!("{other}"),
        }
    }

    /// Nothing that was said holds the secret, as text or as numbers.
    fn keeps(&self, said: &str) -> bool {
        let numbers = |separator: &str| {
            let bytes: Vec<String> = self.secret.bytes().map(|byte| byte.to_string()).collect();
            bytes[2..8].join(separator)
        };
        !said.contains(&self.secret)
            && !said.contains(&numbers(", "))
            && !said.contains(&numbers(", i8 "))
    }
}

/// An answer without the names that clang makes at random.
fn plain(answer: &Result<String, String>) -> Result<String, String> {
    let without = |text: &String| match text.split_once(".pcm'") {
        Some((start, end)) => format!(
            "{}{end}",
            start.rsplit_once("x-").map_or(start, |(start, _)| start)
        ),
        None => text.clone(),
    };
    answer.as_ref().map(without).map_err(without)
}

/// The first compiler, in the sandbox of the system and without.
fn machines() -> Vec<(&'static str, Compiler)> {
    let Some(compiler) = compilers().into_iter().next() else {
        return Vec::new();
    };
    let limited = Compiler {
        limits: Some(Limits::STRANGER),
        ..compiler
    };
    let bare = Compiler {
        confined: false,
        ..limited.clone()
    };
    vec![("sandbox", limited), ("text rules alone", bare)]
}

#[test]
fn no_attack_reads_a_file_or_learns_that_it_exists() {
    let attacks = table(ATTACKS);
    assert!(attacks.len() >= 60, "{}", attacks.len());
    let world = World::new();
    let mut failed = Vec::new();
    for (machine, compiler) in machines() {
        let mut answers: Vec<[Result<String, String>; 2]> = Vec::new();
        for there in [true, false] {
            world.exists(there);
            for (index, (_, source)) in attacks.iter().enumerate() {
                let answer = world.compile(&world.fill(source), &compiler, true);
                match there {
                    true => answers.push([answer.clone(), answer]),
                    false => answers[index][1] = answer,
                }
            }
        }
        for ((title, source), [with, without]) in attacks.iter().zip(&answers) {
            let mut wrong =
                |why: &str| failed.push(format!("{machine}: {title}: {why}: {with:.900?}"));
            let said =
                |answer: &Result<String, String>| answer.clone().unwrap_or_else(|error| error);
            if !world.keeps(&said(with)) {
                wrong("the file was read");
            }
            if !title.starts_with("linked: ") && plain(with) != plain(without) {
                wrong(&format!(
                    "it was told whether the file exists: {without:.900?}"
                ));
            }
            if !title.starts_with("blind: ") && with.is_ok() {
                wrong("it compiles");
            }
            if title.starts_with("always: ") {
                world.exists(true);
                let own = world.compile(&world.fill(source), &compiler, false);
                if own.is_ok() || !world.keeps(&said(&own)) {
                    failed.push(format!(
                        "{machine}: {title}: its owner compiles it: {own:.900?}"
                    ));
                }
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

#[test]
fn what_only_looks_like_an_attack_compiles() {
    let harmless = table(HARMLESS);
    assert!(harmless.len() >= 60, "{}", harmless.len());
    let world = World::new();
    let mut failed = Vec::new();
    for (machine, compiler) in machines() {
        for (title, source) in &harmless {
            for confined in [true, false] {
                if let Err(error) = world.compile(&world.fill(source), &compiler, confined) {
                    failed.push(format!("{machine}, confined {confined}: {title}: {error}"));
                }
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

/// What is given beside the source: macros, and folders with names that clang would take for something else.
#[test]
fn macros_and_folders_are_nothing_else_to_clang() {
    let world = World::new();
    world.exists(true);
    let inside = world.inside();
    // Further arguments, for clang's driver as for the compiler that it starts.
    let file = inside.join("@more");
    std::fs::write(&file, "X -DWANTED=1 -load /none.so\n").expect("a file");
    let folder = inside.join("@folder");
    std::fs::create_dir(&folder).expect("a folder");
    std::fs::write(folder.join("z.h"), "constant int z = 1;\n").expect("a file");
    let kernel = "kernel void k(device float* o) { o[0] = WANTED; }\n";
    for (machine, compiler) in machines() {
        let given = |defines: Vec<String>, text: &str| {
            let options = Options {
                within: Some(vec![inside.clone()]),
                include_folders: vec![folder.clone()],
                emit: Emit::Text,
                defines,
                ..Options::new(shared_cache())
            };
            let path = &folder.join("k.metal");
            let text = text.as_bytes();
            compile(Source { path, text }, &compiler, &options)
        };
        for define in [
            "@{inside}/@more",
            "@@more",
            "@{file}",
            "X=1\n#include \"{inside}/link.h\"",
            "X\n#include \"{inside}/link.h\"\n#define Y",
            "X\n#embed \"{inside}/link.h\"\nint y",
            "X\r#embed \"{inside}/link.h\"\r",
            "X\\",
            " -load {inside}/x.so",
        ] {
            let define = world.fill(define);
            let defines = vec!["WANTED=2".to_owned(), define.clone()];
            match given(defines, kernel) {
                Err(Error::Source(errors)) => {
                    let said = format!("{errors:?}");
                    assert!(
                        said.contains("not a macro"),
                        "{machine}: {define:?}: {said}"
                    );
                    assert!(world.keeps(&said), "{machine}: {define:?}: {said}");
                }
                other => panic!("{machine}: {define:?}: {other:?}"),
            }
        }
        let fine = "#include \"z.h\"\nkernel void k(device float* o) { o[0] = WANTED(z); }\n";
        let fine = given(vec!["WANTED(x)=x".to_owned()], fine);
        assert!(fine.is_ok(), "{machine}: {fine:?}");
    }
}

/// What random programs are made of, most of them lines.
const PIECES: [&str; 52] = [
    "#include \"{file}\"\n",
    "#include <{file}>\n",
    "H include \"{file}\"\n",
    "E #include \"{file}\"\n",
    "#embed \"{file}\"\n",
    "H embed \"{file}\"\n",
    "#if __has_include(\"{file}\")\n",
    "#if P(__has_, include)(F)\n",
    "#if P(__has_, embed)(F)\n",
    "#else\n",
    "#endif\n",
    "#endif\n",
    "#if 1\n",
    "#error yes\n",
    "asm(\".include \\\"{file}\\\"\");\n",
    "P(as, m)(\".incbin \\\"{file}\\\"\");\n",
    "__asm__",
    "(F)",
    "V(H)",
    "V(",
    ")",
    "S(",
    "F",
    "H",
    "E",
    "# 1 \"{file}\" 1 3\n",
    "#line 1 F\n",
    "H 1 F\n",
    "# 1 \"user.metal\"\n",
    "\n#pragma GCC dependency \"{file}\"\n",
    "_Pragma(S(GCC dependency F))\n",
    "#pragma clang diagnostic ignored \"-Wc23-extensions\"\n",
    "_Pragma(\"clang diagnostic ignored \\\"-Weverything\\\"\")\n",
    "#pragma GCC system_header\n",
    "#pragma unroll(N)\n",
    "#define N F\n",
    "#define N asm(F)\n",
    "#undef H\n",
    "#define H %:\n",
    "B\n",
    "\u{a0}",
    "/*",
    "*/",
    "R\"(",
    ")\"",
    "\"",
    "'",
    "#include \"{inside}/x.h\"\n",
    "constant int a = allowed;\n",
    "{\n",
    "}\n",
    "\n",
];

const MACROS: &str = "#define H #\n#define E\n#define P(a, b) a##b\n#define S(...) #__VA_ARGS__\n#define V(...) __VA_ARGS__\n#define F \"{file}\"\n\
                      #define B \\ /**/\n";

/// Random programs by the text rules alone, some hundred by default and as many as `ASSAY_FUZZ_PROGRAMS` says.
#[test]
fn no_random_program_reads_a_file_or_learns_that_it_exists() {
    let Some((_, compiler)) = machines().pop() else {
        return;
    };
    let programs = std::env::var("ASSAY_FUZZ_PROGRAMS")
        .ok()
        .and_then(|n| n.parse().ok());
    let programs: usize = programs.unwrap_or(150);
    let seed = std::env::var("ASSAY_FUZZ_SEED")
        .ok()
        .and_then(|n| n.parse().ok());
    let mut state: u64 = 0x2545_f491_4f6c_dd1d ^ seed.unwrap_or(0);
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 33).unwrap_or(0) % below
    };
    let world = World::new();
    let mut compiled = 0;
    let mut left = programs;
    while left > 0 {
        let batch = left.min(100);
        left -= batch;
        let sources: Vec<String> = (0..batch)
            .map(|_| {
                let length = 1 + next(7);
                let body: String = (0..length).map(|_| PIECES[next(PIECES.len())]).collect();
                world.fill(&format!(
                    "{MACROS}{body}\nkernel void k(device float* o) {{ o[0] = 1; }}\n"
                ))
            })
            .collect();
        let [with, without] = [true, false].map(|there| {
            world.exists(there);
            let half = sources.len() / 2;
            let some = |sources: &[String]| -> Vec<Result<String, String>> {
                sources
                    .iter()
                    .map(|text| world.compile(text, &compiler, true))
                    .collect()
            };
            std::thread::scope(|scope| {
                let first = scope.spawn(|| some(&sources[..half]));
                let second = some(&sources[half..]);
                let mut all = first.join().expect("no panic");
                all.extend(second);
                all
            })
        });
        for ((source, with), without) in sources.iter().zip(&with).zip(&without) {
            compiled += usize::from(with.is_ok());
            let said = with.clone().unwrap_or_else(|error| error);
            assert!(world.keeps(&said), "read by {source}: {said}");
            assert_eq!(plain(with), plain(without), "told to {source}");
        }
    }
    assert!(compiled > programs / 50, "{compiled} of {programs} compile");
}
