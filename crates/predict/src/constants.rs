//! The constants of the model, as numbers.

use assay_chip::{Chip, ModelConstant, model_constants};

macro_rules! constants {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// The constants of the model: see `model.tsv` of the chip crate for what each is,
        /// its source and its range.
        #[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
        #[allow(missing_docs, reason = "each field is named and explained by its row")]
        pub struct Constants {
            $($(#[$doc])* pub $name: f64,)*
        }

        impl Constants {
            /// The names, in order.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name),)*];

            /// The constant with this name.
            pub fn get(&self, name: &str) -> Option<f64> {
                match name {
                    $(stringify!($name) => Some(self.$name),)*
                    _ => None,
                }
            }

            /// Sets the constant with this name. Returns false if there is none.
            pub fn set(&mut self, name: &str, value: f64) -> bool {
                match name {
                    $(stringify!($name) => self.$name = value,)*
                    _ => return false,
                }
                true
            }
        }
    };
}

constants! {
    launch_us,
    between_us,
    issue_efficiency,
    matrix32_cycles,
    matrix16_cycles,
    reduction_cycles,
    prefix_cycles,
    shuffle_cycles,
    fetch_latency,
    access_cycles,
    request_cycles,
    line_cycles,
    local_row_cycles,
    local_conflict_cycles,
    local_latency,
    l1_latency,
    l2_latency,
    slc_latency_ns,
    dram_latency_ns,
    barrier_cycles,
    l2_bytes_per_cycle,
    slc_bytes_per_cycle,
    slc_ratio,
    dram_efficiency,
    l1_share,
    running_simdgroups,
    l2_share,
    slc_share,
    knee,
    group_cycles,
    simdgroup_cycles,
    resident_threads,
    atomic_cycles,
    atomic_latency,
    band_short,
    band_few,
    band_matrix,
    band_bandwidth,
    band_compute,
    band_chip,
    band_between,
    band_pair,
    pair_tie,
}

impl Constants {
    /// The constants for a chip.
    ///
    /// ```
    /// use assay_chip::Chip;
    /// use assay_predict::Constants;
    /// let constants = Constants::of(&Chip::named("m2")?);
    /// assert!(constants.launch_us > 0.0);
    /// # Ok::<(), assay_chip::Error>(())
    /// ```
    pub fn of(chip: &Chip) -> Constants {
        let mut constants = Constants::default();
        for constant in Constants::rows(chip) {
            constants.set(constant.name, constant.value);
        }
        constants
    }

    /// The rows they come from, with range, basis and source.
    pub fn rows(chip: &Chip) -> Vec<ModelConstant> {
        model_constants(chip)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_constant_has_a_row_and_every_row_is_a_constant() {
        let rows = Constants::rows(&Chip::named("m2").unwrap());
        let mut named: Vec<&str> = rows.iter().map(|row| row.name).collect();
        let mut names = Constants::NAMES.to_vec();
        named.sort_unstable();
        names.sort_unstable();
        assert_eq!(named, names);
    }
}
