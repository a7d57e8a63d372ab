// Opens a report in headless Chromium, as a person does, and prints what the browser saw.
//
// usage: browser_report.mjs FILE
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const require = createRequire(join(process.env.NIAGARA_BRIDGE_PEERS, "node", "index.js"));
const { chromium } = require("playwright-core");

const [file] = process.argv.slice(2);
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
page.on("console", (message) => {
  if (["error", "warning"].includes(message.type())) {
    problems.push(message.text());
  }
});
const address = pathToFileURL(file).href;
page.on("request", (request) => {
  if (request.url() !== address) {
    problems.push(`the page asks for ${request.url()}`);
  }
});

await page.goto(address);
const count = (selector) => page.locator(selector).count();
const charts = await page.evaluate(
  () =>
    [...document.querySelectorAll("figure svg")].filter((svg) => {
      const box = svg.getBoundingClientRect();
      return box.width > 200 && box.height > 60 && svg.querySelectorAll("polyline, path, line").length > 0;
    }).length,
);

const links = await count("a");
const reached = [];
for (let step = 0; step < links + (await count(".scroll")); step += 1) {
  await page.keyboard.press("Tab");
  const link = await page.evaluate(() => document.activeElement?.getAttribute("href"));
  if (link !== null && link !== undefined) {
    reached.push(link);
  }
}

await page.setViewportSize({ width: 390, height: 800 });
const overflow = await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);

await page.emulateMedia({ media: "print" });
const printedNav = await page.evaluate(() => getComputedStyle(document.querySelector("nav")).display);
const paper = (await page.pdf({ format: "A4" })).toString("latin1");

const seen = {
  title: await page.title(),
  scripts: await count("script"),
  images: await count("img"),
  issues: await count("section.issue"),
  charts,
  reached,
  overflow,
  printed_nav: printedNav,
  pages: (paper.match(/\/Type\s*\/Page\b/g) ?? []).length,
  problems,
};
await browser.close();
process.stdout.write(JSON.stringify(seen));
