import { Failure } from "../../app/failure.ts";
import { openTeamStore } from "../../app/team/store.ts";
import { money } from "../../core/tools/format.ts";
import { printJson } from "../../core/tools/json.ts";
import { folderName } from "../../core/tools/recorded-path.ts";
import { BUDGET_KINDS, type Budget } from "../../core/views/budget.ts";
import type { Context } from "../context.ts";
import { table } from "../render/table.ts";
import { nameGiven, storeGiven } from "./team-token.ts";

export type BudgetAction = "list" | "set" | "remove";

export interface BudgetOptions extends Partial<Record<Budget["of"], string>> {
  readonly store?: string;
  readonly usd?: string;
}

/** Lists, sets and removes monthly budgets of people, teams and projects in the database of a team server. */
export async function budget({ terminal, json }: Context, action: BudgetAction, options: BudgetOptions): Promise<void> {
  const subject = action === "list" ? null : subjectOf(options);
  const usd = action === "set" ? amountOf(options.usd) : 0;
  const store = await openTeamStore(storeGiven(`budget ${action}`, options.store), { connections: 1 });
  try {
    if (subject === null) {
      const list = await store.budgets.list();
      if (json) return terminal.out(printJson(list));
      if (list.length === 0) return terminal.notify("No budgets. Next: retinue budget set --store … --owner … --usd …");
      const rows = list.map((one) => [one.of, one.name, money(one.usd)].map((text) => ({ text })));
      const columns = ["of", "name", "a month"].map((title) => ({ title }));
      return terminal.out(table(columns, rows, terminal.width, terminal.colors.dim).join("\n"));
    }
    if (action === "set") await store.budgets.set({ ...subject, usd });
    else if (!(await store.budgets.remove(subject)))
      throw new Failure("not_found", `no budget of ${subject.of} ${subject.name}`, [
        "next: retinue budget list --store …",
      ]);
    if (json) return terminal.out(printJson(action === "set" ? { ...subject, usd } : { ...subject, removed: true }));
    terminal.notify(
      action === "set"
        ? `The budget of ${subject.of} ${subject.name} is ${money(usd)} a month.`
        : `The budget of ${subject.of} ${subject.name} is removed.`,
    );
  } finally {
    await store.close();
  }
}

function subjectOf(options: BudgetOptions): Omit<Budget, "usd"> {
  const given = BUDGET_KINDS.flatMap((of) => {
    const name = options[of];
    return name === undefined ? [] : [{ of, name: of === "project" ? projectGiven(name) : nameGiven(`--${of}`, name) }];
  });
  const [one, ...more] = given;
  if (one === undefined || more.length > 0)
    throw new Failure("usage", "a budget applies to exactly one person, team or project", [
      "write one of --owner <name>, --team <name>, --project <name>",
    ]);
  return one;
}

/** Projects are known by the names of their folders, wherever they are on each machine. */
function projectGiven(text: string): string {
  const name = folderName(text);
  if (name === text && name.length <= MAX_PROJECT) return name;
  throw new Failure("usage", `--project ${JSON.stringify(text)}: not the name of a folder`, [
    `write the last part of its path, such as --project ${JSON.stringify(name?.slice(0, MAX_PROJECT) ?? "shop")}`,
  ]);
}

/** Names of folders have at most 255 bytes on all systems. */
const MAX_PROJECT = 255;
/** More than anybody spends in a month. */
const MAX_USD = 1e9;

function amountOf(text: string | undefined): number {
  const hint = ["write US dollars per month, such as --usd 200"];
  if (text === undefined) throw new Failure("usage", "budget set needs --usd <n>", hint);
  const usd = Number(text);
  if (!(usd > 0 && usd <= MAX_USD))
    throw new Failure("usage", `--usd ${JSON.stringify(text)}: not an amount between 0 and a billion`, hint);
  return usd;
}
