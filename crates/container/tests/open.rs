//! Files told apart by their content.

use assay_container::{Contents, Problem, bitcode, open};

fn seems(bytes: &[u8]) -> Option<&'static str> {
    match open(bytes).unwrap_err().problem {
        Problem::Unrecognised { seems } => seems,
        other => panic!("{other}"),
    }
}

#[test]
fn source_is_told_from_other_text() {
    let source = "kernel void f(device float* x [[buffer(0)]]) { x[0] = 1; }";
    assert!(matches!(
        open(source.as_bytes()).unwrap(),
        Contents::Source(text) if text == source
    ));
    assert_eq!(seems(b"Dear reader,\n"), Some("text, but not Metal source"));
    assert_eq!(seems(b"; ModuleID = 'x'\n"), Some("LLVM assembly text"));
    assert_eq!(seems(b""), Some("an empty file"));
}

#[test]
fn what_is_given_by_mistake_is_named() {
    assert_eq!(
        seems(b"PK\x03\x04\x14\x00\xFF"),
        Some("a zip archive: unpack it first")
    );
    assert_eq!(seems(b"\x89PNG\r\n\x1a\n"), Some("a PNG picture"));
    assert_eq!(
        seems(b"\x7fELF\x02\x01\x01\x00\xFF\x88\x00"),
        Some("an ELF file without metallibs inside")
    );
}

#[test]
fn raw_code_needs_whole_words_and_an_end() {
    assert!(matches!(
        open(&[0x62, 0x11, 0xFF, 0, 0x88, 0]).unwrap(),
        Contents::Code(_)
    ));
    assert_eq!(seems(&[0x62, 0x11, 0xFF, 0, 0x88]), None);
    assert_eq!(seems(&[0x62, 0xFF]), None);
}

#[test]
fn bitcode_comes_bare_or_wrapped() {
    let bare = b"BC\xC0\xDE\x35\x14\0\0";
    let mut wrapped = vec![0xDE, 0xC0, 0x17, 0x0B, 0, 0, 0, 0, 20, 0, 0, 0, 8, 0, 0, 0];
    wrapped.extend([0xFF; 4]);
    wrapped.extend(bare);
    let Contents::Bitcode(module) = open(&wrapped).unwrap() else {
        panic!("not bitcode");
    };
    assert!(module.wrapped);
    assert_eq!((module.bitstream, module.offset), (&bare[..], 20));
    assert_eq!(bitcode::parse(bare).unwrap().bitstream, bare);
    for length in 4..wrapped.len() {
        assert!(open(&wrapped[..length]).is_err(), "{length}");
    }
    wrapped[12] = 200;
    let error = open(&wrapped).unwrap_err();
    assert_eq!(error.offset, 8);
}
