import type { Card, Stage } from "../../../src/core/views/card.ts";

export type { Card, Stage } from "../../../src/core/views/card.ts";
export { STAGES } from "../../../src/core/views/card.ts";

/** `GET /api/relays` */
export interface RelayList {
  readonly items: readonly Relay[];
  readonly providers: readonly {
    readonly name: string;
    readonly product: string;
    readonly address: string;
    readonly secret: string;
  }[];
}

export interface Relay {
  readonly id: string;
  readonly provider: string;
  readonly url: string;
  readonly state: "connecting" | "following" | "waiting" | "refused" | "stopped";
  readonly since: string;
  readonly error: string | null;
  /** What this server does not report, and why. */
  readonly limits: readonly string[];
  readonly frames: number;
  readonly sessions: number;
  readonly lastFrameAt: string | null;
}

export const STAGE_LABELS: Readonly<Record<Stage, string>> = {
  queued: "Queued",
  working: "Working",
  done: "Done",
  failed: "Failed",
};

/** The cards of a stage: those that wait for a person first, then the latest activity first. */
export function inStage(cards: Iterable<Card>, stage: Stage): Card[] {
  const when = ({ lastActivityAt, createdAt }: Card) => lastActivityAt ?? createdAt;
  return [...cards]
    .filter((card) => card.stage === stage)
    .sort(
      (a, b) =>
        b.waiting.length - a.waiting.length || (when(a) < when(b) ? 1 : when(a) > when(b) ? -1 : a.id < b.id ? -1 : 1),
    );
}

/** Stages are derived from threads. The only manual change is to queue an ended card again. */
export const mayMove = ({ stage }: Card, to: Stage) => to === "queued" && (stage === "done" || stage === "failed");

export interface Notice {
  readonly card: string;
  readonly title: string;
  readonly text: string;
}

/** Notifications about a card: an agent waits for a person, or the card has ended. */
export function noticesOf(before: Card | undefined, now: Card): Notice[] {
  if (before === undefined) return [];
  // Compared without `says`, which may change while the agent still waits for the same thing.
  const waited = new Set(before.waiting.map(({ uri, for: what }) => `${uri} ${what}`));
  const notices = now.waiting
    .filter(({ uri, for: what }) => !waited.has(`${uri} ${what}`))
    .map(({ agent, for: what, says }) => ({
      card: now.id,
      title: now.title,
      text: `${agent} waits for ${withArticle(what)}: ${says}`,
    }));
  const hasEnded = now.stage !== before.stage && (now.stage === "done" || now.stage === "failed");
  return hasEnded
    ? [...notices, { card: now.id, title: now.title, text: now.stage === "done" ? "is done" : "has failed" }]
    : notices;
}

export const withArticle = (word: string) => `${/^[aeiou]/i.test(word) ? "an" : "a"} ${word}`;

/** The next card in the same stage, or the card at the same position in the next non-empty stage. */
export function neighbour(
  columns: readonly (readonly string[])[],
  id: string | null,
  step: { readonly x: number; readonly y: number },
): string | null {
  const at = columns.findIndex((column) => id !== null && column.includes(id));
  if (at < 0) return columns.find((column) => column.length > 0)?.[0] ?? null;
  const row = columns[at]?.indexOf(id ?? "") ?? 0;
  if (step.y !== 0) return columns[at]?.[Math.max(0, Math.min((columns[at]?.length ?? 1) - 1, row + step.y))] ?? null;
  for (let x = at + step.x; x >= 0 && x < columns.length; x += step.x) {
    const column = columns[x] ?? [];
    if (column.length > 0) return column[Math.min(row, column.length - 1)] ?? null;
  }
  return id;
}
