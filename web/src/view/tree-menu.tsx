import { awaitsPermission } from "../data/control.ts";
import type { AgentRecord } from "../data/types.ts";
import { copyText } from "../state/clipboard.ts";
import { go, setParams } from "../state/navigation.ts";
import { isTeam } from "../state/server.ts";
import type { Thread } from "../state/thread.ts";
import type { MenuItem } from "./menu.tsx";

/** The menu of an agent in the tree. A team server can neither control agents nor change links. */
export function menuItems(
  agent: AgentRecord,
  thread: Thread,
  actions: { readonly fold: (uris: readonly string[], isFolded: boolean) => void; readonly relink: () => void },
): MenuItem[] {
  const { uri } = agent;
  const parents = thread.set.subtree(uri).filter((one) => thread.set.childrenOf(one).length > 0);
  const folding: MenuItem[] = [
    { label: "Fold everything below", run: () => actions.fold(parents, true) },
    { label: "Unfold everything below", run: () => actions.fold(parents, false) },
  ];
  const control: MenuItem = {
    label: awaitsPermission(agent) ? "Answer permission request …" : "Control this agent …",
    key: "p",
    run: () => setParams({ control: uri }),
  };
  const unlink: MenuItem = {
    label: "Remove manual link",
    run: () => void import("./relink.tsx").then(({ undoLink }) => undoLink(uri, thread)),
  };
  const local: (item: MenuItem, isShown?: boolean) => MenuItem[] = (item, isShown = true) =>
    isShown && !isTeam ? [item] : [];
  return [
    { label: "Open", key: "Enter", run: () => go("agent", uri) },
    { label: "Evidence", key: "w", run: () => setParams({ why: uri }) },
    ...local({ label: "Continue this agent …", key: "a", run: () => setParams({ attach: uri }) }),
    ...local(control, agent.status === "running"),
    ...(parents.length > 0 ? folding : []),
    ...local({ label: "Change parent …", run: actions.relink }),
    ...local(unlink, agent.link?.source === "manual"),
    { label: "Copy URI", run: () => void copyText(uri) },
  ];
}
