//! Line ends as they were, although a text field in a browser knows only one kind.
//!
//! A field turns each line end into a line feed. Sent back as it is, every line of a text with other ends would change, although
//! somebody has only mended a word. So what the field shares with the text it was filled from keeps that text's own bytes.

/// The text to save: what is in `field`, which was filled from `base`, with the line ends of `base` wherever it still has its
/// lines, and of the kind that `base` has most of where lines are new.
pub(super) fn keep(base: &str, field: &str) -> String {
    if !base.contains('\r') {
        return field.to_owned();
    }
    let old = units(base);
    let new: Vec<char> = field.chars().collect();
    let before = old
        .iter()
        .zip(&new)
        .take_while(|(old, new)| shown(old) == **new)
        .count();
    let after = old[before..]
        .iter()
        .rev()
        .zip(new[before..].iter().rev())
        .take_while(|(old, new)| shown(old) == **new)
        .count();
    let usual = usual_line_end(&old);
    let mut text = String::with_capacity(base.len().max(field.len()));
    text.extend(old[..before].iter().copied());
    for letter in &new[before..new.len() - after] {
        if *letter == '\n' {
            text.push_str(usual);
        } else {
            text.push(*letter);
        }
    }
    text.extend(old[old.len() - after..].iter().copied());
    text
}

/// The letters of a text, with a line end of whatever kind as one.
fn units(text: &str) -> Vec<&str> {
    let mut units = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let length = if rest.starts_with("\r\n") {
            2
        } else {
            letter.len_utf8()
        };
        let (unit, behind) = rest.split_at(length);
        units.push(unit);
        rest = behind;
    }
    units
}

/// What a field shows of a unit.
fn shown(unit: &str) -> char {
    match unit {
        "\r\n" | "\r" => '\n',
        _ => unit.chars().next().unwrap_or('\n'),
    }
}

fn usual_line_end(units: &[&str]) -> &'static str {
    let count = |end: &str| units.iter().filter(|unit| **unit == end).count();
    let (windows, unix, old_mac) = (count("\r\n"), count("\n"), count("\r"));
    if windows >= unix && windows >= old_mac {
        "\r\n"
    } else if unix >= old_mac {
        "\n"
    } else {
        "\r"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a browser makes of a text that is put into a field.
    fn field(text: &str) -> String {
        text.replace("\r\n", "\n").replace('\r', "\n")
    }

    #[test]
    fn a_text_that_nobody_touched_is_the_same() {
        for text in [
            "",
            "a\nb",
            "a\r\nb\r\n",
            "a\rb\n\r\n\rc",
            "e\u{301}\r\n🛫\r",
        ] {
            assert_eq!(keep(text, &field(text)), text, "{text:?}");
        }
    }

    #[test]
    fn a_mended_word_changes_that_word_alone() {
        let base = "one\r\ntwo\nthree\rfour\r\n";
        for (word, other) in [
            ("one", "eins"),
            ("two", "zw\nei"),
            ("three", ""),
            ("four", "🛫"),
        ] {
            let typed = field(base).replace(word, other);
            let saved = keep(base, &typed);
            assert_eq!(field(&saved), typed);
            assert_eq!(saved, base.replace(word, &other.replace('\n', "\r\n")));
        }
    }

    #[test]
    fn new_lines_end_as_most_do() {
        assert_eq!(keep("a\r\nb", "a\nx\ny\nb"), "a\r\nx\r\ny\r\nb");
        assert_eq!(keep("a\nb\nc\r\nd", "a\nb\nc\nd\ne"), "a\nb\nc\r\nd\ne");
        assert_eq!(keep("", "a\nb"), "a\nb");
        assert_eq!(keep("a\r\n", ""), "");
    }
}
