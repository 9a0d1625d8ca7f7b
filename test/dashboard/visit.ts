import type { Browser, Page } from "playwright-core";
import type { Running } from "./server.ts";

export interface Visit {
  readonly page: Page;
  /** Script errors, violations of the content security policy, and requests to other hosts. */
  readonly complaints: readonly string[];
  goto(hash: string): Promise<void>;
}

/** A separate tab with its own storage, which records everything that goes wrong in it. */
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
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(`${url}/`)) complaints.push(`asked for ${request.url()}`);
  });
  page.on("dialog", (dialog) => {
    complaints.push(`a script opened a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  return {
    page,
    complaints,
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
