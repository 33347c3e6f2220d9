// Clients that others wrote, in one shape.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { type Interface, createInterface } from "node:readline";
import { Client as Newest, StreamableHTTPClientTransport as NewestTransport } from "@modelcontextprotocol/client";
import { Client as WithSessions } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as SessionsTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

/** Where a client is let in. */
export interface Door {
  url: string;
  token: string;
}

export type Data = Record<string, unknown>;

export interface Client {
  /** What it speaks with the server. */
  version: string;
  /** The names of the tools. */
  list(): Promise<string[]>;
  /** A call's structured result. One that is an error throws. */
  call(name: string, args?: Data): Promise<Data>;
  close(): Promise<void>;
}

/** A client that hears of changes. */
export interface Listener extends Client {
  /** The names of the tools once the server has said that they changed, at whatever time since the start. */
  changed(): Promise<string[]>;
}

/** How to start each of them. */
export const LISTENERS: Record<string, { version: string; connect: (door: Door) => Promise<Listener> }> = {
  "TypeScript SDK 1": { version: "2025-11-25", connect: typescript1 },
  "TypeScript SDK 2": { version: "2026-07-28", connect: typescript2 },
  "Python SDK with sessions": { version: "2025-11-25", connect: (door) => Python.start(door, "legacy") },
  "Python SDK": { version: "2026-07-28", connect: (door) => Python.start(door, "auto") },
};

/** Why a client cannot be had here; never on a build machine, which has everything. */
export function missing(name: string): string | false {
  const python = name.startsWith("Python") && !process.env.FLIGHTDECK_PYTHON;
  return python && "there is no Python that can make environments; on Debian: apt-get install python3 python3-venv";
}

const NAME = { name: "real-clients", version: "1" };

/** What both versions of the TypeScript SDK have in common. */
function changes(): { told: Promise<string[]>; options: { listChanged: { tools: { debounceMs: number; onChanged: Told } } } } {
  const { promise, resolve, reject } = Promise.withResolvers<string[]>();
  // It may fail before anybody waits for it.
  promise.catch(() => {});
  const onChanged: Told = (error, tools) => (error ? reject(error) : resolve((tools ?? []).map(({ name }) => name)));
  return { told: promise, options: { listChanged: { tools: { debounceMs: 0, onChanged } } } };
}
type Told = (error: Error | null, tools: { name: string }[] | null) => void;

const headers = (token: string) => ({ requestInit: { headers: { authorization: `Bearer ${token}` } } });

async function typescript1({ url, token }: Door): Promise<Listener> {
  const { told, options } = changes();
  const client = new WithSessions(NAME, options);
  const transport = new SessionsTransport(new URL(url), headers(token));
  // The SDK's own types disagree where optional properties are exact.
  await client.connect(transport as Parameters<typeof client.connect>[0]);
  return {
    version: transport.protocolVersion ?? "",
    list: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args = {}) => data(name, await client.callTool({ name, arguments: args })),
    changed: () => told,
    close: async () => {
      await transport.terminateSession();
      await client.close();
    },
  };
}

async function typescript2({ url, token }: Door): Promise<Listener> {
  const { told, options } = changes();
  const client = new Newest(NAME, { ...options, versionNegotiation: { mode: "auto" } });
  await client.connect(new NewestTransport(new URL(url), headers(token)));
  return {
    version: client.getNegotiatedProtocolVersion() ?? "",
    list: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args = {}) => data(name, await client.callTool({ name, arguments: args })),
    changed: () => told,
    close: () => client.close(),
  };
}

function data(name: string, result: Data): Data {
  if (result.isError) throw new Error(`${name}: ${JSON.stringify(result)}`);
  return result.structuredContent as Data;
}

/** Speaks with `client.py`. */
class Python implements Listener {
  version = "";
  private readonly lines: AsyncIterator<string>;

  private constructor(
    private readonly process: ChildProcess & { stdin: NodeJS.WritableStream },
    lines: Interface,
  ) {
    this.lines = lines[Symbol.asyncIterator]();
  }

  static async start({ url, token }: Door, mode: string): Promise<Python> {
    const program = process.env.FLIGHTDECK_PYTHON as string;
    const script = path.join(import.meta.dirname, "client.py");
    const child = spawn(program, [script, url, token, mode], { stdio: ["pipe", "pipe", "inherit"] });
    const python = new Python(child, createInterface({ input: child.stdout }));
    python.version = ((await python.answer()) as { version: string }).version;
    return python;
  }

  private async answer(): Promise<unknown> {
    const { value, done } = await this.lines.next();
    if (done) throw new Error("the Python client ended; what it said is above");
    return JSON.parse(value as string);
  }

  private ask(what: Data): Promise<unknown> {
    this.process.stdin.write(`${JSON.stringify(what)}\n`);
    return this.answer();
  }

  list(): Promise<string[]> {
    return this.ask({ op: "list" }) as Promise<string[]>;
  }

  async call(name: string, args: Data = {}): Promise<Data> {
    const { error, data } = (await this.ask({ op: "call", name, arguments: args })) as { error: boolean; data: Data };
    if (error) throw new Error(`${name}: ${JSON.stringify(data)}`);
    return data;
  }

  changed(): Promise<string[]> {
    return this.ask({ op: "changed" }) as Promise<string[]>;
  }

  async close(): Promise<void> {
    const ended = once(this.process, "exit");
    this.process.stdin.end();
    const [code] = (await ended) as [number | null];
    if (code !== 0) throw new Error(`the Python client ended with ${code}`);
  }
}

const INSPECTOR = path.join(
  import.meta.dirname,
  "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js",
);

/** The command line of MCP Inspector: a process for each question, in a home of its own. */
export async function inspector({ url, token }: Door): Promise<Client & { lines(args: string[]): Promise<string> }> {
  const home = await mkdtemp(path.join(tmpdir(), "flightdeck-inspector-"));
  const lines = (args: string[]) =>
    new Promise<string>((resolve, reject) => {
      const all = ["--cli", url, "--transport", "http", "--header", `Authorization: Bearer ${token}`, ...args];
      const child = spawn(process.execPath, [INSPECTOR, ...all], {
        env: { PATH: process.env.PATH, HOME: home },
        stdio: ["ignore", "pipe", "pipe"],
      });
      const [out, err]: [string[], string[]] = [[], []];
      child.stdout.setEncoding("utf8").on("data", (text: string) => out.push(text));
      child.stderr.setEncoding("utf8").on("data", (text: string) => err.push(text));
      child.once("error", reject);
      child.once("close", (code) => {
        if (code === 0) resolve(out.join(""));
        else reject(new Error(`the Inspector ended with ${code}: ${err.join("")}${out.join("")}`));
      });
    });
  const ask = async (args: string[]) => JSON.parse(await lines(args)) as Data;
  return {
    version: "",
    lines,
    list: async () => {
      const { tools } = (await ask(["--method", "tools/list"])) as { tools: { name: string }[] };
      return tools.map(({ name }) => name);
    },
    call: async (name, args = {}) => {
      const given = Object.entries(args).flatMap(([key, value]) => ["--tool-arg", `${key}=${String(value)}`]);
      return data(name, await ask(["--method", "tools/call", "--tool-name", name, ...given]));
    },
    close: () => rm(home, { recursive: true, force: true }),
  };
}
