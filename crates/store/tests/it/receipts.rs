use crate::world::{
    UNICODE, World, assert_invariant, assert_unique, at, count, read, receipt, write,
};
use domain::guards::Traffic;
use domain::ids::{PromptId, SessionId, TaskId};
use domain::receipt::{Key, PromptReceipt, Receipt};
use domain::session::Session;
use domain::view::DeliveryStatus;
use store::receipts::{find, find_prompt, forget, hops, insert, insert_prompt, moved, traffic};

fn key(word: &str) -> Option<Key> {
    Some(Key {
        key: word.to_owned(),
        fingerprint: "f".to_owned(),
    })
}

pub(crate) fn of_prompt(
    task: TaskId,
    session: &Session,
    word: &str,
    sent_at: i64,
) -> PromptReceipt {
    PromptReceipt {
        task_id: task,
        session_id: session.id,
        prompt_id: PromptId::new(),
        key: key(word).unwrap(),
        status: DeliveryStatus::Started,
        merged: true,
        sent_at: at(sent_at),
    }
}

store::on_both_engines! {
    async fn a_receipt_is_found_by_its_senders_key(db: TestDb) {
        let world = World::new(&db).await;
        let (task, session) = world.add_conversation().await;
        let other = world.add_session(&task).await;
        let put = async |receipt: &Receipt| write(&db.store, async |tx| insert(tx, receipt).await).await;
        let whole = Receipt {
            key: key(UNICODE),
            status: DeliveryStatus::Sent,
            merged: true,
            hops: 7,
            ..receipt(&session, 3)
        };
        put(&whole).await.unwrap();
        let found = async |session, word: &str| read(&db.store, async |db| find(db, session, word).await).await;
        assert_eq!(found(session.id, UNICODE).await, Some(whole.clone()));
        assert_eq!(found(session.id, "other").await, None);
        assert_eq!(found(other.id, UNICODE).await, None);

        assert_unique(put(&Receipt { key: key(UNICODE), ..receipt(&session, 4) }).await);
        put(&Receipt { key: key(UNICODE), ..receipt(&other, 4) }).await.unwrap();
        // Without a key there may be any number.
        put(&receipt(&session, 5)).await.unwrap();
        put(&receipt(&session, 5)).await.unwrap();
        assert_invariant(put(&Receipt { hops: 0, ..receipt(&session, 6) }).await);
        let homeless = Receipt { sender_session_id: SessionId::new(), ..receipt(&session, 6) };
        assert_invariant(put(&homeless).await);
    }

    async fn a_chain_goes_on_from_the_last_of_what_was_joined(db: TestDb) {
        let world = World::new(&db).await;
        let (_, session) = world.add_conversation().await;
        let prompt = PromptId::new();
        let found = async |id| read(&db.store, async |db| hops(db, id).await).await;
        assert_eq!(found(prompt).await, None);
        let mut last = PromptId::new();
        for hops in [3, 5, 4] {
            let row = Receipt { hops, ..receipt(&session, 0) };
            write(&db.store, async |tx| insert(tx, &row).await).await.unwrap();
            write(&db.store, async |tx| moved(tx, row.prompt_id, prompt).await).await.unwrap();
            last = row.prompt_id;
        }
        assert_eq!(found(prompt).await, Some(5));
        assert_eq!(found(last).await, None);
    }

    async fn traffic_counts_what_a_pair_wrote_lately(db: TestDb) {
        let world = World::new(&db).await;
        let (_, session) = world.add_conversation().await;
        for sent_at in [10, 20, 30] {
            write(&db.store, async |tx| insert(tx, &receipt(&session, sent_at)).await).await.unwrap();
        }
        let elsewhere = Receipt { pair: "c d".to_owned(), ..receipt(&session, 25) };
        write(&db.store, async |tx| insert(tx, &elsewhere).await).await.unwrap();
        let since = async |pair: &str, since| read(&db.store, async |db| traffic(db, pair, at(since)).await).await;
        assert_eq!(since("a b", 0).await, Traffic { messages: 3, oldest: Some(at(10)) });
        assert_eq!(since("a b", 10).await, Traffic { messages: 2, oldest: Some(at(20)) });
        assert_eq!(since("a b", 30).await, Traffic::default());
        assert_eq!(since("c d", 0).await.messages, 1);

        assert_eq!(write(&db.store, async |tx| forget(tx, at(25)).await).await.unwrap(), 2);
        assert_eq!(since("a b", 0).await, Traffic { messages: 1, oldest: Some(at(30)) });
    }

    async fn receipts_go_with_their_sender_and_outlive_their_target(db: TestDb) {
        let world = World::new(&db).await;
        let (task, session) = world.add_conversation().await;
        let (target, _) = world.add_conversation().await;
        let row = Receipt { target_task_id: target.id, ..receipt(&session, 0) };
        write(&db.store, async |tx| insert(tx, &row).await).await.unwrap();
        write(&db.store, async |tx| store::tasks::delete(tx, target.id).await).await.unwrap();
        assert_eq!(count(&db.store, "message_receipts").await, 1);
        write(&db.store, async |tx| store::tasks::delete(tx, task.id).await).await.unwrap();
        assert_eq!(count(&db.store, "message_receipts").await, 0);
    }

    async fn a_prompt_of_an_operators_is_found_by_its_tasks_key(db: TestDb) {
        let world = World::new(&db).await;
        let (task, session) = world.add_conversation().await;
        let (other, _) = world.add_conversation().await;
        let row = |task, word: &str, sent_at| of_prompt(task, &session, word, sent_at);
        let put = async |receipt: &PromptReceipt| write(&db.store, async |tx| insert_prompt(tx, receipt).await).await;
        let found = async |task, word: &str| read(&db.store, async |db| find_prompt(db, task, word).await).await;
        let whole = row(task.id, UNICODE, 3);
        put(&whole).await.unwrap();
        assert_eq!(found(task.id, UNICODE).await, Some(whole));
        assert_eq!(found(task.id, "other").await, None);
        assert_eq!(found(other.id, UNICODE).await, None);
        assert_unique(put(&row(task.id, UNICODE, 4)).await);
        put(&row(other.id, UNICODE, 4)).await.unwrap();
        assert_invariant(put(&row(TaskId::new(), UNICODE, 4)).await);

        assert_eq!(write(&db.store, async |tx| forget(tx, at(4)).await).await.unwrap(), 1);
        assert_eq!(found(task.id, UNICODE).await, None);
        write(&db.store, async |tx| store::tasks::delete(tx, other.id).await).await.unwrap();
        assert_eq!(count(&db.store, "prompt_receipts").await, 0);
    }
}
