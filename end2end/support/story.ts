// The story most journeys tell: an operator's task, its autopilot child, one question, one answer.
import { expect } from "@playwright/test";
import type { Api } from "./api.ts";

export interface Task {
  id: string;
  title: string;
  state: string;
  parent_id: string | null;
  autopilot: boolean;
  primary_session_id: string | null;
  primary_session_state: string | null;
  task_pending_action: string | null;
}

export interface Message {
  id: string;
  type: string;
  author_type: string;
  content: string;
  metadata: Record<string, unknown>;
}

/** A prompt for the demo agent that asks its parent and, with the answer, finishes. */
export const askingChild = [
  'e2e:message("I look at what is there first.")',
  `e2e:mcp:kandev:ask_parent_question_kandev(${JSON.stringify({
    questions: [
      {
        id: "store",
        prompt: "Which store should the migration target?",
        options: [
          { label: "SQLite", description: "One file" },
          { label: "Postgres", description: "A server" },
        ],
      },
    ],
    context: "Needed before the migration.",
  })})`,
  "e2e:next_turn()",
  'e2e:message("Done: {prompt}")',
].join("\n");

/** A parent that answers its children after `delayMs`, or never. */
export function answeringParent(delayMs: number | "never"): string {
  const pace = delayMs === "never" ? "e2e:answer_times(0)" : `e2e:answer_delay(${delayMs})`;
  return [pace, 'e2e:answer("SQLite, it is enough.")', 'e2e:message("Ready.")'].join("\n");
}

export async function demoProfile(api: Api): Promise<string> {
  const { agents } = await api.get<{ agents: { name: string; profiles: { id: string }[] }[] }>("/agents");
  const profile = agents.find((agent) => agent.name === "Demo agent")?.profiles[0]?.id;
  if (!profile) throw new Error("the demo agent is not registered");
  return profile;
}

export async function createTask(api: Api, fields: Record<string, unknown>): Promise<Task> {
  return api.post<Task>("/tasks", { agent_profile_id: await demoProfile(api), ...fields });
}

export const getTask = (api: Api, id: string): Promise<Task> => api.get<Task>(`/tasks/${id}`);

export async function messages(api: Api, task: string): Promise<Message[]> {
  const { primary_session_id } = await getTask(api, task);
  if (!primary_session_id) return [];
  return (await api.get<{ messages: Message[] }>(`/task-sessions/${primary_session_id}/messages?limit=100`)).messages;
}

/** Waits until the task's agent has said something that contains `text`, and returns that message. */
export async function untilSaid(api: Api, task: string, text: string): Promise<Message> {
  let found: Message | undefined;
  await expect
    .poll(
      async () => {
        const said = (await messages(api, task)).filter((message) => message.author_type === "agent");
        found = said.find((message) => message.content.includes(text));
        return found ? text : said.map((message) => message.content);
      },
      { message: `the agent says "${text}"`, timeout: 60_000 },
    )
    .toBe(text);
  return found as Message;
}

/**
 * Waits until the task's agent is idle. It is idle too while it waits for an operator's answer and before a message has
 * reached it: what has to have happened after an answer or a message is asked for with {@link untilSaid}.
 */
export async function untilIdle(api: Api, task: string): Promise<void> {
  await expect
    .poll(async () => (await getTask(api, task)).primary_session_state, { timeout: 60_000 })
    .toBe("WAITING_FOR_INPUT");
}
