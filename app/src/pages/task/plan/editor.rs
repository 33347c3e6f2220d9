//! The plan as it is being edited: what is in the field, which version it was made from, and how saving stands.
//!
//! What is typed is saved a moment after the last key, with the version it was made from. When somebody else wrote meanwhile, the
//! field keeps what was typed and nothing is saved until the operator has chosen: neither text is ever lost to the other.

use super::leaving::{fits, hand_over, watch};
use super::line_ends;
use crate::api::papers::{Papers, ShownPlan, papers_of, plan_save};
use crate::error::AppError;
use crate::live::{Topic, use_live};
use crate::pages::task::room::{Room, explain};
use domain::error::ErrorCode;
use domain::ids::TaskId;
use domain::plan::{PlanChange, PlanView, PlanWritten, WritePlan};
use leptos::leptos_dom::helpers::TimeoutHandle;
use leptos::prelude::*;
use leptos::task::spawn_local;
use std::time::Duration;

/// How long after the last key a plan is saved.
const PAUSE: Duration = Duration::from_millis(1_500);
/// How long to wait after a read that failed.
const AGAIN: Duration = Duration::from_secs(3);

/// How saving stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::pages::task) enum Saving {
    /// What is in the field is what is stored.
    Saved,
    /// Something was typed that is not saved yet.
    Typed,
    /// A plan cannot be empty, so this is not saved.
    Empty,
    /// It is on its way.
    Sending,
    /// Somebody else wrote meanwhile.
    Conflict,
    /// It could not be saved, for this reason.
    Failed(String),
}

/// What the panel shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// The text as it reads.
    Read,
    /// The text as it is written.
    Edit,
    /// What it was.
    History,
}

/// What follows from news of the stored plan, while the field holds a text that was made from another version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum News {
    /// It is what is known already.
    Known,
    /// The field may show it: nothing was typed, or the same.
    Take,
    /// Both have changed.
    Conflict,
}

fn judge(base: Option<&PlanView>, mine: &str, theirs: Option<&PlanView>) -> News {
    let version = |plan: Option<&PlanView>| plan.map(|plan| plan.version);
    let content =
        |plan: Option<&PlanView>| plan.map(|plan| plan.content.clone()).unwrap_or_default();
    if version(base) == version(theirs) {
        News::Known
    } else if mine == content(base) || mine == content(theirs) {
        News::Take
    } else {
        News::Conflict
    }
}

/// The editor of one task's plan. It lives as long as the page, whether or not its panel is shown.
#[derive(Debug, Clone, Copy)]
pub(in crate::pages::task) struct Editor {
    pub(in crate::pages::task) room: Room,
    /// What belongs to the task, as it was read last.
    pub(in crate::pages::task) papers: RwSignal<Papers>,
    /// What is in the field.
    pub(super) text: RwSignal<String>,
    /// The plan that the field was made from.
    pub(super) base: RwSignal<Option<PlanView>>,
    /// See [`Saving`].
    pub(super) saving: RwSignal<Saving>,
    /// What was in the field before the other text was taken.
    pub(super) put_aside: RwSignal<Option<String>>,
    /// See [`Mode`].
    pub(super) mode: RwSignal<Mode>,
    timer: StoredValue<Option<TimeoutHandle>>,
    /// The text that was handed to the browser to be saved when the page was last hidden.
    handed_over: StoredValue<Option<String>>,
    reading: StoredValue<bool>,
    again: StoredValue<bool>,
}

impl Editor {
    /// Opens the editor and, in the browser, keeps it current.
    pub(in crate::pages::task) fn open(room: Room, first: Papers) -> Self {
        let base = first.plan.as_ref().map(|shown| shown.plan.clone());
        let editor = Self {
            room,
            text: RwSignal::new(
                base.as_ref()
                    .map(|plan| plan.content.clone())
                    .unwrap_or_default(),
            ),
            base: RwSignal::new(base),
            papers: RwSignal::new(first),
            saving: RwSignal::new(Saving::Saved),
            put_aside: RwSignal::new(None),
            mode: RwSignal::new(Mode::Read),
            timer: StoredValue::new(None),
            handed_over: StoredValue::new(None),
            reading: StoredValue::new(false),
            again: StoredValue::new(false),
        };
        let live = use_live();
        Effect::new(move |before: Option<u64>| {
            let revision = live.revision(Topic::Papers(room.id));
            if before.map_or(revision != 0, |before| before != revision) {
                editor.reread();
            }
            revision
        });
        Effect::new(move |_| {
            watch(
                move || editor.hide(),
                move || editor.come_back(),
                move || editor.loses(),
            );
        });
        // Leaving the page must not wait for the pause: what was typed is sent at once.
        on_cleanup(move || editor.leave());
        editor
    }

    /// The plan as it is stored, with its text as HTML.
    pub(super) fn shown(self) -> Memo<Option<ShownPlan>> {
        Memo::new(move |_| self.papers.with(|papers| papers.plan.clone()))
    }

    /// What would be saved.
    pub(super) fn mine(self) -> String {
        self.base.with_untracked(|base| {
            let base = base.as_ref().map_or("", |plan| plan.content.as_str());
            self.text.with_untracked(|text| line_ends::keep(base, text))
        })
    }

    /// Whether something was typed that is not stored.
    pub(super) fn is_unsaved(self) -> bool {
        self.saving
            .with_untracked(|saving| *saving != Saving::Saved)
    }

    /// Notes what was typed and saves it after a pause.
    pub(super) fn typed(self, text: String) {
        self.text.set(text);
        if self
            .saving
            .with_untracked(|saving| *saving == Saving::Conflict)
        {
            return;
        }
        self.saving.set(Saving::Typed);
        self.save_soon();
    }

    fn save_soon(self) {
        self.stop_waiting();
        self.timer
            .set_value(set_timeout_with_handle(move || self.save(), PAUSE).ok());
    }

    fn stop_waiting(self) {
        if let Some(Some(timer)) = self.timer.try_update_value(Option::take) {
            timer.clear();
        }
    }

    /// The page is hidden, and may be closed without another word: what is not saved is handed to the browser.
    pub(super) fn hide(self) {
        let unsaved = matches!(
            self.saving.try_get_untracked(),
            Some(Saving::Typed | Saving::Failed(_) | Saving::Sending)
        );
        if !unsaved {
            return;
        }
        let (mine, base) = (self.mine(), self.base.get_untracked());
        let stored = base.as_ref().map_or("", |plan| plan.content.as_str());
        let known = self.handed_over.try_get_value().flatten();
        if mine.trim().is_empty() || mine == stored || known.as_deref() == Some(mine.as_str()) {
            return;
        }
        if hand_over(self.room.id, write_of(&mine, base.as_ref())) {
            self.stop_waiting();
            self.handed_over.set_value(Some(mine));
        } else {
            // Too long for that. A page that is only hidden still saves it.
            self.save();
        }
    }

    /// Whether something is lost when the page goes now: nothing saves a text on which somebody has to choose, and the browser
    /// takes no long one.
    pub(super) fn loses(self) -> bool {
        match self.saving.try_get_untracked() {
            Some(Saving::Conflict) => true,
            Some(Saving::Typed | Saving::Failed(_) | Saving::Sending) => !fits(&self.mine()),
            Some(Saving::Saved | Saving::Empty) | None => false,
        }
    }

    /// The page is seen again. What was handed over is saved by now, or is saved now.
    pub(super) fn come_back(self) {
        self.handed_over.set_value(None);
        if self
            .saving
            .with_untracked(|saving| *saving == Saving::Typed)
        {
            self.save_soon();
        }
    }

    /// Saves what was typed, unless that is under way, or somebody has to choose first.
    pub(super) fn save(self) {
        if !matches!(
            self.saving.try_get_untracked(),
            Some(Saving::Typed | Saving::Failed(_))
        ) {
            return;
        }
        let mine = self.mine();
        let base = self.base.get_untracked();
        let stored = base.as_ref().map_or("", |plan| plan.content.as_str());
        if mine == stored {
            self.saving.set(Saving::Saved);
            return;
        }
        if mine.trim().is_empty() {
            self.saving.set(Saving::Empty);
            return;
        }
        self.send(mine, base);
    }

    fn send(self, mine: String, base: Option<PlanView>) {
        self.saving.set(Saving::Sending);
        let params = write_of(&mine, base.as_ref());
        spawn_local(async move {
            match plan_save(self.room.id, params).await {
                Ok(written) => self.sent(mine, base, &written),
                Err(error) => self.refused(&error).await,
            }
        });
    }

    fn sent(self, mine: String, base: Option<PlanView>, written: &PlanWritten) {
        let now = saved(self.room.id, mine, base, written);
        let _ = self.base.try_set(Some(now));
        // More may have been typed meanwhile; it is judged by the same rule as the first letter.
        let _ = self.saving.try_set(Saving::Typed);
        let stored = self
            .base
            .try_with_untracked(|base| base.as_ref().map(|plan| plan.content.clone()));
        if stored.flatten().is_some_and(|stored| stored == self.mine()) {
            let _ = self.saving.try_set(Saving::Saved);
        } else {
            self.save_soon();
        }
        self.reread();
    }

    async fn refused(self, error: &AppError) {
        let reason = explain(self.room.locale, error);
        if !is_conflict(error.code()) {
            let _ = self.saving.try_set(Saving::Failed(reason));
            return;
        }
        match papers_of(self.room.id).await {
            Ok(now) => {
                // Judged as any news: what is stored may be what is in the field, saved while the page was hidden.
                let _ = self.saving.try_set(Saving::Failed(reason));
                self.take(now);
            }
            Err(_) => {
                let _ = self.saving.try_set(Saving::Failed(reason));
            }
        }
    }

    /// Saves what is in the field over what somebody else wrote. Theirs stays in the history.
    pub(super) fn keep_mine(self) {
        let theirs = self.theirs();
        let mine = self.mine();
        self.send(mine, theirs);
    }

    /// Takes what somebody else wrote into the field. Mine is put aside and can be had back.
    pub(super) fn take_theirs(self) {
        let mine = self.text.get_untracked();
        self.show(self.theirs());
        self.put_aside.set(Some(mine));
    }

    /// Puts the text that was put aside back into the field.
    pub(super) fn bring_back(self) {
        if let Some(text) = self.put_aside.get_untracked() {
            self.put_aside.set(None);
            self.typed(text);
        }
    }

    /// The plan as somebody else left it.
    pub(super) fn theirs(self) -> Option<PlanView> {
        self.papers
            .with_untracked(|papers| papers.plan.as_ref().map(|shown| shown.plan.clone()))
    }

    /// The plan was deleted here: what was in the field goes with it.
    pub(super) fn discard(self) {
        self.show(None);
    }

    fn show(self, plan: Option<PlanView>) {
        let content = plan
            .as_ref()
            .map(|plan| plan.content.clone())
            .unwrap_or_default();
        self.base.set(plan);
        self.text.set(content);
        self.saving.set(Saving::Saved);
    }

    /// Reads again what belongs to the task: one read at a time, and one more when something changed meanwhile.
    pub(in crate::pages::task) fn reread(self) {
        if self.reading.try_get_value() != Some(false) {
            let _ = self.again.try_set_value(true);
            return;
        }
        self.reading.set_value(true);
        spawn_local(async move {
            match papers_of(self.room.id).await {
                Ok(now) => self.take(now),
                Err(error) if error.code() == ErrorCode::NotFound => {}
                Err(_) => set_timeout(move || self.reread(), AGAIN),
            }
            let _ = self.reading.try_set_value(false);
            if self.again.try_update_value(std::mem::take) == Some(true) {
                self.reread();
            }
        });
    }

    fn take(self, now: Papers) {
        let Some(saving) = self.saving.try_get_untracked() else {
            return;
        };
        let theirs = now.plan.as_ref().map(|shown| shown.plan.clone());
        let _ = self.papers.try_set(now);
        if saving == Saving::Sending {
            // Whose news this is shows when the answer comes; it reads again then.
            return;
        }
        let news = self
            .base
            .with_untracked(|base| judge(base.as_ref(), &self.mine(), theirs.as_ref()));
        match news {
            News::Known => {}
            News::Take => self.show(theirs),
            News::Conflict => self.saving.set(Saving::Conflict),
        }
    }

    /// The page is being left: what was typed is sent, whatever comes of it.
    fn leave(self) {
        let unsaved = matches!(
            self.saving.try_get_untracked(),
            Some(Saving::Typed | Saving::Failed(_))
        );
        if !unsaved {
            return;
        }
        let (mine, base) = (self.mine(), self.base.get_untracked());
        if mine.trim().is_empty() {
            return;
        }
        let (task, toasts, locale) = (self.room.id, self.room.toasts, self.room.locale);
        spawn_local(async move {
            if let Err(error) = plan_save(task, write_of(&mine, base.as_ref())).await {
                toasts.failed(explain(locale, &error));
            }
        });
    }
}

/// The write of a text that was made from `base`. Cutting is allowed: an operator sees the whole, and the history keeps it.
fn write_of(mine: &str, base: Option<&PlanView>) -> WritePlan {
    WritePlan {
        change: PlanChange::Create {
            title: None,
            content: mine.to_owned(),
        },
        expected_version: base.map(|plan| plan.version.to_string()),
        allow_truncation: base.is_some(),
    }
}

/// The plan after a write, as far as the writer knows it.
fn saved(task: TaskId, content: String, base: Option<PlanView>, written: &PlanWritten) -> PlanView {
    let now = PlanView {
        id: written.plan_id,
        task_id: task,
        title: written.title.clone(),
        created_by: domain::plan::PlanAuthorKind::User,
        version: written.version,
        created_at: written.updated_at,
        updated_at: written.updated_at,
        implementation_started_at: None,
        implementation_started_by: None,
        implementation_started_session_id: None,
        content,
    };
    // A write changes neither who made a plan nor when it was to be carried out.
    base.map_or_else(
        || now.clone(),
        |base| PlanView {
            id: now.id,
            title: now.title.clone(),
            version: now.version,
            updated_at: now.updated_at,
            content: now.content.clone(),
            ..base
        },
    )
}

/// Whether a refusal means that somebody else wrote meanwhile.
const fn is_conflict(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::PlanVersionConflict | ErrorCode::PlanVersionRequired
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::ids::{PlanId, PlanVersion};
    use domain::plan::PlanAuthorKind;
    use domain::time::Timestamp;

    fn plan(content: &str) -> PlanView {
        PlanView {
            id: PlanId::new(),
            task_id: TaskId::new(),
            title: "Plan".to_owned(),
            created_by: PlanAuthorKind::Agent,
            version: PlanVersion::new(),
            created_at: Timestamp::from_millis(0),
            updated_at: Timestamp::from_millis(0),
            implementation_started_at: None,
            implementation_started_by: None,
            implementation_started_session_id: None,
            content: content.to_owned(),
        }
    }

    #[test]
    fn news_never_replace_what_was_typed() {
        let (base, theirs) = (plan("One."), plan("Two."));
        assert_eq!(
            judge(Some(&base), "One. And mine.", Some(&base)),
            News::Known
        );
        assert_eq!(judge(Some(&base), "One.", Some(&theirs)), News::Take);
        assert_eq!(judge(Some(&base), "Two.", Some(&theirs)), News::Take);
        assert_eq!(judge(Some(&base), "Mine.", Some(&theirs)), News::Conflict);
        assert_eq!(judge(Some(&base), "One.", None), News::Take);
        assert_eq!(judge(Some(&base), "Mine.", None), News::Conflict);
        assert_eq!(judge(None, "", Some(&theirs)), News::Take);
        assert_eq!(judge(None, "Mine.", Some(&theirs)), News::Conflict);
        assert_eq!(judge(None, "Mine.", None), News::Known);
    }

    #[test]
    fn a_save_names_the_version_it_was_made_from() {
        let base = plan("One.");
        let write = write_of("Two.", Some(&base));
        assert_eq!(write.expected_version, Some(base.version.to_string()));
        assert_eq!(write_of("Two.", None).expected_version, None);
    }
}
