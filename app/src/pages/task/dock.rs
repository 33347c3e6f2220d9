//! Under the transcript: what is asked of the operator, the status row, and the composer or whatever stands in its place.

use super::flow::{DependencyChip, FlowNotes};
use super::phase::Activity;
use super::queue::{HeldNote, QueueChip, QueuePanel};
use super::room::outgoing::say;
use super::room::{Room, explain, must_resume};
use super::sessions::SessionMenu;
use super::side::{Paper, Side};
use crate::api::questions::clarification_say;
use crate::api::sessions::{session_cancel, session_resume};
use crate::components::button::{Button, IconButton, Weight};
use crate::components::chip::{AutopilotChip, Chip, Tone};
use crate::components::composer::Composer;
use crate::components::glyph::Glyph;
use crate::components::icon::Icon;
use crate::components::parent_wait::ParentWait;
use crate::components::question_card::QuestionCard;
use crate::components::request_mark::{RequestMark, Requests};
use crate::i18n::t;
use crate::pages::asks::{AnswerPermission, AnswerQuestions, Settled};
use crate::pages::workbench::use_workbench;
use crate::prefs::use_preferences;
use crate::viewport::Viewport;
use domain::clarification::ClarificationAnswer;
use domain::session::SessionState;
use domain::view::{ClarificationView, PermissionView, SessionView, TaskPageView};
use leptos::prelude::*;
use leptos::task::spawn_local;

/// All that stands under the transcript.
#[component]
pub(super) fn Dock(
    room: Room,
    /// What stands beside the conversation.
    side: Side,
) -> impl IntoView {
    let session = room.session();
    let queue_open = RwSignal::new(false);
    view! {
        <div class="dock">
            <Asks room/>
            <QueuePanel room session open=queue_open/>
            <FlowNotes room/>
            <StatusRow room side session queue_open/>
            <ComposerPlace room session/>
        </div>
    }
    .into_any()
}

/// What is asked: of the parent, for the operator to see; of the operator, to be answered.
#[component]
fn Asks(room: Room) -> impl IntoView {
    let locale = room.locale;
    let question = room.part(|view: &TaskPageView| view.parent_question.clone());
    let bundles = room.part(|view| view.clarifications.clone());
    let permissions = room.part(|view| view.permissions.clone());
    // What somebody else was faster with. It stays until it is put away: the card it is about is gone.
    let late = RwSignal::new(None::<String>);
    let is_empty = Memo::new(move |_| {
        question.with(Option::is_none)
            && bundles.with(Vec::is_empty)
            && permissions.with(Vec::is_empty)
            && late.with(Option::is_none)
            && room.late_answer.with(Option::is_none)
    });
    view! {
        <div
            class="dock-asks"
            tabindex=move || if is_empty.get() { "-1" } else { "0" }
            role="group"
            aria-label=t!(locale, taskpage.asks)
            hidden=move || is_empty.get()
        >
            {move || {
                late.get()
                    .map(|text| {
                        view! {
                            <div class="wait-card" role="status" data-testid="answered-elsewhere">
                                <div class="flex items-start gap-2">
                                    <Icon glyph=Glyph::Info class="w-4 h-4 mt-0.5 shrink-0 text-muted"/>
                                    <p class="flex-1 min-w-0 whitespace-pre-line">{text}</p>
                                    <IconButton
                                        glyph=Glyph::X
                                        label=t!(locale, common.dismiss)
                                        on_press=Callback::new(move |()| late.set(None))
                                    />
                                </div>
                            </div>
                        }
                    })
            }}
            {move || room.late_answer.get().map(|bundle| late_view(room, bundle))}
            {move || question.get().map(|question| view! { <ParentWait question/> })}
            <For
                each=move || permissions.get()
                key=|permission| permission.id
                children=move |permission| permission_view(room, permission, late)
            />
            <For
                each=move || bundles.get()
                key=|bundle| bundle.pending_id
                children=move |bundle| bundle_view(room, bundles, bundle, late)
            />
        </div>
    }
}

fn bundle_view(
    room: Room,
    bundles: Memo<Vec<ClarificationView>>,
    bundle: ClarificationView,
    late: RwSignal<Option<String>>,
) -> impl IntoView {
    let id = bundle.pending_id;
    let now = Signal::derive(move || {
        bundles.with(|bundles| bundles.iter().find(|b| b.pending_id == id).cloned())
    });
    let on_settled = Callback::new(move |settled: Settled| {
        if settled.is_some() {
            let _ = late.try_set(settled);
        }
        let _ = room
            .view
            .try_update(|view| view.clarifications.retain(|bundle| bundle.pending_id != id));
        room.reread();
    });
    view! { <AnswerQuestions bundle now on_settled/> }
}

fn permission_view(
    room: Room,
    permission: PermissionView,
    late: RwSignal<Option<String>>,
) -> impl IntoView {
    let id = permission.id;
    let on_settled = Callback::new(move |settled: Settled| {
        if settled.is_some() {
            let _ = late.try_set(settled);
        }
        let _ = room
            .view
            .try_update(|view| view.permissions.retain(|permission| permission.id != id));
        room.reread();
    });
    view! { <AnswerPermission permission on_settled/> }
}

/// A question that is history, answered by an ordinary message. Skipping it puts it away.
fn late_view(room: Room, bundle: ClarificationView) -> impl IntoView {
    let id = bundle.pending_id;
    let busy = RwSignal::new(false);
    let failure = RwSignal::new(None);
    let say = Callback::new(move |answer: ClarificationAnswer| {
        if answer.rejected {
            room.late_answer.set(None);
            return;
        }
        if busy.get_untracked() {
            return;
        }
        busy.set(true);
        failure.set(None);
        spawn_local(async move {
            let said = clarification_say(id, answer).await;
            let _ = busy.try_set(false);
            match said {
                Ok(_) => {
                    let _ = room.late_answer.try_set(None);
                }
                Err(error) => {
                    let _ = failure.try_set(Some(explain(room.locale, &error)));
                }
            }
            room.reread();
        });
    });
    view! { <QuestionCard bundle busy failure on_answer=say/> }
}

/// Facts about the task at present. Belongs to the task: it is there without a session too.
#[component]
fn StatusRow(
    room: Room,
    side: Side,
    session: Memo<Option<SessionView>>,
    queue_open: RwSignal<bool>,
) -> impl IntoView {
    let locale = room.locale;
    let autopilot = room.part(|view: &TaskPageView| view.task.autopilot);
    view! {
        <div class="status-row" data-testid="chat-status-bar">
            <Show when=move || autopilot.get()>
                <AutopilotChip/>
            </Show>
            <DependencyChip room/>
            <RequestsChip room side/>
            <QueueChip room open=queue_open/>
            <HeldNote room session/>
            <Activity session last=room.last_said locale/>
            <span class="flex-1"></span>
            <SessionMenu room session/>
        </div>
    }
}

/// The requests that the task cares for; a press shows what is done about them.
#[component]
fn RequestsChip(room: Room, side: Side) -> impl IntoView {
    let locale = room.locale;
    let prefs = use_preferences();
    let viewport: Viewport = expect_context();
    let requests = room.part(|view: &TaskPageView| Requests::of(&view.task.prs));
    let show = Callback::new(move |()| side.show(Paper::Repositories, viewport, prefs));
    move || {
        requests.get().map(|requests| {
            let words = requests.words(locale);
            let sentence = t!(locale, repository.chip, what = words.clone());
            let tone = match requests.mark {
                RequestMark::Failing | RequestMark::Conflict => Tone::Failed,
                RequestMark::Pending
                | RequestMark::Ready
                | RequestMark::Open
                | RequestMark::Unseen
                | RequestMark::Merged
                | RequestMark::Closed => Tone::Plain,
            };
            let glyph = requests.mark.glyph();
            view! { <Chip tone glyph text=words sentence on_press=show test_id="requests-chip"/> }
        })
    }
}

/// What stands at the bottom of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Write to the agent.
    Composer,
    /// The session has ended and must be resumed first.
    Resume { failed: bool },
    /// The task is archived.
    Archived,
}

fn place(archived: bool, session: Option<SessionState>) -> Place {
    match session {
        _ if archived => Place::Archived,
        Some(state) if must_resume(state) => Place::Resume {
            failed: state == SessionState::Failed,
        },
        Some(_) | None => Place::Composer,
    }
}

/// The composer, or why nothing can be written and what to do about it. The draft is kept meanwhile.
#[component]
fn ComposerPlace(room: Room, session: Memo<Option<SessionView>>) -> impl IntoView {
    let archived = room.part(|view: &TaskPageView| view.task.archived_at.is_some());
    let place = Memo::new(move |_| {
        let state = session.with(|session| session.as_ref().map(|session| session.state));
        place(archived.get(), state)
    });
    move || match place.get() {
        Place::Composer => view! { <Write room session/> }.into_any(),
        Place::Resume { failed } => view! { <Resume room session failed/> }.into_any(),
        Place::Archived => view! { <Archived room/> }.into_any(),
    }
}

#[component]
fn Write(room: Room, session: Memo<Option<SessionView>>) -> impl IntoView {
    let locale = room.locale;
    let running = Memo::new(move |_| {
        session.with(|session| {
            let session = session.as_ref();
            session.is_some_and(|s| s.turn_started_at.is_some() || s.state.is_busy())
        })
    });
    let description = room.part(|view: &TaskPageView| view.task.description.clone());
    let can_start = Memo::new(move |_| {
        session.with(Option::is_none)
            && description.with(|text| !text.trim().is_empty())
            && room.outgoing.list.with(Vec::is_empty)
    });
    let send = Callback::new(move |text: String| {
        room.draft.set(String::new());
        say(room, text);
    });
    let cancel = Callback::new(move |()| {
        if let Some(session) = room.shown.get_untracked() {
            room.act(session_cancel(session));
        }
    });
    view! {
        <Show when=move || can_start.get()>
            <div class="flex items-center gap-2">
                <p class="flex-1 text-13 text-muted">{t!(locale, taskpage.start_help)}</p>
                <Button
                    weight=Weight::Primary
                    glyph=Glyph::Play
                    on_press=Callback::new(move |()| say(room, description.get_untracked()))
                    test_id="task-start"
                >
                    {t!(locale, taskpage.start)}
                </Button>
            </div>
        </Show>
        <Composer
            draft=room.draft
            running
            failure=room.outgoing.failure
            on_send=send
            on_cancel=cancel
        />
    }
    .into_any()
}

#[component]
fn Resume(room: Room, session: Memo<Option<SessionView>>, failed: bool) -> impl IntoView {
    let locale = room.locale;
    let busy = RwSignal::new(false);
    let reason =
        Memo::new(move |_| session.with(|s| s.as_ref().and_then(|s| s.error_message.clone())));
    let resume = Callback::new(move |()| {
        let Some(session) = room.shown.get_untracked() else {
            return;
        };
        busy.set(true);
        room.act(async move {
            let resumed = session_resume(session).await;
            let _ = busy.try_set(false);
            resumed
        });
    });
    let (glyph, icon_class, heading) = if failed {
        (
            Glyph::CircleAlert,
            "w-4 h-4 mt-0.5 shrink-0 text-failed",
            t!(locale, taskpage.session_failed),
        )
    } else {
        (
            Glyph::Ban,
            "w-4 h-4 mt-0.5 shrink-0 text-muted",
            t!(locale, taskpage.session_stopped),
        )
    };
    view! {
        <div class="end-card" role="group" aria-label=heading data-testid="session-ended">
            <Icon glyph class=icon_class/>
            <div class="flex-1 min-w-0 flex flex-col gap-1">
                <p class="font-medium">{heading}</p>
                {move || reason.get().map(|reason| view! { <p class="end-reason">{reason}</p> })}
                <p class="text-13 text-muted">{t!(locale, taskpage.resume_help)}</p>
            </div>
            <Button weight=Weight::Primary glyph=Glyph::Play busy on_press=resume test_id="session-resume">
                {t!(locale, taskpage.resume)}
            </Button>
        </div>
    }
    .into_any()
}

#[component]
fn Archived(room: Room) -> impl IntoView {
    let locale = room.locale;
    let workbench = use_workbench();
    view! {
        <div class="end-card" role="group" aria-label=t!(locale, taskpage.archived) data-testid="task-archived">
            <Icon glyph=Glyph::Archive class="w-4 h-4 mt-0.5 shrink-0 text-muted"/>
            <p class="flex-1 min-w-0">{t!(locale, taskpage.archived)}</p>
            <Button
                glyph=Glyph::RotateCcw
                on_press=Callback::new(move |()| workbench.unarchive(room.id))
                test_id="task-restore"
            >
                {t!(locale, taskpage.restore)}
            </Button>
        </div>
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_the_place_of_the_composer() {
        assert_eq!(place(false, None), Place::Composer);
        for state in SessionState::ALL {
            assert_eq!(place(true, Some(*state)), Place::Archived, "{state}");
            assert_eq!(
                place(false, Some(*state)) == Place::Composer,
                !must_resume(*state),
                "{state}"
            );
        }
    }
}
