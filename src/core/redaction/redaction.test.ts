import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AgentEvent } from "../views/event.ts";
import { DEFAULT_REDACTION, type RedactionRules, Redactor } from "./redaction.ts";
import { base64Runs, hasBase64Run, SECRET } from "./secrets.ts";

const redactor = (rules: Partial<RedactionRules> = {}) => new Redactor({ ...DEFAULT_REDACTION, ...rules });
/** Assembled at run time, so that secret scanners do not report this file. */
const key = (...parts: readonly string[]) => parts.join("");
const LONG = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";

it("the test before the search for Base64 finds a run exactly if the text has one", () => {
  const character = fc.constantFrom(
    ..."aZ09+/_-",
    "aaaaaaaa",
    "a".repeat(11),
    "a".repeat(23),
    " ",
    "=",
    ".",
    "\u00e9",
    "\ud83d\ude00",
  );
  fc.assert(
    fc.property(fc.array(character, { maxLength: 12 }), (parts) => {
      const text = parts.join("");
      expect(hasBase64Run(text)).toBe(/[A-Za-z0-9+/_-]{24}/.test(text));
    }),
    { numRuns: 2_000 },
  );
});

it("finds the runs of Base64 that a pattern finds", () => {
  const pattern = /(?<![A-Za-z0-9+/_=-])[A-Za-z0-9+/_-]{24,}(?:\r?\n[A-Za-z0-9+/_-]{20,}){0,2000}={0,2}/g;
  const part = fc.constantFrom("a", "a".repeat(19), "Z9+/_-".repeat(4), "=", "\n", "\r\n", "\r", " ", "\u00e9");
  fc.assert(
    fc.property(fc.array(part, { maxLength: 14 }), (parts) => {
      const text = parts.join("");
      const runs = [...base64Runs(text)].map(({ start, end }) => [start, text.slice(start, end)]);
      expect(runs).toEqual([...text.matchAll(pattern)].map((match) => [match.index, match[0]]));
    }),
    { numRuns: 5_000 },
  );
});

it("searches a text of one long run", () => {
  const text = "y".repeat(20_000_000);
  expect(new Redactor(DEFAULT_REDACTION).text(text) === text).toBe(true);
});

describe("lines of secret files that a search printed", () => {
  const found = [
    "src/app.ts:3:const NAME = 1;",
    "./.env:3:SHOP=blue horse",
    ".env.local-4-export SHIP='x y'",
    "app/.env:MAIL_FROM=ada",
    "keys/id_rsa:2:b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAABlwAA",
    "vault.yaml:7:door: 1234",
  ].join("\n");

  it("have no values if they are coloured", () => {
    const line =
      "\u001b[35m.env\u001b[m\u001b[36m:\u001b[m\u001b[32m3\u001b[m\u001b[36m:\u001b[m\u001b[01;31mSHOP\u001b[m=";
    expect(redactor().text(`${line}blue horse`)).toBe(`${line}${SECRET}`);
  });

  it("have no values, also of the user's secret files", () => {
    const lines = redactor({ paths: ["vault.yaml"] })
      .text(found)
      .split("\n");
    expect(lines).toEqual([
      "src/app.ts:3:const NAME = 1;",
      `./.env:3:SHOP=${SECRET}`,
      `.env.local-4-export SHIP=${SECRET}`,
      `app/.env:MAIL_FROM=${SECRET}`,
      `keys/id_rsa:2:${SECRET}`,
      `vault.yaml:7:door: ${SECRET}`,
    ]);
    expect(redactor().text(found)).toContain("door: 1234");
    expect(redactor().value([found, "and more"])).toEqual([redactor().text(found), "and more"]);
  });

  it.each(["./.env:/app/.env", ".env.example:3:SHOP=blue", "src/secrets.ts:12:5 - error TS2304", "the .env: a file"])(
    "are not %s",
    (text) => expect(redactor().text(text)).toBe(text),
  );
});

describe("secrets in texts", () => {
  it.each([
    key("sk-", "ant-api03-", LONG),
    key("sk-", "proj-", LONG),
    key("gh", "p_", LONG),
    key("github", "_pat_", LONG),
    key("glpat", "-", LONG),
    key("AK", "IA", "ABCDEFGHIJKLMNOP"),
    key("AI", "za", LONG),
    key("xox", "b-", "123456789-abcdef"),
    key("lsv2", "_pt_", "0123456789abcdef0123456789abcdef", "_0123456789"),
    key("npm", "_", LONG),
    key("sk", "_live_", LONG),
    key("eyJ", "hbGciOiJIUzI1NiJ9", ".eyJ", "zdWIiOiIxMjM0NTY3ODkwIn0", ".c2lnbmF0dXJl"),
  ])("%s is redacted, and the text around it stays", (secret) => {
    expect(redactor().text(`before ${secret} after`)).toBe(`before ${SECRET} after`);
  });

  it.each([
    ["DB_PASSWORD=hunter2\nPORT=80", `DB_PASSWORD=${SECRET}\nPORT=80`],
    ["export API_KEY='abc'", `export API_KEY='${SECRET}'`],
    ['{"api_key": "abc", "n": 1}', `{"api_key": "${SECRET}", "n": 1}`],
    ['{\\"client_secret\\":\\"abc\\"}', `{\\"client_secret\\":\\"${SECRET}\\"}`],
    ["password: hunter", `password: ${SECRET}`],
    ["Authorization: Bearer abc.def", `Authorization: ${SECRET}`],
    ["curl -H 'X-Api-Key: abc' x", `curl -H 'X-Api-Key: ${SECRET}' x`],
    ["bearer abcdefghijkl0123", `bearer ${SECRET}`],
    ["postgres://me:pw@host/db", `postgres://me:${SECRET}@host/db`],
    ["https://hooks.slack.com/services/T0/B0/xyz", `https://hooks.slack.com/services/${SECRET}`],
    ["AccountName=x;AccountKey=abc==;More=1", `AccountName=x;AccountKey=${SECRET};More=1`],
    ["-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\nend", `${SECRET}\nend`],
    ["-----BEGIN OPENSSH PRIVATE KEY-----\ncut off", SECRET],
  ])("%j", (text, expected) => {
    expect(redactor().text(text)).toBe(expected);
  });

  it.each([
    "const token: string = next();",
    "total_tokens: 372, input_tokens=12",
    "the secret of good code",
    "API_KEY=$OTHER",
    "password: process.env.PW",
    "basic authentication is used",
    "https://example.com:8080/a@b",
    "a task-notification and a sk-short",
    "tokenizer = load()",
  ])("%j contains none", (text) => {
    expect(redactor().text(text)).toBe(text);
  });

  it("are also found by the user's own patterns", () => {
    expect(redactor({ patterns: ["ACME-\\d+", ""] }).text("ticket ACME-42 and ACME-x")).toBe(
      `ticket ${SECRET} and ACME-x`,
    );
  });

  it("stay redacted if redaction runs twice, and long texts take little time", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const once = redactor().text(`${text} API_KEY=abc `);
        expect(redactor().text(once)).toBe(once);
        expect(once).not.toContain("API_KEY=abc ");
      }),
    );
    for (const piece of ["a_", "a", "key=", "-----BEGIN ", "bearer ", "x://a:", "a.b-c_", '"token":', " "]) {
      expect(redactor().text(piece.repeat(200_000)).length).toBeGreaterThan(0);
    }
  });
});

describe("secrets in values", () => {
  it("are also found by their keys; counts and flags are not secrets", () => {
    const value = {
      headers: { Authorization: "abc", "x-api-key": "k", accept: "*/*" },
      apiKey: "abc",
      maxTokens: 5,
      token: 7,
      list: ["pwd=abcd"],
      deep: { secret: ["a"] },
    };
    expect(redactor().value(value)).toEqual({
      headers: { Authorization: SECRET, "x-api-key": SECRET, accept: "*/*" },
      apiKey: SECRET,
      maxTokens: 5,
      token: 7,
      list: [`pwd=${SECRET}`],
      deep: { secret: SECRET },
    });
  });

  it("are redacted at any depth without a stack overflow", () => {
    const deep = JSON.parse(`${"[".repeat(5_000)}"x"${"]".repeat(5_000)}`) as unknown;
    expect(JSON.stringify(redactor().value(deep))).toContain(SECRET);
  });
});

describe("secret files", () => {
  it.each([
    "/home/dev/x/.env",
    ".env.production",
    "config/prod.env",
    "C:\\x\\server.key",
    "~/.ssh/id_ed25519",
    "/root/.aws/credentials",
    "k8s/secrets.yaml",
  ])("%s is one", (path) => {
    expect(redactor().isSecretFile(path)).toBe(true);
  });
  it.each([".env.example", "src/environment.ts", "/root/.ssh/known_hosts", "id_rsa.pub", "keyboard.ts", "README.md"])(
    "%s is not one",
    (path) => {
      expect(redactor().isSecretFile(path)).toBe(false);
    },
  );
  it("include those that the user names", () => {
    const own = redactor({ paths: ["~/vault/**", "plans/*.md"] });
    expect(["/home/dev/vault/a/b", "/x/plans/a.md", "/x/plans/a/b.md"].map((path) => own.isSecretFile(path))).toEqual([
      true,
      true,
      false,
    ]);
  });
});

const event = (kind: AgentEvent["kind"], more: Partial<AgentEvent> = {}): AgentEvent => ({
  schema: "retinue/event@1",
  summary: null,
  uri: "toy://t",
  id: "1",
  seq: 1,
  at: null,
  kind,
  text: null,
  tool: null,
  usage: null,
  spawn: null,
  status: null,
  ref: null,
  ...more,
});
const tool = (input: unknown, callId = "c1") => ({ name: "Read", callId, input, isError: false });

describe("events", () => {
  it("on a secret file keep its path and not its content", () => {
    const redact = redactor().events();
    expect(redact(event("toolCall", { tool: tool({ file_path: "/x/.env" }) })).tool?.input).toEqual({
      file_path: "/x/.env",
    });
    expect(redact(event("toolResult", { text: "COLOR=blue", tool: tool(null) })).text).toBe(
      "[redacted: a file of secrets]",
    );
    expect(redact(event("toolResult", { text: "COLOR=blue", tool: tool(null, "c2") })).text).toBe("COLOR=blue");
    expect(
      redact(event("toolCall", { tool: tool({ file_path: "/x/.env", content: "COLOR=blue" }) })).tool?.input,
    ).toEqual({
      file_path: "/x/.env",
      content: SECRET,
    });
    expect(redact(event("toolCall", { tool: tool({ command: "cat >.env <<E\nCOLOR=blue\nE" }) })).tool?.input).toEqual({
      command: "cat >.env <<E",
    });
  });

  it("lose tool results, or all texts, if the redaction level requires it", () => {
    const bare = redactor({ level: "no-tool-output" }).events();
    expect(bare(event("toolResult", { text: "12345", tool: tool(null) })).text).toBe("[left out: 5 characters]");
    expect(bare(event("assistant", { text: "hello" })).text).toBe("hello");
    const metadata = redactor({ level: "metadata" }).events();
    for (const kind of ["user", "assistant", "reasoning", "toolResult", "error", "note", "compaction"] as const) {
      const { text, tool: left } = metadata(event(kind, { text: "hello", tool: tool({ command: "ls" }) }));
      expect([text, left?.input]).toEqual([null, null]);
    }
  });
});
