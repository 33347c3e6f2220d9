//! What the schema checks: its words are the domain's, flags are flags, names are not empty. Checks over several columns are
//! tested with their tables.

use crate::world::{
    World, assert_invariant, bundle, execute, message, permission, prompt, question, receipt, rows,
    turn, write,
};
use domain::change_request::{Checks, Mergeable, RequestState};
use domain::clarification::ClarificationStatus;
use domain::dependency::LaunchIntent;
use domain::document::Decision;
use domain::effect::EffectKind;
use domain::event::{EventKind, NewEvent};
use domain::executor::{McpPolicy, PreparationState};
use domain::job::effects::{Confirmation, ConsentOutcome, ToolCallState};
use domain::job::{ChunkState, DeliveryKind, JobStatus, Phase};
use domain::mcp_servers::McpConfig;
use domain::message::{AuthorType, MessageType};
use domain::permission::PermissionStatus;
use domain::plan::PlanAuthorKind;
use domain::question::QuestionStatus;
use domain::queue::{Lane, QueuedBy, QueuedState};
use domain::repository::Provider;
use domain::review::{FindingStatus, Severity, Side};
use domain::run::call::{CallOutcome, ClientKind, RunTool};
use domain::run::refuse::RunErrorCode;
use domain::run::{ErrorCategory, RunStatus, TerminalReason};
use domain::session::{FreshStart, SessionState};
use domain::task::{Origin, Priority, Purpose, TaskState, TitleMode};
use domain::turn::TurnState;
use domain::view::DeliveryStatus;
use domain::workflow::{MoveTrigger, Mover, StageType};
use std::collections::{BTreeMap, BTreeSet};
use store::testing::TestDb;
use store::workflows::{StepSignal, StepTransition};
use store::{Engine, Store, StoreError};

/// Every column that holds a word of a closed set, with the set.
fn words() -> BTreeMap<(&'static str, &'static str), BTreeSet<&'static str>> {
    macro_rules! of {
        ($word:ty) => {
            <$word>::ALL.iter().map(|word| word.as_str()).collect()
        };
    }
    BTreeMap::from([
        (("ai_jobs", "status"), of!(JobStatus)),
        (("ai_jobs", "phase"), of!(Phase)),
        (("ai_job_deliveries", "kind"), of!(DeliveryKind)),
        (("ai_job_deliveries", "state"), of!(ChunkState)),
        (("ai_job_tool_calls", "state"), of!(ToolCallState)),
        (("pending_confirmations", "outcome"), of!(ConsentOutcome)),
        (("run_calls", "tool"), of!(RunTool)),
        (("run_calls", "client"), of!(ClientKind)),
        (("run_calls", "status"), of!(RunStatus)),
        (("run_calls", "outcome"), of!(CallOutcome)),
        (("run_calls", "error_code"), of!(RunErrorCode)),
        (("runs", "outcome"), final_statuses()),
        (("runs", "reason"), of!(TerminalReason)),
        (("runs", "error_category"), of!(ErrorCategory)),
        (("steps", "stage_type"), of!(StageType)),
        (("tasks", "state"), of!(TaskState)),
        (("tasks", "priority"), of!(Priority)),
        (("tasks", "origin"), of!(Origin)),
        (("tasks", "purpose"), of!(Purpose)),
        (("tasks", "title_mode"), of!(TitleMode)),
        (("sessions", "state"), of!(SessionState)),
        (("turns", "state"), of!(TurnState)),
        (("messages", "author_type"), of!(AuthorType)),
        (("messages", "message_type"), of!(MessageType)),
        (("message_receipts", "status"), of!(DeliveryStatus)),
        (("prompt_receipts", "status"), of!(DeliveryStatus)),
        (("parent_questions", "status"), of!(QuestionStatus)),
        (("queued_messages", "lane"), of!(Lane)),
        (("queued_messages", "queued_by"), of!(QueuedBy)),
        (("queued_messages", "state"), of!(QueuedState)),
        (("operator_questions", "status"), of!(ClarificationStatus)),
        (("permissions", "status"), of!(PermissionStatus)),
        (("step_transitions", "move_trigger"), of!(MoveTrigger)),
        (("step_transitions", "actor"), of!(Mover)),
        (("sessions", "fresh_start"), of!(FreshStart)),
        (("deferred_launches", "intent"), of!(LaunchIntent)),
        (("deferred_launches", "queued_by"), of!(QueuedBy)),
        (("pending_moves", "move_trigger"), of!(MoveTrigger)),
        (("pending_moves", "actor"), of!(Mover)),
        (("effects", "kind"), of!(EffectKind)),
        (("events", "kind"), of!(EventKind)),
        (("plans", "created_by"), of!(PlanAuthorKind)),
        (("plans", "implementation_started_by"), of!(PlanAuthorKind)),
        (("task_documents", "author_kind"), of!(PlanAuthorKind)),
        (("step_decisions", "decision"), of!(Decision)),
        (("plan_revisions", "author_kind"), of!(PlanAuthorKind)),
        (("repositories", "provider"), of!(Provider)),
        (("executor_profiles", "mcp_policy"), of!(McpPolicy)),
        (("preparations", "state"), of!(PreparationState)),
        (("change_requests", "state"), of!(RequestState)),
        (("change_requests", "checks"), of!(Checks)),
        (("change_requests", "mergeable"), of!(Mergeable)),
        (("review_findings", "side"), of!(Side)),
        (("review_findings", "severity"), of!(Severity)),
        (("review_findings", "status"), of!(FindingStatus)),
    ])
}

/// What is stored of a run is how it ended; the other statuses are derived.
fn final_statuses() -> BTreeSet<&'static str> {
    let over = RunStatus::ALL.iter().filter(|status| status.is_final());
    over.map(|status| status.as_str()).collect()
}

/// The words in quotes in a check constraint.
fn quoted(check: &str) -> BTreeSet<&str> {
    check.split('\'').skip(1).step_by(2).collect()
}

/// The sets of words that the schema checks, by table and column.
async fn checked_words(store: &Store) -> BTreeMap<(String, String), BTreeSet<String>> {
    let mut found = BTreeMap::new();
    let mut note = |table: &str, column: &str, check: &str| {
        let words = quoted(check).into_iter().map(str::to_owned).collect();
        assert!(
            found
                .insert((table.to_owned(), column.to_owned()), words)
                .is_none(),
            "{table}.{column} has two checks"
        );
    };
    match store.engine() {
        Engine::Sqlite => {
            for row in rows(
                store,
                "select name, sql from sqlite_master where type = 'table'",
            )
            .await
            {
                for check in row[1].split("check (").skip(1) {
                    // `COLUMN in ('a', 'b'))`, as against checks over several columns or of a number.
                    let Some((column, list)) = check.split_once(" in (") else {
                        continue;
                    };
                    let list = list.split_once(')').unwrap().0;
                    if list.contains('\'')
                        && column.chars().all(|c| c.is_ascii_lowercase() || c == '_')
                    {
                        note(&row[0], column, list);
                    }
                }
            }
        }
        Engine::Postgres => {
            let checks = rows(
                store,
                "select t.relname::text, a.attname::text, pg_get_constraintdef(c.oid) from pg_constraint c \
                 join pg_class t on t.oid = c.conrelid join pg_attribute a on a.attrelid = t.oid and a.attnum = c.conkey[1] \
                 where c.contype = 'c' and cardinality(c.conkey) = 1 and t.relnamespace = 'public'::regnamespace",
            )
            .await;
            for row in checks {
                if row[2].contains("ARRAY[") && row[2].contains('\'') {
                    note(&row[0], &row[1], &row[2]);
                }
            }
        }
    }
    found
}

/// A row in every table.
async fn full_world(db: &TestDb) -> World {
    let world = World::new(db).await;
    let parent = world.add_task().await;
    let child = world.add_child(&parent).await;
    let session = world.add_session(&child).await;
    world.put_turn(turn(&session)).await;
    world.put_message(message(&session, "hello")).await;
    world.put_question(question(&session, parent.id)).await;
    world.put_prompt(prompt(&session, Lane::Normal)).await;
    world.put_bundle(bundle(&session, "key")).await;
    world.put_permission(permission(&session)).await;
    let now = crate::world::at(0);
    let job = crate::jobs::stored(&db.store, &crate::jobs::job("u", "aij_1")).await;
    write(&db.store, async |tx| {
        let piece = crate::job_deliveries::piece(job.id, DeliveryKind::Answer, 0);
        store::job_deliveries::insert(tx, &piece, now).await?;
        store::job_effects::begin_call(tx, job.id, "tool", "hash", "key", now).await?;
        let preview = Confirmation {
            id: 0,
            job_id: job.id,
            user_id: "u".to_owned(),
            conversation: "c".to_owned(),
            preview_tool: "preview_x".to_owned(),
            confirmation_tool: "confirm_x".to_owned(),
            arguments: serde_json::json!({}),
            args_hash: "hash".to_owned(),
            summary: None,
            expires_at: now,
            agreed_at: None,
            consumed_at: None,
            outcome: None,
            result: None,
            created_at: now,
        };
        store::job_effects::insert_confirmation(tx, &preview).await?;
        let signal = StepSignal {
            summary: "done".to_owned(),
            handoff: None,
            blockers: None,
            signaled_at: now,
        };
        store::workflows::insert_signal(tx, session.id, world.steps[0].id, &signal).await?;
        let transition = StepTransition {
            task_id: child.id,
            from: world.steps[0].id,
            to: world.steps[1].id,
            trigger: MoveTrigger::Manual,
            actor: Mover::Human,
            session_id: None,
            move_id: None,
            at: now,
        };
        store::workflows::record_transition(tx, &transition).await?;
        store::receipts::insert(tx, &receipt(&session, 0)).await?;
        store::receipts::insert_prompt(
            tx,
            &crate::receipts::of_prompt(child.id, &session, "key", 0),
        )
        .await?;
        store::launches::insert(tx, &crate::launches::launch(child.id)).await?;
        store::moves::insert_pending(tx, &crate::moves::pending(&world, &session)).await?;
        store::tokens::insert_session(tx, "hash", child.id, session.id, now).await?;
        store::tokens::insert_access(tx, domain::ids::TokenId::new(), "name", "hash", now).await?;
        store::effects::insert(tx, EffectKind::Dispatch, child.id, session.id, None, now).await?;
        let plan = crate::plans::plan(child.id, "One.");
        store::plans::put(tx, &plan).await?;
        store::plans::insert_revision(tx, &crate::plans::revision(&plan, 1)).await?;
        store::walkthroughs::put(tx, &crate::walkthroughs::walkthrough(child.id, "W")).await?;
        store::reviews::put(tx, &crate::reviews::finding(child.id, "F")).await?;
        store::documents::put(tx, &crate::documents::document(child.id, "notes")).await?;
        let decision = crate::documents::decision(child.id, world.steps[0].id);
        store::documents::insert_decision(tx, &decision).await?;
        let repository = crate::repositories::repository(world.workspace.id, "a/b");
        store::repositories::insert(tx, &repository).await?;
        store::repositories::attach(tx, child.id, repository.id, now).await?;
        let request = crate::change_requests::request(child.id, repository.id, 7);
        store::change_requests::insert(tx, &request).await?;
        let run = crate::runs::run_of(&session, domain::ids::TokenId::new());
        store::runs::insert(tx, &run).await?;
        store::run_calls::insert(tx, &crate::run_calls::call(run.run.id)).await?;
        let executor = crate::executors::executor_profile("Local");
        store::executors::insert(tx, &executor).await?;
        let folder = crate::preparations::preparation(executor.id, "/work");
        store::preparations::insert(tx, &folder).await?;
        store::mcp_configs::put(tx, world.profile.id, &McpConfig::default(), now).await?;
        store::events::append(tx, &NewEvent::new(EventKind::TaskCreated), now).await
    })
    .await
    .unwrap();
    world
}

store::on_both_engines! {
    async fn the_words_of_the_schema_are_those_of_the_domain(db: TestDb) {
        let expected: BTreeMap<_, _> = words()
            .into_iter()
            .map(|((table, column), words)| {
                ((table.to_owned(), column.to_owned()), words.into_iter().map(str::to_owned).collect::<BTreeSet<_>>())
            })
            .collect();
        assert_eq!(checked_words(&db.store).await, expected);
    }

    async fn a_word_that_nobody_knows_is_refused(db: TestDb) {
        full_world(&db).await;
        for (table, column) in words().into_keys() {
            let outcome = execute(&db.store, &format!("update {table} set {column} = 'sideways'")).await;
            assert!(matches!(outcome, Err(StoreError::Invariant(_))), "{table}.{column}: {outcome:?}");
        }
    }

    async fn flags_are_zero_or_one_and_names_are_not_empty(db: TestDb) {
        full_world(&db).await;
        let flags = [
            ("agents", "supports_mcp"),
            ("agents", "supports_mcp_override"),
            ("mcp_configs", "enabled"),
            ("agent_profiles", "passthrough"),
            ("workflows", "hidden"),
            ("steps", "allow_manual_move"),
            ("steps", "show_in_command_panel"),
            ("steps", "is_start_step"),
            ("steps", "auto_advance_requires_signal"),
            ("steps", "cancel_triggers_turn_complete"),
            ("sessions", "is_primary"),
            ("sessions", "is_passthrough"),
            ("sessions", "auto_run"),
            ("sessions", "plan_mode"),
            ("tasks", "wip_admitted"),
            ("deferred_launches", "launched"),
            ("messages", "requests_input"),
            ("message_receipts", "merged"),
            ("prompt_receipts", "merged"),
            ("queued_messages", "pinned"),
            ("operator_questions", "agent_disconnected"),
            ("run_calls", "duplicate"),
            ("run_calls", "first_retrieval"),
            ("change_requests", "auto_fix_enabled"),
            ("change_requests", "auto_merge_enabled"),
            ("change_requests", "prompt_on_review_requested"),
            ("change_requests", "prompt_on_merged"),
            ("change_requests", "prompt_on_closed"),
        ];
        for (table, column) in flags {
            for value in [-1, 2] {
                let outcome = execute(&db.store, &format!("update {table} set {column} = {value}")).await;
                assert!(matches!(outcome, Err(StoreError::Invariant(_))), "{table}.{column}: {outcome:?}");
            }
            execute(&db.store, &format!("update {table} set {column} = 0")).await.unwrap();
        }
        for (table, column) in [
            ("workspaces", "name"),
            ("agents", "name"),
            ("agents", "command"),
            ("agent_profiles", "name"),
            ("workflows", "name"),
            ("steps", "name"),
            ("tasks", "title"),
            ("access_tokens", "name"),
            ("runs", "agent"),
            ("plans", "title"),
            ("walkthroughs", "title"),
            ("plan_revisions", "title"),
            ("repositories", "name"),
            ("executor_profiles", "executor_id"),
            ("executor_profiles", "name"),
            ("preparations", "node"),
            ("preparations", "folder"),
            ("review_findings", "file"),
            ("review_findings", "category"),
            ("review_findings", "title"),
        ] {
            for value in ["''", "null"] {
                let outcome = execute(&db.store, &format!("update {table} set {column} = {value}")).await;
                assert!(matches!(outcome, Err(StoreError::Invariant(_))), "{table}.{column}: {outcome:?}");
            }
        }
        for (table, column) in [
            ("steps", "position"), ("steps", "wip_limit"), ("steps", "auto_archive_after_hours"), ("tasks", "position"),
        ] {
            let outcome = execute(&db.store, &format!("update {table} set {column} = -1")).await;
            assert!(matches!(outcome, Err(StoreError::Invariant(_))), "{table}.{column}: {outcome:?}");
        }
        assert_invariant(execute(&db.store, "update queued_messages set state = 'attempted'").await);
    }
}
