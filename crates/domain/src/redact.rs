//! Takes secrets out of a line of text. Rather too much than too little: the line is read by a model.

const GONE: &str = "[redacted]";

/// Parts of names whose values are secret.
const SECRET_NAMES: &[&str] = &[
    "token",
    "secret",
    "password",
    "passwd",
    "authorization",
    "api_key",
    "api-key",
    "apikey",
    "cookie",
    "credential",
    "private_key",
];

/// Beginnings of what is a secret by its form.
const SECRET_FORMS: &[&str] = &[
    "fd_",
    "sk-",
    "pk-",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "AKIA",
    "eyJ",
];

/// Shorter than this, a word with such a beginning is an ordinary one.
const SHORTEST_SECRET: usize = 12;

/// The line without what looks like a secret.
#[must_use]
pub fn redact(line: &str) -> String {
    let mut clean = String::with_capacity(line.len());
    // The words behind `Bearer`, `token:` and an open quote.
    let mut next_is_secret = false;
    let mut until_quote = None;
    for word in line.split_inclusive(char::is_whitespace) {
        let bare = word.trim_end();
        let space = &word[bare.len()..];
        if bare.is_empty() {
            clean.push_str(space);
            continue;
        }
        if let Some(quote) = until_quote {
            if bare
                .trim_end_matches([',', '}', ']', ')', ';'])
                .ends_with(quote)
            {
                until_quote = None;
            }
            clean.push_str(space);
            continue;
        }
        if is_scheme(bare) {
            clean.push_str(word);
            next_is_secret = true;
            continue;
        }
        if next_is_secret {
            clean.push_str(GONE);
            until_quote = open_quote(bare);
            next_is_secret = false;
        } else {
            let (text, open) = word_without_secrets(bare);
            clean.push_str(&text);
            until_quote = open;
            next_is_secret = ends_with_secret_name(bare);
        }
        clean.push_str(space);
    }
    clean
}

fn is_scheme(word: &str) -> bool {
    let plain = word.trim_matches(|c: char| !c.is_ascii_alphabetic());
    plain.eq_ignore_ascii_case("bearer") || plain.eq_ignore_ascii_case("basic")
}

fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_NAMES.iter().any(|part| name.contains(part))
}

fn ends_with_secret_name(word: &str) -> bool {
    word.strip_suffix([':', '='])
        .is_some_and(|name| is_secret_name(last_name(name)))
}

/// The name at the end of `a=1,"b"`.
fn last_name(text: &str) -> &str {
    text.rsplit(['{', ',', '?', '&', '('])
        .next()
        .unwrap_or(text)
        .trim_matches(['"', '\''])
}

/// The quote that a value opens and does not close.
fn open_quote(value: &str) -> Option<char> {
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let closed = value.len() > 1
        && value[1..]
            .trim_end_matches([',', '}', ']', ')', ';'])
            .ends_with(quote);
    (!closed).then_some(quote)
}

/// A word without its secrets, and the quote that goes on behind it.
fn word_without_secrets(word: &str) -> (String, Option<char>) {
    if let Some((before, value)) = word
        .char_indices()
        .filter(|(_, letter)| matches!(letter, '=' | ':'))
        .map(|(at, _)| (&word[..=at], &word[at + 1..]))
        .find(|(before, value)| {
            !value.is_empty()
                && !value.starts_with("//")
                && is_secret_name(last_name(&before[..before.len() - 1]))
        })
    {
        return (format!("{before}{GONE}"), open_quote(value));
    }
    if let Some((scheme, rest)) = word.split_once("://")
        && let Some((user, host)) = rest.split_once('@')
        && !user.contains('/')
    {
        return (format!("{scheme}://{GONE}@{host}"), None);
    }
    let is_inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let mut clean = String::with_capacity(word.len());
    let mut rest = word;
    while !rest.is_empty() {
        let length = rest.find(|c| !is_inner(c)).unwrap_or(rest.len());
        let (piece, behind) = rest.split_at(length);
        let is_secret = piece.len() >= SHORTEST_SECRET
            && SECRET_FORMS.iter().any(|form| piece.starts_with(form));
        clean.push_str(if is_secret { GONE } else { piece });
        let mut letters = behind.chars();
        if let Some(letter) = letters.next() {
            clean.push(letter);
        }
        rest = letters.as_str();
    }
    (clean, None)
}

#[cfg(test)]
mod tests {
    use super::redact;

    #[test]
    fn secrets_go_wherever_they_stand() {
        for line in [
            "authorization: Bearer s3cret",
            "Authorization: \"Bearer s3cret\" next",
            "sent basic s3cret to it",
            "token=s3cret",
            "api_key: s3cret,",
            "{\"access_token\":\"s3cret\",\"a\":1}",
            "{\"password\": \"s3cret with s3cret spaces\", \"a\": 1}",
            "password=\"s3cret and s3cret\" more",
            "connecting to postgres://user:s3cret@host/db",
            "GET /x?a=1&token=s3cret",
            "cookie=fd_session=s3cret",
            "found fd_s3cret0123456789abcdef",
            "key(sk-s3cret0123456789)",
            "OPENAI_API_KEY=s3cret",
        ] {
            let clean = redact(line);
            assert!(!clean.contains("s3cret"), "{line} became {clean}");
        }
    }

    #[test]
    fn what_is_no_secret_stays() {
        for line in [
            "",
            "turn 0198c0de-0000-7000-8000-000000000000 ended: end_turn",
            "listening on http://127.0.0.1:3000",
            "  spaces   stay\tas they are ",
            "fd_theme=dark and task-force",
        ] {
            assert_eq!(redact(line), line);
        }
    }
}
