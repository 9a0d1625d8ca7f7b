/**
 * `npm run test:soak`: a busy machine for ten minutes, and one very long transcript. Checks that memory and handles do
 * not grow, that an idle server uses no CPU, and that everything that was written is found.
 *
 *   npm run test:soak -- --minutes 10 --threads 20 --agents 300 --rate 800 --lines 1000000 --write
 *
 * Linux only, because it reads /proc. All files are created in the temporary folder and removed at the end.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir, totalmem } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { bytes, thousands } from "../bench/format.ts";
import { readLong, soak } from "./soak.ts";
import { checksOf, checksTable, isGood, readsTable, samplesTable } from "./verdict.ts";

const ROOT = join(import.meta.dirname, "../..");
const PAGE = join(ROOT, "docs/reliability.md");
const TITLE = "## Soak";

const { values: given } = parseArgs({
  options: {
    minutes: { type: "string", default: "10" },
    threads: { type: "string", default: "20" },
    agents: { type: "string", default: "300" },
    rate: { type: "string", default: "800" },
    lines: { type: "string", default: "1000000" },
    write: { type: "boolean", default: false },
  },
});
const [minutes, threads, agents, rate, lines] = [
  given.minutes,
  given.threads,
  given.agents,
  given.rate,
  given.lines,
].map(Number) as [number, number, number, number, number];

const scratch = mkdtempSync(join(tmpdir(), "retinue-soak-"));
process.on("exit", () => rmSync(scratch, { recursive: true, force: true }));
const notify = (text: string) => process.stderr.write(`${text}\n`);
notify("building retinue");
execFileSync(process.execPath, [join(ROOT, "scripts/build.ts")], { stdio: "inherit" });

notify(`${threads} threads, ${agents} agents, ${rate} records a second, for ${minutes} minutes`);
const soaked =
  minutes === 0
    ? null
    : await soak(join(scratch, "busy"), {
        seconds: 60 * minutes,
        threads,
        agents,
        rate,
        sampleSeconds: 2,
        idleSeconds: 10,
        releaseSeconds: 170,
        notify,
      });
notify(`a transcript of ${thousands(lines)} lines`);
const reads = lines === 0 ? [] : await readLong(join(scratch, "long"), lines);
const checks = soaked === null ? [] : checksOf(soaked);

const machine = `${cpus().length} cores (${cpus()[0]?.model.trim() ?? "unknown"}), ${bytes(totalmem())} of memory, ${process.platform} ${process.arch}, Node ${process.version}`;
const parts = [TITLE, `\`npm run test:soak\`, on ${new Date().toISOString().slice(0, 10)}: ${machine}.`];
if (soaked !== null)
  parts.push(
    `\`retinue serve\` while ${threads} threads with ${agents} agents write ${thousands(Math.round(soaked.written.records / minutes / 60))} records a second for ${minutes} minutes (${thousands(soaked.written.records)} records). A client follows the live stream like the dashboard's page of a thread and received ${thousands(soaked.messages)} messages; ${thousands(soaked.requests)} requests went through \`retinue proxy\`. The client was up to date ${soaked.caughtUpSeconds.toFixed(1)} s after the last record.`,
    samplesTable(soaked.samples),
    checksTable(checks),
  );
if (reads.length > 0)
  parts.push(`One transcript of ${thousands(lines)} lines, read for the first time:`, readsTable(reads));
const section = parts.join("\n\n");
console.log(section);
if (given.write)
  writeFileSync(PAGE, withSection(existsSync(PAGE) ? readFileSync(PAGE, "utf8") : "# Reliability\n", section));
process.exitCode = checks.every(({ holds }) => holds) && reads.every(isGood) ? 0 : 1;

/** Replaces the section in the page, or appends it. */
function withSection(page: string, text: string): string {
  const sections = page.split(/^(?=## )/m);
  const at = sections.findIndex((one) => one.startsWith(`${TITLE}\n`));
  const put = `${text}\n${at >= 0 && at < sections.length - 1 ? "\n" : ""}`;
  return at < 0 ? `${page.trimEnd()}\n\n${put}` : sections.with(at, put).join("");
}
