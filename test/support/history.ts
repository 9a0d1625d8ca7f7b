/**
 * Generated histories with many conflicts: several threads, forks with copies of other threads' records, equal prompts,
 * contradictory parents, cycles, orphans, threads without records, ends of unknown agents, refused files, and internal
 * work of the product, and shell commands that may have started threads. Few names are used, so that they collide often.
 */
import fc from "fast-check";
import {
  type AgentKey,
  agentKey,
  type CallKey,
  callKey,
  matchKey,
  observationId,
  partsOf,
  type RecordKey,
  recordKey,
  threadKey,
  threadOf,
} from "../../src/core/facts/ids.ts";
import type { Fact, Observation, RecordState } from "../../src/core/facts/observation.ts";
import { ORIGINS, type Origin } from "../../src/core/facts/origin.ts";
import type { ManualLink } from "../../src/core/link/parents.ts";

const TOY = "toy";
const THREADS = ["t0", "t1", "t2"];
const AGENTS = ["a0", "a1", "a2"];
const STATED = ["protocol", "parent_rollout", "child_rollout", "inferred"] as const;

export interface History {
  readonly observations: readonly Observation[];
  readonly manual: readonly ManualLink[];
}

const threadId = fc.constantFrom(...THREADS);
const agentId = fc.constantFrom(...AGENTS);
const anyThread = threadId.map((t) => threadKey(TOY, t));
const anyChild = fc.tuple(threadId, agentId).map(([t, a]) => agentKey(TOY, t, a));
const anyone: fc.Arbitrary<AgentKey> = fc.oneof(anyThread, anyChild);
const anyCall = fc.constantFrom("c0", "c1", "c2", "c3").map((id): CallKey => callKey(TOY, id));
const anyMatch = fc.constantFrom("m0", "m1").map((value) => matchKey(TOY, "prompt", value));
const time = fc.option(
  fc.integer({ min: 1, max: 30 }).map((t) => t * 1_000),
  { nil: null, freq: 5 },
);

/** The facts of a record, by holder: a copy in another thread names that thread's agents. */
type Saying = (holder: AgentKey) => Fact;
const inThreadOf = (holder: AgentKey, id: string) => agentKey(TOY, partsOf(holder).thread, id);

const spawning: fc.Arbitrary<Saying> = fc
  .record({
    call: anyCall,
    offers: fc.uniqueArray(anyMatch, { maxLength: 2 }),
    makes: fc.constantFrom("one" as const, "maybe" as const),
  })
  .map(({ call, offers, makes }) => () => ({
    type: "spawn-called",
    call,
    tool: "Spawn",
    makes,
    prompt: null,
    agentType: null,
    description: null,
    name: null,
    offers,
  }));
const naming: fc.Arbitrary<Saying> = fc
  .record({ call: anyCall, child: agentId, source: fc.constantFrom(...STATED) })
  .map(({ call, child, source }) => (holder) => ({
    type: "call-spawned",
    call,
    child: inThreadOf(holder, child),
    rule: "result",
    source,
    says: "the result names it",
  }));
const answering: fc.Arbitrary<Saying> = fc
  .record({ match: anyMatch, exclusive: fc.boolean() })
  .map(({ match, exclusive }) => (holder) => ({
    type: "spawn-match",
    agent: holder,
    match,
    rule: "prompt",
    source: "inferred",
    exclusive,
    says: "the prompts are equal",
  }));
const ending: fc.Arbitrary<Saying> = fc
  .record({
    of: fc.oneof(agentId, anyCall),
    state: fc.constantFrom(
      "launched" as const,
      "revived" as const,
      "completed" as const,
      "errored" as const,
      "shutdown" as const,
    ),
  })
  .map(({ of, state }) => (holder) => {
    const subject = AGENTS.includes(of) ? inThreadOf(holder, of) : { call: of as CallKey };
    return { type: "lifecycle", of: subject, state, source: "parent_rollout", says: state, result: null };
  });

const offering: fc.Arbitrary<Saying> = fc
  .record({ call: anyCall, match: anyMatch })
  .map((offer) => () => ({ type: "call-offers", ...offer }));
const FOLDER = "/work";
const anyPrompt = fc.constantFrom("review the first file", "review the second file");
const anyAnswer = fc.constantFrom("everything is fine", "nothing is fine");
/** A shell command that starts the product, or a script. */
const shelling: fc.Arbitrary<Saying> = fc
  .record({
    call: anyCall,
    prompt: anyPrompt,
    open: fc.boolean(),
    background: fc.boolean(),
    times: fc.constantFrom(1, 2, null),
    isScript: fc.boolean(),
    thread: fc.option(anyThread, { freq: 2 }),
  })
  .map(({ call, prompt, isScript, ...launch }) => () => ({
    type: "shell-called",
    call,
    command: "toy run",
    folders: [FOLDER],
    launches: isScript ? [] : [{ ...launch, provider: TOY, prompts: [[prompt]], headless: true }],
    ...(launch.background ? { background: true as const } : {}),
  }));
const returning: fc.Arbitrary<Saying> = fc
  .record({ call: anyCall, calledAt: time, printed: fc.array(anyThread, { maxLength: 2 }), output: anyAnswer })
  .map((result) => () => ({ type: "shell-returned", folders: [FOLDER], ...result }));
const beginning: fc.Arbitrary<Saying> = fc.constantFrom(true, false, undefined).map((interactive) => (holder) => ({
  type: "thread-began",
  thread: threadOf(holder),
  cwd: FOLDER,
  ...(interactive === undefined ? {} : { interactive }),
}));
const hiding: fc.Arbitrary<Saying> = fc
  .record({
    what: fc.constantFrom("compaction", "title"),
    on: fc.constantFrom("own" as const, "any" as const),
    one: fc.boolean(),
  })
  .map((trace) => () => ({ type: "model-call-missing", ...trace }));

interface Exchange {
  readonly owner: AgentKey;
  /** Copies: each contains all or some of the first rows. */
  readonly copies: readonly { readonly holder: AgentKey; readonly rows: number }[];
  /** What other origins have of it: the product while it runs, or the proxy, which may assign it to another agent. */
  readonly echoes: readonly { readonly holder: AgentKey; readonly rows: number; readonly origin: Origin }[];
  readonly response: boolean;
  readonly rows: readonly {
    readonly at: number | null;
    readonly state: RecordState | null;
    readonly calls: readonly CallKey[];
    readonly text: string | null;
    readonly sayings: readonly Saying[];
  }[];
}

const exchange: fc.Arbitrary<Exchange> = fc.record({
  owner: anyone,
  copies: fc.uniqueArray(fc.record({ holder: anyone, rows: fc.integer({ min: 1, max: 3 }) }), {
    maxLength: 2,
    selector: (c) => c.holder,
  }),
  echoes: fc.uniqueArray(
    fc.record({ holder: anyone, rows: fc.integer({ min: 1, max: 3 }), origin: fc.constantFrom(...ORIGINS) }),
    {
      maxLength: 2,
      selector: (echo) => echo.origin,
    },
  ),
  response: fc.boolean(),
  rows: fc.array(
    fc.record({
      at: time,
      state: fc.constantFrom<(RecordState | null)[]>("answered", "failed", "interrupted", "open", null),
      calls: fc.uniqueArray(anyCall, { maxLength: 2 }),
      text: fc.option(anyAnswer, { freq: 2 }),
      sayings: fc.array(
        fc.oneof(spawning, naming, answering, ending, offering, hiding, shelling, returning, beginning),
        { maxLength: 2 },
      ),
    }),
    { minLength: 1, maxLength: 3 },
  ),
});

/** Facts that are in no record that could be copied: files next to the transcripts, and places. */
const stated: fc.Arbitrary<Fact> = fc.oneof(
  anyone.map((agent): Fact => ({ type: "agent-described", agent, description: "described" })),
  // Only files of agents can be internal work.
  fc.tuple(anyChild, fc.boolean()).map(
    ([agent, unlessSpawned]): Fact => ({
      type: "agent-described",
      agent,
      internal: { why: "own work", unlessSpawned },
    }),
  ),
  fc
    .record({ child: anyone, parent: anyone, source: fc.constantFrom(...STATED), confidence: fc.constantFrom(1, 0.5) })
    .map(
      ({ child, parent, source, confidence }): Fact => ({
        type: "parent-named",
        child,
        parent,
        rule: "named",
        source,
        confidence,
        says: "it names its parent",
      }),
    ),
  fc.tuple(anyone, anyPrompt).map(([agent, prompt]): Fact => ({ type: "agent-described", agent, prompt, cwd: FOLDER })),
  fc.tuple(anyThread, fc.array(fc.tuple(anyone, fc.boolean(), fc.option(anyCall)), { maxLength: 2 })).map(
    ([thread, starters]): Fact => ({
      type: "starter-seen",
      thread,
      starters: starters.map(([agent, exact, call]) => ({ agent, exact, call, says: "names an agent" })),
    }),
  ),
  fc
    .tuple(anyThread, fc.integer({ min: 0, max: 2 }))
    .map(([of, rank]): Fact => ({ type: "thread-titled", of, title: `title ${rank}`, rank })),
  fc
    .tuple(anyCall, anyCall)
    .map(([alias, call]): Fact => ({ type: "call-aliased", alias: `${alias}/run` as CallKey, call })),
  fc
    .record({
      inputTokens: fc.integer({ min: 0, max: 60 }),
      began: time,
      activeMs: fc.constantFrom(null, 2_000, 9_000),
    })
    .map(
      ({ inputTokens, began, activeMs }): Fact => ({
        type: "total-stated",
        byModel: [
          {
            model: "model-1",
            amounts: { inputTokens, outputTokens: 6, cacheReadTokens: 1, cacheWriteTokens: 1, cacheWrite1hTokens: 0 },
          },
        ],
        costUsd: 1,
        began,
        activeMs,
      }),
    ),
  // To a later name, so that chains end.
  fc
    .tuple(anyone, anyone)
    .map(
      ([a, b]): Fact =>
        a < b ? { type: "agent-aliased", alias: a, agent: b } : { type: "agent-aliased", alias: b, agent: a },
    ),
  fc.tuple(anyone, anyone).map(([agent, forkedFrom]): Fact => ({ type: "agent-described", agent, forkedFrom })),
  anyone.map((agent): Fact => ({ type: "waits", agent, for: "a permission", says: "for a permission" })),
  anyone.map((to): Fact => ({ type: "message-sent", to })),
  anyThread.map(
    (thread): Fact => ({
      type: "process-seen",
      thread,
      process: { pid: 7, birth: null, domain: null, startedAt: 5_000 },
      waitingFor: null,
    }),
  ),
);
const refusal = anyChild.map((agent) => ({
  speaker: agent,
  at: null,
  fact: { type: "file-refused", agent } satisfies Fact,
}));
const statement = fc.oneof({ arbitrary: fc.record({ speaker: anyone, at: time, fact: stated }), weight: 9 }, refusal);

const manualLinks: fc.Arbitrary<ManualLink[]> = fc.uniqueArray(
  fc.record({
    child: anyone,
    parent: anyone,
    at: fc.constant(99_000),
    call: fc.option(anyCall),
    request: fc.constantFrom(null, "req-1"),
  }),
  {
    maxLength: 2,
    selector: (link) => link.child,
  },
);

export const history: fc.Arbitrary<History> = fc
  .record({
    exchanges: fc.array(exchange, { maxLength: 8 }),
    statements: fc.array(statement, { maxLength: 10 }),
    manual: manualLinks,
  })
  .map(({ exchanges, statements, manual }) => ({
    manual,
    observations: [
      ...exchanges.flatMap(observedIn),
      ...statements.map(
        ({ speaker, at, fact }, i): Observation => ({
          ...fact,
          id: observationId(`stated:${i}`, 0),
          at,
          speaker,
          keys: [],
          order: 0,
        }),
      ),
    ],
  }));

function observedIn({ owner, copies, echoes, response, rows }: Exchange, exchangeNumber: number): Observation[] {
  const responseKey = recordKey(TOY, `response ${exchangeNumber}`);
  const holders: readonly { readonly holder: AgentKey; readonly rows: number; readonly origin?: Origin }[] = [
    { holder: owner, rows: rows.length },
    ...copies.filter(({ holder }) => holder !== owner),
    // Only the proxy may not know the agent.
    ...echoes.map((echo) => (echo.origin === "proxy" ? echo : { ...echo, holder: owner })),
  ];
  return holders.flatMap(({ holder, rows: held, origin }) =>
    rows.slice(0, held).flatMap(({ at, state, calls, text, sayings }, rowNumber) => {
      const keys: RecordKey[] = [
        recordKey(TOY, `row ${exchangeNumber}.${rowNumber}`),
        ...(response ? [responseKey] : []),
      ];
      const facts: Fact[] = [
        {
          type: "record",
          role: "assistant",
          state: state,
          certain: true,
          calls: calls.map((call) => ({ call, name: "Spawn" })),
          results: [],
          text,
          message: true,
        },
        ...(response ? [modelCall(responseKey, rowNumber)] : []),
        ...sayings.map((say) => say(holder)),
      ];
      const place = `${origin ?? ""}${holder}:${exchangeNumber * 10 + rowNumber}`;
      const seen = {
        at,
        speaker: holder,
        keys,
        order: exchangeNumber * 10 + rowNumber,
        ...(origin === undefined ? {} : { origin }),
      };
      return facts.map((fact, i): Observation => ({ ...fact, id: observationId(place, i), ...seen }));
    }),
  );
}

/** While a response is streamed, the later row has the larger numbers. */
function modelCall(response: RecordKey, rowNumber: number): Fact {
  const tokens = {
    inputTokens: 10,
    outputTokens: 5 + rowNumber,
    reasoningTokens: 0,
    cacheReadTokens: 1,
    cacheWriteTokens: 1,
    cacheWrite1hTokens: 0,
  };
  return { type: "model-call", response, model: "model-1", tokens, chars: 0, ended: rowNumber > 0 };
}
