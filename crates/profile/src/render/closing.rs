//! The end of a text report: instruction mix, constant program, findings, what could
//! not be followed.

use super::answer::findings;
use super::text::Report;
use crate::class::class_name;
use crate::part::Part;
use crate::profile::Profile;
use assay_report::bar::bar;
use assay_report::blocks::{Answer, Detail, View};
use assay_report::table::{Column, Table};

impl Report<'_> {
    pub(super) fn mix(&mut self, part: &Part) {
        self.heading("Instruction mix");
        let mut counts: Vec<(&'static str, u32)> = Vec::new();
        for (_, block) in part.cfg.reached() {
            for entry in part.code.range(block.insns.clone()) {
                let name = match (entry.known(), entry.stands_for) {
                    (Some(insn), _) => class_name(insn.class()),
                    (None, Some(stands_for)) => stands_for.kind.name(),
                    (None, None) => "unknown",
                };
                match counts.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, count)) => *count += 1,
                    None => counts.push((name, 1)),
                }
            }
        }
        counts.sort_by_key(|&(name, count)| (std::cmp::Reverse(count), name));
        let most = counts.first().map_or(1, |(_, count)| *count).max(1);
        let mut table = Table::new([
            Column::left(""),
            Column::right(""),
            Column::right(""),
            Column::left(""),
        ]);
        for (name, count) in counts {
            let share = f64::from(count) / f64::from(part.instructions.max(1));
            table.row([
                name.to_owned(),
                count.to_string(),
                format!("{:.0} %", share * 100.0),
                bar(f64::from(count) / f64::from(most), 24)
                    .trim_end()
                    .to_owned(),
            ]);
        }
        self.table(table);
    }

    pub(super) fn constant_program(&mut self, part: &Part) {
        self.heading("Constant program (runs once per dispatch)");
        self.line(&format!(
            "{} instructions, {} bytes, {} issue slots, {} half-registers",
            part.instructions, part.code_bytes, part.once.issue, part.half_registers
        ));
    }

    pub(super) fn findings(&mut self, profile: &Profile) {
        let mut answer = Answer::default();
        findings(&mut answer, profile, Detail::Full);
        let (painter, width) = (self.painter, self.style.width);
        self.out.push('\n');
        self.out += &answer.terminal(&View {
            painter,
            width,
            ..View::default()
        });
    }

    pub(super) fn trouble(&mut self, part: &Part) {
        use crate::cfg::Trouble;
        if part.trouble.is_empty() {
            return;
        }
        self.heading("Not followed");
        const MOST: usize = 12;
        for trouble in part.trouble.iter().take(MOST) {
            let text = match trouble {
                Trouble::StrayTarget { offset, target } => match target {
                    Some(target) => format!("{offset:#x} jumps to {target:#x}, outside the code"),
                    None => format!("{offset:#x} jumps before the start of the code"),
                },
                Trouble::IndirectCall { offset } => {
                    format!("{offset:#x} calls through a register")
                }
                Trouble::UnknownInstruction { offset } => {
                    format!("{offset:#x} is no known instruction")
                }
                Trouble::NoStop { offset } => format!("the code ends at {offset:#x} without stop"),
                Trouble::Irreducible { offset } => {
                    format!("a cycle through {offset:#x} has several entries: no natural loop")
                }
            };
            self.line(&text);
        }
        if part.trouble.len() > MOST {
            self.line(&format!("and {} more", part.trouble.len() - MOST));
        }
    }
}
