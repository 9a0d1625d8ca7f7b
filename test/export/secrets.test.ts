/** The share of secrets that are found, the rate of false positives, and that no text takes long. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DEFAULT_REDACTION, Redactor } from "../../src/core/redaction/redaction.ts";
import {
  CUT_KEY,
  GENERIC_KEY,
  KNOWN_KEY,
  MARKED,
  MARKED_KEYS,
  PREFIXED,
} from "../../src/core/redaction/secret-keys.ts";
import { PHRASES } from "../../src/core/redaction/secret-phrases.ts";
import { SECRET, withoutSecrets } from "../../src/core/redaction/secrets.ts";
import { filesBelow } from "../support/fixtures.ts";
import { backtracking } from "../support/linear-pattern.ts";
import { SECRET_FORMATS } from "../support/secret-formats.ts";
import { isLeft, secretTexts } from "../support/secret-texts.ts";

const ROOT = join(import.meta.dirname, "../..");
const page = readFileSync(join(ROOT, "docs/redaction.md"), "utf8");
const leaks = (text: string, secrets: readonly string[]) => secrets.filter((secret) => text.includes(secret));

describe("secrets in public formats", () => {
  it.each(SECRET_FORMATS)("$group: $name", ({ text, secrets }) => {
    expect(leaks(text, secrets)).toEqual(secrets);
    expect(leaks(withoutSecrets(text), secrets)).toEqual([]);
    // The same inside JSON, as in transcripts, and after other text.
    expect(leaks(withoutSecrets(JSON.stringify({ text: `Line one\n${text}\nline three` })), secrets)).toEqual([]);
  });

  it("are as many as documented", () => {
    const groups = Map.groupBy(SECRET_FORMATS, ({ group }) => group);
    for (const [group, formats] of groups)
      expect(page).toContain(`| ${group} | ${formats.length} of ${formats.length} |`);
    expect(SECRET_FORMATS.length).toBeGreaterThan(102);
  });

  it("stay redacted if redaction runs twice", () => {
    for (const { text } of SECRET_FORMATS) expect(withoutSecrets(withoutSecrets(text))).toBe(withoutSecrets(text));
    const texts = fc.array(
      fc.oneof(
        fc.string(),
        fc.constantFrom(...SECRET_FORMATS.map(({ text }) => text)),
        fc.constantFrom('"', "\n", "=", ": ", "\\"),
      ),
    );
    fc.assert(
      fc.property(texts, (pieces) => {
        const once = withoutSecrets(pieces.join(""));
        expect(withoutSecrets(once)).toBe(once);
      }),
    );
  });

  it("may be split over the texts of a list, after a flag or next to a name", () => {
    const redactor = new Redactor(DEFAULT_REDACTION);
    expect(redactor.value(["gh", "p_a1B2c3D4e5F6g7H8", "i9J0k1L2m3N4o5P6q7R8", "and more"].slice(1))).toEqual([
      "p_a1B2c3D4e5F6g7H8",
      "i9J0k1L2m3N4o5P6q7R8",
      "and more",
    ]);
    expect(redactor.value([`gh${"p_"}a1B2c3D4e5F6g7H8`, "i9J0k1L2m3N4o5P6q7R8", " and more"])).toEqual([
      SECRET,
      SECRET,
      " and more",
    ]);
    expect(redactor.value(["login", "--password", "hunter", "--verbose"])).toEqual([
      "login",
      "--password",
      SECRET,
      "--verbose",
    ]);
    expect(redactor.value({ env: [{ name: "DB_PASSWORD", value: "hunter" }] })).toEqual({
      env: [{ name: "DB_PASSWORD", value: SECRET }],
    });
  });
});

describe("a key of which only the beginning is left", () => {
  const cut = (["gh", "sk-"] as const).map((begin) => `${begin}${begin === "gh" ? "p_" : "ant-api03-"}a1B2c3`);

  it.each(cut)("%s", (key) => {
    for (const text of [
      `Log in with ${key}`,
      `Log in with ${key}…`,
      `"Log in with ${key}…" [rule]`,
      `${key}... and on`,
    ])
      expect(withoutSecrets(text)).toBe(text.replace(key, SECRET));
  });

  it("is also the password of a URL", () => {
    expect(withoutSecrets("psql postgres://app:hunt…")).toBe(`psql postgres://app:${SECRET}…`);
    for (const text of ["see http://localhost:8080", "http://localhost:8080…", "otel://shop:0af7651916cd43dd"])
      expect(withoutSecrets(text)).toBe(text);
  });

  it.each([
    "the model is pplx-8x7b",
    "from xai-grok4",
    "see api-2024",
    "custom:Mock-0",
    "the prefix ghp_",
    "sk-button",
  ])("is not %s", (text) => expect(withoutSecrets(text)).toBe(text));
});

describe("secrets in texts", () => {
  const missed = secretTexts().filter(({ text, secrets }) => {
    const inJson = JSON.stringify({ text: `Line one\n${text}\nline three` });
    return [text, inJson].some((whole) => secrets.some((secret) => isLeft(withoutSecrets(whole), secret)));
  });

  it("are found as often as documented", () => {
    for (const [list, texts] of Map.groupBy(secretTexts(), (each) => each.list)) {
      const found = texts.length - missed.filter((each) => each.list === list).length;
      expect(page).toContain(`| ${list} | ${found} of ${texts.length} |`);
    }
  });

  it("that are not found are listed", () => {
    expect(missed.map(({ name }) => name)).toEqual([
      "md: colon words",
      "vendor: zhipu",
      "cmd: conda",
      "cmd: mc alias",
      "cmd: expect send",
      "cmd: wpa_passphrase",
      "cmd: impacket",
      "cmd: codecov -t",
      "yaml: cloud-init",
      "vendor: composio",
      "vendor: ably",
      "vendor: shodan",
      "enc: bash append",
      "cmd: base64 for kube",
      "cmd: openssl passwd",
      "cmd: bundle config",
      "cmd: ansible vault",
      "cmd: gpg preset",
      "cmd: mail relay",
      "yaml: rails database",
      "ini: vpn auth file",
      "code: express session",
      "log: cookie dump",
      "log: otp",
      "vendor: nebius",
    ]);
  });
});

describe("false positives", () => {
  it.each([
    "bypass: 1",
    "compass=n1",
    "password === ''",
    "if (password !== undefined && password == null)",
    "max_tokens: 4096",
    '"max_tokens": 4096, "token_count": 12',
    "token_count=12",
    "author: Ada Lovelace",
    "the authority on tokens",
    "commit 3fd8fb4c0a1b2c3d4e5f60718293a4b5c6d7e8f9",
    '"integrity": "sha512-q83vEjRWeJq83vEjRWeJq83vEjRWeJq83vEjRWeJq83vEjRWeJq83vEjRWeJq83vEjRWeJq83vEjRWeJq83vEg=="',
    "16ff625c-81fc-41a2-88cf-4b4069d6af28",
    '"sessionID":"ses_e1b738ba3ffe2g7oOd5ACH8CaL"',
    "x-session-id: 01a1e11b-b002-7e02-b985-9512873edf62",
    "claude://f285f9bf/a05b9e057afc83d61",
    "toolu_01aaaaaaaaaaaaaaaaaa and msg_01aaaaaaaaaaaaaaaaaaaaaa",
    "req-m2x9k1ab-0123456789",
    "cache_key = user_42_profile",
    "primary_key: id",
    'throw new Error("password is required")',
    '"password": "Enter your new password"',
    "const token = this.lexer.next();",
    "password: z.string().min(8),",
    "token: keyof typeof TOKENS;",
    "function login(user: string, password: string) {}",
    "--password-stdin reads it; use the --token option",
    `API_KEY=$OTHER_KEY; TOKEN=\${TOKEN:-none}; PASSWORD=<your password>`,
    `Authorization: Bearer \${token}`,
    "docker run -u 1000:1000 image",
    "fetch(url, { credentials: 'include' })",
    "the key is to use map()",
    "PWD=/home/ada/project",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
    "https://example.com:8080/a@b?page=2&sort=key",
    '"-----BEGIN PRIVATE KEY-----"',
    "Tests: 12 pass: 12 fail: 0",
    "sk-some-css-class-with-a-long-name",
    "type Scheme = SecuritySchemeApiKey | SecuritySchemeOauth2AccessCode;",
    'toPropertyKey: ["body.0.body.body.1.argument.left.callee"]',
    "key: fs.readFileSync('test/fixtures/keys/agent2-key.pem'),",
    "docker run -u app -p 8080:80 image",
    "api-documentation-for-version-2024-of-the-service",
    '"id":"resp_68af3c0f1d8c8190b1f7a9c2d4e6f8a00b1c2d3e4f5a6b7c", "call_id":"call_q1W2e3R4t5Y6u7I8o9P0a1S2"',
    "commit 3fd8fb4c0a1b2c3d4e5f60718293a4b5c6d7e8f9 changes the token parser",
    "| name | type |\n| --- | --- |\n| password | string2 |",
    "the password must have 8 characters",
    '<li key="a1B2c3D4e5F6g7H8i9">',
    '<Row\n  onClick={() => go()}\n  key="k7Qz81xPw02LmR5t"\n>',
    "MAX_TOK=128000 and num_tok: 12",
    'const parser = new Client("a-long-name-that-consists-of-plain-words-2");',
    'new GitHash("3fd8fb4c0a1b2c3d4e5f60718293a4b5c6d7e8f9")',
    "\u001b[32mpassed\u001b[39m 12 tests",
    "INSERT INTO users (name, password) VALUES (?, ?)",
    "it uses the prefix ghp_a\nand then more text",
    "done\n-----END PRIVATE KEY----- is the last line",
    'Content-Disposition: form-data; name="title"\r\n\r\nHello\r\n--b',
  ])("%j", (text) => {
    expect(withoutSecrets(text)).toBe(text);
  });

  it("are rare in other projects' code", () => {
    const packages = [
      "hono",
      "vitest",
      "commander",
      "yaml",
      "ajv",
      "fast-check",
      "solid-js",
      "valibot",
      "dompurify",
      "vite",
      "postcss",
      "diff",
    ];
    let [lines, found] = [0, 0];
    for (const name of packages) {
      const folder = join(ROOT, "node_modules", name);
      for (const path of filesBelow(folder).filter(
        (one) => /\.(?:js|mjs|cjs|ts|json|md)$/.test(one) && !one.includes("node_modules"),
      )) {
        const text = readFileSync(join(folder, path), "utf8");
        const count = text.split("\n").length;
        // Minified files have very long lines.
        if (text.length > 300 * count || text.length > 200_000) continue;
        lines += count;
        found += withoutSecrets(text).split(SECRET).length - text.split(SECRET).length;
      }
    }
    const rate = (found / lines) * 100_000;
    console.log(
      `redaction: ${SECRET_FORMATS.length} formats; ${found} false positives in ${lines} lines of code, ${rate.toFixed(1)} in 100,000`,
    );
    expect(lines).toBeGreaterThan(150_000);
    expect(rate).toBeLessThan(6);
  });
});

describe("the time that redaction takes", () => {
  it("is linear: no pattern can backtrack over an unbounded run", () => {
    const sources = [
      ...PREFIXED,
      ...MARKED.map(([, pattern]) => pattern),
      ...[
        KNOWN_KEY,
        CUT_KEY,
        GENERIC_KEY,
        ...MARKED_KEYS.map(({ pattern }) => pattern),
        ...PHRASES.map(({ pattern }) => pattern),
      ].map(({ source }) => source),
    ];
    for (const source of sources) expect([source, backtracking(source)]).toEqual([source, []]);
    expect(backtracking("eyJ[\\w-]{10,}\\.eyJ[\\w-]{10,}")).not.toEqual([]);
    expect(backtracking("(?:a+)+")).not.toEqual([]);
  });

  it("is short for repetitions of everything that a secret begins with", () => {
    const redactor = new Redactor(DEFAULT_REDACTION);
    // Each takes about 10 ms; quadratic work would take 5 seconds.
    for (const piece of [...PREFIXED.map(beginning), ...HOSTILE]) {
      const before = process.cpuUsage();
      redactor.text(piece.repeat(Math.ceil(80_000 / piece.length)));
      const { user, system } = process.cpuUsage(before);
      expect([piece, (user + system) / 1e6 < 1.5]).toEqual([piece, true]);
    }
  });

  it.each(["def.ghi-", "Def_Ghi", "_A", "key_", "authkey", "secret-key ", "a1-", "a.b::c->"])(
    "is short for a value of many repetitions of %j",
    (words) => {
      // A pattern that can read each of them in two ways would need exponential time.
      for (const end of ["", "1", "!", "1!"]) {
        const before = process.cpuUsage();
        for (const value of [`token=${words.repeat(60)}${end}`, `"password": "${words.repeat(60)}${end}"`])
          withoutSecrets(value);
        const { user, system } = process.cpuUsage(before);
        expect((user + system) / 1e6).toBeLessThan(5);
      }
    },
  );
});

/** A text that a pattern starts to match: the first of alternatives, two characters of a run. */
const beginning = (pattern: string) =>
  pattern
    .replace(/\[[^\]]*\](?:\{[^}]*\}|[+*?])?|\\[dw](?:\{[^}]*\})?/g, "a1")
    .replace(/\(\?[:!]([^()|]*)[^()]*\)\??/g, "$1")
    .replaceAll("\\", "");

const HOSTILE = [
  ...[
    "eyJ-",
    "eyJaaaaaaaaaaa.",
    "a_",
    "a",
    " ",
    "key=",
    "key=a",
    "token=",
    "--token ",
    "password: ",
    "api_key='",
    'api_key="a',
    '"token":',
    "<password>",
  ],
  ...[
    "-----BEGIN ",
    "-----BEGIN PRIVATE KEY-----\n",
    "-----BEGIN PRIVATE KEY-----\n-----END ",
    "bearer ",
    "basic a",
    "authorization: ",
    "cookie: a",
    "pass:",
  ],
  ...[
    "://a:",
    "://a",
    "https://a@",
    "curl ",
    "curl -u a",
    "docker login",
    "mysql -p",
    "machine a login b password ",
    "echo a:b | chpasswd",
    "htpasswd -b a b ",
  ],
  ...[
    "%41",
    "%3D",
    "\u200b",
    "a\u200b",
    '"+"',
    "\\\n",
    "QUJD",
    "QUJD\n",
    "aGVsbG8gd29ybGQg",
    "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo=\n",
  ],
  ...[
    "name: password\nvalue: ",
    "password is ",
    "set password ",
    "0123456789abcdef",
    "a-us1",
    "AZDO",
    "_mmk",
    "1Q~",
    "1|",
    ".atlasv1.",
  ],
  ...[
    "a_live_",
    "key_a1",
    "sk.a.b.",
    " -u a -p ",
    " -u -p",
    " -U a -P",
    "echo a1b2c3 | ",
    "echo aaaaaa ",
    'login("a", "',
    "auth=('a','",
    "net use /user:a ",
    "/u:a /p:",
    "a:12:b:c:",
    ":12:",
    "$6$",
    "Private-Lines: 1\n",
    "creds: a / ",
    '"name":"sid","value":"',
    "password for a ",
    "token:\n",
    "token ",
    "password: {",
    "password: { value ",
    'api_keys: ["',
    'keys: ["a1b2c3d4e5f6g7h8i9j0",',
    "password --value ",
    "AKIA",
    "x login ",
    "PASSWORD 'a",
    "| password ",
    "| password |\n| --- |\n",
    "| password |\n| --- |\n| a1b2c3 |\n",
    "\n| --- |",
    "token a1B2c3D4e5F6g7H8i9J0 ",
    "api key ",
    "&quot;",
    "&#34;key&#61;",
    "\uff41",
    "\\x41",
    "%2541",
    "insert into a (password) values ('",
    "insert into a (password) values (''",
    "insert into a (password,",
    'name="password"\r\n\r\n',
    "\u001b[1m",
    "ghp_a1b2\n",
    "ghp_a1b2c3d4e5f6g7h8i9j0\nk1",
    "-----END PRIVATE KEY-----",
    "QUJD\n-----END PRIVATE KEY-----\n",
    '<li key="a1B2c3D4e5F6g7H8" ',
    'Client("a1B2',
    "::add-mask::a",
    'insert into a (password) values ("',
    ".env:3:a=",
    "-1-a",
    "\n.env:",
    "a...",
    "ghp_a1...",
    "sk-ant-a1…",
    "://a:b...",
  ],
];
