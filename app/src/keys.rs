//! The keyboard map: which keys mean what, and who carries it out.
//!
//! Single letters work only where nobody types. A page says what it can do with [`Commands::on`]; what no page can do at present, its
//! key does not do either.

use crate::i18n::{Locale, t};
use leptos::ev;
use leptos::prelude::*;
use std::time::Duration;
use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement, KeyboardEvent};

/// The second key of a pair must come within this time.
const PAIR: Duration = Duration::from_millis(1200);

/// Something that a key can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// A new task.
    NewTask,
    /// A subtask of the task shown.
    NewSubtask,
    /// Search.
    Search,
    /// To the board.
    GoBoard,
    /// To what needs the operator.
    GoInbox,
    /// To the assistant.
    GoAssistant,
    /// To AI jobs.
    GoJobs,
    /// To the runs of outside clients.
    GoRuns,
    /// To the next row or card.
    Next,
    /// To the previous row or card.
    Previous,
    /// All keys.
    Help,
}

/// All commands with their keys, in the order in which help lists them.
pub const MAP: [(Command, &[&str]); 11] = [
    (Command::NewTask, &["c"]),
    (Command::NewSubtask, &["s"]),
    (Command::Search, &["/"]),
    (Command::GoBoard, &["g", "b"]),
    (Command::GoInbox, &["g", "i"]),
    (Command::GoAssistant, &["g", "a"]),
    (Command::GoJobs, &["g", "j"]),
    (Command::GoRuns, &["g", "r"]),
    (Command::Next, &["j"]),
    (Command::Previous, &["k"]),
    (Command::Help, &["?"]),
];

/// What a command does, in the words of the help.
#[must_use]
pub fn words(locale: Locale, command: Command) -> &'static str {
    match command {
        Command::NewTask => t!(locale, keys.new_task),
        Command::NewSubtask => t!(locale, keys.new_subtask),
        Command::Search => t!(locale, keys.search),
        Command::GoBoard => t!(locale, keys.go_board),
        Command::GoInbox => t!(locale, keys.go_inbox),
        Command::GoAssistant => t!(locale, keys.go_assistant),
        Command::GoJobs => t!(locale, keys.go_jobs),
        Command::GoRuns => t!(locale, keys.go_runs),
        Command::Next => t!(locale, keys.next),
        Command::Previous => t!(locale, keys.previous),
        Command::Help => t!(locale, keys.help),
    }
}

/// What a key means after the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Run(Command),
    /// The first of a pair.
    Wait,
    Nothing,
}

fn meaning(before: Option<&str>, key: &str) -> Meaning {
    let typed: Vec<&str> = before.into_iter().chain([key]).collect();
    if let Some((command, _)) = MAP.iter().find(|(_, keys)| *keys == typed.as_slice()) {
        return Meaning::Run(*command);
    }
    if before.is_none()
        && MAP
            .iter()
            .any(|(_, keys)| keys.len() > 1 && keys.first() == Some(&key))
    {
        return Meaning::Wait;
    }
    // A pair that leads nowhere: the second key may still mean something on its own.
    if before.is_some() {
        meaning(None, key)
    } else {
        Meaning::Nothing
    }
}

/// Who carries out the commands at present.
#[derive(Debug, Clone, Copy)]
pub struct Commands(StoredValue<Vec<(u64, Command, Callback<()>)>>);

impl Commands {
    /// Puts them into the context of the app and listens to the keyboard.
    #[must_use]
    pub fn provide() -> Self {
        let commands = Self(StoredValue::new(Vec::new()));
        provide_context(commands);
        let first = StoredValue::new(None::<(String, TimeoutHandle)>);
        Effect::new(move |_| {
            let listener = window_event_listener(ev::keydown, move |event| {
                if is_modified(&event)
                    || types_somewhere(&event)
                    || document()
                        .query_selector("dialog:modal")
                        .is_ok_and(|d| d.is_some())
                {
                    return;
                }
                let before =
                    first
                        .try_update_value(Option::take)
                        .flatten()
                        .map(|(key, timeout)| {
                            timeout.clear();
                            key
                        });
                match meaning(before.as_deref(), &event.key()) {
                    Meaning::Run(command) => {
                        if commands.run(command) {
                            event.prevent_default();
                        }
                    }
                    Meaning::Wait => {
                        let forget = set_timeout_with_handle(move || first.set_value(None), PAIR);
                        first.set_value(forget.ok().map(|forget| (event.key(), forget)));
                    }
                    Meaning::Nothing => {}
                }
            });
            on_cleanup(move || listener.remove());
        });
        commands
    }

    /// Carries out `command` for as long as the calling component is in the page. The newest comes first.
    pub fn on(self, command: Command, run: Callback<()>) {
        let id = self.0.try_update_value(|all| {
            let id = all.last().map_or(0, |(id, ..)| id + 1);
            all.push((id, command, run));
            id
        });
        on_cleanup(move || {
            let _ = self
                .0
                .try_update_value(|all| all.retain(|(other, ..)| Some(*other) != id));
        });
    }

    /// What a button for this command does.
    #[must_use]
    pub fn callback(self, command: Command) -> Callback<()> {
        Callback::new(move |()| {
            self.run(command);
        })
    }

    /// Carries out a command. Answers whether anybody can at present.
    pub fn run(self, command: Command) -> bool {
        let run = self.0.with_value(|all| {
            all.iter()
                .rev()
                .find(|(_, c, _)| *c == command)
                .map(|(.., run)| *run)
        });
        if let Some(run) = run {
            run.run(());
        }
        run.is_some()
    }
}

fn is_modified(event: &KeyboardEvent) -> bool {
    event.ctrl_key() || event.meta_key() || event.alt_key() || event.is_composing()
}

fn types_somewhere(event: &KeyboardEvent) -> bool {
    let Some(target) = event
        .target()
        .and_then(|target| target.dyn_into::<Element>().ok())
    else {
        return false;
    };
    target.matches("input, textarea, select").unwrap_or(false)
        || target
            .dyn_into::<HtmlElement>()
            .is_ok_and(|element| element.is_content_editable())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_keys_and_pairs() {
        assert_eq!(meaning(None, "c"), Meaning::Run(Command::NewTask));
        assert_eq!(meaning(None, "g"), Meaning::Wait);
        assert_eq!(meaning(Some("g"), "i"), Meaning::Run(Command::GoInbox));
        assert_eq!(meaning(None, "b"), Meaning::Nothing);
        assert_eq!(meaning(None, "C"), Meaning::Nothing);
    }

    #[test]
    fn a_pair_that_leads_nowhere_is_forgotten() {
        assert_eq!(meaning(Some("g"), "x"), Meaning::Nothing);
        assert_eq!(meaning(Some("g"), "?"), Meaning::Run(Command::Help));
        assert_eq!(meaning(Some("g"), "g"), Meaning::Wait);
    }

    #[test]
    fn no_key_hides_a_pair_and_no_two_commands_share_one() {
        for (at, (_, keys)) in MAP.iter().enumerate() {
            for (_, others) in &MAP[at + 1..] {
                assert!(
                    !others.starts_with(keys) && !keys.starts_with(others),
                    "{keys:?} {others:?}"
                );
            }
        }
    }

    #[test]
    fn the_newest_page_carries_a_command_out_until_it_is_gone() {
        let root = Owner::new();
        root.set();
        let ran = StoredValue::new(Vec::<u8>::new());
        let note = move |n: u8| Callback::new(move |()| ran.update_value(|ran| ran.push(n)));
        let commands = Commands::provide();
        assert!(!commands.run(Command::NewTask));
        commands.on(Command::NewTask, note(1));
        let page = root.child();
        page.with(|| commands.on(Command::NewTask, note(2)));
        assert!(commands.run(Command::NewTask));
        page.cleanup();
        assert!(commands.run(Command::NewTask));
        assert_eq!(ran.get_value(), [2, 1]);
    }
}
