import { Failure } from "../../app/failure.ts";
import { type ListedToken, NAME, type TeamStore } from "../../app/team/store.ts";
import type { Scope } from "../../core/ports/team.ts";
import { parseDuration } from "../../core/tools/duration.ts";
import { printJson } from "../../core/tools/json.ts";
import type { Context } from "../context.ts";
import { table } from "../render/table.ts";
import type { TEAM_TOKEN_ACTIONS } from "./token.ts";

export type TeamTokenAction = (typeof TEAM_TOKEN_ACTIONS)[number];

export interface TeamTokenOptions {
  readonly store?: string;
  readonly owner?: string;
  readonly scope?: Scope;
  readonly team?: readonly string[];
  readonly expires?: string;
}

/** Manages the tokens of a team server and what they share, directly in its database. */
export async function teamToken(
  context: Context,
  action: TeamTokenAction,
  id: string | undefined,
  options: TeamTokenOptions,
): Promise<void> {
  const url = storeGiven(`token ${action}`, options.store);
  const given = action === "create" ? newToken(options) : null;
  const ended = action === "unshare" ? sharing(options) : null;
  if (action === "revoke" && id === undefined)
    throw new Failure("usage", "token revoke needs the id of a token", ["next: retinue token list --store …"]);
  const { openTeamStore } = await import("../../app/team/store.ts");
  const store = await openTeamStore(url, { connections: 1 });
  try {
    if (given !== null) await create(context, store, given);
    else if (ended !== null) await unshare(context, store, ended);
    else if (action === "list") list(context, await store.tokens.list());
    else await revoke(context, store, id ?? "");
  } finally {
    await store.close();
  }
}

/** The address of the database, which every command of a team server needs. */
export function storeGiven(command: string, url: string | undefined): string {
  if (url === undefined)
    throw new Failure("usage", `${command} needs --store <url>`, [
      `write retinue ${command} --store postgres://user@host/database …`,
    ]);
  return url;
}

/** The name of an owner or of a team. */
export function nameGiven(option: string, text: string): string {
  if (!NAME.test(text))
    throw new Failure("usage", `${option} ${JSON.stringify(text)}: not a name`, [
      "use lower-case letters, digits, dots, hyphens and underscores, at most 63 characters",
    ]);
  return text;
}

/** Databases and ISO 8601 write later years in different ways. */
const LATEST = Date.UTC(9999, 11, 31);

function newToken({ owner, scope, team = [], expires }: TeamTokenOptions) {
  if (owner === undefined)
    throw new Failure("usage", "token create needs --owner <name>", [
      "write the name of the person whose threads are sent or read",
    ]);
  if (scope === undefined)
    throw new Failure("usage", "token create needs --scope <scope>", [
      "write --scope ship to send threads, read to read them, admin to read everything",
    ]);
  const span = expires === undefined ? null : parseDuration(expires);
  const until = expires === undefined ? null : span === null ? Date.parse(expires) : Date.now() + span;
  if (until !== null && !(until > Date.now()))
    throw new Failure("usage", `--expires ${expires}: not a time in the future`, ["write 90d, 1w, or a date"]);
  if (until !== null && until > LATEST)
    throw new Failure("usage", `--expires ${expires}: later than the year 9999`, [
      "write 90d, 1w, or a date; without --expires it does not expire",
    ]);
  return {
    owner: nameGiven("--owner", owner),
    scope,
    teams: team.map((one) => nameGiven("--team", one)),
    expiresAt: until === null ? null : new Date(until).toISOString(),
  };
}

function sharing({ owner, team = [] }: TeamTokenOptions) {
  if (owner === undefined || team.length === 0)
    throw new Failure("usage", "token unshare needs --owner <name> and --team <name>", [
      "name the person, and the teams that may no longer see the threads of that person",
    ]);
  return { owner: nameGiven("--owner", owner), teams: team.map((one) => nameGiven("--team", one)) };
}

async function create(
  { terminal, json }: Context,
  store: TeamStore,
  given: ReturnType<typeof newToken>,
): Promise<void> {
  const { id, token } = await store.tokens.create(given);
  terminal.out(json ? printJson({ id, token, ...given }) : token);
  terminal.notify(`This is token ${id}. It is not stored and cannot be shown again.`);
  if (given.scope === "ship" && given.teams.length > 0)
    terminal.notify(`Threads of ${given.owner} are shared with ${given.teams.join(", ")}.`);
  if (given.scope === "read" && given.teams.length === 0)
    terminal.notify(`Without --team it reads only the threads of ${given.owner}.`);
}

function list({ terminal, json }: Context, tokens: readonly ListedToken[]): void {
  if (json) {
    terminal.out(printJson(tokens));
    return;
  }
  if (tokens.length === 0) {
    terminal.notify("No tokens yet. Next: retinue token create --store … --owner … --scope …");
    return;
  }
  const rows = tokens.map(({ id, owner, scope, teams, createdAt, expiresAt, revokedAt }) =>
    [
      id,
      owner,
      scope,
      teams.join(","),
      createdAt,
      revokedAt === null ? (expiresAt ?? "never") : `revoked ${revokedAt}`,
    ].map((text) => ({ text })),
  );
  const columns = ["id", "owner", "scope", "teams", "created", "expires"].map((title) => ({ title }));
  terminal.out(table(columns, rows, terminal.width, terminal.colors.dim).join("\n"));
}

async function unshare(
  { terminal, json }: Context,
  store: TeamStore,
  { owner, teams }: ReturnType<typeof sharing>,
): Promise<void> {
  const ended = await store.tokens.unshare(owner, teams);
  if (ended.length === 0)
    throw new Failure("not_found", `threads of ${owner} are not shared with ${teams.join(", ")}`, [
      "next: retinue token list --store …",
    ]);
  if (json) return terminal.out(printJson({ owner, teams: ended }));
  terminal.notify(`Threads of ${owner} are no longer shared with ${ended.join(", ")}.`);
}

async function revoke({ terminal, json }: Context, store: TeamStore, id: string): Promise<void> {
  const outcome = await store.tokens.revoke(id);
  if (outcome === "unknown") throw new Failure("not_found", `no token ${id}`, ["next: retinue token list --store …"]);
  if (json) return terminal.out(printJson({ id, revoked: true }));
  terminal.notify(outcome === "already" ? `Token ${id} was already revoked.` : `Token ${id} is revoked.`);
}
