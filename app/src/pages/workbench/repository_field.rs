//! The field of the dialog for a new task that says which repository it is about. It is not there when the workspace has none.

use super::state::use_workbench;
use crate::api::repositories::repository_list;
use crate::components::button::Button;
use crate::components::dom_id::dom_id;
use crate::components::glyph::Glyph;
use crate::components::states::what_happened;
use crate::i18n::{Locale, t, use_locale};
use domain::ids::RepositoryId;
use domain::repository::Repository;
use leptos::prelude::*;

/// "Repository": none to begin with.
#[component]
pub fn RepositoryField(
    /// The one chosen.
    chosen: RwSignal<Option<RepositoryId>>,
) -> impl IntoView {
    let locale = use_locale();
    let workbench = use_workbench();
    // Made when a dialog opens, so never on the server.
    let workspace = workbench.workspace.with_untracked(|one| one.id);
    let known = LocalResource::new(move || repository_list(workspace));
    view! {
        // Its own, so that nothing around the dialog waits for the list; and nothing in its place meanwhile, since most often there is
        // nothing.
        <Suspense fallback=|| ()>
            {move || match known.get() {
                None => ().into_any(),
                Some(Err(error)) => {
                    view! {
                        <div class="flex items-center gap-2">
                            <span class="flex-1 text-12 text-failed">{what_happened(locale, error.code())}</span>
                            <Button glyph=Glyph::RotateCcw on_press=Callback::new(move |()| known.refetch())>
                                {t!(locale, common.retry)}
                            </Button>
                        </div>
                    }
                    .into_any()
                }
                Some(Ok(known)) if known.is_empty() => ().into_any(),
                Some(Ok(known)) => select(locale, known, chosen),
            }}
        </Suspense>
    }
    .into_any()
}

fn select(
    locale: Locale,
    known: Vec<Repository>,
    chosen: RwSignal<Option<RepositoryId>>,
) -> AnyView {
    let help = dom_id();
    let options = known
        .iter()
        .map(|one| {
            let is_chosen = chosen.get_untracked() == Some(one.id);
            view! { <option value=one.id.to_string() selected=is_chosen>{one.name.clone()}</option> }
        })
        .collect_view();
    let folder = move || {
        let chosen = chosen.get()?;
        let one = known.iter().find(|one| one.id == chosen)?;
        Some(match one.local_path.clone() {
            Some(path) => t!(locale, repository.field_folder, path = path),
            None => t!(locale, repository.field_no_folder).to_owned(),
        })
    };
    view! {
        <div class="flex flex-col gap-1">
            <label class="flex flex-col gap-1 text-13 font-medium">
                {t!(locale, repository.field)}
                <select
                    class="field font-normal"
                    data-testid="task-repository-select"
                    aria-describedby=help.clone()
                    on:change=move |event| chosen.set(event_target_value(&event).parse().ok())
                >
                    <option value="">{t!(locale, repository.none)}</option>
                    {options}
                </select>
            </label>
            <p id=help class="text-12 text-muted break-words">{folder}</p>
        </div>
    }
    .into_any()
}
