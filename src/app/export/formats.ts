/** What `retinue export` knows; apart, so that the command line can name them all without loading any. */

/** Sent to a service. */
export const SENT_FORMATS = ["langsmith", "otlp"] as const;
export type SentFormat = (typeof SENT_FORMATS)[number];

/** Written to a file. */
export const FILE_FORMATS = ["perfetto", "html", "markdown", "json"] as const;
export type FileFormat = (typeof FILE_FORMATS)[number];

/** What to do with traces that are older than a service takes: leave them out, move them to now, or try. */
export const OLD_TRACES = ["skip", "shift", "send"] as const;
export type OldTraces = (typeof OLD_TRACES)[number];
