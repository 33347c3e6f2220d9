//! MCP servers of a profile: what its agents are given beside Flightdeck's own tools (task-domain 1.13, 2.8).
//!
//! What stands in `env` and `headers` is secret: it goes to the agent and nowhere else. Whoever reads a profile's servers sees the
//! names alone, each with `null`; written back like that, a value stays as it is, for as long as the server is where it was when the
//! value was given. So a key cannot be sent to another place by somebody who never saw it.

use crate::error::Refusal;
use crate::ids::ProfileId;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The name of Flightdeck's own server, which agents show before its tools' names.
pub const BUILT_IN: &str = "kandev";
/// Most servers of one profile.
pub const MAX_SERVERS: usize = 32;
/// Longest name of a server, in bytes.
const MAX_NAME: usize = 64;
/// Most arguments, variables or headers of one server.
const MAX_ITEMS: usize = 64;
/// Longest single text, in bytes.
const MAX_TEXT: usize = 8 * 1024;
/// Longest address, in bytes.
const MAX_URL: usize = 2 * 1024;

words! {
    /// How an agent reaches a server.
    Transport("type") {
        /// It starts the server as a process of its own.
        Stdio = "stdio",
        /// Over streamable HTTP.
        Http = "http",
        /// Over HTTP with server-sent events, as older servers speak.
        Sse = "sse",
    }
}

/// Values by name that are secret: what is shown of them for a log is the names.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secrets(pub BTreeMap<String, String>);

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// The same as somebody writes or reads it: `None` stands for a value that is there and is not shown.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Values(pub BTreeMap<String, Option<String>>);

impl Values {
    /// Nothing is given.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// A server as it is kept and handed to agents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum McpServer {
    /// A command that the agent runs.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables set for it.
        env: Secrets,
    },
    /// An address.
    Http {
        /// Where.
        url: String,
        /// Sent with each request.
        headers: Secrets,
    },
    /// An address, of the older kind.
    Sse {
        /// Where.
        url: String,
        /// Sent with each request.
        headers: Secrets,
    },
}

impl McpServer {
    /// How it is reached.
    #[must_use]
    pub const fn transport(&self) -> Transport {
        match self {
            Self::Stdio { .. } => Transport::Stdio,
            Self::Http { .. } => Transport::Http,
            Self::Sse { .. } => Transport::Sse,
        }
    }

    /// It runs a command on this machine.
    #[must_use]
    pub const fn is_command(&self) -> bool {
        matches!(self, Self::Stdio { .. })
    }

    const fn secrets(&self) -> &Secrets {
        match self {
            Self::Stdio { env, .. } => env,
            Self::Http { headers, .. } | Self::Sse { headers, .. } => headers,
        }
    }

    /// The same but for its secrets.
    fn is_where(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Stdio { command, args, .. },
                Self::Stdio {
                    command: there,
                    args: with,
                    ..
                },
            ) => command == there && args == with,
            (Self::Http { url, .. }, Self::Http { url: there, .. })
            | (Self::Sse { url, .. }, Self::Sse { url: there, .. }) => url == there,
            (Self::Stdio { .. } | Self::Http { .. } | Self::Sse { .. }, _) => false,
        }
    }

    /// As it may be shown.
    fn shown(&self) -> ServerEntry {
        let names = || {
            let names = self.secrets().0.keys();
            Values(names.map(|name| (name.clone(), None)).collect())
        };
        let entry = ServerEntry {
            transport: Some(self.transport()),
            ..ServerEntry::default()
        };
        match self {
            Self::Stdio { command, args, .. } => ServerEntry {
                command: Some(command.clone()),
                args: args.clone(),
                env: names(),
                ..entry
            },
            Self::Http { url, .. } | Self::Sse { url, .. } => ServerEntry {
                url: Some(url.clone()),
                headers: names(),
                ..entry
            },
        }
    }
}

/// The servers of a profile as they are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpConfig {
    /// False: agents are given none of them.
    pub enabled: bool,
    /// By name.
    pub servers: BTreeMap<String, McpServer>,
}

impl Default for McpConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            servers: BTreeMap::new(),
        }
    }
}

/// A server as it is written by a person or an agent, and as it is shown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerEntry {
    /// Left out: `stdio` with a command, `http` with an address, as agents' own files have it.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub transport: Option<Transport>,
    /// The program; of `stdio` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Its arguments; of `stdio` only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Variables set for it; of `stdio` only.
    #[serde(skip_serializing_if = "Values::is_empty")]
    pub env: Values,
    /// The address; of `http` and `sse` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Sent with each request; of `http` and `sse` only.
    #[serde(skip_serializing_if = "Values::is_empty")]
    pub headers: Values,
}

/// The servers of a profile as they are shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpConfigView {
    /// Whose they are.
    pub profile_id: ProfileId,
    /// See [`McpConfig`].
    pub enabled: bool,
    /// By name; of secrets the names alone.
    pub servers: BTreeMap<String, ServerEntry>,
    /// When they were last written; never when `None`.
    pub updated_at: Option<Timestamp>,
}

impl McpConfigView {
    /// What may be shown of a profile's servers.
    #[must_use]
    pub fn of(profile_id: ProfileId, config: &McpConfig, updated_at: Option<Timestamp>) -> Self {
        let shown = |(name, server): (&String, &McpServer)| (name.clone(), server.shown());
        Self {
            profile_id,
            enabled: config.enabled,
            servers: config.servers.iter().map(shown).collect(),
            updated_at,
        }
    }
}

/// Changes the servers of a profile. What is left out stays.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UpdateMcpConfig {
    /// See [`McpConfig`].
    pub enabled: Option<bool>,
    /// All of them: one that is not named is gone.
    pub servers: Option<BTreeMap<String, ServerEntry>>,
}

/// The servers as somebody wants them, with what he left as it was.
///
/// # Errors
///
/// Names the server, and never a value: they may be secret.
pub fn change(before: &McpConfig, params: UpdateMcpConfig) -> Result<McpConfig, Refusal> {
    let servers = match params.servers {
        None => before.servers.clone(),
        Some(given) => {
            if given.len() > MAX_SERVERS {
                return Err(Refusal::validation(format!(
                    "servers holds {} and a profile may have {MAX_SERVERS}",
                    given.len()
                )));
            }
            given
                .into_iter()
                .map(|(name, entry)| {
                    check_name(&name)?;
                    let server = read(entry, before.servers.get(&name))
                        .map_err(|refusal| in_server(&name, refusal))?;
                    Ok((name, server))
                })
                .collect::<Result<_, Refusal>>()?
        }
    };
    Ok(McpConfig {
        enabled: params.enabled.unwrap_or(before.enabled),
        servers,
    })
}

/// A server that would run a command which did not run before, if there is one.
#[must_use]
pub fn adds_command<'a>(before: &McpConfig, after: &'a McpConfig) -> Option<&'a str> {
    let switched_on = after.enabled && !before.enabled;
    let added = |(name, server): &(&String, &McpServer)| {
        server.is_command() && (switched_on || before.servers.get(*name) != Some(*server))
    };
    let found = after.servers.iter().find(added);
    found.map(|(name, _)| name.as_str())
}

fn in_server(name: &str, refusal: Refusal) -> Refusal {
    Refusal {
        message: format!("server \"{name}\": {}", refusal.message),
        ..refusal
    }
}

/// A name as agents put it before the names of tools. One that begins like ours could pass for ours: what is allowed unasked goes by
/// that beginning.
fn check_name(name: &str) -> Result<(), Refusal> {
    let fits = (1..=MAX_NAME).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
        && name.starts_with(|first: char| first.is_ascii_alphanumeric());
    if !fits || name.contains("__") {
        return Err(Refusal::validation(format!(
            "a server's name must be 1 to {MAX_NAME} letters, digits, \"-\", \"_\" and \".\", begin with a letter or a digit and hold no \
             \"__\""
        )));
    }
    if name.to_ascii_lowercase().starts_with(BUILT_IN) {
        return Err(Refusal::validation(format!(
            "a server's name must not begin with \"{BUILT_IN}\", which is Flightdeck's own: call it something else"
        )));
    }
    Ok(())
}

fn read(entry: ServerEntry, before: Option<&McpServer>) -> Result<McpServer, Refusal> {
    let transport = match (entry.transport, &entry.command, &entry.url) {
        (Some(transport), _, _) => transport,
        (None, Some(_), None) => Transport::Stdio,
        (None, None, Some(_)) => Transport::Http,
        (None, _, _) => {
            return Err(Refusal::validation(
                "give type, and command for stdio or url for http and sse",
            ));
        }
    };
    let (server, given, what) = match transport {
        Transport::Stdio => {
            if entry.url.is_some() || !entry.headers.is_empty() {
                return Err(Refusal::validation(
                    "type stdio takes command, args and env: leave url and headers out",
                ));
            }
            let server = McpServer::Stdio {
                command: check_command(entry.command.as_deref())?,
                args: check_args(entry.args)?,
                env: Secrets::default(),
            };
            (server, entry.env, "env")
        }
        Transport::Http | Transport::Sse => {
            if entry.command.is_some() || !entry.args.is_empty() || !entry.env.is_empty() {
                return Err(Refusal::validation(format!(
                    "type {transport} takes url and headers: leave command, args and env out"
                )));
            }
            let url = check_url(entry.url.as_deref())?;
            let headers = Secrets::default();
            let server = if transport == Transport::Http {
                McpServer::Http { url, headers }
            } else {
                McpServer::Sse { url, headers }
            };
            (server, entry.headers, "headers")
        }
    };
    let kept = before
        .filter(|before| before.is_where(&server))
        .map(|before| &before.secrets().0);
    let secrets = check_values(what, given, kept)?;
    Ok(match server {
        McpServer::Stdio { command, args, .. } => McpServer::Stdio {
            command,
            args,
            env: secrets,
        },
        McpServer::Http { url, .. } => McpServer::Http {
            url,
            headers: secrets,
        },
        McpServer::Sse { url, .. } => McpServer::Sse {
            url,
            headers: secrets,
        },
    })
}

fn check_values(
    what: &str,
    given: Values,
    kept: Option<&BTreeMap<String, String>>,
) -> Result<Secrets, Refusal> {
    if given.0.len() > MAX_ITEMS {
        return Err(Refusal::validation(format!(
            "{what} holds more than {MAX_ITEMS} values"
        )));
    }
    let mut secrets = BTreeMap::new();
    for (name, value) in given.0 {
        let is_header = what == "headers";
        let named = if is_header {
            is_header_name(&name)
        } else {
            !name.is_empty() && name.len() <= 256 && !name.contains(['=', '\0'])
        };
        if !named {
            return Err(Refusal::validation(format!(
                "{what} holds a name that no {} can have",
                if is_header { "header" } else { "variable" }
            )));
        }
        let value = match value {
            Some(value) => value,
            None => kept
                .and_then(|kept| kept.get(&name))
                .cloned()
                .ok_or_else(|| {
                    Refusal::validation(format!(
                        "{what} gives no value for \"{name}\": null keeps one that was stored for this very command or address, and \
                         there is none"
                    ))
                })?,
        };
        let fits = if is_header {
            value.bytes().all(|byte| (b' '..=b'~').contains(&byte))
        } else {
            !value.contains('\0')
        };
        if !fits || value.len() > MAX_TEXT {
            return Err(Refusal::validation(format!(
                "{what}: the value of \"{name}\" is too long, or holds characters that cannot be sent"
            )));
        }
        secrets.insert(name, value);
    }
    Ok(Secrets(secrets))
}

fn is_header_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 256
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

fn check_command(command: Option<&str>) -> Result<String, Refusal> {
    let command = command.map(str::trim).unwrap_or_default();
    if command.is_empty() {
        return Err(Refusal::validation(
            "command is required: the program that speaks MCP on stdio",
        ));
    }
    check_text("command", command)?;
    Ok(command.to_owned())
}

fn check_args(args: Vec<String>) -> Result<Vec<String>, Refusal> {
    if args.len() > MAX_ITEMS {
        return Err(Refusal::validation(format!(
            "args holds more than {MAX_ITEMS} arguments"
        )));
    }
    for arg in &args {
        check_text("args", arg)?;
    }
    Ok(args)
}

fn check_text(field: &str, text: &str) -> Result<(), Refusal> {
    if text.len() > MAX_TEXT || text.contains('\0') {
        return Err(Refusal::validation(format!(
            "{field} is longer than {MAX_TEXT} bytes, or holds the character NUL"
        )));
    }
    Ok(())
}

/// An address of HTTP. Credentials belong into a header: an address is shown.
fn check_url(url: Option<&str>) -> Result<String, Refusal> {
    let url = url.map(str::trim).unwrap_or_default();
    let rest = url
        .split_once("://")
        .filter(|(scheme, _)| ["http", "https"].contains(&scheme.to_ascii_lowercase().as_str()))
        .map(|(_, rest)| rest);
    let host = rest.map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default());
    if host.is_some_and(|host| host.contains('@')) {
        return Err(Refusal::validation(
            "url must not hold credentials, since it is shown: put them into a header",
        ));
    }
    let named = host.is_some_and(|host| {
        host.bytes().any(|byte| byte.is_ascii_alphanumeric())
            && host
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte))
    });
    let sent = url.bytes().all(|byte| byte.is_ascii_graphic());
    if !named || !sent || url.len() > MAX_URL {
        return Err(Refusal::validation(format!(
            "url must be an address that begins with http:// or https://, of at most {MAX_URL} bytes"
        )));
    }
    Ok(url.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn params(servers: Value) -> UpdateMcpConfig {
        UpdateMcpConfig {
            enabled: None,
            servers: Some(serde_json::from_value(servers).unwrap()),
        }
    }

    fn config(servers: Value) -> McpConfig {
        change(&McpConfig::default(), params(servers)).unwrap()
    }

    fn one() -> McpConfig {
        config(json!({
            "files": {"command": "npx", "args": ["files"], "env": {"KEY": "s3cret"}},
            "web": {"url": "https://mcp.example/mcp", "headers": {"Authorization": "Bearer s3cret"}},
        }))
    }

    #[test]
    fn what_is_read_may_be_written_back_and_shows_no_secret() {
        let config = one();
        let shown = McpConfigView::of(ProfileId::new(), &config, None);
        let text = serde_json::to_string(&shown).unwrap();
        assert!(
            text.contains("Authorization") && text.contains("\"type\":\"http\""),
            "{text}"
        );
        for text in [text, format!("{config:?}"), format!("{shown:?}")] {
            assert!(!text.contains("s3cret"), "{text}");
        }
        let again = UpdateMcpConfig {
            servers: Some(shown.servers),
            ..UpdateMcpConfig::default()
        };
        assert_eq!(change(&config, again).unwrap(), config);
        assert_eq!(change(&config, UpdateMcpConfig::default()).unwrap(), config);
        let none = change(&config, params(json!({}))).unwrap();
        assert!(none.servers.is_empty() && none.enabled);
    }

    #[test]
    fn a_kept_secret_goes_nowhere_else() {
        let config = one();
        for servers in [
            json!({"web": {"url": "https://evil.example/mcp", "headers": {"Authorization": null}}}),
            json!({"web": {"type": "sse", "url": "https://mcp.example/mcp", "headers": {"Authorization": null}}}),
            json!({"other": {"url": "https://mcp.example/mcp", "headers": {"Authorization": null}}}),
            json!({"web": {"url": "https://mcp.example/mcp", "headers": {"Cookie": null}}}),
            json!({"files": {"command": "npx", "args": ["files", "-v"], "env": {"KEY": null}}}),
            json!({"files": {"command": "evil", "args": ["files"], "env": {"KEY": null}}}),
        ] {
            let refusal = change(&config, params(servers.clone())).unwrap_err();
            assert!(
                refusal.message.contains("gives no value"),
                "{servers}: {refusal}"
            );
        }
    }

    #[test]
    fn what_cannot_be_a_server_is_refused_without_repeating_it() {
        for (name, server, says) in [
            ("a b", json!({"command": "x"}), "name"),
            ("", json!({"command": "x"}), "name"),
            ("a__b", json!({"command": "x"}), "name"),
            (".a", json!({"command": "x"}), "name"),
            ("kandev", json!({"command": "x"}), "own"),
            ("Kandev_2", json!({"command": "x"}), "own"),
            ("a", json!({}), "give type"),
            ("a", json!({"command": "x", "url": "http://h"}), "give type"),
            ("a", json!({"type": "stdio"}), "command is required"),
            (
                "a",
                json!({"type": "stdio", "command": "x", "url": "http://h"}),
                "leave url",
            ),
            (
                "a",
                json!({"type": "http", "url": "http://h", "args": ["s3cret"]}),
                "leave command",
            ),
            ("a", json!({"type": "http"}), "url must be"),
            ("a", json!({"url": "file:///s3cret"}), "url must be"),
            ("a", json!({"url": "http://"}), "url must be"),
            ("a", json!({"url": "http://h\n.example"}), "url must be"),
            ("a", json!({"url": "https://me:s3cret@h"}), "credentials"),
            (
                "a",
                json!({"url": "http://h", "headers": {"a b": "s3cret"}}),
                "no header",
            ),
            (
                "a",
                json!({"url": "http://h", "headers": {"a": "s3cret\r\nb: c"}}),
                "cannot be sent",
            ),
            (
                "a",
                json!({"command": "x", "env": {"A=B": "s3cret"}}),
                "no variable",
            ),
            (
                "a",
                json!({"command": "x", "env": {"A": "s3cret\0"}}),
                "cannot be sent",
            ),
            ("a", json!({"command": "x", "args": ["s3cret\0"]}), "NUL"),
        ] {
            let refusal = change(&McpConfig::default(), params(json!({name: server}))).unwrap_err();
            assert!(refusal.message.contains(says), "{name}: {refusal}");
            assert!(!refusal.message.contains("s3cret"), "{refusal}");
        }
        let many: BTreeMap<String, Value> = (0..=MAX_SERVERS)
            .map(|n| (format!("s{n}"), json!({"command": "x"})))
            .collect();
        assert!(change(&McpConfig::default(), params(json!(many))).is_err());
    }

    #[test]
    fn a_command_that_did_not_run_before_is_noticed() {
        let before = one();
        let changed = |servers: Value| change(&before, params(servers)).unwrap();
        let files = json!({"command": "npx", "args": ["files"], "env": {"KEY": null}});
        for (after, adds) in [
            (before.clone(), None),
            (changed(json!({})), None),
            (
                changed(json!({"files": files, "more": {"url": "http://h"}})),
                None,
            ),
            (changed(json!({"files": {"command": "npx"}})), Some("files")),
            (
                changed(
                    json!({"files": {"command": "npx", "args": ["files"], "env": {"KEY": "x"}}}),
                ),
                Some("files"),
            ),
            (
                changed(json!({"other": {"command": "npx", "args": ["files"]}})),
                Some("other"),
            ),
        ] {
            assert_eq!(adds_command(&before, &after), adds, "{after:?}");
        }
        let off = McpConfig {
            enabled: false,
            ..before.clone()
        };
        assert_eq!(adds_command(&off, &before), Some("files"));
        assert_eq!(adds_command(&before, &off), None);
    }
}
