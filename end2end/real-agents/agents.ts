// The two agents nobody here wrote, as an operator would add them, with models of our own behind them.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";

const here = import.meta.dirname;
const packages = path.join(here, "node_modules");
/** The Node of our own packages: what a machine has may be too old for these agents. */
const node = path.join(packages, "node/bin/node");

/** What `POST /api/v1/agents` takes. */
export interface CommandLine {
  name: string;
  command: string;
  args: string[];
  env: Record<string, string>;
}

export interface Surroundings {
  /** An empty folder for the agent's home. */
  home: string;
  /** The model's address. */
  model: string;
  /** Variables that keep it from the network. */
  offline: Record<string, string>;
}

async function adapter(name: string): Promise<string> {
  const folder = path.join(packages, name);
  const { bin } = JSON.parse(await readFile(path.join(folder, "package.json"), "utf8")) as { bin: Record<string, string> };
  const [program] = Object.values(bin);
  if (!program) throw new Error(`${name} has no program`);
  return path.join(folder, program);
}

export async function claude({ home, model, offline }: Surroundings): Promise<CommandLine> {
  await mkdir(home, { recursive: true });
  return {
    name: "Claude",
    command: node,
    args: [await adapter("@agentclientprotocol/claude-agent-acp")],
    env: {
      ...offline,
      HOME: home,
      ANTHROPIC_BASE_URL: model,
      ANTHROPIC_API_KEY: "not-a-key",
      MCP_TOOL_TIMEOUT: "7200000",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    },
  };
}

/** `modelName` decides how Codex shows MCP tools: those it does not know get them as functions. */
export async function codex({ home, model, offline }: Surroundings, modelName?: string): Promise<CommandLine> {
  const codexHome = path.join(home, ".codex");
  await mkdir(codexHome, { recursive: true });
  await writeFile(
    path.join(codexHome, "config.toml"),
    `${modelName ? `model = "${modelName}"\n` : ""}model_provider = "local"
check_for_update_on_startup = false

[model_providers.local]
name = "local"
base_url = "${model}/v1"
wire_api = "responses"
env_key = "LOCAL_MODEL_KEY"

# Its shops and news, which it looks up at every start.
[features]
plugins = false
apps = false

[analytics]
enabled = false

[otel]
exporter = "none"

# Flightdeck's own entry, with what only this file can say. Address and token come with the session.
[mcp_servers.kandev]
url = "http://127.0.0.1:9/mcp"
tool_timeout_sec = 7200
`,
  );
  return {
    name: "Codex",
    command: node,
    args: [await adapter("@agentclientprotocol/codex-acp")],
    env: {
      ...offline,
      HOME: home,
      CODEX_HOME: codexHome,
      LOCAL_MODEL_KEY: "not-a-key",
      // Otherwise an entry of the same name in the file would keep Flightdeck's out.
      DISABLE_MCP_CONFIG_FILTERING: "true",
      NO_BROWSER: "1",
    },
  };
}

/** Versions of what runs, for the record. */
export async function versions(): Promise<string> {
  const require = createRequire(import.meta.url);
  const named = ["@agentclientprotocol/claude-agent-acp", "@agentclientprotocol/codex-acp"].map(async (name) => {
    const file = path.join(packages, name, "package.json");
    const { version } = JSON.parse(await readFile(file, "utf8")) as { version: string };
    return `${name} ${version}`;
  });
  const { version: codexVersion } = require("@openai/codex/package.json") as { version: string };
  return [...(await Promise.all(named)), `Codex ${codexVersion}`, `Node ${process.version}`].join(", ");
}
