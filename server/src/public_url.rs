//! The address under which people know the server, when a proxy stands before it.

use anyhow::bail;
use http::Uri;
use http::uri::Authority;
use std::fmt;
use std::str::FromStr;

/// Scheme, name and port, without a path: pages link to each other by paths from the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicUrl {
    tls: bool,
    authority: Authority,
}

impl PublicUrl {
    /// Name and port.
    #[must_use]
    pub const fn authority(&self) -> &Authority {
        &self.authority
    }

    /// Whether it is reached over TLS.
    #[must_use]
    pub const fn is_tls(&self) -> bool {
        self.tls
    }
}

impl FromStr for PublicUrl {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let wrong = "the public address must be http:// or https:// with a name and, if need be, a port, and nothing after it";
        let Ok(uri) = text.trim().parse::<Uri>() else {
            bail!("{wrong}");
        };
        let tls = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => bail!("{wrong}"),
        };
        let bare = uri.path_and_query().is_none_or(|rest| rest.as_str() == "/");
        match uri.into_parts().authority {
            // A name before an @ would be a password in an address that is shown.
            Some(authority) if bare && !authority.as_str().contains('@') => {
                Ok(Self { tls, authority })
            }
            _ => bail!("{wrong}"),
        }
    }
}

impl fmt::Display for PublicUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls { "https" } else { "http" };
        write!(f, "{scheme}://{}", self.authority)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_scheme_and_a_name() {
        for (text, shown) in [
            ("https://board.example", "https://board.example"),
            (" https://board.example/ ", "https://board.example"),
            ("http://board.example:8080", "http://board.example:8080"),
        ] {
            assert_eq!(text.parse::<PublicUrl>().unwrap().to_string(), shown);
        }
        for bad in [
            "",
            "board.example",
            "ftp://board.example",
            "https://board.example/deck",
            "https://a:b@board.example",
            "https://",
        ] {
            assert!(bad.parse::<PublicUrl>().is_err(), "{bad}");
        }
    }
}
