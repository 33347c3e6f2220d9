// A coding agent without a mind: it writes down where the tools of its session are, and works until it is stopped.
import { writeFileSync } from "node:fs";
import { createInterface } from "node:readline";

interface Request {
  id?: number | string;
  method?: string;
  params?: { mcpServers?: { url: string; headers: { name: string; value: string }[] }[] };
}

const note = process.argv[2] as string;
let turn: Request["id"];

function answer(id: Request["id"], result: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, result })}\n`);
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line) as Request;
  switch (method) {
    case "initialize":
      answer(id, { protocolVersion: 1, agentCapabilities: { mcpCapabilities: { http: true } } });
      break;
    case "session/new": {
      const server = params?.mcpServers?.[0];
      const token = server?.headers.find(({ name }) => name.toLowerCase() === "authorization")?.value.split(" ")[1];
      writeFileSync(note, JSON.stringify({ url: server?.url, token }));
      answer(id, { sessionId: "one" });
      break;
    }
    case "session/prompt":
      turn = id;
      break;
    case "session/cancel":
      answer(turn, { stopReason: "cancelled" });
      break;
    default:
      if (id !== undefined) answer(id, {});
  }
}
