import { type AgentKey, partsOf } from "../../core/ids.ts";
import { type AskedRow, asksModel, type Caller, type Dialect, type RequestTag } from "../../core/traffic.ts";
import { anonymous, anonymousCaller, conversationKey } from "./anonymous.ts";
import { Conversations, type Standing } from "./conversations.ts";
import { identified } from "./identify.ts";
import { asideIn, holds, leadingTexts } from "./prompts.ts";
import { nameOf } from "./units.ts";

/** Who made a request, and what is known of that before the answer comes. */
export interface Who {
  readonly dialect: string;
  readonly caller: Caller;
  /** Null where it gets a name only with its answer. */
  readonly agent: AgentKey | null;
  /** The product's own work, which is no agent's. */
  readonly internal: RequestTag | null;
  readonly tag: RequestTag | null;
  readonly standing: Standing;
  readonly prompt: string | null;
  /** Nobody heard of this agent before. */
  readonly isFirst: boolean;
  /** Its name is of our making: what it says counts by the names of its answers, which the product's own records know too. */
  readonly isUnnamed: boolean;
  /** Requests that the client made on behalf of this conversation before it began. */
  readonly asides: readonly AgentKey[];
}

/** A call asks for an agent that will begin with this prompt. */
interface Offer {
  readonly prompt: string;
  readonly at: number;
  readonly root: string;
}

/** A request on a client's own behalf whose conversation is not known yet. */
interface Aside {
  readonly thread: AgentKey;
  readonly texts: readonly string[];
}

interface Known {
  /** Null for the thread itself. */
  readonly agent: AgentKey | null;
  readonly root: string;
  readonly isUnnamed?: true;
}

/** An agent that content alone tells from others, until a result names it. */
interface Unnamed {
  readonly agent: AgentKey;
  readonly prompt: string;
  readonly answer: string;
}

interface Memory {
  readonly scopes: readonly (readonly [string, unknown])[];
  readonly known: readonly (readonly [string, Known])[];
  readonly offers: readonly (readonly [string, readonly Offer[]])[];
  readonly unnamed: readonly (readonly [string, readonly Unnamed[]])[];
  readonly expected: readonly (readonly [string, readonly AgentKey[]])[];
  readonly heard: readonly string[];
  readonly asides: readonly Aside[];
  readonly begun: readonly (readonly [string, string])[];
}

/** The product's own calls; a compaction is one too, but it is part of a conversation. */
const OWN_BEHALF: ReadonlySet<RequestTag> = new Set(["title", "quota", "warmup", "auxiliary", "compaction"]);
const ANONYMOUS = "";
const MAX_OFFERS = 500;
const MAX_ASIDES = 50;
const MAX_BEGUN = 200;

/** Tells whose each request is: by the ids that clients send, else by what is said. */
export class Callers {
  readonly #dialects: ReadonlyMap<string, Dialect>;
  readonly #scopes: Map<string, Conversations>;
  readonly #known: Map<string, Known>;
  readonly #offers: Map<string, readonly Offer[]>;
  readonly #unnamed: Map<string, readonly Unnamed[]>;
  readonly #expected: Map<string, readonly AgentKey[]>;
  readonly #heard: Set<string>;
  #asides: readonly Aside[];
  /** What anonymous conversations began with. */
  readonly #begun: Map<string, string>;

  constructor(dialects: ReadonlyMap<string, Dialect>, saved?: unknown) {
    const memory = saved as Memory | undefined;
    this.#dialects = dialects;
    this.#scopes = new Map(memory?.scopes.map(([scope, state]) => [scope, new Conversations(state)]));
    this.#known = new Map(memory?.known);
    this.#offers = new Map(memory?.offers);
    this.#unnamed = new Map(memory?.unnamed);
    this.#expected = new Map(memory?.expected);
    this.#heard = new Set(memory?.heard);
    this.#asides = memory?.asides ?? [];
    this.#begun = new Map(memory?.begun);
  }

  save = (): Memory => ({
    scopes: [...this.#scopes].map(([scope, state]) => [scope, state.save()]),
    known: [...this.#known],
    offers: [...this.#offers],
    unnamed: [...this.#unnamed],
    expected: [...this.#expected],
    heard: [...this.#heard],
    asides: this.#asides,
    begun: [...this.#begun],
  });

  /** By name: anonymous ones have a dialect for each session. */
  dialect(name: string): Dialect {
    return this.#dialects.get(name) ?? anonymous(name);
  }

  /** By the client itself, whose product keeps records of its own. */
  isNamed = ({ dialect }: Who) => this.#dialects.has(dialect);

  conversations(who: Who): Conversations {
    return this.#scope(who.dialect, who.caller);
  }

  #scope(dialect: string, caller: Caller | null): Conversations {
    const name = caller === null || !this.#dialects.has(dialect) ? ANONYMOUS : (caller.agent ?? caller.thread);
    const scope = this.#scopes.get(name) ?? new Conversations();
    this.#scopes.set(name, scope);
    return scope;
  }

  /** Null for what is no part of a conversation. */
  identify(asked: AskedRow, at: number): Who | null {
    if (!asksModel(asked.api)) return null;
    const found = identified(this.#dialects, asked);
    return found === null ? this.#nameless(asked, at) : this.#named(found.name, found.dialect, found.caller, asked);
  }

  /** Whose a request is that asks no model anything, where it says so. */
  callerOf(asked: AskedRow): Caller | null {
    return identified(this.#dialects, asked)?.caller ?? null;
  }

  #named(name: string, dialect: Dialect, caller: Caller, asked: AskedRow): Who {
    const found = this.#stand(this.#scope(name, caller), asked);
    // An agent that begins with all that was said in the thread is not the thread.
    const isFork = caller.agent === null && caller.isAgent && !found.isNew && this.#known.get(found.conversation)?.agent === null;
    const standing = isFork ? this.#scope(name, caller).forked(asked.request, asked.chain) : found;
    const tag = caller.tag ?? tagOf(asked);
    const prompt = dialect.prompt(asked);
    const internal = tag !== null && OWN_BEHALF.has(tag) ? tag : null;
    const agent = caller.agent ?? (internal === null ? this.#byContent(caller, standing, prompt) : null);
    const isFirst = agent !== null && internal === null && !this.#heard.has(agent);
    if (isFirst) this.#heard.add(agent);
    const isUnnamed = agent === null || this.#known.get(standing.conversation)?.isUnnamed === true;
    const who = { dialect: name, caller, agent: internal === null ? agent : null, internal, tag, standing, prompt, asides: [] };
    return { ...who, isFirst: isFirst && !isUnnamed, isUnnamed };
  }

  /** Within a session that names no agents: who goes on with a conversation, who was called for, and else the thread itself. */
  #byContent({ thread, isAgent }: Caller, standing: Standing, prompt: string | null): AgentKey | null {
    const known = this.#known.get(standing.conversation);
    if (known !== undefined) return known.agent ?? thread;
    const wanted = prompt === null ? "" : nameOf(prompt.trim());
    const expected = this.#expected.get(`${thread} ${wanted}`) ?? [];
    const isCalledFor = (this.#offers.get(thread) ?? []).some((offer) => offer.prompt === prompt?.trim());
    if (!standing.isNew || (!isAgent && !isCalledFor)) {
      this.#known.set(standing.conversation, { agent: null, root: thread });
      return thread;
    }
    const [agent, ...rest] = expected;
    if (agent === undefined) return null;
    this.#expected.set(`${thread} ${wanted}`, rest);
    this.#known.set(standing.conversation, { agent, root: thread });
    return agent;
  }

  /** The answer has come, and with it a name. */
  name({ dialect, caller, standing, prompt }: Who, response: string): AgentKey {
    const { thread } = caller;
    const agent = this.dialect(dialect).unnamed(thread, response);
    this.#known.set(standing.conversation, { agent, root: thread, isUnnamed: true });
    const unnamed = { agent, prompt: nameOf((prompt ?? "").trim()), answer: "" };
    this.#unnamed.set(thread, [...(this.#unnamed.get(thread) ?? []), unnamed]);
    return agent;
  }

  /** Kept, so that a result that repeats it can be told from another's. */
  said(thread: AgentKey, agent: AgentKey, answer: string): void {
    const list = this.#unnamed.get(thread);
    if (list !== undefined)
      this.#unnamed.set(
        thread,
        list.map((one) => (one.agent === agent ? { ...one, answer: answer.trim() } : one)),
      );
  }

  /** The result of a call for this prompt names an agent: which of those without a name it is. Null where it has not begun. */
  resultNames(thread: AgentKey, prompt: string, agent: AgentKey, text: string): AgentKey | null {
    if (this.#heard.has(agent)) return null;
    this.#heard.add(agent);
    const wanted = nameOf(prompt.trim());
    const list = this.#unnamed.get(thread) ?? [];
    const fitting = list.filter((one) => one.prompt === wanted);
    const found = fitting.find(({ answer }) => answer !== "" && text.includes(answer)) ?? fitting[0];
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

  /** A call asks for an agent that will begin with this prompt. */
  offered({ dialect, caller, standing }: Who, prompt: string, at: number): void {
    const scope = this.#dialects.has(dialect) ? caller.thread : ANONYMOUS;
    const root = this.#known.get(standing.conversation)?.root ?? caller.thread;
    const list = [...(this.#offers.get(scope) ?? []), { prompt: prompt.trim(), at, root }];
    this.#offers.set(scope, list.slice(-MAX_OFFERS));
  }

  /** No ids at all: a conversation is a thread of its own, below the session in which somebody called for its prompt, if that can only be one. */
  #nameless(asked: AskedRow, at: number): Who {
    const aside = asideIn(asked);
    if (aside !== null) return this.#beside(asked, aside);
    const standing = this.#stand(this.#scope(ANONYMOUS, null), asked);
    const { conversation } = standing;
    const key = conversationKey(conversation);
    const known = this.#known.get(conversation);
    const offer = known === undefined && standing.isNew ? this.#offerFor(asked, at) : null;
    const root = known?.root ?? offer?.root ?? key;
    this.#known.set(conversation, { agent: key, root });
    const prompt = offer?.prompt ?? anonymous("").prompt(asked);
    const who = { dialect: partsOf(root as AgentKey).thread, caller: anonymousCaller(conversation, asked.cwd), agent: key, internal: null, standing, prompt };
    return { ...who, tag: tagOf(asked), isFirst: known === undefined, isUnnamed: false, asides: known === undefined ? this.#begin(conversation, prompt) : [] };
  }

  /** What a client asks for on its own behalf belongs to the conversation that it repeats or quotes. It may come before that one begins. */
  #beside(asked: AskedRow, tag: RequestTag): Who {
    const texts = leadingTexts(asked);
    const quoted = [...this.#begun].findLast(([, prompt]) => texts.some((text) => holds(text, prompt) !== null))?.[0];
    const conversation = this.#scope(ANONYMOUS, null).find(asked.chain) ?? quoted ?? null;
    const standing = { conversation: conversation ?? asked.request, branch: "main", before: null, isRetry: false, isNew: conversation === null };
    const caller = anonymousCaller(standing.conversation, asked.cwd);
    if (conversation === null) this.#asides = [...this.#asides, { thread: caller.thread, texts }].slice(-MAX_ASIDES);
    const dialect = partsOf((this.#known.get(standing.conversation)?.root ?? caller.thread) as AgentKey).thread;
    const agent = conversation === null ? caller.thread : null;
    return { dialect, caller, agent, internal: tag, tag, standing, prompt: null, isFirst: false, isUnnamed: false, asides: [] };
  }

  /** A conversation begins; says which requests were made on its behalf before. */
  #begin(conversation: string, prompt: string | null): readonly AgentKey[] {
    if (prompt === null) return [];
    this.#begun.set(conversation, prompt);
    if (this.#begun.size > MAX_BEGUN) this.#begun.delete(this.#begun.keys().next().value ?? "");
    const own = this.#asides.filter(({ texts }) => texts.some((text) => holds(text, prompt) !== null));
    this.#asides = this.#asides.filter((aside) => !own.includes(aside));
    return own.map(({ thread }) => thread);
  }

  /** The call that asked for this conversation: by its prompt as it is, else by its prompt in a frame, the longest first. */
  #offerFor(asked: AskedRow, at: number): Offer | null {
    const texts = [...leadingTexts(asked), anonymous("").prompt(asked) ?? ""];
    const offers = (this.#offers.get(ANONYMOUS) ?? []).filter((offer) => at - offer.at <= (asked.windowMs ?? Number.POSITIVE_INFINITY));
    const heldAs = (how: "all" | "framed") => offers.filter(({ prompt }) => texts.some((text) => holds(text, prompt) === how));
    const whole = heldAs("all");
    const framed = whole.length > 0 ? [] : heldAs("framed");
    const longest = framed.reduce((most, { prompt }) => Math.max(most, prompt.length), 0);
    const fitting = whole.length > 0 ? whole : framed.filter(({ prompt }) => prompt.length === longest);
    const [claimed] = fitting;
    // Where several sessions call for the same, nobody can know whose it is.
    if (claimed === undefined || fitting.some(({ root }) => root !== claimed.root)) return null;
    this.#offers.set(
      ANONYMOUS,
      (this.#offers.get(ANONYMOUS) ?? []).filter((offer) => offer !== claimed),
    );
    return claimed;
  }

  #stand(scope: Conversations, asked: AskedRow): Standing {
    const retries = Number(asked.headers["x-stainless-retry-count"] ?? 0) || 0;
    return scope.asked(
      asked.request,
      asked.chain,
      asked.tail.flatMap(({ texts }) => texts),
      retries,
    );
  }
}

function tagOf({ tail }: AskedRow): RequestTag | null {
  const last = tail.at(-1)?.texts.at(-1) ?? "";
  return /^(Your task is to create a detailed summary of|You are performing a CONTEXT CHECKPOINT COMPACTION)/.test(last.trimStart()) ? "compaction" : null;
}
