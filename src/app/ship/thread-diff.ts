import { setImmediate } from "node:timers/promises";
import type { AgentKey, RecordKey } from "../../core/facts/ids.ts";
import { agentOf, type Forest, type LinkedAgent, subtreeOf } from "../../core/link/forest.ts";
import type { AgentShipped } from "../../core/ports/shipped.ts";
import type { Redactor } from "../../core/redaction/redaction.ts";
import type { AgentRecord, AgentTree } from "../../core/views/agent.ts";
import type { AgentEvent } from "../../core/views/event.ts";
import { messageBook } from "../../core/views/messages.ts";
import { treeOf, withoutChildren, withoutRunningTime } from "../../core/views/record.ts";
import { spentBy } from "../../core/views/stats.ts";
import { reportsIn } from "../export/story.ts";
import type { Library } from "../ingest/library.ts";
import { explain } from "../query/why.ts";
import { AgentDiff, type Draft } from "./agent-diff.ts";
import { AgentReader } from "./agent-reader.ts";

export interface Redaction {
  readonly redactor: Redactor;
  /** Changes with the rules. */
  readonly salt: string;
}

interface Followed {
  readonly reader: AgentReader;
  readonly redact: (event: AgentEvent) => AgentEvent;
  /** The state of the agent when it was last compared. */
  stamp: string;
}

/** A document, and the agent whose state changes when it is acknowledged. */
export interface AgentDraft {
  readonly draft: Draft;
  readonly uri: string;
  /** Null: the agent is gone. */
  readonly state: () => AgentShipped | null;
}

/** What a thread is compared with. */
export interface Compared {
  /** What was acknowledged, by agent. */
  readonly known: ReadonlyMap<string, AgentShipped>;
  readonly isShared: (agent: LinkedAgent) => boolean;
  /** Whether the server keeps what it has of the agent although its transcript was deleted. */
  readonly isKept: (agent: LinkedAgent) => boolean;
}

/** Finds what is new in one thread. As long as it is kept, a comparison costs what is new since the last one. */
export class ThreadDiff {
  readonly #library: Library;
  readonly #redaction: Redaction;
  readonly #agents = new Map<AgentKey, Followed>();
  /** True until the first comparison has ended: it reads everything. */
  isFresh = true;

  constructor(library: Library, redaction: Redaction) {
    this.#library = library;
    this.#redaction = redaction;
  }

  /** Number of events whose places are kept in memory. */
  get size(): number {
    return [...this.#agents.values()].reduce((sum, { reader }) => sum + reader.count, 0);
  }

  /** Parents before their children. */
  async *drafts(forest: Forest, root: AgentKey, { known, isShared, isKept }: Compared): AsyncGenerator<AgentDraft> {
    const thread = agentOf(forest, root).uri;
    const keys = sharedIn(forest, root, isShared);
    const records = recordsIn(treeOf(forest, root, this.#library.price));
    const messagesOf = messageBook(forest, root);
    const reports = reportsIn(forest, keys);
    for (const key of keys) {
      const agent = agentOf(forest, key);
      const record = records.get(agent.uri);
      if (record === undefined) continue;
      const diff = new AgentDiff({ thread, agent: agent.uri }, known.get(agent.uri), this.#redaction);
      const isReadable = !isKept(agent);
      if (!isReadable) diff.keepEvents();
      for await (const draft of this.#agentDrafts(forest, key, diff, { ...record, isReadable }, messagesOf, reports))
        yield { draft, uri: agent.uri, state: () => diff.state };
    }
    const present = new Set(keys.map((key) => agentOf(forest, key).uri));
    for (const uri of known.keys())
      if (!present.has(uri)) yield { draft: { is: "removed", thread, uri }, uri, state: () => null };
    for (const key of this.#agents.keys()) if (!forest.agents.has(key)) this.#agents.delete(key);
    this.isFresh = false;
  }

  async *#agentDrafts(
    forest: Forest,
    key: AgentKey,
    diff: AgentDiff,
    { record, place, isReadable }: Placed & { readonly isReadable: boolean },
    messagesOf: ReturnType<typeof messageBook>,
    reports: ReadonlyMap<RecordKey, readonly string[]>,
  ): AsyncGenerator<Draft> {
    const { redactor } = this.#redaction;
    yield* diff.record(withoutRunningTime(record), place);
    const agent = agentOf(forest, key);
    const stamp = stampOf(forest, agent);
    const followed = this.#agents.get(key) ?? {
      reader: new AgentReader(this.#library, key),
      redact: redactor.events(),
      stamp: "",
    };
    if (followed.stamp === stamp) return;
    followed.stamp = stamp;
    this.#agents.set(key, followed);
    // Lets a server answer requests meanwhile.
    await setImmediate();
    const { reader, redact } = followed;
    const { spans, from } = reader.spans(forest);
    yield* diff.list("spans", spans, from);
    if (isReadable) {
      const read = await reader.events(forest);
      yield* diff.events(read, redact);
      // Findings need them when the agent has ended; they are compared as a whole.
      if (read.isWhole) yield* diff.list("calls", reader.calls(forest));
      yield* diff.detail("reports", reader.reports(reports), (all) => all.map((one) => redactor.report(one)));
    }
    yield* diff.detail("why", explain(forest, agent), (why) => redactor.why(why));
    yield* diff.detail("messages", messagesOf(key));
    const spent = spentBy(
      agent,
      withoutRunningTime(record),
      agentOf(forest, topOf(forest, key)).uri,
      this.#library.price,
    );
    yield* diff.detail("spent", spent, (rows) => redactor.spent(rows, record));
  }
}

function topOf(forest: Forest, key: AgentKey): AgentKey {
  let at = key;
  for (let above = agentOf(forest, at).parent; above !== null; above = agentOf(forest, at).parent) at = above;
  return at;
}

/** The shared agents of a thread, parents first. What is below an agent that is not shared is not shared either. */
function sharedIn(forest: Forest, root: AgentKey, isShared: (agent: LinkedAgent) => boolean): AgentKey[] {
  const left = new Set<AgentKey>();
  return subtreeOf(forest, root).filter((key) => {
    const agent = agentOf(forest, key);
    const isLeft = key !== root && (left.has(agent.parent ?? key) || !isShared(agent));
    if (isLeft) left.add(key);
    return !isLeft;
  });
}

interface Placed {
  readonly record: AgentRecord;
  readonly place: number;
}

function recordsIn(tree: AgentTree): ReadonlyMap<string, Placed> {
  const records = new Map<string, Placed>([[tree.uri, { record: withoutChildren(tree), place: 0 }]]);
  const left = [tree];
  for (let one = left.pop(); one !== undefined; one = left.pop()) {
    for (const [place, child] of one.children.entries())
      records.set(child.uri, { record: withoutChildren(child), place });
    left.push(...one.children);
  }
  return records;
}

/** Changes whenever anything about the agent besides its record may have changed. */
function stampOf(forest: Forest, agent: LinkedAgent): string {
  const { verdict, children, files, messages, toolCalls, lastAt, uri, calls, evidence, statements, mail, waiting } =
    agent;
  const below = children.map((key) => {
    const child = agentOf(forest, key);
    return `${child.uri} ${child.verdict.status} ${child.firstAt} ${child.lastAt}`;
  });
  const sizes = files.map(({ bytes, readTo }) => `${bytes} ${readTo}`);
  return JSON.stringify([
    [uri, verdict.status, verdict.statusReason, verdict.activity, messages, toolCalls, lastAt],
    [calls.length, evidence.length, statements.length, mail.length, waiting],
    below,
    sizes,
  ]);
}
