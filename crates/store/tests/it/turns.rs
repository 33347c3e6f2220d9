use crate::world::{UNICODE, World, assert_invariant, assert_unique, at, read, turn, write};
use domain::ids::{PromptId, SessionId, TurnId};
use domain::turn::{Turn, TurnState};
use store::turns::{
    add_stored_bytes, came_of, count, current, find, insert, latest, open, update_if_open,
};
use store::{Store, Write};

async fn stored(store: &Store, id: TurnId) -> Option<Turn> {
    read(store, async |db| find(db, id).await).await
}

store::on_both_engines! {
    async fn a_turn_is_read_as_it_was_written(db: TestDb) {
        let world = World::new(&db).await;
        let (_, session) = world.add_conversation().await;
        let whole = Turn {
            state: TurnState::Interrupted,
            generation: 1 << 40,
            step_id_at_start: Some(world.steps[1].id),
            stop_reason: Some(UNICODE.to_owned()),
            stored_bytes: 1 << 40,
            started_at: at(1),
            completed_at: Some(at(2)),
            ..turn(&session)
        };
        let whole = world.put_turn(whole).await;
        let bare = world.put_turn(turn(&session)).await;
        assert_eq!(stored(&db.store, whole.id).await, Some(whole));
        assert_eq!(stored(&db.store, bare.id).await.as_ref(), Some(&bare));
        assert_eq!(stored(&db.store, TurnId::new()).await, None);
        assert_eq!(read(&db.store, async |db| open(db, session.id).await).await, Some(bare));
        assert_eq!(read(&db.store, async |db| count(db, session.id).await).await, 2);
        assert_eq!(read(&db.store, async |db| open(db, SessionId::new()).await).await, None);
        assert_eq!(read(&db.store, async |db| count(db, SessionId::new()).await).await, 0);
    }

    async fn a_session_has_one_turn_at_a_time(db: TestDb) {
        let world = World::new(&db).await;
        let (task, session) = world.add_conversation().await;
        let another = world.add_session(&task).await;
        let first = world.put_turn(Turn { state: TurnState::Dispatching, ..turn(&session) }).await;
        world.put_turn(turn(&another)).await;
        assert_unique(write(&db.store, async |tx| insert(tx, &turn(&session)).await).await);
        let ended = Turn { state: TurnState::Completed, completed_at: Some(at(1)), ..first };
        write(&db.store, async |tx| update_if_open(tx, &ended).await.map(drop)).await.unwrap();
        let second = world.put_turn(turn(&session)).await;
        assert_eq!(read(&db.store, async |db| open(db, session.id).await).await, Some(second));
    }

    async fn an_ended_turn_stays_as_it_ended(db: TestDb) {
        let world = World::new(&db).await;
        let (_, session) = world.add_conversation().await;
        let first = world.put_turn(Turn { state: TurnState::Dispatching, ..turn(&session) }).await;
        let change = async |turn: &Turn| write(&db.store, async |tx| update_if_open(tx, turn).await).await.unwrap();

        let accepted = Turn { state: TurnState::Open, ..first };
        assert_eq!(change(&accepted).await, Write::Changed);
        assert_eq!(stored(&db.store, accepted.id).await.as_ref(), Some(&accepted));
        let ended = Turn {
            state: TurnState::Cancelled,
            stop_reason: Some("cancelled".to_owned()),
            completed_at: Some(at(5)),
            ..accepted.clone()
        };
        assert_eq!(change(&ended).await, Write::Changed);
        let late = Turn { state: TurnState::Completed, completed_at: Some(at(6)), stop_reason: None, ..accepted };
        assert_eq!(change(&late).await, Write::Stale);
        assert_eq!(stored(&db.store, ended.id).await, Some(ended));
        assert_eq!(change(&turn(&session)).await, Write::Stale, "a turn that is gone");
    }

    async fn a_turn_has_an_end_exactly_when_it_is_over(db: TestDb) {
        let world = World::new(&db).await;
        let task = world.add_task().await;
        for state in TurnState::ALL {
            for completed_at in [None, Some(at(1))] {
                let session = world.add_session(&task).await;
                let turn = Turn { state: *state, completed_at, ..turn(&session) };
                let outcome = write(&db.store, async |tx| insert(tx, &turn).await).await;
                if state.is_open() == completed_at.is_none() {
                    outcome.unwrap();
                } else {
                    assert_invariant(outcome);
                }
            }
        }
    }

    async fn the_current_turn_is_the_newest_that_an_agent_has_taken(db: TestDb) {
        let world = World::new(&db).await;
        let (task, session) = world.add_conversation().await;
        let another = world.add_session(&task).await;
        let now = async || read(&db.store, async |db| current(db, session.id).await).await;
        assert_eq!(now().await, None);
        let over = |started, state| Turn { started_at: at(started), state, completed_at: Some(at(9)), ..turn(&session) };
        let new = world.put_turn(over(5, TurnState::Interrupted)).await;
        world.put_turn(over(1, TurnState::Completed)).await;
        world.put_turn(Turn { started_at: at(8), ..turn(&another) }).await;
        assert_eq!(now().await, Some(new.id));
        let open = world.put_turn(Turn { started_at: at(7), state: TurnState::Dispatching, ..turn(&session) }).await;
        assert_eq!(now().await, Some(new.id), "one on its way makes nothing history");
        let taken = Turn { state: TurnState::Open, ..open };
        write(&db.store, async |tx| update_if_open(tx, &taken).await.map(drop)).await.unwrap();
        assert_eq!(now().await, Some(taken.id));
    }

    async fn stored_bytes_add_up(db: TestDb) {
        let world = World::new(&db).await;
        let (_, session) = world.add_conversation().await;
        let turn = world.put_turn(turn(&session)).await;
        let add =
            async |id, bytes| write(&db.store, async |tx| add_stored_bytes(tx, id, bytes).await).await.unwrap();
        assert_eq!(add(turn.id, 100).await, 100);
        assert_eq!(add(turn.id, 1 << 33).await, (1 << 33) + 100);
        assert_eq!(stored(&db.store, turn.id).await.map(|turn| turn.stored_bytes), Some((1 << 33) + 100));
        assert_eq!(add(TurnId::new(), 5).await, 0, "a turn that is gone");
    }

    async fn the_latest_turn_is_the_one_that_began_last(db: TestDb) {
        let world = World::new(&db).await;
        let (_, session) = world.add_conversation().await;
        let find = async |id| read(&db.store, async |db| latest(db, id).await).await;
        assert_eq!(find(session.id).await, None);
        let over = Turn { state: TurnState::Completed, completed_at: Some(at(9)), started_at: at(5), ..turn(&session) };
        let over = world.put_turn(over).await;
        assert_eq!(find(session.id).await, Some(over));
        // At one moment, the generation decides.
        let open = world.put_turn(Turn { started_at: at(5), generation: 2, ..turn(&session) }).await;
        assert_eq!(find(session.id).await, Some(open.clone()));
        assert_eq!(find(SessionId::new()).await, None);

        let was = async |session, prompt| read(&db.store, async |db| came_of(db, session, prompt).await).await;
        assert!(was(session.id, open.prompt_id).await);
        assert!(!was(session.id, PromptId::new()).await);
        assert!(!was(SessionId::new(), open.prompt_id).await);
    }
}
