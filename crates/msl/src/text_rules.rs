//! What the text that clang compiles may hold, whoever wrote it.
//!
//! The first pass has dealt with every directive. What the second pass is given must therefore be tokens, line markers and the
//! few pragmas of [`pragma`]; anything else that clang would take for a directive (`#` made by a macro, behind a space that
//! only clang takes for one, or as `%:`) would read files or define macros behind the back of the first pass. Assembly is
//! refused for the same reason: `.include` is an instruction of an assembler.
//!
//! The rules look at one line at a time, so no literal, comment or continuation may reach from one line into the next: then
//! what is a literal here is one for clang, too. Where clang's reading depends on something these rules do not know, the text is
//! refused.

/// Why a text is refused, and where in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) offset: usize,
    pub(crate) message: &'static str,
}

/// Whose text it is, which decides what a label `__asm("…")` of a declaration may say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Author {
    /// The user's text, expanded.
    User,
    /// The same with what the rewriting added, exactly as clang will read it.
    Rewriting,
}

const DIRECTIVE: &str = "a `#` that is left when all macros are expanded is not Metal: directives must stand in the source as they are";
const ASSEMBLY: &str = "assembly is not part of Metal: `asm` is refused, except as the name of one of the compiler's own \
                        functions behind a declaration, as in __asm(\"air.…\")";
const CONTINUED: &str = "a `\\` outside a literal is left when all macros are expanded: not Metal";
const UNTERMINATED: &str = "a quotation mark without the one that ends it";
const COMMENT: &str = "the start of a comment is left when all macros are expanded: not Metal";
const RAW: &str = "a raw string must end on its line and hold neither quotation marks nor `\\`";
const SEPARATOR: &str = "a `'` in a number behind the sign of an exponent, or beside a letter outside ASCII, can be read in two ways";
const PRAGMA: &str = "this word makes a directive of a text: not Metal";
const QUESTION: &str =
    "this word is a question of the preprocessor, and can only be asked in `#if`";
const IMPORT: &str = "modules of C++ are not part of Metal: `import` is refused";
/// Said of what [`embeds`] finds.
pub(crate) const EMBED: &str = "`#embed` is not part of Metal, and refused";

/// Words that mean something only to assemblers or the preprocessor.
const WORDS: [(&str, &str); 9] = [
    ("asm", ASSEMBLY),
    ("__asm", ASSEMBLY),
    ("__asm__", ASSEMBLY),
    ("_Pragma", PRAGMA),
    ("__pragma", PRAGMA),
    ("__has_include", QUESTION),
    ("__has_include_next", QUESTION),
    ("__has_embed", QUESTION),
    ("import", IMPORT),
];

/// Checks a text that the preprocessor made.
pub(crate) fn check(text: &str, author: Author) -> Result<(), Refused> {
    let mut watch = Watch {
        author,
        after: After::Nothing,
    };
    let mut start = 0;
    for line in text.split('\n') {
        check_line(line, start, &mut watch)?;
        start += line.len() + 1;
    }
    match watch.after {
        After::Nothing | After::Import { .. } => Ok(()),
        After::Asm { word, .. } => refused(word, ASSEMBLY),
    }
}

fn refused<T>(offset: usize, message: &'static str) -> Result<T, Refused> {
    Err(Refused { offset, message })
}

fn check_line(line: &str, start: usize, watch: &mut Watch) -> Result<(), Refused> {
    let bytes = line.as_bytes();
    // Whatever is not a visible character of ASCII may be a space for clang.
    let Some(first) = bytes.iter().position(u8::is_ascii_graphic) else {
        return Ok(());
    };
    if line
        .trim_end_matches(|c: char| !c.is_ascii_graphic())
        .ends_with('\\')
    {
        return refused(start + line.len() - 1, CONTINUED);
    }
    // For clang it ends a line, too.
    if let Some(at) = line.find('\r') {
        return refused(start + at, DIRECTIVE);
    }
    if bytes[first] == b'#' {
        let fine = first == 0
            && match watch.author {
                Author::User => is_marker(line) || is_pragma(line),
                Author::Rewriting => is_marker(line) || pragma(line),
            };
        return match fine {
            true => Ok(()),
            false => refused(start + first, DIRECTIVE),
        };
    }
    let mut scanner = Scanner {
        bytes,
        at: first,
        exponent: false,
    };
    while let Some(token) = scanner.next().transpose() {
        let (kind, at, end) = token.map_err(|refused| Refused {
            offset: start + refused.offset,
            ..refused
        })?;
        watch.token(kind, &line[at..end], start + at)?;
    }
    Ok(())
}

/// What kind of token it is, as far as the rules care.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Word,
    Number,
    Literal,
    Other,
}

/// What the tokens before say about the next.
#[derive(Clone, Copy, Debug)]
enum After {
    Nothing,
    /// `asm`, with the parentheses and literals seen behind it.
    Asm {
        word: usize,
        open: bool,
        literals: u32,
    },
    Import {
        word: usize,
    },
}

#[derive(Debug)]
struct Watch {
    author: Author,
    after: After,
}

impl Watch {
    fn token(&mut self, kind: Kind, text: &str, offset: usize) -> Result<(), Refused> {
        match self.after {
            After::Nothing => {}
            After::Asm {
                word,
                open,
                literals,
            } => {
                self.after = match (kind, text) {
                    (Kind::Other, "(") if !open => After::Asm {
                        word,
                        open: true,
                        literals,
                    },
                    (Kind::Literal, text) if open && self.is_label(text, literals == 0) => {
                        After::Asm {
                            word,
                            open,
                            literals: literals + 1,
                        }
                    }
                    (Kind::Other, ")") if literals > 0 => After::Nothing,
                    _ => return refused(word, ASSEMBLY),
                };
                return Ok(());
            }
            After::Import { word } => {
                let declares = kind == Kind::Other && !matches!(text, "<" | ":");
                if !declares {
                    return refused(word, IMPORT);
                }
                self.after = After::Nothing;
            }
        }
        if kind != Kind::Word {
            return Ok(());
        }
        match WORDS.iter().find(|(word, _)| *word == text) {
            None => Ok(()),
            Some((_, ASSEMBLY)) => {
                self.after = After::Asm {
                    word: offset,
                    open: false,
                    literals: 0,
                };
                Ok(())
            }
            Some((_, IMPORT)) => {
                self.after = After::Import { word: offset };
                Ok(())
            }
            Some((_, message)) => refused(offset, message),
        }
    }

    /// Returns true if a literal is the name of a function that Metal or LLVM knows, or a piece of one.
    fn is_label(&self, literal: &str, first: bool) -> bool {
        let Some(name) = literal
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'))
        else {
            return false;
        };
        let starts = !first
            || name.starts_with("air.")
            || name.starts_with("llvm.")
            || (self.author == Author::Rewriting && name.starts_with("assay."));
        let ours = |c: char| self.author == Author::Rewriting && (c == '?' || !c.is_ascii());
        starts
            && name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "._".contains(c) || ours(c))
    }
}

/// Tokens of one line.
struct Scanner<'l> {
    bytes: &'l [u8],
    at: usize,
    /// The token before was the sign of an exponent: what follows may belong to the number.
    exponent: bool,
}

impl Scanner<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(b'\n')
    }

    fn skip_while(&mut self, test: impl Fn(u8) -> bool) {
        while self.at < self.bytes.len() && test(self.bytes[self.at]) {
            self.at += 1;
        }
    }

    fn next(&mut self) -> Result<Option<(Kind, usize, usize)>, Refused> {
        self.skip_while(|byte| byte == b' ' || byte == b'\t');
        let start = self.at;
        if start >= self.bytes.len() {
            return Ok(None);
        }
        let exponent = std::mem::take(&mut self.exponent);
        let byte = self.peek(0);
        let kind = match byte {
            b'#' => return refused(start, DIRECTIVE),
            b'%' if self.peek(1) == b':' => return refused(start, DIRECTIVE),
            b'?' if self.peek(1) == b'?' && matches!(self.peek(2), b'=' | b'/') => {
                return refused(start, DIRECTIVE);
            }
            b'\\' => return refused(start, CONTINUED),
            b'/' if matches!(self.peek(1), b'/' | b'*') => return refused(start, COMMENT),
            b'"' | b'\'' => self.literal(byte)?,
            _ if byte.is_ascii_digit() || (byte == b'.' && self.peek(1).is_ascii_digit()) => {
                self.number()
            }
            _ if is_name(byte) => {
                self.skip_while(is_name);
                Kind::Word
            }
            // A letter outside ASCII belongs to a word: one token each, so that pieces of ASCII beside it are looked at alone.
            _ if !byte.is_ascii() => {
                self.skip_while(|byte| !byte.is_ascii());
                Kind::Other
            }
            _ => {
                self.at += 1;
                Kind::Other
            }
        };
        // Behind a letter that is not of ASCII a number may be the rest of a word.
        let number = self.bytes.get(start..self.at).unwrap_or_default();
        if kind == Kind::Number
            && start > 0
            && !self.bytes[start - 1].is_ascii()
            && number.contains(&b'\'')
        {
            return refused(start, SEPARATOR);
        }
        let quoted = self.peek(0) == b'\'';
        let beside_letter = start > 0 && !self.bytes[start - 1].is_ascii() || !byte.is_ascii();
        if quoted
            && matches!(kind, Kind::Word | Kind::Number | Kind::Other)
            && (beside_letter || self.exponent || (exponent && kind != Kind::Other))
        {
            return refused(self.at, SEPARATOR);
        }
        Ok(Some((kind, start, self.at)))
    }

    /// A number as the preprocessor sees one, up to the sign of an exponent, after which clang goes on or not, by the base.
    fn number(&mut self) -> Kind {
        loop {
            let byte = self.peek(0);
            let separator =
                byte == b'\'' && (self.peek(1).is_ascii_alphanumeric() || self.peek(1) == b'_');
            if !(byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.' || separator) {
                break;
            }
            self.at += 1;
            let signed = matches!(self.peek(0), b'+' | b'-');
            if matches!(byte, b'e' | b'E' | b'p' | b'P') && signed {
                self.at += 1;
                self.exponent = true;
                break;
            }
        }
        Kind::Number
    }

    fn literal(&mut self, quote: u8) -> Result<Kind, Refused> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.bytes.get(self.at) {
                None => return refused(start, UNTERMINATED),
                Some(b'\\') => self.at += 2,
                Some(&byte) => {
                    self.at += 1;
                    if byte == quote {
                        break;
                    }
                }
            }
        }
        if self.at > self.bytes.len() {
            return refused(start, UNTERMINATED);
        }
        let raw = quote == b'"' && start > 0 && self.bytes[start - 1] == b'R';
        if raw && !is_plain_raw(&self.bytes[start + 1..self.at - 1]) {
            return refused(start, RAW);
        }
        Ok(Kind::Literal)
    }
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$'
}

/// Returns true if what stands between the quotation marks of a raw string is the same read as an ordinary one.
fn is_plain_raw(body: &[u8]) -> bool {
    let Some(open) = body.iter().position(|&byte| byte == b'(') else {
        return false;
    };
    let delimiter = &body[..open];
    let close = [b")", delimiter].concat();
    delimiter.len() <= 16
        && delimiter
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        && body.len() >= open + 1 + close.len()
        && body.ends_with(&close)
        && !body.contains(&b'\\')
}

/// Returns true if a line is `# 12 "file"` with flags.
fn is_marker(line: &str) -> bool {
    let marker = || {
        let rest = line.strip_prefix("# ")?;
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let rest = rest.get(digits..).filter(|_| digits > 0)?;
        let mut bytes = rest.strip_prefix(" \"")?.bytes();
        loop {
            match bytes.next()? {
                // Other escapes would become characters in clang's messages, an end of a line among them.
                b'\\' => match bytes.next()? {
                    b'\\' | b'"' => {}
                    _ => return None,
                },
                b'"' => break,
                _ => {}
            }
        }
        let flags: Vec<u8> = bytes.collect();
        let pairs = flags.chunks(2);
        pairs
            .into_iter()
            .all(|pair| matches!(pair, [b' ', b'1'..=b'4']))
            .then_some(())
    };
    marker().is_some()
}

fn is_pragma(line: &str) -> bool {
    line.strip_prefix("#pragma")
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

/// Returns true if a line is a pragma that clang is given: about loops, arithmetic, optimisation, layout and warnings. All it may
/// hold are words, numbers and operators, none of which reaches beyond its line.
pub(crate) fn pragma(line: &str) -> bool {
    let Some(rest) = line.strip_prefix("#pragma ") else {
        return false;
    };
    let words: Vec<&str> = rest
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .filter(|word| !word.is_empty())
        .take(2)
        .collect();
    match words[..] {
        ["clang" | "GCC", "diagnostic"] => is_diagnostic(rest),
        ["clang", "loop" | "fp" | "optimize"] | ["STDC", _] => is_expression(rest),
        ["unroll" | "nounroll" | "float_control" | "pack", ..] => is_expression(rest),
        _ => false,
    }
}

/// Returns true if a text consists of words, numbers and operators.
pub(crate) fn is_expression(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_ ()+-*/%<>=!&|^~?:,.".contains(c);
    let hides = ["/*", "//", "%:", "??"]
        .iter()
        .any(|two| text.contains(two));
    text.chars().all(plain) && !hides
}

/// `clang diagnostic ignored "-Wunused"`.
fn is_diagnostic(text: &str) -> bool {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    match words[..] {
        [_, _, "push" | "pop"] => true,
        [_, _, "ignored" | "warning" | "error" | "fatal", option] => {
            let option = option
                .strip_prefix("\"-W")
                .and_then(|rest| rest.strip_suffix('"'));
            option.is_some_and(|option| {
                option
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "-+=".contains(c))
            })
        }
        _ => false,
    }
}

/// The line of a source, from 1, at which it embeds a file, or asks for one. Looked for in the text as it is: of what was
/// embedded the preprocessor leaves nothing but numbers. A line inside a comment is taken for a directive if it starts like one.
pub(crate) fn embeds(source: &str) -> Option<usize> {
    if !source.contains("embed") && !source.contains('\\') {
        return None;
    }
    let (joined, continued) = join_lines(source);
    let hashes = joined
        .char_indices()
        .filter_map(|(at, c)| {
            let rest = &joined[at..];
            let length = match c {
                '#' => 1,
                '%' if rest.starts_with("%:") => 2,
                '?' if rest.starts_with("??=") => 3,
                _ => return None,
            };
            let directive = after_comments(&rest[length..]);
            let end = |rest: &str| !rest.starts_with(|c: char| c == '_' || c.is_alphanumeric());
            let embeds = directive.strip_prefix("embed").is_some_and(end);
            (embeds && begins_line(&joined[..at])).then_some(at)
        })
        .next();
    let found = hashes.or_else(|| joined.find("__has_embed"))?;
    let before = continued.iter().filter(|offset| **offset <= found).count();
    Some(1 + before + joined[..found].matches('\n').count())
}

/// A text without continuations, and where they were.
fn join_lines(source: &str) -> (String, Vec<usize>) {
    let mut joined = String::with_capacity(source.len());
    let mut continued = Vec::new();
    for line in source.split_inclusive('\n') {
        // As clang does it: trigraphs are off, and nothing but these may stand behind the backslash.
        let content = line.trim_end_matches([' ', '\t', '\x0b', '\x0c', '\r', '\n']);
        let cut = content.strip_suffix('\\');
        match cut.filter(|_| line.ends_with('\n')) {
            Some(cut) => {
                joined.push_str(cut);
                continued.push(joined.len());
            }
            None => joined.push_str(line),
        }
    }
    (joined, continued)
}

/// A text without the spaces and comments it starts with; a comment may hide ends of lines.
fn after_comments(mut text: &str) -> &str {
    loop {
        text =
            text.trim_start_matches(|c: char| !matches!(c, '\n' | '\r') && !c.is_ascii_graphic());
        let comment = text
            .strip_prefix("/*")
            .and_then(|rest| rest.split_once("*/"));
        match comment {
            Some((_, rest)) => text = rest,
            None => return text,
        }
    }
}

/// Returns true if nothing but spaces and comments stands before the end of a text on its line.
fn begins_line(text: &str) -> bool {
    let line = &text[text.rfind(['\n', '\r']).map_or(0, |at| at + 1)..];
    line.contains("*/") || !line.contains(|c: char| c.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_clang_would_obey_is_refused() {
        for text in [
            "# include \"/etc/passwd\"",
            "#include \"/etc/passwd\"",
            " # 1 \"a\"",
            "\u{a0}#include \"x\"",
            "\x0b#embed \"x\"",
            "int x;\r#include \"x\"",
            "int x; #include \"x\"",
            "%:include \"x\"",
            "??=include \"x\"",
            "# 1 \"a\" include",
            "# 1 \"a",
            "#pragmatic",
            "a\\\nsm(\"x\")",
            "a\\ \nsm(\"x\")",
            "\\",
            "asm(\".include \\\"/etc/passwd\\\"\");",
            "__asm__ volatile (\"nop\");",
            "asm",
            "asm(\"air.x\\n\");",
            "asm(\"air.x\" : \"=r\"(a));",
            "asm goto(\"\");",
            "__asm(\"assay.module\")",
            "_Pragma(\"clang loop unroll(full)\")",
            "__pragma(x)",
            "__has_include(<x>)",
            "import \"/etc/passwd\";",
            "import <x>;",
            "export import m;",
            "xR\"(\n#include \"x\"\n)\"",
            "R\"(a\nb)\"",
            "R\"(a\")\";",
            "\"abc",
            "'a",
            "0xe+a'0' # '",
            "1p+a'0' # '",
            "0xe+'a # '",
            "\u{e9}1'0'__asm__",
            "\u{e9}'a' # '",
            "1e+asm(\"nop\")",
            "\u{e9}asm(\"nop\")",
            "// x",
            "a /* b",
        ] {
            assert!(check(text, Author::User).is_err(), "{text}");
        }
    }

    #[test]
    fn programs_are_not() {
        for text in [
            "# 12 \"a \\\"b\\\".metal\" 2 3",
            "# 1 \"<built-in>\"",
            "#pragma unroll",
            "#pragma clang loop unroll(full)",
            "constant char s[] = \"# include %: asm // /* \\\\ \";",
            "char c = '#', d = '\\'', e = '\"';",
            "float x = 1'000.0e-3f + 0x1p-3 + .5h;",
            "int n = 0xFF'FFu;",
            "int chasm, asm_, _asm, masm; void f() { asmx(1); }",
            "float y __asm(\"air.sqrt.f32\");",
            "__asm(\n\"air.\" \"fma.f32\")",
            "int f(int) __asm(\"llvm.bswap.i\" \"32\");",
            "int import = 3; import + 1;",
            "a = b % c ? d : e;",
            "float \u{3b1} = 2; \u{3b1}(1, 'c');",
            "static_assert(true, R\"(fine // this)\");",
            "static_assert(true, \"https://developer.apple.com\");",
            "",
        ] {
            assert_eq!(check(text, Author::User), Ok(()), "{text}");
        }
    }

    #[test]
    fn clang_is_given_only_pragmas_that_stay_on_their_line() {
        for fine in [
            "#pragma unroll",
            "#pragma unroll(4)",
            "#pragma unroll (((N) < (4) ? (N) : 4))",
            "#pragma clang loop unroll_count(4)",
            "#pragma clang fp contract(off)",
            "#pragma STDC FP_CONTRACT OFF",
            "#pragma float_control(precise, on)",
            "#pragma clang diagnostic ignored \"-Wunused-variable\"",
            "#pragma GCC diagnostic push",
        ] {
            assert!(pragma(fine), "{fine}");
        }
        for bad in [
            "#pragma clang module import x",
            "#pragma clang __debug crash",
            "#pragma GCC dependency \"/etc/passwd\"",
            "#pragma include_alias(\"a\", \"b\")",
            "#pragma comment(lib, \"x\")",
            "#pragma unroll /* ",
            "#pragma unroll \"x",
            "#pragma clang diagnostic ignored \"-W\" \"x",
            "#pragma clang attribute push(__attribute__((x)), apply_to = function)",
            "#pragma",
        ] {
            assert!(!pragma(bad), "{bad}");
        }
    }

    #[test]
    fn an_embedded_file_is_seen_in_every_spelling() {
        for text in [
            "#embed \"x\"",
            "  #  embed <x>",
            "%:embed \"x\"",
            "#em\\\nbed \"x\"",
            "#\\\nembed \"x\"",
            "/* a */ # /* b\n c */ embed \"x\"",
            "/* a\n b */ #embed \"x\"",
            "char a[] = \"/*\";\n# /*\n*/ embed \"x\"",
            "// */ #embed \"x\"",
            "/* c *\\\n/ #embed \"x\"",
            "# /* /* */ embed \"x\"",
            "#if __has_embed(\"x\")\n#endif",
        ] {
            assert!(embeds(text).is_some(), "{text}");
        }
        assert_eq!(embeds("int a;\\\n\n#embed \"x\"\n"), Some(3));
        for text in [
            "// see #embed",
            "float embed(int i);",
            "#define embed 1",
            "#define embedding 1",
            "# embedding",
            "char s[] = \"#embed\";",
            "a # embed",
        ] {
            assert_eq!(embeds(text), None, "{text}");
        }
    }
    /// The first thing clang would obey in a text, by a reading of its own: the whole text at once, with continuations, comments
    /// and raw strings that go on over lines.
    fn obeyed(text: &str) -> Option<String> {
        let text = text.replace("\\\n", "").replace('\r', "\n");
        let chars: Vec<char> = text.chars().collect();
        let at = |index: usize| chars.get(index).copied().unwrap_or('\0');
        let name = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        let line_from = |index: usize| {
            chars[index..]
                .iter()
                .take_while(|c| **c != '\n')
                .collect::<String>()
        };
        let (mut index, mut starts) = (0, true);
        while index < chars.len() {
            let c = at(index);
            if c == '\n' {
                starts = true;
                index += 1;
            } else if c.is_whitespace() || c.is_control() {
                index += 1;
            } else if c == '/' && at(index + 1) == '/' {
                index += line_from(index).chars().count();
            } else if c == '/' && at(index + 1) == '*' {
                index += 2;
                while index < chars.len() && !(at(index) == '*' && at(index + 1) == '/') {
                    index += 1;
                }
                index += 2;
            } else if starts && (c == '#' || (c == '%' && at(index + 1) == ':')) {
                let line = line_from(index);
                let plain = index == 0 || at(index - 1) == '\n';
                if !plain || !(is_marker(&line) || line.starts_with("#pragma ")) {
                    return Some(line);
                }
                index += line.chars().count();
            } else if c.is_ascii_digit() || (c == '.' && at(index + 1).is_ascii_digit()) {
                // Numbers of the preprocessor, signs of both kinds of exponents included.
                while name(at(index))
                    || at(index) == '.'
                    || (at(index) == '\'' && name(at(index + 1)))
                {
                    let sign = "eEpP".contains(at(index))
                        && "+-".contains(at(index + 1))
                        && at(index + 1) != '\0';
                    index += if sign { 2 } else { 1 };
                }
                starts = false;
            } else if name(c) {
                let start = index;
                while name(at(index)) {
                    index += 1;
                }
                let word: String = chars[start..index].iter().collect();
                let raw =
                    ["R", "u8R", "uR", "UR", "LR"].contains(&word.as_str()) && at(index) == '"';
                if raw {
                    let rest: String = chars[index + 1..].iter().collect();
                    let end = rest.split_once('(').and_then(|(delimiter, body)| {
                        let close = format!("){delimiter}\"");
                        Some(
                            delimiter.chars().count()
                                + 1
                                + body[..body.find(&close)?].chars().count()
                                + close.chars().count(),
                        )
                    });
                    index = end.map_or(chars.len(), |end| index + 1 + end);
                } else if ["asm", "__asm", "__asm__"].contains(&word.as_str()) {
                    let rest: String = chars[index..]
                        .iter()
                        .filter(|c| !c.is_whitespace())
                        .collect();
                    if !rest.starts_with("(\"air.") {
                        return Some(word);
                    }
                } else if ["_Pragma", "__has_embed", "__has_include"].contains(&word.as_str()) {
                    return Some(word);
                }
                starts = false;
            } else if c == '"' || c == '\'' {
                index += 1;
                while index < chars.len() && at(index) != c && at(index) != '\n' {
                    index += if at(index) == '\\' { 2 } else { 1 };
                }
                index += 1;
                starts = false;
            } else {
                index += 1;
                starts = false;
            }
        }
        None
    }

    const PIECES: [&str; 56] = [
        "#",
        "# ",
        "%:",
        "include",
        " \"f\"",
        " <f>",
        "embed",
        "define",
        "asm",
        "__asm__",
        "(",
        ")",
        "\"air.x\"",
        "\"",
        "'",
        "\\",
        "\\\n",
        "\n",
        "\n",
        "\n",
        "\r",
        "\n#",
        "\n# 1 \"f\" 1 3\n",
        "#pragma ",
        "unroll",
        "\n#pragma unroll\n",
        "/*",
        "*/",
        "//",
        "R",
        "R\"(",
        ")\"",
        "u8R\"a(",
        ")a\"",
        "xR\"(",
        "0xe+",
        "1p-",
        "1'0",
        "a'0'",
        "\u{a0}",
        "\u{3000}",
        "\u{e9}",
        "\x0b",
        "\0",
        " ",
        "\t",
        ";",
        "{",
        "}",
        "_Pragma",
        "import",
        "??=",
        "??/\n",
        "x",
        "__has_include",
        "%",
    ];

    /// Random texts, a sample by default and as many as `ASSAY_FUZZ_TEXTS` says.
    #[test]
    fn no_random_text_that_passes_is_obeyed() {
        let texts = std::env::var("ASSAY_FUZZ_TEXTS")
            .ok()
            .and_then(|n| n.parse().ok());
        let texts: u64 = texts.unwrap_or(30_000);
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let mut next = |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            usize::try_from(state >> 33).unwrap_or(0) % below
        };
        let mut passed = 0;
        for _ in 0..texts {
            let length = 1 + next(14);
            let text: String = (0..length).map(|_| PIECES[next(PIECES.len())]).collect();
            let _ = embeds(&text);
            if check(&text, Author::User).is_ok() {
                passed += 1;
                assert_eq!(obeyed(&text), None, "{text:?}");
            }
        }
        assert!(passed > texts / 100, "{passed} of {texts}");
    }
}
