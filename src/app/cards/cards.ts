import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { displayName } from "../../core/facts/display-name.ts";
import { type AgentKey, partsOf, threadKey, threadOf } from "../../core/facts/ids.ts";
import { formatUri, parseTarget } from "../../core/facts/uri.ts";
import { agentOf, type Forest, type LinkedAgent, subtreeOf } from "../../core/link/forest.ts";
import { namesOf } from "../../core/link/shape.ts";
import type { Kept, KeptCard } from "../../core/ports/kept.ts";
import {
  type Card,
  type CardThread,
  progressOf,
  STAGES,
  type Stage,
  stageOf,
  type Waiting,
} from "../../core/views/card.ts";
import { PROVIDERS } from "../../providers/loaded.ts";
import { Failure } from "../failure.ts";
import type { Env } from "../home.ts";
import type { Library } from "../ingest/library.ts";
import { keptPath, openKept } from "../kept/kept-file.ts";
import { resolve } from "../query/resolve.ts";
import { RELAYED_NAMES } from "../relay/relayed.ts";

/** The fields of a card that a client may set. */
export interface CardFields {
  readonly title?: string | undefined;
  readonly threads?: readonly string[] | undefined;
  readonly stage?: Stage | undefined;
}

export interface CardsOptions {
  readonly library: Library;
  readonly env: Env;
  /** Whether unassigned agents go to the only active card. */
  readonly guess: boolean;
}

/** A card with the keys of its threads, known or not, and of the agents assigned to it by a guess. */
export interface CardAgents {
  readonly card: Card;
  readonly threads: readonly AgentKey[];
  readonly inferred: readonly AgentKey[];
}

const MAX_TITLE = 500;

/** Cards. Only names and threads are stored; stages are derived. */
export class Cards {
  readonly #library: Library;
  readonly #env: Env;
  readonly #guess: boolean;
  /** The last derived state of each card. */
  #views: ReadonlyMap<string, { readonly stored: string; readonly derived: CardAgents }> = new Map();

  constructor({ library, env, guess }: CardsOptions) {
    this.#library = library;
    this.#env = env;
    this.#guess = guess;
  }

  /** `changed` selects the threads that may have changed; other cards are taken from the cache. */
  async list(changed: (thread: AgentKey) => boolean = () => true): Promise<readonly CardAgents[]> {
    const stored = await this.#all();
    const derived = stored.map((card) => this.#cached(card, changed) ?? this.#derived(card));
    this.#views = new Map(
      stored.map((card, i) => [card.id, { stored: JSON.stringify(card), derived: derived[i] as CardAgents }]),
    );
    const [only, ...more] = derived.filter(({ card }) => card.stage === "working");
    if (!this.#guess || only === undefined || more.length > 0) return derived;
    const inferred = this.#unassigned();
    const uris = inferred.map((key) => this.#forest([key])?.agents.get(key)?.uri ?? "");
    return derived.map((one) => (one === only ? { ...one, inferred, card: { ...one.card, inferred: uris } } : one));
  }

  /**
   * Returns null if the card has to be derived again. Cards with running agents always are, since time alone can change
   * them.
   */
  #cached(card: KeptCard, changed: (thread: AgentKey) => boolean): CardAgents | null {
    const view = this.#views.get(card.id);
    if (
      view === undefined ||
      view.stored !== JSON.stringify(card) ||
      view.derived.card.stage === "working" ||
      view.derived.card.agents.running > 0
    )
      return null;
    return card.threads.some(changed) ? null : view.derived;
  }

  async get(id: string): Promise<CardAgents> {
    const found = (await this.list()).find(({ card }) => card.id === id);
    if (found === undefined) throw noCard(id);
    return found;
  }

  async create({ title, threads = [], stage }: CardFields): Promise<CardAgents> {
    const keys = threads.map((uri) => this.#threadKey(uri));
    if (stage !== undefined && stage !== "queued") throw cannotBeSet(stage);
    const id = `card_${randomBytes(8).toString("hex")}`;
    const now = this.#library.now();
    const name = titleOf(title) ?? this.#titleFrom(keys[0]);
    await this.#save({
      id,
      title: name,
      madeAt: now,
      queuedAt: stage === "queued" && keys.length > 0 ? now : null,
      threads: [...new Set(keys)],
    });
    return this.get(id);
  }

  async update(id: string, { title, threads, stage }: CardFields): Promise<CardAgents> {
    const before = (await this.#all()).find((card) => card.id === id);
    if (before === undefined) throw noCard(id);
    const queuedAt = stage === undefined ? before.queuedAt : this.#moved(before, stage);
    const keys = threads?.map((uri) => this.#threadKey(uri)) ?? before.threads;
    await this.#save({ ...before, title: titleOf(title) ?? before.title, queuedAt, threads: [...new Set(keys)] });
    return this.get(id);
  }

  async remove(id: string): Promise<void> {
    if (!(await this.#withFile((file) => file.removeCard(id)))) throw noCard(id);
  }

  /** Creates a card for each of these threads that began after `since` and has none. */
  async createFor(threads: Iterable<AgentKey>, since: number): Promise<boolean> {
    const known = new Set((await this.#all()).flatMap((card) => card.threads));
    let isNew = false;
    for (const thread of new Set([...threads].map(threadOf))) {
      const agent = this.#forest([thread])?.agents.get(thread);
      // Only threads that are surely roots: one that later turns out to be a sub-agent must not have a card.
      if (
        agent === undefined ||
        agent.parent !== null ||
        agent.kind !== "main" ||
        (agent.firstAt ?? 0) < since ||
        known.has(thread)
      )
        continue;
      await this.create({ threads: [agent.uri] });
      isNew = true;
    }
    return isNew;
  }

  /** Only `queued` can be set; all other stages are derived. */
  #moved(card: KeptCard, stage: Stage): number | null {
    const now = this.#derived(card).card.stage;
    if (stage === now) return card.queuedAt;
    if (stage !== "queued") throw cannotBeSet(stage);
    if (now === "working")
      throw new Failure("failed", "the card has running threads, so it cannot be queued", [
        "wait until its threads end, or remove them from the card",
      ]);
    return this.#library.now();
  }

  async #save(card: KeptCard): Promise<void> {
    await this.#withFile((file) => {
      const taken = file
        .cards()
        .find((other) => other.id !== card.id && other.threads.some((thread) => card.threads.includes(thread)));
      if (taken !== undefined)
        throw new Failure("failed", `the thread is already in card ${JSON.stringify(taken.title)}`, [
          `remove it from ${taken.id} first`,
        ]);
      file.saveCard(card);
    });
  }

  /** All stored cards. Does not create kept.sqlite. */
  async #all(): Promise<readonly KeptCard[]> {
    return existsSync(keptPath(this.#env)) ? this.#withFile((file) => file.cards()) : [];
  }

  async #withFile<T>(work: (file: Kept) => T): Promise<T> {
    const file = await openKept(this.#env);
    try {
      return work(file);
    } finally {
      file.close();
    }
  }

  /** Null if nothing is known of these threads. */
  #forest(keys: readonly AgentKey[]): Forest | null {
    return keys.length === 0 ? null : this.#library.forestOf(keys);
  }

  #derived({ id, title, madeAt, queuedAt, threads }: KeptCard): CardAgents {
    const forest = this.#forest(threads);
    const known = threads.flatMap((key) => forest?.agents.get(key) ?? []);
    const agents =
      forest === null ? [] : known.flatMap(({ key }) => subtreeOf(forest, key).map((one) => agentOf(forest, one)));
    const below = forest === null ? [] : known.map((agent) => cardThread(forest, agent));
    const last = Math.max(0, ...known.map(({ lastActivity }) => lastActivity ?? 0));
    const card: Card = {
      id,
      title,
      stage: stageOf(below, queuedAt),
      waiting: waitingIn(agents),
      progress: progressOf(below),
      threads: threads.map(
        (key) => forest?.agents.get(key)?.uri ?? formatUri(partsOf(key).provider, partsOf(key).thread, null),
      ),
      inferred: [],
      agents: { total: agents.length, running: agents.filter(({ verdict }) => verdict.status === "running").length },
      createdAt: new Date(madeAt).toISOString(),
      lastActivityAt: last === 0 ? null : new Date(last).toISOString(),
    };
    return { card, threads, inferred: [] };
  }

  /** Agents whose thread is unknown. */
  #unassigned(): AgentKey[] {
    return RELAYED_NAMES.flatMap((name) => {
      const key = threadKey("unassigned", name);
      const forest = this.#library.forestOf([key]);
      return forest.agents.get(key)?.children ?? [];
    });
  }

  /** A thread may be added to a card before any of its records were read. */
  #threadKey(uri: string): AgentKey {
    const key = this.#keyOf(uri);
    const parent = this.#library.forestOf([key]).agents.get(key)?.parent ?? null;
    if (partsOf(key).agent !== null || parent !== null)
      throw new Failure("usage", `${uri} is an agent; cards have top-level threads`, [
        "use the URI of its thread; agents below it belong to the card automatically",
      ]);
    return key;
  }

  #keyOf(uri: string): AgentKey {
    try {
      return resolve(this.#library, uri).key;
    } catch (error) {
      const target = parseTarget(uri, PROVIDERS, () => true);
      const isWhole =
        !("wrong" in target) && target.is === "named" && target.provider !== null && target.agent === null;
      if (!isWhole || !(error instanceof Failure) || error.code !== "not_found") throw error;
      if (this.#library.store.named(target.thread, this.#library.under).length > 0) throw error;
      return threadKey(target.provider, target.thread);
    }
  }

  #titleFrom(key: AgentKey | undefined): string {
    const agent = key === undefined ? undefined : this.#library.forestOf([key]).agents.get(key);
    if (key === undefined) throw new Failure("usage", "a card needs a title or a thread", ['write {"title": "…"}']);
    if (agent === undefined) return `${partsOf(key).provider} ${partsOf(key).thread}`;
    return displayName({ ...agent, ...namesOf(agent, agent.spawnCall) }).slice(0, MAX_TITLE);
  }
}

function cardThread(forest: Forest, agent: LinkedAgent): CardThread {
  const below = subtreeOf(forest, agent.key).slice(1);
  return {
    status: agent.verdict.status,
    lastAt: agent.lastAt,
    plan: agent.plan,
    activity: agent.verdict.activity,
    below: below.map((key) => ({
      status: agentOf(forest, key).verdict.status,
      lastReported: agentOf(forest, key).statements.at(-1)?.state ?? null,
    })),
  };
}

function waitingIn(agents: readonly LinkedAgent[]): Waiting[] {
  const waiting = agents.flatMap((agent) => (agent.waiting === null ? [] : [{ agent, wait: agent.waiting }]));
  waiting.sort((a, b) => (a.wait.since ?? 0) - (b.wait.since ?? 0));
  return waiting.map(({ agent, wait }) => ({
    uri: agent.uri,
    agent: displayName({ ...agent, ...namesOf(agent, agent.spawnCall) }),
    for: wait.for,
    says: wait.says,
    since: wait.since === null ? null : new Date(wait.since).toISOString(),
  }));
}

function titleOf(given: string | undefined): string | null {
  if (given === undefined) return null;
  const title = given.trim();
  if (title === "" || title.length > MAX_TITLE)
    throw new Failure("usage", `the title must have 1 to ${MAX_TITLE} characters`);
  return title;
}

const noCard = (id: string) => new Failure("not_found", `no card ${id}`, ["GET /api/cards lists them"]);
const cannotBeSet = (stage: Stage) =>
  new Failure("failed", `stage ${stage} cannot be set: it is derived from the threads`, [
    `only ${STAGES[0]} can be set, which reopens a card that has ended`,
  ]);
