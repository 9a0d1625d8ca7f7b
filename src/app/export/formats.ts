/** The formats of `retinue export`. A separate module, so that the command line can list them without loading any. */

/** Formats that are written to a file. */
export const FILE_FORMATS = ["perfetto", "html", "markdown", "json"] as const;
export type FileFormat = (typeof FILE_FORMATS)[number];

/** What to do with traces that are too old for a service: skip them, shift them to now, or send them unchanged. */
export const OLD_TRACES = ["skip", "shift", "send"] as const;
export type OldTraces = (typeof OLD_TRACES)[number];
