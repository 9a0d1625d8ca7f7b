export interface PlanStep {
  readonly text: string;
  readonly state: "open" | "doing" | "done";
}

export type Plan = readonly PlanStep[];
