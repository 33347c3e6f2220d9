//! What reviews found: open findings first, each with its place, and the operator's word that it is dealt with.

use super::plan::Editor;
use crate::api::papers::{ShownFinding, finding_set_status};
use crate::components::button::{Button, Weight};
use crate::components::glyph::Glyph;
use crate::components::icon::Icon;
use crate::components::states::EmptyState;
use crate::i18n::{Locale, t};
use domain::review::{Finding, FindingStatus, Severity};
use leptos::prelude::*;
use leptos::task::spawn_local;

/// The findings.
#[component]
pub(super) fn FindingsPanel(editor: Editor) -> impl IntoView {
    let locale = editor.room.locale;
    let sorted = Memo::new(move |_| {
        let mut findings = editor.papers.with(|papers| papers.findings.clone());
        findings.sort_by_key(|shown| (shown.finding.status, shown.finding.severity));
        findings
    });
    view! {
        <section class="flex flex-col gap-3" data-testid="review-panel" aria-label=t!(locale, paper.review)>
            <Show
                when=move || sorted.with(|findings| !findings.is_empty())
                fallback=move || view! { <EmptyState text=t!(locale, paper.no_findings)/> }
            >
                <ul class="flex flex-col gap-3">
                    <For
                        each=move || sorted.get()
                        key=|shown| (shown.finding.id, shown.finding.updated_at)
                        children=move |shown| row(editor, shown)
                    />
                </ul>
            </Show>
        </section>
    }
    .into_any()
}

fn severity(locale: Locale, severity: Severity) -> (&'static str, Glyph, &'static str) {
    match severity {
        Severity::Blocker => (
            t!(locale, paper.blocker),
            Glyph::Ban,
            "w-4 h-4 shrink-0 text-failed",
        ),
        Severity::Major => (
            t!(locale, paper.major),
            Glyph::CircleAlert,
            "w-4 h-4 shrink-0 text-waiting",
        ),
        Severity::Minor => (
            t!(locale, paper.minor),
            Glyph::Info,
            "w-4 h-4 shrink-0 text-muted",
        ),
        Severity::Nit => (
            t!(locale, paper.nit),
            Glyph::CircleDashed,
            "w-4 h-4 shrink-0 text-muted",
        ),
    }
}

/// A line in which agents set code between backticks.
fn inline_code(line: &str) -> AnyView {
    let pieces: Vec<&str> = line.split('`').collect();
    // One that is left over is itself.
    if pieces.len().is_multiple_of(2) {
        return view! { {line.to_owned()} }.into_any();
    }
    pieces
        .into_iter()
        .enumerate()
        .map(|(at, piece)| {
            let piece = piece.to_owned();
            if at % 2 == 1 {
                view! { <code>{piece}</code> }.into_any()
            } else {
                view! { {piece} }.into_any()
            }
        })
        .collect_view()
        .into_any()
}

/// A place as people write it.
pub(super) fn place(repo: &str, file: &str, line: i64, line_end: i64) -> String {
    let lines = if line_end > line {
        format!("{line}-{line_end}")
    } else {
        line.to_string()
    };
    if repo.is_empty() {
        format!("{file}:{lines}")
    } else {
        format!("{repo}/{file}:{lines}")
    }
}

fn row(editor: Editor, shown: ShownFinding) -> impl IntoView {
    let locale = editor.room.locale;
    let ShownFinding { finding, html } = shown;
    let Finding {
        id, status, title, ..
    } = finding.clone();
    let (word, glyph, class) = severity(locale, finding.severity);
    let busy = RwSignal::new(false);
    let (label, next) = match status {
        FindingStatus::Open => (t!(locale, paper.resolve), FindingStatus::Resolved),
        FindingStatus::Resolved => (t!(locale, paper.reopen), FindingStatus::Open),
    };
    let set = Callback::new(move |()| {
        busy.set(true);
        spawn_local(async move {
            if let Err(error) = finding_set_status(id, next).await {
                editor.room.failed(&error);
            }
            let _ = busy.try_set(false);
            editor.reread();
        });
    });
    let resolved = status == FindingStatus::Resolved;
    let suggestion = finding.suggestion.clone().map(|suggestion| {
        view! {
            <p class="text-12 text-muted">{t!(locale, paper.suggestion)}</p>
            <pre class="code-block" tabindex="0">{suggestion}</pre>
        }
    });
    let head = view! {
        <p class="flex items-start gap-2">
            <Icon glyph class=class/>
            <span class="sr-only">{word}</span>
            <span class="flex-1 min-w-0 font-medium break-words">{inline_code(&title)}</span>
            {resolved.then(|| view! { <span class="text-12 text-done">{t!(locale, paper.resolved)}</span> })}
        </p>
        <p class="text-12 text-muted">
            <code>{place(&finding.repo, &finding.file, finding.line, finding.line_end)}</code>
            " · " {word} " · " {finding.category.clone()}
        </p>
    };
    view! {
        <li class="paper-row" data-testid="review-finding-row">
            {head}
            <div class="prose text-13" inner_html=html></div>
            {suggestion}
            <div>
                <Button
                    weight=Weight::Plain
                    glyph=if resolved { Glyph::RotateCcw } else { Glyph::Check }
                    busy
                    on_press=set
                    test_id="review-finding-status"
                >
                    {label}
                    <span class="sr-only">{finding.title.replace('`', "")}</span>
                </Button>
            </div>
        </li>
    }
}

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn places_read_as_people_write_them() {
        assert_eq!(place("", "a.rs", 3, 3), "a.rs:3");
        assert_eq!(place("core", "src/a.rs", 3, 9), "core/src/a.rs:3-9");
    }
}
