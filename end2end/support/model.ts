// A model on loopback that speaks chat completions, as any OpenAI-compatible server does, and answers as a test says.
import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface Said {
  role: string;
  content: string | null;
}

/** What it was asked: the last message of the user, and whether a tool has answered since. */
export interface Asked {
  message: string;
  afterTool: boolean;
  messages: Said[];
}

export type Answer =
  | { say: string }
  | { call: string; input: Record<string, unknown> }
  /** Refuses the request. */
  | { status: number; error: string };

export class Model {
  readonly asked: Asked[] = [];
  private held: (() => void)[] = [];
  private holding = false;

  private constructor(
    private readonly script: (asked: Asked) => Answer,
    private readonly server: Server,
    /** Where it listens, without a slash at the end. */
    readonly url: string,
  ) {}

  static async start(script: (asked: Asked) => Answer): Promise<Model> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const model = new Model(script, server, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    server.on("request", (request, response) => {
      model.respond(request, response).catch(() => response.destroy());
    });
    return model;
  }

  /** What a server is started with to ask this model. */
  env(): Record<string, string> {
    return { OPENAI_BASE_URL: `${this.url}/v1`, OPENAI_MODEL: "stand-in", AI_PROVIDER_CHAIN: "openai" };
  }

  /** From now on answers wait. */
  hold(): void {
    this.holding = true;
  }

  /** Lets what waits go, and whatever follows. */
  release(): void {
    this.holding = false;
    for (const go of this.held.splice(0)) go();
  }

  async stop(): Promise<void> {
    this.release();
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { messages } = JSON.parse(Buffer.concat(chunks).toString()) as { messages: Said[] };
    const asked: Asked = {
      message: messages.findLast((said) => said.role === "user")?.content ?? "",
      afterTool: messages.at(-1)?.role === "tool",
      messages,
    };
    this.asked.push(asked);
    if (this.holding) await new Promise<void>((resolve) => this.held.push(resolve));
    const answer = this.script(asked);
    if ("status" in answer) {
      response.writeHead(answer.status, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { message: answer.error, type: "invalid_request_error" } }));
      return;
    }
    const call =
      "call" in answer
        ? [{ id: `call_${this.asked.length}`, type: "function", function: { name: answer.call, arguments: JSON.stringify(answer.input) } }]
        : undefined;
    response.writeHead(200, { "content-type": "application/json" });
    response.end(
      JSON.stringify({
        id: `chat_${this.asked.length}`,
        object: "chat.completion",
        choices: [
          {
            index: 0,
            finish_reason: call ? "tool_calls" : "stop",
            message: { role: "assistant", content: "say" in answer ? answer.say : null, tool_calls: call },
          },
        ],
        usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
      }),
    );
  }
}
