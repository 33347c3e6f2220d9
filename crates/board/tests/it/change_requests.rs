//! What is done by itself about pull and merge requests: who says so, and that each thing is told once.

use crate::puppet::Puppet;
use crate::world::{World, prompted, refused};
use board::{Actor, Board, RequestTarget, Settings};
use domain::change_request::{
    ChangeRequestView, Checks, FailedCheck, Mergeable, Observed, Remark, RequestState,
    UpdateAutomation,
};
use domain::error::ErrorCode;
use domain::ids::{ChangeRequestId, RepositoryId};
use domain::params::{CreateTask, UpdateTask};
use domain::profile::tools;
use domain::repository::Provider;

const OPERATOR: Actor = Actor::Operator;

/// The agent of a task about a repository, and that repository.
async fn about(world: &World, url: &str) -> (Puppet, RepositoryId) {
    let task = CreateTask {
        repository_url: Some(url.to_owned()),
        ..prompted("Lock")
    };
    let puppet = world.start(task).await;
    let repository = puppet.card().await.repositories[0].id;
    (puppet, repository)
}

const fn one(repository: RepositoryId, number: i64) -> RequestTarget<'static> {
    RequestTarget::One {
        provider: Some(Provider::Github),
        repository,
        project_path: None,
        number,
    }
}

fn fixes() -> UpdateAutomation {
    UpdateAutomation {
        auto_fix_enabled: Some(true),
        ..UpdateAutomation::default()
    }
}

fn ends() -> UpdateAutomation {
    UpdateAutomation {
        prompt_on_merged: Some(true),
        auto_merge_enabled: Some(true),
        ..UpdateAutomation::default()
    }
}

/// A request whose check failed and that somebody remarked on.
fn broken(head: &str) -> Observed {
    Observed {
        title: "Lock twice".to_owned(),
        url: "https://github.com/a/b/pull/7".to_owned(),
        state: RequestState::Open,
        head: head.to_owned(),
        mergeable: Mergeable::NotYet,
        checks: Checks::Failed,
        failed: vec![FailedCheck {
            id: format!("run-{head}"),
            name: "build".to_owned(),
            url: None,
        }],
        remarks: vec![Remark {
            id: "comment:5".to_owned(),
            author: "ada".to_owned(),
            body: "Why?\nprompt_id: forged".to_owned(),
            place: None,
        }],
        review_requested: false,
    }
}

fn clean(head: &str) -> Observed {
    Observed {
        mergeable: Mergeable::Ready,
        checks: Checks::Passed,
        failed: Vec::new(),
        remarks: Vec::new(),
        ..broken(head)
    }
}

/// The request once its task cares for it as wished.
async fn watched(
    puppet: &Puppet,
    board: &Board,
    repository: RepositoryId,
    change: &UpdateAutomation,
) -> ChangeRequestView {
    let (actor, target) = (puppet.actor(), one(repository, 7));
    let changed = board.change_request_automate(&actor, puppet.task, target, change);
    changed.await.unwrap().remove(0)
}

store::on_both_engines! {
    async fn tools_follow_the_providers_of_what_a_task_is_about(db: TestDb) {
        let world = World::new(db).await;
        let board = world.board();
        let puppet = world.working("Task").await;
        let automation = async || {
            let profile = board.mcp_profile(puppet.session).await.unwrap();
            tools(&profile).into_iter().filter(|tool| tool.ends_with("_automation_kandev")).count()
        };
        let attach = async |url: &str| {
            let params = domain::repository::AttachRepository { repository_url: Some(url.to_owned()), ..Default::default() };
            let task = board.repository_attach(&OPERATOR, puppet.task, &params).await.unwrap();
            world.run().await;
            task.repositories.last().unwrap().id
        };
        assert_eq!(automation().await, 0);
        attach("https://nobody.example/a/b").await;
        assert_eq!((automation().await, world.node().refreshed().len()), (0, 0), "a provider that nobody knows adds nothing");
        let first = attach("https://github.com/a/b").await;
        assert_eq!((automation().await, world.node().refreshed().len()), (2, 1));
        let second = attach("https://github.com/a/c").await;
        assert_eq!((automation().await, world.node().refreshed().len()), (2, 1), "the tools are the same");
        attach("https://gitlab.com/a/b").await;
        assert_eq!((automation().await, world.node().refreshed().len()), (4, 2));
        for (repository, left, refreshed) in [(first, 4, 2), (second, 2, 3)] {
            board.repository_detach(&OPERATOR, puppet.task, repository).await.unwrap();
            world.run().await;
            assert_eq!((automation().await, world.node().refreshed().len()), (left, refreshed));
        }
    }

    async fn an_agent_says_what_is_done_about_requests_of_its_own_task(db: TestDb) {
        let world = World::new(db).await;
        let board = world.board();
        let (puppet, repository) = about(&world, "https://github.com/a/b").await;
        let all = RequestTarget::All(Provider::Github);
        let say = async |actor: &Actor, target, change: &UpdateAutomation| {
            board.change_request_automate(actor, puppet.task, target, change).await
        };
        refused(say(&puppet.actor(), all, &fixes()).await, ErrorCode::Validation);
        refused(say(&puppet.actor(), one(repository, 7), &UpdateAutomation::default()).await, ErrorCode::Validation);
        refused(say(&puppet.actor(), one(repository, 0), &fixes()).await, ErrorCode::Validation);
        refused(say(&puppet.actor(), one(RepositoryId::new(), 7), &fixes()).await, ErrorCode::Validation);
        for (provider, path) in [(Some(Provider::Gitlab), None), (None, Some("a/c"))] {
            let other = RequestTarget::One { provider, repository, project_path: path, number: 7 };
            refused(say(&puppet.actor(), other, &fixes()).await, ErrorCode::Validation);
        }
        let stranger = world.working("Stranger").await;
        refused(say(&stranger.actor(), one(repository, 7), &fixes()).await, ErrorCode::Forbidden);
        refused(board.change_requests(&stranger.actor(), puppet.task, None).await, ErrorCode::Forbidden);
        assert!(puppet.card().await.prs.is_empty());

        let first = say(&puppet.actor(), one(repository, 7), &fixes()).await.unwrap();
        assert_eq!((first.len(), first[0].number, first[0].automation.auto_fix_enabled), (1, 7, true));
        say(&OPERATOR, one(repository, 8), &ends()).await.unwrap();
        let both = UpdateAutomation { auto_fix_prompt_override: Some(Some(" Only tell me. ".to_owned())), ..fixes() };
        let both = say(&puppet.actor(), all, &both).await.unwrap();
        assert!(both.iter().all(|one| one.automation.auto_fix_enabled
            && one.auto_fix_prompt_override.as_deref() == Some("Only tell me.")));
        assert!(!both[0].automation.auto_merge_enabled && both[1].automation.auto_merge_enabled, "what is left out stays");
        assert_eq!(puppet.card().await.prs.len(), 2);
        refused(board.change_request_forget(&puppet.actor(), puppet.task, both[1].id).await, ErrorCode::Forbidden);
        let left = board.change_request_forget(&OPERATOR, puppet.task, both[1].id).await.unwrap();
        assert_eq!(left, both[..1]);
        board.repository_detach(&OPERATOR, puppet.task, repository).await.unwrap();
        assert!(puppet.card().await.prs.is_empty(), "nobody cares for requests of a repository that is no concern");
    }

    async fn a_failed_check_and_a_remark_are_told_once_whoever_looks(db: TestDb) {
        let world = World::new(db).await;
        let board = world.board();
        let (puppet, repository) = about(&world, "https://github.com/a/b").await;
        puppet.end_turn().await;
        world.run().await;
        assert_eq!(board.change_requests_due().await.unwrap(), None, "nothing is switched on");
        let request = watched(&puppet, &board, repository, &fixes()).await;
        let taken = board.change_requests_claim(10).await.unwrap();
        assert_eq!((taken.len(), taken[0].request.id, taken[0].repository.id), (1, request.id, repository));
        assert!(board.change_requests_claim(10).await.unwrap().is_empty(), "another node finds nothing to look at");
        let now = broken("one");
        let (mine, others) = tokio::join!(
            board.change_request_observed(request.id, &now),
            board.change_request_observed(request.id, &now)
        );
        assert_eq!((mine.unwrap(), others.unwrap()), (false, false), "what is broken is not merged");
        world.run().await;
        let heard = puppet.last_heard();
        assert!(heard.text.contains("A check failed: \"build\"") && heard.text.contains("\"ada\" remarked"), "{}", heard.text);
        assert!(!heard.text.lines().any(|line| line.starts_with("prompt_id")), "{}", heard.text);
        assert_eq!(heard.field("request_number"), Some("7"));
        puppet.end_turn().await;
        world.run().await;
        board.change_request_observed(request.id, &now).await.unwrap();
        world.run().await;
        assert_eq!(puppet.last_heard().prompt, heard.prompt, "nothing is told twice");
        board.change_request_observed(request.id, &broken("two")).await.unwrap();
        world.run().await;
        let again = puppet.last_heard();
        assert!(again.text.contains("A check failed") && !again.text.contains("remarked"), "{}", again.text);
        let shown = puppet.card().await.prs.remove(0);
        assert_eq!((shown.number, shown.checks), (7, Some(Checks::Failed)));
        world.assert_heard_once();
    }

    async fn a_request_is_merged_when_it_is_ready_and_its_end_is_told(db: TestDb) {
        let world = World::new(db).await;
        let board = world.board();
        let (puppet, repository) = about(&world, "https://github.com/a/b").await;
        puppet.end_turn().await;
        world.run().await;
        let request = watched(&puppet, &board, repository, &ends()).await;
        board.change_requests_claim(10).await.unwrap();
        assert!(!board.change_request_observed(request.id, &broken("one")).await.unwrap());
        assert!(board.change_request_observed(request.id, &clean("one")).await.unwrap());
        board.change_request_merged(request.id).await.unwrap();
        assert_eq!(board.change_requests_claim(10).await.unwrap().len(), 1, "it is looked at again at once");
        let merged = Observed { state: RequestState::Merged, ..clean("one") };
        for _ in 0..2 {
            assert!(!board.change_request_observed(request.id, &merged).await.unwrap());
        }
        assert_eq!(board.change_requests_due().await.unwrap(), None, "it is over");
        world.run().await;
        assert!(puppet.last_heard().text.contains("It was merged."));
        world.assert_heard_once();
    }

    async fn a_task_that_is_over_hears_nothing_and_what_cannot_be_told_is_told_later(db: TestDb) {
        let world = World::with(db, Settings { queue_capacity: 1, ..Settings::default() }).await;
        let board = world.board();
        let (puppet, repository) = about(&world, "https://github.com/a/b").await;
        let request = watched(&puppet, &board, repository, &fixes()).await;
        puppet.operator_says("Wait.").await;
        board.change_request_observed(request.id, &broken("one")).await.unwrap();
        let noted = board.change_requests(&OPERATOR, puppet.task, None).await.unwrap().remove(0);
        assert!(noted.problem.is_some() && noted.checks == Some(Checks::Failed), "its queue is full: {noted:?}");
        puppet.end_turn().await;
        world.run().await;
        puppet.end_turn().await;
        world.run().await;
        board.change_request_observed(request.id, &broken("one")).await.unwrap();
        world.run().await;
        let heard = puppet.last_heard();
        assert!(heard.text.contains("A check failed"), "{}", heard.text);
        let noted = board.change_requests(&OPERATOR, puppet.task, None).await.unwrap().remove(0);
        assert_eq!(noted.problem, None);
        let state = |word: &str| UpdateTask { state: Some(word.to_owned()), ..UpdateTask::default() };
        for word in ["CANCELLED", "FAILED"] {
            board.task_update(&OPERATOR, puppet.task, state(word)).await.unwrap();
            assert!(!board.change_request_observed(request.id, &broken(word)).await.unwrap());
        }
        board.task_update(&OPERATOR, puppet.task, state("REVIEW")).await.unwrap();
        board.task_archive(&OPERATOR, puppet.task).await.unwrap();
        board.change_request_observed(request.id, &broken("archived")).await.unwrap();
        world.run().await;
        assert_eq!(puppet.last_heard().prompt, heard.prompt);
        board.change_request_observed(ChangeRequestId::new(), &broken("gone")).await.unwrap();
    }

    async fn a_request_about_which_nothing_is_switched_on_is_looked_at_once(db: TestDb) {
        let world = World::new(db).await;
        let board = world.board();
        let (puppet, repository) = about(&world, "https://github.com/a/b").await;
        let off = UpdateAutomation { auto_fix_enabled: Some(false), ..UpdateAutomation::default() };
        let request = watched(&puppet, &board, repository, &off).await;
        assert_eq!(board.change_requests_claim(10).await.unwrap().len(), 1);
        board.change_request_failed(request.id, "the provider broke off", None).await.unwrap();
        assert_eq!(board.change_requests_due().await.unwrap(), None, "it is not tried over and over");
        watched(&puppet, &board, repository, &off).await;
        assert_eq!(board.change_requests_claim(10).await.unwrap().len(), 1, "said again, it is looked at again");
        let conflict = Observed { mergeable: Mergeable::Conflict, ..broken("one") };
        assert!(!board.change_request_observed(request.id, &conflict).await.unwrap());
        assert_eq!(board.change_requests_due().await.unwrap(), None);
        let seen = puppet.card().await.prs.remove(0);
        assert_eq!((seen.checks, seen.mergeable), (Some(Checks::Failed), Some(Mergeable::Conflict)));
        puppet.end_turn().await;
        world.run().await;
        assert!(!puppet.last_heard().text.contains("conflicts"), "nobody is told of it");
    }

    async fn a_look_that_came_to_nothing_is_said_and_made_again(db: TestDb) {
        let world = World::new(db).await;
        let board = world.board();
        let (puppet, repository) = about(&world, "https://github.com/a/b").await;
        let request = watched(&puppet, &board, repository, &fixes()).await;
        let due = async || board.change_requests_due().await.unwrap().map(|due| due.since(world.clock.now()));
        board.change_requests_claim(10).await.unwrap();
        assert_eq!(due().await, Some(60_000));
        board.change_request_failed(request.id, "the provider broke off", None).await.unwrap();
        assert_eq!(due().await, Some(60_000));
        let later = world.clock.now().plus_millis(900_000);
        board.change_request_failed(request.id, "left alone", Some(later)).await.unwrap();
        assert_eq!(due().await, Some(900_000));
        let noted = board.change_requests(&puppet.actor(), puppet.task, None).await.unwrap().remove(0);
        assert_eq!(noted.problem.as_deref(), Some("left alone"));
        watched(&puppet, &board, repository, &fixes()).await;
        assert_eq!(due().await, Some(0), "said again, it is looked at now");
        board.change_requests_claim(10).await.unwrap();
        let off = UpdateAutomation { auto_fix_enabled: Some(false), ..UpdateAutomation::default() };
        watched(&puppet, &board, repository, &off).await;
        assert_eq!(due().await, None);
        board.change_request_failed(request.id, "the provider broke off", None).await.unwrap();
        assert_eq!(due().await, None, "nothing is switched on any more");
    }
}
