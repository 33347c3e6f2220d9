//! Whether a message asks for something to be done.
//!
//! Conservative: a false alarm tells somebody that something failed when nothing had to happen. The language is English
//! (rulings 39); what it gets wrong is listed beside the corpus in `tests/data`.

/// A message that opens with one of these asks, whatever verbs follow.
const QUESTIONS: &[&str] = &[
    "what", "who", "whom", "when", "where", "why", "which", "how", "show", "list", "tell",
];

/// Base form and -ing forms of what changes something. Past and plural forms tell of something, they ask for nothing.
const VERBS: &[&[&str]] = &[
    &["add", "adding"],
    &["announce", "announcing"],
    &["answer", "answering"],
    &["archive", "archiving"],
    &["assign", "assigning"],
    &["ban", "banning"],
    &["cancel", "canceling", "cancelling"],
    &["close", "closing"],
    &["create", "creating"],
    &["delete", "deleting"],
    &["disable", "disabling"],
    &["enable", "enabling"],
    &["finish", "finishing"],
    &["kick", "kicking"],
    &["make", "making"],
    &["merge", "merging"],
    &["move", "moving"],
    &["post", "posting"],
    &["publish", "publishing"],
    &["remove", "removing"],
    &["rename", "renaming"],
    &["reply", "replying"],
    &["run", "running"],
    &["schedule", "scheduling"],
    &["send", "sending"],
    &["start", "starting"],
    &["stop", "stopping"],
    &["unarchive", "unarchiving"],
    &["update", "updating"],
];

/// Says whether `message` asks for an effect, with no other context than its words.
#[must_use]
pub fn detect_action_intent(message: &str) -> bool {
    let message = message.to_lowercase();
    let opening = message.trim_start_matches(|c: char| !c.is_alphabetic());
    let words: Vec<(usize, &str)> = words(opening).collect();
    if words
        .first()
        .is_none_or(|(_, first)| QUESTIONS.contains(first))
    {
        return false;
    }
    let acts = |word: &str| VERBS.iter().any(|forms| forms.contains(&word));
    let sets_up = |pair: &[(usize, &str)]| match pair {
        [(start, first), (second_start, "up")] => {
            matches!(*first, "set" | "setting")
                && opening[start + first.len()..*second_start]
                    .trim()
                    .is_empty()
        }
        _ => false,
    };
    words.iter().any(|(_, word)| acts(word)) || words.windows(2).any(sets_up)
}

/// Openings of a message that agrees to what was shown.
const CONSENT: &[&str] = &[
    "yes",
    "yeah",
    "yep",
    "yup",
    "ok",
    "okay",
    "sure",
    "confirm",
    "confirmed",
    "agreed",
    "approved",
    "go ahead",
    "do it",
    "please do",
    "sounds good",
    "looks good",
    "perfect",
    "absolutely",
    "definitely",
    "of course",
    "correct",
];

/// Says whether `message` agrees to something. Asked only while a preview waits for consent: a model that then says "done" without
/// acting must be caught like any other.
#[must_use]
pub fn is_consent(message: &str) -> bool {
    let message = message.to_lowercase();
    let said: Vec<&str> = words(&message).map(|(_, word)| word).collect();
    let opens = |phrase: &&str| {
        let phrase: Vec<&str> = phrase.split(' ').collect();
        said.starts_with(&phrase)
    };
    let takes_back = ["not", "don", "no", "wait", "but"];
    CONSENT.iter().any(opens) && !said.iter().any(|word| takes_back.contains(word))
}

/// Whole words with where they begin. An underscore belongs to its word, so that a tool's name is not a verb.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
        .map(move |word| (word.as_ptr() as usize - text.as_ptr() as usize, word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guard_table_holds() {
        for (message, asks) in [
            ("publish that", true),
            ("can you create an event", true),
            ("could you send it", true),
            ("will you move the card", true),
            ("set up a weekly task", true),
            ("Setting  up the board, please", true),
            ("Please stop that task.", true),
            ("what events did you create", false),
            ("tell me how to delete a role", false),
            ("What's the plan to create it?", false),
            (">>> \"How do I move a card?\"", false),
            ("show me how to publish", false),
            ("list what you can add", false),
            ("he created two events", false),
            ("updates look fine", false),
            ("the set-up is fine", false),
            ("create_task is a tool", false),
            ("showcase: create the demo", true),
            ("", false),
            ("   ", false),
            ("12345 !?", false),
        ] {
            assert_eq!(detect_action_intent(message), asks, "{message:?}");
        }
    }

    #[test]
    fn consent_is_told_from_second_thoughts() {
        for (message, agrees) in [
            ("yes", true),
            ("Yes, please!", true),
            ("OK", true),
            ("go ahead", true),
            ("go on about it", false),
            ("yes but change the title", false),
            ("ok, wait", false),
            ("no", false),
            ("don't do it", false),
            ("", false),
        ] {
            assert_eq!(is_consent(message), agrees, "{message:?}");
        }
    }

    #[test]
    fn every_verb_counts_in_every_form() {
        for verb in VERBS.iter().copied().flatten() {
            assert!(detect_action_intent(&format!("please {verb} it")), "{verb}");
            assert!(
                !detect_action_intent(&format!("how does {verb} work")),
                "{verb}"
            );
        }
    }
}
