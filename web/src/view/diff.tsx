/** Loaded when the first file change is shown, because the diff library is large. */
import { diffLines } from "diff";
import { createMemo, createSignal, For, Show } from "solid-js";
import type { Edit, FileChange } from "../data/edits.ts";
import { cutAt, visible } from "../data/text.ts";

interface Line {
  readonly sign: "+" | "-" | " " | "@";
  readonly text: string;
}

const MAX_CHARS = 60_000;
const SHOWN_LINES = 60;
const CONTEXT = 3;
/** Texts without common lines take long to compare without benefit. */
const TIMEOUT_MS = 200;

export default function Diff(props: { change: FileChange }) {
  return (
    <Show
      when={props.change.is === "edits" && props.change}
      fallback={<Lines lines={patchLines(props.change.is === "patch" ? props.change.patch : "")} />}
    >
      {(change) => <For each={change().edits}>{(edit) => <EditLines edit={edit} />}</For>}
    </Show>
  );
}

function EditLines(props: { edit: Edit }) {
  return (
    <>
      <Show when={props.edit.path}>{(path) => <div class="path">{visible(path())}</div>}</Show>
      <Lines lines={editLines(props.edit)} />
    </>
  );
}

function Lines(props: { lines: readonly Line[] }) {
  const [all, setAll] = createSignal(false);
  const shown = createMemo(() => (all() ? props.lines : props.lines.slice(0, SHOWN_LINES)));
  return (
    <div class="diff">
      <For each={shown()}>
        {(line) => (
          <div class="diff-line" data-sign={line.sign}>
            <span aria-hidden="true">{line.sign}</span>
            <code>{line.text === "" ? " " : line.text}</code>
          </div>
        )}
      </For>
      <Show when={!all() && props.lines.length > SHOWN_LINES}>
        <button type="button" class="quiet more" onClick={() => setAll(true)}>
          Show {props.lines.length - SHOWN_LINES} more lines
        </button>
      </Show>
    </div>
  );
}

function editLines({ before, after }: Edit): Line[] {
  const [old, fresh] = [visible(cutAt(before, MAX_CHARS)), visible(cutAt(after, MAX_CHARS))];
  // After a timeout, everything is shown as replaced.
  const parts = diffLines(old, fresh, { timeout: TIMEOUT_MS }) ?? [
    { value: old, removed: true, added: false },
    { value: fresh, removed: false, added: true },
  ];
  return parts.flatMap((part, index) => {
    const lines = part.value.replace(/\n$/, "").split("\n");
    if (part.value === "") return [];
    if (part.added) return lines.map((text): Line => ({ sign: "+", text }));
    if (part.removed) return lines.map((text): Line => ({ sign: "-", text }));
    return unchanged(lines, index === 0, index === parts.length - 1);
  });
}

/** Unchanged lines: only those next to a change, with a placeholder for the others. */
function unchanged(lines: readonly string[], isFirst: boolean, isLast: boolean): Line[] {
  const [head, tail] = [isFirst ? 0 : CONTEXT, isLast ? 0 : CONTEXT];
  const same = (text: string): Line => ({ sign: " ", text });
  if (lines.length <= head + tail + 1) return lines.map(same);
  const gap: Line = { sign: "@", text: `${lines.length - head - tail} unchanged lines` };
  return [...lines.slice(0, head).map(same), gap, ...(tail === 0 ? [] : lines.slice(-tail).map(same))];
}

function patchLines(patch: string): Line[] {
  return visible(cutAt(patch, MAX_CHARS))
    .split("\n")
    .map((text) => {
      if (/^(@@|\*\*\*|diff |index |--- |\+\+\+ )/.test(text)) return { sign: "@", text };
      const sign = text.startsWith("+") ? "+" : text.startsWith("-") ? "-" : " ";
      return { sign, text: sign === " " ? text.replace(/^ /, "") : text.slice(1) };
    });
}
