//! Takes code out of the bundle that no page can reach.
//!
//! leptos compiles two ways of hydrating for every view: at once, and as a future for pages that are loaded piece by piece.
//! Ours hydrate at once, but the linker keeps the other half, because every erased view holds a pointer to it. It is a
//! fifth of the bundle. Here those bodies become a trap; what only they used is then dropped by `wasm-opt`.

use anyhow::{Context, Result};
use walrus::{FunctionBuilder, FunctionId, FunctionKind, LocalFunction, Module, ModuleConfig};

/// The method nothing calls, by the last part of its path.
const UNUSED: &str = "hydrate_async";

/// The module without those bodies, and how many there were. The module must still have its names, which are gone afterwards.
pub(crate) fn unused_hydration(wasm: &[u8]) -> Result<(Vec<u8>, usize)> {
    let mut module = ModuleConfig::new()
        .generate_name_section(false)
        .generate_producers_section(false)
        .parse(wasm)
        .context("reading the module for pruning")?;
    let found: Vec<FunctionId> = module
        .funcs
        .iter_local()
        .filter_map(|(id, _)| {
            let name = module.funcs.get(id).name.as_deref()?;
            is_unused(name).then_some(id)
        })
        .collect();
    for id in &found {
        let trap = trap(&mut module, *id);
        module.funcs.get_mut(*id).kind = FunctionKind::Local(trap);
    }
    Ok((module.emit_wasm(), found.len()))
}

/// A function of the same type that traps.
fn trap(module: &mut Module, like: FunctionId) -> LocalFunction {
    let signature = module.types.get(module.funcs.get(like).ty());
    let (params, results) = (signature.params().to_vec(), signature.results().to_vec());
    let arguments = params.iter().map(|ty| module.locals.add(*ty)).collect();
    let mut builder = FunctionBuilder::new(&mut module.types, &params, &results);
    builder.func_body().unreachable();
    builder.local_func(arguments)
}

/// Whether a function is the method, or the future it returns: `…::hydrate_async::{{closure}}::h0123456789abcdef`.
fn is_unused(name: &str) -> bool {
    let mut path = match name.rsplit_once("::h") {
        Some((path, hash)) if hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit()) => {
            path
        }
        _ => name,
    };
    while let Some(outer) = path.strip_suffix("::{{closure}}") {
        path = outer;
    }
    path.rsplit("::").next() == Some(UNUSED)
}

#[cfg(test)]
mod tests {
    use walrus::ValType;

    use super::*;

    /// A module whose functions have these names, are exported by them, and return what they are given.
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
        module.emit_wasm()
    }

    /// The exports whose function is a trap.
    fn traps(wasm: &[u8]) -> Vec<String> {
        let module = Module::from_buffer(wasm).unwrap();
        let is_trap = |id: FunctionId| {
            let function = module.funcs.get(id).kind.unwrap_local();
            let body = function.block(function.entry_block());
            matches!(&body.instrs[..], [(walrus::ir::Instr::Unreachable(_), _)])
        };
        module
            .exports
            .iter()
            .filter(|export| matches!(export.item, walrus::ExportItem::Function(id) if is_trap(id)))
            .map(|export| export.name.clone())
            .collect()
    }

    #[test]
    fn traps_the_method_and_its_futures_and_nothing_else() {
        let unused = [
            "<T as IntoAny>::into_any::hydrate_async::h0123456789abcdef",
            "<F as RenderHtml>::hydrate_async::{{closure}}::{{closure}}::h0123456789abcdef",
            "hydrate_async",
        ];
        let used = [
            "<F as RenderHtml>::hydrate::{{closure}}::h0123456789abcdef",
            "app::hydrate_async_soon::h0123456789abcdef",
            "drop_in_place<<F as RenderHtml>::hydrate_async::{{closure}}>::h0123456789abcdef",
        ];
        let all: Vec<&str> = unused.iter().chain(&used).copied().collect();
        let (pruned, count) = unused_hydration(&module(&all)).unwrap();
        assert_eq!(count, unused.len());
        let mut left = traps(&pruned);
        left.sort();
        let mut expected = unused.map(str::to_owned).to_vec();
        expected.sort();
        assert_eq!(left, expected);
    }

    #[test]
    fn what_is_no_module_is_an_error() {
        unused_hydration(b"no module").unwrap_err();
    }
}
