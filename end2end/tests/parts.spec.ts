// Parts of the app that lie in files of their own: they come when they are shown, and not before.
import { hydrated } from "../support/checks.ts";
import { createTask } from "../support/story.ts";
import { expect, test } from "../support/test.ts";

const TASK_PART = /\.split_task\.wasm$/;

test("the board does not fetch the page of a task; a link to one does, and so does its address", async ({ page, api }) => {
  const task = await createTask(api, { title: "In a part of its own", start_agent: false });
  const fetched: string[] = [];
  page.on("request", (request) => fetched.push(new URL(request.url()).pathname));

  await page.goto("/");
  await hydrated(page);
  expect(fetched.filter((path) => TASK_PART.test(path))).toEqual([]);

  await page.getByRole("link", { name: task.title }).first().click();
  await expect(page.getByTestId("chat-input")).toBeVisible();
  expect(fetched.filter((path) => TASK_PART.test(path))).toHaveLength(1);

  // Rendered by the server, the page names its part to the browser before any script runs.
  await page.goto(`/tasks/${task.id}`);
  const hint = page.locator('link[rel="preload"][href*="split_task"]');
  await expect(hint).toHaveCount(1);
  await hydrated(page);
  await page.getByTestId("chat-input").fill("It listens.");
  await expect(page.getByTestId("chat-send")).toBeEnabled();
});

test("a part that does not come can be asked for again", async ({ page, api, faults }) => {
  const task = await createTask(api, { title: "Comes at the second try", start_agent: false });
  await page.goto("/");
  await hydrated(page);
  faults.allow(/Failed to fetch|Failed to load resource/);
  await page.route(TASK_PART, (route) => route.abort());
  await page.getByRole("link", { name: task.title }).first().click();
  const alert = page.getByRole("main").getByRole("alert");
  await expect(alert).toBeVisible();
  await page.unroute(TASK_PART);
  await alert.getByRole("button", { name: "Try again" }).click();
  await expect(page.getByTestId("chat-input")).toBeVisible();
  await expect(alert).toHaveCount(0);
});

test("a dialog that is opened before its form is there gives the focus to the form", async ({ page }) => {
  let release = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  await page.route(/\.split_dialogs\.wasm$/, async (route) => {
    await released;
    await route.continue();
  });
  await page.goto("/");
  await hydrated(page);
  await page.keyboard.press("c");
  await expect(page.getByTestId("create-task-dialog").getByRole("status")).toBeVisible();
  release();
  await expect(page.getByTestId("task-title-input")).toBeFocused();
});

test("dialogs that are to come while the page is offline come when it is back, and nothing complains", async ({ page, context, faults }) => {
  const DIALOGS = /\.split_dialogs\.wasm$/;
  let fetched = 0;
  page.on("request", (request) => {
    if (DIALOGS.test(request.url())) fetched += 1;
  });
  await page.clock.install();
  await page.goto("/");
  await hydrated(page);
  // Of the feed, which finds nobody; a part that does not come says "Failed to fetch".
  faults.allow(/ERR_INTERNET_DISCONNECTED|ERR_FAILED|Failed to load resource/);
  await context.setOffline(true);
  await page.clock.runFor(10_000);
  expect(fetched).toBe(0);
  await context.setOffline(false);
  await expect.poll(() => fetched).toBe(1);
});

test("every way out of a task's page leads on, and back", async ({ page, api }) => {
  const task = await createTask(api, { title: "Come and go", start_agent: false });
  const other = await createTask(api, { title: "Somewhere else", start_agent: false });
  await page.goto(`/tasks/${task.id}`);
  await hydrated(page);
  const composer = page.getByTestId("chat-input");
  await expect(composer).toBeVisible();

  await page.getByRole("link", { name: other.title }).first().click();
  await expect(page).toHaveTitle(/Somewhere else/);
  await expect(page.getByRole("heading", { name: other.title })).toBeVisible();
  for (const path of ["/inbox", "/assistant", "/jobs", "/settings", "/"]) {
    await page.locator(`a[href="${path}"]:visible`).first().click();
    await expect(page).toHaveURL(path);
    await expect(composer).toHaveCount(0);
    await page.goBack();
    await expect(page).toHaveTitle(/Somewhere else/);
    await expect(composer).toBeVisible();
  }
  await page.goBack();
  await expect(page).toHaveTitle(/Come and go/);
});
