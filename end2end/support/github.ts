// GitHub on loopback, as far as Flightdeck asks: one user, and the pull requests that a test puts there.
import { type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface Pull {
  title: string;
  /** `clean`, `dirty`, `unstable` … */
  mergeable: string;
  state?: "open" | "merged";
  /** How its one check ended. */
  check: "success" | "failure";
}

const TOKEN = "token-of-the-test";

export class Github {
  private readonly pulls = new Map<string, Pull>();

  private constructor(
    private readonly server: Server,
    /** Where it listens, without a slash at the end. */
    readonly url: string,
  ) {}

  static async start(): Promise<Github> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const github = new Github(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    server.on("request", (request, response) => {
      const known = request.headers.authorization === `Bearer ${TOKEN}`;
      const body = known ? github.answer(request.url ?? "/") : undefined;
      response.writeHead(known ? (body ? 200 : 404) : 401, { "content-type": "application/json" });
      response.end(JSON.stringify(body ?? { message: known ? "Not Found" : "Bad credentials" }));
    });
    return github;
  }

  /** What a server is started with to ask this one, and nobody else. */
  env(): Record<string, string> {
    return { GITHUB_API_BASE: this.url, GITHUB_TOKEN: TOKEN, GITLAB_TOKEN: "" };
  }

  /** From now on this is `number` of `repository`. */
  show(repository: string, number: number, pull: Pull): void {
    this.pulls.set(`/repos/${repository}/pulls/${number}`, pull);
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private answer(address: string): unknown {
    const path = address.split("?")[0] ?? "";
    if (path === "/user") return { login: "me", id: 2 };
    const pull = this.pulls.get(path);
    if (pull) return shown(path, pull);
    const commit = /\/commits\/([^/]+)\/(check-runs|status)$/.exec(path);
    if (commit?.[2] === "status") return { state: "success", statuses: [] };
    const of = [...this.pulls].find(([known]) => commit?.[1] === head(known))?.[1];
    if (of) {
      const run = { id: 1, name: "build", head_sha: commit?.[1], html_url: "https://github.example/runs/1", status: "completed", conclusion: of.check };
      return { total_count: 1, check_runs: [run] };
    }
    return /\/(reviews|comments)$/.test(path) ? [] : undefined;
  }
}

/** The newest commit of the request at this path. */
const head = (path: string): string => `head-${path.split("/").at(-1)}`;

function shown(path: string, pull: Pull): unknown {
  const [, , owner, name, , number] = path.split("/");
  const merged = pull.state === "merged";
  return {
    id: 1,
    number: Number(number),
    state: merged ? "closed" : "open",
    merged,
    draft: false,
    title: pull.title,
    html_url: `https://github.example/${owner}/${name}/pull/${number}`,
    head: { ref: "lock", sha: head(path) },
    base: { ref: "main", sha: "0" },
    mergeable: pull.mergeable === "clean",
    mergeable_state: pull.mergeable,
    requested_reviewers: [],
  };
}
