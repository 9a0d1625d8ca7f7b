/** The key `a` in `retinue watch`, on a real terminal: the product uses the terminal until it ends. */
import { spawn } from "node:child_process";
import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { MAIN } from "../support/cli.ts";
import { homeEnv, recordedHome } from "../support/fixtures.ts";
import { isTool } from "../support/needs.ts";

const HAS_PTY = isTool("script", "-qec", "true", "/dev/null");

it("starts the product to continue an agent, and shows the tree again when the product has ended", async ({ skip }) => {
  skip(!HAS_PTY, "no util-linux script, which makes a terminal");
  const folder = mkdtempSync(join(tmpdir(), "retinue-attach-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  // Replaces the product: prints its arguments and reads a line from the terminal.
  const product = join(folder, "claude");
  writeFileSync(product, '#!/bin/sh\necho "product: $1 $3"\nread line\necho "read: $line"\n');
  chmodSync(product, 0o755);
  const env = {
    ...homeEnv(recordedHome("claude", "c-nested").home),
    PATH: `${folder}:${process.env.PATH ?? ""}`,
    RETINUE_HOME: join(folder, "data"),
    TERM: "xterm",
  };
  const command = `'${process.execPath}' '${MAIN}' watch`;
  const terminal = spawn("script", ["-qefc", command, "/dev/null"], { env, stdio: ["pipe", "pipe", "inherit"] });
  onTestFinished(() => void terminal.kill("SIGKILL"));
  const ended = new Promise((resolve) => terminal.on("close", resolve));
  let [output, seen] = ["", 0];
  terminal.stdout.on("data", (part: Buffer) => {
    output += part.toString("utf8");
  });
  /** Waits for a text after the one that was waited for before. */
  const shows = async (text: string) => {
    await expect.poll(() => output.indexOf(text, seen), { timeout: 60_000 }).toBeGreaterThanOrEqual(0);
    seen = output.indexOf(text, seen) + text.length;
  };
  const press = (keys: string) => terminal.stdin.write(keys);

  await shows("Nest. @@main");
  press("l");
  await shows("Level L3");
  press("a");
  await shows("as a session of its own?");
  press("a");
  await shows("product: --resume --fork-session");
  press("hello\r");
  await shows("read: hello");
  await shows("running first");
  // `watch` receives the keys again.
  press("\r");
  await shows("press a, or run: retinue attach");
  press("qq");
  expect(await ended).toBe(0);
  expect(readdirSync(join(folder, "data/attached/claude"))).toHaveLength(1);
});
