//! Scripts that are built in, named by a slash command.
//!
//! `/e2e:<scenario>` and the plain commands are the same thing. A command may be followed by free text, or by `:N`.
//! See [`expand`] for the list.

use std::fmt::Write;

use serde_json::json;

/// The script behind a slash command; `None` for anything that is none.
pub(super) fn expand(text: &str) -> Option<String> {
    let line = text.trim().strip_prefix('/')?;
    let (command, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    let command = command.strip_prefix("e2e:").unwrap_or(command);
    let (command, parameter) = command
        .split_once(':')
        .map_or((command, None), |(name, value)| (name, Some(value)));
    let number = |default: u64| match parameter {
        None => Some(default),
        Some(value) => value.parse::<u64>().ok(),
    };
    let script = match command {
        "simple-message" => r#"e2e:message("This is a simple message from the demo agent.")"#.to_owned(),
        "read-and-edit" => READ_AND_EDIT.to_owned(),
        "permission-flow" => PERMISSION_FLOW.to_owned(),
        "multi-permission" => MULTI_PERMISSION.to_owned(),
        "all-tools" => KINDS.iter().map(|kind| tool(kind)).collect::<Option<Vec<_>>>()?.join("\n"),
        "tool" => tool(parameter?)?,
        "multi-turn" => MULTI_TURN.to_owned(),
        "clarification" | "ask-single" => ASK_SINGLE.to_owned(),
        "clarification-multi" | "ask-multiple" => ASK_MULTIPLE.to_owned(),
        "empty-turn" => "# Nothing is said.".to_owned(),
        "slow" => slow(duration_ms(rest.split_whitespace().next().or(parameter), 5_000)?),
        "sleep" => format!("e2e:delay({})", duration_ms(rest.split_whitespace().next().or(parameter), 5_000)?),
        "error" => r#"e2e:error("The demo agent failed, as it was asked to.")"#.to_owned(),
        "crash" => "e2e:message(\"Crashing now.\")\ne2e:stderr(\"The demo agent crashes, as it was asked to.\")\ne2e:crash(1)".to_owned(),
        "thinking" => THINKING.to_owned(),
        "todo" => TODO.to_owned(),
        "markdown" => format!("e2e:message({})", json!(MARKDOWN)),
        "bulk" => bulk(number(120)?.min(5_000)),
        "subtask" => subtask(rest),
        "junk" => "e2e:junk(\"this is no message of the protocol\")\ne2e:unknown(\"mood_update\")\ne2e:message(\"Done with junk.\")".to_owned(),
        "flood" => format!("e2e:flood({})\ne2e:message(\"Done with flooding.\")", number(10_000)?),
        "oversized" => format!("e2e:oversized({})\ne2e:message(\"Done with the long line.\")", number(2 * 1024 * 1024)?),
        "hang" => "e2e:message(\"Hanging now.\")\ne2e:hang()".to_owned(),
        "die" => "e2e:message(\"Dying in the middle of a\")\ne2e:crash(137)".to_owned(),
        "demo" => demo(rest),
        "demo-child" => DEMO_CHILD.to_owned(),
        _ => return None,
    };
    Some(script)
}

const KINDS: [&str; 9] = [
    "read", "edit", "delete", "move", "search", "execute", "think", "fetch", "other",
];

/// One finished tool call of a kind.
fn tool(kind: &str) -> Option<String> {
    let (name, input, result) = match kind {
        "read" => ("Read", json!({"file_path": "src/main.rs"}), "fn main() {}"),
        "edit" => (
            "Edit",
            json!({"file_path": "src/main.rs", "old_string": "{}", "new_string": "{ run() }"}),
            "Edited.",
        ),
        "delete" => ("Delete", json!({"file_path": "src/old.rs"}), "Deleted."),
        "move" => (
            "Move",
            json!({"file_path": "src/a.rs", "to": "src/b.rs"}),
            "Moved.",
        ),
        "search" => ("Grep", json!({"pattern": "TODO"}), "3 matches"),
        "execute" => (
            "Bash",
            json!({"command": "cargo test"}),
            "test result: ok. 12 passed",
        ),
        "think" => (
            "Task",
            json!({"description": "Compare both ways"}),
            "The first one.",
        ),
        "fetch" => (
            "WebFetch",
            json!({"url": "https://example.com/"}),
            "Example Domain",
        ),
        "other" => ("Inspect", json!({"subject": "weather"}), "Fine."),
        _ => return None,
    };
    Some(format!(
        "e2e:tool_use({}, {input})\ne2e:tool_result({})",
        json!(name),
        json!(result)
    ))
}

/// `5`, `5s`, `500ms` or `2m`.
fn duration_ms(text: Option<&str>, default: u64) -> Option<u64> {
    let Some(text) = text else {
        return Some(default);
    };
    let (number, factor) = match text {
        _ if text.ends_with("ms") => (text.trim_end_matches("ms"), 1),
        _ if text.ends_with('s') => (text.trim_end_matches('s'), 1_000),
        _ if text.ends_with('m') => (text.trim_end_matches('m'), 60_000),
        _ => (text, 1_000),
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

fn slow(ms: u64) -> String {
    let mut script = format!("e2e:message({})\n", json!(format!("This takes {ms} ms.")));
    for part in 1..=5 {
        // Writing to a string cannot fail.
        let _ = writeln!(
            script,
            "e2e:delay({})\ne2e:thinking(\"Part {part} of 5.\")",
            ms / 5
        );
    }
    script.push_str("e2e:message(\"Done, slowly.\")");
    script
}

fn bulk(count: u64) -> String {
    let mut script = String::new();
    for n in 1..=count {
        let _ = writeln!(
            script,
            "e2e:message(\"Bulk message {n} of {count}.\")\ne2e:tool_use(\"Read\", {{\"file_path\": \"file-{n}.txt\"}})"
        );
    }
    script
}

fn subtask(title: &str) -> String {
    let title = if title.is_empty() {
        "Demo subtask"
    } else {
        title
    };
    let arguments = json!({"title": title.chars().take(60).collect::<String>(), "parent_id": "self", "prompt": "/simple-message"});
    format!(
        "e2e:mcp:kandev:create_task_kandev({arguments})\ne2e:fail_if_error()\ne2e:message(\"Created the subtask {{result.id}}.\")"
    )
}

fn demo(subject: &str) -> String {
    let subject = if subject.is_empty() {
        "Build a small notes app"
    } else {
        subject
    };
    format!(
        "e2e:message({})\n{DEMO_PARENT}",
        json!(format!(
            "I was asked to: {subject}. One decision can be prepared on the side."
        ))
    )
}

const READ_AND_EDIT: &str = r#"e2e:thinking("First I look at the file, then I change it.")
e2e:tool_use("Read", {"file_path": "src/greeting.txt"})
e2e:tool_result("Hello")
e2e:tool_use("Edit", {"file_path": "src/greeting.txt", "old_string": "Hello", "new_string": "Hello, world"})
e2e:tool_result("Edited src/greeting.txt.")
e2e:message("The greeting is friendlier now.")"#;

const PERMISSION_FLOW: &str = r#"e2e:message("I need to run a command for this.")
e2e:permission("cargo test", "execute", {"command": "cargo test"})
e2e:message("The answer was: {permission}.")"#;

const MULTI_PERMISSION: &str = r#"e2e:permissions(["Edit a.txt", "Edit b.txt"])
e2e:message("The answers were: {permission}.")"#;

const MULTI_TURN: &str = r#"e2e:message("This is the first turn. Say something for the second.")
e2e:next_turn()
e2e:message("This is the second turn. You said: {prompt}")
e2e:next_turn()
e2e:message("This is the third turn, and the last. You said: {prompt}")"#;

const ASK_SINGLE: &str = r#"e2e:message("I have a question.")
e2e:mcp:kandev:ask_user_question_kandev({"questions": [{"id": "store", "title": "Storage", "prompt": "Where should the data be stored?", "options": [{"label": "SQLite", "description": "One file, no server"}, {"label": "Postgres", "description": "A server, many writers"}]}]})
e2e:message("The answer was: {result}")"#;

const ASK_MULTIPLE: &str = r#"e2e:message("I have two questions.")
e2e:mcp:kandev:ask_user_question_kandev({"questions": [{"id": "store", "title": "Storage", "prompt": "Where should the data be stored?", "options": [{"label": "SQLite", "description": "One file, no server"}, {"label": "Postgres", "description": "A server, many writers"}]}, {"id": "license", "title": "License", "prompt": "Which license?", "options": [{"label": "MIT", "description": "Short"}, {"label": "Apache-2.0", "description": "With a patent grant"}]}], "context": "Both are needed before the first release."})
e2e:message("The answers were: {result}")"#;

const THINKING: &str = r#"e2e:thinking("Let me see.\n\nThe problem has two parts.")
e2e:thinking("The first part is easy, and so is the second.")
e2e:message("I thought about it: both parts are easy.")"#;

const TODO: &str = r#"e2e:plan([{"content": "Read the code", "status": "in_progress"}, {"content": "Write a test"}, {"content": "Fix it"}])
e2e:plan([{"content": "Read the code", "status": "completed"}, {"content": "Write a test", "status": "in_progress"}, {"content": "Fix it"}])
e2e:plan([{"content": "Read the code", "status": "completed"}, {"content": "Write a test", "status": "completed"}, {"content": "Fix it", "status": "completed"}])
e2e:message("All three are done.")"#;

const MARKDOWN: &str = "# A heading\n\nSome **bold**, some *italic*, some `code`, and a [link](https://example.com/).\n\n\
- one\n- two\n  1. nested\n\n| Store | Server |\n|---|---|\n| SQLite | no |\n| Postgres | yes |\n\n\
```rust\nfn main() {\n    println!(\"hello\");\n}\n```\n\n> A quotation, with <b>tags</b> that must not be tags.\n";

const DEMO_PARENT: &str = r#"e2e:plan([{"content": "Hand the storage decision to a helper", "status": "in_progress"}, {"content": "Sketch the screens"}, {"content": "Put both together"}])
e2e:thinking("The storage decision stands on its own, so a helper task can prepare it on autopilot.")
e2e:answer("SQLite. It needs no server, and the notes stay in one file that is easy to back up.")
e2e:mcp:kandev:create_task_kandev({"title": "Choose where the notes are stored", "parent_id": "self", "autopilot": true, "prompt": "/demo-child Find out where a small notes app should keep its notes."})
e2e:fail_if_error()
e2e:tool_use("Write", {"file_path": "docs/screens.md", "content": "1. List of notes\n2. One note"})
e2e:tool_result("Wrote docs/screens.md.")
e2e:plan([{"content": "Hand the storage decision to a helper", "status": "completed"}, {"content": "Sketch the screens", "status": "completed"}, {"content": "Put both together"}])
e2e:message("The helper is on its way and asks me if it must. Meanwhile I sketched the screens.")"#;

const DEMO_CHILD: &str = r##"e2e:message("I look at what is there first.")
e2e:tool_use("Read", {"file_path": "README.md"})
e2e:tool_result("# Notes\n\nA small notes app for one person. Storage: to be decided.")
e2e:thinking("Everything that follows depends on this, and I cannot know it. It is for my parent to decide.")
e2e:mcp:kandev:ask_parent_question_kandev({"questions": [{"id": "store", "title": "Storage", "prompt": "Where should the notes be stored?", "options": [{"label": "SQLite", "description": "One file, no server"}, {"label": "Postgres", "description": "A server, many writers"}]}], "context": "The README leaves it open, and the code differs from the first line on."})
e2e:fail_if_error()
e2e:next_turn()
e2e:message("My parent decided: {prompt}")
e2e:tool_use("Edit", {"file_path": "README.md", "old_string": "Storage: to be decided.", "new_string": "Storage: decided, see docs/decisions."})
e2e:tool_result("Edited README.md.")
e2e:plan([{"content": "Find out what is decided", "status": "completed"}, {"content": "Ask for what is not", "status": "completed"}, {"content": "Write it down", "status": "completed"}])
e2e:message("Done. The decision is written down in the README.")"##;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::script;

    #[test]
    fn every_scenario_is_a_good_script() {
        for command in [
            "/e2e:simple-message",
            "/simple-message",
            "/read-and-edit",
            "/permission-flow",
            "/multi-permission",
            "/all-tools",
            "/multi-turn",
            "/clarification",
            "/clarification-multi",
            "/ask-single",
            "/ask-multiple",
            "/empty-turn",
            "/slow",
            "/slow 10ms",
            "/sleep 1s",
            "/sleep 2m",
            "/error",
            "/crash",
            "/thinking",
            "/todo",
            "/markdown",
            "/bulk",
            "/bulk:3",
            "/e2e:bulk:3",
            "/subtask",
            "/subtask Fix \"it\"",
            "/junk",
            "/flood:5",
            "/oversized:9",
            "/hang",
            "/die",
            "/demo",
            "/demo Write \"it\"",
            "/demo-child Go",
            " /todo \n",
        ] {
            let text = expand(command).unwrap_or_else(|| panic!("{command} is not known"));
            script::parse(&text).unwrap_or_else(|reason| panic!("{command}: {reason}\n{text}"));
        }
        for kind in KINDS {
            let text = expand(&format!("/tool:{kind}")).expect("a known kind");
            assert_eq!(script::parse(&text).expect("a good script").now.len(), 2);
        }
    }

    #[test]
    fn what_is_no_command_is_left_alone() {
        for text in [
            "hello",
            "/",
            "/unheard-of",
            "/tool",
            "/tool:teleport",
            "/bulk:many",
            "/slow soon",
            "//demo",
        ] {
            assert_eq!(expand(text), None, "{text}");
        }
    }

    #[test]
    fn durations_have_units() {
        assert_eq!(duration_ms(Some("3"), 1), Some(3_000));
        assert_eq!(duration_ms(Some("3s"), 1), Some(3_000));
        assert_eq!(duration_ms(Some("3ms"), 1), Some(3));
        assert_eq!(duration_ms(Some("3m"), 1), Some(180_000));
        assert_eq!(duration_ms(None, 7), Some(7));
    }

    #[test]
    fn the_number_of_a_bulk_is_heeded() {
        let text = expand("/bulk:3").expect("known");
        assert_eq!(script::parse(&text).expect("good").now.len(), 6);
    }
}
