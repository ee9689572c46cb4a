// Opens a report in Chromium, and fails unless it is self-contained and well formed:
//   node look.mjs REPORT.html FOLDER-FOR-SCREENSHOTS [all]
// No console message, no request except for the file, a verdict on the first screen, no picture
// cut and no horizontal overflow, folded and unfolded, no violation found by axe, light and dark.
// Sorting and filtering work with the keyboard; without scripts everything can be read, and print
// unfolds. It is small, and short until it is unfolded. With `all` it is the page of a run of all
// experiments, whose unfolded parts are those of the other pages: axe does not read them again.
import { mkdirSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium, judge, screens, started, watched } from "./eyes.mjs";

const [report, folder, all] = process.argv.slice(2);
if (!report || !folder) {
  console.error("usage: node look.mjs REPORT.html FOLDER [all]");
  process.exit(2);
}
const BYTES_MAX = 300_000;
const HEIGHT_MAX = 6_000;
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
    return element.checkVisibility() && box.width > 0 && box.height > 0;
  };
  const root = document.documentElement;
  const inside = (element) => {
    const { left, right } = element.getBoundingClientRect();
    return left >= 0 && right <= root.clientWidth + 0.5;
  };
  const verdicts = [...document.querySelectorAll(".v")].filter(seen);
  return {
    verdicts: verdicts.filter((v) => v.getBoundingClientRect().bottom <= innerHeight).length,
    none: document.querySelector("main").textContent.includes("No verdict"),
    cut: [...document.querySelectorAll(".lines svg, .ruler svg, figure svg")]
      .filter((picture) => seen(picture) && !inside(picture)).length,
    styled: getComputedStyle(document.querySelector(".skip")).position === "absolute",
    paper: getComputedStyle(document.body).backgroundColor,
    height: root.scrollHeight,
    overflow: root.scrollWidth - root.clientWidth,
    broken: /\b(NaN|Infinity|undefined)\b/.test(document.body.innerText),
    foreign: document.querySelectorAll("img, iframe, object, embed, link, [style]").length,
    scripts: document.querySelectorAll("script").length,
  };
}

function examine(screen, found) {
  check(screen, found.overflow <= 0, `the page is ${found.overflow} px too wide`);
  check(screen, found.cut === 0, `${found.cut} pictures are cut`);
  check(screen, !found.broken, "a number that is none is shown");
}

async function picture(page, screen, name, height) {
  // A screenshot's height is limited, and a page may have many workloads.
  const clip = { x: 0, y: 0, width: screen.width, height: Math.min(height, 12_000) };
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true, clip });
}

/** A page of the report; what it must not do is recorded. */
function opened(context, screen) {
  const tell = (message) => check(screen, false, message);
  return watched(context, screen, (url) => url === address, tell);
}

/** Unfolds everything. */
const unfold = (page) => page.evaluate(() => {
  for (const fold of document.querySelectorAll("details")) fold.open = true;
});

/** Opens the report once and checks it, folded and unfolded. */
async function look(context, screen) {
  const tell = (message) => check(screen, false, message);
  const page = await opened(context, screen);
  await page.goto(address, { waitUntil: "load" });
  const found = await page.evaluate(measure);
  check(screen, found.styled, "the style did not come through the page's own policy");
  check(screen, found.verdicts > 0 || found.none, "no verdict on the first screen");
  check(screen, found.foreign === 0, `${found.foreign} elements that do not belong here`);
  check(screen, found.scripts === 1, `${found.scripts} scripts`);
  check(screen, found.height <= HEIGHT_MAX, `it is ${found.height} px high`);
  examine(screen, found);
  await page.screenshot({ path: join(folder, `${screen.name}-first.png`) });
  await picture(page, screen, screen.name, found.height);
  await judge(page, tell);
  await unfold(page);
  const open = await page.evaluate(measure);
  examine(screen, open);
  await picture(page, screen, `${screen.name}-open`, open.height);
  // That takes minutes where much is unfolded.
  if (!all) await judge(page, tell);
  await page.close();
  return found;
}

/** The lines of the verdicts that can be seen: workload, verdict, and change in per cent. */
function lines() {
  const rows = [...document.querySelectorAll(".lines > li")];
  return rows.filter((row) => row.checkVisibility()).map((row) => ({
    list: [...document.querySelectorAll(".lines")].indexOf(row.parentElement),
    workload: row.querySelector("a").textContent,
    verdict: row.querySelector(".v").textContent,
    pct: Number(row.dataset.pct),
  }));
}

/** Sorts and filters with the keyboard, and follows the link of a line. */
async function work(context) {
  const screen = screens[0];
  const page = await opened(context, screen);
  await page.goto(address, { waitUntil: "load" });
  const total = await page.locator(".lines > li").count();
  if (total < 2) {
    check(screen, (await page.locator(".tools").count()) === 0, "tools for nothing");
    return;
  }
  const shown = () => page.evaluate(lines);
  const word = await page.locator(".lines .v").first().textContent();
  const boxes = page.locator(".tools input[type=checkbox]");
  for (let i = 0; i < (await boxes.count()); i += 1) {
    const label = await page.locator(".tools label .v").nth(i).textContent();
    if (!label.includes(word)) {
      await boxes.nth(i).focus();
      await page.keyboard.press("Space");
    }
  }
  const filtered = await shown();
  check(screen, filtered.length > 0, `no line is ${word}`);
  check(screen, filtered.every(({ verdict }) => verdict === word), "a filtered verdict is shown");
  await page.reload();
  const name = (await page.locator(".lines a").first().textContent()).trim();
  await page.getByRole("searchbox").fill(name);
  const named = await shown();
  check(screen, named.length > 0 && named.length <= total, `no line has ${name}`);
  await page.getByRole("searchbox").fill("nothing has this name");
  check(screen, (await shown()).length === 0, "a line that does not match is shown");
  await page.getByRole("searchbox").fill("");
  await unfold(page);
  await page.getByLabel("Sort by").selectOption("change");
  const sorted = await shown();
  check(screen, sorted.length === total, `${sorted.length} of ${total} lines are back`);
  check(screen, sorted.every(({ list, pct }, i) => i === 0 || sorted[i - 1].list !== list
    || sorted[i - 1].pct <= pct), "the lines are not sorted by their change");
  await page.reload();
  await page.evaluate(() => {
    for (const fold of document.querySelectorAll(".experiment")) fold.open = true;
  });
  const link = page.locator(".lines a").first();
  await link.press("Enter");
  const target = (await link.getAttribute("href")).slice(1);
  const reached = await page.locator(`[id="${target}"]`).evaluate((one) => one.checkVisibility());
  check(screen, reached, "the link of a line does not unfold its workload");
  await page.close();
}

/** Reads the page without scripts, and prints it. */
async function bare(browser) {
  const screen = { ...screens[0], name: "without scripts" };
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await opened(context, screen);
  await page.goto(address, { waitUntil: "load" });
  check(screen, (await page.locator(".tools").count()) === 0, "tools that cannot work");
  const printed = await page.pdf();
  for (const summary of await page.locator("summary").all()) {
    const folded = (one) => one.checkVisibility() && !one.parentElement.open;
    if (await summary.evaluate(folded)) await summary.evaluate((one) => one.click());
  }
  const parts = page.locator("main :is(.lines > li, table, figure, dl)");
  const hidden = await parts.evaluateAll((all) => all
    .filter((part) => part.childElementCount > 0 && !part.checkVisibility()).length);
  check(screen, hidden === 0, `${hidden} parts stay hidden`);
  examine(screen, await page.evaluate(measure));
  const pages = (pdf) => pdf.toString("latin1").split("/Type /Page\n").length - 1;
  const unfolded = pages(await page.pdf());
  check(screen, pages(printed) === unfolded, `${pages(printed)} of ${unfolded} pages are printed`);
  await context.close();
}

mkdirSync(folder, { recursive: true });
const { size } = statSync(report);
check({ name: "file" }, size <= BYTES_MAX, `it has ${size} bytes`);
const browser = await chromium.launch(started);
const heights = [];
try {
  const context = await browser.newContext();
  const papers = new Set();
  for (const screen of screens) {
    const { paper, height } = await look(context, screen);
    papers.add(paper);
    heights.push(`${height} px at ${screen.width}`);
  }
  check({ name: "all" }, papers.size === 2, "light and dark look the same");
  await work(context);
  await bare(browser);
} finally {
  await browser.close();
}
for (const line of wrong) console.error(line);
if (wrong.length > 0) process.exit(1);
const high = [...new Set(heights)].join(", ");
console.log(`${basename(report)}: ${size} bytes, ${high}; nothing wrong; pictures in ${folder}`);
