/**
 * The largest inputs that are taken, so that no sender can fill the memory or hold the process up. What is larger is refused or left out as a whole, and
 * told; nothing else suffers from it.
 */

/** One record, line, frame, answer or payload. Twice the largest request the vendors' APIs take (32 MB), which is the most a record can quote. */
export const MAX_RECORD = 64 << 20;

/** Levels of JSON that is kept or printed as a part of something else: `JSON.stringify` fails at some thousands, by the height of the stack. */
export const MAX_JSON_DEPTH = 500;
/** Values of an answer in JSON: each of them takes some 50 bytes of memory, and some 13 of the text. */
export const MAX_JSON_VALUES = 5_000_000;

/** One OTLP request, unpacked. Exporters send batches of some hundred entries; the OpenTelemetry Collector takes 20 MiB. */
export const MAX_OTLP_BYTES = 32 << 20;
/** Fields of one OTLP request. A span has about a hundred, and exporters send at most some hundred spans at once. */
export const MAX_OTLP_FIELDS = 500_000;
/** Levels of one OTLP request: what the protobuf libraries allow. */
export const MAX_OTLP_DEPTH = 100;

/** What a service answers to something that was sent to it: an empty object, or a sentence. */
export const MAX_RECEIPT = 1 << 20;

/** How much larger than itself a packed file may be. Transcripts pack 5 to 50 times; a file made to fill memory 10,000 times and more. */
export const MAX_UNPACK_RATIO = 1_000;

/** An input is larger than one of these. */
export class TooLarge extends Error {
  constructor(what: string) {
    super(what);
    this.name = "TooLarge";
  }
}
