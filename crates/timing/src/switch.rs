//! The environment variables that turn recording on, with the meaning people expect.
//!
//! | variable | turns on |
//! |---|---|
//! | `ASSAY_PROFILE_CB`, `MLX_PROFILE_CB` | the table per command buffer |
//! | `ASSAY_PROFILE_DISPATCH`, `MLX_PROFILE_DISPATCH` | the samples per dispatch, and the table with them |
//!
//! Unset, empty, `0`, `false`, `off` and `no` mean off, in any case and with spaces
//! around; everything else means on. Of the two names of a switch the `ASSAY_` one
//! decides when it is set.

/// What a program records.
///
/// ```
/// use assay_timing::Switches;
///
/// let switches = Switches::from_lookup(|name| match name {
///     "MLX_PROFILE_CB" => Some("0".into()),
///     "ASSAY_PROFILE_DISPATCH" => Some("1".into()),
///     _ => None,
/// });
/// assert!(switches.dispatches);
/// assert!(switches.command_buffers, "the cross-check needs both");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Switches {
    /// Figures per command buffer.
    pub command_buffers: bool,
    /// Samples per dispatch.
    pub dispatches: bool,
}

impl Switches {
    /// Everything on.
    pub const ALL: Switches = Switches {
        command_buffers: true,
        dispatches: true,
    };

    /// Reads the switches through `lookup`, which gives a variable's value if it is set.
    pub fn from_lookup(lookup: impl Fn(&str) -> Option<String>) -> Switches {
        let is_on = |names: [&str; 2]| {
            let value = names.into_iter().find_map(&lookup);
            value.is_some_and(|value| is_true(&value))
        };
        let dispatches = is_on(["ASSAY_PROFILE_DISPATCH", "MLX_PROFILE_DISPATCH"]);
        Switches {
            command_buffers: dispatches || is_on(["ASSAY_PROFILE_CB", "MLX_PROFILE_CB"]),
            dispatches,
        }
    }

    /// Reads the process's environment.
    pub fn from_environment() -> Switches {
        // A value that is not UTF-8 is at least not one of the words for off.
        Switches::from_lookup(|name| {
            std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
        })
    }
}

fn is_true(value: &str) -> bool {
    let value = value.trim();
    let off = ["", "0", "false", "off", "no"];
    !off.iter().any(|word| value.eq_ignore_ascii_case(word))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn with(variables: &[(&str, &str)]) -> (bool, bool) {
        let switches = Switches::from_lookup(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        });
        (switches.command_buffers, switches.dispatches)
    }

    #[test]
    fn words_for_off_are_off_and_everything_else_is_on() {
        for off in ["", "0", "false", "FALSE", "off", "no", " 0 "] {
            assert_eq!(with(&[("MLX_PROFILE_CB", off)]), (false, false), "{off:?}");
        }
        for on in ["1", "true", "yes", "on", "2", "00"] {
            assert_eq!(with(&[("MLX_PROFILE_CB", on)]), (true, false), "{on:?}");
        }
    }

    #[test]
    fn dispatch_mode_turns_the_table_on() {
        assert_eq!(with(&[("MLX_PROFILE_DISPATCH", "1")]), (true, true));
        let both = [("MLX_PROFILE_DISPATCH", "1"), ("MLX_PROFILE_CB", "0")];
        assert_eq!(with(&both), (true, true));
    }

    #[test]
    fn the_projects_own_name_decides() {
        let both = [("ASSAY_PROFILE_CB", "0"), ("MLX_PROFILE_CB", "1")];
        assert_eq!(with(&both), (false, false));
        assert_eq!(with(&[]), (false, false));
    }
}
