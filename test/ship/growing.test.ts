/** Threads that grow, change and disappear: what is sent is what is new, and the end is as if all was sent at once. */
import { appendFileSync, cpSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openIndex } from "../../src/app/databases.ts";
import type { Library } from "../../src/app/ingest/library.ts";
import type { ShipmentDocument } from "../../src/core/ports/shipment.ts";
import { filesBelow, recordedHome } from "../support/fixtures.ts";
import { Received } from "../support/received.ts";
import { expectSame, libraryIn, shipperTo, TARGET } from "../support/shipping.ts";

let scratch: string;
let home: string;

beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), "retinue-ship-"));
  home = join(scratch, "home");
});
afterEach(() => rmSync(scratch, { recursive: true, force: true }));

const FAR = Date.UTC(2030, 0);

function take(provider: string, name: string): void {
  cpSync(recordedHome(provider, name).home, home, { recursive: true, preserveTimestamps: true });
}

interface Line {
  readonly path: string;
  readonly text: string;
  readonly at: number;
}

/** Empties all transcripts, and returns their lines in the order of their times. */
function takeApart(): readonly Line[] {
  const lines = filesBelow(home)
    .filter((file) => file.endsWith(".jsonl"))
    .flatMap((file) => {
      const path = join(home, file);
      let at = 0;
      const all = readFileSync(path, "utf8")
        .split(/(?<=\n)/)
        .map((text) => {
          at = Math.max(at, Date.parse(/"timestamp":"([^"]+)"/.exec(text)?.[1] ?? "") || 0);
          return { path, text, at };
        });
      writeFileSync(path, "");
      return all;
    });
  return lines.toSorted((a, b) => a.at - b.at);
}

describe.each([
  ["claude", "c-nested"],
  ["claude", "u-nested-bg"],
  ["codex", "v1-nested"],
] as const)("%s %s, line by line", (provider, name) => {
  it("ships each event once, and ends like a shipment of everything", async () => {
    take(provider, name);
    const lines = takeApart();
    let now = lines[0]?.at ?? 0;
    const library = libraryIn(home, () => now);
    await library.refresh();
    const received = new Received();
    const { shipper, shipped } = await shipperTo(library, received);
    for (const { path, text, at } of lines) {
      now = Math.max(now, at + 1);
      appendFileSync(path, text);
      const { threads } = await library.refresh();
      const before = received.documents.length;
      await shipper.shipChanged(threads);
      // One line has few events: what was sent before is not sent again.
      const events = received.documents.slice(before).filter(({ is }) => is === "event");
      expect(events.length).toBeLessThanOrEqual(12);
    }
    const live = received.documents.length;
    now = FAR;
    await library.refresh();
    await shipper.shipAll();
    await expectSame(library, received);
    const once = new Received();
    await (await shipperTo(library, once)).shipper.shipAll();
    // An event is sent again only if an end turned out not to be one, or its usage was not final.
    const count = (documents: readonly ShipmentDocument[]) => documents.filter(({ is }) => is === "event").length;
    expect(count(received.documents.slice(0, live))).toBeLessThanOrEqual(count(once.documents) + lines.length);
    shipped.close();
  });
});

async function shippedHome(): Promise<{ library: Library; received: Received; again: () => Promise<number> }> {
  // Unlike the memory store, it remembers folders that have become empty.
  const library = libraryIn(home, () => FAR, await openIndex(":memory:", "test"));
  await library.refresh();
  const received = new Received();
  const { shipper } = await shipperTo(library, received);
  await shipper.shipAll();
  const again = async () => {
    const { accepted } = received;
    await library.refresh();
    await shipper.shipAll();
    return received.accepted - accepted;
  };
  return { library, received, again };
}

describe("a thread", () => {
  it("that is not there after the index was rebuilt is removed", async () => {
    take("claude", "a-single");
    take("claude", "c-nested");
    const library = libraryIn(home, () => FAR);
    await library.refresh();
    const received = new Received();
    const { shipper, shipped } = await shipperTo(library, received);
    await shipper.shipAll();
    const [uri = "", other = ""] = received.threads;
    for (const { path } of received.tree(uri, uri, FAR)?.records ?? []) rmSync(path);
    rmSync(join(home, ".claude/projects"), { recursive: true });
    take("claude", received.tree(other, other, FAR)?.counts.descendants === 1 ? "a-single" : "c-nested");
    const rebuilt = libraryIn(home, () => FAR);
    await rebuilt.refresh();
    const { accepted } = received;
    await (await shipperTo(rebuilt, received, { shipped })).shipper.shipAll();
    expect(received.threads).toEqual([other]);
    expect(received.accepted).toBe(accepted + 1);
    await expectSame(rebuilt, received);
  });

  it("stays at the team server if the folder of its product is missing", async () => {
    take("claude", "c-nested");
    const { received, again } = await shippedHome();
    const { threads } = received;
    renameSync(join(home, ".claude"), join(home, "elsewhere"));
    expect(await again()).toBe(0);
    expect(received.threads).toEqual(threads);
  });

  it("whose file was rewritten is sent from the first difference on", async () => {
    take("claude", "c-nested");
    const { library, received, again } = await shippedHome();
    const [uri = ""] = received.threads;
    const [path = ""] = received.tree(uri, uri, FAR)?.records.map((record) => record.path) ?? [];
    const lines = readFileSync(path, "utf8").trimEnd().split("\n");
    writeFileSync(path, `${lines.slice(0, -1).join("\n").replaceAll("Agent", "Agents")}\n`);
    expect(await again()).toBeGreaterThan(0);
    await expectSame(library, received);
  });

  it("whose file grew by records without any fact has the new size at the server", async () => {
    take("claude", "c-nested");
    const { library, received, again } = await shippedHome();
    const [uri = ""] = received.threads;
    const [{ path, bytes } = { path: "", bytes: 0 }] = received.tree(uri, uri, FAR)?.records ?? [];
    const line = `{"type":"mode","mode":"normal","sessionId":"${uri.slice("claude://".length)}"}\n`;
    appendFileSync(path, line);
    // The record, and nothing else.
    expect(await again()).toBe(1);
    expect(received.tree(uri, uri, FAR)?.records).toEqual([{ path, bytes: bytes + line.length }]);
    await expectSame(library, received);
  });

  it("is not sent if its project is not shared, and removed if it no longer is", async () => {
    take("claude", "c-nested");
    const { library, received } = await shippedHome();
    const [uri = ""] = received.threads;
    const cwd = received.tree(uri, uri, FAR)?.cwd ?? "";
    for (const [projects, isSent] of [
      [[cwd], true],
      [[`${cwd}-other`], false],
    ] as const) {
      const other = new Received();
      await (await shipperTo(library, other, { target: { ...TARGET, projects } })).shipper.shipAll();
      expect(other.threads).toEqual(isSent ? [uri] : []);
      expect(other.accepted > 0).toBe(isSent);
    }
    const { shipper, shipped } = await shipperTo(library, received);
    await shipper.shipAll();
    const narrowed = { target: { ...TARGET, projects: ["/nowhere"] }, shipped };
    await (await shipperTo(library, received, narrowed)).shipper.shipAll();
    expect(received.threads).toEqual([]);
  });

  it("is sent again by new rules of redaction", async () => {
    take("claude", "c-nested");
    const { library, received } = await shippedHome();
    const { shipper, shipped } = await shipperTo(library, received);
    await shipper.shipAll();
    const strict: typeof TARGET = { ...TARGET, redaction: { ...TARGET.redaction, level: "metadata" } };
    const before = received.documents.length;
    await (await shipperTo(library, received, { target: strict, shipped })).shipper.shipAll();
    const [uri = ""] = received.threads;
    const texts = received.events(uri, uri).map(({ text }) => text);
    expect(texts.length).toBeGreaterThan(0);
    expect(texts.every((text) => text === null)).toBe(true);
    expect(received.tree(uri, uri, FAR)?.prompt).toBeNull();
    const sent = JSON.stringify(received.documents.slice(before));
    for (const forest of library.forests())
      for (const { prompt } of forest.agents.values())
        if (prompt !== null && prompt.length > 20) expect(sent).not.toContain(prompt.slice(0, 20));
  });
});

describe("a shipper that is killed", () => {
  it.each(["before the server stored a shipment", "after it, before the answer arrived"])(
    "%s loses and doubles nothing",
    async (when) => {
      take("claude", "c3-nested-parallel");
      const library = libraryIn(home, () => FAR);
      await library.refresh();
      const received = new Received();
      const limit = { bytes: 4_000, documents: 7 };
      const { shipped } = await shipperTo(library, received);
      let kills = 0;
      for (let isDone = false; !isDone; ) {
        const die = () => {
          kills += 1;
          if (kills % 2 === 0) throw new Error("killed");
        };
        const { shipper } = await shipperTo(library, received, {
          shipped,
          limit,
          // Every second shipment of each run.
          ...(when.startsWith("before") ? { beforeSend: die } : { beforeAnswer: die }),
        });
        isDone = await shipper.shipAll().then(
          () => true,
          (error: Error) => {
            expect(error.message).toBe("killed");
            return false;
          },
        );
      }
      expect(kills).toBeGreaterThan(10);
      await expectSame(library, received);
    },
  );

  it("after each shipment that was stored but not acknowledged, while the threads were rewritten or deleted", async () => {
    const limit = { bytes: 4_000, documents: 7 };
    let died = true;
    for (let at = 1; died; at += 1) {
      rmSync(home, { recursive: true, force: true });
      take("claude", "u-nested-bg");
      const library = libraryIn(home, () => FAR);
      await library.refresh();
      const received = new Received();
      let sent = 0;
      died = false;
      const { shipper, shipped } = await shipperTo(library, received, {
        limit,
        beforeAnswer: () => {
          sent += 1;
          died = sent === at;
          if (died) throw new Error("killed");
        },
      });
      await shipper.shipAll().catch((error: Error) => expect(error.message).toBe("killed"));
      const files = filesBelow(home).filter((file) => file.endsWith(".jsonl"));
      for (const [i, file] of files.entries()) {
        const lines = readFileSync(join(home, file), "utf8").split(/(?<=\n)/);
        writeFileSync(join(home, file), lines.slice(0, i === 0 ? 5 : 1).join(""));
      }
      await library.refresh();
      await (await shipperTo(library, received, { shipped })).shipper.shipAll();
      await expectSame(library, received);
      library.close();
    }
  });

  it("while a removal was not acknowledged, and the thread came back smaller", async () => {
    take("claude", "c-nested");
    const library = libraryIn(home, () => FAR);
    await library.refresh();
    for (const when of ["beforeSend", "beforeAnswer"] as const) {
      const received = new Received();
      const { shipper, shipped } = await shipperTo(library, received);
      await shipper.shipAll();
      const [uri = ""] = received.threads;
      const stamp = shipped.thread(TARGET.name, uri);
      const target = { ...TARGET, projects: ["/nowhere"] };
      const die = () => {
        throw new Error("killed");
      };
      const removing = await shipperTo(library, received, { target, shipped, [when]: die });
      await expect(removing.shipper.shipAll()).rejects.toThrow("killed");
      expect(stamp).not.toEqual(shipped.thread(TARGET.name, uri));
      await (await shipperTo(library, received, { shipped })).shipper.shipAll();
      await expectSame(library, received);
    }
  });

  it("also if its shipments arrive again, and in another order", async () => {
    take("claude", "c3-nested-parallel");
    const library = libraryIn(home, () => FAR);
    await library.refresh();
    const first = new Received();
    await (await shipperTo(library, first)).shipper.shipAll();
    const mixed = new Received();
    for (const document of [...first.documents, ...first.documents.toReversed(), ...first.documents])
      mixed.apply(document);
    await expectSame(library, mixed);
    const reversed = new Received();
    for (const document of first.documents.toReversed()) reversed.apply(document);
    await expectSame(library, reversed);
  });
});
