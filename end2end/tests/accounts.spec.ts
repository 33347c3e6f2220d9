// Signing in, in a browser: the page works by keyboard and without a script, and leads back to where one wanted to go.
import { expectAccessible, expectNoOverflow } from "../support/checks.ts";
import { expect, test } from "../support/test.ts";

const NAME = "Ada";
const PASSWORD = "correct horse battery";

test("who is not signed in is asked to, and comes to where they wanted to go", async ({ browser, start }) => {
  const server = await start();
  server.makeOperator(NAME, PASSWORD);
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  // That there is an account counts after a moment.
  await expect(async () => {
    await page.goto(`${server.url}/inbox`);
    await expect(page).toHaveURL(/\/sign-in\?next=%2Finbox$/, { timeout: 1_000 });
  }).toPass({ timeout: 20_000 });
  await expectNoOverflow(page);

  await page.getByTestId("sign-in-name").focus();
  await page.keyboard.type(NAME);
  await page.keyboard.press("Tab");
  await page.keyboard.type("not the password");
  await page.keyboard.press("Enter");
  await expect(page.getByTestId("sign-in-notice")).toContainText("not right");
  await page.getByTestId("sign-in-name").fill(NAME.toLowerCase());
  await page.getByTestId("sign-in-password").fill(PASSWORD);
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(`${server.url}/inbox`);

  await page.goto(`${server.url}/sign-in`);
  await page.getByTestId("sign-out").click();
  await expect(page.getByTestId("sign-in-notice")).toContainText("signed out");
  await page.goto(`${server.url}/`);
  await expect(page).toHaveURL(/\/sign-in/);
  await context.close();

  const looked = await browser.newContext();
  const seen = await looked.newPage();
  await seen.goto(`${server.url}/sign-in`);
  await expectAccessible(seen);
  await looked.close();
});
