import { randomBytes } from "node:crypto";
import type { AgentKey } from "../core/ids.ts";
import { agentOf, type Forest, subtreeOf } from "../core/link.ts";
import type { Span } from "../core/span.ts";
import { spansOf } from "../core/spans.ts";

/** The spans of one agent from a position on: what was told of it from there on no longer holds. */
export interface AgentSpans {
  readonly uri: string;
  readonly first: number;
  readonly spans: readonly Span[];
}

export interface SpansAnswer {
  readonly items: readonly AgentSpans[];
  /** What to ask with to be told what is new since. */
  readonly next: string;
  /** False where only what is new since `after` is told. */
  readonly whole: boolean;
}

interface Board {
  readonly serial: string;
  version: number;
  forest: Forest | null;
  agents: Map<string, Posted>;
}

interface Posted {
  readonly spans: readonly Span[];
  /** For each span the version in which it became what it is; an end that moved counts for the last one. */
  readonly versions: readonly number[];
  readonly version: number;
}

/** Whoever looks asks again and again; more trees than this are hardly looked at. */
const KEPT = 8;

/** Tells spans piece by piece: each asker gets what changed since it asked last, however often others ask. */
export class SpanBoard {
  readonly #boards = new Map<AgentKey, Board>();

  answer(forest: Forest, key: AgentKey, after: string | undefined): SpansAnswer {
    const board = this.#board(key);
    if (board.forest !== forest) post(board, forest, key);
    const known = after?.startsWith(`${board.serial}-`) === true ? Number(after.slice(board.serial.length + 1)) : 0;
    const since = Number.isInteger(known) && known > 0 && known <= board.version ? known : 0;
    const items = [...board.agents].flatMap(([uri, { spans, versions, version }]): AgentSpans[] => {
      if (version <= since) return [];
      const changed = versions.findIndex((one) => one > since);
      const first = changed < 0 ? spans.length : changed;
      return [{ uri, first, spans: spans.slice(first) }];
    });
    return { items, next: `${board.serial}-${board.version}`, whole: since === 0 };
  }

  #board(key: AgentKey): Board {
    const board = this.#boards.get(key) ?? { serial: randomBytes(6).toString("hex"), version: 0, forest: null, agents: new Map() };
    this.#boards.delete(key);
    this.#boards.set(key, board);
    for (const oldest of this.#boards.keys()) if (this.#boards.size > KEPT) this.#boards.delete(oldest);
    return board;
  }
}

function post(board: Board, forest: Forest, key: AgentKey): void {
  board.version += 1;
  board.forest = forest;
  const agents = new Map<string, Posted>();
  for (const one of subtreeOf(forest, key)) {
    const { uri } = agentOf(forest, one);
    agents.set(uri, posted(board.agents.get(uri), spansOf(forest, one), board.version));
  }
  board.agents = agents;
}

function posted(before: Posted | undefined, spans: readonly Span[], version: number): Posted {
  const versions = spans.map((span, i) => (isSame(span, before?.spans[i]) ? (before?.versions[i] ?? version) : version));
  const isChanged = before === undefined || before.spans.length !== spans.length || versions.includes(version);
  return { spans, versions, version: isChanged ? version : before.version };
}

function isSame(a: Span, b: Span | undefined): boolean {
  if (b === undefined) return false;
  return (Object.keys(a) as (keyof Span)[]).every((field) =>
    field === "agents" ? a.agents.length === b.agents.length && a.agents.every((uri, i) => uri === b.agents[i]) : a[field] === b[field],
  );
}
