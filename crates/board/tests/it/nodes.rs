//! Two nodes on one database: a session's agent is on one of them, and follow-ups find it there.

use crate::world::{NODE, World, prompted, refused};
use board::{Actor, Board, Clock, Held, LaunchReport, Next, Output, Settings, Topic, TurnOutcome};
use domain::error::ErrorCode;
use domain::ids::MessageId;
use domain::job::TargetKind;
use domain::job::intake::Intake;
use domain::message::MessageType;
use domain::session::SessionState;
use serde_json::{Map, json};
use store::testing::TestDb;

store::on_both_engines! {
    async fn a_follow_up_waits_for_the_node_that_has_the_agent(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.resting("Task").await;
        let other = world.second_node("node-2").await;
        puppet.operator_says("Go on.").await;
        other.run().await;
        assert!(!other.is_live(puppet.session));
        assert!(!puppet.is_in_turn());
        assert_eq!(world.count("effects").await, 1, "the wake-up is not used up by the wrong node");
        world.run().await;
        assert_eq!(puppet.last_heard().text, "Go on.");

        world.board().session_cancel(&Actor::Operator, puppet.session).await.unwrap();
        other.run().await;
        assert!(puppet.is_in_turn());
        world.run().await;
        assert!(!puppet.is_in_turn());
    }

    async fn what_only_another_node_can_do_does_not_keep_a_node_awake(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.resting("Task").await;
        let other = world.second_node("node-2").await;
        puppet.operator_says("Go on.").await;
        let now = world.clock.now();
        assert_eq!(world.board().effect_next_due().await.unwrap(), Some(now));
        let lease = world.board().settings().lease_ms;
        let due = other.board.effect_next_due().await.unwrap().unwrap();
        assert!(due > now && due <= now.plus_millis(lease + 1), "it looks again when the lease may be over");
    }

    async fn a_session_goes_to_another_node_when_the_lease_is_over(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        let other = world.second_node("node-2").await;
        puppet.operator_says("Go on.").await;
        world.clock.advance(world.board().settings().lease_ms);
        assert_eq!(other.board.recover_expired().await.unwrap().sessions, 0, "not a moment too early");
        world.clock.advance(1);
        let recovered = other.board.recover_expired().await.unwrap();
        assert_eq!((recovered.sessions, recovered.turns), (1, 1));
        other.run().await;
        assert!(other.is_live(puppet.session));
        assert_eq!(puppet.last_heard().text, "Go on.");
        assert_eq!(puppet.state().await, SessionState::Running);

        // The late holder is not listened to and is given nothing.
        puppet.end_turn().await;
        assert_eq!(puppet.state().await, SessionState::Running);
        puppet.operator_says("And on.").await;
        let next = world.node().next(puppet.session).await.unwrap();
        assert!(matches!(next, Next::Rest), "{next:?}");
        world.assert_heard_once();
    }

    async fn whatever_a_late_holder_reports_changes_nothing(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        let late = world.node();
        let turn = late.turn(puppet.session).unwrap();
        let other = world.second_node("node-2").await;
        puppet.operator_says("Go on.").await;
        world.clock.advance(world.board().settings().lease_ms + 1);
        other.board.recover_expired().await.unwrap();
        other.run().await;
        let running = other.turn(puppet.session).unwrap();
        let before = world.count("events").await;

        let board = world.board();
        for turn in [turn, running] {
            board.prompt_accepted(turn, NODE).await.unwrap();
            for outcome in [
                TurnOutcome::Cancelled,
                TurnOutcome::Stopped("end_turn".to_owned()),
                TurnOutcome::Failed("it broke".to_owned()),
            ] {
                board.turn_ended(turn, NODE, &outcome).await.unwrap();
            }
        }
        board.session_failed(puppet.session, NODE, "it died").await.unwrap();
        let output = Output {
            id: MessageId::new(),
            message_type: MessageType::Message,
            content: "late words".to_owned(),
            metadata: Map::new(),
        };
        refused(
            board.record_output(puppet.session, NODE, Some(turn), vec![output]).await,
            ErrorCode::Conflict,
        );
        refused(
            board.permission_request(puppet.session, NODE, "1", json!({}), Vec::new()).await,
            ErrorCode::Conflict,
        );
        let report = LaunchReport {
            agent: world.board().agent_list(&Actor::Operator).await.unwrap()[0].id,
            supports_mcp: true,
            provider_session_id: "late",
            seen: None,
            remarks: Vec::new(),
        };
        refused(
            board.session_launched(puppet.session, NODE, report).await,
            ErrorCode::Conflict,
        );
        assert_eq!(world.count("events").await, before);
        assert_eq!(puppet.state().await, SessionState::Running);
        other.end_turn(puppet.session, &TurnOutcome::Stopped("end_turn".to_owned())).await.unwrap();
        assert_eq!(puppet.state().await, SessionState::WaitingForInput);
    }

    // An actor that broke down, or could not store its agent's end.
    async fn a_session_whose_agent_got_lost_is_brought_into_order_while_the_node_runs(db: TestDb) {
        let world = World::new(db).await;
        let (puppet, fine) = (world.working("Task").await, world.working("Other").await);
        let node = world.node();
        node.lose(puppet.session);
        puppet.operator_says("Go on.").await;
        let recovered = world.board().recover_lost(NODE, &[puppet.session]).await.unwrap();
        assert_eq!((recovered.sessions, recovered.turns), (1, 1));
        world.run().await;
        assert_eq!(puppet.last_heard().text, "Go on.");
        assert!(fine.is_in_turn());
        assert_eq!(world.board().recover_lost("node-2", &[fine.session]).await.unwrap().sessions, 0);
        world.assert_heard_once();
    }

    async fn renewed_leases_are_not_taken(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        let other = world.second_node("node-2").await;
        for _ in 0..5 {
            world.clock.advance(world.board().settings().lease_ms / 2);
            assert_eq!(world.board().renew_leases("node-1").await.unwrap(), [puppet.session]);
            assert_eq!(other.board.recover_expired().await.unwrap().sessions, 0);
        }
        assert_eq!(puppet.state().await, SessionState::Running);
    }

    // A machine that slept finds its own leases over; its agents are alive and go on.
    async fn a_node_whose_lease_ran_out_unnoticed_goes_on_with_its_agents(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.resting("Task").await;
        world.clock.advance(world.board().settings().lease_ms * 10);
        world.board().recover_expired().await.unwrap();
        puppet.operator_says("Go on.").await;
        world.run().await;
        assert_eq!(puppet.last_heard().text, "Go on.");
        world.board().renew_leases("node-1").await.unwrap();
        let other = world.second_node("node-2").await;
        assert_eq!(other.board.recover_expired().await.unwrap().sessions, 0, "it holds its session again");
    }

    async fn another_node_starting_leaves_this_ones_sessions_alone(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        let created = world.create(prompted("Second")).await.unwrap();
        let other = world.second_node("node-2").await;
        assert_eq!(puppet.state().await, SessionState::Running);
        other.run().await;
        let second = world.puppet(created.task.id, created.session_id.unwrap());
        assert!(other.is_live(second.session), "what nobody holds, anybody starts");
        world.run().await;
        assert!(!world.node().is_live(second.session));
        world.assert_heard_once();
    }

    async fn a_holder_that_comes_too_late_does_not_finish_the_follow_up(db: TestDb) {
        let world = World::new(db).await;
        world.create(prompted("Task")).await.unwrap();
        let other = world.second_node("node-2").await;
        let late = world.board().effect_claim("node-1", 1).await.unwrap().remove(0);
        assert!(other.board.effect_claim("node-2", 1).await.unwrap().is_empty());
        world.clock.advance(400_000);
        let taken = other.board.effect_claim("node-2", 1).await.unwrap().remove(0);
        assert_eq!(taken.id, late.id);
        assert!(!world.board().effect_finish(&late, "node-1").await.unwrap());
        assert!(other.board.effect_finish(&taken, "node-2").await.unwrap());
    }

    async fn a_follow_up_that_fails_is_tried_again_later_and_later(db: TestDb) {
        let world = World::new(db).await;
        world.create(prompted("Task")).await.unwrap();
        let mut waits = Vec::new();
        for _ in 0..12 {
            let effect = world.board().effect_claim("node-1", 1).await.unwrap().remove(0);
            world.board().effect_retry(&effect, "node-1").await.unwrap();
            let due = world.board().effect_next_due().await.unwrap().unwrap();
            let wait = due.since(world.clock.now());
            waits.push(wait);
            world.clock.advance(wait);
        }
        assert!(waits.is_sorted());
        assert_eq!((waits[0], waits[11]), (400, 30_000));
        world.run().await;
        assert_eq!(world.disk().heard().len(), 1);
    }
}

/// Only Postgres has several nodes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs FLIGHTDECK_TEST_POSTGRES_URL"]
async fn postgres_a_job_of_one_node_wakes_the_others_also_after_they_were_cut_off() {
    let db = TestDb::postgres().await;
    let node = async |store| {
        let board = Board::new(store, Clock::system(), Settings::default());
        let joined = board.join_nodes().await.unwrap();
        (board, joined)
    };
    let (here, _joined) = node(db.store.clone()).await;
    let (there, _joined_too) = node(db.open_again().await).await;
    let mut wake = there.signals().subscribe(Topic::Jobs);
    for round in 0..2 {
        wake.mark_unchanged();
        let intake =
            Intake::direct_message(TargetKind::DiscordDm, "gateway_dm", "u", "hello").unwrap();
        let made = here.job_enqueue(intake, Ok(())).await.unwrap();
        woken(&mut wake).await;
        let claimed = there.job_claim_next("there", 1).await.unwrap();
        assert_eq!(
            claimed.iter().map(|job| job.id).collect::<Vec<_>>(),
            [made.job_id]
        );
        assert_eq!(there.job_complete(&claimed[0]).await.unwrap(), Held::Yes);
        if round == 0 {
            wake.mark_unchanged();
            let cut = "select count(pg_terminate_backend(pid))::text from pg_stat_activity \
                       where datname = current_database() and query ilike 'listen%'";
            let cut = db
                .store
                .write()
                .await
                .unwrap()
                .fetch_raw(cut)
                .await
                .unwrap();
            assert_eq!(cut, [[Some("2".to_owned())]]);
            // What was said meanwhile is not known, so it looks.
            woken(&mut wake).await;
        }
    }
}

async fn woken(wake: &mut tokio::sync::watch::Receiver<u64>) {
    tokio::time::timeout(std::time::Duration::from_secs(20), wake.changed())
        .await
        .expect("a wake-up comes")
        .unwrap();
}
