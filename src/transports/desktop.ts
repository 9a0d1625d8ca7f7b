import { execFile } from "node:child_process";

/** The command that shows a notice on the desktop; null if the system has none. */
export function noticeCommand(text: string, platform: string): readonly [string, ...string[]] | null {
  if (platform === "linux") return ["notify-send", "--app-name=retinue", "--", "retinue", text];
  if (platform === "darwin")
    return [
      "osascript",
      "-e",
      "on run argv",
      "-e",
      'display notification (item 1 of argv) with title "retinue"',
      "-e",
      "end run",
      text,
    ];
  return null;
}

const PATIENCE_MS = 5_000;

/** Shows a notice. Returns why it could not be shown; null if it was. Never throws. */
export function showNotice(
  text: string,
  env: Readonly<Record<string, string | undefined>>,
  platform: string = process.platform,
): Promise<string | null> {
  const command = noticeCommand(text, platform);
  if (command === null) return Promise.resolve(`desktop notices are not supported on ${platform}`);
  const [program, ...args] = command;
  return new Promise((resolve) => {
    const child = execFile(program, args, { env: env as NodeJS.ProcessEnv, timeout: PATIENCE_MS }, (error) =>
      resolve(error === null ? null : `${program}: ${error.message.split("\n")[0]}`),
    );
    child.on("error", (error) => resolve(`${program}: ${error.message}`));
  });
}
