//! Memory over a run.

use serde::Serialize;

document! {
    /// Memory over the run.
    pub struct Memory {
        /// `currentAllocatedSize` of the target at the start of the window.
        pub first_bytes: Option<u64>,
        /// At its end.
        pub last_bytes: Option<u64>,
        /// Its largest value.
        pub peak_bytes: Option<u64>,
        /// When that was, from the recording's start.
        pub peak_at_ms: Option<f64>,
        /// Slope of the level over the window after its first quarter, by least squares.
        pub growth_bytes_per_s: Option<f64>,
        /// Whether it kept growing: its lowest level rises from quarter to quarter after the first, in
        /// which programs load what they need. `null` when the level is unknown or changed too rarely to tell.
        pub growing: Option<bool>,
        /// Mean level in equal slices of the window, in bytes.
        pub levels: Vec<f64>,
        /// Metal resources allocated in the window and not freed when the recording ended.
        pub unfreed: Option<u64>,
        /// Their size.
        pub unfreed_bytes: Option<u64>,
        /// The same by label, type and size, most bytes first.
        pub unfreed_groups: Vec<UnfreedGroup>,
        /// Functions that allocated Metal resources in the window, most bytes first.
        pub allocators: Vec<Allocator>,
        /// Heap allocations by category (Allocations instrument, whole recording).
        pub heap: Vec<HeapCategory>,
        /// Who made the heap allocations that were still there at the end.
        pub heap_callers: Vec<HeapCaller>,
        /// Leaks found by the Leaks instrument; `null` when it was not recorded.
        pub leaks: Option<Vec<LeakInfo>>,
    }

    /// Resources that were not freed.
    pub struct UnfreedGroup {
        /// Their label; empty when they have none.
        pub label: String,
        /// `MTLBuffer`, `MTLTexture`…
        pub resource: String,
        /// How many.
        pub count: u64,
        /// Together.
        pub bytes: u64,
        /// Who allocated the first of them, where call stacks were recorded.
        pub caller: Option<String>,
    }

    /// A function that allocates Metal resources.
    pub struct Allocator {
        /// Its name.
        pub function: String,
        /// Where it lies.
        pub binary: String,
        /// Resources it allocated.
        pub count: u64,
        /// Their size, as far as it is known.
        pub bytes: u64,
    }

    /// Heap allocations of one category.
    pub struct HeapCategory {
        /// `Malloc 64 KiB`, `VM: IOAccelerator`…
        pub category: String,
        /// Allocations still there at the end.
        pub persistent: u64,
        /// Their size.
        pub persistent_bytes: u64,
        /// All allocations.
        pub total: u64,
        /// Their size.
        pub total_bytes: u64,
    }

    /// Heap allocations of one caller that were still there at the end.
    pub struct HeapCaller {
        /// The function.
        pub caller: String,
        /// Where it lies.
        pub library: String,
        /// How many.
        pub count: u64,
        /// Together.
        pub bytes: u64,
    }

    /// Objects nobody can reach any more.
    pub struct LeakInfo {
        /// What leaked.
        pub object: String,
        /// The function that allocated it.
        pub frame: String,
        /// Where that lies.
        pub library: String,
        /// How many.
        pub count: u64,
        /// Together.
        pub bytes: u64,
    }
}
