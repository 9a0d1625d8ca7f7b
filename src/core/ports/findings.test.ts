import { describe, expect, it } from "vitest";
import { agentKey, threadKey } from "../facts/ids.ts";
import type { Fact } from "../facts/observation.ts";
import { FindingsOf } from "./findings.ts";

const THREAD = threadKey("toy", "one");
const record: Fact = {
  type: "record",
  role: "user",
  state: "open",
  certain: true,
  calls: [],
  results: [],
  text: null,
  message: true,
};
const findingsOf = (speaker = THREAD) => new FindingsOf({ path: "one.jsonl", line: 3, at: null, speaker, keys: [] });

describe("an agent without an id", () => {
  it.each(["", " "])("is not named by any fact: %j", (id) => {
    const out = findingsOf();
    out.add({ type: "agent-described", agent: agentKey("toy", "one", id), kind: "fork" });
    out.add(record);
    expect(out.observations).toEqual([expect.objectContaining({ type: "record", speaker: THREAD })]);
    expect(out.problems).toEqual([
      { code: "record-malformed", where: "one.jsonl:3", detail: "it names an agent without an id" },
    ]);
  });

  it("leaves what it did to its thread, so that no usage is lost", () => {
    const out = findingsOf(agentKey("toy", "one", ""));
    out.add(record);
    out.part({ speaker: agentKey("toy", "one", "") }).add(record);
    expect(out.observations.map(({ speaker }) => speaker)).toEqual([THREAD, THREAD]);
  });

  it("in a thread without an id is reported", () => {
    const out = findingsOf(agentKey("toy", "", "a1"));
    out.add(record);
    expect(out.observations).toEqual([]);
    expect(out.problems).toMatchObject([{ code: "record-malformed", detail: "it names a thread without an id" }]);
  });
});
