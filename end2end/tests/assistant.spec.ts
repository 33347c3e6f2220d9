// AI jobs in the browser: the conversation with the assistant, consent by a button, the list of jobs and the page of one.
import type { Page } from "@playwright/test";
import { Api } from "../support/api.ts";
import { expectAccessible, expectNoOverflow, hydrated } from "../support/checks.ts";
import { type Answer, type Asked, Model } from "../support/model.ts";
import type { Server } from "../support/server.ts";
import { expect, test as base } from "../support/test.ts";

let broken = true;

/** What the model says to which message. */
function script({ message, afterTool }: Asked): Answer {
  if (message.includes("BREAK")) {
    return broken ? { status: 401, error: "the key is wrong" } : { say: "It works again." };
  }
  if (message.includes("make a report")) {
    return afterTool ? { say: "Shall I make it?" } : { call: "preview_task", input: { title: "Weekly report" } };
  }
  if (message.includes("boards")) {
    return afterTool ? { say: "There is **one** board:\n\n- Kanban" } : { call: "list_workflows", input: {} };
  }
  return { say: `You said: ${message}` };
}

interface PerTest {
  model: Model;
  own: Server;
  own_api: Api;
}

/** A server of one's own with a model of one's own. */
const test = base.extend<PerTest>({
  model: async ({}, use) => {
    const model = await Model.start(script);
    await use(model);
    await model.stop();
  },
  own: async ({ model, start }, use) => {
    await use(await start({ env: model.env() }));
    model.release();
  },
  own_api: async ({ request, own }, use) => {
    await use(new Api(request, own.url));
  },
});

const turns = (page: Page) => page.getByTestId("assistant-turn");

async function say(page: Page, text: string): Promise<void> {
  await page.getByTestId("chat-input").fill(text);
  await page.getByTestId("chat-send").click();
}

async function open(page: Page, url: string): Promise<void> {
  await page.goto(url);
  await hydrated(page);
}

const titles = async (api: Api) => {
  const { workspaces } = await api.get<{ workspaces: { id: string }[] }>("/workspaces");
  const { tasks } = await api.get<{ tasks: { title: string }[] }>(`/workspaces/${workspaces[0]?.id}/tasks`);
  return tasks.map((task) => task.title);
};

test("a message is answered live, with what goes on until then", async ({ page, own, model }) => {
  await open(page, `${own.url}/`);
  await page.getByRole("link", { name: "Assistant" }).filter({ visible: true }).click();
  await expect(page.getByRole("heading", { name: "Assistant" })).toBeVisible();
  await expect(page.getByText("Ask about the board", { exact: false })).toBeVisible();
  await expectAccessible(page);
  await expectNoOverflow(page);

  model.hold();
  await say(page, "Which boards are there?");
  // At once, and empty for the next one.
  await expect(page.getByText("Which boards are there?").first()).toBeVisible();
  await expect(page.getByTestId("chat-input")).toHaveValue("");
  const turn = turns(page).first();
  await expect(turn.getByTestId("assistant-phase")).toHaveText("Thinking");
  await expect(turn.getByTestId("assistant-reference")).toContainText("aij_");
  await turn.getByText("What happened so far").click();
  await expect(turn.locator("[data-type='job.queued']")).toBeVisible();
  await expectAccessible(page);
  await expectNoOverflow(page);
  model.release();
  await expect(turn.getByTestId("assistant-answer")).toContainText("There is one board");
  await expect(turn.locator(".prose strong")).toHaveText("one");
  await expect(turn.getByTestId("assistant-answer")).toContainText("list_workflows");
  await expect(turn.getByTestId("assistant-progress")).toHaveCount(0);

  // The model is told what was said before; the browser sent none of it.
  await page.getByTestId("chat-input").fill("And a second one");
  await page.keyboard.press("Control+Enter");
  await expect(turns(page).nth(1).getByTestId("assistant-answer")).toContainText("You said: And a second one");
  const said = model.asked.at(-1)?.messages.map((message) => message.content ?? "") ?? [];
  expect(said.some((text) => text.includes("Which boards are there?"))).toBe(true);
  expect(said.some((text) => text.includes("There is **one** board"))).toBe(true);

  await page.reload();
  await hydrated(page);
  await expect(turns(page)).toHaveCount(2);
  await expectAccessible(page);
  await expectNoOverflow(page);
});

test("what is previewed is done by the button, once, or left", async ({ page, own, own_api }) => {
  await open(page, `${own.url}/assistant`);
  await say(page, "Please make a report");
  const card = turns(page).first().getByTestId("consent-card");
  await expect(card).toHaveAttribute("data-state", "open");
  await expect(card).toContainText("Weekly report");
  expect(await titles(own_api)).toEqual([]);
  await expectAccessible(page);
  await expectNoOverflow(page);
  await card.getByTestId("consent-confirm").dblclick();
  await expect(card).toHaveAttribute("data-state", "confirmed");
  await expect(card.getByTestId("consent-confirm")).toHaveCount(0);
  expect(await titles(own_api)).toEqual(["Weekly report"]);
  await expect(card.getByTestId("consent-made")).toHaveText("Weekly report");
  await expectAccessible(page);

  await say(page, "Now make a report again");
  const second = turns(page).nth(1).getByTestId("consent-card");
  await second.getByTestId("consent-decline").click();
  await expect(second).toHaveAttribute("data-state", "declined");
  expect(await titles(own_api)).toEqual(["Weekly report"]);

  await page.goto(`${own.url}/`);
  await hydrated(page);
  await expect(page.getByText("Weekly report").first()).toBeVisible();
});

test("a job is canceled while it runs, and a failure says why and can be tried again", async ({ page, own, model }) => {
  broken = true;
  await open(page, `${own.url}/assistant`);
  model.hold();
  await say(page, "Take your time");
  const first = turns(page).first();
  await expect(first.getByTestId("assistant-phase")).toHaveText("Thinking");
  await first.getByTestId("assistant-cancel").click();
  await expect(first.getByTestId("assistant-ended")).toContainText("Canceled", { timeout: 20_000 });
  model.release();

  await say(page, "BREAK it");
  const second = turns(page).nth(1);
  await expect(second.getByTestId("assistant-reason")).toContainText("key is wrong", { timeout: 20_000 });
  await expectAccessible(page);
  await expectNoOverflow(page);
  broken = false;
  await second.getByTestId("assistant-retry").click();
  await expect(turns(page).nth(2).getByTestId("assistant-answer")).toContainText("It works again.", { timeout: 20_000 });
  await expect(second.getByTestId("assistant-reason")).toBeVisible();
});

test("what cannot be sent stays in the field and is one message in the end", async ({ page, own, faults }) => {
  faults.allow(/Failed to load resource|ERR_FAILED|ERR_INTERNET/);
  await open(page, `${own.url}/assistant`);
  await page.route("**/api/page/assistant/say", async (route) => {
    // The server has it; only the answer is lost.
    await route.fetch();
    await route.abort();
  });
  await say(page, "Only once");
  await expect(page.getByRole("alert")).toContainText("Flightdeck cannot be reached");
  await expect(page.getByTestId("chat-input")).toHaveValue("Only once");
  await page.unroute("**/api/page/assistant/say");
  await page.getByTestId("chat-send").click();
  await expect(page.getByRole("alert")).toHaveCount(0);
  await expect(turns(page).first().getByTestId("assistant-answer")).toContainText("You said: Only once");
  await expect(page.getByTestId("assistant-outgoing")).toHaveCount(0);
  await expect(turns(page)).toHaveCount(1);
});

test("jobs are listed live and filtered by the address", async ({ page, own, model }) => {
  broken = true;
  await open(page, `${own.url}/jobs`);
  await expect(page.getByText("Messages to the assistant become jobs", { exact: false })).toBeVisible();
  await expectAccessible(page);
  const second = await page.context().newPage();
  await open(second, `${own.url}/assistant`);
  await say(second, "Hello");
  const rows = page.getByTestId("job-row");
  await expect(rows).toHaveCount(1);
  await expect(rows.first().getByTestId("job-status")).toHaveAttribute("data-status", "completed");
  await say(second, "BREAK it");
  await expect(rows).toHaveCount(2);
  await expect(rows.first().getByTestId("job-status")).toHaveAttribute("data-status", "failed_terminal", { timeout: 20_000 });
  model.hold();
  await say(second, "Wait for it");
  // What runs comes first.
  await expect(rows).toHaveCount(3);
  await expect(rows.first()).toContainText("Wait for it");
  await expectAccessible(page);
  await expectNoOverflow(page);

  await page.getByTestId("job-filter-state").selectOption("failed_terminal");
  await expect(page).toHaveURL(/status=failed_terminal/);
  await expect(rows).toHaveCount(1);
  await expect(rows.first()).toContainText("BREAK it");
  await page.getByTestId("job-filter-user").fill("nobody & co");
  await page.keyboard.press("Enter");
  await expect(page.getByText("No job is like this.")).toBeVisible();
  await page.reload();
  await hydrated(page);
  await expect(page.getByTestId("job-filter-user")).toHaveValue("nobody & co");
  await page.getByRole("link", { name: "Show all" }).click();
  await expect(rows).toHaveCount(3);
  model.release();
  await expect(rows.filter({ hasText: "Wait for it" }).getByTestId("job-status")).toHaveAttribute("data-status", "completed");
});

test("the page of a job follows its timeline, cancels after asking, and leads to what is tried again", async ({ page, own, model, faults }) => {
  faults.allow(/status of 404 .*aij_unknown/);
  await open(page, `${own.url}/assistant`);
  model.hold();
  await say(page, "Take your time");
  await turns(page).first().getByTestId("assistant-reference").click();
  const timeline = page.getByTestId("job-timeline");
  await expect(timeline.locator("[data-type='job.executing']")).toBeVisible();
  await expect(page.getByTestId("job-phase")).toContainText("Thinking");
  const address = page.url();
  await page.reload();
  await hydrated(page);
  await expectAccessible(page);
  await expectNoOverflow(page);
  await page.getByTestId("job-cancel").click();
  const dialog = page.getByTestId("job-cancel-dialog");
  await expect(dialog).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(dialog).toBeHidden();
  await page.getByTestId("job-cancel").click();
  await page.getByTestId("confirm-job-cancel").click();
  await expect(page.getByTestId("job-status").first()).toHaveAttribute("data-status", "canceled", { timeout: 20_000 });
  await expect(timeline.locator("[data-type='job.canceled']")).toBeVisible();
  model.release();

  await page.getByTestId("job-retry").click();
  await expect(page).not.toHaveURL(address);
  await expect(page.getByTestId("job-answer")).toContainText("You said: Take your time", { timeout: 20_000 });
  await expect(timeline.locator("[data-type='job.completed']")).toBeVisible();
  await expect(page.getByTestId("job-attempts")).toContainText("Attempt 1");
  await expectAccessible(page);
  await expectNoOverflow(page);
  await page.goto(`${own.url}/jobs/aij_unknown`);
  await expect(page.getByText("There is no such job", { exact: false })).toBeVisible();
});

test("the keyboard alone says something, agrees to it and finds its job", async ({ page, own, own_api }) => {
  await open(page, `${own.url}/`);
  await page.keyboard.press("g");
  await page.keyboard.press("a");
  await expect(page.getByTestId("chat-input")).toBeVisible();
  await page.getByTestId("chat-input").focus();
  await page.keyboard.type("make a report");
  // Enter makes a line: a half-written message cannot be taken back.
  await page.keyboard.press("Enter");
  await page.keyboard.type("soon");
  await expect(page.getByTestId("chat-input")).toHaveValue("make a report\nsoon");
  await page.keyboard.press("Control+Enter");
  const confirm = page.getByTestId("consent-confirm");
  await expect(confirm).toBeVisible();
  for (let presses = 0; presses < 40; presses += 1) {
    if (await confirm.evaluate((button) => button === document.activeElement)) break;
    await page.keyboard.press("Shift+Tab");
  }
  await expect(confirm).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page.getByTestId("consent-card")).toHaveAttribute("data-state", "confirmed");
  expect(await titles(own_api)).toEqual(["Weekly report"]);
  await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
  await page.keyboard.press("g");
  await page.keyboard.press("j");
  await expect(page.getByTestId("job-row")).toHaveCount(1);
});

test("without a model the page says what is to be set", async ({ page, server }) => {
  await open(page, `${server.url}/assistant`);
  await expect(page.getByTestId("assistant-no-model")).toContainText("OPENAI_MODEL");
  await expect(page.getByTestId("chat-composer")).toHaveCount(0);
  await expectAccessible(page);
  await expectNoOverflow(page);
});
