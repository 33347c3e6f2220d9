//! Saved prompts: what an operator keeps under a name, and what a message that names it brings to its agent (task-domain 3.7).

use crate::transition::Work;
use crate::{Actor, Board, Result};
use domain::error::Refusal;
use domain::saved_prompt::{MAX_PROMPTS, PromptName, SavedPrompt, check_text, context, references};

impl Board {
    /// All saved prompts by their names.
    pub async fn saved_prompt_list(&self, actor: &Actor) -> Result<Vec<SavedPrompt>> {
        actor.require_operator()?;
        let mut db = self.snapshot().await?;
        Ok(store::saved_prompts::list(&mut db).await?)
    }

    /// Saves a prompt, in the place of the one of its name.
    pub async fn saved_prompt_put(
        &self,
        actor: &Actor,
        name: &PromptName,
        content: &str,
    ) -> Result<SavedPrompt> {
        actor.require_operator()?;
        let content = check_text(content)?;
        let mut work = self.begin().await?;
        let same = store::saved_prompts::named(&mut work.tx, std::slice::from_ref(name)).await?;
        let before = same.first();
        let known = store::saved_prompts::count(&mut work.tx).await?;
        if before.is_none() && usize::try_from(known).is_ok_and(|n| n >= MAX_PROMPTS) {
            return Err(Refusal::conflict(format!(
                "{MAX_PROMPTS} prompts are saved already: delete one first"
            ))
            .into());
        }
        let prompt = SavedPrompt {
            name: name.clone(),
            content,
            created_at: before.map_or(work.now, |prompt| prompt.created_at),
            updated_at: work.now,
        };
        store::saved_prompts::put(&mut work.tx, &prompt).await?;
        work.commit().await?;
        Ok(prompt)
    }

    /// Deletes a saved prompt; answers whether there was one. Messages that name it bring along nothing from then on.
    pub async fn saved_prompt_delete(&self, actor: &Actor, name: &PromptName) -> Result<bool> {
        actor.require_operator()?;
        let mut work = self.begin().await?;
        let deleted = store::saved_prompts::delete(&mut work.tx, name).await?;
        work.commit().await?;
        Ok(deleted)
    }
}

impl Work {
    /// What the agent is told of the saved prompts that a message names. Words without the sign cost no look.
    pub(crate) async fn named_prompts(&mut self, words: &str) -> Result<Option<String>> {
        let names = references(words);
        if names.is_empty() {
            return Ok(None);
        }
        let found = store::saved_prompts::named(&mut self.tx, &names).await?;
        Ok(context(&found))
    }
}
