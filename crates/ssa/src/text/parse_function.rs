//! Reading the text form of a function.
//!
//! A value may be used above the line that defines it (loops), so a body is read twice: first every block and every
//! result is given its id, then operands are read.

use super::cursor::{Cursor, Parsed};
use super::lex::Token;
use super::parse_inst::{InstReader, Names};
use crate::function::{Function, LoopHint};
use crate::id::Id;
use crate::inst::{Block, Inst, InstData};
use crate::location::Loc;
use crate::memory::{AliasId, AliasSet};
use crate::module::Module;
use crate::ty::Type;

pub(super) fn function(cursor: &mut Cursor<'_, '_>, module: &mut Module) -> Parsed<()> {
    cursor.keyword("function")?;
    let Some(number) = cursor.numbered("f") else {
        return cursor.wanted("a function such as `f0`");
    };
    if number as usize != module.functions.len() {
        let next = module.functions.len();
        return cursor.error(format!(
            "this is function {number}, but the next one is {next}"
        ));
    }
    let name = cursor.text()?;
    cursor.sign('-')?;
    cursor.sign('>')?;
    let ret = cursor.ty()?;
    let mut function = Function::new(&name, ret);
    loop {
        match cursor.peek() {
            Token::Word("convergent") => function.attributes.convergent = true,
            Token::Word("inline") => function.attributes.inline_hint = true,
            Token::Word("noinline") => function.attributes.no_inline = true,
            _ => break,
        }
        cursor.at += 1;
    }
    cursor.sign('{')?;
    cursor.newline()?;
    aliases(cursor, &mut function)?;
    let start = cursor.at;
    let mut names = Names::default();
    let insts = declare(cursor, &mut function, &mut names)?;
    cursor.at = start;
    define(cursor, module, &mut function, &names, &insts)?;
    module.functions.push(function);
    Ok(())
}

fn aliases(cursor: &mut Cursor<'_, '_>, function: &mut Function) -> Parsed<()> {
    while let Some(number) = cursor.numbered("a") {
        cursor.sign('=')?;
        let set = AliasSet {
            scopes: cursor.u64()?,
            noalias: cursor.u64()?,
        };
        if function.alias_set(set) != AliasId::from_index(number as usize) {
            return cursor.error("alias sets are numbered from 0 in order, each once");
        }
        cursor.newline()?;
    }
    if cursor.take_word("domains") {
        while matches!(cursor.peek(), Token::Number(_)) {
            function.alias_domains.push(cursor.u64()?);
        }
        cursor.newline()?;
    }
    Ok(())
}

/// First reading: makes blocks with their parameters, and an unfinished instruction for every line.
fn declare(
    cursor: &mut Cursor<'_, '_>,
    function: &mut Function,
    names: &mut Names,
) -> Parsed<Vec<Inst>> {
    let mut insts = Vec::new();
    let mut current: Option<Block> = None;
    loop {
        if cursor.take_sign('}') {
            cursor.newline()?;
            return Ok(insts);
        }
        if is_block_header(cursor) {
            let block = block_header(cursor, function, names)?;
            current = Some(block);
            continue;
        }
        let Some(block) = current else {
            return cursor.wanted("a block such as `b0:`");
        };
        let result = result(cursor)?;
        let ty = result.map_or(Type::VOID, |(_, ty)| ty);
        let inst = function.make_inst(InstData::Unreachable, ty, None);
        function.append(block, inst);
        insts.push(inst);
        if let (Some((number, _)), Some(value)) = (result, function.result(inst))
            && !names.add_value(number, value)
        {
            return cursor.error(format!("v{number} is defined twice"));
        }
        loop {
            match cursor.next() {
                Token::Newline => break,
                Token::End => return cursor.wanted("`}`"),
                _ => {}
            }
        }
    }
}

fn is_block_header(cursor: &Cursor<'_, '_>) -> bool {
    let Token::Word(word) = cursor.peek() else {
        return false;
    };
    let numbered = word
        .strip_prefix('b')
        .is_some_and(|rest| rest.parse::<u32>().is_ok());
    numbered
        && (matches!(cursor.peek_second(), Token::Sign('(' | ':'))
            || matches!(cursor.peek_second(), Token::Word(word) if word.contains("unroll")))
}

fn block_header(
    cursor: &mut Cursor<'_, '_>,
    function: &mut Function,
    names: &mut Names,
) -> Parsed<Block> {
    let Some(number) = cursor.numbered("b") else {
        return cursor.wanted("a block");
    };
    let block = function.add_block();
    if !names.add_block(number, block) {
        return cursor.error(format!("b{number} is defined twice"));
    }
    if cursor.take_sign('(') {
        loop {
            let Some(number) = cursor.numbered("v") else {
                return cursor.wanted("a parameter");
            };
            cursor.sign(':')?;
            let ty = cursor.ty()?;
            if !names.add_value(number, function.add_param(block, ty)) {
                return cursor.error(format!("v{number} is defined twice"));
            }
            if !cursor.take_sign(',') {
                break;
            }
        }
        cursor.sign(')')?;
    }
    let hint = if cursor.take_word("no_unroll") {
        LoopHint::NoUnroll
    } else if cursor.take_word("unroll") {
        LoopHint::Unroll
    } else if cursor.take_word("unroll_full") {
        LoopHint::UnrollFull
    } else if cursor.take_word("unroll_count") {
        LoopHint::UnrollCount(cursor.u32()?)
    } else {
        LoopHint::None
    };
    function.set_loop_hint(block, hint);
    cursor.sign(':')?;
    cursor.newline()?;
    Ok(block)
}

/// `v3: i32 =` at the start of a line.
fn result(cursor: &mut Cursor<'_, '_>) -> Parsed<Option<(u32, Type)>> {
    if cursor.peek_second() != Token::Sign(':') {
        return Ok(None);
    }
    let Some(number) = cursor.numbered("v") else {
        return cursor.wanted("a value such as `v0`");
    };
    cursor.sign(':')?;
    let ty = cursor.ty()?;
    if ty.is_void() {
        return cursor.error("a result cannot be void");
    }
    cursor.sign('=')?;
    Ok(Some((number, ty)))
}

/// Second reading: finishes the instructions.
fn define(
    cursor: &mut Cursor<'_, '_>,
    module: &mut Module,
    function: &mut Function,
    names: &Names,
    insts: &[Inst],
) -> Parsed<()> {
    let mut left = insts.iter();
    loop {
        if cursor.take_sign('}') {
            return cursor.newline();
        }
        if is_block_header(cursor) {
            while !matches!(cursor.next(), Token::Newline | Token::End) {}
            continue;
        }
        let Some(&inst) = left.next() else {
            return cursor.wanted("`}`");
        };
        result(cursor)?;
        let data = InstReader {
            cursor,
            module,
            function,
            names,
        }
        .instruction()?;
        *function.inst_mut(inst) = data;
        if let Some(loc) = cursor.signed_number('!') {
            function.set_loc(inst, Some(Loc::from_index(loc as usize)));
        }
        cursor.newline()?;
    }
}
