import { createEffect, Show } from "solid-js";
import { clock, displayName, duration, plural } from "../data/format.ts";
import { kindInWords } from "../data/kinds.ts";
import { isBad, type LogGroup, type LogRow } from "../data/log.ts";
import { oneLine } from "../data/text.ts";
import type { AgentRecord } from "../data/types.ts";
import { List } from "./list.tsx";
import { StepView, summary } from "./step.tsx";

const MAX_INDENT = 8;

interface LogListProps {
  readonly label: string;
  readonly rows: readonly LogRow[];
  readonly selected: number;
  readonly follow: boolean;
  readonly agentOf: (uri: string) => AgentRecord | undefined;
  readonly idOf: (uri: string) => string;
  readonly hueOf: (uri: string) => number;
  readonly isOpen: (id: string) => boolean;
  readonly onToggle: (id: string) => void;
}

/** What happened, line by line; of one thread, or of several. */
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
        <Show when={props.agentOf(uriOf(row()))}>
          {(agent) => (
            <LogEntry
              name={props.idOf(agent().uri)}
              hue={props.hueOf(agent().uri)}
              row={row()}
              agent={agent()}
              index={index()}
              selected={index() === props.selected}
              open={props.isOpen(row().id)}
              onToggle={() => props.onToggle(row().id)}
            />
          )}
        </Show>
      )}
    />
  );
}

const uriOf = (row: LogRow) => (row.is === "group" ? row.uri : row.event.uri);
interface LineProps {
  readonly row: LogRow;
  readonly agent: AgentRecord;
  readonly index: number;
  readonly selected: boolean;
  readonly open: boolean;
  readonly onToggle: () => void;
}

/** A line of the log in the colour of its agent, as far to the right as it stands below its thread. */
function LogEntry(props: LineProps & { name: string; hue: number }) {
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
      <LogLine {...props} />
    </div>
  );
}

function LogLine(props: LineProps) {
  return (
    <Show when={props.row.is === "entry" && props.row} fallback={<Group {...props} group={props.row as LogGroup} />}>
      {(row) => (
        <Show
          when={!props.open}
          fallback={
            <StepView
              step={{ id: row().id, event: row().event, result: null, spawned: [], failed: isBad(row()) }}
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
            classList={{ selected: props.selected, bad: isBad(row()) }}
            id={`row-${props.index}`}
            tabindex="-1"
            onClick={() => props.onToggle()}
          >
            <time>{clock(row().event.at)}</time>
            <Show when={!row().inGroup}>
              <span class="who">{oneLine(displayName(props.agent), 40)}</span>
            </Show>
            <span class="kind">{row().event.tool?.name ?? kindInWords(row().event.kind)}</span>
            <span class="gist" dir="auto">
              {row().event.kind === "toolResult" ? "← " : ""}
              {oneLine(summary(row().event), 240)}
            </span>
          </button>
        </Show>
      )}
    </Show>
  );
}

/** What a sub-agent did in a row, on one line. */
function Group(props: { group: LogGroup; agent: AgentRecord; index: number; selected: boolean; onToggle: () => void }) {
  const lasted = () => (props.group.from === null || props.group.to === null ? null : Date.parse(props.group.to) - Date.parse(props.group.from));
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
        {plural(props.group.entries, "entry", "entries")}
        {props.group.tools > 0 ? `, ${plural(props.group.tools, "tool call")}` : ""}, {duration(lasted())}
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
