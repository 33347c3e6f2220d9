// The board and the demo, from the button to the finished child.
import { expectAccessible, expectNoOverflow, hydrated } from "../support/checks.ts";
import { createTask, getTask, untilIdle, untilSaid } from "../support/story.ts";
import { expect, test } from "../support/test.ts";

test("an empty board offers the demo, and the demo plays to its end", async ({ page, start }) => {
  const server = await start();
  await page.goto(`${server.url}/`);
  await hydrated(page);
  await expectAccessible(page);
  const began = Date.now();
  await page.getByRole("button", { name: /try the demo/i }).click();
  const child = page.getByTestId("sidebar-task-item").filter({ hasText: "Choose where the notes are stored" });
  await expect(child).toBeVisible({ timeout: 30_000 });
  await expect(child.getByTestId("task-state-waiting-for-input")).toHaveCount(1, { timeout: 30_000 });
  await expect(child.getByTestId("task-state-turn-finished")).toHaveCount(1, { timeout: 45_000 });
  console.info(`the demo took ${((Date.now() - began) / 1000).toFixed(1)} s from button to finished child`);
  expect(Date.now() - began).toBeLessThan(60_000);
});

test("a full board is legible at every width, in both themes", async ({ page, api }) => {
  for (const title of ["Short", "W".repeat(60), "A title of the usual length that wraps once"]) {
    await createTask(api, { title, start_agent: false });
  }
  await page.goto("/");
  await hydrated(page);
  await expect(page.getByTestId("task-card-title").filter({ hasText: "Short" }).first()).toBeVisible();
  await expectNoOverflow(page);
  await expectAccessible(page);
});

test("a task page passes assistive technology and every width, while an agent asks and when it is done", async ({ page, api }) => {
  const task = await createTask(api, { title: "Ask me", description: "/ask-multiple" });
  await expect.poll(async () => (await getTask(api, task.id)).task_pending_action, { timeout: 60_000 }).toBe("clarification");
  await page.goto(`/tasks/${task.id}`);
  await hydrated(page);
  await expect(page.getByTestId("clarification-overlay")).toBeVisible();
  await expectAccessible(page);
  await expectNoOverflow(page);
  // Escape never rejects.
  await page.keyboard.press("Escape");
  expect((await getTask(api, task.id)).task_pending_action).toBe("clarification");
  await page.getByTestId("clarification-skip").click();
  await expect.poll(async () => (await getTask(api, task.id)).task_pending_action).toBeNull();
  await untilIdle(api, task.id);
  await expectAccessible(page);
});

test("a permission is answered on the page and reaches the agent", async ({ page, api }) => {
  const task = await createTask(api, { title: "May I", description: "/permission-flow" });
  await page.goto(`/tasks/${task.id}`);
  await hydrated(page);
  const allow = page.getByRole("button", { name: /allow/i }).first();
  await expect(allow).toBeVisible({ timeout: 30_000 });
  await allow.click();
  await expect(page.getByText(/The answer was/)).toBeVisible({ timeout: 30_000 });
});

test("what an agent says arrives without a reload, also after a lost connection", async ({ page, api, context, faults }) => {
  // Whatever is on its way when the connection goes says so.
  faults.allow(/ERR_INTERNET_DISCONNECTED|Failed to load resource|Failed to fetch/);
  const task = await createTask(api, { title: "Live", description: 'e2e:message("First words.")' });
  await page.goto(`/tasks/${task.id}`);
  await hydrated(page);
  await expect(page.getByText("First words.", { exact: true })).toBeVisible({ timeout: 30_000 });
  await context.setOffline(true);
  await untilIdle(api, task.id);
  await api.post(`/tasks/${task.id}/messages`, { content: 'e2e:message("Said meanwhile.")' });
  await untilSaid(api, task.id, "Said meanwhile.");
  await context.setOffline(false);
  await expect(page.getByText("Said meanwhile.", { exact: true })).toBeVisible({ timeout: 45_000 });
});
