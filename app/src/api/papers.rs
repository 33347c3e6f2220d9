//! What belongs to a task beside its conversation: its plan with its history, its walkthrough, what reviews found.

#[cfg(feature = "ssr")]
use crate::api::Door;
use crate::error::AppError;
use domain::ids::{FindingId, PlanRevisionId, TaskId, WalkthroughId};
use domain::plan::{
    PlanRevisionView, PlanRevisions, PlanView, PlanWritten, RestorePlan, WritePlan,
};
use domain::review::{Finding, FindingStatus};
use domain::view::MessageOutcome;
use domain::walkthrough::WalkthroughStep;
use leptos::prelude::*;
use leptos::server_fn::codec::Json;
use serde::{Deserialize, Serialize};

/// A plan with its text as HTML, made and sanitised by the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownPlan {
    /// The plan.
    pub plan: PlanView,
    /// Its text.
    pub html: String,
}

/// What belongs to a task.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Papers {
    /// Its plan.
    pub plan: Option<ShownPlan>,
    /// Its walkthrough.
    pub walkthrough: Option<ShownWalkthrough>,
    /// What reviews found.
    pub findings: Vec<ShownFinding>,
}

/// A walkthrough with the texts of its steps as HTML.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownWalkthrough {
    /// Its id.
    pub id: WalkthroughId,
    /// One line.
    pub title: String,
    /// In order.
    pub steps: Vec<ShownStep>,
}

/// A step with its text as HTML.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownStep {
    /// The step.
    pub step: WalkthroughStep,
    /// Its text.
    pub html: String,
}

/// A finding with its text as HTML.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownFinding {
    /// The finding.
    pub finding: Finding,
    /// Its text.
    pub html: String,
}

/// Everything that belongs to a task, as it stands now.
#[server(prefix = "/api/page", endpoint = "papers", input = Json)]
pub async fn papers_of(task: TaskId) -> Result<Papers, AppError> {
    let door = Door::open()?;
    let plan = door.answer(door.board.plan_find(&door.actor, task).await)?;
    let walkthrough = door.answer(door.board.walkthrough_find(&door.actor, task).await)?;
    let findings = door.answer(door.board.findings_list(&door.actor, task).await)?;
    let step = |step: WalkthroughStep| ShownStep {
        html: crate::markdown::to_html(&step.text),
        step,
    };
    let finding = |finding: Finding| ShownFinding {
        html: crate::markdown::to_html(&finding.body),
        finding,
    };
    Ok(Papers {
        walkthrough: walkthrough.map(|shown| ShownWalkthrough {
            id: shown.id,
            title: shown.title,
            steps: shown.steps.into_iter().map(step).collect(),
        }),
        findings: findings.into_iter().map(finding).collect(),
        plan: plan.map(|plan| ShownPlan {
            html: crate::markdown::to_html(&plan.content),
            plan,
        }),
    })
}

/// Saves a plan; refused when it was not made from the present version.
#[server(prefix = "/api/page", endpoint = "plan/save", input = Json)]
pub async fn plan_save(task: TaskId, params: WritePlan) -> Result<PlanWritten, AppError> {
    let door = Door::open()?;
    door.answer(door.board.plan_write(&door.actor, task, &params).await)
}

/// Tells the task's agent to carry out its plan.
#[server(prefix = "/api/page", endpoint = "plan/implement", input = Json)]
pub async fn plan_implement(task: TaskId) -> Result<MessageOutcome, AppError> {
    let door = Door::open()?;
    door.answer(door.board.plan_implement(&door.actor, task).await)
}

/// Removes a plan; its history stays.
#[server(prefix = "/api/page", endpoint = "plan/delete", input = Json)]
pub async fn plan_delete(task: TaskId, expected_version: Option<String>) -> Result<bool, AppError> {
    let door = Door::open()?;
    door.answer(
        door.board
            .plan_delete(&door.actor, task, expected_version.as_deref())
            .await,
    )
}

/// The plan's history, newest first.
#[server(prefix = "/api/page", endpoint = "plan/revisions", input = Json)]
pub async fn plan_history(task: TaskId, cursor: Option<i64>) -> Result<PlanRevisions, AppError> {
    let door = Door::open()?;
    door.answer(
        door.board
            .plan_revisions(&door.actor, task, cursor, None)
            .await,
    )
}

/// One revision with its text.
#[server(prefix = "/api/page", endpoint = "plan/revision", input = Json)]
pub async fn plan_revision(
    task: TaskId,
    revision: PlanRevisionId,
) -> Result<PlanRevisionView, AppError> {
    let door = Door::open()?;
    door.answer(door.board.plan_revision(&door.actor, task, revision).await)
}

/// Brings a revision back as a new one.
#[server(prefix = "/api/page", endpoint = "plan/restore", input = Json)]
pub async fn plan_restore(task: TaskId, params: RestorePlan) -> Result<PlanWritten, AppError> {
    let door = Door::open()?;
    door.answer(door.board.plan_restore(&door.actor, task, &params).await)
}

/// A text as the plan's reader shows it.
#[server(prefix = "/api/page", endpoint = "plan/preview", input = Json)]
pub async fn plan_preview(content: String) -> Result<String, AppError> {
    let _door = Door::open()?;
    Ok(crate::markdown::to_html(&content))
}

/// Says that a finding is dealt with, or that it is not.
#[server(prefix = "/api/page", endpoint = "finding/status", input = Json)]
pub async fn finding_set_status(
    finding: FindingId,
    status: FindingStatus,
) -> Result<Finding, AppError> {
    let door = Door::open()?;
    door.answer(
        door.board
            .finding_set_status(&door.actor, finding, status)
            .await,
    )
}
