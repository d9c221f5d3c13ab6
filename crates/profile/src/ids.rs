//! Small typed ids, so that a block is never mistaken for an instruction.

macro_rules! id {
    ($name:ident, $what:literal) => {
        #[doc = $what]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// As an index of a dense table.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// From an index of a dense table.
            #[inline]
            pub const fn new(index: usize) -> Self {
                $name(index as u32)
            }
        }
    };
}

id!(InsnId, "An instruction, by its place in the listing.");
id!(BlockId, "A basic block, by its place in the listing.");
id!(
    LoopId,
    "A loop; outer loops come before the loops inside them."
);
