// The suite's tools for tasks, played by our own: what it calls by its names is done by `run_task` and the demo agent.
import type { IncomingHttpHeaders } from "node:http";

interface Call {
  method?: string;
  params?: {
    name?: string;
    arguments?: Record<string, unknown>;
    inputResponses?: Record<string, { action?: string; content?: Record<string, unknown> }>;
  };
}

/** The demo agent's script for each of the suite's tools that make a task. */
const SCRIPTS: Record<string, (args: Record<string, unknown>) => string> = {
  slow_compute: ({ seconds }) => `e2e:delay(${Number(seconds ?? 0) * 1000})\ne2e:message("Computed.")`,
  failing_job: () => "/error",
  confirm_delete: () => "/clarification",
};

/** A request as our server knows it. */
export function translated(headers: IncomingHttpHeaders, body: string): { headers: IncomingHttpHeaders; body: string } {
  const call = JSON.parse(body) as Call;
  if (call.method === "tasks/update") {
    // The demo agent's form has other fields than the suite's.
    for (const response of Object.values(call.params?.inputResponses ?? {})) {
      if (response.action === "accept") response.content = { store: "As the user says." };
    }
    return { headers, body: JSON.stringify(call) };
  }
  const { name, arguments: args = {} } = call.params ?? {};
  if (call.method !== "tools/call" || !call.params || !name) return { headers, body };
  const script = SCRIPTS[name]?.(args);
  if (script !== undefined) {
    // It asks in the same words again and means another task.
    call.params.arguments = { task: script, agent: "demo-agent", allowDuplicate: true };
    call.params.name = "run_task";
  } else if (name === "greet") {
    // A tool that answers at once, whichever.
    call.params.arguments = {};
    call.params.name = "list_workspaces_kandev";
  } else {
    return { headers, body };
  }
  const named = headers["mcp-name"] === name ? { "mcp-name": call.params.name } : {};
  return { headers: { ...headers, ...named }, body: JSON.stringify(call) };
}
