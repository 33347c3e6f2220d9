// Flightdeck's JSON API, as far as these tests use it, and waiting for what it shows.
import { setTimeout as sleep } from "node:timers/promises";

export interface Task {
  id: string;
  title: string;
  state: string;
  autopilot: boolean;
  parent_id: string | null;
  primary_session_id: string | null;
  primary_session_state: string | null;
  task_pending_action: string | null;
  error_message: string | null;
  queued_prompt_count: number;
}

export interface Message {
  id: string;
  author_type: string;
  content: string;
  type: string;
  metadata: Record<string, unknown>;
}

export interface Profile {
  id: string;
  name: string;
}

export interface Agent {
  id: string;
  name: string;
  supports_mcp: boolean | null;
  profiles: Profile[];
}

export interface TaskPage {
  task: Task;
  permissions: { id: string; title: string; options: { option_id: string; kind: string }[] }[];
}

/** How long anything may take. Agents need a second or two to start; a busy machine makes that many more. */
const PATIENCE_MS = 90_000;

export class Board {
  constructor(private readonly url: string) {}

  get<T>(path: string): Promise<T> {
    return this.call<T>("GET", path);
  }

  post<T>(path: string, body: object = {}): Promise<T> {
    return this.call<T>("POST", path, body);
  }

  patch<T>(path: string, body: object): Promise<T> {
    return this.call<T>("PATCH", path, body);
  }

  task(id: string): Promise<Task> {
    return this.get(`/tasks/${id}`);
  }

  /** The whole transcript of a task's one session. */
  async messages(task: string): Promise<Message[]> {
    const { primary_session_id } = await this.task(task);
    const { messages, has_more } = await this.get<{ messages: Message[]; has_more: boolean }>(
      `/task-sessions/${primary_session_id}/messages`,
    );
    if (has_more) throw new Error("the transcript has more than one page");
    return messages;
  }

  async children(task: string): Promise<string[]> {
    const { children } = await this.get<{ children: { id: string }[] }>(`/tasks/${task}/related`);
    return children.map((child) => child.id);
  }

  private async call<T>(method: string, path: string, body?: object): Promise<T> {
    const response = await fetch(`${this.url}/api/v1${path}`, {
      method,
      // What changes something must come from our own pages; this stands for one.
      headers: { origin: this.url, ...(body ? { "content-type": "application/json" } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return JSON.parse(text) as T;
  }
}

/** Asks until there is an answer. `giveUp` ends the wait early, by throwing. */
export async function until<T>(what: string, ask: () => Promise<T | undefined | false>, giveUp?: () => Promise<void>): Promise<T> {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined && answer !== false) return answer;
    await giveUp?.();
    if (Date.now() > deadline) throw new Error(`${what}: not within ${PATIENCE_MS / 1000} s`);
    await sleep(100);
  }
}
