import { describe, expect, it } from "vitest";
import { asTime } from "./json.ts";

/** What `Date.parse` returns; null for no time. */
const parsed = (text: string) => (Number.isNaN(Date.parse(text)) ? null : Date.parse(text));

describe("asTime", () => {
  it("gives the same as Date.parse for every time that a record may contain", () => {
    const days = ["2026-11-17", "2024-02-29", "2023-02-29", "2026-02-30", "1969-12-31", "0001-01-01", "2026-13-01"];
    const times = ["00:00:00.000", "23:59:59.999", "24:00:00.000", "12:60:00.000", "12:00:60.000", "1a:00:00.000"];
    const ends = ["Z", "z", "", "+02:00", "Z "];
    const dates = days.flatMap((day) => times.flatMap((time) => ends.map((end) => `${day}T${time}${end}`)));
    const others = [
      "",
      "now",
      "2026-11-17",
      "2026-11-17T10:00:00Z",
      "2026/11/17T10:00:00.000Z",
      "2026-11-17 10:00:00.000Z",
    ];
    // Twice and in both orders, because the day of the last time is remembered.
    for (const text of [...dates, ...others, ...dates.toReversed()]) expect(asTime(text), text).toBe(parsed(text));
  });

  it("accepts milliseconds that a date can have", () => {
    expect([asTime(0), asTime(8.64e15), asTime(8.65e15), asTime(Number.NaN), asTime(null)]).toEqual([
      0,
      8.64e15,
      null,
      null,
      null,
    ]);
  });
});
