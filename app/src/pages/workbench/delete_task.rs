//! The question whether to delete a task: the one thing here that cannot be undone.

use super::state::use_workbench;
use crate::components::button::{Button, Weight};
use crate::components::dialog::Dialog;
use crate::components::glyph::Glyph;
use crate::i18n::{t, use_locale};
use crate::paths;
use leptos::prelude::*;
use leptos_router::hooks::{use_location, use_navigate};

/// The dialog; [`super::Workbench::ask_to_delete`] opens it.
#[component]
pub fn DeleteTask() -> impl IntoView {
    let locale = use_locale();
    let workbench = use_workbench();
    let (open, of) = workbench.deletion;
    let title = Memo::new(move |_| of.get().map(|id| workbench.title(id)).unwrap_or_default());
    let navigate = use_navigate();
    let location = use_location();
    let delete = Callback::new(move |()| {
        open.set(false);
        let Some(id) = of.get_untracked() else { return };
        // Its own page would have nothing to show.
        if location
            .pathname
            .with_untracked(|path| paths::task_of(path))
            == Some(id)
        {
            navigate(&untrack(|| workbench.home()), Default::default());
        }
        workbench.delete(id);
    });
    view! {
        <Dialog open title=t!(locale, board.delete_heading) test_id="delete-task-dialog">
            <p class="p-4">{move || t!(locale, board.delete_text, title = title.get())}</p>
            <footer class="dialog-foot">
                <Button on_press=Callback::new(move |()| open.set(false))>{t!(locale, board.cancel)}</Button>
                <Button weight=Weight::Danger glyph=Glyph::Trash2 on_press=delete test_id="confirm-delete">
                    {t!(locale, board.delete)}
                </Button>
            </footer>
        </Dialog>
    }
}
