import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type History, history } from "../../../test/support/history.ts";
import { agent, answer, notebook, parentNamed, record, thread } from "../../../test/support/observations.ts";
import { type AgentKey, observationId, type RecordKey, threadOf } from "../facts/ids.ts";
import type { Observation } from "../facts/observation.ts";
import { treeOf } from "../views/record.ts";
import type { Forest, LinkedAgent } from "./forest.ts";
import { type LinkOptions, link } from "./link.ts";

type Linker = typeof link;
const OPTIONS: LinkOptions = { now: 100_000, liveness: () => "unknown" };
/** Linking after each observation takes as long as all other properties together, so it runs a quarter as often. */
const RUNS = Number(process.env.RETINUE_RUNS ?? 100);

/** The whole content of a forest, in its own order, as plain data. */
const plain = ({ ownerOf: _, nameOf: __, agents, ...rest }: Forest) =>
  JSON.stringify({ ...rest, agents: [...agents] }, (key, value: unknown) =>
    key === "ownBehalf" ? { ofProduct: value } : value,
  );

/**
 * What must hold of every forest, whatever was observed. Each takes the linker, so that faulty ones can be tried on it.
 */
const PROPERTIES = {
  "no agent is lost": (linker, { observations, manual }) => {
    const forest = linker(observations, { ...OPTIONS, manual });
    const internal = new Set([...forest.agents.values()].flatMap((a) => a.ownBehalf.map((g) => g.key)));
    const holdersOf = Map.groupBy(
      observations.flatMap((o) =>
        o.keys.map((key) => ({ holder: o.speaker, as: `${key} ${forest.nameOf(o.speaker)}` })),
      ),
      ({ as }) => as,
    );
    // If two names of one agent hold a record, it cannot be determined from outside which of them is the copy.
    const isOwner = (speaker: AgentKey, key: RecordKey) => {
      const name = forest.nameOf(speaker);
      return (
        forest.ownerOf(key) === name && new Set(holdersOf.get(`${key} ${name}`)?.map(({ holder }) => holder)).size === 1
      );
    };
    const originals = observations.filter((o) => o.keys.slice(-1).every((key) => isOwner(o.speaker, key)));
    const records = new Set(originals.flatMap((o) => (o.type === "record" ? [forest.nameOf(o.speaker)] : [])));
    const refused = new Set(
      originals.flatMap((o) =>
        o.type === "file-refused" && !records.has(forest.nameOf(o.agent)) ? [forest.nameOf(o.agent)] : [],
      ),
    );
    for (const o of originals)
      for (const key of refused.has(forest.nameOf(o.speaker)) ? [] : mentionedIn(o))
        expect([...forest.agents.keys(), ...internal]).toContain(forest.nameOf(key));
    // The work of a thread that is itself internal belongs to the thread that it worked for.
    for (const a of forest.agents.values())
      for (const g of a.ownBehalf)
        expect([a.key, forest.agents.has(g.key)]).toEqual([
          threadOf(g.key) !== g.key && forest.agents.has(threadOf(g.key)) ? threadOf(g.key) : a.key,
          false,
        ]);
  },

  "a record in several files belongs to one of their agents": (linker, { observations, manual }) => {
    const forest = linker(observations, { ...OPTIONS, manual });
    const holders = Map.groupBy(
      observations.flatMap((o) => o.keys.map((key) => ({ key, holder: o.speaker }))),
      ({ key }) => key,
    );
    for (const [key, claims] of holders)
      expect(claims.map(({ holder }) => forest.nameOf(holder))).toContain(forest.ownerOf(key));
  },

  "order and repetition do not change the result": (linker, { observations, manual }) => {
    const options = { ...OPTIONS, manual };
    const want = plain(linker(observations, options));
    expect(plain(linker(observations.toReversed(), options))).toBe(want);
    expect(plain(linker([...observations, ...observations.toReversed()], options))).toBe(want);
    const byKind = observations.toSorted((a, b) => (a.type < b.type ? -1 : a.type > b.type ? 1 : 0));
    expect(plain(linker(byKind, options))).toBe(want);
  },

  "observations one by one give a valid forest at every step, and the same result as all at once": (
    linker,
    { observations, manual },
  ) => {
    const seen: Observation[] = [];
    let last = linker([], { ...OPTIONS, manual });
    for (const o of observations.toReversed()) {
      seen.push(o);
      last = linker(seen, { ...OPTIONS, manual });
      expectForest(last);
    }
    expect(plain(last)).toBe(plain(linker(observations, { ...OPTIONS, manual })));
  },

  "the result is a forest": (linker, { observations, manual }) =>
    expectForest(linker(observations, { ...OPTIONS, manual })),

  "every child has evidence for its parent": (linker, { observations, manual }) => {
    const forest = linker(observations, { ...OPTIONS, manual });
    for (const root of forest.roots) {
      const below = [treeOf(forest, root, () => 0)];
      expect(below[0]?.link).toBeNull();
      for (const one of below) {
        below.push(...one.children);
        for (const child of one.children) expect(child.link?.evidence.length ?? 0).toBeGreaterThan(0);
      }
    }
    for (const a of forest.agents.values()) if (a.parent !== null) expect(a.evidence.length).toBeGreaterThan(0);
  },

  "a cycle is cut and reported": (linker, { observations, manual }) => {
    const forest = linker(observations, { ...OPTIONS, manual });
    const wanted = new Map([...forest.agents.values()].map((a) => [a.key, a.evidence[0]?.parent ?? null]));
    for (const key of wanted.keys())
      if (leadsToItself(key, wanted)) expect(forest.problems.map((p) => p.code)).toContain("parent-cycle");
  },

  "a manual link wins over everything": (linker, { observations, manual }) => {
    const forest = linker(observations, { ...OPTIONS, manual });
    const byHand = new Map(manual.map(({ child, parent }) => [child, parent]));
    for (const { child, parent } of manual) {
      const shown = forest.agents.get(child);
      // Neither an unknown agent nor internal work can be linked, and a cycle of manual links must be cut somewhere.
      if (shown === undefined || !forest.agents.has(parent) || leadsToItself(child, byHand)) continue;
      expect(shown.parent).toBe(parent);
      expect(shown.evidence[0]?.source).toBe("manual");
    }
  },

  "every model call counts once": (linker, { observations, manual }) => {
    const forest = linker(observations, { ...OPTIONS, manual });
    const counted = [...forest.agents.values()]
      .flatMap((a) => [...a.calls, ...a.ownBehalf.flatMap((g) => [...g.calls])])
      .map((c) => c.response);
    const made = new Set(observations.flatMap((o) => (o.type === "model-call" ? [o.response] : [])));
    expect(counted.toSorted()).toEqual([...made].toSorted());
  },
} as const satisfies Record<string, (linker: Linker, history: History) => void>;

type Property = keyof typeof PROPERTIES;

describe("link", () => {
  it.each(Object.keys(PROPERTIES) as Property[])("%s", (name) => {
    fc.assert(
      fc.property(history, (made) => PROPERTIES[name](link, made)),
      { numRuns: name.startsWith("observations one by one") ? RUNS / 4 : RUNS },
    );
  });
});

/** Known faults of linkers, each with the property that must detect it. */
const FAULTS: readonly { readonly fault: string; readonly caughtBy: Property; readonly linker: Linker }[] = [
  {
    fault: "agents without records are dropped",
    caughtBy: "no agent is lost",
    linker: changed((agents) => agents.filter((a) => a.records > 0)),
  },
  {
    fault: "every copy is dropped, and the original with it",
    caughtBy: "every model call counts once",
    linker: (observations, options) => {
      const all = [...observations];
      const holders = Map.groupBy(all, (o) => o.keys.at(-1));
      return link(
        all.filter((o) => o.keys.length === 0 || new Set(holders.get(o.keys.at(-1))?.map((h) => h.speaker)).size === 1),
        options,
      );
    },
  },
  {
    fault: "copies are taken for originals",
    caughtBy: "every model call counts once",
    linker: (observations, options) =>
      link(
        [...observations].map((o) => ({ ...o, keys: [] })),
        options,
      ),
  },
  {
    fault: "observations that were read twice count twice",
    caughtBy: "order and repetition do not change the result",
    linker: (observations, options) =>
      link(
        [...observations].map((o, i) => ({ ...o, id: observationId(o.id, i) })),
        options,
      ),
  },
  {
    fault: "the first statement wins, whatever its time",
    caughtBy: "order and repetition do not change the result",
    linker: (observations, options) =>
      link(
        [...observations].map((o, i) => ({ ...o, at: i })),
        options,
      ),
  },
  {
    fault: "observations after the tenth are ignored",
    caughtBy: "observations one by one give a valid forest at every step, and the same result as all at once",
    linker: (observations, options) => link([...observations].slice(0, 10), options),
  },
  {
    fault: "the youngest child is missing from its parent",
    caughtBy: "the result is a forest",
    linker: changed((agents) => agents.map((a) => ({ ...a, children: a.children.slice(0, -1) }))),
  },
  {
    fault: "a child is shown twice",
    caughtBy: "the result is a forest",
    linker: changed((agents) => agents.map((a) => ({ ...a, children: [...a.children, ...a.children.slice(0, 1)] }))),
  },
  {
    fault: "a link has no evidence",
    caughtBy: "every child has evidence for its parent",
    linker: changed((agents) => agents.map((a) => ({ ...a, evidence: [] }))),
  },
  {
    fault: "a cycle is cut without a problem",
    caughtBy: "a cycle is cut and reported",
    linker: (observations, options) => {
      const forest = link(observations, options);
      return { ...forest, problems: forest.problems.filter((p) => p.code !== "parent-cycle") };
    },
  },
  {
    fault: "manual links are ignored",
    caughtBy: "a manual link wins over everything",
    linker: (observations, options) => link(observations, { ...options, manual: [] }),
  },
  {
    fault: "a record has no owner",
    caughtBy: "a record in several files belongs to one of their agents",
    linker: (observations, options) => ({ ...link(observations, options), ownerOf: () => undefined }),
  },
];

it("a manual link may name a thread that is known only because a process names one of its agents", () => {
  const [parent, child] = [thread("parent"), thread("child")];
  const book = notebook();
  book.see({ by: parent, at: 1 }, record());
  const starter = { agent: agent("child", "a"), exact: true, call: null, says: "names an agent" };
  book.see({ by: parent }, { type: "starter-seen", thread: parent, starters: [starter] });
  const manual = [{ child, parent, at: 2, call: null, request: null }];
  expect(link(book.observations, { ...OPTIONS, manual }).agents.get(child)?.parent).toBe(parent);
});

describe("each property above", () => {
  it("has a fault that it detects", () => {
    expect(new Set(FAULTS.map(({ caughtBy }) => caughtBy))).toEqual(new Set(Object.keys(PROPERTIES)));
  });

  it.each(FAULTS)("detects that $fault", ({ caughtBy, linker }) => {
    const verdict = fc.check(
      fc.property(history, (made) => PROPERTIES[caughtBy](linker, made)),
      { numRuns: RUNS, endOnFailure: true, seed: 1 },
    );
    expect(verdict.failed).toBe(true);
  });
});

function changed(change: (agents: readonly LinkedAgent[]) => readonly LinkedAgent[]): Linker {
  return (observations, options) => {
    const forest = link(observations, options);
    return { ...forest, agents: new Map(change([...forest.agents.values()]).map((a) => [a.key, a])) };
  };
}

/** The agents that an observation mentions. Ends and processes create none: tasks that are not agents end too. */
function mentionedIn(o: Observation): AgentKey[] {
  switch (o.type) {
    case "agent-described":
      return [o.speaker, o.agent, ...(o.forkedFrom === undefined ? [] : [o.forkedFrom])];
    case "spawn-match":
    case "waits":
      return [o.speaker, o.agent];
    case "call-spawned":
      return [o.speaker, o.child];
    case "parent-named":
      return [o.speaker, o.child, o.parent];
    case "thread-titled":
      return typeof o.of === "string" ? [o.speaker, o.of] : [o.speaker];
    case "process-seen":
    case "file-refused":
    case "agent-aliased":
    case "starter-seen":
      return [];
    default:
      return [o.speaker];
  }
}

function expectForest(forest: Forest) {
  const reached: AgentKey[] = [...forest.roots];
  for (const key of reached) {
    const agent = forest.agents.get(key) as LinkedAgent;
    for (const child of agent.children) {
      expect(forest.agents.get(child)).toMatchObject({ parent: key, depth: agent.depth + 1 });
      reached.push(child);
    }
  }
  // Each exactly once: no agent is lost or shown twice.
  expect(reached.toSorted()).toEqual([...forest.agents.keys()].toSorted());
  for (const root of forest.roots)
    expect(forest.agents.get(root)).toMatchObject({ parent: null, depth: 0, evidence: expect.anything() });
}

function leadsToItself(start: AgentKey, parents: ReadonlyMap<AgentKey, AgentKey | null>): boolean {
  let at = parents.get(start) ?? null;
  for (let steps = 0; at !== null && steps <= parents.size; steps++) {
    if (at === start) return true;
    at = parents.get(at) ?? null;
  }
  return false;
}

describe("threads below other threads", () => {
  const [root, child, work] = [thread("root"), thread("child"), thread("work")];
  const linked = (build: (book: ReturnType<typeof notebook>) => void) => {
    const book = notebook();
    build(book);
    return link(book.observations, OPTIONS);
  };
  const internal = { why: "the product's own", unlessSpawned: false } as const;

  it("count as internal usage of their parent if they are internal, and are agents if they have no parent", () => {
    const forest = linked((book) => {
      book.see({ by: root, at: 1 }, record());
      book.see({ by: work, at: 2 }, { type: "agent-described", agent: work, internal });
      book.see({ by: work, at: 2 }, parentNamed(work, root));
      book.see({ by: work, at: 3 }, answer("r1", 7));
      book.see({ by: child, at: 4 }, { type: "agent-described", agent: child, internal });
      book.see({ by: child, at: 5 }, answer("r2", 5));
    });
    expect([...forest.agents.keys()].sort()).toEqual([child, root]);
    expect(treeOf(forest, root, () => 0).usage).toMatchObject({
      internal: { calls: 1, outputTokens: 7 },
      subtree: { calls: 1 },
    });
    expect(treeOf(forest, child, () => 0).usage).toMatchObject({ internal: null, own: { calls: 1, outputTokens: 5 } });
  });

  it("state what they were forked from, only if they have no parent", () => {
    const forest = linked((book) => {
      book.see({ by: child, at: 1 }, { type: "agent-described", agent: child, forkedFrom: root });
      book.see({ by: work, at: 1 }, { type: "agent-described", agent: work, forkedFrom: root });
      book.see({ by: work, at: 1 }, parentNamed(work, child));
    });
    expect([child, work, root].map((key) => forest.agents.get(key)?.forkedFrom)).toEqual([root, null, null]);
  });
});
