//! Takes code out of the bundle that no page can reach.
//!
//! leptos compiles two ways of hydrating for every view: at once, and as a future for pages that are loaded piece by piece.
//! Ours hydrate at once, but the linker keeps the other half, because every erased view holds a pointer to it. It is a
//! fifth of the bundle. Here those bodies become a trap that refers to nothing; what only they used is then in no part.
//!
//! It is done on what the linker wrote, before the module is split: each body keeps its length, so that everything after it
//! stays where the relocations say it is, and the relocations within it go.

use std::collections::HashMap;
use std::ops::Range;

use anyhow::{Context, Result, anyhow};
use wasmparser::{
    KnownCustom, Name, NameSectionReader, Parser, Payload, RelocSectionReader, TypeRef,
};

/// The method nothing calls, by the last part of its path.
const UNUSED: &str = "hydrate_async";

/// A body: no locals, a trap, what never runs, the end.
const NO_LOCALS: u8 = 0x00;
const UNREACHABLE: u8 = 0x00;
const NOP: u8 = 0x01;
const END: u8 = 0x0b;

/// What is in the module, by place.
#[derive(Default)]
struct Found<'a> {
    /// Functions that are imported come before the others in the numbering.
    imported: u32,
    names: HashMap<u32, &'a str>,
    bodies: Vec<Range<usize>>,
    /// Where the code section's content begins: relocations count from there.
    code: usize,
    /// The code's relocations, and the place of the whole section.
    relocations: Option<(RelocSectionReader<'a>, Range<usize>)>,
}

impl<'a> Found<'a> {
    fn name(&mut self, names: NameSectionReader<'a>) -> Result<()> {
        for part in names {
            if let Name::Function(functions) = part? {
                for naming in functions {
                    let naming = naming?;
                    self.names.insert(naming.index, naming.name);
                }
            }
        }
        Ok(())
    }
}

/// The module without those bodies, and how many there were. The module must still have its names.
pub(crate) fn unused_hydration(wasm: &[u8]) -> Result<(Vec<u8>, usize)> {
    let found = read(wasm).context("reading the module for pruning")?;
    let mut pruned = wasm.to_vec();
    let mut gone = Vec::new();
    for (number, body) in (found.imported..).zip(&found.bodies) {
        let unused = found.names.get(&number).is_some_and(|name| is_unused(name));
        // Nothing shorter than a trap is worth one.
        if let (true, [locals, first, rest @ .., last]) = (unused, &mut pruned[body.clone()]) {
            (*locals, *first, *last) = (NO_LOCALS, UNREACHABLE, END);
            rest.fill(NOP);
            gone.push(body.clone());
        }
    }
    if let Some((relocations, section)) = found.relocations {
        let kept = without(wasm, &relocations, |offset| {
            let at = found.code + offset;
            // Bodies are in order.
            let after = gone.partition_point(|body| body.end <= at);
            gone.get(after).is_some_and(|body| body.start <= at)
        })?;
        pruned.splice(section, kept);
    }
    Ok((pruned, gone.len()))
}

fn read(wasm: &[u8]) -> Result<Found<'_>> {
    let mut found = Found::default();
    let mut section_start = 0;
    for payload in Parser::new(0).parse_all(wasm) {
        let payload = payload?;
        if let Payload::ImportSection(imports) = &payload {
            for import in imports.clone().into_imports() {
                if matches!(import?.ty, TypeRef::Func(_)) {
                    found.imported += 1;
                }
            }
        } else if let Payload::CodeSectionStart { range, .. } = &payload {
            found.code = place(range)?.start;
        } else if let Payload::CodeSectionEntry(body) = &payload {
            found.bodies.push(place(&body.range())?);
        } else if let Payload::CustomSection(custom) = &payload {
            let known = custom.as_known();
            if let KnownCustom::Name(names) = known {
                found.name(names)?;
            } else if let KnownCustom::Reloc(reader) = known
                && custom.name() == "reloc.CODE"
            {
                found.relocations = Some((reader, section_start..place(&custom.range())?.end));
            }
        }
        // The next section begins where this one ends.
        if let Some((_, range)) = payload.as_section() {
            section_start = place(&range)?.end;
        } else if let Payload::Version { range, .. } = &payload {
            section_start = place(range)?.end;
        }
    }
    Ok(found)
}

fn place(range: &Range<u64>) -> Result<Range<usize>> {
    Ok(usize::try_from(range.start)?..usize::try_from(range.end)?)
}

/// The section of relocations without those whose place `is_gone`.
fn without(
    wasm: &[u8],
    relocations: &RelocSectionReader<'_>,
    is_gone: impl Fn(usize) -> bool,
) -> Result<Vec<u8>> {
    let target = relocations.section_index();
    let entries = relocations.entries();
    let end = usize::try_from(entries.range().end)?;
    let mut places = Vec::new();
    for entry in entries.into_iter_with_offsets() {
        let (start, entry) = entry?;
        places.push((
            usize::try_from(start)?,
            is_gone(usize::try_from(entry.offset)?),
        ));
    }
    let mut kept = Vec::new();
    let mut count = 0_u32;
    for (number, (start, is_gone)) in places.iter().enumerate() {
        let end = places.get(number + 1).map_or(end, |(next, _)| *next);
        if !is_gone {
            let bytes = wasm.get(*start..end);
            kept.extend_from_slice(bytes.ok_or_else(|| anyhow!("a relocation lies outside"))?);
            count += 1;
        }
    }
    let mut content = Vec::new();
    let name = "reloc.CODE";
    leb128(&mut content, u32::try_from(name.len())?);
    content.extend_from_slice(name.as_bytes());
    leb128(&mut content, target);
    leb128(&mut content, count);
    content.extend(kept);
    // Zero is the number of custom sections.
    let mut section = vec![0];
    leb128(&mut section, u32::try_from(content.len())?);
    section.extend(content);
    Ok(section)
}

fn leb128(out: &mut Vec<u8>, mut number: u32) {
    loop {
        let low = u8::try_from(number & 0x7f).unwrap_or_default();
        number >>= 7;
        if number == 0 {
            return out.push(low);
        }
        out.push(low | 0x80);
    }
}

/// Whether a function is such a method, or the future it returns: `…::hydrate_async::{{closure}}`.
fn is_unused(mangled: &str) -> bool {
    let name = format!("{:#}", rustc_demangle::demangle(mangled));
    let mut path = name.as_str();
    while let Some(outer) = path.strip_suffix("::{{closure}}") {
        path = outer;
    }
    path.rsplit("::").next().is_some_and(|last| last == UNUSED)
}

#[cfg(test)]
mod tests {
    use walrus::{FunctionBuilder, Module, ValType};

    use super::*;

    const UNNEEDED: [&str; 3] = [
        "<T as IntoAny>::into_any::hydrate_async",
        "<F as RenderHtml>::hydrate_async::{{closure}}::{{closure}}",
        "_ZN3app4View13hydrate_async17h0123456789abcdefE",
    ];
    const NEEDED: [&str; 3] = [
        "<F as RenderHtml>::hydrate::{{closure}}",
        "app::hydrate_async_soon",
        "drop_in_place<<F as RenderHtml>::hydrate_async::{{closure}}>",
    ];

    /// A module whose functions have these names and return what they are given, with one relocation in each.
    fn module(names: &[&str]) -> Vec<u8> {
        let mut module = Module::default();
        for name in names {
            let argument = module.locals.add(ValType::I32);
            let mut builder =
                FunctionBuilder::new(&mut module.types, &[ValType::I32], &[ValType::I32]);
            builder.name((*name).to_owned());
            builder.func_body().local_get(argument);
            let function = builder.finish(vec![argument], &mut module.funcs);
            module.exports.add(name, function);
        }
        let mut wasm = module.emit_wasm();
        let found = read(&wasm).unwrap();
        let count = u32::try_from(found.bodies.len()).unwrap();
        let places = found.bodies.iter().map(|body| body.start + 1 - found.code);
        let mut content = vec![];
        leb128(&mut content, 10);
        content.extend_from_slice(b"reloc.CODE");
        // The number of the code's section does not matter here.
        leb128(&mut content, 3);
        leb128(&mut content, count);
        for (symbol, place) in (0..).zip(places) {
            // An index of a function.
            content.push(0);
            leb128(&mut content, u32::try_from(place).unwrap());
            leb128(&mut content, symbol);
        }
        wasm.push(0);
        leb128(&mut wasm, u32::try_from(content.len()).unwrap());
        wasm.extend(content);
        // What comes after stays.
        wasm.extend([0, 5, 4, b'l', b'a', b's', b't']);
        wasm
    }

    /// The names of the functions that trap, and the symbols that relocations are for.
    fn look(wasm: &[u8]) -> (Vec<&str>, Vec<u32>) {
        Parser::new(0)
            .parse_all(wasm)
            .for_each(|part| drop(part.unwrap()));
        let found = read(wasm).unwrap();
        let is_trap =
            |body: &Range<usize>| wasm[body.clone()].starts_with(&[NO_LOCALS, UNREACHABLE]);
        let traps = (0..)
            .zip(&found.bodies)
            .filter(|(_, body)| is_trap(body))
            .map(|(number, _)| found.names[&number]);
        let (relocations, _) = found.relocations.unwrap();
        let symbols = relocations.entries().into_iter();
        (
            traps.collect(),
            symbols.map(|entry| entry.unwrap().index).collect(),
        )
    }

    #[test]
    fn traps_the_methods_and_their_futures_and_nothing_else() {
        let all: Vec<&str> = NEEDED.iter().chain(&UNNEEDED).copied().collect();
        let wasm = module(&all);
        assert_eq!(look(&wasm), (vec![], vec![0, 1, 2, 3, 4, 5]));
        let (pruned, count) = unused_hydration(&wasm).unwrap();
        assert_eq!(count, UNNEEDED.len());
        assert_eq!(look(&pruned), (UNNEEDED.to_vec(), vec![0, 1, 2]));
        assert!(pruned.ends_with(b"last"));
        Module::from_buffer(&pruned).unwrap();
    }

    #[test]
    fn nothing_to_prune_changes_nothing() {
        let wasm = module(&NEEDED);
        let (pruned, count) = unused_hydration(&wasm).unwrap();
        assert_eq!((count, look(&pruned)), (0, look(&wasm)));
    }

    #[test]
    fn what_is_no_module_is_an_error() {
        unused_hydration(b"no module").unwrap_err();
    }
}
