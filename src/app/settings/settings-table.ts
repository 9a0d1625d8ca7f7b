import { NO_LIMITS } from "../../core/guard/limits.ts";
import { STALE_AFTER_MS } from "../../core/link/states.ts";
import { DEFAULT_REDACTION, REDACTION_LEVELS } from "../../core/redaction/redaction.ts";
import { durationText } from "../../core/tools/duration.ts";
import * as products from "../../providers/index.ts";
import { limitsKind } from "./limit-kinds.ts";
import {
  addresses,
  addressOr,
  amount,
  amountOr,
  databases,
  dollars,
  duration,
  durationOr,
  fields,
  fileOr,
  flag,
  folders,
  foldersOr,
  globs,
  type Kind,
  named,
  names,
  networks,
  oneOf,
  patterns,
  sizeOr,
  wholeAmount,
  wordOr,
} from "./setting-kinds.ts";

/** One key of the settings file, with its documentation. */
export interface Setting<T> {
  readonly kind: Kind<T>;
  /** The default. For a key with `<name>`: the value for names that are not set. */
  readonly otherwise: T;
  /** The default as shown to the user. */
  readonly shown: string;
  /** What it does. */
  readonly text: string;
}

/** US dollars per million tokens. */
export interface OwnPrice {
  readonly input: number;
  readonly output: number;
  readonly cache_read: number;
  readonly cache_write: number;
  readonly cache_write_1h: number;
}

const priceFields = fields(
  { input: dollars, output: dollars, cache_read: dollars, cache_write: dollars, cache_write_1h: dollars },
  ["input", "output"],
);
const price: Kind<OwnPrice> = {
  form: priceFields.form,
  read(entry, key, report) {
    const given = priceFields.read(entry, key, report);
    if (given?.input === undefined || given.output === undefined) return undefined;
    const { input, output, cache_read = input, cache_write = input, cache_write_1h = cache_write } = given;
    return { input, output, cache_read, cache_write, cache_write_1h };
  },
};

export interface MatchWindow {
  /** Null: for the whole session. */
  readonly defaultMs: number | null;
  readonly projects: ReadonlyMap<string, number | null>;
  readonly hosts: ReadonlyMap<string, number | null>;
}

const MATCH_WINDOW: MatchWindow = { defaultMs: null, projects: new Map(), hosts: new Map() };
const window = durationOr("session");
const windowFields = fields({ default: window, projects: named("folder", window), hosts: named("host", window) });
const matchWindow: Kind<MatchWindow> = {
  form: `${window.form}; or default, projects and hosts below it`,
  read(entry, key, report) {
    if (entry.is !== "map") {
      const defaultMs = window.read(entry, key, report);
      return defaultMs === undefined ? undefined : { ...MATCH_WINDOW, defaultMs };
    }
    const {
      default: defaultMs = MATCH_WINDOW.defaultMs,
      projects = MATCH_WINDOW.projects,
      hosts = MATCH_WINDOW.hosts,
    } = windowFields.read(entry, key, report) ?? {};
    return { defaultMs, projects, hosts };
  },
};

/** Claude Code deletes transcripts after 30 days by itself; what a person deletes is usually newer than this. */
const TEAM_KEEP_DELETED_AFTER_MS = 14 * 86_400_000;
/** Bytes per second. */
const TEAM_BANDWIDTH = 2_000_000;

const setting = <T>(kind: Kind<T>, otherwise: NoInfer<T>, shown: string, text: string): Setting<T> => ({
  kind,
  otherwise,
  shown,
  text,
});

/** All keys. A last part in angle brackets is a placeholder for names chosen by the user. */
export const SETTINGS = {
  "roots.<provider>": setting(
    folders,
    [],
    "the product's own folders",
    "Folders with a product's records, instead of the default ones.",
  ),
  stale_after: setting(
    duration,
    STALE_AFTER_MS,
    durationText(STALE_AFTER_MS),
    "How long an unfinished agent may be inactive before it counts as shutdown, if its process cannot be observed.",
  ),
  "prices.<model>": setting(
    price,
    { input: 0, output: 0, cache_read: 0, cache_write: 0, cache_write_1h: 0 },
    "the public price list",
    "Price of a model in US dollars per million tokens: input, output, cache_read and cache_write (default: input), cache_write_1h (default: cache_write).",
  ),
  match_window: setting(
    matchWindow,
    MATCH_WINDOW,
    "session",
    "How long after a spawn call an agent may begin and still be matched to it by its prompt, if API traffic contains no agent ids (`session`: for the whole session); also by project folder and by upstream host.",
  ),
  "relay.servers": setting(
    addresses,
    [],
    "none",
    "Servers on other machines that the dashboard and the API may follow, and that get the password of the environment.",
  ),
  "relay.single_card_guess": setting(
    flag,
    false,
    "false",
    "Whether sessions without a known thread are shown, as a guess, in the only active card.",
  ),
  "cards.from_threads": setting(
    flag,
    false,
    "false",
    "Whether every thread that begins while the server runs gets a card.",
  ),
  "redaction.level": setting(
    oneOf(...REDACTION_LEVELS),
    DEFAULT_REDACTION.level,
    DEFAULT_REDACTION.level,
    "What may leave this machine: everything except secrets, the same without tool results, or no texts at all.",
  ),
  "redaction.patterns": setting(patterns, [], "none", "Additional patterns of secrets."),
  "redaction.paths": setting(globs, [], "none", "Additional files whose contents are secret, besides .env and others."),
  budgets: setting(
    fields({ usd: amount, tokens: wholeAmount, agents: wholeAmount }),
    {},
    "none",
    "Limits of one session with all its agents; the proxy rejects further requests.",
  ),
  limits: setting(
    limitsKind(Object.values(products).map(({ name }) => name)),
    NO_LIMITS,
    "none",
    "Limits against runaway agents, per thread: agents, agents at once, depth, cost, tokens and minutes, with what happens beyond them; also by agent type, project and product. See docs/guard.md.",
  ),
  "alerts.waiting_minutes": setting(
    amountOr("off"),
    null,
    "off",
    "Alert if an agent waits for a person for this many minutes.",
  ),
  "alerts.silent_minutes": setting(
    amountOr("off"),
    null,
    "off",
    "Alert if a running agent writes no record for this many minutes.",
  ),
  "alerts.failed": setting(flag, false, "false", "Alert if an agent fails."),
  "alerts.limit_percent": setting(
    amountOr("off"),
    null,
    "off",
    "Alert if a thread has used this percentage of a limit.",
  ),
  "alerts.webhook": setting(
    addressOr("none"),
    null,
    "none",
    "Where alerts are sent as JSON, besides the desktop notice; Slack and others accept it as it is.",
  ),
  "team.url": setting(
    addressOr("none"),
    null,
    "none",
    "The team server to which `retinue serve` sends this machine's records and events. See docs/team.md.",
  ),
  "team.token_file": setting(
    fileOr("none"),
    null,
    "none",
    "The file with the token for the team server; RETINUE_TEAM_TOKEN is used instead if it is set.",
  ),
  "team.share.projects": setting(
    foldersOr("all"),
    [],
    "all",
    "Only threads that were started in or below these folders are sent to the team server.",
  ),
  "team.share.level": setting(
    oneOf(...REDACTION_LEVELS),
    DEFAULT_REDACTION.level,
    DEFAULT_REDACTION.level,
    "What is sent to the team server: the stricter of this level and redaction.level.",
  ),
  "team.keep_deleted_after": setting(
    durationOr("never"),
    TEAM_KEEP_DELETED_AFTER_MS,
    durationText(TEAM_KEEP_DELETED_AFTER_MS),
    "If transcripts are deleted here, the team server keeps what it has of agents that were not active for this long (`never`: it always follows).",
  ),
  "team.bandwidth": setting(
    sizeOr("unlimited"),
    TEAM_BANDWIDTH,
    "2MB",
    "Maximum number of bytes that are sent to the team server per second.",
  ),
  "team.hosts": setting(
    names,
    [],
    "none",
    "For a team server: the host names by which it is reached. Requests for another name are refused, except for addresses and localhost. Without it, any name is accepted.",
  ),
  "team.proxy.addresses": setting(
    networks,
    [],
    "none",
    "For a team server: reverse proxies that authenticate people, and whose headers are trusted. See docs/team.md.",
  ),
  "team.proxy.header": setting(
    wordOr("the name of a header", "none"),
    null,
    "none",
    "The header in which such a proxy names the person, such as X-Forwarded-Email.",
  ),
  "team.proxy.domain": setting(
    wordOr("a domain, such as example.com", "none"),
    null,
    "none",
    "The domain of the e-mail addresses in that header; the part before the @ is the owner. Without it, the header must contain a plain name.",
  ),
  "team.proxy.teams_header": setting(
    wordOr("the name of a header", "none"),
    null,
    "none",
    "The header with the teams that the person may read, separated by commas, such as X-Forwarded-Groups.",
  ),
  "team.proxy.admins": setting(names, [], "none", "People who may read everything when such a proxy names them."),
  "store.replicas": setting(
    databases,
    [],
    "none",
    "For a team server: read replicas of its database. Data that a replica does not have yet is read from the primary. See docs/team.md.",
  ),
  "store.retention": setting(
    durationOr("forever"),
    null,
    "forever",
    "For a team server: how long events are kept; whole months are dropped. Records and sums stay.",
  ),
  "proxy.token": setting(
    flag,
    false,
    "false",
    "Whether the proxy requires the token of its printed address from all clients, including your own processes.",
  ),
  "retention.age": setting(durationOr("forever"), null, "forever", "How long recordings are kept."),
  "retention.bytes": setting(sizeOr("unlimited"), null, "unlimited", "Maximum size of the recordings."),
} as const;

export type SettingKey = keyof typeof SETTINGS;
type ValueOf<K extends SettingKey> = (typeof SETTINGS)[K] extends Setting<infer T> ? T : never;

/** The value of every key; for keys with `<name>`, a map by name. */
export type Settings = {
  readonly [K in SettingKey]: K extends `${string}<${string}>` ? ReadonlyMap<string, ValueOf<K>> : ValueOf<K>;
};
