// graphile-worker and pg-boss for `cargo xtask bench jobs`: reads one request a line, answers each with one line.
//
//   {"queue": "graphile" | "graphile-batched" | "pg-boss", "do": "enqueue" | "fill" | "drain" | "pickup", "jobs": N, ...}
//   → {"ns": nanoseconds}, for a pickup {"called": [nanoseconds …], "accepted": [nanoseconds …]}, or {"error": "…"}

import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";

import { Logger, makeWorkerUtils, run } from "graphile-worker";
import pg from "pg";
import { PgBoss } from "pg-boss";

const connectionString = process.argv[2];
const logger = new Logger(() => () => {});
const CONCURRENCY = 16;
const pool = new pg.Pool({ connectionString, max: 2 * CONCURRENCY });
const now = () => Number(process.hrtime.bigint());

async function byProducers(jobs, producers, send) {
  const begun = now();
  await Promise.all(
    Array.from({ length: producers }, async () => {
      for (let n = 0; n < Math.floor(jobs / producers); n++) await send();
    }),
  );
  return { ns: now() - begun };
}

const utils = await makeWorkerUtils({ pgPool: pool, logger });
await utils.migrate();

function graphile(batched) {
  const worker = (task, events) =>
    run({
      pgPool: pool,
      logger,
      concurrency: CONCURRENCY,
      noHandleSignals: true,
      taskList: { bench: task },
      events,
      ...(batched && {
        preset: {
          worker: { localQueue: { size: 100 }, completeJobBatchDelay: 0, failJobBatchDelay: 0, concurrentJobs: CONCURRENCY },
        },
      }),
    });
  return {
    enqueue: ({ jobs, producers, text }) =>
      byProducers(jobs, producers, () => utils.addJob("bench", { text })),
    async fill({ jobs, text }) {
      for (let left = jobs; left > 0; left -= 1000) {
        const some = Array.from({ length: Math.min(left, 1000) }, () => ({ identifier: "bench", payload: { text } }));
        await utils.addJobs(some);
      }
      return { ns: 1 };
    },
    /// From the first job's start to the last one's end in the database.
    async drain({ jobs }) {
      let first = 0;
      let last = 0;
      let done = 0;
      const finished = Promise.withResolvers();
      const runner = await worker(() => {
        first ||= now();
      });
      runner.events.on("job:complete", () => {
        if (++done === jobs) {
          last = now();
          finished.resolve();
        }
      });
      await finished.promise;
      await runner.stop();
      return { ns: last - first };
    },
    async pickup({ jobs, text, pause: millis }) {
      let picked;
      const runner = await worker(() => {
        const at = now();
        picked.at = at;
      });
      let ended = () => {};
      runner.events.on("job:complete", () => ended());
      const called = [];
      const accepted = [];
      for (let n = 0; n < jobs; n++) {
        await pause(millis);
        const over = Promise.withResolvers();
        ended = over.resolve;
        picked = {};
        const begun = now();
        await utils.addJob("bench", { text });
        const answered = now();
        await over.promise;
        called.push(picked.at - begun);
        accepted.push(picked.at - answered);
      }
      await runner.stop();
      return { called, accepted };
    },
    clear: () => pool.query("truncate graphile_worker._private_jobs").then(() => ({ ns: 1 })),
  };
}

let started;
function boss() {
  started ??= (async () => {
    const boss = new PgBoss({ connectionString, max: CONCURRENCY, supervise: false, schedule: false });
    boss.on("error", () => {});
    await boss.start();
    await boss.createQueue("bench");
    return boss;
  })();
  return started;
}

const pgBoss = {
  enqueue: async ({ jobs, producers, text }) => {
    const queue = await boss();
    return byProducers(jobs, producers, () => queue.send("bench", { text }));
  },
  async fill({ jobs, text }) {
    const queue = await boss();
    for (let left = jobs; left > 0; left -= 1000) {
      await queue.insert("bench", Array.from({ length: Math.min(left, 1000) }, () => ({ data: { text } })));
    }
    return { ns: 1 };
  },
  async drain({ jobs }) {
    const queue = await boss();
    const begun = now();
    let left = jobs;
    await Promise.all(
      Array.from({ length: CONCURRENCY }, async () => {
        while (left-- > 0) {
          const [job] = await queue.fetch("bench");
          if (!job) throw new Error("pg-boss had no job");
          await queue.complete("bench", job.id);
        }
      }),
    );
    return { ns: now() - begun };
  },
  async clear() {
    const queue = await boss();
    await queue.deleteAllJobs("bench");
    return { ns: 1 };
  },
};

const queues = { graphile: graphile(false), "graphile-batched": graphile(true), "pg-boss": pgBoss };

for await (const line of createInterface({ input: process.stdin })) {
  let answer;
  try {
    const request = JSON.parse(line);
    answer = await queues[request.queue][request.do](request);
  } catch (error) {
    answer = { error: String(error?.stack ?? error) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
await utils.release();
if (started) await (await started).stop({ graceful: false });
await pool.end();
