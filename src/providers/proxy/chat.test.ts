import { describe, expect, it } from "vitest";
import type { BlockRow, EndedRow, OpenedRow } from "../../core/facts/traffic.ts";
import type { JsonObject } from "../../core/tools/json.ts";
import { ExchangeReader } from "./exchange.ts";
import { tokensOf } from "./tokens.ts";

const QUESTION = {
  request: "req-1",
  method: "POST",
  path: "/api/v9/chat/completions?x=1",
  upstream: "http://u",
  headers: [],
  windowMs: null,
  process: null,
};
const chunk = (delta: JsonObject, more: JsonObject = {}, index = 0) => ({
  id: "chatcmpl-1",
  model: "m",
  choices: [{ index, delta, finish_reason: null, ...more }],
});
const sse = (...events: readonly (JsonObject | string)[]) =>
  events.map((event) => `data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`).join("");

function read(text: string, how: EndedRow["how"] = "finished", { status = 200, type = "text/event-stream" } = {}) {
  const reader = new ExchangeReader(QUESTION, null);
  reader.answered(status, ["content-type", type]);
  const rows: (OpenedRow | BlockRow | EndedRow)[] = [];
  // Split at every byte.
  for (const char of text) rows.push(...reader.text(char, 1, 7));
  rows.push(...reader.ended(how, null, 9));
  const ended = rows.find((row) => row.is === "ended") as EndedRow;
  return {
    opened: rows.filter((row) => row.is === "opened"),
    blocks: rows.flatMap((row) => (row.is === "block" ? [row.block] : [])),
    ended,
  };
}

const CALL = { type: "function", id: "call_1", function: { name: "glob", arguments: '{"a":1}' } };

describe("a response of chat completions", () => {
  it("is assembled from its chunks: reasoning, text, calls by index, and the usage, which is last", () => {
    const { opened, blocks, ended } = read(
      sse(
        { id: "", choices: [], prompt_filter_results: [] },
        chunk({ role: "assistant", content: "" }),
        chunk({ reasoning_content: "Hm" }),
        chunk({ reasoning_content: "m." }),
        chunk({ content: "Look" }),
        chunk({ content: "ing." }),
        chunk({
          tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name: "glob", arguments: '{"a"' } }],
        }),
        chunk({ tool_calls: [{ index: 1, id: "call_2", type: "function", function: { name: "ls", arguments: "" } }] }),
        chunk({ tool_calls: [{ index: 0, function: { arguments: ":1}" } }] }),
        chunk({}, { finish_reason: "tool_calls" }),
        { id: "chatcmpl-1", choices: [], usage: { prompt_tokens: 5, completion_tokens: 2 } },
        "[DONE]",
      ),
    );
    expect(opened).toMatchObject([{ response: "chatcmpl-1", model: "m" }]);
    expect(blocks).toEqual([
      { type: "thinking", thinking: "Hmm." },
      { type: "text", text: "Looking." },
      CALL,
      { type: "function", id: "call_2", function: { name: "ls", arguments: "" } },
    ]);
    expect(ended).toMatchObject({
      stop: "tool_calls",
      usage: { prompt_tokens: 5, completion_tokens: 2 },
      error: null,
      firstTokenMs: 7,
    });
  });

  it("uses the last usage if every chunk has one, also inside the choice", () => {
    const count = (completion_tokens: number) => ({ prompt_tokens: 9, completion_tokens });
    const { ended } = read(
      sse(
        { ...chunk({ content: "a" }), usage: count(1) },
        { ...chunk({ content: "b" }), usage: count(2) },
        chunk({}, { finish_reason: "stop", usage: count(3) }),
        "[DONE]",
      ),
    );
    expect(ended.usage).toEqual(count(3));
  });

  it("distinguishes calls that all have index 0, or none", () => {
    const whole = (id: string, index?: number) => ({
      ...(index === undefined ? {} : { index }),
      id,
      function: { name: "ls", arguments: "{}" },
    });
    for (const index of [0, undefined]) {
      const { blocks } = read(
        sse(
          chunk({ tool_calls: [whole("a", index)] }),
          chunk({ tool_calls: [whole("b", index), whole("c", index)] }, { finish_reason: "tool_calls" }),
        ),
      );
      expect(blocks.map(({ id }) => id)).toEqual(["a", "b", "c"]);
    }
  });

  it("keeps other choices apart from the first", () => {
    const { blocks } = read(
      sse(
        chunk({ content: "One" }),
        chunk({ content: "Two" }, {}, 1),
        chunk({}, { finish_reason: "stop" }),
        chunk({}, { finish_reason: "stop" }, 1),
        "[DONE]",
      ),
    );
    expect(blocks).toEqual([
      { type: "text", text: "One" },
      { type: "choice", index: 1, content: [{ type: "text", text: "Two" }] },
    ]);
  });

  it("is incomplete if the stream ends early or reports an error", () => {
    expect(read(sse(chunk({ content: "Half" }))).ended).toMatchObject({
      error: "the stream ended before the response was complete",
      stop: null,
    });
    expect(read(sse(chunk({ content: "Half" })), "aborted")).toMatchObject({
      blocks: [],
      ended: { how: "aborted", stop: null },
    });
    expect(
      read(sse(chunk({ content: "Half" }), { error: { type: "server_error", message: "overloaded" } }, "[DONE]")).ended
        .error,
    ).toBe("server_error: overloaded");
  });

  it("is read as a whole if it is not a stream", () => {
    const message = { role: "assistant", content: null, reasoning: "Hm", tool_calls: [CALL] };
    const body = {
      id: "x",
      object: "chat.completion",
      model: "m",
      choices: [{ index: 0, message, finish_reason: "tool_calls" }],
      usage: { prompt_tokens: 1 },
    };
    const { blocks, ended } = read(JSON.stringify(body), "finished", { type: "application/json" });
    expect(blocks).toEqual([{ type: "thinking", thinking: "Hm" }, CALL]);
    expect(ended).toMatchObject({ stop: "tool_calls", usage: { prompt_tokens: 1 }, error: null });
    const failed = read(JSON.stringify({ error: { message: "no such model", code: "model_not_found" } }), "finished", {
      type: "application/json",
      status: 404,
    });
    expect(failed.ended).toMatchObject({ error: "model_not_found: no such model", stop: null });
  });
});

it.each([
  [
    "OpenAI",
    {
      prompt_tokens: 100,
      completion_tokens: 20,
      total_tokens: 120,
      prompt_tokens_details: { cached_tokens: 30 },
      completion_tokens_details: { reasoning_tokens: 5 },
    },
    [70, 20, 5, 30, 0],
  ],
  [
    "OpenRouter",
    { prompt_tokens: 100, completion_tokens: 20, prompt_tokens_details: { cached_tokens: 30, cache_write_tokens: 10 } },
    [60, 20, 0, 30, 10],
  ],
  [
    "xAI, reasoning beside the completion",
    {
      prompt_tokens: 100,
      completion_tokens: 20,
      total_tokens: 125,
      completion_tokens_details: { reasoning_tokens: 5 },
    },
    [100, 25, 5, 0, 0],
  ],
  [
    "DeepSeek",
    { prompt_tokens: 100, completion_tokens: 20, prompt_cache_hit_tokens: 64, prompt_cache_miss_tokens: 36 },
    [36, 20, 0, 64, 0],
  ],
  ["Moonshot", { prompt_tokens: 100, completion_tokens: 20, cached_tokens: 40 }, [60, 20, 0, 40, 0]],
  [
    "LiteLLM",
    { prompt_tokens: 100, completion_tokens: 20, cache_read_input_tokens: 40, cache_creation_input_tokens: 10 },
    [50, 20, 0, 40, 10],
  ],
])("tokens as %s counts them", (_, usage, expected) => {
  const { inputTokens, outputTokens, reasoningTokens, cacheReadTokens, cacheWriteTokens } = tokensOf("chat", usage);
  expect([inputTokens, outputTokens, reasoningTokens, cacheReadTokens, cacheWriteTokens]).toEqual(expected);
});
