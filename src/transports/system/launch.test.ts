import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { launch, signalsOf } from "./launch.ts";

const NPM = "C:\\Users\\dev\\AppData\\Roaming\\npm";
const env = {
  Path: `"C:\\Program Files\\nodejs";;${NPM}`,
  PATHEXT: ".COM;.EXE;.CMD",
  ComSpec: "C:\\Windows\\system32\\cmd.exe",
};
const files = new Set(
  [`${NPM}\\claude.cmd`, "C:\\Program Files\\nodejs\\node.exe", "C:\\Program Files\\my tools\\x.cmd", "claude.exe"].map(
    (path) => path.toLowerCase(),
  ),
);
const onWindows = (...command: string[]) =>
  launch(command, env, "win32", (path) => files.has(path.toLowerCase().replaceAll("/", "\\")));

describe("a command on Windows", () => {
  it("is run directly if it is a program", () => {
    expect(onWindows("node", "-e", 'a "b" & c')).toEqual({
      program: "C:\\Program Files\\nodejs\\node.exe",
      args: ["-e", 'a "b" & c'],
    });
  });

  it("that npm installed is run by the shell", () => {
    expect(onWindows("claude", "-p", "hi")).toEqual({
      program: "C:\\Windows\\system32\\cmd.exe",
      args: ["/d", "/s", "/c", `"${NPM}\\claude.cmd ^^^"-p^^^" ^^^"hi^^^""`],
      windowsVerbatimArguments: true,
    });
    expect(onWindows("C:/Program Files/my tools/x.cmd").args.at(-1)).toBe('"C:\\Program^ Files\\my^ tools\\x.cmd"');
  });

  it("that does not exist fails as usual", () => {
    expect(onWindows("nothing", "x")).toEqual({ program: "nothing", args: ["x"] });
  });

  // Parsed twice as by the shell, and then as by the program: the result must be the argument.
  it.each([
    "plain",
    "",
    "a b",
    'say "hi"',
    "a & calc",
    "%PATH%",
    "^caret^",
    "back\\slash\\",
    'end\\"',
    "a|b>c<d",
    "!bang!",
    "(x);,y",
    "*?",
    'x" & calc & "y',
  ])("passes the argument %j", (arg) => {
    const line = onWindows("claude", arg).args.at(-1) ?? "";
    const inner = line.slice(1, -1).slice(`${NPM}\\claude.cmd `.length);
    const once = afterShell(inner);
    expect(afterProgram(afterShell(once))).toBe(arg);
  });
});

/** The shell of Windows: `^` escapes the next character; no special character may be left unescaped. */
function afterShell(text: string): string {
  expect(text.replace(/\^./gs, "")).not.toMatch(/[&|<>()%!"^]/);
  return text.replace(/\^(.)/gs, "$1");
}

/** The rules of CommandLineToArgvW for one quoted argument. */
function afterProgram(text: string): string {
  const [, inner = ""] = /^"(.*)"$/s.exec(text) ?? [];
  return inner
    .replace(/(\\*)\\"/g, (_, slashes: string) => `${slashes.slice(slashes.length / 2)}"`)
    .replace(/(\\+)$/, (slashes) => slashes.slice(slashes.length / 2));
}

describe("on other systems", () => {
  it.each(["linux", "darwin"])("a command is not changed: %s", (platform) => {
    expect(launch(["claude", "-p", "a & b"], env, platform)).toEqual({ program: "claude", args: ["-p", "a & b"] });
  });
});

it("finds real files on Windows' PATH", () => {
  const folder = mkdtempSync(join(tmpdir(), "retinue-launch-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "x.cmd"), "");
  const found = launch([`${folder}/x`], { PATHEXT: ".EXE;.CMD" }, "win32");
  expect(found.args.at(-1)).toContain("x.cmd");
});

it("forwards only signals that the system has", () => {
  expect(signalsOf("linux").forwarded).toContain("SIGHUP");
  expect(signalsOf("win32")).toEqual({ forwarded: [], fromTerminal: ["SIGINT", "SIGBREAK", "SIGHUP"] });
});
