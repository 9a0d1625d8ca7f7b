import { everyone, type Step, type Story } from "../../core/views/story.ts";

/** The work of a thread after an input: a user's message, or the end of a background agent. */
export interface Turn {
  readonly key: string;
  readonly number: number;
  readonly start: number;
  readonly steps: readonly Step[];
  /** The inputs that started it. */
  readonly inputs: readonly Step[];
}

export const timeOf = (step: Step): number | null => (step.event.at === null ? null : Date.parse(step.event.at));
export const isMessage = ({ event: { kind } }: Step) => kind !== "spawn" && kind !== "status";

/** The turns of a thread, at least one: an agent may be below a thread whose records no longer exist. */
export function turnsOf(story: Story): Turn[] {
  const turns = split(story.steps.filter(isMessage));
  const drafts = turns.length > 0 ? turns : [[]];
  let last = Number.NEGATIVE_INFINITY;
  return drafts.map((steps, i) => {
    const [first] = steps;
    const at = steps.map(timeOf).find((time) => time !== null) ?? (i === 0 ? earliest(story) : last);
    last = Math.max(last, at);
    const firstOther = steps.findIndex((step) => !isInput(step));
    const inputs = firstOther < 0 ? steps : steps.slice(0, firstOther);
    return { key: first?.key ?? story.record.uri, number: i + 1, start: last, steps, inputs };
  });
}

const isInput = ({ event: { kind } }: Step) => kind === "user" || kind === "note";

/** The first known time. */
function earliest(story: Story): number {
  const known = [...everyone(story)].flatMap(({ record: { startedAt }, calls }) => [
    ...(startedAt === null ? [] : [Date.parse(startedAt)]),
    ...calls.flatMap(({ at }) => at ?? []),
  ]);
  return known.length === 0 ? 0 : known.reduce((a, b) => Math.min(a, b));
}

function split(steps: readonly Step[]): Step[][] {
  const turns: Step[][] = [];
  /** A tool result belongs to the turn of its call, and all parts of a response to the turn where it began. */
  const homes = new Map<string, Step[]>();
  /** Notes that arrive while the thread is idle belong to the next turn. */
  const held: Step[] = [];
  let isIdle = true;
  let call: string | null = null;
  for (const step of steps) {
    const { kind } = step.event;
    const names = namesOf(step);
    const home = names.map((name) => homes.get(name)).find((turn) => turn !== undefined);
    if (home !== undefined) home.push(step);
    else if (kind === "note" && isIdle) held.push(step);
    else if (kind === "user" && turns.at(-1)?.every(isInput)) turns.at(-1)?.push(...held.splice(0), step);
    else if (kind === "user" || turns.length === 0 || (isOutput(step) && isIdle && held.length > 0))
      turns.push([...held.splice(0), step]);
    else turns.at(-1)?.push(step);
    const turn = home ?? turns.at(-1);
    for (const name of names) if (turn !== undefined && !homes.has(name)) homes.set(name, turn);
    if (!isOutput(step)) continue;
    // A tool call is followed by its result and the next response.
    isIdle = kind !== "toolCall" && (step.call !== call || isIdle);
    call = step.call;
  }
  return turns;
}

const namesOf = ({ call, event: { tool } }: Step) => [
  ...(call === null ? [] : [`call ${call}`]),
  ...(tool === null ? [] : [`tool ${tool.callId}`]),
];
const isOutput = ({ event: { kind } }: Step) => kind === "assistant" || kind === "reasoning" || kind === "toolCall";
