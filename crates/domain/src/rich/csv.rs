//! Tables as text: values between commas, quoted where they hold one, a quote in quotes doubled (RFC 4180).

use super::{MAX_CSV, MAX_LABEL, MAX_ROWS, MAX_SERIES, Series};
use crate::error::Refusal;

/// A table: the names of its columns, and its rows.
pub(super) struct Table {
    names: Vec<String>,
    rows: Vec<Vec<String>>,
}

fn refuse<T>(what: &str, why: &str) -> Result<T, Refusal> {
    Err(Refusal::validation(format!("{what}.csv {why}")))
}

/// Reads a table of at least two columns and 1 to 100 rows.
pub(super) fn table(what: &str, text: &str) -> Result<Table, Refusal> {
    if text.len() > MAX_CSV {
        return refuse(what, &format!("must have at most {MAX_CSV} bytes"));
    }
    let Some(records) = records(text) else {
        return refuse(what, "has a quote that does not end");
    };
    let mut records = records
        .into_iter()
        .filter(|record| record.iter().any(|value| !value.trim().is_empty()));
    let Some(names) = records.next() else {
        return refuse(what, "must begin with a line of names");
    };
    let names: Vec<String> = names.iter().map(|name| name.trim().to_owned()).collect();
    let rows: Vec<Vec<String>> = records.collect();
    if names.len() < 2 {
        return refuse(what, "must have at least two columns, separated by commas");
    }
    let is_name = |name: &String| {
        !name.is_empty() && name.chars().count() <= MAX_LABEL && !name.chars().any(char::is_control)
    };
    let differ = (1..names.len()).all(|at| !names[..at].contains(&names[at]));
    if !names.iter().all(is_name) || !differ {
        return refuse(
            what,
            &format!("must name its columns, each otherwise, with 1 to {MAX_LABEL} characters"),
        );
    }
    if rows.is_empty() || rows.len() > MAX_ROWS {
        return refuse(
            what,
            &format!("must have 1 to {MAX_ROWS} rows below the names"),
        );
    }
    if let Some(at) = rows.iter().position(|row| row.len() != names.len()) {
        return refuse(
            what,
            &format!("row {} must have as many values as there are names", at + 1),
        );
    }
    Ok(Table { names, rows })
}

/// The labels and the numbers that are drawn.
pub(super) fn columns(
    what: &str,
    table: &Table,
    x: Option<&str>,
    series: &[String],
) -> Result<(String, Vec<String>, Vec<Series>), Refusal> {
    let place = |name: &str| table.names.iter().position(|known| known == name);
    let labels_at = match x {
        None => 0,
        Some(name) => place(name)
            .ok_or_else(|| Refusal::validation(format!("{what}.x must be the name of a column")))?,
    };
    let chosen: Vec<usize> = if series.is_empty() {
        (0..table.names.len())
            .filter(|at| *at != labels_at)
            .collect()
    } else {
        series
            .iter()
            .map(|name| place(name))
            .collect::<Option<_>>()
            .ok_or_else(|| Refusal::validation(format!("{what}.series must be names of columns")))?
    };
    let twice = (1..chosen.len()).any(|at| chosen[..at].contains(&chosen[at]));
    if chosen.len() > MAX_SERIES || twice {
        return Err(Refusal::validation(format!(
            "{what}.series must be 1 to {MAX_SERIES} columns, each once"
        )));
    }
    let labels = table
        .rows
        .iter()
        .map(|row| row[labels_at].trim().chars().take(MAX_LABEL).collect())
        .collect();
    let series = chosen
        .into_iter()
        .map(|column| {
            let values = table
                .rows
                .iter()
                .map(|row| number(&row[column]))
                .collect::<Option<Vec<_>>>()
                .filter(|values| values.iter().any(Option::is_some));
            values.map(|values| Series {
                name: table.names[column].clone(),
                values,
            })
        })
        .collect::<Option<Vec<_>>>();
    match series {
        Some(series) => Ok((table.names[labels_at].clone(), labels, series)),
        None => refuse(
            what,
            "must hold numbers in the columns that are drawn, or nothing where there is none",
        ),
    }
}

/// `Some(None)` for an empty value, `None` for one that is no number.
fn number(text: &str) -> Option<Option<f64>> {
    let text = text.trim();
    if text.is_empty() {
        return Some(None);
    }
    let number: f64 = text.parse().ok()?;
    number.is_finite().then_some(Some(number))
}

/// The values of each line; `None` when a quote does not end.
fn records(text: &str) -> Option<Vec<Vec<String>>> {
    let mut records = Vec::new();
    let mut record = Vec::new();
    let mut value = String::new();
    let mut quoted = false;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match (quoted, letter) {
            (true, '"') if letters.peek() == Some(&'"') => {
                letters.next();
                value.push('"');
            }
            (true, '"') => quoted = false,
            (true, other) => value.push(other),
            (false, '"') if value.trim().is_empty() => {
                value.clear();
                quoted = true;
            }
            (false, ',') => record.push(std::mem::take(&mut value)),
            (false, '\r') if letters.peek() == Some(&'\n') => {}
            (false, '\n' | '\r') => {
                record.push(std::mem::take(&mut value));
                records.push(std::mem::take(&mut record));
            }
            (false, other) => value.push(other),
        }
    }
    if quoted {
        return None;
    }
    record.push(value);
    records.push(record);
    Some(records)
}
