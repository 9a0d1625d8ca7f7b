import { statSync } from "node:fs";
import { win32 } from "node:path";

/** How a command is started so that it runs as it would from a shell. */
export interface Launched {
  readonly program: string;
  readonly args: readonly string[];
  /** Windows: the arguments are quoted already. */
  readonly windowsVerbatimArguments?: true;
}

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Elsewhere than on Windows the system finds the program by itself. Windows finds only `.exe` files, while npm installs programs as `.cmd` files, which have to be
 * run by its shell; Node.js refuses to start those directly.
 */
export function launch(command: readonly string[], env: Env, platform: string = process.platform, isFile = isFileAt): Launched {
  const [program = "", ...args] = command;
  const found = platform === "win32" ? find(program, env, isFile) : null;
  if (found === null || !/\.(?:cmd|bat)$/i.test(found)) return { program: found ?? program, args };
  const line = [escaped(win32.normalize(found)), ...args.map((arg) => escaped(escaped(quoted(arg))))].join(" ");
  return { program: variable(env, "ComSpec") ?? "cmd.exe", args: ["/d", "/s", "/c", `"${line}"`], windowsVerbatimArguments: true };
}

/** Along PATH, with each of the endings of PATHEXT unless the name has one; not in the current folder, which may be anybody's project. Null if nowhere. */
function find(program: string, env: Env, isFile: (path: string) => boolean): string | null {
  const endings = (variable(env, "PATHEXT") ?? ".COM;.EXE;.BAT;.CMD").split(";").filter((ending) => ending !== "");
  const hasEnding = endings.some((ending) => program.toLowerCase().endsWith(ending.toLowerCase()));
  const folders = /[\\/]/.test(program) ? [""] : (variable(env, "PATH") ?? "").split(";").filter((folder) => folder !== "");
  for (const folder of folders)
    for (const ending of hasEnding ? [""] : endings) {
      const path = (folder === "" ? program : win32.join(folder.replace(/^"(.*)"$/, "$1"), program)) + ending.toLowerCase();
      if (isFile(path)) return path;
    }
  return null;
}

/** Names of variables have no case on Windows; a copy of the environment has. */
function variable(env: Env, name: string): string | undefined {
  return Object.entries(env).find(([key]) => key.toUpperCase() === name.toUpperCase())?.[1];
}

function isFileAt(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

/** As programs of Windows take their command line apart: backslashes count only before a quote. */
const quoted = (arg: string) => `"${arg.replace(/(\\*)"/g, '$1$1\\"').replace(/(\\+)$/, "$1$1")}"`;

/** For Windows' shell. What a `.cmd` file passes on with `%*` is read by the shell a second time, so arguments are escaped twice. */
const escaped = (text: string) => text.replace(/([()\][%!^"`<>&|;, *?])/g, "^$1");

/** Signals to hand on to a wrapped command, and those that a terminal sends to it as well. Windows has no signals: closing its console or Ctrl-C reaches every program in it. */
export function signalsOf(platform: string): { readonly forwarded: readonly NodeJS.Signals[]; readonly fromTerminal: readonly NodeJS.Signals[] } {
  return platform === "win32"
    ? { forwarded: [], fromTerminal: ["SIGINT", "SIGBREAK", "SIGHUP"] }
    : { forwarded: ["SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2"], fromTerminal: ["SIGINT", "SIGQUIT"] };
}
