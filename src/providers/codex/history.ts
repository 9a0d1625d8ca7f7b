import { asNonBlank, asNumber } from "../../core/tools/json.ts";
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
 * Distinguishes the thread's own lines from inherited ones. A forked thread begins with its ancestors' history: their
 * first lines, their turns, even the call that spawned it. The first line is its identity; its own part begins with the
 * first turn that is not older than the thread.
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

  save = (): Memory => ({
    inherited: this.#inherited,
    startOrdinal: this.#startOrdinal,
    firstAt: this.#firstAt,
    hasTurnIds: this.#hasTurnIds,
  });

  /** The first line of the file. A fork that keeps its history in another file (`history_base`) contains no copies. */
  begin({ at, payload }: Row): void {
    this.#firstAt = at;
    this.#startOrdinal = asNumber(payload.subagent_history_start_ordinal);
    this.#inherited =
      this.#startOrdinal !== null || (asNonBlank(payload.forked_from_id) !== null && payload.history_base == null);
  }

  isOwn(row: Row): boolean {
    if (row.type === "session_meta") {
      // The ancestors' first lines follow the thread's own.
      if (asNonBlank(row.payload.id)?.toLowerCase() !== this.#thread) this.#inherited = true;
      return false;
    }
    // If the first line is missing, a turn older than the thread indicates a fork.
    if (this.#firstAt === null && TURNS.has(row.type) && this.isForeignTurn(asNonBlank(row.payload.turn_id)))
      this.#inherited = true;
    if (this.#inherited && this.#beginsOwnPart(row)) this.#inherited = false;
    return !this.#inherited;
  }

  /** Whether the turn belongs to an ancestor. */
  isForeignTurn(turn: string | null): boolean {
    const at = timeInId(turn);
    return at !== null && this.#bornAt !== null && at < this.#bornAt;
  }

  #beginsOwnPart({ type, at, ordinal, payload }: Row): boolean {
    // A migrated file may name a position after its end; then the turns decide.
    if (this.#startOrdinal !== null && ordinal !== null && ordinal >= this.#startOrdinal) return true;
    if (TURNS.has(type)) {
      const turn = timeInId(asNonBlank(payload.turn_id));
      this.#hasTurnIds ||= turn !== null;
      if (turn !== null) return this.#bornAt !== null && turn >= this.#bornAt;
    }
    // Up to 0.99 turns have no ids.
    return (
      !this.#hasTurnIds &&
      this.#startOrdinal === null &&
      at !== null &&
      this.#firstAt !== null &&
      at - this.#firstAt > COPYING_MS
    );
  }
}
