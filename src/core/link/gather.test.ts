import { describe, expect, it } from "vitest";
import { agent, answer, call, notebook, record, row, spawnCalled, thread } from "../../../test/support/observations.ts";
import type { Observation } from "../facts/observation.ts";
import { NO_TOKENS, type Tokens } from "../facts/usage.ts";
import { gatherAgents } from "./gather.ts";

const main = thread("t");
const gather = (observations: readonly Observation[]) => {
  const gathered = gatherAgents(observations, () => undefined).get(main);
  if (gathered === undefined) throw new Error("the thread was not gathered");
  return gathered;
};

describe("a response spread over several rows", () => {
  it("is one call, with the largest numbers", () => {
    const book = notebook();
    book.see({ by: main, at: 2, keys: ["b", "response"] }, answer("response", 120));
    book.see({ by: main, at: 1, keys: ["a", "response"] }, answer("response", 3));
    const { calls } = gather(book.observations);
    expect(calls).toEqual([
      {
        response: row("response"),
        rows: null,
        at: 1,
        model: "model-1",
        tokens: { ...NO_TOKENS, outputTokens: 120 },
        counted: true,
        end: "finished",
      },
    ]);
  });

  it("has the largest of every number, though no row has them all", () => {
    const book = notebook();
    const tokens = (inputTokens: number, outputTokens: number) =>
      ({
        type: "model-call",
        response: row("response"),
        model: "",
        tokens: { ...NO_TOKENS, inputTokens, outputTokens },
        chars: 0,
        ended: true,
      }) as const;
    book.see({ by: main, at: 1 }, tokens(5, 90));
    book.see({ by: main, at: 2 }, tokens(7, 40));
    expect([...gather(book.observations).calls].map((c) => c.tokens)).toEqual([
      { ...NO_TOKENS, inputTokens: 7, outputTokens: 90 },
    ]);
  });

  describe("with an input count that was corrected while it streamed", () => {
    const streamed = (at: number, ended: boolean, tokens: Partial<Tokens>) => (book: ReturnType<typeof notebook>) =>
      book.see(
        { by: main, at },
        {
          type: "model-call",
          response: row("response"),
          model: "glm",
          tokens: { ...NO_TOKENS, ...tokens },
          chars: 0,
          ended,
        },
      );
    const tokensOf = (...rows: ReturnType<typeof streamed>[]) => {
      const book = notebook();
      for (const see of rows) see(book);
      return [...gather(book.observations).calls].map((c) => c.tokens);
    };

    it("has the numbers of the row that ended, in any order", () => {
      const rows = [
        streamed(1, false, { inputTokens: 98_466 }),
        streamed(2, false, { inputTokens: 98_466, outputTokens: 1 }),
        streamed(3, true, { inputTokens: 24, cacheReadTokens: 98_442, outputTokens: 310 }),
      ];
      const final = { ...NO_TOKENS, inputTokens: 24, cacheReadTokens: 98_442, outputTokens: 310 };
      expect(tokensOf(...rows)).toEqual([final]);
      expect(tokensOf(...rows.toReversed())).toEqual([final]);
    });

    it("has the numbers of the row with the most output if no row has an end", () => {
      expect(
        tokensOf(
          streamed(1, false, { inputTokens: 98_466, outputTokens: 1 }),
          streamed(2, false, { inputTokens: 24, outputTokens: 310 }),
        ),
      ).toEqual([{ ...NO_TOKENS, inputTokens: 24, outputTokens: 310 }]);
    });

    it("uses the streamed numbers if the final row has none", () => {
      expect(tokensOf(streamed(1, false, { inputTokens: 12, outputTokens: 4 }), streamed(2, true, {}))).toEqual([
        { ...NO_TOKENS, inputTokens: 12, outputTokens: 4 },
      ]);
    });

    it("keeps the lifetime of cache writes, which only the earlier row has", () => {
      const rows = [
        streamed(1, false, { inputTokens: 5, cacheWriteTokens: 100, cacheWrite1hTokens: 100 }),
        streamed(2, true, { inputTokens: 5, cacheWriteTokens: 90, outputTokens: 9 }),
      ];
      expect(tokensOf(...rows)).toEqual([
        { ...NO_TOKENS, inputTokens: 5, cacheWriteTokens: 90, cacheWrite1hTokens: 90, outputTokens: 9 },
      ]);
    });
  });

  it("is one message, with its parts in their original order", () => {
    const book = notebook();
    book.see({ by: main, at: 1, keys: ["user"] }, record({ role: "user", state: "open" }));
    book.see({ by: main, at: 3, keys: ["b", "response"] }, record({ text: "Second." }));
    book.see({ by: main, at: 2, keys: ["a", "response"] }, record({ text: "First." }));
    book.see({ by: main, at: 4, keys: ["note"] }, record({ role: "other", state: null, message: false }));
    expect(gather(book.observations)).toMatchObject({
      messages: 2,
      answer: "First.\nSecond.",
      records: 4,
      firstAt: 1,
      lastAt: 4,
    });
  });

  it("is marked as not counted if it has more text than its tokens allow", () => {
    const book = notebook();
    const long = (tokens: number, chars: number) =>
      ({
        type: "model-call",
        response: row(`${tokens}`),
        model: "",
        tokens: { ...NO_TOKENS, outputTokens: tokens },
        chars,
        ended: true,
      }) as const;
    book.see({ by: main, at: 1 }, long(1, 12));
    book.see({ by: main, at: 2 }, long(2, 25));
    book.see({ by: main, at: 3 }, long(4, 9_999));
    const { calls, warnings } = gather(book.observations);
    expect([...calls].map((c) => c.counted)).toEqual([true, false, true]);
    expect(warnings).toEqual([expect.stringContaining("1 of 3 responses have no final output count")]);
  });
});

describe("the end of a response", () => {
  const ends = (more: (book: ReturnType<typeof notebook>) => void) => {
    const book = notebook();
    book.see({ by: main, at: 1, keys: ["a", "r1"] }, { ...answer("r1", 1), ended: false });
    more(book);
    return [...gather(book.observations).calls].map((c) => c.end);
  };
  const interrupt = record({ role: "user", state: "interrupted" });

  it("is known as soon as one row states it", () => {
    expect(ends((book) => book.see({ by: main, at: 2, keys: ["b", "r1"] }, answer("r1", 9)))).toEqual(["finished"]);
  });
  it("is an interruption if the next record is one", () => {
    expect(ends((book) => book.see({ by: main, at: 2, keys: ["i"] }, interrupt))).toEqual(["cut"]);
  });
  it("is unknown if the agent continued before it was interrupted", () => {
    const more = (book: ReturnType<typeof notebook>) => {
      book.see({ by: main, at: 2, keys: ["b", "r2"] }, answer("r2", 9));
      book.see({ by: main, at: 3, keys: ["i"] }, interrupt);
    };
    expect(ends(more)).toEqual(["unknown", "finished"]);
  });
  it("decides how much text shows that its count is not final", () => {
    const book = notebook();
    const long = (ended: boolean) => ({ ...answer(`${ended}`, 12), chars: 400, ended }) as const;
    book.see({ by: main, at: 1 }, long(true));
    book.see({ by: main, at: 2 }, long(false));
    expect([...gather(book.observations).calls].map((c) => c.counted)).toEqual([true, false]);
  });
});

describe("tool calls", () => {
  const calls = (...ids: readonly string[]) => ids.map((id) => ({ call: call(id), name: `Tool ${id}` }));

  it("wait for their results, but only those of the last response", () => {
    const book = notebook();
    book.see({ by: main, at: 1, keys: ["a", "first"] }, record({ state: "open", calls: calls("given up") }));
    book.see({ by: main, at: 2, keys: ["b", "second"] }, record({ state: "open", calls: calls("done") }));
    book.see({ by: main, at: 3, keys: ["c", "second"] }, record({ state: "open", calls: calls("open") }));
    book.see({ by: main, at: 3 }, spawnCalled("open"));
    book.see(
      { by: main, at: 4, keys: ["d"] },
      record({ role: "user", state: "open", results: [{ call: call("done"), isError: true }] }),
    );
    expect(gather(book.observations)).toMatchObject({
      pending: [{ name: "Tool open", spawns: true }],
      toolCalls: 3,
      toolErrors: 1,
    });
  });

  it("count once if they are in several rows", () => {
    const book = notebook();
    book.see({ by: main, at: 1, keys: ["a", "r"] }, record({ state: "open", calls: calls("x") }));
    book.see({ by: main, at: 2, keys: ["b", "r"] }, record({ state: "open", calls: calls("x") }));
    expect(gather(book.observations).toolCalls).toBe(1);
  });
});

describe("descriptions of an agent", () => {
  it("take the first value, but the last one for the version", () => {
    const book = notebook();
    book.see({ by: main, at: 2 }, { type: "agent-described", agent: main, cwd: "/later", productVersion: "2" });
    book.see({ by: main, at: 1 }, { type: "agent-described", agent: main, cwd: "/first", productVersion: "1" });
    expect(gather(book.observations)).toMatchObject({ cwd: "/first", productVersion: "2", branch: null });
  });

  it("prefer a title that a person gave to a generated one", () => {
    const book = notebook();
    const title = (text: string, rank: number) => ({ type: "thread-titled", of: main, title: text, rank }) as const;
    book.see({ by: main, at: 1 }, title("By hand", 0));
    book.see({ by: main, at: 2 }, title("By hand, again", 0));
    book.see({ by: main, at: 3 }, title("Generated", 1));
    expect(gather(book.observations).title).toBe("By hand, again");
  });

  it("apply to the owner of the record that they name", () => {
    const book = notebook();
    book.see(
      { by: thread("another file"), at: 1 },
      { type: "thread-titled", of: { record: row("x") }, title: "Found", rank: 2 },
    );
    const gathered = gatherAgents(book.observations, () => main);
    expect(gathered.get(main)?.title).toBe("Found");
    expect(gathered.get(thread("another file"))?.title).toBeNull();
  });

  it("create every mentioned agent, but none for an ended task or a process", () => {
    const book = notebook();
    book.see(
      { by: main, at: 1 },
      { type: "lifecycle", of: agent("t", "a shell"), state: "completed", source: "protocol", says: "", result: null },
    );
    book.see(
      { by: agent("t", "reader"), at: 1 },
      {
        type: "parent-named",
        child: agent("t", "child"),
        parent: main,
        rule: "",
        source: "protocol",
        confidence: 1,
        says: "",
      },
    );
    book.see(
      { by: thread("up"), at: 1 },
      {
        type: "process-seen",
        thread: thread("up"),
        process: { pid: 1, birth: null, domain: null, startedAt: null },
        waitingFor: null,
      },
    );
    expect([...gatherAgents(book.observations, () => undefined).keys()].sort()).toEqual([
      main,
      agent("t", "child"),
      agent("t", "reader"),
    ]);
  });
});
