import { type AgentKey, observationId, type RecordKey } from "./ids.ts";
import type { Fact, Observation } from "./observation.ts";
import { planIn } from "./plan.ts";
import type { Problem, ProblemCode } from "./problem.ts";
import type { Findings } from "./provider.ts";

/** The record at hand: where it stands, whose it is, when it was written. */
export interface RecordContext {
  readonly path: string;
  /** From 1; 0 for a document. */
  readonly line: number;
  /** The name of a database's row; then `line` is only its order. */
  readonly row?: string | undefined;
  readonly at: number | null;
  readonly speaker: AgentKey;
  readonly keys: readonly RecordKey[];
  /** Where it stands among the others of its file; its line, unless one record holds many. */
  readonly order?: number;
  /** It stands in a recording of a live source. */
  readonly live?: true;
  /** Not from the product's own records. */
  readonly witness?: true;
}

/** Collects what a parser reads off one record, and gives each observation the id of its place. */
export class FindingsOf implements Findings {
  readonly observations: Observation[];
  readonly problems: Problem[];
  readonly #record: RecordContext;
  readonly #place: string;

  constructor(record: RecordContext, whole?: Pick<FindingsOf, "observations" | "problems">) {
    this.observations = whole?.observations ?? [];
    this.problems = whole?.problems ?? [];
    this.#record = record;
    this.#place = placeName(record.path, record.line, record.row);
  }

  /** For a part of the record that has a time, ids or an agent of its own. What it finds is found in the whole. */
  part(of: Partial<Pick<RecordContext, "at" | "speaker" | "keys" | "order">>): FindingsOf {
    return new FindingsOf({ ...this.#record, ...of }, this);
  }

  add(fact: Fact): void {
    this.#push(fact, this.#record.keys, this.#record.at);
  }

  /** For what happened at another time than the record as a whole. */
  addAt(at: number | null, fact: Fact): void {
    this.#push(fact, this.#record.keys, at);
  }

  /** For what holds of the file even where the record itself is a copy from another one; the copy's time is not the file's. */
  addOfFile(fact: Fact): void {
    this.#push(fact, [], null);
  }

  /** A tool was asked to do this: where that is to write down a plan, it is stated. */
  planned(input: unknown): void {
    const plan = planIn(input);
    if (plan !== null) this.add({ type: "plan-stated", plan });
  }

  problem(code: ProblemCode, detail: string): void {
    this.problems.push({ code, where: this.#place, detail });
  }

  #push(fact: Fact, keys: readonly RecordKey[], at: number | null) {
    const { speaker, line, order, live, witness } = this.#record;
    const seen = { id: observationId(this.#place, this.observations.length), at, speaker, keys, order: order ?? line };
    this.observations.push({ ...fact, ...seen, ...(live === undefined ? {} : { live }), ...(witness === undefined ? {} : { witness }) });
  }
}

export const placeName = (path: string, line: number, row?: string) => (row !== undefined ? `${path}:${row}` : line === 0 ? path : `${path}:${line}`);

export function problemAt(path: string, line: number, code: ProblemCode, detail: string, row?: string): Findings {
  return { observations: [], problems: [{ code, where: placeName(path, line, row), detail }] };
}
