//! Rich output: files, charts and figures that an agent shows in its conversation.
//!
//! Everything is checked and read when it comes in, so that a page only has to draw. A bad block refuses all of it, and nothing
//! is shown.

mod csv;

use crate::error::Refusal;
use crate::place::{MAX_PATH, check_line, check_text};
use serde::{Deserialize, Serialize};

/// Longest input, in bytes of its JSON.
pub const MAX_INPUT: usize = 64 * 1024;
/// Longest table, in bytes.
pub const MAX_CSV: usize = 256 * 1024;
/// Most rows of a table.
pub const MAX_ROWS: usize = 100;
/// Most lines or groups of bars of a chart.
pub const MAX_SERIES: usize = 4;
/// Most blocks.
pub const MAX_BLOCKS: usize = 4;
/// Most figures of a block.
pub const MAX_METRICS: usize = 6;
/// Longest title, in code points.
pub const MAX_TITLE: usize = 120;
/// Longest description, in code points.
pub const MAX_DESCRIPTION: usize = 500;
/// Longest part of a file that is read to be shown, in bytes.
pub const MAX_EXCERPT: usize = 32 * 1024;
/// Longest label, in code points.
pub const MAX_LABEL: usize = 80;

words! {
    /// How a chart is drawn.
    ChartKind("kind") {
        /// A line a series.
        Line = "line",
        /// A group of bars a row.
        Bar = "bar",
    }
}

/// What is to be shown, as it comes in.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RichInput {
    /// Always 1.
    pub version: u32,
    /// One line.
    pub title: String,
    /// A sentence or two.
    #[serde(default)]
    pub description: Option<String>,
    /// One to four.
    pub blocks: Vec<BlockInput>,
}

/// A block as it comes in.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum BlockInput {
    /// A file of the task's folder.
    File {
        /// Where it is, as the agent names it.
        path: String,
        /// What there is to say about it.
        #[serde(default)]
        caption: Option<String>,
        /// A part of it; its beginning is read when left out.
        #[serde(default)]
        excerpt: Option<String>,
    },
    /// Numbers of a table.
    Chart {
        /// See [`ChartKind`].
        kind: ChartKind,
        /// What it shows.
        title: String,
        /// The table: a line of names, then at most 100 lines of values.
        csv: String,
        /// The column of the labels; the first when left out.
        #[serde(default)]
        x: Option<String>,
        /// The columns of the numbers; all others when left out.
        #[serde(default)]
        series: Vec<String>,
        /// What the numbers count.
        #[serde(default)]
        unit: Option<String>,
    },
    /// A few figures.
    Metrics {
        /// One to six.
        items: Vec<Metric>,
    },
}

/// One figure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metric {
    /// What it is.
    pub label: String,
    /// How much, in words or digits.
    pub value: String,
    /// What it counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// How it compares, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What is shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RichOutput {
    /// Always 1.
    pub version: u32,
    /// One line.
    pub title: String,
    /// A sentence or two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// One to four.
    pub blocks: Vec<Block>,
}

/// A block, ready to be drawn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    /// See [`BlockInput::File`].
    File {
        /// Where it is.
        path: String,
        /// What there is to say about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        caption: Option<String>,
        /// A part of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        excerpt: Option<String>,
        /// The file goes on where its excerpt ends.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        truncated: bool,
    },
    /// See [`BlockInput::Chart`].
    Chart(Chart),
    /// See [`BlockInput::Metrics`].
    Metrics {
        /// One to six.
        items: Vec<Metric>,
    },
}

/// A chart, ready to be drawn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Chart {
    /// See [`ChartKind`].
    pub kind: ChartKind,
    /// What it shows.
    pub title: String,
    /// What the numbers count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// What the labels are.
    pub x: String,
    /// One a row.
    pub labels: Vec<String>,
    /// One to four.
    pub series: Vec<Series>,
}

/// One line, or one colour of bars.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// The name of its column.
    pub name: String,
    /// One a row; none where the table has no number.
    pub values: Vec<Option<f64>>,
}

/// Reads and checks what is to be shown; `bytes` is the length of the input as JSON.
pub fn read(input: RichInput, bytes: usize) -> Result<RichOutput, Refusal> {
    if bytes > MAX_INPUT {
        return Err(Refusal::validation(format!(
            "the input has {bytes} bytes; at most {MAX_INPUT} are shown: show less, or point to a file"
        )));
    }
    if input.version != 1 {
        return Err(Refusal::validation("version must be 1"));
    }
    check_line("title", &input.title, MAX_TITLE)?;
    if let Some(description) = &input.description
        && description.chars().count() > MAX_DESCRIPTION
    {
        return Err(Refusal::validation(format!(
            "description must have at most {MAX_DESCRIPTION} characters"
        )));
    }
    if input.blocks.is_empty() || input.blocks.len() > MAX_BLOCKS {
        return Err(Refusal::validation(format!(
            "blocks must have 1 to {MAX_BLOCKS} entries"
        )));
    }
    let blocks = input
        .blocks
        .into_iter()
        .enumerate()
        .map(|(index, block)| read_block(&format!("blocks[{index}]"), block))
        .collect::<Result<_, _>>()?;
    Ok(RichOutput {
        version: 1,
        title: input.title,
        description: input.description,
        blocks,
    })
}

/// What is shown of a file of which these are the first bytes, and whether there is more of it; `None` when it is no text.
#[must_use]
pub fn excerpt_of(mut bytes: Vec<u8>) -> Option<(String, bool)> {
    let more = bytes.len() > MAX_EXCERPT;
    bytes.truncate(MAX_EXCERPT);
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            // Cut in the middle of a letter, which is not shown then.
            let whole = error.utf8_error().valid_up_to();
            let cut_short = more && error.utf8_error().error_len().is_none();
            let mut bytes = error.into_bytes();
            bytes.truncate(whole);
            String::from_utf8(bytes).ok().filter(|_| cut_short)?
        }
    };
    (!text.contains('\0')).then_some((text, more))
}

fn read_block(what: &str, block: BlockInput) -> Result<Block, Refusal> {
    match block {
        BlockInput::File {
            path,
            caption,
            excerpt,
        } => {
            check_line(&format!("{what}.path"), &path, MAX_PATH)?;
            if let Some(caption) = &caption {
                check_line(&format!("{what}.caption"), caption, MAX_DESCRIPTION)?;
            }
            if let Some(excerpt) = &excerpt {
                check_text(&format!("{what}.excerpt"), excerpt)?;
            }
            Ok(Block::File {
                path,
                caption,
                excerpt,
                truncated: false,
            })
        }
        BlockInput::Chart {
            kind,
            title,
            csv,
            x,
            series,
            unit,
        } => {
            check_line(&format!("{what}.title"), &title, MAX_TITLE)?;
            if let Some(unit) = &unit {
                check_line(&format!("{what}.unit"), unit, MAX_LABEL)?;
            }
            let table = csv::table(what, &csv)?;
            let (x, labels, series) = csv::columns(what, &table, x.as_deref(), &series)?;
            Ok(Block::Chart(Chart {
                kind,
                title,
                unit,
                x,
                labels,
                series,
            }))
        }
        BlockInput::Metrics { items } => {
            if items.is_empty() || items.len() > MAX_METRICS {
                return Err(Refusal::validation(format!(
                    "{what}.items must have 1 to {MAX_METRICS} entries"
                )));
            }
            for (index, item) in items.iter().enumerate() {
                let what = format!("{what}.items[{index}]");
                check_line(&format!("{what}.label"), &item.label, MAX_LABEL)?;
                check_line(&format!("{what}.value"), &item.value, MAX_LABEL)?;
                for (name, text) in [("unit", &item.unit), ("note", &item.note)] {
                    if let Some(text) = text {
                        check_line(&format!("{what}.{name}"), text, MAX_LABEL)?;
                    }
                }
            }
            Ok(Block::Metrics { items })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn shown(blocks: &Value) -> Result<RichOutput, Refusal> {
        let input = json!({"version": 1, "title": "T", "blocks": blocks});
        let input: RichInput = serde_json::from_value(input).unwrap();
        read(input, 100)
    }

    fn chart(csv: &str, more: &Value) -> Value {
        let mut block = json!({"type": "chart", "kind": "line", "title": "C", "csv": csv});
        for (name, value) in more.as_object().unwrap() {
            block[name] = value.clone();
        }
        json!([block])
    }

    #[test]
    fn a_table_becomes_labels_and_numbers() {
        let csv = "day,\"ms, p50\",ms p99\r\nMon,1.5,\nTue,-2,3e2\n";
        let output = shown(&chart(csv, &json!({"unit": "ms"}))).unwrap();
        let Block::Chart(chart) = &output.blocks[0] else {
            panic!("no chart");
        };
        assert_eq!(
            (chart.x.as_str(), &chart.labels[..]),
            ("day", &["Mon".to_owned(), "Tue".to_owned()][..])
        );
        assert_eq!(chart.series[0].name, "ms, p50");
        assert_eq!(chart.series[0].values, [Some(1.5), Some(-2.0)]);
        assert_eq!(chart.series[1].values, [None, Some(300.0)]);
        // What is stored is read again as it was.
        let stored = serde_json::to_value(&output).unwrap();
        assert_eq!(
            serde_json::from_value::<RichOutput>(stored).unwrap(),
            output
        );
    }

    #[test]
    fn columns_are_chosen_by_name() {
        let csv = "a,b,c\n1,x,2\n3,y,4";
        let output = shown(&chart(csv, &json!({"x": "b", "series": ["c"]}))).unwrap();
        let Block::Chart(chart) = &output.blocks[0] else {
            panic!("no chart");
        };
        assert_eq!(chart.labels, ["x", "y"]);
        assert_eq!(chart.series.len(), 1);
    }

    #[test]
    fn tables_that_cannot_be_drawn_are_refused() {
        let rows = |count: usize| format!("x,y\n{}", "a,1\n".repeat(count));
        assert!(shown(&chart(&rows(100), &json!({}))).is_ok());
        for csv in [
            "",
            "x,y",
            "x\n1",
            "x,y\na,b",
            "x,y\na,1,2",
            "x,y\na,NaN",
            "x,y\na,inf",
            "x,y\n\"a,1",
            "x,x\na,1",
            "x,\na,1",
            "a,b,c,d,e,f\nx,1,2,3,4,5",
            rows(101).as_str(),
        ] {
            assert!(shown(&chart(csv, &json!({}))).is_err(), "{csv:?}");
        }
        for more in [
            json!({"x": "z"}),
            json!({"series": ["z"]}),
            json!({"series": ["y", "y"]}),
        ] {
            assert!(shown(&chart("x,y\na,1", &more)).is_err());
        }
        let long = format!("x,y\na,1\n{}", " ".repeat(MAX_CSV));
        assert!(shown(&chart(&long, &json!({}))).is_err());
    }

    #[test]
    fn one_bad_block_refuses_all_and_limits_hold() {
        let metric = json!({"label": "Tests", "value": "214", "unit": "passed"});
        let metrics =
            |count: usize| json!([{"type": "metrics", "items": vec![metric.clone(); count]}]);
        assert!(shown(&metrics(6)).is_ok());
        assert!(shown(&metrics(7)).is_err());
        assert!(shown(&metrics(0)).is_err());
        let file = json!({"type": "file", "path": "report.md"});
        assert!(shown(&json!(vec![file.clone(); 4])).is_ok());
        assert!(shown(&json!(vec![file.clone(); 5])).is_err());
        assert!(shown(&json!([])).is_err());
        let refusal = shown(&json!([file, {"type": "file", "path": ""}])).unwrap_err();
        assert!(refusal.message.starts_with("blocks[1].path"));
        let input = |value: Value| serde_json::from_value::<RichInput>(value);
        let good = json!({"version": 1, "title": "T", "blocks": [file]});
        assert!(read(input(good.clone()).unwrap(), MAX_INPUT + 1).is_err());
        for (name, value) in [
            ("version", json!(2)),
            ("title", json!("")),
            ("title", json!("x".repeat(121))),
            ("description", json!("x".repeat(501))),
        ] {
            let mut bad = good.clone();
            bad[name] = value;
            assert!(read(input(bad).unwrap(), 10).is_err(), "{name}");
        }
        for block in [
            json!({"type": "html", "html": "<b>"}),
            json!({"type": "file", "path": "a", "url": "b"}),
        ] {
            assert!(input(json!({"version": 1, "title": "T", "blocks": [block]})).is_err());
        }
    }
}
