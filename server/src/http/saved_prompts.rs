//! `/saved-prompts`: what operators name with `@name` in a message.

use super::extract::{Body, Caller, Id, Reply, Wire};
use super::route::Route;
use super::tasks::Deleted;
use crate::state::AppState;
use axum::Json;
use axum::extract::State;
use domain::saved_prompt::{PromptName, SavedPrompt};
use serde::{Deserialize, Serialize};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/saved-prompts", list)
            .says("All saved prompts by their names. A message that says @ and a name brings the text to its agent.")
            .answers("SavedPromptList"),
        Route::put("/saved-prompts/{name}", put)
            .says("Save a prompt in the place of the one of its name.")
            .takes::<WriteSavedPrompt>()
            .answers("SavedPrompt"),
        Route::delete("/saved-prompts/{name}", delete)
            .says("Delete a saved prompt; again changes nothing.")
            .answers("SavedPromptDeleted"),
    ]
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WriteSavedPrompt {
    content: String,
}

impl Wire for WriteSavedPrompt {
    const SCHEMA: &'static str = "WriteSavedPrompt";
}

#[derive(Serialize)]
struct SavedPromptList {
    total: usize,
    prompts: Vec<SavedPrompt>,
}

async fn list(State(app): State<AppState>, Caller(actor): Caller) -> Reply<SavedPromptList> {
    let prompts = app.board.saved_prompt_list(&actor).await?;
    Ok(Json(SavedPromptList {
        total: prompts.len(),
        prompts,
    }))
}

async fn put(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(name): Id<PromptName>,
    Body(write): Body<WriteSavedPrompt>,
) -> Reply<SavedPrompt> {
    let saved = app
        .board
        .saved_prompt_put(&actor, &name, &write.content)
        .await?;
    Ok(Json(saved))
}

async fn delete(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(name): Id<PromptName>,
) -> Reply<Deleted> {
    let deleted = app.board.saved_prompt_delete(&actor, &name).await?;
    Ok(Deleted::reply(deleted))
}
