//! One conversation: its servers, and what it remembers.

use std::{
    collections::BTreeMap,
    io,
    path::Path,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use agent_client_protocol::v1::schema::McpServer;
use tokio_util::sync::CancellationToken;

use super::{
    entry::Entry,
    prompt::{ChildQuestion, Received},
};
use crate::stdio::{history::History, mcp::McpServers};

/// A conversation. Shared by the turn that runs and whatever arrives meanwhile.
pub(super) struct Session {
    pub(super) id: String,
    pub(super) mcp: McpServers,
    state: Mutex<State>,
    /// The running turn, to cancel it.
    turn: Mutex<Option<CancellationToken>>,
    /// The running turn plays dead: it does not hear a cancel.
    deaf: AtomicBool,
}

struct State {
    history: History,
    memory: Memory,
}

/// What the entries of the history add up to.
#[derive(Debug, Clone, Default)]
pub(super) struct Memory {
    /// Prompts so far. Makes ids unique over restarts.
    pub(super) prompts: u64,
    /// What hidden blocks said, the newest of each.
    pub(super) facts: BTreeMap<String, String>,
    /// What scripts keep.
    pub(super) kept: BTreeMap<String, String>,
    /// Sections that wait.
    pub(super) later: Option<String>,
    pub(super) answer: Option<String>,
    pub(super) answer_delay: Option<Duration>,
    pub(super) answer_times: Option<u64>,
    /// The last child's question.
    pub(super) question: Option<ChildQuestion>,
    /// It still needs an answer: the process died before it came to that.
    pub(super) question_open: bool,
}

impl Memory {
    fn add(&mut self, entry: &Entry) {
        match entry {
            Entry::Prompt { blocks, .. } => {
                let received = Received::read(blocks);
                self.prompts += 1;
                self.facts.extend(received.facts);
                if received.question.is_some() {
                    self.question = received.question;
                    self.question_open = true;
                }
            }
            Entry::Message { .. } => {}
            Entry::Later { script } => self.later.clone_from(script),
            Entry::Set { name, value } => {
                self.kept.insert(name.clone(), value.clone());
            }
            Entry::Answer { text } => self.answer = Some(text.clone()),
            Entry::AnswerDelay { ms } => self.answer_delay = Some(Duration::from_millis(*ms)),
            Entry::AnswerTimes { times } => self.answer_times = Some(*times),
            Entry::QuestionSettled { question_id } => {
                self.question_open &= self
                    .question
                    .as_ref()
                    .is_some_and(|open| open.question_id != *question_id);
            }
        }
    }
}

impl Session {
    /// Opens a conversation that nobody knows yet.
    pub(super) fn create(
        folder: Option<&Path>,
        id: String,
        servers: Vec<McpServer>,
    ) -> io::Result<Self> {
        let history = History::create(folder, &id)?;
        Ok(Self::new(
            id,
            servers,
            State {
                history,
                memory: Memory::default(),
            },
        ))
    }

    /// Opens a conversation from its history, and gives what is in it.
    pub(super) fn load(
        folder: Option<&Path>,
        id: String,
        servers: Vec<McpServer>,
    ) -> io::Result<(Self, Vec<Entry>)> {
        let (history, entries) = History::open(folder, &id)?;
        let mut memory = Memory::default();
        for entry in &entries {
            memory.add(entry);
        }
        Ok((Self::new(id, servers, State { history, memory }), entries))
    }

    fn new(id: String, servers: Vec<McpServer>, state: State) -> Self {
        Self {
            id,
            mcp: McpServers::new(servers),
            state: Mutex::new(state),
            turn: Mutex::default(),
            deaf: AtomicBool::new(false),
        }
    }

    /// Remembers something, on the disk first.
    pub(super) fn record(&self, entry: &Entry) -> io::Result<()> {
        let mut state = lock(&self.state);
        state.history.append(entry)?;
        state.memory.add(entry);
        Ok(())
    }

    pub(super) fn memory(&self) -> Memory {
        lock(&self.state).memory.clone()
    }

    /// Begins a turn. `None` while another one runs.
    pub(super) fn begin_turn(&self) -> Option<CancellationToken> {
        let mut turn = lock(&self.turn);
        if turn.is_some() {
            return None;
        }
        self.deaf.store(false, Ordering::Relaxed);
        Some(turn.insert(CancellationToken::new()).clone())
    }

    pub(super) fn end_turn(&self) {
        lock(&self.turn).take();
    }

    pub(super) fn cancel_turn(&self) {
        if let (Some(turn), false) = (&*lock(&self.turn), self.deaf.load(Ordering::Relaxed)) {
            turn.cancel();
        }
    }

    /// From here to the end of the turn no cancel is heard.
    pub(super) fn go_deaf(&self) {
        self.deaf.store(true, Ordering::Relaxed);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_remembers_over_a_restart() {
        let folder = tempfile::tempdir().expect("a folder");
        let session =
            Session::create(Some(folder.path()), "s".into(), Vec::new()).expect("created");
        let hidden = "prompt_id: p1\ntask_id: t1\nAUTOPILOT CHILD QUESTION\nquestion_id: q1\nchild_task_id: c1";
        for entry in [
            Entry::Prompt {
                prompt_id: Some("p1".into()),
                blocks: vec![hidden.into(), "x".into()],
            },
            Entry::Later {
                script: Some("e2e:message(\"2\")".into()),
            },
            Entry::Set {
                name: "child".into(),
                value: "c".into(),
            },
            Entry::Answer { text: "yes".into() },
            Entry::AnswerDelay { ms: 5 },
            Entry::AnswerTimes { times: 2 },
        ] {
            session.record(&entry).expect("written");
        }
        let (again, _) =
            Session::load(Some(folder.path()), "s".into(), Vec::new()).expect("loaded");
        let memory = again.memory();
        assert_eq!(memory.facts.get("task_id").map(String::as_str), Some("t1"));
        assert_eq!(memory.kept.get("child").map(String::as_str), Some("c"));
        assert_eq!(memory.later.as_deref(), Some("e2e:message(\"2\")"));
        assert_eq!(memory.answer.as_deref(), Some("yes"));
        assert_eq!(
            (memory.answer_delay, memory.answer_times),
            (Some(Duration::from_millis(5)), Some(2))
        );
        assert!(
            memory.question_open,
            "nobody answered before the process died"
        );
        again
            .record(&Entry::QuestionSettled {
                question_id: "other".into(),
            })
            .expect("written");
        assert!(again.memory().question_open);
        again
            .record(&Entry::QuestionSettled {
                question_id: "q1".into(),
            })
            .expect("written");
        assert!(!again.memory().question_open);
    }

    #[test]
    fn one_turn_at_a_time_and_a_deaf_one_is_not_cancelled() {
        let session = Session::create(None, "s".into(), Vec::new()).expect("created");
        let turn = session.begin_turn().expect("the first");
        assert!(session.begin_turn().is_none());
        session.go_deaf();
        session.cancel_turn();
        assert!(!turn.is_cancelled());
        session.end_turn();
        let turn = session.begin_turn().expect("the next");
        session.cancel_turn();
        assert!(turn.is_cancelled());
    }
}
