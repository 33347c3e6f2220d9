//! A prompt on its way to an agent: its turn, its message in the transcript, and what the agent is told beside the words.

use crate::Result;
use crate::delivery::Delivery;
use crate::launch::profile_of;
use crate::transition::{Work, find_step};
use domain::agent::AgentProfile;
use domain::context::{FirstTurn, fresh_conversation, fresh_start, header, plan_mode};
use domain::error::Refusal;
use domain::ids::{MessageId, TurnId};
use domain::message::{AuthorType, Message, MessageType};
use domain::profile::question_route;
use domain::queue::{QueuedBy, QueuedPrompt};
use domain::session::{FreshStart, Session};
use domain::task::Task;
use domain::turn::{Turn, TurnState};
use serde_json::json;

impl Work {
    /// Makes turn and transcript message, and marks the row.
    pub(crate) async fn deliver(
        &mut self,
        task: &Task,
        session: &mut Session,
        mut row: QueuedPrompt,
        fresh_because: Option<&str>,
    ) -> Result<Delivery> {
        session.generation += 1;
        self.save_session(session).await?;
        let hidden = self
            .hidden_context(task, session, &row, fresh_because)
            .await?;
        let turn = Turn {
            id: TurnId::new(),
            session_id: session.id,
            task_id: task.id,
            state: TurnState::Dispatching,
            prompt_id: row.id,
            generation: session.generation,
            step_id_at_start: Some(task.workflow_step_id),
            stop_reason: None,
            stored_bytes: 0,
            started_at: self.now,
            completed_at: None,
        };
        store::turns::insert(&mut self.tx, &turn).await?;
        row.turn_id = Some(turn.id);
        store::queue::mark_attempted(&mut self.tx, &row).await?;
        let mut metadata = row.metadata.clone();
        metadata.insert("prompt_id".to_owned(), json!(row.id));
        if row.queued_by == QueuedBy::Workflow {
            // Nobody said it: a step of the workflow did.
            metadata.insert("queued_by".to_owned(), json!(row.queued_by));
        }
        // A prompt that was put back has its message already; what it becomes now is another one.
        let known = MessageId::of_prompt(row.id);
        let id = match store::messages::find(&mut self.tx, known).await? {
            Some(_) => MessageId::new(),
            None => known,
        };
        self.add_message(&Message {
            id,
            session_id: session.id,
            task_id: task.id,
            turn_id: Some(turn.id),
            seq: 0,
            author_type: AuthorType::User,
            author_id: row.sender_session_id.map(|id| id.to_string()),
            content: row.content.clone(),
            hidden_context: hidden.clone(),
            message_type: MessageType::Message,
            metadata,
            requests_input: false,
            created_at: self.now,
            updated_at: self.now,
        })
        .await?;
        self.queue_event(task.id, session.id).await?;
        let attempted_before = row.attempts > 0;
        let profile = self.configured_profile(session).await?;
        Ok(delivery(&row, turn.id, (hidden, profile), attempted_before))
    }

    /// Sends a prompt again that was attempted before and is not in the agent's history: same turn, same message.
    pub(crate) async fn redeliver(
        &mut self,
        task: &Task,
        session: &Session,
        row: &QueuedPrompt,
        fresh_because: Option<&str>,
    ) -> Result<Delivery> {
        let turn = row
            .turn_id
            .ok_or_else(|| Refusal::conflict("an attempted prompt without a turn"))?;
        store::queue::mark_attempted(&mut self.tx, row).await?;
        let hidden = self
            .hidden_context(task, session, row, fresh_because)
            .await?;
        let profile = self.configured_profile(session).await?;
        Ok(delivery(row, turn, (hidden, profile), true))
    }

    async fn hidden_context(
        &mut self,
        task: &Task,
        session: &Session,
        row: &QueuedPrompt,
        fresh_because: Option<&str>,
    ) -> Result<Option<String>> {
        if session.is_passthrough {
            return Ok(None);
        }
        let mut blocks = vec![header(row.id, task.id, session.id)];
        // A prompt that is sent again has its turn already, and that one is not an earlier one.
        let earlier =
            store::turns::count(&mut self.tx, session.id).await? - i64::from(row.turn_id.is_some());
        let first = session.generation <= 1;
        let begun = session.fresh_start == FreshStart::Begun;
        if first || begun || fresh_because.is_some() {
            let parent = match task.parent_id {
                Some(id) => store::tasks::find(&mut self.tx, id).await?,
                None => None,
            };
            let steps = store::workflows::steps(&mut self.tx, task.workflow_id).await?;
            // The signal is the main session's to give: a helper does not know how far the others are.
            let needs_signal = session.is_primary
                && find_step(&steps, task.workflow_step_id)
                    .is_some_and(|step| step.auto_advance_requires_signal);
            let profile = profile_of(&mut self.tx, task, session).await?;
            blocks.push(
                FirstTurn {
                    title: &task.title,
                    parent: parent.as_ref().map(|p| (p.id, p.title.as_str())),
                    autopilot: task.autopilot,
                    route: question_route(
                        task.autopilot,
                        task.parent_id.is_some(),
                        session.is_passthrough,
                    ),
                    profile: &profile,
                    step_needs_signal: needs_signal,
                }
                .render(),
            );
        }
        if let Some(reason) = fresh_because
            && earlier > 0
        {
            blocks.push(fresh_conversation(reason, earlier));
        } else if begun && earlier > 0 {
            blocks.push(fresh_start());
        }
        if session.plan_mode {
            blocks.push(plan_mode());
        }
        blocks.extend(row.hidden_context.clone());
        blocks.extend(self.named_prompts(&row.content).await?);
        Ok(Some(blocks.join("\n\n")))
    }
}

fn delivery(
    row: &QueuedPrompt,
    turn: TurnId,
    (hidden, profile): (Option<String>, AgentProfile),
    attempted_before: bool,
) -> Delivery {
    Delivery {
        prompt: row.id,
        turn,
        session: row.session_id,
        task: row.task_id,
        hidden,
        text: row.content.clone(),
        mode: profile.mode,
        model: profile.model,
        attempted_before,
    }
}
