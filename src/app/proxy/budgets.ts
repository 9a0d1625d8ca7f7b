import { partsOf, recordKey } from "../../core/facts/ids.ts";
import type { EndedRow, OpenedRow, RequestRow } from "../../core/facts/traffic.ts";
import { exact, money, plural } from "../../core/tools/format.ts";
import { PROVIDERS } from "../../providers/loaded.ts";
import { dialectsOf, identified } from "../../providers/proxy/identify.ts";
import { readRequest } from "../../providers/proxy/read-request.ts";
import { speedOf, tokensOf } from "../../providers/proxy/tokens.ts";
import type { Refusal, RequestHead } from "../../transports/proxy.ts";
import { pricesWith } from "../query/prices.ts";
import type { OwnPrice } from "../settings/settings-table.ts";

interface Limits {
  readonly usd?: number;
  readonly tokens?: number;
  readonly agents?: number;
}

interface Spent {
  tokens: number;
  usd: number;
  calls: number;
}

interface Session {
  readonly agents: Map<string, Spent>;
}

const SHOWN = 5;
const MAIN = "the main thread";
const DIALECTS = dialectsOf(PROVIDERS);

/**
 * Counts the usage of each session while it runs, and refuses its requests once a limit is reached. Off without limits.
 */
export class Budgets {
  readonly #limits: Limits;
  readonly #price: ReturnType<typeof pricesWith>;
  readonly #sessions = new Map<string, Session>();
  readonly #open = new Map<string, { readonly row: RequestRow; model: string }>();

  constructor(limits: Limits, prices: ReadonlyMap<string, OwnPrice>) {
    this.#limits = limits;
    this.#price = pricesWith(prices);
  }

  get isOff(): boolean {
    return Object.keys(this.#limits).length === 0;
  }

  count(row: RequestRow | OpenedRow | EndedRow): void {
    if (this.isOff) return;
    if (row.is === "asked") this.#open.set(row.request, { row, model: row.model ?? "" });
    const open = this.#open.get(row.request);
    if (open === undefined) return;
    if (row.is === "opened") open.model = row.model ?? open.model;
    if (row.is === "ended") this.#end(row, open);
  }

  #end(ended: EndedRow, { row, model }: { readonly row: RequestRow; readonly model: string }) {
    this.#open.delete(ended.request);
    const caller = callerOf(row);
    if (caller === null || ended.usage === null) return;
    const tokens = tokensOf(row.api, ended.usage);
    const call = {
      response: recordKey(caller.product, ended.request),
      rows: null,
      at: Date.now(),
      model,
      vendor: caller.vendor,
      ...speedOf(row.api, ended.usage),
      tokens,
      counted: true,
      end: "finished",
    } as const;
    const session = this.#sessions.get(caller.session) ?? { agents: new Map<string, Spent>() };
    this.#sessions.set(caller.session, session);
    const spent = session.agents.get(caller.agent) ?? { tokens: 0, usd: 0, calls: 0 };
    session.agents.set(caller.agent, spent);
    spent.tokens += tokens.inputTokens + tokens.outputTokens + tokens.cacheReadTokens + tokens.cacheWriteTokens;
    spent.usd += this.#price(call, caller.product) ?? 0;
    spent.calls += 1;
  }

  /** In the format of the API, so that the client shows the message to its user. */
  refuses({ method, path, headers, upstream }: RequestHead): Refusal | null {
    if (this.isOff) return null;
    const caller = callerOf(
      readRequest({ request: "", method, path, headers, upstream, windowMs: null, process: null }, null, 0, null).row,
    );
    const session = caller === null ? undefined : this.#sessions.get(caller.session);
    const limit = caller === null || session === undefined ? null : this.#reached(session, caller.agent);
    if (session === undefined || limit === null) return null;
    const message = `retinue: the budget of this session, ${limit}, is used up. ${spendersOf(session)} The setting is called budgets.`;
    // Clients do not retry this status.
    return { status: 403, body: JSON.stringify({ type: "error", error: { type: "permission_error", message } }) };
  }

  #reached(session: Session, agent: string): string | null {
    const {
      usd = Number.POSITIVE_INFINITY,
      tokens = Number.POSITIVE_INFINITY,
      agents = Number.POSITIVE_INFINITY,
    } = this.#limits;
    const total = totalOf(session);
    if (total.tokens >= tokens) return `${exact(tokens)} tokens`;
    if (total.usd >= usd) return money(usd);
    const others = [...session.agents.keys()].filter((name) => name !== MAIN).length;
    return !session.agents.has(agent) && agent !== MAIN && others >= agents ? `${agents} agents` : null;
  }
}

function totalOf({ agents }: Session): Spent {
  const total = { tokens: 0, usd: 0, calls: 0 };
  for (const { tokens, usd, calls } of agents.values()) {
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
  return `Spent: ${words(totalOf(session))}, by ${most.map(([name, spent]) => `${name} ${words(spent)}`).join("; ")}.`;
}

interface Spender {
  readonly session: string;
  readonly agent: string;
  readonly vendor: string;
  readonly product: string;
}

function callerOf(asked: RequestRow): Spender | null {
  const found = identified(DIALECTS, asked);
  if (found === null) return null;
  const { caller, dialect, name } = found;
  const { agent, thread } = partsOf(caller.agent ?? caller.thread);
  const isMain = agent === null && caller.parent === null;
  return {
    session: caller.session,
    agent: isMain ? MAIN : `agent ${caller.path ?? agent ?? thread}`,
    vendor: dialect.vendor,
    product: name,
  };
}
