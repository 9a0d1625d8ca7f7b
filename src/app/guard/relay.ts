import { hasLimits } from "../../core/guard/limits.ts";
import type { AskedPermission } from "../../core/ports/control.ts";
import type { RelayGuard } from "../../core/ports/relay-permissions.ts";
import type { Env } from "../home.ts";
import { decideSpawn } from "./decide.ts";
import { addToLedger } from "./ledger-file.ts";
import { limitsInForce } from "./limits-file.ts";
import { noteTrouble } from "./trouble.ts";

export interface RelayGuardOptions {
  readonly env: Env;
  readonly provider: string;
  readonly guard: RelayGuard;
  /** The ids of the open permission requests of a session. */
  readonly openIn: (session: string) => readonly string[];
  /** Rejects a permission request with this text. */
  readonly reject: (id: string, text: string) => Promise<unknown>;
}

/**
 * Enforces limits on a followed server, by rejecting permission requests of spawn calls that exceed them. Other requests
 * are left to a person. OpenCode 1.18.33 rejects all open requests of a session with one of them, so a rejection waits
 * until a person has answered those within the limits. Never throws.
 */
export class RelayLimits {
  readonly #options: RelayGuardOptions;
  readonly #parents = new Map<string, string | null>();
  /** Requests beyond a limit that are not rejected yet, with the reason. */
  readonly #exceeding = new Map<string, string>();
  /** Requests are decided one after the other, in the order in which they arrived. */
  #turn: Promise<void> = Promise.resolve();

  constructor(options: RelayGuardOptions) {
    this.#options = options;
  }

  onFrame(frame: unknown): void {
    const session = this.#options.guard.sessionIn(frame);
    if (session === null) return;
    if (!session.isIdle) this.#parents.set(session.id, session.parent);
    else if (this.#parents.get(session.id) != null)
      this.#queue(async () => {
        if (hasLimits(await limitsInForce(this.#options.env)))
          addToLedger(this.#options.env, this.#ledgerOf(session.id), {
            at: Date.now(),
            is: "ended",
            call: null,
            agent: session.id,
            type: null,
          });
      });
  }

  onAsked(asked: AskedPermission, cwd: string | null): void {
    const { env, guard } = this.#options;
    const { sessionId, callId } = asked;
    const spawn = guard.spawnOf(asked);
    if (spawn === null || sessionId === null) return;
    this.#queue(async () => {
      const limits = await limitsInForce(env);
      if (!hasLimits(limits)) return;
      const depth = this.#chain(sessionId).length - 1;
      const { action, exceeded } = decideSpawn(env, limits, {
        thread: this.#ledgerOf(sessionId),
        cwd,
        asked: {
          is: "spawn",
          call: callId ?? asked.id,
          by: depth === 0 ? null : sessionId,
          ...spawn,
          callerDepth: depth,
          process: null,
        },
        via: "relay",
      });
      if (action === "deny" && exceeded !== null) this.#exceeding.set(asked.id, exceeded.text);
      await this.#rejectIn(sessionId);
    });
  }

  /** A request was answered. */
  onClosed({ id, sessionId }: AskedPermission): void {
    this.#queue(async () => {
      this.#exceeding.delete(id);
      if (sessionId !== null) await this.#rejectIn(sessionId);
    });
  }

  async #rejectIn(session: string): Promise<void> {
    const { openIn, reject } = this.#options;
    const open = openIn(session);
    const [first] = open;
    const text = first === undefined ? undefined : this.#exceeding.get(first);
    if (first === undefined || text === undefined || !open.every((id) => this.#exceeding.has(id))) return;
    await reject(first, text);
  }

  /** The session and those above it, as far as they are known. */
  #chain(session: string): readonly string[] {
    const chain = [session];
    for (let above = this.#parents.get(session); above != null && !chain.includes(above); ) {
      chain.push(above);
      above = this.#parents.get(above);
    }
    return chain;
  }

  #ledgerOf = (session: string) => ({
    provider: this.#options.provider,
    thread: this.#chain(session).at(-1) ?? session,
  });

  #queue(work: () => Promise<void>): void {
    this.#turn = this.#turn.then(work).catch((error: Error) => noteTrouble(this.#options.env, error));
  }
}
