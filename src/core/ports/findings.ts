import { continuedFrom } from "../facts/continued.ts";
import { type AgentKey, isNamed, observationId, placeName, type RecordKey, threadOf } from "../facts/ids.ts";
import type { Fact, Observation } from "../facts/observation.ts";
import type { Origin } from "../facts/origin.ts";
import type { Problem, ProblemCode } from "../facts/problem.ts";
import { agentsIn } from "../link/mentions.ts";
import type { Findings } from "./provider.ts";

/** The current record: its place, agent and time. */
interface RecordContext {
  readonly path: string;
  /** From 1; 0 for a document. */
  readonly line: number;
  /** The name of a database row; `line` is then only its order. */
  readonly row?: string | undefined;
  readonly at: number | null;
  readonly speaker: AgentKey;
  readonly keys: readonly RecordKey[];
  readonly origin?: Origin | undefined;
  /** Its position in the file; its line, unless one record contains many. */
  readonly order?: number | undefined;
}

/** Collects the observations of one record and gives each an id from its place. */
export class FindingsOf implements Findings {
  readonly observations: Observation[];
  readonly problems: Problem[];
  readonly #record: RecordContext;
  readonly #placeName: string;
  readonly #isNamed: boolean;

  constructor(
    record: RecordContext,
    whole?: Pick<FindingsOf, "observations" | "problems">,
    place = placeName(record.path, record.line, record.row),
  ) {
    this.observations = whole?.observations ?? [];
    this.problems = whole?.problems ?? [];
    // What an agent without an id did counts for its thread.
    const thread = threadOf(record.speaker);
    this.#record = isNamed(record.speaker) ? record : { ...record, speaker: thread };
    this.#isNamed = isNamed(thread);
    this.#placeName = place;
  }

  get place(): RecordContext {
    return this.#record;
  }

  /** For a part of the record with its own time, ids or agent. Its findings are part of the whole. */
  part(of: Partial<Pick<RecordContext, "at" | "speaker" | "keys" | "order">>): FindingsOf {
    const { path, line, row, at, speaker, keys, order, origin } = this.#record;
    return new FindingsOf(
      {
        path,
        line,
        row,
        at: of.at === undefined ? at : of.at,
        speaker: of.speaker ?? speaker,
        keys: of.keys ?? keys,
        order: of.order ?? order,
        origin,
      },
      this,
      this.#placeName,
    );
  }

  add(fact: Fact): void {
    this.#push(fact, this.#record.keys, this.#record.at);
  }

  /** For a fact with another time than the record. */
  addAt(at: number | null, fact: Fact): void {
    this.#push(fact, this.#record.keys, at);
  }

  /** For a fact about the file that is true even if the record is a copy; without the copy's time. */
  addOfFile(fact: Fact): void {
    this.#push(fact, [], null);
  }

  problem(code: ProblemCode, detail: string): void {
    this.problems.push({ code, where: this.#placeName, detail });
  }

  /** Adds problems that were found before the record could be parsed. */
  addProblems(problems: readonly Problem[]): void {
    this.problems.push(...problems);
  }

  #push(fact: Fact, keys: readonly RecordKey[], at: number | null) {
    const { speaker, line, order, origin } = this.#record;
    if (!this.#isNamed) return this.problem("record-malformed", "it names a thread without an id");
    const id = observationId(this.#placeName, this.observations.length);
    const place = order ?? line;
    if (fact.type === "record" && origin === undefined && fact.turn === undefined && fact.error === undefined) {
      // Nearly half of all facts. Field by field, because copying an object of unknown fields takes several times as long.
      const { type, role, state, certain, calls, results, text, message } = fact;
      const what = { type, role, state, certain, calls, results, text, message, id, at, speaker, keys, order: place };
      this.observations.push(what);
      return;
    }
    const seen = { ...withContinuedAgent(fact), id, at, speaker, keys, order: place };
    if (fact.type !== "model-call" && !agentsIn(seen).every(isNamed))
      return this.problem("record-malformed", "it names an agent without an id");
    this.observations.push(origin === undefined ? seen : { ...seen, origin });
  }
}

/** A session that `attach` began names the agent that it continues in its prompt. */
function withContinuedAgent(fact: Fact): Fact {
  if (fact.type !== "agent-described" || fact.prompt === undefined || fact.forkedFrom !== undefined) return fact;
  const forkedFrom = continuedFrom(fact.prompt);
  return forkedFrom === null || forkedFrom === fact.agent ? fact : { ...fact, forkedFrom };
}

export function problemAt(path: string, line: number, code: ProblemCode, detail: string, row?: string): Findings {
  return { observations: [], problems: [{ code, where: placeName(path, line, row), detail }] };
}
