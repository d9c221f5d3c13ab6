//! Choosing among three numbers, by the minimum and maximum of a format.

/// Defines `min3`, `max3`, `median3` and `clamp` beside a format's `min` and `max`.
macro_rules! of_three {
    ($number:ty) => {
        /// The smallest of three.
        #[inline(always)]
        pub fn min3(a: $number, b: $number, c: $number) -> $number {
            min(min(a, b), c)
        }

        /// The largest of three.
        #[inline(always)]
        pub fn max3(a: $number, b: $number, c: $number) -> $number {
            max(max(a, b), c)
        }

        /// The middle one of three.
        #[inline(always)]
        pub fn median3(a: $number, b: $number, c: $number) -> $number {
            max(min(a, b), min(max(a, b), c))
        }

        /// `min(max(value, low), high)`.
        #[inline(always)]
        pub fn clamp(value: $number, low: $number, high: $number) -> $number {
            min(max(value, low), high)
        }
    };
}
pub(crate) use of_three;
