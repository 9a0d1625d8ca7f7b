import { partsOf, recordKey } from "../../core/facts/ids.ts";
import type { EndedRow, OpenedRow, RequestRow } from "../../core/facts/traffic.ts";
import {
  ALLOWED,
  decide,
  hasLimits,
  isLimited,
  type Limits,
  limitsFor,
  NO_LIMITS,
  type Used,
  type Verdict,
} from "../../core/guard/limits.ts";
import { SteadyClock } from "../../core/guard/steady-clock.ts";
import { exact, money, plural } from "../../core/tools/format.ts";
import { PROVIDERS } from "../../providers/loaded.ts";
import { dialectsOf, identified } from "../../providers/proxy/identify.ts";
import { readRequest } from "../../providers/proxy/read-request.ts";
import { speedOf, tokensOf } from "../../providers/proxy/tokens.ts";
import type { Refusal, RequestHead } from "../../transports/proxy.ts";
import { pricesWith } from "../query/prices.ts";
import type { OwnPrice } from "../settings/settings-table.ts";

/** The setting `budgets`. */
interface BudgetLimits {
  readonly usd?: number;
  readonly tokens?: number;
  readonly agents?: number;
}

export interface BudgetOptions {
  readonly budgets: BudgetLimits;
  readonly limits?: Limits;
  readonly prices: ReadonlyMap<string, OwnPrice>;
  /** The folder that `~` stands for in limits by project. */
  readonly home?: string;
  /** Called once for each agent and limit that is exceeded. */
  readonly onExceeded?: (exceeded: ExceededLimit) => void;
}

/** A limit that a request exceeded. */
export interface ExceededLimit {
  readonly product: string;
  readonly session: string;
  /** The product's id of the agent; null for the thread. */
  readonly agent: string | null;
  readonly verdict: Verdict;
}

interface Spent {
  tokens: number;
  usd: number;
  calls: number;
}

interface Agent extends Spent {
  readonly name: string;
  readonly type: string | null;
  /** Null for the thread and for agents of the thread. */
  readonly parent: string | null;
  readonly depth: number;
  readonly startedAt: number;
  lastAt: number;
  /** Requests without a response so far. */
  open: number;
  /** Its last response asks for tools: it will make another request. */
  continues: boolean;
}

interface Session {
  /** Those that were admitted, by id; the thread itself is MAIN. */
  readonly agents: Map<string, Agent>;
  /** Refusals of agents that were not admitted: a repeated request gets the same one. */
  readonly refused: Map<string, Verdict>;
  cwd: string | null;
  /** When the current work began: a new request after a pause begins a new one. */
  workingSince: number;
  lastAt: number;
}

const SHOWN = 5;
const MAIN = "the main thread";
const DIALECTS = dialectsOf(PROVIDERS);
const MINUTE_MS = 60_000;
/** After this time without a request, a person has taken over. */
const PAUSE_MS = 10 * MINUTE_MS;

/**
 * Counts the usage of each session and its agents while they run, and refuses requests beyond a limit. An agent is
 * counted when its first request arrives, so that agents that begin at the same moment are counted exactly. Off without
 * limits.
 */
export class Budgets {
  readonly #options: BudgetOptions;
  readonly #limits: Limits;
  readonly #price: ReturnType<typeof pricesWith>;
  readonly #sessions = new Map<string, Session>();
  readonly #open = new Map<string, { readonly row: RequestRow; model: string }>();
  readonly #reported = new Set<string>();
  readonly #clock = new SteadyClock();

  constructor(options: BudgetOptions) {
    this.#options = options;
    this.#limits = options.limits ?? NO_LIMITS;
    this.#price = pricesWith(options.prices);
  }

  get isOff(): boolean {
    return Object.keys(this.#options.budgets).length === 0 && !hasLimits(this.#limits);
  }

  count(row: RequestRow | OpenedRow | EndedRow): void {
    if (this.isOff) return;
    if (row.is === "asked") this.#begin(row);
    const open = this.#open.get(row.request);
    if (open === undefined) return;
    if (row.is === "opened") open.model = row.model ?? open.model;
    if (row.is === "ended") this.#end(row, open);
  }

  #begin(row: RequestRow) {
    this.#open.set(row.request, { row, model: row.model ?? "" });
    const caller = callerOf(row);
    const session = caller === null ? undefined : this.#sessions.get(caller.session);
    if (session !== undefined) session.cwd ??= row.cwd ?? caller?.cwd ?? null;
  }

  #end(ended: EndedRow, { row, model }: { readonly row: RequestRow; readonly model: string }) {
    this.#open.delete(ended.request);
    const caller = callerOf(row);
    if (caller === null || ended.how === "refused") return;
    const now = Date.now();
    const steady = this.#clock.advance(now);
    const spent = this.#admit(this.#session(caller, steady), caller, steady);
    spent.open = Math.max(0, spent.open - 1);
    spent.continues = ended.stop !== null && !FINAL.has(ended.stop);
    if (ended.usage === null) return;
    const tokens = tokensOf(row.api, ended.usage);
    const call = {
      response: recordKey(caller.product, ended.request),
      rows: null,
      at: now,
      model,
      vendor: caller.vendor,
      ...speedOf(row.api, ended.usage),
      tokens,
      counted: true,
      end: "finished",
    } as const;
    spent.tokens += tokens.inputTokens + tokens.outputTokens + tokens.cacheReadTokens + tokens.cacheWriteTokens;
    spent.usd += this.#price(call, caller.product) ?? 0;
    spent.calls += 1;
  }

  /** In the format of the API, so that the client shows the message to its user. */
  refuses({ method, path, headers, upstream }: RequestHead, at = Date.now()): Refusal | null {
    if (this.isOff) return null;
    const now = this.#clock.advance(at);
    const caller = callerOf(
      readRequest({ request: "", method, path, headers, upstream, windowMs: null, process: null }, null, 0, null).row,
    );
    if (caller === null) return null;
    const session = this.#session(caller, now);
    const budget = this.#reached(session, caller.agent);
    if (budget !== null)
      return refusal(
        `retinue: the budget of this session, ${budget}, is used up. ${spendersOf(session)} The setting is called budgets.`,
      );
    const verdict = this.#decide(session, caller, now);
    if (verdict.exceeded !== null) this.#report(caller, verdict);
    if (verdict.action === "deny") return refusal(verdict.exceeded.text);
    const agent = this.#admit(session, caller, now);
    agent.open += 1;
    agent.lastAt = now;
    return null;
  }

  #decide(session: Session, caller: Spender, now: number): Verdict {
    const { product, agent, type } = caller;
    const limits = limitsFor(this.#limits, { product, cwd: session.cwd, home: this.#options.home ?? "" });
    if (!isLimited(limits)) return ALLOWED;
    if (agent === MAIN || session.agents.has(agent)) return decide(limits, usedBy(session, agent, now), { is: "call" });
    const before = session.refused.get(agent);
    // Agents end: another attempt may be admitted.
    if (before !== undefined && before.exceeded?.limit !== "concurrent") return before;
    const depth = depthIn(session, caller.parent);
    const verdict = decide(limits, usedBy(session, caller.parent ?? MAIN, now), { is: "spawn", type, depth });
    if (verdict.action === "deny") session.refused.set(agent, verdict);
    return verdict;
  }

  #report({ product, session, agent, id }: Spender, verdict: Verdict) {
    const key = JSON.stringify([session, agent, verdict.exceeded?.limit, verdict.exceeded?.whose]);
    if (this.#reported.has(key)) return;
    this.#reported.add(key);
    this.#options.onExceeded?.({ product, session, agent: id, verdict });
  }

  #session({ session: id }: Spender, now: number): Session {
    const known = this.#sessions.get(id);
    const session = known ?? { agents: new Map(), refused: new Map(), cwd: null, workingSince: now, lastAt: now };
    this.#sessions.set(id, session);
    if (now - session.lastAt > PAUSE_MS) session.workingSince = now;
    session.lastAt = now;
    return session;
  }

  #admit({ agents }: Session, { agent: name, type, parent }: Spender, now: number): Agent {
    const known = agents.get(name);
    if (known !== undefined) return known;
    const depth = name === MAIN ? 0 : (agents.get(parent ?? MAIN)?.depth ?? 0) + 1;
    const use = { tokens: 0, usd: 0, calls: 0, open: 0, continues: false };
    const agent = { name, type, parent, depth, startedAt: now, lastAt: now, ...use };
    agents.set(name, agent);
    return agent;
  }

  #reached(session: Session, agent: string): string | null {
    const {
      usd = Number.POSITIVE_INFINITY,
      tokens = Number.POSITIVE_INFINITY,
      agents = Number.POSITIVE_INFINITY,
    } = this.#options.budgets;
    const total = totalOf(session.agents.values());
    if (total.tokens >= tokens) return `${exact(tokens)} tokens`;
    if (total.usd >= usd) return money(usd);
    return !session.agents.has(agent) && agent !== MAIN && othersIn(session).length >= agents
      ? `${agents} agents`
      : null;
  }
}

/** Stop reasons after which an agent makes no further request by itself. */
const FINAL = new Set(["end_turn", "stop", "completed", "stop_sequence", "refusal"]);

/** Clients do not retry this status. */
const refusal = (message: string): Refusal => ({
  status: 403,
  body: JSON.stringify({ type: "error", error: { type: "permission_error", message } }),
});

const othersIn = ({ agents }: Session) => [...agents.values()].filter(({ name }) => name !== MAIN);
/** The end of a response may be missing if the recorder was too slow. */
const isRunning = ({ open, continues, lastAt }: Agent, now: number) =>
  (open > 0 || continues) && now - lastAt < PAUSE_MS;
const depthIn = ({ agents }: Session, parent: string | null) =>
  (parent === null ? 0 : (agents.get(parent)?.depth ?? 0)) + 1;

/** What a session has used, for a proposal of one of its agents. */
function usedBy(session: Session, agent: string, now: number): Used {
  const others = othersIn(session);
  const total = totalOf(session.agents.values());
  const countOf = (list: readonly Agent[]) => ({
    agents: list.length,
    running: list.filter((one) => isRunning(one, now)).length,
  });
  return {
    ...countOf(others),
    ofType: (type) => countOf(others.filter((one) => one.type === type)),
    costUsd: total.usd,
    tokens: total.tokens,
    minutes: (now - session.workingSince) / MINUTE_MS,
    chain: chainOf(session, agent).map((one) => {
      const { tokens, usd } = totalOf(below(session, one));
      const minutes = (now - one.startedAt) / MINUTE_MS;
      return { name: one.name, type: one.type, costUsd: usd, tokens, minutes };
    }),
  };
}

/** The agent and those above it, without the thread. */
function chainOf({ agents }: Session, name: string): readonly Agent[] {
  const chain: Agent[] = [];
  for (let one = agents.get(name); one !== undefined && one.name !== MAIN && !chain.includes(one); ) {
    chain.push(one);
    one = one.parent === null ? undefined : agents.get(one.parent);
  }
  return chain;
}

/** The agent and all agents below it. */
const below = (session: Session, agent: Agent) =>
  othersIn(session).filter((one) => chainOf(session, one.name).includes(agent));

function totalOf(agents: Iterable<Spent>): Spent {
  const total = { tokens: 0, usd: 0, calls: 0 };
  for (const { tokens, usd, calls } of agents) {
    total.tokens += tokens;
    total.usd += usd;
    total.calls += calls;
  }
  return total;
}

function spendersOf(session: Session): string {
  const most = [...session.agents].sort(([, a], [, b]) => b.tokens - a.tokens).slice(0, SHOWN);
  const words = ({ tokens, usd, calls }: Spent) =>
    `${exact(tokens)} tokens (${money(usd)}) in ${plural(calls, "call")}`;
  return `Spent: ${words(totalOf(session.agents.values()))}, by ${most.map(([name, spent]) => `${name} ${words(spent)}`).join("; ")}.`;
}

interface Spender {
  readonly session: string;
  /** The name of the agent, unique in its session. */
  readonly agent: string;
  /** The product's id of the agent; null for the thread. */
  readonly id: string | null;
  readonly type: string | null;
  /** The name of its parent; null if it is the thread, or unknown. */
  readonly parent: string | null;
  readonly cwd: string | null;
  readonly vendor: string;
  readonly product: string;
}

function callerOf(asked: RequestRow): Spender | null {
  const found = identified(DIALECTS, asked);
  if (found === null) return null;
  const { caller, dialect, name } = found;
  const { agent, thread } = partsOf(caller.agent ?? caller.thread);
  const isMain = agent === null && caller.parent === null;
  const parent = caller.parent === null ? null : partsOf(caller.parent);
  const above = parent === null ? null : (parent.agent ?? (parent.thread === caller.session ? null : parent.thread));
  return {
    session: caller.session,
    agent: isMain ? MAIN : `agent ${caller.path ?? agent ?? thread}`,
    id: isMain ? null : (agent ?? thread),
    type: caller.agentType,
    parent: above === null ? null : `agent ${above}`,
    cwd: caller.cwd,
    vendor: dialect.vendor,
    product: name,
  };
}
