import { createHash } from "node:crypto";
import type { Span } from "../trace/span.ts";

/** A deterministic UUID version 7, from a time and a name. */
export function uuid7(ms: number, name: string): string {
  const bytes = createHash("sha256").update(name).digest().subarray(0, 16);
  bytes.writeUIntBE(Math.max(0, Math.min(Math.round(ms), 2 ** 48 - 1)), 0, 6);
  bytes[6] = 0x70 | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  const hex = bytes.toString("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

/** The ids and times of a run. Microseconds only order runs within a millisecond. */
export interface RunPlace {
  readonly id: string;
  readonly traceId: string;
  readonly parentId: string | null;
  readonly dottedOrder: string;
  /** ISO 8601, as in the dotted order. */
  readonly startTime: string;
  readonly ms: number;
  readonly micro: number;
}

const SEGMENT = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})(\d{3})Z([0-9a-f-]{36})$/i;

/** Parses a dotted order; null if invalid. */
export function placeIn(dottedOrder: string): RunPlace | null {
  const segments = dottedOrder.split(".").map((segment) => SEGMENT.exec(segment));
  const [first, above, last] = [segments[0], segments.at(-2), segments.at(-1)];
  if (first == null || last == null || segments.includes(null)) return null;
  const [, year, month, day, hour, minute, second, milli, micro, id] = last;
  const to = `${year}-${month}-${day}T${hour}:${minute}:${second}.${milli}`;
  const ms = Date.parse(`${to}Z`);
  if (Number.isNaN(ms)) return null;
  const ids = { id: id as string, traceId: first[9] as string, parentId: above?.[9] ?? null };
  return { ...ids, dottedOrder, startTime: `${to}${micro}Z`, ms, micro: Number(micro) };
}

/** Order within the same millisecond. */
const RANK: Readonly<Record<Span["kind"], number>> = {
  turn: 0,
  agent: 0,
  prompt: 0,
  call: 1,
  message: 1,
  tool: 2,
  compaction: 3,
};
const PER_RANK = 100;
const LAST_MICRO = 999;

/** Characters per level: a time, an id and a dot. */
const SEGMENT_CHARS = 59;
/**
 * A dotted order names all ancestors of a run, so its size is quadratic in the depth. Deeper runs are siblings at the
 * last level.
 */
const MAX_ORDER_CHARS = 100 * SEGMENT_CHARS;

/** The dotted order under which a run was posted before, by the key of its span. */
export type FindPlace = (key: string) => string | undefined;

/**
 * Assigns each run of a trace its place: the one it was posted in, else one derived from its span. Parents come before
 * children.
 */
export class Places {
  readonly #project: string;
  readonly #outer: RunPlace | null;
  readonly #shiftMs: number;
  readonly #find: FindPlace;
  readonly #known = new Map<Span, RunPlace>();
  /** The span below which the run of each span is placed. */
  readonly #holders = new Map<Span, Span>();
  readonly #samePlace = new Map<string, number>();

  constructor(project: string, outer: RunPlace | null, shiftMs: number, find: FindPlace = () => undefined) {
    this.#project = project;
    this.#outer = outer;
    this.#shiftMs = shiftMs;
    this.#find = find;
  }

  of(span: Span): RunPlace {
    const known = this.#known.get(span);
    if (known !== undefined) return known;
    const place = placeIn(this.#find(span.key) ?? "") ?? this.#derived(span);
    this.#known.set(span, place);
    return place;
  }

  #derived(span: Span): RunPlace {
    const holder = span.parent === null ? null : this.#holderFor(span.parent);
    if (holder !== null) this.#holders.set(span, holder);
    const above = holder === null ? this.#outer : this.of(holder);
    const ms = Math.max(span.start + this.#shiftMs, above?.ms ?? Number.NEGATIVE_INFINITY);
    // The project is part of the name, because the same run may be sent to two projects of one account.
    const id = uuid7(span.born, `${this.#project}\n${span.key}`);
    const micro = Math.min(LAST_MICRO, (ms === above?.ms ? above.micro : 0) + this.#place(span, ms));
    const startTime = `${new Date(ms).toISOString().slice(0, -1)}${String(micro).padStart(3, "0")}Z`;
    const segment = `${startTime.replace(/[-:.]/g, "")}${id}`;
    const dottedOrder = above === null ? segment : `${above.dottedOrder}.${segment}`;
    return { id, traceId: above?.traceId ?? id, parentId: above?.id ?? null, dottedOrder, startTime, ms, micro };
  }

  /** The span to place children of `parent` below: itself, or its own holder if it is at the maximum depth. */
  #holderFor(parent: Span): Span {
    const isFull = this.of(parent).dottedOrder.length + SEGMENT_CHARS > MAX_ORDER_CHARS;
    return isFull ? (this.#holders.get(parent) ?? parent) : parent;
  }

  /** Microseconds within the millisecond. Does not change when other spans appear later. */
  #place(span: Span, ms: number): number {
    if (span.parent === null) return 0;
    const rank = RANK[span.kind];
    const among = `${span.parent.key} ${rank} ${ms}`;
    const before = this.#samePlace.get(among) ?? 0;
    this.#samePlace.set(among, before + 1);
    return rank * PER_RANK + Math.min(before, PER_RANK - 1);
  }
}
