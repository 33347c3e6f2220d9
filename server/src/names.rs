//! The names under which the server answers.

use http::HeaderMap;
use http::header::HOST;
use http::uri::Authority;
use std::net::IpAddr;

/// Where clients of the MCP route can read how they are let in.
pub(crate) const METADATA_OF_MCP: &str = "/.well-known/oauth-protected-resource/mcp";

/// Under which names the server answers.
#[derive(Debug, Clone, Default)]
pub struct Names {
    /// Others than this machine can reach the server, under names that only they know.
    pub any: bool,
    /// The name under which people know it.
    pub public: Option<Authority>,
    /// People reach that name over TLS.
    pub public_over_tls: bool,
}

impl Names {
    pub(crate) fn allow(&self, host: &str) -> bool {
        self.any || is_loopback(host) || self.is_public(host)
    }

    pub(crate) fn is_public(&self, host: &str) -> bool {
        let public = self.public.as_ref().map(Authority::host);
        public.is_some_and(|public| public.eq_ignore_ascii_case(host))
    }

    /// How whoever asks reaches the server: by its public address, or else by the name that was asked for, which was judged before.
    pub(crate) fn base(&self, headers: &HeaderMap) -> String {
        if let Some(public) = &self.public {
            let scheme = if self.public_over_tls {
                "https"
            } else {
                "http"
            };
            return format!("{scheme}://{public}");
        }
        let host = headers
            .get(HOST)
            .and_then(|host| host.to_str().ok())
            .filter(|host| {
                host.bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b".:-[]".contains(&byte))
            })
            .unwrap_or("localhost");
        format!("http://{host}")
    }
}

/// Whether a name is this machine's own.
pub(crate) fn is_loopback(host: &str) -> bool {
    if host.eq_ignore_ascii_case("localhost") {
        return true;
    }
    host.trim_start_matches('[')
        .trim_end_matches(']')
        .parse::<IpAddr>()
        .is_ok_and(|address| address.is_loopback())
}
