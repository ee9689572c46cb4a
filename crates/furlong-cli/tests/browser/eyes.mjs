// Shared parts of the tests in Chromium: screens, start options, forbidden events, and axe.
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

export { chromium };

const axe = createRequire(import.meta.url)("axe-core").source;

export const screens = [
  { name: "desktop-light", width: 1280, height: 800, colorScheme: "light" },
  { name: "desktop-dark", width: 1280, height: 800, colorScheme: "dark" },
  { name: "phone-light", width: 390, height: 844, colorScheme: "light" },
  { name: "phone-dark", width: 390, height: 844, colorScheme: "dark" },
];

export const started = {
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  headless: true,
  args: [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ],
};

/** A page that reports forbidden events. It may only request addresses that `allowed` accepts. */
export async function watched(context, screen, allowed, tell) {
  const page = await context.newPage();
  await page.setViewportSize({ width: screen.width, height: screen.height });
  await page.emulateMedia({ colorScheme: screen.colorScheme });
  page.on("console", (message) => tell(`console: ${message.text()}`, page));
  page.on("pageerror", (error) => tell(`error: ${error.message}`, page));
  page.on("dialog", (dialog) => {
    tell(`a dialog opened: ${dialog.message()}`, page);
    dialog.dismiss();
  });
  page.on("request", (request) => {
    if (!allowed(request.url())) tell(`request: ${request.url()}`, page);
  });
  return page;
}

/** Reports axe's violations. The page's policy would block axe's script, so it is evaluated. */
export async function judge(page, tell) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  for (const { id, help, nodes } of violations) {
    tell(`${id}: ${help} (${nodes.length}, first ${nodes[0].html.slice(0, 160)})`);
  }
}
