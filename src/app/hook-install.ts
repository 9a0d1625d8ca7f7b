import { lstatSync, mkdirSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type HookSettings, isOwnHook, type Provider } from "../core/provider.ts";
import { PROVIDERS } from "../providers/index.ts";
import { privateFolder, writePrivate } from "../transports/private.ts";
import { renameOver } from "../transports/system/rename.ts";
import { Failure } from "./failure.ts";
import { type Env, retinueHome, userHome } from "./home.ts";

/** Products that can be told to call us. */
export const HOOKABLE: readonly string[] = PROVIDERS.filter((p) => p.hooks !== undefined).map((p) => p.name);

/** A change to somebody's settings, before it is made. */
export interface HookChange {
  readonly path: string;
  /** Null: there is no such file. */
  readonly before: string | null;
  readonly after: string | null;
  readonly isChanged: boolean;
  /** Commands of other tools that trace the same agent. */
  readonly tracers: readonly string[];
  readonly next: string | null;
  make(): void;
}

/** Words by which hooks of others that trace, too, are known. */
const TRACER =
  /langsmith|langfuse|langchain|opik|mlflow|phoenix|arize|agentops|weave|braintrust|laminar|helicone|agentsview|agent-flow|otel|telemetry|trac(?:e|ing)/i;

export function planHooks(action: "install" | "uninstall", provider: string, env: Env, command: string): HookChange {
  const { settings, path } = settingsOf(provider, env);
  const before = textAt(path);
  const kept = backupOf(provider, env);
  const after = action === "install" ? changed(settings.install(before, command), path) : restored(settings, before, kept, path);
  return {
    path,
    before,
    after,
    isChanged: after !== before,
    tracers: action === "install" && before !== null ? settings.commands(before).filter((one) => TRACER.test(one) && !isOwnHook(one)) : [],
    next: action === "install" ? settings.next : null,
    make: () => {
      if (textAt(path) !== before) throw new Failure("failed", `${path} was changed meanwhile`, ["try again"]);
      if (action === "install") keepBackup(kept, { path, before: hasOurs(settings, before) ? (readBackup(kept)?.before ?? null) : before, after });
      write(path, after);
      if (action === "uninstall") rmSync(kept, { force: true });
    },
  };
}

/**
 * The command to be written into an agent's settings, by full paths: an agent started from a desktop has another PATH than a shell. On Windows agents run it by
 * Git Bash or by the system's own shell: paths with slashes mean the same to both.
 */
export function hookCommand(execPath: string, program: string, platform: string = process.platform): string {
  const quoted = (path: string) => (/^[\w@%+=:,./-]+$/.test(path) ? path : `"${path.replace(/(["\\$`])/g, "\\$1")}"`);
  const plain = (path: string) => quoted(platform === "win32" ? path.replaceAll("\\", "/") : path);
  return `${plain(execPath)} ${plain(program)} hook`;
}

function settingsOf(name: string, env: Env): { readonly settings: HookSettings; readonly path: string } {
  const provider: Provider | undefined = PROVIDERS.find((p) => p.name === name);
  const [root] = provider?.roots(env, userHome(env)) ?? [];
  if (provider?.hooks === undefined || root === undefined)
    throw new Failure("usage", `no hooks are known for ${JSON.stringify(name)}`, [`write one of: ${HOOKABLE.join(", ")}`]);
  return { settings: provider.hooks, path: resolvedPath(join(root, provider.hooks.file)) };
}

/** Settings are often a link into a folder that is kept elsewhere: that file is changed, and the link stays. */
function resolvedPath(path: string): string {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true ? realpathSync(path) : path;
}

const hasOurs = (settings: HookSettings, text: string | null) => text !== null && settings.commands(text).some(isOwnHook);

function changed(text: string | { readonly wrong: string }, path: string): string {
  if (typeof text === "string") return text;
  throw new Failure("failed", `${path} cannot be changed: ${text.wrong}`, ["mend it, then try again"]);
}

/** As it was before, to the byte, if nobody changed it since; otherwise without our hooks. */
function restored(settings: HookSettings, before: string | null, kept: string, path: string): string | null {
  if (!hasOurs(settings, before) || before === null) return before;
  const backup = readBackup(kept);
  return backup?.path === path && backup.after === before ? backup.before : changed(settings.uninstall(before), path);
}

interface Backup {
  readonly path: string;
  readonly before: string | null;
  readonly after: string | null;
}

const backupOf = (provider: string, env: Env) => join(retinueHome(env), "hooks", `${provider}.json`);

function readBackup(path: string): Backup | null {
  const text = textAt(path);
  return text === null ? null : (JSON.parse(text) as Backup);
}

function keepBackup(path: string, backup: Backup) {
  privateFolder(dirname(path));
  writePrivate(path, JSON.stringify(backup));
}

function textAt(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw new Failure("failed", `${path} cannot be read: ${(error as Error).message}`, [], error);
  }
}

/** Whole or not at all: an agent may read it at any moment. */
function write(path: string, text: string | null) {
  if (text === null) return rmSync(path, { force: true });
  const draft = `${path}.retinue-${process.pid}`;
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(draft, text, { mode: statSync(path, { throwIfNoEntry: false })?.mode ?? 0o600 });
    renameOver(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw new Failure("failed", `${path} cannot be written: ${(error as Error).message}`, [], error);
  }
}
