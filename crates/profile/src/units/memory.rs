//! Memory: the load/store unit of a core.
//!
//! ## What it does
//! Moves bytes between registers and the core's own memories, the first cache and threadgroup memory, at the bytes per
//! cycle that `assay chips` lists for a core; a scheduler has its share of them. What lies behind the first cache is not
//! part of it: that is *bytes from memory*.
//!
//! ## Why it matters
//! Even if every load hits the cache, this is the least that its bytes take. When it is the largest figure of a loop, the
//! loop is bound by loads and stores, not by arithmetic.
//!
//! ## What to do
//! Reuse what was loaded: keep a block of results per thread in registers, so that each loaded value is used several times;
//! load vectors of four; keep data in `half`.
