//! Repositories of a workspace, and what tasks are about.

use crate::world::{World, prompted, refused};
use board::Actor;
use domain::error::ErrorCode;
use domain::ids::RepositoryId;
use domain::params::CreateTask;
use domain::repository::{
    AttachRepository, CreateRepository, Provider, Repository, UpdateRepository,
};
use domain::view::TaskView;

const OPERATOR: Actor = Actor::Operator;

fn at(url: &str) -> CreateRepository {
    CreateRepository {
        repository_url: Some(url.to_owned()),
        ..CreateRepository::default()
    }
}

async fn add(world: &World, params: &CreateRepository) -> Repository {
    let board = world.board();
    let made = board.repository_create(&OPERATOR, world.workspace.id, params);
    made.await.unwrap()
}

fn names(task: &TaskView) -> Vec<&str> {
    task.repositories
        .iter()
        .map(|repository| repository.name.as_str())
        .collect()
}

store::on_both_engines! {
    async fn a_repository_is_added_changed_and_removed_while_no_card_is_about_it(db: TestDb) {
        let world = World::new(db).await;
        let board = world.board();
        let hosted = add(&world, &at("https://github.com/owner/name.git")).await;
        assert_eq!((hosted.provider, hosted.name.as_str()), (Provider::Github, "owner/name"));
        for again in ["git@github.com:Owner/Name.git", "https://github.com/owner/name"] {
            let outcome = board.repository_create(&OPERATOR, world.workspace.id, &at(again)).await;
            refused(outcome, ErrorCode::Conflict);
        }
        let moved = UpdateRepository { local_path: Some(Some("/srv/name".to_owned())), ..UpdateRepository::default() };
        let moved = board.repository_update(&OPERATOR, hosted.id, &moved).await.unwrap();
        assert_eq!(moved.local_path.as_deref(), Some("/srv/name"));
        let beside = CreateRepository { local_path: Some("/srv/name/".to_owned()), ..CreateRepository::default() };
        refused(board.repository_create(&OPERATOR, world.workspace.id, &beside).await, ErrorCode::Conflict);
        assert_eq!(board.repository_list(&OPERATOR, world.workspace.id).await.unwrap(), [moved]);

        let about = CreateTask { repository_id: Some(hosted.id), ..prompted("Task") };
        let puppet = world.start(about).await;
        refused(board.repository_delete(&OPERATOR, hosted.id).await, ErrorCode::Conflict);
        let uses = board.repository_uses(&OPERATOR, hosted.id).await.unwrap();
        assert_eq!((uses.total, uses.tasks[0].id, uses.tasks[0].title.as_str()), (1, puppet.task, "Task"));
        for outcome in [
            board.repository_list(&puppet.actor(), world.workspace.id).await.map(drop),
            board.repository_create(&puppet.actor(), world.workspace.id, &at("https://github.com/a/b")).await.map(drop),
            board.repository_detach(&puppet.actor(), puppet.task, hosted.id).await.map(drop),
            board.repository_delete(&puppet.actor(), hosted.id).await,
            board.repository_uses(&puppet.actor(), hosted.id).await.map(drop),
            board.provider_list(&puppet.actor()).map(drop),
        ] {
            refused(outcome, ErrorCode::Forbidden);
        }
        board.task_archive(&OPERATOR, puppet.task).await.unwrap();
        assert_eq!(board.repository_uses(&OPERATOR, hosted.id).await.unwrap().total, 0);
        board.repository_delete(&OPERATOR, hosted.id).await.unwrap();
        refused(board.repository_delete(&OPERATOR, hosted.id).await, ErrorCode::NotFound);
        assert!(board.task_get(&OPERATOR, puppet.task).await.unwrap().repositories.is_empty());
    }

    async fn a_new_task_names_its_repository_by_id_by_folder_or_by_address(db: TestDb) {
        let world = World::new(db).await;
        let known = CreateRepository { local_path: Some("/srv/known".to_owned()), ..at("https://gitlab.com/a/b/known") };
        let known = add(&world, &known).await;
        let by_id = CreateTask { repository_id: Some(known.id), ..prompted("By id") };
        let by_id = world.create(by_id).await.unwrap().task;
        assert_eq!((names(&by_id), by_id.working_directory.as_deref()), (vec!["a/b/known"], Some("/srv/known")));
        let folder = |path: &str| CreateTask { local_path: Some(path.to_owned()), ..prompted("By folder") };
        let by_folder = world.create(folder("/srv/known/")).await.unwrap().task;
        assert_eq!(names(&by_folder), ["a/b/known"]);
        let nobodys = world.create(folder("/srv/other")).await.unwrap().task;
        assert_eq!((names(&nobodys).len(), nobodys.working_directory.as_deref()), (0, Some("/srv/other")));
        let url = |url: &str| CreateTask { repository_url: Some(url.to_owned()), ..prompted("By address") };
        let again = world.create(url("git@gitlab.com:a/b/known.git")).await.unwrap().task;
        assert_eq!(again.repositories, by_id.repositories, "found, not made");
        let made = world.create(url("https://github.com/new/one")).await.unwrap().task;
        assert_eq!((names(&made), made.repositories[0].provider), (vec!["new/one"], Provider::Github));
        let other = world.board().workspace_create(&OPERATOR, "Other", "").await.unwrap();
        let elsewhere = CreateTask { workspace_id: Some(other.id), repository_id: Some(known.id), ..prompted("Elsewhere") };
        refused(world.create(elsewhere).await, ErrorCode::NotFound);
        for wrong in [
            CreateTask { repository_id: Some(known.id), ..url("https://github.com/new/one") },
            CreateTask { working_directory: Some("/srv".to_owned()), ..folder("/srv/known") },
            url("https://github.com/new/one/pull/3"),
            folder("known"),
        ] {
            refused(world.create(wrong).await, ErrorCode::Validation);
        }
        let listed = world.board().repository_list(&OPERATOR, world.workspace.id).await.unwrap();
        assert_eq!(listed.len(), 2, "what was refused left nothing behind");
    }

    async fn a_part_is_about_what_its_whole_is_about_when_it_works_in_its_folder(db: TestDb) {
        let world = World::new(db).await;
        let parent = CreateTask { repository_url: Some("https://github.com/a/whole".to_owned()), ..prompted("Whole") };
        let parent = world.start(parent).await;
        let inherits = parent.create(prompted("Part")).await.unwrap().task;
        assert_eq!(names(&inherits), ["a/whole"]);
        let own = CreateTask { working_directory: Some("/srv/own".to_owned()), ..prompted("Part") };
        assert!(parent.create(own).await.unwrap().task.repositories.is_empty());
        let other = CreateTask { repository_url: Some("https://github.com/a/other".to_owned()), ..prompted("Part") };
        let other = parent.create(other).await.unwrap().task;
        assert_eq!(names(&other), ["a/other"]);
        assert_eq!(other.working_directory, inherits.working_directory, "it says no folder");
    }

    async fn what_a_task_is_about_is_changed_by_the_operator(db: TestDb) {
        let world = World::new(db).await;
        let board = world.board();
        let puppet = world.working("Task").await;
        let attach = |params: AttachRepository| { let board = board.clone(); async move { board.repository_attach(&OPERATOR, puppet.task, &params).await } };
        let url = AttachRepository { repository_url: Some("https://github.com/a/b".to_owned()), ..AttachRepository::default() };
        let task = attach(url.clone()).await.unwrap();
        assert_eq!(names(&task), ["a/b"]);
        let again = AttachRepository { repository_id: Some(task.repositories[0].id), ..AttachRepository::default() };
        assert_eq!(attach(again).await.unwrap().repositories, task.repositories);
        let folder = |path: &str| AttachRepository { local_path: Some(path.to_owned()), ..AttachRepository::default() };
        let by_folder = attach(folder("/srv/c/")).await.unwrap();
        assert_eq!((names(&by_folder), attach(folder("/srv/c")).await.unwrap().repositories.len()), (vec!["a/b", "c"], 2));
        refused(attach(AttachRepository { local_path: Some("/srv/c".to_owned()), ..url.clone() }).await, ErrorCode::Validation);
        board.repository_detach(&OPERATOR, task.id, by_folder.repositories[1].id).await.unwrap();
        refused(attach(AttachRepository::default()).await, ErrorCode::Validation);
        let unknown = AttachRepository { repository_id: Some(RepositoryId::new()), ..AttachRepository::default() };
        refused(attach(unknown).await, ErrorCode::NotFound);
        let detached = board.repository_detach(&OPERATOR, task.id, task.repositories[0].id).await.unwrap();
        assert!(detached.repositories.is_empty());
        board.repository_detach(&OPERATOR, task.id, task.repositories[0].id).await.unwrap();
        board.task_archive(&OPERATOR, task.id).await.unwrap();
        refused(board.repository_attach(&OPERATOR, task.id, &url).await, ErrorCode::Conflict);
    }
}
