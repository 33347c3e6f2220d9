use crate::world::{UNICODE, World, assert_invariant, at, permission, read, write};
use domain::ids::{PermissionId, SessionId, TaskId, TurnId};
use domain::permission::{Permission, PermissionStatus};
use store::permissions::{
    find, insert, pending_of_all, pending_of_session, pending_of_task, resolve_if_pending,
};
use store::{Store, Write};

async fn stored(store: &Store, id: PermissionId) -> Option<Permission> {
    read(store, async |db| find(db, id).await).await
}

store::on_both_engines! {
    async fn a_request_is_read_as_it_was_written(db: TestDb) {
        let world = World::new(&db).await;
        let (_, session) = world.add_conversation().await;
        let bare = world.put_permission(permission(&session)).await;
        let whole = Permission {
            turn_id: Some(TurnId::new()),
            request_id: UNICODE.to_owned(),
            options: Vec::new(),
            status: PermissionStatus::Selected,
            option_id: Some(UNICODE.to_owned()),
            created_at: at(1),
            resolved_at: Some(at(2)),
            ..permission(&session)
        };
        let whole = world.put_permission(whole).await;
        assert_eq!(stored(&db.store, bare.id).await, Some(bare));
        assert_eq!(stored(&db.store, whole.id).await, Some(whole));
        assert_eq!(stored(&db.store, PermissionId::new()).await, None);
    }

    async fn the_first_choice_stands(db: TestDb) {
        let world = World::new(&db).await;
        let (_, session) = world.add_conversation().await;
        let asked = world.put_permission(permission(&session)).await;
        let chosen = Permission {
            status: PermissionStatus::Selected,
            option_id: Some("allow".to_owned()),
            resolved_at: Some(at(1)),
            ..asked.clone()
        };
        let cancelled =
            Permission { status: PermissionStatus::Cancelled, resolved_at: Some(at(2)), ..asked.clone() };
        let end = async |permission: &Permission| {
            write(&db.store, async |tx| resolve_if_pending(tx, permission).await).await.unwrap()
        };
        assert_eq!(end(&chosen).await, Write::Changed);
        assert_eq!(end(&cancelled).await, Write::Stale);
        assert_eq!(stored(&db.store, asked.id).await, Some(chosen));
    }

    async fn a_request_has_an_end_and_a_choice_exactly_when_its_status_says_so(db: TestDb) {
        let world = World::new(&db).await;
        let (_, session) = world.add_conversation().await;
        for status in PermissionStatus::ALL {
            for resolved_at in [None, Some(at(1))] {
                for option_id in [None, Some("allow".to_owned())] {
                    let coherent = (*status == PermissionStatus::Pending) == resolved_at.is_none()
                        && (*status == PermissionStatus::Selected) == option_id.is_some();
                    let row = Permission { status: *status, resolved_at, option_id, ..permission(&session) };
                    let outcome = write(&db.store, async |tx| insert(tx, &row).await).await;
                    if coherent {
                        outcome.unwrap();
                    } else {
                        assert_invariant(outcome);
                    }
                }
            }
        }
    }

    async fn pending_requests_are_listed_by_age(db: TestDb) {
        let world = World::new(&db).await;
        let (task, session) = world.add_conversation().await;
        let another = world.add_session(&task).await;
        let (_, elsewhere) = world.add_conversation().await;
        let young = world.put_permission(Permission { created_at: at(2), ..permission(&session) }).await;
        let old = world.put_permission(Permission { created_at: at(1), ..permission(&session) }).await;
        let oldest = world.put_permission(permission(&another)).await;
        let other = world.put_permission(permission(&elsewhere)).await;
        let over = Permission {
            status: PermissionStatus::Cancelled,
            resolved_at: Some(at(3)),
            ..permission(&session)
        };
        world.put_permission(over).await;
        let of_session = async |id| read(&db.store, async |db| pending_of_session(db, id).await).await;
        let of_task = async |id| read(&db.store, async |db| pending_of_task(db, id).await).await;
        assert_eq!(of_session(session.id).await, [old.clone(), young.clone()]);
        assert_eq!(of_task(task.id).await, [oldest.clone(), old.clone(), young.clone()]);
        let mut expected = vec![oldest, other, old, young];
        expected.sort_by_key(|request| (request.created_at, request.id));
        expected.truncate(3);
        assert_eq!(read(&db.store, async |db| pending_of_all(db, 3).await).await, expected);
        assert!(of_session(SessionId::new()).await.is_empty());
        assert!(of_task(TaskId::new()).await.is_empty());
    }
}
