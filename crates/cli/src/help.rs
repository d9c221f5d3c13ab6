//! The help of the program itself: commands in groups, a screen of them for `-h` and for no arguments, each with a sentence
//! for `--help`.

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
  assay softmax.metal                   how long, what limits it, what to do
  assay diff before.metal after.metal   which is faster, and why
  assay run softmax.metal --check       races, out of bounds, uninitialised
  assay explain tile-loads              what a word of a report means
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

/// The program with its help.
pub(crate) fn with_groups(program: Command) -> Command {
    let template = "{about}\n\nUsage: assay COMMAND{after-help}\n";
    let (short, long) = (short(&program), long(&program));
    program
        .help_template(template)
        .after_help(short)
        .after_long_help(long)
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
        let help = with_groups(crate::app::Cli::command()).render_help();
        let text = help.to_string();
        assert!(text.lines().count() < 24, "{text}");
        assert!(
            text.lines().all(|line| line.chars().count() <= 100),
            "{text}"
        );
    }
}
