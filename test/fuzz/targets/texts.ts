/** Texts from people and files: URIs, times, settings, and texts to redact. */

import { Failure } from "../../../src/app/failure.ts";
import { sinceOf } from "../../../src/app/query/since.ts";
import { readSettings } from "../../../src/app/settings/settings.ts";
import { SETTINGS } from "../../../src/app/settings/settings-table.ts";
import { readYaml } from "../../../src/app/settings/yaml.ts";
import { formatUri, parseTarget } from "../../../src/core/facts/uri.ts";
import { DEFAULT_REDACTION, Redactor } from "../../../src/core/redaction/redaction.ts";
import { SECRET } from "../../../src/core/redaction/secrets.ts";
import { durationText, parseDuration } from "../../../src/core/tools/duration.ts";
import { valuesIn } from "../../../src/core/tools/json-values.ts";
import { recordsIn } from "../../../src/providers/kit/lines.ts";
import { PROVIDERS } from "../../../src/providers/loaded.ts";
import { mutated, token, words } from "../mutate.ts";
import { require, requirePlain, requireSame, type Target } from "../target.ts";

const UUID = "16ff625c-81fc-41a2-88cf-4b4069d6af28";
const URIS = [
  `claude://${UUID}`,
  `claude://${UUID}/a1b2c3d`,
  `codex://${UUID}/root/alpha`,
  "agents://opencode/ses_1234567890",
  "latest",
  `codex://threads/${UUID}`,
];
const URI_WORDS = [
  ...PROVIDERS.map(({ name }) => `${name}://`),
  "agents://",
  "latest",
  "threads",
  "/",
  UUID,
  "%2F",
  "%",
  "%00",
  ".",
  "..",
  "ses_",
];

/** An input is a URI, or two ids on two lines. */
export const uriTarget: Target = {
  name: "uri",
  weight: 30,
  open: () => ({
    generate: (random) =>
      random.chance(0.5)
        ? mutated(Buffer.from(random.of(URIS)), random, URI_WORDS)
        : Buffer.from(`${words(random, URI_WORDS, 4)}\n${words(random, URI_WORDS, 4)}`),
    check: (input) => {
      const text = input.toString();
      const found = parseTarget(text, PROVIDERS, () => true);
      if ("wrong" in found) {
        for (const line of [found.wrong, found.right])
          require(!/[\p{Cc}\u202a-\u202e\u2066-\u2069]/u.test(line), "a message that a terminal would obey", line);
        require(found.wrong.length < 200 + 8 * text.length, "a message that is much longer than the input", found.wrong
          .length);
      } else if (found.is === "named" && found.provider !== null) {
        const again = parseTarget(formatUri(found.provider, found.thread, found.agent), PROVIDERS, () => true);
        requireSame(again, found, "a URI that was parsed, formatted and parsed again");
      }
      const [thread = "", agent = ""] = text.split("\n");
      // Ids are stored as JSON: they have no lone surrogates and are not empty.
      if (thread === "" || agent === "") return;
      requireSame(
        parseTarget(formatUri("claude", thread, agent), PROVIDERS, () => true),
        { is: "named", provider: "claude", thread, agent },
        "parse(format(ids)) are the ids",
      );
    },
  }),
};

export const timesTarget: Target = {
  name: "times",
  weight: 15,
  open: () => ({
    generate: (random) =>
      mutated(
        Buffer.from(random.of(["30m", "2h", "3d", "1w", "999999999w", "2026-11-15", "2026-11-15T10:00:00Z"])),
        random,
      ),
    check: (input) => {
      const text = input.toString();
      const span = parseDuration(text);
      if (span !== null)
        require(parseDuration(durationText(span)) === span, "a duration that is written and read again", [text, span]);
      try {
        require(Number.isFinite(sinceOf(text, Date.UTC(2026, 10, 15))), "a time", text);
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
      }
    },
  }),
};

const SETTING_KEYS = Object.keys(SETTINGS).flatMap((key) => [
  `${key.split(".").at(-1)}: `,
  `${key.split(".")[0]}:\n  `,
  key,
]);
const SETTINGS_SAMPLE = `roots:
  claude: [~/.claude, /srv/agents]
stale_after: 10m
redaction:
  level: no-tool-output
  patterns: ["\\\\bACME-[0-9]+"]
  paths: ["**/secrets/**"]
prices:
  our-finetune-v2: { input: 3, output: 15 }
relay:
  single_card_guess: true
`;
const YAML_WORDS = [
  ...SETTING_KEYS,
  "  ",
  "- ",
  "&a ",
  "*a",
  "<<: *a",
  "!!binary ",
  "? ",
  "|\n",
  ">-\n",
  "---\n",
  "...\n",
  "[",
  "{",
  "#",
];

export const settingsTarget: Target = {
  name: "settings",
  weight: 1,
  open: () => ({
    generate: (random) =>
      random.chance(0.3)
        ? Buffer.from(words(random, YAML_WORDS, 20))
        : mutated(Buffer.from(SETTINGS_SAMPLE), random, YAML_WORDS),
    check: (input) => {
      const text = input.toString();
      const lines = text.split(/\r\n|\r|\n/).length;
      const onLine = (line: number, what: unknown) =>
        require(Number.isInteger(line) && line >= 1 && line <= lines, "a fault names a line of the file", {
          line,
          lines,
          what,
        });
      const file = readYaml(text);
      if ("wrong" in file) return onLine(file.line, file.wrong);
      const { faults, values } = readSettings(file.root, "/home/dev");
      for (const fault of faults) {
        onLine(fault.line, fault.wrong);
        require(fault.right !== "" &&
          fault.wrong.length < 2_000 + 4 * text.length, "a fault names the wrong value and the accepted ones", fault);
      }
      require(Object.getPrototypeOf(values) === Object.prototype, "settings have a prototype of their own");
    },
  }),
};

const SECRETS = [
  "sk-ant-api03-abcdefghijklmnop-12345",
  "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
  "AKIAIOSFODNN7EXAMPLE",
  "xoxb-1234567890-abcdefghij",
  "glpat-abcdefghij0123456789",
];
const REDACTED_WORDS = [
  ...SECRETS,
  "Authorization: Bearer ",
  "password=",
  "TOKEN=",
  '"api_key": "',
  "https://user:",
  "@host/",
  "-----BEGIN RSA PRIVATE KEY-----\n",
  "-----END RSA PRIVATE KEY-----",
  "eyJ",
  "a",
  "Cookie: ",
  "=",
  ": ",
  "\\",
  "_",
  ".eyJ",
];
const REDACTED_SAMPLE =
  'export OPENAI_API_KEY=sk-abcdefghijklmnopqrstuvwxyz012345\ncurl -H "Authorization: Bearer abc.def.ghi-123456" https://user:pa55word@example.org/\n{"password": "hunter2"}\n';
/** Twice the text may take four times as long on a busy machine; eight times the text may not take forty times. */
const [LONGER, SLOWER, FROM_MS] = [8, 40, 60];

/** A key directly after another one starts a word only once that one is redacted. */
const unglued = (text: string) => text.replace(/\[redacted\]\S*/g, SECRET);

export const redactorTarget: Target = {
  name: "redactor",
  weight: 1,
  open: () => {
    const redactor = new Redactor(DEFAULT_REDACTION);
    const took = (text: string) => {
      const before = process.threadCpuUsage();
      redactor.text(text);
      const { user, system } = process.threadCpuUsage(before);
      return (user + system) / 1_000;
    };
    return {
      generate: (random) => {
        if (random.chance(0.02))
          return Buffer.from(
            random.chance(0.5)
              ? token(random) + random.of(REDACTED_WORDS)
              : random.of(REDACTED_WORDS) + random.of(REDACTED_WORDS),
          ).subarray(0, 40);
        return random.chance(0.4)
          ? Buffer.from(words(random, REDACTED_WORDS, 20))
          : mutated(Buffer.from(REDACTED_SAMPLE), random, REDACTED_WORDS);
      },
      check: (input) => {
        const text = input.toString();
        const once = redactor.text(text);
        require(once.length <= text.length * 12 + 200, "redacted text is much longer", {
          before: text.length,
          after: once.length,
        });
        requireSame(unglued(redactor.text(once)), unglued(once), "redacting twice is redacting once");
        for (const secret of SECRETS)
          require(!redactor
            .text(`${text}\n${secret}\n`)
            .endsWith(`\n${secret}\n`), "a secret on a line of its own is left", secret);
        const value = redactor.value({ [text]: [text] });
        requirePlain(value, "a redacted value");
        if (text.length === 0 || text.length > 40) return;
        const [short, long] = [
          text.repeat(Math.ceil(4_000 / text.length)),
          text.repeat(Math.ceil((4_000 * LONGER) / text.length)),
        ];
        const times = took(long);
        if (times < FROM_MS) return;
        const ratios = Array.from({ length: 3 }, () => took(long) / Math.max(1, took(short)));
        require(Math.min(...ratios) < SLOWER, `a text ${LONGER} times as long takes ${SLOWER} times as long or more`, {
          ratios,
          text,
        });
      },
    };
  },
};

/** Several JSON values in one text: output that was pretty-printed, lines in which a newline is missing. */
export const valuesTarget: Target = {
  name: "json-values",
  weight: 15,
  open: () => ({
    generate: (random) =>
      mutated(
        Buffer.from(
          random.of([
            '{"a":1}{"b":[2]}',
            '[{"a":"}"},\n{"b":"\\""}]',
            '{"a":{"b":1}} {"c',
            '{\n  "a": 1\n}\n{\n  "b": 2\n}',
          ]),
        ),
        random,
        ['"', "{", "}", "\\", "}{"],
      ),
    check: (input) => {
      const spans = recordsIn(input);
      let end = 0;
      for (const span of spans ?? []) {
        require(span.start >= end &&
          span.end > span.start &&
          span.end <= input.length, "records of a line follow each other", { span, end });
        end = span.end;
      }
      const values = valuesIn(input);
      require(values === null ||
        values.join("").length <= input.length + 1, "values are longer than the text they stand in");
      for (const value of values ?? []) require(!/[\r\n]/.test(value), "a value with a line break", value);
    },
  }),
};
