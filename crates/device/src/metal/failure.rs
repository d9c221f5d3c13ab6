//! Why a command buffer failed.
//!
//! `MTLCommandBufferError` names few reasons, and often says `Internal`. The words of the error are more precise: they
//! end in the driver's own reason, as in `Caused GPU Hang Error (00000003:kIOGPUCommandBufferCallbackErrorHang)`.

/// Why a command buffer failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) kind: FailureKind,
    /// Metal's own words.
    pub(crate) message: String,
}

/// Kinds of failures, as far as they differ in what a user can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailureKind {
    /// The system stopped a kernel that kept the GPU too long.
    TimeOut,
    /// The GPU made no progress and was reset.
    Hang,
    /// The system stopped the kernel to keep the screen responsive.
    ImpactingInteractivity,
    /// The system takes no more work of this process, because of earlier errors.
    Ignored,
    /// Another program's error reset the GPU.
    InnocentVictim,
    PageFault,
    OutOfMemory,
    StackOverflow,
    InvalidResource,
    NotPermitted,
    DeviceRemoved,
    Other,
}

/// Names of the driver's reasons, after `kIOGPUCommandBufferCallbackError`.
const DRIVER_REASONS: [(&str, FailureKind); 9] = [
    (
        "ImpactingInteractivity",
        FailureKind::ImpactingInteractivity,
    ),
    ("SubmissionsIgnored", FailureKind::Ignored),
    ("InnocentVictim", FailureKind::InnocentVictim),
    ("InvalidResource", FailureKind::InvalidResource),
    ("StackOverflow", FailureKind::StackOverflow),
    ("OutOfMemory", FailureKind::OutOfMemory),
    ("PageFault", FailureKind::PageFault),
    ("Timeout", FailureKind::TimeOut),
    ("Hang", FailureKind::Hang),
];

/// Values of `MTLCommandBufferError`.
const CODES: [(i64, FailureKind); 8] = [
    (2, FailureKind::TimeOut),
    (3, FailureKind::PageFault),
    (4, FailureKind::Ignored),
    (7, FailureKind::NotPermitted),
    (8, FailureKind::OutOfMemory),
    (9, FailureKind::InvalidResource),
    (11, FailureKind::DeviceRemoved),
    (12, FailureKind::StackOverflow),
];

impl Failure {
    /// The failure that an error of the domain `MTLCommandBufferErrorDomain` reports.
    pub(crate) fn new(code: i64, message: String) -> Failure {
        let by_words = message
            .split_once("CallbackError")
            .and_then(|(_, reason)| find(&DRIVER_REASONS, |name| reason.starts_with(name)));
        let kind = by_words
            .or_else(|| find(&CODES, |known| *known == code))
            .unwrap_or(FailureKind::Other);
        Failure { kind, message }
    }
}

fn find<K>(table: &[(K, FailureKind)], is_it: impl Fn(&K) -> bool) -> Option<FailureKind> {
    table
        .iter()
        .find(|(key, _)| is_it(key))
        .map(|(_, kind)| *kind)
}

#[cfg(test)]
mod tests {
    use super::{Failure, FailureKind};

    /// Metal's texts as they stand in public reports.
    #[test]
    fn the_drivers_words_are_more_precise_than_the_code() {
        for (code, words, kind) in [
            (
                1,
                "Impacting Interactivity (0000000e:kIOGPUCommandBufferCallbackErrorImpactingInteractivity)",
                FailureKind::ImpactingInteractivity,
            ),
            (
                1,
                "Caused GPU Hang Error (00000003:kIOGPUCommandBufferCallbackErrorHang)",
                FailureKind::Hang,
            ),
            (
                4,
                "Ignored (for causing prior/excessive GPU errors) (00000004:kIOGPUCommandBufferCallbackErrorSubmissionsIgnored)",
                FailureKind::Ignored,
            ),
            (
                1,
                "Discarded (victim of GPU error/recovery) (00000005:kIOGPUCommandBufferCallbackErrorInnocentVictim)",
                FailureKind::InnocentVictim,
            ),
            (
                2,
                "Caused GPU Timeout Error (00000002:kIOGPUCommandBufferCallbackErrorTimeout)",
                FailureKind::TimeOut,
            ),
            (
                3,
                "Caused GPU Address Fault Error (0000000b:kIOGPUCommandBufferCallbackErrorPageFault)",
                FailureKind::PageFault,
            ),
            (
                8,
                "Insufficient Memory (00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)",
                FailureKind::OutOfMemory,
            ),
        ] {
            assert_eq!(Failure::new(code, words.to_owned()).kind, kind, "{words}");
        }
    }

    #[test]
    fn the_code_decides_where_the_words_do_not() {
        for (code, kind) in [
            (2, FailureKind::TimeOut),
            (7, FailureKind::NotPermitted),
            (11, FailureKind::DeviceRemoved),
            (1, FailureKind::Other),
            (-5, FailureKind::Other),
        ] {
            assert_eq!(Failure::new(code, "words".to_owned()).kind, kind, "{code}");
        }
    }
}
