//! Runs of outside clients: one execution from the first word to a frozen outcome.

use crate::puppet::{Puppet, choice};
use crate::world::{NODE, World};
use board::{Actor, Output, RunError, RunQuery, RunResult, Started, Topic, TurnOutcome};
use domain::clarification::ClarificationAnswer;
use domain::error::ErrorCode;
use domain::ids::{CallId, ClarificationId, MessageId, RunId, SessionId};
use domain::message::MessageType;
use domain::params::UpdateStep;
use domain::run::ask::{Asked, ListRuns, RunTarget, RunTask};
use domain::run::call::{CallOutcome, ClientKind, KEPT_CALLS, RunCall, RunTool};
use domain::run::refuse::{RunErrorCode, RunRefusal};
use domain::run::view::{Detail, Parts, RunView};
use domain::run::{ErrorCategory, RunGroup, RunStatus, TerminalReason};
use domain::time::Timestamp;
use serde_json::{Map, json};

/// An outside client.
#[derive(Clone)]
struct Client {
    world: World,
    actor: Actor,
}

impl Client {
    async fn new(world: &World) -> Self {
        let made = world.board().token_create(&Actor::Operator, "client").await;
        Self {
            world: world.clone(),
            actor: Actor::External {
                token: made.unwrap().info.id,
            },
        }
    }

    async fn ask(&self, call: &RunTask) -> RunResult<Started> {
        self.world.board().run_start(&self.actor, call).await
    }

    /// A new run in a thread of its own, and its agent in its first turn.
    async fn working(&self, task: &str) -> (RunView, Puppet) {
        let view = self.ask(&words(task)).await.unwrap().view;
        self.world.run().await;
        let puppet = self.puppet(view.session_key).await;
        (self.get(view.task_id).await, puppet)
    }

    /// As [`Self::working`], once the agent has said something and stopped.
    async fn done(&self, task: &str) -> (RunView, Puppet) {
        let (view, puppet) = self.working(task).await;
        say(&puppet, "Done.").await;
        puppet.end_turn().await;
        self.world.run().await;
        (self.get(view.task_id).await, puppet)
    }

    async fn puppet(&self, session: SessionId) -> Puppet {
        let view = self
            .world
            .board()
            .session_get(&Actor::Operator, session)
            .await
            .unwrap();
        self.world.puppet(view.task_id, session)
    }

    async fn get(&self, id: RunId) -> RunView {
        self.read(&by_id(id), Parts::OUTCOME).await.unwrap()
    }

    async fn read(&self, target: &RunTarget, parts: Parts) -> RunResult<RunView> {
        self.world
            .board()
            .run_get(&self.actor, target, parts, None)
            .await
    }

    async fn cancel(&self, id: RunId) -> RunView {
        self.world
            .board()
            .run_cancel(&self.actor, &by_id(id))
            .await
            .unwrap()
    }

    async fn list(&self, all: bool) -> board::RunList {
        let params = ListRuns {
            all,
            ..ListRuns::default()
        };
        self.world
            .board()
            .run_list(&self.actor, &params)
            .await
            .unwrap()
    }
}

fn words(task: &str) -> RunTask {
    RunTask {
        asked: Asked {
            task: task.to_owned(),
            ..Asked::default()
        },
        ..RunTask::default()
    }
}

fn in_thread(session: SessionId, task: &str) -> RunTask {
    RunTask {
        session_key: Some(session.to_string()),
        ..words(task)
    }
}

fn by_id(id: RunId) -> RunTarget {
    RunTarget {
        task_id: Some(id.to_string()),
        ..RunTarget::default()
    }
}

#[track_caller]
fn refusal<T: std::fmt::Debug>(outcome: RunResult<T>) -> RunRefusal {
    match outcome {
        Err(RunError::Refused(refusal)) => *refusal,
        other => panic!("expected a refusal, got {other:?}"),
    }
}

async fn say(puppet: &Puppet, text: &str) {
    let turn = puppet.world.node().turn(puppet.session);
    let output = Output {
        id: MessageId::new(),
        message_type: MessageType::Message,
        content: text.to_owned(),
        metadata: Map::new(),
    };
    puppet
        .world
        .board()
        .record_output(puppet.session, NODE, turn, vec![output])
        .await
        .unwrap();
}

async fn ask_operator(puppet: &Puppet) -> ClarificationId {
    puppet
        .world
        .board()
        .ask_operator(&puppet.actor(), &choice("Which store?"), &json!({}))
        .await
        .unwrap()
}

store::on_both_engines! {
    async fn a_run_is_a_card_a_session_and_a_prompt(db: TestDb) {
        let world = World::new(db).await;
        let client = Client::new(&world).await;
        let mut call = words("The secret words");
        call.asked.sender_name = Some("Ada".to_owned());
        let started = client.ask(&call).await.unwrap();
        assert!(!started.duplicate && !started.answered);
        assert_eq!(started.view.status, RunStatus::Queued);
        assert_eq!((started.view.agent.as_str(), started.view.phase), ("puppet", "queued"));
        world.run().await;
        let puppet = client.puppet(started.view.session_key).await;
        let card = puppet.card().await;
        let named: Vec<(&str, usize)> = card.title.split(", ").map(|part| (&part[..2], part.len())).collect();
        assert!(matches!(named[..], [("pu", 6), (_, 8), ("20", 10)]), "{}", card.title);
        assert_eq!((card.description.as_str(), puppet.step().await.as_str()), ("", "In Progress"));
        assert_eq!(puppet.texts(), ["The secret words"]);
        assert!(puppet.last_heard().hidden().contains("\"Ada\"; that is a label"));
        let view = client.get(started.view.task_id).await;
        assert_eq!((view.status, view.phase), (RunStatus::Running, "thinking"));

        world.clock.advance(5_000);
        say(&puppet, "First words.").await;
        say(&puppet, "All is done.").await;
        puppet.end_turn().await;
        world.run().await;
        let view = client.get(started.view.task_id).await;
        assert_eq!((view.status, view.summary.as_deref()), (RunStatus::Completed, Some("All is done.")));
        assert_eq!((view.elapsed_seconds, view.terminal_reason), (5, Some(TerminalReason::Finished)));

        // The conversation goes on, the outcome stays.
        puppet.operator_says("And more.").await;
        world.run().await;
        say(&puppet, "More.").await;
        puppet.end_turn().await;
        world.run().await;
        assert_eq!(client.get(started.view.task_id).await, view);
        for detail in Detail::ALL {
            let read = client.read(&by_id(view.task_id), detail.parts()).await.unwrap();
            let json = serde_json::to_string(&read).unwrap();
            assert_eq!(json.contains("secret"), *detail == Detail::Prompt, "{detail}: {json}");
        }
    }

    async fn an_end_without_words_is_a_success(db: TestDb) {
        let world = World::new(db).await;
        let client = Client::new(&world).await;
        let (view, puppet) = client.working("Do it.").await;
        puppet.end_turn().await;
        world.run().await;
        let view = client.get(view.task_id).await;
        assert_eq!((view.status, view.is_error), (RunStatus::CompletedNoSummary, false));
    }

    async fn twenty_calls_in_the_same_words_are_one_run(db: TestDb) {
        let world = World::new(db).await;
        let client = Client::new(&world).await;
        let calls: Vec<_> = (0..20)
            .map(|n| {
                let client = client.clone();
                // Spaces do not make a difference.
                let call = words(&format!("Fix{}the bug.", " ".repeat(1 + n % 3)));
                tokio::spawn(async move { client.ask(&call).await.unwrap() })
            })
            .collect();
        let mut started = Vec::new();
        for call in calls {
            started.push(call.await.unwrap());
        }
        assert_eq!(started.iter().filter(|s| !s.duplicate).count(), 1);
        assert!(started.iter().all(|s| s.view.task_id == started[0].view.task_id));
        assert!(started.iter().all(|s| s.duplicate == s.duplicate_of.is_some()));
        assert_eq!(world.count("runs").await, 1);
        assert_eq!(world.count("tasks").await, 1);
    }

    async fn a_twin_counts_while_it_goes_on_and_for_ten_minutes(db: TestDb) {
        let world = World::new(db).await;
        let client = Client::new(&world).await;
        let first = client.ask(&words("Do it.")).await.unwrap().view.task_id;
        let wanted = RunTask { allow_duplicate: true, ..words("Do it.") };
        assert_ne!(client.ask(&wanted).await.unwrap().view.task_id, first);
        world.clock.advance(10 * 60 * 1_000 - 1);
        assert_eq!(client.ask(&words("Do it.")).await.unwrap().duplicate_of, Some(first));
        world.clock.advance(1);
        let second = client.ask(&words("Do it.")).await.unwrap();
        assert!(!second.duplicate);
        assert_eq!(client.ask(&words("Do it.")).await.unwrap().duplicate_of, Some(second.view.task_id));
        client.cancel(second.view.task_id).await;
        assert!(!client.ask(&words("Do it.")).await.unwrap().duplicate);
        // What somebody else does in the same words is no twin.
        assert!(!Client::new(&world).await.ask(&words("Do it.")).await.unwrap().duplicate);
    }

    async fn a_key_stands_for_its_run_whatever_became_of_it(db: TestDb) {
        let world = World::new(db).await;
        let client = Client::new(&world).await;
        let keyed = |task: &str| RunTask { idempotency_key: Some("k".to_owned()), ..words(task) };
        let first = client.ask(&keyed("Do it.")).await.unwrap().view.task_id;
        client.cancel(first).await;
        let again = client.ask(&keyed("Do it.")).await.unwrap();
        assert_eq!((again.duplicate, again.view.task_id, again.view.status), (true, first, RunStatus::Cancelled));
        let conflict = refusal(client.ask(&keyed("Do something else.")).await);
        assert_eq!((conflict.code, conflict.active), (RunErrorCode::IdempotencyConflict, Some(first)));
        assert!(!Client::new(&world).await.ask(&keyed("Do it.")).await.unwrap().duplicate);
    }

    async fn a_key_stands_for_what_its_call_found_too(db: TestDb) {
        let world = World::new(db).await;
        let client = Client::new(&world).await;
        let (view, puppet) = client.working("Do it.").await;
        let keyed = |call: RunTask, key: &str| RunTask { idempotency_key: Some(key.to_owned()), ..call };
        // A twin.
        let twin = keyed(words("Do it."), "twin");
        assert_eq!(client.ask(&twin).await.unwrap().duplicate_of, Some(view.task_id));
        // An answer: repeated, it neither answers the next question nor finds the thread busy.
        ask_operator(&puppet).await;
        let answer = keyed(in_thread(view.session_key, "sqlite"), "answer");
        assert!(client.ask(&answer).await.unwrap().answered);
        let again = client.ask(&answer).await.unwrap();
        assert_eq!((again.duplicate, again.answered, again.view.task_id), (true, false, view.task_id));
        let second = ask_operator(&puppet).await;
        assert!(client.ask(&answer).await.unwrap().duplicate);
        assert_eq!(client.get(view.task_id).await.status, RunStatus::NeedsHuman);
        let conflict = refusal(client.ask(&keyed(in_thread(view.session_key, "files"), "answer")).await);
        assert_eq!(conflict.code, RunErrorCode::IdempotencyConflict);
        client.ask(&in_thread(view.session_key, "sqlite")).await.unwrap();
        world.board().clarification_wait(second).await.unwrap();
        puppet.end_turn().await;
        world.run().await;
        let over = client.ask(&twin).await.unwrap();
        assert_eq!((over.duplicate, over.view.task_id), (true, view.task_id));
        assert_eq!((world.count("runs").await, world.count("run_keys").await), (1, 2));
    }

    async fn a_busy_thread_starts_nothing_and_names_what_it_does(db: TestDb) {
        let world = World::new(db).await;
        let client = Client::new(&world).await;
        let (view, puppet) = client.working("Do it.").await;
        for call in [in_thread(view.session_key, "And this."), in_thread(view.session_key, "Do it.")] {
            let busy = refusal(client.ask(&call).await);
            assert_eq!((busy.code, busy.active), (RunErrorCode::SessionBusy, Some(view.task_id)));
        }
        assert_eq!((world.count("runs").await, world.count("queued_messages").await), (1, 0));
        puppet.end_turn().await;
        world.run().await;
        let next = client.ask(&in_thread(view.session_key, "And this.")).await.unwrap().view;
        assert_eq!((next.session_key, next.agent), (view.session_key, view.agent));
        assert_ne!(next.task_id, view.task_id);
        world.run().await;
        assert_eq!(puppet.texts(), ["Do it.", "And this."]);
        // By its thread, a run is the latest.
        let by_thread = RunTarget { session_key: Some(view.session_key.to_string()), ..RunTarget::default() };
        assert_eq!(client.read(&by_thread, Parts::OUTCOME).await.unwrap().task_id, next.task_id);
        assert_eq!(world.count("tasks").await, 1);
    }

    async fn an_operator_at_work_in_the_thread_is_not_interrupted(db: TestDb) {
        let world = World::new(db).await;
        let client = Client::new(&world).await;
        let (view, puppet) = client.done("Do it.").await;
        puppet.operator_says("I have a question.").await;
        let busy = refusal(client.ask(&in_thread(view.session_key, "More.")).await);
        assert_eq!((busy.code, busy.active), (RunErrorCode::SessionBusy, None));
    }

    async fn words_answer_a_question_that_the_run_waits_for(db: TestDb) {
        let world = World::new(db).await;
        let client = Client::new(&world).await;
        let (view, puppet) = client.working("Do it.").await;
        let id = ask_operator(&puppet).await;
        let waits = client.get(view.task_id).await;
        assert_eq!((waits.status, waits.continue_polling), (RunStatus::NeedsHuman, false));
        assert_eq!(waits.pending.unwrap().questions[0].prompt, "Which store?");
        let started = client.ask(&in_thread(view.session_key, "sqlite")).await.unwrap();
        assert!(started.answered);
        assert_eq!((started.view.task_id, started.view.status), (view.task_id, RunStatus::Running));
        let answer = world.board().clarification_wait(id).await.unwrap();
        assert_eq!(answer.pointer("/q1/selected_option/label"), Some(&json!("SQLite")));
        say(&puppet, "Then SQLite.").await;
        puppet.end_turn().await;
        world.run().await;
        assert_eq!(client.get(view.task_id).await.summary.as_deref(), Some("Then SQLite."));
        assert_eq!(world.count("runs").await, 1);
    }

    async fn a_question_left_behind_keeps_its_run_and_an_answer_goes_on_with_it(db: TestDb) {
        let world = World::new(db).await;
        let client = Client::new(&world).await;
        let (view, puppet) = client.working("Do it.").await;
        ask_operator(&puppet).await;
        puppet.end_turn().await;
        world.run().await;
        assert_eq!(client.get(view.task_id).await.status, RunStatus::NeedsHuman);
        let started = client.ask(&in_thread(view.session_key, "Neither, use files.")).await.unwrap();
        assert_eq!((started.view.task_id, started.view.status), (view.task_id, RunStatus::Running));
        world.run().await;
        assert!(puppet.texts()[1].contains("Neither, use files."), "{:?}", puppet.texts());
        assert_eq!(client.get(view.task_id).await.status, RunStatus::Running);
        puppet.end_turn().await;
        world.run().await;
        assert_eq!(client.get(view.task_id).await.status, RunStatus::CompletedNoSummary);
    }

    async fn a_question_that_is_skipped_later_ends_its_run(db: TestDb) {
        let world = World::new(db).await;
        let client = Client::new(&world).await;
        let (view, puppet) = client.working("Do it.").await;
        let id = ask_operator(&puppet).await;
        puppet.end_turn().await;
        world.run().await;
        let skip = ClarificationAnswer { rejected: true, ..ClarificationAnswer::default() };
        world.board().clarification_respond(&Actor::Operator, id, &skip).await.unwrap();
        assert_eq!(client.get(view.task_id).await.status, RunStatus::CompletedNoSummary);
    }

    async fn everything_of_somebody_elses_is_unknown(db: TestDb) {
        let world = World::new(db).await;
        let (mine, other) = (Client::new(&world).await, Client::new(&world).await);
        let (view, _) = mine.done("Do it.").await;
        let by_thread = RunTarget { session_key: Some(view.session_key.to_string()), ..RunTarget::default() };
        let unknown = |what: &RunTarget| {
            let (other, what) = (other.clone(), what.clone());
            async move {
                let read = refusal(other.read(&what, Parts::OUTCOME).await);
                let cancel = refusal(world_cancel(&other, &what).await);
                let key = refusal(other.world.board().run_key(&other.actor, &what).await);
                assert_eq!(read, cancel);
                assert_eq!(read, key);
                read
            }
        };
        let theirs = unknown(&by_id(view.task_id)).await;
        assert_eq!(theirs, unknown(&by_id(RunId::new())).await);
        assert_eq!(theirs, unknown(&RunTarget { task_id: Some("no id".to_owned()), ..RunTarget::default() }).await);
        assert_eq!(theirs, unknown(&by_thread).await);
        assert_eq!(theirs.code, RunErrorCode::NotFound);
        let taken = refusal(other.ask(&in_thread(view.session_key, "Mine now.")).await);
        assert_eq!(taken, refusal(other.ask(&in_thread(SessionId::new(), "Mine now.")).await));
        assert_eq!(taken.code, RunErrorCode::NotFound);
        assert!(other.list(true).await.tasks.is_empty());
        for actor in [Actor::Operator, Actor::System] {
            let outcome = world.board().run_start(&actor, &words("Do it.")).await;
            assert_eq!(refusal(outcome).code, RunErrorCode::Forbidden);
        }
    }

    async fn an_unknown_id_is_not_replaced_by_the_latest_of_its_thread(db: TestDb) {
        let world = World::new(db).await;
        let client = Client::new(&world).await;
        let (view, _) = client.done("Do it.").await;
        let target = RunTarget { session_key: Some(view.session_key.to_string()), ..by_id(RunId::new()) };
        let unknown = refusal(client.read(&target, Parts::OUTCOME).await);
        assert_eq!((unknown.code, unknown.latest), (RunErrorCode::NotFound, Some(view.task_id)));
        let differ = RunTarget { job_id: Some(RunId::new().to_string()), ..by_id(view.task_id) };
        assert_eq!(refusal(client.read(&differ, Parts::OUTCOME).await).code, RunErrorCode::InvalidParams);
        let none = refusal(client.read(&RunTarget::default(), Parts::OUTCOME).await);
        assert_eq!(none.code, RunErrorCode::InvalidParams);
    }

    async fn a_cancel_stops_what_waits_and_what_runs_and_leaves_the_thread(db: TestDb) {
        let world = World::new(db).await;
        let client = Client::new(&world).await;
        let waits = client.ask(&words("Wait.")).await.unwrap().view;
        let view = client.cancel(waits.task_id).await;
        assert_eq!((view.status, view.terminal_reason), (RunStatus::Cancelled, Some(TerminalReason::CancelRequested)));
        world.run().await;
        assert!(client.puppet(waits.session_key).await.texts().is_empty(), "it was sent all the same");

        let (running, puppet) = client.working("Run.").await;
        let told = world.board().events_bounds().await.unwrap().1;
        let cancelled = client.cancel(running.task_id).await;
        // Whoever waits is told although the turn still runs.
        let events = world.board().events_since(&Actor::System, told).await.unwrap();
        let of_run = |event: &domain::event::Event| event.task_id == Some(puppet.task) && domain::run::may_end_by(event.kind);
        assert!(events.iter().any(of_run), "{events:?}");
        assert_eq!(client.cancel(running.task_id).await, cancelled);
        world.run().await;
        puppet.end_turn_if_open().await;
        world.run().await;
        assert_eq!(client.get(running.task_id).await, cancelled);
        let next = client.ask(&in_thread(running.session_key, "Go on.")).await.unwrap().view;
        world.run().await;
        assert_eq!(client.get(next.task_id).await.status, RunStatus::Running);

        let done = client.done("Done.").await.0;
        assert_eq!(client.cancel(done.task_id).await, done);
    }

    async fn operators_see_the_runs_of_all_clients_and_stop_them(db: TestDb) {
        let world = World::new(db).await;
        let (one, other) = (Client::new(&world).await, Client::new(&world).await);
        let (done, _) = one.done("Done.").await;
        let (asks, puppet) = other.working("Ask.").await;
        ask_operator(&puppet).await;
        let (works, _) = one.working("Work.").await;
        let board = world.board();
        let page = async |query: &RunQuery| {
            let page = board.runs_page(&Actor::Operator, query).await.unwrap();
            (page.rows.iter().map(|row| row.id).collect::<Vec<_>>(), page.next_cursor)
        };
        let of = |group| RunQuery { group: Some(group), ..RunQuery::default() };
        let all = RunQuery::default();
        assert_eq!(page(&all).await, (vec![works.task_id, asks.task_id, done.task_id], None));
        assert_eq!(page(&of(RunGroup::Active)).await.0, [works.task_id]);
        assert_eq!(page(&of(RunGroup::NeedsAttention)).await.0, [asks.task_id]);
        assert_eq!(page(&of(RunGroup::Completed)).await.0, [done.task_id]);
        assert_eq!(page(&of(RunGroup::Failed)).await, (vec![], None));
        for query in [all.clone(), of(RunGroup::Active)] {
            let first = page(&RunQuery { limit: Some(1), ..query.clone() }).await;
            assert_eq!(first.0, [works.task_id]);
            let rest = page(&RunQuery { cursor: first.1, ..query.clone() }).await;
            assert_eq!([first.0, rest.0].concat(), page(&query).await.0);
        }
        assert_eq!(page(&RunQuery { text: Some(" CLIENT ".to_owned()), ..all.clone() }).await.0.len(), 3);
        assert_eq!(page(&RunQuery { text: Some("nobody".to_owned()), ..all.clone() }).await.0.len(), 0);
        let mine = board.runs_page(&one.actor, &all).await.unwrap_err();
        assert_eq!(mine.code(), ErrorCode::Forbidden);

        let key = board.run_key(&other.actor, &by_id(asks.task_id)).await.unwrap();
        board.run_polled(key).await.unwrap();
        let shown = board.run_show(&Actor::Operator, asks.task_id).await.unwrap();
        assert_eq!((shown.row.status, shown.row.client.as_deref(), shown.row.poll_count), (RunStatus::NeedsHuman, Some("client"), 1));
        assert!(shown.row.last_polled_at.is_some() && shown.row.title.is_some());
        assert!(!shown.timeline.is_empty());
        let unknown = board.run_show(&Actor::Operator, RunId::new()).await.unwrap_err();
        assert_eq!(unknown.code(), ErrorCode::NotFound);

        let stopped = board.run_cancel(&Actor::Operator, &by_id(works.task_id)).await.unwrap();
        assert_eq!((stopped.status, stopped.terminal_reason), (RunStatus::Cancelled, Some(TerminalReason::Stopped)));
        assert_eq!(one.get(works.task_id).await, stopped);
        assert_eq!(refusal(board.run_cancel(&Actor::Operator, &by_id(RunId::new())).await).code, RunErrorCode::NotFound);
    }

    async fn what_is_told_of_calls_is_kept_for_operators(db: TestDb) {
        let world = World::new(db).await;
        let client = Client::new(&world).await;
        let (view, _) = client.working("Do it.").await;
        let call = |poll| RunCall {
            id: CallId::new(),
            run_id: view.task_id,
            tool: RunTool::Check,
            client: ClientKind::Codex,
            status: Some(RunStatus::Running),
            outcome: CallOutcome::TimedOut,
            error: None,
            poll: Some(poll),
            requested_wait_ms: None,
            waited_ms: Some(45_000),
            duration_ms: 45_001,
            bytes: 300,
            duplicate: false,
            first_retrieval: false,
            ended_at: Timestamp::from_millis(1),
        };
        let calls: Vec<RunCall> = (1..KEPT_CALLS + 3).map(call).collect();
        let mut told = world.board().signals().subscribe(Topic::Runs);
        world.board().run_calls_note(&calls).await.unwrap();
        assert!(told.has_changed().unwrap());
        told.mark_unchanged();
        let shown = world.board().run_show(&Actor::Operator, view.task_id).await.unwrap().calls;
        assert_eq!((shown.len(), &shown[0]), (20, calls.last().unwrap()));
        assert_eq!(world.count("run_calls").await, KEPT_CALLS);
    }

    async fn a_cancelled_question_is_asked_no_more(db: TestDb) {
        let world = World::new(db).await;
        let client = Client::new(&world).await;
        let (view, puppet) = client.working("Do it.").await;
        ask_operator(&puppet).await;
        puppet.end_turn().await;
        world.run().await;
        client.cancel(view.task_id).await;
        assert!(!puppet.card().await.needs_operator);
        let next = client.ask(&in_thread(view.session_key, "Something else.")).await.unwrap();
        assert!(!next.answered);
    }

    async fn what_fails_says_so_and_its_thread_can_be_gone_on_with(db: TestDb) {
        let world = World::new(db).await;
        let client = Client::new(&world).await;
        let (view, puppet) = client.working("Do it.").await;
        puppet.end_turn_with(TurnOutcome::Failed("401 Unauthorized".to_owned())).await;
        world.run().await;
        let failed = client.get(view.task_id).await;
        assert_eq!((failed.status, failed.is_error, failed.error.as_deref()), (RunStatus::Error, true, Some("401 Unauthorized")));
        assert_eq!(json!(failed.error_info)["category"], json!(ErrorCategory::Auth));

        // The agent of another cannot be started: its prompt stays, and must not go before the next one.
        let call = words("Start.");
        let first = client.ask(&call).await.unwrap().view;
        let puppet = client.puppet(first.session_key).await;
        world.node().break_agent(first.session_key);
        world.run().await;
        let failed = client.get(first.task_id).await;
        assert_eq!((failed.status, failed.terminal_reason), (RunStatus::Error, Some(TerminalReason::AgentFailed)));
        assert_eq!(json!(failed.error_info)["category"], json!(ErrorCategory::Tooling));
        world.node().mend_agent(first.session_key);
        client.ask(&in_thread(first.session_key, "Start again.")).await.unwrap();
        world.run().await;
        assert_eq!(puppet.texts(), ["Start again."]);
    }

    async fn a_restart_ends_what_ran_and_loses_nothing_else(db: TestDb) {
        let world = World::new(db).await;
        let client = Client::new(&world).await;
        let (running, _) = client.working("Run.").await;
        let (asking, puppet) = client.working("Ask.").await;
        ask_operator(&puppet).await;
        puppet.end_turn().await;
        world.run().await;
        let (done, _) = client.done("Done.").await;
        let waiting = client.ask(&words("Wait.")).await.unwrap().view;
        world.restart().await;
        world.run().await;
        let now = async |id| client.get(id).await.status;
        let interrupted = client.get(running.task_id).await;
        assert_eq!((interrupted.status, interrupted.terminal_reason), (RunStatus::Error, Some(TerminalReason::Interrupted)));
        assert_eq!(now(asking.task_id).await, RunStatus::NeedsHuman);
        assert_eq!(now(waiting.task_id).await, RunStatus::Running);
        assert_eq!(client.get(done.task_id).await, done);
        world.assert_heard_once();
    }

    async fn what_is_done_on_the_board_ends_a_run(db: TestDb) {
        let world = World::new(db).await;
        let client = Client::new(&world).await;
        let board = world.board();
        let ended = async |id: RunId| {
            let view = client.get(id).await;
            (view.status, view.terminal_reason.unwrap())
        };
        let (run, puppet) = client.working("Delete.").await;
        board.task_delete(&Actor::Operator, puppet.task).await.unwrap();
        assert_eq!(ended(run.task_id).await, (RunStatus::Cancelled, TerminalReason::Deleted));
        let (run, puppet) = client.working("Archive.").await;
        board.task_archive(&Actor::Operator, puppet.task).await.unwrap();
        assert_eq!(ended(run.task_id).await, (RunStatus::Cancelled, TerminalReason::Stopped));
        assert_eq!(refusal(client.ask(&in_thread(run.session_key, "More.")).await).code, RunErrorCode::SessionClosed);
        let (run, puppet) = client.working("Stop.").await;
        board.session_stop(&Actor::Operator, puppet.session).await.unwrap();
        assert_eq!(ended(run.task_id).await, (RunStatus::Cancelled, TerminalReason::Stopped));
        let waits = client.ask(&words("Remove.")).await.unwrap().view;
        let queue = board.queue_get(&Actor::Operator, waits.session_key).await.unwrap();
        board.prompt_remove(&Actor::Operator, queue.entries[0].id).await.unwrap();
        assert_eq!(ended(waits.task_id).await, (RunStatus::Cancelled, TerminalReason::Withdrawn));
        let (run, puppet) = client.working("Session.").await;
        board.session_delete(&Actor::Operator, puppet.session).await.unwrap();
        assert_eq!(ended(run.task_id).await.0, RunStatus::Cancelled);
        // An operator cancels the turn.
        let (run, puppet) = client.working("Cancel.").await;
        board.session_cancel(&Actor::Operator, puppet.session).await.unwrap();
        world.run().await;
        puppet.end_turn_if_open().await;
        world.run().await;
        assert!(client.get(run.task_id).await.status.is_final());
    }

    async fn a_run_waits_for_a_place_like_every_card(db: TestDb) {
        let world = World::new(db).await;
        let client = Client::new(&world).await;
        let limit = UpdateStep { wip_limit: Some(1), ..UpdateStep::default() };
        world.board().step_update(&Actor::Operator, world.step("In Progress"), limit).await.unwrap();
        let (first, puppet) = client.working("First.").await;
        let second = client.ask(&words("Second.")).await.unwrap().view;
        world.run().await;
        let waits = client.get(second.task_id).await;
        assert_eq!((waits.status, waits.phase), (RunStatus::Queued, "waiting_for_place"));
        puppet.end_turn().await;
        world.run().await;
        assert!(client.get(first.task_id).await.is_terminal);
        assert_eq!(client.get(second.task_id).await.status, RunStatus::Running);
    }

    async fn lists_show_executions_and_page_them(db: TestDb) {
        let world = World::new(db).await;
        let client = Client::new(&world).await;
        let (first, _) = client.done("First.").await;
        let second = client.ask(&in_thread(first.session_key, "Second.")).await.unwrap().view;
        let third = client.ask(&words("Third.")).await.unwrap().view;
        let ids = |list: &board::RunList| -> Vec<String> {
            list.tasks.iter().map(|row| json!(row)["taskId"].as_str().unwrap().to_owned()).collect()
        };
        let active = client.list(false).await;
        assert_eq!(ids(&active), [third.task_id.to_string(), second.task_id.to_string()]);
        let all = client.list(true).await;
        assert_eq!(all.tasks.len(), 3);
        assert_eq!((all.counts[&RunStatus::Queued], all.counts[&RunStatus::Completed]), (2, 1));
        // A row and a read of it agree.
        let row = json!(all.tasks[2]);
        let read = json!(client.get(first.task_id).await);
        for field in ["taskId", "status", "group", "phase", "elapsedSeconds", "summary", "nextAction", "completedAt", "pollCount"] {
            assert_eq!(row[field], read[field], "{field}");
        }
        let page = async |cursor: Option<RunId>| {
            let params = ListRuns { all: true, limit: Some(2), cursor: cursor.map(|id| id.to_string()), ..ListRuns::default() };
            world.board().run_list(&client.actor, &params).await.unwrap()
        };
        let one = page(None).await;
        assert_eq!((one.tasks.len(), one.next_cursor), (2, Some(second.task_id)));
        let two = page(one.next_cursor).await;
        assert_eq!((ids(&two), two.next_cursor), (vec![first.task_id.to_string()], None));
        let in_thread = ListRuns { all: true, session_key: Some(first.session_key.to_string()), ..ListRuns::default() };
        assert_eq!(world.board().run_list(&client.actor, &in_thread).await.unwrap().tasks.len(), 2);
    }

    async fn an_agent_is_chosen_by_its_slug(db: TestDb) {
        let world = World::new(db).await;
        let client = Client::new(&world).await;
        assert_eq!(world.board().run_agents().await.unwrap(), ["puppet"]);
        let named = RunTask { agent: Some("puppet".to_owned()), ..words("Do it.") };
        let view = client.ask(&named).await.unwrap().view;
        let unknown = RunTask { agent: Some("nobody".to_owned()), ..words("Do it.") };
        let refused = refusal(client.ask(&unknown).await);
        assert_eq!((refused.code, refused.field), (RunErrorCode::InvalidParams, Some("agent")));
        assert!(refused.message.contains("puppet"), "{}", refused.message);
        let other = RunTask { agent: Some("other".to_owned()), ..in_thread(view.session_key, "More.") };
        assert_eq!(refusal(client.ask(&other).await).field, Some("agent"));
        assert_eq!(world.count("runs").await, 1);
    }

    async fn a_run_that_nobody_answers_is_given_up(db: TestDb) {
        let world = World::new(db).await;
        let client = Client::new(&world).await;
        let (asks, puppet) = client.working("Ask.").await;
        ask_operator(&puppet).await;
        let (works, _) = client.working("Work.").await;
        world.clock.advance(7 * 24 * 60 * 60 * 1_000);
        assert_eq!(world.board().runs_tidy().await.unwrap(), 0);
        world.clock.advance(1);
        assert_eq!(world.board().runs_tidy().await.unwrap(), 1);
        let view = client.get(asks.task_id).await;
        assert_eq!((view.status, view.terminal_reason), (RunStatus::Error, Some(TerminalReason::Expired)));
        assert_eq!(json!(view.error_info)["category"], json!(ErrorCategory::Timeout));
        assert_eq!(client.get(works.task_id).await.status, RunStatus::Running);
    }

    async fn old_runs_are_forgotten(db: TestDb) {
        let world = World::new(db).await;
        let client = Client::new(&world).await;
        let (done, _) = client.done("Done.").await;
        let (live, _) = client.working("Live.").await;
        assert_eq!(world.board().runs_tidy().await.unwrap(), 0);
        world.clock.advance(8 * 24 * 60 * 60 * 1_000);
        assert_eq!(world.board().runs_tidy().await.unwrap(), 1);
        let gone = refusal(client.read(&by_id(done.task_id), Parts::OUTCOME).await);
        assert_eq!(gone.code, RunErrorCode::NotFound);
        assert!(!client.get(live.task_id).await.is_terminal);
    }
}

async fn world_cancel(client: &Client, target: &RunTarget) -> RunResult<RunView> {
    client.world.board().run_cancel(&client.actor, target).await
}
