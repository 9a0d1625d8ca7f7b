import { formatUri } from "../../core/facts/uri.ts";
import type { AskedPermission, PermissionReply, PermissionRequests } from "../../core/ports/control.ts";

/** A permission that an agent waits for. */
export interface Permission extends Omit<AskedPermission, "sessionId" | "agentId"> {
  /** The agent that asks; null if its thread is not known yet. */
  readonly uri: string | null;
  readonly askedAt: string;
}

/** `text`: sent to the model if the call is rejected. */
export interface PermissionAnswer {
  readonly reply: PermissionReply;
  readonly text?: string | undefined;
}

/** Returns null to leave the request open, so that a person can answer it. */
export type PermissionHandler = (permission: Permission) => PermissionAnswer | null | Promise<PermissionAnswer | null>;

/** The open permission requests of one run. */
export class RunPermissions {
  readonly #provider: string;
  readonly #product: PermissionRequests | null;
  readonly #write: (line: string) => void;
  readonly #handler: PermissionHandler | undefined;
  readonly #sessionKnown: Promise<unknown>;
  readonly #open = new Map<string, { readonly asked: AskedPermission; readonly at: number }>();
  #session: string | null = null;

  constructor(
    provider: string,
    product: PermissionRequests | null,
    write: (line: string) => void,
    session: Promise<string | null>,
    handler?: PermissionHandler,
  ) {
    this.#provider = provider;
    this.#product = product;
    this.#write = write;
    this.#handler = handler;
    this.#sessionKnown = session.then((known) => {
      this.#session = known;
    });
  }

  get open(): readonly Permission[] {
    return [...this.#open.values()].map(({ asked, at }) => this.#permission(asked, at));
  }

  onLine(line: string): void {
    if (this.#product === null) return;
    const closed = this.#product.closedIn(line);
    if (closed !== null) this.#open.delete(closed);
    const asked = this.#product.askedIn(line);
    if (asked === null) return;
    const at = Date.now();
    this.#open.set(asked.id, { asked, at });
    if (this.#handler !== undefined) void this.#ask(this.#handler, asked, at);
  }

  /** Returns false if the request is not open (any more). */
  answer(id: string, { reply, text }: PermissionAnswer): boolean {
    const asked = this.#open.get(id)?.asked;
    if (asked === undefined || this.#product === null || !asked.replies.includes(reply)) return false;
    this.#open.delete(id);
    this.#write(this.#product.answer(asked, reply, text ?? null));
    return true;
  }

  /** A handler that fails leaves the request open. */
  async #ask(handler: PermissionHandler, asked: AskedPermission, at: number): Promise<void> {
    const answer = await this.#sessionKnown.then(() => handler(this.#permission(asked, at))).catch(() => null);
    if (answer !== null) this.answer(asked.id, answer);
  }

  #permission({ sessionId, agentId, ...asked }: AskedPermission, at: number): Permission {
    const session = sessionId ?? this.#session;
    const uri = session === null ? null : formatUri(this.#provider, session, agentId);
    return { ...asked, uri, askedAt: new Date(at).toISOString() };
  }
}
