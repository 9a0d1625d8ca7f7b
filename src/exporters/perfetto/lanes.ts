/** One track per agent. Slices of a track must nest; concurrent ones go to additional tracks. */
export class Lanes {
  readonly #first: ReadonlyMap<string, number>;
  readonly #taken = new Map<number, { readonly start: number; readonly end: number }[]>();
  readonly #more = new Map<string, number[]>();
  #next: number;

  constructor(agents: readonly string[]) {
    this.#first = new Map(agents.map((agent, i) => [agent, i + 1]));
    this.#next = agents.length + 1;
  }

  first(agent: string): number {
    return this.#first.get(agent) ?? 0;
  }

  /** The track of a slice. */
  place(agent: string, start: number, end: number): number {
    const more = this.#more.get(agent) ?? [];
    const track = [this.first(agent), ...more].find((lane) => this.#fits(lane, start, end)) ?? this.#next++;
    if (track > this.#first.size && !more.includes(track)) this.#more.set(agent, [...more, track]);
    const taken = this.#taken.get(track) ?? [];
    taken.push({ start, end });
    this.#taken.set(track, taken);
    return track;
  }

  /** All tracks of an agent, the main one first. */
  of(agent: string): readonly number[] {
    return [this.first(agent), ...(this.#more.get(agent) ?? [])];
  }

  #fits(lane: number, start: number, end: number): boolean {
    return (this.#taken.get(lane) ?? []).every(
      (other) =>
        end <= other.start ||
        start >= other.end ||
        (start >= other.start && end <= other.end) ||
        (start <= other.start && end >= other.end),
    );
  }
}
