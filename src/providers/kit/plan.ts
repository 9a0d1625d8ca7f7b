import type { Plan, PlanStep } from "../../core/facts/plan.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import { asList, asNonBlank, asObject } from "../../core/tools/json.ts";

/** Field names of lists of steps, and of the text of a step. */
const LISTS = ["todos", "plan"] as const;
const TEXTS = ["content", "step", "description", "title"] as const;
const STATES: Readonly<Record<string, PlanStep["state"]>> = {
  completed: "done",
  done: "done",
  cancelled: "done",
  in_progress: "doing",
  pending: "open",
};

/** The plan in a tool input; null if it is not one. */
export function planIn(input: unknown): Plan | null {
  const object = asObject(input);
  const list = LISTS.map((name) => object?.[name]).find(Array.isArray);
  if (list === undefined) return null;
  const steps = asList(list).map((item) => {
    const step = asObject(item);
    const text = TEXTS.map((name) => asNonBlank(step?.[name])).find((value) => value !== null);
    const state = STATES[asNonBlank(step?.status) ?? ""];
    return text === undefined || state === undefined ? null : { text, state };
  });
  return steps.every((step) => step !== null) ? steps : null;
}

/** States the plan, if the tool input is one. */
export function statePlan(out: FindingsOf, input: unknown): void {
  const plan = planIn(input);
  if (plan !== null) out.add({ type: "plan-stated", plan });
}
