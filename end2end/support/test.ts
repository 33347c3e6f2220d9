// The `test` of this suite: a server per worker, an API client, and no faults on any page.
import { test as base, expect } from "@playwright/test";
import { Api } from "./api.ts";
import { Faults } from "./faults.ts";
import { Server, type Start } from "./server.ts";

interface PerTest {
  api: Api;
  faults: Faults;
  /** Starts a server of the test's own. It is ended after the pages are closed: an open page complains about one that is gone. */
  start: (options?: Start) => Promise<Server>;
}

interface PerWorker {
  /** Shared by the tests of one worker: a test must not depend on an empty board. Start your own for that. */
  server: Server;
}

export const test = base.extend<PerTest, PerWorker>({
  server: [
    async ({}, use) => {
      const server = await Server.start();
      await use(server);
      await server.dispose();
    },
    { scope: "worker" },
  ],
  baseURL: async ({ server }, use) => {
    await use(server.url);
  },
  api: async ({ request, server }, use) => {
    await use(new Api(request, server.url));
  },
  start: async ({}, use) => {
    const started: Server[] = [];
    await use(async (options) => {
      const server = await Server.start(options);
      started.push(server);
      return server;
    });
    await Promise.all(started.map((server) => server.dispose()));
  },
  faults: [
    // Named first, `start` is taken down last.
    async ({ start: _, context }, use) => {
      const faults = await Faults.watch(context);
      await use(faults);
      expect(faults.list(), "what the pages complained about").toEqual([]);
    },
    { auto: true },
  ],
});

export { expect };
