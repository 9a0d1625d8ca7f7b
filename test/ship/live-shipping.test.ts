/** Shipping while agents work, against a receiving server on loopback. */
import { appendFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadSettings } from "../../src/app/settings/settings.ts";
import { LiveShipping } from "../../src/app/ship/ship-live.ts";
import type { AgentRecord, AgentTree } from "../../src/core/views/agent.ts";
import { filesBelow, recordedHome } from "../support/fixtures.ts";
import { startServer, until } from "../support/server.ts";
import { expectSame } from "../support/shipping.ts";
import { addMessage, connected, eachWithMachine, expectReceived, setSettings } from "../support/shipping-machine.ts";

const machine = eachWithMachine();

describe("the bandwidth of the settings", () => {
  it("delays the next shipment, not the acknowledgement of the last one", async () => {
    setSettings(machine, "team:\n  bandwidth: 20KB\n");
    const { library, connection } = await connected(machine);
    try {
      await library.refresh();
      const began = Date.now();
      await connection.attempt((shipper) => shipper.shipAll());
      const { documents, bytes } = connection.totals();
      expect(documents).toBeGreaterThan(0);
      addMessage(machine, "33333333-0000-4000-8000-000000000003");
      await library.refresh();
      await connection.attempt((shipper) => shipper.shipAll());
      expect(connection.totals().documents).toBeGreaterThan(documents);
      expect(Date.now() - began).toBeGreaterThanOrEqual((bytes / 20_000) * 1_000);
    } finally {
      connection.close();
      library.close();
    }
  });
});

describe("live shipping", () => {
  it("waits for a server that is away, and then sends what was written meanwhile", async () => {
    const stop = new AbortController();
    const messages: string[] = [];
    const notify = (text: string) => messages.push(text);
    const { library, connection } = await connected(machine, { notify, signal: stop.signal });
    await library.refresh();
    const shipping = new LiveShipping(library, connection, stop, notify, { pauseMs: 5, quietMs: 20 });
    try {
      machine.server.mishaps.push({ status: 503 }, "lost-request", "lost-response");
      const changed = async () => shipping.changed((await library.refresh()).threads);
      await changed();
      for (const file of filesBelow(machine.home).filter((one) => one.endsWith(".jsonl"))) {
        const text = readFileSync(join(machine.home, file), "utf8");
        const half = text.lastIndexOf("\n", text.length / 2) + 1;
        writeFileSync(join(machine.home, file), text.slice(0, half));
        await changed();
        appendFileSync(join(machine.home, file), text.slice(half));
        await changed();
      }
      await until(() =>
        expectSame(library, machine.server.received).then(
          () => true,
          () => false,
        ),
      );
      expect(machine.server.mishaps).toEqual([]);
      await until(
        () => messages.at(-1) === "team: sending again",
        () => messages,
      );
    } finally {
      await shipping.stop();
    }
  });

  it("uses the token that is in its file when it sends", async () => {
    const path = join(machine.scratch, "token");
    writeFileSync(path, "revoked");
    delete machine.env.RETINUE_TEAM_TOKEN;
    setSettings(machine, `team:\n  url: ${machine.server.url}\n  token_file: ${path}\n`);
    const { library, connection } = await connected(machine);
    await library.refresh();
    const attempt = () => connection.attempt((shipper) => shipper.shipAll());
    expect([await attempt(), connection.reason]).toEqual([false, expect.stringContaining("token")]);
    rmSync(path);
    expect([await attempt(), connection.reason]).toEqual([false, expect.stringContaining(path)]);
    writeFileSync(path, `${machine.server.token}\n`);
    expect([await attempt(), connection.reason]).toEqual([true, null]);
    connection.close();
    library.close();
    await expectReceived(machine);
  });

  it("reports nothing if it is stopped while it sends", async () => {
    const stop = new AbortController();
    const messages: string[] = [];
    const notify = (text: string) => messages.push(text);
    const { library, connection } = await connected(machine, { notify, signal: stop.signal });
    const shipping = new LiveShipping(library, connection, stop, notify, { pauseMs: 5, quietMs: 20 });
    machine.server.mishaps.push("silence");
    shipping.changed((await library.refresh()).threads);
    await until(() => machine.server.mishaps.length === 0);
    await shipping.stop();
    expect(messages).toEqual([]);
  });

  it("by two processes in turn sends every event once", async () => {
    const files = filesBelow(machine.home).filter((one) => one.endsWith(".jsonl"));
    const texts = new Map(files.map((file) => [file, readFileSync(join(machine.home, file), "utf8").split(/(?<=\n)/)]));
    for (const file of files) writeFileSync(join(machine.home, file), "");
    // The time of the newest record, so that the thread runs.
    let now = 0;
    const processes = await Promise.all([1, 2].map(() => connected(machine, { now: () => now })));
    let [turn, most] = [0, 0];
    for (const [file, lines] of texts)
      for (const line of lines) {
        appendFileSync(join(machine.home, file), line);
        now = Math.max(now, Date.parse(/"timestamp":"([^"]+)"/.exec(line)?.[1] ?? "") || 0);
        const { library, connection } = processes[turn % 2] as (typeof processes)[number];
        const { threads } = await library.refresh();
        expect(await connection.attempt((shipper) => shipper.shipChanged(threads))).toBe(true);
        turn += 1;
        const [uri = ""] = machine.server.received.threads;
        const ids = uri === "" ? [] : machine.server.received.events(uri, uri).map(({ id }) => id);
        expect(ids).toEqual([...new Set(ids)]);
        most = Math.max(most, ids.length);
      }
    expect(most).toBeGreaterThan(5);
    for (const { connection } of processes) connection.close();
  });

  it("is left out by a server whose team.url contains a password; it starts and says so", async () => {
    const values = { "team.url": "http://ann:hunter2@127.0.0.1:9" };
    const local = await startServer(null, { settings: await withSettings(values) });
    try {
      expect(local.messages.join("\n")).toContain("nothing is sent to the team server");
      expect(local.messages.join("\n")).not.toContain("hunter2");
      const headers: Record<string, string> = local.token === null ? {} : { Authorization: `Bearer ${local.token}` };
      expect(await local.json("/api/ship?waiting=true", { headers })).toEqual({ team: null });
    } finally {
      await local.close();
    }
  });

  it("is done by a server with team.url, which answers meanwhile", async () => {
    const settings = { values: { "team.url": machine.server.url } };
    const local = await startServer(recordedHome("claude", "c-nested").home, {
      settings: await withSettings(settings.values),
    }).catch((error: Error) => error);
    if (local instanceof Error) throw local;
    try {
      const { items } = await local.json<{ items: AgentRecord[] }>("/api/threads");
      expect(items).toHaveLength(1);
      await until(() => machine.server.received.threads.length === 1);
      const [uri = ""] = machine.server.received.threads;
      const tree = await local.json<AgentTree>(`/api/agents/${encodeURIComponent(uri)}`);
      expect(machine.server.received.tree(uri, uri, Date.now())).toEqual(tree);
    } finally {
      await local.close();
    }
  });
});

/** The settings of the machine with some values replaced; the token comes from a file. */
async function withSettings(values: Readonly<Record<string, unknown>>) {
  const path = join(machine.scratch, "token");
  writeFileSync(path, machine.server.token);
  const settings = await loadSettings(machine.env);
  return { ...settings, values: { ...settings.values, ...values, "team.token_file": path } };
}
