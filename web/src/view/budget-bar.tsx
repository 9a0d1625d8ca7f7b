import { money, percent } from "../data/format.ts";
import { type BudgetUse, expectedUsd } from "../data/team.ts";
import { now } from "../state/clock.ts";
import { sized } from "./sized.ts";

/** How much of a budget is used, as a bar and as text. */
export function BudgetBar(props: { budget: BudgetUse; month: string }) {
  const share = () => props.budget.usedUsd / props.budget.usd;
  const expected = () => expectedUsd(props.budget.usedUsd, props.month, now());
  const isOver = () => props.budget.usedUsd > props.budget.usd;
  return (
    <span class="budget" classList={{ over: isOver(), near: !isOver() && expected() > props.budget.usd }}>
      <span class="budget-track" aria-hidden="true">
        <span class="budget-fill" ref={(element) => sized(element, "width", () => Math.min(1, share()))} />
      </span>
      <span
        class="budget-text"
        title={props.budget.isPartial ? "Excludes people whose threads you may not see" : undefined}
      >
        {props.budget.isPartial ? "≥ " : ""}
        {money(props.budget.usedUsd)} of {money(props.budget.usd)}{" "}
        <span class="muted">
          {isOver()
            ? `over by ${money(props.budget.usedUsd - props.budget.usd)}`
            : `${percent(share())}; at this rate ${money(expected())}`}
        </span>
      </span>
    </span>
  );
}
