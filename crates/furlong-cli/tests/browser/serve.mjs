// Walks through a site of `furlong serve` in Chromium, and fails unless every page is correct:
//   node serve.mjs http://127.0.0.1:PORT/ FOLDER-FOR-SCREENSHOTS
// Every linked page, in light and dark, on a desktop and on a phone, with scripts forbidden and
// with scripts allowed: no console message, no request elsewhere, no script, no horizontal overflow,
// no violation found by axe, and every link reachable by keyboard.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { chromium, judge, screens, started, watched } from "./eyes.mjs";

const [start, folder] = process.argv.slice(2);
if (!start || !folder) {
  console.error("usage: node serve.mjs http://127.0.0.1:PORT/ FOLDER");
  process.exit(2);
}
const origin = new URL(start).origin;
// Pages of one kind that are visited at most: further ones would show nothing new.
const OF_A_KIND = 4;
const wrong = [];

function check(where, holds, message) {
  if (!holds) wrong.push(`${where}: ${message}`);
}

/** The kind of a page: its path without names, and the names of its parameters. */
function kind(address) {
  const { pathname, search } = new URL(address);
  const [, first, second] = pathname.split("/");
  const asked = [...new URLSearchParams(search).keys()].join("+");
  return `${first || "home"}${second ? "/*" : ""}${asked && `?${asked}`}`;
}

/** Facts about the page, from inside it. */
function measure() {
  const root = document.documentElement;
  const headings = [...document.querySelectorAll("h1, h2, h3, h4")];
  return {
    links: [...document.querySelectorAll("a[href]")].map((a) => a.href),
    title: document.title,
    paper: getComputedStyle(document.body).backgroundColor,
    styled: getComputedStyle(document.querySelector(".skip")).position === "absolute",
    overflow: root.scrollWidth - root.clientWidth,
    height: root.scrollHeight,
    broken: /\b(NaN|Infinity|undefined)\b/.test(document.body.innerText),
    foreign: [...document.querySelectorAll("script, img, iframe, object, embed, base, style, [style]")]
      .map((element) => element.outerHTML.slice(0, 80)),
    handlers: [...document.querySelectorAll("*")]
      .filter((element) => [...element.attributes].some(({ name }) => name.startsWith("on"))).length,
    levels: headings.map((heading) => Number(heading.tagName[1])),
  };
}

/** A page that may only request this site, and whose forbidden events are recorded. */
function opened(context, screen) {
  const allowed = (url) => new URL(url).origin === origin;
  const tell = (message, page) => check(`${screen.name} ${page.url()}`, false, message);
  return watched(context, screen, allowed, tell);
}

/** Checks one page; returns the facts about it, its links included. */
async function look(page, screen, address, picture) {
  const response = await page.goto(address, { waitUntil: "load" });
  const where = `${screen.name} ${address}`;
  check(where, response.status() === 200, `status ${response.status()}`);
  const found = await page.evaluate(measure);
  check(where, found.styled, "it has no style");
  check(where, found.title.endsWith(" – furlong"), `title: ${found.title}`);
  check(where, found.overflow <= 0, `the page is ${found.overflow} px too wide`);
  check(where, !found.broken, "a number that is none is shown");
  check(where, found.foreign.length === 0, `elements that do not belong here: ${found.foreign}`);
  check(where, found.handlers === 0, `${found.handlers} elements with handlers`);
  check(where, found.levels[0] === 1, "its first heading is not the first");
  if (picture) {
    const height = Math.min(found.height, 8000);
    const clip = { x: 0, y: 0, width: screen.width, height };
    await page.screenshot({ path: join(folder, `${picture}-${screen.name}.png`), fullPage: true, clip });
  }
  return found;
}

/** Checks that the Tab key reaches every link and field of a page, in page order. */
async function reach(page, screen, address) {
  await page.goto(address, { waitUntil: "load" });
  const wanted = await page.evaluate(() => {
    const seen = (element) => element.checkVisibility();
    return [...document.querySelectorAll("a[href], button, select, input, summary, .scroll")]
      .filter(seen)
      .filter((element) => element.type !== "radio" || element.checked)
      .slice(0, 60)
      .map((element) => element.outerHTML.slice(0, 120));
  });
  const reached = [];
  for (let i = 0; i < wanted.length; i += 1) {
    await page.keyboard.press("Tab");
    reached.push(await page.evaluate(() => {
      const style = getComputedStyle(document.activeElement);
      const ring = style.outlineStyle !== "none" && style.outlineWidth !== "0px";
      return { html: document.activeElement.outerHTML.slice(0, 120), ring };
    }));
  }
  const order = reached.map(({ html }) => html);
  check(`${screen.name} ${address}`, JSON.stringify(order) === JSON.stringify(wanted),
    `the tabulator leads elsewhere:\n${order.find((html, i) => html !== wanted[i])}`);
  check(`${screen.name} ${address}`, reached.every(({ ring }) => ring), "the focus cannot be seen");
}

/** Follows links from the first page; returns the pages by kind. */
async function walk(page, screen) {
  const kinds = new Map();
  const known = new Set([start]);
  const waiting = [start];
  while (waiting.length > 0) {
    const address = waiting.shift();
    const own = kinds.get(kind(address)) ?? [];
    if (own.length >= OF_A_KIND) continue;
    kinds.set(kind(address), [...own, address]);
    const { links } = await look(page, screen, address);
    for (const link of links) {
      const plain = link.split("#")[0];
      check(`${screen.name} ${address}`, new URL(link).origin === origin, `leads to ${link}`);
      if (known.has(plain) || /\/runs\/\w+\.\w+$/.test(plain)) continue;
      known.add(plain);
      waiting.push(plain);
    }
  }
  return kinds;
}

/** Checks that the forms work with the keyboard alone and without a script. */
async function fill(page) {
  await page.goto(start, { waitUntil: "load" });
  await page.locator("h3.subject a").first().click();
  const radios = page.locator("input[name=base]");
  if ((await radios.count()) > 1) {
    await page.getByRole("button", { name: "Compare base with the other" }).press("Enter");
    await page.waitForURL((url) => url.pathname === "/compare" && url.searchParams.has("with"));
    check("form", (await page.locator("h1").textContent()).includes("against"), "no comparison");
    await page.goBack();
  }
  await page.getByLabel("Tag").fill("nobody has it");
  await page.getByRole("button", { name: "Show" }).press("Enter");
  await page.waitForURL((url) => url.searchParams.get("tag") === "nobody has it");
  check("form", (await page.locator("main").textContent()).includes("No run matches"), "no filter");
}

mkdirSync(folder, { recursive: true });
const browser = await chromium.launch(started);
let walked = 0;
let shown = 0;
try {
  const bare = await browser.newContext({ javaScriptEnabled: false });
  const blank = await opened(bare, screens[0]);
  await fill(blank);
  await bare.close();
  const context = await browser.newContext();
  const page = await opened(context, screens[0]);
  const kinds = await walk(page, screens[0]);
  for (const pages of kinds.values()) walked += pages.length;
  await page.close();
  // The first page of each kind, on every screen.
  for (const screen of screens) {
    const own = await opened(context, screen);
    const papers = new Set();
    for (const [name, pages] of kinds) {
      const address = pages[0];
      const picture = name.replaceAll(/[^a-z+]+/g, "-").replaceAll(/^-|-$/g, "");
      papers.add((await look(own, screen, address, picture)).paper);
      await judge(own, (message) => check(`${screen.name} ${address}`, false, message));
      shown += 1;
      if (screen.name === "desktop-light" || screen.name === "phone-dark") {
        await reach(own, screen, address);
      }
    }
    screen.papers = [...papers];
    await own.close();
  }
  const light = screens.find(({ name }) => name === "desktop-light").papers;
  const dark = screens.find(({ name }) => name === "desktop-dark").papers;
  check("all", light.length === 1 && dark.length === 1, "pages have several papers");
  check("all", light[0] !== dark[0], "light and dark look the same");
  for (const wanted of ["home", "experiments/*", "runs/*", "compare", "compare?base+with"]) {
    check("all", kinds.has(wanted), `no page of the kind ${wanted} was found`);
  }
  check("all", [...kinds.keys()].some((name) => name.startsWith("metric?")), "no series was found");
} finally {
  await browser.close();
}
for (const line of wrong.slice(0, 60)) console.error(line);
if (wrong.length > 0) {
  console.error(`${wrong.length} things wrong`);
  process.exit(1);
}
console.log(`${walked} pages walked, ${shown} looked at, nothing wrong; pictures in ${folder}`);
