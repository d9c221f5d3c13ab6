//! The part of the report that is about time: loops, waits, what limits, source lines.

use super::lines::{LineCost, lines};
use super::listing::words;
use super::text::{Report, loop_name};
use crate::cost::number;
use crate::part::Part;
use crate::profile::Profile;
use assay_report::bar::bar;
use assay_report::style::Role;
use assay_report::table::{Cell, Column, Table};

impl Report<'_> {
    pub(super) fn loops(&mut self, part: &Part) {
        if part.loops.is_empty() {
            return;
        }
        self.heading("Loops (per iteration, modelled)");
        let mut table = Table::new([
            Column::left("loop"),
            Column::left("range"),
            Column::right("trips"),
            Column::right("insns"),
            Column::right("issue"),
            Column::right("IC"),
            Column::right("ld/st"),
            Column::right("carried"),
            Column::right("alone"),
            Column::left("limited by").shrink(),
        ]);
        for report in &part.loops {
            let chain = report.carried.as_ref();
            table.row([
                Cell::from(loop_name(report)),
                format!("{:#x}..{:#x}", report.start, report.end).into(),
                report
                    .trips
                    .map_or("?".to_owned(), |trips| trips.to_string())
                    .into(),
                number(report.costs.instructions).into(),
                report.costs.issue.to_string().into(),
                report.costs.ic.to_string().into(),
                format!("{}/{}", report.loads, report.stores).into(),
                chain
                    .map_or("–".to_owned(), |chain| number(chain.cycles))
                    .into(),
                report.bounds.alone.to_string().into(),
                report
                    .bounds
                    .verdict
                    .map_or("no verdict", |kind| kind.short())
                    .into(),
            ]);
        }
        self.table(table);
        for report in &part.loops {
            let Some(chain) = report.carried.as_ref().filter(|c| c.cycles > 0.0) else {
                continue;
            };
            if !part.loop_nest.is_innermost(report.id) {
                continue;
            }
            let mut shown: Vec<String> = chain
                .instructions
                .iter()
                .take(6)
                .map(|&id| words(part, id))
                .collect();
            if chain.instructions.len() > shown.len() {
                shown.push(format!("… {} in all", chain.instructions.len()));
            }
            self.line(&format!(
                "{} carries {} cycles: {}",
                loop_name(report),
                number(chain.cycles),
                shown.join(" → ")
            ));
        }
    }

    /// Float operations and bytes of the program and of each loop.
    pub(super) fn work(&mut self, part: &Part) {
        let any = part
            .loops
            .iter()
            .any(|l| l.costs.flops > 0.0 || l.costs.device_bytes > 0.0);
        if part.weighted.flops <= 0.0 && part.weighted.device_bytes <= 0.0 && !any {
            return;
        }
        self.heading("Work of a simdgroup (modelled)");
        let mut table = Table::new([
            Column::left(""),
            Column::right("FLOP"),
            Column::right("device bytes"),
            Column::right("threadgroup bytes"),
            Column::right("FLOP per device byte"),
            Column::right("share of peak FLOPS"),
        ]);
        let mut row = |name: &str, costs: &crate::Costs, bounds: &crate::Bounds| {
            let known = |value: Option<f64>| value.map_or("–".to_owned(), number);
            let share = bounds
                .peak_share
                .map(|share| format!("{:.1} %", share * 100.0));
            table.row([
                name.to_owned(),
                number(costs.flops),
                number(costs.device_bytes),
                number(costs.threadgroup_bytes),
                known(bounds.intensity),
                share.unwrap_or_else(|| "–".to_owned()),
            ]);
        };
        row("program", &part.weighted, &part.bounds);
        for report in &part.loops {
            let name = format!("{}, an iteration", loop_name(report));
            row(&name, &report.costs, &report.bounds);
        }
        self.table(table);
        let unknown = part.loops.iter().any(|report| report.trips.is_none());
        let loops = match unknown {
            true => "; the program counts loops of unknown length once",
            false => "",
        };
        let text =
            format!("a multiply-add is two; peak: one multiply-add per lane and cycle{loops}");
        self.line(&self.painter.paint(Role::Dim, &text));
    }

    pub(super) fn waits(&mut self, profile: &Profile) {
        let part = &profile.main;
        if part.waits.is_empty() {
            return;
        }
        let latency = profile.device_load_latency;
        self.heading(&format!(
            "Waits (modelled; a device load takes {})",
            latency.map_or("an unknown time".to_owned(), |cycles| format!(
                "at least {} cycles",
                number(cycles)
            ))
        ));
        let mut table = Table::new([
            Column::left("wait"),
            Column::right("slot"),
            Column::left("for").shrink(),
            Column::right("work between"),
            Column::right("stall alone"),
            Column::right("left at this occupancy"),
        ]);
        const MOST: usize = 24;
        for wait in part.waits.iter().take(MOST) {
            let producers: Vec<String> = wait
                .producers
                .iter()
                .map(|&id| format!("{:x}", part.offset(id)))
                .collect();
            let known = |value: Option<f64>| value.map_or("unknown".to_owned(), number);
            let role = match wait.exposed {
                Some(left) if left > 0.0 => Role::Bad,
                _ => Role::Figure,
            };
            table.row([
                Cell::from(format!("{:x}", wait.offset)),
                wait.slot.to_string().into(),
                match producers.is_empty() {
                    true => "nothing".into(),
                    false => producers.join(" ").into(),
                },
                number(wait.work_between).into(),
                known(wait.stall).into(),
                Cell::new(known(wait.exposed), role),
            ]);
        }
        self.table(table);
        if part.waits.len() > MOST {
            self.line(&format!("and {} more", part.waits.len() - MOST));
        }
    }

    pub(super) fn bounds(&mut self, profile: &Profile) {
        let (bounds, hot) = profile.verdict();
        let place = match hot {
            Some(report) => format!(
                "an iteration of {} at {:#x}",
                loop_name(report).trim_start_matches('·'),
                report.start
            ),
            None => "the program".to_owned(),
        };
        self.heading(&format!("What limits {place} (modelled)"));
        let largest = bounds
            .bounds
            .iter()
            .map(|bound| bound.cycles.known)
            .fold(0.0, f64::max)
            .max(1e-9);
        let bar_width = self.room(66, 24);
        let mut table = Table::new([
            Column::left("bound"),
            Column::right("cycles"),
            Column::left(""),
            Column::right("cost without it"),
        ]);
        for bound in &bounds.bounds {
            let decides = bounds.verdict == Some(bound.kind);
            let role = match decides {
                true => Role::Bad,
                false => Role::Dim,
            };
            table.row([
                match decides {
                    true => Cell::new(bound.kind.name(), Role::Bad),
                    false => bound.kind.name().into(),
                },
                bound.cycles.to_string().into(),
                Cell::new(bar(bound.cycles.known / largest, bar_width), role),
                number(bound.without).into(),
            ]);
        }
        self.table(table);
        let stalls = profile.stalls(hot);
        let mut shared = format!("one simdgroup alone: {} cycles", bounds.alone);
        if stalls > 0.0 {
            shared += &format!(", {} of them waiting for memory", number(stalls));
        }
        if let Some(count) = bounds.simdgroups_per_scheduler {
            shared += &format!("; {} share a scheduler", number(count));
        }
        self.line(&shared);
        let sentence = format!("verdict: {}", bounds.sentence());
        self.line(&self.painter.paint(Role::Figure, &sentence));
        if let Some(sentence) = bounds.latency_sentence(stalls) {
            self.line(&sentence);
        }
    }

    /// The dearest source lines, in the order of the file.
    pub(super) fn lines(&mut self, profile: &Profile) {
        const MOST: usize = 12;
        let mut costs = lines(profile);
        let all = costs.len();
        if all == 0 {
            return;
        }
        let total: f64 = costs.iter().map(LineCost::time).sum();
        costs.sort_by(|a, b| b.time().total_cmp(&a.time()));
        costs.truncate(MOST);
        costs.sort_by_key(|cost| (cost.file, cost.line));
        self.heading("Source lines (modelled, one simdgroup alone)");
        let mut table = Table::new([
            Column::left("line"),
            Column::right("insns"),
            Column::right("issue"),
            Column::right("memory"),
            Column::right("stall"),
            Column::right("share"),
            Column::left("source").shrink(),
        ]);
        for cost in &costs {
            let file = profile.main.files.get(cost.file as usize);
            let file = file.map_or("?", String::as_str);
            let text = self.style.sources.and_then(|s| s.line(file, cost.line));
            let share = cost.time() / total.max(1e-9);
            let role = match share {
                share if share >= 0.25 => Role::Bad,
                _ => Role::Figure,
            };
            let base = file.rsplit('/').next().unwrap_or(file);
            table.row([
                Cell::from(format!("{base}:{}", cost.line)),
                match cost.unknown {
                    0 => cost.instructions.to_string().into(),
                    unknown => format!("{} ({unknown} unknown)", cost.instructions).into(),
                },
                number(cost.issue).into(),
                number(cost.memory).into(),
                number(cost.stall).into(),
                Cell::new(format!("{:.0} %", share * 100.0), role),
                text.unwrap_or_default().trim_start().into(),
            ]);
        }
        self.table(table);
        if all > costs.len() {
            self.line(&format!("and {} more lines", all - costs.len()));
        }
    }
}
