//! What both providers share of HTTP: one client with limits, conditional requests, pages, and the pause that a provider asks for.
//!
//! The token goes to the address in the settings and nowhere else: redirects are not followed, and the next page must be below it.

use super::error::ProviderError;
use super::settings::Account;
use domain::change_request::Remark;
use domain::time::Timestamp;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Response, StatusCode, redirect};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

const CONNECT: Duration = Duration::from_secs(10);
/// For one request as a whole.
const WHOLE: Duration = Duration::from_secs(20);
/// Largest answer that is read.
const MAX_BODY: usize = 4 * 1024 * 1024;
/// Most pages that are read of one list.
const MAX_PAGES: usize = 10;
/// Answers that are remembered for conditional requests, and the largest of them.
const REMEMBERED: usize = 512;
const MAX_REMEMBERED: usize = 256 * 1024;
/// The wait when a provider does not say how long.
const USUAL_WAIT: Duration = Duration::from_secs(60);
/// The longest wait that a provider is believed.
const LONGEST_WAIT: Duration = Duration::from_secs(60 * 60);

/// How a provider names what it says about limits, and what it wants to be told.
#[derive(Debug)]
pub(super) struct Dialect {
    /// The header that the token goes into, and what stands before it there.
    pub(super) token: (&'static str, &'static str),
    /// Headers of every request.
    pub(super) headers: &'static [(&'static str, &'static str)],
    /// How many requests are left, and from when on there are more, in seconds of the epoch.
    pub(super) limits: (&'static str, &'static str),
    /// The variable that sets the token.
    pub(super) variable: &'static str,
}

/// An API.
#[derive(Debug)]
pub(super) struct Api {
    dialect: &'static Dialect,
    base: String,
    client: Option<reqwest::Client>,
    remembered: Mutex<HashMap<String, Remembered>>,
    /// Until when it must be left alone.
    paused: Mutex<Option<Instant>>,
}

/// An answer that the provider may say to be good still.
#[derive(Debug, Clone)]
struct Remembered {
    tag: HeaderValue,
    page: Page,
}

/// A part of a list, or the whole of something.
#[derive(Debug, Clone)]
struct Page {
    value: Arc<Value>,
    next: Option<String>,
}

impl Api {
    /// # Errors
    ///
    /// When no client can be made, or the token cannot stand in a header.
    pub(super) fn new(account: &Account, dialect: &'static Dialect) -> Result<Self, ProviderError> {
        let client = match &account.token {
            Some(token) => Some(client(dialect, token)?),
            None => None,
        };
        Ok(Self {
            dialect,
            base: account.base_url.clone(),
            client,
            remembered: Mutex::default(),
            paused: Mutex::default(),
        })
    }

    /// What is at `path`.
    pub(super) async fn get(&self, path: &str) -> Result<Arc<Value>, ProviderError> {
        Ok(self.page(&format!("{}{path}", self.base)).await?.value)
    }

    /// All items of the list at `path`, over its pages; `items` finds them in one.
    pub(super) async fn all(
        &self,
        path: &str,
        items: impl Fn(&Value) -> Option<&Vec<Value>>,
    ) -> Result<Vec<Value>, ProviderError> {
        let mut found = Vec::new();
        let mut next = Some(format!("{}{path}", self.base));
        for _ in 0..MAX_PAGES {
            let Some(url) = next else { break };
            let page = self.page(&url).await?;
            let list = items(&page.value).ok_or(ProviderError::Unreadable("holds no list"))?;
            found.extend(list.iter().cloned());
            next = page.next;
        }
        Ok(found)
    }

    /// Changes something.
    pub(super) async fn put(&self, path: &str, body: &Value) -> Result<Value, ProviderError> {
        let url = format!("{}{path}", self.base);
        let response = self.send(Method::PUT, &url, None, Some(body)).await?;
        let bytes = whole(response).await?;
        serde_json::from_slice(&bytes).map_err(|_| ProviderError::Unreadable("is not JSON"))
    }

    async fn page(&self, url: &str) -> Result<Page, ProviderError> {
        let known = held(&self.remembered).get(url).cloned();
        let tag = known.as_ref().map(|known| known.tag.clone());
        let response = self.send(Method::GET, url, tag, None).await?;
        if response.status() == StatusCode::NOT_MODIFIED {
            return known
                .map(|known| known.page)
                .ok_or(ProviderError::Unreadable(
                    "says that nothing changed, but nothing was known",
                ));
        }
        let tag = response.headers().get("etag").cloned();
        let next = self.next_page(response.headers())?;
        let bytes = whole(response).await?;
        let value =
            serde_json::from_slice(&bytes).map_err(|_| ProviderError::Unreadable("is not JSON"))?;
        let page = Page {
            value: Arc::new(value),
            next,
        };
        let mut remembered = held(&self.remembered);
        match tag {
            Some(tag) if bytes.len() <= MAX_REMEMBERED => {
                if remembered.len() >= REMEMBERED {
                    remembered.clear();
                }
                let page = page.clone();
                remembered.insert(url.to_owned(), Remembered { tag, page });
            }
            Some(_) | None => {
                remembered.remove(url);
            }
        }
        Ok(page)
    }

    async fn send(
        &self,
        method: Method,
        url: &str,
        tag: Option<HeaderValue>,
        body: Option<&Value>,
    ) -> Result<Response, ProviderError> {
        let client = self.client.as_ref().ok_or_else(|| {
            ProviderError::NotSetUp(format!(
                "nobody to look in the name of: set {} and start again",
                self.dialect.variable
            ))
        })?;
        self.check_pause()?;
        let mut request = client.request(method, url);
        if let Some(tag) = tag {
            request = request.header("if-none-match", tag);
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        let response = request.send().await.map_err(|error| unanswered(&error))?;
        self.judge(response).await
    }

    /// A success, or what the provider means.
    async fn judge(&self, response: Response) -> Result<Response, ProviderError> {
        let status = response.status();
        let wait = self.limit(response.headers());
        if status.is_success() || status == StatusCode::NOT_MODIFIED {
            if let Some(wait) = wait {
                self.pause(wait);
            }
            return Ok(response);
        }
        let after = seconds(response.headers(), "retry-after");
        let said = said(response).await;
        let limited = status == StatusCode::TOO_MANY_REQUESTS
            || (status == StatusCode::FORBIDDEN
                && (wait.is_some()
                    || after.is_some()
                    || said.to_ascii_lowercase().contains("rate limit")));
        if limited {
            let wait = after
                .or(wait)
                .unwrap_or(USUAL_WAIT)
                .clamp(Duration::from_secs(1), LONGEST_WAIT);
            self.pause(wait);
            return Err(ProviderError::Limited(wait));
        }
        Err(match status {
            StatusCode::UNAUTHORIZED => ProviderError::Unauthorized,
            StatusCode::NOT_FOUND => ProviderError::NotFound,
            status if status.is_redirection() => ProviderError::Refused {
                status: status.as_u16(),
                said: "it is elsewhere now; add the repository again under its new address"
                    .to_owned(),
            },
            status => ProviderError::Refused {
                status: status.as_u16(),
                said,
            },
        })
    }

    /// How long to leave it alone when no request is left.
    fn limit(&self, headers: &HeaderMap) -> Option<Duration> {
        let (left, reset) = self.dialect.limits;
        if headers.get(left)?.to_str().ok()?.trim() != "0" {
            return None;
        }
        let at: i64 = headers.get(reset)?.to_str().ok()?.trim().parse().ok()?;
        let now = board::Clock::system().now();
        let millis = Timestamp::from_millis(at.saturating_mul(1_000)).since(now);
        let wait = Duration::from_millis(millis.max(1_000).unsigned_abs());
        Some(wait.min(LONGEST_WAIT))
    }

    fn pause(&self, wait: Duration) {
        *held(&self.paused) = Some(Instant::now() + wait);
    }

    fn check_pause(&self) -> Result<(), ProviderError> {
        let until = *held(&self.paused);
        match until.map(|until| until.saturating_duration_since(Instant::now())) {
            Some(wait) if !wait.is_zero() => Err(ProviderError::Limited(wait)),
            Some(_) | None => Ok(()),
        }
    }

    /// The address of the next page, as `Link` has it.
    fn next_page(&self, headers: &HeaderMap) -> Result<Option<String>, ProviderError> {
        let links = headers.get_all("link").iter();
        let next = links
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .find_map(|link| {
                let (url, parameters) = link.trim().strip_prefix('<')?.split_once('>')?;
                let is_next = parameters
                    .split(';')
                    .any(|part| matches!(part.trim(), "rel=\"next\"" | "rel=next"));
                is_next.then(|| url.to_owned())
            });
        let stays = |url: &String| url.starts_with(&format!("{}/", self.base));
        if next.as_ref().is_some_and(|url| !stays(url)) {
            return Err(ProviderError::Unreadable("leads to another server"));
        }
        Ok(next)
    }
}

fn client(dialect: &Dialect, token: &str) -> Result<reqwest::Client, ProviderError> {
    let unfit = || {
        ProviderError::NotSetUp(format!(
            "{} holds what cannot be sent: set it again",
            dialect.variable
        ))
    };
    let (header, before) = dialect.token;
    let mut headers = HeaderMap::new();
    let mut value = HeaderValue::from_str(&format!("{before}{token}")).map_err(|_| unfit())?;
    value.set_sensitive(true);
    headers.insert(HeaderName::from_static(header), value);
    for (name, value) in dialect.headers {
        headers.insert(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
    }
    reqwest::Client::builder()
        .connect_timeout(CONNECT)
        .timeout(WHOLE)
        .redirect(redirect::Policy::none())
        .user_agent(concat!("Flightdeck/", env!("CARGO_PKG_VERSION")))
        .default_headers(headers)
        .build()
        .map_err(|_| unfit())
}

/// The whole body, unless it is too large.
async fn whole(mut response: Response) -> Result<Vec<u8>, ProviderError> {
    let mut bytes = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(|error| unanswered(&error))? {
        bytes.extend_from_slice(&piece);
        if bytes.len() > MAX_BODY {
            return Err(ProviderError::Unreadable("is too large"));
        }
    }
    Ok(bytes)
}

/// What a refusal says, cut.
async fn said(response: Response) -> String {
    let bytes = whole(response).await.unwrap_or_default();
    let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let said = [&body["message"], &body["error"]]
        .into_iter()
        .find_map(Value::as_str)
        .unwrap_or("it does not say why");
    said.chars().filter(|c| !c.is_control()).take(200).collect()
}

fn unanswered(error: &reqwest::Error) -> ProviderError {
    ProviderError::Unanswered(if error.is_timeout() {
        "did not answer in time"
    } else if error.is_connect() {
        "could not be reached"
    } else {
        "broke off"
    })
}

fn seconds(headers: &HeaderMap, name: &str) -> Option<Duration> {
    let seconds: u64 = headers.get(name)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// Nothing is left half done while these are held.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What somebody wrote. What the token's own user wrote is no news to the task, and no words are none; `at` is the place in the
/// code that they are about, its path and its line.
pub(super) fn remark(
    id: String,
    author: &Value,
    body: &Value,
    at: (&Value, &Value),
    me: Option<&str>,
) -> Option<Remark> {
    let author = author.as_str().unwrap_or("somebody");
    let body = body.as_str().unwrap_or_default();
    if Some(author) == me || body.trim().is_empty() {
        return None;
    }
    let place = at.0.as_str().map(|path| match at.1.as_i64() {
        Some(line) => format!("{path}:{line}"),
        None => path.to_owned(),
    });
    Some(Remark {
        id,
        author: author.to_owned(),
        body: body.to_owned(),
        place,
    })
}

/// A text of an answer; what is not there is empty.
pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// A number of an answer as a part of a subject.
pub(super) fn number(value: &Value) -> String {
    value
        .as_i64()
        .map(|number| number.to_string())
        .unwrap_or_default()
}
