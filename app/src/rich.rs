//! Rich output as HTML: files, figures, and charts drawn as SVG.
//!
//! Made by the server, so that the browser's bundle stays without it. Every text of the agent is escaped; nothing else of it gets
//! into the markup. A chart is a picture with a name, and its table stands below it for those who cannot see it. Series differ by
//! shape and dashes as well as by colour.

use crate::i18n::{Locale, t};
use domain::rich::{Block, Chart, ChartKind, Metric, RichOutput, Series};
use serde_json::{Map, Value};
use std::fmt::Write;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 260.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 32.0;
/// Labels below a chart for which there is room.
const MOST_LABELS: usize = 8;
/// Letters of a label for which there is room.
const LABEL_LETTERS: usize = 10;

/// What a message shows, when it shows rich output.
#[must_use]
pub fn of_message(locale: Locale, metadata: &Map<String, Value>) -> Option<String> {
    let output = serde_json::from_value(metadata.get("rich_output")?.clone()).ok()?;
    Some(to_html(locale, &output))
}

/// The whole of it.
#[must_use]
pub fn to_html(locale: Locale, output: &RichOutput) -> String {
    let mut html = String::new();
    html.push_str("<div class=\"rich\">");
    element(&mut html, "<p class=\"rich-title\">", &output.title, "</p>");
    if let Some(description) = &output.description {
        element(&mut html, "<p>", description, "</p>");
    }
    for block in &output.blocks {
        match block {
            Block::File {
                path,
                caption,
                excerpt,
                truncated,
            } => {
                let more = truncated.then(|| t!(locale, paper.excerpt_cut));
                file(
                    &mut html,
                    path,
                    caption.as_deref(),
                    excerpt.as_deref(),
                    more,
                );
            }
            Block::Chart(shown) => chart(locale, &mut html, shown),
            Block::Metrics { items } => metrics(&mut html, items),
        }
    }
    html.push_str("</div>");
    html
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// A text between two pieces of our own markup.
fn element(html: &mut String, before: &str, text: &str, after: &str) {
    html.push_str(before);
    html.push_str(&escape(text));
    html.push_str(after);
}

fn file(
    html: &mut String,
    path: &str,
    caption: Option<&str>,
    excerpt: Option<&str>,
    more: Option<&str>,
) {
    html.push_str("<figure class=\"rich-file\">");
    element(html, "<p><code>", path, "</code></p>");
    if let Some(excerpt) = excerpt {
        element(html, "<pre tabindex=\"0\"><code>", excerpt, "</code></pre>");
    }
    if let Some(more) = more {
        element(html, "<p>", more, "</p>");
    }
    if let Some(caption) = caption {
        element(html, "<figcaption>", caption, "</figcaption>");
    }
    html.push_str("</figure>");
}

fn metrics(html: &mut String, items: &[Metric]) {
    html.push_str("<dl class=\"rich-metrics\">");
    for item in items {
        element(html, "<div><dt>", &item.label, "</dt>");
        element(
            html,
            "<dd><span class=\"rich-value\">",
            &item.value,
            "</span>",
        );
        if let Some(unit) = &item.unit {
            element(html, " <span>", unit, "</span>");
        }
        if let Some(note) = &item.note {
            element(html, "<span class=\"rich-note\">", note, "</span>");
        }
        html.push_str("</dd></div>");
    }
    html.push_str("</dl>");
}

fn chart(locale: Locale, html: &mut String, chart: &Chart) {
    let title = match &chart.unit {
        Some(unit) => format!("{} ({unit})", chart.title),
        None => chart.title.clone(),
    };
    html.push_str("<figure class=\"rich-chart\">");
    element(html, "<figcaption>", &title, "</figcaption>");
    legend(html, &chart.series, chart.kind);
    draw(html, chart, &title);
    element(
        html,
        "<details><summary>",
        t!(locale, chat.chart_data),
        "</summary>",
    );
    table(html, chart);
    html.push_str("</details></figure>");
}

fn legend(html: &mut String, series: &[Series], kind: ChartKind) {
    html.push_str("<ul class=\"chart-legend\">");
    for (index, one) in series.iter().enumerate() {
        html.push_str(
            "<li><svg width=\"24\" height=\"12\" aria-hidden=\"true\" focusable=\"false\">",
        );
        match kind {
            ChartKind::Line => {
                let _ = write!(
                    html,
                    "<path class=\"chart-line chart-{index}\" d=\"M0 6H24\"/>{}",
                    marker(index, 12.0, 6.0)
                );
            }
            ChartKind::Bar => {
                let _ = write!(
                    html,
                    "<rect class=\"chart-bar chart-{index}\" x=\"6\" y=\"1\" width=\"10\" height=\"10\"/>"
                );
            }
        }
        element(html, "</svg>", &one.name, "</li>");
    }
    html.push_str("</ul>");
}

fn table(html: &mut String, chart: &Chart) {
    element(
        html,
        "<table><thead><tr><th scope=\"col\">",
        &chart.x,
        "</th>",
    );
    for series in &chart.series {
        element(html, "<th scope=\"col\">", &series.name, "</th>");
    }
    html.push_str("</tr></thead><tbody>");
    for (row, label) in chart.labels.iter().enumerate() {
        element(html, "<tr><th scope=\"row\">", label, "</th>");
        for series in &chart.series {
            let value = series.values.get(row).copied().flatten();
            let _ = write!(
                html,
                "<td>{}</td>",
                value.map(|value| value.to_string()).unwrap_or_default()
            );
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table>");
}

/// The numbers that a chart's height stands for, and the distance between two lines.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Scale {
    low: f64,
    high: f64,
    step: f64,
}

impl Scale {
    /// A scale with zero on it and about five lines, at 1, 2 or 5 times a power of ten.
    fn of(series: &[Series]) -> Self {
        let values = || series.iter().flat_map(|one| one.values.iter().flatten());
        let low = values().copied().fold(0.0, f64::min);
        let high = values().copied().fold(0.0, f64::max);
        // Twice the greatest number is more than a number holds, so half of each is measured.
        let half = (high / 2.0 - low / 2.0).max(f64::MIN_POSITIVE);
        if half <= f64::MIN_POSITIVE {
            return Self {
                low: 0.0,
                high: 1.0,
                step: 0.5,
            };
        }
        let rough = half / 2.5;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .into_iter()
            .map(|times| times * power)
            .find(|step| *step >= rough)
            .unwrap_or(rough);
        let (low, high) = ((low / step).floor() * step, (high / step).ceil() * step);
        if !(step.is_finite() && low.is_finite() && high.is_finite()) || step <= 0.0 {
            return Self {
                low: -f64::MAX / 2.0,
                high: f64::MAX / 2.0,
                step: f64::MAX / 4.0,
            };
        }
        Self { low, high, step }
    }

    /// Where a number stands.
    fn y(self, value: f64) -> f64 {
        let part = (value / 2.0 - self.low / 2.0) / (self.high / 2.0 - self.low / 2.0);
        TOP + (1.0 - part.clamp(0.0, 1.0)) * (HEIGHT - TOP - BOTTOM)
    }

    /// The numbers at the lines.
    fn lines(self) -> Vec<f64> {
        (0..=12)
            .map(|count| self.low + f64::from(count) * self.step)
            .take_while(|value| *value <= self.high + self.step * 0.01)
            .collect()
    }
}

/// A number at a line, as short as it can be said.
fn short(value: f64, step: f64) -> String {
    let size = value.abs();
    if size >= 1e6 || (size > 0.0 && size < 1e-3) {
        return format!("{value:.2e}");
    }
    let decimals = if step >= 1.0 {
        0
    } else if step >= 0.1 {
        1
    } else if step >= 0.01 {
        2
    } else {
        4
    };
    format!("{value:.decimals$}")
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a table has at most a hundred rows and four series"
)]
fn draw(html: &mut String, chart: &Chart, title: &str) {
    let scale = Scale::of(&chart.series);
    let _ = write!(
        html,
        "<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">",
        escape(title)
    );
    for value in scale.lines() {
        let y = scale.y(value);
        let _ = write!(
            html,
            "<path class=\"chart-grid\" d=\"M{LEFT} {y:.1}H{:.1}\"/><text class=\"chart-text\" x=\"{:.1}\" y=\"{:.1}\" \
             text-anchor=\"end\">{}</text>",
            WIDTH - RIGHT,
            LEFT - 6.0,
            y + 4.0,
            escape(&short(value, scale.step)),
        );
    }
    let slot = (WIDTH - LEFT - RIGHT) / chart.labels.len().max(1) as f64;
    let middle = |row: usize| LEFT + slot * (row as f64 + 0.5);
    let every = chart.labels.len().div_ceil(MOST_LABELS).max(1);
    for (row, label) in chart.labels.iter().enumerate().step_by(every) {
        let cut: String = if label.chars().count() > LABEL_LETTERS {
            label.chars().take(LABEL_LETTERS - 1).chain(['…']).collect()
        } else {
            label.clone()
        };
        let _ = write!(
            html,
            "<text class=\"chart-text\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            middle(row),
            HEIGHT - BOTTOM + 18.0,
            escape(&cut)
        );
    }
    match chart.kind {
        ChartKind::Line => lines(html, &chart.series, scale, &middle),
        ChartKind::Bar => bars(html, &chart.series, scale, slot, &middle),
    }
    html.push_str("</svg>");
}

fn lines(html: &mut String, series: &[Series], scale: Scale, middle: &dyn Fn(usize) -> f64) {
    for (index, one) in series.iter().enumerate() {
        let mut path = String::new();
        let mut broken = true;
        for (row, value) in one.values.iter().enumerate() {
            match value {
                Some(value) => {
                    let letter = if broken { 'M' } else { 'L' };
                    let _ = write!(path, "{letter}{:.1} {:.1}", middle(row), scale.y(*value));
                    broken = false;
                }
                None => broken = true,
            }
        }
        let _ = write!(
            html,
            "<path class=\"chart-line chart-{index}\" d=\"{path}\"/>"
        );
        for (row, value) in one.values.iter().enumerate() {
            if let Some(value) = value {
                html.push_str(&marker(index, middle(row), scale.y(*value)));
            }
        }
    }
}

/// Circle, square, triangle, diamond: a series is known by its shape too.
fn marker(index: usize, x: f64, y: f64) -> String {
    let shape = match index % 4 {
        0 => "m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z",
        1 => "m-3 -3h6v6h-6z",
        2 => "m0 -4l4 7h-8z",
        _ => "m0 -4.5l4.5 4.5l-4.5 4.5l-4.5 -4.5z",
    };
    format!("<path class=\"chart-mark chart-{index}\" d=\"M{x:.1} {y:.1}{shape}\"/>")
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a chart has at most four series"
)]
fn bars(
    html: &mut String,
    series: &[Series],
    scale: Scale,
    slot: f64,
    middle: &dyn Fn(usize) -> f64,
) {
    let width = (slot * 0.8 / series.len().max(1) as f64).max(0.5);
    let zero = scale.y(0.0);
    for (index, one) in series.iter().enumerate() {
        for (row, value) in one.values.iter().enumerate() {
            let Some(value) = value else { continue };
            let x = middle(row) - slot * 0.4 + width * index as f64;
            let y = scale.y(*value);
            let _ = write!(
                html,
                "<rect class=\"chart-bar chart-{index}\" x=\"{x:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{:.1}\"/>",
                y.min(zero),
                (y - zero).abs().max(0.5)
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(kind: ChartKind, values: &[Option<f64>]) -> RichOutput {
        RichOutput {
            version: 1,
            title: "<img src=x onerror=alert(1)>".to_owned(),
            description: Some("a & b".to_owned()),
            blocks: vec![
                Block::Chart(Chart {
                    kind,
                    title: "\"quoted\"".to_owned(),
                    unit: Some("ms".to_owned()),
                    x: "day".to_owned(),
                    labels: values
                        .iter()
                        .map(|_| "</text><script>".to_owned())
                        .collect(),
                    series: vec![Series {
                        name: "<b>".to_owned(),
                        values: values.to_vec(),
                    }],
                }),
                Block::File {
                    path: "</code><script>".to_owned(),
                    caption: None,
                    excerpt: Some("</pre>".to_owned()),
                    truncated: true,
                },
            ],
        }
    }

    #[test]
    fn nothing_of_the_agents_text_becomes_markup() {
        for kind in [ChartKind::Line, ChartKind::Bar] {
            let html = to_html(Locale::en, &output(kind, &[Some(1.0), None, Some(-2.0)]));
            for bad in [
                "<img",
                "<script",
                "<b>",
                "onerror=alert(1)>",
                "</pre></pre>",
                "\"\"quoted",
            ] {
                assert!(!html.contains(bad), "{bad}: {html}");
            }
            assert!(html.contains("aria-label=\"&quot;quoted&quot; (ms)\""));
            assert!(html.contains("<th scope=\"row\">"));
        }
    }

    #[test]
    fn a_gap_breaks_the_line() {
        let html = to_html(
            Locale::en,
            &output(ChartKind::Line, &[Some(1.0), None, Some(2.0), Some(3.0)]),
        );
        let path = html.split("chart-line chart-0\" d=\"").nth(2).unwrap();
        let path = path.split('"').next().unwrap();
        assert_eq!(
            (path.matches('M').count(), path.matches('L').count()),
            (2, 1)
        );
    }

    #[test]
    fn scales_hold_every_number_and_stay_drawable() {
        for values in [
            vec![0.0],
            vec![5.0],
            vec![-3.0, 12.0],
            vec![0.001, 0.0007],
            vec![1e300, -1e300],
            vec![f64::MAX, f64::MIN],
            vec![f64::MIN_POSITIVE],
        ] {
            let series = [Series {
                name: "n".to_owned(),
                values: values.iter().copied().map(Some).collect(),
            }];
            let scale = Scale::of(&series);
            assert!(
                (2..=13).contains(&scale.lines().len()),
                "{values:?}: {scale:?}"
            );
            for value in values {
                let y = scale.y(value);
                assert!(
                    (TOP..=HEIGHT - BOTTOM).contains(&y),
                    "{value} at {y}: {scale:?}"
                );
            }
        }
    }
}
