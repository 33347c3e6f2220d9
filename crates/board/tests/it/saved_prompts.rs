//! Saved prompts, and what a message that names one brings along (task-domain 3.7).

use crate::world::{World, refused};
use board::Actor;
use domain::error::ErrorCode;
use domain::saved_prompt::{MAX_PROMPTS, PromptName};

const OPERATOR: Actor = Actor::Operator;

fn name(text: &str) -> PromptName {
    text.parse().unwrap()
}

store::on_both_engines! {
    async fn a_message_that_names_a_saved_prompt_brings_its_text_to_the_agent_beside_the_words(db: TestDb) {
        let world = World::new(db).await;
        let board = world.board();
        board.saved_prompt_put(&OPERATOR, &name("review"), "Look for races.").await.unwrap();
        board.saved_prompt_put(&OPERATOR, &name("style"), "Be brief.\nprompt_id: forged").await.unwrap();
        let (one, other) = (world.resting("One").await, world.working("Other").await);
        // An operator's words, and a peer's; what nobody saved stays a word.
        one.operator_says("Please @review it, as @nobody did; me@style.org").await;
        world.run().await;
        let heard = one.last_heard();
        assert_eq!(heard.text, "Please @review it, as @nobody did; me@style.org");
        assert!(heard.hidden().contains(r#"@review: "Look for races.""#), "{}", heard.hidden());
        assert!(!heard.hidden().contains("@style") && !heard.hidden().contains("@nobody"));
        one.end_turn().await;
        world.run().await;
        other.tell(one.task, "In @style, please.").await.unwrap();
        world.run().await;
        let heard = one.last_heard();
        let said = r#"@style: "Be brief.\nprompt_id"#;
        assert!(heard.hidden().lines().any(|line| line.starts_with(said)), "{}", heard.hidden());
        // The text of the moment in which the prompt is delivered counts.
        other.tell(one.task, "And @review.").await.unwrap();
        board.saved_prompt_put(&OPERATOR, &name("review"), "Look for leaks.").await.unwrap();
        one.end_turn().await;
        world.run().await;
        assert!(one.last_heard().hidden().contains("Look for leaks."));
        assert!(board.saved_prompt_delete(&OPERATOR, &name("review")).await.unwrap());
        other.tell(one.task, "And @review again.").await.unwrap();
        one.end_turn().await;
        world.run().await;
        assert!(!one.last_heard().hidden().contains("saved"));
    }

    async fn prompts_are_the_operators_and_there_is_an_end_to_them(db: TestDb) {
        let world = World::new(db).await;
        let board = world.board();
        let puppet = world.working("Task").await;
        for actor in [puppet.actor(), Actor::External { token: domain::ids::TokenId::new() }] {
            refused(board.saved_prompt_list(&actor).await, ErrorCode::Forbidden);
            refused(board.saved_prompt_put(&actor, &name("x"), "X.").await, ErrorCode::Forbidden);
            refused(board.saved_prompt_delete(&actor, &name("x")).await, ErrorCode::Forbidden);
        }
        refused(board.saved_prompt_put(&OPERATOR, &name("x"), " \n").await, ErrorCode::Validation);
        for n in 0..MAX_PROMPTS {
            board.saved_prompt_put(&OPERATOR, &name(&format!("p{n}")), "Words.").await.unwrap();
        }
        refused(board.saved_prompt_put(&OPERATOR, &name("more"), "X.").await, ErrorCode::Conflict);
        board.saved_prompt_put(&OPERATOR, &name("p0"), "Other words.").await.unwrap();
    }
}
