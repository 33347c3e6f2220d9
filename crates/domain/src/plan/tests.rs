use super::*;
use serde_json::Value;

fn plan(content: &str) -> Plan {
    Plan {
        id: PlanId::new(),
        task_id: TaskId::new(),
        title: "Plan".to_owned(),
        content: content.to_owned(),
        created_by: PlanAuthorKind::Agent,
        version: PlanVersion::new(),
        created_at: Timestamp::from_millis(0),
        updated_at: Timestamp::from_millis(0),
        implementation: None,
    }
}

fn revision_of(plan: &Plan) -> PlanRevision {
    PlanRevision {
        id: PlanRevisionId::new(),
        task_id: plan.task_id,
        plan_id: plan.id,
        number: 1,
        version: PlanVersion::new(),
        title: plan.title.clone(),
        content: plan.content.clone(),
        author: author(PlanAuthorKind::Agent),
        revert_of: None,
        created_at: Timestamp::from_millis(0),
        updated_at: Timestamp::from_millis(0),
    }
}

fn author(kind: PlanAuthorKind) -> PlanAuthor {
    PlanAuthor {
        kind,
        name: String::new(),
        session_id: (kind == PlanAuthorKind::Agent).then(SessionId::new),
    }
}

fn replace(content: &str) -> PlanCommand<'_> {
    PlanCommand::Replace {
        title: None,
        content,
    }
}

/// Judges a command of somebody who has read the plan as it stands.
fn informed(
    head: &Plan,
    command: PlanCommand<'_>,
    allow_truncation: bool,
) -> Result<PlanDecision, Refusal> {
    let version = head.version.to_string();
    let write = PlanWrite {
        command,
        expected_version: Some(&version),
        allow_truncation,
    };
    decide(Some(head), Some(&revision_of(head)), &write)
}

#[track_caller]
fn written(decision: Result<PlanDecision, Refusal>) -> (String, bool) {
    match decision.unwrap() {
        PlanDecision::Write {
            content, separate, ..
        } => (content, separate),
        PlanDecision::AlreadyCurrent => panic!("it was not written"),
    }
}

#[track_caller]
fn refused(decision: Result<PlanDecision, Refusal>, code: ErrorCode, at: Option<&Plan>) {
    let refusal = decision.unwrap_err();
    assert_eq!(refusal.code, code, "{}", refusal.message);
    assert!(refusal.message.contains("write_applied=false"));
    assert!(refusal.message.contains("next_action="));
    let details = refusal.details.unwrap();
    assert_eq!(details["write_applied"], Value::Bool(false));
    let version = at.map(|plan| plan.version.to_string());
    assert_eq!(details["current_version"].as_str(), version.as_deref());
}

#[test]
fn each_command_needs_the_version_that_stands() {
    let head = plan("One.");
    let revision = revision_of(&head);
    let revision_version = revision.version.to_string();
    let commands = [
        PlanCommand::Create {
            title: None,
            content: "Two.",
        },
        replace("Two."),
        PlanCommand::Append {
            title: None,
            fragment: "Two.",
        },
        PlanCommand::Edit {
            old_text: "One",
            new_text: "Two",
        },
        PlanCommand::Restore {
            revision: &revision,
            expected_revision_version: Some(&revision_version),
        },
    ];
    for command in commands {
        let write = |expected_version| PlanWrite {
            command,
            expected_version,
            allow_truncation: false,
        };
        let appends = matches!(command, PlanCommand::Append { .. });
        let makes = matches!(
            command,
            PlanCommand::Create { .. } | PlanCommand::Restore { .. }
        );
        let unsaid = decide(Some(&head), None, &write(None));
        if appends {
            assert_eq!(written(unsaid).0, "One.\n\nTwo.");
        } else {
            refused(unsaid, ErrorCode::PlanVersionRequired, Some(&head));
        }
        let other = PlanVersion::new().to_string();
        for stale in [other.as_str(), "", " ", "1"] {
            let stale = decide(Some(&head), None, &write(Some(stale)));
            refused(stale, ErrorCode::PlanVersionConflict, Some(&head));
        }
        let gone = decide(None, None, &write(Some(&other)));
        refused(gone, ErrorCode::PlanVersionConflict, None);
        let none = decide(None, None, &write(None));
        if makes {
            none.unwrap();
        } else {
            refused(none, ErrorCode::PlanHeadUnavailable, None);
        }
    }
}

#[test]
fn what_is_so_already_is_not_written_again() {
    let head = plan("One.");
    assert_eq!(
        informed(&head, replace("One."), false),
        Ok(PlanDecision::AlreadyCurrent)
    );
    let retitled = PlanCommand::Replace {
        title: Some("Another"),
        content: "One.",
    };
    assert_eq!(written(informed(&head, retitled, false)).0, "One.");
}

#[test]
fn nothing_empty_too_long_or_unstorable_is_kept() {
    let head = plan("One.");
    for blank in ["", " ", "\n\r\n\t"] {
        refused(
            informed(&head, replace(blank), false),
            ErrorCode::PlanContentRequired,
            Some(&head),
        );
        let fragment = PlanCommand::Append {
            title: None,
            fragment: blank,
        };
        refused(
            informed(&head, fragment, false),
            ErrorCode::PlanContentRequired,
            Some(&head),
        );
    }
    let emptied = PlanCommand::Edit {
        old_text: "One.",
        new_text: "",
    };
    refused(
        informed(&head, emptied, false),
        ErrorCode::PlanContentRequired,
        Some(&head),
    );
    refused(
        informed(&head, replace("a\0b"), false),
        ErrorCode::Validation,
        Some(&head),
    );
    let exactly = "é".repeat(MAX_BYTES / 2);
    assert_eq!(
        written(informed(&head, replace(&exactly), false)).0,
        exactly
    );
    refused(
        informed(&head, replace(&format!("{exactly}.")), false),
        ErrorCode::Validation,
        Some(&head),
    );
    // Each part fits, both together do not.
    let half = plan(&"x".repeat(MAX_BYTES / 2));
    let rest = "y".repeat(MAX_BYTES / 2 - 2);
    let fits = |fragment| PlanCommand::Append {
        title: None,
        fragment,
    };
    assert_eq!(
        written(informed(&half, fits(&rest), false)).0.len(),
        MAX_BYTES
    );
    refused(
        informed(&half, fits(&format!("{rest}y")), false),
        ErrorCode::Validation,
        Some(&half),
    );
    for title in ["", "  ", "two\nlines", &"t".repeat(MAX_TITLE + 1)] {
        let command = PlanCommand::Create {
            title: Some(title),
            content: "Two.",
        };
        refused(
            informed(&head, command, false),
            ErrorCode::Validation,
            Some(&head),
        );
    }
}

#[test]
fn a_fragment_does_not_replace_a_long_plan() {
    let long = plan(&"🛫".repeat(GUARDED_CHARACTERS));
    let just_enough = "x".repeat(GUARDED_CHARACTERS / 2);
    let too_little = "x".repeat(GUARDED_CHARACTERS / 2 - 1);
    assert!(!written(informed(&long, replace(&just_enough), false)).1);
    refused(
        informed(&long, replace(&too_little), false),
        ErrorCode::PlanTruncationRejected,
        Some(&long),
    );
    let (content, separate) = written(informed(&long, replace(&too_little), true));
    assert_eq!(content, too_little);
    assert!(separate, "what was cut keeps a revision of its own");

    let version = long.version.to_string();
    let write = PlanWrite {
        command: replace(&too_little),
        expected_version: Some(&version),
        allow_truncation: true,
    };
    let mut other = revision_of(&long);
    other.content.push('.');
    for history in [None, Some(&other)] {
        let outcome = decide(Some(&long), history, &write);
        refused(outcome, ErrorCode::PlanHistoryUnavailable, Some(&long));
    }
    let short = plan(&"x".repeat(GUARDED_CHARACTERS - 1));
    assert_eq!(written(informed(&short, replace("x"), false)).0, "x");
    let fragment = PlanCommand::Append {
        title: None,
        fragment: "x",
    };
    refused(
        informed(&long, fragment, true),
        ErrorCode::PlanAppendTruncationNotApplicable,
        Some(&long),
    );
}

#[test]
fn an_edit_finds_exactly_one_place() {
    let head = plan("aaa b\r\ne\u{301} é");
    let edit =
        |old_text, new_text| informed(&head, PlanCommand::Edit { old_text, new_text }, false);
    refused(edit("", "x"), ErrorCode::PlanEditTextRequired, Some(&head));
    refused(edit("c", "x"), ErrorCode::PlanEditNotFound, Some(&head));
    refused(edit("b\n", "x"), ErrorCode::PlanEditNotFound, Some(&head));
    refused(edit("aa", "x"), ErrorCode::PlanEditAmbiguous, Some(&head));
    // The composed letter is one place, the decomposed one another.
    assert_eq!(written(edit("é", "o")).0, "aaa b\r\ne\u{301} o");
    assert_eq!(written(edit("e\u{301}", "")).0, "aaa b\r\n é");
}

#[test]
fn a_restore_needs_the_revision_as_it_was_read() {
    let head = plan("Two.");
    let revision = revision_of(&plan("One."));
    let restore = |expected_revision_version| {
        let command = PlanCommand::Restore {
            revision: &revision,
            expected_revision_version,
        };
        informed(&head, command, false)
    };
    refused(
        restore(None),
        ErrorCode::PlanRevisionVersionRequired,
        Some(&head),
    );
    refused(
        restore(Some("other")),
        ErrorCode::PlanRevisionChanged,
        Some(&head),
    );
    let version = revision.version.to_string();
    assert_eq!(
        restore(Some(&version)).unwrap(),
        PlanDecision::Write {
            title: "Plan".to_owned(),
            content: "One.".to_owned(),
            separate: true,
            revert_of: Some(revision.id),
        }
    );
}

#[test]
fn an_append_comes_after_one_blank_line() {
    for (before, after) in [
        ("One.", "One.\n\nTwo."),
        ("One.\n", "One.\n\nTwo."),
        ("One.\n\n", "One.\n\nTwo."),
        ("One.\n\n\n", "One.\n\n\nTwo."),
        ("One.\r\nMore.", "One.\r\nMore.\r\n\r\nTwo."),
        ("One.\r\n", "One.\r\n\r\nTwo."),
        ("One.\r\n\r\n", "One.\r\n\r\nTwo."),
    ] {
        assert_eq!(append(before, "Two."), after, "{before:?}");
    }
}

#[test]
fn consecutive_writes_of_one_author_share_a_revision_for_a_while() {
    let head = plan("One.");
    let revision = revision_of(&head);
    let at = Timestamp::from_millis;
    let same = &revision.author;
    assert!(merges(&revision, head.id, same, at(299_999), 300_000));
    assert!(!merges(&revision, head.id, same, at(300_000), 300_000));
    assert!(!merges(&revision, head.id, same, at(0), 0));
    assert!(!merges(&revision, PlanId::new(), same, at(0), 300_000));
    for other in [PlanAuthorKind::Agent, PlanAuthorKind::User] {
        assert!(!merges(&revision, head.id, &author(other), at(0), 300_000));
    }
    let restored = PlanRevision {
        revert_of: Some(PlanRevisionId::new()),
        ..revision.clone()
    };
    assert!(!merges(&restored, head.id, same, at(0), 300_000));
}

#[test]
fn a_range_beyond_the_end_is_refused_and_the_one_at_the_end_is_empty() {
    let at = PlanVersion::new();
    let last = page("e\u{301}🛫", Some(3), None, at).unwrap();
    assert_eq!(
        (last.text, last.returned, last.next_offset()),
        ("", 0, None)
    );
    let beyond = page("e\u{301}🛫", Some(4), None, at).unwrap_err();
    assert_eq!(beyond.code, ErrorCode::PlanReadOffsetOutOfRange);
    for (offset, limit) in [
        (Some(0), Some(0)),
        (Some(0), Some(MAX_LIMIT + 1)),
        (Some(u64::MAX), Some(1)),
    ] {
        let refused = page("x", offset, limit, at).unwrap_err();
        assert_eq!(refused.code, ErrorCode::Validation);
    }
}

/// A small generator with a printed seed, so that a failure can be repeated.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        println!("seed {seed}");
        Self(seed)
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }

    fn text(&mut self, most: usize) -> String {
        const LETTERS: [&str; 12] = [
            "a",
            "b",
            "\n",
            "\r\n",
            "é",
            "e\u{301}",
            "🛫",
            "👩‍👩‍👧",
            "\u{200d}",
            "ß",
            " ",
            "\u{202e}",
        ];
        (0..self.below(most))
            .map(|_| LETTERS[self.below(LETTERS.len())])
            .collect()
    }
}

#[test]
fn ranges_put_together_are_the_text() {
    let mut random = Random::new(20_261_129);
    let at = PlanVersion::new();
    for _ in 0..500 {
        let text = random.text(200);
        let mut together = String::new();
        let mut next = Some(0);
        while let Some(offset) = next {
            let limit = u64::try_from(1 + random.below(40)).unwrap();
            let page = page(&text, Some(offset), Some(limit), at).unwrap();
            assert_eq!(page.text.chars().count() as u64, page.returned);
            assert_eq!(page.total, text.chars().count() as u64);
            together.push_str(page.text);
            next = page.next_offset();
        }
        assert_eq!(together, text);
    }
}

#[test]
fn an_edit_keeps_every_other_byte() {
    let mut random = Random::new(4_711);
    let mut edited = 0;
    for _ in 0..2_000 {
        let (before, old, new, after) = (
            random.text(30),
            random.text(6),
            random.text(6),
            random.text(30),
        );
        let whole = format!("{before}{old}{after}");
        let places = whole
            .char_indices()
            .filter(|(at, _)| whole[*at..].starts_with(&old))
            .count();
        match replace_one(&whole, &old, &new) {
            Ok(text) => {
                assert_eq!(places, 1, "{whole:?} {old:?}");
                assert_eq!(text, format!("{before}{new}{after}"));
                edited += 1;
            }
            Err(text::EditProblem::NothingToFind) => assert!(old.is_empty()),
            Err(text::EditProblem::Ambiguous) => assert!(places > 1, "{whole:?} {old:?}"),
            Err(text::EditProblem::NotFound) => panic!("it is there"),
        }
    }
    assert!(edited > 100, "only {edited} edits were made");
}
