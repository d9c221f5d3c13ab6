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
    assert_eq!(
        seems(b"Dear reader, the device is constant.\n"),
        Some("text, but not Metal source")
    );
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
fn raw_code_must_decode_up_to_a_stop() {
    let mov_stop = [0x62, 0x00, 0, 0, 0x88, 0];
    assert!(matches!(open(&mov_stop).unwrap(), Contents::Code(_)));
    assert_eq!(seems(&mov_stop[..4]), None);
    assert_eq!(seems(&[0xFF; 64]), None);
}

/// Programs from Apple's and Mesa's compilers, as raw bytes.
#[test]
fn compiled_programs_are_seen_as_code() {
    let folder = assay_fixtures::path("agx");
    let mut seen = 0;
    for part in ["apple", "mesa"] {
        for entry in std::fs::read_dir(folder.join(part)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "tsv") {
                let code = code_of(&std::fs::read_to_string(&path).unwrap());
                let opened = open(&code).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
                assert!(matches!(opened, Contents::Code(_)), "{}", path.display());
                seen += 1;
            }
        }
    }
    assert!(seen > 90);
}

fn code_of(listing: &str) -> Vec<u8> {
    let hex = listing.lines().filter_map(|line| line.split('\t').nth(1));
    let hex = hex.filter(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()));
    let digits: Vec<u8> = hex.flat_map(str::bytes).collect();
    let digit = |byte: u8| (byte as char).to_digit(16).unwrap() as u8;
    digits
        .chunks(2)
        .map(|pair| digit(pair[0]) << 4 | digit(pair[1]))
        .collect()
}

/// Noise decodes in places; it must not pass for a program.
#[test]
fn noise_is_not_code() {
    let mut state = 1_u64;
    let mut taken = 0;
    for _ in 0..200 {
        let noise: Vec<u8> = (0..512)
            .map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                (state >> 56) as u8
            })
            .collect();
        taken += usize::from(open(&noise).is_ok());
    }
    assert!(taken < 10, "{taken} of 200");
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
