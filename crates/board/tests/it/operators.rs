//! Accounts: who is let in, and what ends that.

use crate::world::{World, refused};
use board::Actor;
use domain::error::ErrorCode;
use domain::ids::TokenId;

const PASSWORD: &str = "correct horse battery";

store::on_both_engines! {
    async fn an_account_is_entered_by_its_name_in_any_case_and_its_password_alone(db: TestDb) {
        let world = World::new(db).await;
        let board = world.board();
        assert!(!board.has_operators().await.unwrap());
        let ada = board.operator_create(&Actor::Operator, " Ada ", PASSWORD).await.unwrap();
        assert_eq!((ada.name.as_str(), ada.last_signed_in_at), ("Ada", None));
        assert!(board.has_operators().await.unwrap());

        let entered = board.sign_in("ADA", PASSWORD).await.unwrap();
        assert_eq!(entered.id, ada.id);
        assert!(entered.last_signed_in_at.is_some());
        let mut words = Vec::new();
        for (name, password) in [("Ada", "Correct horse battery"), ("Ada", ""), ("Eve", PASSWORD), ("", ""), ("Ada\0", PASSWORD)] {
            words.push(refused(board.sign_in(name, password).await, ErrorCode::Unauthorized).message);
        }
        words.dedup();
        assert_eq!(words.len(), 1, "that a name exists is told: {words:?}");
        assert_eq!(world.count(&format!("operators where password_hash like '%{PASSWORD}%'")).await, 0);

        refused(board.operator_create(&Actor::Operator, "aDA", PASSWORD).await, ErrorCode::Conflict);
        refused(board.operator_create(&Actor::Operator, "Bob", "short").await, ErrorCode::Validation);
        refused(board.operator_create(&Actor::Operator, " ", PASSWORD).await, ErrorCode::Validation);
        let external = Actor::External { token: TokenId::new() };
        refused(board.operator_create(&external, "Bob", PASSWORD).await, ErrorCode::Forbidden);
        refused(board.operator_list(&external).await, ErrorCode::Forbidden);
    }

    async fn another_password_and_the_end_of_an_account_sign_its_browsers_out(db: TestDb) {
        let world = World::new(db).await;
        let board = world.board();
        let ada = board.operator_create(&Actor::Operator, "Ada", PASSWORD).await.unwrap();
        let bob = board.operator_create(&Actor::Operator, "Bob", PASSWORD).await.unwrap();
        let until = world.clock.now().plus_millis(10_000);
        let keep = async |key: &str, operator| board.web_session_save(key, operator, "{}", until).await.unwrap();
        let kept = async |key: &str| board.web_session_find(key).await.unwrap().is_some();
        keep("ada's", ada.id).await;
        keep("bob's", bob.id).await;
        keep("bob's other", bob.id).await;
        assert_eq!(world.count("web_sessions where key_hash like '%bob%'").await, 0, "kept as a hash");

        board.operator_set_password(&Actor::Operator, "ada", "another password").await.unwrap();
        assert!(!kept("ada's").await && kept("bob's").await);
        refused(board.sign_in("Ada", PASSWORD).await, ErrorCode::Unauthorized);
        board.sign_in("Ada", "another password").await.unwrap();

        board.web_session_end("bob's other").await.unwrap();
        assert!(!kept("bob's other").await && kept("bob's").await);
        board.operator_remove(&Actor::Operator, "BOB").await.unwrap();
        assert!(!kept("bob's").await);
        refused(board.sign_in("Bob", PASSWORD).await, ErrorCode::Unauthorized);
        refused(board.operator_remove(&Actor::Operator, "Bob").await, ErrorCode::NotFound);
        refused(board.operator_set_password(&Actor::Operator, "Bob", PASSWORD).await, ErrorCode::NotFound);
        let names: Vec<_> = board.operator_list(&Actor::Operator).await.unwrap().into_iter().map(|one| one.name).collect();
        assert_eq!(names, ["Ada"]);
    }

    async fn a_browser_is_signed_out_when_its_time_is_over(db: TestDb) {
        let world = World::new(db).await;
        let board = world.board();
        let ada = board.operator_create(&Actor::Operator, "Ada", PASSWORD).await.unwrap();
        let until = world.clock.now().plus_millis(10_000);
        board.web_session_save("key", ada.id, "{}", until).await.unwrap();
        world.clock.advance(9_999);
        assert_eq!(board.web_session_find("key").await.unwrap(), Some(("{}".to_owned(), until)));
        world.clock.advance(1);
        assert_eq!(board.web_session_find("key").await.unwrap(), None);
        board.web_sessions_prune().await.unwrap();
        assert_eq!(world.count("web_sessions where 1 = 1").await, 0);
    }
}
