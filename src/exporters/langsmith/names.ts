import { createHash } from "node:crypto";
import type { Span } from "../trace/span.ts";

/** A UUID of version 7 that is the same whenever and wherever it is made: the time and the name of what it stands for. */
export function uuid7(ms: number, name: string): string {
  const bytes = createHash("sha256").update(name).digest().subarray(0, 16);
  bytes.writeUIntBE(Math.max(0, Math.min(Math.round(ms), 2 ** 48 - 1)), 0, 6);
  bytes[6] = 0x70 | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  const hex = bytes.toString("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

/** A run's place: its ids, and its times to the microsecond, which only order what happened in the same millisecond. */
export interface RunPlace {
  readonly id: string;
  readonly traceId: string;
  readonly parentId: string | null;
  readonly dottedOrder: string;
  /** ISO, as it stands in the dotted order. */
  readonly startTime: string;
}

interface Known extends RunPlace {
  readonly ms: number;
  readonly micro: number;
}

/** A run of somebody else's that all of ours stand below. */
export interface OuterRun {
  readonly dottedOrder: string;
  readonly traceId: string;
  readonly id: string;
  readonly ms: number;
  readonly micro: number;
}

const SEGMENT = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})(\d{3})Z([0-9a-f-]{36})$/i;

/** Null for what is no dotted order. */
export function outerRun(dottedOrder: string): OuterRun | null {
  const segments = dottedOrder.split(".").map((segment) => SEGMENT.exec(segment));
  const [first, last] = [segments[0], segments.at(-1)];
  if (first == null || last == null || segments.includes(null)) return null;
  const [, year, month, day, hour, minute, second, milli, micro, id] = last;
  const ms = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}.${milli}Z`);
  return Number.isNaN(ms) ? null : { dottedOrder, traceId: first[9] as string, id: id as string, ms, micro: Number(micro) };
}

/** What stands first in the same millisecond. */
const RANK: Readonly<Record<Span["kind"], number>> = { turn: 0, agent: 0, prompt: 0, call: 1, message: 1, tool: 2, compaction: 3 };
const PER_RANK = 100;
const LAST_MICRO = 999;

/** Gives every run of a trace its place. Parents come before children. */
export class Places {
  readonly #project: string;
  readonly #outer: OuterRun | null;
  readonly #shiftMs: number;
  readonly #known = new Map<Span, Known>();
  readonly #alike = new Map<string, number>();

  constructor(project: string, outer: OuterRun | null, shiftMs: number) {
    this.#project = project;
    this.#outer = outer;
    this.#shiftMs = shiftMs;
  }

  /** The project is part of the name: the same run may be sent to two projects of one account. */
  idOf(span: Pick<Span, "born" | "key">): string {
    return uuid7(span.born, `${this.#project}\n${span.key}`);
  }

  of(span: Span): RunPlace {
    const known = this.#known.get(span);
    if (known !== undefined) return known;
    const above = span.parent === null ? this.#outer : (this.of(span.parent) as Known);
    const aboveMs = span.parent === null ? (above?.ms ?? Number.NEGATIVE_INFINITY) : (above as Known).ms;
    const ms = Math.max(span.start + this.#shiftMs, aboveMs);
    const id = this.idOf(span);
    const micro = Math.min(LAST_MICRO, (above !== null && ms === aboveMs ? above.micro : 0) + this.#place(span, ms));
    const startTime = `${new Date(ms).toISOString().slice(0, -1)}${String(micro).padStart(3, "0")}Z`;
    const segment = `${startTime.replace(/[-:.]/g, "")}${id}`;
    const place: Known = {
      id,
      traceId: above?.traceId ?? id,
      parentId: above?.id ?? null,
      dottedOrder: above === null ? segment : `${above.dottedOrder}.${segment}`,
      startTime,
      ms,
      micro,
    };
    this.#known.set(span, place);
    return place;
  }

  /** Does not change when others turn up later. */
  #place(span: Span, ms: number): number {
    if (span.parent === null) return 0;
    const rank = RANK[span.kind];
    const among = `${span.parent.key} ${rank} ${ms}`;
    const before = this.#alike.get(among) ?? 0;
    this.#alike.set(among, before + 1);
    return rank * PER_RANK + Math.min(before, PER_RANK - 1);
  }
}
