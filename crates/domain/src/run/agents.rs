//! The names by which outside clients choose an agent: slugs, derived from what people called agents and profiles.

use crate::agent::{Agent, AgentProfile};
use crate::ids::ProfileId;

/// Name of the profile that every agent gets with it; its slug is the agent's alone.
const DEFAULT_PROFILE: &str = "Default";

/// The profiles that runs can be given to, with their slugs, the default one first. Raw terminals are left out: they have no
/// result that could be told from the rest of the screen.
///
/// `agents` and `profiles` come by age, so a slug stays with whoever had it first and a later one gets a number.
#[must_use]
pub fn choices(agents: &[Agent], profiles: &[AgentProfile]) -> Vec<(String, ProfileId)> {
    let mut choices: Vec<(String, ProfileId)> = Vec::new();
    for profile in profiles.iter().filter(|profile| !profile.passthrough) {
        let Some(agent) = agents.iter().find(|agent| agent.id == profile.agent_id) else {
            continue;
        };
        let words = if profile.name == DEFAULT_PROFILE {
            agent.name.clone()
        } else {
            format!("{} {}", agent.name, profile.name)
        };
        let plain = slug(&words);
        let mut unique = plain.clone();
        let mut number = 2;
        while choices.iter().any(|(taken, _)| *taken == unique) {
            unique = format!("{plain}-{number}");
            number += 1;
        }
        choices.push((unique, profile.id));
    }
    choices
}

/// Words as a slug: lower-case ASCII letters, digits and single hyphens.
fn slug(words: &str) -> String {
    let mut slug = String::new();
    for c in words.chars() {
        if c.is_ascii_alphanumeric() {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.ends_with('-') && !slug.is_empty() {
            slug.push('-');
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() {
        "agent".to_owned()
    } else {
        slug.chars().take(64).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::AgentId;
    use crate::time::Timestamp;
    use std::collections::BTreeMap;

    const AT: Timestamp = Timestamp::from_millis(0);

    fn agent(name: &str) -> Agent {
        Agent {
            id: AgentId::new(),
            name: name.to_owned(),
            command: "x".to_owned(),
            args: Vec::new(),
            env: BTreeMap::new(),
            supports_mcp: None,
            supports_mcp_override: None,
            created_at: AT,
            updated_at: AT,
        }
    }

    fn profile(agent: &Agent, name: &str, passthrough: bool) -> AgentProfile {
        AgentProfile {
            id: ProfileId::new(),
            agent_id: agent.id,
            name: name.to_owned(),
            model: None,
            mode: None,
            passthrough,
            auto_approve: false,
            created_at: AT,
            updated_at: AT,
        }
    }

    #[test]
    fn slugs_are_plain_unique_and_stay_with_the_oldest() {
        let agents = [agent("Claude Code"), agent("claude-code"), agent("Ü!")];
        let profiles = [
            profile(&agents[0], "Default", false),
            profile(&agents[0], "Plan Mode", false),
            profile(&agents[0], "Shell", true),
            profile(&agents[1], "Default", false),
            profile(&agents[2], "Default", false),
        ];
        let choices = choices(&agents, &profiles);
        let slugs: Vec<&str> = choices.iter().map(|(slug, _)| slug.as_str()).collect();
        assert_eq!(
            slugs,
            [
                "claude-code",
                "claude-code-plan-mode",
                "claude-code-2",
                "agent"
            ]
        );
        assert_eq!(choices[0].1, profiles[0].id);
    }
}
