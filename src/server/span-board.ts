import { randomBytes } from "node:crypto";
import type { AgentKey } from "../core/facts/ids.ts";
import { agentOf, type Forest, subtreeOf } from "../core/link/forest.ts";
import type { AgentSpans, SpansAnswer } from "../core/ports/catalog.ts";
import { isSame, type Span } from "../core/views/span.ts";
import type { SpanEdit } from "../core/views/span-list.ts";
import { Timeline } from "../core/views/spans.ts";

/** The spans of one tree. `serial` identifies the board; versions of another board are not valid. */
interface Board {
  readonly serial: string;
  version: number;
  forest: Forest | null;
  agents: Map<AgentKey, Posted>;
}

/** The spans of one agent, with their latest edits. */
interface Posted {
  readonly uri: string;
  readonly timeline: Timeline;
  /** Clients that know an older version get all spans. */
  readonly since: number;
  readonly edits: readonly { readonly version: number; readonly edit: SpanEdit }[];
}

/** Maximum number of trees in memory; the least recently requested one is dropped. */
const MAX_BOARDS = 8;
/** Number of edits kept per agent. Clients that are further behind get all of its spans. */
const MAX_EDITS = 64;

/** Serves spans: each client gets the edits since its last request, independent of other clients. */
export class SpanBoard {
  readonly #boards = new Map<AgentKey, Board>();
  /** Work so far, for tests: spans computed and sent. */
  readonly work = { computed: 0, sent: 0 };

  spansSince(forest: Forest, key: AgentKey, after: string | undefined): SpansAnswer {
    const board = this.#board(key);
    if (board.forest !== forest) this.#post(board, forest, key);
    const known = after?.startsWith(`${board.serial}-`) === true ? Number(after.slice(board.serial.length + 1)) : 0;
    const since = Number.isInteger(known) && known > 0 && known <= board.version ? known : 0;
    const items = [...board.agents.values()].flatMap((posted) => itemsSince(posted, since));
    for (const { spans } of items) this.work.sent += spans.length;
    return { items, next: `${board.serial}-${board.version}`, whole: since === 0 };
  }

  /** Clients that request again get all spans. */
  clear(): void {
    this.#boards.clear();
  }

  #board(key: AgentKey): Board {
    const board = this.#boards.get(key) ?? {
      serial: randomBytes(6).toString("hex"),
      version: 0,
      forest: null,
      agents: new Map(),
    };
    this.#boards.delete(key);
    this.#boards.set(key, board);
    for (const oldest of this.#boards.keys()) if (this.#boards.size > MAX_BOARDS) this.#boards.delete(oldest);
    return board;
  }

  #post(board: Board, forest: Forest, key: AgentKey): void {
    board.forest = forest;
    const agents = new Map<AgentKey, Posted>();
    const next = board.version + 1;
    let isChanged = false;
    for (const one of subtreeOf(forest, key)) {
      const before = board.agents.get(one);
      const posted = this.#posted(before, next, forest, one);
      isChanged ||= posted !== before;
      agents.set(one, posted);
    }
    if (isChanged) board.version = next;
    board.agents = agents;
  }

  #posted(before: Posted | undefined, version: number, forest: Forest, key: AgentKey): Posted {
    const { uri } = agentOf(forest, key);
    if (before?.uri !== uri) return { uri, timeline: this.#begin(forest, key), since: version, edits: [] };
    const { computed } = before.timeline;
    const edits = before.timeline.advance(forest);
    if (edits !== null) {
      this.work.computed += before.timeline.computed - computed;
      return withEdits(before, version, edits);
    }
    const timeline = this.#begin(forest, key);
    if (before.timeline.isBroken) return { uri, timeline, since: version, edits: [] };
    return withEdits({ ...before, timeline }, version, difference(before.timeline.spans, timeline.spans));
  }

  #begin(forest: Forest, key: AgentKey): Timeline {
    const timeline = new Timeline(forest, key);
    this.work.computed += timeline.computed;
    return timeline;
  }
}

function withEdits(posted: Posted, version: number, edits: readonly SpanEdit[]): Posted {
  if (edits.length === 0) return posted;
  const all = [...posted.edits, ...edits.map((edit) => ({ version, edit }))];
  const left = all.splice(0, all.length > MAX_EDITS ? all.length - MAX_EDITS / 2 : 0);
  const since = left.at(-1)?.version ?? posted.since;
  return { ...posted, since, edits: all.filter((one) => one.version > since) };
}

function itemsSince({ uri, timeline, since: oldest, edits }: Posted, since: number): AgentSpans[] {
  const newer = edits.filter(({ version }) => version > since);
  const isLess = newer.reduce((sum, { edit }) => sum + edit.spans.length, 0) <= timeline.length;
  if (since >= oldest && (isLess || newer.length === 0)) return newer.map(({ edit }) => ({ uri, ...edit }));
  return [{ uri, first: 0, removed: null, spans: timeline.spans }];
}

/** The edit that turns the first list into the second. */
function difference(before: readonly Span[], after: readonly Span[]): SpanEdit[] {
  const least = Math.min(before.length, after.length);
  let first = 0;
  while (first < least && isSame(before[first] as Span, after[first] as Span)) first += 1;
  let behind = 0;
  while (behind < least - first && isSame(before.at(-1 - behind) as Span, after.at(-1 - behind) as Span)) behind += 1;
  const [removed, spans] = [before.length - first - behind, after.slice(first, after.length - behind)];
  return removed === 0 && spans.length === 0 ? [] : [{ first, removed, spans }];
}
