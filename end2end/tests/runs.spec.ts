// Runs of outside clients: started by a client, watched, answered and stopped by the operator.
import { Api } from "../support/api.ts";
import { expectAccessible, expectNoOverflow, hydrated } from "../support/checks.ts";
import { Outside } from "../support/outside.ts";
import { expect, test } from "../support/test.ts";

test("a client's run is listed, answered in place, and its outcome fetched", async ({ page, request, start }) => {
  const server = await start();
  const api = new Api(request, server.url);
  await page.goto(server.url);
  await hydrated(page);
  await page.getByRole("link", { name: "Runs" }).click();
  await expect(page.getByRole("heading", { name: "Runs" })).toBeVisible();
  await expect(page.getByText("When a chat client starts work", { exact: false })).toBeVisible();
  await expect(page.getByRole("link", { name: "Connect a client" })).toHaveAttribute("href", "/settings");
  await expectNoOverflow(page, [320]);

  const client = await Outside.connect(api, server.url, "A phone");
  const run = await client.call("run_task", { task: "/clarification" });
  const rows = page.getByTestId("run-row");
  await expect(rows).toHaveCount(1);
  const row = rows.first();
  await expect(row).toContainText("A phone");
  await expect(row.getByTestId("run-status")).toHaveAttribute("data-status", "needs_human");
  await expect(row.getByTestId("run-doing")).toContainText("Waits for your answer");
  await expect(row.getByTestId("run-polls")).toHaveText("not polled yet");
  // The stopwatch runs.
  const elapsed = await row.getByTestId("run-elapsed").textContent();
  await expect(row.getByTestId("run-elapsed")).not.toHaveText(elapsed ?? "");
  // A wait is told of although nothing happens in the run.
  expect((await client.call("check_task", { taskId: run.taskId, waitMs: 0 })).status).toBe("needs_human");
  await expect(row.getByTestId("run-polls")).toContainText("1 poll");
  await expectAccessible(page);
  await expectNoOverflow(page);

  await row.getByRole("link").click();
  await expect(page).toHaveURL(new RegExp(`/runs/${run.taskId}$`));
  const asks = page.getByTestId("run-asks");
  await expect(asks).toContainText("Where should the data be stored?");
  await expect(page.getByTestId("run-client")).toHaveText("A phone");
  const calls = page.getByTestId("run-calls");
  await expect(calls.locator("[data-tool=run_task]")).toContainText("answered");
  await expect(calls.locator("[data-tool=check_task]")).toContainText("codex");
  await expectAccessible(page);
  await expectNoOverflow(page);

  await asks.getByTestId("clarification-option").filter({ hasText: "SQLite" }).click();
  await asks.getByTestId("clarification-submit").click();
  await expect(asks).toHaveCount(0);
  // It may be asked before the answer has reached the agent.
  let done = await client.outcome(run);
  await expect.poll(async () => (done = await client.outcome(run)).status, { timeout: 30_000 }).toBe("completed");
  expect(String(done.summary)).toContain("SQLite");
  await expect(page.getByTestId("run-status")).toHaveAttribute("data-status", "completed");
  await expect(page.getByTestId("run-answer")).toContainText("SQLite");
  await expect(page.getByText("first fetched", { exact: false })).toBeVisible();
  await expect(page.getByTestId("run-cancel")).toHaveCount(0);
  await expectNoOverflow(page, [320, 768]);
  await page.reload();
  await hydrated(page);
  await expect(page.getByTestId("run-answer")).toContainText("SQLite");
  await expect(page.getByTestId("run-timeline")).toContainText("SQLite");
});

test("a run is stopped after a question, and the list is filtered by the address", async ({ page, request, start, faults }) => {
  faults.allow(/status of 404/);
  const server = await start();
  const api = new Api(request, server.url);
  const client = await Outside.connect(api, server.url, "A laptop");
  const slow = await client.call("run_task", { task: "/slow 120s" });
  const quick = await client.call("run_task", { task: "/simple-message" });
  expect((await client.outcome(quick)).status).toBe("completed");
  await page.goto(`${server.url}/runs`);
  await hydrated(page);
  const rows = page.getByTestId("run-row");
  await expect(rows).toHaveCount(2);
  await page.getByTestId("run-filter-group").selectOption("active");
  await expect(page).toHaveURL(/group=active/);
  await expect(rows).toHaveCount(1);
  await page.getByTestId("run-filter-text").fill("nobody");
  await page.keyboard.press("Enter");
  await expect(page.getByText("No run is like this.")).toBeVisible();
  await page.reload();
  await hydrated(page);
  await expect(page.getByTestId("run-filter-text")).toHaveValue("nobody");
  await page.getByTestId("run-filter-text").fill("LAPTOP");
  await page.keyboard.press("Enter");
  await expect(rows).toHaveCount(1);

  await rows.first().getByRole("link").focus();
  await page.keyboard.press("Enter");
  const waiting = client.outcome(slow);
  await page.getByTestId("run-cancel").click();
  const dialog = page.getByTestId("run-cancel-dialog");
  await expect(dialog).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(dialog).toBeHidden();
  await page.getByTestId("run-cancel").click();
  await page.getByTestId("confirm-run-cancel").click();
  await expect(page.getByTestId("run-status")).toHaveAttribute("data-status", "cancelled");
  await expect(page.getByTestId("run-reason")).toHaveText("Stopped on the board.");
  expect((await waiting).status).toBe("cancelled");
  await expectAccessible(page);
  await page.goto(`${server.url}/runs/not-a-run`);
  await expect(page.getByText("There is no such run", { exact: false })).toBeVisible();
  await hydrated(page);
  await page.keyboard.press("g");
  await page.keyboard.press("r");
  await expect(rows).toHaveCount(2);
});
