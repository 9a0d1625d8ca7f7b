import "../styles/team.css";
import { For, Show } from "solid-js";
import type { Page } from "../data/route.ts";
import { oneLine } from "../data/text.ts";
import type { Session } from "../data/types.ts";
import { useKeys } from "../state/keys.ts";
import { go, hrefTo, owner, route } from "../state/navigation.ts";
import { signOut } from "../state/server.ts";
import { showToast } from "../state/toast.ts";
import { Choice } from "./choice.tsx";

const PAGES: readonly (readonly [Page, string, string])[] = [
  ["now", "Now", "N"],
  ["costs", "Costs", "C"],
  ["failures", "Failures", "F"],
  ["people", "People", "P"],
  ["audit", "Audit", "A"],
];
/** Only for the scope `admin`. */
const FOR_ADMINS: readonly Page[] = ["audit"];

/** Pages that are not limited to one person. */
const WITHOUT_PERSON: readonly Page[] = ["people", "audit"];

/** Links to the team pages, the choice of a person, and the signed-in account. */
export default function TeamBar(props: { session: Session }) {
  const pages = () => PAGES.filter(([page]) => props.session.scope === "admin" || !FOR_ADMINS.includes(page));
  const isAllowed = (page: Page) => pages().some(([one]) => one === page);
  useKeys(Object.fromEntries(PAGES.map(([page, , key]) => [key, () => isAllowed(page) && go(page)])));
  const people = () =>
    [...new Set([...props.session.owners, ...(owner() === null ? [] : [owner() ?? ""])])]
      .sort()
      .map((name) => [name, name] as const);
  const endSession = async () => {
    try {
      if (!(await signOut())) showToast("A proxy in front of this server signs you in; sign out there.");
    } catch (error) {
      showToast((error as Error).message, { isError: true });
    }
  };
  return (
    <div class="team-bar">
      <nav aria-label="Team">
        <For each={pages()}>
          {([page, label, key]) => (
            <a
              href={hrefTo({ page })}
              title={`${label} (${key})`}
              aria-current={route().page === page ? "page" : undefined}
            >
              {label}
            </a>
          )}
        </For>
      </nav>
      {/* Not on pages about a thread, which belongs to one person. */}
      <Show when={route().uri === null && !WITHOUT_PERSON.includes(route().page)}>
        <Choice label="Person" name="owner" value={owner()} any="Everybody" options={people()} />
      </Show>
      <div class="account">
        <span title={`Signed in as ${props.session.owner}, scope ${props.session.scope}`}>
          <span class="muted">Signed in as</span> <b>{oneLine(props.session.owner, 40)}</b>
        </span>
        <Show when={props.session.scope === "admin"}>
          <span class="chip">admin</span>
        </Show>
        <button type="button" onClick={() => void endSession()}>
          Sign out
        </button>
      </div>
    </div>
  );
}
