/**
 * Commands that an agent waits for: `retinue hook` and `retinue statusline`, with and without a server.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { held, markdownTable } from "./format.ts";
import { writeHome } from "./home.ts";
import { Serving } from "./serving.ts";

const ROOT = join(import.meta.dirname, "../..");
const RUNS = 20;

const inMs = (seconds: number) => `${Math.round(seconds * 1000)} ms`;

/** Maximum wall time in seconds. */
const LIMITS = { hook: 0.06, statusline: 0.15 } as const;

export async function quickSection(scratch: string): Promise<string> {
  const home = join(scratch, "quick");
  mkdirSync(home, { recursive: true });
  writeHome(join(home, ".claude"), { bytes: 20_000_000, sessions: 40, seed: 1 });
  const env = { PATH: process.env.PATH ?? "", HOME: home, RETINUE_HOME: join(home, "data") };
  const transcript = newestTranscript(join(home, ".claude/projects"));
  const session = /([^/]+)\.jsonl$/.exec(transcript)?.[1] ?? "";
  const payload = (bytes: number) =>
    JSON.stringify({
      session_id: session,
      transcript_path: transcript,
      hook_event_name: "UserPromptSubmit",
      prompt: "x".repeat(bytes),
    });
  const request = JSON.stringify({ session_id: session, transcript_path: transcript });
  const timed = (args: readonly string[], input: string) =>
    middle(Array.from({ length: RUNS }, () => took(args, input, env)));
  const bare = timed(["-e", "0"], "");
  const program = join(ROOT, "bin/retinue.js");
  const all = (where: string) => [
    row(`\`retinue hook\`, 1 KB${where}`, timed([program, "hook"], payload(1_000)), bare, LIMITS.hook),
    row(`\`retinue hook\`, 1 MB${where}`, timed([program, "hook"], payload(1_000_000)), bare, LIMITS.hook),
    row(`\`retinue statusline\`${where}`, timed([program, "statusline"], request), bare, LIMITS.statusline),
  ];
  const alone = all(", no server");
  // A server that still reads the home would compete with the commands for the processors.
  const serving = await Serving.start(home);
  const served = all(", with a server");
  await serving.stop();
  const head = ["", "wall", "without Node.js start-up", "limit"];
  return `## Hook and status line\n\nMedian of ${RUNS} runs. Node.js itself takes ${inMs(bare)} to start.\n\n${markdownTable(head, [...alone, ...served])}`;
}

function took(args: readonly string[], input: string, env: Record<string, string>): number {
  const began = performance.now();
  const { status } = spawnSync(process.execPath, args, { input, env });
  if (status !== 0) throw new Error(`${args.join(" ")} ends with ${status}`);
  return (performance.now() - began) / 1000;
}

const middle = (times: readonly number[]) =>
  times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN;
const row = (name: string, wall: number, bare: number, limit: number) => [
  name,
  inMs(wall),
  inMs(wall - bare),
  held(inMs(limit), wall <= limit),
];

function newestTranscript(projects: string): string {
  const found = readdirSync(projects, { withFileTypes: true, recursive: true }).flatMap((entry) =>
    entry.isFile() && /^[0-9a-f-]{36}\.jsonl$/.test(entry.name) ? [join(entry.parentPath, entry.name)] : [],
  );
  return found.at(-1) ?? "";
}
