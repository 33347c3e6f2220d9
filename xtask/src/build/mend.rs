//! Mends what `wasm-opt` breaks.
//!
//! Debian's version (108) writes every exported table as table 0. The glue fills the table of JavaScript values by its
//! export, so with such a module the page would stay dead: the export would be the table of functions.

use anyhow::{Context, Result, bail};
use walrus::{ExportItem, ModuleConfig, RefType};

/// The export that the glue takes for the table of JavaScript values.
const EXPORT: &str = "__wbindgen_externrefs";

/// The module with that export right; the same bytes when it is, or when there is no such export.
pub(crate) fn table_export(wasm: Vec<u8>) -> Result<Vec<u8>> {
    let mut config = ModuleConfig::new();
    config
        .generate_name_section(false)
        .generate_producers_section(false);
    let mut module = config
        .parse(&wasm)
        .context("reading the optimised module")?;
    let Some(export) = module.exports.iter().find(|export| export.name == EXPORT) else {
        return Ok(wasm);
    };
    let (export, item) = (export.id(), export.item);
    let ExportItem::Table(exported) = item else {
        bail!("`{EXPORT}` is no table")
    };
    let holds_values = |table: &walrus::Table| table.element_ty == RefType::EXTERNREF;
    if holds_values(module.tables.get(exported)) {
        return Ok(wasm);
    }
    let of_values: Vec<_> = module
        .tables
        .iter()
        .filter(|table| holds_values(table))
        .map(walrus::Table::id)
        .collect();
    let [table] = of_values[..] else {
        bail!(
            "of {} tables of JavaScript values, which one is `{EXPORT}`?",
            of_values.len()
        )
    };
    module.exports.get_mut(export).item = ExportItem::Table(table);
    Ok(module.emit_wasm())
}

#[cfg(test)]
mod tests {
    use walrus::Module;

    use super::*;

    /// A module with a table of functions and `values` tables of values, which exports table number `exported`.
    fn module(values: usize, exported: usize) -> Vec<u8> {
        let mut module = Module::default();
        let mut tables = vec![module.tables.add_local(false, 1, None, RefType::FUNCREF)];
        tables.extend(
            (0..values).map(|_| module.tables.add_local(false, 1, None, RefType::EXTERNREF)),
        );
        module.exports.add(EXPORT, tables[exported]);
        module.emit_wasm()
    }

    fn exported_type(wasm: &[u8]) -> RefType {
        let module = Module::from_buffer(wasm).unwrap();
        let ExportItem::Table(table) = module.exports.iter().next().unwrap().item else {
            panic!("no table")
        };
        module.tables.get(table).element_ty
    }

    #[test]
    fn a_wrong_export_is_pointed_at_the_table_of_values() {
        let broken = module(1, 0);
        assert_eq!(exported_type(&broken), RefType::FUNCREF);
        assert_eq!(
            exported_type(&table_export(broken).unwrap()),
            RefType::EXTERNREF
        );
    }

    #[test]
    fn a_right_module_is_left_as_it_is() {
        let right = module(1, 1);
        assert_eq!(table_export(right.clone()).unwrap(), right);
        let none = Module::default().emit_wasm();
        assert_eq!(table_export(none.clone()).unwrap(), none);
    }

    #[test]
    fn what_cannot_be_told_is_an_error() {
        table_export(module(2, 0)).unwrap_err();
        table_export(module(0, 0)).unwrap_err();
    }
}
