// The Anthropic Messages API, as far as Claude Code uses it.
//
// Claude Code keeps the schemas of MCP tools back: their names stand in a message, and a tool of its own, ToolSearch,
// loads them. So the first call of a tool is preceded by a search for it.
import type { ServerResponse } from "node:http";
import { type Answer, type Item, type Request, bare, bareOr, ours, prefixed } from "./conversation.ts";

interface Block {
  type: string;
  text?: string;
  id?: string;
  name?: string;
  input?: Record<string, unknown>;
  tool_use_id?: string;
  content?: string | Block[];
  is_error?: boolean;
  tool_name?: string;
}

export interface MessagesBody {
  model: string;
  stream?: boolean;
  messages: { role: "user" | "assistant" | "system"; content: string | Block[] }[];
  tools?: { name: string }[];
}

const SEARCH = "ToolSearch";
const DEFERRED = "deferred tools are now available";

export function read(body: MessagesBody): Request {
  const items = body.messages.flatMap(({ role, content }, message) => {
    const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
    return blocks.flatMap((block): Item[] => {
      switch (block.type) {
        case "text": {
          const text = block.text ?? "";
          return [role === "assistant" ? { kind: "said", text } : { kind: "words", from: role, message, text }];
        }
        case "tool_use":
          // A search is how the tool is reached, not something done.
          if (block.name === SEARCH) return [];
          return [{ kind: "call", id: block.id ?? "", tool: bareOr(block.name ?? ""), input: block.input ?? {} }];
        case "tool_result":
          return [
            { kind: "result", message, id: block.tool_use_id ?? "", text: text(block.content), failed: block.is_error === true },
          ];
        default:
          return [];
      }
    });
  });
  const offered = (body.tools ?? []).map((tool) => tool.name);
  const announced = items
    .filter((item) => item.kind === "words" && item.text.includes(DEFERRED))
    .flatMap((item) => (item.kind === "words" ? item.text.split(/\s+/) : []));
  const tools = new Set([...offered, ...announced].map(bare).filter((name) => name !== undefined));
  return { wire: "anthropic", model: body.model, items, ownTools: offered.filter((name) => !bare(name)), tools: [...tools] };
}

function text(content: string | Block[] | undefined): string {
  if (content === undefined || typeof content === "string") return content ?? "";
  return content.map((block) => block.text ?? "").join("\n");
}

export function write(response: ServerResponse, body: MessagesBody, answer: Answer, id: string): void {
  const block = toBlock(body, answer, id);
  const stop_reason = block.type === "tool_use" ? "tool_use" : "end_turn";
  const usage = { input_tokens: 1, output_tokens: 1, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
  const message = { id: `msg_${id}`, type: "message", role: "assistant", model: body.model, stop_sequence: null, usage };
  if (!body.stream) {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ ...message, content: [block], stop_reason }));
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  const send = (type: string, data: object) => response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`);
  send("message_start", { message: { ...message, content: [], stop_reason: null } });
  if (block.type === "tool_use") {
    send("content_block_start", { index: 0, content_block: { ...block, input: {} } });
    send("content_block_delta", { index: 0, delta: { type: "input_json_delta", partial_json: JSON.stringify(block.input) } });
  } else {
    send("content_block_start", { index: 0, content_block: { type: "text", text: "" } });
    send("content_block_delta", { index: 0, delta: { type: "text_delta", text: block.text } });
  }
  send("content_block_stop", { index: 0 });
  send("message_delta", { delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 1 } });
  send("message_stop", {});
  response.end();
}

function toBlock(body: MessagesBody, answer: Answer, id: string): Block {
  if ("say" in answer) return { type: "text", text: answer.say };
  const use = (name: string, input: Record<string, unknown>) => ({ type: "tool_use", id: `toolu_${id}`, name, input });
  if (!ours(answer.call)) return use(answer.call, answer.input);
  const name = prefixed(answer.call);
  const loaded = (body.tools ?? []).some((tool) => tool.name === name);
  return loaded ? use(name, answer.input) : use(SEARCH, { query: `select:${name}`, max_results: 5 });
}
