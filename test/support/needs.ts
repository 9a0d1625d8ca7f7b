import { execFileSync } from "node:child_process";
import type { TestContext } from "vitest";

/** For `beforeEach` or at the start of a test: skips the test, with a reason, if the system lacks something. */
export const needsPosix =
  (what: string) =>
  ({ skip }: Pick<TestContext, "skip">): void =>
    skip(process.platform === "win32", `Windows has no ${what}`);

export const needsLinux =
  (what: string) =>
  ({ skip }: Pick<TestContext, "skip">): void =>
    skip(process.platform !== "linux", `only Linux has ${what}`);

/** Whether the system has a program that accepts these arguments. */
export const isTool = (program: string, ...args: readonly string[]) => {
  try {
    execFileSync(program, args, { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
};
