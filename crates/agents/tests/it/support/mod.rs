//! The smallest worlds for tests, and waiting without sleeping.

pub(crate) mod mcp;
pub(crate) mod roles;

use std::{
    future::Future,
    path::Path,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use agents::{
    AgentEvent,
    acp::{
        self, AgentError, AgentHandle, LaunchError, LaunchSpec, Launched, Prompt, PromptInFlight,
    },
    event::{StopReason, TurnEnd},
};
use tokio::sync::{mpsc, watch};

/// How long anything may take before a test gives up on it. Generous: the machine may be busy.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);

/// Names async functions as tests of the module that calls it.
macro_rules! trials {
    ($($test:ident),* $(,)?) => {
        pub(crate) fn trials() -> Vec<libtest_mimic::Trial> {
            vec![$(libtest_mimic::Trial::test(
                concat!(module_path!(), "::", stringify!($test)),
                || {
                    crate::support::run($test());
                    Ok(())
                },
            )),*]
        }
    };
}
pub(crate) use trials;

pub(crate) fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(test);
    runtime.shutdown_timeout(Duration::from_secs(1));
}

/// Waits for a future, with the deadline.
pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(DEADLINE, future).await {
        Ok(value) => value,
        Err(_) => panic!("{what} did not happen within {DEADLINE:?}"),
    }
}

/// Looks again until a condition holds, for what sends no signal: files and processes.
pub(crate) async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(
            begin.elapsed() < DEADLINE,
            "{what} did not happen within {DEADLINE:?}"
        );
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A launch of the demo agent that keeps its history in `folder`.
pub(crate) fn demo(folder: &Path) -> LaunchSpec {
    let history = folder.join("history");
    this_binary(
        folder,
        &["demo-agent", "--history-dir", &history.to_string_lossy()],
    )
}

/// A launch of the agent that says what is written in `script`; see [`roles`].
pub(crate) fn canned(folder: &Path, script: &serde_json::Value) -> LaunchSpec {
    let file = folder.join("canned.json");
    std::fs::write(&file, script.to_string()).expect("a script");
    this_binary(folder, &["canned-agent", &file.to_string_lossy()])
}

fn this_binary(folder: &Path, args: &[&str]) -> LaunchSpec {
    let exe = std::env::current_exe().expect("a path");
    let mut spec = LaunchSpec::new(exe.to_string_lossy(), folder);
    spec.args = args.iter().map(|arg| (*arg).to_owned()).collect();
    spec
}

pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

/// An agent with everything that it has said so far.
pub(crate) struct Agent {
    pub(crate) launched: Launched,
    pub(crate) events: Events,
}

impl Agent {
    pub(crate) async fn launch(spec: LaunchSpec) -> Self {
        match Self::try_launch(spec).await {
            Ok(agent) => agent,
            Err((error, events)) => panic!("{error}; events: {:?}", events.all()),
        }
    }

    pub(crate) async fn try_launch(spec: LaunchSpec) -> Result<Self, (LaunchError, Events)> {
        let (sender, receiver) = mpsc::channel(16);
        let events = Events::collect(receiver);
        match soon("the launch", acp::launch(spec, sender)).await {
            Ok(launched) => Ok(Self { launched, events }),
            Err(error) => Err((error, events)),
        }
    }

    pub(crate) fn handle(&self) -> &AgentHandle {
        &self.launched.agent
    }

    /// Waits for the end of a turn and until its events are collected.
    pub(crate) async fn finish(&self, turn: PromptInFlight) -> Result<TurnEnd, AgentError> {
        let number = turn.number();
        let end = soon("the end of the turn", turn.ended()).await;
        if !matches!(end, Err(AgentError::Exited { .. })) {
            let ended = move |event: &AgentEvent| {
                matches!(event, AgentEvent::TurnEnded { prompt, .. } if *prompt == number)
                    .then_some(())
            };
            self.events.find("the event of the end", ended).await;
        }
        end
    }

    /// A whole turn that ends as it should.
    pub(crate) async fn turn(&self, prompt: Prompt) -> TurnEnd {
        let turn = self.handle().prompt(&prompt).expect("the agent is idle");
        self.finish(turn).await.expect("the turn ends well")
    }

    /// A whole turn with a text, that ends by itself.
    pub(crate) async fn say(&self, text: &str) {
        let end = self
            .turn(Prompt {
                hidden: None,
                text: text.to_owned(),
            })
            .await;
        assert_eq!(
            end.stop_reason,
            StopReason::EndTurn,
            "{:?}",
            self.events.all()
        );
    }
}

pub(crate) fn text(text: &str) -> Prompt {
    Prompt {
        hidden: None,
        text: text.to_owned(),
    }
}

/// Everything that arrived on a channel, growing.
#[derive(Clone)]
pub(crate) struct Events {
    all: Arc<Mutex<Vec<AgentEvent>>>,
    count: watch::Receiver<usize>,
}

impl Events {
    pub(crate) fn collect(mut receiver: mpsc::Receiver<AgentEvent>) -> Self {
        let all = Arc::new(Mutex::new(Vec::new()));
        let (counted, count) = watch::channel(0);
        let into = Arc::clone(&all);
        tokio::spawn(async move {
            while let Some(event) = receiver.recv().await {
                let mut all = into.lock().expect("no test panics here");
                all.push(event);
                counted.send_replace(all.len());
            }
        });
        Self { all, count }
    }

    pub(crate) fn all(&self) -> Vec<AgentEvent> {
        self.all.lock().expect("no test panics here").clone()
    }

    /// The answer so far, joined.
    pub(crate) fn answer(&self) -> String {
        self.all()
            .iter()
            .filter_map(|event| {
                if let AgentEvent::MessageChunk(chunk) = event {
                    Some(chunk.content.text.clone())
                } else {
                    None
                }
            })
            .collect()
    }

    /// Waits until an event gives something.
    pub(crate) async fn find<T>(&self, what: &str, find: impl Fn(&AgentEvent) -> Option<T>) -> T {
        let mut count = self.count.clone();
        let found = soon(what, async {
            loop {
                if let Some(found) = self.all().iter().find_map(&find) {
                    return Some(found);
                }
                if count.changed().await.is_err() {
                    // The last event came and the channel is closed: look once more.
                    return self.all().iter().find_map(&find);
                }
            }
        });
        match found.await {
            Some(found) => found,
            None => panic!("{what} never came: {:?}", self.all()),
        }
    }

    /// Waits for the last event.
    pub(crate) async fn exited(&self) -> Vec<AgentEvent> {
        self.find("the exit", |event| {
            matches!(event, AgentEvent::Exited { .. }).then_some(())
        })
        .await;
        let all = self.all();
        assert!(
            matches!(all.last(), Some(AgentEvent::Exited { .. })),
            "nothing follows the exit: {all:?}"
        );
        all
    }
}
