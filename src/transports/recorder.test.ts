import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { needsLinux } from "../../test/support/needs.ts";
import { Recorder } from "./recorder.ts";

function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), "retinue-recorder-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

it("appends line by line, with private permissions", () => {
  const path = join(scratch(), "below", "a.jsonl");
  const recorder = new Recorder(path);
  recorder.note({ is: "began" }, 1);
  recorder.line('{"a":1}', 2);
  expect(readFileSync(path, "utf8")).toBe('{"at":1,"note":{"is":"began"}}\n{"at":2,"raw":{"a":1}}\n');
  if (process.platform !== "win32") expect(statSync(path).mode & 0o777).toBe(0o600);
  recorder.close();
  expect(recorder.lost).toBe(0);
});

it("creates no file before there is something to record", () => {
  const path = join(scratch(), "a.jsonl");
  new Recorder(path).close();
  expect(statSync(path, { throwIfNoEntry: false })).toBeUndefined();
});

it("continues after a line that a crash truncated", () => {
  const path = join(scratch(), "a.jsonl");
  writeFileSync(path, '{"at":1,"raw":{}}\n{"at":2,"ra');
  const recorder = new Recorder(path);
  recorder.line("3", 3);
  recorder.close();
  expect(readFileSync(path, "utf8").split("\n")).toEqual(['{"at":1,"raw":{}}', '{"at":2,"ra', '{"at":3,"raw":3}', ""]);
});

it("lets several processes write complete lines to one file", () => {
  const path = join(scratch(), "a.jsonl");
  const recorder = new Recorder(path);
  recorder.line("1", 1);
  appendFileSync(path, '{"at":2,"raw":2}\n');
  recorder.line("3", 3);
  recorder.close();
  expect(readFileSync(path, "utf8")).toBe('{"at":1,"raw":1}\n{"at":2,"raw":2}\n{"at":3,"raw":3}\n');
});

it("reports once that nothing can be written, counts the losses, and does not throw", (context) => {
  needsLinux("a device that is always full")(context);
  const failures: string[] = [];
  const recorder = new Recorder("/dev/full", (error) => failures.push(error.message));
  recorder.line("1");
  recorder.line("2");
  recorder.close();
  expect([recorder.lost, failures.length]).toEqual([2, 1]);
});
