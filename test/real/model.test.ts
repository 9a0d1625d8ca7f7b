import { expect, it, onTestFinished } from "vitest";
import { startModel } from "./model.ts";
import type { Scripts } from "./script.ts";
import { inventedUsage, usageOfCall } from "./usage.ts";

async function model(scripts: Scripts) {
  const started = await startModel(scripts);
  onTestFinished(() => started.close());
  const ask = (texts: string[], signal?: AbortSignal) =>
    fetch(`${started.url}/v1/messages`, {
      method: "POST",
      body: JSON.stringify({
        model: "m",
        stream: true,
        tools: [{ name: "Bash" }],
        messages: texts.map((content, i) => ({ role: i % 2 ? "assistant" : "user", content })),
      }),
      ...(signal ? { signal } : {}),
    });
  return { started, ask };
}

it("responds by the last marker and the number of responses since then", async () => {
  const { started, ask } = await model({ A: [{ text: "first" }, { text: "second" }], B: [{ text: "other" }] });
  for (const [texts, expected] of [
    [["Go. @@A"], "first"],
    [["Go. @@A", "first", "and?"], "second"],
    [["Go. @@A", "first", "Now @@B"], "other"],
  ] as const) {
    const stream = await (await ask([...texts])).text();
    expect(
      stream
        .match(/"text_delta","text":"(.*?)"/g)
        ?.join("")
        .replaceAll(/"text_delta","text":"|"/g, ""),
    ).toBe(expected);
  }
  expect(started.exchanges.map(({ script, step, finished }) => [script, step, finished])).toEqual([
    ["A", 0, true],
    ["A", 1, true],
    ["B", 0, true],
  ]);
});

it("contains the output count only at the end of a response", async () => {
  const { ask } = await model({ A: [{ text: "hello" }] });
  const stream = await (await ask(["@@A"])).text();
  expect([...stream.matchAll(/"output_tokens":(\d+)/g)].map(([, number]) => Number(number))).toEqual([
    1,
    inventedUsage(1).output_tokens,
  ]);
});

it("does not count a response as finished if the client disconnected before its end", async () => {
  const { started, ask } = await model({ A: [{ hang: true }] });
  const client = new AbortController();
  const answer = await ask(["@@A"], client.signal);
  expect(answer.status).toBe(200);
  client.abort();
  await started.close();
  expect(started.exchanges).toMatchObject([{ status: 200, finished: false }]);
});

it("never returns the same number twice", () => {
  const calls = Array.from({ length: 40 }, (_, i) => usageOfCall(inventedUsage(i + 1)));
  for (const field of ["inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens"] as const) {
    expect(new Set(calls.map((call) => call[field])).size).toBe(calls.length);
  }
});
