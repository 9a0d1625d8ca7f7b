import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import type { Running } from "./server.ts";

export interface Visit {
  readonly page: Page;
  /** Script errors, violations of the content security policy, and requests to other hosts. */
  readonly errors: readonly string[];
  goto(hash: string): Promise<void>;
}

/** A tab with its own storage, which records errors. */
export async function visit(
  browser: Browser,
  server: string | Pick<Running, "url" | "cookie">,
  {
    width = 1280,
    height = 800,
    scheme = "light" as "light" | "dark",
  }: { width?: number; height?: number; scheme?: "light" | "dark" } = {},
): Promise<Visit> {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme });
  const { url, cookie } = typeof server === "string" ? { url: server, cookie: null } : server;
  if (cookie !== null) await context.addCookies([{ name: "retinue_team", value: cookie, url }]);
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") errors.push(`${message.text()} ${message.location().url}`.trim());
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(`${url}/`)) errors.push(`request to another host: ${request.url()}`);
  });
  page.on("dialog", (dialog) => {
    errors.push(`a script opened a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  return {
    page,
    errors,
    goto: async (hash) => {
      await page.goto(`${url}/${hash}`);
    },
  };
}

/** The names of the rows of a tree, indented by their level, from top to bottom. */
export function treeOnScreen(page: Page): Promise<string[]> {
  return page.locator(".row[role=treeitem]").evaluateAll((rows) =>
    rows
      .map((row) => ({
        top: row.getBoundingClientRect().top,
        text: `${"  ".repeat(Number(row.getAttribute("aria-level")) - 1)}${row.querySelector(".name")?.textContent ?? ""}`,
      }))
      .sort((a, b) => a.top - b.top)
      .map(({ text }) => text),
  );
}

/** Keeps screenshots of a page, light and dark, in the folder `LOOK` if it is set: for people who look at the pages. */
export async function keepScreenshots(
  page: Page,
  name: string,
  sizes: readonly (readonly [width: number, height: number])[] = [],
): Promise<void> {
  const folder = process.env.LOOK;
  if (folder === undefined) return;
  const size = page.viewportSize() ?? { width: 1280, height: 800 };
  for (const [width, height] of sizes.length === 0 ? [[size.width, size.height] as const] : sizes) {
    await page.setViewportSize({ width, height });
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      await page.screenshot({ path: join(folder, `${name}-${width}-${colorScheme}.png`) });
    }
  }
  await page.emulateMedia({ colorScheme: null });
  await page.setViewportSize(size);
}
