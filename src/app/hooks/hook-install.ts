import {
  existsSync,
  lstatSync,
  mkdirSync,
  readlinkSync,
  realpathSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { type HookSettings, isOwnHook, type Provider } from "../../core/ports/provider.ts";
import { MAX_SETTINGS } from "../../core/tools/limits.ts";
import * as products from "../../providers/index.ts";
import { PROVIDERS } from "../../providers/loaded.ts";
import { privateFolder, writePrivate } from "../../transports/private.ts";
import { readText } from "../../transports/regular.ts";
import { renameOver } from "../../transports/system/rename.ts";
import { Failure } from "../failure.ts";
import { type Env, retinueHome, userHome } from "../home.ts";
import { hookCommand, launcherPath, thisInstallation, writeLauncher } from "./launcher.ts";

/** Products whose hooks can call retinue. */
export const HOOKABLE: readonly string[] = PROVIDERS.filter((p) => p.hooks !== undefined).map((p) => p.name);

/** A planned change to a settings file. */
export interface HookChange {
  readonly path: string;
  /** Null if the file does not exist. */
  readonly before: string | null;
  readonly after: string | null;
  readonly isChanged: boolean;
  /** Hook commands of other tracing tools. */
  readonly tracers: readonly string[];
  readonly next: string | null;
  /** Also writes the program that the hooks call, which changes with Node.js and the package. */
  apply(): void;
}

/** Recognises hooks of other tracing tools. */
const TRACER =
  /langsmith|langfuse|langchain|opik|mlflow|phoenix|arize|agentops|weave|braintrust|laminar|helicone|agentsview|agent-flow|otel|telemetry|trac(?:e|ing)/i;

export function planHooks(action: "install" | "uninstall", provider: string, env: Env, lineage = false): HookChange {
  const { settings, path } = settingsOf(provider, env);
  if (lineage && settings.hasLineage !== true)
    throw new Failure("usage", `the hooks of ${provider} cannot name the agent in the environment of its commands`, [
      "leave out --lineage",
    ]);
  const before = textAt(path);
  if ((action === "install" || hasOurs(settings, before)) && before?.includes("\uFFFD") === true)
    throw new Failure("failed", `${path} cannot be changed: it contains bytes that are not UTF-8`, [
      "correct it, then try again",
    ]);
  const backupPath = backupPathOf(provider, env);
  const after =
    action === "install"
      ? changed(settings.install(before, hookCommand(launcherPath(env)), lineage), path)
      : restored(settings, before, backupPath, path);
  return {
    path,
    before,
    after,
    isChanged: after !== before,
    tracers:
      action === "install" && before !== null
        ? settings.commands(before).filter((one) => TRACER.test(one) && !isOwnHook(one))
        : [],
    next: action === "install" ? settings.next : null,
    apply: () => {
      expectUnchanged(path, before);
      if (action === "install") writeLauncher(env, thisInstallation());
      if (after === before) return;
      if (action === "install") {
        const folders = before === null ? missingFolders(path) : (readBackup(backupPath)?.folders ?? []);
        writeBackup(backupPath, { path, before: restored(settings, before, backupPath, path), after, folders });
      }
      write(path, before, after);
      if (action === "uninstall") {
        if (after === null) removeEmpty(readBackup(backupPath)?.folders ?? []);
        rmSync(backupPath, { force: true });
      }
    },
  };
}

function settingsOf(name: string, env: Env): { readonly settings: HookSettings; readonly path: string } {
  const provider: Provider | undefined = PROVIDERS.find((p) => p.name === name);
  const [root] = provider?.roots(env, userHome(env)) ?? [];
  if (provider?.hooks === undefined || root === undefined)
    throw new Failure("usage", `${JSON.stringify(name)} has no hooks that retinue supports`, [
      `write one of: ${HOOKABLE.join(", ")}`,
    ]);
  return { settings: provider.hooks, path: resolvedPath(join(root, provider.hooks.file)) };
}

/** Settings are often a symbolic link: changes the target, which may not exist yet, and keeps the link. */
function resolvedPath(path: string): string {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return path;
  return existsSync(path) ? realpathSync(path) : resolve(dirname(path), readlinkSync(path));
}

/** Whether retinue's hooks are in the settings of a product. */
export interface HookState {
  readonly provider: string;
  readonly product: string;
  readonly path: string;
  /** The installed commands; empty if there are none. */
  readonly commands: readonly string[];
  /** Whether they can refuse spawns. */
  readonly canRefuse: boolean;
}

/** Products without a settings folder are not listed. */
export function hookStates(env: Env): readonly HookState[] {
  const guarding = new Set(
    Object.values(products).flatMap(({ name, hookPayload }) => (hookPayload?.guard === undefined ? [] : [name])),
  );
  return PROVIDERS.flatMap((provider) => {
    const { name, product, hooks } = provider;
    const [root] = hooks === undefined ? [] : provider.roots(env, userHome(env));
    if (hooks === undefined || root === undefined || !existsSync(root)) return [];
    const path = join(root, hooks.file);
    const text = readable(path);
    const commands = text === null ? [] : [...new Set(hooks.commands(text).filter(isOwnHook))];
    return [{ provider: name, product, path, commands, canRefuse: guarding.has(name) }];
  });
}

function readable(path: string): string | null {
  try {
    return textAt(path);
  } catch {
    // Reported when hooks are installed.
    return null;
  }
}

const hasOurs = (settings: HookSettings, text: string | null) =>
  text !== null && settings.commands(text).some(isOwnHook);

function changed(text: string | { readonly wrong: string }, path: string): string {
  if (typeof text === "string") return text;
  throw new Failure("failed", `${path} cannot be changed: ${text.wrong}`, ["correct it, then try again"]);
}

/**
 * The file without our hooks: with its original bytes where we changed it, unless the user changed it there, too. So
 * comments and the layout of the user's own hooks return.
 */
function restored(settings: HookSettings, before: string | null, backupPath: string, path: string): string | null {
  if (before === null) return null;
  // Hooks are not found in settings that cannot be parsed.
  if (before.includes("retinue")) changed(settings.uninstall(before), path);
  if (!hasOurs(settings, before)) return before;
  const noted = readBackup(backupPath);
  const backup = noted?.path === path ? noted : null;
  if (backup?.after === before) return backup.before;
  const undone = backup === null || settings.isMarked === true ? null : withoutChange(before, backup);
  if (undone !== null && !hasOurs(settings, undone) && typeof settings.uninstall(undone) === "string") return undone;
  const removed = changed(settings.uninstall(before), path);
  // The file that we created contains nothing of the user.
  if (backup?.before === null && backup.after !== null && settings.uninstall(backup.after) === removed) return null;
  if (!hasOurs(settings, removed)) return removed;
  throw new Failure("failed", `${path} contains hooks of retinue that it did not write there itself`, [
    "remove the entries that call `retinue hook`",
  ]);
}

/** Undoes the change between the texts of the backup in a text that the user edited elsewhere; null if that fails. */
function withoutChange(text: string, { before, after }: Backup): string | null {
  if (before === null || after === null) return null;
  const shorter = Math.min(before.length, after.length);
  let [start, end] = [0, 0];
  while (start < shorter && before[start] === after[start]) start += 1;
  while (end < shorter - start && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  const [gone, added] = [before.slice(start, before.length - end), after.slice(start, after.length - end)];
  const place = text.indexOf(added);
  const isUnique = added !== "" && place >= 0 && !text.includes(added, place + 1);
  return isUnique ? text.slice(0, place) + gone + text.slice(place + added.length) : null;
}

interface Backup {
  readonly path: string;
  readonly before: string | null;
  readonly after: string | null;
  /** Folders that were created for the file, the innermost first. */
  readonly folders?: readonly string[];
}

function missingFolders(path: string): readonly string[] {
  const folder = dirname(path);
  return existsSync(folder) ? [] : [folder, ...missingFolders(folder)];
}

/** Removes the folders that are empty; the product may have created other files in them. */
function removeEmpty(folders: readonly string[]): void {
  try {
    for (const folder of folders) rmdirSync(folder);
  } catch {
    // Not empty, so the folders around it are not empty either.
  }
}

const backupPathOf = (provider: string, env: Env) => join(retinueHome(env), "hooks", `${provider}.json`);

function readBackup(path: string): Backup | null {
  const text = textAt(path);
  return text === null ? null : (JSON.parse(text) as Backup);
}

function writeBackup(path: string, backup: Backup) {
  privateFolder(dirname(path));
  writePrivate(path, JSON.stringify(backup));
}

function textAt(path: string): string | null {
  try {
    return readText(path, MAX_SETTINGS);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw new Failure("failed", `${path} cannot be read: ${(error as Error).message}`, [], error);
  }
}

function expectUnchanged(path: string, before: string | null): void {
  if (textAt(path) !== before) throw new Failure("failed", `${path} was changed in the meantime`, ["try again"]);
}

/** Atomic, because an agent may read it at any moment. An edit until the last moment is kept: then this fails. */
function write(path: string, before: string | null, after: string | null) {
  const draft = `${path}.retinue-${process.pid}`;
  try {
    if (after !== null) {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(draft, after, { mode: statSync(path, { throwIfNoEntry: false })?.mode ?? 0o600 });
    }
    expectUnchanged(path, before);
    if (after === null) rmSync(path, { force: true });
    else renameOver(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    if (error instanceof Failure) throw error;
    throw new Failure("failed", `${path} cannot be written: ${(error as Error).message}`, [], error);
  }
}
