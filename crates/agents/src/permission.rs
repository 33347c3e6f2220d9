//! Which permission requests need no person.
//!
//! The tools of the built-in MCP server are always allowed: they are how an agent reports, asks and delegates, and
//! the server itself judges every call. Everything else is for the operator.
//!
//! The hard part is to know such a call when it is seen, since every agent writes it differently and a shell command
//! can contain any text. Three kinds of evidence count, from strong to weak:
//!
//! 1. **The vendor's own field** that names the tool (`_meta.claudeCode.toolName`). The model cannot write it.
//! 2. **The shape of the input**: exactly `server`, `tool` and `arguments`. A model fills `arguments`, never the
//!    shape. This alone convinces for kind `execute`, because Codex gives that kind to every MCP call.
//! 3. **A title that is nothing but the tool's name.** Only for calls of no particular kind.
//!
//! Any evidence of another tool or another server overrules all of it.

use serde_json::{Map, Value};

use crate::event::{PermissionKind, PermissionOption, PermissionRequest, ToolKind};

/// A request that is answered without asking a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allowed {
    /// Bare name of the built-in tool, or a `*` when the agent did not say which one.
    pub tool: String,
    /// The option to answer with.
    pub option_id: String,
}

/// The server whose tools are always allowed, and what its tools must not be taken for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuiltIn {
    /// Its name.
    pub server: String,
    /// The other servers that the agent was given: a bare name that begins with one of these is theirs, whatever it ends in.
    pub others: Vec<String>,
}

impl BuiltIn {
    /// Whether a request is for a tool of the built-in server, and which option allows it.
    ///
    /// The request's tool call must already be completed by what was announced about it: agents ask with a bare call id.
    #[must_use]
    pub fn allows(&self, request: &PermissionRequest) -> Option<Allowed> {
        let tool = built_in_tool(self, request)?;
        let option_id = allow_option(&request.options)?.id.clone();
        Some(Allowed { tool, option_id })
    }

    /// A bare name as some agents make it of a server's and its tool's: with what is no letter or digit replaced.
    fn is_anothers(&self, bare: &str) -> bool {
        self.others.iter().any(|other| {
            let other = other.to_ascii_lowercase().replace(['-', '.'], "_");
            bare.strip_prefix(&other)
                .is_some_and(|rest| rest.starts_with('_'))
        })
    }
}

/// The option that allows with the least consequence: once rather than always, since "always" makes some agents write
/// into the settings of the operator's project.
#[must_use]
pub fn allow_option(options: &[PermissionOption]) -> Option<&PermissionOption> {
    [PermissionKind::AllowOnce, PermissionKind::AllowAlways]
        .into_iter()
        .find_map(|kind| options.iter().find(|option| option.kind == kind))
}

fn built_in_tool(built_in: &BuiltIn, request: &PermissionRequest) -> Option<String> {
    let server = built_in.server.as_str();
    let call = &request.tool_call;
    let by_vendor = match vendor_tool_name(call.meta.as_ref())
        .or_else(|| vendor_tool_name(request.meta.as_ref()))
    {
        Some(name) => Some(tool_of(built_in, name)?),
        None => None,
    };
    let by_shape = match call.raw_input.as_ref().and_then(Value::as_object) {
        Some(input) => match shape(server, input, request.meta.as_ref()) {
            Shape::Ours(tool) => Some(tool),
            Shape::Foreign => return None,
            Shape::Silent => None,
        },
        None => None,
    };
    let by_title = call
        .title
        .as_deref()
        .and_then(|title| tool_of(built_in, title.trim()));
    match call.kind {
        None | Some(ToolKind::Other) => by_vendor.or(by_shape).or(by_title),
        Some(ToolKind::Execute) => by_vendor.or(by_shape),
        Some(
            ToolKind::Read
            | ToolKind::Edit
            | ToolKind::Delete
            | ToolKind::Move
            | ToolKind::Search
            | ToolKind::Think
            | ToolKind::Fetch
            | ToolKind::SwitchMode,
        ) => None,
    }
}

/// The tool name in a vendor's remarks: `_meta.<vendor>.toolName`, or right in `_meta`.
fn vendor_tool_name(meta: Option<&Value>) -> Option<&str> {
    fn named(object: &Map<String, Value>) -> Option<&str> {
        ["toolName", "tool_name"]
            .iter()
            .find_map(|key| object.get(*key)?.as_str())
    }
    let meta = meta?.as_object()?;
    named(meta).or_else(|| meta.values().filter_map(Value::as_object).find_map(named))
}

enum Shape {
    /// The input says: a tool of our server.
    Ours(String),
    /// The input says: something else.
    Foreign,
    /// The input says nothing about which tool it is.
    Silent,
}

fn shape(server: &str, input: &Map<String, Value>, request_meta: Option<&Value>) -> Shape {
    const SHELL: [&str; 6] = ["command", "cmd", "argv", "script", "shell", "cwd"];
    if SHELL.iter().any(|key| input.contains_key(*key)) {
        return Shape::Foreign;
    }
    let only = |allowed: &[&str]| input.keys().all(|key| allowed.contains(&key.as_str()));
    let field = |key: &str| input.get(key).and_then(Value::as_str);
    if let (Some(named), Some(tool)) = (field("server"), field("tool")) {
        return match named == server && is_tool_name(tool) && only(&["server", "tool", "arguments"])
        {
            true => Shape::Ours(tool.to_owned()),
            false => Shape::Foreign,
        };
    }
    // Codex, when several calls wait at once: it asks for the server, and only its own remark says that a tool call
    // is meant.
    if let Some(named) = field("serverName") {
        let approval = request_meta.and_then(|meta| meta.get("is_mcp_tool_approval"))
            == Some(&Value::Bool(true));
        return match named == server && approval && only(&["serverName", "description", "schema"]) {
            true => Shape::Ours("*".to_owned()),
            false => Shape::Foreign,
        };
    }
    Shape::Silent
}

/// The bare tool name, when the text is a name of one of our tools and nothing else.
fn tool_of(built_in: &BuiltIn, text: &str) -> Option<String> {
    let server = built_in.server.as_str();
    let bare_suffix = format!("_{server}");
    let tool = [
        text.strip_prefix("mcp__")
            .and_then(|rest| rest.strip_prefix(server)?.strip_prefix("__")),
        text.strip_prefix("mcp.")
            .and_then(|rest| rest.strip_prefix(server)?.strip_prefix('.')),
        text.strip_prefix(server)
            .and_then(|rest| rest.strip_prefix(['.', ':', '/']))
            .map(str::trim_start),
        text.strip_prefix("Tool: ")
            .and_then(|rest| rest.strip_prefix(server)?.strip_prefix('/')),
        text.strip_suffix(" MCP Server)")
            .and_then(|rest| rest.strip_suffix(server)?.strip_suffix(" (")),
        (text.ends_with(&bare_suffix) && !built_in.is_anothers(text)).then_some(text),
    ]
    .into_iter()
    .flatten()
    .find(|tool| is_tool_name(tool))?;
    // A bare name that carries another server's prefix is that server's tool, whatever it ends in.
    let foreign = tool.starts_with("mcp__") || tool.starts_with("mcp_");
    (!foreign).then(|| tool.to_owned())
}

fn is_tool_name(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.starts_with(|first: char| first.is_ascii_lowercase())
        && text
            .chars()
            .all(|each| each.is_ascii_lowercase() || each.is_ascii_digit() || each == '_')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::acp::permission_request;

    fn ours(others: &[&str]) -> BuiltIn {
        BuiltIn {
            server: "kandev".to_owned(),
            others: others.iter().map(|&other| other.to_owned()).collect(),
        }
    }

    fn tool(call: Value) -> Option<String> {
        tool_with_meta(call, &Value::Null)
    }

    fn tool_with_meta(mut call: Value, meta: &Value) -> Option<String> {
        call["toolCallId"] = json!("t");
        let request = permission_request(
            "1".into(),
            &json!({"toolCall": call, "_meta": meta, "options": [
                {"optionId": "a", "name": "Always", "kind": "allow_always"},
                {"optionId": "o", "name": "Once", "kind": "allow_once"},
                {"optionId": "r", "name": "No", "kind": "reject_once"},
            ]}),
        )
        .expect("has a tool call");
        let allowed = ours(&[]).allows(&request)?;
        assert_eq!(allowed.option_id, "o");
        Some(allowed.tool)
    }

    #[test]
    fn the_names_agents_give_our_tools_are_known() {
        for title in [
            "mcp__kandev__create_task_kandev",
            "mcp.kandev.create_task_kandev",
            "kandev.create_task_kandev",
            "kandev:create_task_kandev",
            "kandev: create_task_kandev",
            "kandev/create_task_kandev",
            "Tool: kandev/create_task_kandev",
            "create_task_kandev (kandev MCP Server)",
            "create_task_kandev",
        ] {
            assert_eq!(
                tool(json!({"title": title})).as_deref(),
                Some("create_task_kandev"),
                "{title}"
            );
            assert_eq!(
                tool(json!({"title": title, "kind": "other"})).as_deref(),
                Some("create_task_kandev"),
                "{title}"
            );
        }
        assert_eq!(
            tool(json!({"title": "kandev_create_task_kandev"})).as_deref(),
            Some("kandev_create_task_kandev")
        );
    }

    #[test]
    fn a_title_never_convinces_for_a_call_that_does_something_else() {
        for kind in [
            "execute",
            "edit",
            "delete",
            "move",
            "read",
            "search",
            "fetch",
            "think",
            "switch_mode",
        ] {
            assert_eq!(
                tool(json!({"title": "mcp__kandev__create_task_kandev", "kind": kind})),
                None,
                "{kind}"
            );
        }
    }

    #[test]
    fn text_that_merely_contains_a_name_does_not_pass() {
        for title in [
            "rm -rf / # mcp__kandev__create_task_kandev",
            "mcp__kandev__create_task_kandev; rm -rf /",
            "`kandev.create_task_kandev`",
            "echo create_task_kandev",
            "kandev.",
            "mcp__kandev__",
            "mcp__other__create_task_kandev",
            "mcp__kandevil__create_task",
            "mcp.other.create_task_kandev",
            "Create_task_kandev",
            "",
        ] {
            assert_eq!(tool(json!({"title": title})), None, "{title}");
        }
        assert_eq!(
            tool(json!({"title": "create_task_kandev", "rawInput": {"command": "rm -rf /"}})),
            None
        );
        assert_eq!(tool(json!({})), None);
    }

    #[test]
    fn the_vendors_own_field_decides() {
        let claude = |name: &str| json!({"claudeCode": {"toolName": name}});
        let call = |name: &str| json!({"title": "anything", "kind": "other", "rawInput": {"title": "x"}, "_meta": claude(name)});
        assert_eq!(
            tool(call("mcp__kandev__message_task_kandev")).as_deref(),
            Some("message_task_kandev")
        );
        assert_eq!(tool(call("Bash")), None);
        assert_eq!(
            tool(json!({"title": "create_task_kandev", "_meta": claude("Bash")})),
            None
        );
    }

    #[test]
    fn codex_asks_with_kind_execute_and_a_telling_shape() {
        let input = json!({"server": "kandev", "tool": "create_task_kandev", "arguments": {"command": "fine in here"}});
        let call =
            json!({"title": "mcp.kandev.create_task_kandev", "kind": "execute", "rawInput": input});
        assert_eq!(tool(call).as_deref(), Some("create_task_kandev"));
        for input in [
            json!({"server": "other", "tool": "create_task_kandev", "arguments": {}}),
            json!({"server": "kandev", "tool": "rm -rf /", "arguments": {}}),
            json!({"server": "kandev", "tool": "create_task_kandev", "command": "rm -rf /"}),
            json!({"server": "kandev", "tool": "create_task_kandev", "extra": 1}),
        ] {
            assert_eq!(
                tool(json!({"title": "create_task_kandev", "kind": "execute", "rawInput": input})),
                None,
                "{input}"
            );
            assert_eq!(
                tool(json!({"title": "create_task_kandev", "kind": "other", "rawInput": input})),
                None,
                "{input}"
            );
        }
    }

    #[test]
    fn codex_may_ask_for_the_server_when_calls_wait_side_by_side() {
        let call = json!({"title": "MCP tool call approval", "kind": "execute",
            "rawInput": {"serverName": "kandev", "description": "Allow?", "schema": {"type": "object"}}});
        assert_eq!(
            tool_with_meta(call.clone(), &json!({"is_mcp_tool_approval": true})).as_deref(),
            Some("*")
        );
        assert_eq!(
            tool(call.clone()),
            None,
            "a plain question of a server is for a person"
        );
        let mut other = call;
        other["rawInput"]["serverName"] = json!("other");
        assert_eq!(
            tool_with_meta(other, &json!({"is_mcp_tool_approval": true})),
            None
        );
    }

    #[test]
    fn a_tool_of_another_server_does_not_pass_by_the_end_of_its_name() {
        let asked = |title: &str| {
            permission_request(
                "1".into(),
                &json!({"toolCall": {"toolCallId": "t", "title": title},
                    "options": [{"optionId": "a", "name": "Once", "kind": "allow_once"}]}),
            )
            .expect("has a tool call")
        };
        let built_in = ours(&["Ever-green"]);
        assert_eq!(built_in.allows(&asked("ever_green_wipe_kandev")), None);
        for title in [
            "create_task_kandev",
            "kandev_create_task_kandev",
            "ever_kandev",
        ] {
            assert!(built_in.allows(&asked(title)).is_some(), "{title}");
        }
    }

    #[test]
    fn without_an_allowing_option_a_person_is_asked() {
        let request = permission_request(
            "1".into(),
            &json!({"toolCall": {"toolCallId": "t", "title": "create_task_kandev"},
                "options": [{"optionId": "x", "name": "No", "kind": "reject_once"}]}),
        )
        .expect("has a tool call");
        assert_eq!(ours(&[]).allows(&request), None);
    }
}
