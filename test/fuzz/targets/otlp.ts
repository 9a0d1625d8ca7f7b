/** OpenTelemetry as protobuf and as JSON. */

import type { Random } from "../../../scripts/bench/random.ts";
import { asObject, parseJson } from "../../../src/core/tools/json.ts";
import { partialSuccess, protobuf } from "../../../src/exporters/otlp/protobuf.ts";
import { attributesOf, decodeOtlp, itemsIn, nanoTime, SIGNALS, type Signal } from "../../../src/providers/kit/otlp.ts";
import { mutated, mutatedJson, noise, words } from "../mutate.ts";
import { require, requirePlain, type Target } from "../target.ts";

const REQUEST = {
  resourceSpans: [
    {
      resource: { attributes: [{ key: "service.name", value: { stringValue: "claude-code" } }] },
      scopeSpans: [
        {
          scope: { name: "s", version: "1" },
          spans: [
            {
              traceId: "0123456789abcdef0123456789abcdef",
              spanId: "0123456789abcdef",
              name: "llm",
              kind: 1,
              startTimeUnixNano: "1700000000000000000",
              endTimeUnixNano: "1700000001000000000",
              attributes: [
                { key: "n", value: { intValue: "7" } },
                { key: "d", value: { doubleValue: 0.5 } },
                { key: "b", value: { boolValue: true } },
                { key: "l", value: { arrayValue: { values: [{ stringValue: "x" }] } } },
              ],
              events: [],
              links: [],
              status: { code: 1 },
            },
          ],
        },
      ],
    },
  ],
};
const LOGS = {
  resourceLogs: [
    {
      resource: REQUEST.resourceSpans[0]?.resource,
      scopeLogs: [
        { logRecords: [{ timeUnixNano: "1", body: { stringValue: "claude_code.api_request" }, attributes: [] }] },
      ],
    },
  ],
};

/** A message of any fields, smaller with the depth. */
function anyMessage(random: Random, depth = 0): Buffer {
  const parts = Array.from({ length: random.below(5) }, () => {
    const field = 1 + random.below(16);
    const wire = random.chance(0.05) ? random.below(8) : random.of([0, 1, 2, 2, 2, 5]);
    const tag = Buffer.from([(field << 3) | wire].map((byte) => byte & 0xff));
    if (wire === 0)
      return Buffer.concat([
        tag,
        Buffer.from(
          Array.from({ length: 1 + random.below(10) }, (_, i, n = random.below(128)) => (i === 9 ? 1 : n)),
        ).subarray(0, 1),
      ]);
    if (wire === 1) return Buffer.concat([tag, Buffer.alloc(8, random.below(256))]);
    if (wire === 5) return Buffer.concat([tag, Buffer.alloc(4, random.below(256))]);
    const inside =
      depth < 8 && random.chance(0.7)
        ? anyMessage(random, depth + 1)
        : random.chance(0.5)
          ? Buffer.from(words(random, [], 3))
          : noise(random, 20);
    const length = Math.min(127, inside.length);
    return Buffer.concat([tag, Buffer.from([length]), inside.subarray(0, length)]);
  });
  return Buffer.concat(parts);
}

/** What every reader of telemetry does with a request. */
function checkRequest(request: ReturnType<typeof asObject>, bytes: number): void {
  if (request === null) return;
  requirePlain(request, "an OTLP request");
  let items = 0;
  for (const { item, resource } of itemsIn(request)) {
    items += 1;
    const found = [attributesOf(item), resource];
    require(found.every(
      (one) => Object.getPrototypeOf(one) === Object.prototype,
    ), "attributes with a prototype of their own");
    const at = nanoTime(item.startTimeUnixNano ?? item.timeUnixNano);
    require(at === null || Number.isFinite(at), "a time", at);
  }
  require(items <= bytes, "more items than bytes", { items, bytes });
}

export const protobufTarget: Target = {
  name: "otlp-protobuf",
  weight: 15,
  open: () => {
    const sample = Buffer.from(protobuf(REQUEST as unknown as Parameters<typeof protobuf>[0]));
    return {
      generate: (random) => (random.chance(0.4) ? anyMessage(random) : mutated(sample, random)),
      check: (input) => {
        for (const signal of Object.keys(SIGNALS) as Signal[]) {
          let request: ReturnType<typeof decodeOtlp> | null = null;
          try {
            request = decodeOtlp(signal, input);
          } catch (error) {
            // Bytes that are not such a message.
            require(error instanceof Error &&
              !(error instanceof TypeError) &&
              !/call stack/.test(error.message), "an error that was not meant", String(error));
          }
          // A protobuf number may have no JSON equivalent; it is kept as text or as null.
          checkRequest(request === null ? null : asObject(JSON.parse(JSON.stringify(request))), input.length);
        }
        const { rejected, reason } = partialSuccess(input);
        require(rejected >= 0 && reason.length <= 4 * input.length, "an answer of a collector", { rejected });
      },
    };
  },
};

export const otlpJsonTarget: Target = {
  name: "otlp-json",
  weight: 20,
  open: () => ({
    generate: (random) => {
      const sample = random.chance(0.5) ? REQUEST : LOGS;
      return random.chance(0.7) ? mutatedJson(sample, random) : mutated(Buffer.from(JSON.stringify(sample)), random);
    },
    check: (input) => checkRequest(asObject(parseJson(input.toString())?.value), input.length),
  }),
};
