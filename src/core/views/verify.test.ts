import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { history } from "../../../test/support/history.ts";
import { LATER, notebook, record, thread } from "../../../test/support/observations.ts";
import {
  AGREES,
  type Book,
  brief,
  differs,
  explained,
  family,
  forestOf,
  fork,
  main,
  say,
  total,
  verify,
  worker,
} from "../../../test/support/thread-totals.ts";
import { addAmounts, COMPARED, NO_AMOUNTS, subtractAmounts } from "../facts/usage.ts";
import { link } from "../link/link.ts";
import { verifyAll } from "./verify.ts";

describe("a total", () => {
  it("agrees with the sum of the thread and its agents", () => {
    const book = family();
    book.see({ by: main }, total({ big: [30, 200] }));
    expect(brief(verify(book))).toEqual(AGREES);
    expect(verify(book)).toMatchObject({
      uri: "toy://t",
      stated: { inputTokens: 30, outputTokens: 200 },
      counted: { inputTokens: 30, outputTokens: 200 },
    });
  });

  it("is the thread's, whichever of its agents is requested", () => {
    const book = family();
    book.see({ by: main }, total({ big: [30, 200] }));
    expect(verify(book, worker)).toEqual(verify(book));
  });

  it("that is higher than the count differs, by model and kind", () => {
    const book = family();
    book.see({ by: main }, total({ big: [37, 200] }));
    expect(brief(verify(book))).toEqual(differs("big inputTokens 37 30"));
  });

  it("that is lower than the count differs", () => {
    const book = family();
    book.see({ by: main }, total({ big: [30, 199] }));
    expect(brief(verify(book))).toEqual(differs("big outputTokens 199 200"));
  });

  it("without a kind is not compared", () => {
    const book = family();
    const [big] = total({ big: [30, 200] }).byModel;
    if (big === undefined) throw new Error("no model");
    book.see(
      { by: main },
      { ...total({}), byModel: [{ ...big, amounts: { ...big.amounts, cacheWrite1hTokens: null } }] },
    );
    expect(brief(verify(book))).toEqual(AGREES);
  });

  it("may name a model without its date", () => {
    const book = notebook();
    say(book, 1_000, "R1", 10, { model: "big-20260101" });
    book.see({ by: main }, total({ big: [10, 100] }));
    expect(brief(verify(book))).toEqual(AGREES);
  });

  it("that is recorded twice, as at the end of a terminal session, counts once", () => {
    const book = family();
    book.see({ by: main }, total({ big: [30, 200] }));
    book.see({ by: main }, total({ big: [30, 200] }, { activeMs: 9_510 }));
    expect(brief(verify(book))).toEqual(AGREES);
  });

  it("that does not exist is not compared", () => {
    expect(brief(verify(family()))).toEqual({ verdict: "nothing", reasons: ["no-total 0/0"], differences: [] });
  });

  it("is searched for in every thread", () => {
    const book = family();
    say(book, 5_000, "R9", 1, {}, thread("newer"));
    expect(verifyAll(forestOf(book), () => null).map(({ uri }) => uri)).toEqual(["toy://newer", "toy://t"]);
  });
});

describe("processes", () => {
  it("that were killed before the first total are missing from it", () => {
    const book = family();
    say(book, 6_000, "R3", 5);
    book.see({ by: main }, total({ big: [5, 100] }, { began: 5_500, activeMs: 600 }));
    expect(brief(verify(book))).toEqual(explained("process-without-total -30/-200"));
  });

  it("that were killed between two totals are missing from the second", () => {
    const book = family();
    book.see({ by: main }, total({ big: [30, 200] }, { activeMs: 1_600 }));
    say(book, 20_000, "killed", 7);
    say(book, 30_000, "R3", 5);
    book.see({ by: main }, total({ big: [35, 300] }, { activeMs: 1_600 + 900 }));
    expect(brief(verify(book))).toEqual(explained("process-without-total -7/-100"));
  });

  it("that ran too long to have been preceded by another are not taken for killed", () => {
    const book = family();
    book.see({ by: main }, total({ big: [30, 200] }, { activeMs: 1_600 }));
    say(book, 20_000, "R3", 7);
    say(book, 30_000, "R4", 5);
    // It ran from 19 s to 31 s at the latest, so both responses are its own, and one was not counted.
    book.see({ by: main }, total({ big: [35, 300] }, { activeMs: 1_600 + 11_500 }));
    book.see({ by: main, at: 31_000 }, record());
    expect(brief(verify(book))).toEqual(differs("big inputTokens 35 42", "big outputTokens 300 400"));
  });

  it("that still run, or were killed, leave responses after the last total", () => {
    const book = family();
    book.see({ by: main }, total({ big: [30, 200] }, { activeMs: 1_600 }));
    say(book, 50_000, "R3", 5);
    expect(brief(verify(book))).toEqual(explained("since-last-total -5/-100"));
  });

  it("may state a total while an agent's last response is still arriving", () => {
    const book = family();
    book.see({ by: main }, total({ big: [30, 200] }, { activeMs: 1_600 }));
    say(book, 2_200, "too late", 5, {}, worker);
    expect(brief(verify(book))).toEqual(explained("since-last-total -5/-100"));
  });

  it("that restart do not include earlier usage", () => {
    const book = family();
    book.see({ by: main }, total({ big: [30, 200] }, { activeMs: 1_600 }));
    say(book, 50_000, "R3", 5);
    book.see({ by: main }, total({ big: [5, 100] }, { began: 49_000, activeMs: 1_100 }));
    expect(brief(verify(book))).toEqual(explained("restarted -30/-200"));
  });
});

describe("a fork", () => {
  /** Copies R1 and continues; the total of the first thread may be earlier or later than that. */
  function forked(firstTotal: "before" | "later", forkTotal: readonly [number, number]): Book {
    const book = notebook();
    const state = () => book.see({ by: main }, total({ big: [10, 100] }, { activeMs: 700 }));
    book.see({ by: main, at: 900, keys: ["u"] }, record({ role: "user", state: "open" }));
    say(book, 1_000, "R1", 10);
    if (firstTotal === "before") state();
    book.see({ by: main, at: 60_000, keys: ["later"] }, record());
    if (firstTotal === "later") state();
    say(book, 1_000, "R1", 10, {}, fork);
    say(book, 5_000, "R2", 3, {}, fork);
    book.see({ by: fork }, total({ big: forkTotal }, { activeMs: 1_200 }));
    return book;
  }

  it("continues the total of the thread that it copies", () => {
    expect(brief(verify(forked("before", [13, 200]), fork))).toEqual(explained("copied 0/0", "carried-over 10/100"));
  });

  it("does not continue from a total that was stated after it started", () => {
    const { verdict, reasons } = brief(verify(forked("later", [13, 200]), fork));
    // No total is known that it could continue from, and its running time is too short to include the pause since it
    // started.
    expect({ verdict, reasons }).toEqual({ verdict: "explained", reasons: ["copied 0/0", "base-lost 10/100"] });
  });

  it("of a missing thread may have more than can be known", () => {
    const book = notebook();
    say(book, 50_000, "R1", 3);
    book.see({ by: main }, total({ big: [13, 200] }, { activeMs: 1_000 }));
    expect(brief(verify(book))).toEqual(explained("base-lost 10/100"));
  });

  it("of a missing thread cannot have less", () => {
    const book = notebook();
    say(book, 50_000, "R1", 30);
    book.see({ by: main }, total({ big: [13, 200] }, { activeMs: 1_000 }));
    expect(brief(verify(book)).verdict).toBe("differs");
  });

  it("differs like any other thread", () => {
    expect(brief(verify(forked("before", [14, 200]), fork))).toMatchObject({
      verdict: "differs",
      differences: ["big inputTokens 4 3"],
    });
  });
});

describe("costs", () => {
  const priced = (costUsd: number | null) => {
    const book = family();
    book.see({ by: main }, total({ big: [30, 200] }, { costUsd }));
    return verify(book, main, () => 0.01);
  };

  it("agree with the product's", () => {
    expect(brief(priced(0.02))).toEqual(AGREES);
  });
  it("may differ because of other prices if the tokens agree", () => {
    expect(brief(priced(0.03))).toEqual(explained("prices 0/0"));
    expect(priced(0.03).reasons[0]?.says).toContain("$0.030000 instead of $0.020000");
  });
  it("are not compared if the product does not know its own", () => {
    expect(brief(priced(null))).toEqual(AGREES);
  });
});

it("the reasons and the differences always add up to the stated total minus the count", () => {
  fc.assert(
    fc.property(history, ({ observations, manual }) => {
      for (const v of verifyAll(link(observations, { ...LATER, manual }), () => 1)) {
        expect(v.verdict === "differs").toBe(v.differences.length > 0);
        if (v.stated === null) continue;
        const explained = v.reasons.map((r) => r.tokens).reduce(addAmounts, NO_AMOUNTS);
        const off = subtractAmounts(subtractAmounts(v.stated, v.counted), explained);
        for (const kind of COMPARED)
          expect(off[kind]).toBe(
            v.differences.filter((d) => d.kind === kind).reduce((sum, d) => sum + d.stated - d.counted, 0),
          );
      }
    }),
    { numRuns: 500 },
  );
});
