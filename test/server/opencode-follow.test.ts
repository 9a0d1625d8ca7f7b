/**
 * `events --follow` on a database that its product is writing: new records are reported once, as soon as they are
 * complete.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { AgentEvent } from "../../src/core/views/event.ts";
import { COMPILED, MAIN } from "../support/cli.ts";
import { OpenCodeDatabase } from "../support/opencode-database.ts";

let scratch = "";
let product: OpenCodeDatabase;
let child: ChildProcess;
let events: AgentEvent[] = [];

beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), "retinue-follow-"));
  const path = join(scratch, "home/.local/share/opencode/opencode.db");
  mkdirSync(dirname(path), { recursive: true });
  product = new OpenCodeDatabase(path);
  product.session("ses_root");
  product.turn("ses_root", "a", "first question", "first answer");
  events = [];
  const env = {
    PATH: process.env.PATH ?? "",
    ...COMPILED,
    HOME: join(scratch, "home"),
    RETINUE_HOME: join(scratch, "data"),
  };
  child = spawn(process.execPath, [MAIN, "events", "ses_root", "--follow", "--subtree"], {
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  createInterface({ input: child.stdout as NodeJS.ReadableStream }).on("line", (line) =>
    events.push(JSON.parse(line) as AgentEvent),
  );
});
afterEach(() => {
  child.kill("SIGKILL");
  product.close();
  rmSync(scratch, { recursive: true, maxRetries: 3 });
});

const printed = (what: (event: AgentEvent) => boolean) =>
  expect.poll(() => events.filter(what).length, { timeout: 60_000 }).toBe(1);
const textPrinted = (text: string) => printed((event) => event.text === text);

it("prints history, new messages, and a child as soon as it starts", async () => {
  await textPrinted("first answer");
  product.turn("ses_root", "b", "second question", "second answer");
  await textPrinted("second answer");
  product.message("ses_root", "msg_c", { role: "assistant", modelID: "m" });
  const task = (state: object) =>
    product.part("ses_root", "msg_c", "prt_c", {
      type: "tool",
      tool: "task",
      callID: "c1",
      state: {
        input: { description: "Look", prompt: "look" },
        metadata: { sessionId: "ses_child", parentSessionId: "ses_root" },
        ...state,
      },
    });
  task({ status: "running", time: { start: product.now } });
  product.session("ses_child", "ses_root", "Look (@explore subagent)");
  await printed((event) => event.spawn?.uri === "opencode://ses_root/ses_child");
  product.turn("ses_child", "d", "look", "looked");
  await textPrinted("looked");
  task({ status: "completed", output: "looked around", time: { start: product.now, end: product.now + 1 } });
  await textPrinted("looked around");
  await printed((event) => event.kind === "toolCall");
  expect(new Set(events.map((event) => event.id)).size).toBe(events.length);
  expect(events.find((event) => event.text === "looked")).toMatchObject({
    uri: "opencode://ses_root/ses_child",
    ref: { row: "msg_da" },
  });
});
