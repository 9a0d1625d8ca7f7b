import { everyone, type Step, type Story } from "../../core/story.ts";

/** What a thread did after it was told something: by a person, or by the end of an agent that worked in the background. */
export interface Turn {
  readonly key: string;
  readonly number: number;
  readonly start: number;
  readonly steps: readonly Step[];
  /** What it was told. */
  readonly inputs: readonly Step[];
}

export const timeOf = (step: Step): number | null => (step.event.at === null ? null : Date.parse(step.event.at));
export const isTold = ({ event: { kind } }: Step) => kind !== "spawn" && kind !== "status";

/** The turns of a thread, at least one: somebody may have been spawned by a thread whose own records are gone. */
export function turnsOf(story: Story): Turn[] {
  const turns = split(story.steps.filter(isTold));
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

/** When the first of them is known to have been there. */
function earliest(story: Story): number {
  const known = [...everyone(story)].flatMap(({ record: { startedAt }, calls }) => [
    ...(startedAt === null ? [] : [Date.parse(startedAt)]),
    ...calls.flatMap(({ at }) => at ?? []),
  ]);
  return known.length === 0 ? 0 : known.reduce((a, b) => Math.min(a, b));
}

function split(steps: readonly Step[]): Step[][] {
  const turns: Step[][] = [];
  /** A result belongs where its call stands, and all of an answer where it began, whatever was said meanwhile. */
  const homes = new Map<string, Step[]>();
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
    else if (kind === "user" || turns.length === 0 || (isOutput(step) && isIdle && held.length > 0)) turns.push([...held.splice(0), step]);
    else turns.at(-1)?.push(step);
    const turn = home ?? turns.at(-1);
    for (const name of names) if (turn !== undefined && !homes.has(name)) homes.set(name, turn);
    if (!isOutput(step)) continue;
    // A call of a tool is followed by its result, and that by the next answer.
    isIdle = kind !== "toolCall" && (step.call !== call || isIdle);
    call = step.call;
  }
  return turns;
}

const namesOf = ({ call, event: { tool } }: Step) => [...(call === null ? [] : [`call ${call}`]), ...(tool === null ? [] : [`tool ${tool.callId}`])];
const isOutput = ({ event: { kind } }: Step) => kind === "assistant" || kind === "reasoning" || kind === "toolCall";
