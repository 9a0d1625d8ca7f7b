import type { AgentKey } from "../../core/facts/ids.ts";
import type { LinkedAgent } from "../../core/link/forest.ts";
import { type AgentShipped, LOST, REMOVING, type ThreadShipped } from "../../core/ports/shipped.ts";
import { inside } from "../../transports/system/paths.ts";
import type { Library } from "../ingest/library.ts";
import { isShared, type ShipTarget } from "./target.ts";

/**
 * What the team server keeps although its transcripts are no longer on this machine. What a person deletes soon after
 * the work follows; products delete old transcripts by themselves, and a team must not lose its history by that.
 */
export class Deleted {
  readonly #library: Library;
  readonly #target: ShipTarget;
  readonly #rules: string;

  /** `rules` stands for the redaction rules: what was sent by others is never kept. */
  constructor(library: Library, target: ShipTarget, rules: string) {
    this.#library = library;
    this.#target = target;
    this.#rules = rules;
  }

  /** Whether a folder with transcripts of these agents is missing; they may be back later. */
  areOutOfReach(agents: readonly LinkedAgent[]): boolean {
    const missing = this.#library.roots.flatMap(({ path, exists }) => (exists ? [] : [path]));
    // The folder may have appeared since the roots were looked at.
    const isMissing = (path: string) => missing.some((root) => inside(root, path) !== null) && this.#isGone(path);
    return agents.some(({ files }) => files.some(({ path }) => isMissing(path)));
  }

  /** Whether the events of this agent stay, because its transcript was deleted long after it worked. */
  keepsEvents(agent: LinkedAgent, thread: ThreadShipped | null, known: AgentShipped | undefined): boolean {
    if (thread?.sent?.rules !== this.#rules) return false;
    const isThere = thread.stamp === LOST || (known !== undefined && (known.events > 0 || known.hasMore === true));
    return isThere && this.#isOld(agent.lastAt) && agent.files.some(({ path }) => this.#isGone(path));
  }

  /**
   * Whether the thread stays as it is, because its transcripts were deleted before the index was built: the index does
   * not know it, or from other files only. `root` is what the index has of it, if that is known to the caller.
   */
  keepsThread({ stamp, sent }: ThreadShipped, root?: LinkedAgent): boolean {
    if (sent === null || !sent.hasTranscript || stamp === REMOVING || sent.rules !== this.#rules) return false;
    if (!isShared(this.#target, sent.cwd) || !this.#isOld(sent.activeAt)) return false;
    const known = root ?? this.#indexed(sent.key);
    return known === null || (known?.parent === null && known.files.length === 0);
  }

  /** Null if the index has never seen the thread; undefined if it no longer has anything of it. */
  #indexed(thread: AgentKey): LinkedAgent | null | undefined {
    const { store } = this.#library;
    if (store.versions([thread]).get(thread) === 0) return null;
    return this.#library.forestOf([thread]).agents.get(thread);
  }

  #isGone(path: string): boolean {
    return this.#library.store.file(path)?.gone === true;
  }

  #isOld(lastAt: number | null): boolean {
    const { keepsDeletedAfterMs } = this.#target;
    return keepsDeletedAfterMs !== null && lastAt !== null && this.#library.now() - lastAt > keepsDeletedAfterMs;
  }
}
