//! What the compiler says about a pipeline: instruction mix, registers, spills,
//! remarks. Captures hold this even when they were never profiled.

use super::archive;
use super::document::{PipelineStatistics, Remark};
use plist::Value;
use std::collections::BTreeMap;

/// Remarks kept per pipeline.
const MOST_REMARKS: usize = 10_000;

pub(crate) fn read(bytes: &[u8]) -> Option<PipelineStatistics> {
    let value = archive::unfold(bytes)?;
    let dictionary = value.as_dictionary()?;
    let count = |key: &str| {
        let value = dictionary.get(key).and_then(archive::number)?;
        (value >= 0.0).then_some(value as u64)
    };
    let mut instructions: BTreeMap<String, u64> = BTreeMap::new();
    for (key, value) in dictionary {
        if let Some(kind) = key.strip_suffix(" instruction count")
            && let Some(value) = archive::number(value)
            && value >= 0.0
        {
            instructions.insert(kind.to_owned(), value as u64);
        }
    }
    let function = dictionary
        .get("Compile Performance")
        .and_then(Value::as_dictionary)
        .and_then(|compile| compile.get("Function Name"))
        .and_then(Value::as_string);
    Some(PipelineStatistics {
        function: function.map(str::to_owned),
        instructions: count("Instruction count"),
        instruction_mix: instructions,
        temporary_registers: count("Temporary register count"),
        uniform_registers: count("Uniform register count"),
        spilled_bytes: count("Spilled bytes"),
        thread_invariant_spilled_bytes: count("Thread invariant spilled bytes"),
        threadgroup_memory_bytes: count("Threadgroup memory"),
        compile_time_ms: dictionary
            .get("Compilation time in milliseconds")
            .and_then(archive::number),
        remarks: dictionary
            .get("Remarks")
            .and_then(Value::as_string)
            .map_or_else(Vec::new, remarks),
    })
}

/// The compiler's remarks: YAML documents of a fixed shape.
fn remarks(text: &str) -> Vec<Remark> {
    let mut out: Vec<Remark> = Vec::new();
    let mut message = String::new();
    for line in text.lines() {
        if let Some(kind) = line.strip_prefix("--- !") {
            finish(&mut out, &mut message);
            if out.len() >= MOST_REMARKS {
                return out;
            }
            out.push(Remark {
                kind: kind.trim().to_owned(),
                pass: String::new(),
                name: String::new(),
                function: String::new(),
                file: None,
                line: None,
                column: None,
                message: String::new(),
            });
            continue;
        }
        let Some(remark) = out.last_mut() else {
            continue;
        };
        let Some((key, value)) = line.split_once(':') else {
            continue;
        };
        let value = value.trim();
        match key.trim_start_matches([' ', '-']).trim() {
            "Pass" => remark.pass = value.to_owned(),
            "Name" => remark.name = value.to_owned(),
            "Function" => remark.function = value.to_owned(),
            "DebugLoc" => location(remark, value),
            "Args" => {}
            "String" => message.push_str(&unquoted(value)),
            _ if line.starts_with("  - ") => message.push_str(&unquoted(value)),
            _ => {}
        }
    }
    finish(&mut out, &mut message);
    out
}

fn finish(remarks: &mut [Remark], message: &mut String) {
    if let Some(remark) = remarks.last_mut() {
        let words: Vec<&str> = message.split_whitespace().collect();
        remark.message = words.join(" ");
    }
    message.clear();
}

/// `{ File: 'relu.metal', Line: 14, Column: 66 }`.
fn location(remark: &mut Remark, text: &str) {
    let inside = text.trim_start_matches('{').trim_end_matches('}');
    for part in inside.split(", ") {
        if let Some((key, value)) = part.split_once(':') {
            let value = value.trim();
            match key.trim() {
                "File" => remark.file = Some(value.trim_matches(['\'', '"']).to_owned()),
                "Line" => remark.line = value.parse().ok(),
                "Column" => remark.column = value.parse().ok(),
                _ => {}
            }
        }
    }
}

fn unquoted(value: &str) -> String {
    let inner = |quote: char| {
        value
            .strip_prefix(quote)
            .and_then(|rest| rest.strip_suffix(quote))
    };
    if let Some(text) = inner('\'') {
        return text.replace("''", "'");
    }
    match inner('"') {
        Some(text) => text.replace("\\n", "\n").replace("\\\"", "\""),
        None => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::remarks;

    #[test]
    fn remarks_have_a_place_and_a_message() {
        let text = "--- !Analysis\nPass:            asm-printer\nName:            InstructionMix\n\
            DebugLoc:        { File: 'a/relu.metal', Line: 14, Column: 66 }\nFunction:        agc.main\nArgs:\n  \
            - String:          'BasicBlock: '\n  - BasicBlock:      .preheader1\n  - String:          \"\\n\"\n  \
            - String:          ''\n  - String:          ': '\n  - INST_:           '11'\n...\n";
        let remarks = remarks(text);
        assert_eq!(remarks.len(), 1);
        assert_eq!(remarks[0].file.as_deref(), Some("a/relu.metal"));
        assert_eq!((remarks[0].line, remarks[0].column), (Some(14), Some(66)));
        assert_eq!(remarks[0].message, "BasicBlock: .preheader1 : 11");
    }
}
