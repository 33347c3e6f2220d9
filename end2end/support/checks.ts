// Checks that every page has to pass.
import { AxeBuilder } from "@axe-core/playwright";
import { expect, type Page } from "@playwright/test";

/** Widths every page is looked at, in CSS pixels. */
export const WIDTHS = [320, 360, 390, 768, 1024, 1440, 1920];

/** Zero axe violations, in light and in dark. `include` narrows it to a part, such as a dialog. */
export async function expectAccessible(page: Page, options: { include?: string } = {}): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    const builder = new AxeBuilder({ page });
    if (options.include) builder.include(options.include);
    const { violations } = await builder.analyze();
    const found = violations.map(({ id, help, nodes }) => ({
      rule: `${id}: ${help}`,
      places: nodes.map((node) => `${node.target.join(" ")}: ${node.failureSummary ?? ""}`),
    }));
    expect(found, `axe violations in ${colorScheme}`).toEqual([]);
  }
  await page.emulateMedia({ colorScheme: null, reducedMotion: "reduce" });
}

/** No sideways scrolling of the document at any of `widths`. Restores the size afterwards. */
export async function expectNoOverflow(page: Page, widths: readonly number[] = WIDTHS): Promise<void> {
  const before = page.viewportSize();
  for (const width of widths) {
    await page.setViewportSize({ width, height: 800 });
    const measured = await page.evaluate(() => {
      const room = document.documentElement.clientWidth;
      const wide = [...document.querySelectorAll<HTMLElement>("body *")]
        .filter((element) => element.getBoundingClientRect().right > room + 0.5)
        // What scrolls within its own box may be as wide as it likes.
        .filter((element) => !element.closest("[data-scrolls-sideways]"))
        .slice(0, 5)
        .map((element) => element.outerHTML.slice(0, 160));
      return { scroll: document.documentElement.scrollWidth, room, wide };
    });
    expect(
      measured.scroll,
      `the document is ${measured.scroll} px wide in a window of ${width}; reaching out: ${measured.wide.join("\n")}`,
    ).toBeLessThanOrEqual(measured.room);
  }
  if (before) await page.setViewportSize(before);
}

/** Resolves when the bundle has taken over the page: until then a press may do nothing. */
export async function hydrated(page: Page): Promise<void> {
  await expect(page.locator("html")).toHaveAttribute("data-hydrated", "");
}
