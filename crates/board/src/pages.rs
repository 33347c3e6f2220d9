//! Read models of pages: everything a page needs, of one moment, in a fixed number of statements.

use crate::prompts::target_session;
use crate::reach::depth_limit;
use crate::tasks::{predecessors_of, related, related_by_edge, view};
use crate::{Actor, Board, Result, clarifications, permissions, queue};
use domain::error::Refusal;
use domain::ids::{TaskId, WorkflowId, WorkspaceId};
use domain::params::BoardOf;
use domain::view::{
    BoardView, ParentQuestionView, TaskPageView, WorkbenchView, WorkflowView, WorkspaceView,
};
use store::Snapshot;
use store::views::TaskFilter;

/// Cards that one board shows at most.
const MAX_CARDS: i64 = 5_000;

impl Board {
    /// The board of a workspace: of the one named, or the first; with the workflow named, or its first.
    pub async fn board_view(
        &self,
        _actor: &Actor,
        workspace: Option<WorkspaceId>,
        workflow: Option<WorkflowId>,
    ) -> Result<BoardView> {
        let mut db = self.snapshot().await?;
        let workspaces = store::workspaces::list(&mut db).await?;
        let workspace = match workspace {
            Some(id) => workspaces.into_iter().find(|w| w.id == id),
            None => workspaces.into_iter().next(),
        }
        .ok_or_else(|| Refusal::not_found("workspace"))?;
        board_at(&mut db, workspace, workflow).await
    }

    /// What is around every page: a board, and the workspaces that can be gone to.
    pub async fn workbench_view(
        &self,
        actor: &Actor,
        of: BoardOf,
        workflow: Option<WorkflowId>,
    ) -> Result<WorkbenchView> {
        actor.require_operator()?;
        let mut db = self.snapshot().await?;
        let workspaces = store::workspaces::list(&mut db).await?;
        let task = match of.task {
            Some(id) => store::tasks::find(&mut db, id).await?,
            None => None,
        };
        let wanted = [task.map(|task| task.workspace_id), of.workspace];
        let there = |id: WorkspaceId| workspaces.iter().find(|other| other.id == id);
        let shown = wanted
            .into_iter()
            .flatten()
            .find_map(there)
            .or_else(|| workspaces.first())
            .cloned()
            .ok_or_else(|| Refusal::not_found("workspace"))?;
        let board = board_at(&mut db, shown, workflow).await?;
        Ok(WorkbenchView { board, workspaces })
    }

    /// The page of a task, without its transcript.
    pub async fn task_page(&self, _actor: &Actor, id: TaskId) -> Result<TaskPageView> {
        let mut db = self.snapshot().await?;
        let task = view(&mut db, id).await?;
        let limit = depth_limit(&self.settings);
        let mut ancestors = Vec::new();
        for ancestor in store::tasks::ancestors(&mut db, id, limit)
            .await?
            .into_iter()
            .rev()
        {
            ancestors.push(related(view(&mut db, ancestor.id).await?, false));
        }
        let questions = store::questions::pending_of_child(&mut db, id).await?;
        let parent_question = match questions.into_iter().next() {
            Some(question) => {
                let parent = store::tasks::find(&mut db, question.parent_task_id).await?;
                let sessions = store::sessions::list(&mut db, question.parent_task_id).await?;
                let target = target_session(&sessions);
                let parent_rests = match target {
                    Some(session)
                        if question.delivered_at.is_some() && !session.state.is_busy() =>
                    {
                        store::queue::list(&mut db, session.id).await?.is_empty()
                    }
                    Some(_) | None => false,
                };
                Some(ParentQuestionView {
                    id: question.id,
                    child_task_id: question.child_task_id,
                    child_session_id: question.child_session_id,
                    parent_task_id: question.parent_task_id,
                    parent_title: parent.map(|p| p.title).unwrap_or_default(),
                    questions: question.questions,
                    context: question.context,
                    blocked_effect: question.blocked_effect,
                    status: question.status,
                    created_at: question.created_at,
                    parent_cannot_answer: target.is_none(),
                    parent_rests,
                })
            }
            None => None,
        };
        let bundles = store::clarifications::open_of_task(&mut db, id).await?;
        let requests = store::permissions::pending_of_task(&mut db, id).await?;
        let sessions = store::views::sessions(&mut db, id).await?;
        let rows = store::queue::list_by_task(&mut db, id).await?;
        let queues = rows
            .chunk_by(|one, next| one.session_id == next.session_id)
            .filter_map(|rows| {
                let session = sessions.iter().find(|s| s.id == rows[0].session_id)?;
                Some(queue::view(
                    &self.settings,
                    session.id,
                    session.auto_run,
                    rows,
                ))
            })
            .filter(|queue| queue.count > 0)
            .collect();
        Ok(TaskPageView {
            ancestors,
            sessions,
            steps: store::workflows::steps(&mut db, task.workflow_id).await?,
            parent_question,
            clarifications: bundles.into_iter().map(clarifications::view).collect(),
            permissions: requests.into_iter().map(permissions::view).collect(),
            queues,
            depends_on: related_by_edge(&mut db, predecessors_of(id), false).await?,
            as_of: store::events::bounds(&mut db).await?.1,
            task,
        })
    }
}

/// The board of a workspace, with the workflow named or the first that is not hidden.
async fn board_at(
    db: &mut Snapshot,
    workspace: WorkspaceView,
    workflow: Option<WorkflowId>,
) -> Result<BoardView> {
    let workflows = store::workflows::list(db, workspace.id).await?;
    let workflow = match workflow {
        Some(id) => workflows.into_iter().find(|w| w.id == id),
        None => workflows.into_iter().find(|w| !w.hidden),
    }
    .ok_or_else(|| Refusal::not_found("workflow"))?;
    let steps = store::workflows::steps(db, workflow.id).await?;
    let filter = TaskFilter {
        workspace_id: Some(workspace.id),
        limit: MAX_CARDS,
        ..TaskFilter::default()
    };
    let tasks = store::views::tasks(db, &filter).await?;
    let (_, as_of) = store::events::bounds(db).await?;
    Ok(BoardView {
        workspace,
        workflow: WorkflowView { workflow, steps },
        tasks,
        as_of,
    })
}
