import { createHash } from "node:crypto";
import { hostname } from "node:os";
import { REDACTION_LEVELS, type RedactionLevel, type RedactionRules } from "../../core/redaction/redaction.ts";
import { withoutSecrets } from "../../core/redaction/secrets.ts";
import { isInShared } from "../../core/tools/recorded-path.ts";
import { readText } from "../../transports/regular.ts";
import { Failure } from "../failure.ts";
import { type Env, retinueHome, userHome } from "../home.ts";
import { redactionOf, type SettingsFile } from "../settings/settings.ts";

/** Begins the name of every team server in the outbox. */
const TEAM = "team ";

/** The address of the team server with this name in the outbox; null for other destinations. */
export const addressOf = (name: string) => (name.startsWith(TEAM) ? name.slice(TEAM.length) : null);

/** Where to ship, and what. */
export interface ShipTarget {
  /** Identifies the destination in the outbox. */
  readonly name: string;
  /** The address of the team server. */
  readonly url: string;
  /** Where shipments are posted. */
  readonly ingest: string;
  readonly redaction: RedactionRules;
  /** Folders whose threads are shared; empty: all. */
  readonly projects: readonly string[];
  /**
   * If its transcripts are deleted here, a thread stays at the server if it was not active for this long; null: such
   * threads are never kept.
   */
  readonly keepsDeletedAfterMs: number | null;
  /** Bytes per second; null: unlimited. */
  readonly bandwidth: number | null;
  readonly machine: string;
}

/** The target of the settings, or of `to`; null if neither names one. */
export function targetOf(env: Env, settings: SettingsFile, to: string | undefined): ShipTarget | null {
  const { values } = settings;
  const url = (to ?? values["team.url"])?.replace(/\/+$/, "");
  if (url === undefined) return null;
  const parsed = URL.parse(url);
  if (parsed === null || !/^https?:$/.test(parsed.protocol))
    throw new Failure("usage", `--to ${withoutSecrets(url)}: not an address that begins with https:// or http://`, [
      "write the team server's address, such as https://host",
    ]);
  // They cannot be sent, and the address is printed and stored.
  if (parsed.username !== "" || parsed.password !== "")
    throw new Failure("usage", `the address of the team server at ${parsed.host} contains a name or a password`, [
      `write ${parsed.protocol}//${parsed.host}, and the token of the team server in ${TEAM_TOKEN}`,
    ]);
  if (parsed.search !== "" || parsed.hash !== "")
    throw new Failure("usage", `--to ${withoutSecrets(url)}: not an address of a team server`, [
      `write ${parsed.origin}, without ? and #`,
    ]);
  const own = redactionOf(settings);
  return {
    name: `${TEAM}${url}`,
    url,
    ingest: `${url}/api/ingest`,
    redaction: { ...own, level: stricter(own.level, values["team.share.level"]) },
    projects: values["team.share.projects"].map((folder) => folder.replace(/^~(?=\/|$)/, userHome(env))),
    keepsDeletedAfterMs: values["team.keep_deleted_after"],
    bandwidth: values["team.bandwidth"],
    machine: machineId(env),
  };
}

/**
 * Identifies this retinue home on this machine. It stays the same if the home is deleted, and differs from that of a
 * copy of the home on another machine, also if both have the same name.
 */
const machineId = (env: Env) =>
  createHash("sha256")
    .update(`${hostname()}\n${retinueHome(env)}\n${systemId()}`)
    .digest("hex")
    .slice(0, 16);

/** The id that Linux has created at its installation; empty on other systems. */
function systemId(): string {
  try {
    return readText("/etc/machine-id", MAX_TOKEN).trim();
  } catch {
    return "";
  }
}

const stricter = (a: RedactionLevel, b: RedactionLevel): RedactionLevel =>
  REDACTION_LEVELS[Math.max(REDACTION_LEVELS.indexOf(a), REDACTION_LEVELS.indexOf(b))] ?? "metadata";

/** By default the file systems of these platforms are case-insensitive. */
export const IGNORES_CASE = process.platform === "darwin" || process.platform === "win32";

/** Whether work in this folder is shared. */
export const isShared = ({ projects }: Pick<ShipTarget, "projects">, cwd: string | null): boolean =>
  isInShared(projects, cwd, IGNORES_CASE);

const MAX_TOKEN = 4_096;
export const TEAM_TOKEN = "RETINUE_TEAM_TOKEN";

/** Other characters cannot be in a header; the error of the HTTP client would contain the token. */
function checkedToken(token: string, where: string): string {
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  throw new Failure("failed", `${where} is not a token: it contains spaces, line breaks or other characters`, [
    "write only the token, as retinue token create has printed it",
  ]);
}

/** The token with scope `ship`. */
export function teamToken(env: Env, { values }: SettingsFile): string {
  const given = env[TEAM_TOKEN]?.trim();
  if (given) return checkedToken(given, TEAM_TOKEN);
  const path = values["team.token_file"]?.replace(/^~(?=\/|$)/, userHome(env));
  if (path === undefined)
    throw new Failure("failed", "no token for the team server", [
      `set ${TEAM_TOKEN}, or team.token_file in the settings; an administrator creates it with retinue token create`,
    ]);
  try {
    const token = readText(path, MAX_TOKEN).trim();
    if (token !== "") return checkedToken(token, path);
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw new Failure("failed", `cannot read the team token in ${path}: ${(error as Error).message}`, [], error);
  }
  throw new Failure("failed", `the token file ${path} is empty`, ["write the token into it"]);
}
