// A task's plan: written in the browser, written by its agent, and what happens when both do.
import { expectAccessible, expectNoOverflow, hydrated } from "../support/checks.ts";
import { createTask, type Task, untilIdle } from "../support/story.ts";
import { expect, test } from "../support/test.ts";
import type { Api } from "../support/api.ts";
import type { Page } from "@playwright/test";

interface Plan {
  content: string;
  version: string;
}

const getPlan = (api: Api, task: Task): Promise<Plan> => api.get<Plan>(`/tasks/${task.id}/plan`);

/** Somebody else saves the plan. */
async function saveElsewhere(api: Api, task: Task, content: string): Promise<void> {
  const { version } = await getPlan(api, task);
  await api.post(`/tasks/${task.id}/plan`, { content, expected_version: version });
}

async function openPlan(page: Page, task: Task): Promise<void> {
  await page.goto(`/tasks/${task.id}`);
  await hydrated(page);
  if (!(await page.getByTestId("plan-panel").isVisible())) await page.getByTestId("plan-toggle").click();
  await expect(page.getByTestId("plan-panel")).toBeVisible();
}

test("a plan is begun in the browser, saves itself, and is there after a reload", async ({ page, api }) => {
  const task = await createTask(api, { title: "Plan me", start_agent: false });
  await openPlan(page, task);
  const panel = page.getByTestId("plan-panel");
  await expect(panel.getByText(/A plan says what will be done/)).toBeVisible();
  await page.getByTestId("plan-begin").click();
  await panel.getByLabel("The plan's text").fill("# First\n\n- one\n- two");
  await expect(page.getByTestId("plan-status")).toHaveText("Not saved yet");
  await expect(page.getByTestId("plan-status")).toHaveText("Saved");
  expect((await getPlan(api, task)).content).toBe("# First\n\n- one\n- two");
  await page.reload();
  await expect(page.getByTestId("plan-text").getByRole("heading", { name: "First" })).toBeVisible();
  await hydrated(page);
  await expectAccessible(page);
  await expectNoOverflow(page);
});

test("what was typed just before the tab is closed is saved", async ({ page, context, api }) => {
  const task = await createTask(api, { title: "Close me", start_agent: false });
  await api.post(`/tasks/${task.id}/plan`, { content: "One." });
  const tab = await context.newPage();
  await openPlan(tab, task);
  await tab.getByTestId("plan-edit").click();
  await tab.getByTestId("plan-input").fill("One. And the last words.");
  await expect(tab.getByTestId("plan-status")).toHaveText("Not saved yet");
  await tab.close({ runBeforeUnload: true });
  await expect.poll(async () => (await getPlan(api, task)).content).toBe("One. And the last words.");
  // A page that lives on after it was hidden takes its own save for what it is.
  await openPlan(page, task);
  await page.getByTestId("plan-edit").click();
  await page.getByTestId("plan-input").fill("Two.");
  await page.evaluate(() => window.dispatchEvent(new Event("pagehide")));
  await expect.poll(async () => (await getPlan(api, task)).content).toBe("Two.");
  await expect(page.getByTestId("plan-status")).toHaveText("Saved");
  await expect(page.getByTestId("plan-conflict")).toHaveCount(0);
});

test("a text too long to be handed over is not let go without a question", async ({ context, api }) => {
  const task = await createTask(api, { title: "Long plan", start_agent: false });
  await api.post(`/tasks/${task.id}/plan`, { content: "One." });
  const tab = await context.newPage();
  await openPlan(tab, task);
  await tab.getByTestId("plan-edit").click();
  const long = "Words and words. ".repeat(5_000);
  await tab.getByTestId("plan-input").fill(long);
  const asked = tab.waitForEvent("dialog");
  await tab.close({ runBeforeUnload: true });
  const dialog = await asked;
  expect(dialog.type()).toBe("beforeunload");
  await dialog.dismiss();
  // Stayed on, it is saved as ever, and the page may go.
  await expect(tab.getByTestId("plan-status")).toHaveText("Saved");
  expect((await getPlan(api, task)).content).toBe(long);
  await Promise.all([tab.waitForEvent("close"), tab.close({ runBeforeUnload: true })]);
});

test("an operator has the plan carried out", async ({ page, api }) => {
  const task = await createTask(api, { title: "Implement me", description: 'e2e:message("Ready.")' });
  await untilIdle(api, task.id);
  await api.post(`/tasks/${task.id}/plan`, { content: "One." });
  await openPlan(page, task);
  await page.getByTestId("plan-implement").click();
  await expect(page.getByText("The agent was told to carry out the plan.")).toBeVisible();
  await expect(page.getByText(/Carry out the plan now/).first()).toBeVisible();
  await expectAccessible(page, { include: "[data-testid=plan-panel]" });
});

test("line ends of others stay as they are when a word is mended", async ({ page, api }) => {
  const task = await createTask(api, { title: "Line ends", start_agent: false });
  await api.post(`/tasks/${task.id}/plan`, { content: "one\r\ntwo\r\nthree\n" });
  await openPlan(page, task);
  await page.getByTestId("plan-edit").click();
  const field = page.getByTestId("plan-input");
  await expect(field).toHaveValue("one\ntwo\nthree\n");
  await field.fill("one\nzwei\nthree\n");
  await expect(page.getByTestId("plan-status")).toHaveText("Saved");
  expect((await getPlan(api, task)).content).toBe("one\r\nzwei\r\nthree\n");
});

test("what an agent writes appears, and two texts are never mixed up", async ({ page, api, faults }) => {
  faults.allow(/409|Failed to load resource/);
  const write = `e2e:mcp:kandev:create_task_plan_kandev(${JSON.stringify({ content: "By the agent." })})`;
  const task = await createTask(api, { title: "Both write", description: `${write}\ne2e:message("Written.")` });
  await untilIdle(api, task.id);
  await openPlan(page, task);
  const status = page.getByTestId("plan-status");
  await expect(page.getByTestId("plan-text")).toHaveText("By the agent.");
  // Nothing was typed: news are taken.
  await saveElsewhere(api, task, "By somebody else.");
  await expect(page.getByTestId("plan-text")).toHaveText("By somebody else.");

  await page.getByTestId("plan-edit").click();
  const field = page.getByTestId("plan-input");
  await field.fill("Mine.");
  await saveElsewhere(api, task, "Theirs.");
  const conflict = page.getByTestId("plan-conflict");
  await expect(conflict).toBeVisible();
  await expect(field).toHaveValue("Mine.");
  expect((await getPlan(api, task)).content).toBe("Theirs.");
  await expectAccessible(page, { include: "[data-testid=plan-panel]" });
  await conflict.getByText("Their text").click();
  await expect(page.getByTestId("plan-their-text")).toContainText("Theirs.");
  await page.getByTestId("plan-compare").click();
  await expect(page.getByTestId("plan-conflict-dialog")).toContainText("Mine.");
  await page.keyboard.press("Escape");
  await page.getByTestId("plan-keep-mine").click();
  await expect(status).toHaveText("Saved");
  expect((await getPlan(api, task)).content).toBe("Mine.");

  await field.fill("Mine again.");
  await saveElsewhere(api, task, "Theirs again.");
  await page.getByTestId("plan-take-theirs").click();
  await expect(field).toHaveValue("Theirs again.");
  await page.getByTestId("plan-bring-back").click();
  await expect(field).toHaveValue("Mine again.");
  await expect(status).toHaveText("Saved");
  expect((await getPlan(api, task)).content).toBe("Mine again.");
});

test("the history compares, restores and brings a deleted plan back", async ({ page, api }) => {
  const task = await createTask(api, { title: "History", start_agent: false });
  await api.post(`/tasks/${task.id}/plan`, { content: "One.\nSame.\n" });
  const restore = await api.get<{ revisions: { id: string; revision_version: string }[] }>(`/tasks/${task.id}/plan/revisions`);
  await saveElsewhere(api, task, "Two.\nSame.\n");
  expect(restore.revisions).toHaveLength(1);
  await api.delete(`/tasks/${task.id}/plan`);
  await api.post(`/tasks/${task.id}/plan`, { content: "Three.\nSame.\n" });
  await openPlan(page, task);
  await page.getByTestId("plan-history").click();
  const rows = page.getByTestId("plan-revision-row");
  await expect(rows).toHaveCount(2);
  await expect(rows.first()).toContainText("You");
  await rows.last().getByTestId("plan-revision-compare-button").click();
  const dialog = page.getByTestId("plan-revision-diff-dialog");
  await expect(dialog).toContainText("− Two.");
  await expect(dialog).toContainText("+ Three.");
  await dialog.getByRole("button", { name: "Side by side" }).click();
  await expect(dialog.getByRole("columnheader", { name: "Then" })).toBeVisible();
  await expectAccessible(page, { include: "[data-testid=plan-revision-diff-dialog]" });
  await page.keyboard.press("Escape");
  await rows.last().getByTestId("plan-revision-revert-button").click();
  await page.getByTestId("plan-restore-confirm").click();
  await expect(page.getByTestId("plan-text")).toContainText("Two.");
  expect((await getPlan(api, task)).content).toBe("Two.\nSame.\n");

  await page.getByTestId("plan-edit").click();
  await page.getByTestId("plan-delete").click();
  await page.getByTestId("plan-delete-confirm").click();
  await expect(page.getByText(/A plan says what will be done/)).toBeVisible();
  await page.getByTestId("plan-history").click();
  await expect(rows).toHaveCount(3);
  await rows.first().getByTestId("plan-revision-revert-button").click();
  await page.getByTestId("plan-restore-confirm").click();
  await expect(page.getByTestId("plan-text")).toContainText("Two.");
});

test("on a phone the plan has an entry of its own, by keyboard too", async ({ page, api }) => {
  await page.setViewportSize({ width: 320, height: 640 });
  const task = await createTask(api, { title: "On a phone", start_agent: false });
  await api.post(`/tasks/${task.id}/plan`, { content: `# ${"W".repeat(80)}\n\n\`${"x".repeat(200)}\`` });
  await page.goto(`/tasks/${task.id}`);
  await hydrated(page);
  await page.getByTestId("plan-toggle").focus();
  await page.keyboard.press("Enter");
  await expect(page.getByTestId("plan-panel")).toBeVisible();
  await expectNoOverflow(page, [320]);
  await page.getByTestId("plan-edit").click();
  await page.getByTestId("plan-input").fill("Typed on a phone.");
  // Closing the sheet loses nothing: the text is saved all the same.
  await page.keyboard.press("Escape");
  await expect(page.getByTestId("plan-panel")).toBeHidden();
  await expect.poll(async () => (await getPlan(api, task)).content).toBe("Typed on a phone.");
  await page.getByTestId("plan-toggle").click();
  await expectAccessible(page);
});
