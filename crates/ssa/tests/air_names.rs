//! Every builtin that occurs in 55,266 kernels of Apple's compiler is in the table, tensor operations excepted.

use assay_ssa::builtin::{Resolved, resolve};

#[test]
fn names_in_the_wild_are_in_the_table() {
    let names = include_str!("air_names.txt")
        .lines()
        .filter(|line| !line.starts_with('#'));
    let mut count = 0;
    let mut unknown = Vec::new();
    for name in names {
        count += 1;
        if resolve(name) == Resolved::Unknown {
            unknown.push(name);
        }
    }
    assert!(count > 300);
    assert!(
        unknown.iter().all(|name| name.contains("tensor")),
        "{unknown:?}"
    );
}
