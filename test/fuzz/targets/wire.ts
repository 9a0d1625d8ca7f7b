/** API traffic as the proxy sees it: event streams, packed bodies, requests and responses in three dialects. */
import { gzipSync, zstdCompressSync } from "node:zlib";
import { Unpacker } from "../../../src/app/proxy/unpack.ts";
import { DEFAULT_REDACTION, Redactor } from "../../../src/core/redaction/redaction.ts";
import { PROVIDERS } from "../../../src/providers/loaded.ts";
import { ExchangeReader } from "../../../src/providers/proxy/exchange.ts";
import { SseReader } from "../../../src/providers/proxy/sse.ts";
import { wireOf } from "../../proxy/wires.ts";
import { caseNames } from "../../support/fixtures.ts";
import { mutated, mutatedJson, words } from "../mutate.ts";
import { cutUp, numberOf, require, requirePlain, requireSame, type Target } from "../target.ts";

const SSE_WORDS = [
  "data: ",
  "data:",
  "data",
  "\n\n",
  "\n",
  "\r\n",
  "\r",
  "event: x",
  "id: 1",
  ": ping",
  "[DONE]",
  '{"type":"message_stop"}',
];
const EVENTS = [
  'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1","model":"m","usage":{"input_tokens":3}}}\n\n',
  'data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"Agent","input":{}}}\n\n',
  'data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\\"prompt\\":\\"x\\"}"}}\n\n',
  'data: {"type":"content_block_stop","index":0}\n\n',
  'data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7}}\n\n',
  'data: {"type":"message_stop"}\n\n',
  'data: {"type":"response.created","response":{"id":"resp_1","model":"m"}}\n\n',
  'data: {"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","call_id":"c","name":"spawn_agent","arguments":"{}"}}\n\n',
  'data: {"type":"response.completed","response":{"id":"resp_1","usage":{"input_tokens":1,"output_tokens":2}}}\n\n',
  'data: {"id":"chat_1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"task","arguments":"{"}}]}}]}\n\n',
  'data: {"choices":[],"usage":{"prompt_tokens":1}}\n\ndata: [DONE]\n\n',
];

const read = (pieces: readonly string[]) => {
  const reader = new SseReader();
  return pieces.flatMap((piece) => [...reader.push(piece)]);
};

export const sseTarget: Target = {
  name: "sse",
  weight: 20,
  open: () => ({
    generate: (random) =>
      random.chance(0.5)
        ? Buffer.from(words(random, SSE_WORDS, 30))
        : mutated(Buffer.from(random.of(EVENTS)), random, SSE_WORDS),
    check: (input) => {
      const text = input.toString();
      const whole = read([text]);
      requireSame(
        read(cutUp(text, numberOf(input))),
        whole,
        "events are the same however the stream is cut into pieces",
      );
      requireSame(
        read([...text].slice(0, 2_000)),
        read([[...text].slice(0, 2_000).join("")]),
        "events are the same if it comes in single characters",
      );
      require(whole.join("").length <= text.length, "more data than was sent");
    },
  }),
};

const ROUTES = ["/v1/messages", "/v1/responses", "/v1/chat/completions", "/v1/messages/count_tokens", "/other"];
const KEEPING = { redactor: new Redactor(DEFAULT_REDACTION), seal: () => "[withheld]" };
const UPSTREAM = "https://api.example.org";

/** An input is a path, the request and the response, separated by lines of three dashes. */
export const exchangeTarget: Target = {
  name: "exchange",
  weight: 3,
  open: () => {
    const wires = caseNames("wires").flatMap((name) => wireOf("wires", name));
    return {
      generate: (random) => {
        const { request, response, url } = random.of(wires);
        const path = random.chance(0.8) ? url : random.of(ROUTES);
        const answer = random.chance(0.3)
          ? mutatedJson(response, random)
          : Buffer.from(Array.from({ length: random.below(8) }, () => random.of(EVENTS)).join(""));
        const parts = [
          Buffer.from(path),
          mutatedJson(request, random),
          random.chance(0.5) ? mutated(answer, random, SSE_WORDS) : answer,
        ];
        return Buffer.concat(parts.flatMap((part, i) => (i === 0 ? [part] : [Buffer.from("\n---\n"), part])));
      },
      check: (input) => {
        const [path = "", question = "", answer = ""] = input.toString().split("\n---\n");
        const rows = (pieces: readonly string[], type: string) => {
          const reader = new ExchangeReader(
            {
              request: "r",
              method: "POST",
              path,
              upstream: UPSTREAM,
              headers: ["content-type", "application/json"],
              windowMs: null,
              process: null,
            },
            KEEPING,
          );
          const { row, pieces: kept } = reader.asked(question, question.length);
          const after = [
            reader.answered(200, ["content-type", type]),
            ...pieces.flatMap((piece) => [...reader.text(piece, piece.length, 1)]),
            ...reader.ended("finished", null, 2),
          ];
          return { row, kept, after };
        };
        for (const type of ["text/event-stream", "application/json"]) {
          const whole = rows([answer], type);
          requirePlain(whole, "rows of an exchange");
          requireSame(
            rows(cutUp(answer, numberOf(input)), type),
            whole,
            "rows are the same however the answer is cut into pieces",
          );
          const length = JSON.stringify(whole).length;
          require(length < 50_000 + 40 * input.length, "rows are much longer than the exchange", {
            length,
            input: input.length,
          });
          for (const { wire } of PROVIDERS) {
            const caller = wire?.identify(whole.row) ?? null;
            requirePlain(caller, "a caller");
            wire?.prompt(whole.row);
            wire?.namedIn(answer, "claude:x" as never);
          }
        }
      },
    };
  },
};

const ENCODINGS = ["gzip", "deflate", "br", "zstd", "identity", "x-gzip", "compress"];

/** An input is the encoding on the first line, and the bytes. */
export const packedTarget: Target = {
  name: "packed",
  weight: 1,
  open: () => ({
    generate: (random) => {
      const plain = Buffer.from(random.of(EVENTS).repeat(1 + random.below(20)));
      const packed = random.chance(0.5) ? gzipSync(plain) : zstdCompressSync(plain);
      return Buffer.concat([
        Buffer.from(`${random.of(ENCODINGS)}\n`),
        random.chance(0.2) ? packed : mutated(packed, random),
      ]);
    },
    check: async (input) => {
      const end = input.indexOf(10);
      const [encoding, bytes] = [input.subarray(0, Math.max(0, end)).toString(), input.subarray(end + 1)];
      const unpacked = (pieces: readonly Buffer[]) =>
        new Promise<string>((resolve) => {
          let text = "";
          const unpacker = new Unpacker(encoding, (piece) => {
            text += piece;
          });
          for (const piece of pieces) unpacker.push(piece, 0);
          unpacker.end(() => resolve(text));
        });
      const whole = Unpacker.whole(bytes, encoding);
      const streamed = await unpacked(cutUp(bytes, numberOf(input)));
      if (whole !== null && encoding !== "compress")
        requireSame(streamed, whole, "a body is the same in pieces and as a whole");
    },
  }),
};
