// One Flightdeck with both agents and a model behind them, for one test.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { TestContext } from "node:test";
import { Server } from "../support/server.ts";
import { type CommandLine, type Surroundings, claude, codex } from "./agents.ts";
import { type Agent, Board, type Task, until } from "../support/board.ts";
import { Model, type Script, type Seen } from "./model/server.ts";
import { Trap } from "./trap.ts";

export interface Options {
  script: Script;
  /** The model that Codex is configured for; its own choice when left out. */
  codexModel?: string;
}

export class World {
  claude!: Agent;
  codex!: Agent;
  board: Board;

  private constructor(
    private readonly folder: string,
    private readonly env: Record<string, string>,
    readonly model: Model,
    readonly trap: Trap,
    private server: Server,
  ) {
    this.board = new Board(server.url);
  }

  /** Starts one that is gone after the test. */
  static async start(test: TestContext, { script, codexModel }: Options): Promise<World> {
    forgetEnvironment();
    const folder = await mkdtemp(path.join(tmpdir(), "flightdeck-agents-"));
    const model = await Model.start(script);
    test.after(() => model.stop());
    const trap = await Trap.start();
    test.after(() => trap.stop());
    const env = { HOME: path.join(folder, "home") };
    const server = await Server.start({ dataDir: path.join(folder, "data"), env });
    const world = new World(folder, env, model, trap, server);
    test.after(() => world.end());
    const surroundings = (name: string): Surroundings => ({
      home: path.join(folder, name),
      model: model.url,
      offline: trap.env(),
    });
    const add = async (agent: Promise<CommandLine>) => world.board.post<Agent>("/agents", named(await agent));
    world.claude = await add(claude(surroundings("claude")));
    world.codex = await add(codex(surroundings("codex"), codexModel));
    return world;
  }

  private async end(): Promise<void> {
    await this.server.stop();
    await rm(this.folder, { recursive: true, force: true });
  }

  /** Ends the server and starts another with the same data. */
  async restart(): Promise<void> {
    await this.server.stop();
    this.server = await Server.start({ dataDir: path.join(this.folder, "data"), env: this.env });
    this.board = new Board(this.server.url);
  }

  /** Makes a task that starts at once. */
  delegate(profile: string, prompt: string): Promise<Task> {
    return this.board.post("/tasks", { title: "Real agents", description: prompt, agent_profile_id: profile });
  }

  /** Waits until a task's session rests with nothing left to do. */
  settled(task: string): Promise<Task> {
    return this.until(`task ${task} settles`, async () => {
      const now = await this.board.task(task);
      const rests = now.state === "REVIEW" && now.primary_session_state === "WAITING_FOR_INPUT";
      return rests && now.queued_prompt_count === 0 && now.task_pending_action === null && now;
    });
  }

  private async failures(): Promise<string[]> {
    const { workspaces } = await this.board.get<{ workspaces: { id: string }[] }>("/workspaces");
    const lists = workspaces.map(({ id }) => this.board.get<{ tasks: Task[] }>(`/workspaces/${id}/tasks`));
    const tasks = (await Promise.all(lists)).flatMap((list) => list.tasks);
    const failed = tasks.filter((task) => task.primary_session_state === "FAILED");
    return failed.map((task) => `task ${task.id} failed: ${task.error_message}`);
  }

  /** Waits for a condition, and gives up at once when an agent has failed or the model was led astray. */
  async until<T>(what: string, ask: () => Promise<T | undefined | false>): Promise<T> {
    try {
      return await until(what, ask, async () => {
        const problems = [...this.model.problems, ...(await this.failures())];
        if (problems.length > 0) throw new Error(`${what}: ${problems.join("\n")}`);
      });
    } catch (error) {
      const seen = this.model.seen.map(shown).join("\n");
      const aside = this.model.aside.map((request) => JSON.stringify(request)).join("\n");
      const parts = [String(error), "what the models saw:", seen, "beside that:", aside, "the server's log:", this.server.log()];
      throw new Error(parts.join("\n"), { cause: error });
    }
  }
}

/** The server hands its environment on to agents: nothing of the operator who runs these tests may reach them. */
function forgetEnvironment(): void {
  const kept = ["PATH", "LANG", "TMPDIR", "RUST_LOG", "FLIGHTDECK_BIN"];
  for (const name of Object.keys(process.env).filter((name) => !kept.includes(name))) delete process.env[name];
}

/** Agents found on this machine's PATH may have these names already. */
function named(agent: CommandLine): CommandLine {
  return { ...agent, name: `${agent.name} under test` };
}

function shown(seen: Seen): string {
  const prompt = seen.prompts.at(-1);
  const calls = prompt?.done.map((call) => `${call.tool} → ${call.result.slice(0, 300)}`) ?? [];
  return [`${seen.wire} ${seen.model}, task ${prompt?.task}: ${prompt?.words.slice(0, 200)}`, ...calls].join("\n    ");
}
