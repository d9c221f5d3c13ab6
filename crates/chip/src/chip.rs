//! Chips and what is known of them.

use crate::parameter::join;
use crate::{CostModel, CostTable, Error, Parameter, Source, table};
use std::sync::LazyLock;

/// An Apple chip's GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct Chip {
    /// Name on the command line: `m1-pro`.
    pub name: &'static str,
    /// Name in print: `Apple M1 Pro`.
    pub title: &'static str,
    /// Metal GPU family: 7 for M1, 8 for M2.
    pub family: u8,
    /// Apple's name of the GPU: `G13S`; `None` where no public source tells.
    pub gpu: Option<&'static str>,
    /// The numbers of GPU cores it is sold with, ascending.
    pub variants: Vec<u32>,
    figures: Vec<Option<Figure>>,
    /// Costs and figures of another chip stand in for those nobody has published.
    stands_in: bool,
}

/// A figure and where it comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// The value, in the parameter's unit.
    pub value: f64,
    /// Who published it.
    pub source: Source,
    /// What to know about it; may be empty.
    pub note: &'static str,
}

/// The chip assumed when none is named.
pub const DEFAULT_CHIP: &str = "m2";

/// Every chip, oldest first.
pub fn chips() -> &'static [Chip] {
    static CHIPS: LazyLock<Vec<Chip>> = LazyLock::new(read);
    &CHIPS
}

const CHIPS: &str = include_str!("../data/chips.tsv");
const FIGURES: &str = include_str!("../data/figures.tsv");

fn read() -> Vec<Chip> {
    let figures: Vec<[&'static str; 5]> = table::rows(FIGURES).collect();
    table::rows(CHIPS)
        .filter_map(|[name, title, family, gpu, variants]| {
            let mut chip = Chip {
                name,
                title,
                family: family.parse().ok()?,
                gpu: (gpu != "?").then_some(gpu),
                variants: variants
                    .split(' ')
                    .filter_map(|cores| cores.parse().ok())
                    .collect(),
                figures: vec![None; Parameter::ALL.len()],
                stands_in: false,
            };
            let family = format!("family{}", chip.family);
            for scope in [family.as_str(), name] {
                for &[row_scope, parameter, value, source, note] in &figures {
                    if row_scope == scope {
                        chip.put(parameter, value, source, note);
                    }
                }
            }
            Some(chip)
        })
        .collect()
}

impl Chip {
    /// The chip with this name: `m1-pro`, `M1 Pro`, `apple_m1_pro`.
    ///
    /// ```
    /// use assay_chip::Chip;
    /// assert_eq!(Chip::named("Apple M1 Pro")?.name, "m1-pro");
    /// assert!(Chip::named("m9").unwrap_err().to_string().contains("m1, m1-pro"));
    /// # Ok::<(), assay_chip::Error>(())
    /// ```
    pub fn named(name: &str) -> Result<Chip, Error> {
        let wanted = name.trim().to_lowercase().replace([' ', '_'], "-");
        let wanted = wanted.strip_prefix("apple-").unwrap_or(&wanted);
        let found = chips().iter().find(|chip| chip.name == wanted);
        found.cloned().ok_or_else(|| Error::UnknownChip {
            asked: name.to_owned(),
            known: join(chips().iter().map(|chip| chip.name)),
        })
    }

    /// The chip whose GPU has this name: `G13G`, `applegpu_g13g`.
    ///
    /// ```
    /// use assay_chip::Chip;
    /// assert_eq!(Chip::with_gpu("applegpu_g13s").map(|chip| chip.name), Some("m1-pro"));
    /// assert_eq!(Chip::with_gpu("G13P"), None);
    /// ```
    pub fn with_gpu(gpu: &str) -> Option<Chip> {
        let wanted = gpu.trim().to_lowercase();
        let wanted = wanted.strip_prefix("applegpu_").unwrap_or(&wanted);
        chips()
            .iter()
            .find(|chip| chip.gpu.is_some_and(|gpu| gpu.eq_ignore_ascii_case(wanted)))
            .cloned()
    }

    /// A figure's value; `None` when unknown.
    pub fn get(&self, parameter: Parameter) -> Option<f64> {
        self.figure(parameter).map(|figure| figure.value)
    }

    /// A figure with its source; `None` when unknown.
    pub fn figure(&self, parameter: Parameter) -> Option<&Figure> {
        self.figures.get(parameter as usize)?.as_ref()
    }

    /// The chip with one figure replaced: `clock_ghz=1.4`.
    pub fn with(mut self, assignment: &str) -> Result<Chip, Error> {
        let (name, value) = assignment
            .split_once('=')
            .ok_or_else(|| Error::BadOverride {
                asked: assignment.to_owned(),
            })?;
        let parameter = Parameter::named(name.trim())?;
        let value = parameter.parse(value)?;
        self.set(parameter, value);
        Ok(self)
    }

    /// Replaces a figure; its source is then the user.
    pub fn set(&mut self, parameter: Parameter, value: f64) {
        if let Some(place) = self.figures.get_mut(parameter as usize) {
            *place = Some(Figure {
                value,
                source: Source::USER,
                note: "",
            });
        }
    }

    /// Instruction costs, if the chip's instruction set has any.
    pub fn costs(&self, model: CostModel) -> Result<&'static CostTable, Error> {
        if self.has_costs() {
            return Ok(CostTable::of(model));
        }
        let with_costs = chips().iter().filter(|chip| chip.has_costs());
        Err(Error::NoCosts {
            model,
            chip: self.title,
            family: self.family,
            known: self.summary(),
            available: join(with_costs.map(|chip| chip.name)),
        })
    }

    /// Whether instruction costs are known.
    pub fn has_costs(&self) -> bool {
        matches!(self.family, 7 | 8) || self.stands_in
    }

    /// The chip with the instruction costs of M1 and M2, and what is not published of its cores from the default chip: for
    /// estimates, which must say so. A chip with costs of its own stays as it is.
    ///
    /// ```
    /// use assay_chip::{Chip, CostModel};
    /// let m4 = Chip::named("m4")?;
    /// assert!(m4.costs(CostModel::Measured).is_err());
    /// assert!(m4.with_stand_ins().costs(CostModel::Measured).is_ok());
    /// # Ok::<(), assay_chip::Error>(())
    /// ```
    #[must_use]
    pub fn with_stand_ins(&self) -> Chip {
        let mut chip = self.clone();
        if chip.has_costs() {
            return chip;
        }
        chip.stands_in = true;
        let default = chips().iter().find(|other| other.name == DEFAULT_CHIP);
        let others = default.map_or(&[] as &[_], |other| &other.figures);
        for (own, other) in chip.figures.iter_mut().zip(others) {
            *own = own.or(other.map(|figure| Figure {
                note: "of an M2, as a stand-in",
                ..figure
            }));
        }
        chip
    }

    /// Cores, clock and bandwidth in a few words.
    pub fn summary(&self) -> String {
        let figure = |parameter: Parameter, words: &str| match self.get(parameter) {
            Some(value) => format!("{value}{words}"),
            None => format!("{} unknown", parameter.meaning()),
        };
        format!(
            "{}, {}, {}",
            figure(Parameter::Cores, " GPU cores"),
            figure(Parameter::ClockGhz, " GHz"),
            figure(Parameter::DramGbs, " GB/s of memory bandwidth")
        )
    }

    /// Single-precision multiply-adds per second at the highest clock, counted as two
    /// operations each; `None` when a figure it needs is unknown.
    pub fn peak_flops(&self) -> Option<f64> {
        let per_cycle = self.get(Parameter::Cores)? * self.get(Parameter::LanesPerCore)?;
        Some(2.0 * per_cycle * self.get(Parameter::ClockGhz)? * 1e9)
    }

    fn put(&mut self, parameter: &str, value: &str, source: &str, note: &'static str) {
        let figure = || {
            let parameter = Parameter::named(parameter).ok()?;
            let figure = Figure {
                value: table::number(value)?,
                source: Source::named(source)?,
                note,
            };
            Some((parameter, figure))
        };
        if let Some((parameter, figure)) = figure()
            && let Some(place) = self.figures.get_mut(parameter as usize)
        {
            *place = Some(figure);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_tables_is_used() {
        assert_eq!(chips().len(), table::line_count(CHIPS));
        let rows: Vec<[&str; 5]> = table::rows(FIGURES).collect();
        assert_eq!(rows.len(), table::line_count(FIGURES));
        for [scope, parameter, value, source, _] in rows {
            let known = chips()
                .iter()
                .any(|chip| chip.name == scope || format!("family{}", chip.family) == scope);
            assert!(known, "{scope}");
            let parameter = Parameter::named(parameter).unwrap();
            parameter.parse(value).unwrap();
            assert!(Source::named(source).is_some(), "{source}");
        }
    }

    #[test]
    fn the_default_chip_exists_and_has_costs() {
        assert!(Chip::named(DEFAULT_CHIP).unwrap().has_costs());
    }

    #[test]
    fn the_default_is_the_largest_variant() {
        for chip in chips() {
            let most = chip.variants.iter().copied().max().map(f64::from);
            assert_eq!(chip.get(Parameter::Cores), most, "{}", chip.name);
        }
    }

    #[test]
    fn figures_of_the_reference() {
        let get = |name, parameter| Chip::named(name).unwrap().get(parameter);
        assert_eq!(get("m1", Parameter::ClockGhz), Some(1.278));
        assert_eq!(get("m1-max", Parameter::L2Kib), Some(512.0));
        assert_eq!(get("m2", Parameter::Cores), Some(10.0));
        assert_eq!(get("m2-ultra", Parameter::L2Kib), None);
        assert_eq!(get("m3", Parameter::RegisterFileKib), None);
        assert_eq!(get("m4", Parameter::DramGbs), Some(120.0));
        assert_eq!(get("m4", Parameter::ClockGhz), Some(1.578));
        let flops = Chip::named("m1").unwrap().peak_flops().unwrap();
        assert_eq!((flops / 1e9).round(), 2617.0);
    }

    #[test]
    fn overrides_are_checked() {
        let m2 = || Chip::named("m2").unwrap();
        assert_eq!(
            m2().with("cores=8").unwrap().get(Parameter::Cores),
            Some(8.0)
        );
        let source = m2().with(" clock_ghz = 1.2").unwrap();
        assert_eq!(
            source.figure(Parameter::ClockGhz).unwrap().source,
            Source::USER
        );
        let error = |text: &str| m2().with(text).unwrap_err().to_string();
        assert!(error("clock=1").contains("clock_ghz"));
        assert!(error("clock_ghz").contains("NAME=VALUE"));
        assert_eq!(
            error("cores=2.5"),
            "cores cannot be `2.5`: it must be a whole number"
        );
        assert!(error("clock_ghz=nan").contains("above 0"));
        assert!(error("clock_ghz=-1").contains("above 0"));
        assert!(error("clock_ghz=fast").contains("not a number"));
    }

    #[test]
    fn cycles_of_newer_chips_are_refused_with_what_is_known() {
        for chip in chips() {
            match chip.costs(CostModel::Measured) {
                Ok(_) => assert!(chip.family < 9),
                Err(error) => {
                    let text = error.to_string();
                    assert!(chip.family >= 9);
                    assert!(text.contains("GPU cores"), "{text}");
                    assert!(text.contains("m1, m1-pro"), "{text}");
                }
            }
        }
    }
}
