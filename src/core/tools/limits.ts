/**
 * Maximum input sizes, so that no sender can fill the memory or block the process. Larger inputs are rejected or
 * skipped as a whole, and reported.
 */

/**
 * One record, line, frame, response or payload. Twice the maximum request of the vendors' APIs (32 MB), which is the
 * most a record can quote.
 */
export const MAX_RECORD = 64 << 20;

/**
 * Nesting of JSON that is stored or printed as part of something else: `JSON.stringify` overflows the stack at some
 * thousands.
 */
export const MAX_JSON_DEPTH = 500;
/** Number of values in a JSON response: each takes about 50 bytes of memory and 13 of text. */
export const MAX_JSON_VALUES = 5_000_000;

/**
 * One OTLP request, unpacked. Exporters send batches of some hundred entries; the OpenTelemetry Collector accepts 20
 * MiB.
 */
export const MAX_OTLP_BYTES = 32 << 20;
/** Fields of one OTLP request. A span has about a hundred, and exporters send at most some hundred spans at once. */
export const MAX_OTLP_FIELDS = 500_000;
/** Nesting of one OTLP request: the limit of protobuf libraries. */
export const MAX_OTLP_DEPTH = 100;

/**
 * Sessions of a followed server, each with a recording of its own. A person's server has some hundred; a person starts
 * fewer than a hundred a day.
 */
export const MAX_FOLLOWED_SESSIONS = 5_000;

/** A settings file of retinue or of a product: the largest ones have some kilobytes. */
export const MAX_SETTINGS = 4 << 20;
/** A small file that retinue writes for itself: the address of its server, its token. */
export const MAX_NOTE = 64 << 10;

/** The ledger of one thread, which a hook reads as a whole: about 30,000 spawns and ends. */
export const MAX_LEDGER = 4 << 20;

/** The response of a destination: an empty object, or a sentence. */
export const MAX_RECEIPT = 1 << 20;

/** Maximum compression ratio. Transcripts compress 5 to 50 times, a decompression bomb 10,000 times and more. */
export const MAX_UNPACK_RATIO = 1_000;

/** An input exceeds one of these limits. */
export class TooLarge extends Error {
  constructor(what: string) {
    super(what);
    this.name = "TooLarge";
  }
}
