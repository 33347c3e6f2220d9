// A Flightdeck of one's own: a free port, an empty data folder, gone afterwards.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";

const project = path.resolve(import.meta.dirname, "../..");
const START_LIMIT_MS = 30_000;
const STOP_LIMIT_MS = 15_000;

/** The program under test. */
function binary(): string {
  const found = process.env.FLIGHTDECK_BIN ?? path.join(project, "target/debug/flightdeck");
  if (!existsSync(found)) throw new Error(`${found} is missing; run \`cargo xtask e2e\``);
  return found;
}

export interface Start {
  /** Where it continues; without one it begins in an empty folder of its own. */
  dataDir?: string;
  args?: string[];
  env?: Record<string, string>;
  /** Another program than the server's own, which is given its data folder alone. */
  program?: string;
}

export class Server {
  private endedOnPurpose = false;

  private constructor(
    /** Where it listens, without a slash at the end. */
    readonly url: string,
    readonly dataDir: string,
    private readonly process: ChildProcess,
    private readonly output: string[],
  ) {}

  /** Starts one. Several can run at once, also one after another in the same folder. */
  static async start(options: Start = {}): Promise<Server> {
    const dataDir = options.dataDir ?? (await mkdtemp(path.join(tmpdir(), "flightdeck-e2e-")));
    const serve = ["serve", "--addr", "127.0.0.1:0", "--data-dir", dataDir, ...(options.args ?? [])];
    const [program, args] = options.program ? [options.program, [dataDir]] : [binary(), serve];
    const child = spawn(program, args, {
      cwd: project,
      env: { ...process.env, ...options.env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const output: string[] = [];
    const url = await new Promise<string>((resolve, reject) => {
      const fail = (why: string) => {
        clearTimeout(timer);
        child.kill("SIGKILL");
        reject(new Error(`the server ${why}\n${output.join("\n")}`));
      };
      const timer = setTimeout(() => fail(`did not listen within ${START_LIMIT_MS} ms`), START_LIMIT_MS);
      child.once("error", (error) => fail(`could not be started: ${error.message}`));
      child.once("exit", (code, signal) => fail(`ended with ${signal ?? code} before it listened`));
      const read = (line: string) => {
        output.push(line);
        if (output.length > 500) output.shift();
        const found = /listening on (http:\/\/\S+)/.exec(line)?.[1];
        if (found) {
          clearTimeout(timer);
          resolve(found.replace(/\/$/, ""));
        }
      };
      // Both are read to the end, so that a full pipe never stops the server.
      createInterface({ input: child.stdout }).on("line", read);
      createInterface({ input: child.stderr }).on("line", read);
    });
    return new Server(url, dataDir, child, output);
  }

  /** Makes an operator's account, beside the running server. */
  makeOperator(name: string, password: string): void {
    const made = spawnSync(binary(), ["operator", "create", "--name", name, "--data-dir", this.dataDir], {
      cwd: project,
      input: `${password}\n`,
      encoding: "utf8",
    });
    if (made.status !== 0) throw new Error(`the account was not made: ${made.stderr}`);
  }

  /** Makes an access token of an outside client, beside the running server. */
  makeToken(name: string): string {
    const made = spawnSync(binary(), ["token", "create", "--name", name, "--data-dir", this.dataDir], {
      cwd: project,
      encoding: "utf8",
    });
    const token = made.stdout.trim().split("\n").at(-1);
    if (made.status !== 0 || !token) throw new Error(`the token was not made: ${made.stderr}`);
    return token;
  }

  /** The last lines it printed. */
  log(): string {
    return this.output.join("\n");
  }

  /** Ends it as an operator would; fails when it is gone already or does not end. Keeps its data. */
  async stop(): Promise<void> {
    if (this.ended()) throw new Error(`the server was gone before its time\n${this.log()}`);
    await this.end("SIGTERM");
  }

  /** Ends it as a power cut would. */
  async kill(): Promise<void> {
    await this.end("SIGKILL");
  }

  /** Stops it, where the test has not, and removes its data. */
  async dispose(): Promise<void> {
    try {
      if (!this.endedOnPurpose) await this.stop();
    } finally {
      await rm(this.dataDir, { recursive: true, force: true });
    }
  }

  private ended(): boolean {
    return this.process.exitCode !== null || this.process.signalCode !== null;
  }

  private async end(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    this.endedOnPurpose = true;
    if (this.ended()) return;
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.process.kill("SIGKILL");
        reject(new Error(`the server did not end within ${STOP_LIMIT_MS} ms of ${signal}\n${this.log()}`));
      }, STOP_LIMIT_MS);
      this.process.once("exit", () => {
        clearTimeout(timer);
        resolve();
      });
      this.process.kill(signal);
    });
  }
}
