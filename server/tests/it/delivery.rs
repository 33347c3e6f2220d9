//! Answers on their way to users: Discord with its limits, and a signed request.

use crate::support::DEADLINE;
use crate::support::discord::{DiscordServer, TOKEN};
use axum::extract::State;
use axum::http::HeaderMap;
use board::Clock;
use domain::job::{
    ChunkState, Delivery, DeliveryKind, ErrorClass, Failure, JobId, Target, TargetKind,
};
use domain::time::Timestamp;
use serde_json::{Value, json};
use server::delivery::{
    Discord, DiscordSettings, SIGNATURE_HEADER, TIMESTAMP_HEADER, Webhook, WebhookSettings,
    signature,
};
use std::sync::{Arc, Mutex};
use std::time::Instant;

fn discord(server: &DiscordServer) -> Discord {
    Discord::new(Some(DiscordSettings {
        base_url: server.url().to_owned(),
        token: TOKEN.to_owned(),
    }))
    .unwrap()
}

#[tokio::test]
async fn a_message_arrives_once_however_often_it_is_sent() {
    let server = DiscordServer::start().await;
    let discord = discord(&server);
    let channel = discord.open("42").await.unwrap();
    assert_eq!(discord.open("42").await.unwrap(), channel);
    assert_eq!(server.opened(), 1, "the channel is remembered");
    let first = discord
        .send(&channel, "hello @everyone", "job-1-0")
        .await
        .unwrap();
    let again = discord
        .send(&channel, "hello @everyone", "job-1-0")
        .await
        .unwrap();
    assert_eq!(first, again);
    discord.send(&channel, "and more", "job-1-1").await.unwrap();
    let shown: Vec<String> = server.shown().into_iter().map(|one| one.content).collect();
    assert_eq!(shown, ["hello @everyone", "and more"]);
}

#[tokio::test]
async fn after_a_restart_the_nonce_still_tells_a_repeat() {
    let server = DiscordServer::start().await;
    for _ in 0..2 {
        let discord = discord(&server);
        let channel = discord.open("42").await.unwrap();
        discord.send(&channel, "hello", "job-1-0").await.unwrap();
    }
    assert_eq!(server.shown().len(), 1);
}

#[tokio::test]
async fn a_route_that_is_used_up_is_left_alone_and_then_goes_on() {
    let server = DiscordServer::start().await;
    server.limit(2);
    let discord = discord(&server);
    let channel = discord.open("42").await.unwrap();
    let began = Instant::now();
    for number in 0..4 {
        discord
            .send(&channel, "hello", &format!("n{number}"))
            .await
            .unwrap();
    }
    assert_eq!(server.shown().len(), 4);
    assert_eq!(
        server.requests(),
        5,
        "no request was refused: the headers were heeded"
    );
    assert!(began.elapsed().as_millis() >= 400 && began.elapsed() < DEADLINE);
}

#[tokio::test]
async fn a_short_wait_is_sat_out_and_a_long_one_is_told() {
    let server = DiscordServer::start().await;
    let discord = discord(&server);
    let channel = discord.open("42").await.unwrap();
    let limited = |seconds: f64| json!({"message": "You are being rate limited.", "retry_after": seconds, "global": false});
    server.answer_next(429, Vec::new(), limited(0.05));
    discord.send(&channel, "hello", "n1").await.unwrap();
    server.answer_next(429, Vec::new(), limited(64.57));
    let failure = discord.send(&channel, "hello", "n2").await.unwrap_err();
    assert_eq!(
        (failure.class, failure.retry_after_ms),
        (ErrorClass::DeliveryTransient, Some(64_570))
    );
    let requests = server.requests();
    let again = discord.send(&channel, "hello", "n2").await.unwrap_err();
    assert!(
        again
            .retry_after_ms
            .is_some_and(|ms| ms > 50_000 && ms <= 64_570),
        "{again:?}"
    );
    assert_eq!(
        server.requests(),
        requests,
        "Discord is not asked before its time"
    );
    // Another user's channel is a route of its own.
    let other = discord.open("43").await.unwrap();
    discord.send(&other, "hello", "n3").await.unwrap();
}

#[tokio::test]
async fn a_limit_for_the_whole_bot_holds_everywhere() {
    let server = DiscordServer::start().await;
    let discord = discord(&server);
    let channel = discord.open("42").await.unwrap();
    server.answer_next(
        429,
        vec![("retry-after", "30".to_owned())],
        json!({"retry_after": 30.0, "global": true}),
    );
    discord.send(&channel, "hello", "n1").await.unwrap_err();
    let failure = discord.open("43").await.unwrap_err();
    assert_eq!(failure.class, ErrorClass::DeliveryTransient);
}

#[tokio::test]
async fn refusals_mean_what_they_say() {
    let server = DiscordServer::start().await;
    let adapter = discord(&server);
    let channel = adapter.open("42").await.unwrap();
    let class = |failure: Failure| failure.class;
    server.block("42");
    let blocked = adapter.send(&channel, "hello", "n1").await.unwrap_err();
    assert_eq!(class(blocked), ErrorClass::DeliveryPermanent);
    assert_eq!(
        class(adapter.open("404").await.unwrap_err()),
        ErrorClass::DeliveryPermanent
    );
    assert_eq!(
        class(adapter.open("../../guilds/1").await.unwrap_err()),
        ErrorClass::DeliveryPermanent
    );
    let too_long = "x".repeat(2001);
    let open = adapter.open("44").await.unwrap();
    assert_eq!(
        class(adapter.send(&open, &too_long, "n2").await.unwrap_err()),
        ErrorClass::DeliveryPermanent
    );
    for status in [500, 502, 503] {
        server.answer_next(status, Vec::new(), json!({}));
        assert_eq!(
            class(adapter.send(&open, "hello", "n3").await.unwrap_err()),
            ErrorClass::DeliveryTransient
        );
    }
    let stranger = Discord::new(Some(DiscordSettings {
        base_url: server.url().to_owned(),
        token: "another".to_owned(),
    }))
    .unwrap();
    let failure = stranger.open("42").await.unwrap_err();
    assert_eq!(failure.class, ErrorClass::Config);
    assert!(!failure.message.contains("another"));
    assert_eq!(
        class(Discord::new(None).unwrap().open("42").await.unwrap_err()),
        ErrorClass::Config
    );
    let url = server.url().to_owned();
    drop(server);
    let gone = Discord::new(Some(DiscordSettings {
        base_url: url,
        token: TOKEN.to_owned(),
    }))
    .unwrap();
    let give_up = Instant::now() + DEADLINE;
    loop {
        match gone.open("45").await {
            Err(failure) => {
                assert_eq!(failure.class, ErrorClass::DeliveryTransient);
                break;
            }
            Ok(_) => assert!(Instant::now() < give_up, "the stand-in is still there"),
        }
    }
}

type Inbox = Arc<Mutex<Vec<(HeaderMap, String)>>>;

/// A service that takes signed requests; it answers with these statuses in turn.
async fn service(statuses: Vec<u16>) -> (String, Inbox) {
    let inbox = Inbox::default();
    let kept = Arc::clone(&inbox);
    let statuses = Arc::new(Mutex::new(statuses));
    let app = axum::Router::new()
        .fallback(
            async move |State(inbox): State<Inbox>, headers: HeaderMap, body: String| {
                inbox.lock().unwrap().push((headers, body));
                let status = {
                    let mut statuses = statuses.lock().unwrap();
                    if statuses.is_empty() {
                        200
                    } else {
                        statuses.remove(0)
                    }
                };
                let status = http::StatusCode::from_u16(status).unwrap();
                (status, [("retry-after", "9")], "{\"id\": \"m1\"}")
            },
        )
        .with_state(kept);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });
    (url, inbox)
}

fn piece(body: &str) -> Delivery {
    Delivery {
        job_id: JobId(7),
        kind: DeliveryKind::Answer,
        chunk_no: 0,
        body: body.to_owned(),
        body_hash: String::new(),
        nonce: "n-7-0".to_owned(),
        state: ChunkState::Waiting,
        attempts: 0,
        platform_message_id: None,
        next_try_at: Timestamp::from_millis(0),
    }
}

fn target() -> Target {
    Target {
        kind: TargetKind::Webhook,
        user_id: "u".to_owned(),
        source: "gateway_dm".to_owned(),
    }
}

#[tokio::test]
async fn a_webhook_gets_a_request_that_only_we_can_have_signed() {
    let (url, inbox) = service(Vec::new()).await;
    let settings = WebhookSettings {
        url,
        secret: "s3cret".to_owned(),
    };
    let webhook = Webhook::new(
        Some(settings),
        Clock::stepped(Timestamp::from_millis(1_700_000_000_999)),
    )
    .unwrap();
    webhook.open().unwrap();
    let id = webhook.send(&target(), &piece("Grüße")).await.unwrap();
    assert_eq!(id, "m1");
    let (headers, body) = inbox.lock().unwrap()[0].clone();
    let header = |name: &str| headers[name].to_str().unwrap().to_owned();
    assert_eq!(header(TIMESTAMP_HEADER), "1700000000");
    assert_eq!(
        header(SIGNATURE_HEADER),
        signature("s3cret", "1700000000", &body)
    );
    assert_eq!(header("idempotency-key"), "n-7-0");
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(
        body,
        json!({"type": "message", "userId": "u", "source": "gateway_dm", "jobId": 7, "kind": "answer", "chunkNo": 0,
            "content": "Grüße", "nonce": "n-7-0"})
    );
}

#[tokio::test]
async fn a_webhook_that_refuses_is_understood() {
    let statuses = vec![503, 429, 410, 401, 302];
    let (url, _) = service(statuses).await;
    let settings = WebhookSettings {
        url,
        secret: "s".to_owned(),
    };
    let webhook = Webhook::new(Some(settings), Clock::system()).unwrap();
    for class in [
        ErrorClass::DeliveryTransient,
        ErrorClass::DeliveryTransient,
        ErrorClass::DeliveryPermanent,
        ErrorClass::Config,
        ErrorClass::DeliveryTransient,
    ] {
        let failure = webhook.send(&target(), &piece("x")).await.unwrap_err();
        assert_eq!(
            (failure.class, failure.retry_after_ms),
            (class, Some(9000)),
            "{failure}"
        );
    }
    let none = Webhook::new(None, Clock::system()).unwrap();
    assert_eq!(none.open().unwrap_err().class, ErrorClass::Config);
}
