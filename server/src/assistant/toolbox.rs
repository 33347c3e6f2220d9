//! The tools of one job.
//!
//! A tool that acts is noted in the job's ledger before it runs and after it ran. A run that comes after a crash gets the noted answer
//! and does not act again; where the end was not noted, the board is asked whether it took place, and where the board cannot tell, the
//! model is told so, and the user with it. Tools that confirm use up their preview first; the board judges whether they may.

use super::tools::{self, BoardTool, Call, Outcome};
use assistant::{CallContext, Effect, Ending, ToolAnswer, ToolSpec, Toolbox};
use async_trait::async_trait;
use board::{Board, BoardError};
use domain::job::Job;
use domain::job::effects::Replay;
use serde_json::{Map, Value};

const MAY_HAVE_HAPPENED: &str = "An earlier run of this call broke off, and nobody knows whether it took effect. Do not call it again; \
                                 tell the user that it may have happened, and where to look.";

/// The tools for a run of a job.
#[derive(Debug)]
pub struct JobToolbox<'a> {
    board: &'a Board,
    job: &'a Job,
}

impl<'a> JobToolbox<'a> {
    /// The tools of `job`, whose lease this run holds.
    #[must_use]
    pub const fn new(board: &'a Board, job: &'a Job) -> Self {
        Self { board, job }
    }

    async fn run(&self, tool: &BoardTool, arguments: Map<String, Value>, key: String) -> Outcome {
        (tool.run)(Call {
            board: self.board.clone(),
            arguments,
            key,
        })
        .await
    }

    /// A tool that acts: once, whatever happens to this process.
    async fn act(&self, tool: &'static BoardTool, arguments: Map<String, Value>) -> ToolAnswer {
        let named = Value::Object(arguments.clone());
        match self.board.job_tool_begin(self.job, tool.name, &named).await {
            Ok(Replay::Stored(result)) => ToolAnswer::done(result),
            Ok(Replay::Unknown {
                seq,
                idempotency_key,
            }) => self.look_up(tool, arguments, seq, idempotency_key).await,
            Ok(Replay::Run {
                seq,
                idempotency_key,
            }) => {
                let outcome = match self.consent(tool, &named, idempotency_key).await {
                    Ok(key) => self.run(tool, arguments, key).await,
                    Err(refused) => Err(refused),
                };
                self.note(seq, outcome).await
            }
            Err(error) => failed(error),
        }
    }

    /// Uses up the preview that a tool confirms. What it makes is named after the preview then, so that it is made once whichever
    /// way the consent comes.
    async fn consent(
        &self,
        tool: &BoardTool,
        arguments: &Value,
        key: String,
    ) -> Result<String, BoardError> {
        if !tool.name.starts_with("confirm_") {
            return Ok(key);
        }
        let confirmation = self
            .board
            .confirmation_consume(self.job, tool.name, arguments)
            .await?;
        Ok(confirmation.key())
    }

    async fn look_up(
        &self,
        tool: &BoardTool,
        arguments: Map<String, Value>,
        seq: i64,
        key: String,
    ) -> ToolAnswer {
        if let Some(look_up) = tool.look_up {
            let call = Call {
                board: self.board.clone(),
                arguments,
                key,
            };
            if let Ok(found) = look_up(call).await {
                return self.note(seq, Ok(found)).await;
            }
        }
        ToolAnswer {
            ending: Ending::Unknown,
            value: MAY_HAVE_HAPPENED.into(),
        }
    }

    /// Notes the end in the ledger. The board refuses in a transaction that it takes back, so a refusal has certainly changed nothing;
    /// a fault of the storage says nothing of the kind, and the call stays open.
    async fn note(&self, seq: i64, outcome: Outcome) -> ToolAnswer {
        let (acted, result, answer) = match outcome {
            Ok(value) => (true, value.clone(), ToolAnswer::done(value)),
            Err(error @ BoardError::Refused(_)) => {
                let answer = failed(error);
                (false, answer.value.clone(), answer)
            }
            Err(error @ BoardError::Store(_)) => {
                tracing::error!(%error, job = %self.job.id, seq, "a tool's end is not known");
                return ToolAnswer {
                    ending: Ending::Unknown,
                    value: MAY_HAVE_HAPPENED.into(),
                };
            }
        };
        if let Err(error) = self
            .board
            .job_tool_end(self.job.id, seq, acted, &result)
            .await
        {
            // It acted all the same; a later run will find the call open and ask the board.
            tracing::error!(%error, job = %self.job.id, seq, "a tool's end could not be noted");
        }
        answer
    }
}

#[async_trait]
impl Toolbox for JobToolbox<'_> {
    fn tools(&self) -> Vec<ToolSpec> {
        tools::catalogue()
    }

    async fn call(
        &self,
        context: CallContext,
        name: &str,
        arguments: Map<String, Value>,
    ) -> ToolAnswer {
        let Some(tool) = tools::find(name) else {
            return ToolAnswer::failed(format!("there is no tool {name}"));
        };
        if let Err(error) = self.board.job_tool_called(self.job, tool.name).await {
            // Only watchers miss it; a run that lost its job is told so where it matters.
            tracing::debug!(%error, job = %self.job.id, "a tool call was not put on the timeline");
        }
        match tool.effect {
            Effect::Action => self.act(tool, arguments).await,
            Effect::Read | Effect::Preview => {
                match self.run(tool, arguments, context.idempotency_key).await {
                    Ok(value) => ToolAnswer::done(value),
                    Err(error) => failed(error),
                }
            }
        }
    }
}

fn failed(error: BoardError) -> ToolAnswer {
    ToolAnswer::failed(crate::error::refusal_of(error).message)
}
