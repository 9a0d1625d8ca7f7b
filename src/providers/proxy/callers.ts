import { type AgentKey, partsOf } from "../../core/facts/ids.ts";
import { isModelCall, leadingTexts, type RequestRow, type RequestTag } from "../../core/facts/traffic.ts";
import type { Caller, Dialect } from "../../core/ports/dialect.ts";
import { anonymous, anonymousCaller, conversationKey } from "./anonymous.ts";
import { Conversations, type Position } from "./conversations.ts";
import { identified } from "./identify.ts";
import { asideIn, containment } from "./prompts.ts";
import { nameOf } from "./units.ts";

/** The agent that made a request, as far as it is known before the response. */
export interface CallerInfo {
  /** The product that the client names, else the root conversation (`Callers.dialect`). */
  readonly dialect: string;
  readonly caller: Caller;
  /** Null if it is named only by its response. */
  readonly agent: AgentKey | null;
  /** Set for internal model calls. */
  readonly internal: RequestTag | null;
  readonly tag: RequestTag | null;
  readonly position: Position;
  readonly prompt: string | null;
  /** The first request of this agent. */
  readonly isFirst: boolean;
  /**
   * retinue generated its id: facts are stated under the ids of its responses, which the product's records have, too.
   */
  readonly isUnnamed: boolean;
  /** Earlier internal requests of this conversation. */
  readonly asides: readonly AgentKey[];
}

/** A spawn call for an agent that will begin with this prompt. */
interface Offer {
  readonly prompt: string;
  readonly at: number;
  readonly root: string;
}

/** An internal request whose conversation is not known yet. */
interface Aside {
  readonly thread: AgentKey;
  readonly texts: readonly string[];
}

/** The beginning of a conversation, which internal requests quote. */
interface Beginning {
  readonly prompt: string;
  /** The agent, if the client names it. */
  readonly by?: { readonly dialect: string; readonly caller: Caller };
}

/** The agent of a conversation. */
interface KnownConversation {
  /** Null for the thread itself. */
  readonly agent: AgentKey | null;
  readonly root: string;
  readonly isUnnamed?: true;
}

/** An agent distinguished by content alone, until a result names it. */
interface Unnamed {
  readonly agent: AgentKey;
  readonly prompt: string;
  readonly response: string;
}

interface Memory {
  readonly scopes: readonly (readonly [string, unknown])[];
  readonly known: readonly (readonly [string, KnownConversation])[];
  readonly offers: readonly (readonly [string, readonly Offer[]])[];
  readonly unnamed: readonly (readonly [string, readonly Unnamed[]])[];
  readonly expected: readonly (readonly [string, readonly AgentKey[]])[];
  readonly knownAgents: readonly string[];
  readonly asides: readonly Aside[];
  readonly beginnings: readonly (readonly [string, Beginning])[];
}

/** Tags of internal requests. A compaction is internal, too, although it is part of a conversation. */
const INTERNAL: ReadonlySet<RequestTag> = new Set(["title", "quota", "warmup", "auxiliary", "compaction"]);
/** The scope of clients without ids. */
const ANONYMOUS = "";
const MAX_OFFERS = 500;
const MAX_ASIDES = 50;
const MAX_BEGINNINGS = 200;

/** Assigns each request to an agent: by the ids that clients send, else by content. */
export class Callers {
  readonly #dialects: ReadonlyMap<string, Dialect>;
  /** Conversations, by the agent or thread that the client names. Clients without ids share one scope. */
  readonly #scopes: Map<string, Conversations>;
  /** By conversation. */
  readonly #known: Map<string, KnownConversation>;
  /** Spawn calls without an agent, by thread. Clients without ids share one list. */
  readonly #offers: Map<string, readonly Offer[]>;
  /** By thread. */
  readonly #unnamed: Map<string, readonly Unnamed[]>;
  /** Agents that a result named before their first request, by thread and prompt. */
  readonly #expected: Map<string, readonly AgentKey[]>;
  /** Agents with a request, and agents that a result named. */
  readonly #knownAgents: Set<string>;
  #asides: readonly Aside[];
  /** By conversation. */
  readonly #beginnings: Map<string, Beginning>;

  constructor(dialects: ReadonlyMap<string, Dialect>, saved?: unknown) {
    const memory = saved as Memory | undefined;
    this.#dialects = dialects;
    this.#scopes = new Map(memory?.scopes.map(([scope, state]) => [scope, new Conversations(state)]));
    this.#known = new Map(memory?.known);
    this.#offers = new Map(memory?.offers);
    this.#unnamed = new Map(memory?.unnamed);
    this.#expected = new Map(memory?.expected);
    this.#knownAgents = new Set(memory?.knownAgents);
    this.#asides = memory?.asides ?? [];
    this.#beginnings = new Map(memory?.beginnings);
  }

  save = (): Memory => ({
    scopes: [...this.#scopes].map(([scope, state]) => [scope, state.save()]),
    known: [...this.#known],
    offers: [...this.#offers],
    unnamed: [...this.#unnamed],
    expected: [...this.#expected],
    knownAgents: [...this.#knownAgents],
    asides: this.#asides,
    beginnings: [...this.#beginnings],
  });

  /** The dialect with this name; every anonymous session has its own. */
  dialect(name: string): Dialect {
    return this.#dialects.get(name) ?? anonymous(name);
  }

  /** Whether the client names itself; its product then keeps its own records. */
  isNamed = ({ dialect }: CallerInfo) => this.#dialects.has(dialect);

  conversations(who: CallerInfo): Conversations {
    return this.#scope(who.dialect, who.caller);
  }

  #scope(dialect: string, caller: Caller | null): Conversations {
    const name = caller === null || !this.#dialects.has(dialect) ? ANONYMOUS : (caller.agent ?? caller.thread);
    const scope = this.#scopes.get(name) ?? new Conversations();
    this.#scopes.set(name, scope);
    return scope;
  }

  /** The agent that made a request; null if the request is no model call. */
  identify(request: RequestRow, at: number): CallerInfo | null {
    if (!isModelCall(request.api)) return null;
    const found = identified(this.#dialects, request);
    if (found === null) return this.#anonymousRequest(request, at);
    const { name, dialect, caller } = found;
    return caller.isAside === undefined
      ? this.#namedRequest(name, dialect, caller, request)
      : this.#internalRequest(request, caller.tag ?? "auxiliary");
  }

  /** The caller of a request that is not a model call, if it names itself. */
  callerOf(request: RequestRow): Caller | null {
    return identified(this.#dialects, request)?.caller ?? null;
  }

  #namedRequest(name: string, dialect: Dialect, caller: Caller, request: RequestRow): CallerInfo {
    const found = this.#position(this.#scope(name, caller), request);
    // An agent that begins with the thread's whole history is not the thread.
    const isFork =
      caller.agent === null && caller.isAgent && !found.isNew && this.#known.get(found.conversation)?.agent === null;
    const position = isFork ? this.#scope(name, caller).forked(request.request, request.chain) : found;
    const tag = caller.tag ?? tagOf(request);
    const prompt = dialect.prompt(request);
    const internal = tag !== null && INTERNAL.has(tag) ? tag : null;
    const agent = caller.agent ?? (internal === null ? this.#byContent(caller, position, prompt) : null);
    const isFirst = agent !== null && internal === null && !this.#knownAgents.has(agent);
    if (isFirst) this.#knownAgents.add(agent);
    const isUnnamed = agent === null || this.#known.get(position.conversation)?.isUnnamed === true;
    const who = {
      dialect: name,
      caller,
      agent: internal === null ? agent : null,
      internal,
      tag,
      position,
      prompt,
      asides: isFirst && dialect.hasAsides ? this.#beginConversation(agent, prompt, { dialect: name, caller }) : [],
    };
    return { ...who, isFirst: isFirst && !isUnnamed, isUnnamed };
  }

  /**
   * In a session without agent ids: the agent that continues a conversation, an agent that was spawned, else the thread
   * itself.
   */
  #byContent({ thread, isAgent }: Caller, position: Position, prompt: string | null): AgentKey | null {
    const known = this.#known.get(position.conversation);
    if (known !== undefined) return known.agent ?? thread;
    const wanted = prompt === null ? "" : nameOf(prompt.trim());
    const expected = this.#expected.get(`${thread} ${wanted}`) ?? [];
    const isSpawned = (this.#offers.get(thread) ?? []).some((offer) => offer.prompt === prompt?.trim());
    if (!position.isNew || (!isAgent && !isSpawned)) {
      this.#known.set(position.conversation, { agent: null, root: thread });
      return thread;
    }
    const [agent, ...rest] = expected;
    if (agent === undefined) return null;
    this.#expected.set(`${thread} ${wanted}`, rest);
    this.#known.set(position.conversation, { agent, root: thread });
    return agent;
  }

  /** The response has arrived and names the agent. */
  name({ dialect, caller, position, prompt }: CallerInfo, response: string): AgentKey {
    const { thread } = caller;
    const agent = this.dialect(dialect).unnamed(thread, response);
    this.#known.set(position.conversation, { agent, root: thread, isUnnamed: true });
    const unnamed = { agent, prompt: nameOf((prompt ?? "").trim()), response: "" };
    this.#unnamed.set(thread, [...(this.#unnamed.get(thread) ?? []), unnamed]);
    return agent;
  }

  /** Remembers the response of an unnamed agent: the result of its call repeats it. */
  addResponse(thread: AgentKey, agent: AgentKey, response: string): void {
    const list = this.#unnamed.get(thread);
    if (list !== undefined)
      this.#unnamed.set(
        thread,
        list.map((one) => (one.agent === agent ? { ...one, response: response.trim() } : one)),
      );
  }

  /**
   * The result of a call with this prompt names an agent: returns the unnamed agent that it is. Null if it has not
   * begun.
   */
  resultNames(thread: AgentKey, prompt: string, agent: AgentKey, text: string): AgentKey | null {
    if (this.#knownAgents.has(agent)) return null;
    this.#knownAgents.add(agent);
    const wanted = nameOf(prompt.trim());
    const list = this.#unnamed.get(thread) ?? [];
    const fitting = list.filter((one) => one.prompt === wanted);
    const found = fitting.find(({ response }) => response !== "" && text.includes(response)) ?? fitting[0];
    if (found === undefined) {
      this.#expected.set(`${thread} ${wanted}`, [...(this.#expected.get(`${thread} ${wanted}`) ?? []), agent]);
      return null;
    }
    this.#unnamed.set(
      thread,
      list.filter((one) => one !== found),
    );
    return found.agent;
  }

  /** A spawn call for an agent that will begin with this prompt. */
  offered({ dialect, caller, position }: CallerInfo, prompt: string, at: number): void {
    const scope = this.#dialects.has(dialect) ? caller.thread : ANONYMOUS;
    const root = this.#known.get(position.conversation)?.root ?? caller.thread;
    const list = [...(this.#offers.get(scope) ?? []), { prompt: prompt.trim(), at, root }];
    this.#offers.set(scope, list.slice(-MAX_OFFERS));
  }

  /**
   * For clients without ids: a conversation is its own thread, below the session with a spawn call for its prompt if
   * there is only one such session.
   */
  #anonymousRequest(request: RequestRow, at: number): CallerInfo {
    const isInternal = [...this.#dialects.values()].some((dialect) => dialect.isInternal?.(request) === true);
    const aside = isInternal ? "auxiliary" : asideIn(request);
    if (aside !== null) return this.#internalRequest(request, aside);
    const position = this.#position(this.#scope(ANONYMOUS, null), request);
    const { conversation } = position;
    const key = conversationKey(conversation);
    const known = this.#known.get(conversation);
    const offer = known === undefined && position.isNew ? this.#offerFor(request, at) : null;
    const root = known?.root ?? offer?.root ?? key;
    this.#known.set(conversation, { agent: key, root });
    const prompt = offer?.prompt ?? anonymous("").prompt(request);
    const who = {
      dialect: partsOf(root as AgentKey).thread,
      caller: anonymousCaller(conversation, request.cwd),
      agent: key,
      internal: null,
      position,
      prompt,
    };
    return {
      ...who,
      tag: tagOf(request),
      isFirst: known === undefined,
      isUnnamed: false,
      asides: known === undefined ? this.#beginConversation(conversation, prompt) : [],
    };
  }

  /** An internal request belongs to the conversation that it repeats or quotes, which may begin later. */
  #internalRequest(request: RequestRow, tag: RequestTag): CallerInfo {
    const texts = leadingTexts(request);
    const [quoted, beginning] =
      [...this.#beginnings].findLast(([, { prompt }]) => texts.some((text) => containment(text, prompt) !== null)) ??
      [];
    if (beginning?.by !== undefined) {
      const { dialect, caller } = beginning.by;
      return this.#namedRequest(dialect, this.dialect(dialect), { ...caller, agent: null, tag }, request);
    }
    const conversation = this.#scope(ANONYMOUS, null).find(request.chain) ?? quoted ?? null;
    const position = {
      conversation: conversation ?? request.request,
      branch: "main",
      before: null,
      isRetry: false,
      isNew: conversation === null,
    };
    const caller = anonymousCaller(position.conversation, request.cwd);
    if (conversation === null) this.#asides = [...this.#asides, { thread: caller.thread, texts }].slice(-MAX_ASIDES);
    const dialect = partsOf((this.#known.get(position.conversation)?.root ?? caller.thread) as AgentKey).thread;
    const agent = conversation === null ? caller.thread : null;
    return {
      dialect,
      caller,
      agent,
      internal: tag,
      tag,
      position,
      prompt: null,
      isFirst: false,
      isUnnamed: false,
      asides: [],
    };
  }

  /** A conversation begins; returns its earlier internal requests. */
  #beginConversation(conversation: string, prompt: string | null, by?: Beginning["by"]): readonly AgentKey[] {
    if (prompt === null) return [];
    this.#beginnings.set(conversation, { prompt, ...(by === undefined ? {} : { by }) });
    if (this.#beginnings.size > MAX_BEGINNINGS) this.#beginnings.delete(this.#beginnings.keys().next().value ?? "");
    const own = this.#asides.filter(({ texts }) => texts.some((text) => containment(text, prompt) !== null));
    this.#asides = this.#asides.filter((aside) => !own.includes(aside));
    return own.map(({ thread }) => thread);
  }

  /** The spawn call of this conversation: by equal prompt, else by contained prompt, longest first. */
  #offerFor(request: RequestRow, at: number): Offer | null {
    const texts = [...leadingTexts(request), anonymous("").prompt(request) ?? ""];
    const offers = (this.#offers.get(ANONYMOUS) ?? []).filter(
      (offer) => at - offer.at <= (request.windowMs ?? Number.POSITIVE_INFINITY),
    );
    const containedAs = (how: "all" | "framed") =>
      offers.filter(({ prompt }) => texts.some((text) => containment(text, prompt) === how));
    const whole = containedAs("all");
    const framed = whole.length > 0 ? [] : containedAs("framed");
    const longest = framed.reduce((most, { prompt }) => Math.max(most, prompt.length), 0);
    const fitting = whole.length > 0 ? whole : framed.filter(({ prompt }) => prompt.length === longest);
    const [claimed] = fitting;
    // Ambiguous if several sessions have the same prompt.
    if (claimed === undefined || fitting.some(({ root }) => root !== claimed.root)) return null;
    this.#offers.set(
      ANONYMOUS,
      (this.#offers.get(ANONYMOUS) ?? []).filter((offer) => offer !== claimed),
    );
    return claimed;
  }

  #position(scope: Conversations, request: RequestRow): Position {
    const retries = Number(request.headers["x-stainless-retry-count"] ?? 0) || 0;
    return scope.addRequest(
      request.request,
      request.chain,
      request.tail.flatMap(({ texts }) => texts),
      retries,
    );
  }
}

function tagOf({ tail }: RequestRow): RequestTag | null {
  const last = tail.at(-1)?.texts.at(-1) ?? "";
  return /^(Your task is to create a detailed summary of|You are performing a CONTEXT CHECKPOINT COMPACTION)/.test(
    last.trimStart(),
  )
    ? "compaction"
    : null;
}
