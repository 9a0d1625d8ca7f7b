import type { AgentKey, CallKey, MatchKey } from "../facts/ids.ts";
import { byTime, type Observation, type ObservationOf, type Unseen } from "../facts/observation.ts";
import { isReport } from "../facts/origin.ts";
import { cached } from "../tools/collections.ts";
import { type Fold, NAME } from "./fold.ts";
import { holderOf } from "./folded.ts";

export type SpawnCall = ObservationOf<"spawn-called">;

/** The agent that made each tool call, under all names of a call. */
export class CallBook {
  readonly #callers = new Map<CallKey, Caller>();
  /** The agent that received the result: the caller, if the record of the call is missing. */
  readonly #receivers = new Map<CallKey, Caller>();
  readonly #spawns = new Map<CallKey, SpawnCall>();
  readonly #aliases = new Map<CallKey, CallKey>();
  readonly #offers = new Map<CallKey, Set<MatchKey>>();
  readonly #refused = new Map<CallKey, ObservationOf<"call-refused">>();
  readonly #unseen = new Map<CallKey, Unseen>();

  readonly #folded: ReadonlyMap<AgentKey, Fold>;

  /** Requires that no relevant call is in the records of two agents of which one is folded. */
  constructor(facts: readonly Observation[], folded: ReadonlyMap<AgentKey, Fold> = new Map()) {
    this.#folded = folded;
    for (const o of facts) {
      if (o.type === "call-aliased") this.#aliases.set(o.alias, o.call);
      if (o.type === "call-refused") setBest(this.#refused, o);
      if (o.type === "call-offers" && o.unseen !== undefined) this.#unseen.set(o.call, o.unseen);
      if (o.type === "call-offers") cached(this.#offers, o.call, () => new Set()).add(o.match);
      if (o.type === "record") {
        for (const { call } of o.calls) noteCaller(this.#callers, call, o);
        for (const { call } of o.results) noteCaller(this.#receivers, call, o);
      }
      if (o.type === "spawn-called") {
        noteCaller(this.#callers, o.call, o);
        setBest(this.#spawns, o);
      }
    }
  }

  refusalOf = (call: CallKey): ObservationOf<"call-refused"> | undefined => this.#refused.get(call);
  /** From the result of the call, else from the call itself. */
  unseen = (call: SpawnCall): Unseen | undefined => this.#unseen.get(call.call) ?? call.unseen;
  resolve = (call: CallKey): CallKey => this.#aliases.get(call) ?? call;
  callerOf = (alias: CallKey): AgentKey | undefined => {
    const call = this.resolve(alias);
    const caller = this.#callers.get(call)?.agent ?? holderOf(this.#folded, call, NAME.call);
    return caller ?? this.#receivers.get(call)?.agent ?? holderOf(this.#folded, call, NAME.result);
  };
  spawn = (call: CallKey): SpawnCall | undefined => this.#spawns.get(call);
  offersOf = (spawn: SpawnCall): ReadonlySet<MatchKey> =>
    new Set([...spawn.offers, ...(this.#offers.get(spawn.call) ?? [])]);
  spawns = (): readonly SpawnCall[] => [...this.#spawns.values()].sort(byTime);
}

/** Keeps one fact per call: the product's record before that of a live source, which has only the time of arrival. */
export function setBest<T extends Observation & { readonly call: CallKey }>(
  best: Map<CallKey, T>,
  o: T,
  call: CallKey = o.call,
): void {
  const known = best.get(call);
  if (known === undefined || (isReport(o) === isReport(known) ? o.id < known.id : isReport(known))) best.set(call, o);
}

interface Caller {
  readonly agent: AgentKey;
  readonly at: number | null;
}

/** The earliest, then the first by name. */
function noteCaller(callers: Map<CallKey, Caller>, call: CallKey, { speaker, at }: Observation) {
  const known = callers.get(call);
  const isEarlier =
    known !== undefined && ((known.at ?? 0) < (at ?? 0) || ((known.at ?? 0) === (at ?? 0) && known.agent <= speaker));
  if (!isEarlier) callers.set(call, { agent: speaker, at });
}
