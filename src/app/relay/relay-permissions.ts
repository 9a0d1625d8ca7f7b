import { formatUri } from "../../core/facts/uri.ts";
import type { AskedPermission } from "../../core/ports/control.ts";
import type { RelayPermissions as Product } from "../../core/ports/relay-permissions.ts";
import { postJson, type Server } from "../../transports/event-stream.ts";
import { Failure } from "../failure.ts";
import { RelayLimits } from "../guard/relay.ts";
import type { Env } from "../home.ts";
import type { Permission, PermissionAnswer } from "../runs/permissions.ts";

interface Open {
  readonly asked: AskedPermission;
  readonly place: string | null;
  readonly at: number;
}

/** The open permission requests of one followed server. */
export class RelayPermissions {
  readonly #provider: string;
  readonly #product: Product | null;
  readonly #server: Server;
  readonly #open = new Map<string, Open>();
  readonly #limits: RelayLimits | null;

  constructor(env: Env, provider: string, product: Product | undefined, server: Server) {
    this.#provider = provider;
    this.#product = product ?? null;
    this.#server = server;
    const reject = (id: string, text: string) => this.answer(id, { reply: "reject", text });
    const openIn = (session: string) =>
      [...this.#open.values()].flatMap(({ asked }) => (asked.sessionId === session ? [asked.id] : []));
    this.#limits =
      product?.guard === undefined ? null : new RelayLimits({ env, provider, guard: product.guard, openIn, reject });
  }

  /** Agents are named by their own thread, because the server's permission requests do not name the root. */
  get open(): readonly Permission[] {
    return [...this.#open.values()].map(({ asked: { sessionId, agentId, ...asked }, at }) => ({
      ...asked,
      uri: sessionId === null ? null : formatUri(this.#provider, sessionId, agentId),
      askedAt: new Date(at).toISOString(),
    }));
  }

  onFrame(frame: unknown, at: number): void {
    this.#limits?.onFrame(frame);
    const change = this.#product?.changeIn(frame) ?? null;
    if (change === null) return;
    if ("closed" in change) this.#remove(change.closed);
    else this.#add({ ...change, at });
  }

  #remove(id: string): void {
    const open = this.#open.get(id);
    this.#open.delete(id);
    if (open !== undefined) this.#limits?.onClosed(open.asked);
  }

  #add(open: Open): void {
    this.#open.set(open.asked.id, open);
    this.#limits?.onAsked(open.asked, open.place);
  }

  /** Handles a list of all open requests of a place: others of that place were answered while disconnected. */
  onResponse(path: string, body: unknown, askedAt: number): void {
    const listed = this.#product?.openIn(path, body) ?? null;
    if (listed === null) return;
    const ids = new Set(listed.asked.map(({ id }) => id));
    for (const [id, { place, at }] of this.#open)
      if (place === listed.place && at < askedAt && !ids.has(id)) this.#remove(id);
    for (const asked of listed.asked)
      if (!this.#open.has(asked.id)) this.#add({ asked, place: listed.place, at: askedAt });
  }

  /** Returns false if the request is not open (any more). */
  async answer(id: string, { reply, text }: PermissionAnswer): Promise<boolean> {
    const open = this.#open.get(id);
    if (open === undefined || this.#product === null || !open.asked.replies.includes(reply)) return false;
    const tried: string[] = [];
    for (const { path, body } of this.#product.replies(open.asked, open.place, reply, text ?? null)) {
      const status = await postJson(this.#server, path, body);
      if (status !== null && status < 300) {
        this.#remove(id);
        return true;
      }
      tried.push(`POST ${path}: ${status ?? "no response"}`);
      if (status !== 404 && status !== 405) break;
    }
    throw new Failure("failed", `the server did not accept the answer (${tried.join("; ")})`, []);
  }
}
