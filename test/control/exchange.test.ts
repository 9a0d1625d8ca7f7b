/** The control protocol of Claude Code 2.1.325, by recorded exchanges: what retinue writes is what the product received. */
import { beforeEach, describe, expect, it } from "vitest";
import {
  type AgentEvent,
  type AgentRun,
  type Permission,
  run,
  type ToolCall,
  type ToolDecision,
} from "../../src/app/api.ts";
import { answerPermission, controllable } from "../../src/app/control/control.ts";
import { needsPosix } from "../support/needs.ts";
import { replayedRun } from "../support/replayed-run.ts";
import { eventually } from "../support/server.ts";

beforeEach(needsPosix("scripts that name their interpreter"));

async function eventsOf(handle: AgentRun): Promise<AgentEvent[]> {
  const events: AgentEvent[] = [];
  for await (const event of handle) events.push(event);
  expect(await handle.ended).toEqual({ code: 0, signal: null });
  return events;
}
const denyCommands = (call: ToolCall) => (call.isSpawn ? "allow" : { deny: `${call.input.command} IS NOT ALLOWED` });

describe("tool calls", () => {
  it("of the main agent and of one two levels below it are denied with a text", async () => {
    const { program, env, recorded, received } = replayedRun("claude-tool-calls");
    const calls: ToolCall[] = [];
    const onToolCall = (call: ToolCall) => {
      calls.push(call);
      return denyCommands(call);
    };
    const events = await eventsOf(
      await run([program, "-p", "Begin. @@main", "--dangerously-skip-permissions"], { env, onToolCall }),
    );
    expect(received()).toEqual(recorded);
    const spawned = events.flatMap(({ spawn }) => (spawn === null ? [] : [spawn]));
    expect(spawned.map(({ depth }) => depth)).toEqual([1, 2]);
    expect(calls.map(({ tool, input, uri }) => [tool, input.command ?? input.description, uri])).toEqual([
      ["Bash", "touch zero", events[0]?.uri],
      ["Agent", "Run A", events[0]?.uri],
      ["Agent", "Run B", spawned[0]?.uri],
      ["Bash", "touch two", spawned[1]?.uri],
    ]);
    const failed = events.filter(({ kind, tool }) => kind === "toolResult" && tool?.isError === true);
    expect(failed.map(({ text }) => text)).toEqual([expect.stringContaining("touch zero IS NOT ALLOWED")]);
  });

  it("are answered in place of the tool, and the answer of the handler is then ignored", async () => {
    const { program, env, recorded, received } = replayedRun("claude-tool-calls");
    const started = Promise.withResolvers<AgentRun>();
    const handle = await run([program, "-p", "Begin. @@main", "--dangerously-skip-permissions"], {
      env,
      onToolCall: async (call): Promise<ToolDecision> => {
        const own = await started.promise;
        await expect(own.injectToolResult("toolu_unknown", "x")).rejects.toThrow("does not wait for a decision");
        if (!call.isSpawn) await own.injectToolResult(call.callId, `${call.input.command} IS NOT ALLOWED`);
        return "allow";
      },
    });
    started.resolve(handle);
    await eventsOf(handle);
    expect(received()).toEqual(recorded);
    await expect(handle.injectToolResult("toolu_1", "x")).rejects.toThrow("does not wait for a decision");
  });

  it.each<[string, () => unknown]>([
    ["throws", () => Promise.reject(new Error("broken"))],
    ["does not answer", () => new Promise(() => {})],
  ])("are allowed if the handler %s", async (_, handler) => {
    const { program, env, received } = replayedRun("claude-tool-calls");
    const faults: string[] = [];
    const options = { env, answerMs: 50, notify: (text: string) => faults.push(text) };
    const onToolCall = () => handler() as "allow";
    await eventsOf(await run([program, "-p", "Begin. @@main"], { ...options, onToolCall }));
    const answers = received().flatMap((line) => {
      const { type, response } = line as { type: string; response?: { response: object } };
      return type === "control_response" ? [response?.response] : [];
    });
    expect(answers).toEqual([{}, {}, {}, {}]);
    expect(faults).toHaveLength(4);
  });
});

describe("permissions", () => {
  it("are answered by a handler, with everything that would run", async () => {
    const { program, env, recorded, received } = replayedRun("claude-permissions");
    const asked: Permission[] = [];
    const onPermission = (permission: Permission) => {
      asked.push(permission);
      return permission.input.command === "touch third"
        ? { reply: "reject" as const, text: "Not today." }
        : { reply: "once" as const };
    };
    const events = await eventsOf(await run([program, "-p", "Begin. @@main"], { env, onPermission }));
    expect(received()).toEqual(recorded);
    expect(asked.map(({ tool, input, uri }) => [tool, input.command, uri])).toEqual([
      ["Bash", "touch first && touch second", events.findLast(({ spawn }) => spawn !== null)?.spawn?.uri],
      ["Bash", "touch third", events.findLast(({ spawn }) => spawn !== null)?.spawn?.uri],
    ]);
  });

  it("that a handler leaves open are answered by another process; until then the agent waits", async () => {
    const { program, env, recorded, received } = replayedRun("claude-permissions");
    const handle = await run([program, "-p", "Begin. @@main"], { env, isShared: true, onPermission: () => null });
    const events = eventsOf(handle);
    const first = await eventually(async () => (await controllable(env)).permissions[0]);
    expect(first.input).toEqual({ command: "touch first && touch second", description: "Runs it" });
    await answerPermission(env, first.id, { reply: "once" });
    const second = await eventually(async () => (await controllable(env)).permissions[0]);
    await answerPermission(env, second.id, { reply: "reject", text: "Not today." });
    await events;
    expect(received()).toEqual(recorded);
    expect(await controllable(env)).toEqual({ threads: [], permissions: [] });
  });
});
