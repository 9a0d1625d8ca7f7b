import { execFileSync } from "node:child_process";
import type { TestContext } from "vitest";

/**
 * For `beforeEach`, or at the beginning of a test: where the system lacks what it needs, it is reported as skipped,
 * with the reason.
 */
export const needsPosix =
  (what: string) =>
  ({ skip }: Pick<TestContext, "skip">): void =>
    skip(process.platform === "win32", `Windows has no ${what}`);

export const needsLinux =
  (what: string) =>
  ({ skip }: Pick<TestContext, "skip">): void =>
    skip(process.platform !== "linux", `only Linux has ${what}`);

/** Whether the system has a program, and the program can do this. */
export const isTool = (program: string, ...args: readonly string[]) => {
  try {
    execFileSync(program, args, { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
};
