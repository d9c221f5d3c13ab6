//! Versions of the language.

/// A version of the Metal Shading Language, as in `-std=metal3.1`.
///
/// The dialect compiled is the same for all: what differs is `__METAL_VERSION__`.
///
/// ```
/// use assay_msl::Standard;
/// assert_eq!("macos-metal2.4".parse::<Standard>().map(|s| s.name()), Ok("metal2.4"));
/// assert_eq!(Standard::default().version(), 310);
/// assert!("metal9.9".parse::<Standard>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standard {
    name: &'static str,
    version: u32,
}

/// Every version there is.
const ALL: [Standard; 11] = [
    Standard::of("metal1.1", 110),
    Standard::of("metal1.2", 120),
    Standard::of("metal2.0", 200),
    Standard::of("metal2.1", 210),
    Standard::of("metal2.2", 220),
    Standard::of("metal2.3", 230),
    Standard::of("metal2.4", 240),
    Standard::of("metal3.0", 300),
    Standard::of("metal3.1", 310),
    Standard::of("metal3.2", 320),
    Standard::of("metal4.0", 400),
];

impl Standard {
    const fn of(name: &'static str, version: u32) -> Self {
        Standard { name, version }
    }

    /// The name: `metal3.1`.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// The value of `__METAL_VERSION__`: 310.
    pub fn version(self) -> u32 {
        self.version
    }

    /// Every version.
    pub fn all() -> &'static [Standard] {
        &ALL
    }
}

impl Default for Standard {
    fn default() -> Self {
        ALL[8]
    }
}

impl std::str::FromStr for Standard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bare = ["macos-", "ios-", "osx-"]
            .iter()
            .find_map(|prefix| text.strip_prefix(prefix))
            .unwrap_or(text);
        ALL.into_iter()
            .find(|standard| standard.name == bare)
            .ok_or_else(|| {
                let names: Vec<_> = ALL.iter().map(|standard| standard.name).collect();
                format!(
                    "no version of Metal is called {text}; there are {}",
                    names.join(", ")
                )
            })
    }
}
