import { expect, it } from "vitest";
import { sampleAgent } from "./sample.ts";
import { isSharedThread, serverName } from "./sharing.ts";
import type { Sharing } from "./types.ts";

const sharing = (projects: readonly string[], ignoresCase = false): Sharing => ({
  url: "https://team.example/agents",
  level: "full",
  projects,
  ignoresCase,
  waiting: null,
});
const isShared = (of: Sharing, cwd: string | null) => isSharedThread(of, sampleAgent("a", null, { cwd }));

it("a thread is shared by its folder", () => {
  const some = sharing(["/home/dev/work", "/srv"]);
  expect(
    ["/home/dev/work/shop", "/srv", "/home/dev/worker", "/home/dev", null].map((cwd) => isShared(some, cwd)),
  ).toEqual([true, true, false, false, false]);
  expect([
    isShared(sharing([]), null),
    isShared(sharing(["/Work"]), "/work"),
    isShared(sharing(["/Work"], true), "/work"),
  ]).toEqual([true, false, true]);
  expect(serverName(some)).toBe("team.example/agents");
});
