//! A household at random: agents, an operator, clock and power do whatever they can, and after each step everything that must
//! hold is checked, and that no prompt was lost, sent twice or overtaken since the step before.
//!
//! A run is told by its seed, which is printed. `FLIGHTDECK_MODEL_SEED` repeats one; `FLIGHTDECK_MODEL_STEPS` sets how long.
//! The seeds together take 1,000 steps, and 10,000 with `FLIGHTDECK_TEST_LONG=1`.

#![expect(
    clippy::print_stdout,
    reason = "shown when a run fails: what everybody did, and the seed to repeat it"
)]

use crate::puppet::{Puppet, choice, note};
use crate::world::{NODE, World, prompted};
use board::{Actor, BoardError, Result, Settings, TurnOutcome};
use domain::clarification::{AnswerItem, ClarificationAnswer};
use domain::error::ErrorCode;
use domain::ids::{PromptId, QuestionId, SessionId, TaskId};
use domain::moves::EntryOptions;
use domain::params::{CreateTask, MoveTask, UpdateStep, UpdateTask};
use domain::permission::PermissionOption;
use domain::question::QuestionStatus;
use domain::queue::{QueuedPrompt, QueuedState};
use domain::view::MessageOutcome;
use serde_json::json;
use std::collections::{HashMap, HashSet};
use store::testing::TestDb;

/// Tasks in a household; each may have children until there are this many.
const MAX_TASKS: usize = 9;

/// SplitMix64: small, and the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(n).unwrap()).unwrap()
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> Option<T> {
        (!from.is_empty()).then(|| from[self.below(from.len())].clone())
    }
}

struct Household {
    world: World,
    random: Random,
    tasks: Vec<TaskId>,
    questions: Vec<(QuestionId, TaskId, TaskId)>,
    said: u64,
    /// What waited before the step, by session in the order of delivery.
    queues: HashMap<SessionId, Vec<QueuedPrompt>>,
    /// How much agents had heard before the step.
    heard: usize,
}

/// What a step may do to what waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Deliver it, in its order.
    Delivers,
    /// Anything but lose it.
    Acts,
    /// Take it back: it was removed, or its task archived.
    TakesBack,
}

/// A refusal is an answer; a failure of the database, or one that says that two writers met, is a bug.
fn tolerate<T>(outcome: Result<T>) -> Option<T> {
    match outcome {
        Ok(value) => Some(value),
        Err(BoardError::Refused(refusal)) => {
            assert_ne!(refusal.code, ErrorCode::Internal, "{refusal}");
            assert!(
                !refusal.message.contains("somebody else changed"),
                "{refusal}"
            );
            None
        }
        Err(error) => panic!("{error:?}"),
    }
}

impl Household {
    async fn new(db: TestDb, seed: u64) -> Self {
        // Nobody works while somebody waits: what cannot be done at once is given back, or told as queued, at once. The waits are
        // of real time, and a few hundred of them would be all that the test does.
        let settings = Settings {
            answer_wait_ms: 1,
            interrupt_wait_ms: 20,
            ..Settings::default()
        };
        let world = World::with(db, settings).await;
        let mut household = Self {
            world,
            random: Random(seed),
            tasks: Vec::new(),
            questions: Vec::new(),
            said: 0,
            queues: HashMap::new(),
            heard: 0,
        };
        let root = household.world.working("Root").await;
        household.tasks.push(root.task);
        for (parent, autopilot) in [(0, true), (0, true), (1, true), (0, false)] {
            let parent = household.tasks[parent];
            let params = CreateTask {
                parent_id: Some(parent),
                autopilot,
                ..prompted("Task")
            };
            household
                .tasks
                .push(household.world.start(params).await.task);
        }
        household
    }

    fn words(&mut self) -> String {
        self.said += 1;
        format!("words {}", self.said)
    }

    fn any_task(&mut self) -> TaskId {
        self.random.pick(&self.tasks).unwrap()
    }

    async fn primary(&self, task: TaskId) -> Option<Puppet> {
        let card = tolerate(self.world.board().task_get(&Actor::Operator, task).await)?;
        Some(self.world.puppet(task, card.primary_session_id?))
    }

    async fn any_puppet(&mut self) -> Option<Puppet> {
        let task = self.any_task();
        self.primary(task).await
    }

    /// One of the agents that are in a turn.
    async fn any_worker(&mut self) -> Option<Puppet> {
        let mut workers = Vec::new();
        for task in self.tasks.clone() {
            workers.extend(self.primary(task).await.filter(Puppet::is_in_turn));
        }
        self.random.pick(&workers)
    }

    /// The operator gives somebody something to do.
    async fn somebody_is_sent(&mut self) {
        let words = self.words();
        if self.tasks.len() < 5 {
            let (parent, autopilot) = (self.any_task(), !self.random.one_in(4));
            let params = CreateTask {
                parent_id: Some(parent),
                autopilot,
                ..prompted("Task")
            };
            let blocked_by = if self.random.one_in(3) {
                vec![self.any_task()]
            } else {
                Vec::new()
            };
            let params = CreateTask {
                blocked_by,
                ..params
            };
            if let Some(created) = tolerate(self.world.create(params).await) {
                self.tasks.push(created.task.id);
            }
            return;
        }
        let Some(target) = self.any_puppet().await else {
            return;
        };
        println!("the operator sends {}", target.task);
        let (board, operator) = (self.world.board(), Actor::Operator);
        if target.card().await.archived_at.is_some() {
            tolerate(board.task_unarchive(&operator, target.task).await);
        }
        if target.state().await.is_terminal() {
            tolerate(board.session_resume(&operator, target.session).await);
        }
        if !target.view().await.auto_run {
            tolerate(
                board
                    .session_auto_run(&operator, target.session, true)
                    .await,
            );
        }
        tolerate(
            board
                .prompt_session(&operator, target.session, &words, None)
                .await,
        );
    }

    async fn step(&mut self) {
        let step = match self.random.below(100) {
            0..32 => {
                let limit = i64::try_from(self.random.below(3) + 1).unwrap();
                self.world.node().step(limit).await;
                Step::Delivers
            }
            32..68 => {
                Box::pin(self.agent_acts()).await;
                Step::Acts
            }
            68..80 => {
                self.somebody_replies().await;
                Step::Acts
            }
            80..94 => Box::pin(self.operator_acts()).await,
            94..98 => {
                let millis = i64::try_from(self.random.below(15_000)).unwrap();
                println!("{millis} ms pass");
                self.world.clock.advance(millis);
                self.world.board().renew_leases(NODE).await.unwrap();
                Step::Acts
            }
            _ => {
                self.power_fails().await;
                Step::Acts
            }
        };
        self.world.check().await;
        self.follow(step).await;
    }

    /// Holds what waits and what was heard against what waited before the step.
    async fn follow(&mut self, step: Step) {
        let memory = self.world.memory().await;
        let waits: HashSet<PromptId> = memory.queues.values().flatten().map(|row| row.id).collect();
        for row in self.queues.values().flatten() {
            // A question goes when it is over, and what was on its way when its session was ended goes with the turn.
            let may_go = step == Step::TakesBack
                || row.question_id.is_some()
                || row.state == QueuedState::Attempted
                || !memory.queues.contains_key(&row.session_id);
            assert!(
                may_go || waits.contains(&row.id) || memory.was_told(row.id),
                "\"{}\" is lost",
                row.content
            );
        }
        let heard = self.world.disk().heard();
        if step == Step::Delivers {
            for heard in &heard[self.heard..] {
                let before = self
                    .queues
                    .get(&heard.session)
                    .map_or(&[][..], Vec::as_slice);
                let Some(place) = before.iter().position(|row| row.id == heard.prompt) else {
                    continue;
                };
                let attempted = before[place].state == QueuedState::Attempted;
                let overtaken = before[..place].iter().find(|row| {
                    let now = memory.queues.get(&heard.session);
                    now.is_some_and(|rows| rows.iter().any(|left| left.id == row.id))
                });
                assert!(
                    attempted || overtaken.is_none(),
                    "\"{}\" overtook {overtaken:?}",
                    heard.text
                );
            }
        }
        self.heard = heard.len();
        self.queues.clone_from(&memory.queues);
    }

    async fn agent_acts(&mut self) {
        let Some(agent) = self.any_worker().await else {
            return self.somebody_is_sent().await;
        };
        let act = self.random.below(20);
        println!("agent of {} does {act}", agent.task);
        let board = self.world.board();
        // The door asks this before it lets a tool call in.
        let tool = if act < 6 {
            "ask_parent_question_kandev"
        } else {
            "message_task_kandev"
        };
        if act < 14 && tolerate(board.check_tool_call(&agent.actor(), tool).await).is_none() {
            return;
        }
        match act {
            0..6 => {
                let words = self.words();
                if let Some(asked) = tolerate(agent.ask(&words).await) {
                    self.questions
                        .push((asked.question_id, agent.task, asked.parent_task_id));
                }
            }
            6 => {
                let words = self.words();
                tolerate(
                    board
                        .ask_operator(&agent.actor(), &choice(&words), &json!({"words": words}))
                        .await,
                );
            }
            7..9 => {
                let (to, words) = (self.any_task(), self.words());
                tolerate(agent.tell(to, &words).await);
            }
            9 => Box::pin(self.interrupts(&agent)).await,
            10 => {
                let child = self.any_task();
                tolerate(board.task_stop(&agent.actor(), child).await);
            }
            11 => {
                tolerate(
                    board
                        .step_complete(&agent.actor(), "done", None, None)
                        .await,
                );
            }
            12 if self.tasks.len() < MAX_TASKS => {
                let autopilot = !self.random.one_in(4);
                let params = CreateTask {
                    autopilot,
                    ..prompted("Task")
                };
                if let Some(created) = tolerate(agent.create(params).await) {
                    self.tasks.push(created.task.id);
                }
            }
            13 => {
                let option = PermissionOption {
                    option_id: "yes".to_owned(),
                    name: "Yes".to_owned(),
                    kind: "allow_once".to_owned(),
                };
                tolerate(
                    board
                        .permission_request(agent.session, NODE, "1", json!({}), vec![option])
                        .await,
                );
            }
            14 => agent.end_turn_with(TurnOutcome::Cancelled).await,
            15 => {
                agent
                    .end_turn_with(TurnOutcome::Failed("overloaded".to_owned()))
                    .await;
            }
            16 if self.random.one_in(3) => self.world.node().die(agent.session).await.unwrap(),
            17 => {
                let task = if self.random.one_in(2) {
                    agent.task
                } else {
                    self.any_task()
                };
                let step = self.random.pick(&self.world.steps.clone()).unwrap().id;
                tolerate(
                    board
                        .task_move(&agent.actor(), task, &MoveTask::to(step))
                        .await,
                );
            }
            _ => agent.end_turn().await,
        }
    }

    /// An interrupt waits for its prompt to be accepted, so the node must go on meanwhile.
    async fn interrupts(&mut self, agent: &Puppet) {
        // Mostly a child, which is what it may interrupt.
        let mut children = Vec::new();
        for task in self.tasks.clone() {
            if let Some(child) = self.primary(task).await
                && child.card().await.parent_id == Some(agent.task)
            {
                children.push(task);
            }
        }
        let target = match self.random.pick(&children) {
            Some(child) if !self.random.one_in(4) => child,
            _ => self.any_task(),
        };
        let (mut message, agent) = (note(target, &self.words()), agent.clone());
        message.delivery_mode = domain::params::DeliveryMode::Interrupt;
        let sending = Box::pin(async move { agent.send(message).await });
        self.while_the_node_goes_on(sending).await;
    }

    /// Whoever waits for a prompt to be accepted needs the node to go on.
    async fn while_the_node_goes_on(
        &self,
        work: impl Future<Output = Result<MessageOutcome>> + Send + 'static,
    ) {
        let work = tokio::spawn(Box::pin(work));
        while !work.is_finished() {
            self.world.node().step(1).await;
            tokio::task::yield_now().await;
        }
        tolerate(work.await.unwrap());
    }

    async fn somebody_replies(&mut self) {
        // Mostly one of the latest; now and then one that was over long ago.
        let recent = self.questions.len().saturating_sub(4);
        let from = if self.random.one_in(4) { 0 } else { recent };
        let Some((question, child, parent)) = self.random.pick(&self.questions[from..]) else {
            return;
        };
        let replier = if self.random.one_in(6) {
            self.any_task()
        } else {
            parent
        };
        let (Some(replier), Some(child)) = (self.primary(replier).await, self.primary(child).await)
        else {
            return;
        };
        let words = self.words();
        println!("{} replies to {question}: {words}", replier.task);
        if tolerate(
            self.world
                .board()
                .check_tool_call(&replier.actor(), "message_task_kandev")
                .await,
        )
        .is_some()
        {
            tolerate(replier.reply(&child, question, &words).await);
        }
    }

    /// A session and the ids of what waits there, as an operator sees it: mostly one where something waits.
    async fn any_queue(&mut self) -> Option<(SessionId, Vec<PromptId>)> {
        let mut found = None;
        for _ in 0..6 {
            let target = self.any_puppet().await?;
            let board = self.world.board();
            let queue = tolerate(board.queue_get(&Actor::Operator, target.session).await)?;
            let ids: Vec<PromptId> = queue.entries.iter().map(|entry| entry.id).collect();
            let is_empty = ids.is_empty();
            found = Some((target.session, ids));
            if !is_empty {
                break;
            }
        }
        found
    }

    /// The operator works on a queue.
    async fn operator_steers(&mut self) -> Step {
        let Some((session, mut ids)) = self.any_queue().await else {
            return Step::Acts;
        };
        let act = self.random.below(12);
        println!("the operator does {act} to the queue of {session}: {ids:?}");
        let (board, operator) = (self.world.board(), Actor::Operator);
        let Some(one) = self.random.pick(&ids) else {
            let words = self.words();
            tolerate(
                board
                    .prompt_session(&operator, session, &words, Some(&words))
                    .await,
            );
            return Step::Acts;
        };
        match act {
            0..2 => {
                let words = self.words();
                tolerate(board.prompt_edit(&operator, one, &words, None).await);
            }
            2..4 => {
                tolerate(board.prompt_remove(&operator, one).await);
                return Step::TakesBack;
            }
            4..6 => {
                tolerate(board.prompt_merge(&operator, one).await);
                return Step::TakesBack;
            }
            6..9 => {
                let by = self.random.below(ids.len());
                ids.rotate_left(by);
                if self.random.one_in(6) {
                    ids.pop();
                }
                tolerate(board.queue_reorder(&operator, session, &ids).await);
            }
            9 => {
                tolerate(board.queue_clear(&operator, session).await);
                return Step::TakesBack;
            }
            _ => {
                // It waits for its prompt to be accepted.
                let sending = Box::pin(async move { board.prompt_send_now(&operator, one).await });
                self.while_the_node_goes_on(sending).await;
            }
        }
        Step::Acts
    }

    async fn operator_acts(&mut self) -> Step {
        if self.random.one_in(3) {
            return Box::pin(self.operator_steers()).await;
        }
        let Some(target) = self.any_puppet().await else {
            return Step::Acts;
        };
        let act = self.random.below(32);
        println!("the operator does {act} to {}", target.task);
        let (board, operator) = (self.world.board(), Actor::Operator);
        match act {
            0..5 => {
                let words = self.words();
                tolerate(
                    board
                        .prompt_session(&operator, target.session, &words, None)
                        .await,
                );
            }
            5..8 => {
                tolerate(board.session_cancel(&operator, target.session).await);
            }
            8 => {
                tolerate(board.session_stop(&operator, target.session).await);
            }
            9..13 => {
                tolerate(board.session_resume(&operator, target.session).await);
            }
            13 => {
                tolerate(board.task_archive(&operator, target.task).await);
                return Step::TakesBack;
            }
            14..16 => {
                let task = self.any_task();
                tolerate(board.task_unarchive(&operator, task).await);
            }
            16 => {
                let parent = (!self.random.one_in(4)).then(|| self.any_task());
                let params = UpdateTask {
                    parent_id: Some(parent),
                    ..UpdateTask::default()
                };
                tolerate(board.task_update(&operator, target.task, params).await);
            }
            17..20 => {
                let step = self.random.pick(&self.world.steps.clone()).unwrap().id;
                let place = MoveTask::to(step);
                tolerate(board.task_move(&operator, target.task, &place).await);
            }
            20..22 => {
                let on = !self.random.one_in(3);
                tolerate(board.session_auto_run(&operator, target.session, on).await);
            }
            22 => {
                let rows = self
                    .world
                    .read(async |db| store::queue::list(db, target.session).await)
                    .await;
                if let Some(row) = self.random.pick(&rows) {
                    tolerate(board.prompt_remove(&operator, row.id).await);
                }
                return Step::TakesBack;
            }
            23 if self.random.one_in(3) && self.tasks.len() > 4 => {
                tolerate(board.task_delete(&operator, target.task).await);
                self.tasks.retain(|task| *task != target.task);
                return Step::TakesBack;
            }
            24 => {
                let state = ["done", "in progress", "cancelled"][self.random.below(3)];
                let params = UpdateTask {
                    state: Some(state.to_owned()),
                    ..UpdateTask::default()
                };
                // Nobody checks a state that a person chose against what the agent does; leave the card to rest.
                if state != "in progress" {
                    tolerate(board.task_update(&operator, target.task, params).await);
                }
            }
            26..28 => self.limit_changes().await,
            28..30 => {
                let on = self.any_task();
                tolerate(board.dependency_add(&operator, target.task, on).await);
            }
            30 => {
                let on = self.any_task();
                tolerate(board.dependency_remove(&operator, target.task, on).await);
            }
            31 => {
                let options = self.entry_options();
                let place = MoveTask {
                    entry_options: Some(options),
                    ..MoveTask::to(self.world.step("In Progress"))
                };
                tolerate(board.task_move(&operator, target.task, &place).await);
            }
            _ => Box::pin(self.operator_answers(target.task)).await,
        }
        Step::Acts
    }

    /// Some step takes more or fewer cards, and may be fed by the first.
    async fn limit_changes(&mut self) {
        let step = self.random.pick(&self.world.steps.clone()).unwrap().id;
        let backlog = self.world.step("Backlog");
        let feeder = (step != backlog && self.random.one_in(2)).then_some(backlog);
        let params = UpdateStep {
            wip_limit: Some(i64::try_from(self.random.below(4)).unwrap()),
            pull_from_step_id: Some(feeder),
            ..UpdateStep::default()
        };
        tolerate(
            self.world
                .board()
                .step_update(&Actor::Operator, step, params)
                .await,
        );
    }

    fn entry_options(&mut self) -> EntryOptions {
        let words = self.words();
        EntryOptions {
            reset_context: self.random.one_in(2),
            instructions: self.random.one_in(2).then_some(words),
            skip_step_prompt: self.random.one_in(3),
        }
    }

    /// Answers everything that a task asks the operator.
    async fn operator_answers(&mut self, task: TaskId) {
        let (board, operator) = (self.world.board(), Actor::Operator);
        let Some(page) = tolerate(board.task_page(&operator, task).await) else {
            return;
        };
        for bundle in page.clarifications {
            let answer = ClarificationAnswer {
                rejected: self.random.one_in(3),
                answers: vec![AnswerItem {
                    question_id: "q1".to_owned(),
                    selected_options: vec!["q1_opt1".to_owned()],
                    custom_text: None,
                }],
                reject_reason: None,
            };
            tolerate(
                board
                    .clarification_respond(&operator, bundle.pending_id, &answer)
                    .await,
            );
        }
        for request in page.permissions {
            tolerate(board.permission_respond(&operator, request.id, "yes").await);
        }
    }

    /// The power goes: between transactions, or with a prompt on its way.
    async fn power_fails(&mut self) {
        if let Some(puppet) = self.any_puppet().await
            && self.random.one_in(2)
        {
            let node = self.world.node();
            if let Ok(board::Next::Launch(plan)) = node.next(puppet.session).await {
                node.launch(&plan).await.unwrap();
            }
            if node.is_live(puppet.session)
                && let Ok(board::Next::Deliver(delivery)) = node.next(puppet.session).await
                && self.random.one_in(2)
                && node.turn(puppet.session).is_none()
            {
                println!(
                    "{} hears of {} and nobody notes it",
                    puppet.task, delivery.text
                );
                node.hear(&delivery);
            }
        }
        println!("the power fails");
        self.world.restart().await;
    }

    /// Everybody finishes what they have begun and answers what they are asked.
    async fn comes_to_rest(&mut self) {
        // A card without a place hears of nothing, so everybody gets one.
        for step in self.world.steps.clone() {
            let params = UpdateStep {
                wip_limit: Some(0),
                ..UpdateStep::default()
            };
            tolerate(
                self.world
                    .board()
                    .step_update(&Actor::Operator, step.id, params)
                    .await,
            );
        }
        for _ in 0..300 {
            self.world.run().await;
            let mut busy = false;
            for task in self.tasks.clone() {
                self.operator_answers(task).await;
                if let Some(puppet) = self.primary(task).await.filter(Puppet::is_in_turn) {
                    puppet.end_turn().await;
                    busy = true;
                }
            }
            for (question, child, parent) in self.questions.clone() {
                if let (Some(parent), Some(child)) =
                    (self.primary(parent).await, self.primary(child).await)
                    && !parent.state().await.is_terminal()
                    && tolerate(parent.reply(&child, question, "as you like").await)
                        .is_some_and(|sent| sent.queue_entry_id.is_some())
                {
                    busy = true;
                }
            }
            if !busy {
                if self.world.count("effects").await == 0 {
                    break;
                }
                // What is left is due later.
                self.world.clock.advance(15_000);
                self.world.board().renew_leases(NODE).await.unwrap();
            }
        }
        self.world.run().await;
        for (question, ..) in self.questions.clone() {
            let found = self
                .world
                .read(async |db| store::questions::find(db, question).await)
                .await;
            // A question whose task was deleted is gone with it.
            let Some(found) = found else { continue };
            if found.status == QuestionStatus::Pending {
                let sessions = self
                    .world
                    .read(async |db| store::sessions::list(db, found.parent_task_id).await)
                    .await;
                assert!(
                    sessions.iter().all(|s| s.state.is_terminal()),
                    "a child waits for a parent that could have answered"
                );
            }
        }
        let waiting = self
            .world
            .read(async |db| db.fetch_raw("select id from sessions").await)
            .await;
        for row in waiting {
            let id: SessionId = row[0].as_deref().unwrap().parse().unwrap();
            let session = self
                .world
                .read(async |db| store::sessions::find(db, id).await)
                .await
                .unwrap();
            assert!(
                !session.state.is_busy(),
                "session {id} is {} for ever",
                session.state
            );
        }
        let late = self.world.count("pending_moves").await;
        assert_eq!(late, 0, "a move waits for the end of a turn that has ended");
        self.world.assert_heard_once();
        self.world.check_all().await;
        self.nothing_waits_that_could_be_delivered().await;
    }

    /// At rest a prompt waits only where somebody has to act first.
    async fn nothing_waits_that_could_be_delivered(&self) {
        let memory = self.world.memory().await;
        for (session, rows) in memory.queues.iter().filter(|(_, rows)| !rows.is_empty()) {
            let view = self
                .world
                .board()
                .session_get(&Actor::Operator, *session)
                .await
                .unwrap();
            let card = self
                .world
                .board()
                .task_get(&Actor::Operator, view.task_id)
                .await
                .unwrap();
            // A card that waits for another task is passed over when places become free.
            let has_no_place = card.waits_for_place() && card.blocked;
            let held = view.state.is_terminal()
                || !view.auto_run
                || view.pending_action.is_some()
                || has_no_place;
            assert!(held, "{} prompts of {session} are forgotten", rows.len());
        }
    }
}

async fn live(db: TestDb, seed: u64) {
    let long = std::env::var_os("FLIGHTDECK_TEST_LONG").is_some();
    let steps = std::env::var("FLIGHTDECK_MODEL_STEPS")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(if long { 1_250 } else { 125 });
    let seed = std::env::var("FLIGHTDECK_MODEL_SEED")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(seed);
    println!("FLIGHTDECK_MODEL_SEED={seed} FLIGHTDECK_MODEL_STEPS={steps}");
    let mut household = Household::new(db, seed).await;
    for n in 0..steps {
        println!("step {n}");
        Box::pin(household.step()).await;
    }
    Box::pin(household.comes_to_rest()).await;
}

store::on_both_engines! {
    async fn a_household_at_random_keeps_its_rows_in_order_1(db: TestDb) {
        live(db, 1).await;
    }

    async fn a_household_at_random_keeps_its_rows_in_order_2(db: TestDb) {
        live(db, 2).await;
    }

    async fn a_household_at_random_keeps_its_rows_in_order_3(db: TestDb) {
        live(db, 3).await;
    }

    async fn a_household_at_random_keeps_its_rows_in_order_4(db: TestDb) {
        live(db, 4).await;
    }

    async fn a_household_at_random_keeps_its_rows_in_order_5(db: TestDb) {
        live(db, 5).await;
    }

    async fn a_household_at_random_keeps_its_rows_in_order_6(db: TestDb) {
        live(db, 6).await;
    }

    async fn a_household_at_random_keeps_its_rows_in_order_7(db: TestDb) {
        live(db, 7).await;
    }

    async fn a_household_at_random_keeps_its_rows_in_order_8(db: TestDb) {
        live(db, 8).await;
    }
}
