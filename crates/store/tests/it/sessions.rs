use crate::world::{
    UNICODE, World, assert_invariant, assert_unique, at, execute, prompt, read, write,
};
use domain::ids::{ProfileId, SessionId, TaskId};
use domain::queue::Lane;
use domain::session::{FreshStart, Session, SessionState};
use domain::task::Task;
use store::sessions::{
    delete, find, insert, list, orphaned, renew_leases, update, with_queued_prompts,
};
use store::{Store, Write};

async fn stored(store: &Store, id: SessionId) -> Option<Session> {
    read(store, async |db| find(db, id).await).await
}

/// A session with a value in every column that may be empty.
fn whole_session(world: &World, task: &Task) -> Session {
    Session {
        name: Some(UNICODE.to_owned()),
        made_for: Some(UNICODE.to_owned()),
        state: SessionState::Failed,
        is_primary: true,
        is_passthrough: true,
        provider_session_id: Some(UNICODE.to_owned()),
        workspace_path: Some("/work/ö".to_owned()),
        error_message: Some(UNICODE.to_owned()),
        generation: 1 << 40,
        auto_run: false,
        plan_mode: true,
        session_mode: Some(UNICODE.to_owned()),
        session_model: Some(UNICODE.to_owned()),
        fresh_start: FreshStart::Begun,
        holder: Some("node-1".to_owned()),
        lease_until: Some(at(30_000)),
        started_at: Some(at(2)),
        completed_at: Some(at(3)),
        created_at: at(1),
        updated_at: at(4),
        version: 9,
        ..world.session(task)
    }
}

store::on_both_engines! {
    async fn a_session_is_read_as_it_was_written(db: TestDb) {
        let world = World::new(&db).await;
        let task = world.add_task().await;
        let bare = world.add_session(&task).await;
        let whole = world.put_session(whole_session(&world, &task)).await;
        assert_eq!(stored(&db.store, bare.id).await.as_ref(), Some(&bare));
        assert_eq!(stored(&db.store, whole.id).await.as_ref(), Some(&whole));
        assert_eq!(stored(&db.store, SessionId::new()).await, None);
        let other = world.add_task().await;
        world.add_session(&other).await;
        assert_eq!(read(&db.store, async |db| list(db, task.id).await).await, [whole, bare], "newest first");
        assert!(read(&db.store, async |db| list(db, TaskId::new()).await).await.is_empty());
    }

    async fn an_update_writes_all_that_may_change_and_nothing_else(db: TestDb) {
        let world = World::new(&db).await;
        let (task, before) = world.add_conversation().await;
        let bystander = world.add_session(&task).await;
        let wanted =
            Session { id: before.id, version: before.version, ..whole_session(&world, &task) };
        let expected = Session {
            is_passthrough: before.is_passthrough,
            made_for: before.made_for.clone(),
            created_at: before.created_at,
            version: before.version + 1,
            ..wanted.clone()
        };
        let change =
            async |session: &Session| write(&db.store, async |tx| update(tx, session).await).await.unwrap();
        assert_eq!(change(&wanted).await, Write::Changed);
        assert_eq!(stored(&db.store, before.id).await, Some(expected.clone()));
        assert_eq!(stored(&db.store, bystander.id).await, Some(bystander));

        assert_eq!(change(&wanted).await, Write::Stale);
        assert_eq!(stored(&db.store, before.id).await, Some(expected.clone()));
        assert_eq!(change(&Session { version: expected.version, ..before.clone() }).await, Write::Changed);
        assert_eq!(stored(&db.store, before.id).await, Some(Session { version: expected.version + 1, ..before }));
        assert_eq!(change(&world.session(&task)).await, Write::Stale, "a session that is gone");
    }

    async fn a_session_goes_with_all_that_hangs_on_it_and_nothing_else(db: TestDb) {
        let world = World::new(&db).await;
        let (task, gone) = world.add_conversation().await;
        let stays = world.add_session(&task).await;
        for session in [&gone, &stays] {
            world.put_prompt(prompt(session, Lane::Normal)).await;
        }
        write(&db.store, async |tx| delete(tx, gone.id).await).await.unwrap();
        assert_eq!(stored(&db.store, gone.id).await, None);
        assert_eq!(read(&db.store, async |db| list(db, task.id).await).await, std::slice::from_ref(&stays));
        let waits = read(&db.store, async |db| store::queue::list_by_task(db, task.id).await).await;
        assert_eq!(waits.len(), 1);
        assert_eq!(waits[0].session_id, stays.id);
    }

    async fn a_task_has_one_primary_session(db: TestDb) {
        let world = World::new(&db).await;
        let (task, other) = (world.add_task().await, world.add_task().await);
        let primary = |task: &Task| Session { is_primary: true, ..world.session(task) };
        world.put_session(primary(&task)).await;
        world.put_session(primary(&other)).await;
        let second = world.add_session(&task).await;
        world.add_session(&task).await;
        assert_unique(write(&db.store, async |tx| insert(tx, &primary(&task)).await).await);
        let promoted = Session { is_primary: true, ..second };
        assert_unique(write(&db.store, async |tx| update(tx, &promoted).await).await);
    }

    async fn a_session_has_an_end_exactly_when_it_is_over(db: TestDb) {
        let world = World::new(&db).await;
        let task = world.add_task().await;
        for state in SessionState::ALL {
            for completed_at in [None, Some(at(1))] {
                let session = Session { state: *state, completed_at, ..world.session(&task) };
                let outcome = write(&db.store, async |tx| insert(tx, &session).await).await;
                if state.is_terminal() == completed_at.is_some() {
                    outcome.unwrap();
                } else {
                    assert_invariant(outcome);
                }
            }
        }
    }

    async fn a_session_needs_its_task_and_a_profile(db: TestDb) {
        let world = World::new(&db).await;
        let task = world.add_task().await;
        let homeless = Session { task_id: TaskId::new(), ..world.session(&task) };
        assert_invariant(write(&db.store, async |tx| insert(tx, &homeless).await).await);
        let unprofiled = Session { agent_profile_id: ProfileId::new(), ..world.session(&task) };
        assert_invariant(write(&db.store, async |tx| insert(tx, &unprofiled).await).await);
        world.add_session(&task).await;
        assert_invariant(execute(&db.store, "delete from agent_profiles").await);
    }

    async fn a_holder_renews_all_its_leases_and_only_its_own(db: TestDb) {
        let world = World::new(&db).await;
        let task = world.add_task().await;
        let held = |holder: Option<&str>| Session {
            holder: holder.map(str::to_owned),
            lease_until: holder.map(|_| at(10)),
            ..world.session(&task)
        };
        let mine = [world.put_session(held(Some("me"))).await, world.put_session(held(Some("me"))).await];
        let theirs = world.put_session(held(Some("them"))).await;
        let nobodys = world.put_session(held(None)).await;

        let mut renewed = write(&db.store, async |tx| renew_leases(tx, "me", at(20)).await).await.unwrap();
        renewed.sort();
        let mut expected = mine.each_ref().map(|session| session.id).to_vec();
        expected.sort();
        assert_eq!(renewed, expected);

        for session in mine {
            let now = stored(&db.store, session.id).await.unwrap();
            assert_eq!(now, Session { lease_until: Some(at(20)), ..session }, "a renewal is no new version");
        }
        assert_eq!(stored(&db.store, theirs.id).await, Some(theirs));
        assert_eq!(stored(&db.store, nobodys.id).await, Some(nobodys));
        assert_eq!(write(&db.store, async |tx| renew_leases(tx, "nobody", at(20)).await).await.unwrap(), []);
    }

    async fn orphans_are_the_holders_own_and_those_whose_lease_is_over(db: TestDb) {
        let world = World::new(&db).await;
        let task = world.add_task().await;
        let mut ids = Vec::new();
        for (holder, lease_until) in [
            (Some("me"), Some(at(100))),
            (Some("them"), Some(at(10))),
            (Some("them"), Some(at(100))),
            (Some("them"), None),
            (None, None),
        ] {
            let session =
                Session { holder: holder.map(str::to_owned), lease_until, ..world.session(&task) };
            ids.push(world.put_session(session).await.id);
        }
        let orphans = async |holder, now| {
            let found = read(&db.store, async |db| orphaned(db, holder, now).await).await;
            found.into_iter().map(|session| session.id).collect::<Vec<_>>()
        };
        assert_eq!(orphans(Some("me"), at(50)).await, [ids[0], ids[1]]);
        assert_eq!(orphans(None, at(50)).await, [ids[1]]);
        assert!(orphans(None, at(10)).await.is_empty(), "a lease holds up to its last moment");
        assert_eq!(orphans(None, at(101)).await, [ids[0], ids[1], ids[2]]);
    }

    async fn sessions_with_prompts_are_found_unless_they_are_over(db: TestDb) {
        let world = World::new(&db).await;
        let task = world.add_task().await;
        let waiting = world.add_session(&task).await;
        let over = Session {
            state: SessionState::Cancelled,
            completed_at: Some(at(1)),
            ..world.session(&task)
        };
        let over = world.put_session(over).await;
        world.add_session(&task).await;
        for session in [&waiting, &waiting, &over] {
            world.put_prompt(prompt(session, Lane::Normal)).await;
        }
        assert_eq!(read(&db.store, async |db| with_queued_prompts(db).await).await, [waiting]);
    }
}
