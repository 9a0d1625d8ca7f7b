import { createEffect, Match, Show, Switch } from "solid-js";
import { clock, displayName, duration, plural } from "../data/format.ts";
import { kindLabel } from "../data/kinds.ts";
import { isBad, type LogEntry, type LogGroup, type LogRow, type LogSpawn, uriOfRow } from "../data/log.ts";
import { oneLine } from "../data/text.ts";
import type { AgentRecord } from "../data/types.ts";
import { List } from "./list.tsx";
import { SpawnDetails, StepView, summary } from "./step.tsx";

const MAX_INDENT = 8;

interface LogListProps {
  readonly label: string;
  readonly rows: readonly LogRow[];
  readonly selected: number;
  readonly follow: boolean;
  readonly agentOf: (uri: string) => AgentRecord | undefined;
  readonly idOf: (uri: string) => string;
  readonly hueOf: (uri: string) => number;
  readonly isOpen: (row: LogRow) => boolean;
  readonly onToggle: (row: LogRow) => void;
}

/** The log of one or several threads. */
export function LogList(props: LogListProps) {
  return (
    <List
      label={props.label}
      class="entries"
      rows={props.rows}
      measured
      height={() => 32}
      selected={props.selected}
      follow={props.follow}
      row={(row, index) => (
        <Show when={props.agentOf(uriOfRow(row()))}>
          {(agent) => (
            <LogLine
              name={props.idOf(agent().uri)}
              hue={props.hueOf(agent().uri)}
              row={row()}
              agent={agent()}
              index={index()}
              selected={index() === props.selected}
              open={props.isOpen(row())}
              onToggle={() => props.onToggle(row())}
              agentOf={props.agentOf}
              hueOf={props.hueOf}
            />
          )}
        </Show>
      )}
    />
  );
}

interface LineProps {
  readonly agent: AgentRecord;
  readonly index: number;
  readonly selected: boolean;
  readonly open: boolean;
  readonly onToggle: () => void;
}

/** A row in the colour of its agent, indented by its depth. */
function LogLine(
  props: LineProps & Pick<LogListProps, "agentOf" | "hueOf"> & { row: LogRow; name: string; hue: number },
) {
  return (
    <div
      class="entry"
      classList={{ main: props.agent.parent === null }}
      data-agent={props.name}
      ref={(element) =>
        createEffect(() => {
          element.style.setProperty("--hue", String(props.hue));
          element.style.setProperty("--depth", String(Math.min(props.agent.depth, MAX_INDENT)));
        })
      }
    >
      <Switch>
        <Match when={props.row.is === "entry" && props.row}>{(row) => <Entry {...props} row={row()} />}</Match>
        <Match when={props.row.is === "spawn" && props.row}>
          {(row) => (
            <SpawnLine
              {...props}
              row={row()}
              child={props.agentOf(row().spawn.child)}
              childHue={props.hueOf(row().spawn.child)}
            />
          )}
        </Match>
        <Match when={props.row.is === "group" && props.row}>{(row) => <Group {...props} group={row()} />}</Match>
      </Switch>
    </div>
  );
}

function Entry(props: LineProps & { row: LogEntry }) {
  return (
    <Show
      when={!props.open}
      fallback={
        <StepView
          step={{
            id: props.row.id,
            event: props.row.event,
            result: null,
            spawned: props.row.refused,
            failed: isBad(props.row),
          }}
          open
          selected={props.selected}
          index={props.index}
          onToggle={props.onToggle}
        />
      }
    >
      <button
        type="button"
        class="log-line"
        classList={{ selected: props.selected, bad: isBad(props.row) }}
        id={`row-${props.index}`}
        tabindex="-1"
        aria-expanded="false"
        onClick={() => props.onToggle()}
      >
        <time>{clock(props.row.event.at)}</time>
        <Show when={!props.row.inGroup}>
          <span class="who">{oneLine(displayName(props.agent), 40)}</span>
        </Show>
        <span class="kind">{props.row.event.tool?.name ?? kindLabel(props.row.event.kind)}</span>
        <span class="gist" dir="auto">
          {props.row.event.kind === "toolResult" ? "← " : ""}
          {oneLine(summary(props.row.event), 240)}
        </span>
      </button>
    </Show>
  );
}

/** A spawn on one line: the child and its task. Opened, it shows the prompt and the call. */
function SpawnLine(props: LineProps & { row: LogSpawn; child: AgentRecord | undefined; childHue: number }) {
  const spawned = () => props.row.spawn.event;
  const childName = () =>
    props.child === undefined ? (spawned().text ?? spawned().spawn?.type ?? "agent") : displayName(props.child);
  const name = () => oneLine(childName(), 40);
  const task = () => oneLine(summary(spawned()), 240);
  return (
    <>
      <button
        type="button"
        class="log-line spawn-line"
        classList={{ selected: props.selected, bad: isBad(props.row) }}
        id={`row-${props.index}`}
        data-spawn={props.row.spawn.child}
        tabindex="-1"
        aria-expanded={props.open}
        onClick={() => props.onToggle()}
      >
        <time>{clock(props.row.at)}</time>
        <span class="fold">{props.open ? "▾" : "▸"}</span>
        <span class="who">{oneLine(displayName(props.agent), 40)}</span>
        <span class="kind">{kindLabel("spawn")}</span>
        <span
          class="spawned-name"
          ref={(element) => createEffect(() => element.style.setProperty("--hue", String(props.childHue)))}
        >
          {name()}
        </span>
        <Show when={spawned().spawn?.background}>
          <span class="badge">bg</span>
        </Show>
        {/* The display name of an agent without a name is its prompt, which must not be shown twice. */}
        <Show when={task() !== name()}>
          <span class="gist" dir="auto">
            {task()}
          </span>
        </Show>
      </button>
      <Show when={props.open}>
        <SpawnDetails spawn={props.row.spawn} />
      </Show>
    </>
  );
}

/** The heading of consecutive events of a sub-agent. */
function Group(props: LineProps & { group: LogGroup }) {
  const durationMs = () =>
    props.group.from === null || props.group.to === null
      ? null
      : Date.parse(props.group.to) - Date.parse(props.group.from);
  return (
    <button
      type="button"
      class="log-line group-line"
      classList={{ selected: props.selected }}
      id={`row-${props.index}`}
      tabindex="-1"
      aria-expanded={props.group.open}
      onClick={() => props.onToggle()}
    >
      <time>{clock(props.group.from)}</time>
      <span class="fold">{props.group.open ? "▾" : "▸"}</span>
      <span class="who">{oneLine(displayName(props.agent), 40)}</span>
      <span class="muted">
        {plural(props.group.entries.length, "entry", "entries")}
        {props.group.tools > 0 ? `, ${plural(props.group.tools, "tool call")}` : ""}, {duration(durationMs())}
      </span>
      <Show when={props.group.errors > 0}>
        <span class="badge bad">{props.group.errors} failed</span>
      </Show>
      <span class="gist" dir="auto">
        {oneLine(props.group.last, 200)}
      </span>
    </button>
  );
}
