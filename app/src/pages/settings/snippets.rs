//! What is pasted into a client so that it finds the board: its own form of address and token.

use serde_json::{Value, json};

/// A client, and what it is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Snippet {
    /// The client's name; a name is the same in every language.
    pub(super) client: &'static str,
    /// Where it belongs: a command line, or a file.
    pub(super) place: &'static str,
    /// What is pasted.
    pub(super) text: String,
}

/// The snippets for a route at `url` with this token. Both are our own: neither holds what would have to be quoted.
pub(super) fn snippets(url: &str, token: &str) -> Vec<Snippet> {
    let bearer = format!("Bearer {token}");
    let file = |key: &str| {
        let server = json!({key: url, "headers": {"Authorization": bearer}});
        pretty(&json!({"mcpServers": {"flightdeck": server}}))
    };
    vec![
        Snippet {
            client: "Claude Code",
            place: "$",
            text: format!(
                "claude mcp add --transport http flightdeck {url} --header \"Authorization: {bearer}\""
            ),
        },
        Snippet {
            client: "Codex",
            place: "~/.codex/config.toml",
            text: format!(
                "[mcp_servers.flightdeck]\nurl = \"{url}\"\nhttp_headers = {{ \"Authorization\" = \"{bearer}\" }}\ntool_timeout_sec = 60"
            ),
        },
        Snippet {
            client: "Cursor",
            place: "~/.cursor/mcp.json",
            text: file("url"),
        },
        Snippet {
            client: "Gemini CLI",
            place: "~/.gemini/settings.json",
            text: file("httpUrl"),
        },
        Snippet {
            client: "ChatGPT",
            place: "Connectors",
            text: format!("{url}\nAuthorization: {bearer}"),
        },
    ]
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

#[test]
fn each_client_is_told_address_and_token() {
    let made = snippets("https://board.example/mcp", "fd_0123");
    assert_eq!(made.len(), 5);
    for snippet in &made {
        assert!(
            snippet.text.contains("https://board.example/mcp"),
            "{snippet:?}"
        );
        assert!(snippet.text.contains("Bearer fd_0123"), "{snippet:?}");
    }
    for file in [&made[2], &made[3]] {
        let read: Value = serde_json::from_str(&file.text).unwrap();
        assert_eq!(
            read["mcpServers"]["flightdeck"]["headers"]["Authorization"],
            "Bearer fd_0123"
        );
    }
}
