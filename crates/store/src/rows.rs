//! Many rows in one statement: they come as one JSON array, so that a statement has one text however many they are. A short list
//! of keys stands in the text itself.

use crate::Engine;

/// What a column of such a row holds.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    /// Text, or nothing.
    Text,
    /// A whole number, or nothing.
    Int,
}

/// The numbered places of `count` keys, from `first` on, to stand between parentheses after `in`. For no keys it is a selection of
/// nothing, since neither engine needs to take an empty list.
pub(crate) fn places(first: usize, count: usize) -> String {
    if count == 0 {
        return "select null where 1 = 0".to_owned();
    }
    let places: Vec<String> = (first..first + count).map(|at| format!("${at}")).collect();
    places.join(", ")
}

/// A table named `r` of what the JSON array in `$1` holds, to stand after `from`, in the array's order.
pub(crate) fn rows(engine: Engine, columns: &[(&str, Kind)]) -> String {
    match engine {
        Engine::Sqlite => {
            let columns: Vec<String> = columns
                .iter()
                .map(|(name, _)| format!("value ->> '{name}' as {name}"))
                .collect();
            format!("(select {} from json_each($1)) r", columns.join(", "))
        }
        Engine::Postgres => {
            let columns: Vec<String> = columns
                .iter()
                .map(|(name, kind)| match kind {
                    Kind::Text => format!("{name} text"),
                    Kind::Int => format!("{name} bigint"),
                })
                .collect();
            format!("json_to_recordset($1::json) as r ({})", columns.join(", "))
        }
    }
}
