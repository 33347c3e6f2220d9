// What a test has to put away, the last thing first: a client before its server.
import type { TestContext } from "node:test";

/** Gives what takes note of things to end; they are ended after the test, also when one of them fails. */
export function ends(t: TestContext): (end: () => Promise<void>) => void {
  const all: (() => Promise<void>)[] = [];
  t.after(async () => {
    const failed: unknown[] = [];
    for (const end of all.reverse()) await end().catch((error: unknown) => failed.push(error));
    if (failed.length > 0) throw new AggregateError(failed, "something did not end well");
  });
  return (end) => all.push(end);
}
