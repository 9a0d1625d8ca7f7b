import { createMemo, createResource, createSignal, For, Match, Show, Switch } from "solid-js";
import type { ApiError } from "../data/api.ts";
import { ago, bytes, dateAndTime, plural } from "../data/format.ts";
import { kindLabel } from "../data/kinds.ts";
import { placeOf } from "../data/place.ts";
import { visible } from "../data/text.ts";
import type { SearchHit } from "../data/types.ts";
import { now } from "../state/clock.ts";
import { listKeys, useKeys } from "../state/keys.ts";
import { go, hrefTo, owner } from "../state/navigation.ts";
import { api, productOf } from "../state/server.ts";
import { Failure } from "../view/failure.tsx";
import { List } from "../view/list.tsx";

const LIMIT = 200;

/** The results of a full-text search. */
export function SearchResults(props: { text: string }) {
  const [found, { refetch }] = createResource(
    () => ({ text: props.text, owner: owner() }),
    ({ text }) => api.search(text, LIMIT),
  );
  const rows = createMemo(() =>
    (found.state === "ready" ? found().items : []).map((hit, index) => ({ id: String(index), hit })),
  );
  const incomplete = () => (found.state === "ready" ? found().incomplete : null);
  const [selected, setSelected] = createSignal(-1);
  useKeys({
    ...listKeys({
      count: () => rows().length,
      selected,
      select: setSelected,
      open: (index) => {
        const row = rows()[index];
        if (row !== undefined) location.hash = addressOf(row.hit);
      },
    }),
    Escape: () => {
      go("threads");
    },
  });
  return (
    <div class="page threads">
      <div class="page-head">
        <h1>
          <span class="muted">Search:</span> {visible(props.text)}
        </h1>
        <a href={hrefTo({ page: "threads" })}>All threads</a>
      </div>
      <Show when={incomplete()}>
        {(left) => (
          <p class="muted" role="status" data-testid="unsearched">
            The search index is incomplete: {plural(left().files, "older file")} ({bytes(left().bytes)}), changed before{" "}
            {dateAndTime(left().reaches)}, are not indexed yet.{" "}
            <button type="button" onClick={() => void refetch()}>
              Search again
            </button>
          </p>
        )}
      </Show>
      <Switch
        fallback={
          <p class="muted nothing" role="status">
            Searching …
          </p>
        }
      >
        <Match when={found.error as ApiError | undefined}>
          {(error) => <Failure error={error()} onRetry={() => void refetch()} />}
        </Match>
        <Match when={found.state === "ready" && rows().length === 0}>
          <div class="nothing">
            <p class="big">No match.</p>
            <p>Try fewer words. The last word may be a prefix. Tool results are not searched.</p>
          </div>
        </Match>
        <Match when={found.state === "ready"}>
          <List
            label="Search results"
            rows={rows()}
            height={() => 72}
            selected={selected()}
            row={(row, index) => <SearchHitLine hit={row().hit} index={index()} selected={index() === selected()} />}
          />
          <p class="foot muted">
            {rows().length === LIMIT ? `The best ${LIMIT} results` : plural(rows().length, "result")}
          </p>
        </Match>
      </Switch>
    </div>
  );
}

const addressOf = ({ uri, ref, owner }: SearchHit) =>
  hrefTo({ page: "agent", uri, params: { at: placeOf(ref), owner } });

function SearchHitLine(props: { hit: SearchHit; index: number; selected: boolean }) {
  return (
    <a
      class="found"
      classList={{ selected: props.selected }}
      id={`row-${props.index}`}
      tabindex="-1"
      href={addressOf(props.hit)}
    >
      <span class="meta">
        <Show when={props.hit.owner}>{(name) => <span class="owner">{name()}</span>}</Show>
        <span class="product">{productOf(props.hit.uri.split("://")[0] ?? "")}</span>
        <span>{kindLabel(props.hit.kind)}</span>
        <span>{ago(props.hit.at, now())}</span>
        <code class="wide">{props.hit.uri}</code>
      </span>
      <span class="snippet" dir="auto">
        <For each={markedParts(props.hit)}>{(part) => (part.isMark ? <mark>{part.text}</mark> : part.text)}</For>
      </span>
    </a>
  );
}

/** The snippet, split at the marked words. */
function markedParts({ snippet, marks }: SearchHit): { text: string; isMark: boolean }[] {
  const parts: { text: string; isMark: boolean }[] = [];
  let at = 0;
  for (const [start, end] of marks) {
    parts.push(
      { text: visible(snippet.slice(at, start)), isMark: false },
      { text: visible(snippet.slice(start, end)), isMark: true },
    );
    at = end;
  }
  return [...parts, { text: visible(snippet.slice(at)), isMark: false }];
}
