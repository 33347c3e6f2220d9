//! Two texts of one plan: what was typed here, and what somebody else saved meanwhile. The operator chooses.

use super::editor::Editor;
use crate::components::button::{Button, Weight};
use crate::components::dialog::{Dialog, Frame};
use crate::components::diff::{Compared, Difference};
use crate::components::glyph::Glyph;
use crate::components::icon::Icon;
use crate::i18n::t;
use leptos::prelude::*;

/// What happened, the other text, and the choice.
#[component]
pub(super) fn Conflict(editor: Editor) -> impl IntoView {
    let locale = editor.room.locale;
    let comparing = RwSignal::new(false);
    let theirs = Memo::new(move |_| {
        editor
            .shown()
            .with(|shown| shown.as_ref().map(|shown| shown.plan.content.clone()))
    });
    let both = Signal::derive(move || Compared {
        old: theirs.get().unwrap_or_default(),
        new: editor.text.get(),
    });
    view! {
        <div class="plan-conflict" role="alert" data-testid="plan-conflict">
            <p class="flex items-start gap-2 font-medium">
                <Icon glyph=Glyph::CircleAlert class="w-4 h-4 mt-0.5 shrink-0 text-waiting"/>
                {move || {
                    if theirs.with(Option::is_some) {
                        t!(locale, plan.conflict)
                    } else {
                        t!(locale, plan.conflict_deleted)
                    }
                }}
            </p>
            <Show when=move || theirs.with(Option::is_some)>
                <details>
                    <summary class="text-13 text-muted py-1">{t!(locale, plan.their_text)}</summary>
                    <pre class="code-block" tabindex="0" data-testid="plan-their-text">
                        {move || theirs.get().unwrap_or_default()}
                    </pre>
                </details>
            </Show>
            <div class="flex flex-wrap gap-2">
                <Button
                    weight=Weight::Primary
                    on_press=Callback::new(move |()| editor.keep_mine())
                    test_id="plan-keep-mine"
                >
                    {t!(locale, plan.keep_mine)}
                </Button>
                <Button on_press=Callback::new(move |()| editor.take_theirs()) test_id="plan-take-theirs">
                    {t!(locale, plan.take_theirs)}
                </Button>
                <Button on_press=Callback::new(move |()| comparing.set(true)) test_id="plan-compare">
                    {t!(locale, plan.see_difference)}
                </Button>
            </div>
        </div>
        <Dialog open=comparing title=t!(locale, plan.difference_theirs_mine) frame=Frame::Wide test_id="plan-conflict-dialog">
            <div class="p-4 overflow-y-auto">
                <Difference compared=both old_name=t!(locale, plan.theirs) new_name=t!(locale, plan.mine)/>
            </div>
        </Dialog>
    }
    .into_any()
}
