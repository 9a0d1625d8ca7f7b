import { spawn } from "node:child_process";

type Env = Readonly<Record<string, string | undefined>>;

/** The command that opens an address in the user's browser; null where there is no screen. No shell is in between, to which `&` would mean something. */
export function browserCommand(address: string, platform: string, env: Env): readonly string[] | null {
  const windows = ["rundll32.exe", "url.dll,FileProtocolHandler", address];
  if (platform === "win32") return windows;
  if (platform === "darwin") return ["open", address];
  // Below WSL the browser is that of Windows.
  if (env.WSL_DISTRO_NAME) return windows;
  return env.DISPLAY || env.WAYLAND_DISPLAY ? ["xdg-open", address] : null;
}

export function openBrowser(address: string, talk: (words: string) => void): void {
  const [program, ...args] = browserCommand(address, process.platform, process.env) ?? [];
  if (program === undefined) return;
  const child = spawn(program, args, { stdio: "ignore", detached: true });
  child.on("error", () => talk("no browser could be opened; the address above is the dashboard's"));
  child.unref();
}
