// Repositories and pull requests: kept in the settings, chosen for a new task, and cared for beside its conversation.
import type { Page } from "@playwright/test";
import { Api } from "../support/api.ts";
import { expectAccessible, expectNoOverflow, hydrated } from "../support/checks.ts";
import { Github } from "../support/github.ts";
import { createTask, getTask, untilIdle } from "../support/story.ts";
import { expect, test } from "../support/test.ts";

const LONG = "owner/a-repository-with-a-rather-long-name-that-has-to-break-somewhere";

interface Shown {
  requests: { number: number; auto_fix_enabled: boolean; auto_merge_enabled: boolean; auto_fix_prompt_override: string | null }[];
}

async function openPanel(page: Page, url: string): Promise<void> {
  await page.goto(url);
  await hydrated(page);
  await page.getByTestId("side-repositories").click();
  await expect(page.getByTestId("repositories-panel")).toBeVisible();
}

test("a repository is kept, a task is about it, and its pull request is cared for until it is merged", async ({ page, request, start, faults }) => {
  test.slow();
  faults.allow(/status of 400/);
  const github = await Github.start();
  const server = await start({ env: github.env() });
  const api = new Api(request, server.url);
  try {
    // Kept in the settings.
    await page.goto(`${server.url}/settings`);
    await hydrated(page);
    const section = page.getByTestId("settings-repositories");
    await expect(section).toContainText("This workspace has no repository yet.");
    await expect(section.getByTestId("provider").filter({ hasText: "GitHub" })).toHaveAttribute("data-token", "");
    await expect(section.getByTestId("provider").filter({ hasText: "GitLab" })).toContainText("GITLAB_TOKEN is not set");
    await page.getByTestId("repository-new").click();
    const dialog = page.getByTestId("repository-dialog");
    await expect(page.getByTestId("repository-address")).toBeFocused();
    await page.keyboard.press("Enter");
    await expect(dialog.getByText("Say where it is: an address, or a folder.")).toBeVisible();
    await page.getByTestId("repository-address").fill(`${github.url}/${LONG}/pull/7`);
    await page.getByTestId("repository-save").click();
    await expect(dialog.getByTestId("form-error")).toContainText("pull or merge request");
    await expectAccessible(page, { include: "[data-testid=repository-dialog]" });
    await page.getByTestId("repository-address").fill(`${github.url}/${LONG}.git`);
    await page.getByTestId("repository-save").click();
    await expect(dialog).toBeHidden();
    const kept = page.getByTestId("repository");
    await expect(kept).toContainText(LONG);
    await kept.getByTestId("repository-edit").click();
    await page.getByTestId("repository-branch").fill("main");
    await page.getByTestId("repository-save").click();
    await expect(kept).toContainText("branch main");
    await expectAccessible(page);
    await expectNoOverflow(page);

    // Chosen for a new task; the card says so.
    await page.goto(server.url);
    await hydrated(page);
    await page.keyboard.press("c");
    await page.getByTestId("task-title-input").fill("Lock the migration");
    await page.getByTestId("task-description-input").fill('e2e:message("Ready.")');
    await page.getByTestId("task-repository-select").selectOption({ label: LONG });
    await expect(page.getByTestId("create-task-dialog")).toContainText("It has no folder on this machine");
    await expectAccessible(page, { include: "[data-testid=create-task-dialog]" });
    await expect(page.getByTestId("agent-profile-select")).toBeEnabled();
    await page.getByTestId("agent-profile-select").selectOption({ label: "Demo agent" });
    await page.getByTestId("start-task").click();
    await expect(page).toHaveURL(/\/tasks\//);
    const id = page.url().split("/").at(-1) ?? "";
    await untilIdle(api, id);

    // Its pull request, by number, of which somebody else wrote the title.
    github.show(LONG, 7, { title: "<img src=x onerror=alert(1)> locks twice", mergeable: "dirty", check: "failure" });
    await page.getByTestId("side-repositories").click();
    const panel = page.getByTestId("repositories-panel");
    await expect(panel.getByTestId("task-code-repository")).toContainText(LONG);
    await panel.getByTestId("request-add").click();
    await page.getByTestId("request-add-input").fill("https://github.example/other/one/pull/7");
    await page.getByTestId("request-add-confirm").click();
    await expect(page.getByTestId("request-add-dialog")).toContainText("a request of another repository");
    await page.getByTestId("request-add-input").fill("#7");
    await page.getByTestId("request-add-confirm").click();
    const row = panel.getByTestId("change-request");
    const link = row.getByTestId("request-link");
    await expect(link).toContainText("#7 <img src=x onerror=alert(1)> locks twice");
    await expect(link).toHaveAttribute("rel", "noopener noreferrer");
    await expect(link).toHaveAttribute("href", `https://github.example/${LONG}/pull/7`);
    await expect(row.getByTestId("request-facts")).toContainText("open · checks failed · conflicts · looked at");
    await expect(page.getByTestId("requests-chip")).toHaveText("#7 checks failed");
    await expect(page.getByTestId("sidebar-task-item").getByTestId("task-requests")).toHaveText("#7 checks failed");

    // What is done by itself: nothing before it is switched on, and the agent hears of it then.
    await expect(row.getByRole("switch", { checked: true })).toHaveCount(0);
    await row.getByText("Have it fixed").click();
    await expect(row.getByTestId("request-auto-fix")).toHaveAttribute("aria-checked", "true");
    await expect(page.getByTestId("chat-message").filter({ hasText: "A check failed" }).first()).toBeVisible({ timeout: 30_000 });
    await row.getByTestId("request-words").fill("Only say what you would do.");
    await row.getByTestId("request-words-save").click();
    await expect(row.getByTestId("request-words-save")).toHaveCount(0);
    await row.getByTestId("request-auto-merge").focus();
    await page.keyboard.press("Space");
    await expect(row.locator("summary")).toContainText("2 of 5 on");
    await expect
      .poll(async () => (await api.get<Shown>(`/tasks/${id}/change-requests`)).requests[0])
      .toMatchObject({ number: 7, auto_fix_enabled: true, auto_merge_enabled: true, auto_fix_prompt_override: "Only say what you would do." });
    await expectAccessible(page);
    await expectNoOverflow(page, [1024, 1440]);

    // Elsewhere it goes on; here that shows by itself once it is looked at.
    await untilIdle(api, id);
    github.show(LONG, 7, { title: "Locks once", mergeable: "clean", check: "success", state: "merged" });
    await row.getByTestId("request-look").click();
    await expect(row).toHaveAttribute("data-state", "merged");
    await expect(link).toContainText("Locks once");
    await page.goto(server.url);
    await hydrated(page);
    const card = page.getByTestId("kanban-card");
    await expect(card.getByTestId("task-repository")).toContainText(LONG);
    await expect(card.getByTestId("task-requests")).toHaveText("#7 merged");
    await expectAccessible(page);
    await expectNoOverflow(page);

    // It is not removed while the task is about it, and the task lets it go after a question.
    await page.goto(`${server.url}/settings`);
    await hydrated(page);
    await kept.getByTestId("repository-delete").click();
    await expect(page.getByTestId("repository-uses")).toContainText("Lock the migration");
    await expect(page.getByTestId("confirm-repository-delete")).toHaveCount(0);
    await expectAccessible(page, { include: "[data-testid=repository-delete-dialog]" });
    await page.getByTestId("repository-uses").getByRole("link").click();
    await hydrated(page);
    await page.getByTestId("side-repositories").click();
    await panel.getByTestId("repository-detach").click();
    await expect(page.getByTestId("repository-ask-dialog")).toContainText("no longer cares for its 1 request");
    await page.getByTestId("repository-ask-confirm").click();
    await expect(panel).toContainText("Attach the repository that the task is about");
    await expect(page.getByTestId("requests-chip")).toHaveCount(0);
    await page.goto(`${server.url}/settings`);
    await hydrated(page);
    await kept.getByTestId("repository-delete").click();
    await page.getByTestId("confirm-repository-delete").click();
    await expect(kept).toHaveCount(0);
  } finally {
    await page.close();
    await github.stop();
  }
});

test("on a phone a repository is attached by its address, and a lost connection puts a switch back and says why", async ({
  page,
  request,
  start,
  faults,
}) => {
  const server = await start({ env: { GITHUB_TOKEN: "", GITLAB_TOKEN: "" } });
  const api = new Api(request, server.url);
  const task = await createTask(api, { title: "Without a token", start_agent: false });
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(`${server.url}/tasks/${task.id}`);
  await hydrated(page);
  await page.getByTestId("related-toggle").click();
  await page.getByTestId("side-repositories").click();
  const panel = page.getByTestId("repositories-panel");
  await expect(panel).toContainText("Attach the repository that the task is about");
  await panel.getByTestId("repository-attach").click();
  const dialog = page.getByTestId("repository-attach-dialog");
  await page.getByTestId("repository-attach-confirm").click();
  await expect(dialog).toContainText("Say which one");
  await page.getByTestId("repository-attach-place").fill("https://me:secret@github.com/owner/name");
  await page.getByTestId("repository-attach-confirm").click();
  await expect(dialog.getByTestId("form-error")).toContainText("must not hold a user name");
  await page.getByTestId("repository-attach-place").fill("git@github.com:owner/name.git");
  await page.getByTestId("repository-attach-confirm").click();
  await expect(dialog).toBeHidden();
  await expect(panel.getByTestId("repository-unreached")).toContainText("Set GITHUB_TOKEN in the environment");

  await panel.getByTestId("request-add").click();
  await page.getByTestId("request-add-input").fill("12");
  await page.getByTestId("request-add-confirm").click();
  const row = panel.getByTestId("change-request");
  await expect(row.getByTestId("request-problem")).toContainText("GITHUB_TOKEN");
  await expectAccessible(page);
  await expectNoOverflow(page, [320, 390]);

  const merge = row.getByTestId("request-auto-merge");
  faults.allow(/Failed to load resource|ERR_FAILED/);
  await page.route("**/api/page/task/request", (route) => route.abort());
  await merge.click();
  await expect(row.getByRole("alert")).not.toBeEmpty();
  await expect(merge).toHaveAttribute("aria-checked", "false");
  await page.unroute("**/api/page/task/request");
  await merge.click();
  await expect(row.locator("summary")).toContainText("1 of 5 on");
  await expect(row.getByRole("alert")).toBeEmpty();

  await row.getByTestId("request-forget").click();
  await page.getByTestId("repository-ask-confirm").click();
  await expect(row).toHaveCount(0);
  expect(await getTask(api, task.id)).toMatchObject({ prs: [], repositories: [{ name: "owner/name", provider: "github" }] });
});
