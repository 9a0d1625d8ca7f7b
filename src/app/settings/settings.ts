import { join, resolve } from "node:path";
import type { RedactionRules } from "../../core/redaction/redaction.ts";
import { MAX_SETTINGS } from "../../core/tools/limits.ts";
import { PROVIDERS } from "../../providers/loaded.ts";
import { readText } from "../../transports/regular.ts";
import { Failure } from "../failure.ts";
import { type Env, userHome } from "../home.ts";
import { type Fault, type Report, unknownKey } from "./setting-kinds.ts";
import { settingsPath } from "./settings-path.ts";
import { SETTINGS, type SettingKey, type Settings } from "./settings-table.ts";
import type { Entry, Pair } from "./yaml.ts";

export { settingsPath } from "./settings-path.ts";

/** The effective settings and the settings file. */
export interface SettingsFile {
  readonly path: string;
  readonly exists: boolean;
  readonly values: Settings;
  /** The keys that the file sets. */
  readonly set: readonly string[];
}

/** The settings that records depend on; empty if all are defaults. */
export function basisOf({ values, set }: SettingsFile): string {
  const isBasis = (key: string) => key === "stale_after" || key.startsWith("prices.");
  return set.some(isBasis) ? JSON.stringify([values.stale_after, [...values["prices.<model>"]]]) : "";
}

/** The redaction rules. */
export function redactionOf({ values }: SettingsFile): RedactionRules {
  return { level: values["redaction.level"], patterns: values["redaction.patterns"], paths: values["redaction.paths"] };
}

/** A missing file sets nothing. Throws a `Failure` that lists all errors of the file. */
export async function loadSettings(env: Env): Promise<SettingsFile> {
  const path = settingsPath(env);
  const text = settingsText(path);
  if (text === null) {
    const { values, set } = readSettings(null, userHome(env));
    return { path, exists: false, values, set };
  }
  // Imported on demand: most machines have no settings file.
  const { readYaml } = await import("./yaml.ts");
  const file = readYaml(text);
  if ("wrong" in file) throw refusal(path, [{ ...file, right: "write key: value lines, such as stale_after: 10m" }]);
  const { faults, ...read } = readSettings(file.root, userHome(env));
  if (faults.length > 0) throw refusal(path, faults);
  return { path, exists: true, ...read };
}

function settingsText(path: string): string | null {
  try {
    return readText(path, MAX_SETTINGS);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    throw new Failure("failed", `cannot read the settings in ${path}: ${message}`, [], error);
  }
}

/** All errors at once. */
function refusal(path: string, faults: readonly Fault[]): Failure {
  const [first = "", ...more] = faults.flatMap((fault, i) => [
    `${path}:${fault.line}: ${fault.wrong}`,
    `${i === 0 ? "" : "  "}${fault.right}`,
  ]);
  return new Failure("usage", first, more);
}

export interface SettingsRead {
  readonly values: Settings;
  readonly set: readonly string[];
  /** Errors in the order of the file. If there are any, the values must not be used. */
  readonly faults: readonly Fault[];
}

/** Pure: checks the file against the table of settings. */
export function readSettings(
  root: Entry | null,
  home: string,
  providers: readonly string[] = PROVIDERS.map((p) => p.name),
): SettingsRead {
  const reading = new Reading(home, providers);
  if (root !== null) reading.group(root, "");
  return {
    values: reading.values as Settings,
    set: reading.set,
    faults: reading.faults.sort((a, b) => a.line - b.line),
  };
}

const KEYS = Object.keys(SETTINGS) as SettingKey[];
const NAME = /<(\w+)>$/;

class Reading {
  readonly values: Record<string, unknown>;
  readonly set: string[] = [];
  readonly faults: Fault[] = [];
  readonly #home: string;
  readonly #providers: readonly string[];
  readonly #report: Report = (fault) => this.faults.push(fault);

  constructor(home: string, providers: readonly string[]) {
    this.#home = home;
    this.#providers = providers;
    this.values = Object.fromEntries(KEYS.map((key) => [key, NAME.test(key) ? new Map() : SETTINGS[key].otherwise]));
  }

  /** `prefix` is empty or ends with a dot. */
  group(entry: Entry, prefix: string): void {
    // A key whose contents are commented out.
    if (entry.is === "plain" && entry.value === null) return;
    const known = [
      ...new Set(
        KEYS.filter((key) => key.startsWith(prefix)).map((key) => key.slice(prefix.length).split(".")[0] ?? ""),
      ),
    ];
    if (entry.is !== "map") {
      const wrong =
        prefix === ""
          ? "settings must be key: value lines"
          : `${prefix.slice(0, -1)} is a group of keys and has no value`;
      this.#report({
        line: entry.line,
        wrong,
        right: `known keys${prefix === "" ? "" : ` of ${prefix.slice(0, -1)}`}: ${known.join(", ")}`,
      });
      return;
    }
    for (const pair of entry.pairs) this.#pair(pair, prefix, known);
  }

  #pair(pair: Pair, prefix: string, known: readonly string[]) {
    const path = `${prefix}${pair.key}`;
    const key = KEYS.find((k) => k === path && !pair.key.includes("."));
    const byName = KEYS.find((k) => k.startsWith(prefix) && /^<\w+>$/.test(k.slice(prefix.length)) && prefix !== "");
    if (key !== undefined) this.#read(key, pair, path, (value) => (this.values[key] = value));
    else if (byName !== undefined) this.#named(byName, pair, prefix);
    else if (!pair.key.includes(".") && KEYS.some((k) => k.startsWith(`${path}.`))) this.group(pair.value, `${path}.`);
    else this.#unknown(pair, prefix, known);
  }

  #named(key: SettingKey, pair: Pair, prefix: string) {
    if (NAME.exec(key)?.[1] === "provider" && !this.#providers.includes(pair.key)) {
      this.#report(unknownKey(pair.line, pair.key, this.#providers, prefix));
      return;
    }
    this.#read(key, pair, `${prefix}${pair.key}`, (value) =>
      (this.values[key] as Map<string, unknown>).set(pair.key, value),
    );
  }

  #read(key: SettingKey, pair: Pair, path: string, keep: (value: unknown) => void) {
    const value = SETTINGS[key].kind.read(pair.value, path, this.#report);
    this.set.push(path);
    if (value !== undefined)
      keep(key === "roots.<provider>" ? (value as readonly string[]).map((folder) => this.#expand(folder)) : value);
  }

  #expand(folder: string): string {
    return resolve(folder === "~" || folder.startsWith("~/") ? join(this.#home, folder.slice(1)) : folder);
  }

  #unknown(pair: Pair, prefix: string, known: readonly string[]) {
    const fault = unknownKey(pair.line, pair.key, known, prefix);
    const [group = "", ...rest] = pair.key.split(".");
    const elsewhere = KEYS.find((key) => key.endsWith(`.${pair.key}`));
    if (rest.length > 0 && known.includes(group))
      this.#report({ ...fault, right: `write ${group}: and ${rest.join(".")}: indented on the next line` });
    else this.#report(elsewhere === undefined ? fault : { ...fault, right: `did you mean: ${elsewhere}` });
  }
}
