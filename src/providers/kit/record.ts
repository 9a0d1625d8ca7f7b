import type { RecordRead } from "../../core/facts/observation.ts";

/** A record that states nothing; parsers add what it contains. */
export const RECORD: RecordRead = {
  type: "record",
  role: "other",
  state: null,
  certain: true,
  calls: [],
  results: [],
  text: null,
  message: false,
};
