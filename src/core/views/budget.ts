export const BUDGET_KINDS = ["owner", "team", "project"] as const;

/** What a person, a team or a project may spend in a calendar month (UTC). */
export interface Budget {
  readonly of: (typeof BUDGET_KINDS)[number];
  readonly name: string;
  readonly usd: number;
}

export interface BudgetUse extends Budget {
  /** Spent in this month by the owners that the viewer may see. */
  readonly usedUsd: number;
  /** Whether owners that the viewer may not see can have spent more. */
  readonly isPartial: boolean;
}

/** What an owner has spent in a month in one project. */
export interface MonthlyCost {
  readonly owner: string;
  readonly project: string | null;
  readonly costUsd: number;
}

/** How much of each budget is used, the most used first. `owners` of a team are those who share with it. */
export function budgetUses(
  budgets: readonly Budget[],
  costs: readonly MonthlyCost[],
  ownersOf: (team: string) => ReadonlySet<string>,
  seesEverybody: boolean,
): BudgetUse[] {
  const sum = (fits: (cost: MonthlyCost) => boolean) =>
    costs.filter(fits).reduce((total, { costUsd }) => total + costUsd, 0);
  const used = ({ of, name }: Budget): number => {
    if (of === "owner") return sum(({ owner }) => owner === name);
    if (of === "project") return sum(({ project }) => project === name);
    const owners = ownersOf(name);
    return sum(({ owner }) => owners.has(owner));
  };
  return budgets
    .map((budget) => ({ ...budget, usedUsd: used(budget), isPartial: budget.of === "project" && !seesEverybody }))
    .toSorted((a, b) => b.usedUsd / b.usd - a.usedUsd / a.usd || (a.name < b.name ? -1 : 1));
}
