//! What certain agents take beside the protocol when a conversation is opened, each under its vendor's own key in
//! `_meta`, so that every other agent passes over it.

use serde_json::{Map, Value, json};

/// The remarks for a conversation that is given the MCP server called `server`.
///
/// Claude's adapter starts in a mode in which a second model judges each tool call. It would judge, and now and then
/// refuse, the calls that [`permission`](crate::permission) promises to allow, and no request would ever reach us. Its
/// own list of allowed tools is the only way to keep that promise; a server's name there means all of its tools. The
/// adapter also has a model guess the next prompt after each turn, which nobody would see.
pub(super) fn remarks(server: &str) -> Map<String, Value> {
    let claude = json!({"options": {
        "allowedTools": [format!("mcp__{server}")],
        "promptSuggestions": false,
    }});
    Map::from_iter([("claudeCode".to_owned(), claude)])
}
