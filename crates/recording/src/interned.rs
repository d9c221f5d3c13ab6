//! What is written once and then named by number. Writer and reader forget everything at the same record, so that neither
//! grows without bounds.

/// Entries at most.
pub(crate) const MOST: usize = 1 << 18;
/// Bytes of all entries at most.
pub(crate) const MOST_BYTES: usize = 64 << 20;

/// Numbers are given in this order, from 0.
#[derive(Debug, Default)]
pub(crate) struct Room {
    entries: usize,
    bytes: usize,
}

impl Room {
    /// Takes a place. Returns false if there is none left.
    pub(crate) fn take(&mut self, bytes: usize) -> bool {
        let all = self.bytes.saturating_add(bytes);
        if self.entries >= MOST || all > MOST_BYTES {
            return false;
        }
        (self.entries, self.bytes) = (self.entries + 1, all);
        true
    }

    /// Returns true if something more may soon find no place.
    pub(crate) fn is_nearly_full(&self) -> bool {
        self.entries > MOST - MOST / 16 || self.bytes > MOST_BYTES - MOST_BYTES / 16
    }
}
