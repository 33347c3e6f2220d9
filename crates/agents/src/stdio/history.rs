//! What survives the process: one file of JSON lines a conversation, and one list of prompt ids for all.
//!
//! A line is on the disk before the agent goes on. A last line that was cut by a crash is skipped on reading and
//! fenced off before the next line is written.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// Name of the list of prompt ids, one a line, in the order of arrival.
const PROMPT_LOG: &str = "prompts.log";

/// What can be remembered: each kind of agent has its own words.
pub(crate) trait Recorded: Serialize + DeserializeOwned {
    /// The id of the prompt that arrived with it.
    fn prompt_id(&self) -> Option<&str>;
}

/// What every conversation is made of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Said {
    /// A prompt arrived.
    Prompt {
        /// Its id, when its hidden block names one.
        prompt_id: Option<String>,
        /// Its text blocks; of several, the first is hidden context.
        blocks: Vec<String>,
    },
    /// The agent said something.
    Message {
        /// Its words.
        text: String,
    },
}

impl Recorded for Said {
    fn prompt_id(&self) -> Option<&str> {
        match self {
            Self::Prompt { prompt_id, .. } => prompt_id.as_deref(),
            Self::Message { .. } => None,
        }
    }
}

/// The record of one conversation. Without a folder it keeps nothing.
pub(crate) struct History {
    kept: Option<(PathBuf, File)>,
}

impl History {
    /// Begins a record.
    pub(crate) fn create(folder: Option<&Path>, session_id: &str) -> io::Result<Self> {
        let Some(folder) = folder else {
            return Ok(Self { kept: None });
        };
        fs::create_dir_all(folder)?;
        let file = OpenOptions::new()
            .append(true)
            .create_new(true)
            .open(path(folder, session_id))?;
        // The file's name must be as durable as what is written into it.
        File::open(folder)?.sync_all()?;
        Ok(Self {
            kept: Some((folder.to_owned(), file)),
        })
    }

    /// Goes on with a record, and gives what is in it. `NotFound` when there is none.
    pub(crate) fn open<E: Recorded>(
        folder: Option<&Path>,
        session_id: &str,
    ) -> io::Result<(Self, Vec<E>)> {
        let folder = folder.ok_or(io::ErrorKind::NotFound)?;
        let mut file = OpenOptions::new()
            .append(true)
            .read(true)
            .open(path(folder, session_id))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let entries: Vec<E> = read(&bytes);
        if bytes.last().is_some_and(|last| *last != b'\n') {
            file.write_all(b"\n")?;
        }
        let history = Self {
            kept: Some((folder.to_owned(), file)),
        };
        // The process may have died between the record and the list.
        let listed = fs::read_to_string(folder.join(PROMPT_LOG)).unwrap_or_default();
        for entry in &entries {
            if let Some(id) = entry.prompt_id()
                && !listed.lines().any(|line| line == id)
            {
                history.list_prompt(id)?;
            }
        }
        Ok((history, entries))
    }

    /// Adds a line and waits until it is on the disk. A prompt's id goes to the list as well.
    pub(crate) fn append(&mut self, entry: &impl Recorded) -> io::Result<()> {
        let Some((_, file)) = &mut self.kept else {
            return Ok(());
        };
        let mut line = serde_json::to_vec(entry)?;
        line.push(b'\n');
        file.write_all(&line)?;
        file.sync_data()?;
        if let Some(id) = entry.prompt_id() {
            self.list_prompt(id)?;
        }
        Ok(())
    }

    fn list_prompt(&self, id: &str) -> io::Result<()> {
        let Some((folder, _)) = &self.kept else {
            return Ok(());
        };
        let mut list = OpenOptions::new()
            .append(true)
            .create(true)
            .read(true)
            .open(folder.join(PROMPT_LOG))?;
        // One write, so that lines of several agents cannot mix; a cut line of a crashed one is fenced off first.
        let fence = if ends_in_the_middle(&mut list)? {
            "\n"
        } else {
            ""
        };
        list.write_all(format!("{fence}{}\n", id.replace(['\n', '\r'], " ")).as_bytes())?;
        list.sync_data()
    }
}

fn path(folder: &Path, session_id: &str) -> PathBuf {
    folder.join(format!("{session_id}.jsonl"))
}

fn read<E: Recorded>(bytes: &[u8]) -> Vec<E> {
    bytes
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect()
}

fn ends_in_the_middle(file: &mut File) -> io::Result<bool> {
    let length = file.seek(SeekFrom::End(0))?;
    if length == 0 {
        return Ok(false);
    }
    file.seek(SeekFrom::Start(length - 1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(id: &str) -> Said {
        Said::Prompt {
            prompt_id: Some(id.to_owned()),
            blocks: vec![format!("prompt_id: {id}"), "x\ny".to_owned()],
        }
    }

    #[test]
    fn a_record_is_read_back_and_goes_on() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut history = History::create(Some(folder.path()), "s").expect("created");
        history.append(&prompt("p1")).expect("written");
        history
            .append(&Said::Message {
                text: "hé\n".into(),
            })
            .expect("written");
        drop(history);
        let (mut history, entries) =
            History::open::<Said>(Some(folder.path()), "s").expect("opened");
        assert_eq!(
            entries,
            [
                prompt("p1"),
                Said::Message {
                    text: "hé\n".into()
                }
            ]
        );
        history.append(&prompt("p2")).expect("written");
        let (_, entries) = History::open::<Said>(Some(folder.path()), "s").expect("opened");
        assert_eq!(entries.len(), 3);
        let list = fs::read_to_string(folder.path().join(PROMPT_LOG)).expect("a list");
        assert_eq!(list, "p1\np2\n");
    }

    #[test]
    fn a_line_cut_by_a_crash_is_skipped_and_fenced_off() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut history = History::create(Some(folder.path()), "s").expect("created");
        history.append(&prompt("p1")).expect("written");
        drop(history);
        let file = path(folder.path(), "s");
        let mut bytes = fs::read(&file).expect("there");
        bytes.extend_from_slice(br#"{"type":"message","te"#);
        fs::write(&file, bytes).expect("written");
        fs::write(folder.path().join(PROMPT_LOG), "p0\np").expect("written");
        let (mut history, entries) =
            History::open::<Said>(Some(folder.path()), "s").expect("opened");
        assert_eq!(entries, [prompt("p1")]);
        let list = fs::read_to_string(folder.path().join(PROMPT_LOG)).expect("a list");
        assert_eq!(
            list, "p0\np\np1\n",
            "the id that the crash kept from the list is made up for"
        );
        history
            .append(&Said::Message { text: "on".into() })
            .expect("written");
        let (_, entries) = History::open::<Said>(Some(folder.path()), "s").expect("opened");
        assert_eq!(entries, [prompt("p1"), Said::Message { text: "on".into() }]);
    }

    #[test]
    fn an_unknown_conversation_is_not_found() {
        let folder = tempfile::tempdir().expect("a folder");
        for (folder, id) in [(Some(folder.path()), "nobody"), (None, "s")] {
            let error = History::open::<Said>(folder, id).err().expect("not found");
            assert_eq!(error.kind(), io::ErrorKind::NotFound);
        }
    }
}
