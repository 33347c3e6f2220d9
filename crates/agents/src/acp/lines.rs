//! Lines from a process that is not to be trusted: bounded in memory, whatever comes.

use std::io;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// What one line turned out to be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// A line without its end. Bytes that are no UTF-8 are replaced.
    Text(String),
    /// A line longer than the limit. Its bytes were read and thrown away.
    Oversized { bytes: u64 },
}

/// Reads lines of at most `limit` bytes. Longer ones are skipped and counted, and reading goes on behind them.
pub(crate) struct LineReader<R> {
    source: BufReader<R>,
    limit: usize,
    line: Vec<u8>,
    /// Length of the line so far, once it is over the limit.
    skipped: Option<u64>,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(crate) fn new(source: R, limit: usize) -> Self {
        Self {
            source: BufReader::with_capacity(64 * 1024, source),
            limit,
            line: Vec::new(),
            skipped: None,
        }
    }

    /// The next line; `None` at the end. A last line without an end counts as a line. Dropping the future loses
    /// nothing: what was read so far stays for the next call.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let available = self.source.fill_buf().await?;
            if available.is_empty() {
                let begun = self.skipped.is_some() || !self.line.is_empty();
                return Ok(begun.then(|| self.take()));
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let part = &available[..end.unwrap_or(available.len())];
            let length = part.len();
            match &mut self.skipped {
                Some(bytes) => *bytes += length as u64,
                None if self.line.len() + length > self.limit => {
                    self.skipped = Some((self.line.len() + length) as u64);
                    // Give the memory back at once: an agent that prints one monster line may stay for days.
                    self.line = Vec::new();
                }
                None => self.line.extend_from_slice(part),
            }
            self.source.consume(length + usize::from(end.is_some()));
            if end.is_some() {
                return Ok(Some(self.take()));
            }
        }
    }

    fn take(&mut self) -> Line {
        if let Some(bytes) = self.skipped.take() {
            return Line::Oversized { bytes };
        }
        let line = std::mem::take(&mut self.line);
        let line = line.strip_suffix(b"\r").unwrap_or(&line);
        Line::Text(String::from_utf8_lossy(line).into_owned())
    }
}

/// The beginning of a text, cut at a character border, with a mark when something was cut.
pub(crate) fn cut(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let end = (0..=bytes)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0);
    format!("{}…", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(input: &[u8], limit: usize) -> Vec<Line> {
        let mut reader = LineReader::new(input, limit);
        let mut found = Vec::new();
        while let Some(line) = reader.next().await.expect("reading from memory") {
            found.push(line);
        }
        found
    }

    fn text(line: &str) -> Line {
        Line::Text(line.to_owned())
    }

    #[tokio::test]
    async fn lines_end_at_newlines_and_at_the_end() {
        assert_eq!(
            lines(b"a\r\n\nbc", 10).await,
            [text("a"), text(""), text("bc")]
        );
    }

    #[tokio::test]
    async fn a_line_at_the_limit_is_kept_and_one_beyond_is_counted() {
        assert_eq!(
            lines(b"12345\n123456\nok\n", 5).await,
            [text("12345"), Line::Oversized { bytes: 6 }, text("ok")]
        );
    }

    #[tokio::test]
    async fn a_monster_line_larger_than_every_buffer_is_skipped() {
        let mut input = vec![b'x'; 300_000];
        input.extend_from_slice(b"\nok");
        assert_eq!(
            lines(&input, 100_000).await,
            [Line::Oversized { bytes: 300_000 }, text("ok")]
        );
    }

    #[tokio::test]
    async fn broken_utf8_is_replaced() {
        assert_eq!(lines(b"a\xffb\n", 10).await, [text("a\u{fffd}b")]);
    }

    #[test]
    fn a_cut_falls_between_characters() {
        assert_eq!(cut("aé", 3), "aé");
        assert_eq!(cut("aéb", 2), "a…");
    }
}
