//! `flightdeck assistant-agent`: the assistant as a coding agent on standard streams.
//!
//! Its tools are those of the MCP servers that its session is handed, so on a board it works with exactly what any other agent may do;
//! it knows neither board nor database. A tool that says that it only reads is a look-up, every other one acts.

use agents::serve::{Mind, Options, Prompt, RemoteTool, Said, Show, Tools};
use assistant::chat::Speaker;
use assistant::guard::Reader;
use assistant::spec::Parameters;
use assistant::{
    Ask, CallContext, Chain, Effect, Limits, Progress, Settings, ToolAnswer, ToolSpec, Toolbox,
};
use async_trait::async_trait;
use futures::future::BoxFuture;
use serde_json::{Map, Value};
use std::path::PathBuf;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Rounds of calls for one prompt: work on a board takes more of them than an answer does.
const ITERATIONS: i64 = 20;
/// A question to the operator may stay open for hours within one call.
const BUDGET: Duration = Duration::from_secs(24 * 60 * 60);
const MAX_OUTPUT_TOKENS: u32 = 4096;
const HISTORY_TURNS: usize = 20;

const INSTRUCTIONS: &str = "You are an agent on a Flightdeck board and work on the task that you are told of below. You have no files and \
    no shell: what you can do is what the tools do, such as splitting work into subtasks for other agents, writing to them, keeping a \
    plan, and asking. Take ids only from what you are told and what tools answered. Only a tool changes anything: never say that \
    something was done unless its tool has just answered so. End with a short account of what you did.";

/// Serves one client until the input ends.
///
/// # Errors
///
/// When a provider's address cannot be used, the history folder cannot be made, or the connection breaks.
pub async fn run(history_dir: Option<PathBuf>) -> anyhow::Result<()> {
    let settings = Settings::from_env();
    for problem in &settings.problems {
        tracing::warn!("{problem}");
    }
    let mind = Thinking {
        chain: Chain::new(&settings)?,
    };
    let options = Options {
        name: "flightdeck-assistant".to_owned(),
        title: "Assistant".to_owned(),
        history_dir,
    };
    agents::serve::run(options, mind).await
}

struct Thinking {
    chain: Chain,
}

impl Mind for Thinking {
    fn answer<'a>(&'a self, prompt: Prompt, show: Show) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(self.think(prompt, show))
    }
}

impl Thinking {
    async fn think(&self, prompt: Prompt, show: Show) -> Result<String, String> {
        let toolbox = SessionTools {
            listed: prompt.tools.list().await?,
            tools: prompt.tools.clone(),
            cancel: prompt.cancel.clone(),
        };
        let ask = ask(&prompt);
        let (progress, told) = mpsc::unbounded_channel();
        let thinking = async {
            let answer =
                assistant::answer(&self.chain, &toolbox, &ask, Some(&progress), &prompt.cancel)
                    .await;
            drop(progress);
            answer
        };
        let (answer, shown) = tokio::join!(thinking, show_all(told, &show));
        let text = answer.map_err(|error| error.to_string())?.text;
        if let Some(rest) = unseen(&text, &shown) {
            show.words(&rest).await;
        }
        Ok(text)
    }
}

fn ask(prompt: &Prompt) -> Ask {
    let mut system = INSTRUCTIONS.to_owned();
    if !prompt.hidden.is_empty() {
        system.push_str("\n\n");
        system.push_str(&prompt.hidden);
    }
    Ask {
        job: format!("{}:{}", prompt.session_id, prompt.number),
        system,
        history: prompt
            .history
            .iter()
            .map(|said| {
                let speaker = match said {
                    Said::Prompt { .. } => Speaker::User,
                    Said::Message { .. } => Speaker::Assistant,
                };
                (speaker, said.words())
            })
            .collect(),
        message: prompt.text.clone(),
        reader: Reader {
            is_admin: true,
            link: None,
        },
        limits: Limits {
            budget: BUDGET,
            max_output_tokens: MAX_OUTPUT_TOKENS,
            history_turns: HISTORY_TURNS,
            ..Limits::default()
        }
        .with_iterations(Some(ITERATIONS)),
        ..Ask::default()
    }
}

/// Shows what happens, and gives the words that were shown since the last call.
async fn show_all(mut told: mpsc::UnboundedReceiver<Progress>, show: &Show) -> String {
    let mut shown = String::new();
    while let Some(one) = told.recv().await {
        match one {
            Progress::Words(words) => {
                shown.push_str(&words);
                show.words(&words).await;
            }
            Progress::Call {
                seq,
                tool,
                arguments,
            } => {
                shown.clear();
                show.call(seq, &tool, &Value::Object(arguments)).await;
            }
            Progress::Called { seq, text, failed } => show.called(seq, &text, failed).await,
        }
    }
    shown
}

/// What of an answer was not shown while it came.
fn unseen(text: &str, shown: &str) -> Option<String> {
    let shown = shown.trim();
    if shown.is_empty() {
        return Some(text.to_owned());
    }
    match text.strip_prefix(shown) {
        Some(rest) => (!rest.trim().is_empty()).then(|| rest.to_owned()),
        None => Some(format!("\n\n{text}")),
    }
}

/// The tools of a session's MCP servers.
struct SessionTools {
    tools: Tools,
    listed: Vec<RemoteTool>,
    cancel: CancellationToken,
}

#[async_trait]
impl Toolbox for SessionTools {
    fn tools(&self) -> Vec<ToolSpec> {
        self.listed
            .iter()
            .map(|tool| ToolSpec {
                name: tool.name.clone(),
                description: tool.description.clone(),
                parameters: Parameters::Schema(tool.schema.clone()),
                effect: effect(tool),
            })
            .collect()
    }

    async fn call(&self, _: CallContext, name: &str, arguments: Map<String, Value>) -> ToolAnswer {
        let Some(tool) = self.listed.iter().find(|tool| tool.name == name) else {
            return ToolAnswer::failed(format!("there is no tool {name}"));
        };
        let arguments = Value::Object(arguments);
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => ToolAnswer::failed("canceled"),
            outcome = self.tools.call(&tool.server, name, &arguments) => {
                if outcome.failed {
                    ToolAnswer::failed(outcome.text)
                } else {
                    ToolAnswer::done(outcome.value)
                }
            }
        }
    }
}

/// What a tool says of itself goes before its name.
fn effect(tool: &RemoteTool) -> Effect {
    match (Effect::by_name(&tool.name), tool.read_only) {
        (Effect::Preview, _) => Effect::Preview,
        (Effect::Read | Effect::Action, Some(true)) => Effect::Read,
        (Effect::Read | Effect::Action, Some(false)) => Effect::Action,
        (by_name @ (Effect::Read | Effect::Action), None) => by_name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_not_shown_is_shown_at_the_end() {
        for (text, shown, rest) in [
            ("All done.", "", Some("All done.")),
            ("All done.", "All done.\n", None),
            ("All done.\n\n[cut]", "All done.", Some("\n\n[cut]")),
            (
                "Nothing was changed.",
                "I did it",
                Some("\n\nNothing was changed."),
            ),
        ] {
            assert_eq!(unseen(text, shown).as_deref(), rest, "{text} {shown}");
        }
    }

    #[test]
    fn what_a_tool_says_of_itself_goes_before_its_name() {
        let tool = |name: &str, read_only| RemoteTool {
            server: "s".to_owned(),
            name: name.to_owned(),
            description: String::new(),
            schema: Value::Null,
            read_only,
        };
        for (name, read_only, expected) in [
            ("message_task_kandev", Some(false), Effect::Action),
            ("list_tasks_kandev", Some(true), Effect::Read),
            ("create_report", Some(true), Effect::Read),
            ("create_report", None, Effect::Action),
            ("look_around", None, Effect::Read),
            ("preview_event", Some(true), Effect::Preview),
        ] {
            assert_eq!(effect(&tool(name, read_only)), expected, "{name}");
        }
    }
}
