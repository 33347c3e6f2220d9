//! Agents by command line, and their profiles.

use crate::error::Refusal;
use crate::ids::{AgentId, ProfileId};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A coding agent that speaks ACP on stdio, started by its command line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Agent {
    /// Its id.
    pub id: AgentId,
    /// What people call it; unique.
    pub name: String,
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Environment variables set for it. Values may be secrets: they never leave the server.
    pub env: BTreeMap<String, String>,
    /// Whether its last handshake announced MCP over HTTP; unknown before the first.
    pub supports_mcp: Option<bool>,
    /// Whether it takes MCP over HTTP, when somebody knows better than its handshake.
    pub supports_mcp_override: Option<bool>,
    /// When it was made.
    pub created_at: Timestamp,
    /// Last change.
    pub updated_at: Timestamp,
}

impl Agent {
    /// Whether it takes MCP over HTTP, as far as it is known.
    #[must_use]
    pub fn takes_mcp(&self) -> Option<bool> {
        self.supports_mcp_override.or(self.supports_mcp)
    }
}

/// How an agent is run: model, mode, and whether it is a raw terminal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentProfile {
    /// Its id.
    pub id: ProfileId,
    /// The agent it belongs to.
    pub agent_id: AgentId,
    /// What people call it.
    pub name: String,
    /// The model to ask for.
    pub model: Option<String>,
    /// The mode to set right after the conversation is opened.
    pub mode: Option<String>,
    /// A raw terminal: no tools of ours, no hidden context, no autopilot.
    pub passthrough: bool,
    /// What its agents ask permission for is allowed without a person, by the first of the agent's own options that allows.
    pub auto_approve: bool,
    /// When it was made.
    pub created_at: Timestamp,
    /// Last change.
    pub updated_at: Timestamp,
}

/// How many rows name a profile.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProfileUse {
    /// Sessions that run, or ran, with it.
    pub sessions: i64,
    /// Tasks whose sessions are to use it.
    pub tasks: i64,
    /// Steps that pin it.
    pub steps: i64,
    /// Workflows whose default it is.
    pub workflows: i64,
}

/// Refuses to remove a profile that something uses: conversations keep what they ran with, and nothing is given another agent
/// unasked.
pub fn check_unused(profile: &AgentProfile, used: ProfileUse) -> Result<(), Refusal> {
    let by = [
        (used.sessions, "session"),
        (used.tasks, "task"),
        (used.steps, "step"),
        (used.workflows, "workflow"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, noun)| format!("{count} {noun}{}", if count == 1 { "" } else { "s" }))
    .collect::<Vec<_>>();
    if by.is_empty() {
        return Ok(());
    }
    Err(Refusal::conflict(format!(
        "profile \"{}\" is used by {}: give steps and workflows another one; tasks and their sessions keep theirs until they are deleted",
        profile.name,
        by.join(", ")
    )))
}

/// Refuses to start an agent that somebody knows to take no tools, in a session that needs them: it never goes on without (rulings 3).
///
/// What only its handshake said does not count here: it may have been replaced by one that takes them since.
pub fn check_tools(agent: &Agent, needs_tools: bool) -> Result<(), Refusal> {
    if needs_tools && agent.supports_mcp_override == Some(false) {
        return Err(Refusal::conflict(format!(
            "the agent \"{}\" is set not to take MCP servers over HTTP (supports_mcp), so it would work without Flightdeck's tools: take \
             that back, or choose a profile that is a raw terminal",
            agent.name
        )));
    }
    Ok(())
}

/// Refuses a file of MCP servers in an agent's own format. An agent that speaks ACP is told its servers when a conversation is
/// opened; what it reads beside that is between it and its operator.
pub fn check_config_path(path: Option<&str>) -> Result<(), Refusal> {
    if path.is_some_and(|path| !path.trim().is_empty()) {
        return Err(Refusal::validation(
            "mcp_config_path is not taken: Flightdeck tells agents their MCP servers when a conversation is opened, and reads and writes \
             no files of theirs. Give the profile its servers with update_mcp_config_kandev, or name the file in the agent's own \
             arguments",
        ));
    }
    Ok(())
}

/// Refuses autopilot for a profile that cannot be given the task's tools (rulings 3).
///
/// An agent that was never started is given the benefit of the doubt: if the lack shows at launch, the launch fails.
pub fn check_autopilot(agent: &Agent, profile: &AgentProfile) -> Result<(), Refusal> {
    if profile.passthrough {
        return Err(Refusal::validation(format!(
            "autopilot needs Flightdeck's tools, and profile \"{}\" is a raw terminal without them: choose another profile or \
             create the task without autopilot",
            profile.name
        )));
    }
    if agent.takes_mcp() == Some(false) {
        return Err(Refusal::validation(format!(
            "autopilot needs Flightdeck's tools, and agent \"{}\" does not take MCP servers over HTTP: choose another agent or \
             create the task without autopilot",
            agent.name
        )));
    }
    Ok(())
}
