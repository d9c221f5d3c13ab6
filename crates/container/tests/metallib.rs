//! Metallibs, good and bad.

use assay_container::builder::MetallibBuilder;
use assay_container::mtlb::{FunctionKind, Metallib, Platform, Version};
use assay_container::{Contents, Problem, open};

fn three_functions() -> Vec<u8> {
    MetallibBuilder::new()
        .kernel("add", b"first module")
        .function("shade", FunctionKind::Fragment, b"second")
        .kernel("mul", b"third module")
        .uuid(*b"0123456789abcdef")
        .build()
}

fn put(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

#[test]
fn functions_come_with_everything_the_list_states() {
    let bytes = three_functions();
    let library = Metallib::parse(&bytes).unwrap();
    let names: Vec<_> = library.functions().iter().map(|f| &*f.name).collect();
    assert_eq!(names, ["add", "shade", "mul"]);
    let shade = library.function("shade").unwrap();
    assert_eq!(shade.kind, FunctionKind::Fragment);
    assert_eq!(shade.bitcode, Some(&b"second"[..]));
    assert_eq!(shade.air, Some(Version::new(2, 6)));
    assert_eq!(shade.language, Some(Version::new(3, 1)));
    assert_eq!(shade.hash, Some(&[0; 32]));
    let start = shade.bitcode_offset as usize;
    assert_eq!(&bytes[start..start + 6], b"second");
    assert_eq!(library.kernels().count(), 2);
    assert_eq!(library.uuid(), Some(*b"0123456789abcdef"));
    assert_eq!(library.header().platform, Platform::MacOs);
    assert_eq!(library.header().target, Some(Version::new(14, 0)));
    assert_eq!(shade.public_metadata().unwrap().count(), 0);
}

#[test]
fn a_module_without_a_size_ends_where_the_next_starts() {
    let bytes = MetallibBuilder::new()
        .kernel("a", b"12345")
        .kernel("b", b"678")
        .without_sizes()
        .build();
    let library = Metallib::parse(&bytes).unwrap();
    let modules: Vec<_> = library.functions().iter().map(|f| f.bitcode).collect();
    assert_eq!(modules, [Some(&b"12345"[..]), Some(&b"678"[..])]);
}

#[test]
fn embedded_sources_are_found() {
    let bytes = MetallibBuilder::new()
        .kernel("a", b"module")
        .source("0", b"BZh9 first")
        .source("1", b"BZh9 second")
        .build();
    let library = Metallib::parse(&bytes).unwrap();
    let sources = library.sources().unwrap();
    assert_eq!(sources.len(), 2);
    assert_eq!(sources[1].id, "1");
    assert_eq!(sources[1].data, b"BZh9 second");
}

#[test]
fn a_library_without_functions_is_one() {
    let bytes = MetallibBuilder::new().build();
    let library = Metallib::parse(&bytes).unwrap();
    assert!(library.functions().is_empty());
}

#[test]
fn bytes_after_the_library_are_ignored() {
    let mut bytes = three_functions();
    bytes.extend(b"padding of the enclosing file");
    assert_eq!(Metallib::parse(&bytes).unwrap().functions().len(), 3);
}

#[test]
fn every_truncation_is_an_error_with_an_offset_inside() {
    let bytes = three_functions();
    for length in 0..bytes.len() {
        let error = Metallib::parse(&bytes[..length]).unwrap_err();
        assert!(error.offset <= length as u64, "{length}: {error}");
    }
}

#[test]
fn sizes_that_lie_are_refused_where_they_are_stated() {
    for (field, what) in [
        (32, "the function list"),
        (48, "the public metadata"),
        (64, "the private metadata"),
        (80, "the bitcode"),
    ] {
        for lie in [u64::MAX, u64::MAX - 8, 1 << 40] {
            let mut bytes = three_functions();
            put(&mut bytes, field, lie);
            let error = Metallib::parse(&bytes).unwrap_err();
            let text = error.to_string();
            assert!(text.contains(what), "{field}: {text}");
        }
    }
}

#[test]
fn sections_that_overlap_are_refused() {
    let mut bytes = three_functions();
    let list = 88_u64;
    put(&mut bytes, 72, list + 8);
    let error = Metallib::parse(&bytes).unwrap_err();
    assert!(matches!(error.problem, Problem::Overlap { .. }), "{error}");
    put(&mut bytes, 72, 4);
    let error = Metallib::parse(&bytes).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the header and the bitcode overlap (at offset 0x48)"
    );
}

#[test]
fn a_function_whose_bitcode_lies_outside_is_named() {
    let mut bytes = three_functions();
    let size = bytes.windows(4).rposition(|w| w == b"MDSZ").unwrap() + 6;
    put(&mut bytes, size, 1 << 33);
    let error = Metallib::parse(&bytes).unwrap_err();
    assert!(error.to_string().contains("the bitcode of mul"), "{error}");
}

#[test]
fn more_functions_than_fit_are_refused_before_memory_is_taken() {
    let mut bytes = three_functions();
    bytes[88..92].copy_from_slice(&u32::MAX.to_le_bytes());
    let error = Metallib::parse(&bytes).unwrap_err();
    assert!(matches!(error.problem, Problem::TooMany { .. }), "{error}");
    assert_eq!(error.offset, 88);
}

#[test]
fn libraries_inside_other_files_are_found() {
    let mut bytes = b"\x7fELF some program that says MTLB without meaning it\0".to_vec();
    let first = bytes.len() as u64;
    bytes.extend(three_functions());
    bytes.extend(b"filler");
    let second = bytes.len() as u64;
    bytes.extend(MetallibBuilder::new().kernel("other", b"x").build());
    let Contents::Embedded(found) = open(&bytes).unwrap() else {
        panic!("not seen as a file with libraries inside");
    };
    let offsets: Vec<_> = found.iter().map(|e| e.metallib.offset()).collect();
    assert_eq!(offsets, [first, second]);
    let other = found[1].metallib.function("other").unwrap();
    assert_eq!(bytes[other.bitcode_offset as usize], b'x');
}

#[test]
fn what_is_no_metallib_says_so() {
    let error = Metallib::parse(b"hello").unwrap_err();
    assert!(error.to_string().contains("does not start with MTLB"));
}
