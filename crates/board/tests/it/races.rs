//! Two at once, really at once: whoever wins, exactly one does, and the loser is told.

use crate::puppet::{Puppet, choice, note};
use crate::world::{NODE, World, prompted, soon};
use board::{Actor, Board, BoardError, Next, Result};
use domain::clarification::{AnswerItem, ClarificationAnswer, ClarificationStatus};
use domain::error::ErrorCode;
use domain::ids::{QuestionId, SessionId};
use domain::message::MessageType;
use domain::params::{CreateTask, UpdateTask};
use domain::question::QuestionStatus;
use domain::session::SessionState;
use domain::view::{DeliveryStatus, MessageOutcome};
use serde_json::json;
use std::sync::Arc;
use tokio::sync::Barrier;

/// Runs both at the same moment.
pub(crate) fn at_once<A: Send + 'static, B: Send + 'static>(
    one: impl Future<Output = A> + Send + 'static,
    two: impl Future<Output = B> + Send + 'static,
) -> impl Future<Output = (A, B)> {
    // On the heap: whole operations of the board are large to hand around.
    let (one, two) = (Box::pin(one), Box::pin(two));
    async move {
        let start = Arc::new(Barrier::new(2));
        let first = tokio::spawn({
            let start = start.clone();
            async move {
                start.wait().await;
                one.await
            }
        });
        let second = tokio::spawn(async move {
            start.wait().await;
            two.await
        });
        (first.await.unwrap(), second.await.unwrap())
    }
}

fn answer(
    parent: &Puppet,
    child: &Puppet,
    question: QuestionId,
    text: &'static str,
) -> impl Future<Output = Result<MessageOutcome>> + Send + 'static {
    let (parent, child) = (parent.clone(), child.clone());
    async move { parent.reply(&child, question, text).await }
}

pub(crate) fn on_board<T: Send + 'static, F: Future<Output = Result<T>> + Send + 'static>(
    world: &World,
    act: impl FnOnce(Board) -> F + Send + 'static,
) -> impl Future<Output = Result<T>> + Send + 'static {
    let board = world.board();
    async move { act(board).await }
}

/// The answer was accepted and reached the child, or it came too late and did not; never anything in between.
async fn assert_answered_or_refused(
    world: &World,
    child: &Puppet,
    question: QuestionId,
    outcome: Result<MessageOutcome>,
    otherwise: QuestionStatus,
) {
    let status = world.question_status(question).await;
    match outcome {
        Ok(sent) => {
            assert_eq!(sent.status, DeliveryStatus::Sent);
            assert_eq!(status, QuestionStatus::Answered);
        }
        Err(BoardError::Refused(refusal)) => {
            assert_eq!(refusal.code, ErrorCode::Validation);
            assert_eq!(status, otherwise);
            assert!(!child.texts().contains(&"SQLite.".to_owned()));
        }
        Err(error) => panic!("{error:?}"),
    }
    assert_eq!(child.card().await.task_pending_action, None);
}

/// How often each race is run: the winner changes.
pub(crate) const ROUNDS: usize = 6;

store::on_both_engines! {
    // D8
    async fn of_two_answers_one_is_delivered(db: TestDb) {
        let world = World::new(db).await;
        let parent = world.resting("Parent").await;
        for round in 0..ROUNDS {
            let child = world.child(&parent, "Child").await;
            let question = child.ask_and_wait("Which store?").await;
            world.run().await;
            parent.end_turn().await;
            let (one, two) = at_once(
                answer(&parent, &child, question, "SQLite."),
                answer(&parent, &child, question, "Postgres."),
            ).await;
            let mut statuses = [one.unwrap().status, two.unwrap().status];
            statuses.sort();
            assert_eq!(statuses, [DeliveryStatus::Sent, DeliveryStatus::AlreadyAnswered], "round {round}");
            world.run().await;
            assert_eq!(child.heard().len(), 2);
            assert_eq!(world.question(question).await.response, Some(child.last_heard().text));
        }
    }

    // D2, D3
    async fn of_many_asks_at_once_one_question_comes(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child) = world.family().await;
        let start = Arc::new(Barrier::new(8));
        let asks: Vec<_> = (0..8)
            .map(|n| {
                let (child, start) = (child.clone(), start.clone());
                tokio::spawn(async move {
                    start.wait().await;
                    // Half of them are the same call, half are others.
                    child.ask(&format!("Question {}?", n % 4)).await.unwrap().question_id
                })
            })
            .collect();
        let mut ids = Vec::new();
        for ask in asks {
            ids.push(ask.await.unwrap());
        }
        ids.dedup();
        assert_eq!(ids.len(), 1);
        child.end_turn().await;
        world.run().await;
        assert_eq!(world.count("parent_questions").await, 1);
        assert_eq!(parent.heard().len(), 2);
    }

    async fn an_answer_races_an_operators_message(db: TestDb) {
        let world = World::new(db).await;
        let parent = world.resting("Parent").await;
        for _ in 0..ROUNDS {
            let child = world.child(&parent, "Child").await;
            let question = child.ask_and_wait("Which store?").await;
            world.run().await;
            parent.end_turn().await;
            let session = child.session;
            let (outcome, said) = at_once(
                answer(&parent, &child, question, "SQLite."),
                on_board(&world, move |b| async move { b.prompt_session(&Actor::Operator, session, "Go on.", None).await }),
            ).await;
            said.unwrap();
            let answered = outcome.is_ok();
            assert_answered_or_refused(&world, &child, question, outcome, QuestionStatus::Superseded).await;
            world.run().await;
            child.end_turn().await;
            world.run().await;
            let expected: &[&str] = if answered { &["SQLite.", "Go on."] } else { &["Go on."] };
            assert_eq!(child.texts()[1..], *expected);
        }
        world.assert_heard_once();
    }

    async fn an_answer_races_what_ends_the_child(db: TestDb) {
        let world = World::new(db).await;
        let parent = world.resting("Parent").await;
        let other = world.resting("Other").await;
        for ending in ["archive", "stop", "parent stop", "cancel", "reparent", "failure"] {
            for _ in 0..3 {
                let child = world.child(&parent, "Child").await;
                let question = child.ask_and_wait("Which store?").await;
                world.run().await;
                parent.end_turn().await;
                let (task, session, by, other) = (child.task, child.session, parent.actor(), other.task);
                let (outcome, ended) = at_once(
                    answer(&parent, &child, question, "SQLite."),
                    on_board(&world, move |b| async move {
                        let operator = Actor::Operator;
                        match ending {
                            "archive" => b.task_archive(&operator, task).await.map(|_| ()),
                            "stop" => b.session_stop(&operator, session).await.map(|_| ()),
                            "parent stop" => b.task_stop(&by, task).await.map(|_| ()),
                            "cancel" => b.session_cancel(&operator, session).await.map(|_| ()),
                            "reparent" => {
                                let params = UpdateTask { parent_id: Some(Some(other)), ..UpdateTask::default() };
                                b.task_update(&operator, task, params).await.map(|_| ())
                            }
                            _ => b.session_failed(session, NODE, "it died").await,
                        }
                    }),
                ).await;
                ended.unwrap();
                assert_answered_or_refused(&world, &child, question, outcome, QuestionStatus::Stale).await;
                world.run().await;
                if ["archive", "stop", "parent stop", "failure"].contains(&ending) {
                    assert!(child.state().await.is_terminal(), "{ending}: nothing revives it");
                    assert_eq!(child.heard().len(), 1, "{ending}");
                }
            }
        }
    }

    async fn an_answer_races_the_deletion_of_the_child(db: TestDb) {
        let world = World::new(db).await;
        let parent = world.resting("Parent").await;
        for _ in 0..ROUNDS {
            let child = world.child(&parent, "Child").await;
            let question = child.ask_and_wait("Which store?").await;
            world.run().await;
            parent.end_turn().await;
            let task = child.task;
            let (outcome, deleted) = at_once(
                answer(&parent, &child, question, "SQLite."),
                on_board(&world, move |b| async move { b.task_delete(&Actor::Operator, task).await }),
            ).await;
            deleted.unwrap();
            match outcome {
                Ok(sent) => assert_eq!(sent.status, DeliveryStatus::Sent),
                Err(BoardError::Refused(refusal)) => assert_eq!(refusal.code, ErrorCode::NotFound),
                Err(error) => panic!("{error:?}"),
            }
            world.run().await;
            assert_eq!(child.heard().len(), 1);
        }
    }

    async fn an_answer_races_the_parents_own_message(db: TestDb) {
        let world = World::new(db).await;
        let parent = world.resting("Parent").await;
        for _ in 0..ROUNDS {
            let child = world.child(&parent, "Child").await;
            let question = child.ask_and_wait("Which store?").await;
            world.run().await;
            parent.end_turn().await;
            let (teller, task) = (parent.clone(), child.task);
            let (outcome, told) = at_once(
                answer(&parent, &child, question, "SQLite."),
                async move { teller.send(note(task, "Do something else.")).await },
            ).await;
            told.unwrap();
            assert_answered_or_refused(&world, &child, question, outcome, QuestionStatus::Superseded).await;
            world.run().await;
        }
    }

    async fn an_ask_races_the_stop_of_its_child(db: TestDb) {
        let world = World::new(db).await;
        let parent = world.resting("Parent").await;
        for _ in 0..ROUNDS {
            let child = world.child(&parent, "Child").await;
            let (asker, session) = (child.clone(), child.session);
            let (asked, stopped) = at_once(
                async move { asker.ask("Which store?").await },
                on_board(&world, move |b| async move { b.session_stop(&Actor::Operator, session).await }),
            ).await;
            assert!(stopped.unwrap());
            if let Ok(asked) = asked {
                assert_eq!(world.question_status(asked.question_id).await, QuestionStatus::Stale);
            }
            world.run().await;
            assert_eq!(child.state().await, SessionState::Cancelled);
            assert_eq!(child.card().await.task_pending_action, None);
            assert_eq!(parent.heard().len(), 1, "nobody is asked on behalf of a stopped child");
        }
    }

    async fn an_ask_races_the_archiving_of_its_parent(db: TestDb) {
        let world = World::new(db).await;
        for _ in 0..ROUNDS {
            let (parent, child) = world.family().await;
            let (asker, task) = (child.clone(), parent.task);
            let (asked, archived) = at_once(
                async move { asker.ask("Which store?").await },
                on_board(&world, move |b| async move { b.task_archive(&Actor::Operator, task).await }),
            ).await;
            archived.unwrap();
            if let Ok(asked) = asked {
                assert_eq!(world.question_status(asked.question_id).await, QuestionStatus::Stale);
            }
            world.run().await;
            assert_eq!(child.card().await.task_pending_action, None);
        }
    }

    async fn of_two_operators_one_answers(db: TestDb) {
        let world = World::new(db).await;
        for _ in 0..ROUNDS {
            let puppet = world.working("Task").await;
            let id = world.board().ask_operator(&puppet.actor(), &choice("Which?"), &json!({})).await.unwrap();
            let pick = |option: &str| ClarificationAnswer {
                answers: vec![AnswerItem {
                    question_id: "q1".to_owned(),
                    selected_options: vec![option.to_owned()],
                    custom_text: None,
                }],
                ..ClarificationAnswer::default()
            };
            let (first, second) = (pick("q1_opt1"), pick("q1_opt2"));
            let (one, two) = at_once(
                on_board(&world, move |b| async move { b.clarification_respond(&Actor::Operator, id, &first).await }),
                on_board(&world, move |b| async move { b.clarification_respond(&Actor::Operator, id, &second).await }),
            ).await;
            let (one, two) = (one.unwrap(), two.unwrap());
            assert!(one.success && two.success);
            assert_ne!(one.claimed, two.claimed);
            assert_eq!(one.response, two.response, "the loser gets what was recorded");
            assert_eq!((one.status, two.status), (ClarificationStatus::Answered, ClarificationStatus::Answered));
            assert_eq!(Some(soon(world.board().clarification_wait(id)).await.unwrap()), one.response);
            world.check().await;
        }
    }

    async fn an_acceptance_races_a_stop_and_the_stop_wins(db: TestDb) {
        let world = World::new(db).await;
        for _ in 0..ROUNDS {
            let created = world.create(prompted("Task")).await.unwrap();
            let puppet = world.puppet(created.task.id, created.session_id.unwrap());
            let node = world.node();
            let delivery = node.take(puppet.session).await;
            node.hear(&delivery);
            let (turn, session) = (delivery.turn, puppet.session);
            let (accepted, stopped) = at_once(
                on_board(&world, move |b| async move { b.prompt_accepted(turn, NODE).await }),
                on_board(&world, move |b| async move { b.session_stop(&Actor::Operator, session).await }),
            ).await;
            accepted.unwrap();
            assert!(stopped.unwrap());
            world.run().await;
            assert_eq!(puppet.state().await, SessionState::Cancelled);
            assert_eq!(world.count(&format!("turns where session_id = '{session}' and completed_at is null")).await, 0);
            assert_eq!(world.count(&format!("turns where session_id = '{session}' and state = 'cancelled'")).await, 1);
        }
    }

    // Two dispatchers of one session make one turn; whoever comes second is told that the prompt was tried before.
    async fn two_dispatchers_of_a_session_make_one_turn(db: TestDb) {
        let world = World::new(db).await;
        for _ in 0..ROUNDS {
            let puppet = world.resting("Task").await;
            puppet.operator_says("Go on.").await;
            let session = puppet.session;
            let next = move |b: Board| async move { b.delivery_next(session, NODE, true, None).await };
            let (one, two) = at_once(on_board(&world, next), on_board(&world, next)).await;
            let (Next::Deliver(one), Next::Deliver(two)) = (one.unwrap(), two.unwrap()) else {
                panic!("both are told of the delivery");
            };
            assert_eq!((one.prompt, one.turn), (two.prompt, two.turn));
            assert_ne!(one.attempted_before, two.attempted_before);
            let told = puppet.messages_of(MessageType::Message).await;
            assert_eq!(told.iter().filter(|m| m.content == "Go on.").count(), 1);
            assert_eq!(world.count(&format!("turns where session_id = '{session}'")).await, 2);
            world.run().await;
            assert_eq!(puppet.texts().iter().filter(|t| *t == "Go on.").count(), 1);
        }
    }

    // Two workers claim at once: no follow-up is carried out twice.
    async fn many_workers_claim_each_follow_up_once(db: TestDb) {
        let world = World::new(db).await;
        let mut sessions = Vec::new();
        for n in 0..12 {
            sessions.push(world.create(prompted(&n.to_string())).await.unwrap().session_id.unwrap());
        }
        let claims: Vec<_> = (0..4)
            .map(|_| {
                let board = world.board();
                tokio::spawn(async move {
                    let mut claimed: Vec<SessionId> = Vec::new();
                    loop {
                        let effects = board.effect_claim(NODE, 2).await.unwrap();
                        if effects.is_empty() {
                            return claimed;
                        }
                        for effect in effects {
                            claimed.push(effect.session_id);
                            assert!(board.effect_finish(&effect, NODE).await.unwrap());
                        }
                    }
                })
            })
            .collect();
        let mut claimed = Vec::new();
        for claim in claims {
            claimed.extend(claim.await.unwrap());
        }
        claimed.sort();
        sessions.sort();
        assert_eq!(claimed, sessions);
    }

    async fn of_many_creations_with_one_external_id_one_makes_the_task(db: TestDb) {
        let world = World::new(db).await;
        let start = Arc::new(Barrier::new(12));
        let creations: Vec<_> = (0..12)
            .map(|n| {
                let (world, start) = (world.clone(), start.clone());
                tokio::spawn(async move {
                    start.wait().await;
                    let params = CreateTask { external_id: Some("key".to_owned()), ..prompted(&n.to_string()) };
                    world.create(params).await.unwrap()
                })
            })
            .collect();
        let mut created = Vec::new();
        for creation in creations {
            created.push(creation.await.unwrap());
        }
        assert_eq!(created.iter().filter(|c| !c.deduplicated).count(), 1);
        assert!(created.iter().all(|c| c.task.id == created[0].task.id));
        world.run().await;
        assert_eq!(world.count("sessions").await, 1);
        assert_eq!(world.disk().heard().len(), 1, "and it is started once");
    }

    async fn an_end_of_turn_races_a_message_and_no_wake_up_is_lost(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        for n in 0..ROUNDS {
            let (ender, session) = (puppet.clone(), puppet.session);
            let ((), said) = at_once(
                async move { ender.end_turn().await },
                on_board(&world, move |b| async move { b.prompt_session(&Actor::Operator, session, &n.to_string(), None).await }),
            ).await;
            said.unwrap();
            world.run().await;
            assert_eq!(puppet.last_heard().text, n.to_string());
            assert!(puppet.is_in_turn());
        }
    }

    // All at once, as in a busy household; whatever the order, the invariants of `checks` hold afterwards.
    async fn a_storm_of_everything_leaves_the_rows_in_order(db: TestDb) {
        let world = World::new(db).await;
        let parent = world.resting("Parent").await;
        let mut children = Vec::new();
        for n in 0..4 {
            children.push(world.child(&parent, &format!("Child {n}")).await);
        }
        let mut storm = Vec::new();
        for (n, child) in children.iter().enumerate() {
            let asked = child.ask("Which store?").await.unwrap().question_id;
            for wave in 0..4 {
                let (parent, child, world) = (parent.clone(), child.clone(), world.clone());
                let sibling = children[(n + 1) % 4].task;
                storm.push(tokio::spawn(async move {
                    let operator = Actor::Operator;
                    let board = world.board();
                    let outcome = match wave {
                        0 => parent.reply(&child, asked, "SQLite.").await.map(|_| ()),
                        1 => board.prompt_session(&operator, child.session, "Go on.", None).await.map(|_| ()),
                        2 => child.tell(sibling, "hello").await.map(|_| ()),
                        _ if n == 0 => board.task_archive(&operator, child.task).await.map(|_| ()),
                        _ if n == 1 => board.session_stop(&operator, child.session).await.map(|_| ()),
                        _ => board.session_cancel(&operator, child.session).await.map(|_| ()),
                    };
                    match outcome {
                        Ok(()) | Err(BoardError::Refused(_)) => {}
                        Err(error) => panic!("{error:?}"),
                    }
                }));
            }
            storm.push(tokio::spawn({
                let world = world.clone();
                async move { while world.node().step(1).await > 0 {} }
            }));
        }
        for one in storm {
            one.await.unwrap();
        }
        world.run().await;
        assert_eq!(world.count("parent_questions where status = 'pending'").await, 0);
    }
}
