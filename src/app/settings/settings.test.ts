import { describe, expect, it } from "vitest";
import { readSettings, type SettingsRead, settingsPath } from "./settings.ts";
import { SETTINGS } from "./settings-table.ts";
import { readYaml } from "./yaml.ts";

const HOME = "/home/dev";

function read(text: string): SettingsRead {
  const file = readYaml(text);
  if ("wrong" in file) throw new Error(`line ${file.line}: ${file.wrong}`);
  return readSettings(file.root, HOME, ["toy", "other"]);
}

const valuesOf = (text: string) => {
  const { values, faults } = read(text);
  expect(faults).toEqual([]);
  return values;
};

describe("the path of the settings file", () => {
  it.each([
    [{ HOME, RETINUE_CONFIG: "/x/y.yaml", XDG_CONFIG_HOME: "/xdg" }, "/x/y.yaml"],
    [{ HOME, XDG_CONFIG_HOME: "/xdg" }, "/xdg/retinue/config.yaml"],
    [{ HOME }, "/home/dev/.config/retinue/config.yaml"],
    [{ HOME, RETINUE_CONFIG: "", XDG_CONFIG_HOME: "" }, "/home/dev/.config/retinue/config.yaml"],
  ])("%j", (env, path) => {
    expect(settingsPath(env)).toBe(path);
  });
});

describe("a file that sets nothing", () => {
  it.each(["", "# stale_after: 1h\n", "---\n", "~\n", "roots:\n# all commented out\n", "roots: {}\n"])(
    "%j leaves every default",
    (text) => {
      const { values, set } = read(text);
      expect(set).toEqual([]);
      for (const [key, setting] of Object.entries(SETTINGS))
        expect(values).toHaveProperty([key], key.endsWith(">") ? new Map() : setting.otherwise);
    },
  );
});

describe("values", () => {
  it("of roots: a list or a comma-separated string, with ~ for the home folder", () => {
    const list = valuesOf("roots:\n  toy: [~/a, /b]\n  other: ~/c, /d ,~\n")["roots.<provider>"];
    expect([...list]).toEqual([
      ["toy", ["/home/dev/a", "/b"]],
      ["other", ["/home/dev/c", "/d", "/home/dev"]],
    ]);
    expect(valuesOf("roots:\n  toy: []\n")["roots.<provider>"].get("toy")).toEqual([]);
  });
  it("of prices: caches default to the input price", () => {
    const prices = valuesOf(
      "prices:\n  a.b/c:1: { input: 3, output: 15 }\n  d: { input: 1, output: 0, cache_read: 0.1, cache_write: 1.25 }\n",
    )["prices.<model>"];
    expect([...prices]).toEqual([
      ["a.b/c:1", { input: 3, output: 15, cache_read: 3, cache_write: 3, cache_write_1h: 3 }],
      ["d", { input: 1, output: 0, cache_read: 0.1, cache_write: 1.25, cache_write_1h: 1.25 }],
    ]);
  });
  it("of all other keys", () => {
    const values = valuesOf(`
stale_after: 90s
match_window: { default: 1h, projects: { /home/dev/x: 30s }, hosts: { api.example.com: 2d } }
relay: { single_card_guess: true }
redaction: { level: metadata, patterns: ['sk-\\w+'], paths: ['**/.env'] }
budgets: { usd: 2.5, tokens: 1000000, agents: 50 }
retention: { age: 30d, bytes: 1.5GB }
`);
    expect(values).toMatchObject({
      stale_after: 90_000,
      match_window: {
        defaultMs: 3_600_000,
        projects: new Map([["/home/dev/x", 30_000]]),
        hosts: new Map([["api.example.com", 172_800_000]]),
      },
      "relay.single_card_guess": true,
      "redaction.level": "metadata",
      "redaction.patterns": ["sk-\\w+"],
      "redaction.paths": ["**/.env"],
      budgets: { usd: 2.5, tokens: 1_000_000, agents: 50 },
      "retention.age": 30 * 86_400_000,
      "retention.bytes": 1_500_000_000,
    });
    expect(valuesOf("match_window: 5m\n").match_window).toMatchObject({ defaultMs: 300_000 });
    expect(valuesOf("retention: { age: forever, bytes: 4096 }\n")).toMatchObject({
      "retention.age": null,
      "retention.bytes": 4096,
    });
  });
  it("lists the keys as written", () => {
    expect(read("roots:\n  toy: /a\nrelay:\n  single_card_guess: true\n").set).toEqual([
      "roots.toy",
      "relay.single_card_guess",
    ]);
  });
});

describe("the table", () => {
  it("shows a default as it would be written", () => {
    const writable = Object.entries(SETTINGS).filter(([key, { shown }]) => !key.includes("<") && shown !== "none");
    expect(writable.length).toBeGreaterThan(5);
    for (const [key, { kind, shown, otherwise }] of writable) {
      const file = readYaml(shown);
      const entry = "root" in file ? file.root : null;
      expect(entry === null ? null : kind.read(entry, key, (fault) => expect(fault).toBeNull())).toEqual(otherwise);
    }
  });
  it("describes every key", () => {
    for (const { text, shown, kind } of Object.values(SETTINGS)) {
      expect(text).toMatch(/^[A-Z].*\.$/);
      expect([shown, kind.form].every((words) => words !== "")).toBe(true);
    }
  });
});

describe("errors name the line and the correction", () => {
  it.each([
    ["stale_afer: 1h", 1, "unknown key stale_afer", "did you mean: stale_after"],
    ["# a\n\nroots:\n  toi: /a", 4, "unknown key roots.toi", "did you mean: roots.toy"],
    ["roots:\n  nobody-at-all: /a", 2, "unknown key roots.nobody-at-all", "known keys of roots: toy, other"],
    ["level: full", 1, "unknown key level", "did you mean: redaction.level"],
    ["xyzzy: 1", 1, "unknown key xyzzy", /^known keys: roots, stale_after, prices, .*retention$/],
    ["constructor: 1", 1, "unknown key constructor", /^known keys: /],
    ["retention.age: 1d", 1, "unknown key retention.age", "write retention: and age: indented on the next line"],
    ["retention: 1d", 1, "retention is a group of keys and has no value", "known keys of retention: age, bytes"],
    ["- a", 1, "settings must be key: value lines", /^known keys: roots/],
    ["roots:\n  toy: a/b", 2, "an item of roots.toy cannot be a/b", "write a path that begins with / or ~/"],
    [
      "roots:\n  toy:\n    - /a\n    - ~other/b",
      4,
      "an item of roots.toy cannot be ~other/b",
      "write a path that begins with / or ~/",
    ],
    ["roots:\n  toy:", 2, "roots.toy has no value", /^write a path .* as a list or separated by commas$/],
    [
      "stale_after: 600",
      1,
      "stale_after cannot be 600",
      "write a duration with a unit, such as 30s, 10m, 2h, 7d or 4w",
    ],
    ["stale_after: 0m", 1, "stale_after cannot be 0m", /^write a duration/],
    ["stale_after: [1m]", 1, "stale_after cannot be a list", /^write a duration/],
    ["stale_after: { a: 1 }", 1, "stale_after cannot be a group of keys", /^write a duration/],
    ["stale_after:", 1, "stale_after has no value", /^write a duration/],
    ["stale_after: *x", 1, "stale_after cannot be *x", /^write a duration/],
    ["relay:\n  single_card_guess: yes", 2, "relay.single_card_guess cannot be yes", "write true or false"],
    ["redaction: { level: all }", 1, "redaction.level cannot be all", "write one of full, no-tool-output, metadata"],
    [
      "redaction: { patterns: '(' }",
      1,
      "redaction.patterns cannot be '('",
      "write a list, each item a regular expression",
    ],
    [
      "redaction:\n  patterns:\n    - a\n    - '('",
      4,
      "an item of redaction.patterns cannot be '('",
      "write a regular expression",
    ],
    ["budgets: { cost: 1 }", 1, "unknown key budgets.cost", "known keys of budgets: usd, tokens, agents"],
    ["budgets: { agents: 1.5 }", 1, "budgets.agents cannot be 1.5", "write a positive integer"],
    ["budgets: 5", 1, "budgets cannot be 5", "write usd, tokens, agents below it, one per line"],
    ["retention: { bytes: 20 bananas }", 1, "retention.bytes cannot be 20 bananas", /20GB, or unlimited$/],
    [
      "match_window: { projects: 1h }",
      1,
      "match_window.projects cannot be 1h",
      /^write one folder per line below it, each with a duration/,
    ],
    ["prices:\n  m: 3", 2, "prices.m cannot be 3", "write input, output below it, one per line"],
    ["prices:\n  m:\n    input: 3", 3, "prices.m lacks output", "write output: a number of US dollars"],
    ["prices:\n  m: { input: 3, output: free }", 2, "prices.m.output cannot be free", "write a number of US dollars"],
    [
      "prices:\n  m: { input: 3, output: 4, cache: 1 }",
      2,
      "unknown key prices.m.cache",
      /^known keys of prices.m: input, output, cache_read/,
    ],
  ])("%j", (text, line, wrong, right) => {
    const { faults } = read(text);
    expect(faults).toEqual([{ line, wrong, right: typeof right === "string" ? right : expect.stringMatching(right) }]);
  });

  it("are reported all at once, in the order of the file", () => {
    expect(read("zzz: 1\nretention:\n  agee: 1\nstale_after: 1\n").faults.map((fault) => fault.line)).toEqual([
      1, 3, 4,
    ]);
  });

  it.each([
    ["a: [1", /not valid YAML/, 1],
    ["stale_after: 1h\nstale_after: 2h\n", /not valid YAML: Map keys must be unique/, 2],
    ["stale_after: 1h\n---\nstale_after: 2h\n", /a second YAML document/, 2],
    ["\tstale_after: 1h", /not valid YAML: Tabs/, 1],
    ["stale_after: !minutes 10", /not valid YAML: Unresolved tag/, 1],
  ])("%j is not a settings file", (text, wrong, line) => {
    expect(readYaml(text)).toEqual({ wrong: expect.stringMatching(wrong), line });
  });
});
