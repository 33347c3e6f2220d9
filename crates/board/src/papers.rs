//! What agents show beside and within a conversation: walkthroughs, review findings, rich output. One bad part refuses the
//! whole call, and nothing of it is kept.

use crate::folder;
use crate::reach::reachable;
use crate::transition::{Work, load_session, load_task};
use crate::{Actor, Board, Result};
use domain::error::Refusal;
use domain::event::{EventKind, NewEvent};
use domain::ids::{FindingId, MessageId, SessionId, TaskId, WalkthroughId};
use domain::message::{AuthorType, Message, MessageType};
use domain::review::{self, Finding, FindingInput, FindingStatus, FindingsPublished, set_status};
use domain::rich::{self, Block, RichInput, RichOutput};
use domain::task::Task;
use domain::view::MessageView;
use domain::walkthrough::{self, Walkthrough, WalkthroughStep};
use serde_json::{Map, Value, json};

impl Board {
    /// Shows a walkthrough in the place of the task's earlier one.
    pub async fn walkthrough_show(
        &self,
        actor: &Actor,
        task: TaskId,
        title: Option<&str>,
        steps: Vec<WalkthroughStep>,
    ) -> Result<Walkthrough> {
        let mut work = self.begin().await?;
        let task = reachable(&mut work.tx, actor, &self.settings, task).await?;
        let shown = Walkthrough {
            id: WalkthroughId::new(),
            task_id: task.id,
            title: walkthrough::check(title, &steps)?,
            steps,
            created_at: work.now,
        };
        store::walkthroughs::put(&mut work.tx, &shown).await?;
        work.paper_event(&task, EventKind::WalkthroughChanged)
            .await?;
        work.commit().await?;
        Ok(shown)
    }

    /// A task's walkthrough, if it has one.
    pub async fn walkthrough_find(
        &self,
        actor: &Actor,
        task: TaskId,
    ) -> Result<Option<Walkthrough>> {
        let mut db = self.snapshot().await?;
        let task = reachable(&mut db, actor, &self.settings, task).await?;
        Ok(store::walkthroughs::find(&mut db, task.id).await?)
    }

    /// Removes a task's walkthrough; answers whether there was one.
    pub async fn walkthrough_delete(&self, actor: &Actor, task: TaskId) -> Result<bool> {
        let mut work = self.begin().await?;
        let task = reachable(&mut work.tx, actor, &self.settings, task).await?;
        if !store::walkthroughs::delete(&mut work.tx, task.id).await? {
            return Ok(false);
        }
        work.paper_event(&task, EventKind::WalkthroughChanged)
            .await?;
        work.commit().await?;
        Ok(true)
    }

    /// Publishes findings of a review. One that is open at the same place with the same title is made newer instead of doubled.
    /// The summary goes into the transcript of the session that publishes.
    pub async fn findings_publish(
        &self,
        actor: &Actor,
        task: TaskId,
        summary: Option<&str>,
        findings: Vec<FindingInput>,
    ) -> Result<FindingsPublished> {
        let mut work = self.begin().await?;
        let task = reachable(&mut work.tx, actor, &self.settings, task).await?;
        review::check(summary, &findings)?;
        let mut open = store::reviews::open(&mut work.tx, task.id).await?;
        let (mut added, mut refreshed) = (0, 0);
        let mut finding_ids = Vec::with_capacity(findings.len());
        for input in findings {
            let fresh = review::fresh(FindingId::new(), input, task.id, actor.session(), work.now);
            let finding = match open.iter_mut().find(|known| known.is_same(&fresh)) {
                Some(known) => {
                    refreshed += 1;
                    *known = review::refreshed(known, fresh);
                    known.clone()
                }
                None => {
                    added += 1;
                    open.push(fresh.clone());
                    fresh
                }
            };
            store::reviews::put(&mut work.tx, &finding).await?;
            finding_ids.push(finding.id);
        }
        if let (Some(summary), Actor::Agent { session, .. }) = (summary, *actor) {
            let mut metadata = Map::new();
            metadata.insert(
                "review".to_owned(),
                json!({"task_id": task.id, "added": added, "refreshed": refreshed}),
            );
            work.show_message(session, MessageType::Status, summary, metadata)
                .await?;
        }
        work.paper_event(&task, EventKind::ReviewChanged).await?;
        work.commit().await?;
        Ok(FindingsPublished {
            task_id: task.id,
            added,
            refreshed,
            open: open.len(),
            finding_ids,
        })
    }

    /// The findings of a task, oldest first.
    pub async fn findings_list(&self, actor: &Actor, task: TaskId) -> Result<Vec<Finding>> {
        let mut db = self.snapshot().await?;
        let task = reachable(&mut db, actor, &self.settings, task).await?;
        Ok(store::reviews::list(&mut db, task.id).await?)
    }

    /// Says that a finding is dealt with, or that it is not. Saying it again changes nothing.
    pub async fn finding_set_status(
        &self,
        actor: &Actor,
        id: FindingId,
        status: FindingStatus,
    ) -> Result<Finding> {
        actor.require_operator()?;
        let mut work = self.begin().await?;
        let mut finding = store::reviews::find(&mut work.tx, id)
            .await?
            .ok_or_else(|| Refusal::not_found("finding"))?;
        let open = store::reviews::open(&mut work.tx, finding.task_id).await?;
        let twin = open
            .iter()
            .any(|other| other.id != id && other.is_same(&finding));
        if !set_status(&finding, status, twin)? {
            return Ok(finding);
        }
        finding.status = status;
        finding.updated_at = work.now;
        finding.resolved_at = (status == FindingStatus::Resolved).then_some(work.now);
        store::reviews::put(&mut work.tx, &finding).await?;
        let task = load_task(&mut work.tx, finding.task_id).await?;
        work.paper_event(&task, EventKind::ReviewChanged).await?;
        work.commit().await?;
        Ok(finding)
    }

    /// Shows files, charts and figures in the transcript of the agent's own session; `bytes` is the length of the input.
    pub async fn rich_show(
        &self,
        actor: &Actor,
        input: RichInput,
        bytes: usize,
    ) -> Result<MessageView> {
        let (_, session) = actor.require_agent()?;
        let mut output = rich::read(input, bytes)?;
        self.read_files(session, &mut output).await?;
        let content = match &output.description {
            Some(description) => format!("{}\n\n{description}", output.title),
            None => output.title.clone(),
        };
        let mut metadata = Map::new();
        metadata.insert("rich_output".to_owned(), json!(output));
        let mut work = self.begin().await?;
        let message = work
            .show_message(session, MessageType::Content, &content, metadata)
            .await?;
        work.commit().await?;
        Ok(crate::conversation::view(message))
    }
}

impl Board {
    /// Reads the beginning of each file that is shown without an excerpt.
    async fn read_files(&self, session: SessionId, output: &mut RichOutput) -> Result<()> {
        let mut folder = None;
        for block in &mut output.blocks {
            let Block::File {
                path,
                excerpt: excerpt @ None,
                truncated,
                ..
            } = block
            else {
                continue;
            };
            let folder = match &folder {
                Some(folder) => folder,
                None => {
                    let session = load_session(&mut self.snapshot().await?, session).await?;
                    folder.insert(session.workspace_path.unwrap_or_default())
                }
            };
            let read = folder::excerpt(folder.into(), path.clone()).await?;
            if let Some((text, more)) = read {
                (*excerpt, *truncated) = (Some(text), more);
            }
        }
        Ok(())
    }
}

impl Work {
    async fn paper_event(&mut self, task: &Task, kind: EventKind) -> Result<()> {
        self.event(
            NewEvent::new(kind)
                .workspace(task.workspace_id)
                .task(task.id),
        )
        .await
    }

    /// Adds a message of an agent to its transcript, within its running turn.
    async fn show_message(
        &mut self,
        session: SessionId,
        message_type: MessageType,
        content: &str,
        metadata: Map<String, Value>,
    ) -> Result<Message> {
        let session = load_session(&mut self.tx, session).await?;
        let turn = store::turns::open(&mut self.tx, session.id).await?;
        let mut message = Message {
            id: MessageId::new(),
            session_id: session.id,
            task_id: session.task_id,
            turn_id: turn.map(|turn| turn.id),
            seq: 0,
            author_type: AuthorType::Agent,
            author_id: None,
            content: content.to_owned(),
            hidden_context: None,
            message_type,
            metadata,
            requests_input: false,
            created_at: self.now,
            updated_at: self.now,
        };
        message.seq = store::messages::append(&mut self.tx, &message).await?;
        self.event(
            NewEvent::new(EventKind::MessageAdded)
                .task(message.task_id)
                .session(message.session_id)
                .subject(message.id),
        )
        .await?;
        Ok(message)
    }
}
