/** Alerts: each event once, not too many, without secrets, and without effect on anything else. */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { type AlertMessage, Alerts, messageOf } from "../../src/app/alerts/alerts.ts";
import { claim, PER_HOUR } from "../../src/app/alerts/claims.ts";
import { loadSettings } from "../../src/app/settings/settings.ts";
import { DEFAULT_REDACTION, Redactor } from "../../src/core/redaction/redaction.ts";
import type { Alert } from "../../src/core/views/alerts.ts";
import { noticeCommand } from "../../src/transports/desktop.ts";
import { startServer, until } from "../support/server.ts";

const HOUR_MS = 3_600_000;

function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), "retinue-alerts-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const named = (description: string): Alert["named"] => ({
  title: null,
  description,
  name: null,
  prompt: null,
  type: "Explore",
  agentId: "a",
  sessionId: "t",
});

const alert = (key: string, more: Partial<Alert> = {}): Alert => ({
  key,
  kind: "failed",
  uri: "claude://t/a",
  thread: "claude://t",
  cwd: "/home/ada/shop",
  at: 0,
  named: named("Find the tests"),
  type: "Explore",
  event: "failed",
  detail: null,
  ...more,
});

async function webhook(status = 200) {
  const messages: AlertMessage[] = [];
  let requests = 0;
  const server = createServer(async (incoming, outgoing) => {
    requests += 1;
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    messages.push(JSON.parse(Buffer.concat(chunks).toString("utf8")) as AlertMessage);
    outgoing.writeHead(status).end("ok");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  return { url, messages, requests: () => requests };
}

describe("an event", () => {
  it("is claimed once, by whichever process is first", () => {
    const env = { RETINUE_HOME: scratch() };
    expect(claim(env, "a", 0)).toEqual({ is: "sent", leftOut: 0 });
    expect(claim(env, "a", 1)).toEqual({ is: "known" });
    expect(claim(env, "b", 2)).toEqual({ is: "sent", leftOut: 0 });
  });

  it("is left out beyond the limit of an hour, and the next one counts those", () => {
    const env = { RETINUE_HOME: scratch() };
    for (let i = 0; i < PER_HOUR; i += 1) expect(claim(env, `${i}`, i).is).toBe("sent");
    for (const key of ["x", "y", "z"]) expect(claim(env, key, PER_HOUR)).toEqual({ is: "late" });
    expect(claim(env, "later", HOUR_MS + PER_HOUR)).toEqual({ is: "sent", leftOut: 3 });
    expect(claim(env, "then", HOUR_MS + PER_HOUR)).toEqual({ is: "sent", leftOut: 0 });
  });
});

describe("a message", () => {
  const secret = `sk-ant-api03-${"a1B2".repeat(20)}`;

  it("has a text for people and fields for programs, without secrets", () => {
    const redactor = new Redactor({ ...DEFAULT_REDACTION, patterns: ["ACME-\\d+"] });
    expect(messageOf(alert("k", { named: named(`Use ${secret}`), detail: "ACME-12\nand more" }), redactor, 2)).toEqual({
      text: "retinue: Explore “Use [redacted]” failed ([redacted] and more) in shop; 2 earlier alerts were left out",
      schema: "retinue/alert@1",
      kind: "failed",
      uri: "claude://t/a",
      thread: "claude://t",
      project: "shop",
      at: "1970-01-01T00:00:00.000Z",
    });
  });

  it("contains no part of a secret in which the name is cut, or which begins before the name of the folder", () => {
    const redactor = new Redactor({ ...DEFAULT_REDACTION, patterns: ["ACME-\\d+", "ada/\\w+"] });
    const of = { named: named(`${"long ".repeat(30)}ACME-1234567890`), cwd: "/home/ada/shop" };
    const { text, project } = messageOf(alert("k", of), redactor, 0);
    expect([text, project]).toEqual([expect.stringMatching(/long \[redact/), "[redacted]"]);
    expect(text).not.toMatch(/ACME|shop/);
  });

  it("contains no text of the thread at the level metadata", () => {
    const redactor = new Redactor({ ...DEFAULT_REDACTION, level: "metadata" });
    const message = messageOf(alert("k", { detail: "it said so" }), redactor, 0);
    expect([message.text, message.project]).toEqual(["retinue: Explore failed", null]);
  });

  it("is an argument of the command that shows it, not a part of a script", () => {
    const text = '"; do shell script "true';
    expect(noticeCommand(text, "linux")?.at(-1)).toBe(text);
    expect(noticeCommand(text, "darwin")?.at(-1)).toBe(text);
    expect(noticeCommand(text, "win32")).toBeNull();
  });
});

describe("delivery", () => {
  const options = (url: string | null, notify: (text: string) => void = () => {}) => ({
    env: { RETINUE_HOME: scratch(), PATH: "/nowhere" },
    redaction: DEFAULT_REDACTION,
    webhook: url,
    notify,
    pausesMs: [1, 1],
  });

  it("sends each event once", async () => {
    const { url, messages } = await webhook();
    const alerts = new Alerts(options(url));
    alerts.raise([alert("a"), alert("b"), alert("a")], 0);
    alerts.raise([alert("a")], 1);
    await until(() => messages.length === 2);
    await alerts.stop();
    expect(messages.map(({ kind }) => kind)).toEqual(["failed", "failed"]);
  });

  it("gives up on a webhook that fails, says so once, and does not name its address", async () => {
    const { url, requests } = await webhook(503);
    const problems: string[] = [];
    const alerts = new Alerts(options(url, (text) => problems.push(text)));
    alerts.raise([alert("a")], 0);
    await until(() => problems.some((text) => text.startsWith("the webhook")));
    await alerts.stop();
    expect(requests()).toBe(3);
    expect(problems.filter((text) => text.includes("webhook"))).toEqual([
      "the webhook of alerts cannot be delivered: 503 ok",
    ]);
    expect(problems.join()).not.toContain(new URL(url).port);
  });
});

it("the server reports an agent that is silent, on the desktop and to the webhook", async () => {
  const { url, messages } = await webhook();
  const folder = scratch();
  const shown = join(folder, "shown");
  writeFileSync(join(folder, "notify-send"), `#!/bin/sh\necho "$@" >> ${shown}\n`);
  chmodSync(join(folder, "notify-send"), 0o755);
  const home = join(folder, "home");
  const data = join(folder, "data");
  mkdirSync(join(home, ".config/retinue"), { recursive: true });
  const config = join(home, ".config/retinue/config.yaml");
  writeFileSync(config, `alerts:\n  silent_minutes: 0.0001\n  webhook: ${url}\n`);
  const env = { PATH: `${folder}:${process.env.PATH}`, HOME: home, RETINUE_HOME: data };
  const server = await startServer(null, { env, settings: await loadSettings(env) });
  onTestFinished(() => server.close());
  const session = "b7ee73a5-27dd-4edd-9153-75b0a97a7d14";
  mkdirSync(join(data, "recordings/claude/hooks"), { recursive: true });
  const payload = { session_id: session, hook_event_name: "UserPromptSubmit", prompt: "Begin." };
  writeFileSync(
    join(data, `recordings/claude/hooks/${session}.jsonl`),
    `${JSON.stringify({ at: Date.now(), raw: payload })}\n`,
  );
  // The shell creates the file before it writes to it.
  const noticed = () => (existsSync(shown) ? readFileSync(shown, "utf8") : "");
  await until(() => messages.length > 0 && (process.platform !== "linux" || noticed() !== ""));
  expect(messages[0]).toMatchObject({ kind: "silent", uri: `claude://${session}`, schema: "retinue/alert@1" });
  expect(messages[0]?.text).toMatch(/^retinue: claude thread “Begin\.” has written nothing for /);
  if (process.platform === "linux") expect(noticed()).toContain("has written nothing for");
});
