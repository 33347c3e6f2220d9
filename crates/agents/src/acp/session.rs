//! What an agent offers to choose for a conversation, and how a choice is made.
//!
//! Agents announce modes and models in up to three ways: as settings (`configOptions`), as `modes`, and, older, as
//! `models`. Settings win where both exist, since agents that have them keep the others for old clients.

use serde_json::{Value, json};

use super::normalise::{config_options, string};
use crate::event::ConfigOption;

/// A mode that an agent can work in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mode {
    /// Id to set it by.
    pub id: String,
    /// Human-readable.
    pub name: String,
}

/// What may be chosen in a conversation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Offer {
    /// The modes, when the agent has the word.
    pub modes: Vec<Mode>,
    /// The mode now.
    pub current_mode: Option<String>,
    /// The models, when the agent announces them by themselves.
    pub models: Vec<Mode>,
    /// The model now.
    pub current_model: Option<String>,
    /// The settings, which may hold mode and model too.
    pub config_options: Vec<ConfigOption>,
}

/// What became of a wish from the agent's profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Chosen {
    /// Nothing was wished for.
    NotAsked,
    /// It holds now.
    Set,
    /// The agent does not offer it and works with its own choice.
    NotOffered,
    /// The agent offers it and refused it all the same.
    Refused(String),
}

/// What a wish is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// How freely it acts.
    Mode,
    /// What it thinks with.
    Model,
}

/// How a wish is put to the agent.
#[derive(Debug, PartialEq)]
pub(crate) enum Step {
    /// It holds already.
    Nothing,
    /// A request to send.
    Call { method: &'static str, params: Value },
    /// The agent does not offer it.
    NotOffered,
}

impl Offer {
    /// Reads the answer to `session/new`, `session/load` or `session/set_config_option`.
    pub(crate) fn read(&mut self, answer: &Value) {
        if let Some(options) = answer
            .get("configOptions")
            .filter(|options| options.is_array())
        {
            self.config_options = config_options(options);
        }
        if let Some(modes) = answer.get("modes").filter(|modes| modes.is_object()) {
            self.modes = named(modes.get("availableModes"), "id");
            self.current_mode = string(modes, "currentModeId");
        }
        if let Some(models) = answer.get("models").filter(|models| models.is_object()) {
            self.models = named(models.get("availableModels"), "modelId");
            self.current_model = string(models, "currentModelId");
        }
    }

    /// What to send so that the wish holds.
    pub(crate) fn step(&self, session_id: &str, subject: Subject, wanted: &str) -> Step {
        let (category, list, current, method, key) = match subject {
            Subject::Mode => (
                "mode",
                &self.modes,
                &self.current_mode,
                "session/set_mode",
                "modeId",
            ),
            Subject::Model => (
                "model",
                &self.models,
                &self.current_model,
                "session/set_model",
                "modelId",
            ),
        };
        let setting = self.config_options.iter().find(|option| {
            let about = option.category.as_deref().unwrap_or(&option.id);
            about == category && option.choices.iter().any(|choice| choice.value == wanted)
        });
        if let Some(setting) = setting {
            if setting.current == wanted {
                return Step::Nothing;
            }
            return Step::Call {
                method: "session/set_config_option",
                params: json!({"sessionId": session_id, "configId": setting.id, "value": wanted}),
            };
        }
        if !list.iter().any(|each| each.id == wanted) {
            return Step::NotOffered;
        }
        if current.as_deref() == Some(wanted) {
            return Step::Nothing;
        }
        Step::Call {
            method,
            params: json!({"sessionId": session_id, key: wanted}),
        }
    }

    /// Notes that a wish was granted.
    pub(crate) fn granted(&mut self, subject: Subject, wanted: &str, answer: &Value) {
        match subject {
            Subject::Mode => self.current_mode = Some(wanted.to_owned()),
            Subject::Model => self.current_model = Some(wanted.to_owned()),
        }
        self.read(answer);
    }
}

fn named(list: Option<&Value>, id_key: &str) -> Vec<Mode> {
    let Some(Value::Array(items)) = list else {
        return Vec::new();
    };
    items
        .iter()
        .filter_map(|item| {
            let id = string(item, id_key)?;
            Some(Mode {
                name: string(item, "name").unwrap_or_else(|| id.clone()),
                id,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(answer: &Value) -> Offer {
        let mut offer = Offer::default();
        offer.read(answer);
        offer
    }

    #[test]
    fn a_mode_is_set_by_the_agents_own_word_for_it() {
        let plain = offer(
            &json!({"modes": {"currentModeId": "auto", "availableModes": [
            {"id": "auto", "name": "Auto"}, {"id": "default", "name": null}]}}),
        );
        assert_eq!(plain.step("s", Subject::Mode, "auto"), Step::Nothing);
        assert_eq!(
            plain.step("s", Subject::Mode, "default"),
            Step::Call {
                method: "session/set_mode",
                params: json!({"sessionId": "s", "modeId": "default"}),
            }
        );
        assert_eq!(plain.step("s", Subject::Mode, "yolo"), Step::NotOffered);
        assert_eq!(plain.step("s", Subject::Model, "any"), Step::NotOffered);
    }

    #[test]
    fn a_setting_wins_over_the_older_way() {
        let both = offer(&json!({
            "models": {"currentModelId": "small", "availableModels": [{"modelId": "small"}, {"modelId": "large"}]},
            "configOptions": [{"id": "llm", "name": "Model", "category": "model", "type": "select",
                "currentValue": "small", "options": [{"value": "small", "name": "S"}, {"value": "large", "name": "L"}]}]
        }));
        assert_eq!(both.step("s", Subject::Model, "small"), Step::Nothing);
        assert_eq!(
            both.step("s", Subject::Model, "large"),
            Step::Call {
                method: "session/set_config_option",
                params: json!({"sessionId": "s", "configId": "llm", "value": "large"}),
            }
        );
    }

    #[test]
    fn an_agent_that_offers_nothing_is_left_alone() {
        let none = offer(&json!({"modes": null, "configOptions": null}));
        assert_eq!(none, Offer::default());
        assert_eq!(none.step("s", Subject::Mode, "default"), Step::NotOffered);
    }

    #[test]
    fn the_answer_to_a_choice_may_change_the_offer() {
        let mut changing = offer(
            &json!({"modes": {"currentModeId": "a", "availableModes": [{"id": "a"}, {"id": "b"}]}}),
        );
        changing.granted(
            Subject::Mode,
            "b",
            &json!({"configOptions": [{"id": "x", "currentValue": true}]}),
        );
        assert_eq!(changing.current_mode.as_deref(), Some("b"));
        assert_eq!(changing.config_options.len(), 1);
    }
}
