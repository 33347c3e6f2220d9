//! One reader of the event log for all listeners of this process.
//!
//! A task waits for the board's wake-up, reads what is new once, and hands it to everybody; ten thousand listeners cost the
//! database no more than one. The newest events stay in memory, so that listeners who come back together after a lost
//! connection are served from there too. Only one whose position lies further back asks the database itself.
//!
//! Nothing is lost between a listener's past and its presence: it takes its receiver, and learns the position up to which the
//! receiver misses everything, under one lock.

use board::{Actor, Board, Topic};
use domain::event::Event;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;

/// Events kept in memory for those who come back.
const RECENT: usize = 2_048;
/// Events a listener may lag behind before it has to read the log itself.
const CHANNEL: usize = 1_024;
/// Other nodes write to the log too, and their wake-ups do not reach us.
const SAFETY_POLL: Duration = Duration::from_secs(1);
/// AI jobs come in crowds, and so do clients that wait for runs: their watchers are told at most this often.
const ROUND: Duration = Duration::from_millis(200);
/// Pause after a failed read.
const RETRY: Duration = Duration::from_millis(250);

/// An event with its wire form, written once for all listeners.
#[derive(Debug)]
pub struct Shared {
    /// The event.
    pub event: Event,
    /// As JSON.
    pub json: String,
}

impl Shared {
    fn of(event: Event) -> Arc<Self> {
        // An event is made of words and ids: it always serialises.
        let json = serde_json::to_string(&event).unwrap_or_default();
        Arc::new(Self { event, json })
    }
}

/// What a listener is told.
#[derive(Debug)]
pub enum Told {
    /// Something happened.
    Event(Arc<Shared>),
    /// Events are missing between the listener's position and this one.
    Reset(i64),
    /// Something happened to AI jobs, which have timelines of their own and are not in the log.
    Jobs,
    /// A client waited for a run, or read of one, which is not in the log either.
    Runs,
}

/// The feed. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Feed {
    board: Board,
    /// Grows when something happened to AI jobs.
    jobs: watch::Sender<u64>,
    /// Grows when clients waited for runs.
    runs: watch::Sender<u64>,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    sender: broadcast::Sender<Arc<Shared>>,
    recent: VecDeque<Arc<Shared>>,
    /// Position up to which everything was handed out.
    head: i64,
    /// Listeners that are the server's own.
    own: usize,
}

impl Feed {
    /// Starts reading at the newest event; ends when `shutdown` says so.
    pub async fn start(board: Board, shutdown: CancellationToken) -> board::Result<Self> {
        let wake = board.signals().subscribe(Topic::Events);
        let jobs = board.signals().subscribe(Topic::Jobs);
        let runs = board.signals().subscribe(Topic::Runs);
        let (_, head) = board.events_bounds().await?;
        let feed = Self {
            board,
            jobs: watch::channel(0).0,
            runs: watch::channel(0).0,
            state: Arc::new(Mutex::new(State {
                sender: broadcast::channel(CHANNEL).0,
                recent: VecDeque::with_capacity(RECENT),
                head,
                own: 0,
            })),
        };
        tokio::spawn(feed.clone().run(wake, shutdown.clone()));
        tokio::spawn(feed.clone().run_jobs(jobs, shutdown.clone()));
        tokio::spawn(feed.clone().run_runs(runs, shutdown));
        Ok(feed)
    }

    /// Position up to which everything was handed out: a page that begins to listen here misses nothing it has not read.
    #[must_use]
    pub fn head(&self) -> i64 {
        self.state().head
    }

    /// How many clients listen.
    #[must_use]
    pub fn listeners(&self) -> usize {
        let state = self.state();
        state.sender.receiver_count().saturating_sub(state.own)
    }

    /// Begins to listen from now on, for as long as the server runs: one reader of the log serves whoever waits for a change.
    #[must_use]
    pub fn listen_for_the_server(&self) -> Listener {
        self.state().own += 1;
        self.listen(None)
    }

    /// Begins to listen after position `since`, or now.
    #[must_use]
    pub fn listen(&self, since: Option<i64>) -> Listener {
        let state = self.state();
        let position = since.unwrap_or(state.head);
        let in_memory = position <= state.head && position >= state.oldest();
        let mode = if in_memory {
            Mode::Follow(state.sender.subscribe())
        } else {
            Mode::CatchUp { checked: false }
        };
        Listener {
            feed: self.clone(),
            jobs: self.jobs.subscribe(),
            runs: self.runs.subscribe(),
            position,
            ahead: if in_memory {
                state.after(position)
            } else {
                VecDeque::new()
            },
            mode,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn run(self, mut wake: watch::Receiver<u64>, shutdown: CancellationToken) {
        loop {
            let pause = match self.read_on().await {
                Ok(()) => SAFETY_POLL,
                Err(error) => {
                    crate::error::refusal_of(error);
                    RETRY
                }
            };
            tokio::select! {
                () = shutdown.cancelled() => return,
                // The board lives as long as we do, so its signals do not end before.
                _ = wake.changed() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Tells of AI jobs, whoever of all nodes works on them.
    async fn run_jobs(self, mut wake: watch::Receiver<u64>, shutdown: CancellationToken) {
        let mut head = 0;
        loop {
            let woken = tokio::select! {
                () = shutdown.cancelled() => return,
                // The board lives as long as we do, so its signals do not end before.
                _ = wake.changed() => true,
                () = tokio::time::sleep(SAFETY_POLL), if self.board.is_shared() => false,
            };
            if self.board.is_shared() {
                match self.board.jobs_head().await {
                    Ok(now) if now == head && !woken => continue,
                    Ok(now) => head = now,
                    Err(error) => {
                        crate::error::refusal_of(error);
                    }
                }
            }
            self.jobs.send_modify(|n| *n = n.wrapping_add(1));
            tokio::select! {
                () = shutdown.cancelled() => return,
                () = tokio::time::sleep(ROUND) => {}
            }
        }
    }

    /// Tells that clients waited for runs. A word of another node that gets lost costs nothing but a late number.
    async fn run_runs(self, mut wake: watch::Receiver<u64>, shutdown: CancellationToken) {
        loop {
            tokio::select! {
                () = shutdown.cancelled() => return,
                // The board lives as long as we do, so its signals do not end before.
                _ = wake.changed() => {}
            }
            self.runs.send_modify(|n| *n = n.wrapping_add(1));
            tokio::select! {
                () = shutdown.cancelled() => return,
                () = tokio::time::sleep(ROUND) => {}
            }
        }
    }

    /// Hands out everything that is new.
    async fn read_on(&self) -> board::Result<()> {
        loop {
            let events = self.board.events_since(&Actor::System, self.head()).await?;
            if events.is_empty() {
                return Ok(());
            }
            if self.board.is_shared() {
                // Their wake-ups do not reach us, but their events do.
                self.board.signals().wake_for_other_nodes();
            }
            let mut state = self.state();
            for event in events {
                state.hand_out(event);
            }
        }
    }
}

impl State {
    fn hand_out(&mut self, event: Event) {
        self.head = event.id;
        let shared = Shared::of(event);
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(shared.clone());
        // Nobody listening is fine.
        let _ = self.sender.send(shared);
    }

    /// The position after which memory has everything.
    fn oldest(&self) -> i64 {
        match self.recent.front() {
            Some(first) => first.event.id - 1,
            None => self.head,
        }
    }

    /// The events in memory after `position`.
    fn after(&self, position: i64) -> VecDeque<Arc<Shared>> {
        let start = self
            .recent
            .partition_point(|shared| shared.event.id <= position);
        self.recent.range(start..).cloned().collect()
    }
}

/// One listener.
#[derive(Debug)]
pub struct Listener {
    feed: Feed,
    jobs: watch::Receiver<u64>,
    runs: watch::Receiver<u64>,
    /// Everything up to here was told.
    position: i64,
    /// To be told next.
    ahead: VecDeque<Arc<Shared>>,
    mode: Mode,
}

/// Where a listener's events come from once `ahead` is empty.
#[derive(Debug)]
enum Mode {
    /// From the log, until memory can take over. A position that came from outside is checked against the log first.
    CatchUp { checked: bool },
    /// From the reader of this process.
    Follow(broadcast::Receiver<Arc<Shared>>),
}

impl Listener {
    /// Everything up to here was told.
    #[must_use]
    pub const fn position(&self) -> i64 {
        self.position
    }

    /// The next event; `None` when there will be none.
    pub async fn next(&mut self) -> Option<Told> {
        loop {
            if let Some(shared) = self.ahead.pop_front() {
                self.position = shared.event.id;
                return Some(Told::Event(shared));
            }
            match &mut self.mode {
                Mode::CatchUp { checked } => {
                    if *checked && self.follow() {
                        continue;
                    }
                    if let Some(reset) = self.read_log().await {
                        return Some(reset);
                    }
                }
                Mode::Follow(receiver) => {
                    let received = tokio::select! {
                        biased;
                        received = receiver.recv() => received,
                        Ok(()) = self.jobs.changed() => return Some(Told::Jobs),
                        Ok(()) = self.runs.changed() => return Some(Told::Runs),
                    };
                    match received {
                        Ok(shared) if shared.event.id > self.position => {
                            self.position = shared.event.id;
                            return Some(Told::Event(shared));
                        }
                        // We have it from the log, which was ahead of the reader.
                        Ok(_) => {}
                        Err(RecvError::Lagged(_)) => self.mode = Mode::CatchUp { checked: true },
                        Err(RecvError::Closed) => return None,
                    }
                }
            }
        }
    }

    /// Goes over to the reader, when memory has everything after our position.
    fn follow(&mut self) -> bool {
        let state = self.feed.state();
        if self.position < state.oldest() {
            return false;
        }
        self.ahead = state.after(self.position);
        self.mode = Mode::Follow(state.sender.subscribe());
        true
    }

    /// Reads a page of the log; a reset when the log has nothing that joins our position.
    async fn read_log(&mut self) -> Option<Told> {
        match self.page().await {
            Ok(Page::Events(events)) => {
                self.ahead = events.into_iter().map(Shared::of).collect();
                self.mode = Mode::CatchUp { checked: true };
                None
            }
            Ok(Page::Gap(last)) => {
                self.position = last;
                self.mode = Mode::CatchUp { checked: true };
                Some(Told::Reset(last))
            }
            Err(error) => {
                crate::error::refusal_of(error);
                tokio::time::sleep(RETRY).await;
                None
            }
        }
    }

    async fn page(&self) -> board::Result<Page> {
        let board = &self.feed.board;
        let (first, last) = board.events_bounds().await?;
        // Beyond the end: a position of another database, so what the client has seen is not ours.
        if self.position < first - 1 || self.position > last {
            return Ok(Page::Gap(last));
        }
        let events = board.events_since(&Actor::System, self.position).await?;
        Ok(Page::Events(events))
    }
}

enum Page {
    Events(Vec<Event>),
    Gap(i64),
}
