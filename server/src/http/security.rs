//! Where a request may come from, whoever sends it (design 7); who may send it is the gate's business.
//!
//! - Bound to loopback, the `Host` must be a loopback name or the public one: a page elsewhere whose name was rebound to
//!   127.0.0.1 carries its own. Bound elsewhere, any name will do: what it reaches without being signed in is nobody's secret,
//!   and a cookie belongs to one name.
//! - What may change something must not come from another site's page. A browser says where it comes from, by
//!   `Sec-Fetch-Site` or `Origin`; what says neither is no browser and could do as it likes anyway.
//! - Answers carry headers that keep other sites from embedding or guessing them.
//!
//! The MCP route takes a bearer token, which no other site has; there an `Origin` only has to be of this machine, so that
//! tools of developers that run in a browser can be used.

use crate::error::ApiError;
use crate::mcp;
use crate::names::{Names, is_loopback};
use crate::state::AppState;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use domain::error::Refusal;
use http::header::{
    CONTENT_SECURITY_POLICY, HOST, ORIGIN, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::uri::Authority;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};

/// Checks where a request comes from, and puts the headers on its answer.
pub(super) async fn check(State(app): State<AppState>, request: Request, next: Next) -> Response {
    let judged = judge(
        &app.names,
        request.method(),
        request.uri(),
        request.headers(),
    );
    let mut response = match judged {
        Ok(()) => next.run(request).await,
        Err(refusal) => ApiError(refusal).into_response(),
    };
    add_headers(response.headers_mut());
    response
}

fn judge(names: &Names, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
    let host = host(uri, headers)
        .ok_or_else(|| Refusal::forbidden("the request does not say which host it is for"))?;
    if !names.allow(host.host()) {
        return Err(Refusal::forbidden(
            "this server does not answer under this name: use http://127.0.0.1 or http://localhost with its port, or start it with \
             --public-url and the name that people use",
        ));
    }
    if uri.path() == mcp::PATH {
        return judge_mcp(names, headers);
    }
    if matches!(
        *method,
        Method::GET | Method::HEAD | Method::OPTIONS | Method::TRACE
    ) {
        return Ok(());
    }
    let site = headers
        .get("sec-fetch-site")
        .map(|value| value.as_bytes() == b"same-origin" || value.as_bytes() == b"none");
    let origin = headers.get(ORIGIN).map(|value| {
        value
            .to_str()
            .is_ok_and(|origin| is_same_origin(origin, &host))
    });
    if site == Some(false) || origin == Some(false) {
        return Err(Refusal::forbidden(
            "this request comes from a page of another site and was not carried out",
        ));
    }
    Ok(())
}

fn judge_mcp(names: &Names, headers: &HeaderMap) -> Result<(), Refusal> {
    let Some(origin) = headers.get(ORIGIN) else {
        return Ok(());
    };
    let local = origin
        .to_str()
        .ok()
        .and_then(|origin| origin.parse::<Uri>().ok())
        .and_then(|origin| {
            origin
                .host()
                .map(|host| is_loopback(host) || names.is_public(host))
        })
        .unwrap_or(false);
    if local {
        Ok(())
    } else {
        Err(Refusal::forbidden(
            "this request comes from a page of another site and was not carried out",
        ))
    }
}

/// The host a request is for: HTTP/2 has it in the address, HTTP/1 in the header.
fn host(uri: &Uri, headers: &HeaderMap) -> Option<Authority> {
    if let Some(authority) = uri.authority() {
        return Some(authority.clone());
    }
    let mut given = headers.get_all(HOST).iter();
    // Two of them are an attempt to have two readers disagree.
    match (given.next(), given.next()) {
        (Some(one), None) => one.to_str().ok()?.parse().ok(),
        _ => None,
    }
}

/// Whether a page of `origin` was served by us under the name `host`. A proxy on this machine may have added TLS.
fn is_same_origin(origin: &str, host: &Authority) -> bool {
    let Some((scheme, authority)) = origin.split_once("://") else {
        return false;
    };
    let usual_port = match scheme {
        "http" => 80,
        "https" => 443,
        _ => return false,
    };
    let Ok(authority) = authority.parse::<Authority>() else {
        return false;
    };
    authority.host().eq_ignore_ascii_case(host.host())
        && authority.port_u16().unwrap_or(usual_port) == host.port_u16().unwrap_or(usual_port)
}

/// Puts the headers where the answer has none of its own; pages bring a policy with their nonce.
fn add_headers(headers: &mut HeaderMap) {
    let usual: [(HeaderName, &'static str); 6] = [
        (
            CONTENT_SECURITY_POLICY,
            "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
        ),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "same-origin"),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ];
    for (name, value) in usual {
        headers
            .entry(name)
            .or_insert(HeaderValue::from_static(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(method: &Method, path: &str, headers: &[(&str, &str)]) -> bool {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(
                HeaderName::from_bytes(name.as_bytes()).unwrap(),
                value.parse().unwrap(),
            );
        }
        judge(&Names::default(), method, &path.parse().unwrap(), &map).is_ok()
    }

    fn judged_under(names: &Names, host: &str) -> bool {
        let mut map = HeaderMap::new();
        map.insert(HOST, host.parse().unwrap());
        judge(names, &Method::GET, &Uri::from_static("/"), &map).is_ok()
    }

    #[test]
    fn the_public_name_is_answered_and_elsewhere_every_name() {
        let public = Names {
            any: false,
            public: Some(Authority::from_static("board.example")),
            public_over_tls: true,
        };
        assert!(judged_under(&public, "board.example"));
        assert!(judged_under(&public, "BOARD.example:443"));
        assert!(judged_under(&public, "localhost:3000"));
        assert!(!judged_under(&public, "evil.example"));
        assert!(!judged_under(&public, "board.example.evil.example"));
        let exposed = Names {
            any: true,
            ..Names::default()
        };
        assert!(judged_under(&exposed, "192.0.2.7:3000"));
    }

    #[test]
    fn only_loopback_names_are_answered() {
        for (host, allowed) in [
            ("127.0.0.1:3000", true),
            ("127.0.0.1", true),
            ("127.9.9.9:1", true),
            ("localhost:80", true),
            ("LOCALHOST", true),
            ("[::1]:3000", true),
            ("evil.example", false),
            ("evil.example:3000", false),
            ("localhost.evil.example", false),
            ("127.0.0.1.evil.example", false),
            ("10.0.0.1:3000", false),
            ("0.0.0.0:3000", false),
            ("", false),
        ] {
            assert_eq!(
                judged(&Method::GET, "/", &[("host", host)]),
                allowed,
                "{host}"
            );
        }
        assert!(!judged(&Method::GET, "/", &[]));
        assert!(!judged(
            &Method::GET,
            "/",
            &[("host", "localhost"), ("host", "evil.example")]
        ));
    }

    #[test]
    fn what_changes_something_must_not_come_from_elsewhere() {
        let host = ("host", "localhost:3000");
        let post = |headers: &[(&str, &str)]| {
            let mut all = vec![host];
            all.extend_from_slice(headers);
            judged(&Method::POST, "/api/v1/tasks", &all)
        };
        assert!(post(&[]), "no browser");
        assert!(post(&[("origin", "http://localhost:3000")]));
        assert!(post(&[("sec-fetch-site", "same-origin")]));
        assert!(post(&[("sec-fetch-site", "none")]));
        for origin in [
            "http://localhost:3001",
            "http://127.0.0.1:3000",
            "https://localhost",
            "http://evil.example",
            "null",
            "file://",
            "",
        ] {
            assert!(!post(&[("origin", origin)]), "{origin}");
        }
        assert!(!post(&[("sec-fetch-site", "cross-site")]));
        assert!(!post(&[("sec-fetch-site", "same-site")]));
        assert!(!post(&[
            ("origin", "http://localhost:3000"),
            ("sec-fetch-site", "cross-site")
        ]));
        assert!(judged(
            &Method::GET,
            "/",
            &[host, ("sec-fetch-site", "cross-site")]
        ));
    }

    #[test]
    fn a_page_of_this_machine_may_call_the_tools_and_no_other() {
        let call = |origin: &str| {
            judged(
                &Method::POST,
                mcp::PATH,
                &[("host", "127.0.0.1:3000"), ("origin", origin)],
            )
        };
        assert!(call("http://localhost:6274"));
        assert!(!call("http://evil.example"));
        assert!(!call("null"));
    }
}
