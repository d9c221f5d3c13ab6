//! Which part of a recording to examine: flags shared by the trace commands.

use assay_trace::Options;

/// The process and the window.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "What to examine")]
pub(crate) struct Selection {
    /// The process with this id, instead of the recording's target
    #[arg(long, value_name = "PID", conflicts_with = "process")]
    pid: Option<u32>,

    /// The process or processes with this name
    #[arg(long, value_name = "NAME")]
    process: Option<String>,

    /// Start of the window, from the recording's start: 1.5s, 250ms, 900us
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    from: Option<u64>,

    /// End of the window, from the recording's start
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    to: Option<u64>,

    /// Only this phase: the report lists phases, split at long gaps
    #[arg(long, value_name = "N", conflicts_with_all = ["from", "to"])]
    phase: Option<u32>,

    /// A gap this long separates two phases
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "50ms")]
    phase_gap: u64,

    /// The run, when a recording has several
    #[arg(long, value_name = "N")]
    pub(crate) run: Option<u32>,
}

impl Selection {
    pub(crate) fn options(&self) -> Options {
        Options {
            pid: self.pid,
            process: self.process.clone(),
            from: self.from,
            to: self.to,
            phase: self.phase,
            phase_gap: self.phase_gap,
            ..Options::default()
        }
    }
}

/// A time with a unit, as nanoseconds.
fn parse_time(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let units = [
        ("ns", 1.0),
        ("us", 1e3),
        ("µs", 1e3),
        ("ms", 1e6),
        ("s", 1e9),
    ];
    let found = units.iter().find_map(|&(unit, scale)| {
        let number = text.strip_suffix(unit)?.trim();
        number.parse::<f64>().ok().map(|value| value * scale)
    });
    match found {
        Some(value) if (0.0..1e18).contains(&value) => Ok(value.round() as u64),
        _ => Err("expected a time with its unit, like 1.5s, 250ms or 900us".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::parse_time;

    #[test]
    fn times_need_a_unit() {
        assert_eq!(parse_time("1.5s"), Ok(1_500_000_000));
        assert_eq!(parse_time("250ms"), Ok(250_000_000));
        assert_eq!(parse_time("900 us"), Ok(900_000));
        assert_eq!(parse_time("7ns"), Ok(7));
        assert!(parse_time("7").is_err());
        assert!(parse_time("-1s").is_err());
        assert!(parse_time("inf s").is_err());
    }
}
