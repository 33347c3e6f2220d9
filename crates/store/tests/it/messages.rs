use crate::world::{UNICODE, World, assert_unique, at, execute, message, read, turn, write};
use domain::ids::{MessageId, SessionId};
use domain::message::{AuthorType, Message, MessageType};
use serde_json::{Map, Value, json};
use store::Store;
use store::messages::{
    Window, append, find, merge_metadata, of_prompt, of_turn, page, unfinished_calls, update,
};

async fn stored(store: &Store, id: MessageId) -> Option<Message> {
    read(store, async |db| find(db, id).await).await
}

fn object(value: Value) -> Map<String, Value> {
    let Value::Object(map) = value else {
        panic!("not an object: {value}")
    };
    map
}

/// The contents of a page, and whether there is more.
async fn contents(
    store: &Store,
    session: SessionId,
    window: Window,
    types: &[MessageType],
    limit: i64,
) -> (Vec<String>, bool) {
    let (messages, more) = read(store, async |db| {
        page(db, session, window, types, limit).await
    })
    .await;
    (
        messages
            .into_iter()
            .map(|message| message.content)
            .collect(),
        more,
    )
}

store::on_both_engines! {
    async fn a_message_is_read_as_it_was_written(db: TestDb) {
        let world = World::new(&db).await;
        let (_, session) = world.add_conversation().await;
        let open = world.put_turn(turn(&session)).await;
        let bare = world.put_message(message(&session, "")).await;
        let whole = Message {
            turn_id: Some(open.id),
            author_type: AuthorType::User,
            author_id: Some(UNICODE.to_owned()),
            hidden_context: Some(UNICODE.to_owned()),
            message_type: MessageType::ToolExecute,
            metadata: object(json!({"nested": {"text": UNICODE, "zero": "\0", "list": [1, 2.5, null, true]}})),
            requests_input: true,
            created_at: at(1),
            updated_at: at(2),
            ..message(&session, UNICODE)
        };
        let whole = world.put_message(whole).await;
        assert_eq!((bare.seq, whole.seq), (1, 2));
        assert_eq!(stored(&db.store, bare.id).await, Some(bare));
        assert_eq!(stored(&db.store, whole.id).await, Some(whole));
        assert_eq!(stored(&db.store, MessageId::new()).await, None);
    }

    async fn a_message_may_be_long_and_hold_any_character(db: TestDb) {
        let world = World::new(&db).await;
        let (_, session) = world.add_conversation().await;
        let long = "🛫 é\n".repeat(300 * 1024 / 8 + 1);
        assert!(long.len() > 300 * 1024);
        let mut whole = message(&session, &long);
        whole.hidden_context = Some(long.clone());
        whole.metadata.insert("output".to_owned(), json!(long));
        let whole = world.put_message(whole).await;
        assert_eq!(stored(&db.store, whole.id).await, Some(whole));

        let mut broken = message(&session, "before\0after");
        broken.hidden_context = Some("\0".to_owned());
        let broken = world.put_message(broken).await;
        let mended = stored(&db.store, broken.id).await.unwrap();
        assert_eq!(mended.content, "before\u{FFFD}after");
        assert_eq!(mended.hidden_context.as_deref(), Some("\u{FFFD}"));
    }

    async fn places_grow_within_a_session(db: TestDb) {
        let world = World::new(&db).await;
        let (task, session) = world.add_conversation().await;
        let another = world.add_session(&task).await;
        let mut places = Vec::new();
        for session in [&session, &session, &another, &session] {
            places.push(world.put_message(message(session, "x")).await.seq);
        }
        assert_eq!(places, [1, 2, 1, 3]);
        assert_unique(execute(&db.store, "update messages set seq = 1 where seq = 2").await);
        let twice = message(&session, "twice");
        world.put_message(twice.clone()).await;
        assert_unique(write(&db.store, async |tx| append(tx, &twice).await).await);
    }

    async fn an_update_writes_text_metadata_kind_and_the_wish_for_input(db: TestDb) {
        let world = World::new(&db).await;
        let (_, session) = world.add_conversation().await;
        let bystander = world.put_message(message(&session, "bystander")).await;
        let before = world.put_message(message(&session, "before")).await;
        let after = Message {
            content: UNICODE.to_owned(),
            metadata: object(json!({"a": 1})),
            requests_input: true,
            message_type: MessageType::ToolEdit,
            updated_at: at(9),
            ..before.clone()
        };
        let elsewhere = Message { author_type: AuthorType::User, seq: 99, created_at: at(8), ..after.clone() };
        write(&db.store, async |tx| update(tx, &elsewhere).await).await.unwrap();
        assert_eq!(stored(&db.store, before.id).await, Some(after));
        assert_eq!(stored(&db.store, bystander.id).await, Some(bystander));
    }

    async fn merged_metadata_keeps_the_other_keys(db: TestDb) {
        let world = World::new(&db).await;
        let (_, session) = world.add_conversation().await;
        let before =
            world.put_message(Message { metadata: object(json!({"a": 1, "b": {"c": 2}})), ..message(&session, "x") }).await;
        let merge = async |id, entries: Value| {
            write(&db.store, async |tx| merge_metadata(tx, id, object(entries), at(7)).await).await.unwrap();
        };
        merge(before.id, json!({"b": 3, "d": UNICODE})).await;
        let expected = object(json!({"a": 1, "b": 3, "d": UNICODE}));
        assert_eq!(stored(&db.store, before.id).await, Some(Message { metadata: expected, updated_at: at(7), ..before }));
        merge(MessageId::new(), json!({"a": 1})).await;
    }

    async fn a_turns_messages_of_one_type_are_found_without_reading_the_rest(db: TestDb) {
        let world = World::new(&db).await;
        let (task, session) = world.add_conversation().await;
        let another = world.add_session(&task).await;
        let mine = world.put_turn(turn(&session)).await;
        let other = world.put_turn(turn(&another)).await;
        let asked = |session, turn: &domain::turn::Turn, message_type| Message {
            turn_id: Some(turn.id),
            message_type,
            ..message(session, "?")
        };
        let wanted = MessageType::ClarificationRequest;
        let first = world.put_message(asked(&session, &mine, wanted)).await;
        world.put_message(asked(&session, &mine, MessageType::Message)).await;
        world.put_message(asked(&another, &other, wanted)).await;
        let second = world.put_message(asked(&session, &mine, wanted)).await;
        let found = read(&db.store, async |db| of_turn(db, session.id, mine.id, wanted).await).await;
        assert_eq!(found, [first, second]);
    }

    async fn what_a_prompt_became_is_found_by_the_prompt(db: TestDb) {
        let world = World::new(&db).await;
        let (_, session) = world.add_conversation().await;
        let (_, another) = world.add_conversation().await;
        let mine = world.put_turn(turn(&session)).await;
        let other = world.put_turn(turn(&another)).await;
        let said = |session, turn: &domain::turn::Turn, author_type| Message {
            turn_id: Some(turn.id),
            author_type,
            ..message(session, "?")
        };
        let wanted = world.put_message(said(&session, &mine, AuthorType::User)).await;
        world.put_message(said(&session, &mine, AuthorType::Agent)).await;
        world.put_message(said(&another, &other, AuthorType::User)).await;
        assert_eq!(read(&db.store, async |db| of_prompt(db, mine.prompt_id).await).await, [wanted]);
        assert!(read(&db.store, async |db| of_prompt(db, domain::ids::PromptId::new()).await).await.is_empty());
    }

    async fn calls_without_an_end_are_found_by_their_own_status(db: TestDb) {
        let world = World::new(&db).await;
        let (_, session) = world.add_conversation().await;
        let mine = world.put_turn(turn(&session)).await;
        let call = |message_type, metadata| Message {
            turn_id: Some(mine.id),
            message_type,
            metadata: object(metadata),
            ..message(&session, "?")
        };
        let pending = world.put_message(call(MessageType::ToolRead, json!({"status": "pending"}))).await;
        for (message_type, metadata) in [
            (MessageType::ToolCall, json!({"status": "completed"})),
            (MessageType::ToolCall, json!({"status": "failed", "content": [{"status": "in_progress"}]})),
            (MessageType::ClarificationRequest, json!({"status": "pending"})),
        ] {
            world.put_message(call(message_type, metadata)).await;
        }
        let running = world.put_message(call(MessageType::ToolExecute, json!({"status": "in_progress"}))).await;
        world.put_message(Message { metadata: object(json!({"status": "pending"})), ..message(&session, "no turn") }).await;
        let found = read(&db.store, async |db| unfinished_calls(db, session.id, mine.id).await).await;
        assert_eq!(found, [pending, running]);
    }

    async fn a_page_is_a_window_in_ascending_order(db: TestDb) {
        let world = World::new(&db).await;
        let (task, session) = world.add_conversation().await;
        let another = world.add_session(&task).await;
        for content in ["1", "2", "3", "4", "5"] {
            world.put_message(message(&session, content)).await;
            world.put_message(message(&another, "other")).await;
        }
        for (window, limit, expected, more) in [
            (Window::Newest, 2, vec!["4", "5"], true),
            (Window::Newest, 5, vec!["1", "2", "3", "4", "5"], false),
            (Window::Newest, i64::MAX, vec!["1", "2", "3", "4", "5"], false),
            (Window::Before(4), 2, vec!["2", "3"], true),
            (Window::Before(3), 2, vec!["1", "2"], false),
            (Window::Before(1), 2, vec![], false),
            (Window::Before(100), 1, vec!["5"], true),
            (Window::After(0), 2, vec!["1", "2"], true),
            (Window::After(3), 2, vec!["4", "5"], false),
            (Window::After(5), 2, vec![], false),
        ] {
            let got = contents(&db.store, session.id, window, &[], limit).await;
            assert_eq!(got, (expected.into_iter().map(str::to_owned).collect(), more), "{window:?} {limit}");
        }
        let nobody = contents(&db.store, SessionId::new(), Window::Newest, &[], 5).await;
        assert_eq!(nobody, (Vec::new(), false));
    }

    async fn a_page_is_filtered_before_it_is_cut(db: TestDb) {
        let world = World::new(&db).await;
        let (_, session) = world.add_conversation().await;
        for (place, message_type) in MessageType::ALL.iter().enumerate() {
            let message = Message { message_type: *message_type, ..message(&session, &place.to_string()) };
            world.put_message(message).await;
        }
        for (place, message_type) in MessageType::ALL.iter().enumerate() {
            let got = contents(&db.store, session.id, Window::Newest, &[*message_type], 1).await;
            assert_eq!(got, (vec![place.to_string()], false), "{message_type}");
        }
        let (first, last) = (MessageType::ALL[0], MessageType::ALL[MessageType::ALL.len() - 1]);
        let both = [last, first];
        let end = (MessageType::ALL.len() - 1).to_string();
        assert_eq!(
            contents(&db.store, session.id, Window::Newest, &both, 2).await,
            (vec!["0".to_owned(), end.clone()], false)
        );
        assert_eq!(contents(&db.store, session.id, Window::Newest, &both, 1).await, (vec![end], true));
        assert_eq!(contents(&db.store, session.id, Window::After(0), &both, 1).await, (vec!["0".to_owned()], true));
        assert_eq!(contents(&db.store, session.id, Window::Before(2), &[last], 1).await, (Vec::new(), false));
    }
}
