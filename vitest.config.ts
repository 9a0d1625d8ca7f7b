import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { LongestFirst } from "./test/support/longest-first.ts";
import { useScratchInMemory } from "./test/support/scratch.ts";

const REAL = "test/**/*.real.test.ts";
/** Replaces a module that other tests use, too. */
const MOCKING = "test/products/example-provider.test.ts";

/** Pages that are the same on one machine and on a team server, which needs PostgreSQL. */
const ON_BOTH = ["explain", "hostile", "live", "log", "pages", "pictures"].map(
  (name) => `test/dashboard/${name}.test.ts`,
);

const ON_A_TEAM_SERVER = {
  extends: true as const,
  test: { name: "team", include: ON_BOTH, isolate: false, env: { RETINUE_TEST_DASHBOARD: "team" } },
};

/** `vitest run` is the ordinary suite; `vitest run --mode real` runs the real products, which takes minutes and downloads. */
export default defineConfig(({ mode }) => {
  if (mode !== "real") process.once("exit", useScratchInMemory());
  return {
    test: {
      // A missing assertion is a test that cannot fail.
      expect: { requireAssertions: true },
      globalSetup: "test/support/global-setup.ts",
      setupFiles: "test/support/setup.ts",
      // Tests wait for processes, timers and the disk, and a worker takes less than a second to start: three for each core.
      maxWorkers: mode === "real" ? "100%" : 3 * availableParallelism(),
      // Tests make a lot of short-lived objects; a larger young generation saves a twentieth of the CPU time.
      // Half of the usual stack: trees that exceed it are half as deep, and linking them takes half as long.
      execArgv: ["--max-semi-space-size=64", "--stack-size=492"],
      sequence: { sequencer: LongestFirst },
      // Real processes on a busy machine take their time.
      testTimeout: 600_000,
      hookTimeout: 600_000,
      projects:
        mode === "real"
          ? [{ extends: true, test: { name: "real", include: [REAL] } }]
          : [
              {
                extends: true,
                test: {
                  name: "shared",
                  include: ["src/**/*.test.ts", "web/src/**/*.test.ts", "test/**/*.test.ts"],
                  exclude: [REAL, MOCKING],
                  // All files of a worker share their modules and one browser, which saves a tenth of the time.
                  isolate: false,
                },
              },
              { extends: true, test: { name: "mocking", include: [MOCKING] } },
              ...(process.platform === "win32" ? [] : [ON_A_TEAM_SERVER]),
            ],
    },
  };
});
