import { linux } from "./linux.ts";
import { macos } from "./macos.ts";
import { exists, type System } from "./system.ts";
import { windows } from "./windows.ts";

/** An unsupported system: a pid without a process is gone, everything else is unknown. */
const other = (platform: string): System => ({
  process: (pid) => (exists(pid) ? "unknown" : "gone"),
  isBirth: () => null,
  isOwnDomain: (domain) => domain.split(":")[0] === platform,
  mark: () => ({ birth: null, domain: platform }),
  writers: () => "unknown",
  lock: () => "unknown",
  means: {
    processes: `not known on ${platform}`,
    writers: `not known on ${platform}`,
    locks: `not known on ${platform}`,
  },
});

export function systemOf(platform: string): System {
  switch (platform) {
    case "linux":
    case "android":
      return linux;
    case "darwin":
      return macos();
    case "win32":
      return windows();
    default:
      return other(platform);
  }
}

/** The current system. */
export const system = systemOf(process.platform);
