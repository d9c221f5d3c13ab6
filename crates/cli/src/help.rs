//! The help of the program itself: commands in groups, a screen of them for `-h` and for no arguments, each with a sentence
//! for `--help`. And the examples of all commands, which stay whole at any width.

use clap::Command;

/// Commands by what they are for. A command that is not built in is left out.
const GROUPS: &[(&str, &[&str])] = &[
    ("look", &["profile", "predict", "diff", "trace", "explain"]),
    ("right", &["run", "gate"]),
    ("faster", &["rewrite", "tune", "attempts", "write"]),
    ("compare", &["bench", "board", "fleet"]),
    (
        "files",
        &[
            "inspect",
            "launch",
            "ir",
            "decompile",
            "compile",
            "disasm",
            "asm",
            "emu",
            "metal",
        ],
    ),
    (
        "set-up",
        &[
            "doctor",
            "chips",
            "calibrate",
            "lsp",
            "mcp",
            "completions",
            "man",
        ],
    ),
];

const EXAMPLES: &str = "\
Examples:
  assay softmax.metal                  # how long, what limits it, what to do
  assay diff before.metal after.metal  # which is faster, and why
  assay run softmax.metal --check      # races, out of bounds, uninitialised
  assay explain tile-loads             # what a word of a report means
";

const ENDING: &str = "\
Exit codes:
  0    fine
  1    the thing examined failed: wrong result, regression, gate
  2    bad usage
  3    bad or unreadable input
  4    something is missing on this machine (the message says how to get it)
  130  stopped by Ctrl-C; finished work is kept

Environment:
  NO_COLOR        no colour, whatever the terminal
  COLUMNS         lay text out for this many columns
  ASSAY_CLANG     the clang that compiles Metal source, instead of the one found
  ASSAY_CACHE     the folder for compiled headers, instead of the user's cache folder
  ASSAY_BOARD     the file that assay bench saves to and assay board shows
  ASSAY_ATTEMPTS  the file that assay tune keeps attempts in and assay attempts shows
  ASSAY_CHIPS     the folder of chip files that assay calibrate writes and predictions use
  ASSAY_PYTHON    the Python that has MLX or PyTorch, for assay bench --reference";

/// The program with its help, for a terminal of some columns.
pub(crate) fn with_groups(program: Command, width: usize) -> Command {
    let template = "{about}\n\nUsage: assay COMMAND{after-help}\n";
    let program = with_whole_examples(program.term_width(width), width);
    let (short, long) = (short(&program), long(&program));
    program
        .help_template(template)
        .after_help(short)
        .after_long_help(long)
}

/// Columns for help: those of the terminal, at most 100.
pub(crate) fn width() -> usize {
    const MOST: usize = 100;
    let columns = std::env::var("COLUMNS").ok();
    let columns = columns.and_then(|text| text.parse().ok());
    let columns = columns.or_else(|| {
        let (width, _) = terminal_size::terminal_size()?;
        Some(usize::from(width.0))
    });
    columns.unwrap_or(MOST).clamp(40, MOST)
}

/// Examples can be copied: clap would break a long one like prose, so it is broken here, as a shell reads it.
fn with_whole_examples(command: Command, width: usize) -> Command {
    let texts = [command.get_after_help(), command.get_after_long_help()];
    let [short, long] =
        texts.map(|text| text.map(|text| broken_examples(&text.to_string(), width)));
    let command = match short {
        Some(text) => command.after_help(text),
        None => command,
    };
    let command = match long {
        Some(text) => command.after_long_help(text),
        None => command,
    };
    command.mut_subcommands(|one| with_whole_examples(one, width))
}

/// A text after help, with the lines of its examples broken.
fn broken_examples(text: &str, width: usize) -> String {
    let mut out: Vec<String> = Vec::new();
    let mut inside = false;
    // Long examples are written over several lines in the source, too.
    for line in joined(text).lines() {
        inside = (inside && !line.is_empty()) || line.starts_with("Example");
        match line.strip_prefix("  ").filter(|_| inside) {
            Some(example) => out.extend(broken(example, width)),
            None => out.push(line.to_owned()),
        }
    }
    out.join("\n")
}

/// Lines that a backslash continues, as one.
fn joined(text: &str) -> String {
    let mut parts = text.split("\\\n");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| all + part.trim_start_matches(' '))
}

/// One example in lines that fit; a comment that does not fit beside it stands above.
fn broken(example: &str, width: usize) -> Vec<String> {
    let fits = |line: &str| line.chars().count() + 2 <= width;
    if fits(example) {
        return vec![format!("  {example}")];
    }
    let (command, comment) = match example.split_once(" # ") {
        Some((command, comment)) => (command.trim_end(), Some(comment)),
        None => (example, None),
    };
    let mut lines: Vec<String> = comment.iter().map(|text| format!("  # {text}")).collect();
    let mut line = String::from(" ");
    for word in shell_words(command) {
        // Two columns are for the backslash.
        if line.chars().count() + 1 + word.chars().count() + 2 > width && line.trim() != "" {
            lines.push(std::mem::replace(&mut line, "     ".to_owned()) + " \\");
        }
        line += " ";
        line += &word;
    }
    lines.push(line);
    lines
}

/// Pieces of a command that may stand on lines of their own: words, where an option keeps its value and quotes stay whole.
fn shell_words(command: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut quote = None;
    for piece in command.split(' ') {
        let is_value = |last: &String| {
            last.starts_with('-')
                && last != "--"
                && !last.contains([' ', '='])
                && !piece.starts_with('-')
        };
        match words.last_mut() {
            Some(last) if quote.is_some() || is_value(last) => {
                last.push(' ');
                last.push_str(piece);
            }
            _ => words.push(piece.to_owned()),
        }
        for c in piece.chars().filter(|c| matches!(c, '\'' | '"')) {
            quote = match quote {
                None => Some(c),
                Some(open) if open == c => None,
                other => other,
            };
        }
    }
    words
}

/// The commands of a group that are built in.
fn of<'a>(program: &'a Command, names: &[&str]) -> Vec<&'a Command> {
    let found = names
        .iter()
        .filter_map(|name| program.find_subcommand(name));
    found.collect()
}

fn short(program: &Command) -> String {
    let mut out = format!("{EXAMPLES}\nCommands:\n");
    for (group, names) in GROUPS {
        let names: Vec<&str> = of(program, names)
            .iter()
            .map(|one| one.get_name())
            .collect();
        out += &format!("  {group:8} {}\n", names.join(" "));
    }
    out + "\nassay --help: what each does · assay COMMAND -h: its options, --help: all of it"
}

fn long(program: &Command) -> String {
    let mut out = EXAMPLES.to_owned();
    for (group, names) in GROUPS {
        out += &format!("\n{group}:\n");
        for command in of(program, names) {
            let about = command.get_about().map(ToString::to_string);
            let about = about.unwrap_or_default();
            let about = about.lines().next().unwrap_or_default();
            let pieces = assay_report::wrap::hanging(about, 79, 15, 15);
            out += &format!(
                "  {:12} {}\n",
                command.get_name(),
                pieces.join("\n               ")
            );
        }
    }
    out + "\nCommon options: -o FILE writes the result there (its name chooses the format), -q says less, -v more, \
           --json is --format json\n\n"
        + ENDING
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn every_command_is_in_one_group() {
        let program = crate::app::Cli::command();
        for command in program.get_subcommands() {
            let name = command.get_name();
            let groups = GROUPS.iter().filter(|(_, names)| names.contains(&name));
            assert_eq!(groups.count(), 1, "{name}");
        }
    }

    #[test]
    fn the_short_help_fits_a_screen() {
        let help = with_groups(crate::app::Cli::command(), 100).render_help();
        let text = help.to_string();
        assert!(text.lines().count() < 24, "{text}");
        assert!(
            text.lines().all(|line| line.chars().count() <= 100),
            "{text}"
        );
    }

    #[test]
    fn a_long_example_is_broken_as_a_shell_reads_it() {
        let text = "Examples:\n  assay a b.metal\n  assay a --size N=1 'N % 2 == 0' \\\n      --grid N,N\n\nlast line of prose, long";
        let lines: Vec<String> = broken_examples(text, 24)
            .lines()
            .map(str::to_owned)
            .collect();
        assert_eq!(
            lines,
            [
                "Examples:",
                "  assay a b.metal",
                "  assay a --size N=1 \\",
                "      'N % 2 == 0' \\",
                "      --grid N,N",
                "",
                "last line of prose, long"
            ]
        );
        let commented = broken("assay calibrate --simulate # no GPU", 30);
        assert_eq!(commented, ["  # no GPU", "  assay calibrate --simulate"]);
    }
}
