import { describe, expect, it } from "vitest";
import { actionsFor, awaitsPermission, fieldsOf, type SteerableThread } from "./control.ts";

describe("a permission request", () => {
  it("is shown with all its fields, in full, and with hidden characters made visible", () => {
    const command = `rm -rf x ${"y".repeat(50_000)}`;
    const fields = fieldsOf({ input: { command, patterns: ["a", "b"], "na\u202eme": "x\u001b[2K" } });
    expect(fields[0]).toEqual(["command", command]);
    expect(fields[1]).toEqual(["patterns", '[\n  "a",\n  "b"\n]']);
    for (const text of fields[2] ?? []) expect(text).not.toMatch(/[\u001b\u202e]/);
  });

  it("is recognised by the activity of a running agent", () => {
    expect(awaitsPermission({ status: "running", activity: "waits for a permission (Bash)" })).toBe(true);
    expect(awaitsPermission({ status: "shutdown", activity: "waits for a permission (Bash)" })).toBe(false);
    expect(awaitsPermission({ status: "running", activity: "runs Bash" })).toBe(false);
    expect(awaitsPermission({ status: "running", activity: null })).toBe(false);
  });
});

it("actions of the thread and of the agents below it differ", () => {
  const threads: SteerableThread[] = [
    { uri: "claude://t", actions: ["stop", "background", "interrupt", "send", "continue"] },
  ];
  expect(actionsFor("claude://t", threads)).toEqual(["interrupt", "send"]);
  expect(actionsFor("claude://t/a", threads)).toEqual(["stop", "background", "continue"]);
  expect(actionsFor("claude://tt/a", threads)).toEqual([]);
});
