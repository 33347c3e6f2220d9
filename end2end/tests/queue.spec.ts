// The queue as an operator steers it: see, order, edit, merge, hold, send, take back; by keyboard, on a phone, and for peers' words.
import type { Page } from "@playwright/test";
import type { Api } from "../support/api.ts";
import { expectAccessible, expectNoOverflow, hydrated } from "../support/checks.ts";
import { createTask, getTask, messages, type Task, untilIdle } from "../support/story.ts";
import { expect, test } from "../support/test.ts";

interface Queue {
  entries: { id: string; content: string }[];
  count: number;
  auto_run: boolean;
}

/** Its agent works until it is cancelled, and answers whatever it is told afterwards. */
async function busyTask(api: Api, title: string): Promise<Task & { session: string }> {
  const task = await createTask(api, { title, description: "e2e:delay(600000)" });
  await expect.poll(async () => (await getTask(api, task.id)).primary_session_state, { timeout: 60_000 }).toBe("RUNNING");
  const session = (await getTask(api, task.id)).primary_session_id;
  if (!session) throw new Error("a running task has a session");
  return { ...task, session };
}

const queue = (api: Api, session: string) => api.get<Queue>(`/task-sessions/${session}/queue`);
const contents = async (api: Api, session: string) => (await queue(api, session)).entries.map((entry) => entry.content);

async function say(api: Api, session: string, ...texts: string[]): Promise<void> {
  for (const content of texts) await api.post(`/task-sessions/${session}/messages`, { content });
}

async function openPanel(page: Page, task: Task): Promise<void> {
  await page.goto(`/tasks/${task.id}`);
  await hydrated(page);
  await page.getByTestId("queue-chip").click();
  await expect(page.getByTestId("queue-panel")).toBeVisible();
}

const entry = (page: Page, text: string) => page.getByTestId("queue-entry").filter({ hasText: text });

test("what waits is put in order, edited and merged", async ({ page, api }) => {
  const task = await busyTask(api, "Orderly queue");
  await say(api, task.session, "first thing", "second thing", "third thing");
  await openPanel(page, task);
  await expect(page.getByTestId("queue-entry")).toHaveCount(3);
  await expectAccessible(page);
  await expectNoOverflow(page);

  // The handle takes the arrow keys, and keeps the focus where the entry went.
  const handle = entry(page, "third thing").getByTestId("queue-grab-handle");
  await handle.focus();
  await page.keyboard.press("ArrowUp");
  await expect(page.getByTestId("queue-entry").nth(1)).toContainText("third thing");
  await expect(handle).toBeFocused();
  await page.keyboard.press("Home");
  await expect.poll(() => contents(api, task.session)).toEqual(["third thing", "first thing", "second thing"]);

  await entry(page, "first thing").getByTestId("queue-entry-edit").click();
  const words = page.getByTestId("queue-entry-words");
  await expect(words).toBeFocused();
  await words.fill("the very first thing");
  await page.getByTestId("queue-entry-save").click();
  await expect(words).toHaveCount(0);
  await expect.poll(() => contents(api, task.session)).toContain("the very first thing");

  await entry(page, "second thing").getByTestId("queue-entry-merge").click();
  await expect(page.getByTestId("queue-entry")).toHaveCount(2);
  expect(await contents(api, task.session)).toEqual(["third thing", "the very first thing\n\nsecond thing"]);

});

test("what is taken back can be put back, and taking back all is asked first", async ({ page, api }) => {
  const task = await busyTask(api, "Taken back");
  await say(api, task.session, "third thing", "the very first thing");
  await openPanel(page, task);
  // One's own words are taken back at once, and can be put back to their place.
  await entry(page, "third thing").getByTestId("queue-entry-remove").click();
  await expect(page.getByTestId("queue-entry")).toHaveCount(1);
  await page.getByRole("button", { name: "Undo" }).click();
  await expect.poll(() => contents(api, task.session)).toEqual(["third thing", "the very first thing"]);

  // All of it is asked back.
  await page.getByTestId("queue-clear-all").click();
  await page.getByTestId("queue-confirm-no").click();
  expect((await queue(api, task.session)).count).toBe(2);
  await page.getByTestId("queue-clear-all").click();
  await expectAccessible(page);
  await page.getByTestId("queue-confirm-yes").click();
  await expect(page.getByTestId("queue-empty")).toBeVisible();
  await expect.poll(async () => (await queue(api, task.session)).count).toBe(0);
});

test("a held queue waits, and a message that is sent now goes before all others", async ({ page, api }) => {
  const task = await busyTask(api, "Held queue");
  await say(api, task.session, "alpha", "beta");
  await openPanel(page, task);
  const auto = page.getByTestId("queue-auto-run");
  await expect(auto).toHaveAttribute("aria-checked", "true");
  await auto.focus();
  await page.keyboard.press("Space");
  await expect(auto).toHaveAttribute("aria-checked", "false");
  await expect(page.getByTestId("queue-panel").getByText("Nothing is delivered", { exact: false })).toBeVisible();
  await expect.poll(async () => (await queue(api, task.session)).auto_run).toBe(false);

  await entry(page, "beta").getByTestId("queue-entry-send-now").click();
  await expect
    .poll(async () => (await messages(api, task.id)).filter((m) => m.author_type === "user").map((m) => m.content), { timeout: 30_000 })
    .toEqual(["e2e:delay(600000)", "beta", "alpha"]);
  await expect(auto).toHaveAttribute("aria-checked", "true");
  await untilIdle(api, task.id);
});

test("a cancelled turn holds what waits, and the page says so with a way on", async ({ page, api }) => {
  const task = await busyTask(api, "Cancelled turn");
  await say(api, task.session, "waits its turn");
  await page.goto(`/tasks/${task.id}`);
  await hydrated(page);
  await page.getByTestId("chat-cancel").click();
  await expect(page.getByTestId("queue-release")).toBeVisible();
  await untilIdle(api, task.id);
  expect(await contents(api, task.session)).toEqual(["waits its turn"]);
  await page.getByTestId("queue-release").click();
  await expect
    .poll(async () => (await messages(api, task.id)).filter((m) => m.author_type === "user").map((m) => m.content), { timeout: 30_000 })
    .toContain("waits its turn");
  await expect(page.getByTestId("queue-release")).toHaveCount(0);
});

test("a peer's message names its sender, cannot be edited, and is taken back only after a question", async ({ page, api }) => {
  const task = await busyTask(api, "Popular");
  const call = JSON.stringify({ task_id: task.id, prompt: "From your neighbour." });
  const sender = await createTask(api, { title: "The neighbour", description: `e2e:mcp:kandev:message_task_kandev(${call})` });
  await expect.poll(() => contents(api, task.session), { timeout: 60_000 }).toEqual(["From your neighbour."]);
  await openPanel(page, task);
  const peer = entry(page, "From your neighbour.");
  await expect(peer.getByTestId("queue-peer-badge")).toContainText("The neighbour");
  await expect(peer.getByTestId("queue-peer-badge")).toHaveAttribute("href", new RegExp(sender.id));
  await expect(peer.getByTestId("queue-entry-edit")).toHaveCount(0);
  await peer.getByTestId("queue-entry-remove").click();
  await page.keyboard.press("Escape");
  expect((await queue(api, task.session)).count).toBe(1);
  await peer.getByTestId("queue-entry-remove").click();
  await page.getByTestId("queue-confirm-yes").click();
  await expect.poll(async () => (await queue(api, task.session)).count).toBe(0);
});

test("words that are being edited outlive the delivery of their message", async ({ page, api }) => {
  const task = await busyTask(api, "Late edit");
  await say(api, task.session, "about to go");
  await openPanel(page, task);
  await entry(page, "about to go").getByTestId("queue-entry-edit").click();
  await page.getByTestId("queue-entry-words").fill("too late, but not lost");
  await api.post(`/queue/${(await queue(api, task.session)).entries[0]?.id}/send-now`);
  await expect(page.getByTestId("chat-input")).toHaveValue("too late, but not lost", { timeout: 30_000 });
});

test.describe("on a phone", () => {
  test.use({ viewport: { width: 320, height: 700 }, hasTouch: true, isMobile: true });

  test("the queue can be steered by thumb, and nothing scrolls sideways", async ({ page, api }) => {
    const task = await busyTask(api, "Pocket queue");
    await say(api, task.session, "W".repeat(200), "short");
    await page.goto(`/tasks/${task.id}`);
    await hydrated(page);
    await page.getByTestId("queue-chip").tap();
    await expect(page.getByTestId("queue-entry")).toHaveCount(2);
    await expectNoOverflow(page, [320, 360, 390]);
    await expectAccessible(page);
    for (const id of ["queue-grab-handle", "queue-entry-send-now", "queue-entry-edit", "queue-entry-merge", "queue-entry-remove"]) {
      const box = await entry(page, "short").getByTestId(id).boundingBox();
      expect(Math.min(box?.width ?? 0, box?.height ?? 0), `${id} is too small for a thumb`).toBeGreaterThanOrEqual(44);
    }
    await entry(page, "short").getByTestId("queue-entry-merge").tap();
    await expect(page.getByTestId("queue-entry")).toHaveCount(1);
  });
});
