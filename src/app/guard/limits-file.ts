/**
 * The limits in force, for hooks: an agent waits for them, and the YAML parser takes longer to load than the hook to
 * run. So the limits are kept as JSON, with the state of the settings file that they were read from.
 */
import { statSync } from "node:fs";
import type { Limits } from "../../core/guard/limits.ts";
import { MAX_NOTE, MAX_SETTINGS } from "../../core/tools/limits.ts";
import { privateFolder, writePrivate } from "../../transports/private.ts";
import { readText } from "../../transports/regular.ts";
import { join } from "../../transports/system/paths.ts";
import { renameOver } from "../../transports/system/rename.ts";
import { type Env, retinueHome } from "../home.ts";
import { settingsPath } from "../settings/settings-path.ts";

export const guardFolder = (env: Env) => join(retinueHome(env), "guard");

/** The variable by which `retinue run --limit` passes its limits to the hooks of its command. */
export const LIMITS_VARIABLE = "RETINUE_LIMITS";

const NO_LIMITS: Limits = {};

interface Copy {
  readonly path: string;
  readonly state: string;
  readonly limits: Limits;
}

const copyPath = (env: Env) => join(guardFolder(env), "limits.json");

/** The limits of the settings file and of the command line. Throws if the settings file cannot be read. */
export async function limitsInForce(env: Env): Promise<Limits> {
  return withGiven(await limitsOfSettings(env), givenIn(env));
}

/** Limits of the command line replace those of the settings, name by name. */
export const withGiven = (limits: Limits, given: Limits | null): Limits =>
  given === null ? limits : { ...withoutNames(limits, Object.keys(given)), ...given };

/** Removes limits that the command line replaces, because those apply in every project and product. */
function withoutNames(limits: Limits, names: readonly string[]): Limits {
  const without = (set: object) => Object.fromEntries(Object.entries(set).filter(([name]) => !names.includes(name)));
  const each = (sets: Limits["by_project"]) =>
    sets === undefined ? {} : Object.fromEntries(Object.entries(sets).map(([name, set]) => [name, without(set)]));
  const { by_project, by_product } = limits;
  return {
    ...limits,
    ...(by_project === undefined ? {} : { by_project: each(by_project) }),
    ...(by_product === undefined ? {} : { by_product: each(by_product) }),
  };
}

function givenIn(env: Env): Limits | null {
  const text = env[LIMITS_VARIABLE];
  if (text === undefined || text === "") return null;
  return JSON.parse(text) as Limits;
}

async function limitsOfSettings(env: Env): Promise<Limits> {
  const path = settingsPath(env);
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return NO_LIMITS;
  const state = `${found.ino} ${found.size} ${found.mtimeMs}`;
  const copy = readCopy(env);
  if (copy?.path === path && copy.state === state) return copy.limits;
  const [{ readYaml }, { limitsKind }, products] = await Promise.all([
    import("../settings/yaml.ts"),
    import("../settings/limit-kinds.ts"),
    import("../../providers/index.ts"),
  ]);
  const file = readYaml(readText(path, MAX_SETTINGS));
  if ("wrong" in file) throw new Error(`${path}:${file.line}: ${file.wrong}`);
  const entry = file.root?.is === "map" ? file.root.pairs.find(({ key }) => key === "limits")?.value : undefined;
  const isEmpty = entry === undefined || (entry.is === "plain" && entry.value === null);
  const kind = limitsKind(Object.values(products).map(({ name }) => name));
  const limits = isEmpty
    ? NO_LIMITS
    : (kind.read(entry, "limits", ({ line, wrong }) => {
        throw new Error(`${path}:${line}: ${wrong}`);
      }) ?? NO_LIMITS);
  keepCopy(env, { path, state, limits });
  return limits;
}

function readCopy(env: Env): Copy | null {
  try {
    return JSON.parse(readText(copyPath(env), MAX_NOTE)) as Copy;
  } catch {
    // Missing, or not written completely.
    return null;
  }
}

function keepCopy(env: Env, copy: Copy): void {
  privateFolder(guardFolder(env));
  const draft = `${copyPath(env)}.${process.pid}`;
  writePrivate(draft, JSON.stringify(copy));
  renameOver(draft, copyPath(env));
}
