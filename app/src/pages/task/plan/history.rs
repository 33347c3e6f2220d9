//! What the plan was: its revisions, what each of them changes, and bringing one back.

use super::editor::{Editor, Mode};
use crate::api::papers::{plan_history, plan_restore, plan_revision};
use crate::components::button::{Button, Weight};
use crate::components::dialog::{Dialog, Frame};
use crate::components::diff::{Compared, Difference};
use crate::components::glyph::Glyph;
use crate::components::moment::{LocalTime, RelativeTime};
use crate::components::states::{EmptyState, ErrorState, Skeleton};
use crate::error::AppError;
use crate::i18n::{Locale, t};
use domain::ids::PlanRevisionId;
use domain::plan::{PlanAuthorKind, PlanRevisionEntry, RestorePlan};
use leptos::prelude::*;
use leptos::task::spawn_local;

/// The revisions that were read so far.
#[derive(Debug, Clone, Copy)]
struct List {
    editor: Editor,
    entries: RwSignal<Vec<PlanRevisionEntry>>,
    /// Where the older ones begin.
    next: RwSignal<Option<i64>>,
    loaded: RwSignal<bool>,
    busy: RwSignal<bool>,
    failure: RwSignal<Option<AppError>>,
    compared: RwSignal<Option<(PlanRevisionEntry, String)>>,
    comparing: RwSignal<bool>,
    restoring: RwSignal<Option<PlanRevisionEntry>>,
    asking: RwSignal<bool>,
}

impl List {
    /// Reads the newest ones again, or those before the last one known.
    fn read(self, cursor: Option<i64>) {
        if self.busy.try_get_untracked() != Some(false) {
            return;
        }
        self.busy.set(true);
        spawn_local(async move {
            match plan_history(self.editor.room.id, cursor).await {
                Ok(page) => {
                    let _ = self.entries.try_update(|entries| {
                        if cursor.is_none() {
                            entries.clear();
                        }
                        entries.extend(page.revisions);
                    });
                    let _ = self.next.try_set(page.next_cursor);
                    let _ = self.loaded.try_set(true);
                    let _ = self.failure.try_set(None);
                }
                Err(error) => {
                    let _ = self.failure.try_set(Some(error));
                }
            }
            let _ = self.busy.try_set(false);
        });
    }

    /// Reads the text of a revision and shows what has changed since.
    fn compare(self, revision: PlanRevisionId) {
        spawn_local(async move {
            match plan_revision(self.editor.room.id, revision).await {
                Ok(revision) => {
                    let _ = self
                        .compared
                        .try_set(Some((revision.entry, revision.content)));
                    let _ = self.comparing.try_set(true);
                }
                Err(error) => self.editor.room.failed(&error),
            }
        });
    }

    fn restore(self) {
        self.asking.set(false);
        let Some(entry) = self.restoring.get_untracked() else {
            return;
        };
        let editor = self.editor;
        let params = RestorePlan {
            revision_id: entry.id,
            expected_version: editor
                .base
                .with_untracked(|base| base.as_ref().map(|plan| plan.version.to_string())),
            expected_revision_version: Some(entry.revision_version.to_string()),
        };
        spawn_local(async move {
            match plan_restore(editor.room.id, params).await {
                Ok(_) => {
                    let locale = editor.room.locale;
                    editor
                        .room
                        .toasts
                        .done(t!(locale, plan.restored, n = entry.revision_number));
                    let _ = editor.mode.try_set(Mode::Read);
                }
                Err(error) => editor.room.failed(&error),
            }
            editor.reread();
        });
    }
}

/// The history.
#[component]
pub(super) fn History(editor: Editor) -> impl IntoView {
    let locale = editor.room.locale;
    let list = List {
        editor,
        entries: RwSignal::new(Vec::new()),
        next: RwSignal::new(None),
        loaded: RwSignal::new(false),
        busy: RwSignal::new(false),
        failure: RwSignal::new(None),
        compared: RwSignal::new(None),
        comparing: RwSignal::new(false),
        restoring: RwSignal::new(None),
        asking: RwSignal::new(false),
    };
    let version = Memo::new(move |_| {
        editor
            .shown()
            .with(|shown| shown.as_ref().map(|shown| shown.plan.version))
    });
    // At the beginning, and when the plan was written meanwhile.
    Effect::new(move |_| {
        version.track();
        list.read(None);
    });
    view! {
        <Show
            when=move || list.loaded.get()
            fallback=move || match list.failure.get() {
                Some(error) => {
                    view! { <ErrorState error on_retry=Callback::new(move |()| list.read(None))/> }.into_any()
                }
                None => view! { <Skeleton lines=4/> }.into_any(),
            }
        >
            <Show
                when=move || list.entries.with(|entries| !entries.is_empty())
                fallback=move || view! { <EmptyState text=t!(locale, plan.no_history)/> }
            >
                <ol class="flex flex-col">
                    <For
                        each=move || list.entries.get()
                        key=|entry| (entry.id, entry.revision_version)
                        children=move |entry| row(list, &entry)
                    />
                </ol>
                <Show when=move || list.next.with(Option::is_some)>
                    <Button
                        weight=Weight::Quiet
                        busy=list.busy
                        on_press=Callback::new(move |()| list.read(list.next.get_untracked()))
                        test_id="plan-older"
                    >
                        {t!(locale, plan.older)}
                    </Button>
                </Show>
            </Show>
        </Show>
        <CompareDialog list/>
        <RestoreDialog list/>
    }
    .into_any()
}

fn author(locale: Locale, entry: &PlanRevisionEntry) -> String {
    match entry.author_kind {
        PlanAuthorKind::User => t!(locale, plan.by_you).to_owned(),
        PlanAuthorKind::Agent if entry.author_name.is_empty() => {
            t!(locale, plan.by_agent).to_owned()
        }
        PlanAuthorKind::Agent => entry.author_name.clone(),
    }
}

fn row(list: List, entry: &PlanRevisionEntry) -> impl IntoView + use<> {
    let locale = list.editor.room.locale;
    let who = author(locale, entry);
    let brought_back = entry
        .revert_of_revision_id
        .is_some()
        .then(|| view! { <span class="text-12 text-muted">{t!(locale, plan.is_restore)}</span> });
    let (id, updated_at) = (entry.id, entry.updated_at);
    let for_restore = entry.clone();
    let number = entry.revision_number;
    view! {
        <li class="plan-row" data-testid="plan-revision-row">
            <span class="flex flex-wrap items-baseline gap-x-2 min-w-0 flex-1">
                <span class="font-medium tabular-nums">{t!(locale, plan.number, n = number)}</span>
                <span class="truncate">{who}</span>
                {brought_back}
                <span class="text-12 text-muted">
                    <RelativeTime at=updated_at/> " · " <LocalTime at=updated_at/>
                </span>
            </span>
            <span class="flex gap-1">
                <Button
                    weight=Weight::Quiet
                    on_press=Callback::new(move |()| list.compare(id))
                    test_id="plan-revision-compare-button"
                >
                    {t!(locale, plan.compare)}
                    <span class="sr-only">{t!(locale, plan.of_number, n = number)}</span>
                </Button>
                <Button
                    weight=Weight::Quiet
                    glyph=Glyph::RotateCcw
                    on_press=Callback::new(move |()| {
                        list.restoring.set(Some(for_restore.clone()));
                        list.asking.set(true);
                    })
                    test_id="plan-revision-revert-button"
                >
                    {t!(locale, plan.restore)}
                    <span class="sr-only">{t!(locale, plan.of_number, n = number)}</span>
                </Button>
            </span>
        </li>
    }
}

#[component]
fn CompareDialog(list: List) -> impl IntoView {
    let locale = list.editor.room.locale;
    let title = move || {
        let number = list.compared.with(|compared| {
            compared
                .as_ref()
                .map_or(0, |(entry, _)| entry.revision_number)
        });
        t!(locale, plan.compare_heading, n = number)
    };
    let both = Signal::derive(move || Compared {
        old: list
            .compared
            .with(|compared| compared.as_ref().map(|(_, text)| text.clone()))
            .unwrap_or_default(),
        new: list.editor.text.get(),
    });
    view! {
        <Dialog open=list.comparing title frame=Frame::Wide test_id="plan-revision-diff-dialog">
            <div class="p-4 overflow-y-auto">
                <Difference compared=both old_name=t!(locale, plan.then) new_name=t!(locale, plan.now)/>
            </div>
        </Dialog>
    }
}

#[component]
fn RestoreDialog(list: List) -> impl IntoView {
    let locale = list.editor.room.locale;
    let title = move || {
        let number = list
            .restoring
            .with(|entry| entry.as_ref().map_or(0, |entry| entry.revision_number));
        t!(locale, plan.restore_heading, n = number)
    };
    let unsaved = Memo::new(move |_| {
        list.editor.saving.track();
        list.editor.is_unsaved()
    });
    view! {
        <Dialog open=list.asking title test_id="plan-restore-dialog">
            <div class="flex flex-col gap-2 p-4">
                <p>{t!(locale, plan.restore_text)}</p>
                <Show when=move || unsaved.get()>
                    <p class="text-13 text-waiting">{t!(locale, plan.restore_unsaved)}</p>
                </Show>
            </div>
            <footer class="dialog-foot">
                <Button on_press=Callback::new(move |()| list.asking.set(false))>{t!(locale, board.cancel)}</Button>
                <Button
                    weight=Weight::Primary
                    glyph=Glyph::RotateCcw
                    disabled=unsaved
                    on_press=Callback::new(move |()| list.restore())
                    test_id="plan-restore-confirm"
                >
                    {t!(locale, plan.restore)}
                </Button>
            </footer>
        </Dialog>
    }
}
