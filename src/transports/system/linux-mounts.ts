import { readFileSync } from "node:fs";

/** File systems that another system or machine may write to as well, without our seeing its processes: WSL's drives, network shares, folders of a virtual machine's host. */
const SHARED = /^(?:9p|drvfs|virtiofs|vboxsf|vmhgfs|prl_fs|nfs4?|cifs|smb3|ceph|fuse(?:\.(?!fuse-overlayfs).+)?)$/;

export interface Mount {
  readonly path: string;
  /** A sandbox's own root may be of such a kind, and is not shared for that. */
  readonly isShared: boolean;
  /** A drive of Windows below WSL. */
  readonly isWindows: boolean;
}

/** By `/proc/self/mountinfo`, one on each line: `36 35 0:52 / /mnt/c rw,noatime - 9p C:\\134 rw,aname=drvfs;path=C:\\`. */
export function mountsOf(mountinfo: string): readonly Mount[] {
  return mountinfo.split("\n").flatMap((line) => {
    const [before = "", after] = line.split(" - ");
    const [, , , , path] = before.split(" ");
    if (path === undefined || after === undefined) return [];
    const [type = ""] = after.split(" ");
    return [
      { path: unescaped(path), isShared: path !== "/" && SHARED.test(type), isWindows: type === "drvfs" || /\baname=drvfs\b|^virtiofs drvfs/.test(after) },
    ];
  });
}

/** Blanks and backslashes are written in octal. */
const unescaped = (path: string) => path.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));

const NONE: Mount = { path: "", isShared: false, isWindows: false };

/** The mount that a path lies on: the innermost one, and of several at one place the last. */
export function mountOf(path: string, mounts: readonly Mount[] = ownMounts()): Mount {
  const above = mounts.filter((mount) => mount.path === "/" || path === mount.path || path.startsWith(`${mount.path}/`));
  return above.reduce((inner, mount) => (mount.path.length >= inner.path.length ? mount : inner), NONE);
}

const KNOWN_MS = 10_000;
let known: { readonly at: number; readonly mounts: readonly Mount[] } | null = null;

function ownMounts(): readonly Mount[] {
  if (known === null || performance.now() - known.at > KNOWN_MS) known = { at: performance.now(), mounts: mountsOf(mountinfo()) };
  return known.mounts;
}

function mountinfo(): string {
  try {
    return readFileSync("/proc/self/mountinfo", "utf8");
  } catch {
    // Hidden, or not Linux.
    return "";
  }
}
