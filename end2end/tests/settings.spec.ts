// Settings: a token is made, shown once with what each client is told, and revoked after a question.
import type { APIRequestContext } from "@playwright/test";
import { Api } from "../support/api.ts";
import { expectAccessible, expectNoOverflow, hydrated } from "../support/checks.ts";
import { expect, test } from "../support/test.ts";

/** Status of a first message to the tools' route with this token. */
async function answered(request: APIRequestContext, url: string, token: string): Promise<number> {
  const response = await request.post(`${url}/mcp`, {
    headers: { authorization: `Bearer ${token}`, accept: "application/json, text/event-stream" },
    data: {
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "a test", version: "1" } },
    },
  });
  return response.status();
}

test("a token is made, shown once, and refused once it is revoked", async ({ page, server, request }) => {
  // Three looks at every width and with axe, in both themes: on a busy machine more than the usual minute.
  test.slow();
  await page.goto("/");
  await hydrated(page);
  await page.getByRole("link", { name: "Settings" }).click();
  await expect(page.getByRole("heading", { name: "Settings" })).toBeVisible();
  await expect(page.getByTestId("no-operators")).toBeVisible();
  await expectAccessible(page);
  await expectNoOverflow(page);

  const name = page.getByTestId("token-name");
  await name.focus();
  await page.keyboard.press("Enter");
  await expect(page.getByText("Say which client the token is for.")).toBeVisible();
  await page.keyboard.type("A phone with a rather long name that has to break somewhere");
  await page.keyboard.press("Enter");
  const token = await page.getByTestId("token-text").inputValue();
  expect(token).toMatch(/^fd_[0-9a-f]{64}$/);
  await expect(name).toHaveValue("");
  for (const summary of await page.getByTestId("token-made").locator("summary").all()) await summary.click();
  const snippets = page.getByTestId("token-snippet");
  await expect(snippets).toHaveCount(5);
  for (const snippet of await snippets.all()) {
    expect(await snippet.inputValue()).toContain(`${server.url}/mcp`);
    expect(await snippet.inputValue()).toContain(token);
  }
  await expectAccessible(page);
  await expectNoOverflow(page);
  expect(await answered(request, server.url, token)).toBe(200);

  await page.reload();
  await hydrated(page);
  await expect(page.getByTestId("token-text")).toHaveCount(0);
  expect(await page.content()).not.toContain(token);
  const row = page.getByTestId("token").filter({ hasText: "A phone with a rather long name" });
  await expect(row).toContainText("used just now");
  await expect(row).toContainText(/made (just now|\d+s ago)/);
  await expect(row).not.toContainText("never used");

  // One that reaches a workspace and nothing else.
  await name.fill("A guest");
  await page.getByTestId("token-limited").check();
  await page.getByTestId("token-create").click();
  await expect(page.getByText("Choose at least one workspace", { exact: false })).toBeVisible();
  await expectAccessible(page);
  await expectNoOverflow(page);
  await page.getByTestId("token-workspace").first().check();
  await page.getByTestId("token-create").click();
  await page.getByTestId("token-kept").click();
  await expect(page.getByTestId("token").filter({ hasText: "A guest" }).getByTestId("token-reach")).toHaveText("only Default");

  await row.getByTestId("token-revoke").click();
  const dialog = page.getByTestId("token-revoke-dialog");
  await expect(dialog).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(dialog).toBeHidden();
  expect(await answered(request, server.url, token)).toBe(200);
  await row.getByTestId("token-revoke").click();
  await page.getByTestId("confirm-token-revoke").click();
  await expect(row).toHaveAttribute("data-revoked", "");
  expect(await answered(request, server.url, token)).toBe(401);
});

test("a saved prompt is written, changed and deleted after a question", async ({ page }) => {
  await page.goto("/settings");
  await hydrated(page);
  await page.getByTestId("prompt-new").click();
  const dialog = page.getByTestId("prompt-dialog");
  await expect(dialog).toBeVisible();
  await page.getByTestId("prompt-name").fill("Two words");
  await page.getByTestId("prompt-text").fill("Look for races.\nThen for leaks.");
  await page.getByTestId("prompt-save").click();
  await expect(dialog.getByRole("alert")).toContainText("small letters");
  await page.getByTestId("prompt-name").fill("review");
  await expectAccessible(page);
  await page.getByTestId("prompt-save").click();
  await expect(dialog).toBeHidden();
  const row = page.getByTestId("saved-prompt");
  await expect(row).toContainText("@review");
  await expect(row).toContainText("Look for races.");
  await expectAccessible(page);
  await expectNoOverflow(page);

  await page.getByRole("button", { name: "Change @review" }).click();
  await expect(page.getByTestId("prompt-text")).toHaveValue("Look for races.\nThen for leaks.");
  await page.getByTestId("prompt-text").fill("Look for deadlocks.");
  await page.getByTestId("prompt-save").click();
  await expect(row).toContainText("Look for deadlocks.");
  await page.reload();
  await hydrated(page);
  await expect(row).toContainText("Look for deadlocks.");

  await page.getByRole("button", { name: "Delete @review" }).click();
  await page.getByTestId("confirm-prompt-delete").click();
  await expect(row).toHaveCount(0);
  await expect(page.getByText("Nothing is saved yet.")).toBeVisible();
});

test("a profile is given a server whose key is not shown again, and tasks a way to be run", async ({ page, request, start, faults }) => {
  // What the server does not accept, the browser complains about too.
  faults.allow(/status of 400 .*mcp-config\/save/);
  faults.allow(/status of 409 .*executor-profiles\/delete/);
  // Looks at every width and with axe, in both themes, of the page and of two dialogs.
  test.slow();
  // One of its own: what can be chosen for a new task would be there for others too.
  const { url } = await start();
  const api = new Api(request, url);
  await page.goto(`${url}/settings`);
  await hydrated(page);
  await page.getByTestId("server-new").click();
  const server = page.getByTestId("server-dialog");
  await page.getByTestId("server-name").fill("kandev");
  await page.getByTestId("server-command").fill("npx");
  await page.getByTestId("server-args").fill("-y\nfiles");
  await page.getByTestId("server-env").fill("KEY=s3cret");
  await page.getByTestId("server-save").click();
  await expect(server.getByRole("alert")).toContainText("Flightdeck's own");
  await expectAccessible(page);
  await expectNoOverflow(page);
  await page.getByTestId("server-name").fill("files");
  await page.getByTestId("server-save").click();
  await expect(server).toBeHidden();
  const row = page.getByTestId("mcp-server");
  await expect(row).toContainText("npx -y files");
  await page.getByTestId("servers-enabled").uncheck();
  await page.reload();
  await hydrated(page);
  await expect(page.getByTestId("servers-enabled")).not.toBeChecked();
  expect(await page.content()).not.toContain("s3cret");
  await page.getByRole("button", { name: "Change files" }).click();
  await expect(page.getByTestId("server-env")).toHaveValue("KEY");
  await page.getByTestId("server-args").fill("elsewhere");
  await page.getByTestId("server-save").click();
  await expect(server.getByRole("alert")).toContainText("gives no value");
  await page.getByTestId("server-args").fill("-y\nfiles");
  await page.getByTestId("server-save").click();
  await expect(server).toBeHidden();

  await page.getByTestId("executor-new").click();
  await page.getByTestId("executor-name").fill("With a database");
  await page.getByTestId("executor-prepare").fill("echo ready > ready");
  await page.getByTestId("executor-policy").selectOption("none");
  await page.getByTestId("prepare-seconds").fill("20");
  await expectAccessible(page);
  await expectNoOverflow(page);
  await page.getByTestId("executor-save").click();
  const way = page.getByTestId("executor-profile");
  await expect(way).toContainText("prepares the folder · no servers");
  await expectAccessible(page);
  await expectNoOverflow(page);

  await page.goto(url);
  await hydrated(page);
  await page.keyboard.press("c");
  await page.getByTestId("task-title-input").fill("Run in a way of its own");
  await page.getByTestId("executor-profile-select").selectOption({ label: "With a database" });
  await page.getByTestId("create-without-starting").click();
  await expect(page.getByTestId("create-task-dialog")).toBeHidden();
  const { workspaces } = await api.get<{ workspaces: { id: string }[] }>("/workspaces");
  const { tasks } = await api.get<{ tasks: { title: string; executor_profile_id: string | null }[] }>(
    `/workspaces/${workspaces[0]?.id}/tasks`,
  );
  expect(tasks.find((task) => task.title === "Run in a way of its own")?.executor_profile_id).toBeTruthy();

  await page.goto(`${url}/settings`);
  await hydrated(page);
  await page.getByRole("button", { name: "Delete With a database" }).click();
  await page.getByTestId("confirm-executor-delete").click();
  await expect(page.getByText("tasks keep theirs until they are deleted", { exact: false })).toBeVisible();
  await page.getByRole("button", { name: "Delete files" }).click();
  await page.getByTestId("confirm-server-delete").click();
  await expect(row).toHaveCount(0);
});
