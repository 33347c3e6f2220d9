//! Agents as real processes: launch, talk, break, end.
//!
//! The test binary is also the processes of its tests, by its first argument: the guard and the demo agent, mounted as
//! the product's binary mounts them, and two that exist for tests only. Hence no usual harness.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a test picks the few events that it is about"
)]

mod children;
mod conversation;
mod faults;
mod guard;
mod launch;
mod permissions;
mod resume;
mod script;
mod support;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let role = arguments.next().unwrap_or_default();
    if let Some(code) = support::roles::play(&role, arguments.collect()) {
        std::process::exit(code);
    }
    let trials: Vec<Trial> = [
        children::trials(),
        conversation::trials(),
        faults::trials(),
        guard::trials(),
        launch::trials(),
        permissions::trials(),
        resume::trials(),
        script::trials(),
    ]
    .into_iter()
    .flatten()
    .collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
