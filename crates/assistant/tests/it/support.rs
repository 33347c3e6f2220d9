//! Tools that note what was done with them, and the usual question.

use assistant::provider::{Kind, Provider};
use assistant::spec::Parameters;
use assistant::testing::ModelServer;
use assistant::{
    Answer, Ask, CallContext, Chain, Effect, ProviderError, Settings, ToolAnswer, ToolSpec, Toolbox,
};
use async_trait::async_trait;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Every wire, for what must hold on each of them.
pub(crate) const KINDS: [Kind; 3] = [Kind::OpenAi, Kind::Anthropic, Kind::Ollama];

type Does = Box<dyn Fn(&Map<String, Value>) -> ToolAnswer + Send + Sync>;

/// A call that came: with what, to which tool, and its arguments.
pub(crate) type Called = (CallContext, String, Map<String, Value>);

/// Tools by name.
#[derive(Default)]
pub(crate) struct Tools {
    specs: Vec<ToolSpec>,
    does: BTreeMap<String, Does>,
    pub(crate) calls: Mutex<Vec<Called>>,
}

impl Tools {
    pub(crate) fn with(
        mut self,
        name: &str,
        effect: Effect,
        does: impl Fn(&Map<String, Value>) -> ToolAnswer + Send + Sync + 'static,
    ) -> Self {
        self.specs.push(ToolSpec {
            name: name.to_owned(),
            description: format!("The tool {name}."),
            parameters: Parameters::Prose(json!({
                "title": "string (optional) - what it is called",
                "user_id": "string (optional) - who asks",
            })),
            effect,
        });
        self.does.insert(name.to_owned(), Box::new(does));
        self
    }

    /// `list_tasks`, `create_task`, `preview_task`, `confirm_task`, all of which work.
    pub(crate) fn usual() -> Self {
        Self::default()
            .with("list_tasks", Effect::Read, |_| ToolAnswer::done(json!({"tasks": ["one"]})))
            .with("create_task", Effect::Action, |_| ToolAnswer::done(json!({"id": "t1"})))
            .with("preview_task", Effect::Preview, |_| {
                ToolAnswer::done(json!({"requiresConfirmation": true, "confirmationTool": "confirm_task", "title": "x"}))
            })
            .with("confirm_task", Effect::Action, |_| ToolAnswer::done(json!({"id": "t2"})))
    }

    pub(crate) fn called(&self) -> Vec<String> {
        self.calls
            .lock()
            .expect("no test panics with it")
            .iter()
            .map(|(_, name, _)| name.clone())
            .collect()
    }
}

#[async_trait]
impl Toolbox for Tools {
    fn tools(&self) -> Vec<ToolSpec> {
        self.specs.clone()
    }

    async fn call(
        &self,
        context: CallContext,
        name: &str,
        arguments: Map<String, Value>,
    ) -> ToolAnswer {
        let answer = self.does[name](&arguments);
        self.calls.lock().expect("no test panics with it").push((
            context,
            name.to_owned(),
            arguments,
        ));
        answer
    }
}

/// A chain of these.
pub(crate) fn chain(servers: &[(&ModelServer, Kind)]) -> Chain {
    chain_with(servers, Duration::from_secs(20))
}

pub(crate) fn chain_with(servers: &[(&ModelServer, Kind)], timeout: Duration) -> Chain {
    Chain::new(&settings(servers, timeout)).expect("an address that can be used")
}

pub(crate) fn settings(servers: &[(&ModelServer, Kind)], timeout: Duration) -> Settings {
    let endpoints = servers
        .iter()
        .map(|(server, kind)| server.endpoint(*kind, timeout))
        .collect();
    Settings {
        endpoints,
        ..Settings::default()
    }
}

pub(crate) fn provider(server: &ModelServer, kind: Kind, timeout: Duration) -> Provider {
    Provider::new(server.endpoint(kind, timeout)).expect("an address that can be used")
}

pub(crate) fn ask(message: &str) -> Ask {
    Ask {
        job: "job-1".to_owned(),
        system: "You help.".to_owned(),
        message: message.to_owned(),
        ..Ask::default()
    }
}

pub(crate) async fn answer(
    chain: &Chain,
    tools: &dyn Toolbox,
    message: &str,
) -> Result<Answer, ProviderError> {
    assistant::answer(chain, tools, &ask(message), None, &CancellationToken::new()).await
}
