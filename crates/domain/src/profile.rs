//! The MCP profile: which tools a session sees. Made by the backend alone; nothing an agent sends chooses tools.

use crate::repository::Provider;
use crate::task::Purpose;
use serde::{Deserialize, Serialize};

words! {
    /// The kind of caller a tool list is made for.
    Surface("surface") {
        /// A session on a board task.
        KanbanTask = "kanban-task",
        /// A session on an office task.
        OfficeTask = "office-task",
        /// A configuration session.
        Configuration = "configuration",
        /// An outside client with an access token.
        External = "external",
    }
}

words! {
    /// Something a session may do beyond what its surface gives.
    Capability("capability") {
        /// May ask the operator.
        UserQuestion = "user-question",
        /// May ask its direct parent.
        ParentQuestion = "parent-question",
        /// May choose the task's title.
        TaskTitle = "task-title",
    }
}

/// Which tools a session sees. Runtime state: rebuilt at launch, resume and authorised change, never durable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpProfile {
    /// The kind of caller.
    pub surface: Surface,
    /// Sorted, without repeats.
    pub capabilities: Vec<Capability>,
    /// Providers of attached repositories; sorted, without repeats.
    pub providers: Vec<String>,
}

impl McpProfile {
    /// A profile with its lists sorted and freed of repeats, so that equal profiles compare equal.
    #[must_use]
    pub fn new(surface: Surface, capabilities: &[Capability], providers: &[String]) -> Self {
        let mut capabilities = capabilities.to_vec();
        capabilities.sort_unstable();
        capabilities.dedup();
        let mut providers = providers.to_vec();
        providers.sort_unstable();
        providers.dedup();
        Self {
            surface,
            capabilities,
            providers,
        }
    }

    /// Whether a repository of the task is with `provider`.
    #[must_use]
    pub fn reaches(&self, provider: Provider) -> bool {
        self.providers.iter().any(|name| name == provider.as_str())
    }

    /// Whether the profile has `capability`.
    #[must_use]
    pub fn has(&self, capability: Capability) -> bool {
        self.capabilities.contains(&capability)
    }
}

/// The one question tool of a task session, or none. One value, so that a session can never have both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuestionRoute {
    /// A normal task asks its operator.
    Operator,
    /// An autopilot task with a parent asks that parent.
    Parent,
    /// An autopilot task without a parent, or a raw terminal, asks nobody.
    Nobody,
}

/// Whom a session may ask (task-domain 4.1).
#[must_use]
pub const fn question_route(autopilot: bool, has_parent: bool, passthrough: bool) -> QuestionRoute {
    match (passthrough, autopilot, has_parent) {
        (true, _, _) | (false, true, false) => QuestionRoute::Nobody,
        (false, true, true) => QuestionRoute::Parent,
        (false, false, _) => QuestionRoute::Operator,
    }
}

/// The profile of a session, of what its task is for, of how the session is run and of who keeps what the task is about. A provider
/// for whom there are no tools adds nothing.
#[must_use]
pub fn resolve(
    purpose: Purpose,
    autopilot: bool,
    has_parent: bool,
    passthrough: bool,
    owns_title: bool,
    providers: &[Provider],
) -> McpProfile {
    let mut capabilities = Vec::new();
    match question_route(autopilot, has_parent, passthrough) {
        QuestionRoute::Operator => capabilities.push(Capability::UserQuestion),
        QuestionRoute::Parent => capabilities.push(Capability::ParentQuestion),
        QuestionRoute::Nobody => {}
    }
    if owns_title && !passthrough {
        capabilities.push(Capability::TaskTitle);
    }
    let surface = match purpose {
        Purpose::Work => Surface::KanbanTask,
        Purpose::Configuration => Surface::Configuration,
        Purpose::Office => Surface::OfficeTask,
    };
    let providers: Vec<String> = providers
        .iter()
        .filter_map(|provider| provider.with_tools())
        .filter(|_| !passthrough)
        .map(str::to_owned)
        .collect();
    McpProfile::new(surface, &capabilities, &providers)
}

/// The profile of an outside client: no question tool, no tool that needs a session of its own.
#[must_use]
pub fn external() -> McpProfile {
    McpProfile::new(Surface::External, &[], &[])
}

/// The tools of a profile, by canonical name, in the order they are listed.
#[must_use]
pub fn tools(profile: &McpProfile) -> Vec<&'static str> {
    GROUPS
        .iter()
        .filter(|group| (group.enabled)(profile))
        .flat_map(|group| group.tools)
        .copied()
        .collect()
}

/// A group of tools that is listed or left out as one.
struct Group {
    enabled: fn(&McpProfile) -> bool,
    tools: &'static [&'static str],
}

fn on_task(profile: &McpProfile) -> bool {
    profile.surface == Surface::KanbanTask
}

fn on_task_or_external(profile: &McpProfile) -> bool {
    matches!(profile.surface, Surface::KanbanTask | Surface::External)
}

fn in_office(profile: &McpProfile) -> bool {
    profile.surface == Surface::OfficeTask
}

fn on_task_or_office(profile: &McpProfile) -> bool {
    on_task(profile) || in_office(profile)
}

fn configures(profile: &McpProfile) -> bool {
    matches!(profile.surface, Surface::Configuration | Surface::External)
}

fn on_task_or_configures(profile: &McpProfile) -> bool {
    on_task(profile) || configures(profile)
}

const GROUPS: &[Group] = &[
    Group {
        // First: a client shows a model little more than the beginning of a list.
        enabled: |profile| profile.surface == Surface::External,
        tools: &[
            "run_task",
            "check_task",
            "get_task",
            "list_tasks",
            "cancel_task",
        ],
    },
    Group {
        enabled: on_task_or_configures,
        tools: &[
            "list_workspaces_kandev",
            "list_workflows_kandev",
            "list_workflow_steps_kandev",
            "list_tasks_kandev",
            "list_agents_kandev",
            "list_executor_profiles_kandev",
        ],
    },
    Group {
        enabled: on_task_or_external,
        tools: &["create_task_kandev", "update_task_kandev"],
    },
    Group {
        enabled: on_task_or_configures,
        tools: &[
            "move_task_kandev",
            "archive_task_kandev",
            "delete_task_kandev",
        ],
    },
    Group {
        enabled: on_task_or_external,
        tools: &[
            "add_task_dependency_kandev",
            "remove_task_dependency_kandev",
        ],
    },
    Group {
        enabled: on_task,
        tools: &["stop_task_kandev"],
    },
    Group {
        enabled: on_task_or_office,
        tools: &["list_related_tasks_kandev"],
    },
    Group {
        enabled: on_task,
        tools: &["message_task_kandev", "spawn_session_kandev"],
    },
    Group {
        enabled: on_task_or_external,
        tools: &["list_task_sessions_kandev"],
    },
    Group {
        enabled: on_task_or_configures,
        tools: &["get_task_conversation_kandev"],
    },
    Group {
        enabled: configures,
        tools: &[
            "update_task_state_kandev",
            "list_repositories_kandev",
            "create_workflow_kandev",
            "update_workflow_kandev",
            "delete_workflow_kandev",
            "import_workflow_kandev",
            "export_workflow_kandev",
            "create_workflow_step_kandev",
            "update_workflow_step_kandev",
            "delete_workflow_step_kandev",
            "reorder_workflow_steps_kandev",
            "update_agent_kandev",
            "create_agent_profile_kandev",
            "list_agent_profiles_kandev",
            "update_agent_profile_kandev",
            "delete_agent_profile_kandev",
            "get_mcp_config_kandev",
            "update_mcp_config_kandev",
            "list_executors_kandev",
            "create_executor_profile_kandev",
            "update_executor_profile_kandev",
            "delete_executor_profile_kandev",
        ],
    },
    Group {
        enabled: |profile| profile.surface == Surface::External,
        tools: &[
            "list_pending_questions_kandev",
            "answer_question_kandev",
            "list_pending_agent_permissions_kandev",
            "resolve_agent_permission_kandev",
        ],
    },
    Group {
        enabled: in_office,
        tools: &[
            "list_task_documents_kandev",
            "get_task_document_kandev",
            "write_task_document_kandev",
            "record_step_decision_kandev",
        ],
    },
    Group {
        enabled: on_task_or_office,
        tools: &["step_complete_kandev"],
    },
    Group {
        enabled: on_task_or_office,
        tools: &[
            "create_task_plan_kandev",
            "get_task_plan_kandev",
            "update_task_plan_kandev",
            "edit_task_plan_kandev",
            "delete_task_plan_kandev",
            "list_task_plan_revisions_kandev",
            "get_task_plan_revision_kandev",
            "restore_task_plan_revision_kandev",
        ],
    },
    Group {
        enabled: on_task,
        tools: &[
            "show_walkthrough_kandev",
            "get_walkthrough_kandev",
            "delete_walkthrough_kandev",
            "publish_review_findings_kandev",
        ],
    },
    Group {
        enabled: on_task_or_office,
        tools: &["show_rich_output_kandev"],
    },
    Group {
        enabled: on_task,
        tools: &["get_diagnostic_bundle_kandev"],
    },
    Group {
        enabled: |p| on_task(p) && p.reaches(Provider::Github),
        tools: &[
            "get_task_pr_automation_kandev",
            "update_task_pr_automation_kandev",
        ],
    },
    Group {
        enabled: |p| on_task(p) && p.reaches(Provider::Gitlab),
        tools: &[
            "get_task_mr_automation_kandev",
            "update_task_mr_automation_kandev",
        ],
    },
    Group {
        enabled: |p| p.has(Capability::UserQuestion),
        tools: &["ask_user_question_kandev"],
    },
    Group {
        enabled: |p| on_task(p) && p.has(Capability::ParentQuestion),
        tools: &["ask_parent_question_kandev"],
    },
    Group {
        enabled: |p| on_task(p) && p.has(Capability::TaskTitle),
        tools: &["set_task_title_kandev"],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_autopilot_task_differs_from_a_normal_one_by_the_question_tool_only() {
        let normal = tools(&resolve(Purpose::Work, false, true, false, false, &[]));
        let autopilot = tools(&resolve(Purpose::Work, true, true, false, false, &[]));
        let only_normal: Vec<_> = normal.iter().filter(|t| !autopilot.contains(t)).collect();
        let only_autopilot: Vec<_> = autopilot.iter().filter(|t| !normal.contains(t)).collect();
        assert_eq!(only_normal, [&"ask_user_question_kandev"]);
        assert_eq!(only_autopilot, [&"ask_parent_question_kandev"]);
    }

    #[test]
    fn no_profile_lists_both_question_tools() {
        for (bits, purpose) in
            (0..16u8).flat_map(|bits| Purpose::ALL.iter().map(move |p| (bits, *p)))
        {
            let flag = |bit: u8| bits & bit != 0;
            let profile = resolve(purpose, flag(1), flag(2), flag(4), flag(8), &[]);
            let asks = tools(&profile)
                .iter()
                .filter(|t| t.starts_with("ask_"))
                .count();
            assert!(asks <= 1, "{profile:?}");
        }
    }

    #[test]
    fn an_office_makes_no_tasks() {
        let listed = tools(&resolve(Purpose::Office, false, true, false, false, &[]));
        for tool in [
            "create_task_kandev",
            "spawn_session_kandev",
            "message_task_kandev",
        ] {
            assert!(!listed.contains(&tool), "{tool}");
        }
    }

    #[test]
    fn a_provider_adds_its_tools_to_tasks_and_one_that_nobody_knows_adds_none() {
        let of = |purpose, providers: &[Provider]| {
            let profile = resolve(purpose, false, false, false, false, providers);
            let listed = tools(&profile).into_iter();
            listed
                .filter(|tool| tool.ends_with("_automation_kandev"))
                .collect::<Vec<_>>()
        };
        let pulls = [
            "get_task_pr_automation_kandev",
            "update_task_pr_automation_kandev",
        ];
        assert_eq!(of(Purpose::Work, &[Provider::Github]), pulls);
        assert!(of(Purpose::Work, &[Provider::Unknown]).is_empty());
        assert!(of(Purpose::Office, Provider::ALL).is_empty());
        let known = resolve(Purpose::Work, false, false, false, false, Provider::ALL);
        assert_eq!(known.providers, ["github", "gitlab"]);
        let none = resolve(Purpose::Work, false, false, false, false, &[]);
        let unknown = [Provider::Unknown];
        assert_eq!(
            resolve(Purpose::Work, false, false, false, false, &unknown),
            none
        );
    }

    #[test]
    fn tool_lists() {
        let mut text = String::new();
        for (name, profile) in [
            (
                "normal task",
                resolve(Purpose::Work, false, false, false, false, &[]),
            ),
            (
                "normal task that owns its title",
                resolve(Purpose::Work, false, false, false, true, &[]),
            ),
            (
                "autopilot child",
                resolve(Purpose::Work, true, true, false, false, &[]),
            ),
            (
                "autopilot root",
                resolve(Purpose::Work, true, false, false, false, &[]),
            ),
            (
                "configuration",
                resolve(Purpose::Configuration, false, false, false, false, &[]),
            ),
            (
                "task about repositories of both providers",
                resolve(Purpose::Work, false, false, false, false, Provider::ALL),
            ),
            (
                "raw terminal about them",
                resolve(Purpose::Work, false, false, true, false, Provider::ALL),
            ),
            (
                "office",
                resolve(Purpose::Office, false, false, false, false, &[]),
            ),
            ("external", external()),
        ] {
            text.push_str(&format!("{name}\n  {}\n", tools(&profile).join("\n  ")));
        }
        insta::assert_snapshot!(text);
    }
}
