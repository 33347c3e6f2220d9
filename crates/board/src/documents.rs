//! Documents of tasks and decisions about their steps (task-domain 2.7).

use crate::reach::{depth_limit, reachable};
use crate::transition::load_task;
use crate::{Actor, Board, Result};
use domain::document::{
    Decision, Document, DocumentEntry, DocumentKey, MAX_DOCUMENTS, StepDecision, WriteDocument,
    check_reason, decide,
};
use domain::error::Refusal;
use domain::ids::{DecisionId, DocumentId, TaskId};
use domain::plan::PlanAuthorKind;

impl Board {
    /// The documents of a task by their keys, without their texts.
    pub async fn document_list(&self, actor: &Actor, task: TaskId) -> Result<Vec<DocumentEntry>> {
        let mut db = self.snapshot().await?;
        let task = reachable(&mut db, actor, &self.settings, task).await?;
        Ok(store::documents::list(&mut db, task.id).await?)
    }

    /// One document of a task.
    pub async fn document_get(
        &self,
        actor: &Actor,
        task: TaskId,
        key: &DocumentKey,
    ) -> Result<Document> {
        let mut db = self.snapshot().await?;
        let task = reachable(&mut db, actor, &self.settings, task).await?;
        let found = store::documents::find(&mut db, task.id, key).await?;
        Ok(found.ok_or_else(|| {
            Refusal::missing("the task has no document of this key: list its documents")
        })?)
    }

    /// Writes a document in the place of the one under its key. An agent writes those of its own task and of the tasks that it is
    /// a part of.
    pub async fn document_write(
        &self,
        actor: &Actor,
        task: TaskId,
        key: &DocumentKey,
        write: WriteDocument,
    ) -> Result<DocumentEntry> {
        let mut work = self.begin().await?;
        let task = reachable(&mut work.tx, actor, &self.settings, task).await?;
        if let Some(own) = actor.task()
            && own != task.id
        {
            let limit = depth_limit(&self.settings);
            let above = store::tasks::ancestors(&mut work.tx, own, limit).await?;
            if !above.iter().any(|ancestor| ancestor.id == task.id) {
                return Err(Refusal::forbidden(
                    "documents are written by the task itself and by its parts: write one of your own task, and name it",
                )
                .into());
            }
        }
        let known = store::documents::list(&mut work.tx, task.id).await?;
        let before = known.iter().find(|entry| entry.document_key == *key);
        if before.is_none() && i64::try_from(known.len()).is_ok_and(|n| n >= MAX_DOCUMENTS) {
            return Err(Refusal::conflict(format!(
                "a task has at most {MAX_DOCUMENTS} documents: write one that is there, or ask the operator to remove some"
            ))
            .into());
        }
        let (title, kind) = decide(before, key, &write)?;
        let entry = DocumentEntry {
            id: before.map_or_else(DocumentId::new, |entry| entry.id),
            task_id: task.id,
            document_key: key.clone(),
            title,
            kind,
            content_bytes: i64::try_from(write.content.len()).unwrap_or(i64::MAX),
            author_kind: match actor.session() {
                Some(_) => PlanAuthorKind::Agent,
                None => PlanAuthorKind::User,
            },
            author_session_id: actor.session(),
            created_at: before.map_or(work.now, |entry| entry.created_at),
            updated_at: work.now,
        };
        let document = Document {
            entry,
            content: write.content,
        };
        store::documents::put(&mut work.tx, &document).await?;
        work.task_event(&task).await?;
        work.commit().await?;
        Ok(document.entry)
    }

    /// Removes a document; answers whether there was one. Agents write over what is wrong instead.
    pub async fn document_delete(
        &self,
        actor: &Actor,
        task: TaskId,
        key: &DocumentKey,
    ) -> Result<bool> {
        actor.require_operator()?;
        let mut work = self.begin().await?;
        let task = load_task(&mut work.tx, task).await?;
        if !store::documents::delete(&mut work.tx, task.id, key).await? {
            return Ok(false);
        }
        work.task_event(&task).await?;
        work.commit().await?;
        Ok(true)
    }

    /// Notes what an agent decided about the step that its card is in. It moves nothing: what the step does when its turn ends is
    /// the workflow's, and what becomes of a rejection somebody's who reads it.
    pub async fn step_decide(
        &self,
        actor: &Actor,
        decision: Decision,
        reason: &str,
    ) -> Result<StepDecision> {
        let (task, session) = actor.require_agent()?;
        let reason = check_reason(reason)?;
        let mut work = self.begin().await?;
        let task = load_task(&mut work.tx, task).await?;
        let decided = StepDecision {
            id: DecisionId::new(),
            task_id: task.id,
            step_id: task.workflow_step_id,
            session_id: Some(session),
            decision,
            reason,
            created_at: work.now,
        };
        store::documents::insert_decision(&mut work.tx, &decided).await?;
        work.task_event(&task).await?;
        work.commit().await?;
        Ok(decided)
    }

    /// The decisions about a task's steps, oldest first.
    pub async fn step_decisions(&self, actor: &Actor, task: TaskId) -> Result<Vec<StepDecision>> {
        let mut db = self.snapshot().await?;
        let task = reachable(&mut db, actor, &self.settings, task).await?;
        Ok(store::documents::decisions(&mut db, task.id).await?)
    }
}
