import { EventEmitter } from "node:events";
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, watch, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { type WatchOptions, watchFolders } from "./watch.ts";

async function watching(
  folders: readonly string[],
  prepare: (base: string) => void = () => {},
  shallow: readonly string[] = [],
) {
  const base = mkdtempSync(join(tmpdir(), "retinue-watch-"));
  prepare(base);
  const seen = new Set<string>();
  const errors: Error[] = [];
  const watch = await watchFolders(
    folders.map((folder) => join(base, folder)),
    shallow.map((folder) => join(base, folder)),
    {
      onPaths: (paths) => {
        for (const path of paths) seen.add(path.slice(base.length + 1));
      },
      onError: (error) => errors.push(error),
    },
  );
  onTestFinished(async () => {
    await watch.stop();
    rmSync(base, { recursive: true });
    expect(errors).toEqual([]);
  });
  const write = (path: string) => writeFileSync(join(base, path), "1");
  const sees = (path: string) => expect.poll(() => seen.has(path), { timeout: 20_000 }).toBe(true);
  return { base, seen, write, sees };
}

describe("a folder that does not exist yet", () => {
  it("is watched as soon as it is created, including files written in the meantime", async () => {
    const { base, write, sees } = await watching(["product/records"]);
    mkdirSync(join(base, "product"));
    mkdirSync(join(base, "product/records/deep"), { recursive: true });
    write("product/records/deep/a.jsonl");
    await sees("product/records/deep/a.jsonl");
    write("product/records/deep/b.jsonl");
    await sees("product/records/deep/b.jsonl");
  });

  it("is watched as soon as it is created if only its direct content counts", async () => {
    const { base, seen, write, sees } = await watching([], () => {}, ["share/product"]);
    mkdirSync(join(base, "share/product/deep"), { recursive: true });
    write("share/product/data.db");
    await sees("share/product/data.db");
    write("share/product/deep/file");
    write("share/product/data.db-wal");
    await sees("share/product/data.db-wal");
    expect(seen.has("share/product/deep/file")).toBe(false);
  });

  it("reports nothing else", async () => {
    const { base, seen, write, sees } = await watching(["product/records"]);
    mkdirSync(join(base, "other/deep"), { recursive: true });
    write("other/deep/a.jsonl");
    mkdirSync(join(base, "product/records"), { recursive: true });
    write("product/records/b.jsonl");
    await sees("product/records/b.jsonl");
    expect([...seen].filter((path) => path.startsWith("other"))).toEqual([]);
  });
});

/** A system that watches whole trees, and reports only what a test triggers. */
async function watchingTree(folder: string) {
  const base = mkdtempSync(join(tmpdir(), "retinue-watch-"));
  mkdirSync(join(base, folder), { recursive: true });
  const watchers: (EventEmitter & {
    readonly path: string;
    tell: (is: "rename" | "change", name: string | null) => void;
    isClosed: boolean;
  })[] = [];
  const watch = ((path: string, _: unknown, tell: (is: "rename" | "change", name: string | null) => void) => {
    const watcher = Object.assign(new EventEmitter(), {
      path,
      tell,
      isClosed: false,
      close: () => Object.assign(watcher, { isClosed: true }),
    });
    watchers.push(watcher);
    return watcher;
  }) as unknown as WatchOptions["watch"] & {};
  const seen: string[] = [];
  const onPaths = (paths: readonly string[]) => void seen.push(...paths.map((path) => path.slice(base.length + 1)));
  const errors: Error[] = [];
  const watched = await watchFolders([join(base, folder)], [], {
    onPaths,
    onError: (error) => errors.push(error),
    isRecursive: true,
    watch,
  });
  onTestFinished(async () => {
    await watched.stop();
    rmSync(base, { recursive: true });
    expect(errors).toEqual([]);
  });
  const current = (path: string) => watchers.findLast((one) => one.path === join(base, path) && !one.isClosed);
  const put = (path: string) => {
    mkdirSync(join(base, path, ".."), { recursive: true });
    writeFileSync(join(base, path), "1");
  };
  return { base, seen, current, put };
}

describe("if the system watches whole trees", () => {
  it("the contents of a folder that was moved there are reported, though the system names only the folder", async () => {
    const { seen, current, put } = await watchingTree("records");
    put("records/moved/agents/a.jsonl");
    current("records")?.tell("rename", "moved");
    expect(seen.sort()).toEqual(["records/moved", "records/moved/agents", "records/moved/agents/a.jsonl"]);
  });

  it("everything is reported when the system does not name what changed", async () => {
    const { seen, current, put } = await watchingTree("records");
    put("records/p/a.jsonl");
    current("records")?.tell("change", null);
    expect(seen).toEqual(["records/p", "records/p/a.jsonl"]);
  });

  it.each(["by an error, as on Windows", "by an event, as on macOS"])(
    "a deleted folder (%s) is watched again once it exists, with its content",
    async (how) => {
      const { base, seen, current, put } = await watchingTree("product/records");
      const first = current("product/records");
      rmSync(join(base, "product"), { recursive: true });
      if (how.includes("error")) first?.emit("error", Object.assign(new Error("EPERM"), { code: "EPERM" }));
      else first?.tell("rename", "records");
      expect([first?.isClosed, current("product/records")]).toEqual([true, undefined]);
      put("product/records/p/b.jsonl");
      current("")?.tell("rename", "product");
      expect(seen).toContain("product/records/p/b.jsonl");
      expect(current("product/records")).toBeDefined();
    },
  );
});

describe("an existing folder", () => {
  const deep = (base: string) => {
    for (let i = 0; i < 20; i += 1) mkdirSync(join(base, "records", `p${i}`, "agents"), { recursive: true });
    writeFileSync(join(base, "records/p0/old.jsonl"), "1");
  };

  it("reports everything new at any depth, also while the process is busy, and nothing that existed", async () => {
    const { seen, write, sees } = await watching(["records"], deep);
    const wanted = Array.from({ length: 2_000 }, (_, i) => `records/p${i % 20}/agents/${i}.jsonl`);
    for (const path of wanted) write(path);
    for (const path of wanted) await sees(path);
    expect(seen.has("records/p0/old.jsonl")).toBe(false);
    write("records/p0/old.jsonl");
    await sees("records/p0/old.jsonl");
  });

  it("is reported when it was deleted and created again, repeatedly", async () => {
    const { base, seen, write, sees } = await watching(["records"], deep);
    for (let i = 0; i < 20; i += 1) {
      rmSync(join(base, "records/p1"), { recursive: true });
      mkdirSync(join(base, "records/p1/agents"), { recursive: true });
      write(`records/p1/agents/${i}.jsonl`);
      await sees(`records/p1/agents/${i}.jsonl`);
      seen.clear();
      write(`records/p1/agents/${i}.jsonl`);
      await sees(`records/p1/agents/${i}.jsonl`);
    }
  });

  it("is watched again after all of it was deleted and restored", async () => {
    const { base, seen, write, sees } = await watching(["product/records"], (base) =>
      mkdirSync(join(base, "product/records/p"), { recursive: true }),
    );
    for (let i = 0; i < 5; i += 1) {
      rmSync(join(base, i % 2 === 0 ? "product/records" : "product"), { recursive: true });
      // In the first rounds it is restored before its removal is noticed.
      if (i > 2) await sees("product/records/p");
      mkdirSync(join(base, "product/records/p"), { recursive: true });
      write("product/records/p/a.jsonl");
      await sees("product/records/p/a.jsonl");
      seen.clear();
      write("product/records/p/a.jsonl");
      await sees("product/records/p/a.jsonl");
      seen.clear();
    }
  });

  it("reports folders that are moved into it, with their content", async () => {
    const { base, write, sees } = await watching(["records"], (base) => {
      deep(base);
      mkdirSync(join(base, "elsewhere/agents"), { recursive: true });
    });
    write("elsewhere/agents/a.jsonl");
    renameSync(join(base, "elsewhere"), join(base, "records/moved"));
    await sees("records/moved/agents/a.jsonl");
    write("records/moved/agents/b.jsonl");
    await sees("records/moved/agents/b.jsonl");
  });

  it("may itself be a link, but links in it are not followed", async () => {
    const { seen, write, sees } = await watching(["link"], (base) => {
      deep(base);
      mkdirSync(join(base, "foreign"));
      symlinkSync(join(base, "records"), join(base, "link"));
      symlinkSync(join(base, "foreign"), join(base, "records/p1/foreign"));
    });
    write("foreign/a.jsonl");
    write("records/p2/agents/b.jsonl");
    await sees("link/p2/agents/b.jsonl");
    expect([...seen].filter((path) => path.includes("foreign"))).toEqual([]);
  });
});

describe("beyond the system's limit of watches", () => {
  /** Watches this many folders, then refuses as Linux does. */
  function limited(count: number) {
    const limit = { room: count };
    const refuse = (...args: Parameters<typeof watch>) => {
      if (limit.room === 0)
        throw Object.assign(new Error("ENOSPC: System limit for number of file watchers reached"), { code: "ENOSPC" });
      limit.room -= 1;
      return watch(...args);
    };
    return { limit, watch: refuse as typeof watch };
  }

  it.each([false, true])(
    "folders that are not watched are polled, and watched again once the limit allows it (recursive: %s)",
    async (isRecursive) => {
      const base = mkdtempSync(join(tmpdir(), "retinue-watch-"));
      mkdirSync(join(base, "a/deep"), { recursive: true });
      writeFileSync(join(base, "a/deep/old.jsonl"), "1");
      const seen = new Set<string>();
      const errors: string[] = [];
      const polled: number[] = [];
      const { limit, watch: own } = limited(0);
      const watching = await watchFolders([join(base, "a"), join(base, "later/on")], [base], {
        onPaths: (paths) => {
          for (const path of paths) seen.add(path.slice(base.length + 1));
        },
        onError: ({ message }) => errors.push(message),
        onPolled: (folders) => polled.push(folders),
        isRecursive,
        watch: own,
      });
      onTestFinished(async () => {
        await watching.stop();
        rmSync(base, { recursive: true });
      });
      const sees = (path: string) => expect.poll(() => seen.has(path), { timeout: 60_000 }).toBe(true);
      expect(watching.polled).toBe(isRecursive ? 3 : 4);
      expect(errors.length).toBe(1);
      expect(errors[0]).toContain("fs.inotify.max_user_watches");
      expect(seen.size).toBe(0);
      writeFileSync(join(base, "a/deep/old.jsonl"), "12");
      await sees("a/deep/old.jsonl");
      mkdirSync(join(base, "a/new/deeper"), { recursive: true });
      writeFileSync(join(base, "a/new/deeper/x.jsonl"), "1");
      await sees("a/new/deeper/x.jsonl");
      mkdirSync(join(base, "later/on"), { recursive: true });
      writeFileSync(join(base, "later/on/y.jsonl"), "1");
      await sees("later/on/y.jsonl");
      limit.room = 100;
      await expect.poll(() => watching.polled, { timeout: 60_000 }).toBe(0);
      expect(polled.at(-1)).toBe(0);
      seen.clear();
      writeFileSync(join(base, "a/new/deeper/x.jsonl"), "12");
      await sees("a/new/deeper/x.jsonl");
      rmSync(join(base, "a/deep/old.jsonl"));
      await sees("a/deep/old.jsonl");
    },
  );
});
