//! From bytes to programs, without a clang: a compiler that is a table of texts.

use assay_container::builder::MetallibBuilder;
use assay_front::{
    Blame, Bytes, Compiler, CompilerError, Error, File, Kind, Library, Problem, Source,
    SourceOptions,
};
use std::path::Path;

/// A compiler that gives what it was made with.
#[derive(Debug)]
struct Canned(Vec<u8>);

impl Compiler for Canned {
    fn bitcode(&self, _: Source<'_>, _: &SourceOptions) -> Result<Vec<u8>, CompilerError> {
        match self.0.is_empty() {
            false => Ok(self.0.clone()),
            true => Err(CompilerError::Missing {
                message: "no compiler".to_owned(),
                advice: Some("install one".to_owned()),
            }),
        }
    }
}

fn kind(path: &str, bytes: &[u8]) -> String {
    let bytes = Bytes::from(bytes.to_vec());
    match File::open(Path::new(path), &bytes) {
        Ok(file) => match file.kind {
            Kind::Source => "source".to_owned(),
            Kind::Listing(listing) => format!("listing of {} bytes", listing.code().len()),
            Kind::Assembly(_) => "assembly".to_owned(),
            Kind::Container(contents) => contents.describe().to_owned(),
        },
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_file_is_what_its_bytes_say_and_only_then_its_name() {
    let library = MetallibBuilder::new().kernel("k", b"BC\xC0\xDE").build();
    assert_eq!(kind("k.metal", &library), "source");
    assert_eq!(kind("k.bin", &library), "metallib");
    assert_eq!(kind("k.metal", b"int x;"), "source");
    assert_eq!(kind("-", b"kernel void k() {}"), "source");
    assert_eq!(kind("k.tsv", b"8\t8800\tstop\n"), "listing of 2 bytes");
    assert_eq!(kind("k.agx", b"stop\n"), "assembly");
    assert_eq!(kind("k.bin", &[0x88, 0]), "raw code");
    assert!(kind("k.tsv", b"8\t8800\n0\t8800\n").contains("line 2"));
}

#[test]
fn what_has_no_machine_code_needs_some() {
    let library = MetallibBuilder::new().kernel("k", b"BC\xC0\xDE").build();
    for (path, bytes, needs) in [
        ("k.metal", &b"int x;"[..], true),
        ("k.metallib", &library, true),
        ("k.bin", &[0x88, 0], false),
        ("k.tsv", b"0\t8800\n", false),
    ] {
        let bytes = Bytes::from(bytes.to_vec());
        let file = File::open(Path::new(path), &bytes).expect(path);
        assert_eq!(file.needs_code(), needs, "{path}");
    }
}

#[test]
fn a_missing_compiler_is_told_with_advice() {
    let bytes = Bytes::from(b"kernel void k() {}".to_vec());
    let file = File::open(Path::new("k.metal"), &bytes).expect("source");
    let error = file.library(&Canned(Vec::new()), &SourceOptions::default());
    let error = error.expect_err("no compiler");
    assert_eq!(error.blame(), Blame::Missing);
    assert_eq!(error.advice().as_deref(), Some("install one"));
}

#[test]
fn a_name_that_is_not_there_is_the_users_mistake() {
    let bytes = MetallibBuilder::new().kernel("sum", b"BC\xC0\xDE").build();
    let library = Library::open(&Bytes::from(bytes)).expect("a metallib");
    let error = library.kernel("mean").expect_err("not there");
    assert_eq!(error.blame(), Blame::Usage);
    assert!(matches!(error, Error::NoKernel { names, .. } if names == ["sum"]));
}

#[test]
fn damaged_bitcode_is_told_with_its_kernel() {
    let bytes = MetallibBuilder::new().kernel("sum", b"BC\xC0\xDE").build();
    let library = Library::open(&Bytes::from(bytes)).expect("a metallib");
    let error = library.kernel("sum").expect("there").program(&[]);
    let error = error.expect_err("nothing behind the magic");
    assert!(error.to_string().starts_with("kernel sum: "), "{error}");
    let Error::Kernel { problem, .. } = error else {
        panic!("it is about a kernel");
    };
    assert!(matches!(problem, Problem::Bitcode(_) | Problem::NoModule));
}
