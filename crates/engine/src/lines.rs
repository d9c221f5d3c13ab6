//! The time of source lines: instructions of a replay, by the line they were made from.

use crate::Error;
use crate::execution::Pass;
use crate::prediction::buffer;
use assay_agx::Program;
use assay_predict::{
    Cache, LineTime, REASONS, Reason, Target, TermTime, by_instruction, reason_name,
};
use assay_profile::render::Sources;
use std::collections::BTreeMap;

/// The time of every line, the dearest first.
pub fn lines(
    passes: &[Pass],
    times: u32,
    target: &Target,
    state: Cache,
    sources: Option<&Sources>,
) -> Result<Vec<LineTime>, Error> {
    let programs: Vec<&Program> = passes.iter().map(|pass| &pass.program).collect();
    let buffer = buffer(passes, times);
    let (chip, constants) = (&target.chip, &target.constants);
    let by_dispatch = by_instruction(&buffer, &programs, chip, constants, state)?;
    let mut found: BTreeMap<(String, u32), [f64; REASONS]> = BTreeMap::new();
    for (program, instructions) in programs.iter().zip(by_dispatch) {
        for instruction in instructions {
            let Some((file, line)) = line_at(program, instruction.offset) else {
                continue;
            };
            let sums = found.entry((file.to_owned(), line)).or_default();
            for (sum, us) in sums.iter_mut().zip(instruction.us) {
                *sum += us;
            }
        }
    }
    let mut lines: Vec<LineTime> = found
        .into_iter()
        .map(|((file, line), us)| line_time(file, line, &us, sources))
        .collect();
    lines.sort_by(|a, b| b.us.total_cmp(&a.us));
    Ok(lines)
}

fn line_time(file: String, line: u32, us: &[f64; REASONS], sources: Option<&Sources>) -> LineTime {
    let mut reasons: Vec<TermTime> = Reason::ALL
        .into_iter()
        .map(|reason| TermTime {
            name: reason_name(reason),
            us: us[reason as usize],
            removal_us: None,
        })
        .filter(|reason| reason.us > 0.0)
        .collect();
    reasons.sort_by(|a, b| b.us.total_cmp(&a.us));
    let text = sources.and_then(|sources| sources.line(&file, line));
    LineTime {
        us: us.iter().sum(),
        reasons,
        text: text.map(str::to_owned),
        file,
        line,
    }
}

/// File and line of the instruction at an offset.
fn line_at(program: &Program, offset: u32) -> Option<(&str, u32)> {
    let after = program.lines.partition_point(|line| line.offset <= offset);
    let line = program.lines.get(after.checked_sub(1)?)?;
    let file = program.files.get(line.file as usize)?;
    (line.line > 0).then_some((file.as_str(), line.line))
}
