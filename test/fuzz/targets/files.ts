/**
 * Files of other programs: growing transcripts, imported files, hook payloads, notes of other processes, settings
 * of products.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Failure } from "../../../src/app/failure.ts";
import { followedRoots } from "../../../src/app/home.ts";
import { hook } from "../../../src/app/hooks/hook.ts";
import { statusRequestIn } from "../../../src/app/hooks/session-tree.ts";
import { importFile } from "../../../src/app/import/import.ts";
import { followedPlaces } from "../../../src/app/ingest/followed.ts";
import { findingsIn, jsonLines } from "../../../src/app/ingest/json-lines.ts";
import { instanceNote, notedInstance } from "../../../src/app/instance-note.ts";
import { isOwnHook, NOTHING, type Parser } from "../../../src/core/ports/provider.ts";
import { plainJson } from "../../../src/core/tools/commented-json.ts";
import { asObject, parseJson } from "../../../src/core/tools/json.ts";
import { PROVIDERS } from "../../../src/providers/loaded.ts";
import { noReads } from "../../../src/transports/files.ts";
import { type Line, positionAfter } from "../../../src/transports/lines.ts";
import { FIXTURES, filesBelow } from "../../support/fixtures.ts";
import { mutated, mutatedJson, words } from "../mutate.ts";
import { numberOf, type Opened, require, requirePlain, requireSame, type Target } from "../target.ts";

/** A folder for the inputs of one target. */
function withFolder(open: (folder: string) => Omit<Opened, "close">): () => Opened {
  return () => {
    const folder = mkdtempSync(join(tmpdir(), "retinue-fuzz-"));
    return { ...open(folder), close: async () => rmSync(folder, { recursive: true, force: true }) };
  };
}

const LINES = [
  '{"type":"user","message":{"content":"x"}}',
  '{"a":1}{"b":2}',
  '{"a":"\\"}{"}',
  "",
  " ",
  "\0\0\0",
  '{"cut',
  "not json",
];

/** Names each record by its type and position, as a provider does. */
const witness: Parser = {
  push: (record, line, row) => ({
    ...NOTHING,
    problems: [
      { code: "line-not-json", where: `${line} ${row ?? ""}`, detail: Buffer.from(record).toString("latin1") },
    ],
  }),
  events: () => [],
  save: () => null,
};

export const linesTarget: Target = {
  name: "lines",
  weight: 0.5,
  open: withFolder((folder) => {
    const path = join(folder, "lines.jsonl");
    const readFrom = async (from?: ReturnType<typeof positionAfter>) => {
      const lines: Line[] = [];
      const problems: string[] = [];
      for await (const some of jsonLines(path, noReads(), from))
        for (const line of some) {
          lines.push(line);
          if (line.is === "line")
            problems.push(
              ...findingsIn(witness, line).problems.map(({ where, detail }) => `${where} ${detail}`.trim()),
            );
        }
      return { lines, problems };
    };
    return {
      generate: (random) => {
        const text = Array.from({ length: 1 + random.below(8) }, () => random.of(LINES)).join(
          random.chance(0.9) ? "\n" : "",
        );
        return random.chance(0.5) ? Buffer.from(text) : mutated(Buffer.from(text), random, ["\n", "\0", "{", "}", '"']);
      },
      check: async (input) => {
        writeFileSync(path, input);
        const whole = await readFrom();
        const cut = numberOf(input) % (input.length + 1);
        writeFileSync(path, input.subarray(0, cut));
        const before = await readFrom();
        writeFileSync(path, input);
        const last = before.lines.at(-1);
        const after = await readFrom(last === undefined ? undefined : positionAfter(last));
        // Junk that ends like a record hides the record before it, unless that record was read before the junk.
        const isRecord = (one: string) => asObject(parseJson(one.slice(one.indexOf("{")))?.value) !== null;
        const known = new Set(whole.problems.filter(isRecord));
        const grown = [...before.problems, ...after.problems].filter((one) => known.has(one));
        requireSame(
          grown,
          whole.problems.filter(isRecord),
          "a file that is read while it grows gives the same records",
        );
      },
    };
  }),
};

const SESSION = "16ff625c-81fc-41a2-88cf-4b4069d6af28";

export const hookTarget: Target = {
  name: "hooks",
  weight: 0.5,
  open: withFolder((folder) => {
    const env = { HOME: join(folder, "home"), RETINUE_HOME: join(folder, "home", "data") };
    const samples = readFileSync(join(FIXTURES, "hooks/grok-1.0.41.jsonl"), "utf8")
      .trim()
      .split("\n")
      .map((line) => parseJson(line)?.value);
    const payload = {
      session_id: SESSION,
      transcript_path: `${folder}/x.jsonl`,
      cwd: folder,
      hook_event_name: "SubagentStop",
      permission_mode: "default",
      agent_id: "a1",
    };
    return {
      generate: (random) => {
        const sample = random.chance(0.7) ? payload : (asObject(asObject(random.of(samples))?.raw) ?? payload);
        const large = random.chance(0.1)
          ? { ...sample, prompt: words(random, ['"session_id":"x"', "\\"], 4_000) }
          : sample;
        return random.chance(0.6) ? mutatedJson(large, random) : mutated(Buffer.from(JSON.stringify(large)), random);
      },
      check: async (input) => {
        rmSync(env.HOME, { recursive: true, force: true });
        mkdirSync(env.RETINUE_HOME, { recursive: true });
        const text = input.toString();
        await hook(env, () => text);
        requireSame(readdirSync(folder), ["home"], "a hook writes into its own folder alone");
        const payload = asObject(parseJson(text)?.value);
        const files = filesBelow(env.RETINUE_HOME).filter((path) => path.endsWith(".jsonl"));
        for (const path of files) {
          require(/^recordings\/\w+\/hooks\/[\w-]{1,80}\.jsonl$/.test(path), "the path of a recording", path);
          const lines = readFileSync(join(env.RETINUE_HOME, path), "utf8").trimEnd().split("\n");
          requireSame(lines.length, 1, "a payload is one line");
          if (payload !== null)
            requireSame(asObject(parseJson(lines[0] ?? "")?.value)?.raw, payload, "a payload is kept as it came");
        }
        if (payload !== null) requirePlain(statusRequestIn(payload), "what a status line asks for");
      },
    };
  }),
};

export const importTarget: Target = {
  name: "imports",
  weight: 0.25,
  open: withFolder((folder) => {
    const env = { HOME: join(folder, "home"), RETINUE_HOME: join(folder, "home", "data") };
    const samples = ["claude/a-single", "codex/any-v2@0.145.0", "pi"].flatMap((name) =>
      filesBelow(join(FIXTURES, name))
        .filter((path) => path.endsWith(".jsonl"))
        .slice(0, 4)
        .map((path) => readFileSync(join(FIXTURES, name, path)).subarray(0, 30_000)),
    );
    return {
      generate: (random) =>
        mutated(random.of(samples), random, ['"sessionId":"../../x"', '"id":"../x"', '"agentId":"/"', "\n"]),
      check: async (input) => {
        rmSync(env.HOME, { recursive: true, force: true });
        mkdirSync(env.RETINUE_HOME, { recursive: true });
        const path = join(folder, "home", "given.jsonl");
        writeFileSync(path, input);
        try {
          const { uri } = await importFile(path, { env, replace: false });
          require(!/[\s\p{Cc}]/u.test(uri), "a URI", uri);
        } catch (error) {
          if (!(error instanceof Failure)) throw error;
        }
        require(filesBelow(folder).every(
          (file) => file === "home/given.jsonl" || file.startsWith("home/data/imported/"),
        ), "an import writes into its own folder alone, and leaves nothing behind", filesBelow(folder));
        requireSame(readFileSync(path).equals(input), true, "the file that was imported is left as it is");
      },
    };
  }),
};

export const notesTarget: Target = {
  name: "notes",
  weight: 1,
  open: withFolder((folder) => {
    const env = { HOME: folder, RETINUE_HOME: join(folder, "data") };
    const [provider] = PROVIDERS.filter(({ recorded }) => recorded !== undefined);
    const note = {
      instance: "x",
      pid: 1,
      host: "127.0.0.1",
      port: 4747,
      url: "http://127.0.0.1:4747/",
      token: null,
      traces: [],
    };
    return {
      generate: (random) =>
        random.chance(0.5)
          ? mutatedJson(note, random)
          : mutated(Buffer.from(`/tmp\n${JSON.stringify({ transcript: "/tmp/x.jsonl", session: "s" })}\n`), random),
      check: (input) => {
        require(provider !== undefined, "a provider with recordings");
        const list = followedRoots(env, provider.name);
        for (const path of [instanceNote(env), list]) {
          mkdirSync(join(path, ".."), { recursive: true });
          writeFileSync(path, input);
        }
        const instance = notedInstance(env);
        require(instance === null || URL.canParse(instance.url), "the address of a server", instance);
        require(instance === null ||
          (Array.isArray(instance.traces) &&
            typeof instance.host === "string" &&
            Number.isInteger(instance.port)), "a note of a server is whole", instance);
        const { roots } = followedPlaces(env, provider, []);
        require(roots.length <= input.length, "more folders than the list has bytes");
      },
    };
  }),
};

const COMMAND = "/usr/local/bin/retinue hook";

/** An input is the text of a product's settings file. */
export const hookSettingsTarget: Target = {
  name: "hook-settings",
  weight: 8,
  open: () => {
    const sample = {
      model: "opus",
      hooks: { Stop: [{ matcher: "x", hooks: [{ type: "command", command: "say done", timeout: 5 }] }] },
      env: { A: "1" },
    };
    return {
      generate: (random) =>
        random.chance(0.7)
          ? mutatedJson(sample, random)
          : mutated(Buffer.from(JSON.stringify(sample, null, 2)), random),
      check: (input) => {
        const text = input.toString();
        for (const { hooks } of PROVIDERS) {
          if (hooks === undefined) continue;
          const installed = hooks.install(text, COMMAND);
          if (typeof installed !== "string") continue;
          require(hooks.commands(installed).some(isOwnHook), "hooks that were installed are there");
          requireSame(
            settingsIn(hooks.install(installed, COMMAND)),
            settingsIn(installed),
            "installing twice is installing once",
          );
          const removed = hooks.uninstall(installed);
          require(typeof removed === "string" &&
            !hooks.commands(removed).some(isOwnHook), "hooks that were removed are gone", removed);
          const others = (one: string) => hooks.commands(one).filter((command) => !isOwnHook(command));
          requireSame(others(removed), others(text), "hooks of others stay as they are");
          const { hooks: _, ...before } = asObject(parseJson(plainJson(text))?.value) ?? {};
          const { hooks: __, ...after } = asObject(parseJson(plainJson(removed))?.value) ?? {};
          requireSame(after, before, "other settings stay as they are");
        }
      },
    };
  },
};

/** The order of keys has no meaning in JSON. */
const settingsIn = (text: unknown) => (typeof text === "string" ? (parseJson(text)?.value ?? text) : text);
