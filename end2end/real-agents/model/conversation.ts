// What a model is shown and what it answers, free of any vendor's wire.

/** Flightdeck's server, as agents are told its name. */
export const SERVER = "kandev";

/** A piece of a conversation, in order. */
export type Item =
  | { kind: "words"; from: "user" | "system"; message: number; text: string }
  | { kind: "call"; id: string; tool: string; input: Record<string, unknown> }
  | { kind: "result"; message: number; id: string; text: string; failed: boolean }
  | { kind: "said"; text: string };

/** One request to the model. */
export interface Request {
  /** Which vendor's wire it came on. */
  wire: "anthropic" | "openai";
  model: string;
  items: Item[];
  /** The agent's own tools that can be called directly. */
  ownTools: string[];
  /** Flightdeck's tools that the model knows of, by their bare names. */
  tools: string[];
}

/** What the model does next. */
export type Answer = { say: string } | { call: string; input: Record<string, unknown> };

/** A prompt of Flightdeck's, as the model sees it. */
export interface Prompt {
  id: string;
  task: string;
  /** The hidden context. */
  hidden: string;
  /** What a person or a peer said. */
  words: string;
  /** What the model has called since, each with its result. */
  done: { tool: string; input: Record<string, unknown>; result: string; failed: boolean }[];
}

const HEADER = /^prompt_id: (\S+)\ntask_id: (\S+)\n/;

/** The prompts of a conversation, oldest first: hidden context is a block of its own, and the words are what follows it. */
export function prompts(items: Item[]): Prompt[] {
  const found: (Prompt & { message: number })[] = [];
  for (const item of items) {
    const last = found.at(-1);
    if (item.kind === "words" && item.from === "user") {
      const header = HEADER.exec(item.text);
      if (header) {
        const [, id = "", task = ""] = header;
        found.push({ id, task, hidden: item.text, words: "", done: [], message: item.message });
      } else if (last?.message === item.message) {
        last.words += item.text;
      }
    } else if (item.kind === "call") {
      const result = items.find((other) => other.kind === "result" && other.id === item.id);
      last?.done.push({
        tool: item.tool,
        input: item.input,
        result: result?.kind === "result" ? result.text : "",
        failed: result?.kind === "result" && result.failed,
      });
    }
  }
  return found;
}

/** Whether it is the model's turn in a conversation of Flightdeck's: what came last holds a prompt or a result. */
export function awaitsAnswer(items: Item[]): boolean {
  const last = items.findLast((item) => item.kind !== "words" || item.from === "user");
  if (last?.kind === "result") return true;
  if (last?.kind !== "words") return false;
  // Agents add words of their own to a message.
  return items.some((item) => {
    const together = (item.kind === "words" || item.kind === "result") && item.message === last.message;
    return together && (item.kind === "result" || HEADER.test(item.text));
  });
}

/** Whether a bare name is one of Flightdeck's. */
export function ours(tool: string): boolean {
  return tool.endsWith(`_${SERVER}`);
}

/** The bare name of one of Flightdeck's tools, as agents prefix it; nothing for another tool. */
export function bare(name: string): string | undefined {
  return new RegExp(`^mcp__${SERVER}__(\\w+)$`).exec(name)?.[1];
}

/** The bare name of one of Flightdeck's tools, any other name as it is. */
export function bareOr(name: string): string {
  return bare(name) ?? name;
}

/** The name that agents give to one of Flightdeck's tools. */
export function prefixed(tool: string): string {
  return `mcp__${SERVER}__${tool}`;
}
