//! A task's page: breadcrumb, transcript, question, status row and composer, with an agent that streams.

use super::sample;
use crate::components::chip::{AutopilotChip, Chip};
use crate::components::composer::Composer;
use crate::components::frame::{AppFrame, FrameData, SidePanel};
use crate::components::glyph::Glyph;
use crate::components::message::{Message, Speaker, StatusLine, Thinking};
use crate::components::parent_wait::ParentWait;
use crate::components::question_card::QuestionCard;
use crate::components::state_icon::StateIcon;
use crate::components::task_mark::TaskMark;
use crate::components::tool_call::{ToolCall, ToolCallLine, ToolStatus};
use crate::components::transcript::{Entry, Transcript, TranscriptList};
use crate::paths;
use crate::title::PageTitle;
use domain::ids::MessageId;
use domain::message::MessageType;
use leptos::prelude::*;
use std::time::Duration;

#[derive(Debug, Clone, PartialEq)]
enum Body {
    Said(Speaker, String),
    Thought(String),
    Called(ToolCallLine),
    Status(&'static str, bool),
}

#[derive(Debug, Clone, PartialEq)]
struct Line(u32, Body);

impl Entry for Line {
    type Id = MessageId;
    fn id(&self) -> MessageId {
        sample::message_id(self.0)
    }
    fn seq(&self) -> i64 {
        i64::from(self.0)
    }
}

fn call(
    kind: MessageType,
    name: &str,
    target: &str,
    status: ToolStatus,
    output: Option<String>,
) -> Body {
    Body::Called(ToolCallLine {
        kind,
        name: name.to_owned(),
        target: Some(target.to_owned()),
        status,
        duration_ms: (status == ToolStatus::Done).then_some(3_200),
        input: output
            .is_some()
            .then(|| "{\n  \"title\": \"Check migration lock\"\n}".to_owned()),
        output,
        diffs: Vec::new(),
    })
}

fn lines() -> Vec<Line> {
    let agent = || Speaker::Agent("Claude".to_owned());
    let peer = Speaker::Peer {
        task_id: sample::task_id(2),
        title: "Check migration lock".to_owned(),
    };
    let long = (1..=60)
        .map(|n| format!("test checkout::case_{n} ... ok"))
        .collect::<Vec<_>>()
        .join("\n");
    let bodies = vec![
        Body::Said(Speaker::Operator, "<p>Investigate the flaky checkout test.</p>".to_owned()),
        Body::Thought("<p>It fails one time in ten, so it may be a race.</p>".to_owned()),
        Body::Said(agent(), "<p>I'll split the database part off.</p><ul><li>lock waits</li><li>order of migrations</li></ul><pre tabindex=\"0\"><code>cargo test checkout -- --nocapture --test-threads=1 --include-ignored --exact a_long_line_that_scrolls</code></pre>".to_owned()),
        call(MessageType::ToolCall, "create_task_kandev", "Check migration lock", ToolStatus::Done, Some("{\"autopilot\":true}".to_owned())),
        call(MessageType::ToolExecute, "cargo test", "checkout", ToolStatus::Failed, Some(long)),
        call(MessageType::ToolRead, "read_file", "crates/store/src/migrations.rs", ToolStatus::Running, None),
        Body::Said(peer, "<p>Which store should the migration target?</p>".to_owned()),
        Body::Status("The agent was started again after an interruption.", false),
        Body::Status("The provider refused the request: overloaded.", true),
        Body::Said(agent(), "<p>SQLite.</p>".to_owned()),
    ];
    bodies
        .into_iter()
        .zip(1..)
        .map(|(body, n)| Line(n, body))
        .collect()
}

/// As a task's page will be.
#[component]
pub fn GalleryTask() -> impl IntoView {
    let transcript = Transcript::<Line>::default();
    transcript.merge(lines());
    // An agent that adds a word a second to its last answer.
    Effect::new(move |_| {
        let tick = set_interval_with_handle(
            move || {
                let Some(last) = transcript.entry(sample::message_id(10)) else {
                    return;
                };
                if let Line(n, Body::Said(speaker, html)) = last.get_untracked() {
                    transcript.merge(vec![Line(
                        n,
                        Body::Said(speaker, html.replace("</p>", " word</p>")),
                    )]);
                }
            },
            Duration::from_secs(1),
        );
        on_cleanup(move || {
            if let Ok(tick) = tick {
                tick.clear();
            }
        });
    });
    let data = FrameData {
        home: Signal::stored("/".to_owned()),
        workspace: Signal::stored("Default".to_owned()),
        workspaces: Signal::stored(Vec::new()),
        tasks: Signal::stored(sample::nodes()),
        current: Signal::stored(Some(sample::task_id(2))),
        needs_operator: Signal::stored(1),
        place: Signal::stored("Default ▸ Kanban".to_owned()),
    };
    let draft = RwSignal::new(String::new());
    view! {
        <PageTitle text="Check migration lock"/>
        <AppFrame data>
            <div class="flex h-full">
                <div class="flex flex-col flex-1 min-w-0">
                    <header class="flex flex-col gap-1 px-4 py-2 border-b border-line">
                        <nav aria-label="Breadcrumb" class="text-12 text-muted truncate">
                            <a class="link" href=paths::task(sample::task_id(1))>"Investigate the flaky checkout test"</a>
                            " ▸ "
                        </nav>
                        <h1 class="flex items-center gap-2 text-16">
                            <StateIcon mark=TaskMark::ParentQuestion/>
                            <span class="truncate">"Check migration lock"</span>
                        </h1>
                    </header>
                    <div class="flex-1 min-h-0 flex flex-col">
                        <TranscriptList transcript render=show/>
                    </div>
                    <div class="dock">
                        <div class="dock-asks" tabindex="0" role="group" aria-label="Waiting">
                            <ParentWait question=sample::parent_question(false)/>
                            <QuestionCard
                                bundle=sample::clarification(1, false)
                                busy=false
                                on_answer=Callback::new(|_| ())
                            />
                        </div>
                        <div class="flex flex-wrap gap-2" data-testid="chat-status-bar">
                            <AutopilotChip/>
                            <Chip glyph=Glyph::ListOrdered text="2 queued" sentence="2 queued messages"/>
                        </div>
                        <Composer
                            draft
                            running=true
                            on_send=Callback::new(|_| ())
                            on_cancel=Callback::new(|()| ())
                        />
                    </div>
                </div>
                <SidePanel title="Related" open_sheet=RwSignal::new(false)>
                    <p class="text-muted">"Relatives of the task."</p>
                </SidePanel>
            </div>
        </AppFrame>
    }
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the list gives each entry away"
)]
fn show(line: ArcRwSignal<Line>) -> AnyView {
    let html = {
        let line = line.clone();
        Signal::derive(move || match line.get().1 {
            Body::Said(_, html) | Body::Thought(html) => html,
            Body::Called(_) | Body::Status(..) => String::new(),
        })
    };
    match line.get_untracked().1 {
        Body::Said(speaker, _) => {
            view! { <Message speaker at=sample::minutes_ago(9) html/> }.into_any()
        }
        Body::Thought(_) => view! { <Thinking html/> }.into_any(),
        Body::Status(text, failed) => view! { <StatusLine text failed/> }.into_any(),
        Body::Called(call) => view! { <ToolCall call=Signal::stored(call)/> }.into_any(),
    }
}
