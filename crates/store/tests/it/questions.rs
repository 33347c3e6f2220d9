use crate::world::{
    UNICODE, World, assert_invariant, assert_unique, at, execute, question, read, write,
};
use domain::ids::{PromptId, QuestionId, SessionId, TaskId, TurnId};
use domain::question::{ParentQuestion, QuestionStatus};
use std::slice::from_ref;
use store::questions::{
    clear_prompt, find, insert, of_tool_call, of_turn, pending, pending_of_child,
    pending_of_parent, pending_of_session, resolve_if_pending, set_delivered, set_prompt,
};
use store::{Store, Write};

async fn stored(store: &Store, id: QuestionId) -> Option<ParentQuestion> {
    read(store, async |db| find(db, id).await).await
}

fn answered(question: &ParentQuestion) -> ParentQuestion {
    ParentQuestion {
        status: QuestionStatus::Answered,
        response: Some(UNICODE.to_owned()),
        answered_by_session_id: Some(SessionId::new()),
        resolved_at: Some(at(9)),
        ..question.clone()
    }
}

store::on_both_engines! {
    async fn a_question_is_read_as_it_was_written(db: TestDb) {
        let world = World::new(&db).await;
        let parent = world.add_task().await;
        let child = world.add_child(&parent).await;
        let session = world.add_session(&child).await;
        let whole = ParentQuestion {
            child_turn_id: Some(TurnId::new()),
            tool_call_key: UNICODE.to_owned(),
            context: Some(UNICODE.to_owned()),
            blocked_effect: Some(UNICODE.to_owned()),
            prompt_id: Some(PromptId::new()),
            delivered_at: Some(at(2)),
            created_at: at(1),
            ..answered(&question(&session, parent.id))
        };
        let whole = world.put_question(whole).await;
        let bare = world.put_question(question(&session, parent.id)).await;
        assert_eq!(stored(&db.store, whole.id).await, Some(whole.clone()));
        assert_eq!(stored(&db.store, bare.id).await, Some(bare));
        assert_eq!(stored(&db.store, QuestionId::new()).await, None);
        let of = async |key: &str| read(&db.store, async |db| of_tool_call(db, session.id, key).await).await;
        assert_eq!(of(UNICODE).await, Some(whole.clone()));
        assert_eq!(of("another").await, None);
        let turn = whole.child_turn_id.unwrap();
        let in_turn = async |session, turn| {
            read(&db.store, async |db| of_turn(db, session, turn).await).await
        };
        assert_eq!(in_turn(session.id, turn).await, Some(whole));
        assert_eq!(in_turn(session.id, TurnId::new()).await, None);
        assert_eq!(in_turn(SessionId::new(), turn).await, None);
    }

    async fn a_session_has_one_pending_question_and_a_tool_call_one_ever(db: TestDb) {
        let world = World::new(&db).await;
        let parent = world.add_task().await;
        let child = world.add_child(&parent).await;
        let (session, another) = (world.add_session(&child).await, world.add_session(&child).await);
        let first = world.put_question(question(&session, parent.id)).await;
        world.put_question(question(&another, parent.id)).await;
        assert_unique(write(&db.store, async |tx| insert(tx, &question(&session, parent.id)).await).await);

        let ended = answered(&first);
        write(&db.store, async |tx| resolve_if_pending(tx, &ended).await.map(drop)).await.unwrap();
        let repeated = ParentQuestion { tool_call_key: first.tool_call_key, ..question(&session, parent.id) };
        assert_unique(write(&db.store, async |tx| insert(tx, &repeated).await).await);
        world.put_question(question(&session, parent.id)).await;
    }

    async fn of_all_that_would_end_a_question_one_does(db: TestDb) {
        let world = World::new(&db).await;
        let parent = world.add_task().await;
        let session = world.add_session(&world.add_child(&parent).await).await;
        let asked = world.put_question(question(&session, parent.id)).await;
        let mut ends = vec![answered(&asked), answered(&asked)];
        for status in [QuestionStatus::Superseded, QuestionStatus::Stale] {
            ends.push(ParentQuestion { status, resolved_at: Some(at(10)), ..asked.clone() });
        }
        let attempts: Vec<_> = ends
            .iter()
            .cloned()
            .map(|end| {
                let store = db.store.clone();
                tokio::spawn(async move { write(&store, async |tx| resolve_if_pending(tx, &end).await).await.unwrap() })
            })
            .collect();
        let mut winners = Vec::new();
        for (attempt, end) in attempts.into_iter().zip(ends) {
            if attempt.await.unwrap() == Write::Changed {
                winners.push(end);
            }
        }
        assert_eq!(winners.len(), 1);
        assert_eq!(stored(&db.store, asked.id).await, winners.pop());
    }

    async fn a_question_has_an_end_and_an_answer_exactly_when_its_status_says_so(db: TestDb) {
        let world = World::new(&db).await;
        let parent = world.add_task().await;
        let child = world.add_child(&parent).await;
        for status in QuestionStatus::ALL {
            for resolved_at in [None, Some(at(1))] {
                for response in [None, Some("yes".to_owned())] {
                    let session = world.add_session(&child).await;
                    let coherent = (*status == QuestionStatus::Pending) == resolved_at.is_none()
                        && (*status == QuestionStatus::Answered) == response.is_some();
                    let question =
                        ParentQuestion { status: *status, resolved_at, response, ..question(&session, parent.id) };
                    let outcome = write(&db.store, async |tx| insert(tx, &question).await).await;
                    if coherent {
                        outcome.unwrap();
                    } else {
                        assert_invariant(outcome);
                    }
                }
            }
        }
        assert_invariant(execute(&db.store, "update parent_questions set status = 'pending' where status = 'stale'").await);
    }

    async fn pending_questions_are_found_from_every_side(db: TestDb) {
        let world = World::new(&db).await;
        let (parent, grandparent) = (world.add_task().await, world.add_task().await);
        let child = world.add_child(&parent).await;
        let (session, another) = (world.add_session(&child).await, world.add_session(&child).await);
        let parent_session = world.add_session(&parent).await;
        let over = world.put_question(answered(&question(&session, parent.id))).await;
        let late = ParentQuestion { created_at: at(3), ..question(&session, parent.id) };
        let late = world.put_question(late).await;
        let early = world.put_question(question(&another, parent.id)).await;
        let relayed = ParentQuestion { created_at: at(5), ..question(&parent_session, grandparent.id) };
        let relayed = world.put_question(relayed).await;

        let of_session =
            async |id| read(&db.store, async |db| pending_of_session(db, id).await).await.map(|question| question.id);
        assert_eq!(of_session(session.id).await, Some(late.id));
        assert_eq!(of_session(another.id).await, Some(early.id));
        assert_eq!(of_session(SessionId::new()).await, None);
        let of_child = async |id| read(&db.store, async |db| pending_of_child(db, id).await).await;
        let of_parent = async |id| read(&db.store, async |db| pending_of_parent(db, id).await).await;
        assert_eq!(of_child(child.id).await, [early.clone(), late.clone()]);
        assert_eq!(of_child(parent.id).await, from_ref(&relayed));
        assert_eq!(of_parent(parent.id).await, [early.clone(), late.clone()]);
        assert_eq!(of_parent(grandparent.id).await, from_ref(&relayed));
        assert!(of_parent(TaskId::new()).await.is_empty());
        assert_eq!(read(&db.store, async |db| pending(db).await).await, [early, late, relayed]);
        assert_eq!(stored(&db.store, over.id).await, Some(over));
    }

    async fn a_question_remembers_its_prompt_and_its_first_delivery(db: TestDb) {
        let world = World::new(&db).await;
        let parent = world.add_task().await;
        let session = world.add_session(&world.add_child(&parent).await).await;
        let asked = world.put_question(question(&session, parent.id)).await;
        let prompts = [PromptId::new(), PromptId::new()];
        write(&db.store, async |tx| {
            for prompt in prompts {
                set_prompt(tx, asked.id, prompt).await?;
            }
            set_delivered(tx, asked.id, at(4)).await?;
            set_delivered(tx, asked.id, at(5)).await
        })
        .await
        .unwrap();
        let expected = ParentQuestion { prompt_id: Some(prompts[1]), delivered_at: Some(at(4)), ..asked.clone() };
        assert_eq!(stored(&db.store, asked.id).await, Some(expected.clone()));
        write(&db.store, async |tx| clear_prompt(tx, asked.id).await).await.unwrap();
        assert_eq!(stored(&db.store, asked.id).await, Some(expected), "it was delivered");
        let other = world.add_session(&world.add_child(&parent).await).await;
        let waits = world.put_question(question(&other, parent.id)).await;
        write(&db.store, async |tx| {
            set_prompt(tx, waits.id, prompts[0]).await?;
            clear_prompt(tx, waits.id).await
        })
        .await
        .unwrap();
        assert_eq!(stored(&db.store, waits.id).await, Some(waits));
    }
}
