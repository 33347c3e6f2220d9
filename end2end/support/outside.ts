// An outside client: plain requests to the tools' route with an access token, as any chat client makes them.
import type { Api } from "./api.ts";

export type Answer = Record<string, unknown> & { status?: string; taskId?: string; sessionKey?: string };

export class Outside {
  private id = 1;

  private constructor(
    private readonly url: string,
    private readonly token: string,
    private readonly session: string,
  ) {}

  /** Makes a token of this name and begins a connection with it. */
  static async connect(api: Api, url: string, name: string): Promise<Outside> {
    const { token } = await api.post<{ token: string }>("/access-tokens", { name });
    const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "codex of a test", version: "1" } };
    const response = await send(url, token, {}, { jsonrpc: "2.0", id: 0, method: "initialize", params });
    const session = response.headers.get("mcp-session-id") ?? "";
    await response.text();
    const client = new Outside(url, token, session);
    await (await client.post({ jsonrpc: "2.0", method: "notifications/initialized" })).text();
    return client;
  }

  /** Calls a tool and gives its structured content, whatever it says. */
  async call(name: string, args: Record<string, unknown>): Promise<Answer> {
    const id = this.id++;
    const response = await this.post({ jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: args } });
    const text = await response.text();
    if (!response.ok) throw new Error(`${name}: ${response.status} ${text}`);
    // One message as JSON, or several as events.
    const lines = text.includes("data:") ? text.split("\n").filter((line) => line.startsWith("data:")) : [`data:${text}`];
    const messages = lines.map((line) => line.slice("data:".length).trim()).filter((line) => line.startsWith("{"));
    const answer = messages.map((line) => JSON.parse(line)).find((message) => message.id === id);
    if (!answer?.result?.structuredContent) throw new Error(`${name}: ${text}`);
    return answer.result.structuredContent as Answer;
  }

  /** Waits for a run until nothing more is to be waited for. */
  async outcome(run: Answer): Promise<Answer> {
    for (;;) {
      const answer = await this.call("check_task", { taskId: run.taskId, sessionKey: run.sessionKey });
      if (answer.continuePolling !== true) return answer;
    }
  }

  private post(message: unknown): Promise<Response> {
    return send(this.url, this.token, { "mcp-session-id": this.session, "mcp-protocol-version": "2025-06-18" }, message);
  }
}

function send(url: string, token: string, headers: Record<string, string>, message: unknown): Promise<Response> {
  return fetch(`${url}/mcp`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
      ...headers,
    },
    body: JSON.stringify(message),
  });
}
