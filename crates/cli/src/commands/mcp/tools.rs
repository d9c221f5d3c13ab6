//! The table of tools: which command, which parameters, which flags they become.
//!
//! A new tool is a row. Schemas of parameters, command lines and the pages of the guide are made from it.

/// Stands in a command line for a folder of its own, which is gone afterwards.
macro_rules! scratch {
    () => {
        "{scratch}"
    };
}
pub(super) const SCRATCH: &str = scratch!();

/// A tool.
#[derive(Debug)]
pub(super) struct Tool {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) about: &'static str,
    /// The words every command line of the tool starts with.
    pub(super) command: &'static [&'static str],
    pub(super) parameters: &'static [&'static [Parameter]],
    /// The name of its document.
    pub(super) document: &'static str,
}

/// A parameter.
#[derive(Debug)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) kind: Kind,
    pub(super) required: bool,
}

/// What a parameter is, and what it becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A file by path, or as text in a parameter called `text` instead of `path`; as text it has this name.
    Input(&'static str),
    /// The same behind a flag.
    InputFlag(&'static str),
    /// A bare word.
    Word,
    /// Bare words.
    Words,
    /// True adds the flag.
    Switch(&'static str),
    /// A text behind the flag.
    Text(&'static str),
    /// Texts, each behind the flag.
    Texts(&'static str),
    /// A whole number behind the flag.
    Number(&'static str),
    /// Folders inside the roots behind the flag.
    Folders(&'static str),
    /// The flags of a launch in one text.
    Launch,
    /// Not for the command line.
    Own(Own),
}

/// Parameters that the server looks at itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Own {
    /// Keep the listing of instructions in the document.
    Listing,
    /// Write the source of the document to a file.
    Output,
    /// Indices of buffers.
    Buffers,
    /// Seconds.
    Timeout,
}

const fn parameter(name: &'static str, kind: Kind, about: &'static str) -> Parameter {
    Parameter {
        name,
        about,
        kind,
        required: false,
    }
}

const fn required(name: &'static str, kind: Kind, about: &'static str) -> Parameter {
    Parameter {
        required: true,
        ..parameter(name, kind, about)
    }
}

const INPUT: &[Parameter] = &[parameter(
    "path",
    Kind::Input("kernel.metal"),
    "The file: Metal source (.metal), a metallib, bitcode, or machine code; inside the allowed folders",
)];

const FUNCTION: &[Parameter] = &[parameter(
    "function",
    Kind::Text("--function"),
    "The kernel, when the file has several",
)];

const LAUNCH: &[Parameter] = &[parameter(
    "launch",
    Kind::Launch,
    "How the kernel is dispatched, as flags: --size N=1024 --grid N --threadgroup 256 --buffer 0=random:f32:N \
     --bytes 1=u32:N --tgmem 0=4096. Numbers may be formulas over sizes. Not needed when the source has a comment \
     `// assay: launch KERNEL …` with the same flags",
)];

const SOURCE: &[Parameter] = &[
    parameter("defines", Kind::Texts("-D"), "Macros: NAME or NAME=VALUE"),
    parameter(
        "include_folders",
        Kind::Folders("-I"),
        "Folders for #include, inside the allowed ones",
    ),
    parameter(
        "no_fast_math",
        Kind::Switch("--no-fast-math"),
        "Compile without fast math, which is Metal's default",
    ),
];

const CONSTANTS: &[Parameter] = &[parameter(
    "constants",
    Kind::Texts("--const"),
    "Values of function constants: INDEX|NAME=TYPE:VALUE, such as 1=bool:true",
)];

const CHIP: &[Parameter] = &[parameter(
    "chip",
    Kind::Text("--chip"),
    "The chip: m1, m1-pro, m1-max, m2, … (the tool chips lists them)",
)];

const TIME: &[Parameter] = &[parameter(
    "timeout_seconds",
    Kind::Own(Own::Timeout),
    "End the call after so many seconds; at most what the server allows",
)];

/// All tools.
pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "inspect",
        title: "What is in a file",
        about: "Lists the kernels of a file with their arguments (index, type, access), or what a metallib or archive holds. \
                Start here: a launch needs the indices of buffers.",
        command: &["inspect", "--format=json"],
        parameters: &[INPUT, FUNCTION, SOURCE, TIME],
        document: "assay.inspect",
    },
    Tool {
        name: "profile",
        title: "What a kernel costs, and why",
        about: "Static profile of a kernel: registers, occupancy, cycles by unit, the dearest source lines, loops, waits, \
                findings with advice (explain has their pages). With a launch also the predicted GPU time. Cycles are modelled.",
        command: &["profile", "--format=json", "--compiler=assay"],
        parameters: &[
            INPUT,
            FUNCTION,
            LAUNCH,
            CHIP,
            CONSTANTS,
            SOURCE,
            &[parameter(
                "listing",
                Kind::Own(Own::Listing),
                "Keep every instruction in the result, which makes it long",
            )],
            TIME,
        ],
        document: "assay.profile",
    },
    Tool {
        name: "predict",
        title: "How long a kernel will take on a GPU",
        about: "Predicted GPU time of a launch, with its band, what limits it, and what twice as much of a resource would \
                bring. Modelled, never measured: four of five kernels lie in the band. Needs a launch.",
        command: &["predict", "--format=json", "--compiler=assay"],
        parameters: &[
            INPUT,
            FUNCTION,
            LAUNCH,
            &[parameter(
                "chip",
                Kind::Text("--chip"),
                "Chips separated by commas, or all",
            )],
            &[
                parameter("cold", Kind::Switch("--cold"), "With empty caches"),
                parameter(
                    "what_if",
                    Kind::Texts("--what-if"),
                    "Another figure of the chip: dram_gbs=200",
                ),
            ],
            CONSTANTS,
            SOURCE,
            TIME,
        ],
        document: "assay.predict",
    },
    Tool {
        name: "run",
        title: "Run a kernel on the CPU: results, checks, counts",
        about: "Runs a kernel lane by lane with the arithmetic of Apple GPUs. `check` finds races, accesses outside buffers, \
                uninitialised reads and divergent barriers; `counts` counts instructions, bytes and lines of memory; `print` \
                shows buffers. Needs a launch with contents for every buffer.",
        command: &["run", "--format=json"],
        parameters: &[
            INPUT,
            FUNCTION,
            LAUNCH,
            &[
                parameter(
                    "check",
                    Kind::Switch("--check"),
                    "Look for faults; not with counts",
                ),
                parameter(
                    "counts",
                    Kind::Switch("--counts"),
                    "Count what simdgroups do; not with check",
                ),
                parameter(
                    "print",
                    Kind::Texts("--print"),
                    "Buffers to show afterwards: INDEX or INDEX:HOW_MANY",
                ),
                parameter(
                    "max_steps",
                    Kind::Number("--max-steps"),
                    "Operations a simdgroup may run in loops before the run is ended",
                ),
            ],
            CONSTANTS,
            SOURCE,
            TIME,
        ],
        document: "assay.run",
    },
    Tool {
        name: "compare",
        title: "Do two kernels compute the same?",
        about: "Runs two kernels on the same inputs and compares the buffers they leave, bit for bit: how many elements \
                differ, the first that does, the largest difference. The proof that a faster kernel is right. Each side may \
                have its own launch; contents of buffers must be described alike. Try several sizes, odd ones too.",
        command: &["run", "--format=json"],
        parameters: &[
            &[
                required(
                    "before_path",
                    Kind::Input("before.metal"),
                    "The kernel before",
                ),
                required("after_path", Kind::Input("after.metal"), "The kernel after"),
                required(
                    "buffers",
                    Kind::Own(Own::Buffers),
                    "Indices of the buffers to compare: those the kernel writes",
                ),
                parameter(
                    "function",
                    Kind::Text("--function"),
                    "The kernel, when a file has several",
                ),
                parameter(
                    "after_function",
                    Kind::Text("--function"),
                    "The kernel of the file after, when it is called otherwise",
                ),
                parameter(
                    "launch",
                    Kind::Launch,
                    "How both are dispatched, as flags; see run",
                ),
                parameter(
                    "after_launch",
                    Kind::Launch,
                    "How the kernel after is dispatched, when otherwise",
                ),
            ],
            SOURCE,
            TIME,
        ],
        document: "assay.compare",
    },
    Tool {
        name: "diff",
        title: "Which of two kernels is faster, and what changed",
        about: "Compares two kernels: with a launch by predicted time (faster, slower or a tie, with its band), else by the \
                figures of their code: registers, occupancy, cycles, bytes. Modelled.",
        command: &["diff", "--format=json", "--compiler=assay"],
        parameters: &[
            &[
                required(
                    "before_path",
                    Kind::Input("before.metal"),
                    "The file before",
                ),
                required("after_path", Kind::Input("after.metal"), "The file after"),
                parameter("function", Kind::Text("--function"), "The kernel"),
                parameter(
                    "after_function",
                    Kind::Text("--after-function"),
                    "The kernel of the file after, when it is called otherwise",
                ),
            ],
            LAUNCH,
            &[
                parameter(
                    "before_launch",
                    Kind::Text("--before-launch"),
                    "Flags of a launch for the file before only",
                ),
                parameter(
                    "after_launch",
                    Kind::Text("--after-launch"),
                    "Flags of a launch for the file after only",
                ),
            ],
            CHIP,
            CONSTANTS,
            SOURCE,
            TIME,
        ],
        document: "assay.diff",
    },
    Tool {
        name: "rewrite",
        title: "Change a kernel by recipes that keep what it computes",
        about: "With `list` says which recipes apply to a kernel and with which parameters; with `recipes` applies them in order \
                and returns Metal source with its new launch in a comment, and the predicted change. Class E leaves the same \
                bytes, class R adds floats in another order. Needs a launch. `compare` proves the result.",
        command: &["rewrite", "--format=json"],
        parameters: &[
            INPUT,
            FUNCTION,
            LAUNCH,
            &[
                parameter(
                    "list",
                    Kind::Switch("--list"),
                    "Say what applies, after `recipes` if there are any",
                ),
                parameter(
                    "recipes",
                    Kind::Texts("--recipe"),
                    "Recipes with parameters, applied in order: coarsen:x=4, threadgroup:x=32,y=4, matrices:m=32,n=32,k=16",
                ),
                parameter(
                    "output",
                    Kind::Own(Own::Output),
                    "Also write the source to this new file (.metal) inside the allowed folders",
                ),
            ],
            CHIP,
            CONSTANTS,
            SOURCE,
            TIME,
        ],
        document: "assay.rewrite",
    },
    Tool {
        name: "disasm",
        title: "Machine code as text",
        about: "Lists AGX instructions (M1, M2) of machine code, or of code generated for a kernel in source, metallib or \
                bitcode; Apple's compiler may choose differently.",
        command: &["disasm", "--format=json", "--compiler=assay"],
        parameters: &[INPUT, FUNCTION, CONSTANTS, SOURCE, TIME],
        document: "assay.disasm",
    },
    Tool {
        name: "explain",
        title: "The manual page of a finding, a unit or a recipe",
        about: "What a rule of a report finds, why it matters and what to do; what a unit is; when a recipe applies. Without a \
                rule, all pages.",
        command: &["explain", "--format=json"],
        parameters: &[&[parameter(
            "rule",
            Kind::Word,
            "A finding (narrow-loads), a unit (SCIB) or a recipe (coarsen), as a report names it",
        )]],
        document: "assay.explain",
    },
    Tool {
        name: "bench",
        title: "Examine a kernel against an oracle",
        about: "Examines kernels of the registry, or a file in place of a kernel's own source, against double-precision oracles at \
                several sizes, and times them on this CPU (host time, which says nothing about a GPU). Nothing is saved; \
                `plan` names kernels with arguments, sizes and dispatches instead.",
        command: &["bench", "--format=json", "--no-save", "--reference=none"],
        parameters: &[
            &[
                parameter(
                    "kernels",
                    Kind::Words,
                    "Kernels of the registry: softmax, layer_norm",
                ),
                parameter(
                    "all",
                    Kind::Switch("--all"),
                    "All kernels of the registry, which takes minutes unless planned",
                ),
                parameter(
                    "plan",
                    Kind::Switch("--dry-run"),
                    "Do not run: say which kernels there are, with arguments, sizes and dispatches",
                ),
                parameter(
                    "source_path",
                    Kind::InputFlag("--source"),
                    "Metal source to examine in place of the kernel's own",
                ),
                parameter("quick", Kind::Switch("--quick"), "One trial at small sizes"),
                parameter(
                    "no_time",
                    Kind::Switch("--no-time"),
                    "Only check, do not time",
                ),
                parameter(
                    "predict",
                    Kind::Text("--predict"),
                    "Add predicted GPU times on these chips: m2,m1-max",
                ),
            ],
            TIME,
        ],
        document: "assay.bench",
    },
    Tool {
        name: "chips",
        title: "Apple GPUs and their figures",
        about: "Chips with cores, clocks, caches, bandwidths, register files, each figure with its source.",
        command: &["chips", "--format=json"],
        parameters: &[&[
            parameter("name", Kind::Word, "One chip: m1-max"),
            parameter(
                "set",
                Kind::Texts("--set"),
                "Replace a figure: clock_ghz=1.2",
            ),
        ]],
        document: "assay.chips",
    },
    Tool {
        name: "tune",
        title: "Search for a faster kernel, and prove it",
        about: "Searches recipes and knobs (`// assay: tune TM = 1,2,4` in the source) for a faster kernel. What is kept computes the \
                same as the original at odd and held-out sizes and passes every check; the claimed gain is corrected for having been \
                picked among many. Times are modelled. Returns Metal source with its launch. Needs a launch.",
        command: &[
            "tune",
            "--format=json",
            concat!("--attempts=", scratch!(), "/attempts.db"),
        ],
        parameters: &[
            INPUT,
            FUNCTION,
            LAUNCH,
            &[
                required(
                    "budget",
                    Kind::Text("--budget"),
                    "How long to search: 30s, 5m; less than the server allows a call",
                ),
                parameter(
                    "evaluations",
                    Kind::Number("--evaluations"),
                    "Candidates to evaluate at most, 2 at least",
                ),
                parameter(
                    "knobs",
                    Kind::Texts("--knob"),
                    "Knobs with their values: TM=1,2,4",
                ),
                parameter(
                    "restrict",
                    Kind::Texts("--restrict"),
                    "What every configuration satisfies: TM * TN <= 16",
                ),
                parameter(
                    "only",
                    Kind::Text("--only"),
                    "Search `knobs` or `recipes` only",
                ),
                parameter(
                    "output",
                    Kind::Own(Own::Output),
                    "Also write the source to this new file (.metal) inside the allowed folders",
                ),
            ],
            CHIP,
            CONSTANTS,
            SOURCE,
            TIME,
        ],
        document: "assay.tune",
    },
];

/// The tool of a name.
pub(super) fn named(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.name == name)
}

impl Tool {
    pub(super) fn all_parameters(&self) -> impl Iterator<Item = &'static Parameter> {
        self.parameters.iter().flat_map(|group| group.iter())
    }
}

impl Parameter {
    /// The parameter that has as text what this one has by path.
    pub(super) fn text_name(&self) -> String {
        self.name.replace("path", "text")
    }
}
