//! The tool that shows an agent what the server has logged of late.

use super::tool::{Call, Hints, Outcome, Tool, to_json};
use crate::diagnostics::{LogBook, Side};
use domain::params::DiagnosticSource;
use serde::Deserialize;
use serde_json::{Value, json};

pub(super) fn tools() -> Vec<Tool> {
    vec![Tool {
        name: "get_diagnostic_bundle_kandev",
        title: "Get diagnostic bundle",
        description: "Read the last log lines of Flightdeck itself, its versions and how much it holds, to find out why something \
                      of it went wrong. Secrets are taken out; the lines may speak of other tasks by their ids.",
        input: json!({
            "type": "object",
            "properties": {
                "source": {"enum": ["backend", "frontend", "all"],
                           "description": "The server's lines, what pages in browsers reported, or both."},
            },
            "required": ["source"],
        }),
        unlisted: &[],
        hints: Hints::Reads,
        run: |call| Box::pin(bundle(call)),
    }]
}

#[derive(Deserialize)]
struct Args {
    source: DiagnosticSource,
}

async fn bundle(call: Call) -> Outcome {
    let args: Args = call.read()?;
    let facts = call.board.diagnostics(&call.actor).await?;
    let mut bundle = json!({
        "source": args.source,
        "versions": {"flightdeck": env!("CARGO_PKG_VERSION"), "os": std::env::consts::OS, "arch": std::env::consts::ARCH},
        "facts": to_json(&facts),
    });
    let book = LogBook::of_process();
    let (backend, frontend) = match args.source {
        DiagnosticSource::Backend => (true, false),
        DiagnosticSource::Frontend => (false, true),
        DiagnosticSource::All => (true, true),
    };
    if backend {
        bundle["backend"] = lines(&book, Side::Backend);
    }
    if frontend {
        bundle["frontend"] = lines(&book, Side::Frontend);
    }
    Ok(bundle)
}

fn lines(book: &LogBook, side: Side) -> Value {
    let (lines, dropped) = book.lines(side);
    json!({"lines": lines, "older_lines_dropped": dropped})
}
