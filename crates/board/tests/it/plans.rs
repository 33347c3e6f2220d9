//! Plans: who may, which version, what is kept, and that of two writers exactly one wins.

use crate::puppet::Puppet;
use crate::world::{World, prompted, refused, soon};
use board::{Actor, Result, Settings};
use domain::error::ErrorCode;
use domain::ids::{PlanRevisionId, TaskId};
use domain::plan::{
    MAX_BYTES, PlanAuthorKind, PlanChange, PlanRange, PlanView, PlanWritten, RestorePlan, WritePlan,
};

const MINUTE: i64 = 60_000;

fn create(content: &str) -> WritePlan {
    WritePlan {
        change: PlanChange::Create {
            title: None,
            content: content.to_owned(),
        },
        expected_version: None,
        allow_truncation: false,
    }
}

fn replace(content: &str, version: &(impl ToString + ?Sized)) -> WritePlan {
    WritePlan {
        change: PlanChange::Replace {
            title: None,
            content: content.to_owned(),
        },
        expected_version: Some(version.to_string()),
        allow_truncation: false,
    }
}

fn append(fragment: &str) -> WritePlan {
    WritePlan {
        change: PlanChange::Append {
            title: None,
            fragment: fragment.to_owned(),
        },
        expected_version: None,
        allow_truncation: false,
    }
}

impl World {
    async fn write(&self, actor: &Actor, task: TaskId, params: &WritePlan) -> Result<PlanWritten> {
        self.board().plan_write(actor, task, params).await
    }

    async fn plan(&self, task: TaskId) -> Option<PlanView> {
        self.board()
            .plan_find(&Actor::Operator, task)
            .await
            .unwrap()
    }

    /// Text, history, version and events of a plan: what a refused write leaves as it is.
    async fn trace(&self, task: TaskId) -> (Option<PlanView>, Vec<(i64, String)>, i64) {
        let history = self
            .board()
            .plan_revisions(&Actor::Operator, task, None, Some(100))
            .await
            .unwrap();
        let versions = history
            .revisions
            .iter()
            .map(|entry| (entry.revision_number, entry.revision_version.to_string()))
            .collect();
        let events = self.count("events where kind = 'task.plan.updated'").await;
        (self.plan(task).await, versions, events)
    }
}

async fn revision_texts(world: &World, agent: &Puppet) -> Vec<String> {
    let board = world.board();
    let list = board
        .plan_revisions(&agent.actor(), agent.task, None, None)
        .await
        .unwrap();
    let mut texts = Vec::new();
    for entry in list.revisions {
        let revision = board
            .plan_revision(&agent.actor(), agent.task, entry.id)
            .await
            .unwrap();
        texts.push(revision.content);
    }
    texts
}

store::on_both_engines! {
    async fn a_plan_is_kept_byte_for_byte_through_every_kind_of_write(db: TestDb) {
        let world = World::new(db).await;
        let agent = world.working("A").await;
        let text = "# Plan\r\n\r\ne\u{301} é 👩‍👩‍👧 🛫\n\ttab  \n";
        let made = world.write(&agent.actor(), agent.task, &create(text)).await.unwrap();
        assert!(made.created && made.write_applied);
        assert_eq!(world.plan(agent.task).await.unwrap().content, text);
        assert_eq!((made.content_bytes, made.total_characters), (text.len(), text.chars().count()));
        let edit = WritePlan {
            change: PlanChange::Edit { old_text: "é".to_owned(), new_text: "ö\r\n".to_owned() },
            expected_version: Some(made.version.to_string()),
            allow_truncation: false,
        };
        let edited = world.write(&agent.actor(), agent.task, &edit).await.unwrap();
        assert_ne!(edited.version, made.version);
        assert_eq!(world.plan(agent.task).await.unwrap().content, text.replace('é', "ö\r\n"));
        world.write(&agent.actor(), agent.task, &append("More.")).await.unwrap();
        let expected = format!("{}\nMore.", text.replace('é', "ö\r\n"));
        assert_eq!(world.plan(agent.task).await.unwrap().content, expected);
    }

    async fn the_largest_plan_is_kept_and_read_in_ranges_that_make_it_up(db: TestDb) {
        let world = World::new(db).await;
        let agent = world.working("A").await;
        let piece = "🛫e\u{301}\u{200d}\r\n";
        let mut text = piece.repeat(MAX_BYTES / piece.len());
        text.push_str(&"x".repeat(MAX_BYTES - text.len()));
        let made = world.write(&agent.actor(), agent.task, &create(&text)).await.unwrap();
        let board = world.board();
        let mut together = String::new();
        let mut range = PlanRange { offset: Some(0), limit: Some(8_192), expected_version: None };
        loop {
            let read = board.plan_read(&agent.actor(), agent.task, &range).await.unwrap().unwrap();
            let page = read.page.unwrap();
            assert_eq!(page.total_content_bytes, MAX_BYTES);
            assert_eq!(page.returned_characters, read.plan.content.chars().count() as u64);
            together.push_str(&read.plan.content);
            range.expected_version = Some(read.plan.version.to_string());
            range.offset = page.next_offset;
            if page.next_offset.is_none() {
                break;
            }
        }
        assert_eq!(together, text);
        let before = world.trace(agent.task).await;
        refused(world.write(&agent.actor(), agent.task, &append("x")).await, ErrorCode::Validation);
        let longer = replace(&format!("{text}x"), &made.version);
        refused(world.write(&agent.actor(), agent.task, &longer).await, ErrorCode::Validation);
        assert_eq!(world.trace(agent.task).await, before);
    }

    async fn a_refused_write_leaves_no_trace(db: TestDb) {
        let world = World::new(db).await;
        let agent = world.working("A").await;
        let made = world.write(&agent.actor(), agent.task, &create(&"long ".repeat(500))).await.unwrap();
        let before = world.trace(agent.task).await;
        for (write, code) in [
            (create("Another."), ErrorCode::PlanVersionRequired),
            (replace("Another.", "stale"), ErrorCode::PlanVersionConflict),
            (replace("Another.", &made.version), ErrorCode::PlanTruncationRejected),
            (replace(" ", &made.version), ErrorCode::PlanContentRequired),
            (append(" "), ErrorCode::PlanContentRequired),
            (WritePlan { allow_truncation: true, ..append("x") }, ErrorCode::PlanAppendTruncationNotApplicable),
            (WritePlan { expected_version: Some("stale".to_owned()), ..append("x") }, ErrorCode::PlanVersionConflict),
        ] {
            let refusal = refused(world.write(&agent.actor(), agent.task, &write).await, code);
            assert!(refusal.message.contains(&made.version.to_string()), "{}", refusal.message);
            assert_eq!(world.trace(agent.task).await, before);
        }
        let same = replace(&"long ".repeat(500), &made.version);
        let same = world.write(&agent.actor(), agent.task, &same).await.unwrap();
        assert!(!same.write_applied);
        assert_eq!((same.code.as_deref(), same.version), (Some("plan_already_current"), made.version));
        assert_eq!(world.trace(agent.task).await, before);
    }

    async fn of_agent_and_browser_at_once_exactly_one_wins_and_the_loser_is_told_the_version(db: TestDb) {
        let world = World::new(db).await;
        let agent = world.working("A").await;
        for round in 0..8 {
            let head = world.plan(agent.task).await;
            let version = head.as_ref().map(|plan| plan.version);
            let as_read = |content: String| WritePlan {
                expected_version: version.map(|version| version.to_string()),
                ..create(&content)
            };
            let (by_agent, by_operator) =
                (as_read(format!("agent {round}")), as_read(format!("operator {round}")));
            let actor = agent.actor();
            let (one, other) = soon(async {
                tokio::join!(
                    world.write(&actor, agent.task, &by_agent),
                    world.write(&Actor::Operator, agent.task, &by_operator),
                )
            })
            .await;
            let (won, lost, text) = match (one, other) {
                (Ok(won), lost @ Err(_)) => (won, lost, format!("agent {round}")),
                (lost @ Err(_), Ok(won)) => (won, lost, format!("operator {round}")),
                both => panic!("exactly one wins: {both:?}"),
            };
            let code = if version.is_some() { ErrorCode::PlanVersionConflict } else { ErrorCode::PlanVersionRequired };
            let refusal = refused(lost, code);
            assert!(refusal.message.contains("write_applied=false"));
            assert_eq!(refusal.details.unwrap()["current_version"], won.version.to_string());
            let now = world.plan(agent.task).await.unwrap();
            assert_eq!((now.content, now.version), (text, won.version));
        }
    }

    async fn writes_of_one_author_share_a_revision_until_the_window_closes(db: TestDb) {
        let world = World::new(db).await;
        let agent = world.working("A").await;
        let first = world.write(&agent.actor(), agent.task, &create("One.")).await.unwrap();
        world.clock.advance(4 * MINUTE);
        let second = world.write(&agent.actor(), agent.task, &append("Two.")).await.unwrap();
        assert!(second.merged);
        assert_eq!(second.revision_id, first.revision_id);
        assert_ne!(second.version, first.version, "a merge is a write");
        let operator = world.write(&Actor::Operator, agent.task, &append("Three.")).await.unwrap();
        assert!(!operator.merged);
        let back = world.write(&agent.actor(), agent.task, &append("Four.")).await.unwrap();
        assert_eq!((back.merged, back.revision_number), (false, Some(3)));
        world.clock.advance(5 * MINUTE);
        let later = world.write(&agent.actor(), agent.task, &append("Five.")).await.unwrap();
        assert_eq!((later.merged, later.revision_number), (false, Some(4)));
        assert_eq!(
            revision_texts(&world, &agent).await,
            [
                "One.\n\nTwo.\n\nThree.\n\nFour.\n\nFive.",
                "One.\n\nTwo.\n\nThree.\n\nFour.",
                "One.\n\nTwo.\n\nThree.",
                "One.\n\nTwo.",
            ]
        );
        let list = world.board().plan_revisions(&agent.actor(), agent.task, None, Some(3)).await.unwrap();
        let authors: Vec<_> =
            list.revisions.iter().map(|entry| (entry.author_kind, entry.author_name.as_str())).collect();
        assert_eq!(
            authors,
            [(PlanAuthorKind::Agent, "Puppet"), (PlanAuthorKind::Agent, "Puppet"), (PlanAuthorKind::User, "")]
        );
        assert_eq!((list.has_more, list.next_cursor), (true, Some(2)));
        let rest = world
            .board()
            .plan_revisions(&agent.actor(), agent.task, list.next_cursor, Some(3))
            .await
            .unwrap();
        assert_eq!((rest.total, rest.has_more, rest.next_cursor), (1, false, None));
    }

    async fn a_window_of_zero_gives_each_write_its_own_revision(db: TestDb) {
        let world = World::with(db, Settings { plan_merge_ms: 0, ..Settings::default() }).await;
        let agent = world.working("A").await;
        world.write(&agent.actor(), agent.task, &create("One.")).await.unwrap();
        world.write(&agent.actor(), agent.task, &append("Two.")).await.unwrap();
        assert_eq!(revision_texts(&world, &agent).await, ["One.\n\nTwo.", "One."]);
    }

    async fn what_is_cut_on_purpose_stays_in_the_history(db: TestDb) {
        let world = World::new(db).await;
        let agent = world.working("A").await;
        let long = "long ".repeat(500);
        let made = world.write(&agent.actor(), agent.task, &create(&long)).await.unwrap();
        let cut = WritePlan { allow_truncation: true, ..replace("Short.", &made.version) };
        let cut = world.write(&agent.actor(), agent.task, &cut).await.unwrap();
        assert!(!cut.merged, "within the window, and still a revision of its own");
        assert_eq!(revision_texts(&world, &agent).await, ["Short.".to_owned(), long.clone()]);
        // A history that does not hold what stands is not relied on.
        let long_again = world.write(&agent.actor(), agent.task, &replace(&long, &cut.version)).await.unwrap();
        world.execute("update plan_revisions set content = 'lost' where revision_number = 2").await;
        let cut = WritePlan { allow_truncation: true, ..replace("Short.", &long_again.version) };
        refused(world.write(&agent.actor(), agent.task, &cut).await, ErrorCode::PlanHistoryUnavailable);
    }

    async fn a_restore_is_a_new_revision_and_needs_both_versions(db: TestDb) {
        let world = World::new(db).await;
        let agent = world.working("A").await;
        let board = world.board();
        let first = world.write(&agent.actor(), agent.task, &create("One.")).await.unwrap();
        world.clock.advance(10 * MINUTE);
        let second = world.write(&agent.actor(), agent.task, &replace("Two.", &first.version)).await.unwrap();
        let revision = board
            .plan_revision(&agent.actor(), agent.task, first.revision_id.unwrap())
            .await
            .unwrap();
        let right = RestorePlan {
            revision_id: revision.entry.id,
            expected_version: Some(second.version.to_string()),
            expected_revision_version: Some(revision.entry.revision_version.to_string()),
        };
        let restore = async |params: RestorePlan| board.plan_restore(&agent.actor(), agent.task, &params).await;
        let before = world.trace(agent.task).await;
        for (params, code) in [
            (RestorePlan { expected_version: None, ..right.clone() }, ErrorCode::PlanVersionRequired),
            (
                RestorePlan { expected_version: Some(first.version.to_string()), ..right.clone() },
                ErrorCode::PlanVersionConflict,
            ),
            (
                RestorePlan { expected_revision_version: None, ..right.clone() },
                ErrorCode::PlanRevisionVersionRequired,
            ),
            (
                RestorePlan { expected_revision_version: Some("other".to_owned()), ..right.clone() },
                ErrorCode::PlanRevisionChanged,
            ),
            (
                RestorePlan { revision_id: PlanRevisionId::new(), ..right.clone() },
                ErrorCode::PlanRevisionUnavailable,
            ),
        ] {
            refused(restore(params).await, code);
            assert_eq!(world.trace(agent.task).await, before);
        }
        let restored = restore(right.clone()).await.unwrap();
        assert_eq!((restored.merged, restored.revision_number), (false, Some(3)));
        assert_eq!(revision_texts(&world, &agent).await, ["One.", "Two.", "One."]);
        let again = RestorePlan { expected_version: Some(restored.version.to_string()), ..right };
        let again = restore(again).await.unwrap();
        assert_eq!(
            (again.write_applied, again.code.as_deref()),
            (false, Some("plan_already_current"))
        );
    }

    async fn a_deleted_plan_leaves_its_history_from_which_the_operator_brings_it_back(db: TestDb) {
        let world = World::new(db).await;
        let agent = world.working("A").await;
        let board = world.board();
        let made = world.write(&agent.actor(), agent.task, &create("One.")).await.unwrap();
        let stale = board.plan_delete(&Actor::Operator, agent.task, Some("stale")).await;
        refused(stale, ErrorCode::PlanVersionConflict);
        assert!(board.plan_delete(&agent.actor(), agent.task, None).await.unwrap());
        assert!(!board.plan_delete(&agent.actor(), agent.task, None).await.unwrap());
        assert_eq!(world.plan(agent.task).await, None);
        let append = world.write(&agent.actor(), agent.task, &append("x")).await;
        refused(append, ErrorCode::PlanHeadUnavailable);
        let read = PlanRange { expected_version: Some(made.version.to_string()), ..PlanRange::default() };
        refused(board.plan_read(&agent.actor(), agent.task, &read).await, ErrorCode::PlanVersionConflict);
        let revision = board
            .plan_revision(&agent.actor(), agent.task, made.revision_id.unwrap())
            .await
            .unwrap();
        let bring_back = RestorePlan {
            revision_id: revision.entry.id,
            expected_version: None,
            expected_revision_version: Some(revision.entry.revision_version.to_string()),
        };
        let by_agent = board.plan_restore(&agent.actor(), agent.task, &bring_back).await;
        refused(by_agent, ErrorCode::PlanHeadUnavailable);
        let back = board.plan_restore(&Actor::Operator, agent.task, &bring_back).await.unwrap();
        assert!(back.created);
        assert_ne!(back.plan_id, made.plan_id);
        assert_eq!(world.plan(agent.task).await.unwrap().content, "One.");
    }

    async fn an_agent_reaches_its_workspace_and_its_tree_and_nothing_else(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child) = world.family().await;
        let board = world.board();
        for (writer, task) in [(&parent, child.task), (&child, parent.task)] {
            world.write(&writer.actor(), task, &create("Seen.")).await.unwrap();
            let whole = board.plan_read(&writer.actor(), task, &PlanRange::default()).await.unwrap();
            assert_eq!(whole.unwrap().plan.content, "Seen.");
        }
        let elsewhere = board.workspace_create(&Actor::Operator, "Elsewhere", "").await.unwrap();
        let stranger = world
            .create(domain::params::CreateTask {
                workspace_id: Some(elsewhere.id),
                ..prompted("Stranger")
            })
            .await
            .unwrap();
        let hidden = stranger.task.id;
        world.write(&Actor::Operator, hidden, &create("Secret.")).await.unwrap();
        let unknown = TaskId::new();
        for task in [hidden, unknown] {
            // A wrong version would tell that there is one: who may is asked first.
            let stale = PlanRange { expected_version: Some("stale".to_owned()), ..PlanRange::default() };
            for outcome in [
                board.plan_read(&child.actor(), task, &stale).await.map(drop),
                board.plan_find(&child.actor(), task).await.map(drop),
                world.write(&child.actor(), task, &replace("x", "stale")).await.map(drop),
                board.plan_delete(&child.actor(), task, None).await.map(drop),
                board.plan_revisions(&child.actor(), task, None, None).await.map(drop),
            ] {
                let refusal = refused(outcome, ErrorCode::NotFound);
                assert_eq!(refusal, domain::error::Refusal::not_found("task"));
            }
        }
        let revision = board.plan_revisions(&Actor::Operator, hidden, None, None).await.unwrap();
        let foreign = board.plan_revision(&child.actor(), child.task, revision.revisions[0].id).await;
        refused(foreign, ErrorCode::PlanRevisionUnavailable);
        let outside = Actor::External { token: domain::ids::TokenId::new() };
        refused(board.plan_find(&outside, child.task).await, ErrorCode::Forbidden);
    }

    async fn an_operator_has_the_plan_carried_out_and_planning_is_over(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.resting("Task").await;
        let board = world.board();
        refused(board.plan_implement(&Actor::Operator, puppet.task).await, ErrorCode::NotFound);
        world.write(&puppet.actor(), puppet.task, &create("One.")).await.unwrap();
        refused(board.plan_implement(&puppet.actor(), puppet.task).await, ErrorCode::Forbidden);
        world.execute("update sessions set plan_mode = 1").await;
        let sent = board.plan_implement(&Actor::Operator, puppet.task).await.unwrap();
        assert_eq!(sent.session_id, Some(puppet.session));
        world.run().await;
        let heard = puppet.last_heard();
        assert!(heard.text.contains("get_task_plan_kandev"), "{}", heard.text);
        assert!(!heard.hidden().contains("for planning"));
        let version = world.plan(puppet.task).await.unwrap().version;
        puppet.end_turn().await;
        world.run().await;
        assert_eq!(world.plan(puppet.task).await.unwrap().version, version, "it is no write");
    }
}
