// The first page: readable without a script, taken over by the bundle without a word, in either theme, at any width.
import { expectAccessible, expectNoOverflow, hydrated } from "../support/checks.ts";
import { expect, test } from "../support/test.ts";

test.describe("without JavaScript", () => {
  test.use({ javaScriptEnabled: false });

  test("the page is readable", async ({ page }) => {
    const response = await page.goto("/");
    expect(response?.status()).toBe(200);
    await expect(page).toHaveTitle(/Flightdeck/);
    await expect(page.getByRole("main")).toBeVisible();
    await expect(page.getByRole("heading", { level: 1 })).not.toBeEmpty();
    // Styled, too: the style sheet's own background, not the browser's white.
    const background = await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    expect(background).toMatch(/^oklch/);
  });
});

test("the bundle takes over without a fault", async ({ page }) => {
  await page.goto("/");
  await hydrated(page);
});

test("bundle and styles may be cached for ever, the page may not", async ({ page }) => {
  const caching = new Map<string, string | undefined>();
  page.on("response", (response) => {
    caching.set(new URL(response.url()).pathname, response.headers()["cache-control"]);
  });
  await page.goto("/");
  await hydrated(page);
  const assets = [...caching].filter(([path]) => path.startsWith("/pkg/"));
  const kinds = new Set(assets.map(([path]) => path.split(".").at(-1)));
  expect([...kinds].sort()).toEqual(["css", "js", "wasm"]);
  for (const [path, value] of assets) expect(value, path).toContain("immutable");
  expect(caching.get("/")).toBe("no-store");
});

test("the theme can be chosen and stays chosen", async ({ page }) => {
  await page.emulateMedia({ colorScheme: "light" });
  await page.goto("/");
  await hydrated(page);
  const background = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const light = await background();
  const toggle = page.getByTestId("theme-toggle");
  while ((await page.locator("html").getAttribute("data-theme")) !== "dark") {
    const before = await toggle.getAttribute("aria-label");
    await toggle.click();
    await expect(toggle).not.toHaveAttribute("aria-label", before ?? "");
  }
  const dark = await background();
  expect(dark).not.toBe(light);
  await page.reload();
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  expect(await background()).toBe(dark);
});

test("nothing is wrong for assistive technology", async ({ page }) => {
  await page.goto("/");
  await hydrated(page);
  await expectAccessible(page);
});

test("nothing reaches over the edge", async ({ page }) => {
  await page.goto("/");
  await hydrated(page);
  await expectNoOverflow(page);
});
