//! Many rows in one statement. A short list of keys stands in the text itself.
//!
//! Postgres gets them as one JSON array, so that a statement has one text however many they are. SQLite would read that text again
//! for each cell, which cost more than all the rest of a statement: it gets them as values, filled up with empty rows to the next
//! power of two, so that a statement has few texts and stays prepared.

use crate::Engine;
use serde_json::{Map, Value};
use sqlx::any::AnyArguments;
use sqlx::query::Query;
use sqlx::{Any, AssertSqlSafe};

/// Rows of a statement on SQLite at most.
const TOGETHER: usize = 128;
/// Where the rows stand in a statement, after `from`: a table named `r`.
const ROWS: &str = "@rows";

/// What a column of such a row holds.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    /// Text, or nothing.
    Text,
    /// A whole number, or nothing.
    Int,
}

/// What stands in a column of such a row.
#[derive(Debug, Clone)]
pub(crate) enum Cell {
    Text(Option<String>),
    Int(i64),
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(Some(text))
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(Some(text.to_owned()))
    }
}

impl From<Option<String>> for Cell {
    fn from(text: Option<String>) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for Cell {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

/// The columns of the rows of a statement. The first is never empty.
pub(crate) type Shape<const N: usize> = [(&'static str, Kind); N];

/// As many rows as one statement takes.
#[derive(Debug)]
pub(crate) struct Portion<'r, const N: usize> {
    engine: Engine,
    columns: &'r Shape<N>,
    rows: &'r [[Cell; N]],
}

/// The rows in portions, in their order.
pub(crate) fn portions<'r, const N: usize>(
    engine: Engine,
    columns: &'r Shape<N>,
    rows: &'r [[Cell; N]],
) -> impl Iterator<Item = Portion<'r, N>> {
    let size = match engine {
        Engine::Sqlite => TOGETHER,
        Engine::Postgres => usize::MAX,
    };
    rows.chunks(size).map(move |rows| Portion {
        engine,
        columns,
        rows,
    })
}

impl<const N: usize> Portion<'_, N> {
    /// The statement for these rows, which are bound: `@rows` in `sql` stands for them, and what the caller binds is numbered from
    /// `$2` on.
    pub(crate) fn query(&self, sql: &str) -> Query<'static, Any, AnyArguments> {
        match self.engine {
            Engine::Sqlite => {
                let places = self.rows.len().next_power_of_two();
                let mut query = sqlx::query(AssertSqlSafe(sqlite(sql, self.columns, places)));
                for cell in self.rows.iter().flatten() {
                    query = match cell {
                        Cell::Text(text) => query.bind(text.clone()),
                        Cell::Int(number) => query.bind(*number),
                    };
                }
                for _ in self.rows.len() * N..places * N {
                    query = query.bind(None::<i64>);
                }
                query
            }
            Engine::Postgres => {
                let rows = self.rows.iter().map(|row| json(self.columns, row));
                let rows = Value::Array(rows.collect()).to_string();
                sqlx::query(AssertSqlSafe(postgres(sql, self.columns))).bind(rows)
            }
        }
    }
}

/// The text of a statement about one row, so that its plan can be looked at.
pub(crate) fn text_for_one<const N: usize>(
    engine: Engine,
    columns: &Shape<N>,
    sql: &str,
) -> String {
    match engine {
        Engine::Sqlite => sqlite(sql, columns, 1),
        Engine::Postgres => postgres(sql, columns),
    }
}

/// Places without a name are filled in their order, so the cells come first among what is bound, and the rest is numbered after them.
fn sqlite<const N: usize>(sql: &str, columns: &Shape<N>, places: usize) -> String {
    let names: Vec<String> = (1..)
        .zip(columns)
        .map(|(at, (name, _))| format!("column{at} as {name}"))
        .collect();
    let row = format!("({})", vec!["?"; N].join(", "));
    let table = format!(
        "(select {} from (values {}) where column1 is not null) r",
        names.join(", "),
        vec![row.as_str(); places].join(", ")
    );
    let mut pieces = sql.split('$');
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let digits = piece.len() - piece.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let number: usize = piece[..digits].parse().unwrap_or_default();
        text.push_str(&format!("${}{}", number + places * N - 1, &piece[digits..]));
    }
    text.replace(ROWS, &table)
}

fn postgres<const N: usize>(sql: &str, columns: &Shape<N>) -> String {
    let columns: Vec<String> = columns
        .iter()
        .map(|(name, kind)| match kind {
            Kind::Text => format!("{name} text"),
            Kind::Int => format!("{name} bigint"),
        })
        .collect();
    let table = format!("json_to_recordset($1::json) as r ({})", columns.join(", "));
    sql.replace(ROWS, &table)
}

fn json<const N: usize>(columns: &Shape<N>, row: &[Cell; N]) -> Value {
    let cells = columns.iter().zip(row).map(|((name, _), cell)| {
        let cell = match cell {
            Cell::Text(text) => text.clone().map_or(Value::Null, Value::String),
            Cell::Int(number) => Value::from(*number),
        };
        ((*name).to_owned(), cell)
    });
    Value::Object(cells.collect::<Map<_, _>>())
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

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: Shape<2> = [("job", Kind::Int), ("token", Kind::Text)];

    #[test]
    fn what_is_bound_beside_the_rows_is_numbered_after_them() {
        let sql = "update t set a = $2, b = $3 from @rows where t.id = r.job and t.c < $2";
        assert_eq!(
            sqlite(sql, &COLUMNS, 2),
            "update t set a = $5, b = $6 from (select column1 as job, column2 as token from (values (?, ?), (?, ?)) \
             where column1 is not null) r where t.id = r.job and t.c < $5"
        );
        assert_eq!(
            postgres(sql, &COLUMNS),
            "update t set a = $2, b = $3 from json_to_recordset($1::json) as r (job bigint, token text) \
             where t.id = r.job and t.c < $2"
        );
    }

    #[test]
    fn rows_come_in_portions_that_sqlite_takes() {
        let rows: Vec<[Cell; 2]> = (0..300).map(|n| [Cell::Int(n), Cell::Text(None)]).collect();
        let sizes = |engine| {
            portions(engine, &COLUMNS, &rows)
                .map(|portion| portion.rows.len())
                .collect::<Vec<_>>()
        };
        assert_eq!(sizes(Engine::Sqlite), [128, 128, 44]);
        assert_eq!(sizes(Engine::Postgres), [300]);
        assert_eq!(portions(Engine::Postgres, &COLUMNS, &[]).count(), 0);
    }
}
