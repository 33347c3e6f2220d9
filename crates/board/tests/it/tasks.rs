//! Tasks: creating them through the one path there is, changing, archiving and deleting them.

use crate::world::{World, prompted, refused};
use board::{Actor, Settings};
use domain::error::ErrorCode;
use domain::ids::{ProfileId, StepId, TaskId, WorkflowId, WorkspaceId};
use domain::params::{CreateProfile, CreateTask, ListTasks, UpdateTask};
use domain::session::SessionState;
use domain::task::{MAX_TITLE, Origin, Priority, TaskState};
use serde_json::json;

fn titled(title: &str) -> CreateTask {
    CreateTask {
        title: title.to_owned(),
        ..CreateTask::default()
    }
}

async fn terminal(world: &World) -> ProfileId {
    let agent = world.board().agent_list(&Actor::Operator).await.unwrap()[0].id;
    let params = CreateProfile {
        agent_id: agent,
        name: "Terminal".to_owned(),
        model: None,
        mode: None,
        passthrough: true,
        auto_approve: false,
    };
    world
        .board()
        .profile_create(&Actor::Operator, params)
        .await
        .unwrap()
        .id
}

store::on_both_engines! {
    // Rulings 22.
    async fn a_title_is_enough(db: TestDb) {
        let world = World::new(db).await;
        let created = world.create(titled("  Look into it ")).await.unwrap();
        assert_eq!(created.task.title, "Look into it");
        assert_eq!(created.task.workspace_id, world.workspace.id);
        assert_eq!(created.task.workflow_id, world.workflow.workflow.id);
        assert_eq!(created.task.workflow_step_id, world.step("Backlog"));
        assert_eq!(created.task.state, TaskState::Created);
        assert_eq!(created.task.origin, Origin::Manual);
        assert_eq!(created.task.agent_profile_id, Some(world.profile));
        assert!(!created.task.autopilot && !created.deduplicated && created.creation_complete);
        assert_eq!(created.session_id, None, "nothing to say, nobody to start");
        world.run().await;
        assert_eq!(world.count("sessions").await, 0);
    }

    async fn a_prompt_starts_the_agent_in_the_start_step_word_for_word(db: TestDb) {
        let world = World::new(db).await;
        let words = "\n  First line\n\tsecond line  \n";
        let puppet = world.start(CreateTask { description: words.to_owned(), ..titled("Task") }).await;
        assert_eq!(puppet.texts(), [words]);
        assert_eq!(puppet.card().await.description, words);
        assert_eq!(puppet.step().await, "In Progress");
        assert_eq!(puppet.state().await, SessionState::Running);
        assert_eq!(puppet.card().await.state, TaskState::InProgress);
    }

    async fn a_prompt_with_start_agent_false_rests_in_the_first_step(db: TestDb) {
        let world = World::new(db).await;
        let created = world.create(CreateTask { start_agent: Some(false), ..prompted("Task") }).await.unwrap();
        assert_eq!(created.session_id, None);
        assert_eq!(created.task.workflow_step_id, world.step("Backlog"));
    }

    async fn a_start_without_a_prompt_is_refused_and_stores_nothing(db: TestDb) {
        let world = World::new(db).await;
        for description in ["", " \n "] {
            let params = CreateTask { start_agent: Some(true), description: description.to_owned(), ..titled("Task") };
            refused(world.create(params).await, ErrorCode::Validation);
        }
        assert_eq!(world.count("tasks").await, 0);
    }

    async fn titles_are_checked_in_code_points(db: TestDb) {
        let world = World::new(db).await;
        world.create(titled(&"🛫".repeat(MAX_TITLE))).await.unwrap();
        for bad in ["", "   ", "two\nlines", &"🛫".repeat(MAX_TITLE + 1)] {
            refused(world.create(titled(bad)).await, ErrorCode::Validation);
        }
        assert_eq!(world.count("tasks").await, 1);
    }

    // Rulings 12.
    async fn tasks_nest_eight_deep_by_default(db: TestDb) {
        let world = World::new(db).await;
        let mut parent = world.create(titled("0")).await.unwrap().task.id;
        for depth in 1..=8 {
            let params = CreateTask { parent_id: Some(parent), ..titled(&depth.to_string()) };
            parent = world.create(params).await.unwrap().task.id;
        }
        let params = CreateTask { parent_id: Some(parent), ..titled("too deep") };
        let refusal = refused(world.create(params).await, ErrorCode::Validation);
        assert!(refusal.message.contains("sibling"), "{refusal}");
        assert_eq!(world.count("tasks").await, 9);
    }

    async fn nesting_is_a_setting_and_counts_what_hangs_below(db: TestDb) {
        let world = World::with(db, Settings { max_depth: 2, ..Settings::default() }).await;
        let root = world.create(titled("root")).await.unwrap().task.id;
        let below = |parent| CreateTask { parent_id: Some(parent), ..titled("below") };
        let middle = world.create(below(root)).await.unwrap().task.id;
        let leaf = world.create(below(middle)).await.unwrap().task.id;
        refused(world.create(below(leaf)).await, ErrorCode::Validation);

        let tree = world.create(titled("tree")).await.unwrap().task.id;
        world.create(below(tree)).await.unwrap();
        let under = |parent| UpdateTask { parent_id: Some(Some(parent)), ..UpdateTask::default() };
        let operator = Actor::Operator;
        world.board().task_update(&operator, tree, under(root)).await.unwrap();
        refused(world.board().task_update(&operator, tree, under(middle)).await, ErrorCode::Validation);
    }

    async fn an_external_id_makes_one_task(db: TestDb) {
        let world = World::new(db).await;
        let params = |title: &str| CreateTask { external_id: Some(" Key-1 ".to_owned()), ..prompted(title) };
        let first = world.create(params("First")).await.unwrap();
        assert!(!first.deduplicated);
        assert_eq!(first.task.external_id.as_deref(), Some("Key-1"));
        world.run().await;
        let events = world.count("events").await;
        let second = world.create(params("Second")).await.unwrap();
        assert!(second.deduplicated && second.creation_complete);
        assert_eq!((second.task.id, second.session_id), (first.task.id, None));
        assert_eq!(second.task.title, "First");
        world.run().await;
        assert_eq!(world.count("events").await, events, "nothing happened");
        assert_eq!(world.count("tasks").await, 1);

        let blank = CreateTask { external_id: Some("  ".to_owned()), ..titled("Blank") };
        assert_eq!(world.create(blank).await.unwrap().task.external_id, None);
        // Case counts, and another workspace has keys of its own.
        world.create(CreateTask { external_id: Some("key-1".to_owned()), ..titled("Other") }).await.unwrap();
        let other = world.board().workspace_create(&Actor::Operator, "Other", "").await.unwrap();
        let elsewhere = CreateTask { workspace_id: Some(other.id), ..params("Elsewhere") };
        assert!(!world.create(elsewhere).await.unwrap().deduplicated);
    }

    async fn a_subtask_is_where_its_parent_is(db: TestDb) {
        let world = World::new(db).await;
        let other = world.board().workspace_create(&Actor::Operator, "Other", "").await.unwrap();
        let parent = world.start(CreateTask {
            workspace_id: Some(other.id),
            working_directory: Some("/srv/project".to_owned()),
            ..prompted("Parent")
        }).await;
        let created = parent.create(titled("Child")).await.unwrap().task;
        assert_eq!(created.workspace_id, other.id);
        assert_eq!(created.workflow_id, parent.card().await.workflow_id);
        assert_eq!(created.parent_id, Some(parent.task));
        assert_eq!(created.origin, Origin::AgentCreated);
        assert_eq!(created.working_directory.as_deref(), Some("/srv/project"));
        refused(parent.create(CreateTask { workspace_id: Some(world.workspace.id), ..titled("Child") }).await, ErrorCode::Validation);
        let step = other_step(&world, other.id, 1).await;
        refused(parent.create(CreateTask { workflow_step_id: Some(step), ..titled("Child") }).await, ErrorCode::Validation);
        let workflow = parent.card().await.workflow_id;
        let both = CreateTask { workflow_id: Some(workflow), workflow_step_id: Some(step), ..titled("Child") };
        assert_eq!(parent.create(both).await.unwrap().task.workflow_step_id, step);
    }

    // Task-domain 1.9: what crosses tasks says whose it is, the first prompt too.
    async fn the_first_prompt_of_a_delegated_task_says_whose_words_it_is(db: TestDb) {
        let world = World::new(db).await;
        let parent = world.working("Parent").await;
        let child = world.child(&parent, "Child").await;
        let told = child.transcript().await.remove(0);
        assert_eq!(told.metadata["sender_task_id"], json!(parent.task));
        assert_eq!(told.metadata["sender_session_id"], json!(parent.session));
        let own = parent.transcript().await.remove(0);
        assert_eq!(own.metadata.get("sender_task_id"), None);
    }

    async fn with_several_workspaces_the_oldest_is_the_default(db: TestDb) {
        let world = World::new(db).await;
        let other = world.board().workspace_create(&Actor::Operator, "Other", "").await.unwrap();
        assert_eq!(world.create(titled("Task")).await.unwrap().task.workspace_id, world.workspace.id);
        let workflow = world.board().workflow_list(&Actor::Operator, other.id).await.unwrap()[0].workflow.id;
        let by_workflow = CreateTask { workflow_id: Some(workflow), ..titled("Task") };
        assert_eq!(world.create(by_workflow).await.unwrap().task.workspace_id, other.id);
        let mismatch = CreateTask { workspace_id: Some(world.workspace.id), workflow_id: Some(workflow), ..titled("Task") };
        refused(world.create(mismatch).await, ErrorCode::Validation);
    }

    async fn unknown_ids_are_refused_and_store_nothing(db: TestDb) {
        let world = World::new(db).await;
        let not_found = [
            CreateTask { parent_id: Some(TaskId::new()), ..prompted("Task") },
            CreateTask { workspace_id: Some(WorkspaceId::new()), ..prompted("Task") },
            CreateTask { workflow_id: Some(WorkflowId::new()), ..prompted("Task") },
            CreateTask { agent_profile_id: Some(ProfileId::new()), ..prompted("Task") },
        ];
        for params in not_found {
            refused(world.create(params).await, ErrorCode::NotFound);
        }
        for params in [
            CreateTask { workflow_step_id: Some(StepId::new()), ..prompted("Task") },
            CreateTask { working_directory: Some("relative/path".to_owned()), ..prompted("Task") },
            CreateTask { external_id: Some("x".repeat(257)), ..prompted("Task") },
        ] {
            refused(world.create(params).await, ErrorCode::Validation);
        }
        assert_eq!(world.count("tasks").await, 0);
        assert_eq!(world.count("events where kind = 'task.created'").await, 0);
    }

    // Task-domain 1.13.
    async fn a_profile_is_found_by_its_precedence(db: TestDb) {
        let world = World::new(db).await;
        let agent = world.board().agent_list(&Actor::Operator).await.unwrap()[0].id;
        let mut profiles = Vec::new();
        for name in ["step", "workflow", "explicit", "parent"] {
            let params = CreateProfile { agent_id: agent, name: name.to_owned(), model: None, mode: None, passthrough: false, auto_approve: false };
            profiles.push(world.board().profile_create(&Actor::Operator, params).await.unwrap().id);
        }
        let [step, workflow, explicit, parents] = profiles[..] else { panic!("four profiles") };
        let chosen = async |params| world.create(params).await.unwrap().task.agent_profile_id.unwrap();
        assert_eq!(chosen(titled("default")).await, world.profile);
        let parent = CreateTask { agent_profile_id: Some(parents), ..prompted("Parent") };
        let parent = world.start(parent).await;
        assert_eq!(chosen(CreateTask { parent_id: Some(parent.task), ..titled("by the parent") }).await, parents);
        assert_eq!(parent.create(titled("by the creator")).await.unwrap().task.agent_profile_id, Some(parents));
        let asked = CreateTask { agent_profile_id: Some(explicit), parent_id: Some(parent.task), ..titled("asked for") };
        assert_eq!(chosen(asked.clone()).await, explicit);
        world.execute(&format!("update workflows set agent_profile_id = '{workflow}'")).await;
        assert_eq!(chosen(asked.clone()).await, workflow);
        world.execute(&format!("update steps set agent_profile_id = '{step}' where id = '{}'", world.step("Backlog"))).await;
        assert_eq!(chosen(asked).await, step);
    }

    // Rulings 3.
    async fn autopilot_with_a_profile_that_cannot_take_the_tools_stores_nothing(db: TestDb) {
        let world = World::new(db).await;
        let parent = world.working("Parent").await;
        let tasks = world.count("tasks").await;
        let raw = CreateTask { autopilot: true, agent_profile_id: Some(terminal(&world).await), ..prompted("Child") };
        let refusal = refused(parent.create(raw.clone()).await, ErrorCode::Validation);
        assert!(refusal.message.contains("raw terminal"), "{refusal}");
        parent.create(CreateTask { autopilot: false, ..raw }).await.unwrap();

        let agent = world.board().agent_list(&Actor::Operator).await.unwrap()[0].id;
        world.board().agent_handshake(agent, false).await.unwrap();
        let child = CreateTask { autopilot: true, external_id: Some("key".to_owned()), ..prompted("Child") };
        let refusal = refused(parent.create(child.clone()).await, ErrorCode::Validation);
        assert!(refusal.message.contains("MCP"), "{refusal}");
        assert_eq!(world.count("tasks").await, tasks + 1);
        world.board().agent_handshake(agent, true).await.unwrap();
        assert!(!parent.create(child).await.unwrap().deduplicated, "the refusal did not take the key");
    }

    async fn autopilot_is_not_inherited_and_cannot_be_changed(db: TestDb) {
        let world = World::new(db).await;
        let root = world.start(CreateTask { autopilot: true, ..prompted("Root") }).await;
        let child = root.create(titled("Child")).await.unwrap().task;
        assert!(!child.autopilot);
        // There is no way to say it: the parameters have no such field. The database holds it too.
        let params: Result<UpdateTask, _> = serde_json::from_value(json!({"title": "New", "autopilot": false}));
        if let Ok(params) = params {
            world.board().task_update(&Actor::Operator, root.task, params).await.unwrap();
        }
        assert!(root.card().await.autopilot);
        let mut tx = world.store().write().await.unwrap();
        let forced = tx.execute_raw(&format!("update tasks set autopilot = 0 where id = '{}'", root.task)).await;
        assert!(forced.is_err());
        drop(tx);
        assert!(root.card().await.autopilot);
    }

    async fn an_update_is_all_or_nothing(db: TestDb) {
        let world = World::new(db).await;
        let task = world.create(titled("Before")).await.unwrap().task.id;
        let board = world.board();
        let good = UpdateTask {
            title: Some("After".to_owned()),
            description: Some("Words.".to_owned()),
            state: Some("in progress".to_owned()),
            priority: Some("high".to_owned()),
            parent_id: None,
            ..UpdateTask::default()
        };
        let updated = board.task_update(&Actor::Operator, task, good.clone()).await.unwrap();
        assert_eq!((updated.title.as_str(), updated.description.as_str()), ("After", "Words."));
        assert_eq!((updated.state, updated.priority), (TaskState::InProgress, Some(Priority::High)));
        for bad in [
            UpdateTask { title: Some(String::new()), ..good.clone() },
            UpdateTask { title: Some("Again".to_owned()), state: Some("sideways".to_owned()), ..good.clone() },
            UpdateTask { title: Some("Again".to_owned()), priority: Some("urgent".to_owned()), ..good.clone() },
        ] {
            refused(board.task_update(&Actor::Operator, task, bad).await, ErrorCode::Validation);
        }
        let cleared = UpdateTask { priority: Some(String::new()), ..UpdateTask::default() };
        let updated = board.task_update(&Actor::Operator, task, cleared).await.unwrap();
        assert_eq!((updated.title.as_str(), updated.priority), ("After", None));
        world.execute("delete from effects").await;
    }

    async fn only_the_operator_gives_a_task_another_parent_and_never_in_a_circle(db: TestDb) {
        let world = World::new(db).await;
        let root = world.working("Root").await;
        let child = world.child(&root, "Child").await;
        let leaf = world.child(&child, "Leaf").await;
        let under = |parent: TaskId| UpdateTask { parent_id: Some(Some(parent)), ..UpdateTask::default() };
        let (board, operator) = (world.board(), Actor::Operator);
        refused(board.task_update(&root.actor(), child.task, under(leaf.task)).await, ErrorCode::Forbidden);
        for parent in [child.task, leaf.task] {
            refused(board.task_update(&operator, child.task, under(parent)).await, ErrorCode::Validation);
        }
        refused(board.task_update(&operator, child.task, under(TaskId::new())).await, ErrorCode::NotFound);
        let other = board.workspace_create(&operator, "Other", "").await.unwrap();
        let foreign = world.create(CreateTask { workspace_id: Some(other.id), ..titled("Foreign") }).await.unwrap().task.id;
        refused(board.task_update(&operator, child.task, under(foreign)).await, ErrorCode::Validation);
        board.task_update(&operator, leaf.task, under(root.task)).await.unwrap();
        assert_eq!(leaf.card().await.parent_id, Some(root.task));
    }

    async fn archiving_stops_everything_and_can_be_repeated(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        let child = world.child(&puppet, "Child").await;
        let first = world.board().task_archive(&Actor::Operator, puppet.task).await.unwrap();
        assert!(!first.already_archived);
        assert!(first.task.archived_at.is_some());
        world.run().await;
        assert_eq!(puppet.state().await, SessionState::Cancelled);
        assert!(!world.node().is_live(puppet.session), "its process is ended");
        assert!(child.is_in_turn(), "its children stay");
        let again = world.board().task_archive(&Actor::Operator, puppet.task).await.unwrap();
        assert!(again.already_archived);
        assert_eq!(again.task.archived_at, first.task.archived_at);
        let shown = world.board().task_list(&Actor::Operator, &ListTasks::default()).await.unwrap();
        assert!(!shown.iter().any(|t| t.id == puppet.task));
        let all = ListTasks { include_archived: true, ..ListTasks::default() };
        assert!(world.board().task_list(&Actor::Operator, &all).await.unwrap().iter().any(|t| t.id == puppet.task));

        refused(world.board().task_unarchive(&puppet.actor(), puppet.task).await, ErrorCode::Forbidden);
        let back = world.board().task_unarchive(&Actor::Operator, puppet.task).await.unwrap();
        assert_eq!(back.archived_at, None);
    }

    async fn nothing_is_made_under_an_archived_task(db: TestDb) {
        let world = World::new(db).await;
        let parent = world.create(titled("Parent")).await.unwrap().task.id;
        let child = world.create(titled("Child")).await.unwrap().task.id;
        world.board().task_archive(&Actor::Operator, parent).await.unwrap();
        refused(world.create(CreateTask { parent_id: Some(parent), ..titled("New") }).await, ErrorCode::Conflict);
        let under = UpdateTask { parent_id: Some(Some(parent)), ..UpdateTask::default() };
        refused(world.board().task_update(&Actor::Operator, child, under).await, ErrorCode::Conflict);
    }

    async fn deleting_takes_the_history_and_leaves_the_children_as_roots(db: TestDb) {
        let world = World::new(db).await;
        let parent = world.working("Parent").await;
        let child = world.child(&parent, "Child").await;
        world.board().task_delete(&Actor::Operator, parent.task).await.unwrap();
        world.run().await;
        assert_eq!(child.card().await.parent_id, None);
        assert!(child.is_in_turn());
        assert!(!world.node().is_live(parent.session), "its process is ended");
        refused(world.board().task_get(&Actor::Operator, parent.task).await, ErrorCode::NotFound);
        refused(world.board().task_delete(&Actor::Operator, parent.task).await, ErrorCode::NotFound);
        assert_eq!(world.count(&format!("messages where task_id = '{}'", parent.task)).await, 0);
        // Reports about it come too late and harm nothing.
        let token = world.node().token(parent.session);
        assert_eq!(token, None);
        assert_eq!(world.count("events where kind = 'task.deleted'").await, 1);
    }

    async fn relations_show_parent_children_and_siblings(db: TestDb) {
        let world = World::new(db).await;
        let parent = world.working("Parent").await;
        let child = world.child(&parent, "Child").await;
        let sibling = world.child(&parent, "Sibling").await;
        let leaf = world.child(&child, "Leaf").await;
        let related = world.board().task_related(&child.actor(), child.task, false).await.unwrap();
        assert_eq!(related.task.id, child.task);
        assert_eq!(related.parent.unwrap().id, parent.task);
        assert_eq!(related.children.iter().map(|t| t.id).collect::<Vec<_>>(), [leaf.task]);
        assert_eq!(related.siblings.iter().map(|t| t.id).collect::<Vec<_>>(), [sibling.task]);
        assert_eq!(related.children[0].description, None);
        let verbose = world.board().task_related(&child.actor(), child.task, true).await.unwrap();
        assert_eq!(verbose.children[0].description.as_deref(), Some("Begin with Leaf."));
        let page = world.board().task_page(&Actor::Operator, leaf.task).await.unwrap();
        let ancestors: Vec<_> = page.ancestors.iter().map(|t| t.id).collect();
        assert_eq!(ancestors, [parent.task, child.task], "from the topmost down");
    }

    async fn lists_are_filtered_and_paged(db: TestDb) {
        let world = World::new(db).await;
        let parent = world.working("Parent").await;
        let child = world.child(&parent, "Child").await;
        world.create(titled("Third")).await.unwrap();
        let (board, operator) = (world.board(), Actor::Operator);
        let list = async |params| -> Vec<String> {
            board.task_list(&operator, &params).await.unwrap().into_iter().map(|t| t.title).collect()
        };
        assert_eq!(list(ListTasks { parent_id: Some(parent.task), ..ListTasks::default() }).await, ["Child"]);
        assert_eq!(list(ListTasks { state: Some("created".to_owned()), ..ListTasks::default() }).await, ["Third"]);
        let step = Some(world.step("Backlog"));
        assert_eq!(list(ListTasks { workflow_step_id: step, ..ListTasks::default() }).await, ["Third"]);
        assert_eq!(list(ListTasks { limit: Some(2), ..ListTasks::default() }).await, ["Parent", "Child"]);
        let next = ListTasks { limit: Some(2), cursor: Some(child.task), ..ListTasks::default() };
        assert_eq!(list(next).await, ["Third"]);
        refused(board.task_list(&operator, &ListTasks { limit: Some(0), ..ListTasks::default() }).await, ErrorCode::Validation);
        let nowhere = ListTasks { workspace_id: Some(WorkspaceId::new()), ..ListTasks::default() };
        refused(board.task_list(&operator, &nowhere).await, ErrorCode::NotFound);
    }
}

async fn other_step(world: &World, workspace: WorkspaceId, position: usize) -> StepId {
    let workflows = world
        .board()
        .workflow_list(&Actor::Operator, workspace)
        .await
        .unwrap();
    workflows[0].steps[position].id
}
