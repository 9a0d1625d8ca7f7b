import { spawn } from "node:child_process";

type Env = Readonly<Record<string, string | undefined>>;

/**
 * The command that opens a URL in the user's browser, or null without a display. Runs no shell, because `&` in the URL
 * would be special to it.
 */
export function browserCommand(address: string, platform: string, env: Env): readonly string[] | null {
  const windows = ["rundll32.exe", "url.dll,FileProtocolHandler", address];
  if (platform === "win32") return windows;
  if (platform === "darwin") return ["open", address];
  // On WSL, use the browser of Windows.
  if (env.WSL_DISTRO_NAME) return windows;
  return env.DISPLAY || env.WAYLAND_DISPLAY ? ["xdg-open", address] : null;
}

export function openBrowser(address: string, notify: (text: string) => void): void {
  const [program, ...args] = browserCommand(address, process.platform, process.env) ?? [];
  if (program === undefined) return;
  const child = spawn(program, args, { stdio: "ignore", detached: true });
  child.on("error", () => notify("could not open a browser; open the address above"));
  child.unref();
}
