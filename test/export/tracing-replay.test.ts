/**
 * Recordings that are replayed line by line, in orders that slow disks and early hooks may cause: every item is sent
 * once and never changes.
 */
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { recordingIn } from "../../src/app/demo/replay.ts";
import { DESTINATIONS } from "../../src/app/export/destinations/index.ts";
import { Endings } from "../../src/app/export/endings.ts";
import { collect } from "../../src/app/export/tracing.ts";
import { Library } from "../../src/app/ingest/library.ts";
import { DEFAULT_REDACTION } from "../../src/core/redaction/redaction.ts";
import type { RunOperation } from "../../src/exporters/langsmith/multipart.ts";
import type { OtlpSpan } from "../../src/exporters/otlp/shape.ts";
import { MemoryStore } from "../../src/stores/memory.ts";
import { openKept } from "../../src/stores/sqlite/kept.ts";
import { recordedHome } from "../support/fixtures.ts";
import { brokenRules, type SentRun } from "../support/langsmith-rules.ts";
import { storiesOf } from "../support/stories.ts";

const scratch = mkdtempSync(join(tmpdir(), "retinue-replay-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const CASES = [
  "k-hooks",
  "c3-nested-parallel",
  "u-nested-bg",
  "d-background",
  "g-sameprompt",
  "e-fail",
  "f-killed",
  "h-resume",
  "m-sendmessage",
  "n-workflow",
  "q-taskstop",
];
/** `RETINUE_SEEDS=50` runs more seeds. */
const SEEDS = Array.from({ length: Number(process.env.RETINUE_SEEDS ?? 1) }, (_, i) => i + 1);
const LIVE = SEEDS.map((seed) => ({ how: "live", wholeTurns: false, seed }));
const WHOLE_TURNS = SEEDS.map((seed) => ({ how: "by whole turns", wholeTurns: true, seed: seed + 1_000 }));
/** With one seed, every second case is sent by whole turns and as OTLP. */
const isComplete = (name: string) => SEEDS.length > 1 || CASES.indexOf(name) % 2 === 0;
const PID = 4242;

/** The same numbers for the same seed. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

interface Written {
  readonly path: string;
  readonly at: number;
  readonly text: string;
  readonly isWhole: boolean;
}

const SESSION = /projects\/[^/]+\/([0-9a-f-]{36})(?:\.jsonl|\/)/;

/**
 * What hooks would have reported: agents that start before any file names them, and ends of all agents before their
 * last lines are written.
 */
function hooksOf(steps: readonly Written[]): Written[] {
  const logs = [...Map.groupBy(steps, ({ path }) => path)].filter(([path]) => path.endsWith(".jsonl"));
  return logs.flatMap(([path, lines]) => {
    const session = SESSION.exec(path)?.[1];
    const agent = /agent-([0-9a-f]+)\.jsonl$/.exec(path)?.[1];
    const [first, last] = [lines[0]?.at, lines.at(-1)?.at];
    if (session === undefined || first === undefined || last === undefined) return [];
    const hook = (at: number, event: string, more: object) => ({
      path: `data/recordings/claude/hooks/${session}.jsonl`,
      at,
      text: `${JSON.stringify({ at, raw: { session_id: session, transcript_path: `/nowhere/${session}.jsonl`, hook_event_name: event, ...more } })}\n`,
      isWhole: false,
    });
    if (agent === undefined)
      return [
        hook(first - 50, "UserPromptSubmit", { prompt: "Begin." }),
        hook(last - 30, "Stop", { last_assistant_message: "Done." }),
      ];
    return [
      hook(first - 40, "SubagentStart", { agent_id: agent, agent_type: "general-purpose" }),
      hook(last - 60, "SubagentStop", { agent_id: agent, last_assistant_message: "Done." }),
    ];
  });
}

/** In the order of the recording, but every file with its own delay. */
function disturbed(name: string, random: () => number): Written[] {
  const { home } = recordedHome("claude", name);
  const steps: Written[] = recordingIn(home).steps.map((step) => ({ ...step, path: join("home", step.path) }));
  const delays = new Map<string, number>();
  const delayOf = (path: string) => {
    if (path.includes("/hooks/")) return 0;
    const delay = delays.get(path) ?? random() * 400;
    delays.set(path, delay);
    return delay;
  };
  return [...steps, ...hooksOf(steps)]
    .map((step) => ({ step, shown: step.at + delayOf(step.path) }))
    .sort((a, b) => a.shown - b.shown)
    .map(({ step }) => step);
}

interface Sent<T> {
  readonly bodies: T[];
  readonly refused: string[];
}

async function traced<T>(
  format: "langsmith" | "otlp",
  wholeTurns: boolean,
  name: string,
  seed: number,
): Promise<Sent<T>> {
  const random = numbers(seed);
  const steps = disturbed(name, random);
  const folder = mkdtempSync(join(scratch, "case-"));
  const env = {
    HOME: join(folder, "home"),
    RETINUE_HOME: join(folder, "data"),
    TMPDIR: join(folder, "tmp"),
    LANGSMITH_API_KEY: "k",
    LANGSMITH_ENDPOINT: "http://127.0.0.1:1",
  };
  let now = steps[0]?.at ?? 0;
  let isAlive = true;
  const library = new Library({
    env,
    store: new MemoryStore(),
    price: () => null,
    now: () => now,
    liveness: () => (isAlive ? "alive" : "gone"),
  });
  const kept = await openKept(join(folder, "kept.sqlite"));
  const [destination] =
    (await DESTINATIONS.find((kind) => kind.format === format)?.open(env, DEFAULT_REDACTION, false)) ?? [];
  if (destination === undefined) throw new Error("no destination");
  kept.outbox.open(destination.name, 0);
  const sent: Sent<T> = { bodies: [], refused: [] };
  const log = (line: string) => void (line.includes("contradicts") && sent.refused.push(line));
  const watched = {
    library,
    outbox: kept.outbox,
    endings: new Endings(library),
    log,
    old: "send" as const,
    wholeTurns,
  };
  const look = async (meanwhile: () => void = () => {}) => {
    const { threads: changed } = await library.refresh();
    meanwhile();
    const looked = await collect(watched, destination, changed, true, now);
    for (const item of kept.outbox.items(destination.name, 10_000)) {
      sent.bodies.push(JSON.parse(Buffer.from(item.body).toString()) as T);
      kept.outbox.arrived(destination.name, [item.id], now, null);
    }
    return looked;
  };
  const marks = join(env.HOME, ".claude/sessions");
  mkdirSync(marks, { recursive: true });
  for (const [i, session] of [...new Set(steps.flatMap(({ path }) => SESSION.exec(path)?.[1] ?? []))].entries())
    writeFileSync(
      join(marks, `${PID + i}.json`),
      JSON.stringify({ pid: PID + i, sessionId: session, startedAt: now, procStart: "1", version: "2.1.325" }),
    );
  try {
    const write = ({ path, at, text, isWhole }: Written) => {
      now = Math.max(now, at);
      const target = join(folder, path);
      mkdirSync(dirname(target), { recursive: true });
      (isWhole ? writeFileSync : appendFileSync)(target, text);
    };
    // Some lines are written between the reading of the facts and the reading of the events.
    for (const step of steps)
      if (random() < 0.85) write(step);
      else await look(() => write(step));
    isAlive = false;
    rmSync(marks, { recursive: true });
    for (let looked = await look(), rounds = 0; looked.isSettling && rounds < 10; rounds += 1) {
      now += 3_000;
      looked = await look();
    }
  } finally {
    kept.close();
    library.close();
  }
  return sent;
}

const callsIn = async (name: string) =>
  (await storiesOf(recordedHome("claude", name).home)).reduce((sum, { record }) => sum + record.usage.subtree.calls, 0);

describe.each(CASES)("%s, visible in another order than it was written", (name) => {
  it.each(isComplete(name) ? [...LIVE, ...WHOLE_TURNS] : LIVE)(
    "LangSmith, $how, seed $seed: every run is posted once, ends, and keeps its place",
    async ({ wholeTurns, seed }) => {
      const { bodies, refused } = await traced<RunOperation>("langsmith", wholeTurns, name, seed);
      const runs = new Map<string, SentRun>();
      for (const { is, id, parts } of bodies) {
        const run = parts[""] as SentRun;
        const before = runs.get(id);
        if (is === "post") {
          expect(before).toBe(undefined);
          expect(brokenRules(run)).toEqual([]);
          if (run.parent_run_id !== undefined) expect(runs.has(run.parent_run_id)).toBe(true);
          runs.set(id, run);
          continue;
        }
        expect(before?.end_time).toBe(undefined);
        expect([run.dotted_order, run.parent_run_id, run.trace_id]).toEqual([
          before?.dotted_order,
          before?.parent_run_id,
          before?.trace_id,
        ]);
        runs.set(id, { ...(before as SentRun), ...run });
      }
      const all = [...runs.values()];
      expect(all.filter(({ end_time }) => end_time === undefined)).toEqual([]);
      expect(all.filter(({ run_type }) => run_type === "llm").length).toBe(await callsIn(name));
      expect(refused).toEqual([]);
      if (wholeTurns) expect(bodies.every(({ is }) => is === "post")).toBe(true);
    },
  );

  it.each(isComplete(name) ? SEEDS : [])(
    "OTLP, seed %i: every span is sent once, in one trace with its parent",
    async (seed) => {
      const { bodies, refused } = await traced<OtlpSpan>("otlp", false, name, seed + 2_000);
      const spans = new Map(bodies.map((span) => [span.spanId, span]));
      expect(spans.size).toBe(bodies.length);
      for (const { parentSpanId, traceId } of bodies)
        if (parentSpanId !== undefined) expect(spans.get(parentSpanId)?.traceId).toBe(traceId);
      expect(bodies.filter(({ name: called }) => called.startsWith("chat ")).length).toBe(await callsIn(name));
      expect(refused).toEqual([]);
    },
  );
});
