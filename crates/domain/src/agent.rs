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
    /// When it was made.
    pub created_at: Timestamp,
    /// Last change.
    pub updated_at: Timestamp,
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
    /// When it was made.
    pub created_at: Timestamp,
    /// Last change.
    pub updated_at: Timestamp,
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
    if agent.supports_mcp == Some(false) {
        return Err(Refusal::validation(format!(
            "autopilot needs Flightdeck's tools, and agent \"{}\" does not take MCP servers over HTTP: choose another agent or \
             create the task without autopilot",
            agent.name
        )));
    }
    Ok(())
}
