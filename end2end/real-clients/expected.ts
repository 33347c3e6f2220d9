// What the conformance suite is known to find, and why. Whatever else fails is a fault, and so is a line here that passes.
import type { Wire } from "./suite.ts";

export interface Expected {
  /** Why a scenario, or one check of it (`scenario:check`), fails. */
  fails: Record<string, string>;
  /** Scenarios that pass here and say nothing, since what they are about is not there. They are not counted. */
  empty?: string[];
}

const FIXTURE = "calls a tool, prompt or resource of the suite's own; the run with fixtures has them";
const HOOK = "needs a diagnostic tool of the suite's own; the run with fixtures has it";
const COMPLETION = "a board completes nothing, and does not say that it does";
const LOGGING = "a board sends no log messages to clients, and does not say that it does";
const SUBSCRIPTION = "a board has no resources to subscribe to, and does not say that it has";
const PARAMETER = "no tool of a board mirrors an argument in a header";
const TASK = "calls tools of the suite's own that make tasks; the run of native tasks plays them";

const all = (scenarios: string[], reason: string) => Object.fromEntries(scenarios.map((it) => [it, reason]));

const ON_BOTH_WIRES = [
  "tools-call-simple-text",
  "tools-call-image",
  "tools-call-audio",
  "tools-call-embedded-resource",
  "tools-call-mixed-content",
  "tools-call-error",
  "tools-call-with-progress",
  "resources-read-text",
  "resources-read-binary",
  "resources-templates-read",
  "prompts-get-simple",
  "prompts-get-with-args",
  "prompts-get-embedded-resource",
  "prompts-get-with-image",
  "json-schema-2020-12",
];

const TASK_SCENARIOS = [
  "tasks-lifecycle",
  "tasks-capability-negotiation",
  "tasks-wire-fields",
  "tasks-request-state-removal",
  "tasks-mrtr-input",
  "tasks-request-headers",
  "tasks-dispatch-and-envelope",
  "tasks-required-task-error",
  "tasks-mrtr-composition",
];

/** The board's own tools, as `flightdeck serve` offers them. */
export const BOARD: Record<Wire, Expected> = {
  "2025-11-25": {
    fails: {
      ...all(ON_BOTH_WIRES, FIXTURE),
      ...all(
        [
          "tools-call-with-logging",
          "tools-call-sampling",
          "tools-call-elicitation",
          "elicitation-sep1034-defaults",
          "elicitation-sep1330-enums",
        ],
        FIXTURE,
      ),
      ...all(["resources-subscribe", "resources-unsubscribe"], SUBSCRIPTION),
      "logging-set-level": LOGGING,
      "completion-complete": COMPLETION,
    },
    empty: ["server-sse-polling"],
  },
  "2026-07-28": {
    fails: {
      ...all(ON_BOTH_WIRES, FIXTURE),
      ...all(
        [
          "input-required-result-basic-elicitation",
          "input-required-result-basic-sampling",
          "input-required-result-basic-list-roots",
          "input-required-result-request-state",
          "input-required-result-multiple-input-requests",
          "input-required-result-multi-round",
          "input-required-result-non-tool-request",
          "input-required-result-result-type",
          "input-required-result-tampered-state",
          "input-required-result-capability-check",
        ],
        FIXTURE,
      ),
      "server-stateless:sep-2575-server-rejects-undeclared-capability": HOOK,
      "server-stateless:sep-2575-missing-capability-http-400": HOOK,
      "server-stateless:sep-2575-http-server-no-independent-requests-on-stream": HOOK,
      "server-stateless:sep-2575-server-no-log-without-loglevel": HOOK,
      "completion-complete": COMPLETION,
      "http-custom-header-server-validation": PARAMETER,
      ...all(TASK_SCENARIOS, TASK),
    },
    empty: [
      "tasks-status-notifications",
      "input-required-result-missing-input-response",
      "input-required-result-ignore-extra-params",
      "input-required-result-validate-input",
    ],
  },
};

/** The suite's fixtures behind our door. */
export const FIXTURES: Record<Wire, Expected> = {
  "2025-11-25": { fails: {}, empty: ["server-sse-polling"] },
  "2026-07-28": { fails: all(TASK_SCENARIOS, TASK), empty: ["tasks-status-notifications"] },
};

/** The scenarios about tasks, with our own tasks in the place of the suite's. */
export const TASKS: Pick<Expected, "fails"> & { scenarios: string[] } = {
  scenarios: [
    "tasks-lifecycle",
    "tasks-capability-negotiation",
    "tasks-wire-fields",
    "tasks-request-state-removal",
    "tasks-mrtr-input",
    "tasks-request-headers",
    "tasks-dispatch-and-envelope",
  ],
  fails: {
    "tasks-lifecycle:sep-2663-tasks-get-status-failed":
      "no task of ours fails as a protocol error: what goes wrong is an outcome, with an error in its result",
    "tasks-mrtr-input:tasks-mrtr-partial-fulfillment":
      "questions that are asked together are one form, which is answered as a whole",
    "tasks-request-headers:tasks-headers-tolerate-mcp-method-on-tools-call":
      "wants the words of the suite's own greeting; that the header is taken shows in the checks beside it",
  },
};
