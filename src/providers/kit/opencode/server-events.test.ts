import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Observation } from "../../../core/facts/observation.ts";
import type { Parser } from "../../../core/ports/provider.ts";
import { recordedLine } from "../../../core/ports/recording.ts";
import { keysOf } from "./keys.ts";
import { ServerEvents } from "./server-events.ts";

const KEY = keysOf("opencode");
const FILE = { path: "/recordings/x.jsonl", bytes: 1 };
const bytes = (line: string) => new TextEncoder().encode(line.trimEnd());
const frame = (type: string, properties: object) => ({ payload: { type, properties } });
const answer = (answered: string, session: string, body: unknown, asked: number) => ({
  answered,
  asked,
  session,
  body,
});

function linesOf(name: string): Uint8Array[] {
  const text = readFileSync(
    join(import.meta.dirname, "../../../../fixtures/opencode", name, "server/frames.jsonl"),
    "utf8",
  ).trimEnd();
  return text.split("\n").map((line) => {
    const { at, data } = JSON.parse(line) as { at: number; data: unknown };
    return bytes(recordedLine(JSON.stringify(data), at));
  });
}

/** The final state: the last value of every name. */
function standing(
  lines: readonly Uint8Array[],
  parser: Parser,
  from = 1,
  known = new Map<string, readonly Observation[]>(),
) {
  for (const [i, line] of lines.entries()) {
    const { observations, replaces = [] } = parser.push(line, from + i);
    for (const row of replaces) known.set(row, []);
    for (const row of replaces)
      known.set(
        row,
        observations.filter(({ id }) => id.startsWith(`${FILE.path}:${row}#`)),
      );
  }
  return known;
}

const facts = (known: ReadonlyMap<string, readonly Observation[]>) =>
  [...known.values()]
    .flat()
    .map(({ id: _, ...fact }) => JSON.stringify(fact))
    .sort();

describe("the events of a server", () => {
  it.each(["nested", "permission", "abort-child"])("can be read piece by piece, from a saved state: %s", (name) => {
    const lines = linesOf(name);
    const whole = facts(standing(lines, new ServerEvents(KEY, FILE)));
    expect(whole.length).toBeGreaterThan(10);
    for (const cut of [1, 17, Math.floor(lines.length / 2), lines.length - 1]) {
      const first = new ServerEvents(KEY, FILE);
      const known = standing(lines.slice(0, cut), first);
      const memory = JSON.parse(JSON.stringify(first.save())) as unknown;
      expect(facts(standing(lines.slice(cut), new ServerEvents(KEY, FILE, memory), cut + 1, known))).toEqual(whole);
    }
  });

  it("received twice are returned once", () => {
    const lines = linesOf("single");
    const once = facts(standing(lines, new ServerEvents(KEY, FILE)));
    const twice = facts(
      standing(
        lines.flatMap((line) => [line, line]),
        new ServerEvents(KEY, FILE),
      ),
    );
    const withoutOrder = (all: readonly string[]) => all.map((fact) => fact.replace(/"order":\d+/, "")).sort();
    expect(withoutOrder(twice)).toEqual(withoutOrder(once));
  });

  it("never go back: an ended state stays ended, however old the next frame is", () => {
    const part = (status: string, more: object = {}) =>
      frame("message.part.updated", {
        sessionID: "ses_a",
        part: {
          id: "prt_1",
          messageID: "msg_1",
          sessionID: "ses_a",
          type: "tool",
          tool: "bash",
          callID: "c",
          state: { status, input: {}, time: { start: 1, ...more } },
        },
      });
    const info = {
      id: "msg_1",
      sessionID: "ses_a",
      role: "assistant",
      modelID: "m",
      time: { created: 1, completed: 5 },
      finish: "tool-calls",
    };
    const frames = [
      frame("message.updated", { sessionID: "ses_a", info }),
      part("completed", { end: 4 }),
      part("running"),
      part("pending"),
    ];
    const known = standing(
      frames.map((one) => bytes(recordedLine(JSON.stringify(one), 10))),
      new ServerEvents(KEY, FILE),
    );
    const last = known.get("msg_1")?.findLast((fact) => fact.type === "record");
    expect(last).toMatchObject({ results: [{ isError: false }] });
  });

  it("are not affected by a response that was sent before the session continued", () => {
    const parser = new ServerEvents(KEY, FILE);
    const user = { id: "msg_1", sessionID: "ses_a", role: "user", time: { created: 1 } };
    const frames = [
      [frame("message.updated", { sessionID: "ses_a", info: user }), 20],
      [answer("status", "ses_a", null, 15), 25],
    ] as const;
    const known = standing(
      frames.map(([one, at]) => bytes(recordedLine(JSON.stringify(one), at))),
      parser,
    );
    expect([...known.values()].flat().filter(({ type }) => type === "lifecycle")).toEqual([]);
    const later = standing([bytes(recordedLine(JSON.stringify(answer("status", "ses_a", null, 30)), 35))], parser, 3);
    expect([...later.values()].flat().map(({ type }) => type)).toEqual(["lifecycle"]);
  });

  it("may have any content: nothing throws, in any order of valid and invalid lines", () => {
    const types = [
      "session.updated",
      "message.updated",
      "message.part.updated",
      "session.status",
      "permission.asked",
      "message.removed",
      "session.deleted",
    ];
    const odd = fc.oneof(
      fc.record({
        payload: fc.record({
          type: fc.constantFrom(...types),
          properties: fc.object({ key: fc.constantFrom("sessionID", "info", "part", "id", "time", "status") }),
        }),
      }),
      fc.record({
        answered: fc.constantFrom("session", "message", "status", "permission", "x"),
        asked: fc.anything(),
        session: fc.constantFrom("ses_a", 1),
        body: fc.anything(),
      }),
      fc.jsonValue(),
    );
    fc.assert(
      fc.property(fc.array(odd), fc.string(), fc.jsonValue(), (all, junk, memory) => {
        const parser = new ServerEvents(KEY, FILE, memory);
        for (const [i, one] of [...all, junk].entries()) {
          const line = bytes(typeof one === "string" ? one : recordedLine(JSON.stringify(one) ?? "null", i));
          parser.push(line, i + 1);
          parser.events(line, i + 1);
        }
        expect(JSON.stringify(parser.save())).toContain("fold");
      }),
    );
  });
});
