/** What `retinue doctor` reports about limits: errors of the guard, which agents do not see, and broken hooks. */
import { spawn } from "node:child_process";
import type { Problem } from "../../core/facts/problem.ts";
import { duration } from "../../core/tools/format.ts";
import type { Env } from "../home.ts";
import { hookStates } from "../hooks/hook-install.ts";
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

/** Runs the installed hooks with a payload that they ignore: they must exit with 0 and print nothing. */
export async function hookProblems(env: Env, patienceMs = PATIENCE_MS): Promise<readonly Problem[]> {
  const states = hookStates(env).flatMap(({ path, commands }) => commands.map((command) => ({ path, command })));
  const found = await Promise.all(
    states.map(async ({ path, command }): Promise<readonly Problem[]> => {
      const problem = await problemOf(wordsIn(command), env, patienceMs);
      return problem === null ? [] : [{ code: "hook-broken", where: path, detail: `${command} ${problem}` }];
    }),
  );
  return found.flat();
}

/** The words of a command as `hookCommand` writes it. */
const wordsIn = (command: string): readonly string[] =>
  [...command.matchAll(/"((?:[^"\\]|\\.)*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, plain]) => double?.replace(/\\(.)/g, "$1") ?? single ?? plain ?? "",
  );

function problemOf([program = "", ...args]: readonly string[], env: Env, patienceMs: number): Promise<string | null> {
  return new Promise((resolve) => {
    const child = spawn(program, args, { env: env as NodeJS.ProcessEnv, stdio: ["pipe", "pipe", "pipe"] });
    let output = "";
    const timer = setTimeout(() => {
      child.kill("SIGKILL");
      resolve(`does not return within ${duration(patienceMs)}`);
    }, patienceMs);
    const done = (problem: string | null) => {
      clearTimeout(timer);
      resolve(problem);
    };
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (part: Buffer) => {
        output += part.toString("utf8");
      });
    child.on("error", ({ message }) => done(`cannot be started: ${message}`));
    child.on("close", (code) => {
      const last = output.trim().split("\n").at(-1) ?? "";
      if (code !== 0) done(`exits with ${code}${last === "" ? "" : `: ${last}`}`);
      else done(last === "" ? null : `prints ${JSON.stringify(last)}`);
    });
    child.stdin.on("error", () => {});
    child.stdin.end("{}");
  });
}
