import { expect, it } from "vitest";
import { renameOver } from "./rename.ts";

/** Fails the given number of times. */
function refusing(times: number, code: string) {
  let left = times;
  const tries: string[] = [];
  const rename = (from: unknown, to: unknown) => {
    tries.push(`${from} ${to}`);
    if (left-- > 0) throw Object.assign(new Error(code), { code });
  };
  return { rename, tries };
}

it.each(["EPERM", "EACCES", "EBUSY"])("waits on Windows until the file is closed: %s", (code) => {
  const { rename, tries } = refusing(2, code);
  renameOver("a", "b", "win32", rename);
  expect(tries).toEqual(["a b", "a b", "a b"]);
});

it("gives up after eight attempts with growing pauses, and immediately if waiting does not help", () => {
  const busy = refusing(100, "EBUSY");
  const pauses: number[] = [];
  expect(() => renameOver("a", "b", "win32", busy.rename, (ms) => pauses.push(ms))).toThrow("EBUSY");
  expect(busy.tries).toHaveLength(8);
  expect(pauses).toEqual([10, 20, 40, 80, 160, 320, 640]);
  for (const [platform, code] of [
    ["win32", "ENOSPC"],
    ["linux", "EPERM"],
    ["darwin", "EACCES"],
  ] as const) {
    const { rename, tries } = refusing(1, code);
    expect(() => renameOver("a", "b", platform, rename)).toThrow(code);
    expect(tries).toHaveLength(1);
  }
});
