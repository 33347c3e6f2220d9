//! What an edit changed, line by line: in one column, or old beside new.

use super::segments::{Segment, Segments};
use crate::i18n::{plural, t, use_locale};
use leptos::prelude::*;

/// A change to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDiff {
    /// Path as the agent wrote it.
    pub path: String,
    /// What stood there; absent for a new file.
    pub old: Option<String>,
    /// What stands there now.
    pub new: String,
}

/// Lines of a change that are shown at once.
const FOLD_LINES: usize = 40;
/// Unchanged lines shown around a change.
const CONTEXT: usize = 3;
/// Beyond this many pairs of lines no best match is looked for: everything old goes, everything new comes.
const MOST_PAIRS: usize = 250_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Same,
    Gone,
    Came,
    /// Unchanged lines were left out here.
    Gap,
}

/// A change, with what went and what came marked by sign and colour.
#[component]
pub fn DiffBlock(
    /// The change.
    diff: FileDiff,
) -> impl IntoView {
    let locale = use_locale();
    let FileDiff { path, old, new } = diff;
    let lines = compare(old.as_deref().unwrap_or_default(), &new);
    let came = lines.iter().filter(|(mark, _)| *mark == Mark::Came).count();
    let gone = lines.iter().filter(|(mark, _)| *mark == Mark::Gone).count();
    let rest = lines.len().saturating_sub(FOLD_LINES);
    let (head, tail) = lines.split_at(lines.len() - rest);
    let head = rows(head);
    let tail = (rest > 0).then(|| rows(tail));
    view! {
        <div data-testid="tool-diff">
            <p class="flex gap-2 text-12 text-muted">
                <span class="min-w-0 truncate font-mono">{path}</span>
                <span class="sr-only">{t!(locale, chat.diff_counts, came = came, gone = gone)}</span>
                <span class="shrink-0 text-done" aria-hidden="true">{format!("+{came}")}</span>
                <span class="shrink-0 text-failed" aria-hidden="true">{format!("−{gone}")}</span>
            </p>
            <pre class="code-block" tabindex="0">{head}</pre>
            {tail
                .map(|tail| {
                    view! {
                        <details>
                            <summary class="text-12 text-muted py-1">{plural!(locale, chat.more_lines, rest)}</summary>
                            <pre class="code-block" tabindex="0">{tail}</pre>
                        </details>
                    }
                })}
        </div>
    }
}

fn rows(lines: &[(Mark, &str)]) -> Vec<AnyView> {
    lines
        .iter()
        .map(|(mark, line)| {
            let (class, sign) = match mark {
                Mark::Same => ("diff-line", "  "),
                Mark::Gone => ("diff-line diff-gone", "− "),
                Mark::Came => ("diff-line diff-came", "+ "),
                Mark::Gap => ("diff-line text-muted", "⋯ "),
            };
            view! { <span class=class>{[sign, line].concat()}</span> }.into_any()
        })
        .collect()
}

/// Two texts to be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compared {
    /// The one before.
    pub old: String,
    /// The one after.
    pub new: String,
}

/// Two texts compared, in one column or side by side as the reader chooses.
#[component]
pub fn Difference(
    /// The texts.
    #[prop(into)]
    compared: Signal<Compared>,
    /// What the one before is.
    #[prop(into)]
    old_name: TextProp,
    /// What the one after is.
    #[prop(into)]
    new_name: TextProp,
) -> impl IntoView {
    let locale = use_locale();
    let split = RwSignal::new(false);
    let choose = move |on| Callback::new(move |()| split.set(on));
    let content = move || {
        compared.with(|Compared { old, new }| {
            if old == new {
                return view! { <p class="text-muted">{t!(locale, chat.no_difference)}</p> }
                    .into_any();
            }
            let lines = compare(old, new);
            if split.get() {
                side_by_side(&lines, &old_name.get(), &new_name.get())
            } else {
                view! { <pre class="code-block diff-block" tabindex="0">{rows(&lines)}</pre> }
                    .into_any()
            }
        })
    };
    view! {
        <div class="flex flex-col gap-3">
            <Segments label=t!(locale, chat.diff_view)>
                <Segment chosen=Signal::derive(move || !split.get()) on_press=choose(false) test_id="diff-unified">
                    {t!(locale, chat.diff_unified)}
                </Segment>
                <Segment chosen=split on_press=choose(true) test_id="diff-split">
                    {t!(locale, chat.diff_split)}
                </Segment>
            </Segments>
            {content}
        </div>
    }
    .into_any()
}

/// A line of the side-by-side view: what stands left and what stands right.
type Pair<'t> = ((Mark, &'t str), (Mark, &'t str));

/// Lines that went stand beside those that came in their place.
fn pairs<'t>(lines: &[(Mark, &'t str)]) -> Vec<Pair<'t>> {
    const NOTHING: (Mark, &str) = (Mark::Gap, "");
    let mut pairs = Vec::new();
    let mut rest = lines;
    while let Some((mark, line)) = rest.first() {
        if matches!(mark, Mark::Same | Mark::Gap) {
            pairs.push(((*mark, *line), (*mark, *line)));
            rest = &rest[1..];
            continue;
        }
        let changed = rest
            .iter()
            .take_while(|(mark, _)| matches!(mark, Mark::Gone | Mark::Came))
            .count();
        let (block, behind) = rest.split_at(changed);
        let of = |wanted| block.iter().filter(move |(mark, _)| *mark == wanted);
        let (mut gone, mut came) = (of(Mark::Gone), of(Mark::Came));
        loop {
            match (gone.next(), came.next()) {
                (None, None) => break,
                (old, new) => pairs.push((
                    old.copied().unwrap_or(NOTHING),
                    new.copied().unwrap_or(NOTHING),
                )),
            }
        }
        rest = behind;
    }
    pairs
}

fn side_by_side(lines: &[(Mark, &str)], old_name: &str, new_name: &str) -> AnyView {
    let cell = |(mark, line): (Mark, &str)| {
        let (class, sign) = match mark {
            Mark::Same => ("diff-cell", ""),
            Mark::Gone => ("diff-cell diff-gone", "− "),
            Mark::Came => ("diff-cell diff-came", "+ "),
            Mark::Gap => ("diff-cell text-muted", ""),
        };
        view! { <td class=class>{[sign, line].concat()}</td> }
    };
    let body = pairs(lines)
        .into_iter()
        .map(|(old, new)| view! { <tr>{cell(old)}{cell(new)}</tr> })
        .collect_view();
    view! {
        <div class="diff-split" tabindex="0" role="region" aria-label=[old_name, " → ", new_name].concat()>
            <table>
                <thead>
                    <tr>
                        <th scope="col">{old_name.to_owned()}</th>
                        <th scope="col">{new_name.to_owned()}</th>
                    </tr>
                </thead>
                <tbody>{body}</tbody>
            </table>
        </div>
    }
    .into_any()
}

fn compare<'t>(old: &'t str, new: &'t str) -> Vec<(Mark, &'t str)> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let before = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let after = old[before..]
        .iter()
        .rev()
        .zip(new[before..].iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let mut lines: Vec<(Mark, &str)> = Vec::new();
    lines.extend(old[..before].iter().map(|line| (Mark::Same, *line)));
    lines.extend(middle(
        &old[before..old.len() - after],
        &new[before..new.len() - after],
    ));
    lines.extend(
        old[old.len() - after..]
            .iter()
            .map(|line| (Mark::Same, *line)),
    );
    near_changes(lines)
}

/// What is left between a common beginning and a common end: the longest common sequence stays, the rest goes and comes.
fn middle<'t>(old: &[&'t str], new: &[&'t str]) -> Vec<(Mark, &'t str)> {
    let gone = |line: &&'t str| (Mark::Gone, *line);
    let came = |line: &&'t str| (Mark::Came, *line);
    if old.len().saturating_mul(new.len()) > MOST_PAIRS {
        return old.iter().map(gone).chain(new.iter().map(came)).collect();
    }
    // Length of the longest common sequence from each pair of places on.
    let width = new.len() + 1;
    let mut length = vec![0_u32; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            length[i * width + j] = if old[i] == new[j] {
                length[(i + 1) * width + j + 1] + 1
            } else {
                length[(i + 1) * width + j].max(length[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut lines = Vec::with_capacity(old.len().max(new.len()));
    while i < old.len() && j < new.len() {
        if old[i] == new[j] {
            lines.push((Mark::Same, old[i]));
            i += 1;
            j += 1;
        } else if length[(i + 1) * width + j] >= length[i * width + j + 1] {
            lines.push(gone(&old[i]));
            i += 1;
        } else {
            lines.push(came(&new[j]));
            j += 1;
        }
    }
    lines.extend(old[i..].iter().map(gone));
    lines.extend(new[j..].iter().map(came));
    lines
}

/// Leaves out what is far from any change.
fn near_changes(lines: Vec<(Mark, &str)>) -> Vec<(Mark, &str)> {
    let changed: Vec<usize> = (0..lines.len())
        .filter(|at| lines[*at].0 != Mark::Same)
        .collect();
    let mut kept = Vec::new();
    let mut in_gap = false;
    for (at, line) in lines.into_iter().enumerate() {
        let next = changed.partition_point(|c| *c < at);
        let near = changed.get(next).is_some_and(|c| c - at <= CONTEXT)
            || next
                .checked_sub(1)
                .is_some_and(|before| at - changed[before] <= CONTEXT);
        if near {
            kept.push(line);
        } else if !in_gap {
            kept.push((Mark::Gap, ""));
        }
        in_gap = !near;
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(old: &str, new: &str) -> String {
        compare(old, new)
            .iter()
            .map(|(mark, line)| {
                let sign = match mark {
                    Mark::Same => ' ',
                    Mark::Gone => '-',
                    Mark::Came => '+',
                    Mark::Gap => '~',
                };
                format!("{sign}{line}|")
            })
            .collect()
    }

    #[test]
    fn a_change_shows_what_went_and_what_came() {
        assert_eq!(text("a\nb\nc", "a\nx\nc"), " a|-b|+x| c|");
        assert_eq!(text("", "new\nfile"), "+new|+file|");
        assert_eq!(text("a\nb\nc\nd", "b\nd\ne"), "-a| b|-c| d|+e|");
    }

    #[test]
    fn what_is_far_from_a_change_is_left_out() {
        let old: String = (0..20).map(|n| format!("{n}\n")).collect();
        let new = old.replace("10\n", "ten\n");
        assert_eq!(text(&old, &new), "~| 7| 8| 9|-10|+ten| 11| 12| 13|~|");
    }

    #[test]
    fn side_by_side_what_went_stands_beside_what_came() {
        let lines = compare("a\nb\nc\nd", "a\nx\nd");
        let text: Vec<(&str, &str)> = pairs(&lines)
            .into_iter()
            .map(|((_, old), (_, new))| (old, new))
            .collect();
        assert_eq!(text, [("a", "a"), ("b", "x"), ("c", ""), ("d", "d")]);
    }

    #[test]
    fn a_huge_change_is_still_shown_whole() {
        let many = |word: &str| (0..600).map(|n| format!("{word}{n}\n")).collect::<String>();
        assert_eq!(compare(&many("a"), &many("b")).len(), 1_200);
    }
}
