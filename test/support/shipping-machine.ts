/** A machine with a recording, and a receiving server on loopback that it ships to. */
import { appendFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect } from "vitest";
import type { Library } from "../../src/app/ingest/library.ts";
import { loadSettings } from "../../src/app/settings/settings.ts";
import { Connection, type ConnectOptions } from "../../src/app/ship/connection.ts";
import { targetOf } from "../../src/app/ship/target.ts";
import type { AgentRecord, AgentTree } from "../../src/core/views/agent.ts";
import { retinue } from "./cli.ts";
import { filesBelow, recordedHome } from "./fixtures.ts";
import { type ReceivedServer, serveReceived } from "./received.ts";
import { libraryIn } from "./shipping.ts";

export interface ShippingMachine {
  readonly scratch: string;
  readonly home: string;
  readonly env: Record<string, string>;
  readonly server: ReceivedServer;
}

/** Each test of the file gets a new one, in the returned object. Call it once. */
export function eachWithMachine(): ShippingMachine {
  const machine = {} as ShippingMachine;
  beforeEach(async () => {
    const scratch = mkdtempSync(join(tmpdir(), "retinue-ship-"));
    const home = join(scratch, "home");
    cpSync(recordedHome("claude", "c3-nested-parallel").home, home, { recursive: true, preserveTimestamps: true });
    const server = await serveReceived();
    const env = {
      PATH: process.env.PATH ?? "",
      HOME: home,
      RETINUE_HOME: join(scratch, "data"),
      RETINUE_TEAM_TOKEN: server.token,
    };
    Object.assign(machine, { scratch, home, env, server });
  });
  afterEach(async () => {
    await machine.server.close();
    rmSync(machine.scratch, { recursive: true, force: true, maxRetries: 5 });
  });
  return machine;
}

export const runOn = ({ home, env }: ShippingMachine, ...args: readonly string[]) => retinue(home, args, env);

export async function treesOf(machine: ShippingMachine): Promise<AgentTree[]> {
  const roots = JSON.parse((await runOn(machine, "ls", "--json")).stdout) as AgentRecord[];
  const tree = async ({ uri }: AgentRecord) =>
    JSON.parse((await runOn(machine, "tree", uri, "--json")).stdout) as AgentTree;
  return Promise.all(roots.map(tree));
}

/** The server has received what the machine shows. */
export async function expectReceived(machine: ShippingMachine): Promise<void> {
  const trees = await treesOf(machine);
  expect(trees.length).toBeGreaterThan(0);
  for (const tree of trees) expect(machine.server.received.tree(tree.uri, tree.uri, Date.now())).toEqual(tree);
}

export function setSettings({ home }: ShippingMachine, yaml: string): void {
  mkdirSync(join(home, ".config/retinue"), { recursive: true });
  writeFileSync(join(home, ".config/retinue/config.yaml"), yaml);
}

/** Repeats a message of a user in the transcript of a thread, under another id. */
export function addMessage({ home }: ShippingMachine, uuid: string, session = ""): void {
  const [path = ""] = filesBelow(home).filter(
    (file) => /projects\/[^/]+\/[^/]+\.jsonl$/.test(file) && file.includes(session),
  );
  const lines = readFileSync(join(home, path), "utf8").split("\n");
  const line = lines.find((one) => one.includes('"type":"user"')) ?? "";
  appendFileSync(join(home, path), `${line.replace(/"uuid":"[^"]+"/, `"uuid":"${uuid}"`)}\n`);
}

/** A connection of the machine to its server, and the library that it sends from. */
export async function connected(
  { home, env, server }: ShippingMachine,
  {
    notify = () => {},
    signal = new AbortController().signal,
    now = Date.now,
  }: Partial<Pick<ConnectOptions, "notify" | "signal">> & { readonly now?: () => number } = {},
): Promise<{ readonly connection: Connection; readonly library: Library }> {
  const library = libraryIn(home, now);
  const settings = await loadSettings(env);
  const target = targetOf(env, settings, server.url);
  if (target === null) throw new Error("no target");
  return { library, connection: await Connection.open({ env, settings, target, library, notify, signal }) };
}
