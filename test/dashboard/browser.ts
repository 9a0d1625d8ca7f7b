/** Chromium for tests: the installed one, or one that apt-get installs now if the tests run as root. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import type { Browser } from "playwright-core";

const PLACES = [
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/usr/bin/google-chrome-stable",
  "/snap/bin/chromium",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
  "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
  "C:\\Program Files (x86)\\Google\\Chrome\\Application\\chrome.exe",
];

export function browserPath(): string {
  const found = [process.env.RETINUE_TEST_BROWSER ?? "", ...PLACES].find((path) => path !== "" && existsSync(path));
  if (found !== undefined) return found;
  if (process.getuid?.() !== 0 || !existsSync("/usr/bin/apt-get"))
    throw new Error("no Chromium found: install it, or set RETINUE_TEST_BROWSER to its path");
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  try {
    execFileSync("apt-get", ["install", "-y", "--no-install-recommends", "chromium"], { env, stdio: "ignore" });
  } catch {
    // The package list may be missing or outdated.
    execFileSync("apt-get", ["update"], { env, stdio: "ignore" });
    execFileSync("apt-get", ["install", "-y", "--no-install-recommends", "chromium"], { env, stdio: "inherit" });
  }
  return "/usr/bin/chromium";
}

const BROWSER_FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--no-first-run",
  "--disable-dev-shm-usage",
];

/** Playwright creates a fresh profile for every launch. */
export async function openBrowser(more: readonly string[] = []): Promise<Browser> {
  const { chromium } = await import("playwright-core");
  return chromium.launch({ executablePath: browserPath(), headless: true, args: [...BROWSER_FLAGS, ...more] });
}

let shared: Promise<Browser> | undefined;

/** One browser for all test files of a process, which ends with the process. Each visit has its own storage. */
export function sharedBrowser(): Promise<Browser> {
  shared ??= openBrowser();
  return shared;
}

/** Closes all tabs, for the end of a test file. */
export async function closeTabs(browser: Browser | undefined): Promise<void> {
  await Promise.all((browser?.contexts() ?? []).map((context) => context.close()));
}
