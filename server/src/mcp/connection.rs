//! What one client may ask for: its list of tools, and a call to one of them.

use super::Patience;
use super::identity::Identity;
use super::lists::{Client, Lists};
use super::plans;
use super::runs::{NativeTasks, native};
use super::tool::{Call, Run};
use super::waiting::Runs;
use crate::error::{refusal_of, tool_error};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CancelTaskParams, ContentBlock,
    CustomRequest, CustomResult, DiscoverResult, ErrorCode, GetTaskParams, GetTaskResult,
    Implementation, InitializeRequestParams, InitializeResult, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, SubscriptionFilter, UpdateTaskParams,
};
use rmcp::service::{RequestContext, RoleServer, SubscriptionContext};
use rmcp::{ErrorData, ServerHandler};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// The name under which clients know the server: it is in the names that they show.
const NAME: &str = "kandev";

const INSTRUCTIONS: &str = "Tools of a Flightdeck board, on which an operator delegates tasks to coding agents. Tool names end \
                            in _kandev; a client may show them with a prefix such as mcp__kandev__, which is the same tool.";

/// One connection, or one request of the revision that has no connections.
#[derive(Debug, Clone)]
pub(super) struct Connection {
    lists: Lists,
    runs: Runs,
    native: NativeTasks,
    patience: Patience,
    shutdown: CancellationToken,
}

impl Connection {
    /// What `native` says is for outside clients; an agent has no runs.
    pub(super) const fn new(
        lists: Lists,
        runs: Runs,
        native: NativeTasks,
        patience: Patience,
        shutdown: CancellationToken,
    ) -> Self {
        Self {
            lists,
            runs,
            native,
            patience,
            shutdown,
        }
    }

    /// A call of whoever makes a request.
    fn request(
        &self,
        arguments: Value,
        context: RequestContext<RoleServer>,
    ) -> Result<Call, ErrorData> {
        let Identity { actor, gone } = identity(&context)?;
        Ok(Call {
            board: self.lists.board.clone(),
            actor,
            arguments,
            context,
            gone,
            patience: self.patience,
            shutdown: self.shutdown.clone(),
            runs: self.runs.clone(),
        })
    }

    async fn call(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let actor = identity(&context)?.actor;
        let listing = self.lists.of(actor).await.map_err(internal)?;
        // A client may hold a stale list; what is not on the present one does not exist for it.
        let Some(tool) = listing.find(&request.name).cloned() else {
            return Err(ErrorData::invalid_params(
                "no such tool is listed for this client: list the tools again",
                None,
            ));
        };
        let hands_out = native::is_handed_out(self.native, tool.name, &context);
        let mut arguments = request.arguments.unwrap_or_default();
        // Metadata is the call's; some clients put it among the arguments, where no tool has a use for it (rulings 25).
        arguments.remove("_meta");
        let arguments = Value::Object(arguments);
        let call = self.request(arguments, context)?;
        let (schema, run) = match &tool.run {
            Run::Board { schema, run } => (schema, run),
            Run::Contract(run) => {
                let answer = run(call).await;
                let task = match hands_out {
                    true => native::handed_out(&self.lists.board, &actor, &answer).await,
                    false => None,
                };
                return Ok(match task {
                    Some(task) => task.into(),
                    None => answer.into_result().into(),
                });
            }
        };
        if let Err(refusal) = schema.check(tool.name, &call.arguments) {
            return Ok(tool_error(&refusal).into());
        }
        let outcome = match call.board.check_tool_call(&actor, tool.name).await {
            Ok(()) => run(call).await,
            Err(error) => Err(error),
        };
        let outcome = match self.lists.board.settled().await {
            Ok(()) => outcome,
            Err(error) => Err(error),
        };
        Ok(match outcome {
            Ok(value) => result(tool.name, value).into(),
            Err(error) => tool_error(&refusal_of(error)).into(),
        })
    }
}

impl ServerHandler for Connection {
    fn get_info(&self) -> ServerConfig {
        // There are no prompts and resources; most clients ask for them all the same, and an empty list is the kinder answer.
        let capabilities = ServerCapabilities::builder()
            .enable_prompts()
            .enable_resources()
            .enable_tools()
            .enable_tool_list_changed();
        let capabilities = match self.native {
            NativeTasks::Off => capabilities,
            NativeTasks::On | NativeTasks::Auto => capabilities.enable_tasks(),
        }
        .build();
        let mut config = ServerConfig::new(capabilities).with_instructions(INSTRUCTIONS);
        config.server_info =
            Implementation::new(NAME, env!("CARGO_PKG_VERSION")).with_title("Flightdeck");
        config
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let Identity { actor, .. } = identity(&context)?;
        context.peer.set_peer_info(request.clone());
        let answer = self.negotiate_initialize(&request)?;
        let client = Client::Connected(context.peer);
        self.lists.join(actor, client).await.map_err(internal)?;
        Ok(answer)
    }

    async fn discover(
        &self,
        context: RequestContext<RoleServer>,
    ) -> Result<DiscoverResult, ErrorData> {
        let Identity { actor, .. } = identity(&context)?;
        // The first request of a client of this revision, as initialize is of the others.
        if let Some(session) = actor.session() {
            self.lists.refresh(session).await;
        }
        Ok(DiscoverResult::from_server_info(
            self.supported_protocol_versions().into_owned(),
            self.get_info(),
        ))
    }

    fn accepted_subscription_filter(
        &self,
        _requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(SubscriptionFilter::builder().tools_list_changed().build())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let Identity { actor, .. } = identity(context.request_context())?;
        let client = Client::Subscribed(context.sink().clone());
        self.lists.join(actor, client).await.map_err(internal)?;
        tokio::select! {
            () = context.cancelled() => {}
            () = self.shutdown.cancelled() => {}
        }
        Ok(())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let Identity { actor, .. } = identity(&context)?;
        let listing = self.lists.of(actor).await.map_err(internal)?;
        Ok(ListToolsResult::with_all_items(
            listing
                .tools
                .iter()
                .map(|tool| tool.listed.clone())
                .collect(),
        ))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.call(request, context).await
    }

    /// What the SDK could not read as the request that its method names comes here too, and would be told that there is no such
    /// method.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        // Without `initialize`: where it is a method at all it comes before everything else, and not to here.
        const OURS: [&str; 7] = [
            "server/discover",
            "tools/list",
            "tasks/get",
            "tasks/update",
            "tasks/cancel",
            "prompts/list",
            "resources/list",
        ];
        Err(match request.method.as_str() {
            "tools/call" => ErrorData::invalid_params(
                "tools/call needs the name of a tool as text and, when there are arguments, an object of them",
                None,
            ),
            method if OURS.contains(&method) => {
                ErrorData::invalid_params(format!("the parameters do not fit {method}"), None)
            }
            _ => ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None),
        })
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let call = self.request(Value::Null, context)?;
        native::get(call, &request.task_id).await
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let call = self.request(Value::Null, context)?;
        native::update(call, &request.task_id, &request.input_responses).await
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let call = self.request(Value::Null, context)?;
        native::cancel(call, &request.task_id).await
    }
}

/// Who makes a request. The route has put it there; without it nothing is answered.
fn identity(context: &RequestContext<RoleServer>) -> Result<Identity, ErrorData> {
    Identity::of(&context.extensions)
        .cloned()
        .ok_or_else(|| ErrorData::internal_error("the caller is not known", None))
}

fn internal(error: board::BoardError) -> ErrorData {
    ErrorData::internal_error(refusal_of(error).message, None)
}

/// Data, once for models as indented JSON and once for programs. A text that must be read letter for letter has a block of its
/// own, outside of the JSON, where its line breaks and quotes are what they are.
fn result(tool: &str, value: Value) -> CallToolResult {
    let mut shown = value.clone();
    let exact = shown
        .as_object_mut()
        .filter(|_| plans::has_exact_text(tool))
        .and_then(|fields| fields.remove(plans::EXACT_TEXT))
        .and_then(|text| text.as_str().map(str::to_owned));
    let text = serde_json::to_string_pretty(&shown).unwrap_or_default();
    let mut result = CallToolResult::structured(value);
    result.content = std::iter::once(text)
        .chain(exact)
        .map(ContentBlock::text)
        .collect();
    result
}
