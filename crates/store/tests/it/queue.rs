use crate::world::{
    UNICODE, World, assert_invariant, assert_unique, at, prompt, read, turn, write,
};
use domain::ids::{PromptId, QuestionId, SessionId, TaskId, TurnId};
use domain::queue::order::Place;
use domain::queue::{Lane, QueuedBy, QueuedPrompt, QueuedState};
use serde_json::json;
use store::Store;
use store::queue::{
    clear, delete, drop_workflow, find, hand_over, insert, list, list_by_task, mark_attempted,
    purge_task, put_back, put_first, set_content, set_place,
};

async fn stored(store: &Store, id: PromptId) -> Option<QueuedPrompt> {
    read(store, async |db| find(db, id).await).await
}

async fn order(store: &Store, session: SessionId) -> Vec<PromptId> {
    read(store, async |db| list(db, session).await)
        .await
        .iter()
        .map(|prompt| prompt.id)
        .collect()
}

store::on_both_engines! {
    async fn a_prompt_is_read_as_it_was_written(db: TestDb) {
        let world = World::new(&db).await;
        let (task, session) = world.add_conversation().await;
        let open = world.put_turn(turn(&session)).await;
        let bare = world.put_prompt(prompt(&session, Lane::Normal)).await;
        let whole = QueuedPrompt {
            content: UNICODE.repeat(5_000),
            hidden_context: Some(UNICODE.to_owned()),
            metadata: json!({"a": UNICODE}).as_object().unwrap().clone(),
            queued_by: QueuedBy::Agent,
            sender_task_id: Some(TaskId::new()),
            sender_session_id: Some(SessionId::new()),
            question_id: Some(QuestionId::new()),
            answer_for_question_id: Some(QuestionId::new()),
            dedupe_key: Some(UNICODE.to_owned()),
            pinned: false,
            state: QueuedState::Attempted,
            turn_id: Some(open.id),
            attempts: 3,
            queued_at: at(1),
            ..prompt(&session, Lane::Express)
        };
        assert!(whole.content.len() > 300 * 1024);
        let whole = world.put_prompt(whole).await;
        let whole = QueuedPrompt { position: 1, ..whole };
        assert_eq!(stored(&db.store, bare.id).await.as_ref(), Some(&bare));
        assert_eq!(stored(&db.store, whole.id).await.as_ref(), Some(&whole));
        assert_eq!(stored(&db.store, PromptId::new()).await, None);
        assert_eq!(read(&db.store, async |db| list(db, session.id).await).await, [whole.clone(), bare.clone()]);
        assert_eq!(read(&db.store, async |db| list_by_task(db, task.id).await).await, [whole, bare]);
    }

    async fn express_prompts_go_first_and_each_lane_is_first_come_first_served(db: TestDb) {
        let world = World::new(&db).await;
        let (task, session) = world.add_conversation().await;
        let another = world.add_session(&task).await;
        let mut ids = Vec::new();
        // Ids and times that disagree with the order of arrival must not matter.
        let mut names: Vec<PromptId> = (0..5).map(|_| PromptId::new()).collect();
        names.reverse();
        let lanes = [Lane::Normal, Lane::Express, Lane::Normal, Lane::Express, Lane::Normal];
        for (number, (id, lane)) in names.into_iter().zip(lanes).enumerate() {
            let queued_at = at(-i64::try_from(number).unwrap());
            ids.push(world.put_prompt(QueuedPrompt { id, queued_at, ..prompt(&session, lane) }).await.id);
            world.put_prompt(prompt(&another, lane)).await;
        }
        let expected = [ids[1], ids[3], ids[0], ids[2], ids[4]];
        assert_eq!(order(&db.store, session.id).await, expected);

        assert!(write(&db.store, async |tx| delete(tx, ids[4]).await).await.unwrap());
        assert!(!write(&db.store, async |tx| delete(tx, ids[4]).await).await.unwrap());
        let last = world.put_prompt(prompt(&session, Lane::Normal)).await;
        assert_eq!(order(&db.store, session.id).await, [ids[1], ids[3], ids[0], ids[2], last.id]);
        let of_task = read(&db.store, async |db| list_by_task(db, task.id).await).await;
        assert_eq!(of_task.len(), 10);
        assert!(order(&db.store, SessionId::new()).await.is_empty());
    }

    async fn a_prompt_is_attempted_in_a_turn_and_counts_how_often(db: TestDb) {
        let world = World::new(&db).await;
        let (_, session) = world.add_conversation().await;
        let open = world.put_turn(turn(&session)).await;
        let waiting = world.put_prompt(prompt(&session, Lane::Normal)).await;
        let bystander = world.put_prompt(prompt(&session, Lane::Normal)).await;
        let sent = QueuedPrompt { turn_id: Some(open.id), ..waiting };
        for attempts in 1..=2 {
            write(&db.store, async |tx| mark_attempted(tx, &sent).await).await.unwrap();
            let expected = QueuedPrompt { state: QueuedState::Attempted, attempts, ..sent.clone() };
            assert_eq!(stored(&db.store, sent.id).await, Some(expected));
        }
        assert_eq!(stored(&db.store, bystander.id).await.unwrap().state, QueuedState::Queued);
        write(&db.store, async |tx| put_back(tx, sent.id).await).await.unwrap();
        let back = QueuedPrompt { turn_id: None, attempts: 2, ..sent.clone() };
        assert_eq!(stored(&db.store, sent.id).await, Some(back), "it waits at its place and keeps count");
        assert_eq!(order(&db.store, session.id).await, [sent.id, bystander.id]);
        let nowhere = QueuedPrompt { turn_id: None, ..sent.clone() };
        assert_invariant(write(&db.store, async |tx| mark_attempted(tx, &nowhere).await).await);
        let unknown = QueuedPrompt { turn_id: Some(TurnId::new()), ..sent };
        assert_invariant(write(&db.store, async |tx| mark_attempted(tx, &unknown).await).await);
    }

    async fn a_question_an_answer_and_a_key_are_queued_once(db: TestDb) {
        let world = World::new(&db).await;
        let (task, session) = world.add_conversation().await;
        let another = world.add_session(&task).await;
        let question = QuestionId::new();
        let put = async |prompt: &QueuedPrompt| write(&db.store, async |tx| insert(tx, prompt).await).await;

        let asks = |session| QueuedPrompt { question_id: Some(question), ..prompt(session, Lane::Normal) };
        put(&asks(&session)).await.unwrap();
        assert_unique(put(&asks(&another)).await);
        let answers = |session| QueuedPrompt { answer_for_question_id: Some(question), ..prompt(session, Lane::Express) };
        put(&answers(&session)).await.unwrap();
        assert_unique(put(&answers(&another)).await);
        let keyed = |session| QueuedPrompt { dedupe_key: Some("key".to_owned()), ..prompt(session, Lane::Normal) };
        put(&keyed(&session)).await.unwrap();
        put(&keyed(&another)).await.unwrap();
        assert_unique(put(&keyed(&session)).await);
        put(&prompt(&session, Lane::Normal)).await.unwrap();
        put(&prompt(&session, Lane::Normal)).await.unwrap();
    }

    async fn purging_a_task_empties_the_queues_of_its_sessions(db: TestDb) {
        let world = World::new(&db).await;
        let (task, session) = world.add_conversation().await;
        let another = world.add_session(&task).await;
        let (_, elsewhere) = world.add_conversation().await;
        for session in [&session, &another, &elsewhere] {
            world.put_prompt(prompt(session, Lane::Normal)).await;
        }
        assert_eq!(write(&db.store, async |tx| purge_task(tx, task.id).await).await.unwrap(), 2);
        assert!(order(&db.store, session.id).await.is_empty());
        assert!(order(&db.store, another.id).await.is_empty());
        assert_eq!(order(&db.store, elsewhere.id).await.len(), 1);
        assert_eq!(write(&db.store, async |tx| purge_task(tx, task.id).await).await.unwrap(), 0);
    }

    async fn what_waits_can_be_changed_and_moved_and_what_is_being_sent_cannot(db: TestDb) {
        let world = World::new(&db).await;
        let (_, session) = world.add_conversation().await;
        let open = world.put_turn(turn(&session)).await;
        let sent = QueuedPrompt { state: QueuedState::Attempted, turn_id: Some(open.id), ..prompt(&session, Lane::Express) };
        let sent = world.put_prompt(sent).await;
        let one = world.put_prompt(prompt(&session, Lane::Normal)).await;
        let two = world.put_prompt(prompt(&session, Lane::Normal)).await;
        for id in [sent.id, one.id] {
            write(&db.store, async |tx| set_content(tx, id, UNICODE).await).await.unwrap();
            let place = Place { id, lane: Lane::Normal, position: 9 };
            write(&db.store, async |tx| set_place(tx, place).await).await.unwrap();
        }
        assert_eq!(stored(&db.store, sent.id).await.as_ref(), Some(&sent));
        let changed = QueuedPrompt { content: UNICODE.to_owned(), position: 9, ..one };
        assert_eq!(stored(&db.store, changed.id).await.as_ref(), Some(&changed));
        assert_eq!(order(&db.store, session.id).await, [sent.id, two.id, changed.id]);
    }

    async fn first_is_before_whatever_was_first(db: TestDb) {
        let world = World::new(&db).await;
        let (_, session) = world.add_conversation().await;
        let another = world.add_session(&world.add_task().await).await;
        let urgent = world.put_prompt(prompt(&session, Lane::Express)).await;
        let one = world.put_prompt(prompt(&session, Lane::Normal)).await;
        let two = world.put_prompt(prompt(&session, Lane::Normal)).await;
        for id in [two.id, one.id] {
            write(&db.store, async |tx| put_first(tx, session.id, id).await).await.unwrap();
            write(&db.store, async |tx| put_first(tx, another.id, id).await).await.unwrap();
        }
        assert_eq!(order(&db.store, session.id).await, [one.id, two.id, urgent.id]);
        assert_eq!(stored(&db.store, one.id).await.unwrap().lane, Lane::Express);
    }

    async fn clearing_leaves_questions_answers_and_what_is_being_sent(db: TestDb) {
        let world = World::new(&db).await;
        let (task, session) = world.add_conversation().await;
        let another = world.add_session(&task).await;
        let open = world.put_turn(turn(&session)).await;
        let asks = QueuedPrompt { question_id: Some(QuestionId::new()), ..prompt(&session, Lane::Normal) };
        let answers = QueuedPrompt { answer_for_question_id: Some(QuestionId::new()), ..prompt(&session, Lane::Normal) };
        let sent = QueuedPrompt { state: QueuedState::Attempted, turn_id: Some(open.id), ..prompt(&session, Lane::Normal) };
        let mut kept = Vec::new();
        for row in [asks, answers, sent] {
            kept.push(world.put_prompt(row).await.id);
        }
        for lane in [Lane::Express, Lane::Normal] {
            world.put_prompt(prompt(&session, lane)).await;
        }
        world.put_prompt(prompt(&another, Lane::Normal)).await;
        assert_eq!(write(&db.store, async |tx| clear(tx, session.id).await).await.unwrap(), 2);
        assert_eq!(order(&db.store, session.id).await, kept);
        assert_eq!(order(&db.store, another.id).await.len(), 1);
        assert_eq!(write(&db.store, async |tx| clear(tx, session.id).await).await.unwrap(), 0);
    }

    async fn what_waits_for_no_session_in_particular_can_be_given_to_another(db: TestDb) {
        let world = World::new(&db).await;
        let (task, session) = world.add_conversation().await;
        let other = world.add_session(&task).await;
        let open = world.put_turn(turn(&session)).await;
        let free = |lane| QueuedPrompt { pinned: false, ..prompt(&session, lane) };
        let sent = QueuedPrompt { state: QueuedState::Attempted, turn_id: Some(open.id), ..free(Lane::Normal) };
        let answers = QueuedPrompt { answer_for_question_id: Some(QuestionId::new()), ..free(Lane::Normal) };
        let asks = QueuedPrompt { question_id: Some(QuestionId::new()), ..free(Lane::Normal) };
        let sent = world.put_prompt(sent).await.id;
        let one = world.put_prompt(free(Lane::Normal)).await.id;
        let pinned = world.put_prompt(prompt(&session, Lane::Normal)).await.id;
        let answers = world.put_prompt(answers).await.id;
        let asks = world.put_prompt(asks).await.id;
        let two = world.put_prompt(free(Lane::Normal)).await.id;
        let urgent = world.put_prompt(free(Lane::Express)).await.id;
        let first = world.put_prompt(prompt(&other, Lane::Normal)).await.id;
        let moved = async || write(&db.store, async |tx| hand_over(tx, session.id, other.id).await).await.unwrap();
        assert_eq!(moved().await, 4);
        assert_eq!(order(&db.store, session.id).await, [sent, pinned, answers]);
        assert_eq!(order(&db.store, other.id).await, [urgent, first, one, asks, two], "behind what was there, in order");
        assert_eq!(moved().await, 0);
    }

    async fn what_steps_asked_for_goes_and_what_people_said_or_an_agent_may_have_stays(db: TestDb) {
        let world = World::new(&db).await;
        let (task, other) = (world.add_task().await, world.add_task().await);
        let (session, elsewhere) = (world.add_session(&task).await, world.add_session(&other).await);
        let by = |prompt: QueuedPrompt, queued_by| QueuedPrompt { queued_by, ..prompt };
        let asked = by(prompt(&session, Lane::Normal), QueuedBy::Workflow);
        let open = world.put_turn(turn(&session)).await;
        let attempted = by(prompt(&session, Lane::Normal), QueuedBy::Workflow);
        let sent = QueuedPrompt { turn_id: Some(open.id), ..attempted.clone() };
        let said = by(prompt(&session, Lane::Normal), QueuedBy::User);
        let foreign = by(prompt(&elsewhere, Lane::Normal), QueuedBy::Workflow);
        write(&db.store, async |tx| {
            for row in [&asked, &attempted, &said, &foreign] {
                insert(tx, row).await?;
            }
            mark_attempted(tx, &sent).await
        })
        .await
        .unwrap();
        for lost in [vec![session.id], Vec::new()] {
            assert_eq!(write(&db.store, async |tx| drop_workflow(tx, task.id).await).await.unwrap(), lost);
        }
        let left = read(&db.store, async |db| list(db, session.id).await).await;
        assert_eq!(left.iter().map(|row| row.id).collect::<Vec<_>>(), [attempted.id, said.id]);
        assert_eq!(read(&db.store, async |db| list(db, elsewhere.id).await).await.len(), 1);
    }
}
