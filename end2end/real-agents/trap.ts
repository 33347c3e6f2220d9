// The way out, closed: agents are told that this is their proxy, so whatever they want from the outside is noted here.
import { type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";

export class Trap {
  /** Where agents wanted to go, as `host:port` or address. */
  readonly wanted: string[] = [];

  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async start(): Promise<Trap> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const trap = new Trap(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    server.on("connect", (request, socket) => {
      trap.wanted.push(request.url ?? "");
      socket.on("error", () => {});
      socket.end("HTTP/1.1 403 Forbidden\r\n\r\n");
    });
    server.on("request", (request, response) => {
      trap.wanted.push(request.url ?? "");
      response.writeHead(403).end();
    });
    return trap;
  }

  /** Variables that send a program's traffic here, except for what stays on this machine. */
  env(): Record<string, string> {
    const names = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];
    const env = Object.fromEntries(names.flatMap((name) => [name, name.toLowerCase()]).map((name) => [name, this.url]));
    return { ...env, NO_PROXY: "127.0.0.1,localhost", no_proxy: "127.0.0.1,localhost" };
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}
