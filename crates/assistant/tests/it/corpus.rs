//! What people write, and whether they ask for something to be done.
//!
//! `data/messages.tsv` says what a reader would say; `data/misses.tsv` lists the messages that the detector gets wrong, each with the
//! reason. A miss that is none any more must leave the list, so that it always says how good the detector is.

use assistant::intent::detect_action_intent;
use std::collections::BTreeMap;

fn rows(text: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    text.lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| line.split_once('\t').expect("two columns"))
}

#[test]
fn the_detector_is_wrong_exactly_where_it_is_said_to_be() {
    let misses: BTreeMap<&str, &str> = rows(include_str!("../data/misses.tsv"))
        .map(|(reason, message)| (message, reason))
        .collect();
    let mut messages = BTreeMap::new();
    let mut wrong = Vec::new();
    for (expected, message) in rows(include_str!("../data/messages.tsv")) {
        assert!(
            messages.insert(message, ()).is_none(),
            "{message:?} stands there twice"
        );
        let expected = match expected {
            "act" => true,
            "talk" => false,
            other => panic!("{other:?} is neither act nor talk"),
        };
        if (detect_action_intent(message) != expected) != misses.contains_key(message) {
            wrong.push(message);
        }
    }
    assert!(messages.len() >= 150, "only {} messages", messages.len());
    assert_eq!(
        wrong, [""; 0],
        "of these the list of misses says the opposite"
    );
    for miss in misses.keys() {
        assert!(
            messages.contains_key(miss),
            "{miss:?} is a miss without a message"
        );
    }
}
