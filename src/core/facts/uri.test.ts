import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatUri, isCanonicalUri, type KnownScheme, parseTarget, type Target } from "./uri.ts";

const SCHEMES: readonly KnownScheme[] = [
  {
    name: "toy",
    idForm: "a toy id is hexadecimal",
    isThreadId: (id) => /^[0-9a-f]+$/.test(id),
    isAgentId: (id) => /^[a-z0-9]+$/.test(id),
    isAgentPath: (path) => /^\/top(?:\/[a-z]+)+$/.test(path),
  },
  { name: "other", idForm: "an other id is a number", isThreadId: (id) => /^\d+$/.test(id), isAgentId: () => false },
];
const parse = (input: string, existing: readonly string[] = []) =>
  parseTarget(input, SCHEMES, (id) => existing.includes(id));
const named = (provider: string | null, thread: string, agent: string | null = null): Target => ({
  is: "named",
  provider,
  thread,
  agent,
});

describe("a name of a thread or an agent", () => {
  it.each<[string, Target]>([
    ["toy://abc123", named("toy", "abc123")],
    ["toy://abc123/worker", named("toy", "abc123", "worker")],
    ["agents://toy/abc123", named("toy", "abc123")],
    ["agents://toy/abc123/worker", named("toy", "abc123", "worker")],
    ["toy://threads/abc123", named("toy", "abc123")],
    ["toy://abc123/top/a/b", named("toy", "abc123", "/top/a/b")],
    ["toy://abc123/top/a", named("toy", "abc123", "/top/a")],
    ["toy://abc123/top", named("toy", "abc123", "top")],
    ["toy://threads/abc123/top/a", named("toy", "abc123", "/top/a")],
    ["toy://latest/top/a", { is: "latest", provider: "toy", agent: "/top/a" }],
    ["abc123", named(null, "abc123")],
    ["abc123/worker", named(null, "abc123", "worker")],
    ["123456", named(null, "123456")],
    ["unassigned://toy/worker", named("unassigned", "toy", "worker")],
    ["latest", { is: "latest", provider: null, agent: null }],
    ["toy://latest", { is: "latest", provider: "toy", agent: null }],
    ["agents://toy/latest/worker", { is: "latest", provider: "toy", agent: "worker" }],
  ])("%s", (input, target) => {
    expect(parse(input)).toEqual(target);
  });

  it("may be percent-encoded", () => {
    expect(parse("toy://a%62c123")).toEqual(named("toy", "abc123"));
    expect(parse("toy://abc123/50%", ["50%"])).toEqual(named("toy", "abc123", "50%"));
  });

  it("may be any id that a record uses, of any form and length", () => {
    expect(parse("toy://Not-Hex/No.Agent", ["Not-Hex", "No.Agent"])).toEqual(named("toy", "Not-Hex", "No.Agent"));
    expect(parse("toy://ab", ["ab"])).toEqual(named("toy", "ab"));
  });
});

describe("an invalid name", () => {
  it.each([
    ["an unknown scheme", "nope://abc123", "unknown scheme nope", "known schemes: toy://, other://"],
    ["an unknown scheme behind agents://", "agents://nope/abc123", "unknown scheme nope", "known schemes"],
    ["an empty scheme", "://abc123", "unknown scheme (empty)", "known schemes"],
    ["an empty scheme behind agents://", "agents:///abc123", "unknown scheme (empty)", "known schemes"],
    ["nothing", "", "empty part in URI", "write <provider>://<thread>"],
    ["an empty thread", "toy://", "empty part in URI", "write <provider>://<thread>"],
    ["a provider and no thread", "agents://toy", "empty part in URI", "write <provider>://<thread>"],
    ["an empty agent", "toy://abc123/", "empty part in URI", "write <provider>://<thread>"],
    ["an empty part between", "toy://abc123//worker", "empty part in URI", "write <provider>://<thread>"],
    ["three parts", "toy://abc123/worker/leaf", "more than two parts", "write <provider>://<thread>"],
    ["a query", "toy://abc123?x=1", "cannot have a query or fragment", "write <provider>://<thread>"],
    ["a fragment", "toy://abc123#x", "cannot have a query or fragment", "write <provider>://<thread>"],
    ["a way up", "toy://../abc123", "a URI cannot contain . or ..", "write <provider>://<thread>"],
    ["a way up behind the thread", "toy://abc123/..", "a URI cannot contain . or ..", "write <provider>://<thread>"],
    ["an encoded way up", "toy://%2e%2e%2fabc123", "cannot be a thread id", "a toy id is hexadecimal"],
    ["a line break", "toy://abc123\nmore", "control characters", "write <provider>://<thread>"],
    ["a null byte", "toy://abc123\u0000", "control characters", "write <provider>://<thread>"],
    ["an encoded null byte", "toy://abc%00123", "cannot be a thread id", "a toy id is hexadecimal"],
    ["an id that the provider cannot have", "toy://xyz-xyz", "cannot be a thread id", "a toy id is hexadecimal"],
    [
      "an id that no provider can have",
      "xyz-xyz",
      "cannot be a thread id",
      "a toy id is hexadecimal; an other id is a number",
    ],
    ["another provider's id", "other://abc123", "cannot be a thread id", "an other id is a number"],
    [
      "an agent that the provider cannot have",
      "toy://abc123/No.Agent",
      "cannot be an agent id",
      "write <provider>://<thread>",
    ],
    ["a prefix of fewer than six", "toy://abc12", "a prefix needs 6 characters or more", "a toy id is hexadecimal"],
    ["two URIs in one", "toy://abc123 toy://def456", "spaces are not allowed in a URI", "use one URI"],
  ])("%s", (_what, input, wrong, right) => {
    const fault = parse(input);
    expect(fault).toEqual({ wrong: expect.stringContaining(wrong), right: expect.stringContaining(right) });
    // One line each, whatever the input.
    expect(Object.values(fault).some((line) => String(line).includes("\n"))).toBe(false);
  });
});

/** Anything a person could type or a record could contain, with more of what has a meaning here. */
const MEANING = [
  "toy",
  "other",
  "agents",
  "unassigned",
  "threads",
  "latest",
  "abc123",
  "worker",
  ".",
  "..",
  "?",
  "#",
  ":",
  "//",
];
const NASTY = [
  "%",
  "%2f",
  "%2F..",
  "%00",
  "%zz",
  "%E2%82",
  "",
  " ",
  "\n",
  "\u0000",
  "\u009b",
  "\u2028",
  "\u202e",
  "\ud800",
  "é",
  "😀",
];
const word = fc.oneof(fc.constantFrom(...MEANING, ...NASTY), fc.string({ unit: "binary", maxLength: 12 }));
const scheme = fc.oneof(
  fc.constantFrom("", "toy://", "other://", "agents://toy/", "agents://", "unassigned://"),
  word.map((text) => `${text}://`),
);
const typed = fc.oneof(
  fc.string({ unit: "binary", maxLength: 60 }),
  fc
    .tuple(scheme, fc.array(fc.array(word, { minLength: 1, maxLength: 2 }), { maxLength: 4 }))
    .map(([start, parts]) => start + parts.map((p) => p.join("")).join("/")),
);
const id = fc
  .array(word, { minLength: 1, maxLength: 2 })
  .map((words) => words.join(""))
  .filter((text) => text !== "");
const RUNS = 1_000;

describe("a canonical URI", () => {
  it.each(["toy://abc123", "toy://abc123/worker", "unassigned://toy/worker", "run://a.b", "proxy://x/%2Ftop%2Fa"])(
    "is %s",
    (uri) => expect(isCanonicalUri(uri)).toBe(true),
  );

  it.each([
    "",
    "toy",
    "toy://",
    "toy:///worker",
    "toy://abc123/",
    "toy://abc123/top/a",
    "toy://../../etc",
    "toy://abc123/..",
    "toy://latest",
    "toy://threads/abc123",
    "toy://%61bc123",
    "toy://abc 123",
    "toy://abc123?q",
    "toy://abc123#1",
    "Toy://abc123",
    "toy://abc\n123",
  ])("is not %j", (uri) => expect(isCanonicalUri(uri)).toBe(false));
});

describe("any input", () => {
  it("is a target or a fault, never an exception; a fault is one line about the error and one about the correction", () => {
    fc.assert(
      fc.property(typed, fc.boolean(), (input, exists) => {
        const found = parseTarget(input, SCHEMES, () => exists);
        if (!("wrong" in found)) return;
        for (const line of [found.wrong, found.right]) expect(line).toMatch(/^[^\p{Cc}\u2028\u2029\u202e]+$/u);
      }),
      { numRuns: RUNS, seed: 1 },
    );
  });

  it("is parsed again from its printed form, whatever the ids are", () => {
    fc.assert(
      fc.property(fc.constantFrom("toy", "other", "unassigned"), id, fc.option(id), (provider, threadId, agentId) => {
        const uri = formatUri(provider, threadId, agentId);
        expect(uri).not.toMatch(/[\s\p{Cc}]/u);
        expect(isCanonicalUri(uri)).toBe(true);
        expect(parseTarget(uri, SCHEMES, () => true)).toEqual(named(provider, threadId, agentId));
      }),
      { numRuns: RUNS, seed: 2 },
    );
  });

  it("has the same meaning when it is printed again", () => {
    fc.assert(
      fc.property(typed, (input) => {
        const found = parseTarget(input, SCHEMES, () => true);
        if ("wrong" in found || found.is === "latest" || found.provider === null) return;
        expect(parseTarget(formatUri(found.provider, found.thread, found.agent), SCHEMES, () => true)).toEqual(found);
      }),
      { numRuns: RUNS, seed: 3 },
    );
  });
});
