//! The language of scripts.
//!
//! One directive a line, `e2e:name(arguments)` with JSON arguments. Blank lines and lines that begin with `#` are
//! skipped. Anything else is an error, told before a single directive runs.
//!
//! | Directive | Does |
//! |---|---|
//! | `message("text")`, `thinking("text")` | says or thinks it, streamed |
//! | `delay(ms)` | waits |
//! | `tool_use("Read", {"file_path": "a"})`, `tool_result("text")` | shows a tool call, completes it |
//! | `shell_result("cmd", "output"[, "cwd"])` | shows a finished command |
//! | `plan([{"content": "…", "status": "pending"}])` | shows a plan |
//! | `mcp:<server>:<tool>({…})` | really calls a tool, and shows it |
//! | `fail_if_error()` | ends the turn with an error if the last call failed |
//! | `set("name", "value")` | keeps a value, over turns and restarts |
//! | `permission("title"[, "kind"[, {input}]])` | asks for permission, goes on with `{permission}` |
//! | `permissions(["a", "b"])` | asks for several at once |
//! | `next_turn()` | ends the section; the next ordinary prompt runs what follows, as `{prompt}` |
//! | `answer("text")` | sets the answer to children's questions, over turns and restarts |
//! | `answer_delay(ms)`, `answer_times(n)` | sets the pause before it, and how often it is given (0: never) |
//! | `stop("refusal")`, `error("text")` | ends the turn with that reason, or with an error |
//! | `junk("text")`, `stderr("text")`, `unknown("kind")` | writes a line that is no message; to standard error; an update of an unheard-of kind |
//! | `flood(n)`, `oversized(bytes)` | writes n updates; one line of that length |
//! | `hang()` | never ends; the whole section does not hear a cancel |
//! | `crash([code])` | ends the process |

use serde_json::Value;

/// One step of a script.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Directive {
    Message(String),
    Thinking(String),
    Delay {
        ms: u64,
    },
    ToolUse {
        name: String,
        input: Value,
    },
    ToolResult(String),
    ShellResult {
        command: String,
        output: String,
        cwd: Option<String>,
    },
    Plan(Vec<(String, String)>),
    Mcp {
        server: String,
        tool: String,
        arguments: Value,
    },
    FailIfError,
    Set {
        name: String,
        value: String,
    },
    Permission {
        title: String,
        kind: String,
        input: Value,
    },
    Permissions(Vec<String>),
    NextTurn,
    Answer(String),
    AnswerDelay {
        ms: u64,
    },
    AnswerTimes(u64),
    Stop(String),
    Error(String),
    Junk(String),
    Stderr(String),
    Unknown(String),
    Flood(u64),
    Oversized {
        bytes: u64,
    },
    Hang,
    Crash {
        code: i32,
    },
}

/// A script, split at its first `next_turn`.
#[derive(Debug, PartialEq)]
pub(super) struct Script {
    /// What runs now.
    pub(super) now: Vec<Directive>,
    /// The sections that wait for later prompts, as they were written.
    pub(super) later: Option<String>,
}

/// Whether a text is meant as a script.
pub(super) fn is_script(text: &str) -> bool {
    text.trim_start().starts_with("e2e:")
}

/// Reads a script, to its last line.
///
/// # Errors
///
/// Names the line that cannot be read.
pub(super) fn parse(text: &str) -> Result<Script, String> {
    let mut now = Vec::new();
    let mut later: Option<Vec<&str>> = None;
    for (at, line) in text.lines().enumerate() {
        let directive = directive(line).map_err(|reason| format!("line {}: {reason}", at + 1))?;
        match (&mut later, directive) {
            (Some(later), _) => later.push(line),
            (None, Some(Directive::NextTurn)) => later = Some(Vec::new()),
            (None, Some(directive)) => now.push(directive),
            (None, None) => {}
        }
    }
    Ok(Script {
        now,
        later: later.map(|lines| lines.join("\n")),
    })
}

fn directive(line: &str) -> Result<Option<Directive>, String> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let call = line
        .strip_prefix("e2e:")
        .ok_or("a directive begins with e2e:")?;
    let (name, arguments) = call
        .split_once('(')
        .ok_or("the arguments' bracket is missing")?;
    let arguments = arguments
        .strip_suffix(')')
        .ok_or("the closing bracket is missing")?;
    let arguments: Vec<Value> = serde_json::from_str(&format!("[{arguments}]"))
        .map_err(|error| format!("the arguments of {name} are no JSON ({error})"))?;
    let take = Arguments {
        name,
        values: &arguments,
    };
    let directive = match name {
        "message" => Directive::Message(take.text(0)?),
        "thinking" => Directive::Thinking(take.text(0)?),
        "delay" => Directive::Delay {
            ms: take.number(0)?,
        },
        "tool_use" => Directive::ToolUse {
            name: take.text(0)?,
            input: take.object_or_empty(1)?,
        },
        "tool_result" => Directive::ToolResult(take.text(0)?),
        "shell_result" => Directive::ShellResult {
            command: take.text(0)?,
            output: take.text(1)?,
            cwd: take.optional_text(2)?,
        },
        "plan" => Directive::Plan(take.plan(0)?),
        "fail_if_error" => Directive::FailIfError,
        "set" => Directive::Set {
            name: take.text(0)?,
            value: take.text(1)?,
        },
        "permission" => Directive::Permission {
            title: take.text(0)?,
            kind: take
                .optional_text(1)?
                .unwrap_or_else(|| "execute".to_owned()),
            input: take.object_or_empty(2)?,
        },
        "permissions" => Directive::Permissions(take.texts(0)?),
        "next_turn" => Directive::NextTurn,
        "answer" => Directive::Answer(take.text(0)?),
        "answer_delay" => Directive::AnswerDelay {
            ms: take.number(0)?,
        },
        "answer_times" => Directive::AnswerTimes(take.number(0)?),
        "stop" => Directive::Stop(take.text(0)?),
        "error" => Directive::Error(take.text(0)?),
        "junk" => Directive::Junk(take.text(0)?),
        "stderr" => Directive::Stderr(take.text(0)?),
        "unknown" => Directive::Unknown(take.text(0)?),
        "flood" => Directive::Flood(take.number(0)?),
        "oversized" => Directive::Oversized {
            bytes: take.number(0)?,
        },
        "hang" => Directive::Hang,
        "crash" => Directive::Crash {
            code: take.exit_code(0)?,
        },
        _ => match name
            .strip_prefix("mcp:")
            .and_then(|name| name.split_once(':'))
        {
            Some((server, tool)) if !server.is_empty() && !tool.is_empty() => Directive::Mcp {
                server: server.to_owned(),
                tool: tool.to_owned(),
                arguments: take.object_or_empty(0)?,
            },
            _ => return Err(format!("there is no directive {name}")),
        },
    };
    Ok(Some(directive))
}

struct Arguments<'a> {
    name: &'a str,
    values: &'a [Value],
}

impl Arguments<'_> {
    fn wrong<T>(&self, at: usize, what: &str) -> Result<T, String> {
        Err(format!(
            "argument {} of {} must be {what}",
            at + 1,
            self.name
        ))
    }

    fn text(&self, at: usize) -> Result<String, String> {
        match self.values.get(at) {
            Some(Value::String(text)) => Ok(text.clone()),
            _ => self.wrong(at, "a text"),
        }
    }

    fn optional_text(&self, at: usize) -> Result<Option<String>, String> {
        match self.values.get(at) {
            None => Ok(None),
            Some(_) => self.text(at).map(Some),
        }
    }

    fn number(&self, at: usize) -> Result<u64, String> {
        match self.values.get(at).and_then(Value::as_u64) {
            Some(number) => Ok(number),
            None => self.wrong(at, "a whole number"),
        }
    }

    fn exit_code(&self, at: usize) -> Result<i32, String> {
        match self.values.get(at) {
            None => Ok(1),
            Some(_) => self
                .number(at)
                .and_then(|code| i32::try_from(code).or_else(|_| self.wrong(at, "an exit code"))),
        }
    }

    fn object_or_empty(&self, at: usize) -> Result<Value, String> {
        match self.values.get(at) {
            None => Ok(Value::Object(serde_json::Map::new())),
            Some(object @ Value::Object(_)) => Ok(object.clone()),
            Some(_) => self.wrong(at, "an object"),
        }
    }

    fn texts(&self, at: usize) -> Result<Vec<String>, String> {
        let texts = match self.values.get(at) {
            Some(Value::Array(items)) => items
                .iter()
                .map(|item| item.as_str().map(str::to_owned))
                .collect(),
            _ => None,
        };
        texts.map_or_else(|| self.wrong(at, "a list of texts"), Ok)
    }

    fn plan(&self, at: usize) -> Result<Vec<(String, String)>, String> {
        let Some(Value::Array(items)) = self.values.get(at) else {
            return self.wrong(at, "a list of plan entries");
        };
        let entry = |item: &Value| {
            let content = item.get("content")?.as_str()?.to_owned();
            let status = item
                .get("status")
                .and_then(Value::as_str)
                .unwrap_or("pending")
                .to_owned();
            Some((content, status))
        };
        items
            .iter()
            .map(entry)
            .collect::<Option<_>>()
            .map_or_else(|| self.wrong(at, "entries with a content"), Ok)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn one(line: &str) -> Directive {
        let script = parse(line).unwrap_or_else(|reason| panic!("{line}: {reason}"));
        assert_eq!(script.now.len(), 1, "{line}");
        script.now.into_iter().next().expect("one directive")
    }

    #[test]
    fn every_directive_reads_its_arguments() {
        for (line, directive) in [
            (
                r#"e2e:message("a (b) \"c\"\n")"#,
                Directive::Message("a (b) \"c\"\n".into()),
            ),
            (r#"e2e:thinking("hm")"#, Directive::Thinking("hm".into())),
            ("e2e:delay(20)", Directive::Delay { ms: 20 }),
            (
                r#"  e2e:tool_use("Read", {"file_path": "a"})"#,
                Directive::ToolUse {
                    name: "Read".into(),
                    input: json!({"file_path": "a"}),
                },
            ),
            (
                r#"e2e:tool_use("Think")"#,
                Directive::ToolUse {
                    name: "Think".into(),
                    input: json!({}),
                },
            ),
            (
                r#"e2e:tool_result("ok")"#,
                Directive::ToolResult("ok".into()),
            ),
            (
                r#"e2e:shell_result("ls","a","/w")"#,
                Directive::ShellResult {
                    command: "ls".into(),
                    output: "a".into(),
                    cwd: Some("/w".into()),
                },
            ),
            (
                r#"e2e:plan([{"content":"a","status":"completed"},{"content":"b"}])"#,
                Directive::Plan(vec![
                    ("a".into(), "completed".into()),
                    ("b".into(), "pending".into()),
                ]),
            ),
            (
                r#"e2e:mcp:kandev:create_task_kandev({"title":"(x)"})"#,
                Directive::Mcp {
                    server: "kandev".into(),
                    tool: "create_task_kandev".into(),
                    arguments: json!({"title": "(x)"}),
                },
            ),
            (
                "e2e:mcp:a:b()",
                Directive::Mcp {
                    server: "a".into(),
                    tool: "b".into(),
                    arguments: json!({}),
                },
            ),
            ("e2e:fail_if_error()", Directive::FailIfError),
            (
                r#"e2e:set("a","{result.id}")"#,
                Directive::Set {
                    name: "a".into(),
                    value: "{result.id}".into(),
                },
            ),
            (
                r#"e2e:permission("Run")"#,
                Directive::Permission {
                    title: "Run".into(),
                    kind: "execute".into(),
                    input: json!({}),
                },
            ),
            (
                r#"e2e:permissions(["a","b"])"#,
                Directive::Permissions(vec!["a".into(), "b".into()]),
            ),
            (r#"e2e:answer("yes")"#, Directive::Answer("yes".into())),
            ("e2e:answer_delay(0)", Directive::AnswerDelay { ms: 0 }),
            ("e2e:answer_times(2)", Directive::AnswerTimes(2)),
            (r#"e2e:stop("refusal")"#, Directive::Stop("refusal".into())),
            (r#"e2e:error("no")"#, Directive::Error("no".into())),
            (r#"e2e:junk("x")"#, Directive::Junk("x".into())),
            (r#"e2e:stderr("x")"#, Directive::Stderr("x".into())),
            (r#"e2e:unknown("mood")"#, Directive::Unknown("mood".into())),
            ("e2e:flood(9)", Directive::Flood(9)),
            ("e2e:oversized(9)", Directive::Oversized { bytes: 9 }),
            ("e2e:hang()", Directive::Hang),
            ("e2e:crash()", Directive::Crash { code: 1 }),
            ("e2e:crash(3)", Directive::Crash { code: 3 }),
        ] {
            assert_eq!(one(line), directive, "{line}");
        }
    }

    #[test]
    fn sections_wait_for_later_turns_as_they_were_written() {
        let script = parse("# first\ne2e:message(\"1\")\n\ne2e:next_turn()\ne2e:message(\"2\")\ne2e:next_turn()\ne2e:message(\"3\")")
            .expect("a good script");
        assert_eq!(script.now, [Directive::Message("1".into())]);
        let later = script.later.expect("two sections more");
        let second = parse(&later).expect("a good script");
        assert_eq!(second.now, [Directive::Message("2".into())]);
        assert_eq!(second.later.as_deref(), Some("e2e:message(\"3\")"));
    }

    #[test]
    fn a_mistake_is_named_by_its_line_even_in_a_later_section() {
        for (text, reason) in [
            (
                "e2e:message(\"1\")\nhello",
                "line 2: a directive begins with e2e:",
            ),
            (
                "e2e:next_turn()\ne2e:delay(\"x\")",
                "line 2: argument 1 of delay must be a whole number",
            ),
            ("e2e:dance()", "line 1: there is no directive dance"),
            ("e2e:message", "line 1: the arguments' bracket is missing"),
            (
                "e2e:message(\"x\"",
                "line 1: the closing bracket is missing",
            ),
            (
                "e2e:plan([{}])",
                "line 1: argument 1 of plan must be entries with a content",
            ),
            (
                "e2e:mcp:kandev({})",
                "line 1: there is no directive mcp:kandev",
            ),
        ] {
            assert_eq!(parse(text), Err(reason.to_owned()), "{text}");
        }
        assert!(
            parse("e2e:message(oops)")
                .is_err_and(|reason| reason.starts_with("line 1: the arguments of message"))
        );
    }

    #[test]
    fn only_what_begins_as_one_is_a_script() {
        assert!(is_script("\n  e2e:delay(1)"));
        assert!(!is_script("Please run e2e:delay(1)"));
    }
}
