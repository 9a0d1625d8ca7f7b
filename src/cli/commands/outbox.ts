import { readOutbox, type Waiting } from "../../app/export/outbox.ts";
import { addressOf } from "../../app/ship/target.ts";
import { ago, bytes, duration, plural } from "../../core/tools/format.ts";
import { printJson } from "../../core/tools/json.ts";
import type { Context } from "../context.ts";
import { wholeNumber } from "../whole-number.ts";

export interface OutboxOptions {
  readonly retry?: boolean;
  readonly drop?: boolean;
  readonly limit: string;
  readonly debug?: boolean;
}

/** `retinue outbox`: lists the items waiting to be sent, with the reason. */
export async function outbox(context: Context, options: OutboxOptions): Promise<void> {
  const { terminal, env } = context;
  const limit = wholeNumber("--limit", options.limit, "items");
  const waiting = await readOutbox({
    env,
    settings: await context.settings(),
    limit,
    retry: options.retry === true,
    drop: options.drop === true,
    debug: options.debug === true,
  });
  if (context.json) return terminal.out(printJson(waiting, 2));
  if (waiting.length === 0) return terminal.notify("nothing was sent yet: retinue export --help");
  terminal.out(waiting.map((one) => render(one, Date.now())).join("\n\n"));
}

function render(state: Waiting, now: number): string {
  const { name, waiting, waitingBytes, refused, delivered, deliveredAt, reason, nextAt, turnedDown, items, isKnown } =
    state;
  const iso = (at: number) => new Date(at).toISOString();
  const hidden = waiting + refused - items.length;
  // Nothing is queued for a team server: what waits is the difference to what it has.
  const team = addressOf(name);
  const amount = `${waiting}${waiting === 0 ? "" : ` (${bytes(waitingBytes)})`}`;
  return [
    name,
    `  delivered  ${delivered}${deliveredAt === null ? "" : `, last ${ago(iso(deliveredAt), now)}`}`,
    `  waiting    ${team === null ? amount : `listed by retinue ship --status --to ${team}`}${reason === null ? "" : `: ${reason}`}${nextAt > now ? `; next try in ${duration(nextAt - now)}` : ""}`,
    ...(refused === 0 ? [] : [`  refused    ${refused}; --retry sends them again, --drop deletes them`]),
    ...(turnedDown === null ? [] : [`  rejected after delivery: ${turnedDown}`]),
    ...(waiting > 0 && !isKnown ? ["  its environment variables are not set in this shell"] : []),
    ...items.map(
      ({ what, at, attempts, refused: why }) =>
        `    ${what}, since ${ago(iso(at), now)}, ${plural(attempts, "attempt")}${why === null ? "" : `: ${why}`}`,
    ),
    ...(hidden > 0 ? [`    and ${hidden} more; --limit ${waiting + refused} shows all`] : []),
  ].join("\n");
}
