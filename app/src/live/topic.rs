//! What a view can depend on, and which events concern it.

use domain::event::{Event, EventKind};
use domain::ids::{SessionId, TaskId, WorkspaceId};

/// Something a view shows. Fine enough that a streaming transcript does not read the board again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Topic {
    /// Workspaces, workflows, agents and profiles.
    Setup,
    /// What needs the operator, in all workspaces.
    Attention,
    /// Cards, tree and steps of a workspace.
    Tasks(WorkspaceId),
    /// One task and its sessions, queue, questions and permissions.
    Task(TaskId),
    /// The transcript of one session.
    Transcript(SessionId),
    /// A task's plan, walkthrough and review findings.
    Papers(TaskId),
    /// That a session's agent said or did something.
    Said(SessionId),
    /// The runs of outside clients, all of them.
    Runs,
    /// How outside clients wait for their runs. It is not in the event log: the feed tells of it by a name of its own.
    Waits,
    /// AI jobs, all of them. They are not in the event log: the feed tells of them by a name of their own.
    Jobs,
}

/// The topics an event concerns.
#[must_use]
pub(super) fn of(event: &Event) -> Vec<Topic> {
    let tasks = event.workspace_id.map(Topic::Tasks);
    let task = event.task_id.map(Topic::Task);
    let transcript = event.session_id.map(Topic::Transcript);
    let said = event.session_id.map(Topic::Said);
    let runs = Some(Topic::Runs);
    let concerned: [Option<Topic>; 5] = match event.kind {
        EventKind::WorkspaceUpdated | EventKind::AgentUpdated => {
            [Some(Topic::Setup), None, None, None, None]
        }
        EventKind::WorkflowUpdated => [Some(Topic::Setup), tasks, None, None, None],
        EventKind::MessageAdded | EventKind::MessageUpdated => [transcript, said, None, None, None],
        EventKind::SessionInfoUpdated => [task, None, None, None, None],
        EventKind::PlanChanged | EventKind::WalkthroughChanged | EventKind::ReviewChanged => {
            [event.task_id.map(Topic::Papers), None, None, None, None]
        }
        EventKind::TaskCreated
        | EventKind::TaskUpdated
        | EventKind::TaskDeleted
        | EventKind::TaskStateChanged
        | EventKind::SessionStateChanged
        | EventKind::ClarificationChanged
        | EventKind::PermissionChanged => [tasks, task, transcript, runs, Some(Topic::Attention)],
        EventKind::TurnStarted
        | EventKind::TurnCompleted
        | EventKind::QueueChanged
        | EventKind::ParentQuestionChanged => [tasks, task, transcript, runs, None],
    };
    concerned.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::time::Timestamp;

    fn event(kind: EventKind) -> Event {
        Event {
            id: 1,
            kind,
            workspace_id: Some(WorkspaceId::new()),
            task_id: Some(TaskId::new()),
            session_id: Some(SessionId::new()),
            subject_id: None,
            created_at: Timestamp::from_millis(0),
        }
    }

    #[test]
    fn a_streaming_answer_concerns_its_transcript_alone() {
        let event = event(EventKind::MessageUpdated);
        let session = event.session_id.unwrap();
        assert_eq!(
            of(&event),
            [Topic::Transcript(session), Topic::Said(session)]
        );
    }

    #[test]
    fn every_event_concerns_somebody() {
        for kind in EventKind::ALL {
            assert!(!of(&event(*kind)).is_empty(), "{kind}");
        }
    }

    #[test]
    fn what_may_need_the_operator_reaches_the_count() {
        for kind in [
            EventKind::ClarificationChanged,
            EventKind::PermissionChanged,
            EventKind::TaskStateChanged,
        ] {
            assert!(of(&event(kind)).contains(&Topic::Attention), "{kind}");
        }
    }
}
