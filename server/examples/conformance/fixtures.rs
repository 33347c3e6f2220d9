//! What the suite asks for, as `fixtures.json` lists it.
//!
//! A result is a text with places such as `{name}`, filled from the arguments of the call; `{answer}` stands for what the client
//! answered. What a client is asked comes in one of two ways: `asks` is a request of the server while the call is open, as the
//! revisions with sessions have it, and `rounds` are results that ask and end the call, as 2026-07-28 has it.

use anyhow::Context as _;
use hmac::{Hmac, KeyInit, Mac};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientCapabilities, GetPromptRequestParams,
    GetPromptResponse, InputRequiredResult, InputResponses, JsonObject, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig,
    ServerNotification, ServerRequest, SubscribeRequestParams, SubscriptionFilter, Tool,
    UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, RoleServer, SubscriptionContext, SubscriptionSink};
use rmcp::{ErrorData, ServerHandler};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use sha2::Sha256;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

const LIST: &str = include_str!("fixtures.json");
/// The suite wants its notices a little apart.
const BETWEEN: Duration = Duration::from_millis(50);
/// What is said of each of them.
const WORDS: &str = "A fixture of the conformance suite.";
/// It protects nothing.
const KEY: &[u8] = b"the key of the fixtures";

/// Handler of one connection. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Fixtures(Arc<Shared>);

struct Shared {
    list: List,
    /// Who is told when the list of tools changes.
    listeners: Mutex<Vec<SubscriptionSink>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    tools: Vec<Fixture>,
    prompts: Vec<Fixture>,
    resources: Vec<Contents>,
    /// What clients are asked, by the names that rounds use.
    requests: BTreeMap<String, Value>,
}

/// A tool or a prompt.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Fixture {
    name: String,
    input_schema: Option<JsonObject>,
    arguments: Option<Value>,
    result: Value,
    /// Told in between.
    #[serde(default)]
    logs: Vec<String>,
    #[serde(default)]
    progress: Vec<u32>,
    /// What the client must be able to do.
    needs: Option<ClientCapabilities>,
    /// Asked while the call is open.
    asks: Option<Value>,
    /// Asked one after another, each by ending the call.
    #[serde(default)]
    rounds: Vec<BTreeMap<String, String>>,
    /// Where the rounds are comes back under a seal.
    #[serde(default)]
    sealed: bool,
    /// Tells everybody that the list of tools has changed.
    #[serde(default)]
    changes: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Contents {
    uri: String,
    mime_type: String,
    text: Option<String>,
    blob: Option<String>,
}

/// What stands between a call and its result.
enum Round {
    Ask(InputRequiredResult),
    Over(Value),
}

impl Fixtures {
    pub(crate) fn new() -> anyhow::Result<Self> {
        let list = serde_json::from_str(LIST).context("fixtures.json")?;
        Ok(Self(Arc::new(Shared {
            list,
            listeners: Mutex::default(),
        })))
    }

    fn tool(&self, name: &str) -> Option<&Fixture> {
        self.0.list.tools.iter().find(|tool| tool.name == name)
    }

    /// The round that a call is in.
    fn round(
        &self,
        fixture: &Fixture,
        responses: Option<InputResponses>,
        state: Option<&str>,
        can: &ClientCapabilities,
    ) -> Result<Round, ErrorData> {
        let at = match state {
            Some(state) => opened(&fixture.name, state)?,
            None => 0,
        };
        let Some(asked) = fixture.rounds.get(at) else {
            return Ok(Round::Over(Value::Null));
        };
        let responses = responses.unwrap_or_default();
        let answered = asked
            .keys()
            .all(|key| responses.get(key).is_some_and(Value::is_object));
        let (at, asked) = match (answered, fixture.rounds.get(at + 1)) {
            (true, None) => return Ok(Round::Over(json!(responses))),
            (true, Some(next)) => (at + 1, next),
            (false, _) => (at, asked),
        };
        let requests: Map<String, Value> = asked
            .iter()
            .filter_map(|(key, name)| Some((key.clone(), self.0.list.requests.get(name)?.clone())))
            .filter(|(_, request)| may_be_asked(can, request))
            .collect();
        let mut ask = json!({"resultType": "input_required", "inputRequests": requests});
        if fixture.sealed {
            ask["requestState"] = json!(sealed(&fixture.name, at));
        }
        Ok(Round::Ask(read(ask)?))
    }

    /// Carries out what a fixture says; gives what fills its result.
    async fn act(
        &self,
        fixture: &Fixture,
        arguments: &JsonObject,
        context: &RequestContext<RoleServer>,
    ) -> Result<JsonObject, ErrorData> {
        let mut filling = arguments.clone();
        // With sessions a client hears everything until it sets a level; later each request says what it wants.
        let wants_logs =
            context.meta.protocol_version().is_none() || context.meta.log_level().is_some();
        for text in fixture.logs.iter().filter(|_| wants_logs) {
            let params = json!({"level": "info", "logger": "fixtures", "data": text});
            notify(context, "notifications/message", params).await?;
            tokio::time::sleep(BETWEEN).await;
        }
        if let Some(token) = context.meta.get_progress_token() {
            for progress in &fixture.progress {
                let params = json!({"progressToken": token, "progress": progress, "total": 100});
                notify(context, "notifications/progress", params).await?;
                tokio::time::sleep(BETWEEN).await;
            }
        }
        if let Some(request) = &fixture.asks {
            let request: ServerRequest = read(filled(request, &filling))?;
            let answer = context
                .peer
                .send_request(request)
                .await
                .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
            filling.insert("answer".to_owned(), json!(json!(answer).to_string()));
        }
        if fixture.changes {
            let listeners = self.listeners().clone();
            for listener in listeners {
                // Who has gone need not know.
                let _ = listener.notify_tool_list_changed().await;
            }
        }
        Ok(filling)
    }

    fn listeners(&self) -> std::sync::MutexGuard<'_, Vec<SubscriptionSink>> {
        self.0
            .listeners
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[expect(
    deprecated,
    reason = "the suite asks for logging, which the newest revision is about to give up"
)]
impl ServerHandler for Fixtures {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(
            ServerCapabilities::builder()
                .enable_completions()
                .enable_logging()
                .enable_prompts()
                .enable_resources()
                .enable_resources_subscribe()
                .enable_tools()
                .enable_tool_list_changed()
                .build(),
        )
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tool(name).map(listed)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.0.list.tools.iter().map(listed).collect();
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let fixture = self
            .tool(&request.name)
            .ok_or_else(|| ErrorData::invalid_params("there is no such tool", None))?;
        let can = context.client_capabilities().unwrap_or_default();
        if let Some(needs) = &fixture.needs
            && needs.sampling.is_some()
            && can.sampling.is_none()
        {
            return Err(ErrorData::missing_required_client_capability(needs.clone()));
        }
        let arguments = request.arguments.unwrap_or_default();
        let mut filling = self.act(fixture, &arguments, &context).await?;
        if !fixture.rounds.is_empty() {
            let state = request.request_state.as_deref();
            match self.round(fixture, request.input_responses, state, &can)? {
                Round::Ask(ask) => return Ok(ask.into()),
                Round::Over(answer) => {
                    filling.insert("answer".to_owned(), json!(answer.to_string()))
                }
            };
        }
        complete(filled(&fixture.result, &filling)).map(CallToolResponse::Complete)
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let prompts = self.0.list.prompts.iter();
        let prompts = prompts
            .map(|prompt| read(json!({"name": prompt.name, "description": WORDS, "arguments": prompt.arguments})))
            .collect::<Result<_, _>>()?;
        Ok(ListPromptsResult::with_all_items(prompts))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let mut prompts = self.0.list.prompts.iter();
        let fixture = prompts
            .find(|prompt| prompt.name == request.name)
            .ok_or_else(|| ErrorData::invalid_params("there is no such prompt", None))?;
        let mut filling = request.arguments.unwrap_or_default();
        if !fixture.rounds.is_empty() {
            let can = context.client_capabilities().unwrap_or_default();
            let state = request.request_state.as_deref();
            match self.round(fixture, request.input_responses, state, &can)? {
                Round::Ask(ask) => return Ok(ask.into()),
                Round::Over(answer) => {
                    filling.insert("answer".to_owned(), json!(answer.to_string()))
                }
            };
        }
        complete(filled(&fixture.result, &filling)).map(GetPromptResponse::Complete)
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let plain = self.0.list.resources.iter().filter(|it| !it.is_template());
        let resources = plain
            .map(|it| read(json!({"uri": it.uri, "name": it.uri, "mimeType": it.mime_type})))
            .collect::<Result<_, _>>()?;
        Ok(ListResourcesResult::with_all_items(resources))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates = self.0.list.resources.iter().filter(|it| it.is_template());
        let templates = templates
            .map(|it| {
                read(json!({"uriTemplate": it.uri, "name": it.uri, "mimeType": it.mime_type}))
            })
            .collect::<Result<_, _>>()?;
        Ok(ListResourceTemplatesResult::with_all_items(templates))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let found = self.0.list.resources.iter().find_map(|it| {
            let filling = it.matches(&request.uri)?;
            let mut contents = json!({"uri": request.uri, "mimeType": it.mime_type});
            if let Some(text) = &it.text {
                contents["text"] = filled(&json!(text), &filling);
            }
            if let Some(blob) = &it.blob {
                contents["blob"] = json!(blob);
            }
            Some(contents)
        });
        let contents = found.ok_or_else(|| {
            let uri = json!({"uri": request.uri});
            ErrorData::resource_not_found("there is no such resource", Some(uri))
        })?;
        complete(json!({"contents": [contents]})).map(ReadResourceResponse::Complete)
    }

    fn accepted_subscription_filter(
        &self,
        _requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(SubscriptionFilter::builder().tools_list_changed().build())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.listeners().push(context.sink().clone());
        context.cancelled().await;
        Ok(())
    }

    async fn set_level(
        &self,
        _request: rmcp::model::SetLevelRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn subscribe(
        &self,
        _request: SubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(
        &self,
        _request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }
}

impl Contents {
    fn is_template(&self) -> bool {
        self.uri.contains('{')
    }

    /// What fills the places of a template for `uri` to come out; nothing is filled when it is no template.
    fn matches(&self, uri: &str) -> Option<JsonObject> {
        let Some((before, (name, after))) = self
            .uri
            .split_once('{')
            .and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
        else {
            return (self.uri == uri).then(JsonObject::new);
        };
        let value = uri.strip_prefix(before)?.strip_suffix(after)?;
        Some(JsonObject::from_iter([(name.to_owned(), json!(value))]))
    }
}

fn listed(fixture: &Fixture) -> Tool {
    let schema = fixture
        .input_schema
        .clone()
        .unwrap_or_else(|| JsonObject::from_iter([("type".to_owned(), json!("object"))]));
    Tool::new(fixture.name.clone(), WORDS, Arc::new(schema))
}

fn may_be_asked(can: &ClientCapabilities, request: &Value) -> bool {
    match request["method"].as_str() {
        Some("elicitation/create") => can.elicitation.is_some(),
        Some("sampling/createMessage") => can.sampling.is_some(),
        Some("roots/list") => can.roots.is_some(),
        _ => false,
    }
}

async fn notify(
    context: &RequestContext<RoleServer>,
    method: &str,
    params: Value,
) -> Result<(), ErrorData> {
    let notice: ServerNotification = read(json!({"method": method, "params": params}))?;
    context
        .peer
        .send_notification(notice)
        .await
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

/// `value` with the places in its texts filled.
fn filled(value: &Value, filling: &JsonObject) -> Value {
    match value {
        Value::String(text) => {
            let mut text = text.clone();
            for (name, value) in filling {
                if let Some(value) = value.as_str() {
                    text = text.replace(&format!("{{{name}}}"), value);
                }
            }
            Value::String(text)
        }
        Value::Array(items) => items.iter().map(|item| filled(item, filling)).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, field)| (name.clone(), filled(field, filling)))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// The round in words that nobody else can have made.
fn sealed(name: &str, round: usize) -> String {
    format!("{round}.{}", tag(name, round))
}

fn opened(name: &str, state: &str) -> Result<usize, ErrorData> {
    state
        .split_once('.')
        .and_then(|(round, given)| {
            let round = round.parse().ok()?;
            (tag(name, round) == given).then_some(round)
        })
        .ok_or_else(|| ErrorData::invalid_params("requestState is not what was given out", None))
}

fn tag(name: &str, round: usize) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(KEY).expect("HMAC takes keys of every length");
    mac.update(format!("{name} {round}").as_bytes());
    let bytes = mac.finalize().into_bytes();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A result that says so; the SDK takes that out again for clients that do not know it.
fn complete<T: DeserializeOwned>(mut result: Value) -> Result<T, ErrorData> {
    result["resultType"] = json!("complete");
    read(result)
}

fn read<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value)
        .map_err(|error| ErrorData::internal_error(format!("the fixtures: {error}"), None))
}
