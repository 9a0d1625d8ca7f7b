import { readFileSync } from "node:fs";

/**
 * File systems that another system may write to, whose processes we cannot see: WSL drives, network shares, folders of
 * a virtual machine's host.
 */
const SHARED = /^(?:9p|drvfs|virtiofs|vboxsf|vmhgfs|prl_fs|nfs4?|cifs|smb3|ceph|fuse(?:\.(?!fuse-overlayfs).+)?)$/;

export interface Mount {
  readonly path: string;
  /** False for the root of a sandbox, even if it has such a type. */
  readonly isShared: boolean;
  /** A Windows drive in WSL. */
  readonly isWindows: boolean;
}

/** Parses `/proc/self/mountinfo`: `36 35 0:52 / /mnt/c rw,noatime - 9p C:\\134 rw,aname=drvfs;path=C:\\`. */
export function mountsOf(mountinfo: string): readonly Mount[] {
  return mountinfo.split("\n").flatMap((line) => {
    const [before = "", after] = line.split(" - ");
    const [, , , , path] = before.split(" ");
    if (path === undefined || after === undefined) return [];
    const [type = ""] = after.split(" ");
    return [
      {
        path: unescaped(path),
        isShared: path !== "/" && SHARED.test(type),
        isWindows: type === "drvfs" || /\baname=drvfs\b|^virtiofs drvfs/.test(after),
      },
    ];
  });
}

/** Spaces and backslashes are written in octal. */
const unescaped = (path: string) =>
  path.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));

const NONE: Mount = { path: "", isShared: false, isWindows: false };

/** The mount of a path: the innermost one, and the last of several at one place. */
export function mountOf(path: string, mounts: readonly Mount[] = ownMounts()): Mount {
  const above = mounts.filter(
    (mount) => mount.path === "/" || path === mount.path || path.startsWith(`${mount.path}/`),
  );
  return above.reduce((inner, mount) => (mount.path.length >= inner.path.length ? mount : inner), NONE);
}

const KNOWN_MS = 10_000;
let known: { readonly at: number; readonly mounts: readonly Mount[] } | null = null;

function ownMounts(): readonly Mount[] {
  if (known === null || performance.now() - known.at > KNOWN_MS)
    known = { at: performance.now(), mounts: mountsOf(mountinfo()) };
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
