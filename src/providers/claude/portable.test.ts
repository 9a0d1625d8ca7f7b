import { describe, expect, it } from "vitest";
import { agentWriter, mainWriter, SESSION, text, writer } from "../../../test/support/claude-records.ts";
import { portable } from "./portable.ts";

const head = (...records: readonly unknown[]) =>
  new TextEncoder().encode(records.map((r) => (typeof r === "string" ? r : JSON.stringify(r))).join("\n"));
const thread = () => [mainWriter().user("hello"), mainWriter().assistant([text("hi")])];
const placeOf = (name: string, bytes: Uint8Array) => {
  const found = portable.recognise(name, bytes);
  return found === null ? null : `${found.folder}/${found.file}`;
};

describe("a transcript from another machine", () => {
  const place = `projects/${SESSION}/${SESSION}.jsonl`;
  it.each([`${SESSION}.jsonl`, `${SESSION} (1).jsonl`, "from-anna.jsonl", "transcript.txt", "agent-x.jsonl"])(
    "%s belongs to its thread",
    (name) => {
      expect(placeOf(name, head(...thread()))).toBe(place);
    },
  );
  it("is recognised after other lines, and with a truncated last line", () => {
    const before = [
      { type: "summary", summary: "x", leafUuid: "y" },
      { type: "mode", mode: "normal", sessionId: SESSION },
      "{ junk",
      "",
    ];
    expect(placeOf("a.jsonl", head(...before, ...thread(), '{"type":"assistant","mess'))).toBe(place);
  });
  it("keeps its file name if that is a session id, whatever a copied first record contains", () => {
    const other = "99999999-2222-4333-8444-555555555555";
    expect(placeOf(`${other}.jsonl`, head(...thread()))).toBe(`projects/${other}/${other}.jsonl`);
  });
  it("includes the folder of its name and the folder of its session", () => {
    expect(portable.recognise("from-anna.jsonl", head(...thread()))?.beside).toEqual([
      { name: "from-anna", to: SESSION },
      { name: SESSION, to: SESSION },
    ]);
  });
  it("may begin with an unnamed sidechain up to 2.0.24", () => {
    expect(placeOf("a.jsonl", head(writer("warm", { isSidechain: true }).user("Warmup"), ...thread()))).toBe(place);
  });
  it("of a promoted agent is that of a thread, according to its name", () => {
    expect(placeOf(`${SESSION}.jsonl`, head(agentWriter("a0b1").user("Go.")))).toBe(place);
  });
});

describe("an agent's transcript from another machine", () => {
  const records = head(agentWriter("a0b1").user("Go."));
  const place = `projects/${SESSION}/${SESSION}/subagents/agent-a0b1.jsonl`;
  it.each(["agent-a0b1.jsonl", "renamed.jsonl"])("%s goes to its session", (name) => {
    expect(placeOf(name, records)).toBe(place);
  });
  it("is named after its file if its records do not name it", () => {
    expect(placeOf("agent-a0b1.jsonl", head(writer("x", { isSidechain: true }).user("Go.")))).toBe(place);
  });
  it("includes its meta file", () => {
    expect(portable.recognise("agent-a0b1.jsonl", records)?.beside).toEqual([
      { name: "agent-a0b1.meta.json", to: `${SESSION}/subagents/agent-a0b1.meta.json` },
    ]);
  });
});

describe("files that are not transcripts", () => {
  it.each([
    ["nothing", ""],
    ["no JSON", "hello\nworld\n"],
    ["other JSON", '{"type":"session_meta","payload":{"id":"x"}}'],
    [
      "records of a product that began as this one's cousin",
      `{"uuid":"u","parentUuid":null,"sessionId":"${SESSION}","type":"user","message":{"role":"user","parts":[]}}`,
    ],
    ["titles alone", '{"type":"summary","summary":"x","leafUuid":"y"}'],
    ["a list", "[1,2]"],
  ])("%s", (_what, content) => {
    expect(portable.recognise(`${SESSION}.jsonl`, head(content))).toBeNull();
  });
  it.each(["../../../etc/passwd", "..", ".", ".hidden", "a/b", "a\\b", "a\u0000b", "", "x".repeat(200)])(
    "a session called %j is rejected as a path",
    (sessionId) => {
      expect(
        portable.recognise("a.jsonl", head(writer("x", { isSidechain: false, sessionId }).user("Go."))),
      ).toBeNull();
      expect(portable.recognise("a.jsonl", head(agentWriter("a0b1", { sessionId }).user("Go.")))).toBeNull();
    },
  );
  it.each(["../x", "..", "a/b"])("an agent called %j is rejected as a path", (agentId) => {
    expect(portable.recognise("a.jsonl", head(agentWriter(agentId).user("Go.")))).toBeNull();
  });
});
