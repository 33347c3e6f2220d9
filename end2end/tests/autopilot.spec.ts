// The journey of autopilot: a child that waits, an answer, and what the operator sees of it, on a desktop and on a phone.
import type { Page } from "@playwright/test";
import { Api } from "../support/api.ts";
import { expectAccessible, expectNoOverflow, hydrated } from "../support/checks.ts";
import { answeringParent, askingChild, createTask, getTask, messages, type Task, untilIdle } from "../support/story.ts";
import { expect, test } from "../support/test.ts";

async function parentAndChild(api: Api, title: string, answers: number | "never"): Promise<{ parent: Task; child: Task }> {
  const parent = await createTask(api, { title, description: answeringParent(answers) });
  await untilIdle(api, parent.id);
  const child = await createTask(api, {
    title: `${title}, part`,
    description: askingChild,
    parent_id: parent.id,
    autopilot: true,
  });
  return { parent, child };
}

const row = (page: Page, title: string) =>
  page.getByTestId("sidebar-task-item").filter({ has: page.getByText(title, { exact: true }) });

test("a child asks its parent, waits, is answered once and goes on", async ({ page, api }) => {
  const { parent, child } = await parentAndChild(api, "Flaky checkout", 4_000);
  expect((await getTask(api, child.id)).autopilot).toBe(true);

  await page.goto(`/tasks/${parent.id}`);
  await hydrated(page);
  await expect.poll(async () => (await getTask(api, child.id)).primary_session_state, { timeout: 60_000 }).toBe("WAITING_FOR_INPUT");
  await expect(row(page, child.title).getByTestId("task-autopilot-icon")).toHaveCount(1);
  await expect(row(page, child.title).getByTestId("task-state-waiting-for-input")).toHaveCount(1);
  await expect(row(page, child.title).getByLabel("Autopilot mode")).toHaveCount(1);

  await expect
    .poll(async () => (await messages(api, parent.id)).filter((m) => m.metadata.parent_question === true).length)
    .toBe(1);
  const asked = (await messages(api, parent.id)).find((m) => m.metadata.parent_question === true);
  const question = asked?.metadata.parent_question_id;
  expect(typeof question).toBe("string");

  await expect
    .poll(
      async () =>
        (await messages(api, child.id)).filter((m) => m.type === "clarification_request" && m.metadata.status === "answered").length,
      { timeout: 30_000 },
    )
    .toBe(1);
  await expect(row(page, child.title).getByTestId("task-state-waiting-for-input")).toHaveCount(0);

  await page.goto(`/tasks/${child.id}`);
  await hydrated(page);
  await expect(page.getByTestId("chat-status-bar").getByTestId("chat-autopilot-chip")).toBeVisible();
  const transcript = await messages(api, child.id);
  const answers = transcript.filter((m) => m.author_type === "user" && m.metadata.parent_question_id === question);
  expect(answers).toHaveLength(1);
  expect(typeof answers[0]?.metadata.parent_question_response).toBe("string");
  await expect(page.getByText("Done: SQLite, it is enough.")).toBeVisible();
});

test("a waiting child shows whom it asks and what, and no card for the operator", async ({ page, api }) => {
  const { parent, child } = await parentAndChild(api, "Migration lock", "never");
  await expect.poll(async () => (await getTask(api, child.id)).task_pending_action, { timeout: 60_000 }).toBe("clarification");
  await page.goto(`/tasks/${child.id}`);
  await hydrated(page);
  const main = page.getByRole("main");
  await expect(main.getByText("Which store should the migration target?").first()).toBeVisible();
  await expect(main.getByText(parent.title).first()).toBeVisible();
  await expect(page.getByTestId("clarification-overlay")).toHaveCount(0);
  await expectAccessible(page);
  await expectNoOverflow(page);

  // The operator's way out: a message replaces the question, and it runs.
  await page.getByRole("textbox", { name: /message/i }).fill("Take SQLite and go on.");
  await page.keyboard.press("Control+Enter");
  await expect
    .poll(async () => (await messages(api, child.id)).find((m) => m.type === "clarification_request")?.metadata.status)
    .toBe("superseded");
  await expect(page.getByText("Done: Take SQLite and go on.")).toBeVisible();
});

test("a power cut keeps the child waiting, shows it again, and asks its parent only once", async ({ page, request, start }) => {
  const before = await start();
  const { parent, child } = await parentAndChild(new Api(request, before.url), "Night shift", "never");
  await expect
    .poll(async () => (await getTask(new Api(request, before.url), child.id)).primary_session_state, { timeout: 60_000 })
    .toBe("WAITING_FOR_INPUT");
  await before.kill();

  const after = await start({ dataDir: before.dataDir });
  const api = new Api(request, after.url);
  await page.goto(`${after.url}/tasks/${parent.id}`);
  await hydrated(page);
  await expect(row(page, child.title).getByTestId("task-state-waiting-for-input")).toHaveCount(1);
  expect((await getTask(api, child.id)).task_pending_action).toBe("clarification");
  expect((await messages(api, parent.id)).filter((m) => m.metadata.parent_question === true)).toHaveLength(1);
});

test("the autopilot icon explains itself to keyboard users", async ({ page, api }) => {
  const { parent, child } = await parentAndChild(api, "Keyboard only", "never");
  await page.goto(`/tasks/${parent.id}`);
  await hydrated(page);
  const icon = row(page, child.title).getByTestId("task-autopilot-icon");
  await icon.focus();
  await expect(icon).toBeFocused();
  await expect(page.getByRole("tooltip").filter({ hasText: "Autopilot mode" })).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("tooltip").filter({ hasText: "Autopilot mode" })).toBeHidden();
});

test("a new task has no autopilot switch, a subtask has one that the keyboard reaches", async ({ page, api }) => {
  const parent = await createTask(api, { title: "By keyboard alone", description: answeringParent(200) });
  await untilIdle(api, parent.id);
  await page.goto(`/tasks/${parent.id}`);
  await hydrated(page);

  await page.keyboard.press("c");
  const create = page.getByTestId("create-task-dialog");
  await expect(create).toBeVisible();
  await expect(page.getByTestId("autopilot-toggle-row")).toHaveCount(0);
  await expectAccessible(page);
  await page.keyboard.press("Escape");
  await expect(create).toBeHidden();

  await page.keyboard.press("s");
  const dialog = page.getByTestId("new-subtask-dialog");
  await expect(dialog).toBeVisible();
  await expectAccessible(page);
  await page.getByTestId("subtask-prompt-input").focus();
  await page.keyboard.type(askingChild);
  const toggle = dialog.getByRole("switch", { name: /autopilot/i });
  await toggle.focus();
  await expect(toggle).toHaveAttribute("aria-checked", "false");
  await page.keyboard.press("Space");
  await expect(toggle).toHaveAttribute("aria-checked", "true");
  await dialog.getByRole("button", { name: /create subtask/i }).focus();
  await page.keyboard.press("Enter");
  await expect(dialog).toBeHidden();
  await expect
    .poll(async () => {
      const { workspaces } = await api.get<{ workspaces: { id: string }[] }>("/workspaces");
      const { tasks } = await api.get<{ tasks: Task[] }>(`/workspaces/${workspaces[0]?.id}/tasks`);
      return tasks.filter((task) => task.parent_id === parent.id && task.autopilot).length;
    })
    .toBe(1);
});

test.describe("on a phone", () => {
  test.use({ viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true });

  test("both icons of a waiting child are named in the switcher, and nothing scrolls sideways", async ({ page, api }) => {
    const { parent, child } = await parentAndChild(api, "Pocket sized", "never");
    await expect.poll(async () => (await getTask(api, child.id)).task_pending_action, { timeout: 60_000 }).toBe("clarification");

    await page.goto("/");
    await hydrated(page);
    await page.getByTestId("mobile-fab").tap();
    await expect(page.getByTestId("create-task-dialog")).toBeVisible();
    await expect(page.getByTestId("autopilot-toggle-row")).toHaveCount(0);
    await expectNoOverflow(page, [320, 360]);
    await page.keyboard.press("Escape");

    await page.goto(`/tasks/${parent.id}`);
    await hydrated(page);
    await page.getByTestId("mobile-session-menu").tap();
    const sheet = page.getByRole("dialog");
    await expect(sheet).toBeVisible();
    const item = sheet.getByTestId("sidebar-task-item").filter({ has: page.getByText(child.title, { exact: true }) });
    await expect(item.getByTestId("task-autopilot-icon")).toHaveCount(1);
    await expect(item.getByTestId("task-state-waiting-for-input")).toHaveCount(1);
    await expect(item.getByLabel("Autopilot mode")).toHaveCount(1);
    await expectNoOverflow(page, [320, 360]);

    await page.goto(`/tasks/${child.id}`);
    await hydrated(page);
    await expect(page.getByTestId("chat-autopilot-chip")).toBeVisible();
    await expectNoOverflow(page, [320, 360]);
    await expectAccessible(page);
  });
});
