use crate::world::{UNICODE, World, assert_invariant, assert_unique, at, bundle, read, write};
use domain::clarification::{Clarification, ClarificationStatus};
use domain::ids::{ClarificationId, SessionId, TaskId, TurnId};
use serde_json::json;
use store::clarifications::{
    find, insert, pending_of_session, pending_of_task, resolve_if_pending, set_disconnected,
};
use store::{Store, Write};

async fn stored(store: &Store, id: ClarificationId) -> Option<Clarification> {
    read(store, async |db| find(db, id).await).await
}

fn resolved(bundle: &Clarification, status: ClarificationStatus) -> Clarification {
    Clarification {
        status,
        response: Some(json!({"q1": UNICODE})),
        resolved_at: Some(at(9)),
        ..bundle.clone()
    }
}

store::on_both_engines! {
    async fn a_bundle_is_read_as_it_was_written(db: TestDb) {
        let world = World::new(&db).await;
        let (_, session) = world.add_conversation().await;
        let whole = Clarification {
            turn_id: Some(TurnId::new()),
            context: Some(UNICODE.to_owned()),
            agent_disconnected: true,
            created_at: at(1),
            ..resolved(&bundle(&session, UNICODE), ClarificationStatus::Expired)
        };
        let whole = world.put_bundle(whole).await;
        let bare = world.put_bundle(bundle(&session, "")).await;
        // A response that is JSON's null is not the absence of one.
        let null = Clarification {
            response: Some(serde_json::Value::Null),
            ..resolved(&bundle(&session, "null"), ClarificationStatus::Rejected)
        };
        let null = world.put_bundle(null).await;
        for expected in [whole, bare, null] {
            assert_eq!(stored(&db.store, expected.id).await, Some(expected));
        }
        assert_eq!(stored(&db.store, ClarificationId::new()).await, None);
    }

    async fn a_call_has_one_pending_bundle(db: TestDb) {
        let world = World::new(&db).await;
        let (task, session) = world.add_conversation().await;
        let another = world.add_session(&task).await;
        let first = world.put_bundle(bundle(&session, "call")).await;
        world.put_bundle(bundle(&session, "another call")).await;
        world.put_bundle(bundle(&another, "call")).await;
        assert_unique(write(&db.store, async |tx| insert(tx, &bundle(&session, "call")).await).await);
        let ended = resolved(&first, ClarificationStatus::Cancelled);
        write(&db.store, async |tx| resolve_if_pending(tx, &ended).await.map(drop)).await.unwrap();
        world.put_bundle(bundle(&session, "call")).await;
    }

    async fn of_two_operators_one_answers(db: TestDb) {
        let world = World::new(&db).await;
        let (_, session) = world.add_conversation().await;
        let asked = world.put_bundle(bundle(&session, "call")).await;
        let first = resolved(&asked, ClarificationStatus::Answered);
        let second = Clarification { response: None, ..resolved(&asked, ClarificationStatus::Rejected) };
        let end = async |bundle: &Clarification| {
            write(&db.store, async |tx| resolve_if_pending(tx, bundle).await).await.unwrap()
        };
        assert_eq!(end(&first).await, Write::Changed);
        assert_eq!(end(&second).await, Write::Stale);
        assert_eq!(end(&first).await, Write::Stale);
        assert_eq!(stored(&db.store, asked.id).await, Some(first));
        assert_eq!(end(&bundle(&session, "gone")).await, Write::Stale);
    }

    async fn a_bundle_has_an_end_exactly_when_it_is_over(db: TestDb) {
        let world = World::new(&db).await;
        let (_, session) = world.add_conversation().await;
        for status in ClarificationStatus::ALL {
            for resolved_at in [None, Some(at(1))] {
                let bundle = Clarification {
                    status: *status,
                    resolved_at,
                    ..bundle(&session, &format!("{status} {resolved_at:?}"))
                };
                let outcome = write(&db.store, async |tx| insert(tx, &bundle).await).await;
                if (*status == ClarificationStatus::Pending) == resolved_at.is_none() {
                    outcome.unwrap();
                } else {
                    assert_invariant(outcome);
                }
            }
        }
    }

    async fn whether_an_agent_waits_can_change_while_a_bundle_is_pending(db: TestDb) {
        let world = World::new(&db).await;
        let (_, session) = world.add_conversation().await;
        let asked = world.put_bundle(bundle(&session, "call")).await;
        let note = async |disconnected| {
            write(&db.store, async |tx| set_disconnected(tx, asked.id, disconnected).await).await.unwrap()
        };
        assert!(!note(false).await, "it waits already");
        assert!(note(true).await);
        assert!(!note(true).await);
        assert!(stored(&db.store, asked.id).await.unwrap().agent_disconnected);
        assert!(note(false).await);
        let ended = resolved(&asked, ClarificationStatus::Answered);
        write(&db.store, async |tx| resolve_if_pending(tx, &ended).await.map(drop)).await.unwrap();
        assert!(!note(true).await, "nobody waits for an ended one");
        assert_eq!(stored(&db.store, asked.id).await, Some(ended));
    }

    async fn pending_bundles_are_listed_by_age(db: TestDb) {
        let world = World::new(&db).await;
        let (task, session) = world.add_conversation().await;
        let another = world.add_session(&task).await;
        let (_, elsewhere) = world.add_conversation().await;
        let young = world.put_bundle(Clarification { created_at: at(2), ..bundle(&session, "1") }).await;
        let old = world.put_bundle(Clarification { created_at: at(1), ..bundle(&session, "2") }).await;
        let oldest = world.put_bundle(bundle(&another, "3")).await;
        world.put_bundle(bundle(&elsewhere, "4")).await;
        world.put_bundle(resolved(&bundle(&session, "5"), ClarificationStatus::Answered)).await;
        let of_session = async |id| read(&db.store, async |db| pending_of_session(db, id).await).await;
        let of_task = async |id| read(&db.store, async |db| pending_of_task(db, id).await).await;
        assert_eq!(of_session(session.id).await, [old.clone(), young.clone()]);
        assert_eq!(of_task(task.id).await, [oldest, old, young]);
        assert!(of_session(SessionId::new()).await.is_empty());
        assert!(of_task(TaskId::new()).await.is_empty());
    }
}
