use crate::world::{World, at, count, read, write};
use domain::ids::{CallId, RunId, TokenId};
use domain::run::RunStatus;
use domain::run::call::{CallOutcome, ClientKind, KEPT_CALLS, RunCall, RunTool};
use domain::run::refuse::RunErrorCode;
use store::run_calls::*;

pub(crate) fn call(run: RunId) -> RunCall {
    RunCall {
        id: CallId::new(),
        run_id: run,
        tool: RunTool::Check,
        client: ClientKind::ClaudeCode,
        status: Some(RunStatus::NeedsHuman),
        outcome: CallOutcome::TimedOut,
        error: None,
        poll: Some(3),
        requested_wait_ms: Some(i64::MAX),
        waited_ms: Some(55_000),
        duration_ms: 55_001,
        bytes: 700,
        duplicate: false,
        first_retrieval: true,
        ended_at: at(1),
    }
}

store::on_both_engines! {
    async fn the_newest_calls_are_kept_as_long_as_their_run(db: TestDb) {
        let world = World::new(&db).await;
        let (_, session) = world.add_conversation().await;
        let new = crate::runs::run_of(&session, TokenId::new());
        let run = new.run.id;
        write(&db.store, async |tx| store::runs::insert(tx, &new).await).await.unwrap();
        let refused = RunCall {
            tool: RunTool::Run,
            outcome: CallOutcome::Refused,
            error: Some(RunErrorCode::SessionBusy),
            status: None,
            poll: None,
            requested_wait_ms: None,
            waited_ms: None,
            duplicate: true,
            first_retrieval: false,
            ..call(run)
        };
        let of_nobody = call(RunId::new());
        let later: Vec<RunCall> = (0..KEPT_CALLS).map(|_| call(run)).collect();
        write(&db.store, async |tx| {
            insert(tx, &refused).await?;
            insert(tx, &of_nobody).await
        }).await.unwrap();
        let shown = async |limit| read(&db.store, async |db| newest(db, run, limit).await).await;
        assert_eq!(shown(9).await, [refused]);
        write(&db.store, async |tx| {
            for call in &later {
                insert(tx, call).await?;
            }
            prune(tx, run).await
        }).await.unwrap();
        let newest_first: Vec<RunCall> = later.iter().rev().cloned().collect();
        assert_eq!(shown(KEPT_CALLS + 9).await, newest_first);
        assert_eq!(shown(2).await, newest_first[..2]);
        crate::world::execute(&db.store, "delete from runs").await.unwrap();
        assert_eq!(count(&db.store, "run_calls").await, 0);
    }
}
