import { expect, it } from "vitest";
import { dayColumns } from "./days.ts";

const NOW = Date.UTC(2026, 10, 16, 12);
interface Line {
  readonly key: string | null;
}
const columnsOf = (keys: readonly (string | null)[]) => {
  const drawn: (string | null)[] = [];
  const { columns, outside } = dayColumns(
    keys.map((key): Line => ({ key })),
    NOW,
    (lines) => {
      drawn.push(...lines.map(({ key }) => key));
      return lines.map((line) => ({ line }));
    },
  );
  return { columns: columns.map(({ day, bar }) => [day, bar?.line.key ?? null]), outside: outside.map(keyOf), drawn };
};
const keyOf = ({ key }: Line) => key;

it("includes days without usage", () => {
  expect(columnsOf(["2026-03-02", null, "2026-02-28"])).toEqual({
    columns: [
      ["2026-02-28", "2026-02-28"],
      ["2026-03-01", null],
      ["2026-03-02", "2026-03-02"],
    ],
    outside: [null],
    drawn: ["2026-03-02", "2026-02-28"],
  });
  expect(columnsOf([])).toEqual({ columns: [], outside: [], drawn: [] });
});

it("shows real days, however wrong the others are", () => {
  const wrong = ["-000001-12", "0001-01-01", "1970-01-01", "2026-11-18", "2050-01-01", "9999-12-31", "+010000-01", "?"];
  const { columns, outside, drawn } = columnsOf([...wrong, "2026-11-15", "2026-11-17"]);
  expect(columns.map(([day]) => day)).toEqual(["2026-11-15", "2026-11-16", "2026-11-17"]);
  expect(outside).toEqual(wrong);
  expect(drawn).toEqual(["2026-11-15", "2026-11-17"]);
});

it("has no column if all days are in the future, and that of an old day if there is no other", () => {
  expect(columnsOf(["9999-12-31"])).toEqual({ columns: [], outside: ["9999-12-31"], drawn: [] });
  expect(columnsOf(["0001-01-01"]).columns).toEqual([["0001-01-01", "0001-01-01"]]);
});

it("shows at most the last 120 days", () => {
  const { columns, outside } = columnsOf(["2020-01-01", "2026-07-19", "2026-07-20", "2026-11-16"]);
  expect([columns.length, columns[0]?.[0], outside]).toEqual([120, "2026-07-20", ["2020-01-01", "2026-07-19"]]);
});

it("loses no line if two of them are of the same day", () => {
  const { columns, outside } = columnsOf(["2026-11-16T00", "2026-11-16"]);
  expect([columns.length, outside.length]).toEqual([1, 1]);
});
