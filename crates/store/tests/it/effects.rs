use crate::world::{World, at, count, read, write};
use domain::effect::{Effect, EffectKind};
use domain::session::Session;
use domain::time::Timestamp;
use std::collections::HashSet;
use store::effects::{
    claim, delete, finish_if_held, insert, next_due, next_due_for, release_all, release_if_held,
};
use store::{Store, Write};

async fn add(
    store: &Store,
    session: &Session,
    kind: EffectKind,
    subject: Option<&str>,
    run_after: Timestamp,
) {
    write(store, async |tx| {
        insert(tx, kind, session.task_id, session.id, subject, run_after).await
    })
    .await
    .unwrap();
}

async fn take(
    store: &Store,
    holder: &str,
    now: Timestamp,
    lease_until: Timestamp,
    limit: i64,
) -> Vec<Effect> {
    write(store, async |tx| {
        claim(tx, holder, now, lease_until, limit).await
    })
    .await
    .unwrap()
}

async fn finish(store: &Store, effect: &Effect, holder: &str) -> Write {
    write(store, async |tx| finish_if_held(tx, effect, holder).await)
        .await
        .unwrap()
}

async fn release(store: &Store, effect: &Effect, holder: &str, run_after: Timestamp) -> Write {
    write(store, async |tx| {
        release_if_held(tx, effect, holder, run_after).await
    })
    .await
    .unwrap()
}

async fn due(store: &Store) -> Option<Timestamp> {
    read(store, async |db| next_due(db).await).await
}

store::on_both_engines! {
    async fn an_effect_is_claimed_as_it_was_wished_for(db: TestDb) {
        let world = World::new(&db).await;
        let (task, session) = world.add_conversation().await;
        for kind in EffectKind::ALL {
            add(&db.store, &session, *kind, None, at(1)).await;
            add(&db.store, &session, *kind, Some("subject"), at(2)).await;
        }
        let claimed = take(&db.store, "me", at(10), at(20), 100).await;
        assert_eq!(claimed.len(), 2 * EffectKind::ALL.len());
        let got: HashSet<_> = claimed
            .into_iter()
            .map(|effect| {
                assert_eq!((effect.task_id, effect.session_id, effect.attempt), (task.id, session.id, 1));
                (effect.kind, effect.subject_id, effect.run_after)
            })
            .collect();
        let expected = EffectKind::ALL
            .iter()
            .flat_map(|kind| [(*kind, None, at(1)), (*kind, Some("subject".to_owned()), at(2))])
            .collect();
        assert_eq!(got, expected);
    }

    async fn an_effect_outlives_its_task(db: TestDb) {
        let world = World::new(&db).await;
        let (task, session) = world.add_conversation().await;
        add(&db.store, &session, EffectKind::StopProcess, None, at(0)).await;
        write(&db.store, async |tx| store::tasks::delete(tx, task.id).await).await.unwrap();
        let claimed = take(&db.store, "me", at(1), at(10), 1).await.remove(0);
        assert_eq!((claimed.kind, claimed.session_id), (EffectKind::StopProcess, session.id));
        assert_eq!(finish(&db.store, &claimed, "me").await, Write::Changed);
    }

    async fn like_wishes_are_one_until_somebody_begins(db: TestDb) {
        let world = World::new(&db).await;
        let (task, session) = world.add_conversation().await;
        let another = world.add_session(&task).await;
        for run_after in [at(5), at(3), at(9)] {
            add(&db.store, &session, EffectKind::Dispatch, None, run_after).await;
        }
        assert_eq!(count(&db.store, "effects").await, 1);
        assert_eq!(due(&db.store).await, Some(at(3)), "the earliest time holds");
        add(&db.store, &another, EffectKind::Dispatch, None, at(6)).await;
        add(&db.store, &session, EffectKind::StopProcess, None, at(7)).await;
        add(&db.store, &session, EffectKind::Dispatch, Some("subject"), at(8)).await;
        assert_eq!(count(&db.store, "effects").await, 4);

        let claimed = take(&db.store, "me", at(3), at(20), 10).await;
        assert_eq!(claimed.len(), 1);
        add(&db.store, &session, EffectKind::Dispatch, None, at(4)).await;
        assert_eq!(count(&db.store, "effects").await, 5, "a wish during the work is a new one");
    }

    async fn effects_are_claimed_in_the_order_they_are_due_and_once(db: TestDb) {
        let world = World::new(&db).await;
        let task = world.add_task().await;
        let mut sessions = Vec::new();
        for run_after in [4, 1, 3, 2, 5] {
            let session = world.add_session(&task).await;
            add(&db.store, &session, EffectKind::Dispatch, None, at(run_after)).await;
            sessions.push((run_after, session.id));
        }
        sessions.sort_unstable();
        let ids = |claimed: &[Effect]| claimed.iter().map(|effect| effect.session_id).collect::<Vec<_>>();
        let expected: Vec<_> = sessions.iter().map(|(_, id)| *id).collect();
        let first = take(&db.store, "me", at(4), at(100), 3).await;
        assert_eq!(ids(&first), expected[..3]);
        let second = take(&db.store, "them", at(4), at(100), 3).await;
        assert_eq!(ids(&second), expected[3..4], "what is not due yet is not given");
        assert!(take(&db.store, "me", at(4), at(100), 3).await.is_empty());
        assert!(take(&db.store, "me", at(9), at(100), 0).await.is_empty());
    }

    async fn concurrent_claims_share_no_effect(db: TestDb) {
        let world = World::new(&db).await;
        let task = world.add_task().await;
        for _ in 0..40 {
            let session = world.add_session(&task).await;
            add(&db.store, &session, EffectKind::Dispatch, None, at(0)).await;
        }
        let another = db.open_again().await;
        let holders: Vec<_> = (0..8)
            .map(|number| {
                let store = if number % 2 == 0 { db.store.clone() } else { another.clone() };
                tokio::spawn(async move {
                    let mut mine = Vec::new();
                    loop {
                        let claimed = take(&store, &format!("holder {number}"), at(1), at(100), 3).await;
                        if claimed.is_empty() {
                            return mine;
                        }
                        mine.extend(claimed.into_iter().map(|effect| effect.id));
                    }
                })
            })
            .collect();
        let mut all = Vec::new();
        for holder in holders {
            all.extend(holder.await.unwrap());
        }
        assert_eq!(all.len(), 40);
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), 40);
    }

    async fn late_holder_cannot_finish_or_release_an_effect_that_was_taken_over(db: TestDb) {
        let world = World::new(&db).await;
        let (_, session) = world.add_conversation().await;
        add(&db.store, &session, EffectKind::CancelTurn, Some("turn"), at(0)).await;
        let late = take(&db.store, "late", at(1), at(10), 1).await.remove(0);
        assert!(take(&db.store, "me", at(10), at(20), 1).await.is_empty(), "a lease holds up to its last moment");
        let mine = take(&db.store, "me", at(11), at(20), 1).await.remove(0);
        assert_eq!((mine.id, mine.attempt), (late.id, 2));

        assert_eq!(finish(&db.store, &late, "late").await, Write::Stale);
        assert_eq!(release(&db.store, &late, "late", at(0)).await, Write::Stale);
        // Not even under the name of the one who holds it now: the attempt is the fence.
        assert_eq!(finish(&db.store, &late, "me").await, Write::Stale);
        assert_eq!(count(&db.store, "effects").await, 1);
        assert_eq!(finish(&db.store, &mine, "late").await, Write::Stale);
        assert_eq!(finish(&db.store, &mine, "me").await, Write::Changed);
        assert_eq!(finish(&db.store, &mine, "me").await, Write::Stale);
        assert_eq!(count(&db.store, "effects").await, 0);
    }

    async fn a_released_effect_comes_back_later_and_keeps_count(db: TestDb) {
        let world = World::new(&db).await;
        let (_, session) = world.add_conversation().await;
        add(&db.store, &session, EffectKind::Dispatch, None, at(0)).await;
        let first = take(&db.store, "me", at(1), at(10), 1).await.remove(0);
        assert_eq!(release(&db.store, &first, "me", at(50)).await, Write::Changed);
        assert!(take(&db.store, "me", at(49), at(60), 1).await.is_empty());
        let second = take(&db.store, "them", at(50), at(60), 1).await.remove(0);
        assert_eq!((second.kind, second.attempt, second.run_after), (EffectKind::Dispatch, 2, at(50)));
        assert_eq!(finish(&db.store, &first, "me").await, Write::Stale);

        // Meanwhile somebody wished for the same: one row, the earlier time, the greater count.
        add(&db.store, &session, EffectKind::Dispatch, None, at(55)).await;
        assert_eq!(release(&db.store, &second, "them", at(70)).await, Write::Changed);
        assert_eq!(count(&db.store, "effects").await, 1);
        let third = take(&db.store, "me", at(55), at(60), 1).await.remove(0);
        assert_eq!((third.attempt, third.run_after), (3, at(55)));
    }

    async fn deleting_takes_waiting_and_held_ones_of_that_kind_and_subject(db: TestDb) {
        let world = World::new(&db).await;
        let (_, session) = world.add_conversation().await;
        let (_, elsewhere) = world.add_conversation().await;
        add(&db.store, &session, EffectKind::Dispatch, None, at(0)).await;
        take(&db.store, "me", at(1), at(10), 1).await;
        add(&db.store, &session, EffectKind::Dispatch, None, at(0)).await;
        add(&db.store, &session, EffectKind::Dispatch, Some("subject"), at(0)).await;
        add(&db.store, &session, EffectKind::StopProcess, None, at(0)).await;
        add(&db.store, &elsewhere, EffectKind::Dispatch, None, at(0)).await;
        let drop = async |subject: Option<&str>| {
            write(&db.store, async |tx| delete(tx, EffectKind::Dispatch, session.id, subject).await).await.unwrap();
        };
        drop(None).await;
        assert_eq!(count(&db.store, "effects").await, 3);
        drop(Some("subject")).await;
        assert_eq!(count(&db.store, "effects").await, 2);
    }

    async fn a_holder_that_starts_again_gives_back_what_it_held(db: TestDb) {
        let world = World::new(&db).await;
        let (task, session) = world.add_conversation().await;
        let another = world.add_session(&task).await;
        let theirs = world.add_session(&task).await;
        add(&db.store, &theirs, EffectKind::Dispatch, None, at(0)).await;
        take(&db.store, "them", at(1), at(1_000), 1).await;
        for session in [&session, &another] {
            add(&db.store, session, EffectKind::Dispatch, None, at(0)).await;
        }
        let held = take(&db.store, "me", at(1), at(1_000), 10).await;
        assert_eq!(held.len(), 2);
        // A like wish waits beside one of them.
        add(&db.store, &session, EffectKind::Dispatch, None, at(5)).await;

        assert_eq!(write(&db.store, async |tx| release_all(tx, "me").await).await.unwrap(), 1);

        let again = take(&db.store, "me", at(5), at(1_000), 10).await;
        let got: HashSet<_> = again.iter().map(|effect| (effect.session_id, effect.attempt)).collect();
        assert_eq!(got, HashSet::from([(session.id, 1), (another.id, 2)]));
        for effect in &held {
            assert_eq!(finish(&db.store, effect, "me").await, Write::Stale, "what was held before is fenced off");
        }
    }

    async fn the_next_due_time_heeds_leases(db: TestDb) {
        let world = World::new(&db).await;
        let (task, session) = world.add_conversation().await;
        let another = world.add_session(&task).await;
        assert_eq!(due(&db.store).await, None);
        add(&db.store, &session, EffectKind::Dispatch, None, at(5)).await;
        assert_eq!(due(&db.store).await, Some(at(5)));
        take(&db.store, "me", at(5), at(30), 1).await;
        let when = due(&db.store).await.unwrap();
        assert_eq!(when, at(31));
        add(&db.store, &another, EffectKind::Dispatch, None, at(40)).await;
        assert_eq!(due(&db.store).await, Some(at(31)));
        assert_eq!(take(&db.store, "them", when, at(90), 10).await.len(), 1, "what is said to be due is due");
        assert_eq!(due(&db.store).await, Some(at(40)));
    }
    async fn what_belongs_to_a_session_of_another_node_is_left_to_it_while_its_lease_holds(db: TestDb) {
        let world = World::new(&db).await;
        let task = world.add_task().await;
        let held = async |holder: Option<&str>, lease_until| {
            let holder = holder.map(str::to_owned);
            let session = Session { holder, lease_until, ..world.session(&task) };
            let session = world.put_session(session).await;
            add(&db.store, &session, EffectKind::Dispatch, None, at(5)).await;
            session.id
        };
        let due_for = async |holder: &str| {
            read(&db.store, async |db| next_due_for(db, holder).await).await
        };
        assert_eq!(due_for("me").await, None);
        let theirs = held(Some("them"), Some(at(50))).await;
        assert_eq!(due_for("me").await, Some(at(51)));
        assert_eq!(due_for("them").await, Some(at(5)));
        assert!(take(&db.store, "me", at(50), at(60), 10).await.is_empty());
        // Held without a lease is held no more.
        let unleased = held(Some("them"), None).await;
        assert_eq!(due_for("me").await, Some(at(5)));
        let (free, mine) = (held(None, None).await, held(Some("me"), Some(at(50))).await);
        let ids = |claimed: Vec<Effect>| {
            claimed.into_iter().map(|effect| effect.session_id).collect::<HashSet<_>>()
        };
        let claimed = take(&db.store, "me", at(10), at(40), 10).await;
        assert_eq!(ids(claimed), HashSet::from([unleased, free, mine]));
        assert_eq!(due_for("me").await, Some(at(41)), "its own leases run out before theirs");
        assert_eq!(ids(take(&db.store, "me", at(51), at(60), 10).await), HashSet::from([theirs, unleased, free, mine]));
    }
}
