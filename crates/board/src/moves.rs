//! Moving cards by hand (the finer rules of agents' moves come with their tool).

use crate::prompts::{NewPrompt, check_open};
use crate::transition::{Work, find_step, load_task};
use crate::{Actor, Board, Result};
use domain::error::Refusal;
use domain::ids::TaskId;
use domain::params::MoveTask;
use domain::question::QuestionCommand;
use domain::queue::{Lane, QueuedBy};
use domain::session::Session;
use domain::task::Task;
use domain::view::TaskView;
use domain::workflow::{MoveTrigger, Step};

impl Board {
    /// Puts a card into a step and a place within it. Entering a step that auto-starts starts the agent.
    ///
    /// While the card's child session waits for its parent, only the operator or that parent may move it: into a step that
    /// auto-starts this counts as explicit input and supersedes the question, elsewhere the question stays (rulings 11).
    pub async fn task_move(
        &self,
        actor: &Actor,
        id: TaskId,
        params: &MoveTask,
    ) -> Result<TaskView> {
        let mut work = self.begin().await?;
        let mut task = load_task(&mut work.tx, id).await?;
        check_open(&task)?;
        let workflow = params.workflow_id.unwrap_or(task.workflow_id);
        let found = store::workflows::find(&mut work.tx, workflow)
            .await?
            .ok_or_else(|| Refusal::validation("workflow_id names no workflow"))?;
        if found.workspace_id != task.workspace_id {
            return Err(Refusal::validation("the workflow must be in the task's workspace").into());
        }
        let steps = store::workflows::steps(&mut work.tx, workflow).await?;
        let step = find_step(&steps, params.workflow_step_id)
            .ok_or_else(|| Refusal::validation("workflow_step_id must be a step of the workflow"))?
            .clone();
        let enters = step.id != task.workflow_step_id;
        let waiting = store::questions::pending_of_child(&mut work.tx, id).await?;
        let may_move_waiting = match actor {
            Actor::Operator => true,
            Actor::Agent { task: mover, .. } => task.parent_id == Some(*mover),
            Actor::External { .. } | Actor::System => false,
        };
        if enters && !waiting.is_empty() && !may_move_waiting {
            return Err(Refusal::conflict(
                "the task waits for an answer of its parent: only its operator or that parent may move it meanwhile",
            )
            .into());
        }
        work.place_in_step(
            &mut task,
            &step,
            params.position,
            MoveTrigger::Manual,
            *actor,
        )
        .await?;
        if enters && step.auto_starts() {
            let mut superseded = false;
            for mut question in waiting {
                superseded |= work
                    .question(&mut question, QuestionCommand::Supersede, None)
                    .await?;
            }
            work.auto_start(&task, &step, superseded).await?;
        }
        let task = crate::tasks::view(&mut work.tx, id).await?;
        work.commit().await?;
        Ok(task)
    }
}

impl Work {
    /// Starts the agent because the card entered a step that does so. A card without words for an agent, or whose agent is at
    /// work already, starts nothing.
    pub(crate) async fn auto_start(
        &mut self,
        task: &Task,
        step: &Step,
        superseded: bool,
    ) -> Result<()> {
        if task.agent_profile_id.is_none() {
            return Ok(());
        }
        let sessions = store::sessions::list(&mut self.tx, task.id).await?;
        let started = sessions.iter().any(|s| s.generation > 0);
        let Some(text) = entry_prompt(task, step, started) else {
            return Ok(());
        };
        if sessions.iter().any(|s| s.state.is_busy()) && !superseded {
            return Ok(());
        }
        let mut session: Session = self.ensure_session(task).await?;
        if session.state.is_terminal() && session.state != domain::session::SessionState::Completed
        {
            return Ok(());
        }
        let mut prompt = NewPrompt::plain(text, QueuedBy::Workflow);
        if superseded {
            prompt.lane = Lane::Express;
        }
        prompt.dedupe_key = Some(format!("enter:{}", step.id));
        let waits = store::queue::list(&mut self.tx, session.id).await?;
        if waits.iter().any(|row| row.dedupe_key == prompt.dedupe_key) {
            return Ok(());
        }
        self.admit(task, &mut session, prompt).await?;
        Ok(())
    }
}

/// The step's own prompt, or the task's on its first start, or else a word that the card came here.
fn entry_prompt(task: &Task, step: &Step, started: bool) -> Option<String> {
    if !step.prompt.trim().is_empty() {
        let description = task.description.trim();
        return Some(step.prompt.replace("{{task_prompt}}", description));
    }
    if started {
        return Some(format!(
            "Go on with this task: it was moved to \"{}\".",
            step.name
        ));
    }
    (!task.description.trim().is_empty()).then(|| task.description.clone())
}
