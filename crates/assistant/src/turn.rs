//! One answer: the model is asked, its calls are carried out, it is asked again, until it says something that may go out.
//!
//! What it promises: at most so many rounds of calls and so much time; a call that fails, that cannot be read, or that names no
//! tool is told to the model and stops nothing; identity in arguments is the session's and never the model's; nothing runs once
//! the caller has cancelled; and the [guard](crate::guard) has judged whatever goes out.

use crate::call::{Arguments, ToolCall};
use crate::chain::Chain;
use crate::chat::{Chat, Message, Offer, Reply, Speaker, Usage};
use crate::error::{ProviderError, Trouble};
use crate::guard::{DEMAND, Deeds, Reader, Verdict, judge, refusal};
use crate::intent::{detect_action_intent, is_consent};
use crate::preview::PendingConfirmation;
use crate::prose;
use crate::toolbox::{CallContext, Ending, ToolAnswer, ToolSpec, Toolbox};
use domain::digest::sha256_hex;
use domain::job::effects::args_hash;
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How much one answer may take.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// Rounds of calls; [`Limits::with_iterations`] keeps it between 1 and 20.
    pub iterations: u32,
    /// Time for all of it.
    pub budget: Duration,
    /// Tokens of one answer of the model.
    pub max_output_tokens: u32,
    /// How freely it may choose its words.
    pub temperature: f32,
    /// Characters of a tool's result that the model sees.
    pub result_chars: usize,
    /// Earlier turns that the model sees.
    pub history_turns: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            iterations: 5,
            budget: Duration::from_secs(300),
            max_output_tokens: 1500,
            temperature: 0.2,
            result_chars: 8000,
            history_turns: 10,
        }
    }
}

impl Limits {
    /// With a wish for the rounds, as far as it is allowed.
    #[must_use]
    pub fn with_iterations(mut self, wished: Option<i64>) -> Self {
        if let Some(wished) = wished {
            self.iterations = u32::try_from(wished.clamp(1, 20)).unwrap_or(self.iterations);
        }
        self
    }
}

/// What is to be answered.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ask {
    /// The job or turn it belongs to; part of the calls' idempotency keys.
    pub job: String,
    /// Instructions for the model.
    pub system: String,
    /// What was said before, oldest first.
    pub history: Vec<(Speaker, String)>,
    /// The message.
    pub message: String,
    /// A preview of an earlier turn waits for the user's consent.
    pub awaits_consent: bool,
    /// Arguments that only the session may fill.
    pub identity: Map<String, Value>,
    /// Who reads the answer.
    pub reader: Reader,
    /// How much it may take.
    pub limits: Limits,
}

/// The answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// What the user is to read.
    pub text: String,
    /// The tools that were called, each once, in the order of their first call.
    pub tools_used: Vec<String>,
    /// Something was asked for and not done; the text says so.
    pub action_not_performed: bool,
    /// What waits for the user's consent; of several the last.
    pub pending_confirmation: Option<PendingConfirmation>,
    /// The model had to be told once to act.
    pub guard_retried: bool,
    /// The rounds were used up.
    pub stopped_at_limit: bool,
    /// The provider that spoke last.
    pub provider: String,
    /// Its model.
    pub model: String,
    /// What it cost.
    pub usage: Usage,
    /// How often a model answered.
    pub model_turns: u32,
}

/// What happens while an answer is made, for whoever shows it.
#[derive(Debug, Clone, PartialEq)]
pub enum Progress {
    /// Words that will be part of the answer. Only when the guard will let them pass in any case.
    Words(String),
    /// A call begins.
    Call {
        /// The how many-th.
        seq: u32,
        /// The tool.
        tool: String,
        /// What it is called with.
        arguments: Map<String, Value>,
    },
    /// It ended.
    Called {
        /// The how many-th.
        seq: u32,
        /// What the model is told.
        text: String,
        /// It did not work.
        failed: bool,
    },
}

/// Makes one answer.
///
/// # Errors
///
/// When no provider answers, when the time is over, or when `cancel` is cancelled.
pub async fn answer(
    chain: &Chain,
    toolbox: &dyn Toolbox,
    ask: &Ask,
    progress: Option<&mpsc::UnboundedSender<Progress>>,
    cancel: &CancellationToken,
) -> Result<Answer, ProviderError> {
    let tools = toolbox.tools();
    let mut messages: Vec<Message> = ask
        .history
        .iter()
        .skip(ask.history.len().saturating_sub(ask.limits.history_turns))
        .map(|(speaker, text)| match speaker {
            Speaker::User => Message::User(text.clone()),
            Speaker::Assistant => Message::Assistant {
                text: text.clone(),
                calls: Vec::new(),
            },
        })
        .collect();
    messages.push(Message::User(ask.message.clone()));
    let mut turn = Turn {
        chain,
        toolbox,
        ask,
        chat: Chat {
            system: ask.system.clone(),
            messages,
            tools: tools.iter().map(Offer::from).collect(),
            max_output_tokens: ask.limits.max_output_tokens,
            temperature: ask.limits.temperature,
        },
        tools,
        intent: detect_action_intent(&ask.message)
            || (ask.awaits_consent && is_consent(&ask.message)),
        deadline: Instant::now() + ask.limits.budget,
        progress,
        cancel,
        place: chain.next_place(),
        rounds: 0,
        seq: 0,
        deeds: Deeds::default(),
        answer: Answer::default(),
    };
    turn.run().await?;
    Ok(turn.answer)
}

struct Turn<'a> {
    chain: &'a Chain,
    toolbox: &'a dyn Toolbox,
    ask: &'a Ask,
    tools: Vec<ToolSpec>,
    chat: Chat,
    intent: bool,
    deadline: Instant,
    progress: Option<&'a mpsc::UnboundedSender<Progress>>,
    cancel: &'a CancellationToken,
    place: usize,
    rounds: u32,
    seq: u32,
    deeds: Deeds,
    answer: Answer,
}

impl Turn<'_> {
    async fn run(&mut self) -> Result<(), ProviderError> {
        // Without tools nothing can be done, and a model that cannot act is the likeliest to pretend.
        if self.intent && self.tools.is_empty() {
            self.refuse();
            return Ok(());
        }
        let mut text = self.settle().await?;
        loop {
            let may_retry = !self.answer.guard_retried && self.rounds < self.ask.limits.iterations;
            match judge(self.intent, &self.deeds, may_retry) {
                Verdict::Pass => {
                    self.answer.text = text;
                    return Ok(());
                }
                Verdict::Retry => {
                    self.answer.guard_retried = true;
                    tracing::info!(job = %self.ask.job, "a model spoke of an action without acting and is asked again");
                    self.chat.messages.push(Message::User(DEMAND.to_owned()));
                    text = self.settle().await?;
                }
                Verdict::Refuse => {
                    self.refuse();
                    return Ok(());
                }
            }
        }
    }

    fn refuse(&mut self) {
        tracing::info!(job = %self.ask.job, "the text of a model that did not act is dropped");
        self.answer.text = refusal(&self.deeds, !self.tools.is_empty(), &self.ask.reader);
        self.answer.action_not_performed = true;
    }

    /// Asks and carries out calls until the model wants no more of them.
    async fn settle(&mut self) -> Result<String, ProviderError> {
        loop {
            let reply = self.next_reply().await?;
            let (calls, text) = if reply.calls.is_empty() {
                let tools = &self.tools;
                let scan = prose::scan(&reply.text, |name| {
                    tools.iter().any(|tool| tool.name == name)
                });
                if let (Some(problem), true) =
                    (&scan.problem, self.rounds < self.ask.limits.iterations)
                {
                    self.rounds += 1;
                    self.say(reply.text.clone(), Vec::new());
                    self.chat.messages.push(Message::User(format!(
                        "Your tool block was not carried out: {problem}. Write it again, or answer without it."
                    )));
                    continue;
                }
                (scan.calls, scan.text)
            } else {
                (reply.calls.clone(), reply.text.trim().to_owned())
            };
            if calls.is_empty() {
                if text.is_empty() {
                    return Err(self.error(Trouble::Empty, "the answer is empty"));
                }
                self.say(reply.text, Vec::new());
                return Ok(if reply.cut {
                    format!(
                        "{text}\n\n[The answer was cut off here: it had reached its greatest length.]"
                    )
                } else {
                    text
                });
            }
            if self.rounds >= self.ask.limits.iterations {
                tracing::warn!(job = %self.ask.job, rounds = self.rounds, "an answer needed more rounds of calls than it may have");
                self.answer.stopped_at_limit = true;
                return Ok(self.what_is_known(text));
            }
            self.rounds += 1;
            self.carry_out(reply, calls, text).await?;
        }
    }

    async fn next_reply(&mut self) -> Result<Reply, ProviderError> {
        if self.cancel.is_cancelled() {
            return Err(self.error(Trouble::Canceled, "canceled"));
        }
        // Words are shown while they come only if the guard will not drop them and none of them can be a call.
        let native = self
            .chain
            .providers()
            .iter()
            .all(|provider| provider.kind().native_tools());
        let (words, mut heard) = mpsc::unbounded_channel();
        let live = self
            .progress
            .filter(|_| !self.intent && (native || self.tools.is_empty()));
        let asked = self.chain.ask(
            &self.chat,
            self.place,
            live.map(|_| &words),
            self.deadline,
            self.cancel,
        );
        tokio::pin!(asked);
        let answered = loop {
            tokio::select! {
                biased;
                Some(piece) = heard.recv() => tell(live, || Progress::Words(piece)),
                answered = &mut asked => break answered?,
            }
        };
        while let Ok(piece) = heard.try_recv() {
            tell(live, || Progress::Words(piece));
        }
        self.place = answered.place;
        let provider = &self.chain.providers()[answered.place];
        provider.name().clone_into(&mut self.answer.provider);
        provider.model().clone_into(&mut self.answer.model);
        self.answer.usage += answered.reply.usage;
        self.answer.model_turns += 1;
        Ok(answered.reply)
    }

    async fn carry_out(
        &mut self,
        reply: Reply,
        calls: Vec<ToolCall>,
        text: String,
    ) -> Result<(), ProviderError> {
        let native = !reply.calls.is_empty();
        if native {
            // An empty turn of its own confuses a model.
            let noted = if text.is_empty() {
                note_of(&calls)
            } else {
                text
            };
            self.say(noted, calls.clone());
        } else {
            self.say(reply.text, Vec::new());
        }
        // The same call twice in one reply is one call; natively each still needs its result.
        let mut results: HashMap<String, (String, bool)> = HashMap::new();
        for call in calls {
            if self.cancel.is_cancelled() {
                return Err(self.error(Trouble::Canceled, "canceled"));
            }
            if Instant::now() >= self.deadline {
                return Err(self.error(Trouble::Timeout, "the time for this answer is over"));
            }
            let fingerprint = call.fingerprint();
            let (text, failed) = match results.get(&fingerprint) {
                Some(result) => result.clone(),
                None => {
                    let result = self.call(&call).await;
                    results.insert(fingerprint, result.clone());
                    result
                }
            };
            self.chat.messages.push(if native {
                Message::Tool {
                    id: call.id,
                    name: call.name,
                    text,
                    failed,
                }
            } else {
                let how = if failed { "failed" } else { "answered" };
                Message::User(format!("The tool {} {how}:\n{text}", call.name))
            });
        }
        Ok(())
    }

    /// One call: what the model is told of it, and whether it failed.
    async fn call(&mut self, call: &ToolCall) -> (String, bool) {
        let Some(spec) = self
            .tools
            .iter()
            .find(|tool| tool.name == call.name)
            .cloned()
        else {
            let names: Vec<&str> = self.tools.iter().map(|tool| tool.name.as_str()).collect();
            return (
                format!(
                    "There is no tool {}. The tools are: {}.",
                    call.name,
                    names.join(", ")
                ),
                true,
            );
        };
        if !self.answer.tools_used.contains(&spec.name) {
            self.answer.tools_used.push(spec.name.clone());
        }
        let mut arguments = match &call.arguments {
            Arguments::Object(map) => map.clone(),
            Arguments::Unreadable { problem, .. } => {
                let text = format!(
                    "The call was not carried out: its arguments were not understood, {problem}. Send them again."
                );
                self.note_failure(
                    &spec,
                    &format!("its arguments were not understood, {problem}"),
                );
                return (text, true);
            }
        };
        self.overwrite_identity(&spec, &mut arguments);
        let held = self
            .answer
            .pending_confirmation
            .as_ref()
            .is_some_and(|pending| pending.is_confirmed_by(&spec.name));
        if held {
            return (
                "Refused: the user has not agreed yet. Show what the preview says and ask; only a later message of the user is consent."
                    .to_owned(),
                true,
            );
        }
        self.seq += 1;
        let seq = self.seq;
        let arguments_hash = args_hash(&Value::Object(arguments.clone()));
        let context = CallContext {
            job: self.ask.job.clone(),
            seq,
            idempotency_key: idempotency_key(&self.ask.job, &spec.name, &arguments_hash),
            arguments_hash,
            effect: spec.effect,
        };
        tell(self.progress, || Progress::Call {
            seq,
            tool: spec.name.clone(),
            arguments: arguments.clone(),
        });
        let result = self
            .toolbox
            .call(context, &spec.name, arguments.clone())
            .await;
        let (text, failed) = self.weigh(&spec, &arguments, &result);
        tell(self.progress, || Progress::Called {
            seq,
            text: text.clone(),
            failed,
        });
        (text, failed)
    }

    /// What a result means: to the guard, to the confirmation, and to the model.
    fn weigh(
        &mut self,
        spec: &ToolSpec,
        arguments: &Map<String, Value>,
        result: &ToolAnswer,
    ) -> (String, bool) {
        let text = match &result.value {
            Value::String(text) => text.clone(),
            other @ (Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Array(_)
            | Value::Object(_)) => other.to_string(),
        };
        let shown = cut(&text, self.ask.limits.result_chars);
        match result.ending {
            Ending::Done => {
                if spec.effect.counts() {
                    self.deeds.acted = true;
                }
                match PendingConfirmation::of(&spec.name, arguments, &result.value) {
                    Some(pending) => {
                        let shown = format!("{}\n\n{shown}", pending.note());
                        self.answer.pending_confirmation = Some(pending);
                        (shown, false)
                    }
                    None => (shown, false),
                }
            }
            Ending::Failed => {
                self.note_failure(spec, &text);
                (shown, true)
            }
            Ending::Unknown => {
                if spec.effect.counts() {
                    self.deeds.unknown = Some(spec.name.clone());
                }
                (shown, true)
            }
        }
    }

    fn note_failure(&mut self, spec: &ToolSpec, reason: &str) {
        if spec.effect.counts() {
            self.deeds.failed = Some((spec.name.clone(), reason.to_owned()));
        }
    }

    fn overwrite_identity(&self, spec: &ToolSpec, arguments: &mut Map<String, Value>) {
        let schema = spec.parameters.schema();
        for (name, value) in &self.ask.identity {
            if arguments.contains_key(name) || schema["properties"].get(name).is_some() {
                arguments.insert(name.clone(), value.clone());
            }
        }
    }

    fn what_is_known(&self, text: String) -> String {
        if !text.is_empty() {
            return text;
        }
        format!(
            "I stopped before I was finished: this needed more steps than I may take at once. So far I have used {}.",
            self.answer.tools_used.join(", ")
        )
    }

    fn say(&mut self, text: String, calls: Vec<ToolCall>) {
        self.chat.messages.push(Message::Assistant { text, calls });
    }

    fn error(&self, trouble: Trouble, message: &str) -> ProviderError {
        let provider = if self.answer.provider.is_empty() {
            "assistant"
        } else {
            &self.answer.provider
        };
        ProviderError::new(provider, trouble, message)
    }
}

fn note_of(calls: &[ToolCall]) -> String {
    let mut seen = HashSet::new();
    let names: Vec<&str> = calls
        .iter()
        .map(|call| call.name.as_str())
        .filter(|name| seen.insert(*name))
        .collect();
    format!("(Calling {}.)", names.join(", "))
}

fn idempotency_key(job: &str, tool: &str, arguments_hash: &str) -> String {
    let mut key = sha256_hex(&format!("{job}\0{tool}\0{arguments_hash}"));
    key.truncate(32);
    key
}

/// Cuts a long result, and says so.
fn cut(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_owned(),
        Some((at, _)) => {
            let rest = text[at..].chars().count();
            format!("{}\n[cut here: {rest} more characters]", &text[..at])
        }
    }
}

fn tell(progress: Option<&mpsc::UnboundedSender<Progress>>, what: impl FnOnce() -> Progress) {
    if let Some(progress) = progress {
        let _ = progress.send(what());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_result_is_cut_between_characters_and_says_so() {
        assert_eq!(cut("äöü", 3), "äöü");
        assert_eq!(cut("äöü!", 3), "äöü\n[cut here: 1 more characters]");
    }

    #[test]
    fn wishes_for_rounds_are_clamped() {
        for (wish, iterations) in [
            (None, 5),
            (Some(0), 1),
            (Some(-3), 1),
            (Some(7), 7),
            (Some(1000), 20),
        ] {
            assert_eq!(
                Limits::default().with_iterations(wish).iterations,
                iterations
            );
        }
    }
}
