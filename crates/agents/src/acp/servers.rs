//! Which MCP servers an agent is given when a conversation is opened, and which it cannot take.

use agent_client_protocol::v1::schema::{
    EnvVariable, HttpHeader, McpServer, McpServerHttp, McpServerSse, McpServerStdio,
};

use super::{
    error::LaunchError,
    process::find_program,
    spec::{Address, LaunchSpec, McpEndpoint, OtherServer, Reached},
};

/// A server that the agent was not given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Its name.
    pub name: String,
    /// Why, as the end of a sentence for a person.
    pub reason: String,
}

/// By which ways the agent reaches servers that it does not start itself.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Taken {
    /// Streamable HTTP.
    pub(super) http: bool,
    /// HTTP with server-sent events.
    pub(super) sse: bool,
}

/// The servers to hand over, ours first, and those that are left out. Every agent starts servers itself; the other ways it must have
/// announced, or somebody must know that it has them.
pub(super) fn choose(spec: &LaunchSpec, taken: Taken) -> (Vec<McpServer>, Vec<LeftOut>) {
    let mut given: Vec<McpServer> = spec.mcp.as_ref().map(built_in).into_iter().collect();
    let mut left_out = Vec::new();
    for server in &spec.servers {
        match other(spec, taken, server) {
            Ok(server) => given.push(server),
            Err(reason) => left_out.push(LeftOut {
                name: server.name.clone(),
                reason,
            }),
        }
    }
    (given, left_out)
}

fn built_in(endpoint: &McpEndpoint) -> McpServer {
    let authorization = HttpHeader::new("Authorization", format!("Bearer {}", endpoint.bearer));
    McpServer::Http(McpServerHttp::new(&endpoint.name, &endpoint.url).headers(vec![authorization]))
}

fn other(spec: &LaunchSpec, taken: Taken, server: &OtherServer) -> Result<McpServer, String> {
    let name = &server.name;
    if spec.mcp.as_ref().is_some_and(|mcp| mcp.name == *name) {
        return Err("the name is that of Flightdeck's own".to_owned());
    }
    let announced = |is: bool, how: &str| {
        is.then_some(())
            .ok_or_else(|| format!("the agent does not take MCP servers over {how}"))
    };
    match &server.reached {
        Reached::Stdio { command, args, env } => {
            // The protocol asks for the whole path, and not every agent looks a name up.
            let program =
                find_program(command, &spec.cwd, env.get("PATH").or(spec.env.get("PATH")))
                    .map_err(|error| cannot_run(&error))?;
            let env = env
                .iter()
                .map(|(name, value)| EnvVariable::new(name, value));
            let server = McpServerStdio::new(name, program).args(args.clone());
            Ok(McpServer::Stdio(server.env(env.collect())))
        }
        Reached::Http(Address { url, headers }) => {
            announced(taken.http, "HTTP")?;
            let headers = headers
                .iter()
                .map(|(name, value)| HttpHeader::new(name, value));
            Ok(McpServer::Http(
                McpServerHttp::new(name, url).headers(headers.collect()),
            ))
        }
        Reached::Sse(Address { url, headers }) => {
            announced(taken.sse, "SSE")?;
            let headers = headers
                .iter()
                .map(|(name, value)| HttpHeader::new(name, value));
            Ok(McpServer::Sse(
                McpServerSse::new(name, url).headers(headers.collect()),
            ))
        }
    }
}

fn cannot_run(error: &LaunchError) -> String {
    if let LaunchError::NotExecutable { command, reason } = error {
        format!("its command `{command}` cannot be run ({reason})")
    } else {
        "its command was not found".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    fn named(name: &str, reached: Reached) -> OtherServer {
        OtherServer {
            name: name.to_owned(),
            reached,
        }
    }

    fn spec() -> LaunchSpec {
        let secret = || BTreeMap::from([("Key".to_owned(), "s3".to_owned())]);
        let address = || Address {
            url: "http://127.0.0.1:2/mcp".to_owned(),
            headers: secret(),
        };
        let command = |command: &str| Reached::Stdio {
            command: command.to_owned(),
            args: vec!["-c".to_owned()],
            env: secret(),
        };
        let mut spec = LaunchSpec::new("agent", "/");
        spec.mcp = Some(McpEndpoint {
            name: "kandev".into(),
            url: "http://127.0.0.1:1/mcp".into(),
            bearer: "s3".into(),
        });
        spec.servers = vec![
            named("files", command("/bin/sh")),
            named("gone", command("no-such-server-anywhere")),
            named("web", Reached::Http(address())),
            named("old", Reached::Sse(address())),
            named("kandev", Reached::Http(address())),
        ];
        spec
    }

    #[test]
    fn an_agent_is_given_what_it_takes_and_the_rest_is_named() {
        let all = Taken {
            http: true,
            sse: true,
        };
        let (given, left_out) = choose(&spec(), all);
        let header = json!([{"name": "Key", "value": "s3"}]);
        assert_eq!(
            serde_json::to_value(given).expect("writable"),
            json!([
                {"type": "http", "name": "kandev", "url": "http://127.0.0.1:1/mcp",
                    "headers": [{"name": "Authorization", "value": "Bearer s3"}]},
                {"name": "files", "command": "/bin/sh", "args": ["-c"], "env": header},
                {"type": "http", "name": "web", "url": "http://127.0.0.1:2/mcp", "headers": header},
                {"type": "sse", "name": "old", "url": "http://127.0.0.1:2/mcp", "headers": header},
            ])
        );
        let names = |left_out: &[LeftOut]| {
            let names = left_out.iter().map(|one| one.name.clone());
            names.collect::<Vec<_>>()
        };
        assert_eq!(names(&left_out), ["gone", "kandev"]);
        let (_, left_out) = choose(&spec(), Taken::default());
        assert_eq!(names(&left_out), ["gone", "web", "old", "kandev"]);
        assert!(left_out[1].reason.contains("HTTP"), "{left_out:?}");
    }
}
