//! Fingerprints: 128-bit FNV-1a over parts, the same on every machine and in every version.

/// A hash being made.
#[derive(Clone, Copy, Debug)]
pub struct Fingerprint(u128);

impl Default for Fingerprint {
    fn default() -> Self {
        Fingerprint(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }
}

impl Fingerprint {
    /// Adds a part; the borders between parts count.
    pub fn add(&mut self, part: &[u8]) {
        let length = (part.len() as u64).to_le_bytes();
        for byte in length.iter().chain(part) {
            self.0 ^= u128::from(*byte);
            self.0 = self
                .0
                .wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    }

    /// The same with one more part.
    #[must_use]
    pub fn with(mut self, part: &[u8]) -> Self {
        self.add(part);
        self
    }

    /// 32 hexadecimal digits.
    pub fn text(self) -> String {
        format!("{:032x}", self.0)
    }
}

/// The fingerprint of a text.
///
/// ```
/// use assay_tune::fingerprint::{Fingerprint, of};
/// assert_ne!(of("ab"), of("ba"));
/// assert_ne!(Fingerprint::default().with(b"ab").with(b"c").text(), Fingerprint::default().with(b"a").with(b"bc").text());
/// ```
pub fn of(text: &str) -> String {
    of_bytes(text.as_bytes())
}

/// The fingerprint of bytes.
pub fn of_bytes(bytes: &[u8]) -> String {
    Fingerprint::default().with(bytes).text()
}
