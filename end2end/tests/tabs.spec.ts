// Many tabs of one browser: none starves another, and the feed outlives the tab that listens.
import type { Page } from "@playwright/test";
import { hydrated } from "../support/checks.ts";
import { createTask } from "../support/story.ts";
import { expect, test } from "../support/test.ts";

/** More than the six connections that a browser opens to one server. */
const TABS = 8;

test("eight tabs share one connection, and the next tab takes it over", async ({ context, api, request, server }) => {
  const listeners = async () => {
    const metrics = await (await request.get(`${server.url}/metrics`)).text();
    return Number(/^flightdeck_event_listeners (\d+)/m.exec(metrics)?.[1]);
  };
  const tabs: Page[] = [];
  for (let number = 0; number < TABS; number += 1) {
    const tab = await context.newPage();
    await tab.goto("/");
    await hydrated(tab);
    tabs.push(tab);
  }
  await expect.poll(listeners).toBe(1);

  const card = (tab: Page, title: string) => tab.getByTestId("task-card-title").filter({ hasText: title });
  await createTask(api, { title: "Seen by all tabs", start_agent: false });
  for (const tab of tabs) await expect(card(tab, "Seen by all tabs")).toBeVisible();

  // The first tab listens; with it the connection goes, and nothing that happens meanwhile is lost.
  await tabs.shift()?.close();
  await createTask(api, { title: "Seen by those that are left", start_agent: false });
  for (const tab of tabs) await expect(card(tab, "Seen by those that are left")).toBeVisible({ timeout: 15_000 });
  await expect.poll(listeners).toBe(1);
});
