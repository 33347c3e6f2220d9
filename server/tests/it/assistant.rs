//! The assistant over a real board, with a stand-in for the models that speaks their wire.

use crate::process::{Data, Server, text};
use assistant::provider::Kind;
use assistant::testing::{Asked, ModelServer, Say};
use assistant::{Chain, Settings as Models};
use board::{Actor, Board, Canceller, Claim, Clock, Held, TalkPart, Viewer};
use domain::job::effects::ConsentState;
use domain::job::intake::Intake;
use domain::job::{Answer, ErrorClass, Job, JobEventType, JobKey, TargetKind};
use domain::params::{CreateAgent, CreateTask, ListTasks};
use domain::time::Timestamp;
use domain::view::TaskView;
use serde_json::{Value, json};
use server::assistant::{Answers, JobToolbox, confirm, finish_agreed};
use std::collections::BTreeMap;
use std::time::Duration;
use store::testing::TestDb;
use tokio_util::sync::CancellationToken;

const WORKER: &str = "worker-of-the-test";

/// A board with a workspace, and time that stands still.
struct World {
    board: Board,
    clock: Clock,
    // Below the board, so that it goes last.
    _db: TestDb,
}

impl World {
    async fn new(db: TestDb) -> Self {
        let clock = Clock::stepped(Timestamp::from_millis(1_800_000_000_000));
        let board = Board::new(db.store.clone(), clock.clone(), board::Settings::default());
        board.ensure_workspace().await.unwrap();
        let agent = CreateAgent {
            name: "Hand".to_owned(),
            command: "hand".to_owned(),
            args: Vec::new(),
            env: BTreeMap::new(),
        };
        board.agent_create(&Actor::Operator, agent).await.unwrap();
        Self {
            board,
            clock,
            _db: db,
        }
    }

    /// A message of a user, taken on by this test.
    async fn job_of(&self, user: &str, message: &str) -> Job {
        let intake = Intake::direct_message(TargetKind::InApp, "in_app", user, message).unwrap();
        let accepted = self.board.job_enqueue(intake, Ok(())).await.unwrap();
        self.claim(accepted.job_id).await
    }

    async fn claim(&self, id: domain::job::JobId) -> Job {
        match self.board.job_claim(id, None, WORKER).await.unwrap() {
            Claim::Taken(job) => *job,
            Claim::Skipped(reason) => panic!("the job is not to be had: {reason}"),
        }
    }

    fn answers(&self, model: &ModelServer) -> Answers {
        let chain = Chain::new(&Models {
            endpoints: vec![model.endpoint(Kind::OpenAi, Duration::from_secs(20))],
            ..Models::default()
        })
        .unwrap();
        Answers::new(self.board.clone(), chain)
    }

    /// One message from its arrival to its end.
    async fn turn(&self, model: &ModelServer, user: &str, message: &str) -> Answer {
        let mut job = self.job_of(user, message).await;
        let answer = self
            .answers(model)
            .answer(&job, &CancellationToken::new())
            .await
            .unwrap();
        let held = self.board.job_generated(&mut job, answer).await.unwrap();
        assert_eq!(held, Held::Yes);
        let pieces = self.board.job_pieces(&job).await.unwrap();
        for (place, piece) in pieces.iter().enumerate() {
            let last = place + 1 == pieces.len();
            let held = self
                .board
                .job_piece_delivered(&job, piece, "p", last)
                .await
                .unwrap();
            assert_eq!(held, Held::Yes);
        }
        job.answer.expect("it is stored")
    }

    /// A job whose answer previewed a task, and the preview.
    async fn previewed(&self, title: &str) -> (JobKey, i64) {
        self.previewed_with(json!({"title": title})).await
    }

    async fn previewed_with(&self, arguments: Value) -> (JobKey, i64) {
        let previewing = model("preview_task", arguments, "Shall I?").await;
        let answer = self.turn(&previewing, "u", "Create something").await;
        let id = answer.pending_confirmation.unwrap().id.unwrap();
        let newest = self.board.job_talk("u", "in_app", TalkPart::Newest).await;
        (
            JobKey::Id(newest.unwrap().turns.last().unwrap().job.id.0),
            id,
        )
    }

    async fn titles(&self) -> Vec<String> {
        self.tasks()
            .await
            .into_iter()
            .map(|task| task.title)
            .collect()
    }

    async fn tasks(&self) -> Vec<TaskView> {
        self.board
            .task_list(&Actor::Operator, &ListTasks::default())
            .await
            .unwrap()
    }
}

/// Calls this tool, and then says this.
async fn model(tool: &'static str, arguments: Value, words: &'static str) -> ModelServer {
    ModelServer::start(move |asked: &Asked| match asked.is_after_tool() {
        false => Say::call(tool, arguments.clone()),
        true => Say::text(words),
    })
    .await
}

store::on_both_engines! {
    async fn a_request_makes_a_task_and_the_answer_says_so(db: TestDb) {
        let world = World::new(db).await;
        let model = model("create_task", json!({"title": "Fix the login", "priority": "high"}), "Created.").await;
        let answer = world.turn(&model, "u", "Create a task for the login bug").await;
        assert_eq!(answer.text, "Created.");
        assert_eq!(answer.tools_used, ["create_task"]);
        assert!(!answer.action_not_performed);
        assert_eq!(answer.usage.provider.as_deref(), Some("openai"));
        assert_eq!(answer.usage.model_turns, 2);
        let tasks = world.tasks().await;
        assert_eq!(tasks.len(), 1);
        assert_eq!(tasks[0].title, "Fix the login");
        assert_eq!(model.asked()[0].tools().len(), server::assistant::catalogue().len());
    }

    async fn a_claim_without_a_task_is_not_believed(db: TestDb) {
        let world = World::new(db).await;
        let model = ModelServer::start(|_| Say::text("I have created it.")).await;
        let answer = world.turn(&model, "u", "Create a task for the login bug").await;
        assert!(answer.action_not_performed && !answer.text.contains("I have created"), "{}", answer.text);
        assert_eq!(answer.usage.guard_retries, 1);
        assert!(world.tasks().await.is_empty());
    }

    /// A run that dies after its tool is followed by another; what acted does not act again.
    async fn a_second_run_of_a_job_does_not_act_again(db: TestDb) {
        let world = World::new(db).await;
        let arguments = json!({"title": "Only once"});
        let job = world.job_of("u", "Create it").await;
        let first = model("create_task", arguments.clone(), "Created.").await;
        world.answers(&first).answer(&job, &CancellationToken::new()).await.unwrap();
        let second = model("create_task", arguments, "Created, as I said.").await;
        let answer = world.answers(&second).answer(&job, &CancellationToken::new()).await.unwrap();
        assert_eq!(answer.text, "Created, as I said.");
        assert_eq!(world.tasks().await.len(), 1);
        assert!(second.asked()[1].words().contains("Only once"), "the stored result is told");
    }

    async fn what_was_begun_and_not_noted_is_looked_up_or_said_to_be_unknown(db: TestDb) {
        let world = World::new(db).await;
        // The process died between the ledger and the act, or between the act and the ledger: nobody knows which.
        let job = world.job_of("u", "Create it").await;
        let arguments = json!({"title": "Perhaps"});
        world.board.job_tool_begin(&job, "create_task", &arguments).await.unwrap();
        let creating = model("create_task", arguments, "Created.").await;
        let answer = world.answers(&creating).answer(&job, &CancellationToken::new()).await.unwrap();
        assert_eq!(answer.text, "Created.", "a task has a key of its own, so it is made once in any case");
        assert_eq!(world.tasks().await.len(), 1);
        // Whether a preview was used up by this call or by another one the board cannot say.
        let arguments = json!({"title": "Shown before"});
        world.board.job_tool_begin(&job, "confirm_task", &arguments).await.unwrap();
        let confirming = model("confirm_task", arguments, "Done.").await;
        let answer = world.answers(&confirming).answer(&job, &CancellationToken::new()).await.unwrap();
        assert!(answer.action_not_performed && answer.text.contains("cannot tell"), "{}", answer.text);
        assert!(confirming.asked()[1].words().contains("may have happened"));
    }

    async fn a_preview_becomes_a_task_by_the_users_next_message_and_only_once(db: TestDb) {
        let world = World::new(db).await;
        let arguments = json!({"title": "Weekly report"});
        let previewing = model("preview_task", arguments.clone(), "Shall I create it?").await;
        let answer = world.turn(&previewing, "u", "Create something for the report").await;
        let pending = answer.pending_confirmation.expect("it waits for consent");
        assert!(pending.id.is_some());
        assert_eq!(pending.confirmation_tool.as_deref(), Some("confirm_task"));
        assert!(pending.summary.is_some_and(|summary| summary.contains("Weekly report")));
        assert!(world.tasks().await.is_empty(), "nothing exists yet");

        let confirming = model("confirm_task", arguments.clone(), "It is created.").await;
        let strangers = world.turn(&confirming, "v", "yes, create it").await;
        assert!(strangers.action_not_performed, "{}", strangers.text);
        assert!(world.tasks().await.is_empty());

        let confirming = model("confirm_task", arguments.clone(), "It is created.").await;
        let answer = world.turn(&confirming, "u", "yes").await;
        assert_eq!(answer.text, "It is created.");
        assert!(confirming.asked()[0].words().contains("confirm_task"), "the model is told what waits");
        assert_eq!(world.tasks().await.len(), 1);

        let confirming = model("confirm_task", arguments, "It is created again.").await;
        let answer = world.turn(&confirming, "u", "create it again").await;
        assert!(answer.action_not_performed, "{}", answer.text);
        assert_eq!(world.tasks().await.len(), 1);
    }

    async fn a_preview_that_has_expired_is_not_carried_out(db: TestDb) {
        let world = World::new(db).await;
        let arguments = json!({"title": "Weekly report"});
        let previewing = model("preview_task", arguments.clone(), "Shall I?").await;
        world.turn(&previewing, "u", "Create something").await;
        world.clock.advance(domain::job::effects::CONFIRMATION_MS);
        let confirming = model("confirm_task", arguments, "It is created.").await;
        let answer = world.turn(&confirming, "u", "yes, create it").await;
        assert!(answer.action_not_performed && answer.text.contains("expired"), "{}", answer.text);
        assert!(world.tasks().await.is_empty());
    }

    async fn a_button_carries_out_what_was_shown_once(db: TestDb) {
        let world = World::new(db).await;
        let (job, id) = world.previewed("By a button").await;
        let (other, others) = world.previewed("Another").await;
        let press = async |job: &JobKey, id: i64| confirm(&world.board, job, Some(id), Canceller::Operator).await;
        assert!(press(&other, id).await.is_err() && press(&job, others).await.is_err(), "of another job");
        let (one, two) = tokio::join!(press(&job, id), press(&job, id));
        assert!(one.is_ok() != two.is_ok(), "two presses at once: {one:?} {two:?}");
        let made = one.or(two).unwrap();
        assert_eq!((made.state, &made.result.unwrap()["title"]), (ConsentState::Confirmed, &json!("By a button")));
        assert!(press(&job, id).await.unwrap_err().to_string().contains("already"), "a third press");
        assert_eq!(world.tasks().await.len(), 1);
    }

    /// The process dies after the press was kept and before, or after, it was carried out: nobody knows which.
    async fn a_press_that_a_crash_interrupts_is_carried_out_by_the_next_press_or_the_next_start(db: TestDb) {
        let world = World::new(db).await;
        let (pressed, _) = world.previewed("Pressed again").await;
        let (waiting, _) = world.previewed("Left to the start").await;
        for job in [&pressed, &waiting] {
            world.board.consent_agree(job, None).await.unwrap();
        }
        world.clock.advance(domain::job::effects::CONFIRMATION_MS);
        confirm(&world.board, &pressed, None, Canceller::Operator).await.unwrap();
        assert_eq!(world.titles().await, ["Pressed again"]);
        finish_agreed(&world.board).await;
        finish_agreed(&world.board).await;
        assert_eq!(world.titles().await, ["Pressed again", "Left to the start"]);
        // It was carried out, and only that was not noted.
        let (noted, _) = world.previewed("Carried out").await;
        let agreed = world.board.consent_agree(&noted, None).await.unwrap();
        let params = CreateTask { title: "Carried out".to_owned(), external_id: Some(agreed.key()), ..CreateTask::default() };
        world.board.task_create(&Actor::Operator, params).await.unwrap();
        finish_agreed(&world.board).await;
        assert_eq!(world.titles().await, ["Pressed again", "Left to the start", "Carried out"]);
        assert!(confirm(&world.board, &noted, None, Canceller::Operator).await.is_err(), "it has its end");
    }

    async fn what_cannot_be_carried_out_says_why_and_can_be_agreed_to_again(db: TestDb) {
        let world = World::new(db).await;
        let parent = CreateTask { title: "Parent".to_owned(), ..CreateTask::default() };
        let parent = world.board.task_create(&Actor::Operator, parent).await.unwrap().task.id;
        let (job, _) = world.previewed_with(json!({"title": "Part", "parent_id": parent})).await;
        world.board.task_delete(&Actor::Operator, parent).await.unwrap();
        for _ in 0..2 {
            let error = confirm(&world.board, &job, None, Canceller::Operator).await.unwrap_err();
            assert!(!error.to_string().contains("already"), "{error}");
        }
        assert!(world.tasks().await.is_empty());
        world.board.consent_decline(&job, None, Canceller::Operator).await.unwrap();
    }

    /// What the app's own conversation said before is known here, and a quick second message knows the answer to the first.
    async fn a_message_in_the_app_comes_with_what_was_said_before_it(db: TestDb) {
        let world = World::new(db).await;
        let model = ModelServer::start(|_| Say::text("Noted.")).await;
        let [first, second] = ["My name is Ada.", "What is my name?"].map(|text| {
            Intake::direct_message(TargetKind::InApp, "in_app", "u", text).unwrap()
        });
        let first = world.board.job_enqueue(first, Ok(())).await.unwrap();
        let second = world.board.job_enqueue(second, Ok(())).await.unwrap();
        for (accepted, known) in [(&first, 0), (&second, 2)] {
            let mut job = world.claim(accepted.job_id).await;
            let answer = world.answers(&model).answer(&job, &CancellationToken::new()).await.unwrap();
            let asked = model.asked().pop().unwrap();
            for words in ["My name is Ada.", "Noted."].iter().take(known) {
                assert!(asked.words().contains(words), "{}", asked.words());
            }
            assert_eq!(world.board.job_said_before(&job).await.unwrap().len(), known);
            assert_eq!(world.board.job_generated(&mut job, answer).await.unwrap(), Held::Yes);
            for piece in world.board.job_pieces(&job).await.unwrap() {
                assert_eq!(world.board.job_piece_delivered(&job, &piece, "p", true).await.unwrap(), Held::Yes);
            }
        }
        let talk = world.board.job_talk("u", "in_app", TalkPart::Newest).await.unwrap();
        assert_eq!(talk.turns.iter().map(|turn| turn.job.id).collect::<Vec<_>>(), [first.job_id, second.job_id]);
        assert!(!talk.has_earlier);
    }

    async fn a_conversation_is_read_in_pages_and_from_a_turn_on(db: TestDb) {
        let world = World::new(db).await;
        let say = async |n: usize| {
            let intake = Intake::direct_message(TargetKind::InApp, "in_app", "u", &format!("Message {n}")).unwrap();
            world.board.job_enqueue(intake, Ok(())).await.unwrap().job_id
        };
        let mut ids = Vec::new();
        for n in 0..25 {
            ids.push(say(n).await);
        }
        let read = async |part| {
            let talk = world.board.job_talk("u", "in_app", part).await.unwrap();
            (talk.turns.iter().map(|turn| turn.job.id).collect::<Vec<_>>(), talk.has_earlier)
        };
        assert_eq!(read(TalkPart::Newest).await, (ids[5..].to_vec(), true));
        assert_eq!(read(TalkPart::Before(ids[5])).await, (ids[..5].to_vec(), false));
        assert_eq!(read(TalkPart::From(ids[23])).await, (ids[23..].to_vec(), false));
        let talk = world.board.job_talk("u", "in_app", TalkPart::Newest).await.unwrap();
        let types: Vec<_> = talk.turns[0].events.iter().map(|event| event.event_type.as_str()).collect();
        assert_eq!(types, ["job.queued", "job.enqueued"]);
        assert!(world.board.job_talk("v", "in_app", TalkPart::Newest).await.unwrap().turns.is_empty());
    }

    async fn a_tool_stands_on_the_timeline_while_it_runs(db: TestDb) {
        let world = World::new(db).await;
        let looking = model("list_workflows", json!({}), "There is one.").await;
        world.turn(&looking, "u", "Which boards are there?").await;
        let timeline = world.board.job_timeline(&JobKey::Id(1), Viewer::Operator, 0, None).await.unwrap();
        let called: Vec<_> = timeline.events.iter().filter(|event| event.event_type == JobEventType::ToolCalled).collect();
        assert_eq!(called.len(), 1);
        assert_eq!(called[0].metadata_json, Some(json!({"tool": "list_workflows"})));
    }

    async fn every_tool_does_what_it_says(db: TestDb) {
        use assistant::{CallContext, Effect, Ending, Toolbox};
        let world = World::new(db).await;
        let job = world.job_of("u", "do all of it").await;
        let toolbox = JobToolbox::new(&world.board, &job);
        let call = async |name: &str, arguments: Value| {
            let context = CallContext {
                job: "j".to_owned(),
                seq: 1,
                arguments_hash: String::new(),
                idempotency_key: "k".to_owned(),
                effect: Effect::Read,
            };
            toolbox.call(context, name, arguments.as_object().cloned().unwrap()).await
        };
        let done = async |name: &str, arguments: Value| {
            let answer = call(name, arguments).await;
            assert_eq!(answer.ending, Ending::Done, "{name}: {}", answer.value);
            answer.value
        };
        let boards = done("list_workflows", json!({})).await;
        let workflow = &boards[0]["workflows"][0];
        let last = workflow["steps"].as_array().unwrap().last().unwrap().clone();
        let task = done("create_task", json!({"title": "One", "workflow_id": workflow["id"]})).await;
        let listed = done("list_tasks", json!({"workflow_id": workflow["id"]})).await;
        assert_eq!(listed[0]["id"], task["id"]);
        let moved = done("move_task", json!({"task_id": task["id"], "workflow_step_id": last["id"]})).await;
        assert_eq!(moved["step"], last["name"]);
        let got = done("get_task", json!({"task_id": task["id"]})).await;
        assert_eq!(got["task"]["workflow_step_id"], last["id"]);
        assert_eq!(done("stop_task", json!({"task_id": task["id"]})).await["status"], "not_running");
        assert!(done("list_agents", json!({})).await.is_array());
        for (name, arguments) in [
            ("get_task", json!({"task_id": "no id"})),
            ("get_task", json!({"task_id": "01890000-0000-7000-8000-000000000000"})),
            ("create_task", json!({})),
            ("create_task", json!({"title": "x".repeat(100)})),
            ("preview_task", json!({"title": "x", "parent_id": "01890000-0000-7000-8000-000000000000"})),
            ("move_task", json!({"task_id": task["id"], "workflow_step_id": "01890000-0000-7000-8000-000000000000"})),
            ("confirm_task", json!({"title": "never shown"})),
            ("fly", json!({})),
        ] {
            let answer = call(name, arguments.clone()).await;
            assert_eq!(answer.ending, Ending::Failed, "{name} {arguments}");
            assert!(answer.value.is_string());
        }
        assert_eq!(world.tasks().await.len(), 1);
    }

    async fn a_provider_that_fails_is_told_to_the_engine_in_its_class(db: TestDb) {
        let world = World::new(db).await;
        let busy = ModelServer::start(|_| Say::Status(429, vec![("retry-after", "7".to_owned())], String::new())).await;
        let job = world.job_of("u", "hello").await;
        let failure = world.answers(&busy).answer(&job, &CancellationToken::new()).await.unwrap_err();
        assert_eq!((failure.class, failure.retry_after_ms), (ErrorClass::TransientTransport, Some(7000)));
        let none = Answers::new(world.board.clone(), Chain::default());
        let failure = none.answer(&job, &CancellationToken::new()).await.unwrap_err();
        assert_eq!(failure.class, ErrorClass::Config);
    }

    /// An operator with nothing but a model runs the board: server, agent process and model are real processes and sockets.
    async fn with_only_a_model_an_agent_works_on_the_board(db: TestDb) {
        let model = ModelServer::start(|asked: &Asked| match (asked.is_after_tool(), asked.words().contains("Say hello")) {
            (true, _) => Say::text("The card is there."),
            (false, true) => Say::text("Hello, as before."),
            (false, false) => Say::call("create_task_kandev", json!({"title": "Made by the assistant", "start_agent": false})),
        })
        .await;
        let base = model.base_url(Kind::OpenAi);
        let data = Data::new(db);
        let settings = [("OPENAI_BASE_URL", base.as_str()), ("OPENAI_MODEL", "stand-in"), ("AI_PROVIDER_CHAIN", "openai")];
        let server = Server::start_with(&data, &settings).await;
        let agents = server.get("/agents").await;
        let agent = agents["agents"].as_array().unwrap().iter().find(|agent| agent["name"] == "Assistant").cloned();
        let profile = text(&agent.expect("it is offered")["profiles"][0]["id"]);
        let body = json!({"title": "Plan", "description": "Create a card for the report", "agent_profile_id": profile});
        let task = text(&server.post("/tasks", body).await["id"]);
        server.until_session(&task, "WAITING_FOR_INPUT").await;
        let made = server.tasks().await.into_iter().any(|one| one["title"] == "Made by the assistant");
        assert!(made, "{:?}", server.tasks().await);
        let said = async |server: &Server, words: &str| {
            server.transcript(&task).await.iter().any(|one| one["author_type"] == "agent" && one["content"] == words)
        };
        assert!(said(&server, "The card is there.").await, "{:?}", server.transcript(&task).await);
        assert!(model.asked()[0].words().contains("prompt_id"), "hidden context reaches the model");

        // After a crash of all of it the conversation goes on where it was.
        server.kill().await;
        let server = Server::start_with(&data, &settings).await;
        server.post(&format!("/tasks/{task}/messages"), json!({"content": "Say hello"})).await;
        server.until("the answer", async |server| said(server, "Hello, as before.").await.then_some(())).await;
        let last = model.asked().pop().unwrap();
        assert!(last.words().contains("Create a card for the report"), "the model sees what was said before");
        let seen = std::fs::read_to_string(data.path().join("assistant-agent/prompts.log")).unwrap();
        assert_eq!(seen.lines().count(), 2, "no prompt was given twice");
    }
}
