import { describe, expect, it } from "vitest";
import type { Link } from "./link.ts";
import { Pool } from "./pool.ts";

/** A connection without a server. */
class FakeLink {
  isOpen = true;
  isUsable = true;
  isEnding = false;
  readonly #lost = Promise.withResolvers<void>();
  readonly lost = this.#lost.promise;

  end(): void {
    this.isEnding = true;
    this.destroy();
  }

  destroy(): void {
    this.isOpen = false;
    this.isUsable = false;
    this.#lost.resolve();
  }
}

const OPTIONS = { max: 2, idleMs: 60_000, lifeMs: 60_000 };
const asLink = (link: FakeLink) => link as unknown as Link;

/** A pool, the connections that it has opened, and work that ends when it is told to. */
function poolOf(refusal: () => Error | null = () => null, options = OPTIONS) {
  const links: FakeLink[] = [];
  const pool = new Pool(async () => {
    const error = refusal();
    if (error !== null) throw error;
    const link = new FakeLink();
    links.push(link);
    return asLink(link);
  }, options);
  const running: { name: string; link: number; end: () => void }[] = [];
  const work = (name: string) => (link: Link) =>
    new Promise<string>((resolve) => {
      const end = () => {
        running.splice(running.indexOf(one), 1);
        resolve(name);
      };
      const one = { name, link: links.findIndex((known) => asLink(known) === link), end };
      running.push(one);
    });
  const share = (name: string) => pool.share(work(name));
  const use = (name: string) => pool.use(work(name));
  const end = async (name: string) => {
    running.find((one) => one.name === name)?.end();
    await settled();
  };
  const now = () => running.map(({ name, link }) => `${name} on ${link}`).sort();
  return { pool, links, share, use, end, now };
}

const settled = () => new Promise(setImmediate);
const names = (prefix: string, count: number) => Array.from({ length: count }, (_, n) => `${prefix}${n}`);

describe("a pool of connections", () => {
  it("uses a connection again before it opens another one", async () => {
    const { links, share, end, now } = poolOf();
    for (const name of ["a", "b"]) {
      const done = share(name);
      await settled();
      expect(now()).toEqual([`${name} on 0`]);
      await end(name);
      expect(await done).toBe(name);
    }
    expect(links).toHaveLength(1);
  });

  it("lets statements share a connection only if many wait, and transactions never", async () => {
    const { links, share, use, end, now } = poolOf();
    const all = names("s", 2).map(share);
    await settled();
    all.push(use("t0"), ...names("u", 5).map(share));
    await settled();
    expect(now()).toEqual(["s0 on 0", "s1 on 1"]);
    await end("s0");
    expect(now()).toEqual(["s1 on 1", "t0 on 0"]);
    await end("s1");
    expect(now()).toEqual(["t0 on 0", "u0 on 1", "u1 on 1", "u2 on 1"]);
    await end("u0");
    await end("u1");
    expect(now()).toEqual(["t0 on 0", "u2 on 1"]);
    await end("t0");
    await end("u2");
    for (const name of ["u3", "u4"]) await end(name);
    expect((await Promise.all(all)).length).toBe(8);
    expect(links).toHaveLength(2);
  });

  it("replaces connections that are lost, and does not trust idle ones then", async () => {
    const { links, share, end, now } = poolOf();
    const both = names("a", 2).map(share);
    await settled();
    await end("a0");
    links[1]?.destroy();
    await settled();
    expect(links.map(({ isOpen }) => isOpen)).toEqual([false, false]);
    await end("a1");
    await Promise.all(both);
    void share("b");
    await settled();
    expect(now()).toEqual(["b on 2"]);
  });

  it("fails all that wait if there is no connection at all", async () => {
    const { share } = poolOf(() => new Error("refused"));
    const answers = await Promise.allSettled(names("a", 9).map(share));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => "rejected"));
  });

  it("lets those that wait do so if the server has no room for another connection", async () => {
    let isFull = false;
    const full = Object.assign(new Error("too many connections"), { code: "53300" });
    const { share, end, now } = poolOf(() => (isFull ? full : null));
    const all = [share("a")];
    await settled();
    isFull = true;
    all.push(share("b"));
    await settled();
    expect(now()).toEqual(["a on 0"]);
    await end("a");
    expect(now()).toEqual(["b on 0"]);
    await end("b");
    expect(await Promise.all(all)).toEqual(["a", "b"]);
  });

  it("does not fail those that came after an attempt to connect began", async () => {
    const late = Promise.withResolvers<never>();
    let opened = 0;
    const link = new FakeLink();
    const pool = new Pool(() => {
      opened += 1;
      return opened === 1 ? Promise.resolve(asLink(link)) : late.promise;
    }, OPTIONS);
    const held = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const answers = ["a", "b", "c"].map((name, n) =>
      pool.use(async () => {
        await held[n]?.promise;
        return name;
      }),
    );
    await settled();
    held[0]?.resolve();
    // The first connection has served the one for which another one is opened; the next one waits for its end.
    await settled();
    late.reject(new Error("no answer"));
    await settled();
    held[1]?.resolve();
    expect(await Promise.all(answers)).toEqual(["a", "b", "c"]);
  });

  it("closes connections that are old", async () => {
    const { links, share, end } = poolOf(() => null, { ...OPTIONS, lifeMs: 0 });
    const done = share("a");
    await settled();
    await end("a");
    await done;
    expect(links[0]?.isEnding).toBe(true);
  });

  it("that is closed refuses work, fails what waits, and lets running work end for a while", async () => {
    const { pool, links, share, use, end } = poolOf();
    const [first, second] = [share("a"), share("b")];
    await settled();
    const third = use("c").catch(String);
    const closed = pool.close(60_000);
    expect(await third).toContain("the database was closed");
    await expect(share("d")).rejects.toThrow("the database was closed");
    await end("a");
    await end("b");
    await closed;
    expect([await first, await second]).toEqual(["a", "b"]);
    expect(links.every(({ isOpen }) => !isOpen)).toBe(true);
  });
});
