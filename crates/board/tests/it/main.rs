//! Capabilities of the board, on SQLite and on Postgres, with one body for both.
//!
//! `sqlite::*` runs always. `postgres::*` is ignored unless asked for, and needs `FLIGHTDECK_TEST_POSTGRES_URL`.
//!
//! A test plays the agents: [`puppet::Puppet`] asks, says and ends turns through the board's own operations, [`node::Node`]
//! works off follow-ups as the server's runtime does, and [`checks`] looks after each step at what must always hold.
//!
//! The parent question's matrix (task-domain appendix D) and the tests that show it:
//!
//! | Row | Tests |
//! |---|---|
//! | 1 | `asking::asking_stores_one_question_and_one_prompt_for_the_parent`, `asking::a_question_is_recorded_with_everything_it_was_asked_with` |
//! | 2 | `asking::the_same_tool_call_asks_once`, `races::of_many_asks_at_once_one_question_comes` |
//! | 3 | `asking::another_question_while_one_is_pending_is_that_one`, `asking::a_turn_that_was_answered_before_it_ended_cannot_ask_again` |
//! | 4 | `asking::an_idle_parent_starts_a_turn_with_the_question`, `…a_busy_parent_…`, `…a_parent_that_was_never_started_…`, `…a_parent_without_a_live_session_…`, `…a_question_waits_in_the_queue_of_a_parent_that_ends_…`, `…a_question_under_way_to_a_parent_that_is_stopped_…` |
//! | 5 | `asking::a_full_queue_of_the_parent_does_not_keep_a_question_out`, `queue::questions_and_answers_take_no_place` |
//! | 6 | `answering::an_answer_gives_the_child_one_turn_and_clears_the_indicator` |
//! | 7 | `answering::a_repeated_answer_gets_the_first_outcome_and_starts_nothing` |
//! | 8 | `races::of_two_answers_one_is_delivered` |
//! | 9 | `answering::strangers_siblings_and_grandparents_cannot_answer`, `…the_operator_cannot_answer_in_the_parents_place`, `…a_child_cannot_answer_itself_…` |
//! | 10 | `answering::an_answer_to_another_session_is_refused` |
//! | 11 | `superseding::an_operators_message_supersedes_the_question_and_runs`, `races::an_answer_races_an_operators_message` |
//! | 12 | `superseding::a_parents_other_message_supersedes_and_runs`, `…a_parents_interrupt_supersedes_and_runs` |
//! | 13 | `superseding::messages_of_siblings_children_and_strangers_are_held_and_run_after_the_answer` |
//! | 14 | `staling::archiving_the_child_…`, `…stopping_the_childs_session_…`, `…a_parents_stop_…`, `…an_operators_cancel_…`, `…a_child_that_is_marked_as_finished_…`, `…deleting_the_child_…`, `races::an_answer_races_what_ends_the_child` |
//! | 15 | `staling::after_reparenting_neither_the_old_nor_the_new_parent_answers` |
//! | 16 | `workflow::a_pending_question_keeps_the_card_where_it_is`, `…a_signal_given_before_a_question_…` |
//! | 17 | `answering::the_answer_goes_before_everything_that_waited_longer` |
//! | 18 | `restart::a_question_that_was_stored_reaches_the_parent_once_after_a_crash`, `…a_question_whose_transaction_was_lost_…` |
//! | 19 | `restart::a_question_that_the_parent_has_is_not_repeated_and_the_indicator_is_back` |
//! | 20 | `restart::an_accepted_answer_gives_exactly_one_turn_after_a_crash`, `…an_answer_under_way_at_a_crash_…` |
//! | 21 | `asking::a_root_or_a_normal_task_with_a_stale_tool_list_asks_in_vain_and_stores_nothing` |
//! | 22 | `asking::fields_that_name_another_session_change_nothing`; the schema's refusal is tested at the MCP route |
//! | 23 | `relay::a_question_is_relayed_in_two_hops_with_two_ids` |
//! | 24 | `profiles::every_kind_of_session_lists_exactly_its_question_tool`; the notification is tested at the MCP route |
//! | 25 | in a browser |
//!
//! Rows 18 to 20 lose memory and connections here; killed processes are tested with the server. [`model`] mixes all of it at
//! random.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod checks;
mod node;
mod puppet;
mod world;

mod agents;
mod answering;
mod asking;
mod beside;
mod change_requests;
mod clarifications;
mod configuring;
mod dependencies;
mod documents;
mod events;
mod exchange;
mod executors;
mod guards;
mod jobs;
mod limits;
mod mcp_configs;
mod messages;
mod model;
mod moves;
mod nodes;
mod operators;
mod papers;
mod plans;
mod profiles;
mod queue;
mod queue_races;
mod races;
mod relay;
mod repositories;
mod restart;
mod runs;
mod saved_prompts;
mod scenarios;
mod sessions;
mod several_sessions;
mod staling;
mod steering;
mod steps;
mod superseding;
mod tasks;
mod workflow;
