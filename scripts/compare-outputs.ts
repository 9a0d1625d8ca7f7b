/**
 * Compares what another checkout and this one print for every recording: the proof that a change of the readers changes
 * no output. The command lines run in this process, which takes a fraction of the time of one process each.
 *
 *     npm run compare-outputs -- <other checkout> [<folder of recordings> ...] [--only <provider>]
 *
 * A folder contains `<provider>/<case>/home`, like fixtures/, which is the default. Live recordings of a case
 * (`<case>/recordings`) are read together with its home, and the home is read alone, too.
 */
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import type { runCli } from "../src/cli/cli.ts";
import { homeEnv } from "../test/support/fixtures.ts";

type RunCli = typeof runCli;
/** What each command line printed, by the command line. */
type Outputs = ReadonlyMap<string, string>;

const EXPORTS = ["json", "markdown", "perfetto"];
const ROOT = join(import.meta.dirname, "..");

class Collected extends Writable {
  readonly #chunks: Buffer[] = [];

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#chunks.push(chunk);
    done();
  }

  text = () => Buffer.concat(this.#chunks).toString("utf8");
}

const { values, positionals } = parseArgs({ allowPositionals: true, options: { only: { type: "string" } } });
const [other, ...given] = positionals;
if (other === undefined || !existsSync(join(other, "src", "cli", "cli.ts"))) {
  console.error(`${other ?? "The first argument"} is not a checkout of retinue: give the folder of one.`);
  process.exit(2);
}
const folders = given.length === 0 ? [join(ROOT, "fixtures")] : given.map((folder) => resolve(folder));

// The same path for both checkouts, because some outputs contain it.
const scratch = mkdtempSync(join(tmpdir(), "retinue-compare-"));
process.once("exit", () => rmSync(scratch, { recursive: true, force: true }));

const [before, after] = [await cliOf(resolve(other)), await cliOf(ROOT)];
let [compared, commands, differing] = [0, 0, 0];
for (const folder of folders)
  for (const home of homesIn(folder))
    for (const recordings of [null, join(home, "..", "recordings")]) {
      if (recordings !== null && !existsSync(recordings)) continue;
      const outputs = await outputsOf(before, home, recordings);
      const difference = differenceOf(outputs, await outputsOf(after, home, recordings));
      compared += 1;
      commands += outputs.size;
      if (difference === null) continue;
      differing += 1;
      console.log(
        `${relative(process.cwd(), home)}${recordings === null ? "" : " with live recordings"}\n${difference}`,
      );
    }
console.log(`${compared} recordings, ${commands} command lines: ${differing} recordings differ`);
// Nothing compared is no proof.
process.exitCode = differing > 0 || compared === 0 ? 1 : 0;

async function cliOf(checkout: string): Promise<RunCli> {
  const module = (await import(pathToFileURL(join(checkout, "src", "cli", "cli.ts")).href)) as { runCli: RunCli };
  return module.runCli;
}

/** The homes of all cases, at their end and at moments during them. */
function homesIn(folder: string): readonly string[] {
  return foldersIn(folder)
    .filter((provider) => values.only === undefined || provider === values.only)
    .flatMap((provider) => foldersIn(join(folder, provider)).map((name) => join(folder, provider, name)))
    .flatMap((path) => foldersIn(path).map((name) => join(path, name)))
    .filter((path) => /^home(?:-at-.*)?$/.test(relative(join(path, ".."), path)));
}

function foldersIn(folder: string): readonly string[] {
  const entries = readdirSync(folder, { withFileTypes: true });
  return entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).sort();
}

async function outputsOf(run: RunCli, home: string, recordings: string | null): Promise<Outputs> {
  const data = join(scratch, "data");
  rmSync(data, { recursive: true, force: true });
  mkdirSync(data);
  if (recordings !== null) cpSync(recordings, join(data, "recordings"), { recursive: true });
  const env = { PATH: process.env.PATH ?? "", ...homeEnv(home), RETINUE_HOME: data };
  const outputs = new Map<string, string>();
  const print = async (...args: readonly string[]) => {
    const [stdout, stderr] = [new Collected(), new Collected()];
    const code = await run(args, { env, stdin: Readable.from([]), stdout, stderr });
    outputs.set(args.join(" "), `${stdout.text()}${stderr.text()}exit code ${code ?? 0}\n`);
    return stdout.text();
  };
  for (const thread of urisIn(await print("ls", "--all", "--json"))) {
    for (const agent of urisIn(await print("tree", thread, "--all", "--json"))) await print("why", agent, "--json");
    await print("events", thread, "--subtree");
    for (const format of EXPORTS) await print("export", format, thread);
  }
  return outputs;
}

function urisIn(json: string): ReadonlySet<string> {
  return new Set(Array.from(json.matchAll(/^ *"uri": "([^"]+)"/gm), ([, uri = ""]) => uri));
}

/** The first command line with another output, and its first line that differs; null if all are equal. */
function differenceOf(a: Outputs, b: Outputs): string | null {
  for (const command of new Set([...a.keys(), ...b.keys()])) {
    const [x, y] = [a.get(command)?.split("\n") ?? [], b.get(command)?.split("\n") ?? []];
    const at = Array.from({ length: Math.max(x.length, y.length) }, (_, i) => i).find((i) => x[i] !== y[i]);
    if (at === undefined) continue;
    const shown = (line: string | undefined) => line?.slice(0, 500) ?? "(no such line)";
    return `  retinue ${command}, line ${at + 1}:\n  - ${shown(x[at])}\n  + ${shown(y[at])}`;
  }
  return null;
}
