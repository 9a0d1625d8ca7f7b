/** `events --follow` prints new events of known and of new agents. */
import { type ChildProcess, spawn } from "node:child_process";
import { appendFileSync, cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { AgentEvent } from "../../src/core/views/event.ts";
import { COMPILED, MAIN } from "../support/cli.ts";
import { recordedHome } from "../support/fixtures.ts";

const THREAD = "cd09e48c-75db-4f67-b4b1-7cfca4bc9bb9";
let scratch = "";
let project = "";
let child: ChildProcess;
let events: AgentEvent[] = [];

beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), "retinue-follow-"));
  cpSync(recordedHome("claude", "c-nested").home, join(scratch, "home"), { recursive: true });
  const projects = join(scratch, "home", ".claude", "projects");
  project = join(projects, readdirSync(projects)[0] as string);
});
afterEach(() => {
  child.kill("SIGKILL");
  rmSync(scratch, { recursive: true, maxRetries: 3 });
});

function follow(...args: string[]) {
  events = [];
  const env = {
    PATH: process.env.PATH ?? "",
    ...COMPILED,
    HOME: join(scratch, "home"),
    RETINUE_HOME: join(scratch, "data"),
  };
  child = spawn(process.execPath, [MAIN, "events", THREAD, "--follow", ...args], {
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  createInterface({ input: child.stdout as NodeJS.ReadableStream }).on("line", (line) =>
    events.push(JSON.parse(line) as AgentEvent),
  );
}

async function until<T>(what: () => T | undefined): Promise<T> {
  for (let tries = 0; tries < 2_000; tries += 1) {
    const found = what();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`nothing came; seen: ${events.map((e) => `${e.kind} ${e.text}`).join(", ")}`);
}

const userRecord = (text: string, more: object = {}) =>
  `${JSON.stringify({ type: "user", uuid: crypto.randomUUID(), parentUuid: null, isSidechain: false, sessionId: THREAD, timestamp: new Date().toISOString(), message: { role: "user", content: text }, ...more })}\n`;
const heard = (text: string) => until(() => events.find((e) => e.text === text));
const settled = () => until(() => events.find((e) => e.kind === "status"));

describe("events --follow", () => {
  it("prints history, then new events line by line, also if they arrive in parts", async () => {
    follow();
    await settled();
    const history = events.length;
    expect(events.map((e) => e.kind)).toContain("spawn");
    appendFileSync(join(project, `${THREAD}.jsonl`), userRecord("are you there?"));
    expect(await heard("are you there?")).toMatchObject({ uri: `claude://${THREAD}`, seq: history + 1 });
    const line = userRecord("in two halves");
    appendFileSync(join(project, `${THREAD}.jsonl`), line.slice(0, 30));
    appendFileSync(join(project, `${THREAD}.jsonl`), line.slice(30));
    await heard("in two halves");
    expect(events.filter((e) => e.text === "in two halves").length).toBe(1);
    expect(events.map((e) => e.seq)).toEqual(events.map((_, i) => i + 1));
  });

  it("reports new agents with --subtree, and no other threads", async () => {
    follow("--subtree");
    await settled();
    writeFileSync(
      join(project, "11111111-1111-4111-8111-111111111111.jsonl"),
      userRecord("another thread", { sessionId: "11111111-1111-4111-8111-111111111111" }),
    );
    const agents = join(project, THREAD, "subagents");
    writeFileSync(
      join(agents, "agent-anew0000000000001.jsonl"),
      userRecord("a new task", { isSidechain: true, agentId: "anew0000000000001" }),
    );
    const spawned = await until(() => events.find((e) => e.spawn?.agentId === "anew0000000000001"));
    expect(spawned).toMatchObject({
      uri: `claude://${THREAD}`,
      kind: "spawn",
      spawn: { prompt: "a new task", depth: 1 },
    });
    await heard("a new task");
    expect(events.some((e) => e.text === "another thread")).toBe(false);
  });

  it("exits cleanly if interrupted", async () => {
    follow();
    await settled();
    const code = new Promise((resolve) => child.once("exit", (exit, signal) => resolve(exit ?? signal)));
    child.kill("SIGINT");
    expect(await code).toBe(0);
    expect(readFileSync(join(project, `${THREAD}.jsonl`), "utf8")).toBe(
      readFileSync(
        join(
          recordedHome("claude", "c-nested").home,
          ".claude/projects/-home-dev-trial-runs-c-nested-repo",
          `${THREAD}.jsonl`,
        ),
        "utf8",
      ),
    );
  });
});
