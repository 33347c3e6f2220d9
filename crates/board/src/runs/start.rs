//! Starting a run, or saying something to one that waits.
//!
//! Everything is one transaction, and writers take turns: of any number of calls in the same words the first makes a run and the
//! others find it. The schema says so a second time.

use super::{RunResult, principal, thread};
use crate::prompts::{NewPrompt, check_open};
use crate::reach::scope;
use crate::transition::{Work, load_session, load_task};
use crate::{Actor, Board};
use domain::clarification::ClarificationStatus;
use domain::error::Refusal;
use domain::ids::{ProfileId, RunId, TokenId, WorkspaceId};
use domain::params::CreateTask;
use domain::queue::{QueuedBy, QueuedState};
use domain::run::agents::choices;
use domain::run::ask::{RunTask, TWIN_WINDOW_MS, answer};
use domain::run::refuse::RunRefusal;
use domain::run::standing::Phase;
use domain::run::view::{Detail, RunView, stands};
use domain::run::{Run, RunStatus, cut};
use domain::session::{Session, SessionCommand, SessionState};
use domain::task::Task;
use domain::workflow::start_step;
use serde_json::json;
use store::runs::{NewRun, Stored};

/// Longest part of a card's title that names the agent, in bytes.
const MAX_TITLE_NAME: usize = 36;

/// What a start came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Started {
    /// The run.
    pub view: RunView,
    /// It was there before: nothing was started.
    pub duplicate: bool,
    /// The run was there before under other circumstances than its key: the words were the same.
    pub duplicate_of: Option<RunId>,
    /// The words went to a run that waited for them.
    pub answered: bool,
}

/// How a call is carried out.
enum Outcome {
    /// A new run.
    New(RunId),
    /// The one that its client's key stands for.
    Keyed(RunId),
    /// The one that goes on in the same words.
    Twin(RunId),
    /// The one that waited for the words.
    Answered(RunId),
}

impl Board {
    /// Starts a run and answers at once. Card, session, prompt and run are one transaction: a failure leaves nothing behind.
    pub async fn run_start(&self, actor: &Actor, call: &RunTask) -> RunResult<Started> {
        let token = principal(actor)?;
        call.check()?;
        let mut work = self.begin().await?;
        // On the heap: making a card and its session is large to hand around.
        let outcome = Box::pin(work.start_run(self, actor, token, call)).await?;
        let (id, duplicate) = match outcome {
            Outcome::New(id) | Outcome::Answered(id) => (id, false),
            Outcome::Keyed(id) | Outcome::Twin(id) => (id, true),
        };
        // Whatever the call came to: a repeat under its key comes to the same.
        let key = call.idempotency_key.as_ref();
        let noted = key.filter(|_| !matches!(outcome, Outcome::Keyed(_)));
        if let Some(key) = noted {
            store::runs::note_key(&mut work.tx, token, key, &call.payload_hash(), id).await?;
        }
        let found = store::runs::find(&mut work.tx, token, id)
            .await?
            .ok_or_else(|| RunRefusal::no_run(None))?;
        let view = self
            .run_view(&mut work.tx, found, Detail::Core.parts(), None)
            .await?;
        if !duplicate || noted.is_some() {
            work.commit().await?;
        }
        Ok(Started {
            view,
            duplicate,
            duplicate_of: matches!(outcome, Outcome::Twin(_)).then_some(id),
            answered: matches!(outcome, Outcome::Answered(_)),
        })
    }

    /// The slugs of the agents that runs can be given to, the default one first.
    pub async fn run_agents(&self) -> crate::Result<Vec<String>> {
        let mut db = self.snapshot().await?;
        let agents = store::agents::list(&mut db).await?;
        let profiles = store::agents::profiles(&mut db).await?;
        Ok(choices(&agents, &profiles)
            .into_iter()
            .map(|(slug, _)| slug)
            .collect())
    }
}

impl Work {
    async fn start_run(
        &mut self,
        board: &Board,
        actor: &Actor,
        token: TokenId,
        call: &RunTask,
    ) -> RunResult<Outcome> {
        if let Some(key) = &call.idempotency_key
            && let Some((id, hash)) = store::runs::by_key(&mut self.tx, token, key).await?
        {
            if hash != call.payload_hash() {
                let (run, _) = store::runs::find(&mut self.tx, token, id)
                    .await?
                    .ok_or_else(|| RunRefusal::no_run(None))?;
                return Err(RunRefusal::key_conflict(id, run.session_id).into());
            }
            return Ok(Outcome::Keyed(id));
        }
        let latest = match &call.session_key {
            Some(key) => Some(
                thread(&mut self.tx, token, key)
                    .await?
                    .ok_or_else(RunRefusal::no_thread)?,
            ),
            None => None,
        };
        let (agent, profile) = self.run_agent(call, latest.as_ref()).await?;
        let thread = latest.as_ref().map(|(run, _)| run.session_id);
        let hash = call.asked.twin_hash();
        if !call.allow_duplicate
            && let Some((id, asked_at)) =
                store::runs::active_twin(&mut self.tx, token, &agent, thread, &hash).await?
        {
            if self.now.since(asked_at) < TWIN_WINDOW_MS {
                return Ok(Outcome::Twin(id));
            }
            store::runs::clear_twin(&mut self.tx, id).await?;
        }
        let (task, mut session) = match latest {
            None => self.new_card(actor, &agent, profile).await?,
            Some(latest) => match self.go_on(board, token, call, latest).await? {
                GoOn::With(task, session) => (*task, *session),
                GoOn::Answered(id) => return Ok(Outcome::Answered(id)),
            },
        };
        let run = Run {
            id: RunId::new(),
            token_id: token,
            task_id: task.id,
            session_id: session.id,
            agent,
            from_seq: store::runs::last_seq(&mut self.tx, session.id).await?,
            poll_count: 0,
            revision: 0,
            created_at: self.now,
            last_polled_at: None,
            retrieved_at: None,
            end: None,
        };
        let from_generation = session.generation;
        let prompt_id = self.run_prompt(&task, &mut session, call, run.id).await?;
        let new = NewRun {
            thread,
            twin_hash: (!call.allow_duplicate).then_some(hash),
            prompt_id,
            from_generation,
            asked: call.asked.clone(),
            run,
        };
        store::runs::insert(&mut self.tx, &new).await?;
        tracing::info!(run = %new.run.id, session = %session.id, "run started");
        Ok(Outcome::New(new.run.id))
    }

    /// Slug and profile of the agent that a call is for. A thread stays with its agent.
    async fn run_agent(
        &mut self,
        call: &RunTask,
        latest: Option<&Stored>,
    ) -> RunResult<(String, Option<ProfileId>)> {
        if let Some((run, _)) = latest {
            if call.agent.as_ref().is_some_and(|agent| *agent != run.agent) {
                return Err(RunRefusal::invalid(
                    "agent",
                    format!(
                        "This thread is one of agent \"{}\": leave agent out, or leave sessionKey out to begin a new thread.",
                        run.agent
                    ),
                )
                .into());
            }
            return Ok((run.agent.clone(), None));
        }
        let agents = store::agents::list(&mut self.tx).await?;
        let profiles = store::agents::profiles(&mut self.tx).await?;
        let choices = choices(&agents, &profiles);
        let chosen = match &call.agent {
            Some(slug) => choices.iter().find(|(known, _)| known == slug),
            None => choices.first(),
        };
        match chosen {
            Some((slug, profile)) => Ok((slug.clone(), Some(*profile))),
            None if choices.is_empty() => Err(RunRefusal::invalid(
                "agent",
                "No agent is set up in Flightdeck yet: ask its operator to add one.",
            )
            .into()),
            None => {
                let slugs: Vec<&str> = choices.iter().map(|(slug, _)| slug.as_str()).collect();
                Err(RunRefusal::invalid(
                    "agent",
                    format!("agent must be one of {}.", slugs.join(", ")),
                )
                .into())
            }
        }
    }

    /// A card for a run: named by agent and time, never by the words, which are nobody's to read on a board; its agent may choose
    /// a better title. The prompt is not its description for the same reason.
    async fn new_card(
        &mut self,
        actor: &Actor,
        agent: &str,
        profile: Option<ProfileId>,
    ) -> RunResult<(Task, Session)> {
        let workspace = self.run_workspace(actor).await?;
        let workflow = store::workflows::list(&mut self.tx, workspace)
            .await?
            .into_iter()
            .find(|workflow| !workflow.hidden)
            .ok_or_else(|| {
                Refusal::validation("the workspace has no workflow: create one first")
            })?;
        let steps = store::workflows::steps(&mut self.tx, workflow.id).await?;
        let step = start_step(&steps)
            .ok_or_else(|| Refusal::validation("the workflow has no steps: add one first"))?;
        let time = self.now.to_rfc3339();
        let params = CreateTask {
            title: format!(
                "{}, {}, {}",
                cut(agent, MAX_TITLE_NAME),
                // What tells it from its neighbours goes before what they have in common, in a narrow list too.
                &time[11..19],
                &time[..10]
            ),
            auto_title: true,
            workspace_id: Some(workspace),
            workflow_id: Some(workflow.id),
            workflow_step_id: Some(step.id),
            agent_profile_id: profile,
            start_agent: Some(false),
            ..CreateTask::default()
        };
        let created = self.create_task(actor, params).await?;
        let task = load_task(&mut self.tx, created.task.id).await?;
        let profile = task
            .agent_profile_id
            .or(profile)
            .ok_or_else(|| Refusal::validation("the task has no agent profile"))?;
        let session = self.new_session(&task, profile).await?;
        let session = self.prepare(session, step, false).await?;
        Ok((task, session))
    }

    /// Where a client's cards are made: the oldest workspace that it reaches.
    async fn run_workspace(&mut self, actor: &Actor) -> RunResult<WorkspaceId> {
        let workspaces = store::workspaces::list(&mut self.tx).await?;
        let reached = scope(&mut self.tx, actor).await?;
        let first = workspaces.into_iter().find(|workspace| {
            reached
                .as_ref()
                .is_none_or(|reached| reached.contains(&workspace.id))
        });
        Ok(first.ok_or_else(|| Refusal::not_found("workspace"))?.id)
    }

    /// Goes on with a thread: with a new run when nothing of it is pending, otherwise with what waits.
    async fn go_on(
        &mut self,
        board: &Board,
        token: TokenId,
        call: &RunTask,
        (latest, _): Stored,
    ) -> RunResult<GoOn> {
        let id = latest.session_id;
        let mut session = store::sessions::find(&mut self.tx, id)
            .await?
            .ok_or_else(RunRefusal::no_thread)?;
        let task = load_task(&mut self.tx, session.task_id).await?;
        if check_open(&task).is_err() {
            return Err(RunRefusal::closed().into());
        }
        if let Some((run, seen)) = store::runs::live_of_session(&mut self.tx, id).await? {
            if run.token_id != token {
                return Err(RunRefusal::in_use().into());
            }
            return match stands(&run, &seen.facts) {
                (RunStatus::NeedsHuman, Phase::WaitingHuman) => {
                    self.answer_run(board, call, &run).await?;
                    Ok(GoOn::Answered(run.id))
                }
                (RunStatus::NeedsHuman, _) => Err(RunRefusal::awaits_permission(run.id, id).into()),
                (RunStatus::Blocked, Phase::WaitingParent) => {
                    // As an operator's own words do, these stand in for the answer.
                    self.operator_prompt(&task, &mut session, &call.asked.prompt(), true)
                        .await?;
                    Ok(GoOn::Answered(run.id))
                }
                (RunStatus::Blocked, _) => Err(RunRefusal::stands_still(run.id, id).into()),
                _ => Err(RunRefusal::busy(run.id, id).into()),
            };
        }
        // A prompt of a run that failed before an agent had it must not go before the new one.
        if let Some(prompt) = store::runs::prompt_of(&mut self.tx, latest.id).await?
            && let Some(row) = store::queue::find(&mut self.tx, prompt).await?
            && row.state == QueuedState::Queued
        {
            store::queue::delete(&mut self.tx, prompt).await?;
            self.queue_event(task.id, id).await?;
        }
        let waits = store::queue::list(&mut self.tx, id).await?;
        let works = store::turns::open(&mut self.tx, id).await?.is_some();
        let over = matches!(
            session.state,
            SessionState::Failed | SessionState::Cancelled
        );
        if !waits.is_empty() || session.state.is_busy() || (works && !over) {
            return Err(RunRefusal::in_use().into());
        }
        if over {
            self.session(&mut session, SessionCommand::Resume).await?;
            session = load_session(&mut self.tx, id).await?;
        }
        Ok(GoOn::With(Box::new(task), Box::new(session)))
    }

    /// Answers the oldest question that a run's operator is asked; of several answers the first counts.
    async fn answer_run(&mut self, board: &Board, call: &RunTask, run: &Run) -> RunResult<()> {
        let open = store::clarifications::open_of_session(&mut self.tx, run.session_id).await?;
        let bundle = open
            .into_iter()
            .find(|bundle| bundle.status == ClarificationStatus::Pending)
            .ok_or_else(|| RunRefusal::busy(run.id, run.session_id))?;
        let words = answer(&bundle.questions, &call.asked.prompt())?;
        self.answer_bundle(board, bundle.id, &words).await?;
        Ok(())
    }

    async fn run_prompt(
        &mut self,
        task: &Task,
        session: &mut Session,
        call: &RunTask,
        run: RunId,
    ) -> RunResult<domain::ids::PromptId> {
        let content = call.asked.prompt();
        crate::prompts::check_content(&content)?;
        let mut prompt = NewPrompt::plain(content, QueuedBy::User);
        prompt.hidden_context = call.asked.label();
        prompt.metadata.insert("run_id".to_owned(), json!(run));
        let admitted = self.admit(task, session, prompt).await?;
        Ok(admitted
            .queue_entry_id
            .ok_or_else(|| Refusal::conflict("the prompt was not queued: try again"))?)
    }
}

/// What to go on with.
enum GoOn {
    /// A new run in this session.
    With(Box<Task>, Box<Session>),
    /// The run that waited; it has the words.
    Answered(RunId),
}
