//! Finding and ending what an agent left running.
//!
//! A process that outlives its parent is handed to the nearest ancestor that adopts orphans. The guard does, so that
//! everything an agent ever started stays below the guard, whatever groups or sessions it made.

#[cfg(target_os = "linux")]
mod linux {
    use std::{collections::HashMap, fs, process, time::Duration};

    use nix::{
        errno::Errno,
        sys::{
            prctl,
            signal::{Signal, kill},
            wait::{WaitPidFlag, WaitStatus, waitpid},
        },
        unistd::Pid,
    };
    use tokio::time;

    /// Rounds of killing and looking again. Each takes a hundredth of a second; a process that is stuck in the kernel
    /// beyond that cannot be ended by anybody now, and dies when it comes back.
    const ROUNDS: usize = 200;

    pub(in crate::guard) fn adopt_orphans() {
        // Without it, processes outside the agent's group could slip away; nothing else depends on it.
        let _ = prctl::set_child_subreaper(true);
    }

    /// Ends every process below this one. Only for when tokio waits for no child any more: it takes their statuses.
    pub(in crate::guard) async fn end_all() {
        for _ in 0..ROUNDS {
            for pid in descendants() {
                let _ = kill(pid, Signal::SIGKILL);
            }
            if bury() {
                return;
            }
            time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Takes the statuses of all ended children. True when there is no child left.
    fn bury() -> bool {
        loop {
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Err(Errno::ECHILD) => return true,
                Ok(WaitStatus::StillAlive) | Err(_) => return false,
                Ok(_) => {}
            }
        }
    }

    fn descendants() -> Vec<Pid> {
        let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
        let Ok(entries) = fs::read_dir("/proc") else {
            return Vec::new();
        };
        for entry in entries.flatten() {
            let Some(pid) = entry
                .file_name()
                .to_str()
                .and_then(|name| name.parse::<i32>().ok())
            else {
                continue;
            };
            if let Some(parent) = fs::read_to_string(entry.path().join("stat"))
                .ok()
                .as_deref()
                .and_then(parent_of)
            {
                children.entry(parent).or_default().push(pid);
            }
        }
        let mut found = Vec::new();
        let mut open = vec![i32::try_from(process::id()).unwrap_or_default()];
        while let Some(pid) = open.pop() {
            let below = children.remove(&pid).unwrap_or_default();
            found.extend(below.iter().copied().map(Pid::from_raw));
            open.extend(below);
        }
        found
    }

    /// The parent in a `stat` line. The program's name stands in brackets before it and may hold brackets and spaces.
    fn parent_of(stat: &str) -> Option<i32> {
        let (_, rest) = stat.rsplit_once(')')?;
        rest.split_whitespace().nth(1)?.parse().ok()
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_parent_is_found_behind_any_program_name() {
            assert_eq!(parent_of("12 (sh) S 7 12 12 0"), Some(7));
            assert_eq!(parent_of("12 (a) 5 (b) S 7 12 12 0"), Some(7));
            assert_eq!(parent_of("12"), None);
        }
    }
}

#[cfg(target_os = "linux")]
pub(super) use linux::{adopt_orphans, end_all};

#[cfg(not(target_os = "linux"))]
pub(super) fn adopt_orphans() {}

#[cfg(not(target_os = "linux"))]
pub(super) async fn end_all() {}
