// The SDKs' clients and MCP Inspector against a real `flightdeck serve`.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { type TestContext, test } from "node:test";
import { Board, type Task, until } from "../support/board.ts";
import { Server } from "../support/server.ts";
import { type Client, type Data, type Door, LISTENERS, type Listener, inspector, missing } from "./clients.ts";
import { ends } from "./ends.ts";

/** The prompt is the demo agent's script. */
const SCRIPT = 'e2e:message("Done by the demo agent.")';

async function serve(t: TestContext): Promise<{ server: Server; end: ReturnType<typeof ends> }> {
  const end = ends(t);
  const server = await Server.start();
  end(() => server.dispose());
  return { server, end };
}

/** The whole cycle of the outside contract, through whatever client. */
async function runs(client: Client, script: string): Promise<void> {
  const tools = await client.list();
  assert.equal(tools[0], "run_task");
  assert.ok(tools.includes("check_task") && tools.includes("list_workspaces_kandev"), tools.join(", "));
  const { workspaces } = (await client.call("list_workspaces_kandev")) as { workspaces: Data[] };
  assert.equal(workspaces.length, 1);
  const started = await client.call("run_task", { task: script, agent: "demo-agent" });
  assert.equal(started.continuePolling, true);
  let answer = started;
  while (answer.continuePolling) {
    const { tool, args } = answer.nextAction as { tool: string; args: Data };
    answer = await client.call(tool, args);
  }
  assert.equal(answer.taskId, started.taskId);
  assert.equal(answer.status, "completed", JSON.stringify(answer));
  assert.equal(answer.summary, "Done by the demo agent.");
}

test("clients run a task", { concurrency: true }, async (t) => {
  const { server } = await serve(t);
  const door = (name: string): Door => ({ url: `${server.url}/mcp`, token: server.makeToken(name) });
  const kinds = Object.entries(LISTENERS).map(([name, { version, connect }]) =>
    t.test(name, { skip: missing(name) }, async (t) => {
      const client = await connect(door(name));
      t.after(() => client.close());
      assert.equal(client.version, version);
      await runs(client, SCRIPT);
    }),
  );
  const cli = t.test("MCP Inspector", async (t) => {
    const client = await inspector(door("Inspector"));
    t.after(() => client.close());
    await runs(client, SCRIPT);
  });
  await Promise.all([...kinds, cli]);
});

test("the Inspector finds every schema portable", async (t) => {
  const { server, end } = await serve(t);
  const client = await inspector({ url: `${server.url}/mcp`, token: server.makeToken("Inspector") });
  end(() => client.close());
  await client.lines(["--strict", "--method", "tools/list"]);
});

test("clients hear that their list changed", async (t) => {
  const { server, end } = await serve(t);
  const board = new Board(server.url);
  const note = path.join(server.dataDir, "note.json");
  const agent = await board.post<{ profiles: { id: string }[] }>("/agents", {
    name: "Notes",
    command: process.execPath,
    args: ["--experimental-transform-types", path.join(import.meta.dirname, "agent.ts"), note],
  });
  const task = await board.post<Task>("/tasks", {
    auto_title: true,
    description: "Wait.",
    agent_profile_id: agent.profiles[0]?.id,
  });
  const door = await until("the agent notes its tools", async () => {
    const text = await readFile(note, "utf8").catch(() => "");
    return text !== "" && (JSON.parse(text) as Door);
  });
  const listeners: [string, Listener][] = [];
  for (const [name, { connect }] of Object.entries(LISTENERS)) {
    if (missing(name)) continue;
    const client = await connect(door);
    end(() => client.close());
    assert.ok((await client.list()).includes("set_task_title_kandev"), name);
    listeners.push([name, client]);
  }
  // Its agent was to choose the title; now its operator has.
  await board.patch(`/tasks/${task.id}`, { title: "Chosen by the operator" });
  for (const [name, client] of listeners) {
    await t.test(name, { timeout: 30_000 }, async () => {
      const tools = await client.changed();
      assert.ok(!tools.includes("set_task_title_kandev"), tools.join(", "));
    });
  }
});
