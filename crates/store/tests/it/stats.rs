use crate::world::{World, at, read, write};
use domain::effect::EffectKind;
use domain::session::SessionState;
use store::stats::{effects_due, sessions, tasks};

store::on_both_engines! {
    async fn unarchived_tasks_and_sessions_are_counted_by_state(db: TestDb) {
        let world = World::new(&db).await;
        let (task, session) = world.add_conversation().await;
        let found = read(&db.store, async |db| tasks(db).await).await;
        assert_eq!(found, [(task.state, 1)]);
        let found: Vec<(SessionState, i64)> = read(&db.store, async |db| sessions(db).await).await;
        assert_eq!(found, [(session.state, 1)]);
    }

    async fn effects_of_the_future_and_those_in_hand_are_not_due(db: TestDb) {
        let world = World::new(&db).await;
        let (task, session) = world.add_conversation().await;
        write(&db.store, async |tx| {
            use store::effects::insert;
            insert(tx, EffectKind::Dispatch, task.id, session.id, None, at(0)).await?;
            insert(tx, EffectKind::StopProcess, task.id, session.id, None, at(100)).await
        })
        .await
        .unwrap();
        let due = async |now| read(&db.store, async |db| effects_due(db, at(now)).await).await;
        assert_eq!(due(50).await, 1);
        assert_eq!(due(100).await, 2);
        write(&db.store, async |tx| {
            store::effects::claim(tx, "a node", at(50), at(500), 10).await
        })
        .await
        .unwrap();
        assert_eq!(due(100).await, 1);
        assert_eq!(due(501).await, 2);
    }
}
