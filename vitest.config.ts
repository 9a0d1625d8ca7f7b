import { defineConfig } from "vitest/config";

/** `vitest run` is the ordinary suite; `vitest run --mode real` runs the real products, which takes minutes and downloads. */
export default defineConfig(({ mode }) => ({
  test: {
    include:
      mode === "real" ? ["test/**/*.real.test.ts"] : ["src/**/*.test.ts", "web/src/**/*.test.ts", "test/**/*.test.ts"],
    exclude: mode === "real" ? [] : ["test/**/*.real.test.ts"],
    // A missing assertion is a test that cannot fail.
    expect: { requireAssertions: true },
    globalSetup: "test/support/global-setup.ts",
    setupFiles: "test/support/setup.ts",
    // By default one core is left idle: half of a small machine.
    maxWorkers: "100%",
    // Real processes on a busy machine take their time.
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
}));
