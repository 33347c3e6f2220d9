//! A long answer in pieces that a chat platform takes.
//!
//! The platform's limit is 2000 characters, and what a character is it does not say: its own client counts UTF-16 units, its
//! servers code points. UTF-16 units are never fewer than code points, so pieces that keep to the limit in units keep to it
//! either way.
//!
//! A piece ends at a paragraph, else at a line, else at a word, else between two grapheme clusters. A code block that goes on in
//! the next piece is closed in this one and opened again in the next. Nothing but white space at a cut is lost.

use unicode_segmentation::UnicodeSegmentation;

/// The longest piece, in UTF-16 units.
pub const LIMIT: usize = 1990;
/// A longer line is no fence, whatever it begins with.
const LONGEST_FENCE: usize = 48;

/// The pieces of `text`, in order; none when it is blank.
#[must_use]
pub fn chunks(text: &str) -> Vec<String> {
    split(text, LIMIT)
}

/// A line that opens or closes a code block.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Fence {
    start: usize,
    /// Behind its line break.
    end: usize,
    /// What opens it again; `None` for a line that closes.
    opening: Option<String>,
    marker: String,
}

fn split(text: &str, limit: usize) -> Vec<String> {
    let text = text.replace("\r\n", "\n");
    let text = text.trim_end();
    let fences = fences(text);
    let mut pieces = Vec::new();
    let mut at = 0;
    let mut open: Option<&Fence> = None;
    while at < text.len() {
        let mut piece = open
            .and_then(|fence| fence.opening.clone())
            .unwrap_or_default();
        let rest = &text[at..];
        if units(&piece) + units(rest) <= limit {
            piece.push_str(rest);
            push(&mut pieces, piece);
            break;
        }
        // Room for closing whatever may be open at the cut.
        let budget = limit.saturating_sub(units(&piece) + LONGEST_FENCE + 1);
        let mut cut = at + cut(rest, budget, is_open_at(&fences, open, at));
        if let Some(fence) = fences
            .iter()
            .find(|fence| fence.start < cut && cut < fence.end)
        {
            cut = if fence.start > at {
                fence.start
            } else {
                fence.end.min(text.len())
            };
        }
        // A block that would begin at the very end begins in the next piece.
        if let Some(fence) = fences
            .iter()
            .find(|fence| fence.opening.is_some() && fence.end == cut && fence.start > at)
        {
            cut = fence.start;
        }
        open = state_at(&fences, cut);
        piece.push_str(text[at..cut].trim_end_matches(['\n', ' ']));
        if let Some(fence) = open {
            // What would only close the block here is said by the closing below.
            if let Some(closing) = fences
                .iter()
                .find(|next| next.opening.is_none() && next.start == cut)
            {
                cut = closing.end.min(text.len());
                open = None;
            }
            piece.push('\n');
            piece.push_str(&fence.marker);
        }
        push(&mut pieces, piece);
        at = if open.is_some() {
            cut
        } else {
            cut + blank_lines(&text[cut..])
        };
    }
    pieces
}

fn push(pieces: &mut Vec<String>, piece: String) {
    if !piece.trim().is_empty() {
        pieces.push(piece);
    }
}

/// Length of the blank lines, and of the spaces of a cut between words, that `text` begins with.
fn blank_lines(text: &str) -> usize {
    let mut length = 0;
    for line in text.split_inclusive('\n') {
        if !line.trim().is_empty() {
            break;
        }
        length += line.len();
    }
    length
}

fn units(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

fn is_open_at(fences: &[Fence], open: Option<&Fence>, at: usize) -> bool {
    open.is_some() && state_at(fences, at).is_some()
}

/// The block that is open at `at`.
fn state_at(fences: &[Fence], at: usize) -> Option<&Fence> {
    fences
        .iter()
        .take_while(|fence| fence.start < at)
        .last()
        .filter(|fence| fence.opening.is_some())
}

/// Where the first piece of `rest` ends, in bytes; at least one cluster, within `budget` units otherwise.
fn cut(rest: &str, budget: usize, in_code: bool) -> usize {
    let mut used = 0;
    let mut ends = Vec::new();
    for (start, cluster) in rest.grapheme_indices(true) {
        used += units(cluster);
        if used > budget {
            break;
        }
        ends.push((start + cluster.len(), used));
    }
    let Some(&(last, _)) = ends.last() else {
        return within_cluster(rest, budget);
    };
    // An early paragraph is no good place to end a piece: half of it at least is used.
    let late = |used: usize| used * 2 >= budget;
    let find = |is_end: &dyn Fn(&str) -> bool, must_be_late: bool| {
        ends.iter()
            .rev()
            .find(|(end, used)| (!must_be_late || late(*used)) && is_end(&rest[..*end]))
            .map(|(end, _)| *end)
    };
    let paragraph = |before: &str| before.ends_with("\n\n") && !in_code;
    let line = |before: &str| before.ends_with('\n');
    let word = |before: &str| before.ends_with([' ', '\t']);
    find(&paragraph, true)
        .or_else(|| find(&line, true))
        .or_else(|| find(&word, true))
        .or_else(|| find(&line, false))
        .or_else(|| find(&word, false))
        .unwrap_or(last)
}

/// One cluster that is longer than a piece: only here is a cluster cut.
fn within_cluster(rest: &str, budget: usize) -> usize {
    let mut used = 0;
    let mut end = 0;
    for letter in rest.chars() {
        used += letter.len_utf16();
        if used > budget && end > 0 {
            break;
        }
        end += letter.len_utf8();
    }
    end
}

/// The fences of a text, alternately opening and closing.
fn fences(text: &str) -> Vec<Fence> {
    let mut fences: Vec<Fence> = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let end = start + line.len();
        let open = fences.last().filter(|fence| fence.opening.is_some());
        if let Some((marker, info)) = fence_line(line) {
            let fence = |opening| Fence {
                start,
                end,
                opening,
                marker: marker.to_owned(),
            };
            match open {
                Some(open) if marker.starts_with(&open.marker) && info.is_empty() => {
                    fences.push(fence(None));
                }
                Some(_) => {}
                None => fences.push(fence(Some(format!("{marker}{info}\n")))),
            }
        }
        start = end;
    }
    fences
}

/// Marker and remainder of a line that may be a fence.
fn fence_line(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_end();
    let inner = line.trim_start_matches(' ');
    if line.len() - inner.len() > 3 || line.len() > LONGEST_FENCE {
        return None;
    }
    let mark = inner
        .chars()
        .next()
        .filter(|mark| matches!(mark, '`' | '~'))?;
    let length = inner.len() - inner.trim_start_matches(mark).len();
    let info = inner[length..].trim();
    (length >= 3 && !info.contains('`')).then_some((&inner[..length], info))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::StdRng;
    use rand::seq::IndexedRandom;
    use rand::{RngExt, SeedableRng};

    #[test]
    fn a_short_text_is_one_piece_and_a_blank_one_is_none() {
        assert_eq!(chunks("hello"), ["hello"]);
        assert!(chunks("").is_empty());
        assert!(chunks(" \n\n ").is_empty());
        assert_eq!(chunks(&"x".repeat(LIMIT)).len(), 1);
        assert_eq!(chunks(&"x".repeat(LIMIT + 1)).len(), 2);
        // Two units each: as many as a client counts, not as code points.
        assert_eq!(chunks(&"😀".repeat(LIMIT / 2)).len(), 1);
        assert_eq!(chunks(&"😀".repeat(LIMIT / 2 + 1)).len(), 2);
    }

    #[test]
    fn paragraphs_go_before_lines_and_lines_before_words() {
        let word = "word ".repeat(20);
        let text = format!(
            "{}\n{}\n\n{}\n{}",
            word.trim(),
            word.trim(),
            word.trim(),
            word.trim()
        );
        let pieces = split(&text, 300);
        assert_eq!(pieces.len(), 2);
        assert!(pieces[1].starts_with("word") && !pieces[0].ends_with('\n'));
        assert_eq!(pieces.join("\n\n"), text);
        let pieces = split(&word.repeat(5), 300);
        assert!(
            pieces
                .iter()
                .all(|piece| piece.split(' ').all(|word| word == "word")),
            "{pieces:?}"
        );
    }

    #[test]
    fn a_block_is_closed_and_opened_again() {
        let code = "let x = 1;\n".repeat(60);
        let text = format!("Before\n\n```rust\n{code}```\n\nAfter");
        let pieces = split(&text, 300);
        assert!(pieces.len() > 2);
        for piece in &pieces {
            assert_eq!(piece.matches("```").count() % 2, 0, "{piece}");
            assert!(!piece.contains("```rust\n```"), "{piece}");
        }
        assert!(pieces[1].starts_with("```rust\n"));
        let lines = pieces.iter().flat_map(|piece| piece.lines());
        assert_eq!(lines.filter(|line| *line == "let x = 1;").count(), 60);
    }

    #[test]
    fn a_cluster_is_not_cut() {
        let family = "👨‍👩‍👧‍👦";
        for piece in split(&family.repeat(100), 200) {
            assert_eq!(piece.len() % family.len(), 0, "{piece}");
        }
        let endless = format!("e{}", "\u{301}".repeat(1_000));
        let pieces = split(&endless, 200);
        assert_eq!(pieces.concat(), endless);
    }

    /// Pieces without white space and without the fences, both those of the text and those of the cuts.
    fn essence<'a>(lines: impl Iterator<Item = &'a str>) -> String {
        lines
            .filter(|line| fence_line(line).is_none())
            .flat_map(str::chars)
            .filter(|letter| !letter.is_whitespace())
            .collect()
    }

    #[test]
    fn no_piece_is_too_long_and_nothing_is_lost() {
        let seed: u64 = rand::random();
        let mut rng = StdRng::seed_from_u64(seed);
        let parts = [
            "a",
            "word ",
            "\n",
            "\n\n",
            "é",
            "😀",
            "👨‍👩‍👧‍👦",
            "e\u{301}\u{302}",
            "\n```rust\n",
            "\n```\n",
            "\n~~~\n",
            "    code();\n",
            "\r\n",
            " ",
            "longer text without a break in the middle of it",
            "\u{200d}",
            "``",
            "\n````\n",
        ];
        for round in 0..2_000 {
            let limit = rng.random_range(160..400);
            let text: String = (0..rng.random_range(0..300))
                .filter_map(|_| parts.choose(&mut rng).copied())
                .collect();
            let pieces = split(&text, limit);
            let about =
                format!("seed {seed}, round {round}, limit {limit}: {text:?} became {pieces:?}");
            assert!(
                pieces
                    .iter()
                    .all(|piece| units(piece) <= limit && !piece.trim().is_empty()),
                "{about}"
            );
            assert_eq!(
                essence(pieces.iter().flat_map(|piece| piece.lines())),
                essence(text.lines()),
                "{about}"
            );
            for piece in pieces.iter().take(pieces.len().saturating_sub(1)) {
                assert_eq!(fences(piece).len() % 2, 0, "{about}");
            }
        }
    }
}
