//! What the parts of a task's page share: the page as it was read last, and reading it again when something changed.
//!
//! One read at a time, and one more when something changed meanwhile; an older answer never replaces a newer one.

pub(super) mod outgoing;

use super::phase::LastSaid;
use crate::api::tasks::{task_page, task_related};
use crate::components::composer::{keep_draft, typed_early};
pub(super) use crate::components::states::explain;
use crate::components::toast::{Toasts, use_toasts};
use crate::error::AppError;
use crate::i18n::{Locale, use_locale};
use crate::live::{Topic, use_live};
use domain::error::ErrorCode;
use domain::ids::{SessionId, TaskId};
use domain::session::SessionState;
use domain::task::PendingAction;
use domain::view::{ClarificationView, RelatedTasks, SessionView, TaskPageView};
use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::hooks::use_query_map;
use leptos_router::params::ParamsMap;
use outgoing::Outgoing;
use std::time::Duration;

/// How long to wait after a read that failed.
const AGAIN: Duration = Duration::from_secs(3);

/// The page of one task.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    pub(super) id: TaskId,
    pub(super) view: RwSignal<TaskPageView>,
    pub(super) related: RwSignal<RelatedTasks>,
    /// The session whose transcript is shown.
    pub(super) shown: Memo<Option<SessionId>>,
    /// The task was deleted.
    pub(super) gone: RwSignal<bool>,
    pub(super) draft: RwSignal<String>,
    pub(super) outgoing: Outgoing,
    pub(super) show_logs: RwSignal<bool>,
    /// The title is a field at present.
    pub(super) renaming: RwSignal<bool>,
    /// What the shown session said last.
    pub(super) last_said: RwSignal<LastSaid>,
    /// A question that is history and is being answered by a message.
    pub(super) late_answer: RwSignal<Option<ClarificationView>>,
    pub(super) toasts: Toasts,
    pub(super) locale: Locale,
    reading: StoredValue<bool>,
    again: StoredValue<bool>,
}

/// The session that the address names, and the one that is shown.
type Choice = (Option<SessionId>, Option<SessionId>);

impl Room {
    /// Opens the page and, in the browser, keeps it current.
    pub(super) fn open(view: TaskPageView, related: RelatedTasks) -> Self {
        let id = view.task.id;
        let workspace = view.task.workspace_id;
        let view = RwSignal::new(view);
        let query = use_query_map();
        // What the address asked for, and what is shown.
        let choice = Memo::new(move |before: Option<&Choice>| {
            let wanted = query.with(wanted_session);
            // Whoever comes by the task's own address, from one of its sessions, wants what the task needs.
            let stays = before.is_some_and(|(asked, _)| *asked == wanted || wanted.is_some());
            let before = before.and_then(|(_, shown)| *shown).filter(|_| stays);
            let shown = view.with(|view| {
                let known = |id: &SessionId| view.sessions.iter().any(|s| s.id == *id);
                // A session that now needs somebody does not take the reader away from this one; its tab says so.
                wanted
                    .filter(known)
                    .or_else(|| before.filter(known))
                    .or_else(|| first_session(view, None))
            });
            (wanted, shown)
        });
        let shown = Memo::new(move |_| choice.get().1);
        let draft = RwSignal::new(typed_early());
        keep_draft(draft, Signal::stored(format!("draft:{id}")));
        let room = Self {
            id,
            view,
            related: RwSignal::new(related),
            shown,
            gone: RwSignal::new(false),
            draft,
            outgoing: Outgoing::new(),
            show_logs: RwSignal::new(false),
            renaming: RwSignal::new(false),
            last_said: RwSignal::new(LastSaid::default()),
            late_answer: RwSignal::new(None),
            toasts: use_toasts(),
            locale: use_locale(),
            reading: StoredValue::new(false),
            again: StoredValue::new(false),
        };
        let live = use_live();
        // The relatives live in the same workspace, and whether the parent can answer depends on the parent.
        Effect::new(move |before: Option<(u64, u64)>| {
            let now = (
                live.revision(Topic::Task(id)),
                live.revision(Topic::Tasks(workspace)),
            );
            if before.map_or(now != (0, 0), |before| before != now) {
                room.reread();
            }
            now
        });
        room
    }

    /// A part of the page, told to its readers only when it is different.
    pub(super) fn part<T>(self, get: impl Fn(&TaskPageView) -> T + Send + Sync + 'static) -> Memo<T>
    where
        T: PartialEq + Send + Sync + 'static,
    {
        Memo::new(move |_| self.view.with(&get))
    }

    /// The session that is shown.
    pub(super) fn session(self) -> Memo<Option<SessionView>> {
        Memo::new(move |_| {
            let shown = self.shown.get()?;
            self.view
                .with(|view| view.sessions.iter().find(|s| s.id == shown).cloned())
        })
    }

    /// Reads the page again.
    pub(super) fn reread(self) {
        if self.reading.try_get_value() != Some(false) {
            let _ = self.again.try_set_value(true);
            return;
        }
        self.reading.set_value(true);
        spawn_local(async move {
            let view = task_page(self.id).await;
            let related = task_related(self.id).await;
            // The page may have been left meanwhile; then every write below comes to nothing.
            match (view, related) {
                (Ok(view), Ok(related)) => self.take(view, related),
                (Err(error), _) | (_, Err(error)) if error.code() == ErrorCode::NotFound => {
                    let _ = self.gone.try_set(true);
                }
                (Err(_), _) | (_, Err(_)) => set_timeout(move || self.reread(), AGAIN),
            }
            let _ = self.reading.try_set_value(false);
            if self.again.try_update_value(std::mem::take) == Some(true) {
                self.reread();
            }
        });
    }

    fn take(self, view: TaskPageView, related: RelatedTasks) {
        let is_news = self
            .view
            .try_with_untracked(|known| view.as_of >= known.as_of && *known != view);
        if is_news == Some(true) {
            let _ = self.view.try_set(view);
        }
        if self
            .related
            .try_with_untracked(|known| *known != related)
            .unwrap_or(false)
        {
            let _ = self.related.try_set(related);
        }
    }

    /// Says why something could not be done.
    pub(super) fn failed(self, error: &AppError) {
        self.toasts.failed(explain(self.locale, error));
    }

    /// Does something on the server, says when it failed, and reads the page again.
    pub(super) fn act<T: 'static>(self, call: impl Future<Output = Result<T, AppError>> + 'static) {
        spawn_local(async move {
            if let Err(error) = call.await {
                self.failed(&error);
            }
            self.reread();
        });
    }
}

/// The session that the address names.
pub(super) fn wanted_session(query: &ParamsMap) -> Option<SessionId> {
    query.get("session").and_then(|id| id.parse().ok())
}

/// The session to begin with: the one wanted; the newest that needs what the task is marked with; the newest that needs anything;
/// the primary one; the newest.
pub(super) fn first_session(view: &TaskPageView, wanted: Option<SessionId>) -> Option<SessionId> {
    choose(&view.sessions, view.task.task_pending_action, wanted)
}

fn choose(
    sessions: &[SessionView],
    needed: Option<PendingAction>,
    wanted: Option<SessionId>,
) -> Option<SessionId> {
    let find = |test: &dyn Fn(&SessionView) -> bool| sessions.iter().find(|s| test(s));
    find(&|s| Some(s.id) == wanted)
        .or_else(|| find(&|s| needed.is_some() && s.pending_action == needed))
        .or_else(|| find(&|s| s.pending_action.is_some()))
        .or_else(|| find(&|s| s.is_primary))
        .or_else(|| sessions.first())
        .map(|session| session.id)
}

/// FAILED and CANCELLED sessions take no message until they are resumed. A COMPLETED one takes it and goes on.
pub(super) const fn must_resume(state: SessionState) -> bool {
    match state {
        SessionState::Failed | SessionState::Cancelled => true,
        SessionState::Created
        | SessionState::Starting
        | SessionState::Running
        | SessionState::Idle
        | SessionState::WaitingForInput
        | SessionState::Completed => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::ids::ProfileId;
    use domain::time::Timestamp;
    use domain::view::Revision;

    fn session(is_primary: bool, pending_action: Option<PendingAction>) -> SessionView {
        SessionView {
            id: SessionId::new(),
            task_id: TaskId::new(),
            name: None,
            state: SessionState::WaitingForInput,
            is_primary,
            is_passthrough: false,
            agent_profile_id: ProfileId::new(),
            agent_name: String::new(),
            executor_id: domain::executor::Executor::Local,
            executor_profile_id: None,
            workspace_path: None,
            error_message: None,
            pending_action,
            pending_action_revision: Revision {
                epoch: 0,
                sequence: 0,
            },
            auto_run: true,
            plan_mode: false,
            session_mode: None,
            queued_prompt_count: 0,
            turn_started_at: None,
            started_at: None,
            completed_at: None,
            created_at: Timestamp::from_millis(0),
            updated_at: Timestamp::from_millis(0),
        }
    }

    #[test]
    fn the_page_opens_where_somebody_is_needed() {
        let newest = session(false, None);
        let primary = session(true, None);
        let asks = session(false, Some(PendingAction::Clarification));
        let wants = session(false, Some(PendingAction::Permission));
        let all = [newest.clone(), primary.clone(), asks.clone(), wants.clone()];
        let first = |needed, wanted| choose(&all, needed, wanted);
        assert_eq!(first(Some(PendingAction::Permission), None), Some(wants.id));
        assert_eq!(
            first(Some(PendingAction::Clarification), None),
            Some(asks.id)
        );
        assert_eq!(first(None, None), Some(asks.id));
        assert_eq!(
            first(Some(PendingAction::Permission), Some(newest.id)),
            Some(newest.id)
        );
        assert_eq!(first(None, Some(SessionId::new())), Some(asks.id));
        assert_eq!(choose(&all[..2], None, None), Some(primary.id));
        assert_eq!(choose(&all[..1], None, None), Some(newest.id));
        assert_eq!(choose(&[], None, None), None);
    }
}
