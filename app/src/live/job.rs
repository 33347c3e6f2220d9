//! The stream of one job's timeline, for as long as the job is not over.

use domain::job::JobEventType;
use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;
use web_sys::EventSource;

/// A stream that is listened to. It ends when this is dropped.
pub struct Following {
    source: EventSource,
    _news: Closure<dyn Fn()>,
}

impl std::fmt::Debug for Following {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Following")
    }
}

impl Following {
    /// Listens to the job of this correlation id and calls `news` for each entry, for the end, and when the stream breaks off: it is
    /// then taken up by the browser, with what came since. `None` where it cannot be opened at all.
    #[must_use]
    pub fn begin(correlation_id: &str, news: impl Fn() + 'static) -> Option<Self> {
        let address = format!("/api/ai/jobs/{correlation_id}/events");
        let source = EventSource::new(&address).ok()?;
        let news = Closure::<dyn Fn()>::new(news);
        let told = news.as_ref().unchecked_ref();
        let names = JobEventType::ALL.iter().map(|kind| kind.as_str());
        for name in names.chain(["end"]) {
            // Names of events are constants, so this cannot fail.
            let _ = source.add_event_listener_with_callback(name, told);
        }
        source.set_onerror(Some(told));
        Some(Self {
            source,
            _news: news,
        })
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        self.source.close();
    }
}
