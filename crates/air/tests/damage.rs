//! Damaged bitcode: cut off at every byte, changed at every byte. It is refused or read, never more.

use assay_air::{Options, llvm, lower};

const APPLE: &[u8] = include_bytes!("fixtures/apple.bc");
const CLANG: &[u8] = include_bytes!("fixtures/clang-22.bc");

/// Reads, lowers and optimises; verification may find faults in what damage made of the program, and that
/// is all. Some (a store to constant memory) show only when pointers have been traced.
fn survive(bytes: &[u8]) -> Result<(), String> {
    let modules = llvm::read(bytes).map_err(|error| {
        assert!(
            error.at.0 <= bytes.len() as u64 * 8,
            "{error}: outside the file"
        );
        error.to_string()
    })?;
    for module in &modules {
        let mut program = lower(module, &Options::default()).map_err(|error| error.to_string())?;
        assay_ssa::verify(&program).map_err(|errors| errors[0].to_string())?;
        assay_opt::pipeline::optimize(&mut program).map_err(|error| error.to_string())?;
        assay_ssa::verify(&program).map_err(|errors| errors[0].to_string())?;
    }
    Ok(())
}

#[test]
fn a_file_cut_off_anywhere_is_refused() {
    for file in [APPLE, CLANG] {
        // The string table comes last and is padded: without it there are no names, hence no kernels.
        for length in 0..file.len() - 8 {
            let outcome = survive(&file[..length]);
            assert!(
                outcome.is_err() || length + 1024 > file.len(),
                "{length} bytes were enough"
            );
        }
    }
}

#[test]
fn a_changed_byte_never_brings_the_reader_down() {
    for file in [APPLE, CLANG] {
        let mut copy = file.to_vec();
        for position in 0..file.len() {
            let change = [0x01, 0x80, 0xff, 0x10][position % 4];
            copy[position] ^= change;
            let _ = survive(&copy);
            copy[position] ^= change;
        }
        assert_eq!(survive(&copy), Ok(()));
    }
}

#[test]
fn nonsense_is_refused_with_a_place() {
    let cases: [(&[u8], &str); 4] = [
        (b"", "ends inside the file header (at byte 0x0)"),
        (b"MTLB", "not LLVM bitcode"),
        (b"BC\xc0\xde", "before any module"),
        (
            &[
                0xde, 0xc0, 0x17, 0x0b, 0, 0, 0, 0, 20, 0, 0, 0, 255, 0, 0, 0, 7, 0, 0, 0,
            ],
            "wrapper",
        ),
    ];
    for (bytes, expected) in cases {
        let error = survive(bytes).expect_err("nonsense");
        let message = error.replace(": the file is cut off or a length in it is wrong", "");
        assert!(message.contains(expected), "{message}");
    }
}
