import { spawn } from "node:child_process";
import { describe, expect, it, onTestFinished } from "vitest";
import { ancestorsByPs, commandByPs, parseParentage } from "./ps-ancestry.ts";

/** As printed by `ps` of macOS: numbers with spaces before them. */
const PRINTED = "    1     0     0\n  501     1   501\n  733   501   501\n12345   733   501\n12400   733     0\n";
const runner = (stdout: string) => ({ now: () => ({ code: 0, stdout, stderr: "" }), later: () => {} });

describe("ancestors from ps", () => {
  it("are listed nearest first, without the first process", () => {
    expect(ancestorsByPs(12345, 501, runner(PRINTED))).toEqual([733, 501]);
  });

  it("are not known for processes of other users, missing ones, and without ps", () => {
    expect(ancestorsByPs(12400, 501, runner(PRINTED))).toBeNull();
    expect(ancestorsByPs(99, 501, runner(PRINTED))).toBeNull();
    expect(ancestorsByPs(12345, 501, { now: () => null, later: () => {} })).toBeNull();
  });

  it("end if the list contains a cycle", () => {
    expect(ancestorsByPs(7, 1, runner(" 7 8 1\n 8 7 1\n"))?.length).toBe(64);
  });

  it("skip lines that are not processes", () => {
    expect([...parseParentage("PID PPID UID\n 2 1 0\n\n")]).toEqual([[2, { parent: 1, uid: 0 }]]);
  });

  it("are those of a real process", () => {
    const child = spawn(process.execPath, ["-e", "setTimeout(() => {}, 60000)", "an argument"]);
    onTestFinished(() => void child.kill("SIGKILL"));
    expect(ancestorsByPs(child.pid ?? 0, process.getuid?.() ?? 0)?.[0]).toBe(process.pid);
    expect(commandByPs(child.pid ?? 0)).toContain("an argument");
    expect(commandByPs(99_999_999)).toBeNull();
  });
});
