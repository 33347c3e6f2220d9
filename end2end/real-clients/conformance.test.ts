// The public conformance suite against a real `flightdeck serve`, and against the suite's fixtures behind the same door. Each
// scenario is a test.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Server } from "../support/server.ts";
import { BOARD, type Expected, FIXTURES, TASKS } from "./expected.ts";
import { Proxy } from "./proxy.ts";
import { type Found, WIRES, run, runOne } from "./suite.ts";
import { translated } from "./tasks.ts";

const fixtures = process.env.FLIGHTDECK_FIXTURES;
if (!fixtures) throw new Error("FLIGHTDECK_FIXTURES is not set; run `cargo xtask test-clients`");

const servers = [
  { name: "board", start: {}, expected: BOARD },
  { name: "fixtures", start: { program: fixtures }, expected: FIXTURES },
];

for (const { name, start, expected } of servers) {
  // Both wires are asked for on one server, and the servers at once.
  test(name, { concurrency: true }, async (t) => {
    const server = await Server.start(start);
    t.after(() => server.dispose());
    const proxy = await Proxy.start(server.url, server.makeToken("conformance"));
    t.after(() => proxy.stop());
    await Promise.all(
      WIRES.map((wire) =>
        t.test(`${name}, ${wire}`, async (t) => {
          const results = await run(`${proxy.url}/mcp`, wire);
          const { fails, empty = [] } = expected[wire];
          const known = new Set([...Object.keys(fails).map((line) => line.split(":")[0]), ...empty]);
          const ran = new Set(results.map(({ scenario }) => scenario));
          assert.deepEqual([...known].filter((scenario) => !ran.has(scenario as string)), [], "known and not there");
          for (const result of results) {
            const { scenario } = result;
            if (scenario in fails) assert.notEqual(result.failed.size, 0, `${scenario} passes: take it out of the list`);
            else if (!empty.includes(scenario)) await t.test(scenario, () => judge(result, fails));
            else judge(result, fails);
          }
        }),
      ),
    );
  });
}

// The suite has tools of its own for tasks. Ours do what they do, so that it looks at our tasks.
test("native tasks", { concurrency: true }, async (t) => {
  const server = await Server.start({ args: ["--native-tasks", "auto"] });
  t.after(() => server.dispose());
  const proxy = await Proxy.start(server.url, server.makeToken("conformance"), translated);
  t.after(() => proxy.stop());
  await Promise.all(
    TASKS.scenarios.map((scenario) =>
      t.test(scenario, async () => judge(await runOne(`${proxy.url}/mcp`, scenario), TASKS.fails)),
    ),
  );
});

function judge({ scenario, failed }: Found, fails: Expected["fails"]): void {
  const known = Object.keys(fails).filter((line) => line.startsWith(`${scenario}:`));
  const unknown = [...failed].filter(([check]) => !known.includes(`${scenario}:${check}`));
  assert.deepEqual(unknown, [], "checks that failed");
  const passed = known.filter((line) => !failed.has(line.slice(scenario.length + 1)));
  assert.deepEqual(passed, [], "checks that pass now: take them out of the list");
}
