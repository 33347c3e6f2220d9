//! The title of the task, changed where it stands.

use super::room::{Room, explain};
use crate::api::tasks::task_update;
use crate::components::button::IconButton;
use crate::components::dom_id::dom_id;
use crate::components::glyph::Glyph;
use crate::i18n::t;
use domain::params::UpdateTask;
use domain::task::MAX_TITLE;
use domain::view::TaskPageView;
use leptos::html::Input;
use leptos::prelude::*;
use leptos::task::spawn_local;

/// What is wrong with a title.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Empty,
    TooLong(usize),
}

fn fault(title: &str) -> Option<Fault> {
    let length = title.trim().chars().count();
    match length {
        0 => Some(Fault::Empty),
        _ if length > MAX_TITLE => Some(Fault::TooLong(length)),
        _ => None,
    }
}

/// The heading of the page. The pencil, or a double press on the words, turns it into a field: Enter saves, Escape leaves it as it
/// was, and so does leaving the field without a change.
#[component]
pub(super) fn TaskTitle(room: Room) -> impl IntoView {
    let locale = room.locale;
    let title = room.part(|view: &TaskPageView| view.task.title.clone());
    let editing = room.renaming;
    let text = RwSignal::new(title.get_untracked());
    let refusal = RwSignal::new(None::<String>);
    let field = NodeRef::<Input>::new();
    let begin = Callback::new(move |()| editing.set(true));
    Effect::new(move |before: Option<bool>| {
        let now = editing.get();
        // It begins with the title as it is, unless it comes back since the server refused what was typed.
        if before == Some(false) && now && refusal.with_untracked(Option::is_none) {
            text.set(title.get_untracked());
        }
        now
    });
    Effect::new(move |_| {
        if let Some(field) = field.get() {
            // Refused only by an element that has left the page.
            let _ = field.focus();
            field.select();
        }
    });
    let error = Memo::new(move |_| match text.with(|text| fault(text)) {
        Some(Fault::Empty) => Some(t!(locale, taskpage.title_empty).to_owned()),
        Some(Fault::TooLong(n)) => Some(t!(locale, taskpage.title_long, n = n, most = MAX_TITLE)),
        None => refusal.get(),
    });
    let save = move || {
        let wanted = text.with_untracked(|text| text.trim().to_owned());
        if fault(&wanted).is_some() {
            return;
        }
        editing.set(false);
        let before = title.get_untracked();
        if wanted == before {
            return;
        }
        let show = move |title: String| {
            let _ = room.view.try_update(|view| view.task.title = title);
        };
        show(wanted.clone());
        spawn_local(async move {
            let params = UpdateTask {
                title: Some(wanted),
                ..UpdateTask::default()
            };
            match task_update(room.id, params).await {
                Ok(_) => room.reread(),
                Err(error) => {
                    show(before);
                    let _ = refusal.try_set(Some(explain(room.locale, &error)));
                    // The words are still in the field.
                    let _ = editing.try_set(true);
                }
            }
        });
    };
    view! {
        <Show
            when=move || editing.get()
            fallback=move || {
                view! {
                    <h1
                        class="task-title"
                        data-testid="task-title"
                        on:dblclick=move |_| begin.run(())
                    >
                        {title}
                    </h1>
                    // On a phone the words need the room; there it is in the menu only.
                    <span class="flex max-sm:hidden">
                        <IconButton
                            glyph=Glyph::Pencil
                            label=t!(locale, taskpage.rename)
                            on_press=begin
                            test_id="task-rename"
                        />
                    </span>
                }
            }
        >
            {
                let error_id = dom_id();
                let described_by = error_id.clone();
                view! {
                    <form
                        class="flex-1 min-w-0 flex flex-col gap-1"
                        on:submit=move |event| {
                            event.prevent_default();
                            save();
                        }
                    >
                        <h1 class="sr-only">{title}</h1>
                        <input
                            node_ref=field
                            class="field"
                            autocomplete="off"
                            data-testid="task-title-input"
                            aria-label=t!(locale, taskpage.title)
                            aria-describedby=described_by
                            aria-invalid=move || error.with(Option::is_some).to_string()
                            prop:value=move || text.get()
                            on:input:target=move |event| {
                                refusal.set(None);
                                text.set(event.target().value());
                            }
                            on:keydown=move |event| {
                                if event.key() == "Escape" {
                                    event.prevent_default();
                                    refusal.set(None);
                                    editing.set(false);
                                }
                            }
                            on:blur=move |_| {
                                if editing.get_untracked() && text.get_untracked() == title.get_untracked() {
                                    editing.set(false);
                                }
                            }
                        />
                        <p id=error_id class="text-12 text-failed" role="alert">{error}</p>
                    </form>
                }
            }
        </Show>
    }
    .into_any()
}

#[test]
fn a_title_is_counted_in_code_points_and_without_its_edges() {
    assert_eq!(fault("  "), Some(Fault::Empty));
    assert_eq!(fault(&format!(" {} ", "🛫".repeat(MAX_TITLE))), None);
    assert_eq!(
        fault(&"🛫".repeat(MAX_TITLE + 1)),
        Some(Fault::TooLong(MAX_TITLE + 1))
    );
}
