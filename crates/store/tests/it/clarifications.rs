use crate::world::{UNICODE, World, assert_invariant, assert_unique, at, bundle, read, write};
use domain::clarification::{Claim, Clarification, ClarificationStatus, Cursor};
use domain::ids::{ClarificationId, PromptId, SessionId, TaskId, TurnId};
use serde_json::json;
use store::clarifications::{
    PendingFilter, abandoned, claimed_by, detach, find, insert, open_of_all, open_of_session,
    open_of_task, pending_page, set_disconnected, update_if,
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

fn claim(holder: &str, until: domain::time::Timestamp) -> Claim {
    Claim {
        prompt: PromptId::new(),
        holder: holder.to_owned(),
        until,
    }
}

store::on_both_engines! {
    async fn a_claim_is_kept_until_it_is_settled_and_exactly_while_an_answer_is_on_its_way(db: TestDb) {
        let world = World::new(&db).await;
        let (_, session) = world.add_conversation().await;
        let asked = world.put_bundle(bundle(&session, "call")).await;
        let claimed = Clarification {
            status: ClarificationStatus::Responding,
            response: Some(json!({"q1": UNICODE})),
            claim: Some(claim("node-1", at(50))),
            ..asked.clone()
        };
        let change = async |to: &Clarification, before| {
            write(&db.store, async |tx| update_if(tx, to, before).await).await.unwrap()
        };
        assert_eq!(change(&claimed, ClarificationStatus::Pending).await, Write::Changed);
        assert_eq!(change(&claimed, ClarificationStatus::Pending).await, Write::Stale);
        assert_eq!(stored(&db.store, asked.id).await.as_ref(), Some(&claimed));
        let prompt = claimed.claim.as_ref().unwrap().prompt;
        assert_eq!(read(&db.store, async |db| claimed_by(db, prompt).await).await.as_ref(), Some(&claimed));
        assert_eq!(read(&db.store, async |db| claimed_by(db, PromptId::new()).await).await, None);
        let of = async |holder, now| read(&db.store, async |db| abandoned(db, holder, now).await).await.len();
        assert_eq!(of(None, at(50)).await, 0);
        assert_eq!(of(None, at(51)).await, 1);
        assert_eq!(of(Some("node-1"), at(0)).await, 1);
        assert_eq!(of(Some("node-2"), at(0)).await, 0);
        assert_eq!(change(&asked, ClarificationStatus::Responding).await, Write::Changed);
        assert_eq!(stored(&db.store, asked.id).await, Some(asked));
        for bad in [
            Clarification { claim: None, ..claimed.clone() },
            Clarification { status: ClarificationStatus::Pending, ..claimed },
        ] {
            let bad = Clarification { id: ClarificationId::new(), request_key: "bad".to_owned(), ..bad };
            assert_invariant(write(&db.store, async |tx| insert(tx, &bad).await).await);
        }
    }

    async fn detaching_a_turn_changes_what_it_asked_once(db: TestDb) {
        let world = World::new(&db).await;
        let (task, session) = world.add_conversation().await;
        let another = world.add_session(&task).await;
        let turn = TurnId::new();
        let of = |key: &str| Clarification { turn_id: Some(turn), ..bundle(&session, key) };
        let live = world.put_bundle(of("live")).await;
        world.put_bundle(Clarification { agent_disconnected: true, ..of("detached") }).await;
        world.put_bundle(resolved(&of("over"), ClarificationStatus::Rejected)).await;
        world.put_bundle(bundle(&session, "another turn")).await;
        world.put_bundle(Clarification { turn_id: Some(turn), ..bundle(&another, "another session") }).await;
        let changed = async || write(&db.store, async |tx| detach(tx, session.id, turn).await).await.unwrap();
        assert_eq!(changed().await, [live.id]);
        assert!(changed().await.is_empty());
        let expected = Clarification { agent_disconnected: true, ..live.clone() };
        assert_eq!(stored(&db.store, live.id).await, Some(expected));
    }

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
        write(&db.store, async |tx| update_if(tx, &ended, ClarificationStatus::Pending).await.map(drop)).await.unwrap();
        world.put_bundle(bundle(&session, "call")).await;
    }

    async fn of_two_operators_one_answers(db: TestDb) {
        let world = World::new(&db).await;
        let (_, session) = world.add_conversation().await;
        let asked = world.put_bundle(bundle(&session, "call")).await;
        let first = resolved(&asked, ClarificationStatus::Answered);
        let second = Clarification { response: None, ..resolved(&asked, ClarificationStatus::Rejected) };
        let end = async |bundle: &Clarification| {
            write(&db.store, async |tx| update_if(tx, bundle, ClarificationStatus::Pending).await).await.unwrap()
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
                    claim: (*status == ClarificationStatus::Responding).then(|| claim("node-1", at(5))),
                    resolved_at,
                    ..bundle(&session, &format!("{status} {resolved_at:?}"))
                };
                let outcome = write(&db.store, async |tx| insert(tx, &bundle).await).await;
                if status.is_open() == resolved_at.is_none() {
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
        write(&db.store, async |tx| update_if(tx, &ended, ClarificationStatus::Pending).await.map(drop)).await.unwrap();
        assert!(!note(true).await, "nobody waits for an ended one");
        assert_eq!(stored(&db.store, asked.id).await, Some(ended));
    }

    async fn open_bundles_are_listed_by_age(db: TestDb) {
        let world = World::new(&db).await;
        let (task, session) = world.add_conversation().await;
        let another = world.add_session(&task).await;
        let (_, elsewhere) = world.add_conversation().await;
        let young = world.put_bundle(Clarification { created_at: at(2), ..bundle(&session, "1") }).await;
        let old = world.put_bundle(Clarification { created_at: at(1), ..bundle(&session, "2") }).await;
        let oldest = world.put_bundle(bundle(&another, "3")).await;
        let other = world.put_bundle(bundle(&elsewhere, "4")).await;
        world.put_bundle(resolved(&bundle(&session, "5"), ClarificationStatus::Answered)).await;
        let of_session = async |id| read(&db.store, async |db| open_of_session(db, id).await).await;
        let of_task = async |id| read(&db.store, async |db| open_of_task(db, id).await).await;
        assert_eq!(of_session(session.id).await, [old.clone(), young.clone()]);
        assert_eq!(of_task(task.id).await, [oldest.clone(), old.clone(), young.clone()]);
        let all = read(&db.store, async |db| open_of_all(db, 3).await).await;
        let mut expected = vec![oldest, other, old, young];
        expected.sort_by_key(|bundle| (bundle.created_at, bundle.id));
        expected.truncate(3);
        assert_eq!(all, expected);
        assert!(of_session(SessionId::new()).await.is_empty());
        assert!(of_task(TaskId::new()).await.is_empty());
    }

    async fn pending_bundles_come_in_pages_oldest_first(db: TestDb) {
        let world = World::new(&db).await;
        let other = World::beside(&db, "Other").await;
        let mut asked = Vec::new();
        for (world, millis) in [(&world, 3), (&other, 1), (&world, 2), (&world, 2)] {
            let task = world.add_task().await;
            let session = world.add_session(&task).await;
            let bundle = Clarification { created_at: at(millis), ..bundle(&session, "key") };
            write(&db.store, async |tx| insert(tx, &bundle).await).await.unwrap();
            asked.push(bundle);
        }
        let mut ended = asked[0].clone();
        ended.id = ClarificationId::new();
        ended.request_key = "ended".to_owned();
        ended.status = ClarificationStatus::Expired;
        ended.resolved_at = Some(at(4));
        write(&db.store, async |tx| insert(tx, &ended).await).await.unwrap();
        asked.sort_by_key(|bundle| (bundle.created_at, bundle.id.to_string()));
        let page = async |filter: PendingFilter| read(&db.store, async |db| pending_page(db, &filter).await).await;
        let all = PendingFilter { limit: 10, ..PendingFilter::default() };
        assert_eq!(page(all.clone()).await, asked);
        let mut paged = Vec::new();
        let mut after = None;
        loop {
            let found = page(PendingFilter { limit: 1, after, ..PendingFilter::default() }).await;
            let Some(last) = found.last() else { break };
            after = Some(Cursor { at: last.created_at, id: last.id });
            paged.extend(found);
        }
        assert_eq!(paged, asked, "also those of one moment");
        let own = page(PendingFilter { workspaces: Some(vec![other.workspace.id]), ..all.clone() }).await;
        assert_eq!(own, asked[..1]);
        let both = vec![other.workspace.id, world.workspace.id];
        assert_eq!(page(PendingFilter { workspaces: Some(both), ..all.clone() }).await.len(), 4);
        assert!(page(PendingFilter { workspaces: Some(Vec::new()), ..all.clone() }).await.is_empty());
        assert_eq!(page(PendingFilter { since: Some(at(3)), ..all }).await, asked[3..]);
    }
}
