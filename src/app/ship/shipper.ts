import { setImmediate } from "node:timers/promises";
import { type AgentKey, partsOf, threadOf } from "../../core/facts/ids.ts";
import { formatUri } from "../../core/facts/uri.ts";
import { agentOf, type Forest, type LinkedAgent, subtreeOf } from "../../core/link/forest.ts";
import { type Acknowledged, LOST, REMOVING, type Shipped, type ThreadShipped } from "../../core/ports/shipped.ts";
import { Redactor } from "../../core/redaction/redaction.ts";
import { hash } from "../../core/tools/hash.ts";
import { rootOf } from "../export/put.ts";
import type { Library } from "../ingest/library.ts";
import { BATCH_LIMIT, Batch, type BatchLimit } from "./batch.ts";
import { Deleted } from "./deleted.ts";
import { inDoubt } from "./in-doubt.ts";
import { isShared, type ShipTarget } from "./target.ts";
import { type Redaction, ThreadDiff } from "./thread-diff.ts";

/** Sends a batch; returns the number of bytes when it was acknowledged. */
export type SendBatch = (lines: readonly string[]) => Promise<number>;

export interface ShipperOptions {
  readonly library: Library;
  readonly target: ShipTarget;
  readonly shipped: Shipped;
  readonly send: SendBatch;
  readonly signal: AbortSignal;
  /** False: what was sent is not recorded, so the next comparison finds it again. */
  readonly records?: boolean;
  readonly limit?: BatchLimit;
}

/** Changes if documents have another form, so that they are sent again. */
const FORMAT = 3;
/** Events of threads that are followed in memory; beyond that, the least recently changed thread is read anew. */
const MAX_FOLLOWED = 300_000;
/** Threads that are compared before other work of the process gets its turn. */
const IN_A_ROW = 20;

/** The state of a thread that is only removed. */
const NO_STAMP = "";
/** A thread that the server refused is tried again after this time: the server may be another one then. */
const SET_ASIDE_MS = 3_600_000;
const isSetAside = ({ refused }: ThreadShipped, stamp: string) =>
  refused !== null && refused.stamp === stamp && Date.now() - refused.at < SET_ASIDE_MS;

/** A thread that differs from what was acknowledged. */
export interface Waiting {
  readonly uri: string;
  readonly why: "new" | "changed" | "running" | "removed" | "refused";
  /** Why the server refuses it. */
  readonly reason: string | null;
}

/** Compares threads with what the team server has acknowledged, and sends what is new. */
export class Shipper {
  readonly #options: ShipperOptions;
  readonly #redaction: Redaction;
  readonly #deleted: Deleted;
  /** Running threads: what was read of them. */
  readonly #diffs = new Map<AgentKey, ThreadDiff>();
  /** By thread that is being sent: its state when that began. */
  readonly #stamps = new Map<string, string>();
  #batch: Batch;
  /** Threads of which something was new. */
  readonly #changed = new Set<string>();
  #documents = 0;
  #bytes = 0;

  constructor(options: ShipperOptions) {
    this.#options = options;
    this.#batch = this.#newBatch();
    const { redaction } = options.target;
    this.#redaction = { redactor: new Redactor(redaction), salt: String(hash(JSON.stringify([FORMAT, redaction]))) };
    this.#deleted = new Deleted(options.library, options.target, this.#redaction.salt);
  }

  /** Work so far, for tests and messages. */
  get work() {
    return { threads: this.#changed.size, documents: this.#documents, bytes: this.#bytes };
  }

  /** Forgets what was read: not all of it was acknowledged, or another process has sent more. */
  reset(): void {
    this.#diffs.clear();
    this.#stamps.clear();
    this.#batch = this.#newBatch();
  }

  /** The server refuses the thread: it is left out until it or the settings change, or some time has passed. */
  setAside(uri: string, reason: string): void {
    const { target, shipped } = this.#options;
    const stamp = this.#stamps.get(uri) ?? NO_STAMP;
    this.reset();
    shipped.setAside(target.name, uri, { stamp, reason, at: Date.now() });
  }

  #newBatch(): Batch {
    return new Batch(this.#options.limit ?? BATCH_LIMIT);
  }

  /** The threads that changed, at the cost of what is new in them. */
  async shipChanged(threads: Iterable<AgentKey>): Promise<void> {
    const { library, target, shipped } = this.#options;
    const done = new Set<AgentKey>();
    for (const key of threads) {
      if (this.#isStopped) return;
      const stamp = this.#stampOf(key);
      const forest = library.forestOf([key]);
      const isKnown = forest.agents.has(key);
      const root = isKnown ? rootOf(forest, key) : key;
      const { provider, thread } = partsOf(threadOf(key));
      const uri = formatUri(provider, thread, null);
      // The thread is gone, or it has turned out to be part of another one.
      const before = shipped.thread(target.name, uri);
      if ((!isKnown || root !== key) && before !== null && !isSetAside(before, NO_STAMP)) this.#remove(uri);
      if (done.has(root) || !isKnown) continue;
      done.add(root);
      await this.#ship(forest, root, stamp, library.unsettled().includes(root));
    }
    await this.#flush();
  }

  /**
   * All threads that are not as they were acknowledged, newest first, and removals of those that no longer exist.
   * Threads that do not run any more are compared from their beginning.
   */
  async shipAll(): Promise<void> {
    const { library, target, shipped } = this.#options;
    const known = new Map(shipped.threads(target.name).map((thread) => [thread.uri, thread]));
    const unsettled = new Set(library.unsettled());
    const present = new Set<string>();
    let count = 0;
    for (const { record, place } of library.threadRows({})) {
      if (this.#isStopped) return;
      count += 1;
      if (count % IN_A_ROW === 0) await setImmediate();
      if (!isShared(target, record.cwd)) continue;
      present.add(record.uri);
      if (!this.#isDue(place.key, known.get(record.uri), unsettled.has(place.key))) continue;
      if (!unsettled.has(place.key)) this.#diffs.delete(place.key);
      const stamp = this.#stampOf(place.key);
      await this.#ship(library.forestOf([place.key]), place.key, stamp, unsettled.has(place.key));
    }
    for (const uri of this.#gone(known.values(), present)) this.#remove(uri);
    await this.#flush();
  }

  /** Threads that differ from what was acknowledged: changed, new and removed ones. Reads no records. */
  *waiting(): Generator<Waiting> {
    const { library, target, shipped } = this.#options;
    const known = new Map(shipped.threads(target.name).map((thread) => [thread.uri, thread]));
    const present = new Set<string>();
    for (const { record, place } of library.threadRows({})) {
      if (!isShared(target, record.cwd)) continue;
      present.add(record.uri);
      const state = known.get(record.uri);
      const why = this.#whyWaiting(state, this.#stampOf(place.key), record.status === "running");
      if (why !== null) yield { uri: record.uri, why, reason: state?.refused?.reason ?? null };
    }
    for (const uri of this.#gone(known.values(), present)) yield { uri, why: "removed", reason: null };
  }

  #whyWaiting(state: ThreadShipped | undefined, stamp: string, isRunning: boolean): Waiting["why"] | null {
    if (state === undefined) return "new";
    if (state.refused !== null) return "refused";
    if (state.stamp === "") return "new";
    if (state.stamp !== stamp) return "changed";
    return isRunning ? "running" : null;
  }

  get #isStopped(): boolean {
    return this.#options.signal.aborted;
  }

  #stampOf(root: AgentKey): string {
    return `${this.#redaction.salt} ${this.#options.library.versionOf(root)}`;
  }

  #isDue(root: AgentKey, known: ThreadShipped | undefined, isUnsettled: boolean): boolean {
    if (known === undefined) return true;
    const stamp = this.#stampOf(root);
    return !isSetAside(known, stamp) && (known.isOpen || isUnsettled || known.stamp !== stamp);
  }

  /**
   * Threads that no longer exist here, or are no longer shared. If the folder of a product is missing or files could
   * not be read, its threads may only be out of reach, so they stay. So do old threads whose transcripts were deleted
   * before this index was built.
   */
  *#gone(known: Iterable<ThreadShipped>, present: ReadonlySet<string>): Generator<string> {
    const { library } = this.#options;
    if (library.reading !== null || library.problems.length > 0) return;
    const reachable = new Set(library.roots.filter(({ exists }) => exists).map(({ provider }) => provider.name));
    for (const thread of known) {
      const { uri } = thread;
      if (isSetAside(thread, NO_STAMP)) continue;
      const provider = uri.slice(0, uri.indexOf(":"));
      const hasRoots = library.roots.some((root) => root.provider.name === provider);
      if (!present.has(uri) && (reachable.has(provider) || !hasRoots) && !this.#deleted.keepsThread(thread)) yield uri;
    }
  }

  #remove(uri: string): void {
    this.#batch.add(removalOf(uri));
    this.#batch.finish(uri, null);
  }

  /** `stamp` is the state before `forest` was linked: another process may have stored new facts since. */
  async #ship(forest: Forest, root: AgentKey, stamp: string, isUnsettled: boolean): Promise<void> {
    const { library, target, shipped } = this.#options;
    const agent = forest.agents.get(root);
    if (agent === undefined || agent.parent !== null || !isShared(target, agent.cwd)) return;
    const agents = subtreeOf(forest, root).map((key) => agentOf(forest, key));
    const before = shipped.thread(target.name, agent.uri);
    if (before !== null && isSetAside(before, stamp)) return;
    if (this.#deleted.areOutOfReach(agents)) return;
    if (before !== null && this.#deleted.keepsThread(before, agent)) {
      // What the server has after it has lost shipments stays in doubt.
      if (before.stamp !== LOST) this.#batch.finish(agent.uri, { ...before, stamp, isOpen: false });
      return;
    }
    this.#stamps.set(agent.uri, stamp);
    const diff = this.#diffs.get(root) ?? new ThreadDiff(library, this.#redaction);
    const { isFresh } = diff;
    this.#diffs.delete(root);
    const isOurs = (one: LinkedAgent) => one.kind !== "external" || isShared(target, one.cwd);
    const { known, isReplaced, isKept } = this.#knownOf(agent.uri, before, agents);
    if (isReplaced) this.#batch.add(removalOf(agent.uri));
    let isNew = isReplaced;
    for await (const { draft, uri, state } of diff.drafts(forest, root, { known, isShared: isOurs, isKept })) {
      if (this.#isStopped) return;
      isNew = true;
      this.#batch.add(draft);
      this.#batch.touch(agent.uri, uri, state);
      if (this.#batch.isFull) await this.#flush();
    }
    if (isNew) this.#changed.add(agent.uri);
    const activeAt = agents.reduce((last, { lastAt }) => Math.max(last, lastAt ?? 0), 0);
    const hasTranscript = agent.files.length > 0;
    const sent = { key: root, hasTranscript, rules: this.#redaction.salt, cwd: agent.cwd, activeAt };
    this.#batch.finish(agent.uri, { stamp, isOpen: isUnsettled || !isFresh, sent });
    if (isUnsettled) this.#follow(root, diff);
  }

  /** What the server has of a thread, and whether it is replaced as a whole. */
  #knownOf(uri: string, thread: ThreadShipped | null, agents: readonly LinkedAgent[]) {
    const { target, shipped, records = true } = this.#options;
    const known = shipped.agents(target.name, uri);
    const isKept = (agent: LinkedAgent) => this.#deleted.keepsEvents(agent, thread, known.get(agent.uri));
    const isLost = thread?.stamp === LOST && !agents.some(isKept);
    if (isLost && records) shipped.resend(target.name, [uri]);
    if (isLost || thread?.stamp === REMOVING) return { known: new Map(), isReplaced: true, isKept: () => false };
    return { known, isReplaced: false, isKept };
  }

  #follow(root: AgentKey, diff: ThreadDiff): void {
    this.#diffs.set(root, diff);
    let size = [...this.#diffs.values()].reduce((sum, one) => sum + one.size, 0);
    for (const [oldest, one] of this.#diffs) {
      if (size <= MAX_FOLLOWED || oldest === root) break;
      size -= one.size;
      this.#diffs.delete(oldest);
    }
  }

  /** Durable at the server and recorded here when it returns. */
  async #flush(): Promise<void> {
    const batch = this.#batch;
    if (batch.isEmpty) return;
    const { target, shipped, send, records = true } = this.#options;
    const acknowledged = batch.acknowledged();
    this.#batch = this.#newBatch();
    if (records && batch.lines.length > 0) this.#attempt(acknowledged);
    const bytes = batch.lines.length === 0 ? 0 : await send(batch.lines);
    this.#documents += batch.lines.length;
    this.#bytes += bytes;
    if (!records) return;
    shipped.acknowledge(target.name, { ...acknowledged, documents: batch.lines.length, bytes, at: Date.now() });
  }

  #attempt({ agents, threads }: Pick<Acknowledged, "agents" | "threads">): void {
    const { target, shipped } = this.#options;
    shipped.attempt(target.name, {
      agents: agents.map(({ thread, uri, state }) => ({
        thread,
        uri,
        state: inDoubt(shipped.agent(target.name, thread, uri), state),
      })),
      removed: threads.flatMap(({ uri, state }) => (state === null ? [uri] : [])),
    });
  }
}

const removalOf = (uri: string) => ({ is: "removed", thread: uri, uri }) as const;
