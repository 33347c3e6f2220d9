use crate::world::{
    UNICODE, World, assert_invariant, assert_unique, at, bundle, count, execute, message,
    permission, prompt, read, turn, write,
};
use domain::ids::{PromptId, RunId, SessionId, TokenId};
use domain::message::{AuthorType, Message, MessageType};
use domain::queue::Lane;
use domain::run::ask::Asked;
use domain::run::view::Seen;
use domain::run::{ErrorCategory, Fault, Run, RunEnd, RunStatus, TerminalReason};
use domain::session::{Session, SessionState};
use domain::turn::{Turn, TurnState};
use serde_json::{Map, json};
use store::runs::*;
use store::{Store, Write};

pub(crate) fn run_of(session: &Session, token: TokenId) -> NewRun {
    NewRun {
        run: Run {
            id: RunId::new(),
            token_id: token,
            task_id: session.task_id,
            session_id: session.id,
            agent: "demo".to_owned(),
            from_seq: 0,
            poll_count: 0,
            revision: 0,
            created_at: at(0),
            last_polled_at: None,
            retrieved_at: None,
            end: None,
        },
        thread: None,
        twin_hash: None,
        prompt_id: PromptId::new(),
        from_generation: 0,
        asked: Asked {
            task: "Do it.".to_owned(),
            context: Some(UNICODE.to_owned()),
            sender_name: None,
        },
    }
}

fn over(status: RunStatus) -> RunEnd {
    RunEnd {
        status,
        reason: TerminalReason::Finished,
        summary: (status == RunStatus::Completed).then(|| UNICODE.to_owned()),
        fault: (status == RunStatus::Error).then(|| Fault {
            category: ErrorCategory::Tooling,
            message: "It broke.".to_owned(),
        }),
        to_seq: 2,
        started_at: Some(at(5)),
        ended_at: at(100),
    }
}

async fn put(store: &Store, new: &NewRun) -> store::Result<()> {
    write(store, async |tx| insert(tx, new).await).await
}

async fn found(store: &Store, run: &Run) -> (Run, Seen) {
    read(store, async |db| find(db, run.token_id, run.id).await)
        .await
        .unwrap()
}

store::on_both_engines! {
    async fn a_run_is_its_clients_alone(db: TestDb) {
        let world = World::new(&db).await;
        let (_, session) = world.add_conversation().await;
        let (mine, other) = (TokenId::new(), TokenId::new());
        let new = run_of(&session, mine);
        put(&db.store, &new).await.unwrap();
        assert_eq!(found(&db.store, &new.run).await.0, new.run);
        assert_eq!(read(&db.store, async |db| find(db, other, new.run.id).await).await, None);
        let of_thread = async |token| read(&db.store, async |db| latest_of_thread(db, token, session.id).await).await;
        assert_eq!(of_thread(mine).await.unwrap().0.id, new.run.id);
        assert_eq!(of_thread(other).await, None);
        let listed = async |token| read(&db.store, async |db| {
            list(db, token, &RunFilter { limit: 9, ..RunFilter::default() }).await
        }).await.len();
        assert_eq!((listed(mine).await, listed(other).await), (1, 0));
        assert_eq!(read(&db.store, async |db| asked(db, new.run.id).await).await, Some(new.asked.clone()));
        assert_eq!(read(&db.store, async |db| prompt_of(db, new.run.id).await).await, Some(new.prompt_id));
    }

    async fn one_live_run_a_session_and_one_twin(db: TestDb) {
        let world = World::new(&db).await;
        let (_, first) = world.add_conversation().await;
        let (_, second) = world.add_conversation().await;
        let token = TokenId::new();
        let one = NewRun {
            twin_hash: Some("t".to_owned()),
            ..run_of(&first, token)
        };
        put(&db.store, &one).await.unwrap();
        assert_unique(put(&db.store, &run_of(&first, token)).await);
        let again = |session: &Session| run_of(session, token);
        assert_unique(put(&db.store, &NewRun { twin_hash: Some("t".to_owned()), ..again(&second) }).await);
        let by_other = NewRun {
            twin_hash: Some("t".to_owned()),
            ..run_of(&second, TokenId::new())
        };
        put(&db.store, &by_other).await.unwrap();

        let twin = async |thread| read(&db.store, async |db| active_twin(db, token, "demo", thread, "t").await).await;
        assert_eq!(twin(None).await, Some((one.run.id, at(0))));
        assert_eq!(twin(Some(first.id)).await, None);
        write(&db.store, async |tx| clear_twin(tx, one.run.id).await).await.unwrap();
        assert_eq!(twin(None).await, None);

        // What has ended makes room for the next.
        assert!(read(&db.store, async |db| is_live(db, first.id).await).await);
        let ended = write(&db.store, async |tx| end(tx, one.run.id, &over(RunStatus::Completed)).await).await.unwrap();
        assert_eq!(ended, Write::Changed);
        assert!(!read(&db.store, async |db| is_live(db, first.id).await).await);
        put(&db.store, &again(&first)).await.unwrap();
        let live = read(&db.store, async |db| live_sessions(db).await).await;
        assert_eq!(live, [second.id, first.id]);
    }

    async fn a_key_stands_for_one_run_of_its_client_as_long_as_that_is_kept(db: TestDb) {
        let world = World::new(&db).await;
        let (_, session) = world.add_conversation().await;
        let (token, other) = (TokenId::new(), TokenId::new());
        let new = run_of(&session, token);
        put(&db.store, &new).await.unwrap();
        let run = new.run.id;
        let note = async |token, key: &str| write(&db.store, async |tx| note_key(tx, token, key, "p", run).await).await;
        note(token, UNICODE).await.unwrap();
        assert_unique(note(token, UNICODE).await);
        note(token, "another").await.unwrap();
        let key = async |token, key: &str| read(&db.store, async |db| by_key(db, token, key).await).await;
        assert_eq!(key(token, UNICODE).await, Some((run, "p".to_owned())));
        assert_eq!((key(other, UNICODE).await, key(token, "unknown").await), (None, None));
        let ended = write(&db.store, async |tx| end(tx, run, &over(RunStatus::Completed)).await).await.unwrap();
        assert_eq!(ended, Write::Changed);
        assert_eq!(key(token, "another").await, Some((run, "p".to_owned())));
        write(&db.store, async |tx| forget(tx, at(101)).await).await.unwrap();
        assert_eq!(key(token, UNICODE).await, None);
    }

    async fn an_outcome_is_frozen_once_and_whole(db: TestDb) {
        let world = World::new(&db).await;
        for status in RunStatus::ALL.iter().filter(|s| s.is_final()) {
            let (_, session) = world.add_conversation().await;
            let new = run_of(&session, TokenId::new());
            put(&db.store, &new).await.unwrap();
            let freeze = async |as_end: RunEnd| write(&db.store, async |tx| end(tx, new.run.id, &as_end).await).await;
            assert!(!write(&db.store, async |tx| retrieved(tx, new.run.id, at(1)).await).await.unwrap());
            assert_eq!(freeze(over(*status)).await.unwrap(), Write::Changed);
            assert_eq!(freeze(over(RunStatus::Cancelled)).await.unwrap(), Write::Stale);
            let (run, _) = found(&db.store, &new.run).await;
            assert_eq!(run.end, Some(over(*status)));
            for first in [true, false] {
                let now = write(&db.store, async |tx| retrieved(tx, new.run.id, at(7)).await).await.unwrap();
                assert_eq!(now, first);
            }
            assert_eq!(found(&db.store, &new.run).await.0.retrieved_at, Some(at(7)));
        }
        let (_, session) = world.add_conversation().await;
        let new = run_of(&session, TokenId::new());
        put(&db.store, &new).await.unwrap();
        let no_text = RunEnd { summary: None, ..over(RunStatus::Completed) };
        assert_invariant(write(&db.store, async |tx| end(tx, new.run.id, &no_text).await).await);
        assert_invariant(execute(&db.store, &format!("update runs set outcome = 'error' where id = '{}'", new.run.id)).await);
        let counted = read(&db.store, async |db| outcomes(db, new.run.token_id).await).await;
        assert!(counted.is_empty());
    }

    async fn the_facts_of_a_run_are_its_sessions(db: TestDb) {
        let world = World::new(&db).await;
        let (_, session) = world.add_conversation().await;
        let new = NewRun { from_generation: 1, ..run_of(&session, TokenId::new()) };
        put(&db.store, &new).await.unwrap();
        let facts = async || found(&db.store, &new.run).await.1.facts;
        let fresh = facts().await;
        assert_eq!(fresh.session, Some(SessionState::Created));
        assert!(!fresh.turn_open && fresh.auto_run && !fresh.waits_for_place && fresh.last_turn.is_none());

        // A turn of before the run is none of its own.
        let before = Turn { state: TurnState::Failed, completed_at: Some(at(1)), ..turn(&session) };
        world.put_turn(before).await;
        assert_eq!(facts().await.last_turn, None);
        world.put_turn(Turn { generation: 2, started_at: at(9), ..turn(&session) }).await;
        world.put_prompt(prompt(&session, Lane::Express)).await;
        world.put_prompt(prompt(&session, Lane::Normal)).await;
        world.put_bundle(bundle(&session, "key")).await;
        world.put_permission(permission(&session)).await;
        let now = facts().await;
        assert_eq!((now.last_turn, now.started_at, now.turn_open), (Some(TurnState::Open), Some(at(9)), true));
        assert_eq!((now.prompts, now.express, now.questions, now.permissions), (2, true, 1, 1));

        let blocker = world.add_task().await;
        write(&db.store, async |tx| store::dependencies::insert(tx, session.task_id, blocker.id, at(0)).await).await.unwrap();
        assert!(facts().await.blocked);

        // A session that is gone is a fact too.
        write(&db.store, async |tx| store::tasks::delete(tx, session.task_id).await).await.unwrap();
        assert_eq!(facts().await.session, None);
        assert_eq!(count(&db.store, "runs").await, 1);
    }

    async fn a_run_has_its_own_share_of_the_transcript(db: TestDb) {
        let world = World::new(&db).await;
        let (_, session) = world.add_conversation().await;
        let say = async |content: &str, kind: MessageType, author: AuthorType| {
            world.put_message(Message { message_type: kind, author_type: author, ..message(&session, content) }).await.seq
        };
        let from = say("before", MessageType::Message, AuthorType::Agent).await;
        let mut new = run_of(&session, TokenId::new());
        new.run.from_seq = from;
        put(&db.store, &new).await.unwrap();
        say("the prompt", MessageType::Message, AuthorType::User).await;
        say("thoughts", MessageType::Thinking, AuthorType::Agent).await;
        let first = say("working on it", MessageType::Message, AuthorType::Agent).await;
        let mut metadata = Map::new();
        metadata.insert("status".to_owned(), json!("in_progress"));
        metadata.insert("locations".to_owned(), json!([{"path": "/a"}, {"path": "/b"}, {"path": "/a"}]));
        let edit = Message { message_type: MessageType::ToolEdit, metadata, ..message(&session, "Edit a") };
        world.put_message(edit).await;
        assert_eq!(found(&db.store, &new.run).await.1.facts.tool, Some(MessageType::ToolEdit));
        say("cargo test", MessageType::ToolExecute, AuthorType::Agent).await;
        say(UNICODE, MessageType::Message, AuthorType::Agent).await;
        let last = say("  ", MessageType::Message, AuthorType::Agent).await;

        let words = async |run: &Run| read(&db.store, async |db| last_words(db, run, MessageType::Message).await).await;
        assert_eq!(words(&new.run).await.as_deref(), Some(UNICODE));
        assert_eq!(read(&db.store, async |db| last_seq(db, session.id).await).await, last);
        let _ = write(&db.store, async |tx| end(tx, new.run.id, &RunEnd { to_seq: last, ..over(RunStatus::Completed) }).await).await.unwrap();
        say("after", MessageType::Message, AuthorType::Agent).await;
        let (run, seen) = found(&db.store, &new.run).await;
        assert_ne!(seen.latest.unwrap().text, "after");
        let (entries, number) = read(&db.store, async |db| log(db, &run, None).await).await;
        let texts: Vec<&str> = entries.iter().map(|entry| entry.text.as_str()).collect();
        assert_eq!(texts, ["working on it", "Edit a", "cargo test", UNICODE, "  "]);
        assert_eq!(number, 5);
        let (rest, number) = read(&db.store, async |db| log(db, &run, Some(first)).await).await;
        assert_eq!((rest.len(), number), (4, 5));
        let made = read(&db.store, async |db| artifacts(db, &run).await).await;
        assert_eq!(made.files_changed, ["/a", "/b"]);
        assert_eq!(made.commands_run, ["cargo test"]);
        assert_eq!(read(&db.store, async |db| last_seq(db, SessionId::new()).await).await, 0);
    }

    async fn lists_are_newest_first_and_paged(db: TestDb) {
        let world = World::new(&db).await;
        let token = TokenId::new();
        let mut ids = Vec::new();
        for n in 0..5 {
            let (_, session) = world.add_conversation().await;
            let mut new = run_of(&session, token);
            if n == 0 {
                new.run.agent = "other".to_owned();
            }
            put(&db.store, &new).await.unwrap();
            if n < 2 {
                let _ = write(&db.store, async |tx| end(tx, new.run.id, &over(RunStatus::Error)).await).await.unwrap();
            }
            ids.insert(0, (new.run.id, session.id));
        }
        let listed = async |filter: RunFilter| -> Vec<RunId> {
            read(&db.store, async |db| list(db, token, &filter).await).await.into_iter().map(|(run, _)| run.id).collect()
        };
        let all = RunFilter { limit: 50, ..RunFilter::default() };
        let by_id: Vec<RunId> = ids.iter().map(|(id, _)| *id).collect();
        assert_eq!(listed(all.clone()).await, by_id);
        assert_eq!(listed(RunFilter { live: true, ..all.clone() }).await, by_id[..3]);
        assert_eq!(listed(RunFilter { limit: 2, before: Some(by_id[1]), ..all.clone() }).await, by_id[2..4]);
        assert_eq!(listed(RunFilter { agent: Some("other".to_owned()), ..all.clone() }).await, by_id[4..]);
        assert_eq!(listed(RunFilter { session: Some(ids[2].1), ..all }).await, by_id[2..3]);
        assert_eq!(read(&db.store, async |db| outcomes(db, token).await).await[&RunStatus::Error], 2);
    }

    async fn operators_find_the_runs_of_all_clients_by_their_names(db: TestDb) {
        let world = World::new(&db).await;
        let token = TokenId::new();
        write(&db.store, async |tx| store::tokens::insert_access(tx, token, "100% Phone_1", "hash", at(0)).await).await.unwrap();
        let mut made = Vec::new();
        for (client, agent) in [(token, "demo"), (token, "codex"), (TokenId::new(), "demo")] {
            let (task, session) = world.add_conversation().await;
            let mut new = run_of(&session, client);
            new.run.agent = agent.to_owned();
            put(&db.store, &new).await.unwrap();
            made.push((new.run.id, task.title));
        }
        let over = over(RunStatus::Error);
        let _ = write(&db.store, async |tx| end(tx, made[1].0, &over).await).await.unwrap();
        let found = async |filter: PageFilter| {
            let filter = PageFilter { limit: 50, ..filter };
            let page = read(&db.store, async |db| page(db, &filter).await).await;
            page.into_iter().map(|((run, _), names)| (run.id, names)).collect::<Vec<_>>()
        };
        let of = |index: usize| {
            let client = (index < 2).then(|| "100% Phone_1".to_owned());
            (made[index].0, Names { title: Some(made[index].1.clone()), client })
        };
        let with = |text: &str| PageFilter { text: Some(text.to_owned()), ..PageFilter::default() };
        let all = PageFilter::default();
        assert_eq!(found(all.clone()).await, [of(2), of(1), of(0)]);
        assert_eq!(found(PageFilter { only: Some(made[1].0), ..all.clone() }).await, [of(1)]);
        assert_eq!(found(PageFilter { live: Some(true), ..all.clone() }).await, [of(2), of(0)]);
        assert_eq!(found(PageFilter { live: Some(false), ..all.clone() }).await, [of(1)]);
        assert_eq!(found(PageFilter { outcomes: vec![RunStatus::Completed, RunStatus::Error], ..all.clone() }).await, [of(1)]);
        assert_eq!(found(PageFilter { outcomes: vec![RunStatus::Cancelled], ..all.clone() }).await, []);
        assert_eq!(found(PageFilter { before: Some(made[2].0), ..with("0% phone_") }).await, [of(1), of(0)]);
        assert_eq!(found(with("CODEX")).await, [of(1)]);
        assert_eq!(found(with(&made[0].1)).await.len(), 3, "they are called alike");
        // What means anything in a pattern means itself.
        for nothing in ["100_", "%%", "phone!", "p%e"] {
            assert_eq!(found(with(nothing)).await, [], "{nothing}");
        }
    }

    async fn waits_are_counted_and_old_runs_forgotten(db: TestDb) {
        let world = World::new(&db).await;
        let (_, session) = world.add_conversation().await;
        let new = run_of(&session, TokenId::new());
        put(&db.store, &new).await.unwrap();
        for number in 1..4 {
            assert_eq!(write(&db.store, async |tx| polled(tx, new.run.id, at(number)).await).await.unwrap(), number);
        }
        let polled_run = read(&db.store, async |db| of_id(db, new.run.id).await).await.unwrap().0;
        assert_eq!((polled_run.poll_count, polled_run.last_polled_at), (3, Some(at(3))));
        assert_eq!(write(&db.store, async |tx| polled(tx, RunId::new(), at(9)).await).await.unwrap(), 0);
        let clean = async |before| (
            write(&db.store, async |tx| redact(tx, at(before)).await).await.unwrap(),
            write(&db.store, async |tx| forget(tx, at(before - 50)).await).await.unwrap(),
        );
        assert_eq!(clean(1_000).await, (0, 0));
        for (before, number) in [(0, 0), (1, 1)] {
            assert_eq!(read(&db.store, async |db| live_since(db, at(before)).await).await.len(), number);
        }
        let _ = write(&db.store, async |tx| end(tx, new.run.id, &over(RunStatus::Error)).await).await.unwrap();
        assert_eq!(clean(100).await, (0, 0));
        assert_eq!(clean(101).await, (1, 0));
        assert_eq!(read(&db.store, async |db| asked(db, new.run.id).await).await, None);
        assert_eq!(clean(151).await, (0, 1));
        assert_eq!(count(&db.store, "runs").await, 0);
        assert_eq!(read(&db.store, async |db| live_of_session(db, session.id).await).await, None);
    }
}
