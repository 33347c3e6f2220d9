//! Operator, agents and the node at one queue, really at once: one outcome wins, and nothing is lost, doubled or sent under the
//! wrong words.

use crate::puppet::Puppet;
use crate::races::{ROUNDS, at_once, on_board};
use crate::world::{NODE, World, soon};
use board::{Actor, Board, BoardError, Next, Result};
use domain::error::ErrorCode;
use domain::ids::PromptId;
use domain::session::SessionState;
use domain::view::DeliveryStatus;
use std::collections::BTreeSet;

const OPERATOR: Actor = Actor::Operator;

async fn waits(puppet: &Puppet, texts: &[&str]) -> Vec<PromptId> {
    let mut ids = Vec::new();
    for text in texts {
        ids.push(puppet.operator_says(text).await.queue_entry_id.unwrap());
    }
    ids
}

/// A session whose agent rests, with these prompts held; then they are let go, and whoever asks first gets the first.
async fn about_to_deliver(world: &World, texts: &[&str]) -> (Puppet, Vec<PromptId>) {
    let puppet = world.resting("Task").await;
    let board = world.board();
    board
        .session_auto_run(&OPERATOR, puppet.session, false)
        .await
        .unwrap();
    let ids = waits(&puppet, texts).await;
    world.run().await;
    board
        .session_auto_run(&OPERATOR, puppet.session, true)
        .await
        .unwrap();
    (puppet, ids)
}

/// Reserves the next prompt, as the node would.
fn reserve(
    world: &World,
    puppet: &Puppet,
) -> impl Future<Output = Result<Option<(PromptId, String)>>> + Send + 'static {
    let session = puppet.session;
    on_board(world, move |board: Board| async move {
        Ok(
            match board.delivery_next(session, NODE, true, None).await? {
                Next::Deliver(delivery) => Some((delivery.prompt, delivery.text)),
                Next::Rest | Next::Restart | Next::Launch(_) => None,
            },
        )
    })
}

#[track_caller]
fn code<T: std::fmt::Debug>(outcome: &Result<T>) -> Option<ErrorCode> {
    match outcome {
        Ok(_) => None,
        Err(BoardError::Refused(refusal)) => Some(refusal.code),
        Err(error) => panic!("{error:?}"),
    }
}

/// Lets everything be delivered and gives what the agent heard after its first prompt.
async fn all_heard(world: &World, puppet: &Puppet) -> Vec<String> {
    soon(Box::pin(async {
        loop {
            world.run().await;
            if !puppet.is_in_turn() {
                break;
            }
            puppet.end_turn().await;
        }
    }))
    .await;
    world.assert_heard_once();
    puppet.texts().split_off(1)
}

store::on_both_engines! {
    async fn a_removal_races_the_reservation_of_its_prompt(db: TestDb) {
        let world = World::new(db).await;
        for _ in 0..ROUNDS {
            let (puppet, ids) = about_to_deliver(&world, &["one", "two"]).await;
            let one = ids[0];
            let (reserved, removed) = at_once(
                reserve(&world, &puppet),
                on_board(&world, move |b| async move { b.prompt_remove(&OPERATOR, one).await }),
            ).await;
            let reserved = reserved.unwrap().expect("something is there to be delivered").0;
            match code(&removed) {
                None => assert_eq!(reserved, ids[1]),
                Some(code) => {
                    assert_eq!((code, reserved), (ErrorCode::Conflict, one));
                }
            }
            let expected: &[&str] = if removed.is_ok() { &["two"] } else { &["one", "two"] };
            assert_eq!(all_heard(&world, &puppet).await, expected);
        }
    }

    async fn an_edit_races_the_reservation_of_its_prompt(db: TestDb) {
        let world = World::new(db).await;
        for _ in 0..ROUNDS {
            let (puppet, ids) = about_to_deliver(&world, &["one"]).await;
            let one = ids[0];
            let (reserved, edited) = at_once(
                reserve(&world, &puppet),
                on_board(&world, move |b| async move { b.prompt_edit(&OPERATOR, one, "ONE", Some("one")).await }),
            ).await;
            let (_, words) = reserved.unwrap().unwrap();
            assert_eq!(words, if edited.is_ok() { "ONE" } else { "one" });
            assert_eq!(all_heard(&world, &puppet).await, [words]);
        }
    }

    async fn a_reorder_races_a_delivery(db: TestDb) {
        let world = World::new(db).await;
        for _ in 0..ROUNDS {
            let (puppet, ids) = about_to_deliver(&world, &["one", "two", "three"]).await;
            let (session, wanted) = (puppet.session, vec![ids[2], ids[1], ids[0]]);
            let (reserved, reordered) = at_once(
                reserve(&world, &puppet),
                on_board(&world, move |b| async move { b.queue_reorder(&OPERATOR, session, &wanted).await }),
            ).await;
            let reserved = reserved.unwrap().unwrap().0;
            let expected = match code(&reordered) {
                None => ["three", "two", "one"],
                Some(code) => {
                    assert_eq!(code, ErrorCode::Conflict, "the set is another by now");
                    ["one", "two", "three"]
                }
            };
            assert_eq!(reserved, if reordered.is_ok() { ids[2] } else { ids[0] });
            assert_eq!(all_heard(&world, &puppet).await, expected);
        }
    }

    async fn a_merge_races_the_reservation_of_what_it_merges_into(db: TestDb) {
        let world = World::new(db).await;
        for _ in 0..ROUNDS {
            let (puppet, ids) = about_to_deliver(&world, &["one", "two"]).await;
            let two = ids[1];
            let (reserved, merged) = at_once(
                reserve(&world, &puppet),
                on_board(&world, move |b| async move { b.prompt_merge(&OPERATOR, two).await }),
            ).await;
            assert_eq!(reserved.unwrap().unwrap().0, ids[0]);
            let expected: &[&str] = if merged.is_ok() { &["one\n\ntwo"] } else { &["one", "two"] };
            assert_eq!(all_heard(&world, &puppet).await, expected);
        }
    }

    async fn a_clearing_races_a_message(db: TestDb) {
        let world = World::new(db).await;
        let sender = world.working("Sender").await;
        for round in 0..ROUNDS {
            let puppet = world.working("Task").await;
            waits(&puppet, &["one"]).await;
            let (session, task, teller) = (puppet.session, puppet.task, sender.clone());
            let (told, cleared) = at_once(
                async move { teller.tell(task, "hello").await },
                on_board(&world, move |b| async move { b.queue_clear(&OPERATOR, session).await }),
            ).await;
            assert_eq!(told.unwrap().status, DeliveryStatus::Queued, "round {round}");
            assert_eq!(cleared.unwrap().count, 0);
            let heard = all_heard(&world, &puppet).await;
            assert!(heard.is_empty() || heard == ["hello"], "{heard:?}");
        }
    }

    // The turn ends by itself, or it is cancelled: what was sent now comes next either way, and no later turn is cut off.
    async fn sending_now_races_the_natural_end_of_the_turn(db: TestDb) {
        let world = World::new(db).await;
        for _ in 0..ROUNDS {
            let puppet = world.working("Task").await;
            let ids = waits(&puppet, &["one", "two"]).await;
            let (two, ender) = (ids[1], puppet.clone());
            let (sent, ()) = at_once(
                Box::pin(on_board(&world, {
                    let world = world.clone();
                    move |b| async move {
                        let sending = tokio::spawn(async move { b.prompt_send_now(&OPERATOR, two).await });
                        while !sending.is_finished() {
                            world.node().step(1).await;
                            tokio::task::yield_now().await;
                        }
                        sending.await.unwrap()
                    }
                })),
                async move {
                    if ender.is_in_turn() {
                        ender.end_turn_if_open().await;
                    }
                },
            ).await;
            assert_eq!(sent.unwrap().status, DeliveryStatus::Sent);
            let heard = all_heard(&world, &puppet).await;
            assert_eq!(heard[heard.len() - 2..].iter().collect::<BTreeSet<_>>().len(), 2);
            let place = |text: &str| heard.iter().position(|heard| heard == text).unwrap();
            assert!(place("one") == 0 || place("two") < place("one"), "{heard:?}");
            let session = puppet.session;
            let cancelled = world.count(&format!("turns where session_id = '{session}' and state = 'cancelled'")).await;
            assert!(cancelled <= 1);
            let cut = world.count(&format!(
                "turns where session_id = '{session}' and state = 'cancelled' and prompt_id = '{two}'"
            )).await;
            assert_eq!(cut, 0, "what was sent now is not cut off");
        }
    }

    async fn an_interrupt_races_the_stop_of_its_target_and_the_stop_wins(db: TestDb) {
        let world = World::new(db).await;
        let parent = world.resting("Parent").await;
        for _ in 0..ROUNDS {
            let child = world.child(&parent, "Child").await;
            let (teller, task, session) = (parent.clone(), child.task, child.session);
            let (outcome, stopped) = at_once(
                async move { teller.interrupt(task, "stop that").await },
                on_board(&world, move |b| async move { b.session_stop(&OPERATOR, session).await }),
            ).await;
            assert!(stopped.unwrap());
            match code(&outcome) {
                // It was stored, and then its target ended: it waits for a resume, and its sender is told so at once.
                None => {
                    assert_eq!(outcome.unwrap().status, DeliveryStatus::Queued);
                    assert_eq!(child.waiting().await, ["stop that"]);
                }
                Some(code) => {
                    assert_eq!(code, ErrorCode::Conflict);
                    assert!(child.waiting().await.is_empty());
                }
            }
            world.run().await;
            assert_eq!(child.state().await, SessionState::Cancelled, "nothing revives it");
            assert_eq!(child.texts().len(), 1);
        }
    }

    async fn of_two_who_send_the_same_message_one_is_told_that_it_was_there(db: TestDb) {
        let world = World::new(db).await;
        for round in 0..ROUNDS {
            let (sender, target) = (world.working("Sender").await, world.working("Target").await);
            let message = domain::params::MessageTask {
                idempotency_key: Some(format!("round {round}")),
                ..crate::puppet::note(target.task, "hello")
            };
            let (one, two) = (sender.clone(), sender.clone());
            let (first, second) = (message.clone(), message);
            let (first, second) = at_once(
                async move { one.send(first).await.unwrap() },
                async move { two.send(second).await.unwrap() },
            ).await;
            assert_ne!(first.deduplicated, second.deduplicated);
            assert_eq!(first.queue_entry_id, second.queue_entry_id);
            assert_eq!(target.waiting().await, ["hello"]);
        }
    }

    async fn a_message_races_the_deletion_of_its_target(db: TestDb) {
        let world = World::new(db).await;
        let sender = world.working("Sender").await;
        for _ in 0..ROUNDS {
            let target = world.resting("Target").await;
            let (teller, task) = (sender.clone(), target.task);
            let (outcome, deleted) = at_once(
                async move { teller.tell(task, "hello").await },
                on_board(&world, move |b| async move { b.task_delete(&OPERATOR, task).await }),
            ).await;
            deleted.unwrap();
            assert!(matches!(code(&outcome), None | Some(ErrorCode::NotFound)));
            world.run().await;
            assert_eq!(target.texts().len(), 1, "the deleted task's agent is given nothing");
        }
    }
}
