/**
 * `retinue verify` over every recording: retinue's sums equal the product's totals, or differ for a known and named
 * reason. Then the same recordings with one number changed: every change must be detected.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { zstdDecompressSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readMachine } from "../../src/app/machine.ts";
import { listPrice } from "../../src/app/query/prices.ts";
import { addAmounts, COMPARED, type Compared, NO_AMOUNTS, subtractAmounts } from "../../src/core/facts/usage.ts";
import type { AgentTree } from "../../src/core/views/agent.ts";
import { type ReasonCode, type Verification, verifyAll } from "../../src/core/views/verify.ts";
import { inFreshData, retinue, retinueJson } from "../support/cli.ts";
import { FIXTURES, filesBelow, recordedHome, recordedHomes } from "../support/fixtures.ts";

/** Why the product's total differs from the sum, by home. All others agree or have no total. */
const REASONS: Readonly<Record<string, readonly ReasonCode[]>> = {
  "f-killed": ["process-without-total"],
  "f2-bgkilled": ["process-without-total"],
  "f4-killedlater": ["process-without-total"],
  "s3-ttykill": ["process-without-total"],
  "s4-cutoff": ["cut-off"],
  "h-resume": ["copied", "carried-over"],
  "h2-forks": ["copied", "carried-over", "copied", "carried-over"],
  "p-promote": ["copied", "copied", "copied", "copied"],
  "j-compact": ["unrecorded"],
  "j-compact home-at-compacted": ["unrecorded"],
  "j2-agentcompact": ["unrecorded"],
  "t-title-clear": ["own-behalf", "own-behalf"],
  "w-websearch": ["unrecorded"],
  "v2.1.300-slow": ["not-final"],
};

const homes = recordedHomes("claude").map(({ name, home }) => ({ name, home, totals: ownTotals(home) }));

/** Threads whose transcript contains a total. */
function ownTotals(home: string): string[] {
  const transcripts = filesBelow(home).filter((path) => /projects\/[^/]+\/[^/]+\.jsonl$/.test(path));
  return transcripts
    .filter((path) => readFileSync(join(home, path), "utf8").includes('"type":"cost-state"'))
    .map((path) => path.slice(-42, -6));
}

/**
 * Why the totals of Codex differ. A fork continues from the total of its origin; an agent that gets a copy of its
 * parent's history starts at zero.
 */
const CODEX_REASONS: Readonly<Record<string, readonly ReasonCode[]>> = {
  "v2-archive-fork": ["copied", "carried-over"],
};

const rolloutsIn = (home: string) => filesBelow(home).filter((path) => /rollout-[^/]+\.jsonl(\.zst)?$/.test(path));
const threadIn = (path: string) => /([0-9a-f-]{36})\.jsonl/.exec(path)?.[1] ?? "";

function rolloutText(path: string): string {
  const bytes = readFileSync(path);
  return (path.endsWith(".zst") ? zstdDecompressSync(bytes) : bytes).toString();
}

/**
 * Threads whose rollout has a record for each response in addition to the running totals, as Codex writes since 0.153.
 */
const recordedThreads = (home: string) =>
  rolloutsIn(home)
    .filter((path) => rolloutText(join(home, path)).includes('"type":"token_usage_record"'))
    .map(threadIn);

function expectToAddUp(found: readonly Verification[]) {
  for (const v of found) {
    expect(v.differences).toEqual([]);
    const explained = v.reasons.map((r) => r.tokens).reduce(addAmounts, NO_AMOUNTS);
    const off = v.stated === null ? NO_AMOUNTS : subtractAmounts(subtractAmounts(v.stated, v.counted), explained);
    expect(COMPARED.map((kind) => off[kind] ?? 0)).toEqual(COMPARED.map(() => 0));
  }
}

/** What `retinue verify` compares, without the command. */
const verified = (home: string): Promise<readonly Verification[]> =>
  inFreshData(home, {}, async (env) => verifyAll((await readMachine({ env })).forest, listPrice));

async function verifyHome(home: string): Promise<{ code: number; stderr: string; found: Verification[] }> {
  const { code, stdout, stderr } = await retinue(home, ["verify", "--json"]);
  return { code, stderr, found: JSON.parse(stdout) as Verification[] };
}

describe.concurrent("every recording", () => {
  it.each(homes)("$name", async ({ name, home, totals }) => {
    const found = await verified(home);
    expect(
      found
        .filter((v) => v.stated !== null)
        .map((v) => v.uri.slice(-36))
        .sort(),
    ).toEqual(totals.toSorted());
    expect(found.flatMap((v) => v.reasons.map((r) => r.code)).filter((reason) => reason !== "no-total")).toEqual(
      REASONS[name] ?? [],
    );
    expectToAddUp(found);
  });

  it.each(recordedHomes("codex"))("codex $name", async ({ name, home }) => {
    const found = await verified(home);
    const compared = found.filter((v) => v.stated !== null).map((v) => v.uri.slice(-36));
    expect(compared.sort()).toEqual(recordedThreads(home).sort());
    expect(found.flatMap((v) => v.reasons.map((r) => r.code)).filter((reason) => reason !== "no-total")).toEqual(
      CODEX_REASONS[name] ?? [],
    );
    expectToAddUp(found);
  });

  it.each(["claude", "codex"])("exits with 0 if nothing differs, or only for known reasons: %s", async (provider) => {
    for (const { home } of recordedHomes(provider).filter((_, i) => i % 20 === 0)) {
      const { code, stderr, found } = await verifyHome(home);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(found).toEqual(await verified(home));
    }
  });

  it("covers homes with and without totals of the product", () => {
    expect(homes.filter(({ totals }) => totals.length > 0).length).toBeGreaterThan(40);
    expect(homes.filter(({ totals }) => totals.length === 0).length).toBeGreaterThan(40);
    expect(Object.keys(REASONS).filter((name) => !homes.some((home) => home.name === name))).toEqual([]);
  });
});

describe("the summary of a compaction", () => {
  it.each([
    ["j-compact", (root: AgentTree) => root],
    ["j2-agentcompact", (root: AgentTree) => root.children[0]],
  ])("is counted as internal with the tokens that the model reported: %s", async (name, compacted) => {
    const { home, threads } = recordedHome("claude", name);
    const truth = JSON.parse(readFileSync(join(FIXTURES, "claude", name, "truth.json"), "utf8")) as {
      threads: { auxCalls: Record<string, number> }[];
    };
    const { notes: _, ...served } = truth.threads[0]?.auxCalls ?? {};
    const root = (await retinueJson(home, ["tree", threads[0]?.root ?? ""])) as AgentTree;
    expect(compacted(root)?.usage.internal).toMatchObject(served);
  });
});

describe("a planted error", () => {
  let folder = "";
  let number = 0;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "retinue-verify-"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  type Row = { type?: string; uuid?: string; message?: { id?: string; usage?: Usage } };
  type Usage = Record<string, unknown> & { cache_creation?: Record<string, number> };
  type Change = (rows: Row[], response: string) => Row[];

  /** A copy of a recording in which the last response of one file was changed. */
  function planted(name: string, file: RegExp, change: Change): string {
    number += 1;
    const home = join(folder, `${number}`);
    cpSync(recordedHome("claude", name).home, home, { recursive: true });
    const path = filesBelow(home).find((p) => file.test(p));
    if (path === undefined) throw new Error(`${name} has no file like ${file}`);
    const rows = readFileSync(join(home, path), "utf8")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as Row);
    const response = rows.findLast((row) => row.type === "assistant")?.message?.id;
    if (response === undefined) throw new Error(`${path} has no response`);
    writeFileSync(
      join(home, path),
      `${change(rows, response)
        .map((row) => JSON.stringify(row))
        .join("\n")}\n`,
    );
    return home;
  }

  const lost: Change = (rows, response) => rows.filter((row) => row.message?.id !== response);
  const twice: Change = (rows, response) =>
    rows.flatMap((row) =>
      row.message?.id === response
        ? [row, { ...row, uuid: `${row.uuid} again`, message: { ...row.message, id: `${response} again` } }]
        : [row],
    );
  const more =
    (field: string): Change =>
    (rows, response) =>
      rows.map((row) => {
        if (row.message?.id !== response) return row;
        const usage: Usage = row.message.usage ?? {};
        const age = field.startsWith("ephemeral");
        const changed = age
          ? { ...usage, cache_creation: { ...usage.cache_creation, [field]: (usage.cache_creation?.[field] ?? 0) + 7 } }
          : { ...usage, [field]: Number(usage[field]) + 7 };
        return { ...row, message: { ...row.message, usage: changed } };
      });

  const MAIN = /projects\/[^/]+\/[^/]+\.jsonl$/;
  const AGENT = /subagents\/.*agent-[^/]+\.jsonl$/;
  const kinds = (found: readonly Verification[]) => found.flatMap((v) => v.differences.map((d) => d.kind));

  it.each<[string, Compared]>([
    ["input_tokens", "inputTokens"],
    ["output_tokens", "outputTokens"],
    ["cache_read_input_tokens", "cacheReadTokens"],
    ["cache_creation_input_tokens", "cacheWriteTokens"],
    ["ephemeral_1h_input_tokens", "cacheWrite1hTokens"],
  ])("in a number is reported with its kind: %s", async (field, kind) => {
    const { code, found } = await verifyHome(planted("a-single", AGENT, more(field)));
    expect(code).toBe(1);
    expect(found).toMatchObject([{ uri: "claude://21c2d5cf-22df-46f8-9d93-f17c04dc0e30", verdict: "differs" }]);
    expect(found[0]?.differences).toMatchObject([{ kind, model: "claude-opus-5-5" }]);
    const [difference] = found[0]?.differences ?? [];
    expect((difference?.counted ?? 0) - (difference?.stated ?? 0)).toBe(7);
  });

  const CASES: readonly (readonly [name: string, file: RegExp, what: string, change: Change])[] = [
    ...[
      "a-single",
      "c2-nested5",
      "e2-bgfail",
      "h2-forks",
      "i-custom",
      "m3-teams-tty",
      "n-workflow",
      "s-interactive",
      "v2.1.280",
    ].map((name) => [name, AGENT, "an answer of an agent is lost", lost] as const),
    ...[
      "a-single",
      "c3-nested-parallel",
      "f-killed",
      "f3-sigint",
      "f4-killedlater",
      "j-compact",
      "h-resume",
      "p-promote",
      "t-title-clear",
      "s4-cutoff",
    ].map((name) => [name, MAIN, "an answer of the thread is lost", lost] as const),
    ...["a-single", "f2-bgkilled", "h2-forks", "j-compact", "j2-agentcompact", "w-websearch"].map(
      (name) => [name, MAIN, "an answer of the thread counts twice", twice] as const,
    ),
  ];
  it.concurrent.each(CASES)("exits with 1: %s, %s: %s", async (name, file, _what, change) => {
    const { code, found } = await verifyHome(planted(name, file, change));
    expect({ code, verdicts: found.filter((v) => v.verdict === "differs").length }).toEqual({ code: 1, verdicts: 1 });
    expect(kinds(found)).toContain("inputTokens");
  });

  it("is printed with the thread, the kind and both numbers", async () => {
    const { code, stdout, stderr } = await retinue(planted("a-single", AGENT, more("input_tokens")), ["verify"]);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^differs {2}claude:\/\/21c2d5cf-22df-46f8-9d93-f17c04dc0e30 /m);
    expect(stdout).toContain("differs by -7 input on claude-opus-5-5: the product states 705, retinue counted 712");
    expect(stderr).toContain("retinue: 1 of 1 thread differs from what the product itself reports");
  });
});

describe("a planted error in a rollout of Codex", () => {
  let folder = "";
  let number = 0;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "retinue-verify-codex-"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  interface Row {
    readonly type: string;
    readonly payload: Record<string, unknown> & {
      readonly usage?: Record<string, number>;
      readonly response_id?: string;
    };
  }
  type Change = (row: Row) => Row[];

  /**
   * A copy of a recording in which the record of one response was changed in every rollout, and the changed threads.
   */
  function planted(
    name: string,
    change: Change,
    answer: "first" | "last",
    isMeant: (thread: string) => boolean = () => true,
  ): { home: string; threads: string[] } {
    number += 1;
    const home = join(folder, `${number}`);
    cpSync(join(FIXTURES, "codex", name, "home"), home, { recursive: true });
    const threads = rolloutsIn(home).flatMap((path) => {
      const lines = readFileSync(join(home, path), "utf8").split("\n");
      const places = lines.flatMap((line, at) => (line.includes('"type":"token_usage_record"') ? [at] : []));
      const place = places.at(answer === "first" ? 0 : -1);
      if (place === undefined || !isMeant(threadIn(path))) return [];
      const rows = change(JSON.parse(lines[place] ?? "") as Row).map((row) => JSON.stringify(row));
      writeFileSync(join(home, path), [...lines.slice(0, place), ...rows, ...lines.slice(place + 1)].join("\n"));
      return [threadIn(path)];
    });
    return { home, threads };
  }

  const more =
    (field: string, by = 7): Change =>
    ({ payload, ...row }) => [
      { ...row, payload: { ...payload, usage: { ...payload.usage, [field]: (payload.usage?.[field] ?? 0) + by } } },
    ];
  const twice: Change = (row) => [
    row,
    { ...row, payload: { ...row.payload, response_id: `${row.payload.response_id} again` } },
  ];
  const differing = (found: readonly Verification[]) =>
    found.filter((v) => v.verdict === "differs").map((v) => v.uri.slice(-36));

  const RECORDED = recordedHomes("codex").filter(
    ({ name, home }) => !name.includes(" ") && name !== "v2-packed" && recordedThreads(home).length > 0,
  );

  const BOTH = RECORDED.flatMap(({ name }) => (["first", "last"] as const).map((answer) => ({ name, answer })));
  it.concurrent.each(BOTH)(
    "in a number is found in every thread: $name, $answer response",
    async ({ name, answer }) => {
      const { home, threads } = planted(name, more("output_tokens"), answer);
      const found = await verified(home);
      expect(differing(found).sort()).toEqual(threads.sort());
      for (const v of found) {
        const off = v.differences.map((d) => [d.model, d.kind, d.counted - d.stated]);
        expect(off).toEqual(v.verdict === "differs" ? [["all models", "outputTokens", 7]] : []);
      }
    },
  );

  it.each<[string, string, number, Compared]>([
    ["more input", "input_tokens", 7, "inputTokens"],
    ["less output", "output_tokens", -7, "outputTokens"],
    ["more of the cache", "cached_input_tokens", 7, "cacheReadTokens"],
    ["more written to the cache", "cache_write_input_tokens", 7, "cacheWriteTokens"],
  ])("is reported with its kind: %s", async (_what, field, by, kind) => {
    const { code, found } = await verifyHome(planted("v2-killresume", more(field, by), "first").home);
    expect(code).toBe(1);
    expect(
      found.map((v) => v.differences.find((d) => d.kind === kind)).map((d) => (d?.counted ?? 0) - (d?.stated ?? 0)),
    ).toEqual(found.map(() => by));
  });

  it("is found if a response is recorded twice", async () => {
    const { home, threads } = planted("v2-nested", twice, "last");
    const { code, found } = await verifyHome(home);
    expect({ code, threads: differing(found).sort() }).toEqual({ code: 1, threads: threads.sort() });
  });

  it("in the form of a lost model call is replaced by the difference of the totals, with a warning", async () => {
    const { found } = await verifyHome(recordedHome("codex", "v2-nested").home);
    const { code, found: repaired } = await verifyHome(planted("v2-nested", () => [], "last").home);
    expect(code).toBe(0);
    expect(repaired.map((v) => v.counted)).toEqual(found.map((v) => v.counted));
    expect(repaired.map((v) => v.reasons.map((r) => r.code))).toEqual(found.map(() => ["from-totals"]));
  });

  const [FORK, ORIGIN] = ["01a1e1fd-bb4a-7a40-9748-4e4d011c50b9", "01a1e1fd-b87a-7973-bc65-9ecf1b1bf7f1"];
  const withoutOrigin = (change: Change) => {
    const { home } = planted("v2-archive-fork", change, "last", (thread) => thread === FORK);
    for (const path of rolloutsIn(home)) if (threadIn(path) === ORIGIN) rmSync(join(home, path));
    return verifyHome(home);
  };

  it("is found in a fork whose origin is missing, which is compared from its first total on", async () => {
    const whole = await withoutOrigin((row) => [row]);
    const fork = whole.found.find((v) => v.uri.endsWith(FORK));
    expect({ code: whole.code, codes: fork?.reasons.map((r) => r.code) }).toEqual({
      code: 0,
      codes: ["copied", "base-lost"],
    });
    expect(fork?.reasons.at(-1)?.tokens).toMatchObject({ inputTokens: 2_840, outputTokens: 171, cacheReadTokens: 211 });
    const changed = await withoutOrigin(more("input_tokens"));
    expect({ code: changed.code, threads: differing(changed.found) }).toEqual({ code: 1, threads: [FORK] });
  });
});

describe("the command", () => {
  const { home } = recordedHome("claude", "h-resume");
  const [FIRST, FORK, AGENT] = [
    "claude://fe8493ed-6d6e-4d43-8254-13b9eaefaa38",
    "claude://a79349dc-e41f-4764-94d3-8896bc9688d2",
    "latest",
  ];

  it("shows every thread, and below it why its numbers differ", async () => {
    const { code, stdout, stderr } = await retinue(home, ["verify"]);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: [
        "    THREAD                                         STATED  COUNTED",
        `ok  ${FORK}   44.4k    17.2k`,
        `    it began as a copy of ${FIRST}: the copied part counts there`,
        `    its total continues that of ${FIRST}, which used 1120 input, 504 output, 24828 cache read, 765 cache write, 478 1-hour cache write`,
        `ok  ${FIRST}   27.2k    27.2k`,
        "",
      ].join("\n"),
    });
    expect(stderr).toContain(
      "2 threads: 1 agrees, 1 differs for known reasons, 0 differ, 0 have nothing to compare with",
    );
  });

  it("prints nothing to stderr with --quiet", async () => {
    expect((await retinue(home, ["verify", "--quiet"])).stderr).toBe("");
  });

  it.each([
    ["a thread", FIRST, FIRST],
    ["an agent's thread", `${AGENT}/${agentOf(home)}`, FORK],
  ])("verifies %s", async (_what, words, uri) => {
    expect(await retinueJson(home, ["verify", words])).toMatchObject({
      schema: "retinue/verification@1",
      uri,
      differences: [],
    });
  });

  it("exits with 0 if a version writes no totals", async () => {
    const { code, stdout } = await retinue(recordedHome("claude", "v2.1.240").home, ["verify"]);
    expect(code).toBe(0);
    expect(stdout).toContain("it has no independent total: its version writes none, or it was killed");
  });

  it("exits with 1 if there is no thread", async () => {
    const { code, stdout, stderr } = await retinue(join(FIXTURES, "claude"), ["verify"]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain("no threads found");
  });
});

/** Any agent of the newest thread. */
function agentOf(home: string): string {
  const path = filesBelow(home).find((file) => /a79349dc[^/]*\/subagents\/agent-[^/]+\.jsonl$/.test(file)) ?? "";
  return /agent-([^/]+)\.jsonl$/.exec(path)?.[1] ?? "";
}
