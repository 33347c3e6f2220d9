// A model on loopback: it speaks the wires of Claude Code and of Codex, keeps what it was shown, and answers by a script.
import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import * as anthropic from "./anthropic.ts";
import { type Answer, type Prompt, type Request, awaitsAnswer, ours, prompts } from "./conversation.ts";
import * as openai from "./openai.ts";

/** What the model does about a prompt: one call after the other, then its last words. A call may use earlier results. */
export interface Step {
  call: string;
  input: (prompt: Prompt) => Record<string, unknown>;
}

export interface Plan {
  steps: Step[];
  say: string;
}

export type Script = (prompt: Prompt) => Plan;

/** A request of a conversation of Flightdeck's, with the prompts in it. */
export interface Seen extends Request {
  prompts: Prompt[];
}

/** More answers to one prompt than any script has steps. */
const MOST_ANSWERS = 30;

export class Model {
  /** Requests of conversations, oldest first. */
  readonly seen: Seen[] = [];
  /** Requests beside them, by what they begin with: titles and the like. */
  readonly aside: string[] = [];
  /** What went another way than the script. */
  readonly problems: string[] = [];
  private readonly answers = new Map<string, number>();
  private counter = 0;

  private constructor(
    private readonly script: Script,
    private readonly server: Server,
    /** Where it listens, without a slash at the end. */
    readonly url: string,
  ) {}

  static async start(script: Script): Promise<Model> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const model = new Model(script, server, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    server.on("request", (request, response) => {
      model.respond(request, response).catch((error: unknown) => {
        model.problems.push(String(error));
        response.destroy();
      });
    });
    return model;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  /** The requests of one task's agent, oldest first. */
  of(task: string): Seen[] {
    return this.seen.filter((request) => request.prompts.at(-1)?.task === task);
  }

  private async respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const route = `${request.method} ${new URL(request.url ?? "/", this.url).pathname}`;
    // Unique across restarts of an agent, which keeps the ids of its history.
    const id = `${Date.now().toString(36)}${(this.counter++).toString().padStart(4, "0")}`;
    switch (route) {
      case "POST /v1/messages": {
        const body = JSON.parse(text) as anthropic.MessagesBody;
        return anthropic.write(response, body, this.answer(anthropic.read(body)), id);
      }
      case "POST /v1/responses": {
        const body = JSON.parse(text) as openai.ResponsesBody;
        const read = openai.read(body);
        return openai.write(response, body, read, this.answer(read), id);
      }
      case "POST /v1/messages/count_tokens":
        return json(response, 200, { input_tokens: 1 });
      case "GET /v1/models":
        return json(response, 200, { object: "list", data: [] });
      default:
        this.aside.push(route);
        return json(response, 404, { error: { type: "not_found_error", message: `nothing at ${route}` } });
    }
  }

  private answer(request: Request): Answer {
    const found = prompts(request.items);
    const prompt = found.at(-1);
    if (!prompt || !awaitsAnswer(request.items)) {
      const last = request.items.findLast((item) => item.kind === "words" && item.from === "user");
      this.aside.push(last?.kind === "words" ? last.text.slice(0, 200) : "");
      return { say: "Nothing" };
    }
    this.seen.push({ ...request, prompts: found });
    const answers = (this.answers.get(prompt.id) ?? 0) + 1;
    this.answers.set(prompt.id, answers);
    if (answers > MOST_ANSWERS) return this.fail(`prompt ${prompt.id} was answered ${MOST_ANSWERS} times and does not end`);
    const failed = prompt.done.find((call) => call.failed);
    if (failed) return this.fail(`${failed.tool} failed: ${failed.result}`);
    const { steps, say } = this.script(prompt);
    const step = steps[prompt.done.length];
    if (!step) return { say };
    if (ours(step.call) && request.tools.length > 0 && !request.tools.includes(step.call)) {
      return this.fail(`${step.call} is not among the tools: ${request.tools.join(" ")}`);
    }
    return { call: step.call, input: step.input(prompt) };
  }

  private fail(problem: string): Answer {
    this.problems.push(problem);
    return { say: problem };
  }
}

function json(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}
