//! What an agent replayed when it loaded a conversation.

use std::collections::VecDeque;

/// How many bytes of replayed user text are kept. The newest stay: what matters is whether the last prompts arrived.
const KEPT: usize = 16 * 1024 * 1024;

/// The user messages of a replayed conversation. Everything else of it is not repeated to anybody: whoever resumes has
/// the transcript already.
#[derive(Debug, Default)]
pub struct Replay {
    /// Pieces that belong together are one entry, for an id may be cut in two by the agent's streaming.
    user_texts: VecDeque<String>,
    bytes: usize,
    /// Whether the last thing replayed was a piece of a user message.
    in_user_message: bool,
    updates: usize,
}

impl Replay {
    /// Whether a replayed user message contains this prompt's id.
    #[must_use]
    pub fn saw_prompt(&self, prompt_id: &str) -> bool {
        !prompt_id.is_empty() && self.user_texts.iter().any(|text| text.contains(prompt_id))
    }

    /// How many updates the agent replayed.
    #[must_use]
    pub fn updates(&self) -> usize {
        self.updates
    }

    pub(crate) fn user_chunk(&mut self, text: &str) {
        self.updates += 1;
        self.bytes += text.len();
        match self.user_texts.back_mut() {
            Some(last) if self.in_user_message => last.push_str(text),
            _ => self.user_texts.push_back(text.to_owned()),
        }
        self.in_user_message = true;
        while self.bytes > KEPT && self.user_texts.len() > 1 {
            self.bytes -= self.user_texts.pop_front().map_or(0, |oldest| oldest.len());
        }
    }

    pub(crate) fn other(&mut self) {
        self.updates += 1;
        self.in_user_message = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_found_although_the_agent_cut_it_in_two() {
        let mut replay = Replay::default();
        replay.user_chunk("prompt_id: 0199-");
        replay.user_chunk("abcd\n");
        replay.other();
        replay.user_chunk("prompt_id: 01");
        replay.other();
        replay.user_chunk("99-ffff");
        assert!(replay.saw_prompt("0199-abcd"));
        assert!(
            !replay.saw_prompt("0199-ffff"),
            "pieces of different messages are not joined"
        );
        assert!(!replay.saw_prompt(""));
        assert_eq!(replay.updates(), 6);
    }

    #[test]
    fn the_newest_messages_stay_when_a_history_is_huge() {
        let mut replay = Replay::default();
        for n in 0..5 {
            replay.user_chunk(&format!("id-{n} {}", "x".repeat(KEPT / 3)));
            replay.other();
        }
        assert!(!replay.saw_prompt("id-0"));
        assert!(replay.saw_prompt("id-4"));
    }
}
