//! One turn: from a prompt to its stop reason.

mod show;

use std::{
    io::{self, Write},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use agent_client_protocol::{
    Client,
    v1::{
        ConnectionTo,
        schema::{
            Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus, SessionUpdate, StopReason,
            ToolCallContent, ToolCallStatus, ToolCallUpdateFields, ToolKind,
        },
    },
};
use serde_json::{Value, json};
use tokio::time;
use tokio_util::sync::CancellationToken;

use super::{
    Options,
    entry::Entry,
    fill::{at_path, fill, fill_value},
    prompt::{ChildQuestion, Received},
    scenarios,
    script::{self, Directive},
    session::Session,
};
use crate::stdio::{mcp::Outcome, outbox::Outbox};
use show::{kind_of, text_chunk, title};

/// The answer to a child that gave no choice, when no script set one.
const DEFAULT_ANSWER: &str = "Use your best judgement, and say what you assumed.";

/// How a turn ended.
pub(super) enum End {
    Stopped(StopReason),
    /// The prompt is answered with an error.
    Failed(String),
}

/// A turn that runs.
pub(super) struct Turn {
    pub(super) session: Arc<Session>,
    pub(super) outbox: Outbox,
    pub(super) client: ConnectionTo<Client>,
    pub(super) options: Arc<Options>,
    pub(super) cancel: CancellationToken,
    /// Tool calls that were announced and not completed.
    pub(super) open_calls: Mutex<Vec<String>>,
}

/// What a script has come to.
pub(super) struct Progress {
    /// The text that started this section.
    pub(super) prompt: String,
    /// What the last MCP call gave.
    pub(super) outcome: Outcome,
    /// The last answer to a permission request.
    pub(super) permission: String,
    /// Number of the next tool call in this turn.
    pub(super) next_call: u64,
    /// The call that the next `tool_result` completes, with its input.
    pub(super) open: Option<(String, String, Value)>,
}

impl Turn {
    pub(super) fn new(
        session: Arc<Session>,
        outbox: Outbox,
        client: ConnectionTo<Client>,
        options: Arc<Options>,
        cancel: CancellationToken,
    ) -> Self {
        Self {
            session,
            outbox,
            client,
            options,
            cancel,
            open_calls: Mutex::default(),
        }
    }

    /// Works on a prompt until it is done or cancelled.
    pub(super) async fn run(self, blocks: Vec<String>) -> End {
        let received = Received::read(&blocks);
        let prompt_id = received.prompt_id().map(str::to_owned);
        if let Err(error) = self.session.record(&Entry::Prompt { prompt_id, blocks }) {
            return End::Failed(format!("the history could not be written: {error}"));
        }
        let end = tokio::select! {
            biased;
            end = self.answer(received) => end,
            () = self.cancel.cancelled() => Ok(End::Stopped(StopReason::Cancelled)),
        };
        let open = std::mem::take(
            &mut *self
                .open_calls
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        );
        for call in open {
            self.update_call(
                &call,
                ToolCallUpdateFields::new().status(ToolCallStatus::Failed),
            )
            .await;
        }
        if self.cancel.is_cancelled() {
            // A cancelled answer to a child was given up on purpose.
            let memory = self.session.memory();
            if let (true, Some(question)) = (memory.question_open, memory.question) {
                let _ = self.session.record(&Entry::QuestionSettled {
                    question_id: question.question_id,
                });
            }
        }
        end.unwrap_or_else(|error| {
            End::Failed(format!("the history could not be written: {error}"))
        })
    }

    async fn answer(&self, received: Received) -> io::Result<End> {
        let mut progress = Progress::new(received.text.clone());
        let memory = self.session.memory();
        if let (true, Some(question)) = (memory.question_open, memory.question) {
            // Also one that an earlier process did not come to answer; then the prompt itself is still to be done.
            self.answer_child(&question, received.question.is_some(), &mut progress)
                .await?;
            if received.question.is_some() {
                return Ok(End::Stopped(StopReason::EndTurn));
            }
        }
        let (text, waits) = match scenarios::expand(&received.text) {
            Some(text) => (text, false),
            None if script::is_script(&received.text) => (received.text.clone(), false),
            None => match memory.later {
                Some(text) => (text, true),
                None => {
                    let shown: String = received.text.trim().chars().take(200).collect();
                    let reply = format!(
                        "This is the demo agent. I work from scripts, and this is none: “{shown}”. Try /demo."
                    );
                    self.say(&reply).await?;
                    return Ok(End::Stopped(StopReason::EndTurn));
                }
            },
        };
        let script = match script::parse(&text) {
            Ok(script) => script,
            Err(reason) => {
                self.say(&format!("This script cannot be read. {reason}."))
                    .await?;
                return Ok(End::Stopped(StopReason::EndTurn));
            }
        };
        // Before a step runs: whatever happens in this section, the next prompt must not run it again.
        if waits || script.later.is_some() {
            self.session.record(&Entry::Later {
                script: script.later,
            })?;
        }
        if script.now.contains(&Directive::Hang) {
            // From the start of the section, so that nobody has to guess from when on.
            self.session.go_deaf();
        }
        for directive in script.now {
            time::sleep(self.options.step_delay).await;
            if let Some(end) = self.perform(directive, &mut progress).await? {
                return Ok(end);
            }
        }
        self.complete_open(&mut progress, None).await;
        Ok(End::Stopped(StopReason::EndTurn))
    }

    /// Does one step. An end stops the script.
    async fn perform(
        &self,
        directive: Directive,
        progress: &mut Progress,
    ) -> io::Result<Option<End>> {
        let filled =
            |text: &str, progress: &Progress| fill(text, &|name| self.look_up(name, progress));
        match directive {
            Directive::Message(text) => self.say(&filled(&text, progress)).await?,
            Directive::Thinking(text) => self.think(&filled(&text, progress)).await,
            Directive::Delay { ms } => time::sleep(Duration::from_millis(ms)).await,
            Directive::ToolUse { name, input } => {
                self.complete_open(progress, None).await;
                let input = fill_value(&input, &|name| self.look_up(name, progress));
                let call = self
                    .announce(progress, &title(&name, &input), kind_of(&name), &input)
                    .await;
                progress.open = Some((call, name, input));
            }
            Directive::ToolResult(text) => {
                let text = filled(&text, progress);
                self.complete_open(progress, Some(text)).await;
            }
            Directive::ShellResult {
                command,
                output,
                cwd,
            } => {
                let input = json!({"command": filled(&command, progress), "cwd": cwd});
                let call = self
                    .announce(progress, &command, ToolKind::Execute, &input)
                    .await;
                self.complete(
                    &call,
                    vec![ToolCallContent::from(filled(&output, progress))],
                    None,
                    false,
                )
                .await;
            }
            Directive::Plan(entries) => {
                let entries = entries
                    .iter()
                    .map(|(content, status)| plan_entry(&filled(content, progress), status));
                self.update(SessionUpdate::Plan(Plan::new(entries.collect())))
                    .await;
            }
            Directive::Mcp {
                server,
                tool,
                arguments,
            } => {
                let arguments = fill_value(&arguments, &|name| self.look_up(name, progress));
                self.call_tool(&server, &tool, &arguments, progress).await;
            }
            Directive::FailIfError if progress.outcome.failed => {
                return Ok(Some(End::Failed(progress.outcome.text.clone())));
            }
            Directive::FailIfError => {}
            Directive::Set { name, value } => {
                let value = filled(&value, progress);
                self.session.record(&Entry::Set { name, value })?;
            }
            Directive::Permission { title, kind, input } => {
                let input = fill_value(&input, &|name| self.look_up(name, progress));
                let title = filled(&title, progress);
                let call = self
                    .announce(progress, &title, kind_from_word(&kind), &input)
                    .await;
                progress.permission = self.ask(&call).await;
            }
            Directive::Permissions(titles) => {
                let mut calls = Vec::new();
                for title in &titles {
                    calls.push(
                        self.announce(
                            progress,
                            &filled(title, progress),
                            ToolKind::Edit,
                            &json!({}),
                        )
                        .await,
                    );
                }
                let answers =
                    futures::future::join_all(calls.iter().map(|call| self.ask(call))).await;
                progress.permission = answers.join(", ");
            }
            Directive::Answer(text) => self.session.record(&Entry::Answer {
                text: filled(&text, progress),
            })?,
            Directive::AnswerDelay { ms } => self.session.record(&Entry::AnswerDelay { ms })?,
            Directive::AnswerTimes(times) => self.session.record(&Entry::AnswerTimes { times })?,
            Directive::Stop(reason) => return Ok(Some(End::Stopped(stop_reason(&reason)))),
            Directive::Error(text) => return Ok(Some(End::Failed(filled(&text, progress)))),
            Directive::Junk(text) => {
                let _ = self.outbox.line(text).await;
            }
            Directive::Stderr(text) => {
                let _ = writeln!(io::stderr(), "{text}");
            }
            Directive::Unknown(kind) => {
                let params = json!({"sessionId": self.session.id, "update": {"sessionUpdate": kind, "demo": true}});
                let line = json!({"jsonrpc": "2.0", "method": "session/update", "params": params});
                let _ = self.outbox.line(line.to_string()).await;
            }
            Directive::Flood(count) => {
                for n in 1..=count {
                    self.update(text_chunk(&format!("flood {n} of {count}\n")))
                        .await;
                }
            }
            Directive::Oversized { bytes } => {
                let _ = self
                    .outbox
                    .line("x".repeat(usize::try_from(bytes).unwrap_or(usize::MAX)))
                    .await;
            }
            Directive::Hang => std::future::pending::<()>().await,
            Directive::Crash { code } => std::process::exit(code),
            // The parser ends the section there.
            Directive::NextTurn => {}
        }
        Ok(None)
    }

    /// Gives a child its answer, as often as scripts want, and says so.
    async fn answer_child(
        &self,
        question: &ChildQuestion,
        wait: bool,
        progress: &mut Progress,
    ) -> io::Result<()> {
        let memory = self.session.memory();
        let times = memory.answer_times.unwrap_or(1);
        if times == 0 {
            self.say("My child task asks something, and I leave it unanswered for now.")
                .await?;
        } else if wait {
            time::sleep(memory.answer_delay.unwrap_or(self.options.answer_delay)).await;
        }
        let answer = memory
            .answer
            .or_else(|| question.first_choice.clone())
            .unwrap_or_else(|| DEFAULT_ANSWER.to_owned());
        let answer = fill(&answer, &|name| self.look_up(name, progress));
        for _ in 0..times {
            let arguments = json!({
                "task_id": question.child_task_id,
                "reply_to_question_id": question.question_id,
                "prompt": answer,
            });
            self.call_tool("kandev", "message_task_kandev", &arguments, progress)
                .await;
            let said = if progress.outcome.failed {
                format!(
                    "My child task could not be answered. {}",
                    progress.outcome.text
                )
            } else {
                format!("I answered my child task: {answer}")
            };
            self.say(&said).await?;
        }
        self.session.record(&Entry::QuestionSettled {
            question_id: question.question_id.clone(),
        })
    }

    fn look_up(&self, name: &str, progress: &Progress) -> Option<Value> {
        if let Some(path) = name.strip_prefix("result")
            && (path.is_empty() || path.starts_with('.'))
        {
            return at_path(&progress.outcome.value, path);
        }
        let memory = self.session.memory();
        let question = memory.question;
        let text = match name {
            "prompt" => Some(progress.prompt.clone()),
            "permission" => Some(progress.permission.clone()),
            "question_id" => question.map(|question| question.question_id),
            "child_task_id" => question.map(|question| question.child_task_id),
            "child_session_id" => question.and_then(|question| question.child_session_id),
            "parent_id" => memory
                .facts
                .get("parent_id")
                .or_else(|| memory.facts.get("parent_task_id"))
                .cloned(),
            _ => None,
        };
        let text = text
            .or_else(|| memory.kept.get(name).cloned())
            .or_else(|| memory.facts.get(name).cloned());
        text.map(Value::String)
    }
}

impl Progress {
    fn new(prompt: String) -> Self {
        Self {
            prompt,
            outcome: Outcome {
                value: Value::Null,
                text: String::new(),
                failed: false,
            },
            permission: String::new(),
            next_call: 0,
            open: None,
        }
    }
}

fn kind_from_word(word: &str) -> ToolKind {
    serde_json::from_value(json!(word)).unwrap_or(ToolKind::Other)
}

fn stop_reason(word: &str) -> StopReason {
    serde_json::from_value(json!(word)).unwrap_or(StopReason::EndTurn)
}

fn plan_entry(content: &str, status: &str) -> PlanEntry {
    let status = serde_json::from_value(json!(status)).unwrap_or(PlanEntryStatus::Pending);
    PlanEntry::new(content, PlanEntryPriority::Medium, status)
}
