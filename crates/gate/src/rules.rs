//! The rules a gate's problems are instances of, with their manual pages.

use assay_report::rule::Rule;

macro_rules! rules {
    ($($name:ident $id:literal $(#[doc = $page:literal])*;)*) => {
        $(pub(crate) const $name: &str = $id;)*

        /// Every rule.
        pub fn rules() -> Vec<Rule> {
            vec![$(Rule::new($id, concat!($($page, "\n"),*))),*]
        }
    };
}

rules! {
    DOES_NOT_COMPILE "does-not-compile"
    /// ## What it does
    /// Finds files of the configuration that do not compile.
    ///
    /// ## Why it matters
    /// A host program that compiles its kernels at run time finds out on the user's machine.
    ///
    /// ## What to do
    /// The message is the compiler's, at its line. A header that is not found is searched in the folders of `include` of the
    /// group in `assay.toml`; macros that the host defines belong in `defines`.
    ;
    DOES_NOT_RUN "does-not-run"
    /// ## What it does
    /// Finds kernels that stop before their end with the launch they have: an access outside a buffer, a loop without end, an
    /// argument that is not bound.
    ///
    /// ## Why it matters
    /// A GPU hides it: it reads whatever lies there, or is reset by a watchdog.
    ///
    /// ## What to do
    /// `assay run FILE -f KERNEL --check` with the same launch shows thread and line. If the launch is out of date, change
    /// it where it is written: `[launch]` of `assay.toml`, or the comment `// assay: launch` in the source. A loop that is
    /// long on purpose needs `max_steps`.
    ;
    WRONG_RESULT "wrong-result"
    /// ## What it does
    /// Finds kernels that compute something else than before, bit for bit, from the same inputs; or, where the configuration
    /// names an oracle, something else than the oracle allows.
    ///
    /// ## Why it matters
    /// A rewriting for speed must not change what is computed, and what it changes is easily within the tolerance of a test.
    ///
    /// ## What to do
    /// The line is the first changed one that the kernel's code comes from. If another order of additions is meant to be, allow
    /// units of the last place (`result = "2ulp"` in the group of the kernel), give it an oracle (`[oracle]` of `assay.toml`),
    /// accept the change (`[[accept]]` with `what = ["result"]` and the hash that the report tells), or update the baseline
    /// (`assay gate --update`). Results at a variation of the launch (other inputs, odd sizes) count where the kernel was
    /// clean with it before.
    ;
    HIDDEN "hidden"
    /// ## What it does
    /// Finds kernels of which less can be known than before: they were run and now hold what this device cannot run, or they had
    /// costs and now hold what no code is generated for.
    ///
    /// ## Why it matters
    /// A kernel that is not run is not compared, and a wrong one would pass.
    ///
    /// ## What to do
    /// The message names what stands in the way. Where the kernel needs it, accept the change (`[[accept]]` with
    /// `what = ["result"]` or `what = ["time"]` and the hash that the report tells), and test it on a Mac.
    ;
    NOT_CLEAN "not-clean"
    /// ## What it does
    /// Finds what `assay run --check` finds: races, accesses out of bounds, memory and variables read before they are
    /// written, barriers and shuffles without all their threads.
    ///
    /// ## Why it matters
    /// Results are right by luck, on one GPU, with one compiler.
    ///
    /// ## What to do
    /// Both sides of a race are named in the message. A kernel that is meant to do it has a group with `check = "off"`, or
    /// an `[[accept]]` with `what = ["check"]` and a reason.
    ;
    SLOWER "slower"
    /// ## What it does
    /// Finds kernels whose predicted time grew by more than `tolerance.time` per cent (5 unless said otherwise), on any of the
    /// configuration's chips, at any of the launch's sizes.
    ///
    /// ## Why it matters
    /// The time is modelled and good to about a fifth; but both sides are predicted by the same model from code of the same
    /// compiler, so that a difference comes from the change. `docs/accuracy.md` says how often the model orders two
    /// kernels as a GPU does.
    ///
    /// ## What to do
    /// `assay profile FILE -f KERNEL` with the launch divides the time among lines; `assay diff` compares two files. If it is
    /// meant to be: `assay gate --update`, or `[[accept]]` with `what = ["time"]`.
    ;
    REGISTERS_GREW "registers-grew"
    /// ## What it does
    /// Finds kernels whose threads need more registers than `tolerance.registers` per cent more (10 unless said otherwise).
    ///
    /// ## Why it matters
    /// Registers decide how many threads a core holds, in steps: the next step costs latency hiding. While occupancy and
    /// predicted times are no worse, more registers cost nothing, and are only shown.
    ///
    /// ## What to do
    /// `assay profile` shows where most registers are live. A kernel that became faster may pay with registers
    /// (`when_faster = "note"`, the default).
    ;
    OCCUPANCY_FELL "occupancy-fell"
    /// ## What it does
    /// Finds kernels of which a core holds fewer threads than before.
    ///
    /// ## Why it matters
    /// With fewer threads less of the latency of memory is hidden.
    ///
    /// ## What to do
    /// Registers, threadgroup memory or the size of the threadgroup limit it; `assay profile` says which.
    ;
    SPILLS_GREW "spills-grew"
    /// ## What it does
    /// Finds kernels that keep more registers in memory than before.
    ///
    /// ## Why it matters
    /// Every spilled value is a store and a load, mostly inside the hottest loop.
    ///
    /// ## What to do
    /// Keep less alive at once: smaller tiles, shorter unrolling, values computed again.
    ;
    HOT_LOOP_GREW "hot-loop-grew"
    /// ## What it does
    /// Finds kernels whose hot loop has more instructions than `tolerance.loop_instructions` per cent more.
    ///
    /// ## Why it matters
    /// It is what every iteration pays. Unrolling makes a loop longer and the kernel faster: with a launch, a kernel whose
    /// predicted time fell is not failed for it.
    ///
    /// ## What to do
    /// The line is the one that grew most. `assay disasm` shows its instructions.
    ;
    CODE_GREW "code-grew"
    /// ## What it does
    /// Finds kernels with more instructions than `tolerance.instructions` allows. Without that key the figure is only shown.
    ///
    /// ## Why it matters
    /// Long kernels miss in the instruction cache.
    ///
    /// ## What to do
    /// See which lines grew.
    ;
    CONFIGURATION_WEAKENED "configuration-weakened"
    /// ## What it does
    /// Finds changes of `assay.toml`, of launch comments and of oracles that ask less of a kernel than those of the commit that is
    /// compared with: kernels or files that are in no group any more, a launch with fewer sizes or with zeros for inputs, a
    /// check that is off, a tolerance or limit that was raised, an oracle or macro that is another, an accept that is new.
    ///
    /// ## Why it matters
    /// Who changes a kernel changes the file that judges it, in the same pull request.
    ///
    /// ## What to do
    /// If it should not be there, put it back. If it is meant to be, change the configuration in a pull request of its own that is
    /// merged by someone who may; or let `may_change` of the base's configuration name the part, as in
    /// `may_change = ["accept"]`: such changes are shown and fail nothing. Kernels are compared under the
    /// launches of both sides in any case.
    ;
    PROGRAM_SLOWER "program-slower"
    /// ## What it does
    /// Finds programs whose predicted GPU time grew by more than `time` of their `fail_on` allows (5 % unless said otherwise), on any of
    /// the configuration's chips.
    ///
    /// ## Why it matters
    /// Kernels may each be as fast as before, and the program makes more of them, or launches them worse.
    ///
    /// ## What to do
    /// Record the program in both checkouts (`assay metal run --record`); `assay trace compare --full` says which
    /// kernels came, went or take longer. If it is meant to be, raise the limit in the base's `assay.toml`.
    ;
    PROGRAM_GREW "program-grew"
    /// ## What it does
    /// Finds programs with more dispatches, or more bytes read and written, than their `fail_on` allows (0 % and 1 % unless said
    /// otherwise).
    ///
    /// ## Why it matters
    /// A chain that is not fused any more, a copy too many: counts show it exactly, where times have a band.
    ///
    /// ## What to do
    /// `assay trace compare --full` of two recordings lists what is new.
    ;
    PROGRAM_FAULTS "program-faults"
    /// ## What it does
    /// Finds programs that do more wrong than before: kernels that leave their buffers, wrong uses of Metal; with `check = true`
    /// all that `assay metal run --check` finds, dispatches without an order among them.
    ///
    /// ## Why it matters
    /// A GPU hides it, mostly.
    ///
    /// ## What to do
    /// `assay metal run --check` of the program has the line of the kernel and the calls that encoded the dispatch.
    ;
    PROGRAM_FAILS "program-fails"
    /// ## What it does
    /// Finds programs that cannot be built, do not end well, take longer than `max_seconds`, or commit no work to Metal.
    ///
    /// ## Why it matters
    /// Nothing is known about a program that did not run, and a slow one would pass.
    ///
    /// ## What to do
    /// The message has the end of what it printed. Command lines are run by a shell in the folder of `assay.toml`; `assay` and the
    /// libraries of `assay metal sdk` are found.
    ;
    OVER_LIMIT "over-limit"
    /// ## What it does
    /// Finds figures beyond the `limits` of the configuration, whatever they were before.
    ///
    /// ## Why it matters
    /// A budget is a promise to somebody else: a frame, a launch size the host relies on.
    ///
    /// ## What to do
    /// Bring the figure down, or raise the limit where it is written.
    ;
}

#[cfg(test)]
mod tests {
    use crate::FIGURES;

    #[test]
    fn every_figure_has_a_rule_with_a_page() {
        let rules = super::rules();
        for figure in FIGURES {
            let rule = rules.iter().find(|rule| rule.id == figure.rule);
            assert!(rule.is_some(), "{}", figure.name);
        }
        for rule in rules {
            assert!(rule.page().contains("## What to do"), "{}", rule.id);
            assert!(rule.title().starts_with("Finds "), "{}", rule.title());
        }
    }
}
