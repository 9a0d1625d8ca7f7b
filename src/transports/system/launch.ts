import { statSync } from "node:fs";
import { win32 } from "node:path";

/** How to start a command as a shell would. */
export interface Launched {
  readonly program: string;
  readonly args: readonly string[];
  /** Windows: the arguments are already quoted. */
  readonly windowsVerbatimArguments?: true;
}

type Env = Readonly<Record<string, string | undefined>>;

/**
 * On other systems the kernel finds the program. Windows finds only `.exe` files, but npm installs `.cmd` files, which
 * must be run by its shell; Node.js refuses to start them directly.
 */
export function launch(
  command: readonly string[],
  env: Env,
  platform: string = process.platform,
  isFile = isFileAt,
): Launched {
  const [program = "", ...args] = command;
  const found = platform === "win32" ? find(program, env, isFile) : null;
  if (found === null || !/\.(?:cmd|bat)$/i.test(found)) return { program: found ?? program, args };
  const line = [escaped(win32.normalize(found)), ...args.map((arg) => escaped(escaped(quoted(arg))))].join(" ");
  return {
    program: variable(env, "ComSpec") ?? "cmd.exe",
    args: ["/d", "/s", "/c", `"${line}"`],
    windowsVerbatimArguments: true,
  };
}

/**
 * Searches PATH with the extensions of PATHEXT; not the current folder, which may be an untrusted project. Null if not
 * found.
 */
function find(program: string, env: Env, isFile: (path: string) => boolean): string | null {
  const endings = (variable(env, "PATHEXT") ?? ".COM;.EXE;.BAT;.CMD").split(";").filter((ending) => ending !== "");
  const hasEnding = endings.some((ending) => program.toLowerCase().endsWith(ending.toLowerCase()));
  const folders = /[\\/]/.test(program)
    ? [""]
    : (variable(env, "PATH") ?? "").split(";").filter((folder) => folder !== "");
  for (const folder of folders)
    for (const ending of hasEnding ? [""] : endings) {
      const path =
        (folder === "" ? program : win32.join(folder.replace(/^"(.*)"$/, "$1"), program)) + ending.toLowerCase();
      if (isFile(path)) return path;
    }
  return null;
}

/** Variable names are case-insensitive on Windows, but not in a copied environment. */
function variable(env: Env, name: string): string | undefined {
  return Object.entries(env).find(([key]) => key.toUpperCase() === name.toUpperCase())?.[1];
}

function isFileAt(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

/** Quoting as Windows programs parse it: backslashes are special only before a quote. */
const quoted = (arg: string) => `"${arg.replace(/(\\*)"/g, '$1$1\\"').replace(/(\\+)$/, "$1$1")}"`;

/** For cmd.exe. Arguments that a `.cmd` file passes on with `%*` are parsed twice, so they are escaped twice. */
const escaped = (text: string) => text.replace(/([()\][%!^"`<>&|;, *?])/g, "^$1");

/**
 * Signals to forward to a wrapped command, and those that a terminal sends to it anyway. Windows has no signals: Ctrl-C
 * and closing the console reach all programs in it.
 */
export function signalsOf(platform: string): {
  readonly forwarded: readonly NodeJS.Signals[];
  readonly fromTerminal: readonly NodeJS.Signals[];
} {
  return platform === "win32"
    ? { forwarded: [], fromTerminal: ["SIGINT", "SIGBREAK", "SIGHUP"] }
    : { forwarded: ["SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2"], fromTerminal: ["SIGINT", "SIGQUIT"] };
}
