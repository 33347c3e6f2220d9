// The OpenAI Responses API, as far as Codex uses it.
//
// Codex shows MCP tools in one of three ways, depending on the model: as functions, as functions in a namespace, or, for
// its present models, not at all: those write JavaScript for a tool named exec, in which MCP tools are functions too and
// ALL_TOOLS names them. So such a model looks once, and then calls from a script.
import type { ServerResponse } from "node:http";
import { type Answer, type Item, type Request, SERVER, bare, bareOr, prefixed } from "./conversation.ts";

interface Tool {
  type: string;
  name?: string;
  tools?: Tool[];
}

interface InputItem {
  type?: string;
  role?: string;
  content?: string | { text?: string }[];
  call_id?: string;
  name?: string;
  namespace?: string;
  arguments?: string;
  input?: string;
  output?: string | { text?: string }[];
  tools?: Tool[];
}

export interface ResponsesBody {
  model: string;
  input: InputItem[];
  tools?: Tool[];
}

const NAMESPACE = `mcp__${SERVER}`;
const EXEC = "exec";
const LOOK = "text(ALL_TOOLS.map((tool) => tool.name).join(' '))";
const CALL = new RegExp(`^text\\(await tools\\.mcp__${SERVER}__(\\w+)\\((.*)\\)\\)$`, "s");

export function read(body: ResponsesBody): Request {
  const looks = new Set<string>();
  const seen: string[] = [];
  const items = body.input.flatMap((item, message): Item[] => {
    const id = item.call_id ?? "";
    switch (item.type ?? "message") {
      case "message": {
        const texts = typeof item.content === "string" ? [item.content] : (item.content ?? []).map((part) => part.text ?? "");
        return texts.map((text) =>
          item.role === "assistant"
            ? { kind: "said", text }
            : { kind: "words", from: item.role === "user" ? "user" : "system", message, text },
        );
      }
      case "function_call":
        return [{ kind: "call", id, tool: bareOr(item.name ?? ""), input: JSON.parse(item.arguments ?? "{}") }];
      case "custom_tool_call": {
        if (item.input === LOOK) {
          looks.add(id);
          return [];
        }
        const [, tool, argument] = CALL.exec(item.input ?? "") ?? [];
        return [{ kind: "call", id, tool: tool ?? item.name ?? "", input: argument ? JSON.parse(argument) : {} }];
      }
      case "function_call_output":
      case "custom_tool_call_output": {
        const output = text(item.output);
        if (looks.has(id)) seen.push(...output.split(/\s+/));
        return [{ kind: "result", message, id, text: output, failed: failed(output) }];
      }
      default:
        return [];
    }
  });
  const offered = tools(body);
  const own = offered.filter((tool) => tool.namespace !== NAMESPACE && !bare(tool.name)).map((tool) => tool.name);
  const ours = offered.filter((tool) => tool.namespace === NAMESPACE).map((tool) => tool.name);
  const known = [...offered.map((tool) => tool.name), ...seen].map(bare).filter((name) => name !== undefined);
  return { wire: "openai", model: body.model, items, ownTools: own, tools: [...new Set([...ours, ...known])] };
}

/** What is offered, in either place, with the namespace it is in. */
function tools(body: ResponsesBody): { name: string; namespace?: string }[] {
  const lists = [body.tools ?? [], ...body.input.map((item) => (item.type === "additional_tools" ? (item.tools ?? []) : []))];
  return lists.flat().flatMap((tool) => {
    if (tool.type !== "namespace") return [{ name: tool.name ?? tool.type }];
    return (tool.tools ?? []).map((inner) => ({ name: inner.name ?? "", namespace: tool.name ?? "" }));
  });
}

function text(output: string | { text?: string }[] | undefined): string {
  if (output === undefined || typeof output === "string") return output ?? "";
  return output.map((part) => part.text ?? "").join("\n");
}

/** Codex has no flag for a failed call: these are its words, and a script shows the result's own flag. */
function failed(output: string): boolean {
  return /tool call (error|failed)|approval review|rejected by user|Script failed|"isError":true/.test(output);
}

export function write(response: ServerResponse, body: ResponsesBody, request: Request, answer: Answer, id: string): void {
  const item = toItem(body, request, answer, id);
  const base = { id: `resp_${id}`, object: "response", model: body.model };
  response.writeHead(200, { "content-type": "text/event-stream" });
  const send = (type: string, data: object) => response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`);
  send("response.created", { response: { ...base, status: "in_progress", output: [] } });
  send("response.output_item.added", { output_index: 0, item });
  send("response.output_item.done", { output_index: 0, item });
  const usage = {
    input_tokens: 1,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 1,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 2,
  };
  send("response.completed", { response: { ...base, status: "completed", output: [item], usage } });
  response.end();
}

function toItem(body: ResponsesBody, request: Request, answer: Answer, id: string): object {
  if ("say" in answer) {
    const content = [{ type: "output_text", text: answer.say, annotations: [] }];
    return { type: "message", id: `msg_${id}`, role: "assistant", status: "completed", content };
  }
  const call = { call_id: `call_${id}`, status: "completed" };
  const offered = tools(body);
  const find = (name: string) => offered.find((tool) => tool.name === name);
  const direct = find(answer.call) ?? find(prefixed(answer.call));
  if (direct) {
    return { type: "function_call", id: `fc_${id}`, ...call, ...direct, arguments: JSON.stringify(answer.input) };
  }
  const exec = find(EXEC);
  if (!exec) {
    const names = offered.map((tool) => tool.name).join(", ");
    throw new Error(`Codex offers neither ${answer.call} nor ${EXEC}, but ${names}`);
  }
  const script = request.tools.includes(answer.call)
    ? `text(await tools.${prefixed(answer.call)}(${JSON.stringify(answer.input)}))`
    : LOOK;
  return { type: "custom_tool_call", id: `ctc_${id}`, ...call, ...exec, input: script };
}
