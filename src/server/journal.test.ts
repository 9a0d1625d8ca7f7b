import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AgentKey } from "../core/facts/ids.ts";
import { type Change, Journal } from "./journal.ts";

const CHAIN = ["toy:t" as AgentKey];
const agent = (name: string, data: string): Change => ({
  type: "agent",
  subject: `agent ${name}`,
  isThread: true,
  chain: CHAIN,
  data,
});
const event = (data: string): Change => ({ type: "event", subject: null, isThread: true, chain: CHAIN, data });

describe("a journal", () => {
  it("returns the entries after a position, in order", () => {
    const journal = new Journal();
    journal.append([event("1"), event("2")]);
    const { position } = journal;
    journal.append([event("3")]);
    expect(journal.since(position).map(({ data }) => data)).toEqual(["3"]);
    expect(journal.since(0).map(({ data }) => data)).toEqual(["1", "2", "3"]);
    expect(journal.since(journal.position)).toEqual([]);
  });

  it("reads only the entries after a position, however long it is", () => {
    const journal = new Journal();
    journal.append(Array.from({ length: 5_000 }, (_, i) => event(String(i))));
    const { position, visited } = journal;
    journal.append([agent("a", "1"), agent("a", "2"), event("new")]);
    expect(journal.since(position).map(({ data }) => data)).toEqual(["2", "new"]);
    expect(journal.visited - visited).toBe(3);
  });

  it("rejects ids of other journals", () => {
    const [journal, other] = [new Journal(), new Journal()];
    journal.append([event("1")]);
    expect(journal.positionOf(journal.idOf(1))).toBe(1);
    for (const id of [
      other.idOf(0),
      `${journal.generation}-2`,
      `${journal.generation}`,
      "",
      "1",
      `${journal.generation}--1`,
    ])
      expect(journal.positionOf(id)).toBe(null);
  });

  it("waits for new entries, but not if there are unread ones", async () => {
    const journal = new Journal();
    const stop = new AbortController();
    let isResolved = false;
    const waiting = journal.after(0, stop.signal).then(() => {
      isResolved = true;
    });
    await Promise.resolve();
    expect(isResolved).toBe(false);
    journal.append([event("1")]);
    await waiting;
    await journal.after(0, stop.signal);
    stop.abort();
    await journal.after(1, stop.signal);
    expect(isResolved).toBe(true);
  });

  it("continuing from any position gives every event once and the last version of every record, or a reset", () => {
    const change = fc.oneof(
      fc.constantFrom("a", "b", "c").map((name) => ({ name })),
      fc.constant({ name: null }),
    );
    fc.assert(
      fc.property(
        fc.array(change, { maxLength: 60 }),
        fc.array(fc.nat(6), { maxLength: 20 }),
        fc.integer({ min: 1, max: 80 }),
        (changes, pauses, entries) => {
          const journal = new Journal({ entries, chars: 10_000 });
          const [records, events] = [new Map<string, string>(), [] as string[]];
          let [position, wasReset] = [0, false];
          const read = () => {
            if (position < journal.floor) wasReset = true;
            for (const entry of journal.since(position)) {
              if (entry.type === "event") events.push(entry.data);
              else records.set(entry.subject ?? "", entry.data);
              position = entry.seq;
            }
          };
          const [truth, received] = [new Map<string, string>(), [] as string[]];
          let [next, left] = [0, pauses[0] ?? 3];
          for (const [i, { name }] of changes.entries()) {
            journal.append([name === null ? event(String(i)) : agent(name, String(i))]);
            if (name === null) received.push(String(i));
            else truth.set(`agent ${name}`, String(i));
            left -= 1;
            if (left >= 0) continue;
            read();
            next += 1;
            left = pauses[next] ?? 3;
          }
          read();
          if (wasReset) return;
          expect(events).toEqual(received);
          expect(records).toEqual(truth);
        },
      ),
    );
  });

  it("is bounded, by number and by size", () => {
    const journal = new Journal({ entries: 10, chars: 100 });
    for (let i = 0; i < 50; i += 1) journal.append([event("x")]);
    expect([journal.since(0).length, journal.floor]).toEqual([10, 40]);
    journal.append([event("y".repeat(95))]);
    expect([journal.since(0).length, journal.floor]).toEqual([6, 45]);
  });
});
