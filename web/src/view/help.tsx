import { For } from "solid-js";
import { isTeam } from "../state/server.ts";
import { Overlay } from "./overlay.tsx";

/** Keys that only one of the two kinds of servers has. */
type Only = "machine" | "team";
type Key = readonly [keys: string, does: string, only?: Only];

const KEYS: readonly (readonly [title: string, keys: readonly Key[], only?: Only])[] = [
  [
    "Everywhere",
    [
      ["/", "search messages"],
      ["j  k  ↓  ↑", "next, previous"],
      ["Enter", "open"],
      ["Esc", "close a dialog, leave a field"],
      ["T  S", "all threads, stats"],
      ["B  H", "board, health", "machine"],
      ["?", "this list"],
    ],
  ],
  [
    "Team server",
    [
      ["N  C  F", "running threads, costs, failures"],
      ["P  A", "people, audit (for admins)"],
      ["r", "reload"],
    ],
    "team",
  ],
  [
    "Tree",
    [
      ["←  →", "fold, unfold; go to the parent, the first child"],
      ["Space", "show the prompt"],
      ["w", "evidence for its parent and status"],
      ["a", "continue this agent in a separate session", "machine"],
      ["p", "answer its permission request, stop it, send it a message", "machine"],
      ["m", "menu"],
      ["e  E", "next, previous agent that failed"],
      ["l", "log of the thread"],
    ],
  ],
  [
    "Board",
    [
      ["←  →", "previous, next stage"],
      ["Enter", "open the card"],
      ["n", "new card"],
      ["q", "queue an ended card again"],
      ["m", "menu"],
    ],
    "machine",
  ],
  [
    "Waterfall, icicle, graph",
    [
      ["↑  ↓", "move between agents"],
      ["←  →", "move between spans; in icicle and graph: neighbours, parents, children"],
      ["+  -  0", "zoom in, zoom out, show all"],
      ["<  >", "earlier, later"],
      ["z", "zoom to the selected agent"],
      ["i", "switch between waterfall and icicle"],
      ["c", "critical path on or off"],
      ["t", "show as a table"],
    ],
  ],
  [
    "Agent and log",
    [
      ["Enter", "fold, unfold a step or a group"],
      ["f", "follow live"],
      ["e  E", "next, previous error"],
      ["a", "continue this agent in a separate session", "machine"],
      ["u", "up to the tree"],
      ["[  ]", "previous, next agent"],
    ],
  ],
];

const onThisServer = ([, , only]: readonly [unknown, unknown, Only?]) =>
  only === undefined || (only === "team") === isTeam;

export default function Help(props: { onClose: () => void }) {
  return (
    <Overlay label="Keyboard shortcuts" onClose={props.onClose}>
      <h2>Keyboard</h2>
      <div class="keys">
        <For each={KEYS.filter(onThisServer)}>
          {([title, keys]) => (
            <section>
              <h3>{title}</h3>
              <dl>
                <For each={keys.filter(onThisServer)}>
                  {([key, does]) => (
                    <>
                      <dt>
                        <For each={key.split("  ")}>{(one) => <kbd>{one}</kbd>}</For>
                      </dt>
                      <dd>{does}</dd>
                    </>
                  )}
                </For>
              </dl>
            </section>
          )}
        </For>
      </div>
    </Overlay>
  );
}
