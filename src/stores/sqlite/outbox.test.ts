import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Kept } from "../../core/ports/kept.ts";
import type { Outbox, Parcel } from "../../core/ports/outbox.ts";
import { openKept } from "./kept.ts";
import { outboxIn } from "./outbox.ts";

let folder: string;
let kept: Kept;
let outbox: Outbox;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "retinue-outbox-"));
  kept = await openKept(join(folder, "kept.sqlite"));
  outbox = kept.outbox;
  outbox.open("x", null);
});
afterEach(() => {
  kept.close();
  rmSync(folder, { recursive: true });
});

const parcel = (key: string, batch = "b", bytes = 10): Parcel => ({
  key,
  place: "",
  isEnd: true,
  batch,
  what: key,
  body: new Uint8Array(bytes),
});
const put = (...parcels: readonly Parcel[]) => outbox.put("x", "t", () => parcels, 1).put;
const LIMIT = { items: 100, bytes: 1_000 };
const next = () => outbox.next("x", LIMIT).map(({ what }) => what);
const state = () => outbox.destinations().find(({ name }) => name === "x");

describe("the outbox", () => {
  it("accepts an item with the same name once, also after it has arrived", () => {
    expect(put(parcel("a"), parcel("b"), parcel("a"))).toBe(2);
    expect(put(parcel("a"), parcel("c"))).toBe(1);
    outbox.arrived(
      "x",
      outbox.next("x", LIMIT).map(({ id }) => id),
      5,
      null,
    );
    expect(put(parcel("a"))).toBe(0);
    expect(state()).toMatchObject({ waiting: 0, delivered: 3, deliveredAt: 5 });
  });

  it("rejects items that contradict earlier ones, and ends each once, in place", () => {
    const run = (place: string, isEnd: boolean): Parcel => ({ ...parcel("run"), place, isEnd });
    const putIn = (one: Parcel) => outbox.put("x", "t", () => [one], 1);
    expect(putIn(run("chain a.b", false))).toEqual({ put: 1, refused: [] });
    expect(outbox.stillOpen("x", "t")).toEqual([{ key: "run", place: "chain a.b", isOpen: true }]);
    expect(putIn(run("chain a.b", false)).refused).toEqual(["run"]);
    expect(putIn(run("chain a.c", true)).refused).toEqual(["run"]);
    outbox.moved("x", "t", "other");
    expect([outbox.stillOpen("x", "t").length, outbox.stillOpen("x", "other").length]).toEqual([0, 1]);
    expect(putIn(run("chain a.b", true))).toEqual({ put: 1, refused: [] });
    expect(putIn(run("chain a.b", true)).refused).toEqual(["run"]);
    expect(outbox.stillOpen("x", "other")).toEqual([]);
  });

  it("accepts all items or none", () => {
    expect(() =>
      outbox.put(
        "x",
        "t",
        () => {
          throw new Error("no room");
        },
        1,
      ),
    ).toThrow("no room");
    expect(() => put(parcel("a"), { ...parcel("b"), what: null as never })).toThrow();
    expect(state()?.waiting).toBe(0);
    expect(put(parcel("a"))).toBe(1);
  });

  it("accepts nothing when the disk is full, and everything when there is space again", () => {
    const db = new DatabaseSync(join(folder, "kept.sqlite"));
    const full = outboxIn(db, "local");
    db.exec(`PRAGMA max_page_count = ${Number(db.prepare("PRAGMA page_count").get()?.page_count) + 2}`);
    const parcels = Array.from({ length: 50 }, (_, i) => parcel(`p${i}`, "b", 4_000));
    expect(() => full.put("x", "t", () => parcels, 1)).toThrow("full");
    expect(state()?.waiting).toBe(0);
    db.exec("PRAGMA max_page_count = 1000000");
    expect(full.put("x", "t", () => parcels, 1).put).toBe(50);
    db.close();
  });

  it("returns the oldest batch, as much as fits, and never a start together with its end", () => {
    put({ ...parcel("a"), isEnd: false }, parcel("other", "b2"), parcel("c"), parcel("a"), parcel("d"));
    expect(next()).toEqual(["a", "c"]);
    expect(outbox.next("x", { items: 1, bytes: 1_000 }).length).toBe(1);
    expect(outbox.next("x", { items: 100, bytes: 5 }).length).toBe(1);
  });

  it("is not blocked by a rejected item, and retries it on request", () => {
    put(parcel("a"), parcel("b"));
    outbox.refuse(outbox.next("x", LIMIT)[0]?.id ?? 0, "400 bad");
    expect(next()).toEqual(["b"]);
    expect(outbox.items("x", 10).map(({ what, refused }) => [what, refused])).toEqual([
      ["a", "400 bad"],
      ["b", null],
    ]);
    outbox.postpone("x", [], 99, "503");
    expect(outbox.retry("x")).toBe(1);
    expect(state()).toMatchObject({ waiting: 2, refused: 0, nextAt: 0, reason: null });
    outbox.refuse(outbox.next("x", LIMIT)[0]?.id ?? 0, "400 bad");
    expect(outbox.drop("x")).toBe(1);
    expect(put(parcel("a"))).toBe(0);
  });

  it("keeps the reason for waiting for a destination until something arrives", () => {
    put(parcel("a"));
    const [item] = outbox.next("x", LIMIT);
    outbox.postpone("x", [item?.id ?? 0], 50, "503 later");
    outbox.postpone("x", [item?.id ?? 0], 60, "503 later");
    expect(state()).toMatchObject({ nextAt: 60, failures: 2, reason: "503 later" });
    expect(outbox.items("x", 1)[0]?.attempts).toBe(2);
    outbox.arrived("x", [item?.id ?? 0], 70, null);
    expect(state()).toMatchObject({ nextAt: 0, failures: 0, reason: null });
  });

  it("has one holder at a time", () => {
    const hold = (who: string, now: number, isAlive = true) => outbox.hold("x", who, now, now + 10, () => isAlive);
    expect([hold("a", 0), hold("b", 5), hold("a", 5)]).toEqual([true, false, true]);
    expect([hold("b", 8, false), hold("a", 9)]).toEqual([true, false]);
    expect(hold("a", 100)).toBe(true);
    outbox.ask("x", 7);
    expect(outbox.release("x", "a", 6)).toBe(false);
    expect(hold("b", 100)).toBe(false);
    expect(outbox.release("x", "b", 7)).toBe(true);
    expect(hold("b", 100)).toBe(false);
    expect(outbox.release("x", "a", 7)).toBe(true);
    expect(hold("b", 100)).toBe(true);
  });

  it("keeps the first start time, and the unfinished threads", () => {
    expect(state()?.since).toBe(null);
    outbox.open("x", 5);
    outbox.open("x", 9);
    expect(state()?.since).toBe(5);
    outbox.setUnfinished("x", "t1", true);
    outbox.setUnfinished("x", "t2", true);
    outbox.setUnfinished("x", "t1", false);
    expect(outbox.unfinished("x")).toEqual(["t2"]);
  });
});
