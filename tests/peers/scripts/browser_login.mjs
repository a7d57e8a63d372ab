// Logs in to the mock in headless Chromium through its login pages, as a person does, and prints what the browser saw.
//
// usage: browser_login.mjs BASE_URL USER PASSWORD
import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(join(process.env.NIAGARA_BRIDGE_PEERS, "node", "index.js"));
const { chromium } = require("playwright-core");

const [base, user, password] = process.argv.slice(2);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ],
});
const page = await browser.newPage();
const problems = [];
page.on("pageerror", (error) => problems.push(String(error)));
page.on("request", (request) => {
  if (request.postData()?.includes(password)) {
    problems.push(`the password went out to ${request.url()}`);
  }
});

await page.goto(`${base}/`);
const first = new URL(page.url()).pathname;
await page.fill("#username", user);
await page.click("#login-submit");
await page.waitForSelector("#password");
await page.fill("#password", password);
await Promise.all([page.waitForNavigation(), page.click("#login-submit")]);
await page.waitForLoadState();
const seen = {
  first,
  url: new URL(page.url()).pathname,
  title: await page.title(),
  error: await page.locator("#login-error").count(),
  csrf: (await page.locator("#csrfToken").count()) > 0,
  cookies: (await page.context().cookies()).map((cookie) => cookie.name).sort(),
  problems,
};
await browser.close();
process.stdout.write(JSON.stringify(seen));
