//! Makes the pseudo catalogue out of the English one: the same sentences, accented, about a third longer, between brackets.
//!
//! Still readable, so that a tester can use the product in it. Plain letters on a page then mean copy that is not in the
//! catalogue, a missing bracket means text cut off, and a broken layout means one that only fits English.

use serde_json::Value;

/// One sentence in the pseudo locale. `{{ values }}` and `<tags>` stay as they are.
pub(super) fn accent(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    let mut letters = 0_usize;
    let mut rest = text;
    out.push('[');
    while let Some(c) = rest.chars().next() {
        let kept = if rest.starts_with("{{") {
            rest.find("}}").map(|end| end + 2)
        } else if c == '<' {
            rest.find('>').map(|end| end + 1)
        } else {
            None
        };
        if let Some(len) = kept {
            out.push_str(&rest[..len]);
            rest = &rest[len..];
        } else {
            letters += usize::from(c.is_alphabetic());
            out.push(accented(c));
            rest = &rest[c.len_utf8()..];
        }
    }
    // Short words grow most in translation, so even one letter is padded.
    if letters > 0 {
        out.push_str(&"~".repeat(letters.div_ceil(3)));
    }
    out.push(']');
    out
}

/// The whole of a catalogue file, keys untouched.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "a catalogue holds texts and groups of texts; anything else is none of ours"
)]
pub(super) fn catalogue(english: &Value) -> Value {
    match english {
        Value::String(text) => Value::String(accent(text)),
        Value::Object(entries) => entries
            .iter()
            .map(|(key, value)| (key.clone(), catalogue(value)))
            .collect(),
        other => other.clone(),
    }
}

const fn accented(c: char) -> char {
    match c {
        'a' => 'á',
        'c' => 'ç',
        'd' => 'ð',
        'e' => 'é',
        'g' => 'ĝ',
        'h' => 'ĥ',
        'i' => 'í',
        'j' => 'ĵ',
        'k' => 'ķ',
        'l' => 'ļ',
        'n' => 'ñ',
        'o' => 'ó',
        'p' => 'þ',
        'r' => 'ř',
        's' => 'š',
        't' => 'ţ',
        'u' => 'ú',
        'w' => 'ŵ',
        'y' => 'ý',
        'z' => 'ž',
        'A' => 'Å',
        'B' => 'ß',
        'C' => 'Ç',
        'D' => 'Ð',
        'E' => 'É',
        'G' => 'Ĝ',
        'H' => 'Ĥ',
        'I' => 'Î',
        'J' => 'Ĵ',
        'K' => 'Ķ',
        'L' => 'Ļ',
        'N' => 'Ñ',
        'O' => 'Ö',
        'P' => 'Þ',
        'R' => 'Ŕ',
        'S' => 'Š',
        'T' => 'Ţ',
        'U' => 'Û',
        'W' => 'Ŵ',
        'Y' => 'Ý',
        'Z' => 'Ž',
        other => other,
    }
}

#[test]
fn values_and_tags_survive_and_length_grows() {
    assert_eq!(accent("Save"), "[Šávé~~]");
    assert_eq!(accent("{{ count }} tasks"), "[{{ count }} ţášķš~~]");
    assert_eq!(accent("read <b>this</b>"), "[řéáð <b>ţĥíš</b>~~~]");
    assert_eq!(accent("·"), "[·]");
}
