//! The part of the runtime, played by a test: an agent is launched, takes its prompt, and works until the test says otherwise.

use super::TestApp;
use super::client::Client;
use board::{Actor, Board, LaunchReport, Next, TurnOutcome};
use domain::ids::{SessionId, TaskId, TurnId};

pub(crate) const NODE: &str = "node-of-the-test";

/// A launched agent in the middle of a turn.
pub(crate) struct Agent {
    pub(crate) task: TaskId,
    pub(crate) session: SessionId,
    pub(crate) turn: TurnId,
    pub(crate) token: String,
    board: Board,
}

impl Agent {
    /// Launches the agent of a task's main session; its first prompt is accepted.
    pub(crate) async fn launch(app: &TestApp, task: TaskId) -> Self {
        let view = app.board().task_get(&Actor::Operator, task).await.unwrap();
        let session = view.primary_session_id.expect("the task was started");
        Self::launch_session(app, task, session).await
    }

    /// A new task whose agent has ended its first turn: its card is in Review.
    pub(crate) async fn resting(app: &TestApp, title: &str) -> Self {
        let agent = Self::launch(app, app.started_task(title).await).await;
        agent.end_turn().await;
        agent
    }

    /// Launches the agent of a certain session; its first prompt is accepted.
    pub(crate) async fn launch_session(app: &TestApp, task: TaskId, session: SessionId) -> Self {
        let board = app.board().clone();
        let Next::Launch(plan) = board
            .delivery_next(session, NODE, false, None)
            .await
            .unwrap()
        else {
            panic!("there is nothing to launch for");
        };
        let report = LaunchReport {
            agent: plan.agent.id,
            supports_mcp: true,
            provider_session_id: "its own id",
            seen: None,
            remarks: Vec::new(),
        };
        board.session_launched(session, NODE, report).await.unwrap();
        let mut agent = Self {
            task,
            session,
            turn: TurnId::new(),
            token: plan.token.expect("the agent takes our tools"),
            board,
        };
        agent.next_turn().await;
        agent
    }

    /// Takes the next prompt and gives its words.
    pub(crate) async fn next_turn(&mut self) -> String {
        let next = self
            .board
            .delivery_next(self.session, NODE, true, None)
            .await
            .unwrap();
        let Next::Deliver(delivery) = next else {
            panic!("there is nothing to deliver: {next:?}");
        };
        self.board
            .prompt_accepted(delivery.turn, NODE)
            .await
            .unwrap();
        self.turn = delivery.turn;
        delivery.text
    }

    /// Ends the running turn.
    pub(crate) async fn end_turn(&self) {
        let outcome = TurnOutcome::Stopped("end_turn".to_owned());
        self.board
            .turn_ended(self.turn, NODE, &outcome)
            .await
            .unwrap();
    }

    /// Ends the running turn as the agent of a cancelled one does.
    pub(crate) async fn cancelled(&self) {
        let ended = self
            .board
            .turn_ended(self.turn, NODE, &TurnOutcome::Cancelled);
        ended.await.unwrap();
    }

    /// Its connection to the tools.
    pub(crate) async fn connect(&self, app: &TestApp) -> Client {
        Client::connect(app, &self.token).await
    }
}
