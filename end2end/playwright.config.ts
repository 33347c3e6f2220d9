// Run by `cargo xtask e2e`, which builds, finds the browser and says where both are:
// FLIGHTDECK_BIN (server), FLIGHTDECK_CHROMIUM (browser; without it Playwright's own).
import { defineConfig, devices } from "@playwright/test";

const browser = process.env.FLIGHTDECK_CHROMIUM;

export default defineConfig({
  testDir: "tests",
  outputDir: "test-results",
  // A test that only passes when asked twice is broken.
  retries: 0,
  forbidOnly: Boolean(process.env.CI),
  workers: 2,
  timeout: 60_000,
  expect: { timeout: 10_000 },
  reporter: [["list"], ["json"]],
  use: {
    ...devices["Desktop Chrome"],
    locale: "en-US",
    timezoneId: "UTC",
    trace: "retain-on-failure",
    // Nothing is to be measured in the middle of a transition.
    contextOptions: { reducedMotion: "reduce" },
    launchOptions: {
      ...(browser ? { executablePath: browser } : {}),
      args: [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
      ],
    },
  },
});
