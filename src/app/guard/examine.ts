/** What `retinue doctor` reports about limits: errors of the guard, which agents do not see, and hooks that are broken or old. */
import { spawn } from "node:child_process";
import type { Problem } from "../../core/facts/problem.ts";
import { duration } from "../../core/tools/format.ts";
import { normal } from "../../transports/system/paths.ts";
import type { Env } from "../home.ts";
import { hookStates } from "../hooks/hook-install.ts";
import { isBuilt, isLauncherWhole, launcherPath, thisInstallation, writeLauncher } from "../hooks/launcher.ts";
import { productVersion } from "../version.ts";
import { guardFolder } from "./limits-file.ts";
import { lastTrouble } from "./trouble.ts";

/** The last error, if there was one in the last days. */
export function guardProblems(env: Env, now: number): readonly Problem[] {
  const trouble = lastTrouble(env);
  if (trouble === null || now - trouble.at > RECENT_MS) return [];
  const detail = `${new Date(trouble.at).toISOString()}: ${trouble.error}`;
  return [{ code: "limits-not-enforced", where: guardFolder(env), detail }];
}

const RECENT_MS = 7 * 24 * 3_600_000;
/** Products give up on a hook after some seconds. */
const PATIENCE_MS = 5_000;

/**
 * Runs the installed hooks with a payload that they ignore: they must exit with 0 and print nothing. Writes the launcher
 * again if hooks call it and it starts something that is gone.
 */
export async function hookProblems(env: Env, patienceMs = PATIENCE_MS): Promise<readonly Problem[]> {
  const states = hookStates(env).flatMap(({ commands, ...state }) =>
    commands.map((command) => ({ ...state, command, words: wordsIn(command) })),
  );
  const mended = states.some(({ words: [program] }) => isSame(program, launcherPath(env))) ? mendLauncher(env) : [];
  const found = await Promise.all(
    states.map(async ({ provider, path, command, words }): Promise<readonly Problem[]> => {
      const broken = await problemOf(words, env, patienceMs);
      if (broken !== null) return [{ code: "hook-broken", where: path, detail: `${command} ${broken}` }];
      const next = `next: retinue hooks install ${provider}`;
      const [program = ""] = words;
      if (/retinue\.js$/.test(words[1] ?? ""))
        return [{ code: "hook-outdated", where: path, detail: `${command} names the paths of one Node.js; ${next}` }];
      if (!LAUNCHER.test(program)) return [];
      const { output } = await outputOf([program, "--version"], env, patienceMs);
      if (output === "")
        return [{ code: "hook-broken", where: path, detail: `${program} finds no Node.js and retinue; ${next}` }];
      if (output === productVersion()) return [];
      return [{ code: "hook-outdated", where: path, detail: `${program} starts version ${output}; ${next}` }];
    }),
  );
  return [...mended, ...found.flat()];
}

const LAUNCHER = /[\\/]hooks[\\/]retinue(?:\.cmd)?$/;
const isSame = (a = "", b = "") => normal(a) === normal(b);

function mendLauncher(env: Env): readonly Problem[] {
  if (isLauncherWhole(env)) return [];
  const where = launcherPath(env);
  const { node, folder } = thisInstallation();
  if (!isBuilt(folder))
    return [{ code: "hook-broken", where, detail: `it starts nothing, and ${folder} is not built; run npm run build` }];
  try {
    writeLauncher(env, { node, folder });
    return [{ code: "hook-mended", where, detail: `it starts ${node} with ${folder}` }];
  } catch (error) {
    return [{ code: "hook-broken", where, detail: `it cannot be written: ${(error as Error).message}` }];
  }
}

/** The words of a command as `hookCommand` writes it. */
const wordsIn = (command: string): readonly string[] =>
  [...command.matchAll(/"((?:[^"\\]|\\.)*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, plain]) => double?.replace(/\\(.)/g, "$1") ?? single ?? plain ?? "",
  );

async function problemOf(words: readonly string[], env: Env, patienceMs: number): Promise<string | null> {
  const { failure, output } = await outputOf(words, env, patienceMs);
  return failure ?? (output === "" ? null : `prints ${JSON.stringify(output)}`);
}

interface Ended {
  /** Null if it ended with 0. */
  readonly failure: string | null;
  /** The last line. */
  readonly output: string;
}

function outputOf([program = "", ...args]: readonly string[], env: Env, patienceMs: number): Promise<Ended> {
  return new Promise((resolve) => {
    // Windows starts scripts by their shell.
    const shell = program.endsWith(".cmd");
    const child = spawn(shell ? `"${program}"` : program, args, {
      env: env as NodeJS.ProcessEnv,
      shell,
      stdio: "pipe",
    });
    let output = "";
    const timer = setTimeout(() => {
      child.kill("SIGKILL");
      resolve({ failure: `does not return within ${duration(patienceMs)}`, output: "" });
    }, patienceMs);
    const done = (failure: string | null, last = "") => {
      clearTimeout(timer);
      resolve({ failure, output: last });
    };
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (part: Buffer) => {
        output += part.toString("utf8");
      });
    child.on("error", ({ message }) => done(`cannot be started: ${message}`));
    child.on("close", (code) => {
      const last = output.trim().split("\n").at(-1) ?? "";
      done(code === 0 ? null : `exits with ${code}${last === "" ? "" : `: ${last}`}`, last);
    });
    child.stdin.on("error", () => {});
    child.stdin.end("{}");
  });
}
