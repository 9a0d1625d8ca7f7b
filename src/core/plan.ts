import { asList, asObject, asWords } from "./json.ts";

export interface PlanStep {
  readonly text: string;
  readonly state: "open" | "doing" | "done";
}

export type Plan = readonly PlanStep[];

/** However products call the list and its parts, they agree in what a step looks like. */
const LISTS = ["todos", "plan"] as const;
const TEXTS = ["content", "step", "description", "title"] as const;
const STATES: Readonly<Record<string, PlanStep["state"]>> = { completed: "done", done: "done", cancelled: "done", in_progress: "doing", pending: "open" };

/** The plan that a tool was given to write down; null where that is something else. */
export function planIn(input: unknown): Plan | null {
  const object = asObject(input);
  const list = LISTS.map((name) => object?.[name]).find(Array.isArray);
  if (list === undefined) return null;
  const steps = asList(list).map((item) => {
    const step = asObject(item);
    const text = TEXTS.map((name) => asWords(step?.[name])).find((words) => words !== null);
    const state = STATES[asWords(step?.status) ?? ""];
    return text === undefined || state === undefined ? null : { text, state };
  });
  return steps.every((step) => step !== null) ? steps : null;
}
