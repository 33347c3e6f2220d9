//! Plans: reading, writing, history.
//!
//! Every write is one transaction, and writers take turns, so what [`domain::plan::decide`] was told is still so when it is
//! stored: of two who read the same version one writes, and the other is told so and has lost nothing.

use crate::reach::reachable;
use crate::tasks::check_limit;
use crate::transition::{Work, load_session, load_task};
use crate::{Actor, Board, Result};
use domain::context::IMPLEMENT_PLAN;
use domain::error::{ErrorCode, Refusal};
use domain::event::{EventKind, NewEvent};
use domain::ids::{PlanId, PlanRevisionId, PlanVersion, TaskId};
use domain::plan::{
    Implementation, Next, Plan, PlanAuthor, PlanAuthorKind, PlanDecision, PlanPage, PlanRange,
    PlanRead, PlanRevision, PlanRevisionView, PlanRevisions, PlanView, PlanWrite, PlanWritten,
    RestorePlan, WritePlan, check_read, decide, merges, page, refusal,
};
use domain::task::Task;
use domain::view::MessageOutcome;

/// Revisions of a page when nothing is said, and at most.
const DEFAULT_REVISIONS: i64 = 20;
const MAX_REVISIONS: i64 = 100;

impl Board {
    /// A task's plan, if it has one.
    pub async fn plan_find(&self, actor: &Actor, task: TaskId) -> Result<Option<PlanView>> {
        let mut db = self.snapshot().await?;
        let task = reachable(&mut db, actor, &self.settings, task).await?;
        Ok(store::plans::find(&mut db, task.id)
            .await?
            .map(PlanView::from))
    }

    /// Tells the task's agent to carry out its plan: planning is over, and the words count as the operator's.
    pub async fn plan_implement(&self, actor: &Actor, task: TaskId) -> Result<MessageOutcome> {
        actor.require_operator()?;
        let mut work = self.begin().await?;
        let task = load_task(&mut work.tx, task).await?;
        if store::plans::find(&mut work.tx, task.id).await?.is_none() {
            return Err(Refusal::not_found("plan").into());
        }
        let session = work.ensure_session(&task).await?;
        work.end_planning(session.id).await?;
        let mut session = load_session(&mut work.tx, session.id).await?;
        let outcome = work
            .operator_prompt(&task, &mut session, IMPLEMENT_PLAN, false)
            .await?;
        let mark = Implementation {
            started_at: work.now,
            started_by: PlanAuthorKind::User,
            session_id: session.id,
        };
        store::plans::set_implementation(&mut work.tx, task.id, &mark).await?;
        work.plan_event(&task).await?;
        work.commit().await?;
        Ok(outcome)
    }

    /// A task's plan or a range of it; nothing when there is none and no version was expected.
    ///
    /// Who may not reach the task learns neither version nor size: that is decided first.
    pub async fn plan_read(
        &self,
        actor: &Actor,
        task: TaskId,
        range: &PlanRange,
    ) -> Result<Option<PlanRead>> {
        let mut db = self.snapshot().await?;
        let task = reachable(&mut db, actor, &self.settings, task).await?;
        let plan = store::plans::find(&mut db, task.id).await?;
        check_read(plan.as_ref(), range.expected_version.as_deref())?;
        let Some(plan) = plan else { return Ok(None) };
        if range.offset.is_none() && range.limit.is_none() {
            return Ok(Some(PlanRead {
                plan: plan.into(),
                page: None,
            }));
        }
        let part = page(&plan.content, range.offset, range.limit, plan.version)?;
        let place = PlanPage::of(&part, plan.content.len());
        let content = part.text.to_owned();
        Ok(Some(PlanRead {
            plan: PlanView {
                content,
                ..plan.into()
            },
            page: Some(place),
        }))
    }

    /// Makes or changes a task's plan. Refused writes leave title, text, history, version and events as they are.
    pub async fn plan_write(
        &self,
        actor: &Actor,
        task: TaskId,
        params: &WritePlan,
    ) -> Result<PlanWritten> {
        let mut work = self.begin().await?;
        let task = reachable(&mut work.tx, actor, &self.settings, task).await?;
        let write = PlanWrite {
            command: params.change.command(),
            expected_version: params.expected_version.as_deref(),
            allow_truncation: params.allow_truncation,
        };
        let written = work.write_plan(actor, &task, &write).await?;
        work.commit().await?;
        Ok(written)
    }

    /// Brings a revision back, as a new revision. The current text stays in the history, so nothing can be lost by it.
    pub async fn plan_restore(
        &self,
        actor: &Actor,
        task: TaskId,
        params: &RestorePlan,
    ) -> Result<PlanWritten> {
        let mut work = self.begin().await?;
        let task = reachable(&mut work.tx, actor, &self.settings, task).await?;
        let head = store::plans::find(&mut work.tx, task.id).await?;
        let revision = store::plans::find_revision(&mut work.tx, params.revision_id).await?;
        let revision = of_task(revision, task.id, head.as_ref())?;
        if head.is_none() && matches!(actor, Actor::Agent { .. }) {
            return Err(refusal(
                ErrorCode::PlanHeadUnavailable,
                "the task has no plan that the revision could be restored to",
                Next::Create,
                None,
            )
            .into());
        }
        let write = PlanWrite {
            command: domain::plan::PlanCommand::Restore {
                revision: &revision,
                expected_revision_version: params.expected_revision_version.as_deref(),
            },
            expected_version: params.expected_version.as_deref(),
            // A restore replaces the whole by a whole, and what stands now is in the history.
            allow_truncation: true,
        };
        let written = work.write_plan(actor, &task, &write).await?;
        work.commit().await?;
        Ok(written)
    }

    /// Removes a task's plan; its history stays. Answers whether there was one.
    pub async fn plan_delete(
        &self,
        actor: &Actor,
        task: TaskId,
        expected_version: Option<&str>,
    ) -> Result<bool> {
        let mut work = self.begin().await?;
        let task = reachable(&mut work.tx, actor, &self.settings, task).await?;
        let head = store::plans::find(&mut work.tx, task.id).await?;
        check_read(head.as_ref(), expected_version)?;
        if !store::plans::delete(&mut work.tx, task.id).await? {
            return Ok(false);
        }
        work.plan_event(&task).await?;
        work.commit().await?;
        Ok(true)
    }

    /// The revisions of a task's plans, newest first, without their texts; `cursor` is the number to go on below.
    pub async fn plan_revisions(
        &self,
        actor: &Actor,
        task: TaskId,
        cursor: Option<i64>,
        limit: Option<i64>,
    ) -> Result<PlanRevisions> {
        let limit = check_limit(limit, DEFAULT_REVISIONS, MAX_REVISIONS)?;
        let mut db = self.snapshot().await?;
        let task = reachable(&mut db, actor, &self.settings, task).await?;
        let before = cursor.unwrap_or(i64::MAX);
        let (revisions, has_more) =
            store::plans::revisions(&mut db, task.id, before, limit).await?;
        let last = revisions.last().map(|entry| entry.revision_number);
        Ok(PlanRevisions {
            task_id: task.id,
            total: revisions.len(),
            revisions,
            has_more,
            next_cursor: last.filter(|_| has_more),
        })
    }

    /// One revision with its text.
    pub async fn plan_revision(
        &self,
        actor: &Actor,
        task: TaskId,
        id: PlanRevisionId,
    ) -> Result<PlanRevisionView> {
        let mut db = self.snapshot().await?;
        let task = reachable(&mut db, actor, &self.settings, task).await?;
        let head = store::plans::find(&mut db, task.id).await?;
        let revision = store::plans::find_revision(&mut db, id).await?;
        Ok(of_task(revision, task.id, head.as_ref())?.into())
    }
}

/// The revision, when it is the task's.
fn of_task(
    revision: Option<PlanRevision>,
    task: TaskId,
    head: Option<&Plan>,
) -> std::result::Result<PlanRevision, Refusal> {
    revision
        .filter(|revision| revision.task_id == task)
        .ok_or_else(|| {
            refusal(
                ErrorCode::PlanRevisionUnavailable,
                "the task's plan has no such revision",
                Next::ListRevisions,
                head.map(|plan| plan.version),
            )
        })
}

impl Work {
    async fn write_plan(
        &mut self,
        actor: &Actor,
        task: &Task,
        write: &PlanWrite<'_>,
    ) -> Result<PlanWritten> {
        let head = store::plans::find(&mut self.tx, task.id).await?;
        let latest = store::plans::latest_revision(&mut self.tx, task.id).await?;
        let (title, content, separate, revert_of) =
            match (decide(head.as_ref(), latest.as_ref(), write)?, &head) {
                (PlanDecision::AlreadyCurrent, Some(plan)) => {
                    return Ok(current(plan, latest.as_ref()));
                }
                // The rule gives this only for a plan that is there.
                (PlanDecision::AlreadyCurrent, None) => {
                    return Err(Refusal::not_found("plan").into());
                }
                (
                    PlanDecision::Write {
                        title,
                        content,
                        separate,
                        revert_of,
                    },
                    _,
                ) => (title, content, separate, revert_of),
            };
        let author = self.plan_author(actor).await?;
        let plan = Plan {
            id: head.as_ref().map_or_else(PlanId::new, |plan| plan.id),
            task_id: task.id,
            title,
            content,
            created_by: head.as_ref().map_or(author.kind, |plan| plan.created_by),
            version: PlanVersion::new(),
            created_at: head.as_ref().map_or(self.now, |plan| plan.created_at),
            updated_at: self.now,
            implementation: head.as_ref().and_then(|plan| plan.implementation),
        };
        let window = self.settings.plan_merge_ms;
        let merged_into = latest
            .clone()
            .filter(|last| !separate && merges(last, plan.id, &author, self.now, window));
        let merged = merged_into.is_some();
        let revision = match merged_into {
            Some(last) => PlanRevision {
                version: PlanVersion::new(),
                title: plan.title.clone(),
                content: plan.content.clone(),
                updated_at: self.now,
                ..last
            },
            None => PlanRevision {
                id: PlanRevisionId::new(),
                task_id: task.id,
                plan_id: plan.id,
                number: latest.map_or(1, |last| last.number + 1),
                version: PlanVersion::new(),
                title: plan.title.clone(),
                content: plan.content.clone(),
                author,
                revert_of,
                created_at: self.now,
                updated_at: self.now,
            },
        };
        store::plans::put(&mut self.tx, &plan).await?;
        if merged {
            store::plans::update_revision(&mut self.tx, &revision).await?;
        } else {
            store::plans::insert_revision(&mut self.tx, &revision).await?;
        }
        self.plan_event(task).await?;
        Ok(PlanWritten {
            write_applied: true,
            code: None,
            created: head.is_none(),
            merged,
            ..current(&plan, Some(&revision))
        })
    }

    async fn plan_author(&mut self, actor: &Actor) -> Result<PlanAuthor> {
        let Some(session) = actor.session() else {
            return Ok(PlanAuthor {
                kind: PlanAuthorKind::User,
                name: String::new(),
                session_id: None,
            });
        };
        let profile = match store::sessions::find(&mut self.tx, session).await? {
            Some(session) => {
                store::agents::find_profile(&mut self.tx, session.agent_profile_id).await?
            }
            None => None,
        };
        let agent = match profile {
            Some(profile) => store::agents::find(&mut self.tx, profile.agent_id).await?,
            None => None,
        };
        Ok(PlanAuthor {
            kind: PlanAuthorKind::Agent,
            name: agent.map(|agent| agent.name).unwrap_or_default(),
            session_id: Some(session),
        })
    }

    async fn plan_event(&mut self, task: &Task) -> Result<()> {
        self.event(
            NewEvent::new(EventKind::PlanChanged)
                .workspace(task.workspace_id)
                .task(task.id),
        )
        .await
    }
}

/// A plan as an answer to a write that changed nothing.
fn current(plan: &Plan, revision: Option<&PlanRevision>) -> PlanWritten {
    PlanWritten {
        task_id: plan.task_id,
        plan_id: plan.id,
        title: plan.title.clone(),
        version: plan.version,
        write_applied: false,
        code: Some("plan_already_current".to_owned()),
        created: false,
        revision_id: revision.map(|revision| revision.id),
        revision_number: revision.map(|revision| revision.number),
        merged: false,
        total_characters: plan.content.chars().count(),
        content_bytes: plan.content.len(),
        updated_at: plan.updated_at,
    }
}
