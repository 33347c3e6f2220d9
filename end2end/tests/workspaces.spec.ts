// Workspaces: each has a board of its own, and the sidebar's head leads from one to another.
import { Api } from "../support/api.ts";
import { expectAccessible, expectNoOverflow, hydrated } from "../support/checks.ts";
import { createTask } from "../support/story.ts";
import { expect, test } from "../support/test.ts";

test("a workspace is made, gone to and from, and its tasks stay beside one another", async ({ page, request, start, faults }) => {
  faults.allow(/status of 404/);
  const server = await start();
  const api = new Api(request, server.url);
  await createTask(api, { title: "At home", start_agent: false });
  await page.goto(server.url);
  await hydrated(page);
  const switcher = page.getByTestId("workspace-switcher").filter({ visible: true });
  const tree = page.getByRole("navigation", { name: "Tasks" }).filter({ visible: true });
  await expect(switcher).toHaveText("Default");
  await expect(tree).toContainText("At home");

  // By the keyboard alone.
  await switcher.focus();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("menuitem", { name: "Default" })).toBeFocused();
  await page.keyboard.press("End");
  await page.keyboard.press("Enter");
  const dialog = page.getByTestId("new-workspace-dialog");
  await expect(dialog).toBeVisible();
  await page.getByTestId("workspace-name").focus();
  await page.keyboard.press("Enter");
  await expect(page.getByText("Say what the workspace is called.")).toBeVisible();
  await page.keyboard.type("A second workspace with a name that has to be cut somewhere");
  await page.keyboard.press("Enter");
  await expect(dialog).toBeHidden();
  await expect(page).toHaveURL(/\/w\/[0-9a-f-]{36}$/);
  const address = page.url();
  await expect(switcher).toContainText("A second workspace");
  await expect(page.getByTestId("try-demo")).toBeVisible();
  // An empty tree has no height.
  await expect(page.getByRole("navigation", { name: "Tasks" }).getByText("At home")).toHaveCount(0);
  await expectAccessible(page);
  await expectNoOverflow(page, [320, 390, 1440]);

  await page.getByTestId("new-task").filter({ visible: true }).click();
  await page.getByTestId("task-title-input").fill("At work");
  await page.getByTestId("create-without-starting").click();
  await expect(page.getByTestId("kanban-column-scroll").getByText("At work").first()).toBeVisible();
  const { workspaces } = await api.get<{ workspaces: { id: string }[] }>("/workspaces");
  const titles = async (id?: string) =>
    (await api.get<{ tasks: { title: string }[] }>(`/workspaces/${id}/tasks`)).tasks.map((task) => task.title);
  expect(await titles(workspaces[0]?.id)).toEqual(["At home"]);
  expect(await titles(workspaces[1]?.id)).toEqual(["At work"]);

  // What happens there shows here, live, and what happens elsewhere does not.
  await api.post("/tasks", { title: "Made elsewhere", workspace_id: workspaces[0]?.id, start_agent: false });
  await api.post("/tasks", { title: "Made beside", workspace_id: workspaces[1]?.id, start_agent: false });
  await expect(tree).toContainText("Made beside");
  await expect(tree).not.toContainText("Made elsewhere");

  // Pages that belong to no workspace keep the one that was looked at, also when they are loaded anew.
  await page.goto(`${server.url}/inbox`);
  await hydrated(page);
  await expect(switcher).toContainText("A second workspace");
  await page.getByRole("link", { name: "Flightdeck" }).click();
  await expect(page).toHaveURL(address);

  // A task's page has the sidebar of its own workspace.
  await tree.getByRole("link", { name: "At work" }).click();
  await expect(page).toHaveURL(/\/tasks\//);
  const task = page.url();
  await switcher.click();
  await page.getByRole("menuitem", { name: "Default" }).click();
  await expect(page).toHaveURL(`${server.url}/`);
  await expect(tree).toContainText("Made elsewhere");
  await expect(page.getByTestId("kanban-column-scroll").getByText("At home").first()).toBeVisible();
  await page.goBack();
  await expect(page).toHaveURL(task);
  await expect(tree).toContainText("At work");
  await expect(tree).not.toContainText("At home");
  await page.reload();
  await hydrated(page);
  await expect(tree).toContainText("At work");

  await page.goto(`${server.url}/`);
  await hydrated(page);
  await expect(switcher).toHaveText("Default");
  await page.goto(`${server.url}/w/019a0000-0000-7000-8000-000000000000`);
  await expect(page.getByText("There is no such workspace.")).toBeVisible();
});

test("on a phone the head of the task sheet leads from one workspace to another", async ({ page, request, start }) => {
  const server = await start();
  const api = new Api(request, server.url);
  const { id } = await api.post<{ id: string }>("/workspaces", { name: "A second workspace" });
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(server.url);
  await hydrated(page);
  await page.getByTestId("mobile-session-menu").click();
  const sheet = page.getByTestId("task-switcher");
  await expect(sheet).toBeVisible();
  await sheet.getByTestId("workspace-switcher").click();
  await expectAccessible(page);
  await page.getByRole("menuitem", { name: "A second workspace" }).click();
  await expect(page).toHaveURL(`${server.url}/w/${id}`);
  await expect(sheet).toBeHidden();
});
