//! Which machine this is: chip, GPU cores, memory, system.
//!
//! The facts come as text from the system's own tools, read by [`MachineProbe`]; understanding them is here and
//! works anywhere.

use assay_chip::Chip;

/// Where the facts come from.
pub trait MachineProbe {
    /// A value of `sysctl -n NAME`.
    fn sysctl(&self, name: &str) -> Option<String>;
    /// What `ioreg -rc AGXAccelerator -d 1` prints.
    fn io_registry(&self) -> Option<String>;
}

/// A machine with an Apple chip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// The chip as the system names it: `Apple M2 Max`.
    pub name: String,
    /// The name results are filed under: `apple-m2-max`.
    pub bucket: String,
    /// The chip's name in `assay-chip` (`m2-max`), where it is known there.
    pub chip: Option<String>,
    /// GPU cores, where the system says.
    pub gpu_cores: Option<u32>,
    /// CPU cores.
    pub cpu_cores: Option<u32>,
    /// Bytes of memory.
    pub memory: Option<u64>,
    /// Version of macOS.
    pub system: Option<String>,
}

impl Machine {
    /// Asks the probe. `None` when there is no Apple chip.
    ///
    /// ```
    /// use assay_device::{Machine, MachineProbe};
    /// struct Mac;
    /// impl MachineProbe for Mac {
    ///     fn sysctl(&self, name: &str) -> Option<String> {
    ///         (name == "machdep.cpu.brand_string").then(|| "Apple M2 Max".to_owned())
    ///     }
    ///     fn io_registry(&self) -> Option<String> {
    ///         Some("    \"gpu-core-count\" = 38\n".to_owned())
    ///     }
    /// }
    /// let machine = Machine::detect(&Mac).ok_or("no Mac")?;
    /// assert_eq!(machine.bucket, "apple-m2-max");
    /// assert_eq!(machine.chip.as_deref(), Some("m2-max"));
    /// assert_eq!(machine.gpu_cores, Some(38));
    /// # Ok::<(), &str>(())
    /// ```
    pub fn detect(probe: &dyn MachineProbe) -> Option<Machine> {
        let name = probe.sysctl("machdep.cpu.brand_string")?;
        let name = name.trim();
        let rest = name.strip_prefix("Apple ")?;
        let chip = bucket(rest);
        let number = |name| probe.sysctl(name)?.trim().parse::<u64>().ok();
        let cores = |name| number(name).and_then(|cores| u32::try_from(cores).ok());
        Some(Machine {
            bucket: bucket(name),
            chip: Chip::named(&chip).is_ok().then_some(chip),
            gpu_cores: probe.io_registry().as_deref().and_then(gpu_cores),
            cpu_cores: cores("hw.physicalcpu"),
            memory: number("hw.memsize"),
            system: probe
                .sysctl("kern.osproductversion")
                .map(|version| version.trim().to_owned()),
            name: name.to_owned(),
        })
    }
}

/// Lower case, words joined by `-`, whatever else there is left out.
fn bucket(name: &str) -> String {
    let words = name.split_whitespace().map(|word| {
        let kept = word.chars().filter(char::is_ascii_alphanumeric);
        kept.collect::<String>().to_ascii_lowercase()
    });
    let words: Vec<String> = words.filter(|word| !word.is_empty()).collect();
    words.join("-")
}

/// The number after `"gpu-core-count" =`. An Ultra has one entry for each of its dies' accelerators when they are
/// listed apart; the system reports the sum on one.
fn gpu_cores(registry: &str) -> Option<u32> {
    let lines = registry.lines();
    let counts = lines.filter_map(|line| {
        let (_, value) = line.split_once("\"gpu-core-count\"")?;
        value.trim_start().strip_prefix('=')?.trim().parse().ok()
    });
    counts.max()
}

#[cfg(test)]
mod tests {
    use super::{Machine, MachineProbe};

    struct Text {
        brand: Option<&'static str>,
        registry: Option<&'static str>,
    }

    impl MachineProbe for Text {
        fn sysctl(&self, name: &str) -> Option<String> {
            match name {
                "machdep.cpu.brand_string" => self.brand.map(str::to_owned),
                "hw.memsize" => Some("34359738368\n".to_owned()),
                "hw.physicalcpu" => Some("12\n".to_owned()),
                "kern.osproductversion" => Some("15.5\n".to_owned()),
                _ => None,
            }
        }
        fn io_registry(&self) -> Option<String> {
            self.registry.map(str::to_owned)
        }
    }

    fn detect(brand: &'static str, registry: Option<&'static str>) -> Option<Machine> {
        Machine::detect(&Text {
            brand: Some(brand),
            registry,
        })
    }

    /// The layout of `ioreg`'s answer.
    const REGISTRY: &str = "+-o AGXAcceleratorG14X  <class AGXAcceleratorG14X, id 0x100000381>
    {
      \"IOClass\" = \"AGXAcceleratorG14X\"
      \"gpu-core-count\" = 38
      \"model\" = \"Apple M2 Max\"
    }
";

    #[test]
    fn every_known_chip_is_found_by_its_marketing_name() {
        for chip in assay_chip::chips() {
            let title = chip.title.to_owned();
            let probe = Text {
                brand: Some(Box::leak(title.clone().into_boxed_str())),
                registry: None,
            };
            let machine = Machine::detect(&probe).expect("an Apple chip");
            assert_eq!(machine.chip.as_deref(), Some(chip.name), "{title}");
            assert_eq!(machine.bucket, format!("apple-{}", chip.name));
        }
    }

    #[test]
    fn the_whole_answer() {
        let machine = detect("Apple M2 Max\n", Some(REGISTRY)).expect("an Apple chip");
        assert_eq!(machine.name, "Apple M2 Max");
        assert_eq!(machine.gpu_cores, Some(38));
        assert_eq!(machine.cpu_cores, Some(12));
        assert_eq!(machine.memory, Some(32 << 30));
        assert_eq!(machine.system.as_deref(), Some("15.5"));
    }

    #[test]
    fn what_is_not_said_stays_unknown() {
        let machine = detect("Apple M9 Hyper (virtual)", Some("no such line")).expect("Apple");
        assert_eq!(machine.chip, None);
        assert_eq!(machine.bucket, "apple-m9-hyper-virtual");
        assert_eq!(machine.gpu_cores, None);
        assert_eq!(detect("Intel(R) Core(TM) i7", None), None);
    }
}
