import { asNumber, asWords } from "../../core/json.ts";
import { type Row, timeInId } from "./rows.ts";

interface Memory {
  readonly inherited: boolean;
  readonly startOrdinal: number | null;
  readonly firstAt: number | null;
  readonly hasTurnIds: boolean;
}

/** Lines that name the turn they begin. */
const TURNS = new Set(["event_msg/task_started", "turn_context"]);

/** Copied lines are all written at once, when the thread begins. */
const COPYING_MS = 2_000;

/**
 * Tells the thread's own lines from those it inherited. A forked thread begins with its ancestors' history: their first lines, their turns, even the call
 * that spawned it. The first line is its identity; its own part begins with the first turn that is not older than the thread itself.
 */
export class History {
  readonly #bornAt: number | null;
  readonly #thread: string;
  #inherited: boolean;
  #startOrdinal: number | null;
  #firstAt: number | null;
  #hasTurnIds: boolean;

  constructor(thread: string, saved?: unknown) {
    const memory = saved as Memory | undefined;
    this.#thread = thread;
    this.#bornAt = timeInId(thread);
    this.#inherited = memory?.inherited ?? false;
    this.#startOrdinal = memory?.startOrdinal ?? null;
    this.#firstAt = memory?.firstAt ?? null;
    this.#hasTurnIds = memory?.hasTurnIds ?? false;
  }

  save = (): Memory => ({ inherited: this.#inherited, startOrdinal: this.#startOrdinal, firstAt: this.#firstAt, hasTurnIds: this.#hasTurnIds });

  /** The line that says whose file it is. A fork that keeps its history in another file (`history_base`) has nothing copied in its own. */
  begin({ at, payload }: Row): void {
    this.#firstAt = at;
    this.#startOrdinal = asNumber(payload.subagent_history_start_ordinal);
    this.#inherited = this.#startOrdinal !== null || (asWords(payload.forked_from_id) !== null && payload.history_base == null);
  }

  isOwn(row: Row): boolean {
    if (row.type === "session_meta") {
      // The ancestors' first lines follow the thread's own.
      if (asWords(row.payload.id)?.toLowerCase() !== this.#thread) this.#inherited = true;
      return false;
    }
    // Where the first line is lost, a turn older than the thread shows that this is a fork.
    if (this.#firstAt === null && TURNS.has(row.type) && this.isForeignTurn(asWords(row.payload.turn_id))) this.#inherited = true;
    if (this.#inherited && this.#beginsOwnPart(row)) this.#inherited = false;
    return !this.#inherited;
  }

  /** The turn is one of an ancestor's, and is only told of here. */
  isForeignTurn(turn: string | null): boolean {
    const at = timeInId(turn);
    return at !== null && this.#bornAt !== null && at < this.#bornAt;
  }

  #beginsOwnPart({ type, at, ordinal, payload }: Row): boolean {
    // A migrated file may name the place behind its end: then the turns tell.
    if (this.#startOrdinal !== null && ordinal !== null && ordinal >= this.#startOrdinal) return true;
    if (TURNS.has(type)) {
      const turn = timeInId(asWords(payload.turn_id));
      this.#hasTurnIds ||= turn !== null;
      if (turn !== null) return this.#bornAt !== null && turn >= this.#bornAt;
    }
    // Up to 0.99 turns have no ids.
    return !this.#hasTurnIds && this.#startOrdinal === null && at !== null && this.#firstAt !== null && at - this.#firstAt > COPYING_MS;
  }
}
