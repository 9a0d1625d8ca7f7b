import { recordKey } from "../../core/ids.ts";
import type { AskedRow, EndedRow, OpenedRow } from "../../core/traffic.ts";
import { PROVIDERS } from "../../providers/index.ts";
import { readAsked } from "../../providers/proxy/asked.ts";
import { tokensOf } from "../../providers/proxy/tokens.ts";
import type { AskedHead, Refusal } from "../../transports/proxy.ts";
import { pricesWith } from "../prices.ts";
import type { OwnPrice } from "../settings-table.ts";

interface Limits {
  readonly usd?: number;
  readonly tokens?: number;
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

/** Counts what each session uses while it runs, and says no once that is more than it may. Off where nobody set a limit. */
export class Budgets {
  readonly #limits: Limits;
  readonly #price: ReturnType<typeof pricesWith>;
  readonly #sessions = new Map<string, Session>();
  readonly #open = new Map<string, { readonly row: AskedRow; model: string }>();

  constructor(limits: Limits, prices: ReadonlyMap<string, OwnPrice>) {
    this.#limits = limits;
    this.#price = pricesWith(prices);
  }

  get #isOff(): boolean {
    return this.#limits.usd === undefined && this.#limits.tokens === undefined;
  }

  count(row: AskedRow | OpenedRow | EndedRow): void {
    if (this.#isOff) return;
    if (row.is === "asked") this.#open.set(row.request, { row, model: row.model ?? "" });
    const open = this.#open.get(row.request);
    if (open === undefined) return;
    if (row.is === "opened") open.model = row.model ?? open.model;
    if (row.is === "ended") this.#end(row, open);
  }

  #end(ended: EndedRow, { row, model }: { readonly row: AskedRow; readonly model: string }) {
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

  /** In the words of the API, so that a client shows it to its user. */
  refuses({ method, path, headers, upstream }: AskedHead): Refusal | null {
    if (this.#isOff) return null;
    const caller = callerOf(readAsked({ request: "", method, path, headers, upstream, windowMs: null, process: null }, null, 0).row);
    const session = caller === null ? undefined : this.#sessions.get(caller.session);
    if (caller === null || session === undefined) return null;
    const all = [...session.agents.values()];
    const [tokens, usd] = [all.reduce((sum, s) => sum + s.tokens, 0), all.reduce((sum, s) => sum + s.usd, 0)];
    const { usd: maxUsd = Number.POSITIVE_INFINITY, tokens: maxTokens = Number.POSITIVE_INFINITY } = this.#limits;
    if (tokens < maxTokens && usd < maxUsd) return null;
    const limit = tokens >= maxTokens ? `${maxTokens} tokens` : `$${maxUsd}`;
    const who = [...session.agents]
      .sort(([, a], [, b]) => b.tokens - a.tokens)
      .slice(0, SHOWN)
      .map(([name, s]) => `${name} ${s.tokens} tokens ($${s.usd.toFixed(4)}) in ${s.calls} calls`);
    const message = `retinue: the budget of this session, ${limit}, is used up: ${tokens} tokens, $${usd.toFixed(4)}. Spent by: ${who.join("; ")}. The setting is called budgets.`;
    // Not a status that clients try again.
    return { status: 403, body: JSON.stringify({ type: "error", error: { type: "permission_error", message } }) };
  }
}

function callerOf(asked: AskedRow): { readonly session: string; readonly agent: string; readonly vendor: string; readonly product: string } | null {
  for (const { name, wire } of PROVIDERS) {
    const caller = wire?.identify(asked) ?? null;
    if (caller === null || wire === undefined) continue;
    const agent =
      caller.agent === null || caller.agent === caller.thread ? "the main thread" : `agent ${caller.agent.slice(caller.agent.lastIndexOf("/") + 1)}`;
    return { session: caller.session, agent, vendor: wire.vendor, product: name };
  }
  return null;
}
