//! Kernels that access what they must not: the fault is the interpreter's, and pages around the buffers, which the process may not
//! touch, are not touched.

use super::both;
use assay_exec::{Bindings, Buffer, FaultKind, Grid, Limits, Program, RunError};

const PAGE: usize = 4096;

/// Three pages, of which only the middle one may be touched.
struct Guarded {
    start: *mut u8,
}

impl Guarded {
    fn new() -> Self {
        use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect};
        // SAFETY: fresh pages that nothing else knows of.
        let start = unsafe {
            let all = ProtFlags::READ | ProtFlags::WRITE;
            let start = mmap_anonymous(std::ptr::null_mut(), 3 * PAGE, all, MapFlags::PRIVATE)
                .expect("memory");
            for page in [0, 2] {
                mprotect(start.byte_add(page * PAGE), PAGE, MprotectFlags::empty())
                    .expect("protected");
            }
            start
        };
        Self {
            start: start.cast(),
        }
    }

    /// The last bytes of the middle page, or its first.
    fn buffer(&self, len: usize, at_end: bool) -> Buffer {
        let offset = if at_end { 2 * PAGE - len } else { PAGE };
        // SAFETY: bytes of the middle page, which lives as long as the test uses the buffer.
        unsafe { Buffer::lent(self.start.wrapping_add(offset), len, true) }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: nothing uses the pages any more.
        let _ = unsafe { rustix::mm::munmap(self.start.cast(), 3 * PAGE) };
    }
}

/// Each thread reads an index and accesses a number of `out` by it.
fn program(index: &str, bytes: u32, number: &str, size: u32, store: bool) -> String {
    let access = match store {
        true => format!("    v10: {number} = load v1 align 4\n    store v6, v10 align 4\n"),
        false => format!(
            "    v7: {number} = load v6 align 4\n    v8: ptr.device = ptr_add v2 + v4 * {size}\n    store v8, v7 align 4\n"
        ),
    };
    format!(
        "module \"m\"
kernel \"k\" f0 {{
    \"out\" buffer 0 param 0 space device read_write type \"int\" size 4 align 4
    \"at\" buffer 1 param 1 space device read type \"int\" size 4 align 4
    \"to\" buffer 2 param 2 space device read_write type \"int\" size 4 align 4
}}
function f0 \"k\" -> void {{
b0(v0: ptr.device, v1: ptr.device, v2: ptr.device):
    v3: v3i32 = call thread_position_in_grid()
    v4: i32 = extract v3, i32 0
    v5: ptr.device = ptr_add v1 + v4 * {bytes}
    v9: {index} = load v5 align {bytes}
    v6: ptr.device = ptr_add v0 + v9 * {size}
{access}    return
}}
"
    )
}

fn run(
    program: &Program,
    indices: &[u64],
    bytes: usize,
    at_end: bool,
) -> Result<Vec<u8>, FaultKind> {
    let (out, to) = (Guarded::new(), Guarded::new());
    let mut bindings = Bindings::new();
    bindings.set(0, out.buffer(256, at_end));
    let at: Vec<u8> = indices
        .iter()
        .flat_map(|index| index.to_le_bytes()[..bytes].to_vec())
        .collect();
    bindings.set(1, Buffer::from_bytes(&at));
    bindings.set(2, to.buffer(1024, at_end));
    match program.run(&Grid::line(64, 64), &mut bindings, &Limits::default()) {
        Ok(_) => {
            let both = [0, 2].map(|index| bindings.get(index).map(Buffer::to_vec::<u8>));
            Ok(both.into_iter().flatten().flatten().collect())
        }
        Err(RunError::Fault(fault)) => Err(fault.kind),
        Err(error) => panic!("{error}"),
    }
}

/// Indices inside, but for one lane's.
fn with(lane: usize, wild: u64) -> Vec<u64> {
    (0..64)
        .map(|at| if at == lane { wild } else { at as u64 % 16 })
        .collect()
}

#[test]
fn an_access_outside_faults_as_it_does_interpreted() {
    let wild: [u64; 16] = [
        0,
        15,
        16,
        63,
        64,
        65,
        1024,
        u64::MAX,
        u64::MAX - 3,
        i32::MAX as u64,
        1 << 31,
        1 << 32,
        1 << 38,
        0x3_c000_4000_0000,
        1 << 62,
        1 << 63,
    ];
    for (index, bytes) in [("i32", 4), ("i64", 8)] {
        for (number, size) in [("i32", 4), ("v4f32", 16)] {
            for store in [false, true] {
                let text = program(index, bytes, number, size, store);
                let Some([plain, native]) = both(&text, [64, 1, 1]) else {
                    return;
                };
                for wild in wild {
                    for (lane, at_end) in [(0, true), (31, false), (40, true), (63, false)] {
                        let indices = with(lane, wild);
                        let expected = run(&plain, &indices, bytes as usize, at_end);
                        let found = run(&native, &indices, bytes as usize, at_end);
                        let what = format!(
                            "{index} {number} store {store} index {wild:#x} in lane {lane}"
                        );
                        assert_eq!(found, expected, "{what}");
                    }
                }
            }
        }
    }
}

#[test]
fn neighbouring_lanes_do_not_reach_past_the_end() {
    // All lanes store side by side; the buffer ends in the middle of a simdgroup.
    let text = "module \"m\"
kernel \"k\" f0 {
    \"out\" buffer 0 param 0 space device read_write type \"int\" size 4 align 4
}
function f0 \"k\" -> void {
b0(v0: ptr.device):
    v1: v3i32 = call thread_position_in_grid()
    v2: i32 = extract v1, i32 0
    v3: ptr.device = ptr_add v0 + v2 * 4
    store v3, i32 7 align 4
    return
}
";
    let Some(programs) = both(text, [64, 1, 1]) else {
        return;
    };
    let found = programs.map(|program| {
        let out = Guarded::new();
        let mut bindings = Bindings::new();
        bindings.set(0, out.buffer(49 * 4, true));
        let result = program.run(&Grid::line(64, 64), &mut bindings, &Limits::default());
        let Err(RunError::Fault(fault)) = result else {
            panic!("{result:?}")
        };
        (
            fault.kind,
            fault.thread,
            bindings.get(0).map(Buffer::to_vec::<u32>),
        )
    });
    assert_eq!(found[0], found[1]);
}
