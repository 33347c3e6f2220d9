//! Mode and model of a live agent: what it was asked for last, and what is still to be put to it before a prompt, since a step
//! of the workflow may have chosen otherwise meanwhile.
//!
//! An agent that does not offer a choice, refuses it or does not answer goes on with its own: that is said in the transcript,
//! once for each choice.

use agents::acp::{AgentHandle, Chosen, Offer, Subject};
use board::{Delivery, LaunchPlan};
use std::time::Duration;

/// How long an agent may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// What an agent offers and was asked for.
#[derive(Debug, Default)]
pub(super) struct Choices {
    offer: Offer,
    mode: Wish,
    model: Wish,
}

#[derive(Debug, Default)]
struct Wish {
    /// What it was last asked for, whatever it said to that.
    asked: Option<String>,
    /// What it began with of its own.
    own: Option<String>,
}

impl Wish {
    fn new(asked: Option<&String>, current: Option<&String>) -> Self {
        Self {
            asked: asked.cloned(),
            own: current.filter(|_| asked.is_none()).cloned(),
        }
    }

    /// What to ask for now so that `wanted` holds; without one, what the agent began with.
    fn due(&self, wanted: Option<&String>) -> Option<String> {
        match wanted {
            Some(wanted) => (self.asked.as_ref() != Some(wanted)).then(|| wanted.clone()),
            None => self.asked.as_ref().and(self.own.clone()),
        }
    }
}

impl Choices {
    /// Those of an agent that was just started by `plan`.
    pub(super) fn of(plan: &LaunchPlan, offer: Offer) -> Self {
        Self {
            mode: Wish::new(plan.profile.mode.as_ref(), offer.current_mode.as_ref()),
            model: Wish::new(plan.profile.model.as_ref(), offer.current_model.as_ref()),
            offer,
        }
    }

    /// What is to be put to the agent before a prompt.
    pub(super) fn due(&self, delivery: &Delivery) -> Vec<(Subject, String)> {
        let mode = self.mode.due(delivery.mode.as_ref());
        let model = self.model.due(delivery.model.as_ref());
        [
            mode.map(|mode| (Subject::Mode, mode)),
            model.map(|model| (Subject::Model, model)),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Puts it to the agent, whose events must be read meanwhile; what it does not do is told in words for a person.
    pub(super) async fn ask(
        &mut self,
        agent: &AgentHandle,
        due: Vec<(Subject, String)>,
    ) -> Vec<String> {
        let mut remarks = Vec::new();
        for (subject, wanted) in due {
            let answer = agent.choose(&mut self.offer, subject, &wanted);
            let chosen = match tokio::time::timeout(PATIENCE, answer).await {
                Ok(Ok(chosen)) => chosen,
                // The process is gone; whoever sends the prompt finds that out.
                Ok(Err(_)) => return remarks,
                Err(_) => Chosen::Refused("it did not answer".to_owned()),
            };
            remarks.extend(remark("step", subject, &wanted, &chosen));
            let wish = match subject {
                Subject::Mode => &mut self.mode,
                Subject::Model => &mut self.model,
            };
            // Asked for its own again, it is as if it had never been asked.
            wish.asked = (wish.own.as_ref() != Some(&wanted)).then_some(wanted);
        }
        remarks
    }
}

/// What `who` asked for and the agent does not do, in words for a person.
pub(super) fn remark(who: &str, subject: Subject, wanted: &str, chosen: &Chosen) -> Option<String> {
    let why = match chosen {
        Chosen::Set | Chosen::NotAsked => return None,
        Chosen::NotOffered => "does not offer it".to_owned(),
        Chosen::Refused(words) => format!("refused it: {words}"),
    };
    let what = match subject {
        Subject::Mode => "mode",
        Subject::Model => "model",
    };
    Some(format!(
        "The {who} asks for the {what} \"{wanted}\", but the agent {why}. It goes on with its own."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_asked_when_another_choice_is_wanted_and_once() {
        let text = |word: &str| Some(word.to_owned());
        let own = Wish::new(None, text("ask").as_ref());
        assert_eq!(own.due(None), None);
        assert_eq!(own.due(text("plan").as_ref()), text("plan"));
        let asked = Wish {
            asked: text("plan"),
            ..own
        };
        assert_eq!(asked.due(text("plan").as_ref()), None);
        assert_eq!(asked.due(None), text("ask"), "what it began with");
        let by_profile = Wish::new(text("auto").as_ref(), text("auto").as_ref());
        assert_eq!(
            by_profile.due(None),
            None,
            "nobody knows what it began with"
        );
    }
}
