/**
 * The program that the hooks of all products call: a small script in retinue's own folder, which starts retinue with a
 * Node.js that exists. Settings of products therefore stay valid if Node.js or the package move. If none is found, the
 * script does nothing, and the agent continues as without the hook.
 */
import { accessSync, chmodSync, constants, existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { MAX_SETTINGS } from "../../core/tools/limits.ts";
import { privateFolder, writePrivate } from "../../transports/private.ts";
import { readText } from "../../transports/regular.ts";
import { renameOver } from "../../transports/system/rename.ts";
import { type Env, retinueHome, userHome } from "../home.ts";
import { ownFile } from "../own-files.ts";

/** What a launcher starts first. */
export interface Installation {
  readonly node: string;
  /** The folder of the package. */
  readonly folder: string;
}

/** What hooks load; it is missing while the package is replaced, and in a checkout that was not built. */
const ENTRY = "dist/app/hooks/hook.js";
const EXECUTABLE = 0o700;

export const thisInstallation = (): Installation => ({
  node: process.execPath,
  folder: dirname(ownFile("package.json")),
});

export const launcherPath = (env: Env, platform: string = process.platform): string =>
  resolve(retinueHome(env), "hooks", platform === "win32" ? "retinue.cmd" : "retinue");

/**
 * The command for settings of products. On Windows they run it with Git Bash or with cmd; a quoted path with forward
 * slashes works in both.
 */
export function hookCommand(launcher: string, platform: string = process.platform): string {
  const isPlain = platform !== "win32" && /^[\w@%+=:,./-]+$/.test(launcher);
  const path = platform === "win32" ? launcher.replaceAll("\\", "/") : launcher;
  return `${isPlain ? path : `"${path.replace(/(["\\$`])/g, "\\$1")}"`} hook`;
}

/** Writes the launcher. Atomic, because hooks may run at any moment. */
export function writeLauncher(env: Env, installation: Installation): void {
  const path = launcherPath(env);
  const text = launcherText(installation, env);
  if (launcherIn(env) !== text) {
    privateFolder(dirname(path));
    const draft = `${path}.${process.pid}`;
    writePrivate(draft, text);
    chmodSync(draft, EXECUTABLE);
    renameOver(draft, path);
  }
  chmodSync(path, EXECUTABLE);
}

/** Whether the launcher can be run, and starts what exists. */
export function isLauncherWhole(env: Env): boolean {
  const text = launcherIn(env);
  const [node, folder] = [valueIn(text ?? "", "node"), valueIn(text ?? "", "folder")];
  if (node === null || folder === null) return false;
  try {
    accessSync(launcherPath(env), constants.X_OK);
    accessSync(node, constants.X_OK);
  } catch {
    // It is missing, or not executable.
    return false;
  }
  return isBuilt(folder);
}

/** Whether the package contains what hooks load. */
export const isBuilt = (folder: string): boolean => existsSync(join(folder, ENTRY));

function launcherIn(env: Env): string | null {
  try {
    return readText(launcherPath(env), MAX_SETTINGS);
  } catch {
    // There is none yet, or something else has its name: writing it fails then.
    return null;
  }
}

/** A value that `launcherText` wrote, from the comment that both kinds of scripts have. */
function valueIn(text: string, name: string): string | null {
  const [, json] = new RegExp(`^(?:#|rem) ${name}: (".*")\\r?$`, "m").exec(text) ?? [];
  return json === undefined ? null : (JSON.parse(json) as string);
}

export const launcherText = (installation: Installation, env: Env, platform: string = process.platform): string =>
  platform === "win32" ? windowsLauncher(installation, userHome(env, platform)) : shellLauncher(installation);

/**
 * A candidate other than the first is tried with empty input before it gets the payload: then `hook` does nothing. The
 * variable ends a launcher that finds itself in PATH.
 */
const shellLauncher = ({ node, folder }: Installation) => `#!/bin/sh
# Starts retinue for the hooks of coding agents. Written by \`retinue hooks install\`, which writes it again.
# node: ${JSON.stringify(node)}
# folder: ${JSON.stringify(folder)}
node=${shellText(node)}
folder=${shellText(folder)}
entry=${ENTRY}
if [ -x "$node" ] && [ -f "$folder/$entry" ]; then exec "$node" "$folder/bin/retinue.js" "$@"; fi

[ -z "$RETINUE_LAUNCHER" ] || exit 0
export RETINUE_LAUNCHER=1
works() { "$@" hook </dev/null >/dev/null 2>&1; }
if works retinue; then exec retinue "$@"; fi
find_node() {
  [ -x "$1/node" ] || return 1
  for found in "$folder" "\${1%/bin}/lib/node_modules/retinue"; do
    if [ -f "$found/$entry" ] && works "$1/node" "$found/bin/retinue.js"; then return 0; fi
  done
  return 1
}
current=$(command -v node)
versions=\${node%/*/bin/node}
for bin in "\${current%/node}" "$versions"/*/bin "\${versions%/*}"/*/installation/bin /usr/local/bin /opt/homebrew/bin /usr/bin; do
  if find_node "$bin"; then exec "$bin/node" "$found/bin/retinue.js" "$@"; fi
done
exit 0
`;

const windowsLauncher = (installation: Installation, home: string) => {
  // A script is read in the code page of the system, so a name of a user must not be in it.
  const local = (path: string) =>
    path.toLowerCase().startsWith(`${home.toLowerCase()}\\`)
      ? `%USERPROFILE%${path.slice(home.length).replaceAll("%", "%%")}`
      : path.replaceAll("%", "%%");
  return `@echo off
rem Starts retinue for the hooks of coding agents. Written by \`retinue hooks install\`, which writes it again.
rem node: ${asciiJson(installation.node)}
rem folder: ${asciiJson(installation.folder)}
setlocal
set "entry=${ENTRY.replaceAll("/", "\\")}"
set "node=${local(installation.node)}"
set "folder=${local(installation.folder)}"
if exist "%node%" if exist "%folder%\\%entry%" goto start

for %%N in (node.exe) do set "current=%%~$PATH:N"
for %%N in ("%current%" "%ProgramFiles%\\nodejs\\node.exe" "%LOCALAPPDATA%\\Programs\\nodejs\\node.exe") do (
  for %%F in ("%folder%" "%APPDATA%\\npm\\node_modules\\retinue") do (
    if exist "%%~N" if exist "%%~F\\%entry%" (
      set "node=%%~N"
      set "folder=%%~F"
      "%%~N" "%%~F\\bin\\retinue.js" hook <nul >nul 2>&1 && goto start
    )
  )
)
exit /b 0

:start
"%node%" "%folder%\\bin\\retinue.js" %*
`.replaceAll("\n", "\r\n");
};

const shellText = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
const asciiJson = (text: string) =>
  JSON.stringify(text).replace(/[^ -~]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
