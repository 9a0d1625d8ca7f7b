import { durationWords } from "../core/duration.ts";
import { STALE_AFTER_MS } from "../core/link.ts";
import { DEFAULT_REDACTION, REDACTION_LEVELS } from "../core/redaction.ts";
import {
  addresses,
  amount,
  dollars,
  duration,
  durationOr,
  fields,
  flag,
  folders,
  globs,
  type Kind,
  named,
  oneOf,
  patterns,
  sizeOr,
  wholeAmount,
} from "./setting-kinds.ts";

/** One key of the settings file. Everything that is said about it anywhere stands here. */
export interface Setting<T> {
  readonly kind: Kind<T>;
  /** What counts where the key is not set. For a key with a `<name>` in it: where that name is not set. */
  readonly otherwise: T;
  /** The same, for people. */
  readonly shown: string;
  /** What it does. */
  readonly says: string;
}

/** US dollars for a million tokens of each kind. */
export interface OwnPrice {
  readonly input: number;
  readonly output: number;
  readonly cache_read: number;
  readonly cache_write: number;
  readonly cache_write_1h: number;
}

const priceFields = fields({ input: dollars, output: dollars, cache_read: dollars, cache_write: dollars, cache_write_1h: dollars }, ["input", "output"]);
const price: Kind<OwnPrice> = {
  form: priceFields.form,
  read(entry, key, tell) {
    const given = priceFields.read(entry, key, tell);
    if (given?.input === undefined || given.output === undefined) return undefined;
    const { input, output, cache_read = input, cache_write = input, cache_write_1h = cache_write } = given;
    return { input, output, cache_read, cache_write, cache_write_1h };
  },
};

export interface MatchWindow {
  /** Null: as long as the session lives. */
  readonly defaultMs: number | null;
  readonly projects: ReadonlyMap<string, number | null>;
  readonly hosts: ReadonlyMap<string, number | null>;
}

const MATCH_WINDOW: MatchWindow = { defaultMs: null, projects: new Map(), hosts: new Map() };
const window = durationOr("session");
const windowFields = fields({ default: window, projects: named("folder", window), hosts: named("host", window) });
const matchWindow: Kind<MatchWindow> = {
  form: `${window.form}; or default, projects and hosts below it`,
  read(entry, key, tell) {
    if (entry.is !== "map") {
      const defaultMs = window.read(entry, key, tell);
      return defaultMs === undefined ? undefined : { ...MATCH_WINDOW, defaultMs };
    }
    const {
      default: defaultMs = MATCH_WINDOW.defaultMs,
      projects = MATCH_WINDOW.projects,
      hosts = MATCH_WINDOW.hosts,
    } = windowFields.read(entry, key, tell) ?? {};
    return { defaultMs, projects, hosts };
  },
};

const setting = <T>(kind: Kind<T>, otherwise: NoInfer<T>, shown: string, says: string): Setting<T> => ({
  kind,
  otherwise,
  shown,
  says,
});

/** Every key there is. A last part in angle brackets stands for names of the user's. */
export const SETTINGS = {
  "roots.<provider>": setting(
    folders,
    [],
    "where the product itself keeps its records",
    "Folders to look for a product's records in, instead of those that the environment names.",
  ),
  stale_after: setting(
    duration,
    STALE_AFTER_MS,
    durationWords(STALE_AFTER_MS),
    "How long an unfinished agent may be silent before it counts as shutdown, where its process cannot be seen.",
  ),
  "prices.<model>": setting(
    price,
    { input: 0, output: 0, cache_read: 0, cache_write: 0, cache_write_1h: 0 },
    "the public price list",
    "What a model costs, in US dollars for a million tokens: input and output; cache_read and cache_write, else as input; cache_write_1h, else as cache_write.",
  ),
  match_window: setting(
    matchWindow,
    MATCH_WINDOW,
    "session",
    "How long after a call an agent may begin and still be matched to it by its prompt, where API traffic names no agents (`session`: as long as the session lives); also by project folder and by upstream host.",
  ),
  "relay.servers": setting(
    addresses,
    [],
    "none",
    "Servers of agents that the dashboard and the API may have retinue follow beyond this machine, and that a password in the environment is for.",
  ),
  "relay.single_card_guess": setting(
    flag,
    false,
    "false",
    "Whether sessions of which nobody knows whose they are show, as a guess, in the only card that is being worked on.",
  ),
  "cards.from_threads": setting(flag, false, "false", "Whether every thread that begins while the server runs gets a card of its own."),
  "redaction.level": setting(
    oneOf(...REDACTION_LEVELS),
    DEFAULT_REDACTION.level,
    DEFAULT_REDACTION.level,
    "How much may leave this machine: everything but secrets, the same without what tools returned, or no texts at all.",
  ),
  "redaction.patterns": setting(patterns, [], "none", "What else is a secret, besides what looks like one anyway."),
  "redaction.paths": setting(globs, [], "none", "Files whose contents are secret, besides those that are anyway, such as .env."),
  budgets: setting(
    fields({ usd: amount, tokens: wholeAmount, agents: wholeAmount }),
    {},
    "none",
    "What one session with all its agents may use before the proxy lets nothing more of it through.",
  ),
  "proxy.token": setting(flag, false, "false", "Whether the proxy asks everybody for the token that its printed address carries, your own processes as well."),
  "retention.age": setting(durationOr("forever"), null, "forever", "How long retinue keeps what it recorded itself."),
  "retention.bytes": setting(sizeOr("unlimited"), null, "unlimited", "How much of what it recorded itself retinue keeps."),
} as const;

export type SettingKey = keyof typeof SETTINGS;
type ValueOf<K extends SettingKey> = (typeof SETTINGS)[K] extends Setting<infer T> ? T : never;

/** The value of every key; by name, where the key has a `<name>` in it. */
export type Settings = {
  readonly [K in SettingKey]: K extends `${string}<${string}>` ? ReadonlyMap<string, ValueOf<K>> : ValueOf<K>;
};
