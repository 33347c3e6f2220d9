// Adds a bearer token to whatever passes, for a client that cannot send one. Everything else stays as it is, Host and Origin
// too, and answers go on as they come. Where it is told to, it says what is asked in other words.
import http, { type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** A request in other words. */
export type Translate = (headers: IncomingHttpHeaders, body: string) => { headers: IncomingHttpHeaders; body: string };

export class Proxy {
  private constructor(
    /** Where it listens, without a slash at the end. */
    readonly url: string,
    private readonly server: http.Server,
  ) {}

  static async start(target: string, token: string, translate?: Translate): Promise<Proxy> {
    const { hostname, port } = new URL(target);
    const server = http.createServer(async (request, response) => {
      let headers: IncomingHttpHeaders = { ...request.headers, authorization: `Bearer ${token}` };
      let body: string | undefined;
      if (translate && request.method === "POST") {
        ({ headers, body } = translate(headers, await text(request)));
        headers["content-length"] = String(Buffer.byteLength(body));
        delete headers["transfer-encoding"];
      }
      const passed = http.request({ hostname, port, path: request.url, method: request.method, headers, agent: false });
      passed.once("response", (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        // A stream that says nothing yet has begun all the same.
        response.flushHeaders();
        answer.pipe(response);
      });
      passed.once("error", () => response.destroy());
      response.once("close", () => passed.destroy());
      if (body === undefined) request.pipe(passed);
      else passed.end(body);
    });
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    const { port: own } = server.address() as AddressInfo;
    return new Proxy(`http://127.0.0.1:${own}`, server);
  }

  async stop(): Promise<void> {
    await new Promise((closed) => {
      this.server.close(closed);
      this.server.closeAllConnections();
    });
  }
}
