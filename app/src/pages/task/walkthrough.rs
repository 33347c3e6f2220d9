//! A walkthrough, one step at a time.

use super::findings::place;
use super::plan::Editor;
use crate::api::papers::ShownWalkthrough;
use crate::components::button::Button;
use crate::components::glyph::Glyph;
use crate::components::states::EmptyState;
use crate::i18n::t;
use leptos::prelude::*;

/// The walkthrough. Another one begins at its first step.
#[component]
pub(super) fn WalkthroughPanel(editor: Editor) -> impl IntoView {
    let locale = editor.room.locale;
    let shown = Memo::new(move |_| editor.papers.with(|papers| papers.walkthrough.clone()));
    view! {
        <section class="flex flex-col gap-3" data-testid="walkthrough-panel" aria-label=t!(locale, paper.walkthrough)>
            {move || match shown.get() {
                Some(shown) => view! { <Steps editor shown/> }.into_any(),
                None => view! { <EmptyState text=t!(locale, paper.no_walkthrough)/> }.into_any(),
            }}
        </section>
    }
    .into_any()
}

#[component]
fn Steps(editor: Editor, shown: ShownWalkthrough) -> impl IntoView {
    let locale = editor.room.locale;
    let at = RwSignal::new(0_usize);
    let all = shown.steps.len();
    let steps = StoredValue::new(shown.steps);
    let step =
        move || {
            steps.with_value(|steps| steps.get(at.get()).cloned()).map(|shown| {
            let end = shown.step.line_end.unwrap_or(shown.step.line);
            let repo = shown.step.repo.clone().unwrap_or_default();
            view! {
                <div data-testid="walkthrough-step">
                    {shown.step.title.map(|title| view! { <p class="font-medium">{title}</p> })}
                    <p class="text-12 text-muted">
                        <code>{place(&repo, &shown.step.file, shown.step.line, end)}</code>
                    </p>
                    <div class="prose text-13" inner_html=shown.html></div>
                </div>
            }
        })
        };
    let first = Signal::derive(move || at.get() == 0);
    let last = Signal::derive(move || at.get() + 1 >= all);
    view! {
        <h3 class="font-medium">{shown.title}</h3>
        <div class="flex flex-wrap items-center gap-2">
            <Button
                glyph=Glyph::ChevronLeft
                disabled=first
                on_press=Callback::new(move |()| at.update(|at| *at = at.saturating_sub(1)))
                test_id="walkthrough-back"
            >
                {t!(locale, paper.back)}
            </Button>
            <span class="flex-1 text-13 text-muted tabular-nums" role="status">
                {move || t!(locale, paper.step, n = at.get() + 1, all = all)}
            </span>
            <Button
                glyph=Glyph::ChevronRight
                disabled=last
                on_press=Callback::new(move |()| at.update(|at| *at = (*at + 1).min(all - 1)))
                test_id="walkthrough-next"
            >
                {t!(locale, paper.next)}
            </Button>
        </div>
        {step}
    }
    .into_any()
}
