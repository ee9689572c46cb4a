// Opens a report in Chromium, and fails unless it is self-contained and well formed:
//   node look.mjs REPORT.html FOLDER-FOR-SCREENSHOTS
// No console message, no request except for the file, a visible verdict, no horizontal overflow on
// a phone, and no violation found by axe, in light and dark.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium, judge, screens, started, watched } from "./eyes.mjs";

const [report, folder] = process.argv.slice(2);
if (!report || !folder) {
  console.error("usage: node look.mjs REPORT.html FOLDER");
  process.exit(2);
}
const address = pathToFileURL(resolve(report)).href;
const wrong = [];

/** Records a failure on this screen unless the condition holds. */
function check(screen, holds, message) {
  if (!holds) wrong.push(`${basename(report)}, ${screen.name}: ${message}`);
}

/** Facts about the page, from inside it. */
function measure() {
  const seen = (element) => {
    const box = element.getBoundingClientRect();
    return box.width > 0 && box.height > 0 && getComputedStyle(element).visibility === "visible";
  };
  const root = document.documentElement;
  return {
    verdicts: [...document.querySelectorAll(".v")].filter(seen).map((v) => v.textContent),
    none: document.querySelector("main").textContent.includes("No verdict"),
    styled: getComputedStyle(document.querySelector(".skip")).position === "absolute",
    paper: getComputedStyle(document.body).backgroundColor,
    height: root.scrollHeight,
    overflow: root.scrollWidth - root.clientWidth,
    broken: /\b(NaN|Infinity|undefined)\b/.test(document.body.innerText),
    foreign: document.querySelectorAll("script, img, iframe, object, embed, link, [style]").length,
  };
}

/** Opens the report once and checks it. */
async function look(context, screen) {
  const tell = (message) => check(screen, false, message);
  const page = await watched(context, screen, (url) => url === address, tell);
  await page.goto(address, { waitUntil: "load" });
  const found = await page.evaluate(measure);
  check(screen, found.styled, "the style did not come through the page's own policy");
  check(screen, found.verdicts.length > 4 || found.none, "no verdict in sight");
  check(screen, found.overflow <= 0, `the page is ${found.overflow} px too wide`);
  check(screen, !found.broken, "a number that is none is shown");
  check(screen, found.foreign === 0, `${found.foreign} elements that do not belong here`);
  // A screenshot's height is limited, and a page may have many workloads.
  const height = Math.min(found.height, 12000);
  const clip = { x: 0, y: 0, width: screen.width, height };
  await page.screenshot({ path: join(folder, `${screen.name}.png`), fullPage: true, clip });
  await judge(page, tell);
  await page.close();
  return found;
}

mkdirSync(folder, { recursive: true });
const profile = mkdtempSync(join(tmpdir(), "furlong-browser-"));
const context = await chromium.launchPersistentContext(profile, started);
try {
  const papers = new Set();
  for (const screen of screens) papers.add((await look(context, screen)).paper);
  check({ name: "all" }, papers.size === 2, "light and dark look the same");
} finally {
  await context.close();
  rmSync(profile, { recursive: true, force: true });
}
for (const line of wrong) console.error(line);
if (wrong.length > 0) process.exit(1);
console.log(`${basename(report)}: ${screens.length} screens, nothing wrong; pictures in ${folder}`);
