// What agents ask of their operator: the bundle above the composer, the inbox, several sessions on one task.
import { Api } from "../support/api.ts";
import { expectAccessible, expectNoOverflow, hydrated } from "../support/checks.ts";
import { createTask, getTask, untilIdle, untilSaid } from "../support/story.ts";
import { expect, test } from "../support/test.ts";

const asks = (question: Record<string, unknown>) =>
  [
    `e2e:mcp:kandev:ask_user_question_kandev(${JSON.stringify({ questions: [question] })})`,
    'e2e:message("The answer was: {result}")',
  ].join("\n");

const untilAsked = (api: Api, task: string) =>
  expect.poll(async () => (await getTask(api, task)).task_pending_action, { timeout: 60_000 }).not.toBeNull();

test("a bundle is answered one question at a time and sent as one", async ({ page, api }) => {
  const task = await createTask(api, { title: "Two questions", description: "/ask-multiple" });
  await untilAsked(api, task.id);
  await page.goto(`/tasks/${task.id}`);
  await hydrated(page);
  const overlay = page.getByTestId("clarification-overlay");
  await expect(overlay).toBeVisible();
  await expect(overlay.getByTestId("clarification-context")).toContainText("first release");
  await expect(overlay.getByTestId("clarification-stepper")).toContainText("1 of 2");

  // It can be folded away, and the composer stays usable meanwhile.
  await overlay.getByRole("button", { name: "Show the question" }).click();
  await expect(overlay.getByTestId("clarification-option").first()).toBeHidden();
  await page.getByTestId("chat-input").fill("Not sent yet");
  await overlay.getByRole("button", { name: "Show the question" }).click();

  // Escape never rejects.
  await overlay.getByTestId("clarification-option").first().click();
  await page.keyboard.press("Escape");
  expect((await getTask(api, task.id)).task_pending_action).toBe("clarification");

  await overlay.getByRole("button", { name: "Next" }).click();
  await expect(overlay.getByTestId("clarification-stepper")).toContainText("2 of 2");
  const submit = overlay.getByTestId("clarification-submit");
  await expect(submit).toHaveAttribute("aria-disabled", "true");
  const field = overlay.getByTestId("clarification-custom-input").filter({ visible: true });
  await field.fill("é".repeat(2001));
  await expect(overlay.getByTestId("clarification-input-rune-counter")).toContainText("2001");
  await expect(submit).toHaveAttribute("aria-disabled", "true");
  await field.fill("MIT, since it is short");
  await expect(submit).not.toHaveAttribute("aria-disabled", "true");
  await expectNoOverflow(page, [320, 1440]);
  await submit.click();
  await expect(overlay).toBeHidden();
  expect((await untilSaid(api, task.id, "MIT, since it is short")).content).toContain("SQLite");
  await expect(page.getByTestId("clarification-record")).toHaveCount(2);
  await expect(page.getByTestId("chat-input")).toHaveValue("Not sent yet");
});

test("a question may offer its options alone", async ({ page, api }) => {
  const description = asks({ prompt: "Which store?", options: ["SQLite", "Postgres"], allow_custom_text: false });
  const task = await createTask(api, { title: "Options alone", description });
  await untilAsked(api, task.id);
  await page.goto(`/tasks/${task.id}`);
  await hydrated(page);
  const overlay = page.getByTestId("clarification-overlay");
  await expect(overlay.getByTestId("clarification-option")).toHaveCount(2);
  await expect(overlay.getByTestId("clarification-custom-input")).toHaveCount(0);
  await overlay.getByTestId("clarification-option").filter({ hasText: "Postgres" }).click();
  await overlay.getByTestId("clarification-submit").click();
  await untilSaid(api, task.id, "Postgres");
});

test("the inbox lists everything that waits, oldest first, and is answered in place", async ({ page, request, start }) => {
  const server = await start();
  const api = new Api(request, server.url);
  await page.goto(`${server.url}/inbox`);
  await hydrated(page);
  await expect(page.getByText("Nothing needs you", { exact: false }).first()).toBeVisible();
  await expect(page).not.toHaveTitle(/^\(/);

  const first = await createTask(api, {
    title: "Asks first",
    description: asks({ prompt: "Which store?", options: ["SQLite", "Postgres"] }),
  });
  await untilAsked(api, first.id);
  const second = await createTask(api, { title: "Wants leave", description: "/permission-flow" });
  await untilAsked(api, second.id);

  // Live, without a reload.
  const items = page.getByTestId("inbox-item");
  await expect(items).toHaveCount(2, { timeout: 20_000 });
  await expect(items.nth(0)).toContainText("Asks first");
  await expect(items.nth(0)).toContainText("Which store?");
  await expect(items.nth(1)).toContainText("Wants leave");
  await expect(page).toHaveTitle(/^\(2\) /);
  await expectAccessible(page);
  await expectNoOverflow(page);

  await items.nth(0).getByTestId("clarification-option").first().click();
  await items.nth(0).getByTestId("clarification-submit").click();
  await expect(items).toHaveCount(1);
  await expect(page).toHaveTitle(/^\(1\) /);
  await items.first().getByTestId("permission-option").first().click();
  await expect(items).toHaveCount(0);
  await expect(page).not.toHaveTitle(/^\(/);
  await untilSaid(api, first.id, "SQLite");
  await untilIdle(api, second.id);
});

test("a task has a tab for each session, which can be named, promoted and deleted", async ({ page, api }) => {
  const task = await createTask(api, { title: "Several sessions", description: 'e2e:message("One.")' });
  await untilIdle(api, task.id);
  await page.goto(`/tasks/${task.id}`);
  await hydrated(page);
  const menu = async (item: string) => {
    await page.getByTestId("session-menu").click();
    await page.getByRole("menuitem", { name: item }).click();
  };
  await expect(page.getByTestId("session-tab")).toHaveCount(0);
  await menu("New session…");
  await page.getByTestId("session-prompt-input").fill('e2e:message("Two.")');
  await expect(page.getByTestId("session-profile-select")).toBeEnabled();
  await page.getByTestId("start-session").click();
  const tabs = page.getByTestId("session-tab");
  await expect(tabs).toHaveCount(2);
  await expect(page.getByTestId("chat-message").filter({ hasText: "Two." }).first()).toBeVisible({ timeout: 30_000 });
  await expectNoOverflow(page, [320, 1440]);
  // What happens to the session while its menu is open takes no button away under a press.
  await page.getByTestId("session-menu").click();
  const rename = await page.getByRole("menuitem", { name: "Rename the session…" }).elementHandle();
  const shown = new URL((await tabs.last().getAttribute("href")) ?? "", page.url()).searchParams.get("session");
  await api.post(`/task-sessions/${shown}/messages`, { content: 'e2e:message("Three.")' });
  await expect(page.getByTestId("chat-message").filter({ hasText: "Three." }).first()).toBeVisible({ timeout: 30_000 });
  expect(await rename?.evaluate((button) => button.isConnected)).toBe(true);
  await rename?.click();
  await page.getByTestId("session-name-input").fill("Second opinion");
  await page.getByTestId("confirm-rename").click();
  await expect(tabs.filter({ hasText: "Second opinion" })).toHaveCount(1);
  await menu("Make it the main session");
  await expect(tabs.filter({ hasText: "Second opinion" })).toContainText("main");

  await menu("Delete the session…");
  await expect(page.getByTestId("delete-session-which")).toHaveText("“Second opinion”, Demo agent: Turn finished");
  await page.getByTestId("confirm-delete-session").click();
  await expect(tabs).toHaveCount(0);
  await expect(page.getByTestId("chat-message").filter({ hasText: "One." }).first()).toBeVisible();
  const { sessions } = await api.get<{ sessions: { is_primary: boolean }[] }>(`/tasks/${task.id}/sessions`);
  expect(sessions.map((session) => session.is_primary)).toEqual([true]);
});
