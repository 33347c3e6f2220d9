//! The workflow engine through its doors: dependencies, limits, moves and their options, steps.

use crate::support::agent::Agent;
use crate::support::client::Client;
use crate::support::{TestApp, id};
use domain::ids::TaskId;
use serde_json::{Value, json};

/// The steps of the board's workflow by name, and its id.
pub(crate) struct Steps {
    pub(crate) workflow: Value,
    steps: Vec<Value>,
}

impl Steps {
    pub(crate) async fn of(app: &TestApp) -> Self {
        let workspaces = app.get("/workspaces").await.json;
        let workspace = workspaces["workspaces"][0]["id"]
            .as_str()
            .unwrap()
            .to_owned();
        let workflows = app
            .get(&format!("/workspaces/{workspace}/workflows"))
            .await
            .json;
        let workflow = workflows["workflows"][0].clone();
        let steps = workflow["steps"].as_array().unwrap().clone();
        Self {
            workflow: workflow["id"].clone(),
            steps,
        }
    }

    pub(crate) fn id(&self, name: &str) -> Value {
        let step = self.steps.iter().find(|step| step["name"] == name);
        step.unwrap()["id"].clone()
    }

    pub(crate) async fn change(&self, app: &TestApp, name: &str, body: Value) -> Value {
        let path = format!("/workflow/steps/{}", self.id(name).as_str().unwrap());
        let reply = app.patch(&path, body).await;
        assert_eq!(reply.status, 200, "{}", reply.json);
        reply.json
    }
}

async fn resting(app: &TestApp, title: &str) -> TaskId {
    id(&app.task(json!({"title": title})).await["id"])
}

async fn agent(app: &TestApp) -> (Agent, Client) {
    let agent = Agent::launch(app, app.started_task("Worker").await).await;
    let client = agent.connect(app).await;
    (agent, client)
}

store::on_both_engines! {
    async fn dependencies_are_made_and_taken_back_through_the_api(db: TestDb) {
        let app = TestApp::on(&db).await;
        let (a, b) = (resting(&app, "A").await, resting(&app, "B").await);
        let path = format!("/tasks/{a}/dependencies");
        let made = app.post(&path, json!({"depends_on_task_id": b})).await;
        assert_eq!(made.status, 200);
        assert_eq!(
            made.json,
            json!({"task_id": a, "depends_on": [b], "blocked": true, "blocked_reason": "waits for \"B\" (CREATED)"})
        );
        assert_eq!(app.get(&path).await.json, made.json);
        let circle = app
            .post(
                &format!("/tasks/{b}/dependencies"),
                json!({"depends_on_task_id": a}),
            )
            .await;
        assert_eq!((circle.status, circle.code()), (400, "VALIDATION_ERROR"));
        assert_eq!(circle.json["error"]["details"]["path"], json!([b, a, b]));
        let task = app.get(&format!("/tasks/{a}")).await.json;
        assert_eq!(
            (&task["blocked"], &task["depends_on"]),
            (&json!(true), &json!([b]))
        );
        let related = app.get(&format!("/tasks/{b}/related")).await.json;
        assert_eq!(related["blocks"][0]["id"], json!(a));
        assert_eq!(related["blocked_by"], related["blocks"]);
        assert_eq!(
            (&related["depends_on"], &related["blockers"]),
            (&json!([]), &json!([]))
        );
        let page = app.get(&format!("/tasks/{a}/page")).await.json;
        assert_eq!(page["depends_on"][0]["title"], "B");
        for _ in 0..2 {
            let removed = app.delete(&format!("{path}/{b}")).await;
            assert_eq!(
                (removed.status, &removed.json["depends_on"]),
                (200, &json!([]))
            );
        }
        assert_eq!(
            app.delete(&format!("{path}/nonsense")).await.code(),
            "VALIDATION_ERROR"
        );
    }

    async fn a_task_is_made_to_wait_by_tool_and_by_api(db: TestDb) {
        let app = TestApp::on(&db).await;
        let (_agent, client) = agent(&app).await;
        let first = resting(&app, "First").await;
        let made = client
            .call(
                "create_task_kandev",
                json!({"title": "Later", "prompt": "Do it.", "blocked_by": [first]}),
            )
            .await;
        assert_eq!(made["start_when_unblocked"], true);
        assert_eq!(made["depends_on"], json!([first]));
        assert_eq!(made.get("session_id"), None);
        let later: TaskId = id(&made["id"]);
        let changed = client
            .call(
                "update_task_kandev",
                json!({"task_id": later, "deferred_launch_prompt": "Do it well."}),
            )
            .await;
        assert_eq!(changed["start_when_unblocked"], true);
        app.patch(&format!("/tasks/{first}"), json!({"state": "done"}))
            .await;
        let mut started = Agent::launch(&app, later).await;
        assert_eq!(
            app.get(&format!("/tasks/{later}")).await.json["start_when_unblocked"],
            false
        );
        let text = client
            .refused(
                "update_task_kandev",
                json!({"task_id": later, "title": "New", "deferred_launch_prompt": "Too late."}),
            )
            .await;
        assert!(
            text.starts_with("CONFLICT: deferred_launch_prompt"),
            "{text}"
        );
        assert_eq!(
            app.get(&format!("/tasks/{later}")).await.json["title"],
            "Later"
        );
        started.end_turn().await;
        app.post(
            &format!("/tasks/{later}/messages"),
            json!({"content": "More."}),
        )
        .await;
        assert_eq!(started.next_turn().await, "More.");

        let edges_only = app
            .task(json!({"title": "T", "description": "Do it.", "blocked_by": [later], "start_when_unblocked": false}))
            .await;
        assert_eq!(
            (&edges_only["blocked"], &edges_only["start_when_unblocked"]),
            (&json!(true), &json!(false))
        );
    }

    async fn an_agent_makes_its_own_task_wait_and_an_outside_client_any(db: TestDb) {
        let app = TestApp::on(&db).await;
        let (agent, client) = agent(&app).await;
        let first = resting(&app, "First").await;
        let added = client
            .call(
                "add_task_dependency_kandev",
                json!({"depends_on_task_id": first}),
            )
            .await;
        assert_eq!(
            (&added["task_id"], &added["depends_on"]),
            (&json!(agent.task), &json!([first]))
        );
        let text = client
            .refused(
                "add_task_dependency_kandev",
                json!({"task_id": first, "depends_on_task_id": agent.task}),
            )
            .await;
        assert!(text.starts_with("FORBIDDEN"), "{text}");
        let outside = Client::connect(&app, &app.access_token().await).await;
        let text = outside
            .refused(
                "add_task_dependency_kandev",
                json!({"task_id": first, "depends_on_task_id": agent.task}),
            )
            .await;
        assert!(
            text.contains("\"First\" → \"Worker\" → \"First\""),
            "{text}"
        );
        let text = outside
            .refused(
                "remove_task_dependency_kandev",
                json!({"depends_on_task_id": first}),
            )
            .await;
        assert!(text.contains("task_id"), "{text}");
        for _ in 0..2 {
            let removed = client
                .call(
                    "remove_task_dependency_kandev",
                    json!({"task_id": "self", "depends_on_task_id": first}),
                )
                .await;
            assert_eq!(
                (&removed["depends_on"], &removed["blocked"]),
                (&json!([]), &json!(false))
            );
        }
    }

    async fn a_full_step_takes_cards_without_starting_them(db: TestDb) {
        let app = TestApp::on(&db).await;
        let steps = Steps::of(&app).await;
        let step = steps
            .change(&app, "In Progress", json!({"wip_limit": 1}))
            .await;
        assert_eq!(step["wip_limit"], 1);
        let first = app
            .task(json!({"title": "First", "description": "Do it."}))
            .await;
        let second = app
            .task(json!({"title": "Second", "description": "Do it."}))
            .await;
        assert_eq!(
            (&first["wip_admitted"], &second["wip_admitted"]),
            (&json!(true), &json!(false))
        );
        assert!(second["queued_at"].is_string());
        assert_eq!(second.get("session_id"), None);
        let (first, second): (TaskId, TaskId) = (id(&first["id"]), id(&second["id"]));
        app.post(&format!("/tasks/{first}/archive"), json!({}))
            .await;
        let promoted = app.get(&format!("/tasks/{second}")).await.json;
        assert_eq!(
            (&promoted["wip_admitted"], &promoted["queued_at"]),
            (&json!(true), &Value::Null)
        );
        assert_eq!(promoted["session_count"], 1);

        // With a full feeder there is nowhere to go.
        steps
            .change(
                &app,
                "In Progress",
                json!({"pull_from_step_id": steps.id("Backlog")}),
            )
            .await;
        steps.change(&app, "Backlog", json!({"wip_limit": 1})).await;
        let fed = app
            .task(json!({"title": "Fed", "description": "Do it."}))
            .await;
        assert_eq!(fed["queued_for_step_id"], steps.id("In Progress"));
        let refused = app
            .post(
                "/tasks",
                json!({"title": "Too many", "description": "Do it."}),
            )
            .await;
        assert_eq!((refused.status, refused.code()), (409, "CONFLICT"));
        for bad in [
            json!({"wip_limit": -1}),
            json!({"unknown": 1}),
            json!({"events": {"on_enter": [{"type": "explode"}]}}),
            json!({"events": {"on_turn_start": [{"type": "move_to_step"}]}}),
            json!({"pull_from_step_id": steps.id("In Progress")}),
        ] {
            let path = format!(
                "/workflow/steps/{}",
                steps.id("In Progress").as_str().unwrap()
            );
            let reply = app.patch(&path, bad.clone()).await;
            assert_eq!(reply.code(), "VALIDATION_ERROR", "{bad}");
        }
        let events = json!({
            "on_enter": [{"type": "set_session_mode", "config": {"mode": "plan"}}, {"type": "enable_plan_mode"}],
            "on_turn_complete": [{"type": "disable_plan_mode"}, {"type": "move_to_step", "config": {"step_id": steps.id("Done")}}],
            "on_exit": [{"type": "disable_plan_mode"}],
            "on_children_completed": [{"type": "move_to_next"}],
        });
        let changed = steps
            .change(&app, "Review", json!({"events": events}))
            .await;
        assert_eq!(changed["events"]["on_turn_start"], json!([]));
        assert_eq!(
            changed["events"]["on_turn_complete"],
            events["on_turn_complete"]
        );
    }

    async fn an_agent_moves_its_own_task_when_its_turn_ends(db: TestDb) {
        let app = TestApp::on(&db).await;
        let steps = Steps::of(&app).await;
        steps
            .change(
                &app,
                "Review",
                json!({"prompt": "Review it.", "events": {"on_enter": [{"type": "auto_start_agent"}]}}),
            )
            .await;
        let (mut agent, client) = agent(&app).await;
        let arguments = json!({
            "task_id": "self",
            "workflow_id": steps.workflow,
            "workflow_step_id": steps.id("Review"),
            "entry_options": {"instructions": " Start with the failing case. ", "skip_step_prompt": false},
        });
        let moved = client.call("move_task_kandev", arguments.clone()).await;
        assert_eq!(moved["disposition"], "deferred");
        assert_eq!(
            moved["entry_options"],
            json!({"instructions": "Start with the failing case."})
        );
        assert!(moved["move_id"].is_string());
        assert_eq!(moved["task"]["workflow_step_id"], steps.id("In Progress"));
        assert_eq!(moved["task"]["pending_move_step_id"], steps.id("Review"));
        assert_eq!(moved["task"].get("description"), None);
        let text = client.refused("move_task_kandev", arguments).await;
        assert!(text.starts_with("CONFLICT"), "{text}");
        agent.end_turn().await;
        let task = app.get(&format!("/tasks/{}", agent.task)).await.json;
        assert_eq!(task["workflow_step_id"], steps.id("Review"));
        assert_eq!(
            agent.next_turn().await,
            "Start with the failing case.\n\nReview it."
        );
        // It is there: nothing moves, whatever the session does.
        let here = json!({"task_id": agent.task, "workflow_id": steps.workflow, "workflow_step_id": steps.id("Review")});
        for _ in 0..2 {
            let stays = client.call("move_task_kandev", here.clone()).await;
            assert_eq!(stays["disposition"], "applied");
            assert_eq!(stays.get("move_id"), None);
        }
    }

    async fn options_that_do_not_fit_are_refused_at_both_doors(db: TestDb) {
        let app = TestApp::on(&db).await;
        let steps = Steps::of(&app).await;
        let (_agent, client) = agent(&app).await;
        let task = resting(&app, "Card").await;
        for bad in [
            json!({"entry_options": null}),
            json!({"entry_options": {"reset_context": null}}),
            json!({"entry_options": {"reset_context": "yes"}}),
            json!({"entry_options": {"instructions": 5}}),
            json!({"entry_options": {"draft": true}}),
            json!({"entry_options": []}),
            json!({"prompt": null}),
            json!({"prompt": "a", "entry_options": {"instructions": "a"}}),
            json!({"draft": true}),
            json!({"position": -1}),
            json!({"position": 1.5}),
        ] {
            let mut body =
                json!({"workflow_step_id": steps.id("In Progress"), "workflow_id": steps.workflow});
            body.as_object_mut()
                .unwrap()
                .extend(bad.as_object().unwrap().clone());
            let reply = app.post(&format!("/tasks/{task}/move"), body.clone()).await;
            assert_eq!(
                (reply.status, reply.code()),
                (400, "VALIDATION_ERROR"),
                "{bad}"
            );
            body["task_id"] = json!(task);
            let text = client.refused("move_task_kandev", body).await;
            assert!(text.starts_with("VALIDATION_ERROR"), "{bad}: {text}");
        }
        // A step that starts nothing has no entry to change.
        let body =
            json!({"workflow_step_id": steps.id("Done"), "entry_options": {"instructions": "Go."}});
        let reply = app.post(&format!("/tasks/{task}/move"), body).await;
        assert_eq!(reply.code(), "VALIDATION_ERROR");
        assert_eq!(
            app.get(&format!("/tasks/{task}")).await.json["workflow_step_id"],
            steps.id("Backlog")
        );
        let text = client
            .refused(
                "move_task_kandev",
                json!({"task_id": task, "workflow_step_id": steps.id("Done")}),
            )
            .await;
        assert!(text.contains("missing workflow_id"), "{text}");
    }

    async fn an_operators_move_says_what_happened_and_can_be_taken_back(db: TestDb) {
        let app = TestApp::on(&db).await;
        let steps = Steps::of(&app).await;
        let (agent, _client) = agent(&app).await;
        let path = format!("/tasks/{}/move", agent.task);
        let moved = app
            .post(&path, json!({"workflow_step_id": steps.id("Done")}))
            .await
            .json;
        assert_eq!(moved["disposition"], "deferred");
        assert_eq!(moved["workflow_step"]["name"], "In Progress");
        let again = app
            .post(&path, json!({"workflow_step_id": steps.id("Done")}))
            .await;
        assert_eq!((again.status, again.code()), (409, "CONFLICT"));
        assert_eq!(app.delete(&path).await.json, json!({"success": true}));
        assert_eq!(app.delete(&path).await.status, 200);
        agent.end_turn().await;
        let card = resting(&app, "Card").await;
        let path = format!("/tasks/{card}/move");
        let body = json!({"workflow_step_id": steps.id("In Progress"), "entry_options": {"skip_step_prompt": true}});
        let moved = app.post(&path, body).await.json;
        assert_eq!(
            (&moved["disposition"], &moved["workflow_step"]["name"]),
            (&json!("applied"), &json!("In Progress"))
        );
        assert_eq!(
            moved["task"]["session_count"], 0,
            "there is nothing to start it with"
        );
        assert!(moved["move_id"].is_string());
        assert_eq!(
            app.get(&format!("/tasks/{}", agent.task)).await.json["workflow_step_id"],
            steps.id("Review")
        );
    }

    // Task-domain 7.4, at both doors.
    async fn a_move_that_cannot_be_is_refused_and_moves_nothing(db: TestDb) {
        let app = TestApp::on(&db).await;
        let steps = Steps::of(&app).await;
        let (agent, client) = agent(&app).await;
        let card = resting(&app, "Card").await;
        let stranger = Agent::launch(&app, app.started_task("Stranger").await).await;
        let other = app.board().workspace_create(&board::Actor::Operator, "Other", "").await.unwrap();
        let workflows = app.get(&format!("/workspaces/{}/workflows", other.id)).await.json;
        let foreign = &workflows["workflows"][0];
        let unknown = domain::ids::StepId::new();
        let own = json!(steps.workflow);
        for (workflow, step) in [
            (&own, json!(unknown)),
            (&own, foreign["steps"][0]["id"].clone()),
            (&foreign["id"], steps.id("Done")),
            (&foreign["id"], foreign["steps"][0]["id"].clone()),
            (&json!(domain::ids::WorkflowId::new()), steps.id("Done")),
        ] {
            // The card rests, the agent's own task is at work: the answer is the same.
            for task in [card, agent.task] {
                let body = json!({"workflow_id": workflow, "workflow_step_id": step});
                let reply = app.post(&format!("/tasks/{task}/move"), body.clone()).await;
                assert_eq!((reply.status, reply.code()), (400, "VALIDATION_ERROR"), "{body}");
                let mut arguments = body;
                arguments["task_id"] = json!(task);
                let text = client.refused("move_task_kandev", arguments).await;
                assert!(text.starts_with("VALIDATION_ERROR"), "{text}");
            }
        }
        app.post(&format!("/tasks/{card}/archive"), json!({})).await;
        let body = json!({"workflow_id": own, "workflow_step_id": steps.id("Done")});
        let reply = app.post(&format!("/tasks/{card}/move"), body.clone()).await;
        assert_eq!((reply.status, reply.code()), (409, "CONFLICT"));
        let mut arguments = body.clone();
        arguments["task_id"] = json!(card);
        assert!(client.refused("move_task_kandev", arguments.clone()).await.starts_with("CONFLICT"));
        arguments["task_id"] = json!(TaskId::new());
        assert!(client.refused("move_task_kandev", arguments).await.starts_with("NOT_FOUND"));
        assert_eq!(app.get(&format!("/tasks/{card}")).await.json["workflow_step_id"], steps.id("Backlog"));
        assert_eq!(app.get(&format!("/tasks/{}", agent.task)).await.json["pending_move_step_id"], Value::Null);

        // A child that waits for its parent is moved by its parent or its operator, and by nobody else.
        let child = Agent::launch(&app, app.autopilot_child(agent.task).await).await;
        let of_child = child.connect(&app).await;
        of_child.call("ask_parent_question_kandev", json!({"questions": [{"prompt": "Which?"}]})).await;
        child.end_turn().await;
        let of_stranger = stranger.connect(&app).await;
        let mut arguments = body.clone();
        arguments["task_id"] = json!(child.task);
        assert!(of_stranger.refused("move_task_kandev", arguments.clone()).await.starts_with("CONFLICT"));
        assert_eq!(client.call("move_task_kandev", arguments).await["disposition"], "applied");
        let waits = app.get(&format!("/tasks/{}", child.task)).await.json;
        assert_eq!(waits["task_pending_action"], "clarification", "a step that starts nothing leaves the question");
        let body = json!({"workflow_step_id": steps.id("In Progress")});
        assert_eq!(app.post(&format!("/tasks/{}/move", child.task), body).await.status, 200);
        let goes_on = app.get(&format!("/tasks/{}", child.task)).await.json;
        assert_eq!(goes_on["task_pending_action"], Value::Null, "one that starts takes its place");
    }

    // Task-domain 2.3, 1.5.
    async fn a_step_is_configured_and_hands_over_to_the_next(db: TestDb) {
        let app = TestApp::on(&db).await;
        let steps = Steps::of(&app).await;
        let rules = json!([{"agent": "Demo", "operation": "keep"}, {"operation": "set", "mode": "auto", "model": "demo-large"}]);
        let events = json!({"on_enter": [{"type": "configure_session", "config": {"rules": rules}}, {"type": "auto_start_agent"}]});
        let changed = steps
            .change(&app, "Review", json!({"events": events, "prompt": "Review it.", "auto_archive_after_hours": 48}))
            .await;
        assert_eq!(changed["events"]["on_enter"], events["on_enter"]);
        assert_eq!(changed["auto_archive_after_hours"], 48);
        let profile = app.get("/agents").await.json["agents"][0]["profiles"][0]["id"].clone();
        let path = format!("/workflow/steps/{}", steps.id("Review").as_str().unwrap());
        for bad in [
            json!({"agent_profile_id": profile}),
            json!({"agent_profile_id": domain::ids::ProfileId::new()}),
            json!({"auto_archive_after_hours": -1}),
            json!({"events": {"on_enter": [{"type": "configure_session", "config": {"rules": [{"operation": "reset"}]}}]}}),
            json!({"events": {"on_enter": [{"type": "configure_session", "config": {"rules": []}}]}}),
        ] {
            assert_eq!(app.patch(&path, bad.clone()).await.code(), "VALIDATION_ERROR", "{bad}");
        }
        steps.change(&app, "In Progress", json!({"auto_advance_requires_signal": true})).await;
        let (mut agent, client) = agent(&app).await;
        let done = json!({"summary": "All done.", "handoff": "Look at x."});
        client.call("step_complete_kandev", done).await;
        agent.end_turn().await;
        assert_eq!(agent.next_turn().await, "Handed over from \"In Progress\":\nLook at x.\n\nReview it.");
    }
}
