//! Everything that waits for the operator, across all tasks.

use crate::clarifications;
use crate::permissions;
use crate::reach::{known_workspace, scope};
use crate::{Actor, Board, Result};
use domain::clarification::{Clarification, Cursor};
use domain::ids::TaskId;
use domain::params::ListQuestions;
use domain::question::Question;
use domain::time::Timestamp;
use domain::view::{
    InboxAsk, InboxItem, InboxView, PendingBundle, PendingOption, PendingQuestion, PendingQuestions,
};
use std::collections::HashMap;
use store::clarifications::PendingFilter;

/// Questions, and permissions, that are shown at most of each.
const MOST: i64 = 500;
/// Questions that one page for outside clients shows, and at most.
const USUAL_PAGE: i64 = 50;
const MAX_PAGE: i64 = 200;

impl Board {
    /// Every question and permission that waits for the operator, oldest first.
    pub async fn inbox(&self, actor: &Actor) -> Result<InboxView> {
        actor.require_operator()?;
        let mut db = self.snapshot().await?;
        let tasks: HashMap<TaskId, _> = store::views::asking_tasks(&mut db)
            .await?
            .into_iter()
            .map(|task| (task.id, task))
            .collect();
        let bundles = store::clarifications::open_of_all(&mut db, MOST).await?;
        let requests = store::permissions::pending_of_all(&mut db, MOST).await?;
        let asks = bundles
            .into_iter()
            .map(|bundle| {
                let at = (bundle.created_at, bundle.task_id, bundle.session_id);
                let clarification = clarifications::view(bundle);
                (at, InboxAsk::Clarification { clarification })
            })
            .chain(requests.into_iter().map(|request| {
                let at = (request.created_at, request.task_id, request.session_id);
                let permission = permissions::view(request);
                (at, InboxAsk::Permission { permission })
            }));
        let mut items: Vec<(Timestamp, InboxItem)> = asks
            .filter_map(|((at, task_id, session_id), ask)| {
                let task = tasks.get(&task_id)?;
                let item = InboxItem {
                    task_id,
                    task_title: task.title.clone(),
                    workspace_id: task.workspace_id,
                    session_id,
                    ask,
                };
                Some((at, item))
            })
            .collect();
        // Stable: what came in the same millisecond keeps its order.
        items.sort_by_key(|(at, _)| *at);
        Ok(InboxView {
            items: items.into_iter().map(|(_, item)| item).collect(),
            as_of: store::events::bounds(&mut db).await?.1,
        })
    }

    /// The questions that wait for the operator, a page of them, oldest first, for whoever answers them from outside. Questions
    /// between tasks are none of these.
    pub async fn questions_pending(
        &self,
        actor: &Actor,
        params: &ListQuestions,
    ) -> Result<PendingQuestions> {
        actor.require_person()?;
        let after = params.cursor.as_deref().map(Cursor::parse).transpose()?;
        let limit = params.limit.unwrap_or(USUAL_PAGE).clamp(1, MAX_PAGE);
        let mut db = self.snapshot().await?;
        if let Some(workspace) = params.workspace_id {
            known_workspace(&mut db, actor, workspace).await?;
        }
        let filter = PendingFilter {
            workspaces: match params.workspace_id {
                Some(workspace) => Some(vec![workspace]),
                None => scope(&mut db, actor).await?,
            },
            since: params.created_since,
            after,
            limit: limit + 1,
        };
        let mut found = store::clarifications::pending_page(&mut db, &filter).await?;
        let has_more = i64::try_from(found.len()).is_ok_and(|count| count > limit);
        if has_more {
            found.pop();
        }
        let next_cursor = found.last().filter(|_| has_more).map(|last| {
            let (at, id) = (last.created_at, last.id);
            Cursor { at, id }.to_string()
        });
        let now = self.clock.now();
        let bundles: Vec<PendingBundle> = found
            .into_iter()
            .map(|bundle| pending(bundle, now))
            .collect();
        Ok(PendingQuestions {
            count: bundles.len(),
            bundles,
            next_cursor,
        })
    }
}

fn pending(bundle: Clarification, now: Timestamp) -> PendingBundle {
    let status = bundle.status;
    let question = |question: Question| PendingQuestion {
        question_id: question.id,
        title: question.title,
        prompt: question.prompt,
        status,
        options: question
            .options
            .into_iter()
            .map(|option| PendingOption {
                option_id: option.id,
                label: option.label,
                description: option.description,
            })
            .collect(),
        allow_custom_text: question.allow_custom_text,
    };
    PendingBundle {
        pending_id: bundle.id,
        task_id: bundle.task_id,
        session_id: bundle.session_id,
        created_at: bundle.created_at,
        age_seconds: now.since(bundle.created_at).max(0) / 1_000,
        context: bundle.context,
        questions: bundle.questions.into_iter().map(question).collect(),
    }
}
