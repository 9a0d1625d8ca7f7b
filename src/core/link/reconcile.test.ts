import { describe, expect, it } from "vitest";
import { agent, notebook, parentNamed, record } from "../../../test/support/observations.ts";
import {
  AGREES,
  answered,
  type Book,
  brief,
  compaction,
  differs,
  explained,
  family,
  forestOf,
  fork,
  main,
  say,
  title,
  total,
  verify,
  worker,
} from "../../../test/support/thread-totals.ts";
import type { ModelCallMissing, TotalStated } from "../facts/totals.ts";
import { treeOf } from "../views/record.ts";
import { usageFromTotals } from "./reconcile.ts";
import { ALL_MODELS } from "./totals.ts";

describe("unfinished responses", () => {
  const interrupted = (book: Book, at: number) =>
    book.see({ by: main, at }, record({ role: "user", state: "interrupted" }));

  it("that were interrupted are left out", () => {
    const book = family();
    say(book, 3_000, "cut", 5, { ended: false });
    interrupted(book, 3_100);
    say(book, 4_000, "R4", 1);
    book.see({ by: main }, total({ big: [31, 300] }));
    expect(brief(verify(book))).toEqual(explained("cut-off -5/-100"));
  });

  it("that the product counts to the end have too little output in the records", () => {
    const book = family();
    say(book, 3_000, "R3", 5, { ended: false });
    book.see({ by: main }, total({ big: [35, 480] }));
    expect(brief(verify(book))).toEqual(explained("not-final 0/180"));
  });

  it("explain no other difference", () => {
    const book = family();
    say(book, 3_000, "R3", 5, { ended: false });
    book.see({ by: main }, total({ big: [36, 300] }));
    expect(brief(verify(book)).verdict).toBe("differs");
  });

  it("of both kinds are distinguished", () => {
    const book = family();
    say(book, 3_000, "cut", 5, { ended: false });
    interrupted(book, 3_100);
    say(book, 4_000, "R4", 1, { ended: false }, worker);
    book.see({ by: main }, total({ big: [31, 450] }));
    expect(brief(verify(book))).toEqual(explained("cut-off -5/-100", "not-final 0/150"));
  });
});

describe("calls without a record", () => {
  it("on a model that no agent used are internal", () => {
    const book = family();
    book.see({ by: main }, total({ big: [30, 200], small: [4, 2] }));
    expect(brief(verify(book))).toEqual(explained("own-behalf 4/2"));
  });

  it("cannot be distinguished from missing responses if an agent has none", () => {
    const book = family();
    book.see({ by: agent("t", "silent"), at: 3_000, keys: ["s"] }, record({ role: "user", state: "open" }));
    book.see({ by: main }, total({ big: [30, 200], small: [4, 2] }));
    expect(brief(verify(book))).toEqual(differs("small inputTokens 4 0", "small outputTokens 2 0"));
  });

  it("cannot be distinguished from missing responses if no model use is known", () => {
    const asked = (...traces: readonly ModelCallMissing[]) => {
      const book = notebook();
      book.see({ by: main, at: 1_000, keys: ["u"] }, record({ role: "user", state: "open" }));
      for (const trace of traces) book.see({ by: main, at: 1_000 }, trace);
      book.see({ by: main }, total({ small: [4, 2] }));
      return brief(verify(book));
    };
    expect(asked().verdict).toBe("differs");
    expect(asked(title)).toEqual(explained("unrecorded 4/2"));
  });

  it("leave a trace that explains them on the model of the agent", () => {
    const book = family();
    book.see(
      { by: main, at: 3_000, keys: ["search"] },
      { type: "model-call-missing", what: "web search", on: "own", one: false },
    );
    book.see({ by: main }, total({ big: [36, 250] }));
    expect(brief(verify(book))).toEqual(explained("unrecorded 6/50"));
    expect(verify(book).reasons[0]?.says).toContain("web search: 6 input, 50 output on big");
  });

  it("leave a trace that explains them on one model, unless another shows where they went", () => {
    const book = family();
    book.see({ by: main, at: 900 }, title);
    say(book, 3_000, "R3", 1, { model: "small" }, worker);
    book.see({ by: main }, total({ big: [30, 200], small: [5, 102] }));
    expect(brief(verify(book))).toEqual(explained("unrecorded 4/2"));

    const two = family();
    two.see({ by: main, at: 900 }, title);
    two.see({ by: main }, total({ big: [31, 200], small: [4, 2] }));
    expect(brief(verify(two))).toEqual({
      verdict: "differs",
      reasons: ["own-behalf 4/2"],
      differences: ["big inputTokens 31 30"],
    });
  });

  it("never explain that more was counted than stated", () => {
    const book = family();
    book.see({ by: main, at: 3_000, keys: ["c"] }, compaction);
    book.see({ by: main }, total({ big: [40, 199] }));
    expect(brief(verify(book)).verdict).toBe("differs");
  });

  it("do not explain what was stated before their time", () => {
    const book = family();
    book.see({ by: main }, total({ big: [36, 250] }, { activeMs: 1_600 }));
    book.see({ by: main, at: 30_000, keys: ["c"] }, compaction);
    expect(brief(verify(book)).verdict).toBe("differs");
  });
});

describe("the summary of a compaction", () => {
  const usage = (book: Book) => {
    const { own, internal } = treeOf(forestOf(book), main, () => 0).usage;
    return {
      own: own.inputTokens,
      internal: internal && {
        calls: internal.calls,
        inputTokens: internal.inputTokens,
        outputTokens: internal.outputTokens,
      },
    };
  };
  const worked = (book: Book) => book.see({ by: worker, at: 2_000, keys: ["worked"] }, record());

  it("is counted as internal if the totals are unambiguous", () => {
    const book = family();
    worked(book);
    book.see({ by: main, at: 3_000, keys: ["c"] }, compaction);
    say(book, 4_000, "R4", 1);
    book.see({ by: main }, total({ big: [37, 350] }));
    expect(brief(verify(book))).toEqual(explained("unrecorded 6/50"));
    expect(verify(book).reasons[0]?.says).toContain("counted as internal");
    expect(usage(book)).toEqual({ own: 11, internal: { calls: 1, inputTokens: 6, outputTokens: 50 } });
  });

  it("is counted for the agent that was compacted", () => {
    const book = family();
    worked(book);
    book.see({ by: worker, at: 3_000, keys: ["c"] }, compaction);
    book.see({ by: main }, total({ big: [36, 250] }));
    const tree = treeOf(forestOf(book), main, () => 0);
    expect([
      tree.usage.internal,
      tree.children[0]?.usage.internal?.inputTokens,
      tree.usage.subtree.inputTokens,
    ]).toEqual([null, 6, 36]);
  });

  it("is counted if nothing else happened between two totals", () => {
    const book = family();
    worked(book);
    book.see({ by: main }, total({ big: [30, 200] }, { activeMs: 1_600 }));
    book.see({ by: main, at: 30_000, keys: ["c"] }, compaction);
    book.see({ by: main }, total({ big: [36, 250] }, { activeMs: 1_700 }));
    expect(usage(book).internal).toEqual({ calls: 1, inputTokens: 6, outputTokens: 50 });
  });

  it.each<[string, (book: Book) => void, TotalStated]>([
    [
      "a second one",
      (book) => {
        book.see({ by: main, at: 3_500, keys: ["c2"] }, compaction);
      },
      total({ big: [42, 300] }),
    ],
    [
      "an agent without a transcript",
      (book) => {
        book.see({ by: main, keys: ["lost"] }, parentNamed(agent("t", "lost"), main));
      },
      total({ big: [42, 300] }),
    ],
    ["an answer that is not final", (book) => say(book, 4_000, "R4", 1, { ended: false }), total({ big: [42, 390] })],
    ["an answer that may be too late", (book) => say(book, 11_000, "R4", 1, {}, worker), total({ big: [42, 390] })],
  ])("is named but not counted if the difference may contain more: %s", (_why, more, stated) => {
    const book = family();
    worked(book);
    book.see({ by: main, at: 3_000, keys: ["c"] }, compaction);
    more(book);
    book.see({ by: main }, stated);
    expect(verify(book).reasons.map((r) => r.code)).toContain("unrecorded");
    expect(verify(book).verdict).toBe("explained");
    expect(usage(book).internal).toBeNull();
  });
});

describe("running totals over all models", () => {
  const running = (input: number, output: number, mayContinueFork = false) =>
    total({ [ALL_MODELS]: [input, output] }, { began: null, activeMs: null, running: { mayContinueFork } });

  /** Responses of 10 and 5 tokens on two models, with a total after each. */
  function thread(last: TotalStated): Book {
    const book = notebook();
    say(book, 1_000, "R1", 10);
    book.see({ by: main, at: 1_000 }, running(10, 100));
    say(book, 2_000, "R2", 5, { model: "small" });
    book.see({ by: main, at: 2_000 }, last);
    return book;
  }

  it("count the responses before them, on all models", () => {
    const book = thread(running(15, 200));
    expect(brief(verify(book))).toEqual(AGREES);
    // Recorded in the same millisecond.
    book.see({ by: main, at: 2_000 }, record());
    expect(brief(verify(book))).toEqual(AGREES);
    expect(brief(verify(thread(running(16, 200))))).toEqual(differs("all models inputTokens 16 15"));
  });

  it("do not contain responses after the last total", () => {
    const book = thread(running(15, 200));
    say(book, 3_000, "R3", 7);
    expect(brief(verify(book))).toEqual(explained("since-last-total -7/-100"));
  });

  it("do not contain what only a proxy observed: the process was killed before it was recorded", () => {
    const book = thread(running(15, 200));
    book.see({ by: main, at: 1_500, keys: ["lost"], origin: "proxy" }, answered("lost", 9));
    expect(brief(verify(book))).toEqual(explained("not-in-records -9/-100"));
  });

  /** A fork with responses of 3 and 4 tokens. */
  function forked(book: Book, ...totals: readonly [TotalStated, TotalStated]): Book {
    book.see({ by: fork, at: 5_000 }, { type: "agent-described", agent: fork, forkedFrom: main });
    say(book, 5_000, "F1", 3, {}, fork);
    book.see({ by: fork, at: 5_000 }, totals[0]);
    say(book, 6_000, "F2", 4, {}, fork);
    book.see({ by: fork, at: 6_000 }, totals[1]);
    return book;
  }

  it("of a fork continue from the totals of its origin, at whichever point it was forked", () => {
    const [whole, part] = [thread(running(15, 200)), thread(running(15, 200))];
    expect(brief(verify(forked(whole, running(18, 300, true), running(22, 400, true)), fork)).reasons).toContain(
      "carried-over 15/200",
    );
    expect(brief(verify(forked(part, running(13, 200, true), running(17, 300, true)), fork)).reasons).toContain(
      "carried-over 10/100",
    );
    const wrong = forked(thread(running(15, 200)), running(19, 300, true), running(23, 400, true));
    expect(brief(verify(wrong, fork)).differences).toEqual(["all models inputTokens 8 7"]);
  });

  it("of a fork with an unknown origin are compared from the first one on", () => {
    const base = forked(notebook(), running(18, 300, true), running(22, 400, true));
    expect(brief(verify(base, fork)).reasons).toContain("base-lost 15/200");
    expect(brief(verify(forked(notebook(), running(18, 300, true), running(23, 400, true)), fork)).verdict).toBe(
      "differs",
    );
  });
});

describe("linking", () => {
  const reconciledBy = (book: Book) => {
    const threads: string[] = [];
    usageFromTotals(forestOf(book).agents, (thread) => {
      threads.push(thread);
      return null;
    });
    return threads;
  };

  it("does not reconcile a thread whose records are complete, only `verify` does", () => {
    const book = family();
    book.see({ by: main }, total({ big: [31, 300] }));
    expect(forestOf(book).totalsOf(main)?.reconciliations).toHaveLength(1);
    expect(reconciledBy(book)).toEqual([]);
  });

  it("reconciles a thread whose records show a call that they do not contain", () => {
    const book = family();
    book.see({ by: main, at: 3_000 }, compaction);
    book.see({ by: main }, total({ big: [31, 300] }));
    expect(reconciledBy(book)).toEqual([main]);
  });
});
