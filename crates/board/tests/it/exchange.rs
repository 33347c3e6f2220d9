//! Workflows as documents: out, and in again, whole or not at all.

use crate::world::{World, refused};
use board::Actor;
use domain::error::ErrorCode;
use domain::ids::WorkflowId;
use domain::params::{UpdateStep, UpdateWorkflow};
use domain::workflow::Step;

const OPERATOR: Actor = Actor::Operator;

/// Steps without what is another's in each workflow: their ids become their places.
fn plain(steps: &[Step]) -> Vec<String> {
    let mut texts: Vec<String> = steps
        .iter()
        .map(|step| serde_json::to_string(step).unwrap())
        .collect();
    for (at, step) in steps.iter().enumerate() {
        for text in &mut texts {
            *text = text
                .replace(&step.id.to_string(), &format!("step {at}"))
                .replace(&step.workflow_id.to_string(), "workflow");
        }
    }
    texts
}

store::on_both_engines! {
    async fn a_workflow_goes_out_and_comes_in_the_same(db: TestDb) {
        let world = World::new(db).await;
        let board = world.board();
        let id = world.workflow.workflow.id;
        let change = UpdateWorkflow {
            prompt: Some("House rules: \"be brief\".\n# not a comment".to_owned()),
            agent_profile_id: Some(Some(world.profile)),
            ..UpdateWorkflow::default()
        };
        board.workflow_update(&OPERATOR, id, change).await.unwrap();
        let change = UpdateStep {
            pull_from_step_id: Some(Some(world.step("Done"))),
            wip_limit: Some(2),
            agent_profile_id: Some(Some(world.profile)),
            color: Some("#4f46e5".to_owned()),
            ..UpdateStep::default()
        };
        // Fed by a later one, which is not there yet when it is read.
        board.step_update(&OPERATOR, world.step("Review"), change).await.unwrap();
        let document = board.workflow_export(&OPERATOR, id).await.unwrap();
        let text = serde_json::to_string_pretty(&document).unwrap();
        let away = board.workspace_create(&OPERATOR, "Away", "").await.unwrap();
        let before = world.count("events where kind = 'workflow.updated'").await;
        let made = board.workflow_import(&OPERATOR, away.id, &text).await.unwrap().remove(0);
        assert_eq!(world.count("events where kind = 'workflow.updated'").await, before + 1);
        let original = board.workflow_get(&OPERATOR, id).await.unwrap();
        let stored = board.workflow_get(&OPERATOR, made.workflow.id).await.unwrap();
        assert_eq!(stored, made);
        assert_eq!(plain(&stored.steps), plain(&original.steps));
        assert_eq!(stored.workflow.prompt, original.workflow.prompt);
        assert_eq!(stored.workflow.agent_profile_id, Some(world.profile));
        assert_eq!(board.workflow_export(&OPERATOR, made.workflow.id).await.unwrap(), document);
        assert_eq!((stored.workflow.workspace_id, stored.workflow.sort_order), (away.id, 1));
    }

    async fn yaml_is_read_as_people_write_it(db: TestDb) {
        let world = World::new(db).await;
        let board = world.board();
        let text = "# Ours\nversion: 1\ntype: kandev_workflow\nworkflows:\n- name: Release\n  steps:\n  - name: Build\n    is_start_step: true\n    \
                    prompt: |\n      Build it.\n      {{task_prompt}}\n    events:\n      on_enter: [{type: auto_start_agent}]\n      on_turn_complete:\n      \
                    - {type: move_to_step, config: {step_position: 1}}\n  - {name: Ship, wip_limit: 1, pull_from_step_position: 0}\n";
        let made = board.workflow_import(&OPERATOR, world.workspace.id, text).await.unwrap().remove(0);
        assert_eq!(made.steps[0].prompt, "Build it.\n{{task_prompt}}\n");
        assert!(made.steps[0].auto_starts());
        assert_eq!(made.steps[1].pull_from_step_id, Some(made.steps[0].id));
    }

    async fn a_bad_document_is_refused_whole(db: TestDb) {
        let world = World::new(db).await;
        let board = world.board();
        let home = world.workspace.id;
        let before = (world.count("workflows").await, world.count("steps").await);
        let document = |second: &str| format!(
            r#"{{"version": 1, "type": "kandev_workflow", "workflows": [{{"name": "Good", "steps": [{{"name": "A"}}]}}, {second}]}}"#
        );
        for bad in [
            String::new(),
            "[1, 2".to_owned(),
            "{\"version\": 1".to_owned(),
            "a: &x [*x, *x]".to_owned(),
            document(r#"{"name": " ", "steps": []}"#),
            document(r#"{"name": "Bad"}"#),
            document(r#"{"name": "Bad", "steps": [{"name": "A", "colour": "red"}]}"#),
            document(r#"{"name": "Bad", "steps": [{"name": "A", "pull_from_step_position": 1}, {"name": "B", "pull_from_step_position": 0}]}"#),
            document(r#"{"name": "Bad", "steps": [{"name": "A", "agent_profile": {"agent": "Nobody", "profile": "Default"}}]}"#),
            "x".repeat(1024 * 1024 + 1),
        ] {
            refused(board.workflow_import(&OPERATOR, home, &bad).await, ErrorCode::Validation);
        }
        let good = document(r#"{"name": "Better", "steps": []}"#);
        let stranger = world.working("Task").await;
        refused(board.workflow_import(&stranger.actor(), home, &good).await, ErrorCode::Forbidden);
        refused(board.workflow_export(&OPERATOR, WorkflowId::new()).await, ErrorCode::NotFound);
        let steps = world.count("steps").await;
        assert_eq!((world.count("workflows").await, steps), (before.0, before.1));
        assert_eq!(board.workflow_import(&OPERATOR, home, &good).await.unwrap().len(), 2);
    }
}
