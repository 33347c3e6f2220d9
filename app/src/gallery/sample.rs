//! Made-up data. Ids are fixed, so that server and browser agree on them.

use crate::components::forest::TaskNode;
use crate::components::request_mark::Requests;
use crate::components::task_mark::TaskMark;
use domain::change_request::{Checks, Mergeable, RequestState, TaskRequest};
use domain::clarification::ClarificationStatus;
use domain::ids::{
    ClarificationId, MessageId, PermissionId, QuestionId, RepositoryId, SessionId, StepId, TaskId,
    WorkflowId, WorkspaceId,
};
use domain::permission::PermissionOption;
use domain::question::{Question, QuestionOption, QuestionStatus};
use domain::repository::{Provider, TaskRepository};
use domain::task::{Origin, Purpose, TaskState, TitleMode};
use domain::time::Timestamp;
use domain::view::{ClarificationView, ParentQuestionView, PermissionView, Revision, TaskView};

fn fixed<T: std::str::FromStr>(n: u32) -> T {
    format!("01940000-0000-7000-8000-{n:012}")
        .parse()
        .ok()
        .expect("a well-formed id")
}

pub(super) fn task_id(n: u32) -> TaskId {
    fixed(n)
}

pub(super) fn message_id(n: u32) -> MessageId {
    fixed(n)
}

/// Minutes before the moment that the samples are set in.
pub(super) fn minutes_ago(minutes: i64) -> Timestamp {
    crate::clock::now().plus_millis(-minutes * 60_000)
}

pub(super) const WIDE_TITLE: &str = "WWWWWWWWWW MMMMMMMMMM WWWWWWWWWW MMMMMMMMMM WWWWWWWWWW MMMM";

pub(super) fn node(
    n: u32,
    parent: Option<u32>,
    title: &str,
    mark: TaskMark,
    autopilot: bool,
    queued: usize,
) -> TaskNode {
    TaskNode {
        id: task_id(n),
        parent_id: parent.map(task_id),
        title: title.to_owned(),
        mark,
        autopilot,
        requests: Requests::of(&requests(n)),
        repository: (n < 4).then(|| "flightdeck".to_owned()),
        queued,
        place_in_line: (n == 13).then_some(2),
        updated_at: minutes_ago(i64::from(n * n)),
        created_at: Timestamp::from_millis(1_790_000_000_000 - i64::from(n)),
    }
}

/// The requests of some of the tasks, each of which stands otherwise.
fn requests(n: u32) -> Vec<TaskRequest> {
    let request = |number, state, checks, mergeable| TaskRequest {
        repository_id: fixed::<RepositoryId>(1),
        provider: Provider::Github,
        number,
        title: Some("Lock the migration".to_owned()),
        url: None,
        state: Some(state),
        checks: Some(checks),
        mergeable: Some(mergeable),
    };
    let ready = request(7, RequestState::Open, Checks::Passed, Mergeable::Ready);
    match n {
        1 => vec![
            request(8, RequestState::Open, Checks::Failed, Mergeable::NotYet),
            ready,
        ],
        2 => vec![ready],
        3 => vec![request(
            9,
            RequestState::Merged,
            Checks::Passed,
            Mergeable::NotYet,
        )],
        _ => Vec::new(),
    }
}

pub(super) fn nodes() -> Vec<TaskNode> {
    vec![
        node(
            1,
            None,
            "Investigate the flaky checkout test",
            TaskMark::Running,
            false,
            2,
        ),
        node(
            2,
            Some(1),
            "Check migration lock",
            TaskMark::ParentQuestion,
            true,
            0,
        ),
        node(
            3,
            Some(1),
            "Bisect the CI image",
            TaskMark::TurnFinished,
            true,
            0,
        ),
        node(
            4,
            Some(2),
            "Measure lock waits on Postgres",
            TaskMark::Running,
            true,
            1,
        ),
        node(
            5,
            None,
            "Upgrade the payment client",
            TaskMark::Question,
            false,
            0,
        ),
        node(
            6,
            None,
            "Write release notes",
            TaskMark::Permission,
            false,
            0,
        ),
        node(7, None, WIDE_TITLE, TaskMark::Backlog, false, 0),
        node(
            8,
            None,
            "Remove the old importer",
            TaskMark::WorkflowComplete,
            false,
            0,
        ),
        node(
            9,
            None,
            "Speed up the board query",
            TaskMark::Failed,
            false,
            0,
        ),
        node(
            10,
            None,
            "Port the worker to the new queue",
            TaskMark::Interrupted,
            false,
            0,
        ),
        node(
            11,
            None,
            "Try the second vendor",
            TaskMark::Cancelled,
            false,
            0,
        ),
        node(12, None, "Fix the sandbox", TaskMark::Preparing, false, 0),
        node(13, None, "Wait for the design", TaskMark::Blocked, false, 0),
    ]
}

pub(super) fn view(node: &TaskNode) -> TaskView {
    TaskView {
        id: node.id,
        workspace_id: fixed::<WorkspaceId>(1),
        workflow_id: fixed::<WorkflowId>(1),
        workflow_step_id: fixed::<StepId>(1),
        title: node.title.clone(),
        description: String::new(),
        state: TaskState::InProgress,
        priority: None,
        position: 0,
        wip_admitted: true,
        queued_for_step_id: None,
        queued_at: None,
        pending_move_step_id: None,
        workflow_notice: None,
        blocked: false,
        blocked_reason: None,
        depends_on: Vec::new(),
        blocks: Vec::new(),
        start_when_unblocked: false,
        parent_id: node.parent_id,
        autopilot: node.autopilot,
        purpose: Purpose::Work,
        origin: Origin::Manual,
        external_id: None,
        title_mode: TitleMode::Settled,
        agent_profile_id: None,
        executor_profile_id: None,
        working_directory: None,
        interrupted: false,
        archived_at: None,
        created_at: node.created_at,
        updated_at: node.updated_at,
        primary_session_id: None,
        primary_session_state: None,
        primary_session_pending_action: None,
        pending_action_revision: Revision {
            epoch: 0,
            sequence: 0,
        },
        task_pending_action: None,
        needs_operator: false,
        session_count: 1,
        queued_prompt_count: i64::try_from(node.queued).unwrap_or(0),
        primary_agent_name: Some("Claude".to_owned()),
        primary_executor_id: None,
        primary_executor_profile_id: None,
        primary_executor_name: None,
        error_message: (node.mark == TaskMark::Failed)
            .then(|| "The agent could not be started: no such file: claude-agent-acp".to_owned()),
        turn_started_at: (node.mark == TaskMark::Running).then_some(node.updated_at),
        repositories: node
            .repository
            .iter()
            .map(|name| TaskRepository {
                id: fixed(1),
                name: format!("owner/{name}"),
                local_path: None,
                provider: Provider::Github,
                host: Some("github.com".to_owned()),
                project_path: Some(format!("owner/{name}")),
                default_branch: None,
            })
            .collect(),
        prs: (1..=3)
            .find(|n| task_id(*n) == node.id)
            .map(requests)
            .unwrap_or_default(),
    }
}

fn option(id: &str, label: &str, description: &str) -> QuestionOption {
    QuestionOption {
        id: id.to_owned(),
        label: label.to_owned(),
        description: description.to_owned(),
    }
}

pub(super) fn clarification(questions: usize, agent_disconnected: bool) -> ClarificationView {
    let all = [
        Question {
            id: "q1".to_owned(),
            title: Some("Store".to_owned()),
            prompt: "Which store should the migration target?".to_owned(),
            options: vec![
                option(
                    "a",
                    "SQLite",
                    "Embedded, one file, nothing to run beside it.",
                ),
                option("b", "Postgres", "Hosted, for several nodes."),
            ],
            allow_custom_text: true,
        },
        Question {
            id: "q2".to_owned(),
            title: None,
            prompt: "What should happen to rows that do not parse?".to_owned(),
            options: Vec::new(),
            allow_custom_text: true,
        },
    ];
    ClarificationView {
        pending_id: fixed::<ClarificationId>(1),
        task_id: task_id(5),
        session_id: fixed::<SessionId>(1),
        questions: all.into_iter().take(questions).collect(),
        context: Some(
            "The schema differs in two places. I need this before I write the migration."
                .to_owned(),
        ),
        agent_disconnected,
        status: ClarificationStatus::Pending,
        response: None,
        created_at: minutes_ago(4),
        resolved_at: None,
    }
}

pub(super) fn permission() -> PermissionView {
    let option = |id: &str, name: &str, kind: &str| PermissionOption {
        option_id: id.to_owned(),
        name: name.to_owned(),
        kind: kind.to_owned(),
    };
    PermissionView {
        id: fixed::<PermissionId>(1),
        task_id: task_id(6),
        session_id: fixed::<SessionId>(1),
        title: "Run `cargo publish --dry-run` in /home/me/project".to_owned(),
        tool_call: serde_json::json!({"kind": "execute", "rawInput": {"command": "cargo publish --dry-run"}}),
        options: vec![
            option("y", "Allow once", "allow_once"),
            option("a", "Always allow", "allow_always"),
            option("n", "Reject", "reject_once"),
        ],
        created_at: minutes_ago(1),
    }
}

pub(super) fn parent_question(parent_cannot_answer: bool) -> ParentQuestionView {
    ParentQuestionView {
        id: fixed::<QuestionId>(1),
        child_task_id: task_id(2),
        child_session_id: fixed::<SessionId>(1),
        parent_task_id: task_id(1),
        parent_title: "Investigate the flaky checkout test".to_owned(),
        questions: clarification(1, false).questions,
        context: None,
        blocked_effect: Some("The migration is not written before it is decided.".to_owned()),
        status: QuestionStatus::Pending,
        created_at: minutes_ago(12),
        parent_cannot_answer,
        parent_rests: false,
    }
}
