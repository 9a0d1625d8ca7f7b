import { For, Show } from "solid-js";
import { ago, dateAndTime, money, plural, UNKNOWN } from "../data/format.ts";
import type { Person } from "../data/team.ts";
import { oneLine } from "../data/text.ts";
import { now, useClock } from "../state/clock.ts";
import { useKeys } from "../state/keys.ts";
import { hrefTo } from "../state/navigation.ts";
import { useRefreshed } from "../state/refreshed.ts";
import { api } from "../state/server.ts";
import { BudgetBar } from "../view/budget-bar.tsx";
import { Loaded } from "../view/loaded.tsx";

const REFRESH_MS = 10_000;

/** The people who share threads: their machines, and their costs of this month. */
export default function PeoplePage() {
  useClock();
  document.title = "People · retinue";
  const people = useRefreshed(
    () => null,
    (_, signal) => api.people(signal),
    REFRESH_MS,
  );
  useKeys({ r: people.reload });
  return (
    <div class="page scroll report people">
      <div class="page-head">
        <h1>People</h1>
      </div>
      <Loaded of={people}>
        {(found) => (
          <Show when={found().items.length > 0} fallback={<p class="muted">Nobody shares threads with you yet.</p>}>
            <div class="scroll-x">
              <table>
                <thead>
                  <tr>
                    <th>Person</th>
                    <th>Teams</th>
                    <th>Last shipment</th>
                    <th>Machines</th>
                    <th class="number">Cost {found().month}</th>
                    <th>Budget</th>
                  </tr>
                </thead>
                <tbody>
                  <For each={found().items}>{(person) => <Row person={person} month={found().month} />}</For>
                </tbody>
              </table>
            </div>
            <p class="muted">
              {plural(found().items.length, "person", "people")}. Months are in UTC; costs include only model calls with
              a known price.
            </p>
          </Show>
        )}
      </Loaded>
    </div>
  );
}

function Row(props: { person: Person; month: string }) {
  const person = () => props.person;
  return (
    <tr data-owner={person().owner}>
      <td>
        <a href={hrefTo({ page: "threads", params: { owner: person().owner } })}>{oneLine(person().owner, 60)}</a>
      </td>
      <td>{person().teams.join(", ")}</td>
      <td title={dateAndTime(person().machines[0]?.shippedAt ?? null)}>
        {person().machines.length === 0 ? "never" : ago(person().machines[0]?.shippedAt ?? null, now())}
      </td>
      <td
        title={person()
          .machines.map(({ machine, version }) => `${machine}: retinue ${version}`)
          .join("\n")}
      >
        {person().machines.length}
        <Show when={person().machines.length > 0}>
          <span class="muted version">
            {" "}
            · retinue {[...new Set(person().machines.map(({ version }) => version))].join(", ")}
          </span>
        </Show>
      </td>
      <td class="number">
        <a href={hrefTo({ page: "costs", params: { owner: person().owner } })}>{money(person().monthUsd)}</a>
      </td>
      <td>
        <Show when={person().budget} fallback={<span class="muted">{UNKNOWN}</span>}>
          {(budget) => <BudgetBar budget={budget()} month={props.month} />}
        </Show>
      </td>
    </tr>
  );
}
