//! A tool call in the transcript: one line that opens to arguments and output.

use super::diff::{DiffBlock, FileDiff};
use super::glyph::Glyph;
use super::icon::Icon;
use crate::clock::stopwatch;
use crate::i18n::{Locale, plural, t, use_locale};
use domain::message::MessageType;
use leptos::prelude::*;

/// Longer output is folded until asked for.
const FOLD_LINES: usize = 40;

/// How a call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolStatus {
    /// Announced, not begun.
    Pending,
    /// Under way.
    Running,
    /// It gave a result.
    Done,
    /// It failed.
    Failed,
    /// Its turn ended before it did.
    Stopped,
}

/// A tool call as the transcript shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCallLine {
    /// Which kind of call; one of the `Tool…` types.
    pub kind: MessageType,
    /// The tool's name, or the agent's title for the call.
    pub name: String,
    /// What it is about: a file, a command, a task's title.
    pub target: Option<String>,
    /// How it stands.
    pub status: ToolStatus,
    /// How long it took.
    pub duration_ms: Option<i64>,
    /// Its arguments, ready to show.
    pub input: Option<String>,
    /// Its output, ready to show.
    pub output: Option<String>,
    /// What it changed.
    pub diffs: Vec<FileDiff>,
}

/// One line: icon, name, target, status, duration. Opens when there is more to see.
#[component]
pub fn ToolCall(
    /// The call; it changes while it runs.
    #[prop(into)]
    call: Signal<ToolCallLine>,
) -> impl IntoView {
    let locale = use_locale();
    let line = move || {
        let ToolCallLine {
            kind,
            name,
            target,
            status,
            duration_ms,
            ..
        } = call.get();
        view! {
            <Icon glyph=kind_glyph(kind) class="w-3.5 h-3.5 shrink-0 text-muted"/>
            <span class="shrink-0 max-w-[60%] truncate font-mono text-12">{name}</span>
            {target.map(|target| view! { <span class="min-w-0 truncate text-13 text-muted">{target}</span> })}
            <span class="ml-auto shrink-0 inline-flex items-center gap-1 text-12 text-muted">
                {duration_ms.map(stopwatch)} {status_icon(locale, status)}
            </span>
        }
    };
    let input = Memo::new(move |_| call.with(|call| call.input.clone()));
    let output = Memo::new(move |_| call.with(|call| call.output.clone()));
    let diffs = Memo::new(move |_| call.with(|call| call.diffs.clone()));
    let has_more = Memo::new(move |_| {
        input.with(Option::is_some)
            || output.with(Option::is_some)
            || diffs.with(|diffs| !diffs.is_empty())
    });
    view! {
        <Show
            when=move || has_more.get()
            fallback=move || view! { <div class="tool-line" data-testid="tool-call">{line}</div> }
        >
            <details class="tool" data-testid="tool-call">
                <summary class="tool-line">{line}</summary>
                <div class="flex flex-col gap-2 pt-1 pb-2">
                    {move || input.get().map(|text| output_block(t!(locale, chat.tool_input), &text))}
                    {move || diffs.get().into_iter().map(|diff| view! { <DiffBlock diff/> }).collect_view()}
                    {move || output.get().map(|text| output_block(t!(locale, chat.tool_output), &text))}
                </div>
            </details>
        </Show>
    }
    .into_any()
}

fn output_block(heading: &'static str, text: &str) -> impl IntoView + use<> {
    let locale = use_locale();
    let (head, rest) = fold(text);
    let (head, rest) = (
        head.to_owned(),
        rest.map(|(lines, text)| (lines, text.to_owned())),
    );
    view! {
        <div>
            <p class="text-12 text-muted">{heading}</p>
            // A box that scrolls must be reachable by keyboard.
            <pre class="code-block" tabindex="0">{head}</pre>
            {rest
                .map(|(lines, rest)| {
                    view! {
                        <details>
                            <summary class="text-12 text-muted py-1">{plural!(locale, chat.more_lines, lines)}</summary>
                            <pre class="code-block" tabindex="0">{rest}</pre>
                        </details>
                    }
                })}
        </div>
    }
}

/// The part that is shown, and the number and text of the lines that are folded.
fn fold(text: &str) -> (&str, Option<(usize, &str)>) {
    let Some((end, _)) = text.match_indices('\n').nth(FOLD_LINES - 1) else {
        return (text, None);
    };
    let rest = &text[end + 1..];
    if rest.is_empty() {
        (text, None)
    } else {
        (&text[..end], Some((rest.lines().count(), rest)))
    }
}

fn status_icon(locale: Locale, status: ToolStatus) -> impl IntoView {
    let (glyph, icon_class, label) = match status {
        ToolStatus::Pending => (
            Glyph::CircleDashed,
            "w-3.5 h-3.5",
            t!(locale, chat.tool_pending),
        ),
        ToolStatus::Running => (
            Glyph::LoaderCircle,
            "w-3.5 h-3.5 text-running spin",
            t!(locale, chat.tool_running),
        ),
        ToolStatus::Done => (
            Glyph::Check,
            "w-3.5 h-3.5 text-done",
            t!(locale, chat.tool_done),
        ),
        ToolStatus::Failed => (
            Glyph::CircleX,
            "w-3.5 h-3.5 text-failed",
            t!(locale, chat.tool_failed),
        ),
        ToolStatus::Stopped => (
            Glyph::CircleStop,
            "w-3.5 h-3.5",
            t!(locale, chat.tool_stopped),
        ),
    };
    view! {
        <span role="img" class="inline-flex" aria-label=label>
            <Icon glyph class=icon_class/>
        </span>
    }
}

const fn kind_glyph(kind: MessageType) -> Glyph {
    match kind {
        MessageType::ToolEdit => Glyph::FilePen,
        MessageType::ToolRead => Glyph::FileText,
        MessageType::ToolExecute | MessageType::ScriptExecution => Glyph::Terminal,
        MessageType::Message
        | MessageType::Content
        | MessageType::ToolCall
        | MessageType::Progress
        | MessageType::Log
        | MessageType::Error
        | MessageType::Status
        | MessageType::PermissionRequest
        | MessageType::ClarificationRequest
        | MessageType::Thinking
        | MessageType::AgentPlan
        | MessageType::Todo => Glyph::Wrench,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_folded_after_forty_lines_and_nothing_is_lost() {
        let lines = |n: usize| {
            (0..n)
                .map(|i| format!("line {i}"))
                .collect::<Vec<_>>()
                .join("\n")
        };
        assert_eq!(fold(&lines(40)), (lines(40).as_str(), None));
        assert_eq!(
            fold(&(lines(40) + "\n")).1,
            None,
            "a newline at the end is no line"
        );
        let long = lines(43);
        let (head, rest) = fold(&long);
        let (count, rest) = rest.unwrap();
        assert_eq!((head.lines().count(), count), (40, 3));
        assert_eq!(format!("{head}\n{rest}"), long);
        assert_eq!(fold(""), ("", None));
    }
}
