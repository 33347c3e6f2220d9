//! What the workflow makes a session for, beside the task's own (task-domain 1.5).

use domain::workflow::Step;

/// What entering a step has a session of its own do.
#[derive(Debug)]
pub(crate) struct Errand {
    /// How later entries find the session, whatever it is called by then.
    pub(crate) key: String,
    /// What the session is called at first.
    pub(crate) name: String,
}

impl Errand {
    /// A run that a step asks for.
    pub(crate) fn of_step(step: &Step) -> Self {
        Self {
            key: format!("run:{}", step.id),
            name: step.name.clone(),
        }
    }

    /// One review of a task, whichever step asks for it.
    pub(crate) fn review() -> Self {
        Self {
            key: "review".to_owned(),
            name: "Code review".to_owned(),
        }
    }
}
