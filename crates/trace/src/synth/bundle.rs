//! Made-up `.gputrace` bundles.

use flate2::Compression;
use flate2::write::ZlibEncoder;
use plist::{Dictionary, Uid, Value};
use std::collections::BTreeMap;
use std::io::Write;

/// An argument of a recorded call.
#[derive(Clone, Debug)]
pub enum Argument {
    /// A receiver (`C`) or object (`t`).
    Object(u64),
    /// A 64-bit number.
    Long(u64),
    /// A 32-bit number.
    Int(u32),
    /// A string or member name.
    Text(String),
    /// Three numbers.
    Size([u64; 3]),
}

/// A stream of recorded calls.
#[derive(Clone, Debug)]
pub struct Stream {
    bytes: Vec<u8>,
}

impl Default for Stream {
    fn default() -> Self {
        let mut bytes = b"MTSP".to_vec();
        bytes.extend(0x400u32.to_le_bytes());
        Stream { bytes }
    }
}

impl Stream {
    /// Adds a call, with a return value if it makes an object.
    pub fn call(
        &mut self,
        selector: u32,
        signature: &str,
        arguments: &[Argument],
        returned: Option<u64>,
    ) -> &mut Self {
        let mut record = vec![0u8; 36];
        record.extend(signature.as_bytes());
        record.push(0);
        align(&mut record);
        for argument in arguments {
            match argument {
                Argument::Object(value) | Argument::Long(value) => {
                    align(&mut record);
                    record.extend(value.to_le_bytes());
                }
                Argument::Int(value) => {
                    align(&mut record);
                    record.extend(value.to_le_bytes());
                }
                Argument::Text(text) => {
                    record.extend(text.as_bytes());
                    record.push(0);
                }
                Argument::Size(values) => {
                    align(&mut record);
                    for value in values {
                        record.extend(value.to_le_bytes());
                    }
                }
            }
        }
        align(&mut record);
        if let Some(value) = returned {
            record.extend(b"t\0\0\0");
            record.extend(value.to_le_bytes());
        }
        let length = record.len() as u32;
        let flags = u32::from(returned.is_some());
        for (at, word) in [(0, length), (4, selector), (32, flags)] {
            if let Some(place) = record.get_mut(at..at + 4) {
                place.copy_from_slice(&word.to_le_bytes());
            }
        }
        self.bytes.extend(record);
        self
    }

    /// The stream's bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

fn align(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

/// An `index` and a `store0` that hold `members`.
pub fn pack(members: &BTreeMap<String, Vec<u8>>) -> std::io::Result<(Vec<u8>, Vec<u8>)> {
    const BUCKETS: u32 = 16;
    let count = members.len() as u32;
    let mut store = Vec::new();
    let mut index = b"xdic".to_vec();
    for word in [0, BUCKETS, count, count] {
        index.extend(word.to_le_bytes());
    }
    for _ in 0..BUCKETS {
        index.extend([0xff; 12]);
    }
    for bytes in members.values() {
        let offset = store.len() as u64;
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes)?;
        let packed = encoder.finish()?;
        index.extend((bytes.len() as u32).to_le_bytes());
        index.extend((packed.len() as u32).to_le_bytes());
        index.extend(offset.to_le_bytes());
        index.extend(1u64.to_le_bytes());
        store.extend(packed);
    }
    for name in members.keys() {
        index.extend((name.len() as u16 + 1).to_le_bytes());
    }
    for name in members.keys() {
        index.extend(name.as_bytes());
        index.push(0);
    }
    Ok((index, store))
}

/// A dictionary as NSKeyedArchiver writes it.
pub fn keyed_archive(entries: &[(&str, Value)]) -> Vec<u8> {
    let mut objects = vec![
        Value::String("$null".to_owned()),
        Value::Dictionary(Dictionary::new()),
    ];
    let (mut keys, mut values) = (Vec::new(), Vec::new());
    for (key, value) in entries {
        keys.push(Value::Uid(Uid::new(objects.len() as u64)));
        objects.push(Value::String((*key).to_owned()));
        values.push(Value::Uid(Uid::new(objects.len() as u64)));
        objects.push(value.clone());
    }
    let mut root = Dictionary::new();
    root.insert("NS.keys".to_owned(), Value::Array(keys));
    root.insert("NS.objects".to_owned(), Value::Array(values));
    if let Some(place) = objects.get_mut(1) {
        *place = Value::Dictionary(root);
    }
    let mut top = Dictionary::new();
    top.insert("root".to_owned(), Value::Uid(Uid::new(1)));
    let mut archive = Dictionary::new();
    archive.insert("$version".to_owned(), Value::Integer(100_000.into()));
    archive.insert(
        "$archiver".to_owned(),
        Value::String("NSKeyedArchiver".to_owned()),
    );
    archive.insert("$top".to_owned(), Value::Dictionary(top));
    archive.insert("$objects".to_owned(), Value::Array(objects));
    let mut bytes = Vec::new();
    // Writing plain values into memory cannot fail.
    let _ = Value::Dictionary(archive).to_writer_binary(&mut bytes);
    bytes
}

/// A small bundle: one queue, `buffers` command buffers with one dispatch of `kernel` each,
/// waited for.
pub fn example(kernel: &str, buffers: u64) -> std::io::Result<BTreeMap<String, Vec<u8>>> {
    use Argument::{Int, Long, Object, Size, Text};
    const DEVICE: u64 = 0x1_02b2_5060;
    const LIBRARY: u64 = 0x8_4105_8c80;
    const FUNCTION: u64 = 0x1_02b2_beb0;
    const PIPELINE: u64 = 0x1_02b2_f6f0;
    const QUEUE: u64 = 0x1_02b3_17e0;
    const DATA: u64 = 0x8_40df_1200;
    let mut resources = Stream::default();
    resources
        .call(
            0xffff_d803,
            "CU<b>ulul",
            &[
                Object(DEVICE),
                Text("MTLBuffer-6-0".into()),
                Long(4096),
                Long(0),
            ],
            Some(DATA),
        )
        .call(
            0xffff_c00c,
            "CS",
            &[Object(DATA), Text("weights".into())],
            None,
        )
        .call(
            0xffff_c04e,
            "CU<b>t",
            &[Object(DEVICE), Text("B85FF6B0D0E4C838".into()), Object(0)],
            Some(LIBRARY),
        )
        .call(
            0xffff_d010,
            "CiS",
            &[
                Object(DEVICE),
                Int(0x7f),
                Text("/tmp/kernels.metallib".into()),
            ],
            None,
        )
        .call(
            0xffff_c05e,
            "CS",
            &[Object(LIBRARY), Text(kernel.into())],
            Some(FUNCTION),
        )
        .call(
            0xffff_d010,
            "CiulSlS",
            &[
                Object(FUNCTION),
                Int(0x65),
                Long(3),
                Text("/tmp/kernels.metal".into()),
                Long(0),
                Text(String::new()),
            ],
            None,
        )
        .call(
            0xffff_c055,
            "Ctt",
            &[Object(DEVICE), Object(FUNCTION), Object(0)],
            Some(PIPELINE),
        )
        .call(
            0xffff_d010,
            "CiSululuiulululul",
            &[
                Object(PIPELINE),
                Int(0x6a),
                Text("x".into()),
                Long(0),
                Long(0),
                Int(1),
                Long(0),
                Long(4),
                Long(4),
                Long(3),
            ],
            None,
        )
        .call(
            0xffff_d010,
            "CiUul",
            &[
                Object(PIPELINE),
                Int(0x74),
                Text("254C018D0AA48DAE".into()),
                Long(0),
            ],
            None,
        )
        .call(0xffff_c045, "Cul", &[Object(DEVICE), Long(64)], Some(QUEUE));
    let mut calls = Stream::default();
    for index in 0..buffers {
        let buffer = 0x8_40e4_c000 + index * 0x100;
        let encoder = 0x8_40e5_a1c0 + index * 0x100;
        calls
            .call(0xffff_c029, "C", &[Object(QUEUE)], Some(buffer))
            .call(0xffff_c020, "C", &[Object(buffer)], Some(encoder))
            .call(
                0xffff_c02f,
                "Ct",
                &[Object(encoder), Object(PIPELINE)],
                None,
            )
            .call(
                0xffff_c030,
                "Ctulul",
                &[Object(encoder), Object(DATA), Long(0), Long(0)],
                None,
            )
            .call(
                0xffff_c132,
                "C@3ul@3ul",
                &[Object(encoder), Size([65536, 1, 1]), Size([1024, 1, 1])],
                None,
            )
            .call(0xffff_c03b, "C", &[Object(encoder)], None)
            .call(0xffff_c017, "C", &[Object(buffer)], None)
            .call(0xffff_c01d, "C", &[Object(buffer)], None);
    }
    let integer = |value: i64| Value::Integer(value.into());
    let remarks = "--- !Analysis\nPass:            asm-printer\nName:            InstructionCount\n\
        DebugLoc:        { File: 'kernels.metal', Line: 11, Column: 0 }\nFunction:        agc.main\nArgs:\n  \
        - NumInstructions: '33'\n  - String:          ' instructions in function'\n...\n";
    let packed = BTreeMap::from([
        ("B85FF6B0D0E4C838".to_owned(), b"MTLB made up".to_vec()),
        (
            "254C018D0AA48DAE".to_owned(),
            keyed_archive(&[
                ("Instruction count", integer(33)),
                ("ALU instruction count", integer(19)),
                ("Temporary register count", integer(12)),
                ("Uniform register count", integer(12)),
                ("Spilled bytes", integer(0)),
                ("Remarks", Value::String(remarks.to_owned())),
            ]),
        ),
        (
            "(device info)".to_owned(),
            keyed_archive(&[
                ("productType", Value::String("Mac14,2".to_owned())),
                ("version", Value::String("26.0".to_owned())),
            ]),
        ),
    ]);
    let (index, store) = pack(&packed)?;
    Ok(BTreeMap::from([
        (format!("device-resources-{DEVICE:#x}"), resources.bytes),
        ("unsorted-capture".to_owned(), calls.bytes.clone()),
        ("capture".to_owned(), calls.bytes),
        ("index".to_owned(), index),
        ("store0".to_owned(), store),
    ]))
}
