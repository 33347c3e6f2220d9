//! Scripts that run, fail, take too long and are given up.

use std::{fs, path::Path, time::Duration};

use agents::script::{ScriptError, ScriptSpec, run};

use crate::support::{DEADLINE, folder, soon, trials, until};

trials![
    a_script_runs_in_its_folder_with_an_empty_input,
    a_script_that_fails_leaves_its_last_words,
    a_script_that_takes_too_long_is_ended_with_all_it_started,
    an_abandoned_script_is_ended_with_all_it_started,
    two_scripts_with_one_lock_run_one_after_the_other,
];

fn script(folder: &Path, script: &str) -> ScriptSpec {
    ScriptSpec {
        script: script.to_owned(),
        cwd: folder.to_owned(),
        env_remove: vec!["CARGO_MANIFEST_DIR".to_owned()],
        guard_exe: None,
        lock: None,
        timeout: DEADLINE,
    }
}

/// Starts a process in a group of its own that says who it is and never ends.
const LEAVES_ONE: &str = "setsid sh -c 'echo $$ > pid; exec sleep 1000' & wait";

/// Waits until that process is there; gives its id.
async fn pid(folder: &Path) -> String {
    let file = folder.join("pid");
    let read = || {
        fs::read_to_string(&file)
            .unwrap_or_default()
            .trim()
            .to_owned()
    };
    until("the process", || !read().is_empty()).await;
    read()
}

async fn is_gone(pid: &str) {
    let place = Path::new("/proc").join(pid);
    until("the end of the process", || {
        // One that nobody has buried yet is gone too.
        fs::read_to_string(place.join("stat")).map_or(true, |stat| stat.contains(") Z "))
    })
    .await;
}

async fn a_script_runs_in_its_folder_with_an_empty_input() {
    let folder = folder();
    let text = "cat > input; pwd > place; env > env; echo \"two words\" | wc -w > count";
    soon("the script", run(script(folder.path(), text)))
        .await
        .expect("it ends well");
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).expect("written");
    assert_eq!(read("input"), "");
    let place = fs::canonicalize(folder.path()).expect("a path");
    assert_eq!(read("place").trim(), place.to_string_lossy());
    assert_eq!(read("count").trim(), "2");
    assert!(!read("env").contains("CARGO_MANIFEST_DIR="), "kept from it");
}

async fn a_script_that_fails_leaves_its_last_words() {
    let folder = folder();
    let text = "i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done; echo no network >&2; exit 3";
    let error = run(script(folder.path(), text))
        .await
        .expect_err("it fails");
    let text = error.to_string();
    assert!(
        text.starts_with("ended with exit code 3. Its last words: "),
        "{text}"
    );
    assert!(
        text.contains("no network") && text.contains("line 2999"),
        "{text}"
    );
    assert!(text.len() < 500, "{text}");
    let gone = run(script(&folder.path().join("gone"), "true")).await;
    assert!(
        matches!(gone, Err(ScriptError::NotStarted { .. })),
        "{gone:?}"
    );
}

async fn a_script_that_takes_too_long_is_ended_with_all_it_started() {
    let folder = folder();
    let mut spec = script(folder.path(), LEAVES_ONE);
    spec.timeout = Duration::from_secs(3);
    let running = tokio::spawn(run(spec));
    let pid = pid(folder.path()).await;
    let ended = soon("the end", running).await.expect("no panic");
    assert!(
        matches!(ended, Err(ScriptError::Timeout { .. })),
        "{ended:?}"
    );
    is_gone(&pid).await;
}

async fn an_abandoned_script_is_ended_with_all_it_started() {
    let folder = folder();
    let running = tokio::spawn(run(script(folder.path(), LEAVES_ONE)));
    let pid = pid(folder.path()).await;
    running.abort();
    is_gone(&pid).await;
}

async fn two_scripts_with_one_lock_run_one_after_the_other() {
    let folder = folder();
    let lock = folder.path().join("lock");
    let spec = |text: &str| ScriptSpec {
        lock: Some(lock.clone()),
        ..script(folder.path(), text)
    };
    // The first ends when it has seen the second wait, or would, if the lock did not hold.
    let first = tokio::spawn(run(spec(
        "touch began; while [ ! -e go ]; do sleep 0.05; done; touch ended",
    )));
    until("the first", || folder.path().join("began").exists()).await;
    let second = tokio::spawn(run(spec("test -e ended")));
    fs::write(folder.path().join("go"), "").expect("written");
    for running in [first, second] {
        let ended = soon("the end", running).await.expect("no panic");
        assert!(ended.is_ok(), "{ended:?}");
    }
}
