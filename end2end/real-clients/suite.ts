// The public conformance suite of MCP, against one server on one wire.
import { spawn } from "node:child_process";
import { mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

export const WIRES = ["2025-11-25", "2026-07-28"] as const;
export type Wire = (typeof WIRES)[number];

const suite = path.join(import.meta.dirname, "node_modules/@modelcontextprotocol/conformance");

/** What one scenario found. */
export interface Found {
  scenario: string;
  /** Checks that failed, with what the suite says of them. */
  failed: Map<string, string>;
}

interface Check {
  id: string;
  status: string;
  errorMessage?: string;
}

/** Runs everything that a revision requires, and what the suite reports beside it. */
export async function run(url: string, wire: Wire): Promise<Found[]> {
  const { found, output } = await results(["--url", url, "--requirements", wire]);
  const missing = (await required(wire)).filter((scenario) => !found.has(scenario));
  if (missing.length > 0) throw new Error(`the suite did not run ${missing.join(", ")}\n${output}`);
  return [...found.values()];
}

/** Runs one scenario. */
export async function runOne(url: string, scenario: string): Promise<Found> {
  const { found, output } = await results(["--url", url, "--scenario", scenario]);
  const only = found.get(scenario);
  if (!only) throw new Error(`the suite did not run ${scenario}\n${output}`);
  return only;
}

async function results(args: string[]): Promise<{ found: Map<string, Found>; output: string }> {
  const folder = await mkdtemp(path.join(tmpdir(), "flightdeck-conformance-"));
  try {
    const output = await started(["server", ...args, "-o", folder]);
    const found = new Map<string, Found>();
    for (const name of await readdir(folder)) {
      const scenario = /^server-(.+)-\d{4}-\d\d-\d\dT.*$/.exec(name)?.[1];
      if (!scenario) throw new Error(`the suite left something else than results: ${name}`);
      const checks = JSON.parse(await readFile(path.join(folder, name, "checks.json"), "utf8")) as Check[];
      const failed = checks.filter((check) => check.status === "FAILURE");
      found.set(scenario, {
        scenario,
        failed: new Map(failed.map((check) => [check.id, check.errorMessage ?? check.id])),
      });
    }
    return { found, output };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The scenarios of servers that a revision requires. */
async function required(wire: Wire): Promise<string[]> {
  const text = await readFile(path.join(suite, "requirements", `${wire}.yaml`), "utf8");
  const list = /^server:\n((?: {2}- .+\n)+)/m.exec(text)?.[1];
  if (!list) throw new Error(`the suite does not say what ${wire} requires`);
  return [...list.matchAll(/- (\S+)/g)].map((match) => match[1] as string);
}

/** How it ends says the same as the results, but for what we expect. */
function started(args: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [path.join(suite, "dist/index.js"), ...args], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    const output: string[] = [];
    child.stdout.setEncoding("utf8").on("data", (text: string) => output.push(text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => output.push(text));
    child.once("error", reject);
    child.once("close", () => resolve(output.join("")));
  });
}
