//! What entering a step has other agents do beside the task's own: a run in a session of the step's, the same words to all who
//! work on the task, a code review (task-domain 1.5).
//!
//! It follows from a change of step, within the transaction of that change, so nothing here refuses what the change is about: what
//! cannot be started is said on the card.

use crate::errand::Errand;
use crate::prompts::{NewPrompt, check_size, target_session};
use crate::transition::Work;
use crate::{BoardError, Result};
use domain::context::CODE_REVIEW;
use domain::digest::sha256_hex;
use domain::ids::ProfileId;
use domain::queue::QueuedBy;
use domain::session::{Session, SessionState};
use domain::task::{Purpose, Task};
use domain::workflow::{EnterAction, QueuedRun, Step};

impl Work {
    /// Queues what the step's entry asks for. A task that is over is worked on by nobody.
    pub(crate) async fn run_beside(&mut self, task: &Task, step: &Step) -> Result<()> {
        if task.state.is_terminal() {
            return Ok(());
        }
        for action in &step.events.on_enter {
            match action {
                EnterAction::QueueRun(run) => {
                    let words = run.prompt.as_deref().unwrap_or(&step.prompt);
                    let words = self.words_for(task, step, words).await?;
                    self.run_in_own_session(task, step, run, &Errand::of_step(step), &words)
                        .await?;
                }
                EnterAction::RunCodeReview(run) if task.purpose == Purpose::Work => {
                    let words = match &run.prompt {
                        Some(words) => self.workflow_words(task, step, words).await?,
                        None => CODE_REVIEW.to_owned(),
                    };
                    self.run_in_own_session(task, step, run, &Errand::review(), &words)
                        .await?;
                }
                EnterAction::RunCodeReview(_) => {
                    let why = "findings belong to tasks of the board's own work";
                    self.say_not_started(task, step, &Errand::review().name, why)
                        .await?;
                }
                EnterAction::QueueRunForEachParticipant(run) => {
                    let words = run.prompt.as_deref().unwrap_or(&step.prompt);
                    let words = self.words_for(task, step, words).await?;
                    self.run_for_each(task, step, &words).await?;
                }
                EnterAction::AutoStartAgent
                | EnterAction::ResetAgentContext
                | EnterAction::SetSessionMode { .. }
                | EnterAction::ConfigureSession { .. }
                | EnterAction::EnablePlanMode
                | EnterAction::ClearDecisions => {}
            }
        }
        Ok(())
    }

    /// A run without words of its own does what the task asks for.
    async fn words_for(&mut self, task: &Task, step: &Step, words: &str) -> Result<String> {
        let words = if words.trim().is_empty() {
            "{{task_prompt}}"
        } else {
            words
        };
        self.workflow_words(task, step, words).await
    }

    /// Runs in the session that an earlier entry made, while that lives: it knows what it said before.
    async fn run_in_own_session(
        &mut self,
        task: &Task,
        step: &Step,
        run: &QueuedRun,
        errand: &Errand,
        words: &str,
    ) -> Result<()> {
        let name = errand.name.as_str();
        if words.trim().is_empty() {
            let why = "neither the step nor the task says what to do";
            return self.say_not_started(task, step, name, why).await;
        }
        let usual = match run.agent_profile_id {
            Some(given) => Some(given),
            None => match self.workflow_profile(task).await? {
                Some(profile) => Some(profile),
                None => self.primary_profile(task).await?,
            },
        };
        let Some(profile) = usual else {
            return self
                .say_not_started(task, step, name, "it has no agent profile")
                .await;
        };
        if task.agent_profile_id.is_some() {
            // The task has a session of its own before any other, so that what is said to it goes to its own agent.
            self.ensure_session(task).await?;
        }
        let sessions = store::sessions::list(&mut self.tx, task.id).await?;
        let earlier = sessions.into_iter().find(|session| {
            !session.is_primary
                && !session.state.is_terminal()
                && session.agent_profile_id == profile
                && session.made_for.as_ref() == Some(&errand.key)
        });
        let session = match earlier {
            Some(session) => session,
            None => match self.another_session(task, profile, Some(errand)).await {
                Ok(session) => session,
                Err(BoardError::Refused(refusal)) => {
                    return self
                        .say_not_started(task, step, name, &refusal.message)
                        .await;
                }
                Err(other) => return Err(other),
            },
        };
        self.queue_run(task, step, session, words).await
    }

    /// The newest session of each agent; the task's own is left out when the step starts it anyway.
    async fn run_for_each(&mut self, task: &Task, step: &Step, words: &str) -> Result<()> {
        let mut sessions = store::sessions::list(&mut self.tx, task.id).await?;
        let started = target_session(&sessions).filter(|_| step.auto_starts());
        let mut asked: Vec<ProfileId> = started
            .map(|session| session.agent_profile_id)
            .into_iter()
            .collect();
        // One that was retired comes back for it, unless a live one of its agent is there.
        sessions.retain(|s| !s.state.is_terminal() || s.state == SessionState::Completed);
        sessions.sort_by_key(|session| {
            std::cmp::Reverse((!session.state.is_terminal(), session.created_at, session.id))
        });
        for session in sessions {
            if !asked.contains(&session.agent_profile_id) {
                asked.push(session.agent_profile_id);
                self.queue_run(task, step, session, words).await?;
            }
        }
        Ok(())
    }

    /// Going to and fro before the agent has read it says it once.
    async fn queue_run(
        &mut self,
        task: &Task,
        step: &Step,
        mut session: Session,
        words: &str,
    ) -> Result<()> {
        if words.trim().is_empty() {
            return Ok(());
        }
        if let Err(BoardError::Refused(refusal)) = check_size(words) {
            let name = session.name.as_deref().unwrap_or("A run").to_owned();
            return self
                .say_not_started(task, step, &name, &refusal.message)
                .await;
        }
        let key = format!("run:{}:{}", step.id, sha256_hex(words));
        let waits = store::queue::list(&mut self.tx, session.id).await?;
        if waits
            .iter()
            .any(|row| row.dedupe_key.as_ref() == Some(&key))
        {
            return Ok(());
        }
        let prompt = NewPrompt {
            dedupe_key: Some(key),
            ..NewPrompt::plain(words, QueuedBy::Workflow)
        };
        self.admit(task, &mut session, prompt).await?;
        Ok(())
    }

    async fn say_not_started(
        &mut self,
        task: &Task,
        step: &Step,
        name: &str,
        why: &str,
    ) -> Result<()> {
        let notice = format!(
            "\"{name}\" was not started when the card entered \"{}\": {why}.",
            step.name
        );
        store::tasks::set_notice(&mut self.tx, task.id, Some(&notice)).await?;
        self.task_event(task).await
    }
}
